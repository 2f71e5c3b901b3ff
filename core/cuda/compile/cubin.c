#include "cubin.h"

#include <assert.h>
#include <gelf.h>
#include <libelf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MACHINE_CUDA = 190,         /* EM_CUDA */
    ABI_CUDA12 = 0x33,          /* EI_OSABI; where e_flags keeps the sm */
    ABI_CUDA13 = 0x41,
    OTHER_ENTRY = 0x10,         /* st_other of a kernel */
    SECTIONS = 4096, SYMBOLS = 65536, NAME_BYTES = 1024,
    RESERVED_BYTES = 1024,      /* of shared memory, on sm_90 and later */
    TOOLKIT_BYTES = 8192        /* most of .nv.global that is the toolkit's */
};

/* Records of .nv.info: format, attribute, then 16 bits of value or, for SIZED,
 * of length. */
enum { FORMAT_SIZED = 4 };
enum attribute {
    ATTR_MAX_THREADS = 0x05,    /* x, y, z */
    ATTR_FRAME_SIZE = 0x11,     /* symbol, bytes */
    ATTR_MIN_STACK_SIZE = 0x12, /* symbol, bytes */
    ATTR_KPARAM_INFO = 0x17,    /* index; ordinal, offset; bits 18.. size */
    ATTR_REGCOUNT = 0x2f        /* symbol, registers */
};

struct entry {
    struct kb_cubin_entry is;
    size_t symbol;
    uint64_t seen;              /* ordinals of parameters, as bits */
};

struct kb_cubin {
    uint32_t sm;
    size_t entries;
    struct entry entry[KB_CUBIN_ENTRIES];
};

struct reader {
    kb_cubin *cubin;
    Elf *elf;
    size_t names;               /* section of section names */
    Elf_Data *symbols;          /* the one table of them */
    size_t symbol_count, symbol_names;
    char *why;
    size_t cap;
};

__attribute__((format(printf, 2, 3)))
static kb_status refuse(const struct reader *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->why, r->cap, format, args);
    va_end(args);
    for (char *at = r->why; *at; at++)          /* names are a stranger's */
        if (*at < ' ' || *at > '~')
            *at = '?';
    return KB_EINVAL;
}

