/* SPDX-License-Identifier: Apache-2.0 */
/* What plugins change, compared with the closed form. */
#ifndef STEPTIME_ESTIMATE_PROVIDER_EFFECTS_H
#define STEPTIME_ESTIMATE_PROVIDER_EFFECTS_H

#include "estimate/estimate_internal.h"
#include "base/result.h"

/* Fills estimate->refined and the formulas' values of what is shown; after st_estimate_run. */
st_status st_estimate_compare_formulas(st_estimate *estimate, st_arena *arena,
                                       st_errors *errors) ST_NODISCARD;

/* Adds what plugins have a part in, and rows of it: name, number, unit, closed form, provider. */
void st_refined_report(const st_estimate *estimate, st_node *root, st_table *table);

#endif
