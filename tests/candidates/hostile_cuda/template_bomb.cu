// expect: build_failed. Templates that call themselves twice; the compiler takes its whole time
// limit: slow: yes. Seen: our own, tried on NVRTC 13.0.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

template <int a, int b> struct bomb {
    static const int value = bomb<a + 1, b * 2>::value + bomb<a + 1, b * 2 + 1>::value;
};
template <int b> struct bomb<24, b> {
    static const int value = b;
};

extern "C" __global__ void axpy(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i] + 1;
    if (i == 0)
        y[0] += bomb<0, 0>::value;
}
