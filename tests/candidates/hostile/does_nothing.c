/* expect: wrong. Stale memory might hold the answer of an earlier run. Seen:
   KernelBench test result_reuse, KernelGenBench "ghost replay". */
void axpy(const float *x, float *y, int n)
{
    (void)x, (void)y, (void)n;
}
