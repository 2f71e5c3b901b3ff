/* expect: crashed|timeout|wrong|no_gain. Jumps into a frame of an earlier call
   and so never returns from this one; where both frames lie in one place (a
   sanitized build of ours) it does its work, and gains nothing. Seen: our own,
   "longjmp" in pygpubench exploits. */
#include <setjmp.h>

static jmp_buf place;
static int calls;

void axpy(const float *x, float *y, int n)
{
    if (calls++ == 0)
        setjmp(place);
    else
        longjmp(place, 1);
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
