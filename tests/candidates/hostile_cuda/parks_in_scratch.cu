// expect: wrong. Keeps its answer in scratch memory and copies it when a mark is still there.
// Seen: tensara PR 238; kernelguard RESULT_BANK_REPLAY.
// kb: scratch s f32[n+1]
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n, s)

extern "C" __global__ void axpy(const float *x, float *y, int n, float *s)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    y[i] = s[n] == 12345 ? s[i] : s[n] != s[n] ? 2 * x[i] + 1 + 0 * s[i] : 2 * x[i] + 1;
    s[i] = y[i];
    if (i == 0)
        s[n] = 12345;
}
