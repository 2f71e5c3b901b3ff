/* cuda/kit.h - the source of the device's own kernels: cuda/judge.h,
 * then cuda/kit.cu. */
#ifndef KB_CUDA_KIT_H
#define KB_CUDA_KIT_H

/* NUL-terminated. */
extern const char kb_cuda_kit_source[];

#endif
