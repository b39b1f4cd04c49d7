/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which layers lie on which stage, where a job spells it out: model.pattern, the layers by kind,
 * and parallel.layout, those of every virtual stage. Sheets declare the open functions `layers_of`,
 * `layers_on` and `fullest_stage` with a formula for jobs that do not
 * (formulas/megatron-plan.yaml).
 */
#ifndef STEPTIME_ESTIMATE_STAGE_LAYERS_H
#define STEPTIME_ESTIMATE_STAGE_LAYERS_H

#include "steptime/job.h"
#include "sheet/provider.h"

typedef struct st_stage_providers {
    const st_provider *items;
    size_t count;
} st_stage_providers;

/*
 * Providers of the functions that `sheet` has of them, none for a job without pattern and layout. A
 * text that is wrong, or a layout of other virtual stages than the job's, is reported. A row of
 * other stages than the layout's is refused. Everything lives in `arena`.
 */
st_status st_stage_layer_providers(const st_job *job, const st_sheet *sheet, st_arena *arena,
                                   st_stage_providers *providers, st_errors *errors) ST_NODISCARD;

/*
 * Without a pattern: layers with routed experts among the first `count` of a model, whose first
 * `leading` layers are dense; one in `every` of the others has experts, 0: none.
 */
double st_routed_before(double leading, double every, double count);

#endif
