/* script.h - the one Lua state: created, limited, run, explained.
 *
 * No error ever leaves by longjmp: every Lua call made here is protected.
 *
 * The state has Lua's own libraries, less what a reproducible engine cannot
 * offer: no C modules (package.cpath and loadlib), no string.dump, and
 * math.random and math.randomseed raise. require finds kernelband.core and
 * cjson, which are linked in, and what lies under lib_dir/lua.
 */
#pragma once

#include "kb.h"

typedef struct kb_script kb_script;

/* lib_dir holds lua/kernelband/. max_bytes caps the state's heap, 0 for no
 * cap: a script over it gets Lua's "not enough memory" error, which it may
 * catch, and the state survives. ENOMEM: no memory, or the cap is below what
 * an empty state needs. */
KB_STATUS kb_script_new(const char *lib_dir, size_t max_bytes, kb_script **out);
void kb_script_free(kb_script *s);

/* Calls require "kernelband.cli".main with the list argv[1..argc-1] and gives
 * the exit code it returns, 0 to 255. EINVAL: it raised, could not be loaded
 * or returned something else; ENOMEM: it ran out of memory (EINVAL when a
 * library of Lua's made an ordinary error of that). kb_script_error then says
 * why. May be called again after a failure. */
KB_STATUS kb_script_main(kb_script *s, int argc, char **argv, int *exit_code);

/* Message and traceback of the last call, whole, "" if it succeeded. Zero
 * bytes in the message are shown as '?'. Owned by s, valid until its next
 * call. */
const char *kb_script_error(const kb_script *s);
