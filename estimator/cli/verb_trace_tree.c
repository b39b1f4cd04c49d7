/* SPDX-License-Identifier: Apache-2.0 */
/* steptime trace breakdown */
#include "cli/traces.h"
#include "trace/view_tree.h"

typedef struct breakdown_options {
    unsigned by;
    uint64_t depth;
    double least;
    const char *svg;
} breakdown_options;

static const cli_option rows[] = {
    CLI_CHOICE(breakdown_options, by, "by", "WHAT", ST_TREE_WORDS,
               "module (nn.Module), annotation (record_function), stack (functions of Python) or "
               "operator"),
    CLI_COUNT(breakdown_options, depth, "depth", 0, 4096, "how many levels to show, 0 for all",
              .initial = "4"),
    CLI_NUMBER(breakdown_options, least, "least", "PERCENT", 0, 100,
               "leave out what is less of all GPU time", .range = "a number from 0 to 100",
               .initial = "0.5"),
    CLI_RESULT(breakdown_options, svg, "svg", "draw all levels into FILE"),
    CLI_ROW_STEPS,
    CLI_ROW_PARTIAL,
    CLI_ROW_JSON,
    CLI_ROW_CSV,
    CLI_ROW_OUTPUT,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime trace breakdown traces/", "by module, over all ranks"},
    {"steptime trace breakdown rank0.json.gz --by stack --svg stack.svg",
     "by Python, with a picture"},
    {"steptime trace breakdown traces/ --by annotation --steps 3", "one step by its annotations"},
    {NULL, NULL},
};

static int run_breakdown(cli_run *run)
{
    const breakdown_options *options = run->options;
    st_tree_limits limits = {options->depth, options->least / 100};
    st_trace_set *set = NULL;
    st_tree tree;
    st_buffer svg = {0};
    st_status status = cli_read_details(run, &set);
    if (status == ST_OK)
        status = st_view_tree(set, (st_tree_by)options->by, run->arena, &tree, run->errors);
    if (status == ST_OK && options->svg != NULL) {
        st_view_tree_svg(&tree, &svg);
        status = cli_write_file(run, options->svg, &svg);
    }
    if (status == ST_OK) {
        st_result result;
        st_view_tree_result(&tree, &limits, run->arena, &result);
        cli_show(run, &result);
    }
    st_buffer_free(&svg);
    st_trace_set_destroy(set);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_trace_breakdown = {
    .name = "trace breakdown",
    .arguments = "FILE|FOLDER...",
    .minimum = 1,
    .maximum = SIZE_MAX,
    .words = {CLI_WORD_FILE, CLI_WORD_FILE},
    .summary = "show GPU time by module, annotation, Python stack or operator",
    .doc = "Every kernel, copy and fill belongs to the innermost module (annotation, function, "
           "operator) in which it was launched; what the backward thread launches belongs to the "
           "one that ran the operator forward. Parts and what is unattributed add up to all time.",
    .examples = examples,
    .options = rows,
    .options_bytes = sizeof(breakdown_options),
    .run = run_breakdown,
};
