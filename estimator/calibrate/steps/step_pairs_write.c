/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs as a table for people, JSON and CSV; see step_pairs.h. */
#include "calibrate/steps/step_pairs.h"
#include "sheet/type_write.h"

#include "base/number.h"
#include "base/csv_write.h"

#include <stdio.h>

enum { NAME, PAIRS, MEAN, MEDIAN, LARGEST, WITHIN_5, WITHIN_10, ALONE, COLUMNS };

static const st_table_column columns[COLUMNS] = {
    [NAME] = {.ink = ST_INK_NAME}, [PAIRS] = {.right = true},   [MEAN] = {.right = true},
    [MEDIAN] = {.right = true},    [LARGEST] = {.right = true}, [WITHIN_5] = {.right = true},
    [WITHIN_10] = {.right = true}, [ALONE] = {.right = true},
};

static void write_head(const st_measured *measured, const st_paint *paint, st_buffer *buffer)
{
    st_paint_text(paint, ST_INK_STRONG, measured->name, buffer);
    if (measured->source != NULL) {
        st_buffer_text(buffer, ": ");
        st_paint_text(paint, ST_INK_PLAIN, measured->source->title, buffer);
    }
    st_buffer_text(buffer, "\n");
}

static void add_kind(st_table *table, const st_pair_kind *kind)
{
    char texts[COLUMNS][ST_PERCENT_TEXT];
    char name[ST_EDITS_TEXT];
    const char *fields[COLUMNS] = {[NAME] = st_edits_text(kind->edits, name)};
    (void)snprintf(texts[PAIRS], sizeof texts[PAIRS], "%zu", kind->pairs);
    fields[PAIRS] = texts[PAIRS];
    fields[MEAN] = st_percent_text(kind->errors.mean_absolute, 1, false, texts[MEAN]);
    fields[MEDIAN] = st_percent_text(kind->errors.median_absolute, 1, false, texts[MEDIAN]);
    fields[LARGEST] = st_percent_text(kind->errors.largest, 1, false, texts[LARGEST]);
    fields[WITHIN_5] = st_percent_text(kind->errors.within_5, 0, false, texts[WITHIN_5]);
    fields[WITHIN_10] = st_percent_text(kind->errors.within_10, 0, false, texts[WITHIN_10]);
    fields[ALONE] = st_percent_text(kind->alone.mean_absolute, 1, false, texts[ALONE]);
    st_table_row(table, fields);
}

static void write_details(const st_pairs *pairs, const st_paint *paint, st_arena *arena,
                          st_buffer *buffer)
{
    static const st_table_column own[] = {{.ink = ST_INK_NAME}, {0},
                                          {.right = true},      {.right = true},
                                          {.right = true},      {.ink = ST_INK_FAINT}};
    static const char *const head[] = {"of", "from", "measured", "predicted", "error", "edit"};
    const st_row *rows = pairs->measured->rows;
    st_table *table = st_table_create(arena, own, 6);
    if (table == NULL) {
        buffer->failed = true;
        return;
    }
    st_table_row(table, head);
    for (size_t i = 0; i < pairs->count; i++) {
        const st_pair *pair = &pairs->items[i];
        char texts[2][ST_QUANTITY_TEXT];
        char error[ST_PERCENT_TEXT];
        char name[ST_EDITS_TEXT];
        const st_unit *unit = &pairs->measured->type->unit;
        const char *const fields[] = {
            rows[pair->to].id,
            rows[pair->from].id,
            st_quantity_format(rows[pair->to].measured, unit, ST_STYLE_SCALED, texts[0],
                               sizeof texts[0]),
            st_quantity_format(pair->predicted, unit, ST_STYLE_SCALED, texts[1], sizeof texts[1]),
            st_percent_text(pair->error, 1, true, error),
            st_edits_text(pair->edits, name)};
        st_table_row(table, fields);
    }
    st_table_write(table, paint, 2, buffer);
}

