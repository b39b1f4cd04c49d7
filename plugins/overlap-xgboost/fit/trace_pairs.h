/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two recordings of one program, without and with communication concurrently with its kernels, as a
 * table of kernels.
 *
 * Kernels that compute are matched in order, stream by stream and by name. Of a kernel that took g
 * in the first recording and d in the second, of which c concurrently with a collective, the rest d
 * - c ran as fast as alone. So the share of g that ran alongside it is o = 1 - (d - c) / g, and the
 * slowdown of that share is c / (o g); both are what a table of kernels means by them.
 */
#ifndef STEPTIME_CALIBRATE_SLOWDOWN_TRACE_PAIRS_H
#define STEPTIME_CALIBRATE_SLOWDOWN_TRACE_PAIRS_H

#include "overlap-xgboost/fit/counters.h"
#include "overlap-xgboost/fit/recorded.h"

typedef struct st_pairs_options {
    double unmatched_frac;       /* of the kernels that may be without a counterpart */
    const st_counters *counters; /* of Nsight Compute, NULL: none */
} st_pairs_options;

/* What became of the kernels of all pairs. */
typedef struct st_pairs_tally {
    size_t pairs;
    size_t matched;    /* kernels with a counterpart */
    size_t rows;       /* of the table */
    size_t without;    /* kernels of recordings without overlap that have no counterpart */
    size_t with;       /* the same of those with it */
    size_t disturbed;  /* left out: they ran concurrently with a collective in both */
    size_t concurrent; /* rows that ran concurrently with a collective */
    size_t unusable;   /* left out: no duration, or no counters where they were asked for */
} st_pairs_tally;

/* The table that pairs make, and how many kernels became what. */
typedef struct st_pairs_made {
    st_buffer table;
    st_pairs_tally tally;
} st_pairs_made;

/* Appends the head line of a table of kernels. */
void st_pairs_head(bool has_counters, st_buffer *table);

/*
 * Appends a row for each kernel of both recordings and adds to the tally. Refused: recordings in
 * which more than the given share of kernels has no counterpart, reported with the number and the
 * first one; a second recording in which nothing communicates, or of another GPU.
 */
st_status st_pairs_append(const st_recorded *without, const st_recorded *with,
                          const st_pairs_options *options, st_arena *arena, st_pairs_made *made,
                          st_errors *errors) ST_NODISCARD;

#endif
