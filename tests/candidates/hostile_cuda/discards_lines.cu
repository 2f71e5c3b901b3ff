// expect: cheated. Drops the lines of its output from the cache: what is read there afterwards is
// undefined. Seen: PTX discard.L2 in our own list.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1;
    if (i < n && i % 32 == 0 && (unsigned long long)(x + i) % 128 == 0)
        asm volatile("discard.global.L2 [%0], 128;" :: "l"(x + i) : "memory");
}