void st_pairs_write_text(const st_pairs *pairs, bool details, const st_paint *paint,
                         st_arena *arena, st_buffer *buffer)
{
    static const char *const head[] = {"one from the other's layer time",
                                       "pairs",
                                       "mean",
                                       "median",
                                       "max",
                                       "in 5 %",
                                       "in 10 %",
                                       "estimate alone"};
    write_head(pairs->measured, paint, buffer);
    if (pairs->count == 0) {
        st_buffer_text(buffer, "  no two rows differ in dp, pp, layers or micro-batches alone\n");
    } else {
        st_table *table = st_table_create(arena, columns, COLUMNS);
        if (table == NULL) {
            buffer->failed = true;
            return;
        }
        st_table_row(table, head);
        for (size_t i = 0; i < pairs->kind_count; i++)
            add_kind(table, &pairs->kinds[i]);
        st_table_write(table, paint, 2, buffer);
    }
    if (pairs->slower > 0)
        st_buffer_printf(buffer,
                         "  %zu pair%s left out: a step was shorter than what it has besides its "
                         "layers\n",
                         pairs->slower, pairs->slower == 1 ? "" : "s");
    if (details && pairs->count > 0)
        write_details(pairs, paint, arena, buffer);
}

void st_pairs_write_json(const st_pairs *pairs, bool details, st_json *json)
{
    char name[ST_EDITS_TEXT];
    const st_row *rows = pairs->measured->rows;
    st_json_open(json, NULL, '{');
    st_json_text(json, "source", pairs->measured->name);
    st_json_text(json, "file", pairs->measured->file);
    st_json_open(json, "kinds", '[');
    for (size_t i = 0; i < pairs->kind_count; i++) {
        const st_pair_kind *kind = &pairs->kinds[i];
        st_json_open(json, NULL, '{');
        st_json_text(json, "edit", st_edits_text(kind->edits, name));
        st_json_count(json, "pairs", kind->pairs);
        st_error_summary_write(json, "errors", &kind->errors);
        st_error_summary_write(json, "errors_of_the_estimate_alone", &kind->alone);
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
    st_json_count(json, "left_out", pairs->slower);
    st_json_open(json, "predictions", '[');
    for (size_t i = 0; i < pairs->count && details; i++) {
        const st_pair *pair = &pairs->items[i];
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "id", rows[pair->to].id);
        st_json_text(json, "from", rows[pair->from].id);
        st_json_text(json, "edit", st_edits_text(pair->edits, name));
        st_json_value(json, "measured", pairs->measured->type, rows[pair->to].measured);
        st_json_value(json, "predicted", pairs->measured->type, pair->predicted);
        st_json_number(json, "error", pair->error);
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
    st_json_close(json, '}');
}

void st_pairs_write_csv_header(st_buffer *buffer)
{
    st_buffer_text(buffer, "source,edit,pairs,mean_absolute,median_absolute,bias,largest,within_5,"
                           "within_10,alone_mean_absolute,alone_median_absolute\n");
}

void st_pairs_write_csv(const st_pairs *pairs, st_buffer *buffer)
{
    for (size_t i = 0; i < pairs->kind_count; i++) {
        const st_pair_kind *kind = &pairs->kinds[i];
        char name[ST_EDITS_TEXT];
        char texts[9][ST_QUANTITY_TEXT];
        const double numbers[] = {
            (double)kind->pairs,    kind->errors.mean_absolute, kind->errors.median_absolute,
            kind->errors.bias,      kind->errors.largest,       kind->errors.within_5,
            kind->errors.within_10, kind->alone.mean_absolute,  kind->alone.median_absolute};
        const char *fields[11] = {pairs->measured->name, st_edits_text(kind->edits, name)};
        for (size_t k = 0; k < 9; k++)
            fields[2 + k] = st_number_significant(numbers[k], 6, texts[k], sizeof texts[k]);
        st_csv_row(fields, 11, buffer);
    }
}
