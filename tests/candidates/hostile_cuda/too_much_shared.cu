// expect: launch_failed. More shared memory than any device has. Seen: wafer.ai: 65,792 bytes of
// shared memory, never launched.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) shared=1000000 args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1;
}
