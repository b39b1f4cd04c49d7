/* SPDX-License-Identifier: Apache-2.0 */
/* Validation results as a result; see cases.h. */
#include "fit/steps/cases.h"
#include "fit/steps/accuracy.h"
#include "steptime/tool/typed_values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void put_value(const st_case *item, const st_case_value *value, bool first, st_node *row)
{
    char text[ST_QUANTITY_TEXT + 1];
    st_put_text(row, "cell", value->cell);
    if (value->compared) {
        st_put_value(row, "published", value->type, value->published_value);
        st_put_value(row, "value", value->type, value->value);
        st_put_unit(row, "unit", value->type);
        st_put_number(row, "difference", value->difference_frac);
        st_put_value(row, ".number", value->type, value->published_value);
        /* Our value in the unit in which the source prints its own, so that the two can be read
         * together. */
        const size_t size = sizeof text;
        const char *unit_text = value->published + strspn(value->published, "+-.0123456789eE");
        unit_text += strspn(unit_text, " ");
        st_unit unit = value->type->unit;
        if (unit_text[0] != '\0')
            (void)!st_unit_parse(unit_text, strlen(unit_text), (st_place){0}, &unit, NULL);
        st_style style = value->tolerance_frac == 0.0 ? ST_STYLE_EXACT : ST_STYLE_UNIT;
        st_put_text(row, ".ours", st_quantity_format(value->value, &unit, style, text, size));
        const char *format_difference;
        const size_t difference_size = sizeof text;
        st_unit percent = st_unit_one();
        percent.divisor = 100.0;
        snprintf(percent.text, sizeof percent.text, "%%");
        if (!isfinite(value->difference_frac)) {
            format_difference = "-";
        } else if (value->difference_frac == 0.0) {
            format_difference = "0";
        } else {
            char number[ST_QUANTITY_TEXT];
            st_quantity_format(value->difference_frac, &percent, ST_STYLE_SCALED, number,
                               sizeof number);
            snprintf(text, difference_size, "%s%s", value->difference_frac > 0.0 ? "+" : "",
                     number);
            format_difference = text;
        }
        st_put_text(row, ".difference", format_difference);
    } else {
        st_put_text(row, "published", value->published);
        st_put_null(row, "value");
        st_put_null(row, "unit");
        st_put_null(row, "difference");
    }
    st_put_number(row, "tolerance", value->tolerance_frac);
    st_put_bool(row, "ok", value->ok);
    st_put_text_or_null(row, "note", value->note);
    st_put_text_or_null(row, "missed", value->missed);
    st_put_text(row, ".case", first ? item->name : "");
    st_put_text(row, ".shown", value->published);
    st_put_text(row, ".tolerance", value->tolerance_frac == 0.0 ? "equal" : value->tolerance);
    const char *verdict;
    if (!value->compared)
        verdict = "cannot run";
    else if (!st_case_value_as_told(value))
        verdict = "FAIL";
    else
        verdict = value->ok ? "ok" : "missed";
    st_put_text(row, ".verdict", verdict);
    st_put_ink(row, value->ok                      ? ST_INK_GOOD
                    : st_case_value_as_told(value) ? ST_INK_FAINT
                                                   : ST_INK_BAD);
}

static void say_summary(const char *name, const st_case_source *sum, st_node *node)
{
    char text[128];
    st_say(node, "%s: %zu value%s compared, ", name, sum->compared, sum->compared == 1 ? "" : "s");
    snprintf(text, sizeof text, "%zu FAILED", sum->failed);
    if (sum->failed == 0 && sum->explained == 0)
        snprintf(text, sizeof text, "none exceed tolerance");
    else if (sum->failed == 0)
        snprintf(text, sizeof text, "%zu exceed tolerance (explained)", sum->explained);
    st_say_ink(node, sum->failed == 0 ? ST_INK_GOOD : ST_INK_BAD, text);
    if (sum->missed > 0) {
        snprintf(text, sizeof text, "%zu not compared", sum->missed);
        st_say(node, ", ");
        st_say_ink(node, ST_INK_BAD, text);
    }
    st_say(node, "\n");
}

/* Whether a value before the k-th of the i-th case has a reason. */
static bool is_told(const st_case_source *source, size_t i, size_t k)
{
    const char *reason = source->cases[i].values[k].missed;
    for (size_t before = 0; before <= i; before++) {
        size_t count = before < i ? source->cases[before].value_count : k;
        for (size_t other = 0; other < count; other++)
            if (strcmp(source->cases[before].values[other].missed, reason) == 0)
                return true;
    }
    return false;
}

void st_cases_put(const st_case_source *sources, size_t count, st_node *root)
{
    st_case_source sum = {0};
    st_node *list = st_put_list(root, "sources");
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            st_say(list, "\n");
        const st_case_source *source = &sources[i];
        st_node *map = st_put_map(list, NULL);
        static const st_table_column columns[] = {
            {.title = "case"},
            {.title = "cell", .ink = ST_INK_NAME},
            {.title = "published", .right = true},
            {.title = "ours", .none = "-", .right = true},
            {.title = "difference", .none = "-", .right = true},
            {.title = "tolerance", .right = true},
            {0},
            {.title = "in the source", .ink = ST_INK_FAINT, .elastic = true},
        };
        st_put_text(map, "source", source->name);
        st_put_text(map, "title", source->title);
        st_put_text(map, "cite", source->cite);
        st_put_count(map, "compared", source->compared);
        st_put_count(map, "failed", source->failed);
        st_put_count(map, "told", source->explained);
        st_put_count(map, "missed", source->missed);
        st_say_source(map, source->name, source->title, source->cite);
        st_table *table = st_say_table(map, columns, ST_COUNT(columns), 2);
        st_node *cases = st_put_list(map, "cases");
        for (size_t l = 0; l < source->case_count; l++) {
            const st_case *item = &source->cases[l];
            st_node *case_map = st_put_map(cases, NULL);
            st_put_text(case_map, "name", item->name);
            st_put_text(case_map, "job", item->job);
            st_put_bool(case_map, "ran", item->ran);
            st_node *values = st_put_list(case_map, "values");
            for (size_t j = 0; j < item->value_count; j++) {
                st_node *row = st_put_line_map(values, NULL);
                put_value(item, &item->values[j], j == 0, row);
                st_table_show(table, row,
                              ".case,cell,.shown,.ours,.difference,.tolerance,.verdict,note");
            }
        }
        /* Each reason once. */
        for (size_t l = 0; l < source->case_count; l++)
            for (size_t k = 0; k < source->cases[l].value_count; k++) {
                const char *reason = source->cases[l].values[k].missed;
                if (reason[0] == '\0' || is_told(source, l, k))
                    continue;
                st_say_ink(map, ST_INK_FAINT, "  missed: ");
                st_say_wrapped(map, reason, 10, 10);
                st_say(map, "\n");
            }
        say_summary(source->name, source, map);
        sum.compared += sources[i].compared;
        sum.failed += sources[i].failed;
        sum.explained += sources[i].explained;
        sum.missed += sources[i].missed;
    }
    if (count > 1) {
        st_say(list, "\n");
        say_summary("all sources", &sum, list);
    }
    st_result_csv(root->result, "sources/cases/values",
                  "source,name=case,cell,.number=published,value,unit,difference,tolerance,"
                  ".verdict=check,note");
}
