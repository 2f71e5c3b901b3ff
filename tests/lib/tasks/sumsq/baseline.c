void sumsq(const float *x, float *y, int rows, int cols)
{
    for (int r = 0; r < rows; r++) {
        double sum = 0.0;
        for (int c = 0; c < cols; c++)
            sum += (double)x[r * cols + c] * x[r * cols + c];
        y[r] = (float)sum;
    }
}
