/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's clock, twice a call: the processor's counter, put to nanoseconds of CLOCK_MONOTONIC
 * where it runs at one rate, and the clock itself elsewhere.
 */
#ifndef STEPTIME_RECORD_LIBRARY_CLOCK_H
#define STEPTIME_RECORD_LIBRARY_CLOCK_H

#include <stdint.h>

enum { ST_CLOCK_SHIFT = 24 };

/* Behind the lock; the counter is what is read where `scale` is above 0. */
typedef struct st_clock {
    uint64_t scale; /* nanoseconds of a tick, times 2^ST_CLOCK_SHIFT; 0: ticks are nanoseconds */
    uint64_t anchor_ticks; /* read at the same moment as anchor_ns */
    uint64_t anchor_ns;
} st_clock;

extern st_clock st_clock_now;

void st_clock_start(void);
uint64_t st_clock_monotonic_ns(void);

/* Read twice a call, and therefore inlined. */
static inline uint64_t st_clock_ticks(void)
{
    return st_clock_now.scale > 0 ? __builtin_ia32_rdtsc() : st_clock_monotonic_ns();
}

/* Nanoseconds that a number of ticks take. */
static inline uint64_t st_clock_length_ns(uint64_t ticks)
{
    return st_clock_now.scale > 0 ? ticks * st_clock_now.scale >> ST_CLOCK_SHIFT : ticks;
}

/* Nanoseconds of CLOCK_MONOTONIC; behind the lock. */
uint64_t st_clock_ns(uint64_t ticks);

#endif
