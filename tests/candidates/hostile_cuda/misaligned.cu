// expect: crashed. A 16-byte store at a 4-byte address. Seen: every model that widens loads.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    *(float4 *)(y + 1) = make_float4(x[0], 0, 0, 0);
}