static bool starts(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

static uint16_t u16(const unsigned char *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t u32(const unsigned char *p)
{
    return u16(p) | (uint32_t)u16(p + 2) << 16;
}

/* Of a section that is there and whose bytes are too; "" for a bad name. */
static const char *section_name(const struct reader *r, const GElf_Shdr *h)
{
    const char *name = elf_strptr(r->elf, r->names, h->sh_name);
    return name ? name : "";
}

static kb_status check_header(const struct reader *r, uint32_t sm)
{
    GElf_Ehdr h;
    size_t sections = 0;
    if (elf_kind(r->elf) != ELF_K_ELF || gelf_getclass(r->elf) != ELFCLASS64
        || !gelf_getehdr(r->elf, &h) || h.e_ident[EI_DATA] != ELFDATA2LSB)
        return refuse(r, "not a 64-bit ELF file");
    if (h.e_machine != MACHINE_CUDA)
        return refuse(r, "an ELF file for machine %u, not for CUDA",
                      h.e_machine);
    unsigned abi = h.e_ident[EI_OSABI];
    if (abi != ABI_CUDA12 && abi != ABI_CUDA13)
        return refuse(r, "a cubin of unknown ABI %u: it needs a newer "
                      "kernelband", abi);
    r->cubin->sm = (abi == ABI_CUDA13 ? h.e_flags >> 8 : h.e_flags) & 0xff;
    if (sm && r->cubin->sm != sm)
        return refuse(r, "a cubin for sm_%u, and the device is sm_%u",
                      r->cubin->sm, sm);
    if (elf_getshdrnum(r->elf, &sections) || sections > SECTIONS)
        return refuse(r, "a cubin with a bad or too long list of sections");
    return KB_OK;
}

static struct entry *find_symbol(kb_cubin *c, size_t symbol)
{
    for (size_t i = 0; i < c->entries; i++)
        if (c->entry[i].symbol == symbol)
            return &c->entry[i];
    return NULL;
}

static struct entry *find_name(kb_cubin *c, const char *name)
{
    for (size_t i = 0; i < c->entries; i++)
        if (strcmp(c->entry[i].is.name, name) == 0)
            return &c->entry[i];
    return NULL;
}

static kb_status add_entry(const struct reader *r, const char *name,
                           size_t symbol)
{
    kb_cubin *c = r->cubin;
    if (strlen(name) > NAME_BYTES || !*name)
        return refuse(r, "a kernel without a name, or with one too long");
    if (find_name(c, name))
        return refuse(r, "two kernels named %.80s", name);
    if (c->entries == KB_CUBIN_ENTRIES)
        return refuse(r, "more than %d kernels", KB_CUBIN_ENTRIES);
    char *copy = strdup(name);
    if (!copy)
        return KB_ENOMEM;
    c->entry[c->entries++] = (struct entry){ .is.name = copy,
                                             .symbol = symbol };
    return KB_OK;
}

/* The compiler's own, and all that may be undefined. */
static bool may_be_undefined(const char *name)
{
    return !*name || starts(name, ".nv.reservedSmem.");
}

static kb_status check_undefined(const struct reader *r, const char *name)
{
    if (may_be_undefined(name))
        return KB_OK;
    if (strcmp(name, "vprintf") == 0)
        return refuse(r, "it calls printf, which kernels here may not");
    if (strcmp(name, "malloc") == 0 || strcmp(name, "free") == 0)
        return refuse(r, "it calls %s on the device; ask for scratch in the "
                      "launch plan", name);
    if (strcmp(name, "__assertfail") == 0)
        return refuse(r, "it uses assert, which kernels here may not");
    if (starts(name, "cudaLaunch") || starts(name, "cudaGetParameterBuffer")
        || starts(name, "__cudaCDP"))
        return refuse(r, "it launches kernels from the device (%.60s); name "
                      "them in the launch plan", name);
    return refuse(r, "it needs %.80s, which it does not define", name);
}

/* Symbol i >= 1 and its name; false for a bad one. */
static bool get_symbol(const struct reader *r, size_t i, GElf_Sym *s,
                       const char **name)
{
    if (!gelf_getsym(r->symbols, (int)i, s))
        return false;
    *name = elf_strptr(r->elf, r->symbol_names, s->st_name);
    return *name != NULL;
}

static kb_status find_symbols(struct reader *r)
{
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(r->elf, scn)); ) {
        GElf_Shdr h;
        if (!gelf_getshdr(scn, &h) || h.sh_type != SHT_SYMTAB)
            continue;
        if (r->symbols)
            return refuse(r, "a cubin with two tables of symbols");
        r->symbols = elf_getdata(scn, NULL);
        r->symbol_names = h.sh_link;
        r->symbol_count = h.sh_entsize == sizeof(Elf64_Sym) && r->symbols
                       && r->symbols->d_buf
                        ? r->symbols->d_size / sizeof(Elf64_Sym) : 0;
        if (r->symbol_count == 0 || r->symbol_count > SYMBOLS
            || h.sh_link > SECTIONS)
            return refuse(r, "a cubin with a bad table of symbols");
    }
    return KB_OK;
}

static kb_status find_entries(const struct reader *r)
{
    for (size_t i = 1; i < r->symbol_count; i++) {
        GElf_Sym s;
        const char *name;
        kb_status st = KB_OK;
        if (!get_symbol(r, i, &s, &name))
            return refuse(r, "a cubin with a symbol without a name");
        if (s.st_shndx == SHN_UNDEF)
            st = check_undefined(r, name);
        else if (GELF_ST_TYPE(s.st_info) == STT_FUNC
                 && (s.st_other & OTHER_ENTRY))
            st = add_entry(r, name, i);
        if (st)
            return st;
    }
    if (r->cubin->entries == 0)
        return refuse(r, "it has no kernel: declare one extern \"C\" "
                      "__global__");
    return KB_OK;
}

