/* ptx.h - what a kernel's PTX may not say.
 *
 * A filter, not a proof: it looks at the compiler's own text, where neither
 * macros nor pasted strings hide a word, for instructions by which a kernel
 * would reach over the flush between two runs, or know that it is measured:
 *   L2::evict_last     keeps data in the cache
 *   L2::cache_hint     may, by a policy not of createpolicy; with one of
 *                      evict_first it is an honest hint, and allowed
 *   discard            drops cache lines unwritten
 *   %globaltimer       the time of day
 * Comments count as text: a compiler writes few.
 */
#pragma once

#include "kb.h"

/* A sentence that says what and why, static; NULL when there is nothing. */
const char *kb_ptx_forbidden(const char *ptx);
