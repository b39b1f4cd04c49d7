/* SPDX-License-Identifier: Apache-2.0 */
/* What `steptime fit kernels` shows; see kernels.h. */
#include "cli/kernels.h"

#include "calibrate/steps/accuracy.h"
#include "base/json_write.h"

#include <math.h>
#include <string.h>

static const char *const part_names[ST_STEP_PARTS] = {
    [ST_STEPS_USED] = "rows used",
    [ST_STEPS_MEASURED] = "others, layer measured",
    [ST_STEPS_PREDICTED] = "others, layer predicted",
    [ST_STEPS_OUTSIDE] = "others, outside of the range",
    [ST_STEPS_OTHERS] = "all other rows"};

static const char *percent(double share, st_arena *arena)
{
    char text[ST_PERCENT_TEXT];
    const char *shown = st_percent_text(share, 1, false, text);
    const char *kept = st_arena_copy(arena, shown, strlen(shown));
    return kept != NULL ? kept : "";
}

static const char *mean_text(const st_error_summary *summary, st_arena *arena)
{
    return summary->count > 0 && isfinite(summary->mean_absolute)
               ? percent(summary->mean_absolute, arena)
               : "-";
}

/* ---- text ---- */

static void write_steps(const st_layer_fit *own, cli_run *run)
{
    static const st_table_column columns[] = {{.ink = ST_INK_NAME}, {.right = true},
                                              {.right = true},      {.right = true},
                                              {.right = true},      {.right = true}};
    static const char *const headings[] = {"error of step times", "rows",   "formulas",
                                           "layer times",         "median", "largest"};
    st_paint paint = cli_paint(run);
    st_table *table = st_table_create(run->arena, columns, 6);
    if (table == NULL) {
        run->result.failed = true;
        return;
    }
    st_table_row(table, headings);
    for (size_t i = 0; i < ST_STEP_PARTS; i++) {
        st_error_summary formula;
        st_error_summary refined;
        size_t count = own->step_errors.count[i];
        double *scratch = st_arena_alloc(run->arena, count + 1, sizeof *scratch);
        if (count == 0 || scratch == NULL)
            continue;
        st_summarize_errors(own->step_errors.formula[i], count, scratch, &formula);
        st_summarize_errors(own->step_errors.refined[i], count, scratch, &refined);
        const char *const fields[] = {part_names[i],
                                      st_arena_printf(run->arena, "%zu", count),
                                      mean_text(&formula, run->arena),
                                      mean_text(&refined, run->arena),
                                      percent(refined.median_absolute, run->arena),
                                      percent(refined.largest, run->arena)};
        st_table_row(table, fields);
    }
    st_table_write(table, &paint, 2, &run->result);
}

/* Errors by piece and form; the form that was taken behind them. */
static void write_forms(const st_layer_fit_test *test, cli_run *run)
{
    static const st_table_column columns[] = {{.ink = ST_INK_NAME}, {.right = true},
                                              {.right = true},      {.right = true},
                                              {.right = true},      {.ink = ST_INK_PLAIN}};
    st_paint paint = cli_paint(run);
    st_table *table = st_table_create(run->arena, columns, 6);
    if (table == NULL) {
        run->result.failed = true;
        return;
    }
    const char *const headings[] = {test->name,
                                    "shapes",
                                    st_times_form_names[ST_TIMES_ROOFLINE],
                                    st_times_form_names[ST_TIMES_TREES],
                                    st_times_form_names[ST_TIMES_BOTH],
                                    "taken"};
    st_table_row(table, headings);
    for (size_t i = 0; i < test->models->set->piece_count; i++) {
        const st_error_summary *errors = test->errors[i];
        const char *const fields[] = {
            st_times_piece_names[test->models->set->pieces[i]],
            st_arena_printf(run->arena, "%zu", errors[ST_TIMES_ROOFLINE].count),
            mean_text(&errors[ST_TIMES_ROOFLINE], run->arena),
            mean_text(&errors[ST_TIMES_TREES], run->arena),
            mean_text(&errors[ST_TIMES_BOTH], run->arena),
            st_times_form_names[test->models->times.models[i].form]};
        st_table_row(table, fields);
    }
    if (test->models->set->piece_count > 1 && test->sums[ST_TIMES_ROOFLINE].count > 0) {
        const char *const fields[] = {
            "sum of all",
            st_arena_printf(run->arena, "%zu", test->sums[ST_TIMES_ROOFLINE].count),
            mean_text(&test->sums[ST_TIMES_ROOFLINE], run->arena),
            mean_text(&test->sums[ST_TIMES_TREES], run->arena),
            mean_text(&test->sums[ST_TIMES_BOTH], run->arena),
            ""};
        st_table_row(table, fields);
    }
    st_table_write(table, &paint, 2, &run->result);
}

