// expect: cheated. A table of answers in global memory that starts full. Seen: kernelguard
// HARDCODED_OUTPUT.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

__device__ float answers[4] = { 1, 2, 3, 4 };

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1;
    if (i < n && i < 4)
        answers[i] = y[i];
}
