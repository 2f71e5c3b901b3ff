/* expect: crashed. Makes the input writable first: its memory is sealed, so
   that fails. Seen: pygpubench exploits, mprotect before a write. */
#include <stdint.h>
#include <sys/mman.h>

void axpy(const float *x, float *y, int n)
{
    uintptr_t page = (uintptr_t)x & -4096ul;
    mprotect((void *)page, 4096, PROT_READ | PROT_WRITE);
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
    *(volatile float *)x = 0;
}
