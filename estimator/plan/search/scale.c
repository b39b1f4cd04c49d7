/* SPDX-License-Identifier: Apache-2.0 */
/* One search per number of GPUs; see scale.h. */
#include "search/scale.h"

#include "base/error_scope.h"
#include "base/memory.h"
#include "job/bind.h"
#include "search/fixed_params.h"
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
        return st_fail(self->errors, ST_ERR_USAGE, (st_place){0},
                       "strong scaling requires batch.global in the job" ST_HINT
                       "set batch.global, or omit --strong to keep batch.micro of every rank");
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

static const double million = 1e6;

static bool has_cost(const st_scale *scale)
{
    return scale->types[ST_SCALE_COST] != NULL && scale->types[ST_SCALE_TOKENS] != NULL;
}

static bool is_guided(const st_scale *scale)
{
    return st_guide_is_given(&scale->guide);
}

/* Dollars for a million tokens; NaN where the price is not known. */
static double cost_of(const st_scale_row *row)
{
    double cost = row->values[ST_SCALE_COST];
    return cost > 0 ? cost / row->values[ST_SCALE_TOKENS] * million : (double)NAN;
}

static void put_share(st_node *row, const char *key, const char *shown, double share)
{
    st_put_number(row, key, share);
    st_put_format(row, shown, "%.4g %%", 100 * share);
}

static void fill_row(const void *context, size_t index, st_node *row)
{
    const st_scale *scale = context;
    const st_scale_row *own = &scale->rows[index];
    st_put_number(row, "gpus", own->gpus);
    st_put_number(row, "batch", own->batch);
    if (own->found) {
        /* What programs read in base units, and what people and CSV read in the units of the cells.
         */
        static const char *const cells[] = {".exposed", ".mfu", ".memory"};
        st_put_number(row, "seconds", own->time);
        st_put_quantity(row, ".time", own->time, &scale->time_type->unit);
        put_share(row, "efficiency", ".efficiency", own->efficiency);
        for (size_t k = ST_SCALE_EXPOSED; k <= ST_SCALE_MEMORY; k++)
            if (scale->types[k] != NULL)
                st_put_quantity(row, cells[k], own->values[k], &scale->types[k]->unit);
        /* The time of communication that nothing hides, over that of the step. */
        if (scale->types[ST_SCALE_EXPOSED] != NULL)
            put_share(row, "exposed_share", ".exposed_share",
                      own->values[ST_SCALE_EXPOSED] / own->time);
        if (scale->types[ST_SCALE_MFU] != NULL)
            st_put_number(row, "mfu_share", own->values[ST_SCALE_MFU]);
        if (scale->types[ST_SCALE_MEMORY] != NULL)
            st_put_number(row, "memory_bytes", own->values[ST_SCALE_MEMORY]);
        if (has_cost(scale))
            st_put_number(row, "dollars_per_million_tokens", cost_of(own));
        if (is_guided(scale))
            st_put_number(row, "gap", own->gap);
    }
    st_put_text(row, "plan", own->found ? own->plan : NULL);
    st_put_text(row, "lacks", own->found ? NULL : own->miss);
}

/* A column of the table or of CSV; NULL: not there. */
typedef struct scale_column {
    const char *title;
    const char *field;
    int digits; /* of a number; 0: as its unit has it */
    const char *heading;
    const char *csv_field;
    const st_type *type; /* of what CSV shows; NULL: a number */
    bool is_there;
} scale_column;

enum { COLUMNS = 10 };

static void choose_columns(const st_scale *scale, scale_column columns[COLUMNS])
{
    const st_type *const *types = scale->types;
    const scale_column chosen[COLUMNS] = {
        {"GPUs", "gpus", 10, "gpus", "gpus", NULL, true},
        {"batch", "batch", 10, "batch", "batch", NULL, true},
        {scale->goal, ".time", 0, scale->found > 0 ? scale->goal : "step_time", ".time",
         scale->time_type, true},
        {"efficiency", ".efficiency", 0, "efficiency", "efficiency", NULL, true},
        {"exposed", ".exposed_share", 0, "exposed", ".exposed", types[ST_SCALE_EXPOSED],
         types[ST_SCALE_EXPOSED] != NULL},
        {"mfu", ".mfu", 0, "mfu", ".mfu", types[ST_SCALE_MFU], types[ST_SCALE_MFU] != NULL},
        {"memory", ".memory", 0, "memory", ".memory", types[ST_SCALE_MEMORY],
         types[ST_SCALE_MEMORY] != NULL},
        {"$/Mtoken", "dollars_per_million_tokens", 4, "cost [$/Mtoken]",
         "dollars_per_million_tokens", NULL, has_cost(scale)},
        {NULL, NULL, 0, "gap", "gap", NULL, is_guided(scale)},
        {NULL, NULL, 0, "plan", "plan", NULL, true},
    };
    memcpy(columns, chosen, sizeof chosen);
}

