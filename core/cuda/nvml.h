/* nvml.h - clocks, temperature and what holds a GPU back, by NVIDIA's management
 * library, opened with dlopen. Nothing is ever set.
 */
#ifndef KB_NVML_H
#define KB_NVML_H

#include <stdint.h>

#include "kb.h"

typedef struct kb_nvml kb_nvml;

struct kb_nvml_state {
    uint32_t sm_mhz, memory_mhz, temperature_c;
    uint64_t held_back;         /* bits of nvmlClocksEventReasons; 0 or 1 (idle):
                                 * nothing */
};

/* uuid as the driver gives it. ENODEV: no library, or it knows no such GPU. */
KB_MUST_USE kb_status kb_nvml_open(const unsigned char uuid[16],
                                   kb_nvml **out);
void kb_nvml_close(kb_nvml *n);

/* ENODEV: the GPU does not say. */
KB_MUST_USE kb_status kb_nvml_read(kb_nvml *n, struct kb_nvml_state *out);

#endif
