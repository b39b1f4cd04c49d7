/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is behind the st_estimate of steptime/estimate.h: the estimate, and all that it lives on.
 *
 * Programs are kept while settings change values alone: their inputs are bound again, and they run.
 * Memory is in arenas by what ends it: loading the job again, another list of what is shown,
 * another value.
 */
#ifndef STEPTIME_ESTIMATE_HANDLE_H
#define STEPTIME_ESTIMATE_HANDLE_H

#include "base/result.h"
#include "estimate/estimate_internal.h"
#include "job/job_loader.h"

/* A program that is compiled when it is asked for. */
typedef struct st_kept_program {
    st_arena *arena; /* NULL: not compiled */
    st_ready_program ready;
} st_kept_program;

/* Programs of plans that are replayed have the providers of replays, the others go without. */
enum { ST_CLOSED_FORM, ST_REPLAYED, ST_FORMS };

/* One assignment that counts; a later one of the same path takes its place. */
typedef struct st_setting {
    st_arena *arena; /* of its texts */
    const char *text;
    st_job_change change;
} st_setting;

/* A value as a text, of the given generation of values. */
typedef struct st_value_note {
    uint64_t generation;
    const char *text;
} st_value_note;

/* An input and the value of the job that it reads. */
typedef struct st_input_source {
    const st_job_value *value;
    size_t input;
} st_input_source;

typedef struct st_estimate_handle {
    st_estimate estimate; /* first: the public pointer is one to it */
    st_arena *texts;      /* of the request, as long as the handle lives */
    st_arena *arena;      /* what was loaded */
    st_arena *shown;      /* estimate.shown */
    st_arena *results;    /* what comes of the present values; NULL: nothing yet */
    st_paths *paths;
    st_request request;
    st_setting *settings; /* what request.sets is made of when the job is loaded again */
    size_t setting_count;
    size_t setting_capacity;
    const char *const *cells; /* that were asked for, 0: those of the report */
    size_t cell_count;
    bool all;

    st_bound_input *inputs; /* estimate.inputs and estimate.input_values, which settings change */
    double *input_values;
    st_input_source *sources; /* of all inputs, those of a value together; NULL: none yet */
    size_t *shown_of;         /* per cell: its place among what the report's program gives */
    const st_provider *const *providers[ST_FORMS];
    size_t provider_counts[ST_FORMS];
    size_t form;
    bool has_old_band;      /* estimate.band is of other settings */
    bool has_whole_effects; /* estimate.effects, where there are any, are not of a brief report */
    bool is_judged;         /* what is wrong with the present values was reported */
    st_kept_program reports[ST_FORMS];

    const char *
        *wanted; /* cells and inputs that were read and are not shown; as the sheet has them */
    size_t wanted_count;
    st_kept_program extras[ST_FORMS]; /* of what is wanted */
    bool has_extras;                  /* for the present values */
    uint64_t generation;              /* of the values, from 1 */
    st_value_note *notes;             /* per input and then per cell */
} st_estimate_handle;

/* Of an estimate that st_estimate_create made. */
st_estimate_handle *st_estimate_handle_of(st_estimate *estimate);

/* For what comes of the present values; NULL when out of memory. */
st_arena *st_handle_results(st_estimate_handle *handle);
/* Forgets what was computed. */
void st_handle_forget(st_estimate_handle *handle);
void st_kept_drop(st_kept_program *kept);
void st_handle_drop_programs(st_estimate_handle *handle);
/* Compiles cells and inputs by name, without checks, or, where `names` is NULL, what is shown;
 * nothing where that was done before. */
st_status st_kept_names(const st_estimate *estimate, const char *const *names, size_t count,
                        st_kept_program *kept, st_errors *errors) ST_NODISCARD;

/* Loads the job with the given assignments; everything stays as it is after an error. */
st_status st_handle_load(st_estimate_handle *handle, const char *const *sets, size_t count,
                         st_errors *errors) ST_NODISCARD;
/* Lists what is shown again, after a change of what the job cannot have; programs whose list stays
 * are kept. */
st_status st_handle_list_shown(st_estimate_handle *handle, st_errors *errors) ST_NODISCARD;
/* Reads the assignments of a request as the first settings; false when out of memory. */
bool st_settings_begin(st_estimate_handle *handle, const char *const *sets,
                       size_t count) ST_NODISCARD;
void st_settings_end(st_estimate_handle *handle);
/* The request of the estimate as it is set now, for who loads its job once more. False when out of
 * memory. */
bool st_handle_request(const st_estimate_handle *handle, st_arena *arena,
                       st_request *request) ST_NODISCARD;

/* How a caller wants a result; SVG is left to who has a picture. */
st_status st_view_read(const st_estimate_view *view, st_estimate_view *asked,
                       st_errors *errors) ST_NODISCARD;
void st_view_write(const st_result *result, const st_estimate_view *view, st_buffer *buffer);

/* Computes what is shown if necessary; reports errors, and warnings and limits only along with
 * them. */
st_status st_handle_compute(st_estimate_handle *handle, st_errors *errors) ST_NODISCARD;
/* Reports what is wrong with values that were computed, unless that was done. */
st_status st_handle_judge(st_estimate_handle *handle, st_errors *errors) ST_NODISCARD;
/* The same, and what reports show of it; `whole`: those that are not brief, too. */
st_status st_estimate_complete(st_estimate_handle *handle, bool whole,
                               st_errors *errors) ST_NODISCARD;
/*
 * Computes what is shown and, where that lacks a cell or input of the names, more; values[i], NaN
 * where there is none. ST_ERR_NAME, with nothing computed, where the sheet has none of a name.
 */
st_status st_handle_look(st_estimate_handle *handle, const char *const *names, size_t count,
                         double *values, st_errors *errors) ST_NODISCARD;
/* The program that has a name among its outputs, after st_handle_look. */
const st_program *st_handle_program_of(const st_estimate_handle *handle, const char *name);

#endif
