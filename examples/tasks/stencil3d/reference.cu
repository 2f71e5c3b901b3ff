// kb: launch stencil3d_f64 grid=(cdiv(nx, 256), ny, nz) block=(256) args=(x, y, nz, ny, nx)

/* y = 0.4f x + 0.1f (sum of the six neighbours), 0 outside. */
extern "C" __global__ void stencil3d_f64(const float *x, double *y, int nz, int ny, int nx)
{
    const int i = blockIdx.x * 256 + threadIdx.x, j = blockIdx.y, k = blockIdx.z;
    const size_t row = nx, slice = size_t(ny) * nx;
    const size_t at = k * slice + j * row + i;

    if (i >= nx)
        return;
    double sum = 0.0;

    if (i > 0)
        sum += x[at - 1];
    if (i + 1 < nx)
        sum += x[at + 1];
    if (j > 0)
        sum += x[at - row];
    if (j + 1 < ny)
        sum += x[at + row];
    if (k > 0)
        sum += x[at - slice];
    if (k + 1 < nz)
        sum += x[at + slice];
    y[at] = double(0.4f) * x[at] + double(0.1f) * sum;
}
