/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of ratios between two GPUs. */
#ifndef STEPTIME_TRACE_GPU_RATIOS_H
#define STEPTIME_TRACE_GPU_RATIOS_H

#include "base/csv.h"
#include "trace/prices.h"
#include "trace/trace.h"

enum { ST_RATIOS_POINTS = 64 }; /* of a class at most; a doubling each */

typedef struct st_ratios_point {
    double from_s; /* duration on the first GPU */
    double ratio;  /* duration on the second GPU over it */
} st_ratios_point;

typedef struct st_ratios {
    const char *from; /* names of GPUs */
    const char *to;
    st_ratios_point points[ST_TRACE_CLASSES][ST_RATIOS_POINTS]; /* durations rising */
    size_t counts[ST_TRACE_CLASSES];                            /* 0: nothing was measured */
} st_ratios;

/*
 * The ratio for a kernel. A class that was not measured takes the curve of one that is bound by the
 * same: attention that of products, all others that of element-wise kernels; *taken is the class
 * whose curve it is. NaN where there is none.
 */
double st_ratios_ask(const st_ratios *ratios, st_trace_class class_, double from_s,
                     st_trace_class *taken);

/* CSV with the columns from, to, class, us and ratio, a row for each point. */
void st_ratios_write(const st_ratios *ratios, st_buffer *buffer);
/* Refused, with places: other GPUs in one file, durations that do not rise, communication. */
st_status st_ratios_read(const st_csv *csv, st_arena *arena, st_ratios *ratios,
                         st_errors *errors) ST_NODISCARD;

/*
 * Kernels of a recording on another GPU: the operator that launches a kernel has the shapes of its
 * tensors (record_shapes=True), a sheet has the times of these on both GPUs, and the recorded time
 * changes by the ratio of the two. What a sheet is off on both GPUs alike cancels.
 */

typedef struct st_recorded_gpus {
    const st_trace_set *set; /* read with details */
    st_prices *before;       /* of the GPU that the set was recorded on */
    st_prices *after;
    const char *to; /* name of the other GPU */
} st_recorded_gpus;

/*
 * The ratios of all kernels that compute, in `arena`. One without shapes takes the mean of its
 * class, weighted by time. Refused: recordings without shapes; products, convolutions and attention
 * whose shapes contradict each other.
 */
st_status st_recorded_ratios(const st_recorded_gpus *gpus, st_arena *arena,
                             st_trace_kernel_ratios *ratios, st_errors *errors) ST_NODISCARD;

/* What one call of an operator did, and what its kernels took. */
typedef struct st_trace_work {
    int64_t start_ns; /* of its first kernel */
    int64_t duration_ns;
    int64_t achievable_ns; /* by the sheet's rates on the recorded GPU; -1: not known, as below */
    int64_t roof_ns;       /* by the peak rates of its data sheet */
    double flop;
    double bytes; /* of its tensors, each once */
    int64_t kernels;
    int64_t captured;   /* 1: of a CUDA graph, the operator ran in its capture */
    uint32_t operator_; /* names */
    uint32_t shapes;
    uint32_t kernel; /* the longest, an event */
    uint8_t class_;  /* of that */
    const char *type;
} st_trace_work;

/*
 * The work of the operators of a set, which was read with details, priced on its own GPU, in its
 * arena. Kernels without the shapes of an operator have none; *without is their number. Operators
 * whose shapes contradict each other are passed over.
 */
st_status st_recorded_work(st_trace_set *set, st_prices *prices, size_t *without,
                           st_errors *errors) ST_NODISCARD;

#endif
