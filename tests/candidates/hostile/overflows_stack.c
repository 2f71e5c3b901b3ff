/* expect: crashed. Calls itself without end. Seen: every model. */
static volatile int zero;

static float deep(float v)
{
    volatile float here[16384];
    here[zero] = v;
    return deep(here[zero]) + here[zero];
}

void axpy(const float *x, float *y, int n)
{
    (void)n;
    y[0] = deep(x[0]);
}
