// kb: launch rope grid=(tokens*heads) block=(128) args=(x, cosine, sine, y, tokens, heads, half)

extern "C" __global__ void rope(const float *x, const float *cosine, const float *sine,
                                float *y, int tokens, int heads, int half)
{
    const size_t at = size_t(blockIdx.x) * 2 * half;
    const size_t in_table = size_t(blockIdx.x / heads) * 2 * half;

    for (int d = threadIdx.x; d < 2 * half; d += 128) {
        const int other = d < half ? d + half : d - half;

        y[at + d] = x[at + d] * cosine[in_table + d] + x[at + other] * sine[in_table + d];
    }
}
