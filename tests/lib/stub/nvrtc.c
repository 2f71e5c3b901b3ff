/* A libnvrtc.so.13 that compiles nothing. Its cubin is an ELF file with the
 * names and the parameters of the source's kernels, as core/cuda/compile/cubin.c
 * reads them: 8 bytes for a pointer, a double or a 64-bit integer, 4 for the
 * rest. A source with an #error is refused; one that says "slow to compile" is.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KERNELS = 16, PARAMS = 16, BYTES = 16384, FAILED = 6,
       CUDA = 190, ABI = 0x41, ENTRY = 0x10 };

struct kernel {
    char name[64];
    int params;
    unsigned bytes[PARAMS];
};

static struct program {
    struct kernel kernel[KERNELS];
    unsigned kernels;
    int refused, slow;
} the_program;

static unsigned width_of(const char *text, size_t n)
{
    static const char *const wide[] = { "*", "double", "long", "u64", "64_t" };
    char one[128];
    snprintf(one, sizeof one, "%.*s", (int)n, text);
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (strstr(one, wide[i]))
            return 8;
    return 4;
}

/* From "NAME(type a, type b) {". */
static void read_kernel(struct kernel *k, const char *at)
{
    size_t n = strcspn(at, "(");
    snprintf(k->name, sizeof k->name, "%.*s", (int)n, at);
    at += n;
    for (at += *at == '('; *at && *at != ')' && k->params < PARAMS; ) {
        n = strcspn(at, ",)");
        k->bytes[k->params++] = width_of(at, n);
        at += n + (at[n] == ',');
    }
}

int nvrtcCreateProgram(void **p, const char *source, const char *name,
                       int headers, const char *const *header,
                       const char *const *include_name)
{
    static const char mark[] = "__global__ void ";
    (void)name, (void)headers, (void)header, (void)include_name;
    memset(&the_program, 0, sizeof the_program);
    the_program.refused = strstr(source, "#error") != NULL;
    the_program.slow = strstr(source, "slow to compile") != NULL;
    for (const char *at = source; (at = strstr(at, mark)); ) {
        at += sizeof mark - 1;
        if (the_program.kernels < KERNELS)
            read_kernel(&the_program.kernel[the_program.kernels++], at);
    }
    *p = &the_program;
    return 0;
}

int nvrtcCompileProgram(void *p, int options, const char *const *option)
{
    const struct program *program = p;
    const struct timespec pause = { .tv_nsec = 400000000 };
    (void)options, (void)option;
    if (program->slow)
        nanosleep(&pause, NULL);
    return program->refused ? FAILED : 0;
}

static int text(char *out, size_t *n, const char *words)
{
    if (n)
        *n = strlen(words) + 1;
    if (out)
        strcpy(out, words);
    return 0;
}

static const char *log_of(void *p)
{
    return ((struct program *)p)->refused
           ? "kernel.cu(1): error: #error directive" : "stub";
}

int nvrtcGetProgramLogSize(void *p, size_t *n)
{
    return text(NULL, n, log_of(p));
}

int nvrtcGetProgramLog(void *p, char *log)
{
    return text(log, NULL, log_of(p));
}

static const char ptx[] = ".version 9.0\n.target sm_90a\n";

int nvrtcGetPTXSize(void *p, size_t *n)
{
    (void)p;
    return text(NULL, n, ptx);
}

int nvrtcGetPTX(void *p, char *out)
{
    (void)p;
    return text(out, NULL, ptx);
}

int nvrtcGetCUBINSize(void *p, size_t *n)
{
    (void)p;
    *n = BYTES;
    return 0;
}

struct writer {
    char *file;
    size_t used, sections;
    Elf64_Shdr *header;
    char *names;
    size_t named;
};

static unsigned name_it(struct writer *w, const char *a, const char *b)
{
    size_t at = w->named;
    w->named += (size_t)sprintf(w->names + at, "%s%s", a, b) + 1;
    return (unsigned)at;
}

static void add_section(struct writer *w, unsigned type, const char *a,
                        const char *b, const void *bytes, size_t n)
{
    w->header[w->sections++] = (Elf64_Shdr){ .sh_name = name_it(w, a, b),
        .sh_type = type, .sh_offset = w->used, .sh_size = n,
        .sh_link = type == SHT_SYMTAB, .sh_addralign = 8,
        .sh_entsize = type == SHT_SYMTAB ? sizeof(Elf64_Sym) : 0 };
    if (n)
        memcpy(w->file + w->used, bytes, n);
    w->used += (n + 7) / 8 * 8;
}

/* Sections 0: none, 1: names, 2: symbols, 3: what is known of all kernels,
 * then one a kernel. */
int nvrtcGetCUBIN(void *p, char *out)
{
    const struct program *the = p;
    static _Alignas(8) char file[BYTES];
    static char names[4096];
    Elf64_Sym symbol[KERNELS + 1] = { 0 };
    unsigned all[KERNELS * 3], one[PARAMS * 4];
    struct writer w = { .file = file, .names = names, .named = 1 };
    memset(file, 0, sizeof file);
    memset(names, 0, sizeof names);
    Elf64_Ehdr *h = (Elf64_Ehdr *)(void *)file;
    w.header = (Elf64_Shdr *)(void *)(file + sizeof *h);
    w.used = sizeof *h + (KERNELS + 4) * sizeof *w.header;
    for (unsigned i = 0; i < the->kernels; i++) {
        symbol[i + 1] = (Elf64_Sym){
            .st_name = name_it(&w, the->kernel[i].name, ""),
            .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
            .st_other = ENTRY, .st_shndx = 3 };
        all[3 * i] = 0x04 | 0x2f << 8 | 8 << 16;        /* registers */
        all[3 * i + 1] = i + 1;
        all[3 * i + 2] = 16;
    }
    w.sections = 1;
    add_section(&w, SHT_STRTAB, ".strtab", "", names, sizeof names);
    add_section(&w, SHT_SYMTAB, ".symtab", "", symbol,
                (the->kernels + 1) * sizeof *symbol);
    add_section(&w, SHT_PROGBITS, ".nv.info", "", all, the->kernels * 12);
    for (unsigned i = 0; i < the->kernels; i++) {
        const struct kernel *k = &the->kernel[i];
        for (int a = 0; a < k->params; a++) {
            one[4 * a] = 0x04 | 0x17 << 8 | 12 << 16;   /* a parameter */
            one[4 * a + 1] = 0;
            one[4 * a + 2] = (unsigned)a | (unsigned)(8 * a) << 16;
            one[4 * a + 3] = k->bytes[a] << 18;
        }
        add_section(&w, SHT_PROGBITS, ".nv.info.", k->name, one,
                    (size_t)k->params * 16);
    }
    memcpy(file + w.header[1].sh_offset, names, sizeof names);
    memcpy(h->e_ident, ELFMAG, SELFMAG);
    h->e_ident[EI_CLASS] = ELFCLASS64;
    h->e_ident[EI_DATA] = ELFDATA2LSB;
    h->e_ident[EI_VERSION] = EV_CURRENT;
    h->e_version = EV_CURRENT;
    h->e_ident[EI_OSABI] = ABI;
    h->e_type = ET_EXEC;
    h->e_machine = CUDA;
    h->e_flags = 90 << 8;
    h->e_ehsize = sizeof *h;
    h->e_shoff = sizeof *h;
    h->e_shentsize = sizeof *w.header;
    h->e_shnum = (Elf64_Half)w.sections;
    h->e_shstrndx = 1;
    memcpy(out, file, BYTES);
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
