/* SPDX-License-Identifier: Apache-2.0 */
/* Fits as text for people; see nccl_report.h. */
#include "calibrate/collectives/nccl_report.h"

#include "base/number.h"
#include "calibrate/steps/accuracy.h"

#include <math.h>
#include <string.h>

enum { TEXT = 160 };

static const char *const buffer_texts[] = {"out of place", "in place"};

/* ---- medians ---- */

double st_nccl_report_median(const st_nccl_report *report, st_nccl_kind kind, size_t range,
                             int nodes, st_arena *arena, size_t *fits)
{
    double *errors = st_arena_alloc(arena, report->count + 1, sizeof *errors);
    *fits = 0;
    for (size_t i = 0; errors != NULL && i < report->count; i++) {
        const st_nccl_fit *fit = &report->fits[i];
        st_error_summary summary;
        bool several = fit->tables[0]->nodes > 1;
        if ((nodes == 1 && several) || (nodes == 2 && !several) ||
            st_nccl_fit_errors(fit, kind, range, SIZE_MAX, &summary) != ST_OK)
            continue;
        if (summary.count > 0)
            errors[(*fits)++] = summary.mean_absolute;
    }
    return *fits > 0 ? st_median(errors, *fits) : (double)NAN;
}

/* ---- what was fitted ---- */

static void write_table_line(const st_nccl_table *table, const st_paint *paint, st_buffer *buffer)
{
    char line[24];
    snprintf(line, sizeof line, ":%d", table->line);
    st_buffer_text(buffer, "  ");
    st_paint_text(paint, ST_INK_NAME, table->file, buffer);
    st_paint_text(paint, ST_INK_NAME, line, buffer);
    st_buffer_printf(buffer, "  %zu rows %s, %zu ranks on %zu %s", table->row_count,
                     buffer_texts[table->buffers], table->ranks, table->nodes,
                     table->nodes == 1 ? "node" : "nodes");
    if (table->gpu[0] != '\0') {
        st_buffer_text(buffer, ", ");
        st_paint_text(paint, ST_INK_PLAIN, table->gpu, buffer);
    }
    if (table->version[0] != '\0') {
        st_buffer_text(buffer, ", NCCL ");
        st_paint_text(paint, ST_INK_PLAIN, table->version, buffer);
    }
    if (table->left_out > 0)
        st_buffer_printf(buffer, "; %zu row%s left out", table->left_out,
                         table->left_out == 1 ? "" : "s");
    st_buffer_text(buffer, "\n");
}

/* At one of its bounds, where the minimum may lie beyond. */
static const char *note_of(const st_nccl_varied *varied, double value)
{
    double range = varied->high - varied->low;
    if (value - varied->low < 1e-3 * fmin(range, fabs(varied->nominal)) && varied->low > 0)
        return "at its lower bound";
    return varied->high - value < 1e-3 * range ? "at its upper bound" : "";
}

static void write_correction(const st_nccl_fit *fit, const st_paint *paint, st_buffer *buffer)
{
    size_t groups = 1;
    if (fit->correction == NULL)
        return;
    for (const char *at = strchr(fit->correction, ';'); at != NULL; at = strchr(at + 1, ';'))
        groups++;
    st_buffer_text(buffer, "  ");
    st_paint_text(paint, ST_INK_NAME, fit->model.correction, buffer);
    st_buffer_printf(buffer, " by size, of %zu %s of ranks\n", groups,
                     groups == 1 ? "group" : "groups");
}

static void write_options(const st_nccl_fit *fit, const st_paint *paint, st_arena *arena,
                          st_buffer *buffer)
{
    static const st_table_column shape[] = {
        {.ink = ST_INK_NAME}, {.right = true}, {.right = true}, {.ink = ST_INK_BAD}};
    static const char *const titles[] = {"", "fitted", "nominal", ""};
    st_table *table = st_table_create(arena, shape, 4);
    if (table == NULL) {
        buffer->failed = true;
        return;
    }
    st_table_row(table, titles);
    for (size_t i = 0; i < 4; i++)
        st_table_ink(table, i, ST_INK_FAINT);
    for (size_t i = 0; i < fit->model.varied_count; i++) {
        const st_nccl_varied *varied = &fit->model.varied[i];
        char fitted[ST_QUANTITY_TEXT];
        char nominal[ST_QUANTITY_TEXT];
        st_quantity_format(fit->values[i], &varied->unit, ST_STYLE_UNIT, fitted, sizeof fitted);
        st_quantity_format(varied->nominal, &varied->unit, ST_STYLE_UNIT, nominal, sizeof nominal);
        const char *const fields[] = {varied->name, fitted, nominal,
                                      note_of(varied, fit->values[i])};
        st_table_row(table, fields);
    }
    st_table_write(table, paint, 2, buffer);
    write_correction(fit, paint, buffer);
}

