/* cuda/adopt.h - a kernel that another compiler made, Triton's say, as an
 * object of the CUDA device: launched, timed, checked and profiled like ours.
 *
 * The bytes are a stranger's and go through cubin.h's inspection. PTX is not
 * there to be read (ptx.h): who hands a cubin in has looked at it, or lets it
 * pass.
 */
#ifndef KB_CUDA_CUBIN_H
#define KB_CUDA_CUBIN_H

#include "device.h"

/* EINVAL: no CUDA device, or n is out of bounds. EDENIED: the cubin is refused;
 * log (cap bytes, NUL-terminated) says why. ENOMEM. */
KB_MUST_USE kb_status kb_device_adopt(kb_device *d, const void *cubin,
                                      size_t n, char *log, size_t cap,
                                      kb_object **out);

/* The cubin of an object, as long as that lives; NULL where it is no GPU's. */
const void *kb_object_cubin(const kb_object *o, size_t *n);

#endif
