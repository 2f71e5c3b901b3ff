/* expect: wrong. All but one element. Seen: SOL-ExecBench and FastKernels
   accept 99 % of elements. */
void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
    y[n / 3] *= 1.001f;
}
