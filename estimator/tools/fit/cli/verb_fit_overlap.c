/* SPDX-License-Identifier: Apache-2.0 */
/* steptime fit overlap */
#include "fit/cli/verbs.h"

#include "base/memory.h"
#include "overlap-xgboost/fit/overlap_data.h"

#include "steptime/tool/input_files.h"

#include <math.h>
#include <string.h>

typedef struct fit_overlap_options {
    bool pairs;
    bool allow_faster;
    double unmatched_percent;
    const char *counters;
    const char *table; /* of --write */
    const char *test;
    const char *gpu;
    const char *recipe;
    const char *svg;
    const char *output;
    const char *save;
    const char *cluster;
} fit_overlap_options;

static const cli_option option_rows[] = {
    CLI_FLAG(fit_overlap_options, pairs, "pairs",
             "arguments are pairs of recordings of one program: without overlap, then with it"),
    CLI_FILE(fit_overlap_options, counters, "counters",
             "counters of the kernels of the pairs, as 'ncu --csv' prints them"),
    CLI_NUMBER(fit_overlap_options, unmatched_percent, "unmatched", "PERCENT", 0, 100,
               "reject pairs in which more kernels have no counterpart",
               .range = "percent of the kernels, from 0 to 100", .initial = "5"),
    CLI_RESULT(
        fit_overlap_options, table, "write",
        "write the kernels of the pairs to FILE, as a table, even if they are too few for a fit"),
    CLI_FILE(fit_overlap_options, test, "test",
             "also predict the kernels of this table, which the fit does not use"),
    CLI_TEXT(
        fit_overlap_options, gpu, "gpu", "NAME",
        "the GPU of kernels whose table does not name it; jobs on other GPUs reject the model"),
    CLI_WORD(fit_overlap_options, recipe, "recipe", "RECIPE", "nearest echo bag-40 bag-25 near-3",
             "train this one instead of the best of all on held-out kernels"),
    CLI_FLAG(fit_overlap_options, allow_faster, "allow-faster",
             "let the model predict slowdowns below 1 for kernels that were faster alongside "
             "communication"),
    CLI_RESULT(fit_overlap_options, svg, "svg", "draw the importance of the features to FILE"),
    CLI_RESULT(fit_overlap_options, output, "output",
               "write the model to FILE, for the option 'model' of the plugin overlap-xgboost",
               .letter = 'o'),
    CLI_TEXT(fit_overlap_options, save, "save", "NAME",
             "store the model as a profile of this name, in place of an earlier one"),
    CLI_ROW_DB,
    CLI_TEXT(fit_overlap_options, cluster, "cluster", "NAME",
             "the cluster that the profile records as its own"),
    CLI_ROW_JSON,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime fit overlap kernels.csv", "how well slowdowns can be predicted"},
    {"steptime fit overlap kernels.csv --test others.csv -o slowdown.model --svg importance.svg",
     "a model, tried on other kernels"},
    {"steptime fit overlap --pairs alone.json overlapped.json --write kernels.csv",
     "kernels of two traces, also as a table"},
    {"steptime fit overlap --pairs alone.sqlite overlapped.sqlite --counters metrics.csv -o "
     "my.model",
     "of Nsight Systems and Nsight Compute"},
    {NULL, NULL},
};

typedef struct overlap_run {
    cli_run *run;
    const fit_overlap_options *options;
    st_trees_library *library;
    st_kernels kernels;
    st_kernels test;
    st_pairs_tally tally;
    size_t *rows; /* all of either table */
    st_trials trials;
    st_slowdown_model model;
    st_overlap_report report;
} overlap_run;

