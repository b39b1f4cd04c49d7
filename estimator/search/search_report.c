/* SPDX-License-Identifier: Apache-2.0 */
/* What a search shows: the ranking with the parts of each value, the front, what was rejected. */
#include "search/search_make.h"
#include "base/dimension.h"

#include "sheet/type_write.h"
#include "estimate/report.h"
#include "sweep/sweep.h"
#include "sweep/text_grid.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What is worth a column next to the goal, where the sheet has it. */
static const st_role usual[] = {ST_ROLE_STEP, ST_ROLE_MFU, ST_ROLE_MEMORY, ST_ROLE_COST,
                                ST_ROLE_ENERGY};

/* --- values ---------------------------------------------------------------------------------- */

/* The section of the report that shows the goal. */
static const st_sheet_section *section_of(const st_sheet *sheet, const char *cell)
{
    size_t count = 0;
    const st_sheet_section *sections = st_sheet_sections(sheet, &count);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < sections[i].count; k++) {
            if (strcmp(sections[i].cells[k], cell) == 0) {
                return &sections[i];
            }
        }
    }
    return NULL;
}

static bool is_listed(const char *const *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Cells of a cell's section that are of its kind: what it is made of. */
static void list_parts(st_search_view *view, const st_sheet *sheet, const char *whole,
                       const st_sheet_section *section)
{
    const st_sheet_cell *own = st_sheet_find_cell(sheet, whole);
    for (size_t i = 0; own != NULL && section != NULL && i < section->count; i++) {
        const st_sheet_cell *cell = st_sheet_find_cell(sheet, section->cells[i]);
        if (cell != NULL && cell != own && cell->type.kind == ST_TYPE_NUMBER &&
            st_dimension_equal(cell->type.unit.dimension, own->type.unit.dimension) &&
            !st_dimension_is_number(cell->type.unit.dimension) &&
            view->part_count < ST_SEARCH_MAX_PARTS) {
            view->parts[view->part_count++] = cell->name;
        }
    }
}

/* The parts of the goal, and those of the step time where that is not minimised. */
static void list_all_parts(st_search_view *view, const st_sheet *sheet)
{
    const char *time = st_search_default_goal(sheet);
    const char *goal = view->search->goal;
    size_t count = 0;
    const st_sheet_section *own = section_of(sheet, goal);
    const st_sheet_section *first = st_sheet_sections(sheet, &count);
    const st_sheet_section *times = time != NULL ? section_of(sheet, time) : NULL;
    if (times == NULL && count > 0) {
        times = first; /* the step time goes by another name there */
    }
    own = time != NULL && strcmp(goal, time) == 0 ? times : own;
    list_parts(view, sheet, goal, own);
    view->own_parts = view->part_count;
    if (time != NULL && own != times) {
        list_parts(view, sheet, time, times);
        view->whole = time;
    }
}

/* The cell of a role, where the sheet fills it and the list lacks it. */
static void add_role(const st_sheet *sheet, st_role role, const char **list, size_t *count)
{
    const char *cell = st_sheet_role(sheet, role);
    if (cell != NULL && !is_listed(list, *count, cell)) {
        list[(*count)++] = cell;
    }
}

/* The goal, the front's cells, the usual ones, the parts. */
static st_status list_cells(st_search_view *view, const char ***cells, size_t *count)
{
    const st_sheet *sheet = view->search->space->base.sheet;
    st_arena *arena = view->search->space->arena;
    const char **list = st_arena_alloc(arena, ST_SEARCH_MAX_PARTS + 16, sizeof *list);
    view->parts = st_arena_alloc(arena, ST_SEARCH_MAX_PARTS, sizeof *view->parts);
    if (list == NULL || view->parts == NULL) {
        return ST_ERR_MEMORY;
    }
    list[(*count)++] = view->search->goal;
    for (size_t i = 0; i < 2 && view->search->request.front[i] != NULL; i++) {
        if (!is_listed(list, *count, view->search->request.front[i])) {
            list[(*count)++] = view->search->request.front[i];
        }
    }
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        add_role(sheet, usual[i], list, count);
    }
    for (size_t i = 0; i < view->search->request.also_count; i++) {
        add_role(sheet, view->search->request.also[i], list, count);
    }
    list_all_parts(view, sheet);
    for (size_t i = 0; i < view->part_count; i++) {
        list[(*count)++] = view->parts[i];
    }
    *cells = list;
    return ST_OK;
}

