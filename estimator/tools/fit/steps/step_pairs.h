/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What-if where it can be checked: rows of a table that differ in nothing but the data-parallel
 * size, the pipeline size, the layers or the micro-batches. One is predicted from the other's
 * measured step.
 *
 * What the layers take (the sheet's terms steady and bubble) is scaled until the estimate of the
 * one row is what was measured; the estimate of the other row with layers as slow is the
 * prediction. What a step has besides the layers (transfers, gradients, optimizer) stays the
 * sheet's.
 */
#ifndef STEPTIME_CALIBRATE_STEPS_STEP_PAIRS_H
#define STEPTIME_CALIBRATE_STEPS_STEP_PAIRS_H

#include "base/result.h"
#include "fit/steps/accuracy.h"

/* Edits, as bits. */
enum {
    ST_EDIT_DP = 1,
    ST_EDIT_PP = 2,
    ST_EDIT_LAYERS = 4,
    ST_EDIT_MICROS = 8, /* micro-batches of a pipeline, whatever the global batch */
    ST_EDIT_KINDS = 16
};

/* Pairs that differ by the same edits, in both directions. */
typedef struct st_pair_kind {
    unsigned edits;
    size_t pairs;
    st_error_summary errors; /* of two predictions a pair */
    st_error_summary alone;  /* of the estimates of the same rows, without the other's step */
} st_pair_kind;

/* A prediction. */
typedef struct st_pair {
    unsigned edits;
    size_t from; /* rows */
    size_t to;
    double predicted; /* base units */
    double error;
} st_pair;

typedef struct st_pairs {
    const st_measured *measured;
    st_pair_kind kinds[ST_EDIT_KINDS]; /* single edits first */
    size_t kind_count;
    st_pair *items; /* by kind, then by row */
    size_t count;
    size_t slower; /* pairs without a prediction: the rest alone takes longer than was measured */
} st_pairs;

/* "dp", "dp and micro-batches". Returns `text` */
enum { ST_EDITS_TEXT = 64 };
const char *st_edits_text(unsigned edits, char *text);

/* Whether the sheet separates the layers of a step from the rest, and all that an edit may change.
 */
bool st_pairs_known(const st_measured *measured);

/*
 * Estimates the rows, which must have been read and not run, and pairs them. ST_ERR_NAME for a
 * sheet without the cells; ST_ERR_LIMIT for more than ST_PAIRS_MAX pairs.
 */
enum { ST_PAIRS_MAX = 1000000 };
st_status st_pairs_of(st_measured *measured, st_arena *arena, st_pairs *pairs,
                      st_errors *errors) ST_NODISCARD;

/* `details` shows every prediction. */
void st_pairs_put(const st_pairs *pairs, bool details, st_node *map);

#endif
