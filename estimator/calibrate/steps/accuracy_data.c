/* SPDX-License-Identifier: Apache-2.0 */
/* Accuracy as JSON and CSV; see accuracy.h. */
#include "calibrate/steps/accuracy.h"

#include "base/csv_write.h"
#include "sheet/type_write.h"

#include <math.h>

st_table *st_say_errors(st_node *node, const char *title)
{
    const st_table_column percent = {
        .look = ST_LOOK_PERCENT, .digits = 1, .none = "-", .right = true};
    st_table_column shape[] = {{.title = title, .ink = ST_INK_NAME},
                               {.title = "rows", .right = true},
                               percent,
                               percent,
                               percent,
                               percent,
                               percent,
                               percent,
                               percent};
    static const char *const titles[] = {"mean",   "median",  "bias",   "max",
                                         "in 5 %", "in 10 %", "in 20 %"};
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        shape[2 + i].title = titles[i];
    shape[4].look = ST_LOOK_CHANGE;
    st_table *table = st_say_table(node, shape, sizeof shape / sizeof shape[0], 2);
    st_table_heads(table);
    return table;
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
    st_put_number(node, "within_20", errors->within_20);
}

void st_error_summary_write(st_json *json, const char *key, const st_error_summary *errors)
{
    st_json_open_line(json, key, '{');
    st_json_count(json, "rows", errors->count);
    st_json_number(json, "mean_absolute", errors->mean_absolute);
    st_json_number(json, "median_absolute", errors->median_absolute);
    st_json_number(json, "bias", errors->bias);
    st_json_number(json, "largest", errors->largest);
    st_json_number(json, "within_5", errors->within_5);
    st_json_number(json, "within_10", errors->within_10);
    st_json_number(json, "within_20", errors->within_20);
    st_json_close(json, '}');
}

static void write_limit(st_json *json, const char *key, double limit)
{
    st_json_number(json, key, limit > 0 ? limit : (double)NAN);
}

static void write_group(st_json *json, const st_group_errors *group)
{
    st_json_open(json, NULL, '{');
    st_json_text_or_null(json, "group", group->name);
    st_json_text(json, "part", st_row_part_text(group->part));
    st_error_summary_write(json, "errors", &group->summary);
    write_limit(json, "limit", group->limit);
    if (group->has_site_factor) {
        st_json_number(json, "site_factor", group->site_factor);
        st_error_summary_write(json, "errors_with_site_factor", &group->site);
        if (group->site_left_out.count > 0)
            st_error_summary_write(json, "errors_with_factor_of_others", &group->site_left_out);
        write_limit(json, "site_limit", group->site_limit);
    }
    st_json_close(json, '}');
}

static void write_assigned(st_json *json, const char *key, const st_assigned *assigned,
                           size_t count)
{
    st_json_open(json, key, '{');
    for (size_t i = 0; i < count; i++)
        st_json_text(json, assigned[i].path, assigned[i].value.text);
    st_json_close(json, '}');
}

static void write_assumptions(st_json *json, const st_measured *measured)
{
    const st_table_source *source = measured->source;
    st_json_open(json, "assumptions", '[');
    for (size_t i = 0; source != NULL && i < source->assumption_count; i++) {
        const st_assumption *own = &source->assumptions[i];
        st_json_open_line(json, NULL, '{');
        write_assigned(json, "set", own->set, own->set_count);
        write_assigned(json, "fill", own->fill, own->fill_count);
        st_json_text(json, "why", own->why);
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
    st_json_open(json, "defaults", '[');
    for (size_t i = 0; i < measured->note_count; i++) {
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "default", measured->notes[i]);
        st_json_count(json, "rows", measured->note_rows[i]);
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
}

static void write_row(st_json *json, const st_measured *measured, const st_row *row)
{
    bool compared = row->left_out == NULL;
    st_json_open_line(json, NULL, '{');
    st_json_text(json, "id", row->id);
    st_json_value(json, "measured", measured->type, row->measured);
    st_json_bool(json, "ran_out", row->ran_out);
    st_json_value(json, "estimated", measured->type, compared ? row->estimate : (double)NAN);
    st_json_number(json, "error", compared ? row->error : (double)NAN);
    if (measured->has_verdict && compared)
        st_json_bool(json, "fits", row->fits);
    else
        st_json_text(json, "fits", NULL);
    st_json_bool(json, "fitted", row->fitted);
    st_json_text(json, "left_out", row->left_out);
    st_json_close(json, '}');
}

void st_accuracy_write_json(const st_accuracy *accuracy, st_json *json)
{
    const st_measured *measured = accuracy->measured;
    const st_table_source *source = measured->source;
    st_json_open(json, NULL, '{');
    st_json_text(json, "source", measured->name);
    st_json_text(json, "title", source != NULL ? source->title : NULL);
    st_json_text(json, "cite", source != NULL ? source->cite : NULL);
    st_json_text(json, "file", measured->file);
    st_json_text(json, "sheet", st_sheet_name(measured->sheet));
    st_json_text(json, "cell", measured->cell);
    st_json_unit(json, "unit", measured->type);
    st_json_count(json, "compared", accuracy->compared);
    st_json_count(json, "fitted", accuracy->fitted);
    st_json_count(json, "verdicts", accuracy->verdicts);
    st_json_count(json, "verdicts_right", accuracy->verdicts_right);
    st_json_open(json, "groups", '[');
    for (size_t i = 0; i < accuracy->group_count; i++)
        write_group(json, &accuracy->groups[i]);
    st_json_close(json, ']');
    st_json_open(json, "left_out", '[');
    for (size_t i = 0; i < accuracy->reason_count; i++) {
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "why", accuracy->reasons[i].text);
        st_json_count(json, "rows", accuracy->reasons[i].rows);
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
    write_assumptions(json, measured);
    st_json_open(json, "rows", '[');
    for (size_t i = 0; i < measured->row_count; i++)
        write_row(json, measured, &measured->rows[i]);
    st_json_close(json, ']');
    st_json_close(json, '}');
}

/* ---- CSV ---- */

static const char *verdict_of(const st_row *row)
{
    if (row->left_out != NULL)
        return "left out";
    if (row->ran_out)
        return row->fits ? "FAIL" : "ok";
    return row->fitted ? "used in the fit" : "held out";
}

static void write_row_csv(const st_measured *measured, const st_row *row, st_buffer *buffer)
{
    char published[ST_QUANTITY_TEXT] = "";
    char value[ST_QUANTITY_TEXT] = "";
    char difference[ST_QUANTITY_TEXT] = "";
    if (isfinite(row->measured))
        st_exact_text(measured->type, row->measured, published, sizeof published);
    if (row->left_out == NULL)
        st_exact_text(measured->type, row->estimate, value, sizeof value);
    if (row->left_out == NULL && !row->ran_out)
        st_number_format(row->error, difference, sizeof difference);
    const char *const fields[] = {
        measured->name,
        row->id,
        measured->cell,
        published,
        value,
        st_type_unit_text(measured->type),
        difference,
        "",
        verdict_of(row),
        row->left_out != NULL ? row->left_out : row->ran_out ? "ran out of memory" : ""};
    st_csv_row(fields, sizeof fields / sizeof fields[0], buffer);
}

void st_accuracy_write_csv(const st_accuracy *accuracy, st_buffer *buffer)
{
    for (size_t i = 0; i < accuracy->measured->row_count; i++)
        write_row_csv(accuracy->measured, &accuracy->measured->rows[i], buffer);
}
