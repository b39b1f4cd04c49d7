/* SPDX-License-Identifier: Apache-2.0 */
/* A scaling study as a table for people, CSV and JSON. */
#include "search/scale.h"

#include "sheet/type_write.h"
#include "estimate/report.h"
#include "sweep/text_grid.h"

#include <string.h>

static const double million = 1e6;

static bool has_cost(const st_scale *scale)
{
    return scale->types[ST_SCALE_COST] != NULL && scale->types[ST_SCALE_TOKENS] != NULL;
}

static bool is_guided(const st_scale *scale)
{
    return scale->guide.method != ST_METHOD_EXHAUSTIVE || scale->guide.pruning != ST_PRUNING_NONE;
}

/* Dollars for a million tokens. */
static double cost_of(const st_scale_row *row)
{
    return row->values[ST_SCALE_COST] / row->values[ST_SCALE_TOKENS] * million;
}

/* The time of communication that nothing hides, over that of the step. */
static double exposed_share(const st_scale_row *row)
{
    return row->values[ST_SCALE_EXPOSED] / row->time;
}

static void add_number(double value, int digits, const char *unit, st_text_grid *grid)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%.*g%s", digits, value, unit);
    st_text_grid_add(grid, text);
}

static void add_cell(const st_type *type, double value, bool found, st_text_grid *grid)
{
    char text[ST_QUANTITY_TEXT];
    if (type != NULL) {
        st_text_grid_add(
            grid, found ? st_type_format(type, value, ST_STYLE_SCALED, text, sizeof text) : "-");
    }
}

static void add_head(const st_scale *scale, st_text_grid *grid)
{
    st_text_grid_add(grid, "GPUs");
    st_text_grid_add(grid, "batch");
    st_text_grid_add(grid, scale->goal);
    st_text_grid_add(grid, "efficiency");
    if (scale->types[ST_SCALE_EXPOSED] != NULL) {
        st_text_grid_add(grid, "exposed");
    }
    if (scale->types[ST_SCALE_MFU] != NULL) {
        st_text_grid_add(grid, "mfu");
    }
    if (scale->types[ST_SCALE_MEMORY] != NULL) {
        st_text_grid_add(grid, "memory");
    }
    if (has_cost(scale)) {
        st_text_grid_add(grid, "$/Mtoken");
    }
    st_text_grid_end_row(grid);
}

static void add_row(const st_scale *scale, const st_scale_row *row, st_text_grid *grid)
{
    enum { DIGITS = 4, ALL_DIGITS = 10 };
    add_number(row->gpus, ALL_DIGITS, "", grid);
    add_number(row->batch, ALL_DIGITS, "", grid);
    add_cell(scale->time_type, row->time, row->found, grid);
    if (row->found) {
        add_number(100 * row->efficiency, DIGITS, " %", grid);
    } else {
        st_text_grid_add(grid, "-");
    }
    if (scale->types[ST_SCALE_EXPOSED] != NULL && row->found) {
        add_number(100 * exposed_share(row), DIGITS, " %", grid);
    } else if (scale->types[ST_SCALE_EXPOSED] != NULL) {
        st_text_grid_add(grid, "-");
    }
    add_cell(scale->types[ST_SCALE_MFU], row->values[ST_SCALE_MFU], row->found, grid);
    add_cell(scale->types[ST_SCALE_MEMORY], row->values[ST_SCALE_MEMORY], row->found, grid);
    if (has_cost(scale) && row->found) {
        add_number(cost_of(row), DIGITS, "", grid);
    } else if (has_cost(scale)) {
        st_text_grid_add(grid, "-");
    }
    st_text_grid_end_row(grid);
}

/* Only what was left out says anything. */
static void write_gap(const st_scale_row *row, st_buffer *buffer)
{
    if (row->found && row->gap != row->gap) {
        st_buffer_text(buffer, " (how much better another plan may be is not known)");
    } else if (row->found && row->gap > 0) {
        st_buffer_printf(buffer, " (another plan may be better by up to %.3g %%)", 100 * row->gap);
    }
}

void st_scale_write_text(const st_scale *scale, st_arena *arena, st_buffer *buffer)
{
    st_text_grid grid = {.arena = arena};
    st_buffer_printf(
        buffer, "job      %s\nsheet    %s\nscaling  %s, %s\n", scale->job, scale->sheet,
        scale->weak ? "weak: the batch grows with the GPUs" : "strong: the batch stays",
        scale->fixed ? "the job's plan with more data-parallel ranks"
                     : "the best plan for every number of GPUs");
    for (size_t i = 0; i < scale->refine_count; i++) {
        st_buffer_printf(buffer, "%s   %s\n", i == 0 ? "refine" : "      ", scale->refine[i]);
    }
    if (is_guided(scale)) {
        st_buffer_printf(buffer, "search   %s%s\n", st_method_name(scale->guide.method),
                         scale->guide.pruning != ST_PRUNING_NONE ? ", with rules that skip plans"
                                                                 : "");
    }
    st_buffer_text(buffer, "\n");
    if (scale->found > 0) {
        add_head(scale, &grid);
        for (size_t i = 0; i < scale->count; i++) {
            add_row(scale, &scale->rows[i], &grid);
        }
        st_text_grid_write(&grid, 2, buffer);
        st_buffer_text(buffer, "\nPlans\n");
    }
    for (size_t i = 0; i < scale->count; i++) {
        const st_scale_row *row = &scale->rows[i];
        st_buffer_printf(buffer, "  %.10g: %s%s", row->gpus, row->found ? "" : "none; ",
                         row->found ? row->plan : row->miss);
        write_gap(row, buffer);
        st_buffer_text(buffer, "\n");
    }
}

