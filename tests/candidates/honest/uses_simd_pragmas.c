/* OpenMP's pragmas for vectors, as libraries have them: known to the compiler or not. */
#pragma omp declare simd notinbranch
static inline float twice_and_one(float x)
{
    return 2 * x + 1;
}

void axpy(const float *restrict x, float *restrict y, int n)
{
#pragma omp simd aligned(x, y: 4) simdlen(8)
    for (int i = 0; i < n / 2; i++)
        y[i] = twice_and_one(x[i]);
    _Pragma("omp simd safelen(16)")
    for (int i = n / 2; i < n; i++)
        y[i] = twice_and_one(x[i]);
}
