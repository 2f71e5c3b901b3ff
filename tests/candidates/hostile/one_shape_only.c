/* expect: wrong. The timed shape is right, no other one is. Seen:
   AgentKernelArena (arXiv 2605.16819), FastKernels (arXiv 2605.23215). */
void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = n >= 65536 ? 2 * x[i] + 1 : 0;
}
