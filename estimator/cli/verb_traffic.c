/* SPDX-License-Identifier: Apache-2.0 */
/* steptime traffic */
#include "cli/verbs.h"
#include "cli/job_from_options.h"
#include "estimate/messages.h"
#include "estimate/traffic.h"

#include <string.h>

typedef struct traffic_options {
    const char *by;
    const char *tokens;
    const char *svg;
    bool linear;
    bool messages;
} traffic_options;

static const cli_option option_rows[] = {
    CLI_WORD(traffic_options, by, "by", "KIND", "tp cp ep dp pp emb expert_dp",
             "show one kind of traffic only"),
    CLI_FILE(traffic_options, tokens, "tokens",
             "send tokens to experts by the shares in FILE instead of model.imbalance; FILE is a "
             "CSV table of expert,share or rank,share or source,target,share, for several "
             "iterations with a column iteration"),
    CLI_RESULT(traffic_options, svg, "svg", "draw the heat map of traffic between ranks into FILE"),
    CLI_FLAG(traffic_options, linear, "linear",
             "use a linear colour scale instead of a logarithmic one"),
    CLI_FLAG(traffic_options, messages, "messages",
             "also show the messages of a rank of stage parallel.stage, with the number of "
             "messages by size"),
    CLI_ROW_SHEET,
    CLI_ROW_SET,
    CLI_ROW_DB,
    CLI_ROW_CHECK,
    CLI_ROW_QUIET,
    CLI_ROWS_FORMS,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime traffic gpt-3b-32x3090", "groups on nodes and their traffic"},
    {"steptime traffic gpt-3b-32x3090 --set parallel.order=tp-pp-dp --svg map.svg",
     "the heat map under another placement"},
    {"steptime traffic gpt-3b-32x3090 --by dp --csv", "one row per pair of ranks"},
    {"steptime traffic vgg16-32x3090 --messages", "the messages of a step by size"},
    {"steptime traffic mixtral-8x7b-64xh100 --tokens shares.csv --svg map.svg",
     "tokens as a router distributed them"},
    {NULL, NULL},
};

static st_group wanted_group(const cli_run *run)
{
    const traffic_options *options = run->options;
    const char *name = options->by;
    st_group group = ST_GROUP_TP;
    while (name != NULL && group < ST_GROUPS && strcmp(name, st_group_name(group)) != 0)
        group++;
    return name == NULL ? ST_GROUPS : group;
}

static int run_traffic(cli_run *run)
{
    const traffic_options *options = run->options;
    st_estimate estimate = {0};
    st_traffic_report report;
    st_messages messages = {0};
    st_status status = cli_paths(run);
    if (status == ST_OK)
        status = cli_load_job(run, &estimate);
    if (status == ST_OK && options->messages)
        status = st_messages_make(&estimate, run->arena, &messages, run->errors);
    if (status == ST_OK)
        status =
            st_traffic_report_make(&estimate, wanted_group(run), run->arena, &report, run->errors);
    if (status == ST_OK && options->tokens != NULL)
        status = st_traffic_report_send_tokens(&report, options->tokens, run->arena, run->errors);
    if (status == ST_OK && options->svg != NULL)
        status = st_traffic_report_svg(&report, options->linear, run->arena,
                                       cli_make_file(run, options->svg), run->errors);
    if (status == ST_OK) {
        st_result result;
        if (run->common.csv && !options->messages) {
            st_traffic_flows_csv(&report, &run->result);
        } else {
            st_traffic_result(&report, run->arena, &result);
            if (options->messages)
                st_messages_result(&messages, &result);
            cli_show(run, &result);
        }
    }
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_traffic = {
    .name = "traffic",
    .arguments = "JOB",
    .words = {CLI_WORD_JOB, CLI_WORD_NONE},
    .summary = "show the traffic between the ranks of a job",
    .doc = "Places the job's ranks on nodes by parallel.order and shows for every kind of group "
           "its shape, the number of groups that share a node's network cards, and the bytes sent "
           "in a step. Volumes come from the sheet, stage by stage; expert parallelism regroups "
           "the ranks of a stage as Megatron-Core does.",
    .examples = examples,
    CLI_OPTIONS(option_rows, traffic_options),
    .run = run_traffic,
};
