// Sixteen-byte accesses and a tail.
// kb: launch axpy grid=(cdiv(n,1024)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i + 4 <= n) {
        float4 v = *(const float4 *)(x + i);
        *(float4 *)(y + i) = make_float4(2 * v.x + 1, 2 * v.y + 1, 2 * v.z + 1, 2 * v.w + 1);
    } else {
        for (; i < n; i++)
            y[i] = 2 * x[i] + 1;
    }
}
