/* expect: cheated. Attaches to the process that judges it. Seen: pygpubench
   exploits, ptrace and /proc/self/mem. */
#include <sys/ptrace.h>
#include <unistd.h>

void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
    ptrace(PTRACE_ATTACH, getppid(), 0, 0);
}
