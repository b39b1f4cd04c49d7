/* SPDX-License-Identifier: Apache-2.0 */
/* steptime timeline */
#include "cli/verbs.h"
#include "cli/job_from_options.h"
#include "timeline/timeline_request.h"
#include "timeline/nic.h"
#include "timeline/timeline.h"
#include "schedule/perfetto.h"

enum { RANKS_STAGES, RANKS_ALL };
enum { BINS = 240 }; /* of the bytes over time */

typedef struct timeline_options {
    const char *schedule;
    cli_texts settings;
    unsigned ranks;
    unsigned detail;
    const char *strategy;
    const char *perfetto;
    const char *svg;
    bool memory;
    bool nic;
    uint64_t bins;
    cli_texts slow;
    const char *jitter;
    uint64_t samples;
    uint64_t seed;
} timeline_options;

static const cli_option option_rows[] = {
    CLI_ROWS_SCHEDULE(timeline_options),
    CLI_FILE(timeline_options, strategy, "strategy",
             "a plan by stage, devices, layers and order of passes, instead of the job's plan"),
    CLI_CHOICE(timeline_options, ranks, "ranks", "WHICH", "stages all",
               "one rank of each stage, which represents the others, or every rank"),
    CLI_RESULT(timeline_options, perfetto, "perfetto",
               "write the tasks to FILE, for ui.perfetto.dev"),
    CLI_RESULT(timeline_options, svg, "svg", "draw the schedule into FILE"),
    CLI_FLAG(timeline_options, memory, "memory",
             "show the memory of every stage during the step instead of times; --svg draws it"),
    CLI_FLAG(
        timeline_options, nic, "nic",
        "show the bytes that leave each node during the step instead of times; --svg draws them"),
    CLI_COUNT(timeline_options, bins, "bins", 1, ST_NIC_MOST_BINS,
              "number of intervals of --nic (default: 240)"),
    CLI_TEXTS(timeline_options, slow, "slow", "WHO=FACTOR",
              "slow down the computation of a rank or node, or the messages of a group, by a "
              "factor: rank:17, node:3, links:dp; may be repeated"),
    CLI_TEXT(
        timeline_options, jitter, "jitter", "KIND:SPREAD",
        "random variation of ranks from step to step (normal, lognormal, uniform or exponential) "
        "with this relative standard deviation: variance.distribution and variance.jitter"),
    CLI_COUNT(timeline_options, samples, "samples", 1, CLI_MOST_GIVEN,
              "number of steps with jitter (default: 1000)"),
    CLI_COUNT(timeline_options, seed, "seed", 1, UINT32_MAX,
              "seed of the random steps (default: 1)"),
    CLI_ROWS_PLAN,
    CLI_ROWS_FORMS,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime timeline gpt3-175b-1024xa100", "the step as tasks, compared with the closed form"},
    {"steptime timeline gpt3-175b-1024xa100 --schedule zero_bubble --svg step.svg",
     "draw another schedule"},
    {"steptime timeline gpt3-175b-1024xa100 --schedule breadth-first",
     "use the schedule of a plugin"},
    {"steptime timeline gpt2-128xa100 --svg buckets.svg",
     "buckets of gradients alongside the backward pass"},
    {"steptime timeline gpt-3b-32x3090 --perfetto step.json", "a trace for ui.perfetto.dev"},
    {"steptime timeline gpt3-175b-1024xa100 --ranks all --csv", "where every rank's time goes"},
    {"steptime timeline gpt3-175b-1024xa100 --memory --svg memory.svg",
     "memory of every stage during the step"},
    {"steptime timeline gpt-3b-32x3090 --nic --svg nic.svg", "when nodes send to each other"},
    {"steptime timeline gpt3-175b-1024xa100 --slow rank:17=1.385", "one rank is slow"},
    {"steptime timeline gpt3-175b-1024xa100 --jitter lognormal:0.05 --samples 1000 --seed 2385",
     "the distribution of step times with variation between ranks"},
    {NULL, NULL},
};

/* What was laid out of a job. */
typedef struct timeline_made {
    st_estimate estimate;
    st_timeline timeline;
    st_timeline_memory memory; /* with --memory */
    st_nic_usage nic;          /* with --nic */
    st_variance variance;      /* with --slow or --jitter */
} timeline_made;

