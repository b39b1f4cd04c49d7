/* SPDX-License-Identifier: Apache-2.0 */
/* steptime fit ratios */
#include "fit/cli/verbs.h"

#include "kernel-times/fit/ratios.h"
#include "fit/steps/accuracy.h"

#include <math.h>
#include <string.h>

typedef struct fit_ratios_options {
    cli_texts onto;
    const char *gpu;
    const char *onto_gpu;
    const char *output;
} fit_ratios_options;

static const cli_option option_rows[] = {
    CLI_TEXTS(fit_ratios_options, onto, "onto", "TABLE",
              "layer times on the other GPU; may be repeated", .word = CLI_WORD_FILE),
    CLI_TEXT(fit_ratios_options, gpu, "gpu", "NAME",
             "the GPU of the first tables, if they do not name it"),
    CLI_TEXT(fit_ratios_options, onto_gpu, "onto-gpu", "NAME",
             "the GPU of the tables of --onto, if they do not name it"),
    CLI_RESULT(fit_ratios_options, output, "output",
               "write the ratios to FILE, for 'steptime trace whatif --ratios FILE'",
               .letter = 'o'),
    CLI_ROW_JSON,
    CLI_ROW_PATH,
    CLI_ROW_COLOR,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime fit ratios a100.csv --gpu a100-sxm-80gb --onto h100.csv --onto-gpu h100-sxm -o "
     "a100-h100.csv",
     "speed-up of kernels on another GPU, by class and duration"},
    {NULL, NULL},
};

typedef struct ratios_run {
    cli_run *run;
    st_time_sets *from;
    st_time_sets *to;
    st_ratios_kernels kernels;
    st_ratios *ratios;
    st_ratios_tests tests;
} ratios_run;

static st_status read_tables(cli_run *run, const char *const *files, size_t count, const char *gpu,
                             st_time_sets **sets)
{
    st_status status = ST_OK;
    *sets = st_arena_alloc(run->arena, 1, sizeof **sets);
    if (*sets == NULL)
        return st_out_of_memory(run->errors);
    for (size_t i = 0; i < count && status == ST_OK; i++)
        status = st_time_file_read(files[i], run->paths, gpu, run->arena, *sets, run->errors);
    return status;
}

static st_status learn(ratios_run *verb)
{
    cli_run *run = verb->run;
    st_status status =
        st_ratios_match(verb->from, verb->to, run->arena, &verb->kernels, run->errors);
    verb->ratios = st_arena_alloc(run->arena, 1, sizeof *verb->ratios);
    if (verb->ratios == NULL)
        return st_out_of_memory(run->errors);
    if (status == ST_OK)
        status = st_ratios_try(&verb->kernels, verb->from, verb->to, run->arena, &verb->tests,
                               run->errors);
    if (status != ST_OK)
        return status;
    verb->ratios->from = verb->from->gpu;
    verb->ratios->to = verb->to->gpu;
    return st_ratios_learn(&verb->kernels, SIZE_MAX, false, run->arena, verb->ratios) == ST_OK
               ? ST_OK
               : st_out_of_memory(run->errors);
}

/* ---- the report ---- */

static void put_classes(const ratios_run *verb, st_node *root)
{
    st_node *list = st_put_list(root, "classes");
    for (st_trace_class class_ = 0; class_ < ST_TRACE_CLASSES; class_++) {
        size_t count = verb->ratios->counts[class_];
        const st_ratios_point *points = verb->ratios->points[class_];
        if (count == 0)
            continue;
        const char *name = st_trace_class_name(class_);
        st_node *map = st_put_map(list, NULL);
        st_put_text(map, "class", name);
        st_node *put = st_put_list(map, "points");
        for (size_t i = 0; i < count; i++) {
            st_node *point = st_put_line_map(put, NULL);
            st_put_number(point, "from_s", points[i].from_s);
            st_put_number(point, "ratio", points[i].ratio);
        }
        st_say(root, "  %-12s %6.4g us: %.3f of the time ... %6.4g us: %.3f\n", name,
               1e6 * points[0].from_s, points[0].ratio, 1e6 * points[count - 1].from_s,
               points[count - 1].ratio);
    }
}

static const char *const way_keys[ST_RATIOS_WAYS] = {"data_sheets", "one_ratio", "by_duration"};

static const st_table_column columns[] = {{.title = "left out", .ink = ST_INK_NAME},
                                          ST_COLUMN_NUMBER("number"),
                                          ST_COLUMN_SHARE("data sheets", 1),
                                          ST_COLUMN_SHARE("one ratio a class", 1),
                                          ST_COLUMN_SHARE("by duration", 1)};

