// kb: launch stencil3d grid=(cdiv(nx, 32), cdiv(ny, 8), nz) block=(32, 8) args=(x, y, nz, ny, nx)

extern "C" __global__ void stencil3d(const float *x, float *y, int nz, int ny, int nx)
{
    const int i = blockIdx.x * 32 + threadIdx.x, j = blockIdx.y * 8 + threadIdx.y;
    const int k = blockIdx.z;
    const size_t row = nx, slice = size_t(ny) * nx;
    const size_t at = k * slice + j * row + i;

    if (i >= nx || j >= ny)
        return;
    float sum = 0.0f;

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
    y[at] = 0.4f * x[at] + 0.1f * sum;
}
