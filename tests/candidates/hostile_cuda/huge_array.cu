// expect: build_failed|cheated|launch_failed. Half a gigabyte of zeros in the object; the compiler takes its whole time limit: slow: yes. Seen: our
// own.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

__device__ char bomb[1 << 29] = { 1 };

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1;
    if (i == 0)
        y[0] += bomb[n];
}
