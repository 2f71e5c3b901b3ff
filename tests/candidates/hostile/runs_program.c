/* expect: cheated. Another program would do the work, or anything else. Seen:
   pygpubench exploits. */
#include <unistd.h>

void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
    execl("/bin/true", "true", (char *)0);
}
