#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "cpu.h"
#include "system/io.h"
#include "system/jail.h"
#include "system/process.h"
#include "system/tool.h"

#define KB_CPU_OWN "kernel.o"           /* the source's part of kernel.so */

/* Baseline, reference and candidates are all built like this. -nostartfiles
 * leaves out crtbegin's constructors. */
static const char *const flags[] = {
    "-std=gnu11", "-O3", "-march=native", "-fPIC", "-shared", "-nostartfiles",
    "-pipe", "-Wl,-z,defs", "-w", NULL
};

/* Beside those, for a look at undefined behaviour: what it finds traps, so that
 * the jail needs no library for it. Alignment is left out: kernels may cast to
 * vectors. */
static const char *const sanitized_flags[] = {
    "-fsanitize=undefined", "-fno-sanitize=alignment",
    "-fsanitize-undefined-trap-on-error", "-fstack-protector-all", NULL
};

/* What makes the compiler tell which loops it has vectorised, and why not the
 * others. They change no code. */
static const char *const gcc_remarks[] = {
    "-fopt-info-vec-optimized-missed", NULL
};
static const char *const clang_remarks[] = {
    "-Rpass=loop-vectorize", "-Rpass-missed=loop-vectorize",
    "-Rpass-analysis=loop-vectorize", "-fno-caret-diagnostics", NULL
};

/* The call of the kernel with its own types, so that one loop can run any
 * signature. It is a unit of its own, which the candidate's macros do not
 * reach. */
static void write_call(FILE *f, const struct kb_build *b)
{
    fprintf(f, "void %s(", b->entry);
    for (size_t i = 0; i < b->args; i++)
        fprintf(f, "%s%s%s%s", i ? ", " : "",
                b->arg[i].mode == KB_IN ? "const " : "",
                kb_dtype_table[b->arg[i].dtype].c_type,
                b->arg[i].mode == KB_SCALAR ? "" : " *");
    fprintf(f, ");\nvoid " KB_CPU_CALL "(void *const *a)\n{\n    %s(",
            b->entry);
    for (size_t i = 0; i < b->args; i++)
        fprintf(f, b->arg[i].mode == KB_SCALAR ? "%s*(%s *)a[%zu]"
                                               : "%s(%s *)a[%zu]",
                i ? ", " : "", kb_dtype_table[b->arg[i].dtype].c_type, i);
    fprintf(f, ");\n}\n");
}

static FILE *create(const cpu_object *o, const char *name)
{
    char path[sizeof o->path];
    snprintf(path, sizeof path, "%s/%s", o->dir, name);
    return fopen(path, "w");
}

static kb_status write_source(const cpu_object *o, const char *name,
                              const char *text)
{
    FILE *f = create(o, name);
    bool good = f && fputs(text, f) >= 0;
    good &= f && !fclose(f);
    return good ? KB_OK : KB_ESYS;
}

static bool is_identifier(const char *s)
{
    if (!isalpha((unsigned char)*s) && *s != '_')
        return false;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '_')
            return false;
    return true;
}

/* In each folder only nobody writes, and only while the compiler runs. */
static kb_status open_folder(const cpu_object *o)
{
    if (geteuid() == 0 && chown(o->dir, KB_JAIL_NOBODY, KB_JAIL_NOBODY))
        return KB_ESYS;
    return KB_OK;
}

static kb_status close_folder(const cpu_object *o)
{
    struct stat s;
    if (lstat(o->path, &s) || !S_ISREG(s.st_mode))
        return KB_EBUILD;
    if (geteuid() == 0 && (chown(o->dir, 0, 0) || lchown(o->path, 0, 0)))
        return KB_ESYS;
    if (chmod(o->dir, 0755) || chmod(o->path, 0555))
        return KB_ESYS;
    return KB_OK;
}

/* One run of the compiler, with the flags of all, more of them (or NULL) and
 * the given last words. */
