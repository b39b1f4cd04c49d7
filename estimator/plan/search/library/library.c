/* SPDX-License-Identifier: Apache-2.0 */
/* Grids and searches for other programs; see steptime/search.h. */
#include "steptime/search.h"

#include "base/memory.h"
#include "base/error_scope.h"
#include "base/oom_flag.h"
#include "search/guided/guided_module.h"
#include "search/search_state.h"

#include "steptime/keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct st_grid {
    st_space *space;
    const char **reasons;
};

struct st_grid_reader {
    const st_grid *grid;
    st_space_worker *worker;
};

static st_space_request space_of(const st_job_request *request)
{
    return (st_space_request){.job = request->job,
                              .sheet = request->sheet,
                              .sets = request->sets,
                              .set_count = request->set_count,
                              .refine = request->refine,
                              .refine_count = request->refine_count,
                              .wheres = request->conditions,
                              .where_count = request->condition_count,
                              .cells = request->cells,
                              .cell_count = request->cell_count};
}

/* --- grids ----------------------------------------------------------------------------------- */

st_status st_grid_open(const st_paths *paths, const st_grid_request *request, st_arena *arena,
                       const st_grid **grid, st_errors *errors)
{
    const unsigned long lacked = st_oom_count();
    st_grid *made = st_arena_alloc(arena, 1, sizeof *made);
    if (made == NULL)
        return st_out_of_memory(errors);
    st_space_request space = space_of(&request->job);
    space.option = "--over";
    space.overs = request->axes;
    space.over_count = request->axis_count;
    space.zip = request->zip;
    space.sample = request->sample;
    space.seed = request->seed;
    st_status status = st_space_create(paths, &space, arena, &made->space, errors);
    if (status != ST_OK)
        return status;
    size_t count = st_reason_count(made->space);
    made->reasons = st_arena_alloc(arena, count, sizeof *made->reasons);
    for (size_t i = 0; made->reasons != NULL && i < count; i++) {
        made->reasons[i] = st_reason_sentence(made->space, i, arena);
        if (made->reasons[i] == NULL)
            return st_out_of_memory(errors);
    }
    if (made->reasons == NULL || st_oom_count() != lacked)
        return st_out_of_memory(errors);
    *grid = made;
    return ST_OK;
}

uint64_t st_grid_row_count(const st_grid *grid)
{
    return grid->space->rows;
}

size_t st_grid_cell_count(const st_grid *grid)
{
    return grid->space->cell_count;
}

const char *st_grid_cell_name(const st_grid *grid, size_t cell)
{
    return grid->space->cells[cell];
}

const st_type *st_grid_cell_type(const st_grid *grid, size_t cell)
{
    return grid->space->types[cell];
}

size_t st_grid_axis_count(const st_grid *grid)
{
    return grid->space->axis_count;
}

const char *st_grid_axis_key(const st_grid *grid, size_t axis)
{
    return grid->space->axes[axis].axis.path;
}

const char *st_grid_axis_text(const st_grid *grid, size_t axis, uint64_t row, char *text,
                              size_t size)
{
    uint64_t pick = st_space_pick(grid->space, row);
    return st_space_value_text(grid->space, axis, st_space_digit(grid->space, axis, pick), text,
                               size);
}

const st_type *st_grid_axis_type(const st_grid *grid, size_t axis)
{
    return st_space_axis_type(grid->space, axis);
}

uint64_t st_grid_axis_value_count(const st_grid *grid, size_t axis)
{
    return grid->space->axes[axis].axis.count;
}

const char *st_grid_axis_value_text(const st_grid *grid, size_t axis, uint64_t value, char *text,
                                    size_t size)
{
    return st_space_value_text(grid->space, axis, value, text, size);
}

st_status st_grid_axis_read(const st_grid *grid, size_t axis, uint64_t first, size_t rows,
                            const st_axis_columns *columns)
{
    const st_space *space = grid->space;
    bool counts = columns->numbers != NULL || columns->counts != NULL;
    if (first > space->rows || rows > space->rows - first ||
        (counts && st_space_axis_type(space, axis) == NULL))
        return ST_ERR_USAGE;
    for (size_t i = 0; i < rows; i++) {
        uint64_t place = st_space_digit(space, axis, st_space_pick(space, first + i));
        double number = counts ? st_space_axis_number(space, axis, place) : 0;
        if (columns->places != NULL)
            columns->places[i] = (uint32_t)place;
        if (columns->numbers != NULL)
            columns->numbers[i] = number;
        if (columns->counts != NULL)
            columns->counts[i] = (int64_t)number;
    }
    return ST_OK;
}

