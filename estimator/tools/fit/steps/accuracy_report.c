/* SPDX-License-Identifier: Apache-2.0 */
/* Accuracy as a result; see accuracy.h. */
#include "fit/steps/accuracy.h"

#include "base/lists.h"
#include "base/number.h"
#include "steptime/tool/typed_values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT = 160 }; /* more than ST_PERCENT_TEXT */

/* ---- summaries of errors ---- */

const char *st_percent_text(double share, char *text)
{
    char number[ST_PERCENT_TEXT - 4];
    if (!isfinite(share))
        return "-";
    st_number_print('f', 1, 100.0 * share, number, sizeof number);
    snprintf(text, ST_PERCENT_TEXT, "%s %%", number);
    return text;
}

st_table *st_say_errors(st_node *node, const char *title, int decimals)
{
    const st_table_column shape[] = {
        {.title = title, .ink = ST_INK_NAME}, ST_COLUMN_NUMBER("rows"),
        ST_COLUMN_SHARE("mean", 1),           ST_COLUMN_SHARE("median", 1),
        ST_COLUMN_CHANGE("bias", 1),          ST_COLUMN_SHARE("max", 1),
        ST_COLUMN_SHARE("in 5 %", decimals),  ST_COLUMN_SHARE("in 10 %", decimals),
        ST_COLUMN_SHARE("in 20 %", decimals), {.ink = ST_INK_FAINT}};
    return st_say_table(node, shape, ST_COUNT(shape), 2);
}

void st_show_errors(st_table *table, st_node *node, const char *key, const char *name,
                    const st_error_summary *errors, double limit)
{
    st_node *map = st_put_line_map(node, key);
    st_error_summary_put(map, errors);
    st_put_text(map, ".name", name);
    /* "at most 5 %", or that the mean is more. */
    const double mean = errors->mean_absolute;
    char number[ST_QUANTITY_TEXT];
    if (!(limit <= 0)) {
        st_put_format(map, ".limit", "%s %s %%", mean > limit ? "FAIL, more than" : "at most",
                      st_number_significant(100.0 * limit, 6, number, sizeof number));
        st_put_ink(map, mean > limit ? ST_INK_BAD : ST_INK_GOOD);
    }
    st_table_show(table, map,
                  ".name,rows,mean_absolute,median_absolute,bias,largest,within_5,within_10,"
                  "within_20,.limit");
}

void st_error_summary_put(st_node *node, const st_error_summary *errors)
{
    st_put_count(node, "rows", errors->count);
    st_put_number(node, "mean_absolute", errors->mean_absolute);
    st_put_number(node, "median_absolute", errors->median_absolute);
    st_put_number(node, "bias", errors->bias);
    st_put_number(node, "largest", errors->largest);
    st_put_number(node, "within_5", errors->within_5);
    st_put_number(node, "within_10", errors->within_10);
    st_put_number(node, "within_15", errors->within_15);
    st_put_number(node, "within_20", errors->within_20);
}

/* ---- groups ---- */

static const char *name_of(const st_group_errors *group, char *text, size_t size)
{
    if (group->name[0] == '\0')
        return st_row_part_text(group->part);
    if (group->part == ST_ROWS_ALL)
        return group->name;
    snprintf(text, size, "%s, %s", group->name, st_row_part_text(group->part));
    return text;
}

static void put_group(const st_group_errors *group, st_node *map, st_table *table)
{
    char name[TEXT];
    char number[ST_QUANTITY_TEXT];
    st_put_text_or_null(map, "group", group->name);
    st_put_text(map, "part", st_row_part_text(group->part));
    st_show_errors(table, map, "errors", name_of(group, name, sizeof name), &group->summary,
                   group->limit);
    st_put_number(map, "limit", group->limit > 0 ? group->limit : (double)NAN);
    st_put_number(map, "inside_band",
                  group->banded > 0 ? (double)group->inside / (double)group->banded : (double)NAN);
    if (!group->has_site_factor)
        return;
    snprintf(name, sizeof name, "  with site factor %s",
             st_number_print('f', 3, group->site_factor, number, sizeof number));
    st_put_number(map, "site_factor", group->site_factor);
    st_show_errors(table, map, "errors_with_site_factor", name, &group->site, group->site_limit);
    if (group->site_left_out.count > 0)
        st_show_errors(table, map, "errors_with_factor_of_others", "  factor of the other rows",
                       &group->site_left_out, 0);
    st_put_number(map, "site_limit", group->site_limit > 0 ? group->site_limit : (double)NAN);
}

