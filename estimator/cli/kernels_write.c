/* SPDX-License-Identifier: Apache-2.0 */
/* What `steptime fit kernels` and `steptime trace layers` show; see kernels.h. */
#include "cli/kernels.h"

#include "calibrate/steps/accuracy.h"

#include <math.h>
#include <string.h>

static const char *const part_names[ST_STEP_PARTS] = {
    [ST_STEPS_USED] = "rows used",
    [ST_STEPS_MEASURED] = "others, layer measured",
    [ST_STEPS_PREDICTED] = "others, layer predicted",
    [ST_STEPS_OUTSIDE] = "others, outside of the range",
    [ST_STEPS_OTHERS] = "all other rows"};

/* ---- step times ---- */

static void put_part(const st_layer_fit *own, size_t part, st_node *list)
{
    size_t count = own->step_errors.count[part];
    if (count == 0)
        return;
    st_error_summary formula = st_summarize_errors(own->step_errors.formula[part], count);
    st_error_summary refined = st_summarize_errors(own->step_errors.refined[part], count);
    st_node *row = st_put_line_map(list, NULL);
    st_put_text(row, "rows", part_names[part]);
    st_error_summary_put(st_put_line_map(row, "formulas"), &formula);
    st_error_summary_put(st_put_line_map(row, "layer_times"), &refined);
    st_put_count(row, ".count", count);
}

static void put_steps(const st_layer_fit *own, st_node *root)
{
    static const st_table_column columns[] = {{.title = "error of step times", .ink = ST_INK_NAME},
                                              ST_COLUMN_NUMBER("rows"),
                                              ST_COLUMN_SHARE("formulas", 1),
                                              ST_COLUMN_SHARE("layer times", 1),
                                              ST_COLUMN_SHARE("median", 1),
                                              ST_COLUMN_SHARE("largest", 1)};
    st_node *list = st_put_list(root, "steps");
    for (size_t i = 0; i < ST_STEP_PARTS; i++)
        put_part(own, i, list);
    if (own->asked->table_count == 0)
        return;
    st_table_show(st_say_table(root, columns, ST_COUNT(columns), 2), list,
                  "rows,.count,formulas/mean_absolute,layer_times/mean_absolute,"
                  "layer_times/median_absolute,layer_times/largest");
}

/* ---- errors by piece and form ---- */

#define FORMS                                                                                      \
    ".name,.shapes,roofline/mean_absolute,trees/mean_absolute,trees-on-roofline/mean_absolute,"    \
    "trees-inside/mean_absolute,taken"

static void put_forms(st_node *row, const char *name, const st_error_summary errors[ST_TIMES_FORMS])
{
    for (size_t form = 0; form < ST_TIMES_FORMS; form++)
        if (isfinite(errors[form].mean_absolute))
            st_error_summary_put(st_put_line_map(row, st_times_form_names[form]), &errors[form]);
    st_put_text(row, ".name", name);
    st_put_count(row, ".shapes", errors[ST_TIMES_ROOFLINE].count);
}

static st_table *say_forms(const char *name, st_node *node)
{
    const st_table_column columns[] = {{.title = name, .ink = ST_INK_NAME},
                                       ST_COLUMN_NUMBER("shapes"),
                                       ST_COLUMN_SHARE(st_times_form_names[ST_TIMES_ROOFLINE], 1),
                                       ST_COLUMN_SHARE(st_times_form_names[ST_TIMES_TREES], 1),
                                       ST_COLUMN_SHARE(st_times_form_names[ST_TIMES_BOTH], 1),
                                       ST_COLUMN_SHARE(st_times_form_names[ST_TIMES_WITHIN], 1),
                                       {.title = "taken"}};
    return st_say_table(node, columns, ST_COUNT(columns), 2);
}

static void put_pieces(const st_time_models *models,
                       const st_error_summary (*errors)[ST_TIMES_FORMS], st_table *table,
                       st_node *map)
{
    st_node *list = st_put_list(map, "pieces");
    for (size_t i = 0; i < models->set->piece_count; i++) {
        const char *name = st_times_piece_names[models->set->pieces[i]];
        st_node *row = st_put_line_map(list, NULL);
        st_put_text(row, "piece", name);
        st_put_text(row, "taken", st_times_form_names[models->times.models[i].form]);
        put_forms(row, name, errors[i]);
        if (table != NULL)
            st_table_show(table, row, FORMS);
    }
}