static void say_head(const st_scale *scale, st_node *root)
{
    st_say(root, "job      %s\nsheet    %s\nscaling  %s, %s\n", scale->job, scale->sheet,
           scale->weak ? "weak: the batch grows with the GPUs" : "strong: the batch is fixed",
           scale->fixed ? "the job's plan with more data-parallel ranks"
                        : "the best plan for every number of GPUs");
    for (size_t i = 0; i < scale->refine_count; i++)
        st_say(root, "%s   %s\n", i == 0 ? "refine" : "      ", scale->refine[i]);
    if (is_guided(scale)) {
        bool pruned = scale->guide.pruning != ST_PRUNING_NONE;
        st_say(root, "search   %s%s\n", st_method_name(scale->guide.method),
               pruned ? ", with rules that skip plans" : "");
    }
    st_search_put_fixed_params(scale->space, scale->weak ? ST_KEY_BATCH_GLOBAL : NULL, 9, root);
    st_say(root, "\n");
}

void st_scale_put(const st_scale *scale, st_result *result, st_arena *arena)
{
    st_node *root = st_result_begin(result, arena);
    st_put_text(root, "job", scale->job);
    st_put_text(root, "sheet", scale->sheet);
    st_put_texts(root, "refine", scale->refine, scale->refine_count);
    st_put_text(root, "scaling", scale->weak ? "weak" : "strong");
    st_put_bool(root, "fixed", scale->fixed);
    if (scale->interrupted)
        st_put_bool(root, "interrupted", true);
    st_put_text(root, "minimise", scale->goal);
    st_put_text(root, "method", st_method_name(scale->guide.method));
    say_head(scale, root);
    const st_node *rows = st_put_rows(root, "rows", fill_row, scale, scale->count);
    scale_column columns[COLUMNS];
    choose_columns(scale, columns);
    st_result_csv(result, "rows", "");
    for (size_t i = 0; i < COLUMNS; i++) {
        char heading[ST_QUANTITY_TEXT];
        const scale_column *one = &columns[i];
        bool has_unit = one->type != NULL && scale->found > 0;
        (void)snprintf(heading, sizeof heading, has_unit ? "%s [%s]" : "%s", one->heading,
                       has_unit ? one->type->unit.text : "");
        if (one->is_there)
            st_result_csv_column(result, one->csv_field, heading);
    }
    if (scale->found > 0) {
        scale_column table_columns[COLUMNS];
        st_table_column shown[COLUMNS];
        char fields[20 * COLUMNS] = "";
        size_t count = 0;
        choose_columns(scale, table_columns);
        for (size_t i = 0; i < COLUMNS; i++) {
            const scale_column *one = &table_columns[i];
            if (!one->is_there || one->title == NULL)
                continue;
            size_t length = strlen(fields);
            (void)snprintf(fields + length, sizeof fields - length, "%s%s", count > 0 ? "," : "",
                           one->field);
            shown[count++] =
                (st_table_column){.title = one->title,
                                  .none = "-",
                                  .right = true,
                                  .look = one->digits > 0 ? ST_LOOK_DIGITS : ST_LOOK_SCALED,
                                  .digits = one->digits};
        }
        st_table_show(st_say_table(root, shown, count, 2), rows, fields);
        st_say(root, "\nPlans\n");
    }
    for (size_t i = 0; i < scale->count; i++) {
        const st_scale_row *row = &scale->rows[i];
        st_say(root, "  %.10g: %s%s", row->gpus, row->found ? "" : "none; ",
               row->found ? row->plan : row->miss);
        /* Only what was left out says anything. */
        if (row->found && row->gap != row->gap)
            st_say(root, " (the gap to the best plan is unknown)");
        else if (row->found && row->gap > 0)
            st_say(root, " (another plan may be up to %.3g %% better)", 100 * row->gap);
        st_say(root, "\n");
    }
}
