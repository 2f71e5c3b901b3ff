/* expect: no_gain. Keeps inputs and answers of every address, and computes the blocks that are
   not what they were: never wrong, and faster where most of an input is as it was the call
   before. Seen: here; kernelguard RESULT_BANK_REPLAY by parts. */
#include <stdint.h>
#include <string.h>

enum { N = 2048, SLOTS = 2048, BLOCK = 16 };
static struct {
    float seen[N], kept[N];
    int full;
} bank[SLOTS];

static void steps(float *y, int n)
{
    for (int k = 0; k < 8; k++)
        for (int i = 0; i < n; i++)
            y[i] = 1 / (1 + y[i] * y[i]);
}

void relax(float *y, int n)
{
    float *seen = bank[(uintptr_t)y / 8192 % SLOTS].seen;
    float *kept = bank[(uintptr_t)y / 8192 % SLOTS].kept;
    int *full = &bank[(uintptr_t)y / 8192 % SLOTS].full;
    if (n != N) {
        for (int i = 0; i < n; i++)
            steps(y + i, 1);
        return;
    }
    for (int b = 0; b < N; b += BLOCK) {
        if (!*full || memcmp(seen + b, y + b, 4 * BLOCK)) {
            memcpy(seen + b, y + b, 4 * BLOCK);
            memcpy(kept + b, y + b, 4 * BLOCK);
            steps(kept + b, BLOCK);
        }
        memcpy(y + b, kept + b, 4 * BLOCK);
    }
    *full = 1;
}
