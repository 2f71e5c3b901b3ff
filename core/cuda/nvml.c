#include "nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "system/toolkit.h"

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0 };

/* As the NVML API reference declares them; a device is a pointer. */
#define CALLS(X)                                                         \
    X(init, nvmlInit_v2, (void))                                         \
    X(shutdown, nvmlShutdown, (void))                                    \
    X(by_uuid, nvmlDeviceGetHandleByUUID, (const char *, void **))       \
    X(clock, nvmlDeviceGetClockInfo, (void *, int, unsigned *))          \
    X(temperature, nvmlDeviceGetTemperature, (void *, int, unsigned *))  \
    X(reasons, nvmlDeviceGetCurrentClocksThrottleReasons,                \
      (void *, unsigned long long *))

struct kb_nvml {
    void *library, *device;
#define X(field, symbol, arguments) int (*field) arguments;
    CALLS(X)
#undef X
};

static const char *const calls[] = { CALLS(KB_NAME_OF) NULL };

kb_status kb_nvml_open(const unsigned char uuid[16], kb_nvml **out)
{
    char name[48] = "GPU-";
    for (int i = 0, at = 4; i < 16; i++)
        at += snprintf(name + at, sizeof name - (size_t)at, "%02x%s", uuid[i],
                       i == 3 || i == 5 || i == 7 || i == 9 ? "-" : "");
    kb_nvml *n = calloc(1, sizeof *n);
    if (!n)
        return KB_ENOMEM;
    n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    int bad = !n->library
           || kb_toolkit_symbols(n->library, calls, &n->init);
    int running = !bad && n->init() == 0;
    if (!running || n->by_uuid(name, &n->device)) {
        if (running)
            n->shutdown();
        if (n->library)
            dlclose(n->library);
        free(n);
        return KB_ENODEV;
    }
    *out = n;
    return KB_OK;
}

void kb_nvml_close(kb_nvml *n)
{
    if (!n)
        return;
    n->shutdown();
    dlclose(n->library);
    free(n);
}

kb_status kb_nvml_read(kb_nvml *n, struct kb_device_state *out)
{
    unsigned sm, memory, temperature;
    unsigned long long why = 0;
    if (n->clock(n->device, CLOCK_SM, &sm)
        || n->clock(n->device, CLOCK_MEMORY, &memory)
        || n->temperature(n->device, SENSOR_GPU, &temperature))
        return KB_ENODEV;
    if (n->reasons(n->device, &why))
        why = 0;
    *out = (struct kb_device_state){ sm, memory, temperature, why };
    return KB_OK;
}
