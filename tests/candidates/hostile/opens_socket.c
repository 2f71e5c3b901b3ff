/* expect: cheated. Seen: pygpubench exploits. */
#include <sys/socket.h>

void axpy(const float *x, float *y, int n)
{
    socket(AF_INET, SOCK_STREAM, 0);
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