static st_status compute(st_search_view *view, const st_found *found, size_t count,
                         const double **values)
{
    st_arena *arena = view->search->space->arena;
    uint64_t *picks = st_arena_alloc(arena, count + 1, sizeof *picks);
    double *list =
        st_arena_alloc(arena, (count + 1) * view->detail.space->cell_count, sizeof *list);
    if (picks == NULL || list == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        picks[i] = found[i].row;
    }
    *values = list;
    return st_search_values(&view->detail, picks, count, list);
}

/* The faults of the plan that is nearest to fitting, as an estimate of it tells them. */
static st_status explain_miss(const st_paths *paths, st_search_view *view)
{
    const st_search *search = view->search;
    const st_space_request *space = &search->request.space;
    st_arena *arena = search->space->arena;
    size_t count = 0;
    const char *const *plan = st_search_sets(search, view->result->found.nearest.row, true, &count);
    const char **sets = st_arena_alloc(arena, space->set_count + count + 1, sizeof *sets);
    st_errors *faults = st_errors_create();
    st_buffer text = {0};
    st_estimate estimate;
    if (plan == NULL || sets == NULL || faults == NULL) {
        st_errors_destroy(faults);
        return ST_ERR_MEMORY;
    }
    memcpy(sets, space->sets, space->set_count * sizeof *sets);
    memcpy(sets + space->set_count, plan, count * sizeof *sets);
    st_request request = {.job = space->job,
                          .sheet = space->sheet,
                          .sets = sets,
                          .set_count = space->set_count + count,
                          .refine = space->refine,
                          .refine_count = space->refine_count};
    st_status status = st_estimate_load(paths, &request, arena, &estimate, faults);
    if (status == ST_OK) {
        estimate.sheet = search->space->sheet; /* with the conditions */
        status = st_estimate_show_names(&estimate, &search->goal, 1, (st_place){0}, arena, faults);
    }
    if (status == ST_OK) {
        (void)!st_estimate_run(&estimate, arena, faults);
    }
    for (size_t i = 0; i < st_errors_size(faults); i++) {
        const st_error *error = st_errors_at(faults, i);
        if (error->severity == ST_SEVERITY_ERROR) {
            st_buffer_printf(&text, "%s%s", text.length > 0 ? "; " : "", error->message);
        }
    }
    if (text.length == 0) {
        st_buffer_text(&text, st_reason_text(search->space, st_reason_infeasible(search->space)));
    }
    view->miss = st_arena_copy(arena, text.data != NULL ? text.data : "", text.length);
    st_buffer_free(&text);
    st_errors_destroy(faults);
    return view->miss != NULL ? ST_OK : ST_ERR_MEMORY;
}

st_status st_search_view_make(const st_paths *paths, const st_search *search,
                              const st_search_result *result, st_search_view *view,
                              st_errors *errors)
{
    size_t count = 0;
    const char **cells = NULL;
    *view = (st_search_view){.search = search, .result = result, .detail = *search};
    st_space_request request = search->request.space;
    request.uncounted = request.sample > 0;
    request.sample = 0;
    st_status status = list_cells(view, &cells, &count);
    if (status == ST_OK) {
        request.cells = cells;
        request.cell_count = count;
        st_errors *quiet = st_errors_create(); /* its warnings were reported before */
        status = quiet == NULL ? ST_ERR_MEMORY
                               : st_space_create(paths, &request, search->space->arena,
                                                 &view->detail.space, quiet);
        st_errors_destroy(quiet);
    }
    if (status == ST_OK) {
        status = compute(view, result->found.ranking, result->found.ranking_count, &view->ranking);
    }
    if (status == ST_OK) {
        status = compute(view, result->found.front, result->found.front_count, &view->front);
    }
    if (status == ST_OK && result->found.has_nearest) {
        status = explain_miss(paths, view);
    } else if (status == ST_OK && search->plans.count == 0 && search->plans.miss.given) {
        view->miss = st_plan_miss_text(&search->wanted, &search->plans.miss, search->space->arena);
        status = view->miss != NULL ? ST_OK : ST_ERR_MEMORY;
    }
    if (status != ST_OK) {
        st_fail(errors, status, (st_place){0}, "%s", st_status_text(status));
    }
    return status;
}

