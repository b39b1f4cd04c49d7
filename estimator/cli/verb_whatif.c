/* SPDX-License-Identifier: Apache-2.0 */
/* steptime trace whatif */
#include "cli/cli.h"
#include "report/trace_replay.h"

#include <stdlib.h>

static const cli_option options[] = {
    {CLI_SET, CLI_MANY, CLI_WORD_KEY, 0, "set", "KEY=VALUE", NULL,
     "what changes: parallel.dp, parallel.pp, batch.micro_batches, model.layers, model.hidden, "
     "model.ffn, speed.CLASS, bandwidth, bandwidth.tp, bandwidth.dp, pipeline.schedule, "
     "pipeline.transfer_us; may be repeated"},
    {CLI_HAVE, CLI_MANY, CLI_WORD_KEY, 0, "have", "KEY=VALUE", NULL,
     "what the recorded job had, where the trace does not tell; may be repeated"},
    {CLI_APPROXIMATE, CLI_FLAG, CLI_WORD_NONE, 0, "approximate", NULL, NULL,
     "allow another parallel.tp: times divided by the number of shards"},
    {CLI_PARTIAL, CLI_FLAG, CLI_WORD_NONE, 0, "partial", NULL, NULL,
     "use what could be read of faulty files, and of jobs of which ranks are missing"},
    CLI_ROW_JSON,
    CLI_ROW_CSV,
    CLI_ROW_OUTPUT,
    CLI_ROW_END,
};

static const cli_example examples[] = {
    {"steptime trace whatif traces/ --set speed.gemm=2", "GEMMs twice as fast"},
    {"steptime trace whatif traces/ --set model.layers=48", "more layers; how many there are is "
                                                            "found"},
    {"steptime trace whatif traces/ --have parallel.dp=4 --set parallel.dp=16",
     "gradients over more ranks"},
    {"steptime trace whatif traces/ --have batch.micro_batches=8 --set parallel.pp=4",
     "a pipeline of four stages, its schedule built anew"},
    {NULL, NULL},
};

static int run_whatif(cli_run *run)
{
    st_trace_set *set = NULL;
    st_trace_graph *graph = NULL;
    st_trace_outcome outcome = {0};
    st_trace_change change = {.approximate = cli_is_given(run, CLI_APPROXIMATE)};
    st_trace_options reading = {.partial = cli_is_given(run, CLI_PARTIAL)};
    st_status status = cli_values(run, CLI_SET, &change.sets, &change.set_count);
    if (status == ST_OK)
        status = cli_values(run, CLI_HAVE, &change.have, &change.have_count);
    if (status == ST_OK)
        status =
            st_trace_set_read(run->arguments, run->argument_count, &reading, &set, run->errors);
    if (status == ST_OK)
        status = st_trace_graph_make(set, &graph, run->errors);
    if (status == ST_OK)
        status = st_trace_whatif(graph, &change, run->arena, &outcome, run->errors);
    if (status == ST_OK && cli_is_given(run, CLI_JSON))
        st_trace_whatif_json(set, &outcome, &run->result);
    else if (status == ST_OK && cli_is_given(run, CLI_CSV))
        st_trace_whatif_csv(set, &outcome, &run->result);
    else if (status == ST_OK)
        st_trace_whatif_text(set, &outcome, run->arena, &run->result);
    st_trace_graph_destroy(graph);
    st_trace_set_destroy(set);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_trace_whatif = {
    .name = "trace whatif",
    .arguments = "FILE|FOLDER...",
    .minimum = 1,
    .maximum = SIZE_MAX,
    .words = {CLI_WORD_FILE, CLI_WORD_FILE},
    .summary = "replay a recorded step as it would be in another job",
    .doc = "Changes the times of tasks in the graph of a recorded step and replays it: another "
           "data-parallel size, more or fewer layers, another width, faster kernels or links. For "
           "another pipeline or number of micro-batches the schedule is built anew from the passes "
           "of the replay. What was assumed is printed. docs/traces.md lists the keys. speed.CLASS "
           "is one of gemm, attention, norm, elementwise, optimizer, memory, communication, other.",
    .examples = examples,
    .options = options,
    .run = run_whatif,
};
