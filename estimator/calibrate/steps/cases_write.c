/* SPDX-License-Identifier: Apache-2.0 */
/* Validation results as a table for people, JSON and CSV; see cases.h. */
#include "calibrate/steps/cases.h"
#include "sheet/type_write.h"

#include "base/csv_write.h"
#include "estimate/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CASE, CELL, PUBLISHED, OURS, DIFFERENCE, TOLERANCE, VERDICT, NOTE, COLUMNS };

static const st_table_column columns[COLUMNS] = {
    [CASE] = {0},
    [CELL] = {.ink = ST_INK_NAME},
    [PUBLISHED] = {.right = true},
    [OURS] = {.right = true},
    [DIFFERENCE] = {.right = true},
    [TOLERANCE] = {.right = true},
    [VERDICT] = {0},
    [NOTE] = {.ink = ST_INK_FAINT, .elastic = true},
};

/* Our value in the unit in which the source prints its own, so that the two can be read together.
 */
static const char *format_ours(const st_case_value *value, char *text, size_t size)
{
    const char *unit_text = value->published + strspn(value->published, "+-.0123456789eE");
    unit_text += strspn(unit_text, " ");
    st_unit unit = value->type->unit;
    if (unit_text[0] != '\0')
        (void)!st_unit_parse(unit_text, strlen(unit_text), (st_place){0}, &unit, NULL);
    st_style style = value->tolerance_frac == 0.0 ? ST_STYLE_EXACT : ST_STYLE_UNIT;
    return st_quantity_format(value->value, &unit, style, text, size);
}

static const char *format_difference(const st_case_value *value, char *text, size_t size)
{
    st_unit percent = st_unit_one();
    percent.divisor = 100.0;
    snprintf(percent.text, sizeof percent.text, "%%");
    if (!isfinite(value->difference_frac))
        return "-";
    if (value->difference_frac == 0.0)
        return "0";
    char number[ST_QUANTITY_TEXT];
    st_quantity_format(value->difference_frac, &percent, ST_STYLE_SCALED, number, sizeof number);
    snprintf(text, size, "%s%s", value->difference_frac > 0.0 ? "+" : "", number);
    return text;
}

static const char *verdict_of(const st_case_value *value)
{
    if (!value->compared)
        return "cannot run";
    return value->ok ? "ok" : "FAIL";
}

static void add_value(st_table *table, const st_case *item, const st_case_value *value, bool first)
{
    char ours[ST_QUANTITY_TEXT];
    char difference[ST_QUANTITY_TEXT + 1];
    const char *fields[COLUMNS] = {[CASE] = first ? item->name : "",
                                   [CELL] = value->cell,
                                   [PUBLISHED] = value->published,
                                   [OURS] = "-",
                                   [DIFFERENCE] = "-",
                                   [VERDICT] = verdict_of(value),
                                   [NOTE] = value->note};
    fields[TOLERANCE] = value->tolerance_frac == 0.0 ? "equal" : value->tolerance;
    if (value->compared) {
        fields[OURS] = format_ours(value, ours, sizeof ours);
        fields[DIFFERENCE] = format_difference(value, difference, sizeof difference);
    }
    st_table_row(table, fields);
    st_table_ink(table, VERDICT, value->ok ? ST_INK_GOOD : ST_INK_BAD);
}

static void write_summary(const char *name, const st_case_source *sum, const st_paint *paint,
                          st_buffer *buffer)
{
    char text[128];
    st_buffer_printf(buffer, "%s: %zu value%s compared, ", name, sum->compared,
                     sum->compared == 1 ? "" : "s");
    snprintf(text, sizeof text, "%zu FAILED", sum->failed);
    if (sum->failed == 0)
        snprintf(text, sizeof text, "none off by more than declared");
    st_paint_text(paint, sum->failed == 0 ? ST_INK_GOOD : ST_INK_BAD, text, buffer);
    if (sum->missed > 0) {
        snprintf(text, sizeof text, "%zu not compared", sum->missed);
        st_buffer_text(buffer, ", ");
        st_paint_text(paint, ST_INK_BAD, text, buffer);
    }
    st_buffer_text(buffer, "\n");
}

