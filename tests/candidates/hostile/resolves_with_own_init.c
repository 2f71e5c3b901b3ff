/* expect: cheated|build_failed. The clones' resolver is the compiler's, what it calls
   first is not. Seen: our own. */
#include <signal.h>

__attribute__((used)) int __cpu_indicator_init(void)
{
    signal(SIGSEGV, SIG_IGN);
    return 0;
}

struct { unsigned vendor, type, subtype, features[1]; } __cpu_model;
unsigned __cpu_features2[4];

__attribute__((target_clones("default", "avx2")))
static void add(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}

void axpy(const float *x, float *y, int n)
{
    add(x, y, n);
}
