#include "interrupt.h"

#include <signal.h>
#include <unistd.h>

enum { LAST_WARNING = 2, EXIT_INTERRUPTED = 130 };

/* A global: a signal handler has no other place to write. */
static volatile sig_atomic_t count;

static void note(int sig)
{
    (void)sig;
    if (count >= LAST_WARNING)
        _exit(EXIT_INTERRUPTED);
    count = count + 1;
}

kb_status kb_interrupt_install(void)
{
    struct sigaction act = { .sa_handler = note, .sa_flags = SA_RESTART };
    sigaddset(&act.sa_mask, SIGINT);
    sigaddset(&act.sa_mask, SIGTERM);
    return sigaction(SIGINT, &act, NULL) || sigaction(SIGTERM, &act, NULL)
        || signal(SIGPIPE, SIG_IGN) == SIG_ERR ? KB_ESYS : KB_OK;
}

int kb_interrupt_count(void)
{
    return count;
}
