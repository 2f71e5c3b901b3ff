/* process.h - start, await and kill child processes.
 *
 * A child gets a fresh process group, default signals, exactly the listed
 * file descriptors, exactly the listed environment, and SIGKILL when its
 * parent dies. Its own children are reached through the group, or through the
 * session when it leads one: kill takes all of them.
 */
#pragma once

#include <sys/types.h>

#include "kb.h"

enum { KB_PROCESS_FDS = 8 };

struct kb_process_spec {
    const char *const *argv;    /* argv[0] a path, or a name that is looked for
                                 * in this process's PATH; NULL-terminated */
    const char *const *env;     /* "K=V", NULL-terminated; NULL for none */
    const char *dir;            /* cwd of the child; NULL: the parent's */
    int fd[KB_PROCESS_FDS];     /* become 0, 1, 2, ..; -1 opens /dev/null */
    size_t fds;                 /* how many; at least 3 */
    bool session;               /* lead a session of its own */
    /* Runs in the child before exec, NULL for none. Returns 0 or an errno. */
    int (*enter)(void *arg);
    /* Runs instead of exec, in a copy of this process; argv is not used. What
     * it returns is the exit status. */
    int (*run)(void *arg);
    void *arg;                  /* of both */
};

/* Returns once the child has exec'd. ESYS with the child's errno when exec or
 * enter failed; EINVAL for a bad spec. */
KB_STATUS kb_process_start(const struct kb_process_spec *spec, pid_t *pid);

/* Waits for pid to end and reaps it. *wstatus as waitpid gives it. ETIME when
 * deadline_ns (kb_clock_now_ns) passed first: the child is then untouched. */
KB_STATUS kb_process_wait(pid_t pid, int64_t deadline_ns, int *wstatus);

/* SIGKILLs pid, its group and, when it leads a session, every process of that
 * session; reaps pid. Returns its wait status. */
int kb_process_kill(pid_t pid, bool session);

/* Runs spec to its end with fd 1 and 2 both read into out (at most cap bytes
 * kept from the front, NUL-terminated, *used without the NUL); the rest is
 * read and dropped. spec->fd is ignored. ETIME: killed at the deadline. */
KB_STATUS kb_process_run(const struct kb_process_spec *spec,
                         int64_t deadline_ns, char *out, size_t cap,
                         size_t *used, int *wstatus);

/* Removes dir with the files in it and in its folders; what lies deeper stays,
 * with the folders above it. For private scratch folders: no link is followed,
 * whoever else may write there. */
void kb_process_clear(const char *dir);