static st_status read_tables(overlap_run *verb)
{
    const fit_overlap_options *options = verb->options;
    const st_overlap_source source = {.gpu = options->gpu,
                                      .recordings = verb->run->arguments,
                                      .recording_count = verb->run->argument_count,
                                      .counters = options->counters,
                                      .table = options->table,
                                      .unmatched_frac = options->unmatched_percent / 100};
    const char *test = verb->options->test;
    /* Options that mean something for pairs alone, and arguments that do so. */
    st_status status = ST_OK;
    cli_run *run = verb->run;
    const fit_overlap_options *use_options = run->options;
    const char *pairs_only = use_options->counters != NULL                        ? "--counters"
                             : cli_is_given(run, &use_options->unmatched_percent) ? "--unmatched"
                             : use_options->table != NULL                         ? "--write"
                                                                                  : NULL;
    if (!use_options->pairs) {
        if (run->argument_count > 1)
            status = cli_wrong_use(run, "too many tables",
                                   "--pairs takes two recordings, --test a second table");
        else if (pairs_only != NULL)
            status = cli_wrong_use(run, st_errors_text(run->errors, "%s needs --pairs", pairs_only),
                                   NULL);
    }
    if (status == ST_OK)
        status = verb->options->pairs
                     ? st_overlap_read_pairs(&source, verb->run->arena, &verb->kernels,
                                             &verb->tally, verb->run->errors)
                     : st_overlap_read_table(&source, verb->run->arguments[0], true,
                                             verb->run->arena, &verb->kernels, verb->run->errors);
    if (test != NULL && status != ST_ERR_USAGE) {
        st_status read = st_overlap_read_table(&source, test, false, verb->run->arena, &verb->test,
                                               verb->run->errors);
        status = status == ST_OK ? read : status;
        if (status == ST_OK)
            status = st_kernels_check_like(&verb->test, &verb->kernels, verb->run->errors);
    }
    if (status != ST_OK)
        return status;
    verb->kernels.least = verb->options->allow_faster ? 0 : 1;
    size_t most = verb->kernels.count > verb->test.count ? verb->kernels.count : verb->test.count;
    verb->rows = st_arena_alloc(verb->run->arena, most, sizeof *verb->rows);
    if (verb->rows == NULL)
        return st_out_of_memory(verb->run->errors);
    for (size_t i = 0; i < most; i++)
        verb->rows[i] = i;
    return ST_OK;
}

static void note_test(overlap_run *verb, size_t index, const st_kernel_rows *rows,
                      const double *factors)
{
    for (size_t part = 0; part < ST_SLOWDOWN_PARTS; part++)
        verb->report.test_errors[index][part] =
            st_slowdown_compare(rows, factors, (st_slowdown_part)part);
}

static st_status test_model(overlap_run *verb)
{
    const st_kernels *test = &verb->test;
    if (test->count == 0)
        return ST_OK;
    double *factors = st_arena_alloc(verb->run->arena, test->count, sizeof *factors);
    if (factors == NULL)
        return st_out_of_memory(verb->run->errors);
    st_kernel_rows rows = {test, verb->rows, test->count};
    st_kernel_rows learnt = {&verb->kernels, verb->rows, verb->kernels.count};
    st_status status =
        st_slowdown_predict(&verb->model, &rows, verb->run->arena, factors, verb->run->errors);
    if (status == ST_OK)
        note_test(verb, 0, &rows, factors);
    for (size_t k = 0; k < ST_BASELINES && status == ST_OK; k++) {
        if (st_baseline_predict((st_baseline)k, &learnt, &rows, verb->run->arena, factors) != ST_OK)
            return st_out_of_memory(verb->run->errors);
        note_test(verb, k + 1, &rows, factors);
    }
    verb->report.test = test;
    size_t outside = 0;
    for (size_t i = 0; i < test->count; i++) {
        bool inside = true;
        for (size_t j = 0; j < ST_FEATURES; j++) {
            float value = test->rows[i].features[j];
            inside = inside && !(value < verb->model.least[j] || value > verb->model.most[j]);
        }
        outside += inside ? 0 : 1;
    }
    verb->report.test_clamped = outside;
    return status;
}

