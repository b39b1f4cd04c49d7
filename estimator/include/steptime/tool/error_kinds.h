/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of estimates whose errors are counted together. */
#ifndef STEPTIME_TOOL_ERROR_KINDS_H
#define STEPTIME_TOOL_ERROR_KINDS_H

#include "steptime/job.h"
#include "steptime/sheet.h"

/* What estimates have in common whose errors are counted together; texts are never NULL. */
typedef struct st_error_kind {
    const char *gpu;       /* name of its file; "" where the cluster describes it inline */
    const char *precision; /* of GEMMs: "fp8", "fp32", or "16bit" for bf16 and fp16 */
    const char *model;     /* "dense" or "experts" */
    const char *stack;     /* "" for all of them, or where a job names none */
    bool is_sharded;       /* ZeRO 2 or 3: gradients or weights in shards */
    bool has_stages;       /* of a pipeline */
    const struct st_yaml_node *site; /* errors of runs that the stack was corrected by, or NULL */
} st_error_kind;

st_error_kind st_error_kind_of(const st_job *job);
/* `weights` is their type, "bf16". */
const char *st_error_precision(const char *recipe, bool fp8, const char *weights);
/*
 * What nine of ten errors of a kind under a sheet do not exceed, as a share of the measured time:
 * what estimates show as their band; 0 where it is not known.
 */
st_status st_error_kind_band(const st_paths *paths, const st_sheet *sheet,
                             const st_error_kind *kind, st_arena *arena, double *nine_of_ten,
                             st_errors *errors) ST_NODISCARD;
/*
 * The half-width of a band: nine of ten errors of `rows` rows of the kind, with the floors of
 * decision 0082; wider where none of them has the plan.
 */
double st_error_half_width(size_t rows, double nine_of_ten, bool has_plan);
bool st_error_kind_equal(const st_error_kind *left, const st_error_kind *right);

#endif
