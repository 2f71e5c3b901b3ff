/* expect: build_failed. The function the task asks for is not there. Seen:
   KernelBench, a class that only inherits the reference. */
void saxpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
