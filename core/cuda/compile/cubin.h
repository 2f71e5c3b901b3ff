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
#pragma once

#include "kb.h"

enum {
    KB_CUBIN_PARAMS = 64,
    KB_CUBIN_ENTRIES = 64,
    KB_CUBIN_BYTES = 64 << 20,
    KB_CUBIN_WHY = 200          /* enough for every sentence of open */
};

struct kb_cubin_entry {
    const char *name;           /* lives as long as the cubin */
    uint32_t registers;         /* per thread */
    uint32_t shared_bytes;      /* static, without what the driver reserves */
    uint32_t local_bytes;       /* stack frame per thread */
    uint32_t params;
    uint32_t param_bytes[KB_CUBIN_PARAMS];      /* in order */
    size_t symbol;              /* of cubin.c: its number in the table */
    uint64_t seen;              /* and ordinals of parameters, as bits */
};

typedef struct kb_cubin {
    size_t entries;
    struct kb_cubin_entry entry[KB_CUBIN_ENTRIES];      /* as in the file */
    char *bytes;                /* a copy of what was given */
    /* The rest is cubin.c's. */
    uint32_t sm;
    struct Elf *elf;            /* lives as long: names are in it */
    size_t names;               /* section of section names */
    void *symbols;              /* the one table of them, libelf's */
    size_t symbol_count, symbol_names;
    char *why;                  /* open's */
    size_t cap;
} kb_cubin;

/* sm: the architecture it must be for, 90 for sm_90 and sm_90a; 0 for any.
 * EINVAL: not such a cubin, or refused; why tells. ENOMEM. */
KB_STATUS kb_cubin_open(const void *bytes, size_t n, uint32_t sm,
                        kb_cubin **out, char *why, size_t cap);
void kb_cubin_close(kb_cubin *c);

/* NULL: there is no kernel of that name. */
struct kb_cubin_entry *kb_cubin_find(kb_cubin *c, const char *name);