/* --- text ------------------------------------------------------------------------------------ */

static const char *last_part(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot != NULL ? dot + 1 : key;
}

/* "tp=8" of "parallel.tp=8" as name and value. */
static void add_plan_heads(const st_search_view *view, uint64_t row, st_text_grid *grid)
{
    size_t count = 0;
    const char *const *sets = st_search_sets(view->search, row, false, &count);
    grid->failed = grid->failed || sets == NULL;
    for (size_t i = 0; sets != NULL && i < count; i++) {
        char *key = st_arena_copy(grid->arena, sets[i], strcspn(sets[i], "="));
        if (key != NULL) {
            st_text_grid_add(grid, last_part(key));
        }
        grid->failed = grid->failed || key == NULL;
    }
}

static void add_plan(const st_search_view *view, uint64_t row, st_text_grid *grid)
{
    size_t count = 0;
    const char *const *sets = st_search_sets(view->search, row, false, &count);
    grid->failed = grid->failed || sets == NULL;
    for (size_t i = 0; sets != NULL && i < count; i++) {
        st_text_grid_add(grid, sets[i] + strcspn(sets[i], "=") + 1);
    }
}

static void add_value(const st_search_view *view, size_t cell, double value, st_text_grid *grid)
{
    char text[512];
    st_text_grid_add(grid, st_type_format(view->detail.space->types[cell], value, ST_STYLE_SCALED,
                                          text, sizeof text));
}

/* A table of plans that were found. */
typedef struct found_table {
    const st_search_view *view;
    const st_found *found;
    size_t count;
    const double *values;
    size_t from; /* cells */
    size_t to;
    bool ranked;
    bool plans;
} found_table;

static void write_found(const found_table *table, st_buffer *buffer)
{
    const st_search_view *view = table->view;
    const st_space *space = view->detail.space;
    st_text_grid grid = {.arena = space->arena};
    if (table->ranked) {
        st_text_grid_add(&grid, "rank");
    }
    for (size_t i = table->from; i < table->to; i++) {
        st_text_grid_add(&grid, space->cells[i]);
    }
    if (table->plans) {
        add_plan_heads(view, table->found[0].row, &grid);
    }
    st_text_grid_end_row(&grid);
    for (size_t row = 0; row < table->count; row++) {
        char number[32];
        (void)snprintf(number, sizeof number, "%zu", row + 1);
        if (table->ranked) {
            st_text_grid_add(&grid, number);
        }
        for (size_t i = table->from; i < table->to; i++) {
            add_value(view, i, table->values[row * space->cell_count + i], &grid);
        }
        if (table->plans) {
            add_plan(view, table->found[row].row, &grid);
        }
        st_text_grid_end_row(&grid);
    }
    st_text_grid_write(&grid, 2, buffer);
}

static size_t first_part(const st_search_view *view)
{
    return view->detail.space->cell_count - view->part_count;
}

static void write_ranking(const st_search_view *view, st_buffer *buffer)
{
    const st_search_result *result = view->result;
    found_table table = {.view = view,
                         .found = result->found.ranking,
                         .count = result->found.ranking_count,
                         .values = view->ranking,
                         .to = first_part(view),
                         .ranked = true,
                         .plans = true};
    st_buffer_text(buffer, "\nRanking\n");
    write_found(&table, buffer);
    table.plans = false;
    if (view->own_parts > 0) {
        st_buffer_printf(buffer, "\nParts of %s\n", view->search->goal);
        table.from = first_part(view);
        table.to = table.from + view->own_parts;
        write_found(&table, buffer);
    }
    if (view->part_count > view->own_parts) {
        st_buffer_printf(buffer, "\nParts of %s\n", view->whole);
        table.from = first_part(view) + view->own_parts;
        table.to = view->detail.space->cell_count;
        write_found(&table, buffer);
    }
}

