/* An NVRTC that reserves far more address space than it uses when it is first
 * asked, as the CUDA driver does that the real one opens, and compiles nothing:
 * a program takes memory, and is the same small file always. Its log says what
 * the driver was shown then, and what is shown now.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { TAKEN = 256 << 20, CUBIN = 128 };
static char taken, log_text[128];

static const char *shown(void)
{
    const char *devices = getenv("CUDA_VISIBLE_DEVICES");
    return !devices ? "unset" : *devices ? devices : "empty";
}

int nvrtcCreateProgram(void **p, const char *source, const char *name,
                       int headers, const char *const *header,
                       const char *const *include_name)
{
    static void *reserved;
    static char at_first[32];
    (void)source, (void)name, (void)headers, (void)header, (void)include_name;
    if (!reserved) {
        reserved = mmap(NULL, (size_t)12 << 30, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        snprintf(at_first, sizeof at_first, "%s", shown());
    }
    snprintf(log_text, sizeof log_text, "devices at first %s, then %s",
             at_first, shown());
    *p = &taken;
    return 0;
}

int nvrtcCompileProgram(void *p, int options, const char *const *option)
{
    (void)p, (void)options, (void)option;
    char *memory = malloc(TAKEN);
    if (!memory)
        abort();                        /* as C++ does */
    memset(memory, 1, TAKEN);
    taken = memory[TAKEN / 2];
    free(memory);
    return 0;
}

static int size_of(size_t *n, size_t value)
{
    *n = value;
    return 0;
}

int nvrtcGetProgramLogSize(void *p, size_t *n)
{
    return (void)p, size_of(n, sizeof log_text);
}

int nvrtcGetProgramLog(void *p, char *log)
{
    (void)p;
    memcpy(log, log_text, sizeof log_text);
    return 0;
}

int nvrtcGetCUBINSize(void *p, size_t *n)
{
    return (void)p, size_of(n, CUBIN);
}

int nvrtcGetCUBIN(void *p, char *cubin)
{
    (void)p;
    memset(cubin, 0, CUBIN);
    memcpy(cubin, "\177ELF", 4);
    return 0;
}

static const char ptx[] = ".version 9.0\n.target sm_90\n";

int nvrtcGetPTXSize(void *p, size_t *n)
{
    return (void)p, size_of(n, sizeof ptx);
}

int nvrtcGetPTX(void *p, char *text)
{
    (void)p;
    memcpy(text, ptx, sizeof ptx);
    return 0;
}

int nvrtcDestroyProgram(void **p)
{
    *p = NULL;
    return 0;
}

const char *nvrtcGetErrorString(int code)
{
    return code ? "error" : "success";
}