/* A size of shared or local memory, or a count, no more than 32 bits. */
static uint32_t clamp(uint64_t v)
{
    return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

/* Records about a symbol lie in .nv.info, those of one kernel in its own
 * section, whose kernel is of. */
static kb_status read_record(const struct reader *r, struct entry *of,
                             unsigned attribute, const unsigned char *p,
                             size_t n)
{
    struct entry *e = n >= 8 ? find_symbol(r->cubin, u32(p)) : NULL;
    switch (attribute) {
    case ATTR_REGCOUNT:
        if (e)
            e->is.registers = u32(p + 4);
        break;
    case ATTR_FRAME_SIZE:
    case ATTR_MIN_STACK_SIZE:
        if (e && u32(p + 4) > e->is.local_bytes)
            e->is.local_bytes = u32(p + 4);
        break;
    case ATTR_MAX_THREADS:
        if (of && n >= 12)
            of->is.max_threads = clamp((uint64_t)u16(p) * u16(p + 4)
                                       * u16(p + 8));
        break;
    case ATTR_KPARAM_INFO:
        if (!of || n < 12)
            break;
        uint32_t ordinal = u16(p + 4);
        if (ordinal >= KB_CUBIN_PARAMS)
            return refuse(r, "%.80s has more than %d parameters",
                          of->is.name, KB_CUBIN_PARAMS);
        of->seen |= (uint64_t)1 << ordinal;
        of->is.param[ordinal].offset = u16(p + 6);
        of->is.param[ordinal].bytes = u32(p + 8) >> 18;
        break;
    default:
        break;
    }
    return KB_OK;
}

static kb_status read_info(const struct reader *r, const char *name,
                           Elf_Scn *scn)
{
    struct entry *of = NULL;
    if (starts(name, ".nv.info.")) {
        of = find_name(r->cubin, name + strlen(".nv.info."));
        if (!of)
            return KB_OK;               /* of a function that is no kernel */
    }
    Elf_Data *data = elf_rawdata(scn, NULL);
    if (!data || (data->d_size && !data->d_buf))
        return refuse(r, "a cubin cut short in %.80s", name);
    const unsigned char *p = data->d_buf;
    for (size_t left = data->d_size; left; ) {
        size_t n = left >= 4 && p[0] == FORMAT_SIZED ? u16(p + 2) : 0;
        if (left < 4 || n > left - 4)
            return refuse(r, "a cubin with a bad record in %.80s", name);
        kb_status st = KB_OK;
        if (p[0] == FORMAT_SIZED)
            st = read_record(r, of, p[1], p + 4, n);
        if (st)
            return st;
        p += 4 + n;
        left -= 4 + n;
    }
    return KB_OK;
}

/* Tables of the toolkit's own sinf, cosf, sin, cos and tan. */
static bool toolkit_table(const char *name, uint64_t bytes)
{
    return (bytes == 24 && strcmp(name, "__cudart_i2opi_f") == 0)
        || (bytes == 144 && strcmp(name, "__cudart_i2opi_d") == 0)
        || (bytes == 128 && strcmp(name, "__cudart_sin_cos_coeffs") == 0);
}

/* Constants of the toolkit's C++ headers, which every cubin that includes
 * them holds by the hundred. A source may give its own variable such a name:
 * hence the bounds on each and on all. */
static bool toolkit_constant(const char *name, uint64_t bytes)
{
    return bytes <= 8 && starts(name, "_ZN")
        && (strstr(name, "4cuda3std") || strstr(name, "N4cuda3__4")
            || strstr(name, "18cooperative_groups") || strstr(name, "3cub"));
}

/* The first variable of that section that is not the toolkit's; "" when
 * there is none. */
static void name_variable(const struct reader *r, size_t section, char *out,
                          size_t cap)
{
    GElf_Sym s;
    const char *name;
    out[0] = '\0';
    for (size_t i = 1; i < r->symbol_count && !*out; i++)
        if (get_symbol(r, i, &s, &name) && s.st_shndx == section
            && GELF_ST_TYPE(s.st_info) != STT_SECTION
            && !toolkit_table(name, s.st_size)
            && !toolkit_constant(name, s.st_size))
            snprintf(out, cap, "%s", *name ? name : "?");
}

static kb_status check_global(const struct reader *r, size_t section,
                              const GElf_Shdr *h)
{
    char name[80];
    if (h->sh_size == 0)
        return KB_OK;
    name_variable(r, section, name, sizeof name);
    if (!*name && h->sh_size <= TOOLKIT_BYTES)
        return KB_OK;
    if (starts(name, "$str"))
        return refuse(r, "it keeps a string (%s) in global memory, where a "
                      "kernel can write: use a __constant__ array", name);
    return refuse(r, "it keeps %s in global memory from launch to launch: use "
                  "scratch of the launch plan, or __constant__", name);
}

static kb_status read_section(const struct reader *r, Elf_Scn *scn)
{
    GElf_Shdr h;
    if (!gelf_getshdr(scn, &h))
        return refuse(r, "a cubin with a bad section");
    const char *name = section_name(r, &h);
    if (h.sh_type != SHT_NOBITS && h.sh_size && !elf_rawdata(scn, NULL))
        return refuse(r, "a cubin cut short in %.80s", name);
    if (starts(name, ".nv.global"))
        return check_global(r, elf_ndxscn(scn), &h);
    if (starts(name, ".nv.managed") || starts(name, ".nv.unified"))
        return refuse(r, "it uses managed memory, which kernels here may not");
    if (starts(name, ".nv.tex") || starts(name, ".nv.surf"))
        return refuse(r, "it uses textures or surfaces, which kernels here "
                      "may not");
    if (strcmp(name, ".nv.info") == 0 || starts(name, ".nv.info."))
        return read_info(r, name, scn);
    if (!starts(name, ".nv.shared."))
        return KB_OK;
    struct entry *e = find_name(r->cubin, name + strlen(".nv.shared."));
    if (e)
        e->is.shared_bytes = clamp(h.sh_size);
    return KB_OK;
}

static kb_status finish(const struct reader *r)
{
    for (size_t i = 0; i < r->cubin->entries; i++) {
        struct entry *e = &r->cubin->entry[i];
        for (; e->seen & 1; e->seen >>= 1)
            e->is.params++;
        if (e->seen || e->is.registers == 0)
            return refuse(r, "a cubin that does not tell %s of %.80s",
                          e->seen ? "every parameter" : "the registers",
                          e->is.name);
        if (r->cubin->sm >= 90 && e->is.shared_bytes >= RESERVED_BYTES)
            e->is.shared_bytes -= RESERVED_BYTES;
    }
    return KB_OK;
}

static kb_status read_all(struct reader *r, uint32_t sm)
{
    kb_status st = check_header(r, sm);
    if (st)
        return st;
    if (elf_getshdrstrndx(r->elf, &r->names))
        return refuse(r, "a cubin without names of sections");
    st = find_symbols(r);
    if (!st)
        st = find_entries(r);
    for (Elf_Scn *scn = NULL; !st && (scn = elf_nextscn(r->elf, scn)); )
        st = read_section(r, scn);
    return st ? st : finish(r);
}

kb_status kb_cubin_open(const void *bytes, size_t n, uint32_t sm,
                        kb_cubin **out, char *why, size_t cap)
{
    assert(cap > 0);
    struct reader r = { .why = why, .cap = cap };
    why[0] = '\0';
    if (n < 64 || n > KB_CUBIN_BYTES || elf_version(EV_CURRENT) == EV_NONE)
        return refuse(&r, "not a cubin: %zu bytes", n);
    kb_status st = KB_ENOMEM;
    char *copy = malloc(n);             /* aligned, and libelf's to change */
    r.cubin = calloc(1, sizeof *r.cubin);
    if (!copy || !r.cubin)
        goto fail;
    memcpy(copy, bytes, n);
    r.elf = elf_memory(copy, n);
    st = r.elf ? read_all(&r, sm) : refuse(&r, "not an ELF file");
    if (st)
        goto fail;
    elf_end(r.elf);
    free(copy);
    *out = r.cubin;
    return KB_OK;

fail:
    if (r.elf)
        elf_end(r.elf);
    free(copy);
    kb_cubin_close(r.cubin);
    return st;
}

void kb_cubin_close(kb_cubin *c)
{
    for (size_t i = 0; c && i < c->entries; i++)
        free((char *)(uintptr_t)c->entry[i].is.name);
    free(c);
}

size_t kb_cubin_entries(const kb_cubin *c)
{
    return c->entries;
}

const struct kb_cubin_entry *kb_cubin_at(const kb_cubin *c, size_t i)
{
    assert(i < c->entries);
    return &c->entry[i].is;
}

kb_status kb_cubin_entry(const kb_cubin *c, const char *name,
                         struct kb_cubin_entry *out)
{
    for (size_t i = 0; i < c->entries; i++)
        if (strcmp(c->entry[i].is.name, name) == 0) {
            *out = c->entry[i].is;
            return KB_OK;
        }
    return KB_EINVAL;
}
