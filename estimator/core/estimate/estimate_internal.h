/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One estimate: a job on its sheet, run once, with everything that reports show.
 *
 * Loading and running are two steps, so that a caller can look at the sheet before it says which
 * cells it wants. Only those are computed: what a report does not show cannot fail it.
 */
#ifndef STEPTIME_ESTIMATE_ESTIMATE_INTERNAL_H
#define STEPTIME_ESTIMATE_ESTIMATE_INTERNAL_H

#include "steptime/estimate.h"
#include "estimate/error_band.h"
#include "steptime/job.h"
#include "plugin/plugins.h"
#include "program/impossible.h"
#include "program/program.h"
#include "steptime/tool/estimates.h"

/* A cell or input with the section that shows it. */
typedef struct st_shown {
    const char *name;
    const char *doc;
    const char *cite;
    const char *section; /* "" where no section shows it */
    const st_type *type;
    double value; /* base units */
    bool refined; /* plugins change it; from what, if the sheet can do without them: */
    double formula_value;
} st_shown;

/* A cell that plugins have a part in. */
typedef struct st_refined_cell {
    const char *name;
    const char *doc;
    const st_type *type;
    double value;
    double formula_value;  /* without plugins; NaN where the sheet cannot do without */
    const char *providers; /* "nccl-whitebox for all_reduce" */
    const char *refusal;   /* why the formula replaces one; "" normally */
} st_refined_cell;

struct st_estimate {
    const st_job *job;
    const st_sheet *sheet;
    const st_bound_input *inputs; /* in the sheet's order */
    const double *input_values;
    size_t input_count;
    const st_provider *const *providers; /* plugins' and the library's own, for this job */
    size_t provider_count;
    const st_provider *const *whole; /* the same before those of replays are dropped */
    size_t whole_count;
    size_t plugin_count; /* of the providers: the first ones are plugins' */
    st_refine_keys plugin_keys;
    const st_refinement *refinements; /* that the plugins come from */
    size_t refinement_count;
    const st_program *program;
    st_workspace *workspace; /* that ran the program for the present inputs; NULL: none did */
    st_shown *shown;         /* the program's outputs */
    size_t shown_count;
    const char *const *aside; /* its outputs behind them, for whoever knows of them */
    size_t aside_count;
    st_refined_cell *refined; /* see provider_effects.h */
    size_t refined_count;
    const double *values;              /* of what is shown, as they were computed */
    const double *checks;              /* one per check of the sheet */
    st_error_band band;                /* how far estimates like this have been off */
    const struct st_effect *effects;   /* one per input; NULL: not asked for, see effects.h */
    const struct st_found_plan *found; /* how the plan was found; NULL: it was given */
    bool *settling;   /* per input: its value was asked for to list what is shown; NULL: unknown */
    bool checks_warn; /* as the request has it */
    const char *recipes;  /* those of the stack, where the layout is one of theirs; NULL */
    bool has_open_layout; /* `parallel.layout: auto`, which follows from all that the job says */
    bool alone; /* what this job cannot have is left out of the program, see program/impossible.h */
};

/* A program and all that it takes to run it, again and again. */
typedef struct st_ready_program {
    const st_program *program;
    st_workspace *workspace; /* for st_workspace_destroy */
    double *values;
    double *checks;
} st_ready_program;

/* Adds the error of a name that no cell has; gives its status. */
st_status st_unknown_cell(const st_sheet *sheet, const char *name, st_place place,
                          st_errors *errors);

/* How far estimates like this one have been off: estimate->band. */
st_status st_estimate_find_band(const st_paths *paths, st_estimate *estimate, st_arena *arena,
                                st_errors *errors) ST_NODISCARD;

/* The program of cells and inputs by name, without checks. */
st_status st_estimate_compile_names(const st_estimate *estimate, const char *const *names,
                                    size_t count, st_arena *arena, const st_program **program,
                                    st_errors *errors) ST_NODISCARD;
/* The program of what is shown. */
st_status st_estimate_compile(const st_estimate *estimate, st_arena *arena,
                              const st_program **program, st_errors *errors) ST_NODISCARD;
st_status st_ready_make(const st_program *program, st_arena *arena, st_ready_program *ready,
                        st_errors *errors) ST_NODISCARD;
/* Takes the values of a program that has run for the present inputs; what plugins change is left to
 * st_estimate_compare_formulas. */
void st_estimate_take(st_estimate *estimate, const st_ready_program *ready);
/* Reports what is wrong with them. */
st_status st_estimate_judge(const st_estimate *estimate, const st_ready_program *ready,
                            st_errors *errors) ST_NODISCARD;

/* As st_estimate_load, with the providers of replays even where the plan is not replayed. */
st_status st_estimate_load_whole(const st_paths *paths, const st_request *request, st_arena *arena,
                                 st_estimate *estimate, st_errors *errors) ST_NODISCARD;

/* What is shown under a name; NULL: nothing. */
const st_shown *st_find_shown(const st_estimate *estimate, const char *name);
/* The index of an input by its name; input_count: the sheet has none of it. */
size_t st_estimate_input(const st_estimate *estimate, const char *name);

/* Goes without the library's providers that replay a plan; false when out of memory. */
bool st_estimate_drop_replays(st_estimate *estimate, st_arena *arena) ST_NODISCARD;

/* Chooses the cells of the sheet's report, or every cell with `all` or without a report. */
st_status st_estimate_show_report(st_estimate *estimate, bool all, st_arena *arena) ST_NODISCARD;

/* What the job of an estimate cannot have; false when out of memory. */
bool st_estimate_find_absent(const st_estimate *estimate, st_arena *arena,
                             st_absence *absence) ST_NODISCARD;
/* Whether a cell is a member of a family that the job cannot have. */
bool st_estimate_is_absent(st_absence *absence, const char *name);

/* values[i]: a cell or an input by name, in addition to what is shown; without checks. */
st_status st_estimate_look(const st_estimate *estimate, const char *const *names, size_t count,
                           st_arena *arena, double *values, st_errors *errors) ST_NODISCARD;

/* Whether the input's value is assumed: a default, or marked so in the job. */
bool st_input_is_assumed(const st_bound_input *input);
/* "file", "set", "stack", "default" (the key's) or "sheet" (the sheet's default). */
const char *st_input_origin(const st_bound_input *input);
/* Where it was given: the job's place or, for the sheet's default, the input's. */
st_place st_input_place(const st_bound_input *input);

#endif
