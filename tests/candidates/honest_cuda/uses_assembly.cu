// PTX by hand.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v;
    if (i >= n)
        return;
    asm("fma.rn.f32 %0, %1, 0f40000000, 0f3F800000;" : "=f"(v) : "f"(x[i]));
    y[i] = v;
}
