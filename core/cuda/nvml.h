/* nvml.h - clocks, temperature and what holds a GPU back, by NVIDIA's management
 * library, opened with dlopen. Nothing is ever set.
 */
#pragma once

#include "device_types.h"
#include "kb.h"

typedef struct kb_nvml kb_nvml;

/* uuid as the driver gives it. ENODEV: no library, or it knows no such GPU. */
KB_STATUS kb_nvml_open(const unsigned char uuid[16], kb_nvml **out);
void kb_nvml_close(kb_nvml *n);

/* ENODEV: the GPU does not say. */
KB_STATUS kb_nvml_read(kb_nvml *n, struct kb_device_state *out);
