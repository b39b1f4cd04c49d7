/* SPDX-License-Identifier: Apache-2.0 */
/* See clock.h. */
#include "record/library/clock.h"

#include <cpuid.h>
#include <time.h>
#include <x86intrin.h>

enum { CALIBRATION_NS = 1000000, INVARIANT_COUNTER = 1 << 8, TRIES = 16 };

st_clock st_clock_now;
static uint64_t first_ticks;
static uint64_t first_ns;

uint64_t st_clock_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/*
 * Both clocks at one moment. A thread that is put aside between two readings sees them apart: the
 * readings that took least of several are the ones to trust.
 */
static void read_both(uint64_t *ticks, uint64_t *ns)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = __rdtsc();
        uint64_t now = st_clock_monotonic_ns();
        uint64_t took = __rdtsc() - before;
        if (took >= least)
            continue;
        least = took;
        *ticks = before + took / 2;
        *ns = now;
    }
}

void st_clock_start(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(0x80000007, &a, &b, &c, &d) == 0 || (d & INVARIANT_COUNTER) == 0)
        return;
    read_both(&first_ticks, &first_ns);
    st_clock_now.anchor_ticks = first_ticks;
    st_clock_now.anchor_ns = first_ns;
    uint64_t ticks = first_ticks;
    uint64_t now = first_ns;
    while (now - first_ns < CALIBRATION_NS)
        read_both(&ticks, &now);
    st_clock_now.scale = ((now - first_ns) << ST_CLOCK_SHIFT) / (ticks - first_ticks);
}

uint64_t st_clock_ns(uint64_t ticks)
{
    enum { ADJUST_NS = 200000000 };
    const st_clock *now = &st_clock_now;
    if (now->scale == 0)
        return ticks;
    if (ticks < now->anchor_ticks) /* another thread adjusted it meanwhile */
        return now->anchor_ns - st_clock_length_ns(now->anchor_ticks - ticks);
    uint64_t ns = now->anchor_ns + st_clock_length_ns(ticks - now->anchor_ticks);
    if (ns - now->anchor_ns > ADJUST_NS) {
        /* From time to time the rate is taken from all the time so far; time never runs backwards.
         */
        uint64_t true_ns = 0;
        uint64_t true_ticks = 0;
        read_both(&true_ticks, &true_ns);
        if (true_ns - first_ns < UINT64_C(1) << 36)
            st_clock_now.scale =
                ((true_ns - first_ns) << ST_CLOCK_SHIFT) / (true_ticks - first_ticks);
        st_clock_now.anchor_ticks = ticks;
        st_clock_now.anchor_ns = ns;
    }
    return ns;
}
