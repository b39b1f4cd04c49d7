/* SPDX-License-Identifier: Apache-2.0 */
/* steptime scale */
#include "cli/verbs.h"
#include "cli/explore.h"
#include "cli/ranks.h"
#include "search/scale.h"

typedef struct scale_options {
    cli_explore_options explore;
    const char *gpus;
    bool weak;
    bool strong;
    bool fixed;
} scale_options;

static const cli_option option_rows[] = {
    CLI_TEXT(scale_options, gpus, "gpus", "N,...",
             "numbers of GPUs: a list or a range such as 8..16384*2"),
    CLI_FLAG(scale_options, weak, "weak",
             "weak scaling: the batch grows with the GPUs, starting from the job's plan"),
    CLI_FLAG(scale_options, strong, "strong",
             "strong scaling: the batch stays fixed (the default for jobs with a global batch)"),
    CLI_FLAG(scale_options, fixed, "fixed",
             "keep the job's plan and add data-parallel ranks, instead of the best plan for each "
             "number"),
    CLI_ROWS_GUIDE,
    CLI_ROW_WHERE,
    CLI_ROW_THREADS,
    CLI_ROWS_JOB,
    CLI_ROWS_FORMS,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime scale gpt3-175b-64xa100 --gpus 64..1024*2 --weak",
     "the best plan for each number of GPUs; the batch grows with it"},
    {"steptime scale gpt3-175b-64xa100 --gpus 64..1024*2 --fixed --set batch.global=512",
     "the same plan with more data-parallel ranks, one batch for all"},
    {NULL, NULL},
};

static st_status read_request(cli_run *run, st_scale_request *request)
{
    const scale_options *options = run->options;
    *request = (st_scale_request){
        .weak = options->weak, .strong = options->strong, .fixed = options->fixed};
    request->search.gpus = options->gpus;
    request->search.top = 1;
    request->search.threads = cli_explore_threads(run);
    if (options->gpus == NULL)
        return cli_wrong_use(run, "'scale' requires --gpus",
                             "add --gpus N,..., such as --gpus 8..16384*2");
    if (options->weak && options->strong)
        return cli_wrong_use(run, "--weak and --strong are mutually exclusive", NULL);
    st_status status = cli_explore_request(run, &request->search.space);
    return status == ST_OK ? cli_explore_guide(run, &request->search.guide) : status;
}

static st_status study(cli_run *run)
{
    st_scale_request request;
    st_scale scale;
    st_result result;
    st_search_watch watch = {.interrupted = cli_catch_interrupts()};
    st_status status = read_request(run, &request);
    if (status == ST_OK)
        status = st_scale_run(run->paths, &request, &watch, run->arena, &scale, run->errors);
    if (status != ST_OK)
        return status;
    st_scale_put(&scale, &result, run->arena);
    cli_show(run, &result);
    run->interrupted = scale.interrupted;
    if (run->interrupted && !run->common.json)
        cli_say_partial(run, scale.count, scale.asked, &run->result);
    if (scale.interrupted)
        return st_fail(run->errors, ST_ERR_IO, (st_place){0},
                       "interrupted after %zu of %zu numbers of GPUs" ST_HINT "%s", scale.count,
                       scale.asked, cli_partial_name(run));
    if (scale.found > 0)
        return ST_OK;
    return st_fail(run->errors, ST_ERR_CHECK, (st_place){0},
                   "no plan passes all checks for any number of GPUs");
}

static int run_scale(cli_run *run)
{
    if (cli_is_other_process())
        return 0;
    st_status status = cli_paths(run);
    if (status == ST_OK)
        status = study(run);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_scale = {
    .name = "scale",
    .arguments = "JOB",
    .words = {CLI_WORD_JOB, CLI_WORD_NONE},
    .summary = "show how a job scales with the number of GPUs",
    .doc = "Shows for every number of GPUs the step time, the efficiency (sequences per second and "
           "GPU, relative to the first number), the share of exposed communication, and the cost "
           "of a million tokens. --fixed adds data-parallel ranks to the job's plan; otherwise "
           "every number of GPUs gets its best plan.",
    .examples = examples,
    CLI_OPTIONS(option_rows, scale_options),
    .run = run_scale,
};