/* ---- errors ---- */

static const st_table_column error_shape[] = {
    {.ink = ST_INK_NAME}, {.ink = ST_INK_PLAIN}, {.right = true}, {.right = true},
    {.right = true},      {.right = true},       {.right = true}};
enum { ERROR_COLUMNS = sizeof error_shape / sizeof error_shape[0] };

static const char *kind_text(const st_nccl_report *report, st_nccl_kind kind)
{
    return kind == ST_NCCL_NOMINAL && report->profile != NULL ? "profile" : st_nccl_kind_text(kind);
}

static void add_errors(st_table *table, const char *range, const char *kind,
                       const st_error_summary *errors)
{
    char texts[5][TEXT];
    snprintf(texts[4], TEXT, "%zu", errors->count);
    const char *const fields[ERROR_COLUMNS] = {
        range,
        kind,
        texts[4],
        st_percent_text(errors->mean_absolute, 1, false, texts[0]),
        st_percent_text(errors->median_absolute, 1, false, texts[1]),
        st_percent_text(errors->bias, 1, true, texts[2]),
        st_percent_text(errors->largest, 1, false, texts[3])};
    st_table_row(table, fields);
}

static st_table *begin_errors(st_arena *arena, const char *first, const char *third)
{
    const char *const titles[ERROR_COLUMNS] = {first,    "",     third,    "mean",
                                               "median", "bias", "largest"};
    st_table *table = st_table_create(arena, error_shape, ERROR_COLUMNS);
    if (table == NULL)
        return NULL;
    st_table_row(table, titles);
    for (size_t i = 0; i < ERROR_COLUMNS; i++)
        st_table_ink(table, i, ST_INK_FAINT);
    return table;
}

static void write_errors(const st_nccl_report *report, const st_nccl_fit *fit,
                         const st_paint *paint, st_arena *arena, st_buffer *buffer)
{
    st_table *table = begin_errors(arena, "errors", "rows");
    for (size_t range = 0; table != NULL && range < ST_NCCL_RANGES; range++) {
        const char *name = st_nccl_ranges[range].name;
        for (st_nccl_kind kind = 0; kind < ST_NCCL_KINDS; kind++) {
            st_error_summary summary;
            if (st_nccl_fit_errors(fit, kind, range, SIZE_MAX, &summary) != ST_OK) {
                buffer->failed = true;
                return;
            }
            if (summary.count == 0)
                continue;
            add_errors(table, name, kind_text(report, kind), &summary);
            name = "";
        }
    }
    if (table == NULL)
        buffer->failed = true;
    else
        st_table_write(table, paint, 2, buffer);
}

/* ---- rows ---- */

static const char *time_text(double time_s, char *text)
{
    static const st_unit us = {.dimension = {{0, 0, ST_EXPONENT_ONE, 0, 0}},
                               .multiplier = 1,
                               .divisor = 1e6,
                               .text = "us"};
    if (!isfinite(time_s))
        return "-";
    return st_quantity_format(time_s, &us, ST_STYLE_UNIT, text, ST_QUANTITY_TEXT);
}

