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
    bool anywhere; /* some shown value is known to change */
    bool constant; /* a quantity or share of the cluster that could be increased, or a constant */
} st_effect;

/* Whether a report that is brief may show it: constants and assumptions; the plan and the model are
 * in its head. */
bool st_effect_is_brief(const st_effect *effect);

/*
 * Adds to an estimate that has run one effect per input, in the sheet's order: changes by what may
 * be in brief reports, with `whole` by every number but zeros. Truth values and names are changed
 * for others, to see whether anything changes, where they were set or, with `whole`, are defaults.
 */
st_status st_estimate_find_effects(st_estimate *estimate, bool whole, st_arena *arena) ST_NODISCARD;

/* Warns of set values that change nothing in the report. */
void st_effects_tell(const st_estimate *estimate, st_errors *errors);

/* For qsort of pointers to effects: larger ones first, equal ones in the order of the sheet. */
int st_effects_compare(const void *left, const void *right);

#endif
