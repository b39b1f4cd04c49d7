/* SPDX-License-Identifier: Apache-2.0 */
/* Accuracy as a table for people; see accuracy.h. */
#include "calibrate/steps/accuracy.h"

#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME, ROWS, MEAN, MEDIAN, BIAS, LARGEST, WITHIN_5, WITHIN_10, WITHIN_20, LIMIT, COLUMNS };

static const st_table_column columns[COLUMNS] = {
    [NAME] = {.ink = ST_INK_NAME},   [ROWS] = {.right = true},      [MEAN] = {.right = true},
    [MEDIAN] = {.right = true},      [BIAS] = {.right = true},      [LARGEST] = {.right = true},
    [WITHIN_5] = {.right = true},    [WITHIN_10] = {.right = true}, [WITHIN_20] = {.right = true},
    [LIMIT] = {.ink = ST_INK_FAINT},
};

enum { TEXT = 160 }; /* more than ST_PERCENT_TEXT */

const char *st_percent_text(double share, int decimals, bool sign, char *text)
{
    char number[ST_PERCENT_TEXT - 4];
    if (!isfinite(share))
        return "-";
    st_number_print('f', decimals, 100.0 * share, number, sizeof number);
    snprintf(text, ST_PERCENT_TEXT, "%s%s %%", sign && number[0] != '-' ? "+" : "", number);
    return text;
}

typedef struct error_texts {
    char texts[COLUMNS][TEXT];
    const char *fields[COLUMNS];
} error_texts;

static void put_percent(error_texts *row, int column, int decimals, double share)
{
    row->fields[column] = st_percent_text(share, decimals, column == BIAS, row->texts[column]);
}

static void put_limit(error_texts *row, double limit, double value)
{
    char number[ST_QUANTITY_TEXT];
    if (limit <= 0)
        return;
    snprintf(row->texts[LIMIT], TEXT, "%s %s %%", value > limit ? "FAIL, more than" : "at most",
             st_number_significant(100.0 * limit, 6, number, sizeof number));
    row->fields[LIMIT] = row->texts[LIMIT];
}

static void add_errors(st_table *table, const char *name, const st_error_summary *errors,
                       double limit)
{
    error_texts row = {.fields = {[NAME] = name}};
    snprintf(row.texts[ROWS], TEXT, "%zu", errors->count);
    row.fields[ROWS] = row.texts[ROWS];
    put_percent(&row, MEAN, 1, errors->mean_absolute);
    put_percent(&row, MEDIAN, 1, errors->median_absolute);
    put_percent(&row, BIAS, 1, errors->bias);
    put_percent(&row, LARGEST, 1, errors->largest);
    put_percent(&row, WITHIN_5, 0, errors->within_5);
    put_percent(&row, WITHIN_10, 0, errors->within_10);
    put_percent(&row, WITHIN_20, 0, errors->within_20);
    put_limit(&row, limit, errors->mean_absolute);
    st_table_row(table, row.fields);
    if (limit > 0)
        st_table_ink(table, LIMIT, errors->mean_absolute > limit ? ST_INK_BAD : ST_INK_GOOD);
}

static const char *name_of(const st_group_errors *group, char *text, size_t size)
{
    if (group->name[0] == '\0')
        return st_row_part_text(group->part);
    if (group->part == ST_ROWS_ALL)
        return group->name;
    snprintf(text, size, "%s, %s", group->name, st_row_part_text(group->part));
    return text;
}

static void add_group(st_table *table, const st_group_errors *group)
{
    char name[TEXT];
    char site[TEXT];
    char number[ST_QUANTITY_TEXT];
    add_errors(table, name_of(group, name, sizeof name), &group->summary, group->limit);
    if (!group->has_site_factor)
        return;
    snprintf(site, sizeof site, "  with site factor %s",
             st_number_print('f', 3, group->site_factor, number, sizeof number));
    add_errors(table, site, &group->site, group->site_limit);
    if (group->site_left_out.count > 0)
        add_errors(table, "  factor of the other rows", &group->site_left_out, 0);
}

static void write_head(const st_measured *measured, const st_paint *paint, st_buffer *buffer)
{
    const st_table_source *source = measured->source;
    st_paint_text(paint, ST_INK_STRONG, measured->name, buffer);
    if (source != NULL) {
        st_buffer_text(buffer, ": ");
        st_paint_text(paint, ST_INK_PLAIN, source->title, buffer);
        st_paint_text(paint, ST_INK_FAINT, " [", buffer);
        st_paint_text(paint, ST_INK_FAINT, source->cite, buffer);
        st_paint_text(paint, ST_INK_FAINT, "]", buffer);
    }
    st_buffer_text(buffer, "\n");
}

static void write_list(const char *text, size_t rows, const st_paint *paint, st_buffer *buffer)
{
    st_buffer_printf(buffer, "    %zu row%s: ", rows, rows == 1 ? "" : "s");
    st_paint_text(paint, ST_INK_PLAIN, text, buffer);
    st_buffer_text(buffer, "\n");
}

