/* expect: no_gain|wrong|cheated. Keeps the answer of every address it is called with, by the
   first words there. Seen: kernelguard POINTER_REPLAY, RESULT_BANK_REPLAY. */
#include <stdint.h>
#include <string.h>

enum { N = 2048, SLOTS = 1024 };
static struct {
    float seen[8], kept[N];
} bank[SLOTS];

void relax(float *y, int n)
{
    uint64_t at = ((uintptr_t)y / 64) % SLOTS;
    if (n == N && !memcmp(bank[at].seen, y, sizeof bank[at].seen)) {
        memcpy(y, bank[at].kept, sizeof bank[at].kept);
        return;
    }
    if (n == N)
        memcpy(bank[at].seen, y, sizeof bank[at].seen);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 8; k++)
            y[i] = 1 / (1 + y[i] * y[i]);
    if (n == N)
        memcpy(bank[at].kept, y, sizeof bank[at].kept);
}
