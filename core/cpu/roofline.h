/* roofline.h - what one core of this machine can do at most, measured.
 *
 * A kernel of `flops` operations and `bytes` of compulsory traffic cannot run
 * faster than max(flops / peak, bytes / bandwidth) (Williams, Waterman &
 * Patterson, "Roofline", 2009). A time below that is a fault of the
 * measurement; a time near it leaves nothing to win.
 *
 *   peaks      the best of several runs of 12 independent chains of multiply-
 *              adds, each counted as 2, in the widest of AVX-512F, AVX2 + FMA
 *              and the compiler's baseline that this processor has, that the
 *              device's compiler makes and that is fastest. Elsewhere than on
 *              x86 the baseline alone: 16-byte vectors and a multiply and an
 *              add, so a processor with wider vectors or fused instructions can
 *              do more than is said here.
 *   L1, L2     loads, best of several runs over half of that cache.
 *   DRAM       the best of several passes over 4 times the last cache (64 MiB
 *              at least, 256 MiB at most, half of it where the system is slow
 *              to give pages): loads, and memcpy between its halves, which
 *              counts the bytes read and those written.
 *   clock      dependent additions of two registers a second, which every
 *              processor does one a cycle: the clock it ran at, here and now.
 *
 * Times are this thread's processor time, as those of kernels are, so other
 * processes only count by the caches and the memory they take. The loops are
 * compiled with optimisation and without a sanitizer in every build, as the
 * kernels are that these figures judge. It takes 0.1 to 0.3 s.
 */
#pragma once

#include "device.h"

/* ENOMEM when the buffer cannot be had. Runs on the calling thread, wherever it
 * is pinned. */
KB_STATUS kb_cpu_roofline(kb_device *d, struct kb_roofline *out);
