/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's clock, twice a call: the processor's counter, put to nanoseconds of CLOCK_MONOTONIC
 * where it runs at one rate, and the clock itself elsewhere.
 */
#ifndef STEPTIME_RECORD_LIBRARY_CLOCK_H
#define STEPTIME_RECORD_LIBRARY_CLOCK_H

#include <stdint.h>

void st_clock_start(void);
uint64_t st_clock_ticks(void);
/* Nanoseconds of CLOCK_MONOTONIC; behind the lock. */
uint64_t st_clock_ns(uint64_t ticks);

#endif