/* ---- what was left out and what was assumed ---- */

static void say_rows(const char *text, size_t rows, st_node *node)
{
    st_say(node, "    %zu row%s: ", rows, rows == 1 ? "" : "s");
    st_say_ink(node, ST_INK_PLAIN, text);
    st_say(node, "\n");
}

static void put_assigned(st_node *row, const char *key, const st_assigned *assigned, size_t count,
                         bool details)
{
    st_node *map = st_put_map(row, key);
    for (size_t i = 0; i < count; i++) {
        st_put_text(map, assigned[i].path, assigned[i].value.text);
        if (!details)
            continue;
        st_say(row, "    ");
        st_say_ink(row, ST_INK_NAME, assigned[i].path);
        st_say(row, assigned[i].formula == ST_NO_FORMULA ? " = " : " ");
        st_say_ink(row, ST_INK_PLAIN, assigned[i].value.text);
        st_say(row, "\n");
    }
}

static void put_assumptions(const st_measured *measured, bool details, st_node *map)
{
    const st_table_source *source = measured->source;
    size_t count = source != NULL ? source->assumption_count : 0;
    if (details && measured->note_count + count > 0)
        st_say(map, "  assumed:\n");
    st_node *assumptions = st_put_list(map, "assumptions");
    for (size_t i = 0; i < count; i++) {
        const st_assumption *assumption = &source->assumptions[i];
        st_node *row = st_put_line_map(assumptions, NULL);
        put_assigned(row, "set", assumption->set, assumption->set_count, details);
        put_assigned(row, "fill", assumption->fill, assumption->fill_count, details);
        st_put_text(row, "why", assumption->why);
        if (details) {
            st_say(row, "      ");
            st_say_ink(row, ST_INK_FAINT, assumption->why);
            st_say(row, "\n");
        }
    }
    st_node *defaults = st_put_list(map, "defaults");
    for (size_t i = 0; i < measured->note_count; i++) {
        st_node *row = st_put_line_map(defaults, NULL);
        st_put_text(row, "default", measured->notes[i]);
        st_put_count(row, "rows", measured->note_rows[i]);
        if (details)
            say_rows(measured->notes[i], measured->note_rows[i], row);
    }
}

/* ---- rows ---- */

static void fill_row(const void *context, size_t index, st_node *node)
{
    const st_measured *measured = context;
    const st_row *row = &measured->rows[index];
    bool compared = row->left_out == NULL;
    st_put_text(node, "id", row->id);
    st_put_value(node, "measured", measured->type, row->measured);
    st_put_bool(node, "ran_out", row->ran_out);
    st_put_value(node, "estimated", measured->type, compared ? row->estimate : (double)NAN);
    st_put_number(node, "error", compared ? row->error : (double)NAN);
    if (measured->fits != NULL && compared)
        st_put_bool(node, "fits", row->fits);
    else
        st_put_null(node, "fits");
    st_put_bool(node, "fitted", row->fitted);
    st_put_text(node, "left_out", row->left_out);
    if (row->ran_out)
        st_put_text(node, ".measured", "ran out");
    else
        st_put_value(node, ".measured", measured->type, row->measured);
    st_put_text(node, ".note", !compared ? row->left_out : row->fitted ? "used in the fit" : "");
    st_put_number(node, ".difference", compared && !row->ran_out ? row->error : (double)NAN);
    const char *verdict;
    if (row->left_out != NULL)
        verdict = "left out";
    else if (row->ran_out)
        verdict = row->fits ? "FAIL" : "ok";
    else
        verdict = row->fitted ? "used in the fit" : "held out";
    st_put_text(node, ".verdict", verdict);
    st_put_text(node, ".why", !compared ? row->left_out : row->ran_out ? "ran out of memory" : "");
}

/* ---- all of it ---- */