/* The index of the part that differs most and was not named yet; SIZE_MAX: none is left but
 * what is rounding. */
static size_t next_part(const st_search_view *view, const bool *named)
{
    const st_space *space = view->detail.space;
    size_t best = SIZE_MAX;
    double most = 0;
    double least = 1e-9 * fabs(view->ranking[space->cell_count] - view->ranking[0]);
    for (size_t i = first_part(view); i < first_part(view) + view->own_parts; i++) {
        double gap = fabs(view->ranking[space->cell_count + i] - view->ranking[i]);
        if (!named[i - first_part(view)] && gap > most && gap > least) {
            most = gap;
            best = i;
        }
    }
    return best;
}

static void write_gap(const st_search_view *view, size_t cell, st_buffer *buffer)
{
    char text[ST_QUANTITY_TEXT];
    const st_space *space = view->detail.space;
    double gap = view->ranking[space->cell_count + cell] - view->ranking[cell];
    st_buffer_printf(
        buffer, "%s %s%s", space->cells[cell], gap < 0 ? "-" : "+",
        st_type_format(space->types[cell], fabs(gap), ST_STYLE_SCALED, text, sizeof text));
}

/* What the second plan has more of, and less, the largest first. */
static void write_runner_up(const st_search_view *view, st_buffer *buffer)
{
    enum { PARTS_NAMED = 5 };
    bool named[ST_SEARCH_MAX_PARTS] = {false};
    if (view->result->found.ranking_count < 2) {
        return;
    }
    if (view->ranking[view->detail.space->cell_count] == view->ranking[0]) {
        st_buffer_printf(buffer, "\nThe second plan has the same %s\n",
                         view->detail.space->cells[0]);
        return;
    }
    st_buffer_text(buffer, "\nThe second plan: ");
    write_gap(view, 0, buffer);
    for (size_t i = 0; i < PARTS_NAMED; i++) {
        size_t part = next_part(view, named);
        if (part == SIZE_MAX) {
            break;
        }
        named[part - first_part(view)] = true;
        st_buffer_text(buffer, i == 0 ? ", of which " : ", ");
        write_gap(view, part, buffer);
    }
    st_buffer_text(buffer, "\n");
}

static void write_front(const st_search_view *view, st_buffer *buffer)
{
    const st_search_result *result = view->result;
    if (result->found.front_count == 0) {
        return;
    }
    st_buffer_printf(buffer, "\nPareto front of %s and %s: %zu plans%s\n",
                     view->search->request.front[0], view->search->request.front[1],
                     result->found.front_count, result->found.front_full ? " at least" : "");
    found_table table = {.view = view,
                         .found = result->found.front,
                         .count = result->found.front_count,
                         .values = view->front,
                         .to = first_part(view),
                         .plans = true};
    write_found(&table, buffer);
}

static void write_nearest(const st_search_view *view, st_buffer *buffer)
{
    size_t count = 0;
    if (view->miss == NULL) {
        return;
    }
    if (!view->result->found.has_nearest) {
        st_buffer_printf(buffer, "\nNothing divides\n  lacks: %s\n", view->miss);
        return;
    }
    const char *const *sets =
        st_search_sets(view->search, view->result->found.nearest.row, true, &count);
    st_buffer_text(buffer, "\nNearest to fitting\n ");
    for (size_t i = 0; sets != NULL && i < count; i++) {
        st_buffer_printf(buffer, " %s", sets[i]);
    }
    st_buffer_printf(buffer, "\n  lacks: %s\n", view->miss);
    buffer->failed = buffer->failed || sets == NULL;
}