static void write_rows(const st_layer_fit *own, cli_run *run)
{
    const st_step_rows *rows = &own->rows;
    st_buffer_printf(&run->result, "  %zu rows used", rows->used);
    if (rows->left_out > 0)
        st_buffer_printf(&run->result, ", %zu left out", rows->left_out);
    if (rows->pipelined > 0)
        st_buffer_printf(&run->result, ", %zu with a pipeline", rows->pipelined);
    if (rows->mixed > 0)
        st_buffer_printf(&run->result, ", %zu with MoE layers", rows->mixed);
    if (rows->shorter > 0)
        st_buffer_printf(&run->result, ", %zu faster than the ends of the model", rows->shorter);
    st_buffer_text(&run->result, "\n");
}

static void write_text(const st_layer_fit *own, cli_run *run)
{
    st_buffer *result = &run->result;
    st_buffer_printf(result, "layer times on %s\n", own->sets->gpu);
    if (own->layers.layers > 0)
        cli_kernels_write_layers(&own->layers, run);
    for (size_t i = 0; i < own->sets->count; i++) {
        const st_time_set *set = &own->sets->sets[i];
        st_layer_fit_test held_out = {.name = "error on held-out shapes",
                                      .models = &own->models[i]};
        memcpy(held_out.errors, own->models[i].held_out, sizeof held_out.errors);
        st_buffer_printf(result, "%s, %zu shape%s\n", set->value, set->count,
                         set->count == 1 ? "" : "s");
        if (strcmp(set->value, "t_layer[dense]") == 0 && own->asked->table_count > 0)
            write_rows(own, run);
        if (held_out.errors[0][ST_TIMES_ROOFLINE].count > 0)
            write_forms(&held_out, run);
    }
    for (size_t i = 0; i < own->test_count; i++)
        write_forms(&own->tests[i], run);
    if (own->asked->table_count > 0)
        write_steps(own, run);
}

/* ---- JSON ---- */

static void json_forms(const st_time_set *set, const st_error_summary (*errors)[ST_TIMES_FORMS],
                       const st_times *times, st_json *json)
{
    st_json_open(json, "pieces", '[');
    for (size_t i = 0; i < set->piece_count; i++) {
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "piece", st_times_piece_names[set->pieces[i]]);
        st_json_text(json, "taken", st_times_form_names[times->models[i].form]);
        for (size_t form = 0; form < ST_TIMES_FORMS; form++)
            if (isfinite(errors[i][form].mean_absolute))
                st_error_summary_write(json, st_times_form_names[form], &errors[i][form]);
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
}

static void json_steps(const st_layer_fit *own, st_json *json)
{
    st_arena *arena = own->arena;
    st_json_open(json, "steps", '[');
    for (size_t i = 0; i < ST_STEP_PARTS; i++) {
        st_error_summary formula;
        st_error_summary refined;
        size_t count = own->step_errors.count[i];
        double *scratch = st_arena_alloc(arena, count + 1, sizeof *scratch);
        if (count == 0 || scratch == NULL)
            continue;
        st_summarize_errors(own->step_errors.formula[i], count, scratch, &formula);
        st_summarize_errors(own->step_errors.refined[i], count, scratch, &refined);
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "rows", part_names[i]);
        st_error_summary_write(json, "formulas", &formula);
        st_error_summary_write(json, "layer_times", &refined);
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
}

