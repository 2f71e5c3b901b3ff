/* expect: wrong. Leaves the array as it was, which is near the answer where x is
   small. Seen: kernelguard SILENT_FALLBACK. */
void update(const float *x, float *y, int n)
{
    (void)x, (void)y, (void)n;
}