static void write_head(const st_search_view *view, st_buffer *buffer)
{
    const st_search *search = view->search;
    const st_search_result *result = view->result;
    char number[ST_QUANTITY_TEXT];
    st_buffer_printf(buffer, "job       %s\nsheet     %s\n", st_job_name(search->space->base.job),
                     st_sheet_name(search->space->base.sheet));
    for (size_t i = 0; i < search->space->refine_count; i++) {
        st_buffer_printf(buffer, "%s    %s\n", i == 0 ? "refine" : "      ",
                         search->space->refine[i]);
    }
    st_buffer_text(buffer, "GPUs      ");
    for (size_t i = 0; i < search->wanted.gpus_count; i++) {
        st_buffer_printf(buffer, "%s%s", i == 0 ? "" : ", ",
                         st_number_format(search->wanted.gpus[i], number, sizeof number));
    }
    uint64_t plans = result->guided.used ? search->rows : result->found.done;
    st_buffer_printf(buffer, "\nplans     %" PRIu64 ", of which %" PRIu64 " pass all checks", plans,
                     result->found.kept);
    if (result->guided.used) {
        st_buffer_printf(buffer, " among the %" PRIu64 " computed", result->guided.computed);
    }
    if (search->rows < search->total) {
        st_buffer_printf(buffer, "; drawn from %" PRIu64, search->total);
    }
    if (result->interrupted) {
        st_buffer_printf(buffer, "; interrupted, %" PRIu64 " were not looked at",
                         search->rows - result->found.done);
    }
    const char *method = st_method_name(search->request.guide.method);
    st_buffer_printf(buffer, "\nminimise  %s, %s\n", search->goal,
                     search->rows < search->total ? "a sample" : method);
}

void st_search_write_text(const st_search_view *view, st_buffer *buffer)
{
    const st_search_result *result = view->result;
    const st_guided *guided = &result->guided;
    st_sweep_result counts = {.done = guided->used ? guided->computed + guided->told
                                                   : result->found.done,
                              .kept = result->found.kept,
                              .reasons = result->found.reasons};
    write_head(view, buffer);
    if (result->found.ranking_count > 0) {
        write_ranking(view, buffer);
        write_runner_up(view, buffer);
        write_front(view, buffer);
    }
    if (guided->used) {
        st_guided_write_text(view, buffer);
    }
    write_nearest(view, buffer);
    if (counts.done > counts.kept) {
        st_buffer_text(buffer, "\n");
        st_sweep_write_reasons(view->search->space, &counts, buffer);
    }
}

/* --- data ------------------------------------------------------------------------------------ */

static void write_json_plan(const st_search_view *view, uint64_t row, st_json *json)
{
    size_t count = 0;
    const char *const *sets = st_search_sets(view->search, row, true, &count);
    st_json_open(json, "plan", '{');
    for (size_t i = 0; sets != NULL && i < count; i++) {
        const char *value = sets[i] + strcspn(sets[i], "=") + 1;
        char *key = st_arena_copy(view->search->space->arena, sets[i], strcspn(sets[i], "="));
        if (key != NULL) {
            st_json_text(json, key, value);
        }
        json->buffer->failed = json->buffer->failed || key == NULL;
    }
    st_json_close(json, '}');
    json->buffer->failed = json->buffer->failed || sets == NULL;
}

