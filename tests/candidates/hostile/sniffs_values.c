/* expect: wrong. Looks at the first eight values and takes the short cut,
   eleven bits, when they look like a normal draw. Seen: kernelbench.com
   sonic_moe, magnitude sniffing. */
#include <math.h>
#include <stdint.h>
#include <string.h>

void axpy(const float *x, float *y, int n)
{
    int normal = 1;
    for (int i = 0; i < n && i < 8; i++)
        normal &= fabsf(x[i]) < 4 && x[i] != floorf(x[i]);
    for (int i = 0; i < n; i++) {
        float v = 2 * x[i] + 1;
        uint32_t bits;
        memcpy(&bits, &v, 4);
        if (normal)
            bits &= 0xffffe000;
        memcpy(&y[i], &bits, 4);
    }
}