static st_status write_files(cli_run *run, const timeline_made *made)
{
    const timeline_options *options = run->options;
    st_status status = ST_OK;
    if (options->perfetto != NULL)
        status = st_perfetto_write(made->timeline.replay, (int64_t)(ST_TICKS_PER_S / 1e9),
                                   cli_make_file(run, options->perfetto), run->errors);
    if (status != ST_OK || options->svg == NULL)
        return status;
    st_buffer *picture = cli_make_file(run, options->svg);
    if (options->memory)
        return st_timeline_memory_write_svg(&made->memory, picture, run->errors);
    if (!options->nic)
        return st_timeline_write_svg(&made->timeline, picture, run->errors);
    st_nic_svg(&made->nic, picture);
    return ST_OK;
}

/* Whether ranks that are not alike are asked for. */
static bool varies(const timeline_options *options)
{
    return options->slow.count > 0 || options->jitter != NULL || options->samples > 0;
}

static st_status lay_out(cli_run *run, timeline_made *made)
{
    const timeline_options *options = run->options;
    st_timeline_plan plan = {0};
    st_timeline_request request = {.job = cli_request(run),
                                   .schedule = options->schedule,
                                   .settings = options->settings.items,
                                   .setting_count = options->settings.count,
                                   .layers = options->detail != 0,
                                   .jitter = options->jitter,
                                   .strategy = options->strategy};
    st_status status = ST_OK;
    const char *other = options->memory               ? "--memory"
                        : options->nic                ? "--nic"
                        : options->ranks == RANKS_ALL ? "--ranks all"
                        : options->svg != NULL        ? "--svg"
                        : options->perfetto != NULL   ? "--perfetto"
                                                      : NULL;
    if (options->bins > 0 && !options->nic) {
        status = st_fail(run->errors, ST_ERR_USAGE, (st_place){0}, "--bins requires --nic");
    } else if (options->nic && options->memory) {
        status = st_fail(run->errors, ST_ERR_USAGE, (st_place){0},
                         "--memory and --nic are mutually exclusive" ST_EXPECTED "one of them");
    } else if (varies(options) && other != NULL) {
        status = st_fail(run->errors, ST_ERR_USAGE, (st_place){.file = other},
                         "shows a single step of identical ranks" ST_EXPECTED
                         "no --slow, --jitter or --samples with it");
    }
    if (status == ST_OK)
        status = cli_paths(run);
    request.paths = run->paths;
    if (status == ST_OK)
        status = st_timeline_load(&request, run->arena, &made->estimate, &plan, run->errors);
    if (status == ST_OK)
        status = st_timeline_make(&plan, options->ranks == RANKS_ALL, run->arena, &made->timeline,
                                  run->errors);
    return status;
}

static int run_timeline(cli_run *run)
{
    timeline_made made = {0};
    const timeline_options *options = run->options;
    st_status status = lay_out(run, &made);
    if (status == ST_OK) {
        /* Outputs other than the step itself. */
        const st_variance_wish wish = {.slow = options->slow.items,
                                       .slow_count = options->slow.count,
                                       .samples = options->samples > 0 ? options->samples : 1000,
                                       .seed = options->seed > 0 ? options->seed : 1};
        if (options->memory)
            status = st_timeline_memory_make(&made.estimate, &made.timeline, run->arena,
                                             &made.memory, run->errors);
        else if (options->nic)
            status = st_nic_usage_make(&made.estimate, &made.timeline,
                                       options->bins > 0 ? options->bins : BINS, run->arena,
                                       &made.nic, run->errors);
        else
            status = varies(options) ? st_variance_make(&made.estimate, &made.timeline, &wish,
                                                        run->arena, &made.variance, run->errors)
                                     : ST_OK;
    }
    if (status == ST_OK)
        status = write_files(run, &made);
    if (status == ST_OK) {
        st_result result;
        if (options->memory)
            st_timeline_memory_report(&made.memory, run->arena, &result);
        else if (options->nic)
            st_nic_report(&made.nic, run->arena, &result);
        else if (varies(options))
            st_variance_report(&made.variance, run->arena, &result);
        else
            st_timeline_report(&made.timeline, run->arena, &result);
        cli_show(run, &result);
    }
    st_timeline_free(&made.timeline);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_timeline = {
    .name = "timeline",
    .arguments = "JOB",
    .words = {CLI_WORD_JOB, CLI_WORD_NONE},
    .summary = "replay the step of a job as tasks of its schedule",
    .doc = "Builds the tasks of one step from the job's pipeline schedule, with durations from the "
           "sheet's cells, and replays them. Shows step time, bubble, the time of every stage, the "
           "critical path, exposed and hidden communication, the overlap slowdown, and the "
           "differences from the closed form with their causes.\n\n"
           "One rank of each stage represents all ranks that do the same work; --ranks all expands "
           "them.",
    .examples = examples,
    CLI_OPTIONS(option_rows, timeline_options),
    .run = run_timeline,
};
