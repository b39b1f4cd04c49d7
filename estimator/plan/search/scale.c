/* SPDX-License-Identifier: Apache-2.0 */
/* One search per number of GPUs; see scale.h. */
#include "search/scale.h"

#include "base/memory.h"
#include "base/error_scope.h"
#include "job/bind.h"
#include "steptime/keys.h"
#include "steptime/tool/roles.h"

#include <math.h>
#include <string.h>

static const st_role roles[ST_SCALE_CELLS] = {
    [ST_SCALE_EXPOSED] = ST_ROLE_COMMUNICATION, [ST_SCALE_MFU] = ST_ROLE_MFU,
    [ST_SCALE_MEMORY] = ST_ROLE_MEMORY,         [ST_SCALE_COST] = ST_ROLE_COST,
    [ST_SCALE_TOKENS] = ST_ROLE_TOKENS,
};

typedef struct study {
    const st_paths *paths;
    const st_scale_request *request;
    const st_search_watch *watch;
    st_arena *arena;
    st_scale *scale;
    st_errors *errors;
    double job_gpus; /* of the job's own plan */
    double job_batch;
} study;

/* --- one number of GPUs ---------------------------------------------------------------------- */

static void hold_plan(const st_scale_request *request, st_search_request *search)
{
    static const char *const only_dp[] = {ST_KEY_PARALLEL_DP};
    if (request->fixed) {
        search->only = only_dp;
        search->only_count = 1;
    }
}

/* The request of one search: its GPUs, its batch, and what may vary. */
static st_status make_request(const study *self, const st_scale_row *row, st_search_request *made)
{
    char number[ST_QUANTITY_TEXT];
    *made = self->request->search;
    made->gpus =
        st_arena_printf(self->arena, "%s", st_number_format(row->gpus, number, sizeof number));
    made->top = 1;
    made->also = roles;
    made->also_count = ST_SCALE_CELLS;
    const char **sets = st_arena_alloc(self->arena, made->space.set_count + 2, sizeof *sets);
    if (made->gpus == NULL || sets == NULL)
        return st_out_of_memory(self->errors);
    for (size_t i = 0; i < made->space.set_count; i++)
        sets[i] = made->space.sets[i];
    if (self->request->weak && row->batch > 0) {
        sets[made->space.set_count] =
            st_arena_printf(self->arena, ST_KEY_BATCH_GLOBAL "=%s",
                            st_number_format(row->batch, number, sizeof number));
        if (sets[made->space.set_count++] == NULL)
            return st_out_of_memory(self->errors);
    }
    made->space.sets = sets;
    hold_plan(self->request, made);
    return ST_OK;
}

static const char *join(st_arena *arena, const char *const *sets, size_t count)
{
    const char *text = "";
    for (size_t i = 0; sets != NULL && text != NULL && i < count; i++)
        text = st_arena_printf(arena, "%s%s%s", text, i > 0 ? " " : "", sets[i]);
    return sets != NULL ? text : NULL;
}

/* Values of the best plan, or what the nearest one lacks. */
static st_status take_values(study *self, const st_search *search, const st_search_view *view,
                             st_scale_row *row)
{
    const st_search_result *result = view->result;
    const st_space *space = view->detail.space;
    size_t count = 0;
    row->found = result->found.ranking_count > 0;
    if (!row->found) {
        row->miss = view->miss != NULL ? view->miss : "sizes, layers and batch do not divide";
        return ST_OK;
    }
    if (row->batch == 0) {
        /* Sequences in a step of a plan whose job says only how many a rank takes; 0: unknown. */
        const st_plan_choice *choices = search->wanted.choices;
        double values[ST_PARAMS];
        st_plan_at(&search->plans, result->found.ranking[0].row / search->space->total, values);
        bool known = choices[ST_PARAM_MICRO].read && choices[ST_PARAM_DP].read;
        row->batch = known ? values[ST_PARAM_MICRO] * values[ST_PARAM_DP] : 0;
    }
    row->time = view->ranking[0];
    row->gap = st_search_gap(search, result);
    for (size_t i = 0; i < space->cell_count; i++) {
        for (size_t k = 0; k < ST_SCALE_CELLS; k++) {
            const char *cell = st_sheet_role(space->sheet, roles[k]);
            if (cell != NULL && strcmp(space->cells[i], cell) == 0) {
                row->values[k] = view->ranking[i];
                self->scale->types[k] = space->types[i];
            }
        }
    }
    self->scale->time_type = space->types[0];
    const char *const *sets = st_search_sets(search, result->found.ranking[0].row, true, &count);
    row->plan = join(self->arena, sets, count);
    return row->plan != NULL ? ST_OK : st_out_of_memory(self->errors);
}

