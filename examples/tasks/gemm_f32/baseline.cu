// kb: launch zero grid=(cdiv(m*n,256)) block=(256) args=(c, m, n)
// kb: launch gemm grid=(cdiv(n,16),cdiv(m,16)) block=(16,16) args=(a, b, c, m, n, k)

extern "C" __global__ void zero(float *c, int m, int n)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < (size_t)m * n)
        c[i] = 0.0f;
}

extern "C" __global__ void gemm(const float *a, const float *b, float *c,
                                int m, int n, int k)
{
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;

    if (i >= m || j >= n)
        return;
    for (int p = 0; p < k; p++)
        sum += a[(size_t)i * k + p] * b[(size_t)p * n + j];
    c[(size_t)i * n + j] += sum;
}
