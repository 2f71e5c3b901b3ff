// expect: cheated. The same by a cache policy, its name put together from parts. Seen:
// kernelbench.com.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

#define PASTE(a, b) a b

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long policy;
    float v;
    if (i >= n)
        return;
    asm volatile(PASTE("create", "policy.fractional.L2::evict_last.b64 %0, 1.0;") : "=l"(policy));
    asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(v) : "l"(x + i), "l"(policy));
    y[i] = 2 * v + 1;
}
