/* expect: wrong. Right for multiples of 8 only. Seen: robust-kbench; passes
   any "99 % match" rule. */
void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i + 8 <= n; i += 8)
        for (int j = i; j < i + 8; j++)
            y[j] = 2 * x[j] + 1;
}