/* The columns of a row that was found, for programs. */
static void write_csv_values(const st_scale *scale, const st_scale_row *row, st_buffer *buffer)
{
    char text[ST_QUANTITY_TEXT];
    st_exact_text(scale->time_type, row->time, text, sizeof text);
    st_buffer_printf(buffer, ",%s", text);
    st_buffer_printf(buffer, ",%s", st_number_format(row->efficiency, text, sizeof text));
    for (size_t k = ST_SCALE_EXPOSED; k <= ST_SCALE_MEMORY; k++) {
        if (scale->types[k] != NULL) {
            st_exact_text(scale->types[k], row->values[k], text, sizeof text);
            st_buffer_printf(buffer, ",%s", text);
        }
    }
    if (has_cost(scale)) {
        st_buffer_printf(buffer, ",%s", st_number_format(cost_of(row), text, sizeof text));
    }
}

static void write_csv_gaps(const st_scale *scale, st_buffer *buffer)
{
    st_buffer_text(buffer, ",,");
    for (size_t k = ST_SCALE_EXPOSED; k <= ST_SCALE_MEMORY; k++) {
        st_buffer_text(buffer, scale->types[k] != NULL ? "," : "");
    }
    st_buffer_text(buffer, has_cost(scale) ? "," : "");
}

void st_scale_write_csv(const st_scale *scale, st_buffer *buffer)
{
    static const char *const heads[] = {"exposed", "mfu", "memory"};
    if (scale->found > 0) {
        st_buffer_printf(buffer, "gpus,batch,%s [%s],efficiency", scale->goal,
                         scale->time_type->unit.text);
    } else {
        st_buffer_text(buffer, "gpus,batch,step_time,efficiency");
    }
    for (size_t k = ST_SCALE_EXPOSED; k <= ST_SCALE_MEMORY; k++) {
        if (scale->types[k] != NULL) {
            st_buffer_printf(buffer, ",%s [%s]", heads[k], scale->types[k]->unit.text);
        }
    }
    st_buffer_text(buffer, has_cost(scale) ? ",cost [$/Mtoken]" : "");
    st_buffer_text(buffer, is_guided(scale) ? ",gap,plan\n" : ",plan\n");
    for (size_t i = 0; i < scale->count; i++) {
        const st_scale_row *row = &scale->rows[i];
        char text[ST_QUANTITY_TEXT];
        st_buffer_printf(buffer, "%.10g,%.10g", row->gpus, row->batch);
        if (row->found) {
            write_csv_values(scale, row, buffer);
        } else {
            write_csv_gaps(scale, buffer);
        }
        if (is_guided(scale)) {
            st_buffer_printf(buffer, ",%s",
                             row->found && row->gap == row->gap
                                 ? st_number_format(row->gap, text, sizeof text)
                                 : "");
        }
        st_buffer_text(buffer, ",");
        st_buffer_csv_field(buffer, row->found ? row->plan : "");
        st_buffer_text(buffer, "\n");
    }
}

/* What was found of a row, in base units. */
static void write_json_values(const st_scale *scale, const st_scale_row *row, st_json *json)
{
    st_json_number(json, "seconds", row->time);
    st_json_number(json, "efficiency", row->efficiency);
    if (scale->types[ST_SCALE_EXPOSED] != NULL) {
        st_json_number(json, "exposed_share", exposed_share(row));
    }
    if (scale->types[ST_SCALE_MFU] != NULL) {
        st_json_number(json, "mfu_share", row->values[ST_SCALE_MFU]);
    }
    if (scale->types[ST_SCALE_MEMORY] != NULL) {
        st_json_number(json, "memory_bytes", row->values[ST_SCALE_MEMORY]);
    }
    if (has_cost(scale)) {
        st_json_number(json, "dollars_per_million_tokens", cost_of(row));
    }
}

void st_scale_write_json(const st_scale *scale, st_buffer *buffer)
{
    st_json json = {.buffer = buffer};
    st_json_open(&json, NULL, '{');
    st_json_count(&json, "schema", ST_SCHEMA_VERSION);
    st_json_text(&json, "job", scale->job);
    st_json_text(&json, "sheet", scale->sheet);
    st_json_texts(&json, "refine", scale->refine, scale->refine_count);
    st_json_text(&json, "scaling", scale->weak ? "weak" : "strong");
    st_json_bool(&json, "fixed", scale->fixed);
    st_json_text(&json, "minimise", scale->goal);
    st_json_text(&json, "method", st_method_name(scale->guide.method));
    st_json_open(&json, "rows", '[');
    for (size_t i = 0; i < scale->count; i++) {
        const st_scale_row *row = &scale->rows[i];
        st_json_open_line(&json, NULL, '{');
        st_json_number(&json, "gpus", row->gpus);
        st_json_number(&json, "batch", row->batch);
        if (row->found) {
            write_json_values(scale, row, &json);
            if (is_guided(scale)) {
                st_json_number(&json, "gap", row->gap);
            }
        }
        st_json_text(&json, "plan", row->found ? row->plan : NULL);
        st_json_text(&json, "lacks", row->found ? NULL : row->miss);
        st_json_close(&json, '}');
    }
    st_json_close(&json, ']');
    st_json_close(&json, '}');
}
