/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel that was measured on one GPU takes on another one: a curve for each class of
 * kernels, by their duration.
 *
 * Short kernels gain less on a larger GPU than long ones do. How much less is learnt from kernels
 * that were measured on both: the median ratio of each doubling of the duration, between two of
 * which it is interpolated. Nothing but the class and the duration is needed, which a trace has
 * of every kernel.
 */
#ifndef STEPTIME_CALIBRATE_LAYERS_RATIOS_H
#define STEPTIME_CALIBRATE_LAYERS_RATIOS_H

#include "base/csv.h"
#include "kernel-times/fit/samples.h"
#include "fit/steps/stats.h"
#include "trace/trace.h"
#include "trace/gpu_ratios.h"

/* A kernel that was measured on both. */
typedef struct st_ratios_kernel {
    st_trace_class class_;
    double from_s;
    double to_s;
    double repeats; /* in a layer */
    size_t layer;   /* index of the layer that it is a piece of */
    size_t group;   /* of the measurement on the second GPU: its model or file */
} st_ratios_kernel;

typedef struct st_ratios_kernels {
    st_ratios_kernel *items; /* those of a layer one behind the other */
    size_t count;
    size_t layers; /* with some piece on both GPUs */
    size_t unlike; /* pieces of the first GPU without a counterpart */
} st_ratios_kernels;

/*
 * Matches pieces of layers by their own dimensions, whatever model they belong to; of several equal
 * ones on the second GPU the mean counts. ST_ERR_VALUE where none was measured on both.
 */
st_status st_ratios_match(const st_time_sets *from, const st_time_sets *to, st_arena *arena,
                          st_ratios_kernels *kernels, st_errors *errors) ST_NODISCARD;

/*
 * Learns from all kernels but those of one group (SIZE_MAX: none). With `flat` one ratio for each
 * class. Names of GPUs are left alone.
 */
st_status st_ratios_learn(const st_ratios_kernels *kernels, size_t left_out, bool flat,
                          st_arena *arena, st_ratios *ratios) ST_NODISCARD;

/* ---- how good it is ---- */

typedef enum st_ratios_way {
    ST_RATIOS_SHEETS, /* peak rates of products, memory bandwidths of all else: data sheets */
    ST_RATIOS_FLAT,   /* one ratio for each class */
    ST_RATIOS_CURVES,
    ST_RATIOS_WAYS
} st_ratios_way;

typedef struct st_ratios_test {
    const char *name; /* of the group that was left out */
    size_t kernels;
    size_t layers;
    st_error_summary each[ST_RATIOS_WAYS];
    st_error_summary sums[ST_RATIOS_WAYS]; /* of a layer's pieces, as often as it has them */
} st_ratios_test;

typedef struct st_ratios_tests {
    st_ratios_test *items;
    size_t count; /* 0 where the second GPU has but one group */
} st_ratios_tests;

/* Leaves each group of the second GPU out in turn. */
st_status st_ratios_try(const st_ratios_kernels *kernels, const st_time_sets *from,
                        const st_time_sets *to, st_arena *arena, st_ratios_tests *tests,
                        st_errors *errors) ST_NODISCARD;

#endif
