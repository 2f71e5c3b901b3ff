#include "sass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "system/files.h"
#include "system/process.h"
#include "system/tool.h"

enum { PATH_BYTES = 4096 };     /* PATH_MAX, as realpath wants */

static const int64_t limit_ns = 10000000000;

/* Readable by the user that the jail turns root into. */
static kb_status write_file(const char *dir, const void *bytes, size_t n)
{
    char path[PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s/cubin", dir);
    kb_status st = kb_files_write(path, bytes, n);
    if (!st && geteuid() == 0 && (chmod(dir, 0755) || chmod(path, 0444)))
        st = KB_ESYS;
    return st;
}

static kb_status print(const char *tool, const char *dir, char *text,
                       size_t cap, size_t *used)
{
    const char *const argv[] = { tool, "-c", "-ndf", "cubin", NULL };
    char own[PATH_BYTES];
    strcpy(own, tool);
    *strrchr(own, '/') = '\0';
    return kb_tool_run(dir, own, argv, kb_clock_now_ns() + limit_ns, text,
                       cap, used, NULL);
}

kb_status kb_sass_text(const char *tool, const void *cubin, size_t n,
                       char *text, size_t cap, size_t *used)
{
    char real[PATH_BYTES], dir[PATH_BYTES];
    if (!realpath(tool, real) || access(real, X_OK))
        return KB_EINVAL;
    if (kb_files_temp_dir(dir, sizeof dir))
        return KB_ESYS;
    kb_status st = write_file(dir, cubin, n);
    KB_THEN(st, print(real, dir, text, cap, used));
    kb_process_clear(dir);
    return st;
}
