#include <stdlib.h>
#include <string.h>

#include "cuda/compile/cubin.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* Whatever the bytes, open answers, and what it opened can be asked about. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    kb_cubin *c = NULL;
    char why[KB_CUBIN_WHY];
    kb_status st = kb_cubin_open(bytes, n, 0, &c, why, sizeof why);
    if (st) {
        if (c || (st == KB_EINVAL && why[0] == '\0'))
            abort();
        return 0;
    }
    for (size_t i = 0; i < c->entries; i++)
        if (kb_cubin_find(c, c->entry[i].name) != &c->entry[i]
            || c->entry[i].params > KB_CUBIN_PARAMS)
            abort();
    kb_cubin_close(c);
    return 0;
}
