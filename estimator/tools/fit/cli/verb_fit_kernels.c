/* SPDX-License-Identifier: Apache-2.0 */
/* steptime fit kernels, steptime trace layers */
#include "fit/cli/verbs.h"
#include "fit/cli/tables.h"
#include "trace/cli/traces.h"

#include "kernel-times/fit/layer_fit.h"
#include "fit/steps/accuracy.h"

#include <math.h>
#include <string.h>

enum { MOST_LAYERS = 100000 };

typedef struct fit_kernels_options {
    cli_table_options tables;
    const char *gpu;
    const char *job;
    uint64_t layers; /* 0: as many as cover most time */
    const char *form;
    cli_texts tests;
    bool leave_one_out;
    const char *save;
    const char *output;
} fit_kernels_options;

static const cli_option option_rows[] = {
    CLI_ROWS_TABLE(fit_kernels_options, tables),
    CLI_ROW_CONSTANTS(fit_kernels_options, tables),
    CLI_ROW_SHEET,
    CLI_ROW_SET,
    CLI_TEXT(fit_kernels_options, gpu, "gpu", "NAME",
             "the GPU that the times were measured on, for tables that do not name it"),
    CLI_TEXT(fit_kernels_options, job, "job", "JOB",
             "the job that was traced, for the shape of its layers", .word = CLI_WORD_JOB),
    CLI_COUNT(fit_kernels_options, layers, "layers", 0, MOST_LAYERS,
              "how many layers repeat in a trace; default: as many as cover most time"),
    CLI_WORD(fit_kernels_options, form, "form", "FORM",
             "roofline trees trees-on-roofline trees-inside",
             "predict with this form instead of the best of all on held-out shapes"),
    CLI_TEXTS(fit_kernels_options, tests, "test", "FILE",
              "also predict the times of this table, which the fit does not use; may be repeated",
              .word = CLI_WORD_FILE),
    CLI_FLAG(fit_kernels_options, leave_one_out, "leave-one-out",
             "also predict each model, or each file, by a fit to the others"),
    CLI_TEXT(fit_kernels_options, save, "save", "NAME",
             "store the times as a profile of this name, in place of what it had"),
    CLI_ROW_DB,
    CLI_RESULT(
        fit_kernels_options, output, "output",
        "write the times of one cell to FILE, for the option 'times' of the plugin kernel-times",
        .letter = 'o'),
    CLI_ROW_JSON,
    CLI_ROW_PATH,
    CLI_ROW_COLOR,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime fit kernels layers.csv --gpu a100-sxm-80gb --save my-layers",
     "layer times of your own, for jobs with 'refine: {plugin: kernel-times, profile: my-layers}'"},
    {"steptime fit kernels a.csv b.csv c.csv --gpu h100-sxm --test d.csv",
     "how well three models predict the layers of another one"},
    {"steptime fit kernels --table runs.csv --rows 'pp=1,dp=1,:60' --save my-runs",
     "from measured steps without a pipeline, tried on all other rows of the table"},
    {"steptime fit kernels traces/ --job run.yaml --save my-trace", "from the traces of a job"},
    {NULL, NULL},
};

/* What one layer takes, as text alone. */
static void say_layers(const st_trace_layers *layers, st_node *node)
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

static const char *const part_names[ST_STEP_PARTS] = {
    [ST_STEPS_USED] = "rows used",
    [ST_STEPS_MEASURED] = "others, layer measured",
    [ST_STEPS_PREDICTED] = "others, layer predicted",
    [ST_STEPS_OUTSIDE] = "others, outside of the range",
    [ST_STEPS_OTHERS] = "all other rows"};

/* ---- step times ---- */

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

/* ---- layer times ---- */

