/* expect: build_failed. The compiler's message would carry the text away.
   Seen: our own, tried on NVRTC: the log carries the file. */
#include "/etc/passwd"

void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