static void write_source(const st_case_source *source, const st_paint *paint, st_arena *arena,
                         st_buffer *buffer)
{
    static const char *const titles[COLUMNS] = {
        "case", "cell", "published", "ours", "difference", "tolerance", "", "in the source"};
    st_table *table = st_table_create(arena, columns, COLUMNS);
    if (table == NULL) {
        buffer->failed = true;
        return;
    }
    st_paint_text(paint, ST_INK_STRONG, source->name, buffer);
    st_buffer_text(buffer, ": ");
    st_paint_text(paint, ST_INK_PLAIN, source->title, buffer);
    st_paint_text(paint, ST_INK_FAINT, " [", buffer);
    st_paint_text(paint, ST_INK_FAINT, source->cite, buffer);
    st_paint_text(paint, ST_INK_FAINT, "]", buffer);
    st_buffer_text(buffer, "\n");
    st_table_row(table, titles);
    for (size_t i = 0; i < COLUMNS; i++)
        st_table_ink(table, i, ST_INK_FAINT);
    for (size_t i = 0; i < source->case_count; i++) {
        const st_case *item = &source->cases[i];
        for (size_t k = 0; k < item->value_count; k++)
            add_value(table, item, &item->values[k], k == 0);
    }
    st_table_write(table, paint, 2, buffer);
    write_summary(source->name, source, paint, buffer);
}

void st_cases_write_text(const st_case_source *sources, size_t count, const st_paint *paint,
                         st_arena *arena, st_buffer *buffer)
{
    st_case_source sum = {0};
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            st_buffer_text(buffer, "\n");
        write_source(&sources[i], paint, arena, buffer);
        sum.compared += sources[i].compared;
        sum.failed += sources[i].failed;
        sum.missed += sources[i].missed;
    }
    if (count > 1) {
        st_buffer_text(buffer, "\n");
        write_summary("all sources", &sum, paint, buffer);
    }
}

static void write_value_json(const st_case_value *value, st_json *json)
{
    st_json_open_line(json, NULL, '{');
    st_json_text(json, "cell", value->cell);
    if (value->compared) {
        st_json_value(json, "published", value->type, value->published_value);
        st_json_value(json, "value", value->type, value->value);
        st_json_unit(json, "unit", value->type);
        st_json_number(json, "difference", value->difference_frac);
    } else {
        st_json_text(json, "published", value->published);
        st_json_text(json, "value", NULL);
        st_json_text(json, "unit", NULL);
        st_json_text(json, "difference", NULL);
    }
    st_json_number(json, "tolerance", value->tolerance_frac);
    st_json_bool(json, "ok", value->ok);
    st_json_text_or_null(json, "note", value->note);
    st_json_close(json, '}');
}

static void write_case_json(const st_case *item, st_json *json)
{
    st_json_open(json, NULL, '{');
    st_json_text(json, "name", item->name);
    st_json_text(json, "job", item->job);
    st_json_bool(json, "ran", item->ran);
    st_json_open(json, "values", '[');
    for (size_t i = 0; i < item->value_count; i++)
        write_value_json(&item->values[i], json);
    st_json_close(json, ']');
    st_json_close(json, '}');
}

void st_cases_write_sources(const st_case_source *sources, size_t count, st_json *json)
{
    st_json_open(json, "sources", '[');
    for (size_t i = 0; i < count; i++) {
        st_json_open(json, NULL, '{');
        st_json_text(json, "source", sources[i].name);
        st_json_text(json, "title", sources[i].title);
        st_json_text(json, "cite", sources[i].cite);
        st_json_count(json, "compared", sources[i].compared);
        st_json_count(json, "failed", sources[i].failed);
        st_json_count(json, "missed", sources[i].missed);
        st_json_open(json, "cases", '[');
        for (size_t k = 0; k < sources[i].case_count; k++)
            write_case_json(&sources[i].cases[k], json);
        st_json_close(json, ']');
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
}

static void write_value_csv(const st_case_source *source, const st_case *item,
                            const st_case_value *value, st_buffer *buffer)
{
    char published[ST_QUANTITY_TEXT] = "";
    char ours[ST_QUANTITY_TEXT] = "";
    char difference[ST_QUANTITY_TEXT] = "";
    char tolerance[ST_QUANTITY_TEXT];
    if (value->compared) {
        st_exact_text(value->type, value->published_value, published, sizeof published);
        st_exact_text(value->type, value->value, ours, sizeof ours);
    }
    if (value->compared && isfinite(value->difference_frac)) {
        st_number_format(value->difference_frac, difference, sizeof difference);
    }
    const char *const fields[] = {
        source->name,
        item->name,
        value->cell,
        published,
        ours,
        value->compared ? st_type_unit_text(value->type) : "",
        difference,
        st_number_format(value->tolerance_frac, tolerance, sizeof tolerance),
        value->compared ? verdict_of(value) : "cannot run",
        value->note};
    st_csv_row(fields, sizeof fields / sizeof fields[0], buffer);
}

void st_cases_write_csv(const st_case_source *sources, size_t count, st_buffer *buffer)
{
    st_buffer_text(buffer,
                   "source,case,cell,published,value,unit,difference,tolerance,verdict,note\n");
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < sources[i].case_count; k++) {
            const st_case *item = &sources[i].cases[k];
            for (size_t v = 0; v < item->value_count; v++)
                write_value_csv(&sources[i], item, &item->values[v], buffer);
        }
    }
}
