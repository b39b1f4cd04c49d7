/* SPDX-License-Identifier: Apache-2.0 */
/* steptime trace rank */
#include "trace/cli/verbs.h"
#include "trace/cli/traces.h"
#include "trace/trace_replay.h"

#include <float.h>

enum { MOST_TOP = 1000 };

typedef struct rank_options {
    double speed;
    uint64_t top;
} rank_options;

static const cli_option rows[] = {
    CLI_NUMBER(rank_options, speed, "speed", "FACTOR", 1 + DBL_EPSILON, 1e6,
               "how many times as fast", .range = "a number above 1, at most 1000000",
               .initial = "2"),
    CLI_COUNT(rank_options, top, "top", 0, MOST_TOP, "how many kernels to try, the longest first",
              .initial = "10"),
    CLI_ROWS_TRACES,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime trace rank traces/", "what to make faster first"},
    {"steptime trace rank rank0.json.gz --speed 1.25 --top 30", "smaller steps, more kernels"},
    {NULL, NULL},
};

static st_status view_gains(cli_run *run, const cli_recorded *recorded, st_result *result)
{
    const rank_options *options = run->options;
    st_trace_ranking ranking;
    st_status status = st_trace_rank_gains(recorded->set, options->speed, (size_t)options->top,
                                           run->arena, &ranking, run->errors);
    if (status == ST_OK)
        st_trace_ranking_result(&ranking, run->arena, result);
    return status;
}

const cli_verb cli_verb_trace_rank = {
    .name = "trace rank",
    CLI_VIEWS_TRACES(CLI_TRACE_OPERATORS, view_gains),
    .summary = "rank what shortens a recorded step most if it gets faster",
    .doc = "Runs 'trace whatif' for each class of kernels, for links, the host, launches and the "
           "longest kernels, and lists the resulting step times, the most useful first.",
    .examples = examples,
    .options = rows,
    .options_bytes = sizeof(rank_options),
};
