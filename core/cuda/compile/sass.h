/* sass.h - the machine code of a cubin, as nvdisasm prints it. */
#pragma once

#include "kb.h"

/* tool: the path of nvdisasm, which runs jailed (tool.h) for 10 s at most. text
 * gets the first cap bytes, NUL included, of what it printed; *used without the
 * NUL. EINVAL: tool is no path of a program that may be run. EWORKER: it
 * refused the cubin or crashed. ETIME, ESYS. */
KB_STATUS kb_sass_text(const char *tool, const void *cubin, size_t n,
                       char *text, size_t cap, size_t *used);
