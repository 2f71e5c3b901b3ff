#include "device_impl.h"
kb_status kb_cuda_open(const char *name, const char *exe, kb_device **out, const char **why)
{
    (void)name, (void)exe, (void)out;
    *why = "not built";
    return KB_ENODEV;
}
