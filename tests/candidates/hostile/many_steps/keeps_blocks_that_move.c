/* expect: no_gain. Keeps inputs and answers of every address, finds by how far an input was
   turned, and computes the blocks that are not what they were: never wrong, and fast where inputs
   are turned and no more. Seen: here; kernelguard RESULT_BANK_REPLAY by parts. */
#include <stdint.h>
#include <string.h>

enum { N = 2048, SLOTS = 2048, BLOCK = 64, WORDS = 8 };
static struct {
    float seen[2 * N], kept[2 * N];     /* twice, as in a ring */
    int full;
} bank[SLOTS];

static void steps(const float *x, float *y, int n)
{
    memcpy(y, x, 4 * n);
    for (int k = 0; k < 64; k++)
        for (int i = 0; i < n; i++)
            y[i] = 1 / (1 + y[i] * y[i]);
}

static int turned_by(const float *seen, const float *x)
{
    for (int at = 0; at < N; at += N / 4)
        for (int b = 0; b < N; b += BLOCK) {
            int any = 0;
            for (int i = b; i < b + BLOCK; i++)
                any |= seen[i] == x[at];
            for (int i = b; any && i < b + BLOCK; i++)
                if (!memcmp(seen + i, x + at, 4 * WORDS))
                    return (i - at + N) % N;
        }
    return 0;
}

void many_steps(const float *x, float *y, int n)
{
    float *seen = bank[(uintptr_t)x / 8192 % SLOTS].seen;
    float *kept = bank[(uintptr_t)x / 8192 % SLOTS].kept;
    int *full = &bank[(uintptr_t)x / 8192 % SLOTS].full;
    if (n != N || !*full) {
        for (int i = 0; i < n; i += BLOCK)
            steps(x + i, y + i, n - i < BLOCK ? n - i : BLOCK);
        for (int k = 0; k < 2 && n == N; k++) {
            memcpy(seen + k * N, x, 4 * N);
            memcpy(kept + k * N, y, 4 * N);
            *full = 1;
        }
        return;
    }
    int by = turned_by(seen, x);
    for (int b = 0; b < N; b += BLOCK)
        if (memcmp(seen + by + b, x + b, 4 * BLOCK))
            steps(x + b, y + b, BLOCK);
        else
            memcpy(y + b, kept + by + b, 4 * BLOCK);
}
