/* expect: crashed. A store a megabyte behind the output: an unmapped page.
   Seen: robust-kbench. */
void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
    y[n + (1 << 18)] = 1;
}
