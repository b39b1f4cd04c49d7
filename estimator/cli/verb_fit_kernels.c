/* SPDX-License-Identifier: Apache-2.0 */
/* steptime fit kernels, steptime trace layers */
#include "cli/kernels.h"
#include "cli/tables.h"
#include "cli/traces.h"

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
             "the GPU that the times were measured on, where the tables do not say"),
    CLI_TEXT(fit_kernels_options, job, "job", "JOB",
             "the job that was traced, for the shape of its layers", .word = CLI_WORD_JOB),
    CLI_COUNT(fit_kernels_options, layers, "layers", 0, MOST_LAYERS,
              "how many layers repeat in a trace; otherwise as many as cover most time"),
    CLI_WORD(fit_kernels_options, form, "form", "FORM",
             "roofline trees trees-on-roofline trees-inside",
             "predict with this form instead of the best of all on held-out shapes"),
    CLI_TEXTS(fit_kernels_options, tests, "test", "FILE",
              "also predict the times of this table, which the fit has not seen; may be repeated",
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

static st_times_form form_of(const char *name)
{
    for (st_times_form form = 0; name != NULL && form < ST_TIMES_FORMS; form++)
        if (strcmp(name, st_times_form_names[form]) == 0)
            return form;
    return ST_TIMES_FORMS;
}

/* Without XGBoost rooflines are left, unless trees are asked for. */
static st_status open_trees(st_layer_fit *fit, st_times_form form)
{
    bool asked = form != ST_TIMES_ROOFLINE && form != ST_TIMES_FORMS;
    st_status status = st_trees_open(&fit->library, asked ? fit->errors : NULL);
    return asked ? status : ST_OK;
}

static st_status fit_sets(st_layer_fit *fit, st_times_form form)
{
    st_status status = open_trees(fit, form);
    for (size_t i = 0; i < fit->sets->count && status == ST_OK; i++)
        status = st_times_learn(&fit->sets->sets[i], fit->library, form, fit->arena,
                                &fit->models[i], fit->errors);
    return status;
}

static st_status fit_all(st_layer_fit *fit, const char *form)
{
    st_status status = st_layer_fit_read(fit);
    if (status == ST_OK)
        status = fit_sets(fit, form_of(form));
    if (status == ST_OK)
        status = st_layer_fit_try_steps(fit);
    if (status == ST_OK)
        status = st_layer_fit_test_all(fit);
    return status == ST_OK ? st_layer_fit_save(fit) : status;
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
    if (status == ST_OK)
        status = fit_all(&fit, options->form);
    if (status == ST_OK)
        cli_kernels_write(&fit, run);
    st_trees_close(fit.library);
    int code = cli_exit_code(run, status);
    return code;
}

const cli_verb cli_verb_fit_kernels = {
    .name = "fit kernels",
    .arguments = "[TABLE|TRACE...]",
    .words = {CLI_WORD_FILE, CLI_WORD_FILE},
    .summary = "take layer times from measurements, for the plugin kernel-times",
    .doc =
        "Takes the times of layers from tables of layer times, from measured steps (--table, as "
        "for 'steptime validate') or from traces (files ending in .json or .json.gz, and folders), "
        "as docs/kernel-times.md describes them. Shapes that were not measured are predicted: by "
        "a roofline, by trees, or by trees on what the roofline leaves. Shows how far off each is "
        "on shapes that it has not seen, whole models where there are several, and takes the "
        "best.\n\n"
        "With --save the times become a profile, which jobs take with 'refine: {plugin: "
        "kernel-times, profile: NAME}'.",
    .examples = examples,
    .options = option_rows,
    .options_bytes = sizeof(fit_kernels_options),
    .run = run_fit_kernels,
};

/* ---- trace layers ---- */

typedef struct layer_options {
    uint64_t layers;
} layer_options;

static const cli_option layer_rows[] = {
    CLI_COUNT(layer_options, layers, "layers", 0, MOST_LAYERS,
              "how many layers repeat; otherwise as many as cover most time"),
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

static void put_layers(const st_trace_layers *layers, st_arena *arena, st_result *result)
{
    static const char *const names[ST_LAYER_PASSES] = {"forward", "backward"};
    st_node *root = st_result_begin(result, arena);
    st_put_count(root, "layers", layers->layers);
    st_put_count(root, "ranks", layers->ranks);
    for (size_t i = 0; i < layers->pass_count && i < ST_LAYER_PASSES; i++) {
        st_node *pass = st_put_map(root, names[i]);
        st_put_count(pass, "runs", layers->passes[i].runs);
        st_put_number(pass, "tasks", layers->passes[i].tasks);
        st_put_number(pass, "computation_s", layers->passes[i].computation_s);
        st_put_number(pass, "communication_s", layers->passes[i].communication_s);
        st_put_number(pass, "elapsed_s", layers->passes[i].elapsed_s);
    }
    if (!isnan(layers->optimizer_s))
        st_put_number(root, "optimizer_s", layers->optimizer_s);
    cli_kernels_say_layers(layers, root);
}

static st_status view_layers(cli_run *run, const cli_recorded *recorded, st_result *result)
{
    const layer_options *options = run->options;
    st_trace_layers found = {0};
    st_status status = st_trace_layers_find(recorded->set, (uint32_t)options->layers, run->arena,
                                            &found, run->errors);
    if (status == ST_OK)
        put_layers(&found, run->arena, result);
    return status;
}

const cli_verb cli_verb_trace_layers = {
    .name = "trace layers",
    .arguments = "TRACE...",
    .words = {CLI_WORD_FILE, CLI_WORD_FILE},
    .summary = "find the layers in a trace and what one of them takes",
    .doc = "Layers are found by repetition: the same kernels in the same order. Of the two passes "
           "with the most work that which runs first is the forward pass; recomputation is part of "
           "the backward pass. 'steptime fit kernels TRACE... --job JOB' makes a profile of them.",
    .examples = layer_examples,
    .options = layer_rows,
    .options_bytes = sizeof(layer_options),
    .run = cli_view_traces,
    .view = view_layers,
    .view_needs = CLI_TRACE_OPERATORS,
};