size_t st_grid_reason_count(const st_grid *grid)
{
    return st_reason_count(grid->space);
}

const char *st_grid_reason_text(const st_grid *grid, size_t reason)
{
    return grid->reasons[reason];
}

st_grid_reader *st_grid_reader_create(const st_grid *grid)
{
    st_grid_reader *made = malloc(sizeof *made);
    if (made == NULL)
        return NULL;
    *made = (st_grid_reader){.grid = grid, .worker = st_space_worker_create(grid->space)};
    if (made->worker == NULL) {
        free(made);
        return NULL;
    }
    return made;
}

void st_grid_reader_destroy(st_grid_reader *reader)
{
    if (reader != NULL) {
        st_space_worker_destroy(reader->worker);
        free(reader);
    }
}

st_status st_grid_read(st_grid_reader *reader, uint64_t first, size_t rows, double *const *values,
                       uint32_t *reasons)
{
    const st_space *space = reader->grid->space;
    const st_space_worker *worker = reader->worker;
    if (first > space->rows || rows > space->rows - first)
        return ST_ERR_USAGE;
    for (size_t done = 0; done < rows;) {
        size_t count = rows - done < ST_SPACE_BLOCK ? rows - done : ST_SPACE_BLOCK;
        st_space_run(reader->worker, first + done, count);
        for (size_t i = 0; i < space->cell_count; i++)
            memcpy(values[i] + done, worker->outputs[i], count * sizeof(double));
        memcpy(reasons + done, worker->reasons, count * sizeof *reasons);
        done += count;
    }
    return ST_OK;
}

/* --- searches -------------------------------------------------------------------------------- */

typedef struct finding {
    const st_paths *paths;
    const st_best_request *request;
    st_arena *arena;
    st_errors *errors;
    st_search *search;
    st_search detail; /* the same with the cells of the request */
    st_search_result result;
    double goals[8]; /* the cells of the search itself */
    volatile sig_atomic_t stopped;
} finding;

static void watch_progress(void *context, uint64_t done, uint64_t rows)
{
    finding *self = context;
    if (self->request->progress != NULL &&
        !self->request->progress(self->request->context, done, rows))
        self->stopped = 1;
}

static st_status fill_plans(finding *self, st_best *best)
{
    const st_search_result *result = &self->result;
    size_t count = result->found.ranking_count + (result->found.has_nearest ? 1 : 0);
    st_best_plan *plans = st_arena_alloc(self->arena, count + 1, sizeof *plans);
    st_status status = ST_OK;
    if (plans == NULL)
        return st_out_of_memory(self->errors);
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        bool ranked = i < result->found.ranking_count;
        const st_found *found = ranked ? &result->found.ranking[i] : &result->found.nearest;
        st_best_plan *plan = &plans[i];
        size_t cells = self->request->job.cell_count;
        double *values = st_arena_alloc(self->arena, cells + 1, sizeof *values);
        plan->goal = self->search->sign * found->goal;
        plan->values = values;
        plan->sets = st_search_sets(self->search, found->row, true, &plan->set_count);
        if (values == NULL || plan->sets == NULL)
            status = st_out_of_memory(self->errors);
        else
            status = cells > 0 ? st_search_values(&self->detail, &found->row, 1, values) : ST_OK;
        if (status == ST_OK && !ranked) { /* what was noted there are its errors */
            status = st_search_values(self->search, &result->found.nearest.row, 1, self->goals);
            plans[i].goal = self->goals[0];
        }
    }
    best->plans = plans;
    best->plan_count = result->found.ranking_count;
    best->nearest = result->found.has_nearest ? &plans[result->found.ranking_count] : NULL;
    return status;
}

static st_status fill_reasons(finding *self, st_best *best)
{
    const st_space *space = self->search->space;
    st_best_reason *reasons =
        st_arena_alloc(self->arena, st_reason_count(space) + 1, sizeof *reasons);
    if (reasons == NULL)
        return st_out_of_memory(self->errors);
    if (self->search->plans.count == 0 && self->search->plans.miss.given) {
        const char *text =
            st_plan_miss_text(&self->search->wanted, &self->search->plans.miss, self->arena);
        if (text == NULL)
            return st_out_of_memory(self->errors);
        reasons[best->reason_count++] = (st_best_reason){.text = text};
    }
    for (size_t i = 1; i < st_reason_count(space); i++) {
        if (self->result.found.reasons[i] == 0)
            continue;
        const char *text = st_reason_sentence(space, i, self->arena);
        if (text == NULL)
            return st_out_of_memory(self->errors);
        reasons[best->reason_count++] =
            (st_best_reason){.text = text, .plans = self->result.found.reasons[i]};
    }
    best->reasons = reasons;
    return ST_OK;
}