/* The model to the file of --output and to the profile of --save. */
static st_status write_model(overlap_run *verb)
{
    const char *file = verb->options->output;
    st_buffer buffer = {0};
    st_buffer *text = file != NULL ? cli_make_file(verb->run, file) : &buffer;
    st_status status = st_slowdown_write(&verb->model, text, verb->run->errors);
    if (status == ST_ERR_MEMORY)
        status = st_out_of_memory(verb->run->errors);
    if (status == ST_OK && verb->options->save != NULL) {
        const st_overlap_profile profile = {.name = verb->options->save,
                                            .cluster = verb->options->cluster,
                                            .database = verb->run->common.db,
                                            .date = verb->run->today,
                                            .model = text->data};
        status = st_overlap_save(&profile, &verb->report, verb->run->arena, verb->run->errors);
    }
    st_buffer_free(&buffer);
    return status;
}

static int run_fit_overlap(cli_run *run)
{
    overlap_run verb = {.run = run, .options = run->options};
    st_status status = cli_today(run);
    if (status == ST_OK)
        status = read_tables(&verb);
    if (status == ST_OK)
        status = st_trees_open(&verb.library, run->errors);
    if (status == ST_OK) {
        const char *name = verb.options->recipe;
        const st_recipe *only = name != NULL ? st_recipe_find(name) : NULL;
        st_kernel_rows rows = {&verb.kernels, verb.rows, verb.kernels.count};
        st_status learn_status = st_slowdown_try(verb.library, &verb.kernels, only, verb.run->arena,
                                                 &verb.trials, verb.run->errors);
        if (learn_status == ST_OK)
            learn_status =
                st_slowdown_train(verb.library, &rows, verb.trials.items[verb.trials.best].recipe,
                                  verb.run->arena, &verb.model, verb.run->errors);
        if (learn_status == ST_OK)
            learn_status =
                st_slowdown_importance(&verb.model, verb.report.importance, verb.run->errors);
        status = learn_status;
    }
    if (status == ST_OK) {
        verb.report.kernels = &verb.kernels;
        verb.report.pairs = verb.options->pairs ? &verb.tally : NULL;
        verb.report.trials = &verb.trials;
        verb.report.recipe = verb.model.recipe;
        verb.report.constant =
            st_slowdown_constant(&(st_kernel_rows){&verb.kernels, verb.rows, verb.kernels.count});
        status = test_model(&verb);
    }
    if (status == ST_OK) {
        const char *svg = verb.options->svg;
        if (svg != NULL)
            st_overlap_write_svg(&verb.report, cli_make_file(verb.run, svg));
        status =
            verb.options->output != NULL || verb.options->save != NULL ? write_model(&verb) : ST_OK;
    }
    if (status == ST_OK) {
        st_result result;
        st_overlap_report_make(&verb.report, verb.run->arena, &result);
        cli_show(verb.run, &result);
    }
    st_slowdown_destroy(&verb.model);
    st_trees_close(verb.library);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_fit_overlap = {
    .name = "fit overlap",
    .arguments = "TABLE...",
    .words = {CLI_WORD_FILE, CLI_WORD_FILE},
    .summary = "learn how much communication slows concurrent kernels",
    .doc =
        "Reads kernels that were measured alone and alongside a collective, as docs/overlap.md "
        "describes the table, trains boosted trees on them with XGBoost and shows the errors on "
        "held-out kernels: once with random rows held out, once with all kernels of a name. The "
        "baselines are one constant slowdown for all kernels, no slowdown, the median by name, and "
        "the nearest kernels of the name. Kernels alongside communication, and those that took "
        "more than 1.2 times as long, are also shown separately. The recipe with the highest "
        "share of kernels within 5, 10 and 15 % is trained on "
        "all kernels.\n\n"
        "With --pairs the kernels are those of recordings: traces of Kineto, or what 'nsys export "
        "--type sqlite' wrote, of one program, without communication alongside its kernels and "
        "with it. Their kernels are matched in order. With --save a job uses the model with "
        "'refine: "
        "{plugin: overlap-xgboost, profile: NAME}'.",
    .examples = examples,
    CLI_OPTIONS(option_rows, fit_overlap_options),
    .run = run_fit_overlap,
};
