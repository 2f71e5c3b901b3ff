// expect: cheated. A kernel that knows the time can behave otherwise when it is measured. Seen:
// kernelbench.com, environment sniffing.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    if (i < n)
        y[i] = 2 * x[i] + 1 + (float)(now == 1);
}
