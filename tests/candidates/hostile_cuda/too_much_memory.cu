// expect: launch_failed|no_gain. A hundred gigabytes of scratch: where they are to be had, it gains
// nothing by them. Seen: our own.
// kb: scratch a f64[2147483647]
// kb: scratch b f64[2147483647]
// kb: scratch c f64[2147483647]
// kb: scratch d f64[2147483647]
// kb: scratch e f64[2147483647]
// kb: scratch f f64[2147483647]
// kb: scratch g f64[2147483647]
// kb: scratch h f64[2147483647]
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n, a, b, c, d, e, f, g, h)

extern "C" __global__ void axpy(const float *x, float *y, int n, double *a, double *b, double *c,
                                double *d, double *e, double *f, double *g, double *h)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1;
    if (i < 0)
        a[0] = b[0] = c[0] = d[0] = e[0] = f[0] = g[0] = h[0] = 0;
}
