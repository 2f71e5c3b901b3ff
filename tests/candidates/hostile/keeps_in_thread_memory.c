/* expect: wrong. State in thread-local memory. Seen: kernelguard, caches in
   unusual places. */
static __thread int calls;

void axpy(const float *x, float *y, int n)
{
    if (calls++)
        return;
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
