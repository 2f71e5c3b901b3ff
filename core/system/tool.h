/* tool.h - programs of this machine that read what a stranger wrote: compilers,
 * what prints objects. They run jailed (jail.h), with an environment of their
 * own: they write to one folder and read that, the system's programs, libraries
 * and headers, and no other file.
 */
#pragma once

#include "kb.h"

/* Runs argv in dir, the folder of its files, with what it prints in text, as
 * kb_process_run; wstatus NULL: EWORKER unless it exits with 0. own: a tree
 * that it reads besides, "" for none. */
KB_STATUS kb_tool_run(const char *dir, const char *own, const char *const *argv,
                      int64_t deadline_ns, char *text, size_t cap, size_t *used,
                      int *wstatus);
