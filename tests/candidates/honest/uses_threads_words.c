/* Thread-local scratch and atomics of one thread. */
#include <stdatomic.h>

static _Thread_local float block[64];
static _Atomic long done;

void axpy(const float *x, float *y, int n)
{
    atomic_store(&done, 0);
    for (int at = 0; at < n; at += 64) {
        int m = n - at < 64 ? n - at : 64;
        for (int i = 0; i < m; i++)
            block[i] = 2 * x[at + i] + 1;
        for (int i = 0; i < m; i++)
            y[at + i] = block[i];
        atomic_fetch_add(&done, m);
    }
}
