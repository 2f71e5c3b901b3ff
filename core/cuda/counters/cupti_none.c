/* What stands for cupti.c and cupti_host.c where the toolkit's headers were
 * missing, and in MODE=asan: the library ends a process that has the address
 * sanitizer in it. */
#include "cupti.h"

static kb_status absent(char *why, size_t cap)
{
    return kb_refuse(why, cap, KB_ENODEV, "this program was built without the "
                     "CUPTI headers of the CUDA toolkit, or with the address "
                     "sanitizer: build it with make CUDA=/usr/local/cuda");
}

kb_status kb_cupti_open(void *cu_context, int device,
                        const struct kb_cupti_available *known, kb_cupti **out,
                        char *why, size_t cap)
{
    (void)cu_context, (void)device, (void)known, (void)out;
    return absent(why, cap);
}

struct kb_cupti_available kb_cupti_known(const kb_cupti *c)
{
    return (void)c, (struct kb_cupti_available){ NULL, 0 };
}

void kb_cupti_close(kb_cupti *c)
{
    (void)c;
}

kb_status kb_cupti_collect(kb_cupti *c, const struct kb_cupti_set *set,
                           kb_cupti_replay *replay, void *arg, double *value)
{
    (void)c, (void)set, (void)replay, (void)arg, (void)value;
    return KB_ENODEV;
}

const char *kb_cupti_why(const kb_cupti *c)
{
    (void)c;
    return "";
}

kb_status kb_cupti_host_passes(const char *chip, const struct kb_cupti_set *set,
                               size_t *passes, char *why, size_t cap)
{
    (void)chip, (void)set, (void)passes;
    return absent(why, cap);
}