static kb_status run_compiler(const cpu_object *o, const struct kb_build *b,
                              const char *const *more,
                              const char *const *last, int64_t deadline_ns,
                              char *log, size_t cap)
{
    const char *argv[32] = { o->device->cc };
    size_t n = 1, used = 0;
    const char *const *const lists[] = {
        flags, b->sanitized ? sanitized_flags : NULL, more, last
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const char *const *word = lists[i]; word && *word; word++)
            argv[n++] = *word;
    int wstatus = 0;
    kb_status st = kb_tool_run(o->dir, o->device->toolchain, argv, deadline_ns,
                               log, cap, &used, &wstatus);
    if (st)
        return st;
    if (WIFEXITED(wstatus) && WEXITSTATUS(wstatus) == 0)
        return KB_OK;
    return used ? KB_EBUILD
         : kb_refuse(log, cap, KB_EBUILD, "the compiler was stopped (status "
                     "%d): it may use 2 GiB, 20 CPU seconds and 64 MiB of "
                     "files", wstatus);
}

/* kernel.o, with the compiler's remarks kept. When that fails it is made once
 * more without them, so that the log holds the error alone. */
static kb_status compile_unit(cpu_object *o, const struct kb_build *b,
                              int64_t deadline_ns, char *log, size_t cap)
{
    static const char *const make[] = { "-c", "kernel.c", NULL };
    const char *const *more = strstr(o->device->head.info.compiler, "clang")
                            ? clang_remarks : gcc_remarks;
    char *text = b->sanitized ? NULL : malloc(KB_CPU_REMARKS);
    if (text && run_compiler(o, b, more, make, deadline_ns, text,
                             KB_CPU_REMARKS) == KB_OK) {
        o->head.remarks = text;
        return KB_OK;
    }
    free(text);
    return run_compiler(o, b, NULL, make, deadline_ns, log, cap);
}

static kb_status copy_file(const char *path, const char *copy, mode_t mode)
{
    struct stat s;
    int to = -1, from = open(path, O_RDONLY | O_CLOEXEC);
    if (from >= 0)
        to = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0500);
    bool done = to >= 0 && !fstat(from, &s)
             && sendfile(to, from, NULL, (size_t)s.st_size) == s.st_size
             && !fchmod(to, mode);
    kb_io_close(&from);
    kb_io_close(&to);
    return done ? KB_OK : KB_ESYS;
}

static void free_call(struct kb_cpu_call *c)
{
    free(c->text);
    free(c);
}

/* Builds a call whose text is there, in a folder where no candidate's source
 * ever is: none has a part in what is built for others. */
static kb_status make_call(cpu_device *d, struct kb_cpu_call *c,
                           const struct kb_build *b, int64_t deadline_ns,
                           char *log, size_t cap)
{
    static const char *const make[] = { "-c", "call.c", NULL };
    cpu_object o = { .device = d };
    snprintf(o.dir, sizeof o.dir, "%s/call-XXXXXX", d->scratch);
    if (!mkdtemp(o.dir))
        return KB_ESYS;
    snprintf(o.path, sizeof o.path, "%s/call.o", o.dir);
    memcpy(c->path, o.path, sizeof c->path);
    kb_status st = open_folder(&o);
    KB_THEN(st, write_source(&o, "call.c", c->text));
    KB_THEN(st, run_compiler(&o, b, NULL, make, deadline_ns, log, cap));
    KB_THEN(st, close_folder(&o));
    if (st)
        kb_process_clear(o.dir);
    return st;
}

/* The call of a kernel with these types: the one made before, or a new one. */
static kb_status find_call(cpu_device *d, const struct kb_build *b,
                           int64_t deadline_ns, char *log, size_t cap,
                           const char **path)
{
    size_t n;
    struct kb_cpu_call *c = calloc(1, sizeof *c), *kept = d->calls;
    FILE *f = c ? open_memstream(&c->text, &n) : NULL;
    kb_status st = f ? KB_OK : KB_ENOMEM;
    if (f) {
        write_call(f, b);
        st = fclose(f) ? KB_ENOMEM : KB_OK;
    }
    while (!st && kept && (kept->sanitized != b->sanitized
                           || strcmp(kept->text, c->text) != 0))
        kept = kept->next;
    if (!st && !kept) {
        c->sanitized = b->sanitized;
        st = make_call(d, c, b, deadline_ns, log, cap);
        if (!st) {
            c->next = d->calls;
            kept = d->calls = c;
            c = NULL;
        }
    }
    *path = st ? NULL : kept->path;
    if (c)
        free_call(c);
    return st;
}

