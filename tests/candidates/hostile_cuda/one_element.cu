// expect: wrong. All but one element. Seen: SOL-ExecBench accepts 99 % of elements.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = (2 * x[i] + 1) * (i == n / 3 ? 1.001f : 1.0f);
}
