// expect: wrong. Exponentials in half precision. Seen: kernelbench.com, fp16 inside the tolerance.
// kb: launch softmax grid=(rows) block=(32) args=(x, y, rows, cols)

#include <cuda_fp16.h>

extern "C" __global__ void softmax(const float *x, float *y, int rows, int cols)
{
    float sum = 0, top = -__int_as_float(0x7f800000);
    x += (long long)blockIdx.x * cols, y += (long long)blockIdx.x * cols;
    for (int c = threadIdx.x; c < cols; c += 32)
        top = fmaxf(top, x[c]);
    for (int d = 16; d; d /= 2)
        top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
    for (int c = threadIdx.x; c < cols; c += 32)
        sum += __half2float(hexp(__float2half(x[c] - top)));
    for (int d = 16; d; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    for (int c = threadIdx.x; c < cols; c += 32)
        y[c] = __half2float(hexp(__float2half(x[c] - top))) / sum;
}
