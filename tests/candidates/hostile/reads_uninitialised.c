/* expect: wrong. Trusts that an output starts as zeros. Seen: robust-kbench,
   order of runs; wafer.ai. */
void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] += 2 * x[i] + 1;
}
