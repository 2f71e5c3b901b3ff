/* cubin.h - what a compiled kernel is and needs, and whether it may be run.
 *
 * The bytes are a stranger's: all is read within bounds, through libelf, at
 * open. A cubin is refused when it could carry something from one launch to
 * the next, or call what is not in it:
 *   - an undefined symbol (printf, malloc, free, assert, a launch from the
 *     device); only the compiler's own marks of reserved shared memory may be
 *     undefined
 *   - a variable in global memory (.nv.global, .nv.global.init). String
 *     literals and const tables end there too, in memory that a kernel can
 *     write, so they are refused as well; __constant__ is the place for them.
 *     The toolkit's own may be there: three tables of its sin, cos and tan,
 *     and constants of its C++ headers (cooperative_groups.h, cuda/std), by
 *     name and size, and 8 KiB of them at most a section. That much a hostile
 *     source can keep, until the module is loaded anew
 *   - unified memory, textures and surfaces
 * Layout after the CUDA binary utilities' output for cubins of CUDA 12 and 13.
 */
#ifndef KB_CUBIN_H
#define KB_CUBIN_H

#include <stddef.h>
#include <stdint.h>

#include "kb.h"

enum {
    KB_CUBIN_PARAMS = 64,
    KB_CUBIN_ENTRIES = 64,
    KB_CUBIN_BYTES = 64 << 20,
    KB_CUBIN_WHY = 200          /* enough for every sentence of open */
};

typedef struct kb_cubin kb_cubin;

struct kb_cubin_entry {
    const char *name;           /* lives as long as the cubin */
    uint32_t registers;         /* per thread */
    uint32_t shared_bytes;      /* static, without what the driver reserves */
    uint32_t local_bytes;       /* stack frame per thread */
    uint32_t max_threads;       /* from __launch_bounds__; 0: none given */
    uint32_t params;
    struct {
        uint32_t offset, bytes;
    } param[KB_CUBIN_PARAMS];   /* in order */
};

/* sm: the architecture it must be for, 90 for sm_90 and sm_90a; 0 for any.
 * EINVAL: not such a cubin, or refused; why tells. ENOMEM. */
KB_MUST_USE kb_status kb_cubin_open(const void *bytes, size_t n, uint32_t sm,
                                    kb_cubin **out, char *why, size_t cap);
void kb_cubin_close(kb_cubin *c);

/* In the order of the file. i < entries. */
size_t kb_cubin_entries(const kb_cubin *c);
const struct kb_cubin_entry *kb_cubin_at(const kb_cubin *c, size_t i);

/* EINVAL: there is no kernel of that name. */
KB_MUST_USE kb_status kb_cubin_entry(const kb_cubin *c, const char *name,
                                     struct kb_cubin_entry *out);

#endif