void st_say_source(st_node *node, const char *name, const char *title, const char *cite)
{
    st_say_ink(node, ST_INK_STRONG, name);
    if (title != NULL) {
        st_say(node, ": ");
        st_say_ink(node, ST_INK_PLAIN, title);
        st_say_ink(node, ST_INK_FAINT, " [");
        st_say_ink(node, ST_INK_FAINT, cite);
        st_say_ink(node, ST_INK_FAINT, "]");
    }
    st_say(node, "\n");
}

void st_accuracy_put(const st_accuracy *accuracy, bool details, st_node *map)
{
    const st_measured *measured = accuracy->measured;
    const st_table_source *source = measured->source;
    st_put_text(map, "source", measured->name);
    st_put_text(map, "title", source != NULL ? source->title : NULL);
    st_put_text(map, "cite", source != NULL ? source->cite : NULL);
    st_put_text(map, "file", measured->file);
    st_put_text(map, "sheet", st_sheet_name(measured->sheet));
    st_put_text(map, "cell", measured->cell);
    st_put_unit(map, "unit", measured->type);
    st_say_source(map, measured->name, source != NULL ? source->title : NULL,
                  source != NULL ? source->cite : NULL);
    st_put_count(map, "estimated", accuracy->estimated);
    st_put_count(map, "compared", accuracy->compared);
    st_put_count(map, "fitted", accuracy->fitted);
    st_put_count(map, "memory_checks", accuracy->verdicts);
    st_put_count(map, "memory_checks_right", accuracy->verdicts_right);
    st_put_number(map, "memory_limit",
                  accuracy->memory_limit > 0 ? accuracy->memory_limit : (double)NAN);
    st_node *list = st_put_list(map, "groups");
    if (accuracy->group_count != 0) {
        st_table *table = st_say_errors(map, accuracy->measured->cell, 0);
        for (size_t i = 0; i < accuracy->group_count; i++)
            put_group(&accuracy->groups[i], st_put_map(list, NULL), table);
    }
    char text[TEXT];
    char percent[ST_PERCENT_TEXT];
    if (accuracy->verdicts != 0) {
        double share = st_memory_share(accuracy);
        bool low = share < accuracy->memory_limit;
        snprintf(text, sizeof text, "%zu of %zu, %s", accuracy->verdicts_right, accuracy->verdicts,
                 st_percent_text(share, percent));
        st_say(map, "  judged rightly whether it fits in memory: ");
        bool good =
            accuracy->memory_limit > 0 ? !low : accuracy->verdicts_right == accuracy->verdicts;
        st_say_ink(map, good ? ST_INK_GOOD : ST_INK_BAD, text);
        if (accuracy->memory_limit > 0)
            st_say(map, "  %s %s", low ? "FAIL, less than" : "at least",
                   st_percent_text(accuracy->memory_limit, percent));
        st_say(map, "\n");
    }
    st_node *out_list = st_put_list(map, "left_out");
    size_t out_rows = accuracy->measured->row_count;
    if (accuracy->reason_count > 0)
        st_say(map, "  %zu of %zu row%s can be estimated; not compared:\n", accuracy->estimated,
               out_rows, out_rows == 1 ? "" : "s");
    for (size_t i = 0; i < accuracy->reason_count; i++) {
        st_node *row = st_put_line_map(out_list, NULL);
        st_put_text(row, "why", accuracy->reasons[i].text);
        st_put_count(row, "rows", accuracy->reasons[i].rows);
        say_rows(accuracy->reasons[i].text, accuracy->reasons[i].rows, map);
    }
    put_assumptions(measured, details, map);
    const bool shown = details || measured->csv == NULL;
    static const st_table_column shape[] = {{.title = "row", .ink = ST_INK_NAME},
                                            {.title = "measured", .none = "-", .right = true},
                                            {.title = "estimated", .none = "-", .right = true},
                                            ST_COLUMN_CHANGE("error", 1),
                                            {.elastic = true}};
    st_node *rows = st_put_rows(map, "rows", fill_row, measured, measured->row_count);
    if (!shown)
        return;
    st_table_show(st_say_table(map, shape, ST_COUNT(shape), 2), rows,
                  "id,.measured,estimated,error,.note");
}
