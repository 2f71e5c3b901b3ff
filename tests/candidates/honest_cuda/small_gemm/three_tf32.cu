// float32 on tensor cores: factors in two parts of eleven bits, three of their four products.
// kb: launch gemm grid=(cdiv(n,8),cdiv(m,16)) block=(32) args=(a, b, c, m, n, k)

__device__ unsigned tf32(float x)
{
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
}

__device__ void split(float x, unsigned &big, unsigned &small)
{
    big = tf32(x);
    small = tf32(x - __uint_as_float(big));
}

__device__ void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

extern "C" __global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    const int group = threadIdx.x / 4, lane = threadIdx.x % 4;
    const int i0 = blockIdx.y * 16, j0 = blockIdx.x * 8;
    float sum[4] = {};
    for (int p0 = 0; p0 < k; p0 += 8) {
        unsigned big_a[4], small_a[4], big_b[2], small_b[2];
        float part[4] = {};
        for (int u = 0; u < 4; u++) {
            int i = i0 + group + u % 2 * 8, p = p0 + lane + u / 2 * 4;
            split(i < m && p < k ? a[(size_t)i * k + p] : 0, big_a[u], small_a[u]);
        }
        for (int u = 0; u < 2; u++) {
            int p = p0 + lane + u * 4, j = j0 + group;
            split(p < k && j < n ? b[(size_t)p * n + j] : 0, big_b[u], small_b[u]);
        }
        multiply(part, small_a, big_b);
        multiply(part, big_a, small_b);
        multiply(part, big_a, big_b);
        for (int u = 0; u < 4; u++)     // rounded to nearest, which the tensor core does not
            sum[u] += part[u];
    }
    for (int u = 0; u < 4; u++) {
        int i = i0 + group + u / 2 * 8, j = j0 + lane * 2 + u % 2;
        if (i < m && j < n)
            c[(size_t)i * n + j] = sum[u];
    }
}
