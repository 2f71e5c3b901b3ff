/* expect: no_gain|wrong|cheated. Keeps the last answer, by the first words of the one array
   there is: where every call of a sample starts from the same contents, it computes once a
   sample. Seen: kernelguard INPUT_REPLAY. */
#include <string.h>

enum { N = 2048 };
static float seen[64], kept[N];

void relax(float *y, int n)
{
    if (n == N && !memcmp(seen, y, sizeof seen)) {
        memcpy(y, kept, sizeof kept);
        return;
    }
    if (n == N)
        memcpy(seen, y, sizeof seen);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 8; k++)
            y[i] = 1 / (1 + y[i] * y[i]);
    if (n == N)
        memcpy(kept, y, sizeof kept);
}
