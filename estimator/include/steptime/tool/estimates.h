/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates for tools: a job on its sheet, loaded, asked for cells. */
#ifndef STEPTIME_TOOL_ESTIMATES_H
#define STEPTIME_TOOL_ESTIMATES_H

#include "steptime/estimate.h"
#include "steptime/job.h"
#include "steptime/tool/providers.h"
#include "steptime/tool/rank_groups.h"
#include "steptime/tool/roles.h"

/* What replaces open functions and cells of a sheet. */
typedef struct st_provider_list {
    const st_provider *const *items;
    size_t count;
} st_provider_list;

typedef struct st_request {
    const char *job;   /* a name or path; NULL: of `sets` alone */
    const char *sheet; /* in place of the job's own; NULL: none */
    const char *const *sets;
    size_t set_count;
    const char *const
        *refine; /* plugins in place of the job's own, "none" for none; NULL: its own */
    size_t refine_count;
    bool checks_warn; /* a check that fails is a warning */
    bool alone;       /* a report and no more: the program leaves out what the job cannot have */
} st_request;

/* One without a job, for the functions below; NULL when out of memory. */
st_estimate *st_estimate_new(st_arena *arena);

/* Loads job and sheet and gives the sheet's inputs their values. Everything lives in `arena`. */
st_status st_estimate_load(const st_paths *paths, const st_request *request, st_arena *arena,
                           st_estimate *estimate, st_errors *errors) ST_NODISCARD;
/* The same without providers: for many plans of one job, some of which no provider supports. */
st_status st_estimate_open(const st_paths *paths, const st_request *request, st_arena *arena,
                           st_estimate *estimate, st_errors *errors) ST_NODISCARD;

/* The providers of an estimate that was opened: those of its plugins, then the library's own. */
st_status st_estimate_gather(const st_paths *paths, const st_request *request, st_arena *arena,
                             st_estimate *estimate, st_errors *errors) ST_NODISCARD;

/* A job on a sheet, and the plugins that refine it in place of the job's own; none: no plugins. */
typedef struct st_provider_wish {
    const st_paths *paths;
    const st_job *job;
    const st_sheet *sheet;
    const char *const *refine;
    size_t refine_count;
} st_provider_wish;

/* The providers of the plugins, then the library's own. */
st_status st_estimate_providers(const st_provider_wish *wish, st_arena *arena,
                                st_provider_list *list, st_errors *errors) ST_NODISCARD;

/* What an estimate that was loaded or opened is made of; NULL and 0 where loading did not get so
 * far. */
typedef struct st_estimate_parts {
    const st_job *job;
    const st_sheet *sheet;
    const st_bound_input *inputs; /* in the sheet's order */
    const double *input_values;
    size_t input_count;
    st_provider_list providers;
    size_t plugin_count; /* of the providers: the first ones are plugins' */
} st_estimate_parts;

st_estimate_parts st_estimate_parts_of(const st_estimate *estimate);

/* Chooses cells or inputs by name; an unknown name is reported at `place`. */
st_status st_estimate_show_names(st_estimate *estimate, const char *const *names, size_t count,
                                 st_place place, st_arena *arena, st_errors *errors) ST_NODISCARD;

/*
 * Computes what was chosen. ST_ERR_CHECK and ST_ERR_MATH are reported in full; failing checks of
 * level warning and limit are added at their severity; the values are kept.
 */
st_status st_estimate_run(st_estimate *estimate, st_arena *arena, st_errors *errors) ST_NODISCARD;

/* The type of a name that was chosen, by its place, and its value once it was computed. */
const st_type *st_estimate_shown_type(const st_estimate *estimate, size_t index);
double st_estimate_shown_value(const st_estimate *estimate, size_t index);

/* Places the ranks of the job's plan; changes what the estimate shows. A job whose ranks do not fit
 * its cluster is refused. */
st_status st_estimate_placement(st_estimate *estimate, st_arena *arena, st_placement *placement,
                                st_errors *errors) ST_NODISCARD;

/* Which cells, of how many stages, and of how many chunks of each; 0 chunks: of whole stages. */
typedef struct st_stage_question {
    const char *const *cells;
    size_t count;
    size_t stages;
    size_t chunks;
} st_stage_question;

/*
 * values[(stage * chunks + chunk) * count + i], or values[stage * count + i] of whole stages: cell
 * i, in base units. The sheet's roles 'stage_asked' and 'chunk_asked' say which stage and which
 * chunk is meant; a sheet without them has stages that are alike. Changes what the estimate shows.
 */
st_status st_estimate_by_stage(st_estimate *estimate, const st_stage_question *question,
                               st_arena *arena, double *values, st_errors *errors) ST_NODISCARD;

/* One value for each item, in base units; one that the sheet does not fill is an error. */
st_status st_estimate_roles(const st_paths *paths, const st_request *request,
                            const st_role_list *roles, st_arena *arena, double *values,
                            st_errors *errors) ST_NODISCARD;

/* Errors of the sheet's checks, as an estimate of the request has them; warnings and limits, as of
 * memory, are left out. */
st_status st_estimate_check_plan(const st_paths *paths, const st_request *request, st_arena *arena,
                                 st_errors *errors) ST_NODISCARD;

/* Loads the job of a request; a layout that the job leaves open is settled. */
st_status st_settled_job(const st_paths *paths, const st_request *request, st_arena *arena,
                         const st_job **job, st_errors *errors) ST_NODISCARD;

#endif
