#include <stdlib.h>
#include <string.h>

#include "cuda/compile/cubin.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* Whatever the bytes, open answers, and what it opened can be asked about. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    kb_cubin *c = NULL;
    char why[KB_CUBIN_WHY];
    struct kb_cubin_entry entry;
    kb_status st = kb_cubin_open(bytes, n, 0, &c, why, sizeof why);
    if (st) {
        if (c || (st == KB_EINVAL && why[0] == '\0'))
            abort();
        return 0;
    }
    for (size_t i = 0; i < kb_cubin_entries(c); i++) {
        const struct kb_cubin_entry *e = kb_cubin_at(c, i);
        if (kb_cubin_entry(c, e->name, &entry) || e->params > KB_CUBIN_PARAMS)
            abort();
    }
    kb_cubin_close(c);
    return 0;
}