static void write_rows(const st_nccl_report *report, const st_nccl_fit *fit, const st_paint *paint,
                       st_arena *arena, st_buffer *buffer)
{
    static const st_table_column shape[] = {{.ink = ST_INK_NAME}, {.right = true}, {.right = true},
                                            {.right = true},      {.right = true}, {.right = true},
                                            {.right = true}};
    const char *titles[7] = {"file:line", "bytes", "measured"};
    for (st_nccl_kind kind = 0; kind < ST_NCCL_KINDS; kind++)
        titles[3 + kind] = fit->times_s[kind] != NULL ? kind_text(report, kind) : "";
    st_table *table = st_table_create(arena, shape, 7);
    for (size_t i = 0; table != NULL && i <= fit->model.point_count; i++) {
        char texts[7][TEXT];
        const char *fields[7] = {texts[0], texts[1]};
        if (i == 0) {
            st_table_row(table, titles);
            continue;
        }
        const st_nccl_point *point = &fit->model.points[i - 1];
        snprintf(texts[0], TEXT, "%.120s:%d", fit->tables[point->table]->file, point->row->line);
        st_number_format(point->row->size_bytes, texts[1], TEXT);
        fields[2] = time_text(point->measured_s, texts[2]);
        for (st_nccl_kind kind = 0; kind < ST_NCCL_KINDS; kind++)
            fields[3 + kind] = fit->times_s[kind] != NULL
                                   ? time_text(fit->times_s[kind][i - 1], texts[3 + kind])
                                   : "";
        st_table_row(table, fields);
    }
    if (table == NULL)
        buffer->failed = true;
    else
        st_table_write(table, paint, 2, buffer);
}

/* ---- all of it ---- */

static void write_fit(const st_nccl_report *report, const st_nccl_fit *fit, const st_paint *paint,
                      st_arena *arena, st_buffer *buffer)
{
    const char *word = fit->wants_fit ? "fitted to" : "beside";
    st_paint_text(paint, ST_INK_STRONG, fit->plugin, buffer);
    st_buffer_printf(buffer, " %s %s", word, fit->tables[0]->collective);
    if (report->profile != NULL) {
        st_buffer_text(buffer, ", with profile ");
        st_paint_text(paint, ST_INK_NAME, report->profile, buffer);
    }
    st_buffer_text(buffer, "\n");
    for (size_t i = 0; i < fit->table_count; i++)
        write_table_line(fit->tables[i], paint, buffer);
    if (fit->refused > 0)
        st_buffer_printf(buffer, "  the plugin refuses %zu rows\n", fit->refused);
    st_buffer_text(buffer, "\n");
    if (fit->wants_fit) {
        write_options(fit, paint, arena, buffer);
        st_buffer_text(buffer, "\n");
    }
    write_errors(report, fit, paint, arena, buffer);
    if (report->details) {
        st_buffer_text(buffer, "\n");
        write_rows(report, fit, paint, arena, buffer);
    }
}

static void write_medians(const st_nccl_report *report, const st_paint *paint, st_arena *arena,
                          st_buffer *buffer)
{
    static const st_table_column shape[] = {
        {.ink = ST_INK_NAME}, {.ink = ST_INK_PLAIN}, {.right = true}, {.right = true},
        {.right = true},      {.right = true},       {.right = true}, {.right = true}};
    static const char *const titles[] = {
        "median of mean errors", "", "all", "tables", "one node", "tables", "several", "tables"};
    static const int nodes[] = {0, 1, 2};
    st_table *table = st_table_create(arena, shape, 8);
    if (table == NULL) {
        buffer->failed = true;
        return;
    }
    st_table_row(table, titles);
    for (size_t range = 0; range < ST_NCCL_RANGES; range++) {
        const char *name = st_nccl_ranges[range].name;
        for (st_nccl_kind kind = 0; kind < ST_NCCL_KINDS; kind++) {
            char texts[6][TEXT];
            const char *fields[8] = {name, kind_text(report, kind)};
            size_t all = 0;
            for (size_t i = 0; i < 3; i++) {
                size_t fits = 0;
                double median = st_nccl_report_median(report, kind, range, nodes[i], arena, &fits);
                fields[2 + 2 * i] = st_percent_text(median, 1, false, texts[2 * i]);
                snprintf(texts[2 * i + 1], TEXT, "%zu", fits);
                fields[3 + 2 * i] = texts[2 * i + 1];
                all += fits;
            }
            if (all == 0)
                continue;
            st_table_row(table, fields);
            name = "";
        }
    }
    st_table_write(table, paint, 0, buffer);
}

void st_nccl_report_text(const st_nccl_report *report, const st_paint *paint, st_arena *arena,
                         st_buffer *buffer)
{
    for (size_t i = 0; i < report->count; i++) {
        if (i > 0)
            st_buffer_text(buffer, "\n");
        write_fit(report, &report->fits[i], paint, arena, buffer);
    }
    if (report->count > 1) {
        st_buffer_text(buffer, "\n");
        write_medians(report, paint, arena, buffer);
    }
}
