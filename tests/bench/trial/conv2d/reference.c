#include <stdint.h>

void conv2d_f64(const float *x, const float *f, double *y, int32_t n, int32_t c, int32_t h, int32_t w,
            int32_t k)
{
    for (int32_t image = 0; image < n; image++)
        for (int32_t out = 0; out < k; out++)
            for (int32_t i = 0; i < h; i++)
                for (int32_t j = 0; j < w; j++) {
                    double sum = 0;
                    for (int32_t in = 0; in < c; in++) {
                        const float *from = x + ((int64_t)image * c + in) * h * w;
                        const float *by = f + ((int64_t)out * c + in) * 9;
                        for (int32_t tap = 0; tap < 9; tap++) {
                            int32_t row = i + tap / 3 - 1, column = j + tap % 3 - 1;
                            if (row >= 0 && row < h && column >= 0 && column < w)
                                sum += (double)by[tap] * from[(int64_t)row * w + column];
                        }
                    }
                    y[(((int64_t)image * k + out) * h + i) * w + j] = sum;
                }
}
