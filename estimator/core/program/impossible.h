/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of families that a job cannot have.
 *
 * A member that exists `where` a condition holds is zero elsewhere, and maxima pass over it. Where
 * what is given of the inputs, whatever else rows change, makes the condition false, a program
 * leaves the member out: terms of sums that it makes zero are passed over, and nobody computes what
 * it would be. Every value stays what it is.
 */
#ifndef STEPTIME_PROGRAM_IMPOSSIBLE_H
#define STEPTIME_PROGRAM_IMPOSSIBLE_H

#include "sheet/internal.h"
#include "steptime/tool/providers.h"

/* What is given of the inputs; `value` is false for one that rows may change. */
typedef struct st_given {
    bool (*value)(const void *context, const st_sheet_input *input, double *value);
    const void *context;
} st_given;

/* A number as far as it is known. */
typedef struct st_guess {
    bool known;
    double value;
} st_guess;

typedef struct st_absence {
    const st_sheet *sheet;
    const st_given *given;               /* NULL: nothing is left out */
    const st_provider *const *providers; /* per cell; NULL: its formula */
    st_guess *cells;                     /* asked before, as the next three say */
    bool *is_asked;
    bool *is_absent;
    bool *is_decided; /* whether it is absent */
    size_t depth;     /* in cells that read each other */
} st_absence;

/* False when out of memory. */
bool st_absence_begin(st_absence *absence, const st_sheet *sheet, const st_given *given,
                      const st_provider *const *providers, st_arena *arena) ST_NODISCARD;
/* Whether a choice that a family put in place is known to be the other branch. */
bool st_absence_denies(st_absence *absence, const st_expr *choice);
bool st_absence_has_cell(st_absence *absence, size_t cell);
/* Whether a product or quotient is zero because a member that is left out makes it so. */
bool st_absence_has_term(st_absence *absence, const st_expr *expr);

#endif