static void put_test(const st_layer_fit_test *test, st_node *map)
{
    st_table *table = say_forms(test->name, map);
    st_put_text(map, "name", test->name);
    st_put_text(map, "cell", st_times_cell_names[test->models->set->cell]);
    put_pieces(test->models, (const st_error_summary(*)[ST_TIMES_FORMS])test->errors, table, map);
    st_node *sum = st_put_map(map, "sum");
    put_forms(sum, "sum of all", test->sums);
    if (test->models->set->piece_count > 1 && test->sums[ST_TIMES_ROOFLINE].count > 0)
        st_table_show(table, sum, FORMS);
}

/* ---- layer times ---- */

static void say_rows(const st_layer_fit *own, st_node *map)
{
    const st_step_rows *rows = &own->rows;
    st_say(map, "  %zu rows used", rows->used);
    if (rows->left_out > 0)
        st_say(map, ", %zu left out", rows->left_out);
    if (rows->pipelined > 0)
        st_say(map, ", %zu with a pipeline", rows->pipelined);
    if (rows->mixed > 0)
        st_say(map, ", %zu with MoE layers", rows->mixed);
    if (rows->shorter > 0)
        st_say(map, ", %zu faster than the ends of the model", rows->shorter);
    st_say(map, "\n");
}

static void put_set(const st_layer_fit *own, const st_time_models *models, st_node *map)
{
    const st_time_set *set = models->set;
    bool held_out = models->held_out[0][ST_TIMES_ROOFLINE].count > 0;
    const char *cell = st_times_cell_names[set->cell];
    st_say(map, "%s, %zu shape%s\n", cell, set->count, set->count == 1 ? "" : "s");
    if (set->cell == ST_TIMES_OF_LAYER && own->asked->table_count > 0)
        say_rows(own, map);
    st_put_text(map, "cell", cell);
    st_put_count(map, "shapes", set->count);
    put_pieces(models, (const st_error_summary(*)[ST_TIMES_FORMS])models->held_out,
               held_out ? say_forms("error on held-out shapes", map) : NULL, map);
}

void cli_kernels_write(const st_layer_fit *own, cli_run *run)
{
    st_result result;
    st_node *root = st_result_begin(&result, own->arena);
    st_put_text(root, "gpu", own->sets->gpu);
    st_say(root, "layer times on %s\n", own->sets->gpu);
    if (own->layers.layers > 0)
        cli_kernels_say_layers(&own->layers, root);
    st_node *times = st_put_list(root, "times");
    for (size_t i = 0; i < own->sets->count; i++)
        put_set(own, &own->models[i], st_put_map(times, NULL));
    st_node *tests = st_put_list(root, "tests");
    for (size_t i = 0; i < own->test_count; i++)
        put_test(&own->tests[i], st_put_map(tests, NULL));
    put_steps(own, root);
    cli_show(run, &result);
}

/* ---- layers of a trace ---- */

void cli_kernels_say_layers(const st_trace_layers *layers, st_node *node)
{
    static const char *const names[ST_LAYER_PASSES] = {"forward", "backward"};
    st_arena *arena = node->result->arena;
    st_say(node, "%u layers on %zu rank%s\n", layers->layers, layers->ranks,
           layers->ranks == 1 ? "" : "s");
    st_table *table =
        st_say_columns(node, "*one layer|>runs|>tasks|>computation|>communication|>elapsed");
    for (size_t i = 0; i < layers->pass_count; i++) {
        const st_layer_runs *pass = &layers->passes[i];
        const char *const fields[] = {
            names[i],
            st_arena_printf(arena, "%zu", pass->runs),
            st_arena_printf(arena, "%.0f", pass->tasks),
            st_arena_printf(arena, "%.1f us", pass->computation_s * 1e6),
            st_arena_printf(arena, "%.1f us", pass->communication_s * 1e6),
            st_arena_printf(arena, "%.1f us", pass->elapsed_s * 1e6)};
        st_table_row(table, fields);
    }
    if (!isnan(layers->optimizer_s))
        st_say(node, "  optimizer, of a step: %.1f us\n", layers->optimizer_s * 1e6);
}
