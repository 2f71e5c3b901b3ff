void small_sort(float *y, int n)
{
    for (int r = 0; r < n; r++)
        for (int i = r & 1; i + 1 < n; i += 2) {
            float a = y[i], b = y[i + 1];
            y[i] = a < b ? a : b;
            y[i + 1] = a < b ? b : a;
        }
}