void kb_cpu_forget_calls(cpu_device *d)
{
    while (d->calls) {
        struct kb_cpu_call *next = d->calls->next;
        free_call(d->calls);
        d->calls = next;
    }
}

/* In two steps: kernel.o shows what the source alone brought, without what
 * the linker adds of the compiler's own library. */
static kb_status compile(cpu_device *d, cpu_object *o, const struct kb_build *b,
                         char *log, size_t cap)
{
    static const char *const link[] = {
        "-o", "kernel.so", KB_CPU_OWN, "call.o", "-lm", NULL
    };
    const char *call = NULL;
    char copy[sizeof o->path];
    int64_t deadline_ns = kb_clock_now_ns() + b->timeout_ns;
    snprintf(copy, sizeof copy, "%s/call.o", o->dir);
    kb_status st = compile_unit(o, b, deadline_ns, log, cap);
    KB_THEN(st, find_call(d, b, deadline_ns, log, cap, &call));
    KB_THEN(st, copy_file(call, copy, 0444));
    KB_THEN(st, run_compiler(o, b, NULL, link, deadline_ns, log, cap));
    return st ? st : close_folder(o);
}

static void free_object(kb_object *base)
{
    cpu_object *o = (cpu_object *)base;
    kb_process_clear(o->dir);
    free(o->head.remarks);
    free(o);
}

/* Runs one of the two that print, and adds what it says to the text. */
static kb_status print_object(const cpu_object *o, const char *const *argv,
                              char *text, size_t cap, size_t *used)
{
    size_t added = 0;
    kb_status st = kb_tool_run(o->dir, o->device->toolchain, argv,
                               kb_clock_now_ns() + 10000000000, text + *used,
                               cap - *used, &added, NULL);
    if (!st)
        *used += added;
    return st;
}

static kb_status object_text(const kb_object *base, char *text, size_t cap,
                             size_t *used)
{
    const cpu_object *o = (const cpu_object *)base;
    const cpu_device *d = o->device;
    if (!d->objdump[0] || !d->readelf[0])
        return KB_ENODEV;
    /* objdump -R does not show every relocation of an indirect function. */
    const char *const first[] = {
        d->readelf, "-d", "-r", "-s", "-S", "-W", o->path, KB_CPU_OWN, NULL
    };
    const char *const then[] = {
        d->objdump, "-T", "-d", "--no-show-raw-insn", o->path, NULL
    };
    size_t n = 0;
    kb_status st = print_object(o, first, text, cap, &n);
    KB_THEN(st, print_object(o, then, text, cap, &n));
    if (!st)
        *used = n;
    return st;
}

static kb_status build(kb_object *base, const struct kb_build *b, char *log,
                       size_t cap)
{
    cpu_object *o = (cpu_object *)base;
    cpu_device *d = (cpu_device *)base->device;
    if (!is_identifier(b->entry))
        return KB_EINVAL;
    o->device = d;
    snprintf(o->dir, sizeof o->dir, "%s/%llu", d->scratch,
             (unsigned long long)++d->objects);
    snprintf(o->path, sizeof o->path, "%s/kernel.so", o->dir);
    kb_status st = mkdir(o->dir, 0700) ? KB_ESYS : open_folder(o);
    KB_THEN(st, write_source(o, "kernel.c", b->source));
    return st ? st : compile(d, o, b, log, cap);
}

kb_status kb_cpu_copy(const cpu_object *o, char *path, size_t cap)
{
    snprintf(path, cap, "%s/process.so", o->dir);
    return copy_file(o->path, path, 0555);
}

const struct kb_object_ops kb_cpu_object = {
    .bytes = sizeof(cpu_object), .build = build, .free = free_object,
    .text = object_text
};

void kb_cpu_name_flags(cpu_device *d)
{
    char *text = d->head.info.flags;
    size_t used = 0, cap = sizeof d->head.info.flags;
    for (size_t i = 0; flags[i] && used < cap; i++)
        used += (size_t)snprintf(text + used, cap - used, "%s%s",
                                 i ? " " : "", flags[i]);
}
