// kb: launch conv_f64 grid=(cdiv(w,32),cdiv(h,8),n*cdiv(k,4)) block=(32,8) args=(x, f, y, n, c, h, w, k)

/*
 * y[n][k][i][j] = sum over c, p, q of
 *     f[k][c][p][q] x[n][c][i + p - 1][j + q - 1], 0 outside the image,
 * in float64. A thread computes four channels of a pixel.
 */
extern "C" __global__ void conv_f64(const float *x, const float *f, double *y,
                                    int n, int c, int h, int w, int k)
{
    const int j = blockIdx.x * 32 + threadIdx.x;
    const int i = blockIdx.y * 8 + threadIdx.y;
    const int groups = (k + 3) / 4;
    const int image = blockIdx.z / groups, out = blockIdx.z % groups * 4;
    double sum[4] = {};

    if (i >= h || j >= w)
        return;
    for (int in = 0; in < c; in++)
        for (int tap = 0; tap < 9; tap++) {
            const int row = i + tap / 3 - 1, column = j + tap % 3 - 1;

            if (row < 0 || row >= h || column < 0 || column >= w)
                continue;
            const double z =
                x[(((size_t)image * c + in) * h + row) * w + column];

            for (int o = 0; o < 4; o++)
                if (out + o < k)
                    sum[o] += f[((size_t)(out + o) * c + in) * 9 + tap] * z;
        }
    for (int o = 0; o < 4; o++)
        if (out + o < k)
            y[(((size_t)image * k + out + o) * h + i) * w + j] = sum[o];
}
