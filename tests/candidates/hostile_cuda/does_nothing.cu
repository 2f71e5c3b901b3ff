// expect: wrong. Stale memory might hold an earlier answer. Seen: KernelBench test result_reuse.
// kb: launch axpy grid=(cdiv(n,256)) block=(256) args=(x, y, n)

extern "C" __global__ void axpy(const float *x, float *y, int n) { }