/* The report of a search has it at its head. */
static void warn_of_part_nodes(const st_search *search, st_errors *errors)
{
    if (search->used_gpus <= 0 || search->wanted.gpus_count != 1)
        return;
    double gpus = search->wanted.gpus[0];
    double below = floor(gpus / search->node_gpus) * search->node_gpus;
    st_report(errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, (st_place){.file = "--gpus"},
              "%.10g GPUs do not fill nodes of %.10g: %.10g GPUs of each of %.10g nodes are used "
              "(%s=%.10g)" ST_HINT "--gpus %.10g or %.10g fills nodes",
              gpus, search->node_gpus, search->used_gpus, gpus / search->used_gpus,
              ST_KEY_CLUSTER_GPUS_USED_PER_NODE, search->used_gpus, below,
              below + search->node_gpus);
}

st_status st_best_find(const st_paths *paths, const st_best_request *request, st_arena *arena,
                       st_best *best, st_errors *errors)
{
    finding self = {.paths = paths, .request = request, .arena = arena, .errors = errors};
    st_search_watch watch = {
        .progress = watch_progress, .context = &self, .interrupted = &self.stopped};
    st_best made = {0};
    const unsigned long lacked = st_oom_count();
    st_status status;
    if (request->minimise != NULL && request->maximise != NULL) {
        status = st_fail(errors, ST_ERR_USAGE, (st_place){0},
                         "minimise and maximise are mutually exclusive" ST_EXPECTED "one of them");
    } else if (request->top >= 1 && request->top <= ST_SEARCH_MAX_TOP) {
        status = ST_OK;
    } else {
        status = st_fail(errors, ST_ERR_USAGE, (st_place){0},
                         "the number of plans to rank is out of range" ST_EXPECTED "1 to 1000");
    }
    if (status == ST_OK) {
        const st_best_request *search_request = self.request;
        st_search_request wanted = {.space = space_of(&search_request->job),
                                    .gpus = search_request->gpus,
                                    .varies = search_request->varies,
                                    .vary_count = search_request->vary_count,
                                    .goal = search_request->maximise != NULL
                                                ? search_request->maximise
                                                : search_request->minimise,
                                    .maximise = search_request->maximise != NULL,
                                    .only = search_request->only,
                                    .only_count = search_request->only_count,
                                    .top = search_request->top,
                                    .threads = search_request->threads,
                                    .guide = {.methods = st_guided_module,
                                              .method = search_request->method,
                                              .pruning = search_request->pruning,
                                              .floor = search_request->bound,
                                              .trials = search_request->trials,
                                              .stop_after = search_request->stop_after}};
        wanted.space.sample = search_request->sample;
        wanted.space.seed = search_request->seed;
        status = st_search_create(self.paths, &wanted, self.arena, &self.search, self.errors);
    }
    if (status == ST_OK)
        warn_of_part_nodes(self.search, self.errors);
    if (status == ST_OK && request->job.cell_count > 0) {
        /* The same space once more, with the cells of the request. */
        const st_job_request *job = &self.request->job;
        status = st_search_with_cells(self.paths, self.search, job->cells, job->cell_count,
                                      &self.detail, self.errors);
    }
    if (status == ST_OK)
        status = st_search_run(self.search, &st_one_process, &watch, &self.result, errors);
    if (status == ST_OK) {
        const st_search_result *result = &self.result;
        made.goal = self.search->goal;
        made.goal_type = self.search->space->types[0];
        made.total = self.search->total;
        made.computed = result->guided.used ? result->guided.computed : result->found.done;
        made.passed = result->found.kept;
        made.interrupted = result->interrupted;
        made.gap = st_search_gap(self.search, result);
        status = fill_reasons(&self, &made);
    }
    if (status == ST_OK)
        status = fill_plans(&self, &made);
    if (status == ST_OK && st_oom_count() != lacked) /* a question asked aside may have lacked it */
        status = st_out_of_memory(errors);
    if (status == ST_OK)
        *best = made;
    return status;
}
