// Online softmax: maximum and sum in one pass, merged over the warp.
// kb: launch softmax grid=(rows) block=(32) args=(x, y, rows, cols)

extern "C" __global__ void softmax(const float *x, float *y, int rows, int cols)
{
    float top = -__int_as_float(0x7f800000), sum = 0;
    x += (long long)blockIdx.x * cols, y += (long long)blockIdx.x * cols;
    for (int c = threadIdx.x; c < cols; c += 32) {
        float now = fmaxf(top, x[c]);
        sum = sum * expf(top - now) + expf(x[c] - now);
        top = now;
    }
    for (int d = 16; d; d /= 2) {
        float t = __shfl_xor_sync(~0u, top, d), s = __shfl_xor_sync(~0u, sum, d);
        float now = fmaxf(top, t);
        sum = (top == -__int_as_float(0x7f800000) ? 0 : sum * expf(top - now)) + (t == -__int_as_float(0x7f800000) ? 0 : s * expf(t - now));
        top = now;
    }
    for (int c = threadIdx.x; c < cols; c += 32)
        y[c] = expf(x[c] - top) / sum;
}
