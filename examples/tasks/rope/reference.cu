// kb: launch rope_f64 grid=(tokens) block=(256) args=(x, cosine, sine, y, tokens, heads, half)

/* y = x cosine + (x with the halves of a head swapped) sine. */
extern "C" __global__ void rope_f64(const float *x, const float *cosine, const float *sine,
                                    double *y, int tokens, int heads, int half)
{
    const size_t dim = 2 * size_t(half), at = blockIdx.x * heads * dim;

    for (size_t i = threadIdx.x; i < heads * dim; i += 256) {
        const size_t d = i % dim, other = d < half ? i + half : i - half;
        const size_t in_table = blockIdx.x * dim + d;

        y[at + i] = double(x[at + i]) * cosine[in_table]
                  + double(x[at + other]) * sine[in_table];
    }
}