static void write_json(const st_layer_fit *own, cli_run *run)
{
    st_json json = {.buffer = &run->result};
    st_json_open(&json, NULL, '{');
    st_json_count(&json, "schema_version", ST_SCHEMA_VERSION);
    st_json_text(&json, "steptime", STEPTIME_VERSION);
    st_json_text(&json, "gpu", own->sets->gpu);
    st_json_open(&json, "times", '[');
    for (size_t i = 0; i < own->sets->count; i++) {
        const st_time_models *models = &own->models[i];
        st_json_open(&json, NULL, '{');
        st_json_text(&json, "cell", models->set->value);
        st_json_count(&json, "shapes", models->set->count);
        json_forms(models->set, models->held_out, &models->times, &json);
        st_json_close(&json, '}');
    }
    st_json_close(&json, ']');
    st_json_open(&json, "tests", '[');
    for (size_t i = 0; i < own->test_count; i++) {
        const st_layer_fit_test *test = &own->tests[i];
        st_json_open(&json, NULL, '{');
        st_json_text(&json, "name", test->name);
        st_json_text(&json, "cell", test->models->set->value);
        json_forms(test->models->set, test->errors, &test->models->times, &json);
        st_json_open(&json, "sum", '{');
        for (size_t form = 0; form < ST_TIMES_FORMS; form++)
            if (isfinite(test->sums[form].mean_absolute))
                st_error_summary_write(&json, st_times_form_names[form], &test->sums[form]);
        st_json_close(&json, '}');
        st_json_close(&json, '}');
    }
    st_json_close(&json, ']');
    json_steps(own, &json);
    st_json_close(&json, '}');
}

void cli_kernels_write(const st_layer_fit *own, cli_run *run)
{
    if (run->common.json)
        write_json(own, run);
    else
        write_text(own, run);
}

/* ---- layers of a trace ---- */

void cli_kernels_write_layers(const st_trace_layers *layers, cli_run *run)
{
    static const st_table_column columns[] = {{.ink = ST_INK_NAME}, {.right = true},
                                              {.right = true},      {.right = true},
                                              {.right = true},      {.right = true}};
    static const char *const headings[] = {"one layer",   "runs",          "tasks",
                                           "computation", "communication", "elapsed"};
    static const char *const names[ST_LAYER_PASSES] = {"forward", "backward"};
    st_paint paint = cli_paint(run);
    st_table *table = st_table_create(run->arena, columns, 6);
    if (table == NULL) {
        run->result.failed = true;
        return;
    }
    st_buffer_printf(&run->result, "%u layers on %zu rank%s\n", layers->layers, layers->ranks,
                     layers->ranks == 1 ? "" : "s");
    st_table_row(table, headings);
    for (size_t i = 0; i < layers->pass_count; i++) {
        const st_layer_runs *pass = &layers->passes[i];
        const char *const fields[] = {
            names[i],
            st_arena_printf(run->arena, "%zu", pass->runs),
            st_arena_printf(run->arena, "%.0f", pass->tasks),
            st_arena_printf(run->arena, "%.1f us", pass->computation_s * 1e6),
            st_arena_printf(run->arena, "%.1f us", pass->communication_s * 1e6),
            st_arena_printf(run->arena, "%.1f us", pass->elapsed_s * 1e6)};
        st_table_row(table, fields);
    }
    st_table_write(table, &paint, 2, &run->result);
    if (!isnan(layers->optimizer_s))
        st_buffer_printf(&run->result, "  optimizer, of a step: %.1f us\n",
                         layers->optimizer_s * 1e6);
}
