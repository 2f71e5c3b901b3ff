/* expect: wrong. Slow in its first three calls, so that it is run again to find the length of a
   sample, and wrong in those runs alone: where a process begins with a sample of many calls it is
   right. Seen: wrong_before_it_is_timed.c, which was so, and ok, on a busy machine. */
static float *first;
static int calls, batches, many;

void axpy(const float *x, float *y, int n)
{
    if (n == 65536) {
        if (!first)
            first = y;
        many |= ++calls == 2 && y != first;
        batches += y == first;
        if (!many && batches > 3)
            return;
        if (!many)
            for (volatile int spin = 0; spin < 5000000; spin++)
                ;
    }
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
