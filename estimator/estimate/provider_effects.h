/* SPDX-License-Identifier: Apache-2.0 */
/* What plugins change, beside the closed form. */
#ifndef STEPTIME_ESTIMATE_PROVIDER_EFFECTS_H
#define STEPTIME_ESTIMATE_PROVIDER_EFFECTS_H

#include "estimate/estimate.h"
#include "base/json_write.h"
#include "base/text.h"

/* Fills estimate->refined and the formulas' values of what is shown; after st_estimate_run. */
st_status st_estimate_compare_formulas(st_estimate *estimate, st_arena *arena,
                                       st_errors *errors) ST_NODISCARD;

/* Rows of the columns of an estimate: name, number, unit, closed form, provider. */
void st_refined_add_rows(const st_estimate *estimate, st_arena *arena, st_table *table);
void st_refined_write_json(const st_estimate *estimate, st_json *json);

#endif
