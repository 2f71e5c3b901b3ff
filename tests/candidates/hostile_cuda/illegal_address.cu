// expect: crashed. Far outside every allocation. Seen: every model.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    y[(1ll << 45) + threadIdx.x] = x[0];
}
