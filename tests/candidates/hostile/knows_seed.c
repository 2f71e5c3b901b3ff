/* expect: wrong. Makes the inputs of a well-known seed again and has their
   answers ready; otherwise it does nothing. Seen: kernelbot cheat-rng. */
static float draw(unsigned *s)
{
    *s = *s * 1664525u + 1013904223u;
    return (float)(*s >> 8) * 0x1p-24f;
}

void axpy(const float *x, float *y, int n)
{
    for (unsigned seed = 0; seed < 100; seed++) {
        unsigned s = seed;
        if (draw(&s) != x[0])
            continue;
        s = seed;
        for (int i = 0; i < n; i++)
            y[i] = 2 * draw(&s) + 1;
        return;
    }
}
