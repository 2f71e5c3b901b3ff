#include <stdint.h>

enum { COLUMNS = 64, ROWS = 4 };

/*
 * c[i][j] = sum over p of a[i][p] b[p][j], in float64.
 *
 * Four rows and 64 columns of sums at a time stay in the first-level cache
 * while p runs; the terms of one sum are added in the order of p.
 */
void matmul_f64(const float *a, const float *b, double *c,
                int32_t m, int32_t n, int32_t k)
{
    for (int64_t j0 = 0; j0 < n; j0 += COLUMNS) {
        int64_t columns = n - j0 < COLUMNS ? n - j0 : COLUMNS;

        for (int64_t i0 = 0; i0 < m; i0 += ROWS) {
            double sum[ROWS][COLUMNS] = { { 0.0 } };
            int64_t rows = m - i0 < ROWS ? m - i0 : ROWS;

            for (int64_t p = 0; p < k; p++) {
                double line[COLUMNS] = { 0.0 };

                for (int64_t j = 0; j < columns; j++)
                    line[j] = b[p * n + j0 + j];
                for (int64_t i = 0; i < rows; i++) {
                    double x = a[(i0 + i) * k + p];

                    for (int64_t j = 0; j < COLUMNS; j++)
                        sum[i][j] += x * line[j];
                }
            }
            for (int64_t i = 0; i < rows; i++)
                for (int64_t j = 0; j < columns; j++)
                    c[(i0 + i) * n + j0 + j] = sum[i][j];
        }
    }
}
