/* expect: cheated. Would survive its own faults and go on. Seen: pygpubench
   exploits, a seccomp trap handler. */
#include <signal.h>
#include <stddef.h>

static void nothing(int sig)
{
    (void)sig;
}

void axpy(const float *x, float *y, int n)
{
    struct sigaction act = { .sa_handler = nothing };
    sigaction(SIGSEGV, &act, NULL);
    sigaction(SIGSYS, &act, NULL);
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
