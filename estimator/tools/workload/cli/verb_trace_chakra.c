/* SPDX-License-Identifier: Apache-2.0 */
/* steptime trace chakra */
#include "workload/cli/verbs.h"
#include "workload/execution.h"

typedef struct chakra_options {
    const char *gpu;
    const char *cluster;
    const char *rules;
    const char *times;
    uint64_t world;
} chakra_options;

static const cli_option option_rows[] = {
    CLI_ROW_PARTIAL,
    CLI_TEXT(chakra_options, gpu, "gpu", "GPU", "price GPU work for this GPU of configs/gpus"),
    CLI_TEXT(chakra_options, cluster, "cluster", "NAME|FILE",
             "price GPU work and collectives for this cluster", .word = CLI_WORD_CLUSTER),
    CLI_COUNT(chakra_options, world, "world", 1, CLI_MOST_GIVEN,
              "ranks of groups of unknown size; default the ranks of the given files"),
    CLI_FILE(chakra_options, rules, "rules",
             "rules for the kernels of operators, in place of configs/kernels"),
    CLI_FILE(chakra_options, times, "times",
             "measured operators: a table with columns kernel and time_us"),
    CLI_ROWS_PRICES,
    CLI_ROW_JSON,
    CLI_ROW_CSV,
    CLI_ROW_OUTPUT,
    CLI_ROW_PATH,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime trace chakra et", "all ranks of a folder"},
    {"steptime trace chakra job.0.et job.1.et --json", "two ranks"},
    {"steptime trace chakra chakra.0.et --partial", "a trace that lacks nodes"},
    {"steptime trace chakra pytorch_et_rank0.json.gz --cluster dgx-h100",
     "an execution trace of PyTorch priced for a cluster"},
    {NULL, NULL},
};

/* The first option that is of prices alone; NULL where none is given. */
static const char *price_option(const cli_run *run)
{
    const chakra_options *options = run->options;
    return options->world > 0             ? "--world"
           : options->rules != NULL       ? "--rules"
           : options->times != NULL       ? "--times"
           : run->common.sets.count > 0   ? "--set"
           : run->common.refine.count > 0 ? "--refine"
                                          : NULL;
}

static st_status price(cli_run *run, st_execution_set *set, st_execution_prices *made)
{
    const chakra_options *options = run->options;
    st_prices *prices = NULL;
    const st_prices_request request = {.gpu = options->gpu,
                                       .cluster = options->cluster,
                                       .rules = options->rules,
                                       .times = options->times,
                                       .sets = run->common.sets.items,
                                       .set_count = run->common.sets.count,
                                       .refine = run->common.refine.items,
                                       .refine_count = run->common.refine.count};
    st_status status = cli_paths(run);
    if (status == ST_OK)
        status = st_prices_open(run->paths, &request, run->arena, &prices, run->errors);
    if (status == ST_OK)
        status = st_execution_price(set, prices, options->world, run->arena, made, run->errors);
    made->device = options->gpu != NULL ? options->gpu : options->cluster;
    return status;
}

static int run_replay(cli_run *run)
{
    const chakra_options *options = run->options;
    bool priced = options->gpu != NULL || options->cluster != NULL;
    const char *only_priced = priced ? NULL : price_option(run);
    st_execution_set set = {0};
    st_execution_prices made = {0};
    st_execution_replay replay = {0};
    if (only_priced != NULL)
        return cli_exit_code(
            run,
            cli_wrong_use(
                run, st_errors_text(run->errors, "%s requires --gpu or --cluster", only_priced),
                "without them durations come from the files"));
    st_status status = st_execution_read_files(run->arguments, run->argument_count,
                                               run->common.partial, run->arena, &set, run->errors);
    if (status == ST_OK)
        status = priced ? price(run, &set, &made) : ST_OK;
    for (size_t i = 0; i < set.count && !priced && status == ST_OK; i++)
        if (set.ranks[i].needs_prices)
            status = st_fail(run->errors, ST_ERR_USAGE, (st_place){.file = set.ranks[i].file},
                             "execution traces of PyTorch have no durations" ST_HINT
                             "price their operators with --gpu or --cluster");
    if (status == ST_OK)
        status = st_execution_replay_make(&set, run->arena, &replay, run->errors);
    if (status == ST_OK) {
        st_result result;
        st_execution_report(&replay, priced ? &made : NULL, run->arena, &result);
        cli_show(run, &result);
    }
    st_execution_replay_free(&replay);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_trace_chakra = {
    .name = "trace chakra",
    .arguments = "FILE|FOLDER...",
    .words = {CLI_WORD_FILE, CLI_WORD_FILE},
    .summary = "replay execution traces of Chakra and PyTorch, also priced for a GPU",
    .doc = "Reads NAME.RANK.et of Chakra and the JSON of PyTorch's ExecutionTraceObserver, one "
           "file per rank, and schedules the nodes by their dependencies: a rank computes one node "
           "at a time, messages of a group follow each other, a collective begins with its last "
           "rank, a receive waits for its send.\n\n"
           "--gpu or --cluster prices GPU work: operators by the shapes of their "
           "tensors, nodes of Chakra without a duration by their operations and bytes, collectives "
           "by a plugin. Execution traces of PyTorch have no durations and need one of them.\n\n"
           "--partial ignores dependencies on nodes that a file lacks, as PyTorch's converter "
           "writes them.",
    .examples = examples,
    CLI_OPTIONS(option_rows, chakra_options),
    .run = run_replay,
};
