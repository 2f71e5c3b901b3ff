// expect: wrong|crashed|cheated. Walks over the memory around its output and zeroes it, to make
// the expected answer zero as well. Seen: pygpubench submission_gpu_scan_zeros.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 4096)
        y[i - 4096] = 0;
    if (i < n)
        y[i] = 0;
}