static void write_verdicts(const st_accuracy *accuracy, const st_paint *paint, st_buffer *buffer)
{
    char text[TEXT];
    if (accuracy->verdicts == 0)
        return;
    snprintf(text, sizeof text, "%zu of %zu", accuracy->verdicts_right, accuracy->verdicts);
    st_buffer_text(buffer, "  judged rightly whether it fits in memory: ");
    st_paint_text(paint, accuracy->verdicts_right == accuracy->verdicts ? ST_INK_GOOD : ST_INK_BAD,
                  text, buffer);
    st_buffer_text(buffer, "\n");
}

static void write_left_out(const st_accuracy *accuracy, const st_paint *paint, st_buffer *buffer)
{
    if (accuracy->reason_count > 0)
        st_buffer_text(buffer, "  left out:\n");
    for (size_t i = 0; i < accuracy->reason_count; i++)
        write_list(accuracy->reasons[i].text, accuracy->reasons[i].rows, paint, buffer);
}

/* ---- details ---- */

static void write_assigned(const st_assigned *assigned, size_t count, const st_paint *paint,
                           st_buffer *buffer)
{
    for (size_t i = 0; i < count; i++) {
        st_buffer_text(buffer, "    ");
        st_paint_text(paint, ST_INK_NAME, assigned[i].path, buffer);
        st_buffer_text(buffer, assigned[i].formula == ST_NO_FORMULA ? " = " : " ");
        st_paint_text(paint, ST_INK_PLAIN, assigned[i].value.text, buffer);
        st_buffer_text(buffer, "\n");
    }
}

static void write_assumptions(const st_accuracy *accuracy, const st_paint *paint, st_buffer *buffer)
{
    const st_measured *measured = accuracy->measured;
    const st_table_source *source = measured->source;
    if (measured->note_count > 0 || (source != NULL && source->assumption_count > 0))
        st_buffer_text(buffer, "  assumed:\n");
    for (size_t i = 0; source != NULL && i < source->assumption_count; i++) {
        const st_assumption *own = &source->assumptions[i];
        write_assigned(own->set, own->set_count, paint, buffer);
        write_assigned(own->fill, own->fill_count, paint, buffer);
        st_buffer_text(buffer, "      ");
        st_paint_text(paint, ST_INK_FAINT, own->why, buffer);
        st_buffer_text(buffer, "\n");
    }
    for (size_t i = 0; i < measured->note_count; i++)
        write_list(measured->notes[i], measured->note_rows[i], paint, buffer);
}

static void add_row(st_table *table, const st_measured *measured, const st_row *row)
{
    char measured_text[ST_QUANTITY_TEXT] = "ran out";
    char estimate[ST_QUANTITY_TEXT];
    char error[ST_PERCENT_TEXT] = "";
    const char *note = row->left_out != NULL ? row->left_out : row->fitted ? "used in the fit" : "";
    if (!row->ran_out)
        st_type_format(measured->type, row->measured, ST_STYLE_SCALED, measured_text,
                       sizeof measured_text);
    st_type_format(measured->type, row->estimate, ST_STYLE_SCALED, estimate, sizeof estimate);
    bool unknown = row->left_out != NULL;
    const char *const fields[] = {
        row->id, isfinite(row->measured) || row->ran_out ? measured_text : "-",
        unknown ? "-" : estimate, unknown ? "-" : st_percent_text(row->error, 1, true, error),
        note};
    st_table_row(table, fields);
}

static void write_rows(const st_measured *measured, const st_paint *paint, st_arena *arena,
                       st_buffer *buffer)
{
    static const st_table_column shape[] = {
        {.ink = ST_INK_NAME}, {.right = true}, {.right = true}, {.right = true}, {.elastic = true}};
    static const char *const titles[] = {"row", "measured", "estimated", "error", ""};
    st_table *table = st_table_create(arena, shape, 5);
    if (table == NULL) {
        buffer->failed = true;
        return;
    }
    st_table_row(table, titles);
    for (size_t i = 0; i < 5; i++)
        st_table_ink(table, i, ST_INK_FAINT);
    for (size_t i = 0; i < measured->row_count; i++)
        add_row(table, measured, &measured->rows[i]);
    st_table_write(table, paint, 2, buffer);
}

void st_accuracy_write_text(const st_accuracy *accuracy, bool details, const st_paint *paint,
                            st_arena *arena, st_buffer *buffer)
{
    const char *titles[COLUMNS] = {"",    "rows",   "mean",    "median",  "bias",
                                   "max", "in 5 %", "in 10 %", "in 20 %", ""};
    st_table *table = st_table_create(arena, columns, COLUMNS);
    if (table == NULL) {
        buffer->failed = true;
        return;
    }
    titles[NAME] = accuracy->measured->cell;
    write_head(accuracy->measured, paint, buffer);
    st_table_row(table, titles);
    for (size_t i = 0; i < COLUMNS; i++)
        st_table_ink(table, i, ST_INK_FAINT);
    for (size_t i = 0; i < accuracy->group_count; i++)
        add_group(table, &accuracy->groups[i]);
    if (accuracy->group_count > 0)
        st_table_write(table, paint, 2, buffer);
    write_verdicts(accuracy, paint, buffer);
    write_left_out(accuracy, paint, buffer);
    if (details) {
        write_assumptions(accuracy, paint, buffer);
    }
    if (details || accuracy->measured->csv == NULL)
        write_rows(accuracy->measured, paint, arena, buffer);
}
