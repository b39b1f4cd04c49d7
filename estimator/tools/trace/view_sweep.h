/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread is in at any moment: its ranges become a list of moments at which the innermost one
 * changes, each with a value that the asker gives it. A range that ends after the one around it is
 * taken to end with it.
 */
#ifndef STEPTIME_TRACE_VIEW_SWEEP_H
#define STEPTIME_TRACE_VIEW_SWEEP_H

#include "trace/trace.h"

/* The value of a range inside of one with the value `outer`. */
typedef st_status (*st_sweep_value)(void *context, uint32_t outer, const st_trace_frame *frame,
                                    uint32_t *value);

typedef struct st_sweep_ask {
    const st_trace *trace;
    const uint32_t *frames; /* which ranges */
    size_t count;
    uint32_t none; /* the value outside of all */
    st_sweep_value value;
    void *context;
} st_sweep_ask;

typedef struct st_sweep_change {
    int64_t at_ns;
    uint32_t value; /* from then on */
} st_sweep_change;

typedef struct st_sweep {
    st_sweep_change *items;
    size_t count;
    size_t *firsts; /* by track, and behind the last the end */
    uint32_t none;
} st_sweep;

st_status st_sweep_make(const st_sweep_ask *ask, st_sweep *sweep, st_errors *errors) ST_NODISCARD;
uint32_t st_sweep_at(const st_sweep *sweep, uint32_t track, int64_t at_ns);
void st_sweep_free(st_sweep *sweep);

#endif
