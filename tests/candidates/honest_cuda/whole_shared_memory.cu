// All the shared memory that a block may have on a Hopper GPU: 227 KiB, every float of it used.
// kb: launch axpy grid=(cdiv(n,58112)) block=(1024) shared=232448 args=(x, y, n)

extern __shared__ float room[];

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    const int at = blockIdx.x * 58112, part = min(58112, n - at);
    for (int i = threadIdx.x; i < part; i += 1024)
        room[i] = x[at + i];
    __syncthreads();
    for (int i = part - 1 - (int)threadIdx.x; i >= 0; i -= 1024)
        y[at + i] = 2 * room[i] + 1;
}
