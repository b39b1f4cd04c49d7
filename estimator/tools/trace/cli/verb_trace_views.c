/* SPDX-License-Identifier: Apache-2.0 */
/* steptime trace idle, trace kernels, trace collectives */
#include "trace/cli/verbs.h"
#include "trace/cli/traces.h"
#include "trace/link.h"
#include "trace/view.h"

enum { MOST_TOP = 100000 };

typedef struct kernels_options {
    uint64_t top;
    bool full_names;
} kernels_options;

static const cli_option view_rows[] = {
    CLI_ROW_STEPS,
    CLI_ROWS_TRACES,
    CLI_END,
};

static const cli_option kernels_rows[] = {
    CLI_COUNT(kernels_options, top, "top", 1, MOST_TOP, "how many kernels to list, the longest",
              .initial = "20"),
    CLI_ROW_FULL_NAMES(kernels_options),
    CLI_ROW_STEPS,
    CLI_ROWS_TRACES,
    CLI_END,
};

static const cli_example idle_examples[] = {
    {"steptime trace idle rank0.json.gz", "why the GPU and its streams are idle"},
    {"steptime trace idle traces/ --steps 2..4", "only in steps 2 to 4 of each rank"},
    {NULL, NULL},
};

static const cli_example kernels_examples[] = {
    {"steptime trace kernels traces/ --top 50", "the 50 longest over all ranks"},
    {"steptime trace kernels rank0.json.gz --csv -o kernels.csv", "for a spreadsheet"},
    {NULL, NULL},
};

static const cli_example collectives_examples[] = {
    {"steptime trace collectives traces/", "bandwidths, and which ranks the others wait for"},
    {NULL, NULL},
};

static st_status view_idle(cli_run *run, const cli_recorded *recorded, st_result *result)
{
    st_idle_rank *ranks = NULL;
    st_view_idle(recorded->set, run->arena, &ranks);
    st_status status = ST_OK;
    for (size_t i = 0; i < recorded->set->count && status == ST_OK; i++)
        if (ranks[i].stream_count == 0)
            status = st_fail(run->errors, ST_ERR_VALUE, (st_place){.file = ranks[i].trace->file},
                             "the trace has no GPU work" ST_EXPECTED "kernels, copies or fills");
    if (status == ST_OK)
        st_view_idle_result(ranks, recorded->set->count, run->arena, result);
    return status;
}

static st_status ask_view(cli_run *run, const char *name, const st_sql_value *values, size_t count,
                          const cli_recorded *recorded, st_result *result)
{
    st_sql_question question = {.is_view = true, .values = values, .value_count = count};
    st_status status = cli_read_view(run, name, &question.text);
    if (status == ST_OK)
        status = st_sql_ask(&question, recorded->set, run->arena, result, run->errors);
    return status;
}

static st_status view_kernels(cli_run *run, const cli_recorded *recorded, st_result *result)
{
    const kernels_options *options = run->options;
    const st_sql_value values[] = {{":top", (int64_t)options->top},
                                   {":full_names", options->full_names}};
    return ask_view(run, "kernels", values, ST_COUNT(values), recorded, result);
}

static st_status view_collectives(cli_run *run, const cli_recorded *recorded, st_result *result)
{
    const st_trace_set *set = recorded->set;
    for (size_t r = 0; r < set->count; r++)
        for (size_t i = 0; i < set->ranks[r]->event_count; i++)
            if (st_trace_is_gpu(&set->ranks[r]->events[i]) &&
                set->ranks[r]->events[i].class_ == ST_TRACE_COMMUNICATION)
                return ask_view(run, "collectives", NULL, 0, recorded, result);
    return st_fail(run->errors, ST_ERR_VALUE, (st_place){.file = set->ranks[0]->file},
                   "the trace has no collectives" ST_EXPECTED
                   "kernels of NCCL or RCCL, as ranks of a job run them");
}

const cli_verb cli_verb_trace_idle = {
    .name = "trace idle",
    CLI_VIEWS_TRACES(CLI_TRACE_CALLS, view_idle),
    .summary = "show why a GPU was idle, and how far the host was ahead",
    .doc =
        "Divides the idle time of each rank's GPU, and of each of its streams, by cause: nothing "
        "was launched (host-bound), nothing was launched because the host had waited for the "
        "GPU (sync), a task waited for another stream (dependency) or for a collective "
        "(communication), or was on its way (launch). Causes add up to the idle time. Queue "
        "lengths and launch delays follow.",
    .examples = idle_examples,
    .options = view_rows,
};

const cli_verb cli_verb_trace_kernels = {
    .name = "trace kernels",
    CLI_VIEWS_TRACES(CLI_TRACE_CALLS, view_kernels),
    .summary = "list the kernels of a recorded step, over all ranks",
    .doc =
        "Number, total, mean, least and most time of each kernel, copy and fill by its full name, "
        "and on which rank it takes longest.",
    .examples = kernels_examples,
    .options = kernels_rows,
    .options_bytes = sizeof(kernels_options),
};

const cli_verb cli_verb_trace_collectives = {
    .name = "trace collectives",
    CLI_VIEWS_TRACES(CLI_TRACE_CALLS, view_collectives),
    .summary = "list the collectives of a recorded step, and late ranks",
    .doc = "Collectives by kind, group and message: how long their kernels last, the transfer from "
           "the arrival of the last rank on with its algorithm and bus bandwidth (as nccl-tests "
           "count them), and the skew between the first and the last arrival. Ranks follow, sorted "
           "by how much they delay all others. Values that the traces lack are 'unknown'.",
    .examples = collectives_examples,
    .options = view_rows,
};