/* --- all ------------------------------------------------------------------------------------- */

/* The job's own plan and batch, and the numbers of GPUs. */
static st_status read_job(study *self)
{
    st_search *search = NULL;
    st_search_request request = self->request->search;
    hold_plan(self->request, &request);
    st_status status = st_search_create(self->paths, &request, self->arena, &search, self->errors);
    if (status != ST_OK)
        return status;
    const st_job *job = search->space->base.job;
    self->job_gpus =
        st_job_number(job, ST_KEY_PARALLEL_TP) * st_job_number(job, ST_KEY_PARALLEL_CP) *
        st_job_number(job, ST_KEY_PARALLEL_PP) * st_job_number(job, ST_KEY_PARALLEL_DP);
    self->job_batch = st_job_number(job, ST_KEY_BATCH_GLOBAL);
    self->scale->space = search;
    self->scale->goal = search->goal;
    self->scale->sheet = st_sheet_name(search->space->base.sheet);
    self->scale->job = st_job_name(job);
    self->scale->refine = search->space->refine;
    self->scale->refine_count = search->space->refine_count;
    self->scale->count = search->wanted.gpus_count;
    self->scale->rows =
        st_arena_alloc(self->arena, self->scale->count + 1, sizeof *self->scale->rows);
    if (self->scale->rows == NULL)
        return st_out_of_memory(self->errors);
    for (size_t i = 0; i < self->scale->count; i++)
        self->scale->rows[i].gpus = search->wanted.gpus[i];
    if (self->request->strong && self->job_batch == 0)
        return st_fail(
            self->errors, ST_ERR_USAGE, (st_place){0},
            "strong scaling needs a batch that stays, and the job has no batch.global" ST_HINT
            "without --strong every rank keeps its batch.micro");
    self->scale->weak = self->request->weak || self->job_batch == 0;
    return ST_OK;
}

st_status st_scale_run(const st_paths *paths, const st_scale_request *request,
                       const st_search_watch *watch, st_arena *arena, st_scale *scale,
                       st_errors *errors)
{
    study self = {.paths = paths,
                  .request = request,
                  .watch = watch,
                  .arena = arena,
                  .scale = scale,
                  .errors = errors};
    *scale =
        (st_scale){.weak = request->weak, .fixed = request->fixed, .guide = request->search.guide};
    st_status status = read_job(&self);
    scale->asked = scale->count;
    for (size_t i = 0; i < scale->count && status == ST_OK && !scale->interrupted; i++) {
        /* Warnings were reported when the job was read. */
        st_scale_row *row = &scale->rows[i];
        st_error_scope quiet = {.edit = st_error_is_severe};
        st_errors_enter(self.errors, &quiet);
        st_status row_status = ST_OK;
        st_errors *row_errors = self.errors;
        st_search_request row_request;
        st_search *search = NULL;
        st_search_result result;
        st_search_view view;
        /* The batch that goes with the GPUs: the job's, or as many sequences per GPU as in the job.
         */
        double batch = self.job_batch;
        row->batch = self.request->weak && batch > 0
                         ? floor(batch * row->gpus / self.job_gpus + 0.5)
                         : batch;
        st_status search_status = make_request(&self, row, &row_request);
        if (search_status == ST_OK)
            search_status =
                st_search_create(self.paths, &row_request, self.arena, &search, row_errors);
        if (search_status == ST_OK)
            search_status = st_search_run(search, &st_one_process, self.watch, &result, row_errors);
        if (search_status == ST_OK && result.interrupted) {
            self.scale->interrupted = true;
        } else {
            if (search_status == ST_OK)
                search_status = st_search_view_make(self.paths, search, &result, &view, row_errors);
            row_status =
                search_status == ST_OK ? take_values(&self, search, &view, row) : search_status;
        }
        st_errors_leave(self.errors, &quiet);
        status = row_status;
        if (scale->interrupted)
            scale->count = i;
    }
    if (status == ST_OK) {
        double first = 0;
        for (size_t i = 0; i < scale->count; i++) {
            st_scale_row *row = &scale->rows[i];
            if (!row->found)
                continue;
            double rate = (row->batch > 0 ? row->batch : 1) / row->time / row->gpus;
            first = first == 0 ? rate : first;
            row->efficiency = rate / first;
            scale->found++;
        }
    }
    return status;
}