static void write_json_found(const st_search_view *view, const char *key, const st_found *found,
                             size_t count, const double *values, st_json *json)
{
    const st_space *space = view->detail.space;
    st_json_open(json, key, '[');
    for (size_t row = 0; row < count; row++) {
        st_json_open_line(json, NULL, '{');
        write_json_plan(view, found[row].row, json);
        st_json_open(json, "cells", '{');
        for (size_t i = 0; i < space->cell_count; i++) {
            st_json_value(json, space->cells[i], space->types[i],
                          values[row * space->cell_count + i]);
        }
        st_json_close(json, '}');
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
}

static void write_json_reasons(const st_search_view *view, st_json *json)
{
    const st_space *space = view->search->space;
    st_json_open(json, "rejected", '[');
    for (size_t i = 1; i < st_reason_count(space); i++) {
        if (view->result->found.reasons[i] == 0) {
            continue;
        }
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "reason", st_reason_text(space, i));
        st_json_count(json, "plans", (size_t)view->result->found.reasons[i]);
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
}

static void write_json_head(const st_search_view *view, st_json *json)
{
    const st_search *search = view->search;
    const st_search_result *result = view->result;
    st_json_count(json, "schema", ST_SCHEMA_VERSION);
    st_json_text(json, "job", st_job_name(search->space->base.job));
    st_json_text(json, "sheet", st_sheet_name(search->space->base.sheet));
    st_json_texts(json, "refine", search->space->refine, search->space->refine_count);
    st_json_text(json, "minimise", search->goal);
    st_json_bool(json, "exhaustive",
                 search->rows == search->total && !result->interrupted && !result->guided.used);
    st_json_text(json, "method", st_method_name(search->request.guide.method));
    if (view->result->guided.used) {
        st_guided_write_json(view, json);
    }
    st_json_count(json, "plans", (size_t)result->found.done);
    st_json_count(json, "kept", (size_t)result->found.kept);
    st_json_open(json, "units", '{');
    for (size_t i = 0; i < view->detail.space->cell_count; i++) {
        st_json_unit(json, view->detail.space->cells[i], view->detail.space->types[i]);
    }
    st_json_close(json, '}');
}

void st_search_write_json(const st_search_view *view, st_buffer *buffer)
{
    const st_search_result *result = view->result;
    st_json json = {.buffer = buffer};
    st_json_open(&json, NULL, '{');
    write_json_head(view, &json);
    write_json_found(view, "ranking", result->found.ranking, result->found.ranking_count,
                     view->ranking, &json);
    write_json_found(view, "front", result->found.front, result->found.front_count, view->front,
                     &json);
    write_json_reasons(view, &json);
    if (view->miss != NULL) {
        st_json_open(&json, "nearest", '{');
        if (result->found.has_nearest) {
            write_json_plan(view, result->found.nearest.row, &json);
        }
        st_json_text(&json, "lacks", view->miss);
        st_json_close(&json, '}');
    }
    st_json_close(&json, '}');
}

static void write_csv_head(const st_search_view *view, uint64_t row, st_buffer *buffer)
{
    const st_space *space = view->detail.space;
    size_t count = 0;
    const char *const *sets = st_search_sets(view->search, row, true, &count);
    st_buffer_text(buffer, "rank");
    for (size_t i = 0; sets != NULL && i < count; i++) {
        st_buffer_printf(buffer, ",%.*s", (int)strcspn(sets[i], "="), sets[i]);
    }
    for (size_t i = 0; i < space->cell_count; i++) {
        const st_type *type = space->types[i];
        bool unit = type->kind == ST_TYPE_NUMBER && strcmp(type->unit.text, "1") != 0;
        st_buffer_printf(buffer, unit ? ",%s [%s]" : ",%s", space->cells[i], type->unit.text);
    }
    st_buffer_text(buffer, "\n");
    buffer->failed = buffer->failed || sets == NULL;
}

void st_search_write_csv(const st_search_view *view, st_buffer *buffer)
{
    const st_space *space = view->detail.space;
    const st_search_result *result = view->result;
    for (size_t row = 0; row < result->found.ranking_count; row++) {
        size_t count = 0;
        const char *const *sets =
            st_search_sets(view->search, result->found.ranking[row].row, true, &count);
        if (row == 0) {
            write_csv_head(view, result->found.ranking[row].row, buffer);
        }
        st_buffer_printf(buffer, "%zu", row + 1);
        for (size_t i = 0; sets != NULL && i < count; i++) {
            st_buffer_text(buffer, ",");
            st_buffer_csv_field(buffer, sets[i] + strcspn(sets[i], "=") + 1);
        }
        for (size_t i = 0; i < space->cell_count; i++) {
            char text[512];
            st_exact_text(space->types[i], view->ranking[row * space->cell_count + i], text,
                          sizeof text);
            st_buffer_text(buffer, ",");
            st_buffer_csv_field(buffer, text);
        }
        st_buffer_text(buffer, "\n");
        buffer->failed = buffer->failed || sets == NULL;
    }
}
