// Sixty-four kilobytes of dynamic shared memory, more than is given without asking.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) shared=65536 args=(x, y, n)

extern __shared__ float room[];

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int at = threadIdx.x * 61 % 16384;
    if (i >= n)
        return;
    room[at] = x[i];
    y[i] = 2 * room[at] + 1;
}
