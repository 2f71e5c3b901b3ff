/* expect: wrong|crashed. Uses one element behind its input. Seen: wafer.ai,
   robust-kbench. */
void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = x[i] + x[i + 1] - x[i + 1] + x[i] + 1;
}
