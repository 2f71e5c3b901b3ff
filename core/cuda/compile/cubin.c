#include "cubin.h"

#include <assert.h>
#include <gelf.h>
#include <libelf.h>
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
    ATTR_FRAME_SIZE = 0x11,     /* symbol, bytes */
    ATTR_MIN_STACK_SIZE = 0x12, /* symbol, bytes */
    ATTR_KPARAM_INFO = 0x17,    /* index; ordinal; bits 18.. size */
    ATTR_REGCOUNT = 0x2f        /* symbol, registers */
};

#define refuse(c, ...) kb_refuse((c)->why, (c)->cap, KB_EINVAL, __VA_ARGS__)

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

static kb_status check_header(kb_cubin *c, uint32_t sm)
{
    GElf_Ehdr h;
    size_t sections = 0;
    if (elf_kind(c->elf) != ELF_K_ELF || gelf_getclass(c->elf) != ELFCLASS64
        || !gelf_getehdr(c->elf, &h) || h.e_ident[EI_DATA] != ELFDATA2LSB)
        return refuse(c, "not a 64-bit ELF file");
    if (h.e_machine != MACHINE_CUDA)
        return refuse(c, "an ELF file for machine %u, not for CUDA",
                      h.e_machine);
    unsigned abi = h.e_ident[EI_OSABI];
    if (abi != ABI_CUDA12 && abi != ABI_CUDA13)
        return refuse(c, "a cubin of unknown ABI %u: it needs a newer "
                      "kernelband", abi);
    c->sm = (abi == ABI_CUDA13 ? h.e_flags >> 8 : h.e_flags) & 0xff;
    if (sm && c->sm != sm)
        return refuse(c, "a cubin for sm_%u, and the device is sm_%u",
                      c->sm, sm);
    if (elf_getshdrnum(c->elf, &sections) || sections > SECTIONS)
        return refuse(c, "a cubin with a bad or too long list of sections");
    return KB_OK;
}

static struct kb_cubin_entry *find_symbol(kb_cubin *c, size_t symbol)
{
    for (size_t i = 0; i < c->entries; i++)
        if (c->entry[i].symbol == symbol)
            return &c->entry[i];
    return NULL;
}

struct kb_cubin_entry *kb_cubin_find(kb_cubin *c, const char *name)
{
    for (size_t i = 0; i < c->entries; i++)
        if (strcmp(c->entry[i].name, name) == 0)
            return &c->entry[i];
    return NULL;
}

static kb_status add_entry(kb_cubin *c, const char *name, size_t symbol)
{
    if (strlen(name) > NAME_BYTES || !*name)
        return refuse(c, "a kernel without a name, or with one too long");
    if (kb_cubin_find(c, name))
        return refuse(c, "two kernels named %.80s", name);
    if (c->entries == KB_CUBIN_ENTRIES)
        return refuse(c, "more than %d kernels", KB_CUBIN_ENTRIES);
    c->entry[c->entries++] = (struct kb_cubin_entry){ .name = name,
                                                      .symbol = symbol };
    return KB_OK;
}

/* What a kernel may not use, by the undefined symbol that shows it. */
static const struct { const char *name, *why; } undefined[] = {
    { "vprintf", "it calls printf, which kernels here may not" },
    { "malloc", "it calls malloc on the device; ask for scratch in the launch "
      "plan" },
    { "free", "it calls free on the device; ask for scratch in the launch "
      "plan" },
    { "__assertfail", "it uses assert, which kernels here may not" },
};

static kb_status check_undefined(kb_cubin *c, const char *name)
{
    if (!*name || starts(name, ".nv.reservedSmem."))
        return KB_OK;           /* the compiler's own, all that may be */
    for (size_t i = 0; i < sizeof undefined / sizeof *undefined; i++)
        if (strcmp(name, undefined[i].name) == 0)
            return refuse(c, "%s", undefined[i].why);
    if (starts(name, "cudaLaunch") || starts(name, "cudaGetParameterBuffer")
        || starts(name, "__cudaCDP"))
        return refuse(c, "it launches kernels from the device (%.60s); name "
                      "them in the launch plan", name);
    return refuse(c, "it needs %.80s, which it does not define", name);
}

/* Symbol i >= 1 and its name; false for a bad one. */
static bool get_symbol(kb_cubin *c, size_t i, GElf_Sym *s, const char **name)
{
    if (!gelf_getsym(c->symbols, (int)i, s))
        return false;
    *name = elf_strptr(c->elf, c->symbol_names, s->st_name);
    return *name != NULL;
}

