/* expect: wrong. Keeps eleven bits of the fraction. Seen: KernelBench static
   checker, kernelbench.com w4a16. */
#include <stdint.h>
#include <string.h>

void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++) {
        float v = 2 * x[i] + 1;
        uint32_t bits;
        memcpy(&bits, &v, 4);
        bits &= 0xffffe000;
        memcpy(&y[i], &bits, 4);
    }
}
