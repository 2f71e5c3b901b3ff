// expect: cheated. Asks the cache to keep its input over the flush between runs. Seen:
// kernelbench.com paged attention run; llm.c PR 851, 3,530 GB/s on an 864 GB/s card.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    asm volatile("prefetch.global.L2::evict_last [%0];" :: "l"(x + i));
    y[i] = 2 * x[i] + 1;
}
