// Asynchronous copies to shared memory.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

#include <cuda_pipeline.h>

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    __shared__ float tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    __pipeline_memcpy_async(tile + threadIdx.x, x + i, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    y[i] = 2 * tile[threadIdx.x] + 1;
}
