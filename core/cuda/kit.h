/* cuda/kit.h - the source of the device's own kernels: cuda/judge.h,
 * then cuda/kit.cu. */
#pragma once

/* NUL-terminated. */
extern const char kb_cuda_kit_source[];
