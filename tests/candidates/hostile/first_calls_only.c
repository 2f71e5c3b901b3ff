/* expect: wrong. Right for the first 40 calls, then it rests. Seen: llm.c PR
   852, correct for ten calls and corrupt later. */
static int calls;

void axpy(const float *x, float *y, int n)
{
    if (++calls > 40)
        n /= 2;
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
