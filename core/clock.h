/* clock.h - the clock every deadline is read from, and a thread's own.
 *
 * CLOCK_MONOTONIC, not _RAW: it is the clock poll, timers and sleeps count by,
 * it is the same in every process of the machine, and both are read without
 * entering the kernel. What _RAW would add is freedom from NTP's slewing, at
 * most 500 ppm (adjtimex(2)), which the two arms of a pair share and which is a
 * twentieth of the smallest win that is ever reported.
 */
#pragma once

#include "kb.h"

/* Nanoseconds since some moment before boot ended; never runs back. */
int64_t kb_clock_now_ns(void);

/* The calendar clock, since 1970: for dates, never for durations. */
int64_t kb_clock_wall_ns(void);

/* Processor time the calling thread has used. */
int64_t kb_clock_own_ns(void);

/* Sleeps at least ns; not at all for ns <= 0. EINTR when a signal's handler ran
 * before the time was over. */
KB_STATUS kb_clock_sleep_ns(int64_t ns);
