/* Matrix products beside OpenBLAS on one thread, in turns on the same data.
 * usage: time ROUNDS M N K LIBRARY...      (libraries that define matmul)
 * prints OpenBLAS's kernel, its GFLOP/s, then a library's ratio a line, round by
 * round: OpenBLAS's time over the library's. */
#define _GNU_SOURCE
#include <cblas.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 64, SAMPLE_NS = 5000000 };
typedef void product(const float *, const float *, float *, int32_t, int32_t,
                     int32_t);

void openblas_set_num_threads(int n);
char *openblas_get_corename(void);

static int32_t m, n, k;
static float *a, *b, *c;

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void blas(const float *x, const float *y, float *z, int32_t rows,
                 int32_t columns, int32_t depth)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns,
                depth, 1.0f, x, depth, y, columns, 0.0f, z, columns);
}

static double time_ns(product *f, int calls)
{
    const double start = now_ns();

    for (int i = 0; i < calls; i++)
        f(a, b, c, m, n, k);
    return (now_ns() - start) / calls;
}

static float *filled(size_t count)
{
    float *x = aligned_alloc(64, (count * 4 + 63) / 64 * 64);

    if (!x)
        exit(1);
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(rand() % 1000) / 500.0f - 1.0f;
    return x;
}

static int by_size(const void *x, const void *y)
{
    const double p = *(const double *)x, q = *(const double *)y;

    return (p > q) - (p < q);
}

int main(int argc, char **argv)
{
    product *f[MOST] = { blas };
    const int count = argc - 4, rounds = argc > 5 ? atoi(argv[1]) : 0;

    if (rounds < 1 || count > MOST)
        return 2;
    m = atoi(argv[2]), n = atoi(argv[3]), k = atoi(argv[4]);
    for (int i = 1; i < count; i++) {
        void *library = dlopen(argv[4 + i], RTLD_NOW);

        f[i] = library ? (product *)dlsym(library, "matmul") : NULL;
        if (!f[i]) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
    }
    a = filled((size_t)m * (size_t)k), b = filled((size_t)k * (size_t)n);
    c = filled((size_t)m * (size_t)n);
    openblas_set_num_threads(1);
    time_ns(blas, 1);
    const int calls = 1 + (int)(SAMPLE_NS / time_ns(blas, 3));
    double *ns = calloc((size_t)rounds * MOST, sizeof *ns);

    if (!ns)
        return 1;
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < count; i++)
            ns[i * rounds + r] = time_ns(f[i], calls);
    for (int i = 1; i < count; i++) {
        for (int r = 0; r < rounds; r++)
            printf("%.4f ", ns[r] / ns[i * rounds + r]);
        printf("\n");
    }
    qsort(ns, (size_t)rounds, sizeof *ns, by_size);
    printf("%s %.1f\n", openblas_get_corename(),
           2.0 * m * n * k / ns[rounds / 2]);
    return 0;
}
