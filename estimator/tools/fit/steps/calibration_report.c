/* SPDX-License-Identifier: Apache-2.0 */
/* A calibration as a result; see calibrate.h. */
#include "fit/steps/calibrate.h"

#include "fit/steps/accuracy.h"
#include "base/number.h"
#include "steptime/tool/typed_values.h"

#include <math.h>

#include <string.h>

static const char *note_of(const st_calibration *calibration, size_t index)
{
    const st_solution *solution = &calibration->solution;
    if (!calibration->varied[index].moves)
        return "no row is sensitive to it";
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
    st_put_text(map, "name", varied->name);
    st_put_value(map, "value", varied->type, solution->values[index]);
    st_put_value(map, "standard_error", varied->type, solution->errors[index]);
    st_put_value(map, "low", varied->type, varied->low);
    st_put_value(map, "high", varied->type, varied->high);
    st_put_value(map, "prior", varied->type, varied->prior > 0 ? varied->prior : (double)NAN);
    st_put_number(map, "sd", varied->sd > 0 ? varied->sd : (double)NAN);
    st_put_text_or_null(map, "source", st_or_none(varied->source));
    st_put_unit(map, "unit", varied->type);
    st_put_bool(map, "at_bound", solution->at_low[index] || solution->at_high[index]);
    st_node *correlations = st_put_line_list(map, "correlations");
    for (size_t i = 0; i < calibration->varied_count; i++)
        st_put_number(correlations, NULL, solution->correlation[index][i]);
    st_put_text(map, ".note", note_of(calibration, index));
}

/* ---- values left out ---- */

/* Baselines for the errors of a fit on held-out rows. */
static const char *const naive_keys[] = {"constant_mfu", "nearest_row"};

static bool is_naive(const st_calibration *calibration)
{
    return calibration->alike[ST_NAIVE_MFU].count + calibration->alike[ST_NAIVE_NEAREST].count > 0;
}

static void put_held(const st_held_group *group, const char *name, st_node *map, st_table *table)
{
    st_put_text(map, "value", group->value);
    st_error_summary_put(st_put_line_map(map, "errors"), &group->errors);
    for (size_t i = 0; i < ST_NAIVES; i++)
        st_error_summary_put(st_put_line_map(map, naive_keys[i]), &group->naive[i]);
    st_put_text(map, ".name", name);
    st_table_show(table, map,
                  ".name,errors/rows,errors/mean_absolute,errors/median_absolute,errors/bias,"
                  "errors/largest,errors/within_15,constant_mfu/mean_absolute,"
                  "nearest_row/mean_absolute");
}

static st_table *say_held_table(st_node *node, const char *title, bool naive)
{
    const st_table_column shape[] = {
        {.title = title, .ink = ST_INK_NAME}, ST_COLUMN_NUMBER("rows"),
        ST_COLUMN_SHARE("mean", 1),           ST_COLUMN_SHARE("median", 1),
        ST_COLUMN_CHANGE("bias", 1),          ST_COLUMN_SHARE("max", 1),
        ST_COLUMN_SHARE("in 15 %", 1),        ST_COLUMN_SHARE("constant MFU", 1),
        ST_COLUMN_SHARE("nearest row", 1)};
    return st_say_table(node, shape, naive ? 9 : 7, 2);
}

static void put_parts(const st_held_group *parts, size_t count, st_node *list, st_table *table)
{
    for (size_t i = 0; i < count; i++)
        put_held(&parts[i], parts[i].value[0] != '\0' ? parts[i].value : "all of these",
                 st_put_map(list, NULL), table);
}

static void put_column(const st_calibration *calibration, const st_held *held, st_node *map)
{
    bool naive = is_naive(calibration);
    st_arena *arena = map->result->arena;
    const char *title = st_arena_printf(arena, "each %s by a fit to the others", held->column);
    st_put_text(map, "column", held->column);
    st_table *table = say_held_table(map, st_or_none(title), naive);
    st_node *values = st_put_list(map, "values");
    for (size_t i = 0; i < held->group_count; i++)
        put_held(&held->groups[i], held->groups[i].value, st_put_map(values, NULL), table);
    put_parts(held->parts, held->part_count, st_put_list(map, "parts"), table);
}

static void fill_row(const void *context, size_t index, st_node *row)
{
    const st_calibration *calibration = context;
    const st_used_row *used = &calibration->rows[index];
    const st_measured *set = &calibration->sets[used->set];
    st_put_text(row, "id", set->rows[used->row].id);
    st_put_text(row, "source", set->name);
    st_put_value(row, "measured", set->type, set->rows[used->row].measured);
    st_put_bool(row, "test", used->test);
    st_put_number(row, "error", used->error);
    st_put_number(row, "error_left_out", used->error_left_out);
}

