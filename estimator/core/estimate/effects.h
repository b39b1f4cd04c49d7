/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an estimate depends on: every number that was put in is raised by a tenth, one at a time,
 * and the program runs again. It shows which constant of a cluster is worth increasing, and
 * which assumptions have no effect on the job.
 */
#ifndef STEPTIME_ESTIMATE_EFFECTS_H
#define STEPTIME_ESTIMATE_EFFECTS_H

#include "estimate/estimate_internal.h"

#define ST_EFFECT_FACTOR 1.1

typedef struct st_effect {
    const st_bound_input *input;
    double change; /* of the first shown value, as a share of it; 0 if it is not a number */
    bool anywhere; /* some shown value changes */
    bool constant; /* a quantity or share of the cluster that could be increased, or a constant */
} st_effect;

/*
 * Adds to an estimate that has run one effect per input, in the sheet's order. Truth values are
 * turned over and names changed for others, to see whether anything changes; a zero stays.
 */
st_status st_estimate_find_effects(st_estimate *estimate, st_arena *arena) ST_NODISCARD;

/* Warns of set values that change nothing in the report. */
void st_effects_tell(const st_estimate *estimate, st_errors *errors);

/* For qsort of pointers to effects: larger ones first, equal ones in the order of the sheet. */
int st_effects_compare(const void *left, const void *right);

#endif
