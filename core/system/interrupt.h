/* interrupt.h - how often the user has asked this process to stop.
 *
 * SIGINT and SIGTERM are counted, nothing more: the loop above reads the
 * count between steps, ends in good order at 1 and gives up waiting at 2. A
 * system call that only waits (poll, nanosleep) returns EINTR, others restart.
 * A script that never looks would make the process unstoppable, so the third
 * signal ends it at once with status 130.
 */
#pragma once

#include "kb.h"

/* Installs the counters and ignores SIGPIPE, so that a reader going away is a
 * failed write (EPIPE). ESYS: the handlers could not be set. */
KB_STATUS kb_interrupt_install(void);

/* Signals counted since the start. */
int kb_interrupt_count(void);