void st_calibration_report(const st_calibration *calibration, const st_fit_record *record,
                           st_arena *arena, st_result *result)
{
    st_node *root = st_result_begin(result, arena);
    bool alone = calibration->folds == calibration->errors.count;
    st_put_text(root, "date", record->date);
    st_put_text(root, "loss", st_loss_name(calibration->loss));
    st_put_number(root, "scale", calibration->scale);
    char title[96];
    char scale[ST_PERCENT_TEXT];
    char freedom[ST_PERCENT_TEXT];
    snprintf(title, sizeof title, "%zu constant%s fitted to %zu measured row%s",
             calibration->varied_count, calibration->varied_count == 1 ? "" : "s",
             calibration->errors.count, calibration->errors.count == 1 ? "" : "s");
    st_say_ink(root, ST_INK_STRONG, title);
    if (calibration->noise > 0)
        st_say(root, " with %s degrees of freedom",
               st_number_print('f', 1, calibration->solution.freedom, freedom, sizeof freedom));
    st_say(root, ", squares of %s errors", calibration->logarithms ? "logarithmic" : "relative");
    if (calibration->loss == ST_LOSS_SOFT_L1)
        st_say(root, ", linear above %s", st_percent_text(calibration->scale, scale));
    st_say(root, "\n");
    static const st_table_column shape[] = {
        {.ink = ST_INK_NAME},
        {.title = "fitted", .look = ST_LOOK_UNIT, .right = true},
        {.title = "standard error", .look = ST_LOOK_UNIT, .none = "unknown", .right = true},
        {.title = "from", .look = ST_LOOK_UNIT, .right = true},
        {.title = "to", .look = ST_LOOK_UNIT, .right = true},
        {.title = "prior", .look = ST_LOOK_UNIT, .none = "-", .right = true},
        {.title = "sd of its log", .none = "-", .right = true},
        {.ink = ST_INK_BAD}};
    bool priors = calibration->noise > 0;
    st_node *constant_list =
        st_put_maps(root, "constants", fill_constant, calibration, calibration->varied_count);
    const st_table_column plain[] = {shape[0], shape[1], shape[2], shape[3], shape[4], shape[7]};
    st_table *constant_table = priors ? st_say_table(root, shape, ST_COUNT(shape), 2)
                                      : st_say_table(root, plain, ST_COUNT(plain), 2);
    st_table_show(constant_table, constant_list,
                  priors ? "name,value,standard_error,low,high,prior,sd,.note"
                         : "key,value,standard_error,low,high,.note");
    st_put_number(root, "cost", calibration->solution.cost);
    st_put_count(root, "iterations", calibration->solution.iterations);
    st_put_number(root, "freedom", calibration->solution.freedom);
    st_table *table = st_say_errors(root, "errors", 1);
    st_show_errors(table, root, "errors", "rows of the fit", &calibration->errors, 0);
    st_put_count(root, "folds", calibration->folds);
    if (calibration->folds > 0)
        st_show_errors(table, root, "errors_left_out",
                       alone ? "each row by a fit to the others"
                             : "each tenth by a fit to the others",
                       &calibration->left_out, 0);
    st_node *list = st_put_list(root, "left_out");
    for (size_t i = 0; i < calibration->column_count; i++)
        put_column(calibration, &calibration->held[i], st_put_map(list, NULL));
    st_node *test_list = st_put_list(root, "tests");
    if (calibration->test_count != 0) {
        st_table *test_table =
            say_held_table(root, "rows that no fit has seen", is_naive(calibration));
        put_parts(calibration->tests, calibration->test_count, test_list, test_table);
    }
    (void)st_put_rows(root, "rows", fill_row, calibration, calibration->row_count);
    /* Keys outside a file of constants have to be set by hand. */
    char value[ST_QUANTITY_TEXT];
    for (size_t i = 0; i < calibration->varied_count; i++) {
        const st_varied *varied = &calibration->varied[i];
        bool for_all = varied->when.condition_count == 0;
        if (!for_all || strncmp(varied->path, "constants.", strlen("constants.")) == 0)
            continue;
        st_type_format(varied->type, calibration->solution.values[i], ST_STYLE_UNIT, value,
                       sizeof value);
        st_say(root, "  %s is not a constant; set it in the jobs, or give --set '%s=%s'\n",
               varied->path, varied->path, value);
    }
}
