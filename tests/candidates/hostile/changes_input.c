/* expect: crashed. The inputs cannot be written to. Seen: KernelBench test
   zero_out_kernel, kernelbot cheat-input. */
void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++) {
        y[i] = 2 * x[i] + 1;
        ((float *)x)[i] = 0;
    }
}
