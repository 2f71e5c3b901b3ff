#include "ptx.h"

#include <ctype.h>
#include <string.h>

static const struct { const char *word, *why; } forbidden[] = {
    { "L2::evict_last", "the kernel's PTX has L2::evict_last: it would keep "
      "its data in the cache over the flush between two runs" },
    { "createpolicy.cvt", "the kernel's PTX has createpolicy.cvt: a cache "
      "policy made of a number could keep its data over the flush between two "
      "runs" },
    { "discard.", "the kernel's PTX has discard: it drops cache lines that "
      "are not written yet" },
    { "%globaltimer", "the kernel's PTX reads %globaltimer: a kernel has no "
      "use for the time" },
};

/* A whole number of more digits than anything but a word of 64 bits needs;
 * 0d3FF.. is a floating-point number. */
static bool is_long(const char *digits, size_t n)
{
    bool hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    bool real = digits[0] == '0' && (digits[1] == 'd' || digits[1] == 'D');
    return !real && n > (hex ? 15 : 16);
}

static bool has_long_number(const char *ptx)
{
    for (const char *p = ptx; *p; ) {
        size_t n = 0;
        bool number = isdigit((unsigned char)*p);
        while (isalnum((unsigned char)p[n]) || p[n] == '_')
            n++;
        if (number && is_long(p, n))
            return true;
        p += n ? n : 1;
    }
    return false;
}

const char *kb_ptx_forbidden(const char *ptx)
{
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++)
        if (strstr(ptx, forbidden[i].word))
            return forbidden[i].why;
    if (strstr(ptx, "L2::cache_hint")
        && (!strstr(ptx, "createpolicy.") || has_long_number(ptx)))
        return "the kernel's PTX has L2::cache_hint with a policy made up of a "
               "number: it could keep its data over the flush between two runs";
    return NULL;
}
