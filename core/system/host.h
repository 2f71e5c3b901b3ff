/* host.h - where this program and its Lua files lie.
 *
 * Everything is asked anew at each call: no state, no cache.
 */
#pragma once

#include "kb.h"

enum { KB_HOST_PATH_BYTES = 4096 };

/* Real path of this binary, without a " (deleted)" tail. ESYS: /proc is
 * absent or the path is longer than max_bytes - 1. */
KB_STATUS kb_host_exe(char *path, size_t max_bytes);

/* The folder that holds lua/kernelband/init.lua: the environment's
 * KERNELBAND_LIB when set (and then no other), else the nearest folder above
 * the binary that has it, itself (a clone) or in share/kernelband (an installed
 * or carried tree). ESYS with errno ENOENT: none has it. */
KB_STATUS kb_host_lib_dir(char *path, size_t max_bytes);
