/* SPDX-License-Identifier: Apache-2.0 */
/* steptime trace breakdown */
#include "trace/cli/verbs.h"
#include "trace/cli/traces.h"
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
               "hide parts below this share of all GPU time", .range = "a number from 0 to 100",
               .initial = "0.5"),
    CLI_RESULT(breakdown_options, svg, "svg", "draw all levels into FILE"),
    CLI_ROW_STEPS,
    CLI_ROWS_TRACES,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime trace breakdown traces/", "by module, over all ranks"},
    {"steptime trace breakdown rank0.json.gz --by stack --svg stack.svg",
     "by Python, with a picture"},
    {"steptime trace breakdown traces/ --by annotation --steps 3", "one step by its annotations"},
    {NULL, NULL},
};

static st_status view_tree(cli_run *run, const cli_recorded *recorded, st_result *result)
{
    const breakdown_options *options = run->options;
    st_tree_limits limits = {options->depth, options->least / 100};
    st_tree tree;
    st_status status =
        st_view_tree(recorded->set, (st_tree_by)options->by, run->arena, &tree, run->errors);
    if (status != ST_OK)
        return status;
    if (options->svg != NULL)
        st_view_tree_svg(&tree, cli_make_file(run, options->svg));
    st_view_tree_result(&tree, &limits, run->arena, result);
    return ST_OK;
}

const cli_verb cli_verb_trace_breakdown = {
    .name = "trace breakdown",
    CLI_VIEWS_TRACES(CLI_TRACE_DETAILS, view_tree),
    .summary = "show GPU time by module, annotation, Python stack or operator",
    .doc = "Every kernel, copy and fill belongs to the innermost module (annotation, function, "
           "operator) that launched it; launches of the backward thread belong to the one that ran "
           "the operator forward. The parts and 'unattributed' add up to all time.",
    .examples = examples,
    .options = rows,
    .options_bytes = sizeof(breakdown_options),
};
