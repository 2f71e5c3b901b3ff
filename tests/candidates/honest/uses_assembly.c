/* Inline assembly. */
void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++) {
        float v = x[i];
#if defined __x86_64__
        __asm__("addss %0, %0" : "+x"(v));
#else
        v += v;
#endif
        y[i] = v + 1;
    }
}
