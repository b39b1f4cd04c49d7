/* SPDX-License-Identifier: Apache-2.0 */
/* A calibration as a result; see calibrate.h. */
#include "calibrate/steps/calibrate.h"

#include "calibrate/steps/accuracy.h"
#include "sheet/type_write.h"

#include <string.h>

static const char *note_of(const st_solution *solution, size_t index)
{
    if (solution->at_low[index])
        return "at its lower bound";
    return solution->at_high[index] ? "at its upper bound" : "";
}

static void fill_constant(const void *context, size_t index, st_node *map)
{
    const st_calibration *calibration = context;
    const st_varied *varied = &calibration->varied[index];
    const st_solution *solution = &calibration->solution;
    st_put_text(map, "key", varied->path);
    st_put_value(map, "value", varied->type, solution->values[index]);
    st_put_value(map, "standard_error", varied->type, solution->errors[index]);
    st_put_value(map, "low", varied->type, varied->low);
    st_put_value(map, "high", varied->type, varied->high);
    st_put_unit(map, "unit", varied->type);
    st_put_bool(map, "at_bound", solution->at_low[index] || solution->at_high[index]);
    st_node *correlations = st_put_line_list(map, "correlations");
    for (size_t i = 0; i < calibration->varied_count; i++)
        st_put_number(correlations, NULL, solution->correlation[index][i]);
    st_put_text(map, ".note", note_of(solution, index));
}

static void put_constants(const st_calibration *calibration, st_node *root)
{
    static const st_table_column shape[] = {
        {.ink = ST_INK_NAME},
        {.title = "fitted", .look = ST_LOOK_UNIT, .right = true},
        {.title = "standard error", .look = ST_LOOK_UNIT, .none = "unknown", .right = true},
        {.title = "from", .look = ST_LOOK_UNIT, .right = true},
        {.title = "to", .look = ST_LOOK_UNIT, .right = true},
        {.ink = ST_INK_BAD}};
    st_node *list =
        st_put_maps(root, "constants", fill_constant, calibration, calibration->varied_count);
    st_table *table = st_say_table(root, shape, sizeof shape / sizeof shape[0], 2);
    st_table_heads(table);
    st_table_show(table, list, "key,value,standard_error,low,high,.note");
}

static void put_errors(st_node *node, const char *key, const st_error_summary *errors,
                       const char *name, st_table *table)
{
    st_node *map = st_put_line_map(node, key);
    st_error_summary_put(map, errors);
    st_put_text(map, ".name", name);
    st_table_show(table, map,
                  ".name,rows,mean_absolute,median_absolute,bias,largest,within_5,within_10,"
                  "within_20");
}

static void put_groups(const st_calibration *calibration, st_node *root, st_table *table)
{
    st_arena *arena = root->result->arena;
    if (calibration->group == NULL)
        return;
    st_put_text(root, "group", calibration->group);
    st_node *list = st_put_list(root, "groups");
    for (size_t i = 0; i < calibration->group_count; i++) {
        st_node *map = st_put_map(list, NULL);
        const char *value = calibration->groups[i].value;
        st_put_text(map, "value", value);
        put_errors(
            map, "errors", &calibration->groups[i].errors,
            st_arena_printf(arena, "%s %s by a fit to the others", calibration->group, value),
            table);
    }
    st_node *all = st_put_line_map(root, "errors_group_left_out");
    st_error_summary_put(all, &calibration->group_errors);
    st_put_text(all, ".name", "all of these");
    if (calibration->group_count > 0)
        st_table_show(table, all,
                      ".name,rows,mean_absolute,median_absolute,bias,largest,within_5,within_10,"
                      "within_20");
}

static void fill_row(const void *context, size_t index, st_node *row)
{
    const st_calibration *calibration = context;
    const st_used_row *used = &calibration->rows[index];
    const st_measured *set = &calibration->sets[used->set];
    st_put_text(row, "id", set->rows[used->row].id);
    st_put_text(row, "source", set->name);
    st_put_value(row, "measured", set->type, set->rows[used->row].measured);
    st_put_number(row, "error", used->error);
    st_put_number(row, "error_left_out", used->error_left_out);
}

/* What stands in no file of constants has to be put elsewhere by hand. */
static void say_advice(const st_calibration *calibration, st_node *root)
{
    char value[ST_QUANTITY_TEXT];
    for (size_t i = 0; i < calibration->varied_count; i++) {
        const st_varied *varied = &calibration->varied[i];
        if (strncmp(varied->path, "constants.", strlen("constants.")) == 0)
            continue;
        st_type_format(varied->type, calibration->solution.values[i], ST_STYLE_UNIT, value,
                       sizeof value);
        st_say(root,
               "  %s is no constant: put it where the jobs have it, or give --set "
               "'%s=%s'\n",
               varied->path, varied->path, value);
    }
}

static void say_title(const st_calibration *calibration, st_node *root)
{
    char title[96];
    char scale[ST_PERCENT_TEXT];
    snprintf(title, sizeof title, "%zu constant%s fitted to %zu measured row%s",
             calibration->varied_count, calibration->varied_count == 1 ? "" : "s",
             calibration->row_count, calibration->row_count == 1 ? "" : "s");
    st_say_ink(root, ST_INK_STRONG, title);
    st_say(root, ", squares of relative errors");
    if (calibration->loss == ST_LOSS_SOFT_L1)
        st_say(root, ", linear above %s", st_percent_text(calibration->scale, 1, false, scale));
    st_say(root, "\n");
}

void st_calibration_report(const st_calibration *calibration, const st_fit_record *record,
                           st_arena *arena, st_result *result)
{
    st_node *root = st_result_begin(result, arena);
    bool alone = calibration->folds == calibration->row_count;
    st_put_text(root, "date", record->date);
    st_put_text(root, "loss", st_loss_name(calibration->loss));
    st_put_number(root, "scale", calibration->scale);
    say_title(calibration, root);
    put_constants(calibration, root);
    st_put_number(root, "cost", calibration->solution.cost);
    st_put_count(root, "iterations", calibration->solution.iterations);
    st_table *table = st_say_errors(root, "errors");
    put_errors(root, "errors", &calibration->errors, "rows of the fit", table);
    st_put_count(root, "folds", calibration->folds);
    put_errors(root, "errors_left_out", &calibration->left_out,
               alone ? "each row by a fit to the others" : "each tenth by a fit to the others",
               table);
    put_groups(calibration, root, table);
    (void)st_put_rows(root, "rows", fill_row, calibration, calibration->row_count);
    say_advice(calibration, root);
}