static kb_status find_symbols(kb_cubin *c)
{
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(c->elf, scn)); ) {
        GElf_Shdr h;
        if (!gelf_getshdr(scn, &h) || h.sh_type != SHT_SYMTAB)
            continue;
        if (c->symbols)
            return refuse(c, "a cubin with two tables of symbols");
        Elf_Data *data = elf_getdata(scn, NULL);
        c->symbols = data;
        c->symbol_names = h.sh_link;
        c->symbol_count = h.sh_entsize == sizeof(Elf64_Sym) && data
                       && data->d_buf ? data->d_size / sizeof(Elf64_Sym) : 0;
        if (c->symbol_count == 0 || c->symbol_count > SYMBOLS
            || h.sh_link > SECTIONS)
            return refuse(c, "a cubin with a bad table of symbols");
    }
    return KB_OK;
}

static kb_status find_entries(kb_cubin *c)
{
    for (size_t i = 1; i < c->symbol_count; i++) {
        GElf_Sym s;
        const char *name;
        kb_status st = KB_OK;
        if (!get_symbol(c, i, &s, &name))
            return refuse(c, "a cubin with a symbol without a name");
        if (s.st_shndx == SHN_UNDEF)
            st = check_undefined(c, name);
        else if (GELF_ST_TYPE(s.st_info) == STT_FUNC
                 && (s.st_other & OTHER_ENTRY))
            st = add_entry(c, name, i);
        if (st)
            return st;
    }
    if (c->entries == 0)
        return refuse(c, "it has no kernel: declare one extern \"C\" "
                      "__global__");
    return KB_OK;
}

/* Records about a symbol lie in .nv.info, those of one kernel in its own
 * section, whose kernel is of. */
static kb_status read_record(kb_cubin *c, struct kb_cubin_entry *of,
                             unsigned attribute, const unsigned char *p,
                             size_t n)
{
    struct kb_cubin_entry *e = n >= 8 ? find_symbol(c, u32(p)) : NULL;
    if (e && attribute == ATTR_REGCOUNT)
        e->registers = u32(p + 4);
    if (e && (attribute == ATTR_FRAME_SIZE || attribute == ATTR_MIN_STACK_SIZE)
        && u32(p + 4) > e->local_bytes)
        e->local_bytes = u32(p + 4);
    if (attribute != ATTR_KPARAM_INFO || !of || n < 12)
        return KB_OK;
    uint32_t ordinal = u16(p + 4);
    if (ordinal >= KB_CUBIN_PARAMS)
        return refuse(c, "%.80s has more than %d parameters", of->name,
                      KB_CUBIN_PARAMS);
    of->seen |= (uint64_t)1 << ordinal;
    of->param_bytes[ordinal] = u32(p + 8) >> 18;
    return KB_OK;
}

