/* main.c - argv to Lua; signals; exit codes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "cpu/cpu.h"
#include "cuda/compile/nvrtc.h"
#include "lua/script.h"
#include "system/host.h"
#include "system/interrupt.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1 };

static const size_t max_bytes = (size_t)512 << 20;

/* A database opened as descriptor 1 would be written over by print. */
static int reserve_standard_fds(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF
            && open("/dev/null", O_RDWR) != fd)
            return -1;
    return 0;
}

static int run(const char *lib_dir, int argc, char **argv)
{
    kb_script *s = NULL;
    int code = EXIT_FAILED;
    kb_status st = kb_script_new(lib_dir, max_bytes, &s);
    if (st) {
        fprintf(stderr, "kernelband: %s\n", kb_status_text(st));
        return EXIT_FAILED;
    }
    st = kb_script_main(s, argc, argv, &code);
    if (st)
        fprintf(stderr, "kernelband: %s\n", kb_script_error(s));
    kb_script_free(s);
    return code;
}

int main(int argc, char **argv)
{
    char lib_dir[KB_HOST_PATH_BYTES];
    if (argc > 1 && strcmp(argv[1], "_kernel") == 0)
        return kb_cpu_kernel_main(argc, argv);  /* no Lua in this one */
    if (argc > 1 && strcmp(argv[1], "_nvrtc") == 0)
        return kb_nvrtc_main(argc, argv);       /* nor in this */
    if (reserve_standard_fds() || kb_interrupt_install()) {
        fprintf(stderr, "kernelband: %s\n", strerror(errno));
        return EXIT_FAILED;
    }
    if (kb_host_lib_dir(lib_dir, sizeof lib_dir)) {
        fprintf(stderr, "kernelband: no folder above the binary holds "
                "lua/kernelband/init.lua or share/kernelband; set "
                "KERNELBAND_LIB to the folder that holds lua/\n");
        return EXIT_FAILED;
    }
    int code = run(lib_dir, argc, argv);
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "kernelband: standard output: %s\n", strerror(errno));
        if (code == EXIT_DONE)
            code = EXIT_FAILED;
    }
    return code;
}
