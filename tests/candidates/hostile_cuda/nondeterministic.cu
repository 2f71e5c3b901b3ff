// expect: wrong. The last bit comes from a clock: inside any tolerance. Seen: wafer.ai determinism
// check.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = __uint_as_float(__float_as_uint(2 * x[i] + 1) ^ (unsigned)(clock64() >> 3 & 1));
}
