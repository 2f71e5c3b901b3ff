#include "ptx.h"

#include <stddef.h>
#include <string.h>

static const struct { const char *word, *why; } forbidden[] = {
    { "L2::evict_last", "the kernel's PTX has L2::evict_last: it would keep "
      "its data in the cache over the flush between two runs" },
    { "createpolicy.", "the kernel's PTX has createpolicy: a cache policy "
      "could keep its data over the flush between two runs" },
    { "L2::cache_hint", "the kernel's PTX has L2::cache_hint: a cache policy "
      "could keep its data over the flush between two runs" },
    { "discard.", "the kernel's PTX has discard: it drops cache lines that "
      "are not written yet" },
    { "%globaltimer", "the kernel's PTX reads %globaltimer: a kernel has no "
      "use for the time" },
};

const char *kb_ptx_forbidden(const char *ptx)
{
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
        if (strstr(ptx, forbidden[i].word))
            return forbidden[i].why;
    return NULL;
}
