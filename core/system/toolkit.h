/* toolkit.h - libraries that are opened with dlopen when they are wanted: where
 * the CUDA toolkit's lie, and the functions of any.
 *
 * What is linked costs every process its loading, and a candidate's process is
 * this same binary.
 */
#pragma once

#include "kb.h"

enum { KB_TOOLKIT_PATH = 4096 };        /* PATH_MAX, as realpath wants */

/* Calls take with the path of every lib<stem>.so.13 and .12 that is found in a
 * toolkit's folder, and with that folder, until it says true.
 *   NAMED      $KERNELBAND_CUDA, and when that is set no other; else ../cuda of
 *              this program's folder (a bundle), $CUDA_HOME, $CUDA_PATH and
 *              $CONDA_PREFIX
 *   INSTALLED  /usr/local/cuda and the newest of /usr/local/cuda-*
 * Libraries lie in lib64, lib, targets/.../lib or extras/CUPTI/lib64. */
enum kb_toolkit_place { KB_TOOLKIT_NAMED, KB_TOOLKIT_INSTALLED };
bool kb_toolkit_search(enum kb_toolkit_place place, const char *stem,
                       bool (*take)(const char *path, const char *root,
                                    void *arg), void *arg);

/* The same library where the dynamic linker finds it (LD_LIBRARY_PATH, a
 * distribution's package), opened with these flags of dlopen; NULL: nowhere. */
void *kb_toolkit_open(const char *stem, int flags);

/* A name as a string, of the functions in a list of X(name) or of
 * X(field, name, ..). */
#define KB_NAME(name) #name,
#define KB_NAME_OF(field, name, ...) #name,

/* Looks them all up; the list ends with NULL. Pointers go to `to` and what
 * follows it, in this order. Returns NULL, or the name of one that is
 * missing. */
const char *kb_toolkit_symbols(void *library, const char *const *name,
                               void *to);

/* Opens the first of two names, *library, and looks its functions up. ENODEV,
 * with a static text in *why: absent or old. It is not unloaded when it is
 * closed: it may have handlers for exit. */
struct kb_library {
    const char *names[2], *absent, *old;
    const char *const *functions;
};
KB_STATUS kb_library_open(const struct kb_library *l, void *to, void **library,
                          const char **why);
