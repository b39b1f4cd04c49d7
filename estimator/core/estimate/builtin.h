/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Providers that the library brings itself: what a sheet cannot express because it needs a list.
 *
 * A sheet declares them as open functions without a formula (see formulas/ddp.yaml); a job that
 * names `model.layer_list` gets them bound to that list. A job with `parallel.order` gets the cells
 * that depend on it (estimate/placement_cells.h), one with `model.pattern` or `parallel.layout` the
 * layers of its stages (estimate/stage_layers.h). Functions that replay a pipeline need nothing of
 * the job (estimate/pipeline_functions.h).
 */
#ifndef STEPTIME_ESTIMATE_BUILTIN_H
#define STEPTIME_ESTIMATE_BUILTIN_H

#include "steptime/job.h"
#include "program/program.h"
#include "schedule/layer_list.h"
#include "steptime/tool/estimates.h"

/*
 * The providers that `sheet` has functions and cells for; those of lists, orders and patterns where
 * the job names one. Everything lives in `arena`.
 */
st_status st_builtin_providers(const st_paths *paths, const st_job *job, const st_sheet *sheet,
                               st_arena *arena, st_provider_list *providers,
                               st_errors *errors) ST_NODISCARD;

/* The layer list that one of the providers looks into; NULL where none does. */
const st_layers *st_builtin_layers(const st_provider *const *providers, size_t count);

#endif
