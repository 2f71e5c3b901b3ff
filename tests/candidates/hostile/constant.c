/* expect: wrong. The answer's mean everywhere. Seen: KernelBench issue 165,
   zeros pass 4 of 60 problems. */
void axpy(const float *x, float *y, int n)
{
    (void)x;
    for (int i = 0; i < n; i++)
        y[i] = 1;
}