static kb_status read_info(kb_cubin *c, const char *name, Elf_Scn *scn)
{
    struct kb_cubin_entry *of = NULL;
    if (starts(name, ".nv.info.")) {
        of = kb_cubin_find(c, name + strlen(".nv.info."));
        if (!of)
            return KB_OK;               /* of a function that is no kernel */
    }
    Elf_Data *data = elf_rawdata(scn, NULL);
    if (!data || (data->d_size && !data->d_buf))
        return refuse(c, "a cubin cut short in %.80s", name);
    const unsigned char *p = data->d_buf;
    for (size_t left = data->d_size; left; ) {
        size_t n = left >= 4 && p[0] == FORMAT_SIZED ? u16(p + 2) : 0;
        if (left < 4 || n > left - 4)
            return refuse(c, "a cubin with a bad record in %.80s", name);
        kb_status st = p[0] == FORMAT_SIZED
                     ? read_record(c, of, p[1], p + 4, n) : KB_OK;
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
static void name_variable(kb_cubin *c, size_t section, char *out, size_t cap)
{
    GElf_Sym s;
    const char *name;
    out[0] = '\0';
    for (size_t i = 1; i < c->symbol_count && !*out; i++)
        if (get_symbol(c, i, &s, &name) && s.st_shndx == section
            && GELF_ST_TYPE(s.st_info) != STT_SECTION
            && !toolkit_table(name, s.st_size)
            && !toolkit_constant(name, s.st_size))
            snprintf(out, cap, "%s", *name ? name : "?");
}

static kb_status check_global(kb_cubin *c, size_t section, const GElf_Shdr *h)
{
    char name[80];
    if (h->sh_size == 0)
        return KB_OK;
    name_variable(c, section, name, sizeof name);
    if (!*name && h->sh_size <= TOOLKIT_BYTES)
        return KB_OK;
    if (starts(name, "$str"))
        return refuse(c, "it keeps a string (%s) in global memory, where a "
                      "kernel can write: use a __constant__ array", name);
    return refuse(c, "it keeps %s in global memory from launch to launch: use "
                  "scratch of the launch plan, or __constant__", name);
}

static kb_status read_section(kb_cubin *c, Elf_Scn *scn)
{
    GElf_Shdr h;
    if (!gelf_getshdr(scn, &h))
        return refuse(c, "a cubin with a bad section");
    const char *name = elf_strptr(c->elf, c->names, h.sh_name);
    if (!name)
        name = "";
    if (h.sh_type != SHT_NOBITS && h.sh_size && !elf_rawdata(scn, NULL))
        return refuse(c, "a cubin cut short in %.80s", name);
    if (starts(name, ".nv.global"))
        return check_global(c, elf_ndxscn(scn), &h);
    if (starts(name, ".nv.managed") || starts(name, ".nv.unified"))
        return refuse(c, "it uses managed memory, which kernels here may not");
    if (starts(name, ".nv.tex") || starts(name, ".nv.surf"))
        return refuse(c, "it uses textures or surfaces, which kernels here "
                      "may not");
    if (strcmp(name, ".nv.info") == 0 || starts(name, ".nv.info."))
        return read_info(c, name, scn);
    if (!starts(name, ".nv.shared."))
        return KB_OK;
    struct kb_cubin_entry *e = kb_cubin_find(c, name + strlen(".nv.shared."));
    if (e)
        e->shared_bytes = h.sh_size > UINT32_MAX ? UINT32_MAX
                                                 : (uint32_t)h.sh_size;
    return KB_OK;
}

static kb_status finish(kb_cubin *c)
{
    for (size_t i = 0; i < c->entries; i++) {
        struct kb_cubin_entry *e = &c->entry[i];
        for (; e->seen & 1; e->seen >>= 1)
            e->params++;
        if (e->seen || e->registers == 0)
            return refuse(c, "a cubin that does not tell %s of %.80s",
                          e->seen ? "every parameter" : "the registers",
                          e->name);
        if (c->sm >= 90 && e->shared_bytes >= RESERVED_BYTES)
            e->shared_bytes -= RESERVED_BYTES;
    }
    return KB_OK;
}

static kb_status read_all(kb_cubin *c, uint32_t sm)
{
    kb_status st = check_header(c, sm);
    if (st)
        return st;
    if (elf_getshdrstrndx(c->elf, &c->names))
        return refuse(c, "a cubin without names of sections");
    st = find_symbols(c);
    KB_THEN(st, find_entries(c));
    for (Elf_Scn *scn = NULL; !st && (scn = elf_nextscn(c->elf, scn)); )
        st = read_section(c, scn);
    return st ? st : finish(c);
}

kb_status kb_cubin_open(const void *bytes, size_t n, uint32_t sm,
                        kb_cubin **out, char *why, size_t cap)
{
    assert(cap > 0);
    why[0] = '\0';
    kb_cubin *c = calloc(1, sizeof *c);
    if (!c)
        return KB_ENOMEM;
    c->why = why;
    c->cap = cap;
    kb_status st = KB_ENOMEM;
    if (n < 64 || n > KB_CUBIN_BYTES || elf_version(EV_CURRENT) == EV_NONE)
        st = refuse(c, "not a cubin: %zu bytes", n);
    else if ((c->bytes = malloc(n)) != NULL) {  /* aligned, and libelf's */
        memcpy(c->bytes, bytes, n);
        c->elf = elf_memory(c->bytes, n);
        st = c->elf ? read_all(c, sm) : refuse(c, "not an ELF file");
    }
    for (char *at = why; st && *at; at++)       /* names are a stranger's */
        if (*at < ' ' || *at > '~')
            *at = '?';
    return KB_HAND_OVER(st, c, kb_cubin_close, out);
}

void kb_cubin_close(kb_cubin *c)
{
    if (!c)
        return;
    if (c->elf)
        elf_end(c->elf);
    free(c->bytes);
    free(c);
}
