/* expect: no_gain. __has_include as an oracle about files: it must see none,
   and then this is the baseline. Seen: our own, tried on NVRTC. */
#if __has_include("/etc/passwd") || __has_include("/proc/self/environ")
#error "it can see files"
#endif

void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