static st_node *put_errors(const char *key, const st_error_summary *errors, st_node *test)
{
    st_node *map = st_put_map(test, key);
    for (size_t i = 0; i < ST_RATIOS_WAYS; i++)
        st_error_summary_put(st_put_line_map(map, way_keys[i]), &errors[i]);
    return map;
}

static void show_errors(const char *name, size_t count, st_node *row, st_table *table)
{
    st_put_text(row, ".name", name);
    st_put_count(row, ".count", count);
    st_table_show(table, row,
                  ".name,.count,data_sheets/mean_absolute,one_ratio/mean_absolute,"
                  "by_duration/mean_absolute");
}

static int run_fit_ratios(cli_run *run)
{
    const fit_ratios_options *options = run->options;
    ratios_run verb = {.run = run};
    st_status status = cli_paths(run);
    if (status == ST_OK && options->onto.count == 0)
        status = cli_wrong_use(run, "missing times on another GPU", "give a table with --onto");
    if (status == ST_OK)
        status = read_tables(run, run->arguments, run->argument_count, options->gpu, &verb.from);
    if (status == ST_OK)
        status =
            read_tables(run, options->onto.items, options->onto.count, options->onto_gpu, &verb.to);
    if (status == ST_OK) {
        if (verb.from->gpu == NULL || verb.to->gpu == NULL) {
            status =
                st_fail(verb.run->errors, ST_ERR_USAGE, (st_place){0},
                        "the tables do not name their GPU" ST_HINT "give --gpu and --onto-gpu");
        } else {
            status = strcmp(verb.from->gpu, verb.to->gpu) != 0
                         ? ST_OK
                         : st_fail(verb.run->errors, ST_ERR_USAGE, (st_place){.file = "--onto"},
                                   "both tables are of the same GPU" ST_FOUND "%s", verb.to->gpu);
        }
    }
    if (status == ST_OK)
        status = learn(&verb);
    if (status == ST_OK && options->output != NULL)
        st_ratios_write(verb.ratios, cli_make_file(run, options->output));
    if (status == ST_OK) {
        st_result result;
        st_node *root = st_result_begin(&result, verb.run->arena);
        st_put_text(root, "from", verb.from->gpu);
        st_put_text(root, "to", verb.to->gpu);
        st_put_count(root, "kernels", verb.kernels.count);
        st_put_count(root, "without_counterpart", verb.kernels.unlike);
        st_say(root, "kernels of %s on %s: %zu measured on both, %zu on the first alone\n",
               verb.from->gpu, verb.to->gpu, verb.kernels.count, verb.kernels.unlike);
        put_classes(&verb, root);
        st_node *list = st_put_list(root, "left_out");
        if (verb.tests.count == 0)
            st_say(root, "only one model on %s: nothing can be left out\n", verb.to->gpu);
        st_table *table =
            verb.tests.count > 0 ? st_say_table(root, columns, ST_COUNT(columns), 2) : NULL;
        for (size_t i = 0; i < verb.tests.count; i++) {
            const st_ratios_test *test = &verb.tests.items[i];
            st_node *map = st_put_map(list, NULL);
            st_put_text(map, "name", test->name);
            st_put_count(map, "kernels", test->kernels);
            st_put_count(map, "layers", test->layers);
            st_node *each = put_errors("each_kernel", test->each, map);
            st_node *sum = put_errors("sum_of_layer", test->sums, map);
            show_errors(st_arena_printf(verb.run->arena, "%s, each kernel", test->name),
                        test->kernels, each, table);
            show_errors(st_arena_printf(verb.run->arena, "%s, sum of a layer", test->name),
                        test->layers, sum, table);
        }
        cli_show(verb.run, &result);
    }
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_fit_ratios = {
    .name = "fit ratios",
    .arguments = "TABLE...",
    .words = {CLI_WORD_FILE, CLI_WORD_FILE},
    .summary = "fit how long kernels of one GPU take on another, for traces",
    .doc =
        "Reads times of the pieces of layers, measured on two GPUs, as 'steptime fit kernels' "
        "does, and matches pieces of the same sizes across models. 'steptime trace whatif --ratios "
        "FILE' multiplies the kernels of a trace by the ratio of both times, which depends on the "
        "kernel's class and its duration on the first GPU. Shows the errors for models of the "
        "second GPU that were left out, next to two baselines: ratios of data sheets (peak rates "
        "for products, memory bandwidths for all else), and one ratio for each class.",
    .examples = examples,
    CLI_OPTIONS(option_rows, fit_ratios_options),
    .run = run_fit_ratios,
};
