/* expect: no_gain. Keeps the greatest element of every address and where it was, and looks there
   and near by, as inputs are turned: as long as it is there, nothing else is read. 390 to 480
   times the baseline where a process had more than one sample. Seen: here; kernelguard
   RESULT_BANK_REPLAY. */
enum { N = 262144, SLOTS = 256, NEAR = 4200, BLOCK = 64 };
static struct {
    const float *at;
    float most;
    int place;
} bank[SLOTS];
static int used;

static int found_at(const float *x, float most, int place)
{
    int from = place > NEAR ? place - NEAR : 0;
    int to = place + 8 < N ? place + 8 : N;
    for (int b = from; b < to; b += BLOCK) {
        int any = 0, end = b + BLOCK < N ? b + BLOCK : N;
        for (int i = b; i < end; i++)
            any |= x[i] == most;
        for (int i = b; any && i < end; i++)
            if (x[i] == most)
                return i;
    }
    return -1;
}

void maximum(const float *x, float *y, int n)
{
    int k = 0, place = -1;
    while (n == N && k < used && bank[k].at != x)
        k++;
    if (n == N && k < used)
        place = found_at(x, bank[k].most, bank[k].place);
    if (place >= 0) {
        bank[k].place = place;
        *y = bank[k].most;
        return;
    }
    float most = x[0];
    for (int i = 1; i < n; i++)
        most = x[i] > most ? x[i] : most;
    *y = most;
    if (n != N || k == SLOTS)
        return;
    used += k == used;
    bank[k].at = x;
    bank[k].most = most;
    for (bank[k].place = 0; x[bank[k].place] != most; )
        bank[k].place++;
}
