/* SPDX-License-Identifier: Apache-2.0 */
/* steptime trace rank */
#include "cli/cli.h"
#include "trace/trace_replay.h"

#include <float.h>

enum { MOST_TOP = 1000 };

typedef struct rank_options {
    double speed;
    uint64_t top;
} rank_options;

static const cli_option rows[] = {
    CLI_NUMBER(rank_options, speed, "speed", "FACTOR", 1 + DBL_EPSILON, 1e6,
               "so many times as fast", .range = "a number above 1, at most 1000000",
               .initial = "2"),
    CLI_COUNT(rank_options, top, "top", 0, MOST_TOP, "how many kernels to try, the longest first",
              .initial = "10"),
    CLI_ROW_PARTIAL,
    CLI_ROW_JSON,
    CLI_ROW_CSV,
    CLI_ROW_OUTPUT,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime trace rank traces/", "what to make faster first"},
    {"steptime trace rank rank0.json.gz --speed 1.25 --top 30", "smaller steps, more kernels"},
    {NULL, NULL},
};

static int run_rank(cli_run *run)
{
    const rank_options *options = run->options;
    st_trace_set *set = NULL;
    st_trace_ranking ranking;
    st_trace_options reading = {.partial = run->common.partial};
    st_status status =
        st_trace_set_read(run->arguments, run->argument_count, &reading, &set, run->errors);
    if (status == ST_OK)
        status = st_trace_rank_gains(set, options->speed, (size_t)options->top, run->arena,
                                     &ranking, run->errors);
    if (status == ST_OK) {
        st_result result;
        st_trace_ranking_result(&ranking, run->arena, &result);
        cli_show(run, &result);
    }
    st_trace_set_destroy(set);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_trace_rank = {
    .name = "trace rank",
    .arguments = "FILE|FOLDER...",
    .minimum = 1,
    .maximum = SIZE_MAX,
    .words = {CLI_WORD_FILE, CLI_WORD_FILE},
    .summary = "rank what shortens a recorded step most if it gets faster",
    .doc =
        "Asks 'trace whatif' of each class of kernels, of links, of the host, of launches and of "
        "the longest kernels, and lists what is left of the step, the most useful first.",
    .examples = examples,
    .options = rows,
    .options_bytes = sizeof(rank_options),
    .run = run_rank,
};
