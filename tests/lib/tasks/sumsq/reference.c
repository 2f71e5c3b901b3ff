void sumsq_f64(const float *x, double *y, int rows, int cols)
{
    for (int r = 0; r < rows; r++) {
        y[r] = 0.0;
        for (int c = 0; c < cols; c++)
            y[r] += (double)x[r * cols + c] * x[r * cols + c];
    }
}