static void write_result(const st_layer_fit *fit, cli_run *run)
{
    st_result result;
    st_node *root = st_result_begin(&result, fit->arena);
    st_put_text(root, "gpu", fit->sets->gpu);
    st_say(root, "layer times on %s\n", fit->sets->gpu);
    if (fit->layers.layers > 0)
        say_layers(&fit->layers, root);
    st_node *times = st_put_list(root, "times");
    for (size_t i = 0; i < fit->sets->count; i++) {
        const st_time_models *models = &fit->models[i];
        st_node *map = st_put_map(times, NULL);
        const st_time_set *set = models->set;
        bool held_out = models->held_out[0][ST_TIMES_ROOFLINE].count > 0;
        const char *cell = st_times_cell_names[set->cell];
        st_say(map, "%s, %zu shape%s\n", cell, set->count, set->count == 1 ? "" : "s");
        if (set->cell == ST_TIMES_OF_LAYER && fit->asked->table_count > 0) {
            const st_step_rows *rows = &fit->rows;
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
        st_put_text(map, "cell", cell);
        st_put_count(map, "shapes", set->count);
        put_pieces(models, (const st_error_summary(*)[ST_TIMES_FORMS])models->held_out,
                   held_out ? say_forms("error on held-out shapes", map) : NULL, map);
    }
    st_node *tests = st_put_list(root, "tests");
    for (size_t i = 0; i < fit->test_count; i++) {
        const st_layer_fit_test *test = &fit->tests[i];
        st_node *map = st_put_map(tests, NULL);
        st_table *table = say_forms(test->name, map);
        st_put_text(map, "name", test->name);
        st_put_text(map, "cell", st_times_cell_names[test->models->set->cell]);
        put_pieces(test->models, (const st_error_summary(*)[ST_TIMES_FORMS])test->errors, table,
                   map);
        st_node *sum = st_put_map(map, "sum");
        put_forms(sum, "sum of all", test->sums);
        if (test->models->set->piece_count > 1 && test->sums[ST_TIMES_ROOFLINE].count > 0)
            st_table_show(table, sum, FORMS);
    }
    static const st_table_column columns[] = {{.title = "error of step times", .ink = ST_INK_NAME},
                                              ST_COLUMN_NUMBER("rows"),
                                              ST_COLUMN_SHARE("formulas", 1),
                                              ST_COLUMN_SHARE("layer times", 1),
                                              ST_COLUMN_SHARE("median", 1),
                                              ST_COLUMN_SHARE("largest", 1)};
    st_node *list = st_put_list(root, "steps");
    for (size_t i = 0; i < ST_STEP_PARTS; i++) {
        size_t count = fit->step_errors.count[i];
        if (count == 0)
            continue;
        st_error_summary formula = st_summarize_errors(fit->step_errors.formula[i], count);
        st_error_summary refined = st_summarize_errors(fit->step_errors.refined[i], count);
        st_node *row = st_put_line_map(list, NULL);
        st_put_text(row, "rows", part_names[i]);
        st_error_summary_put(st_put_line_map(row, "formulas"), &formula);
        st_error_summary_put(st_put_line_map(row, "layer_times"), &refined);
        st_put_count(row, ".count", count);
    }
    if (fit->asked->table_count != 0)
        st_table_show(st_say_table(root, columns, ST_COUNT(columns), 2), list,
                      "rows,.count,formulas/mean_absolute,layer_times/mean_absolute,"
                      "layer_times/median_absolute,layer_times/largest");
    cli_show(run, &result);
}

/* ---- fit kernels ---- */

static st_times_form form_of(const char *name)
{
    for (st_times_form form = 0; name != NULL && form < ST_TIMES_FORMS; form++)
        if (strcmp(name, st_times_form_names[form]) == 0)
            return form;
    return ST_TIMES_FORMS;
}

static int run_fit_kernels(cli_run *run)
{
    const fit_kernels_options *options = run->options;
    st_layer_fit_request asked = {.files = run->arguments,
                                  .file_count = run->argument_count,
                                  .gpu = options->gpu,
                                  .job = options->job,
                                  .layers = (uint32_t)options->layers,
                                  .tests = options->tests.items,
                                  .test_count = options->tests.count,
                                  .leave_one_out = options->leave_one_out,
                                  .profile = options->save,
                                  .database = run->common.db,
                                  .date = run->today,
                                  .output = options->output};
    st_status status = cli_today(run);
    if (status == ST_OK)
        status = cli_paths(run);
    st_layer_fit fit = {
        .asked = &asked, .paths = run->paths, .arena = run->arena, .errors = run->errors};
    if (status == ST_OK)
        status = cli_tables(run, &options->tables, &asked.tables, &asked.table_count);
    if (status == ST_OK)
        status = cli_table_request(run, &options->tables, &asked.steps);
    if (status == ST_OK) {
        const char *form = options->form;
        st_status all_status = st_layer_fit_read(&fit);
        if (all_status == ST_OK) {
            const st_times_form set_form = form_of(form);
            /* Without XGBoost rooflines are left, unless trees are asked for. */
            bool set_asked = set_form != ST_TIMES_ROOFLINE && set_form != ST_TIMES_FORMS;
            st_status tree_status = st_trees_open(&fit.library, set_asked ? fit.errors : NULL);
            all_status = set_asked ? tree_status : ST_OK;
            for (size_t i = 0; i < fit.sets->count && all_status == ST_OK; i++)
                all_status = st_times_learn(&fit.sets->sets[i], fit.library, set_form, fit.arena,
                                            &fit.models[i], fit.errors);
        }
        if (all_status == ST_OK)
            all_status = st_layer_fit_try_steps(&fit);
        if (all_status == ST_OK)
            all_status = st_layer_fit_test_all(&fit);
        status = all_status == ST_OK ? st_layer_fit_save(&fit) : all_status;
    }
    if (status == ST_OK)
        write_result(&fit, run);
    st_trees_close(fit.library);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_fit_kernels = {
    .name = "fit kernels",
    .arguments = "[TABLE|TRACE...]",
    .words = {CLI_WORD_FILE, CLI_WORD_FILE},
    .summary = "fit layer times to measurements, for the plugin kernel-times",
    .doc =
        "Takes the times of layers from tables of layer times, from measured steps (--table, as "
        "for 'steptime validate') or from traces (files ending in .json or .json.gz, and folders), "
        "as docs/kernel-times.md describes them. Shapes that were not measured are predicted by a "
        "roofline, by trees, or by trees on the residual of the roofline. Shows the error of each "
        "form on held-out shapes (on whole models where there are several) and uses the best.\n\n"
        "With --save the times become a profile, which jobs take with 'refine: {plugin: "
        "kernel-times, profile: NAME}'.",
    .examples = examples,
    CLI_OPTIONS(option_rows, fit_kernels_options),
    .run = run_fit_kernels,
};

/* ---- trace layers ---- */

typedef struct layer_options {
    uint64_t layers;
} layer_options;

static const cli_option layer_rows[] = {
    CLI_COUNT(layer_options, layers, "layers", 0, MOST_LAYERS,
              "how many layers repeat; default: as many as cover most time"),
    CLI_ROW_PARTIAL,
    CLI_ROW_JSON,
    CLI_ROW_OUTPUT,
    CLI_ROW_COLOR,
    CLI_END,
};

static const cli_example layer_examples[] = {
    {"steptime trace layers traces/", "what one layer takes, forward and backward"},
    {"steptime trace layers rank0.json.gz --layers 40", "where the number of layers is known"},
    {NULL, NULL},
};

static st_status view_layers(cli_run *run, const cli_recorded *recorded, st_result *result)
{
    const layer_options *options = run->options;
    st_trace_layers found = {0};
    st_status status = st_trace_layers_find(recorded->set, (uint32_t)options->layers, run->arena,
                                            &found, run->errors);
    if (status == ST_OK) {
        static const char *const names[ST_LAYER_PASSES] = {"forward", "backward"};
        st_node *root = st_result_begin(result, run->arena);
        st_put_count(root, "layers", found.layers);
        st_put_count(root, "ranks", found.ranks);
        for (size_t i = 0; i < found.pass_count && i < ST_LAYER_PASSES; i++) {
            st_node *pass = st_put_map(root, names[i]);
            st_put_count(pass, "runs", found.passes[i].runs);
            st_put_number(pass, "tasks", found.passes[i].tasks);
            st_put_number(pass, "computation_s", found.passes[i].computation_s);
            st_put_number(pass, "communication_s", found.passes[i].communication_s);
            st_put_number(pass, "elapsed_s", found.passes[i].elapsed_s);
        }
        if (!isnan(found.optimizer_s))
            st_put_number(root, "optimizer_s", found.optimizer_s);
        say_layers(&found, root);
    }
    return status;
}

const cli_verb cli_verb_trace_layers = {
    .name = "trace layers",
    .arguments = "TRACE...",
    .words = {CLI_WORD_FILE, CLI_WORD_FILE},
    .summary = "find the layers in a trace and the time of one of them",
    .doc = "Layers are found by repetition: the same kernels in the same order. Of the two passes "
           "with the most work the first one is the forward pass; recomputation is part of the "
           "backward pass. 'steptime fit kernels TRACE... --job JOB' makes a profile of them.",
    .examples = layer_examples,
    CLI_OPTIONS(layer_rows, layer_options),
    .run = cli_view_traces,
    .view = view_layers,
    .view_needs = CLI_TRACE_OPERATORS,
};
