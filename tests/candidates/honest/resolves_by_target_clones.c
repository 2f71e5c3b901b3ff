/* A function compiled for several processors: the resolvers that the compiler makes run
   when the object is loaded. clang before 17 cannot call an exported one by its name. */
#if defined __clang__ && __clang_major__ < 17
#define CLONES
#else
#define CLONES __attribute__((target_clones("default", "sse4.2", "avx2", "arch=haswell")))
#endif

__attribute__((target_clones("default", "avx2", "avx512f")))
static void add(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}

CLONES void axpy(const float *x, float *y, int n)
{
    int half = n / 2;
    add(x, y, half);
    for (int i = half; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
