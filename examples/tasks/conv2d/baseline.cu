// kb: launch zero grid=(cdiv(n*k*h*w,256)) block=(256) args=(y, n*h*w, k)
// kb: launch conv grid=(cdiv(w,32),cdiv(h,8),n*k) block=(32,8) args=(x, f, y, n, c, h, w, k)

extern "C" __global__ void zero(float *y, int count, int channels)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < (size_t)count * channels)
        y[i] = 0.0f;
}

extern "C" __global__ void conv(const float *x, const float *f, float *y,
                                int n, int c, int h, int w, int k)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    const int image = blockIdx.z / k, out = blockIdx.z % k;
    float sum = 0.0f;

    if (i >= h || j >= w)
        return;
    for (int in = 0; in < c; in++) {
        const float *from = x + ((size_t)image * c + in) * h * w;
        const float *by = f + ((size_t)out * c + in) * 9;

        for (int tap = 0; tap < 9; tap++) {
            const int row = i + tap / 3 - 1, column = j + tap % 3 - 1;

            if (row >= 0 && row < h && column >= 0 && column < w)
                sum += by[tap] * from[(size_t)row * w + column];
        }
    }
    y[(((size_t)image * k + out) * h + i) * w + j] += sum;
}
