/* SPDX-License-Identifier: Apache-2.0 */
/* steptime trace import */
#include "record/cli/verbs.h"

#include "record/cli/quantity_option.h"
#include "record/price/imported.h"
#include "steptime/keys.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_FILES = 65536 };

typedef struct import_options {
    const char *gpu;
    const char *cluster;
    const char *rules;
    const char *times;
    const char *costs;
    const char *gap;
    const char *traces;
    const char *step;
    const char *job;
    uint64_t world;
    bool each;
} import_options;

static const cli_option option_rows[] = {
    CLI_TEXT(import_options, gpu, "gpu", "GPU",
             "price for this GPU of configs/gpus; default: the recorded GPU"),
    CLI_TEXT(import_options, cluster, "cluster", "NAME|FILE",
             "price for this cluster, including its network", .word = CLI_WORD_CLUSTER),
    CLI_COUNT(import_options, world, "world", 1, CLI_MOST_GIVEN,
              "total number of ranks; default: as in the logs"),
    CLI_TEXT(import_options, gap, "gap", "TIME",
             "time between two calls of a thread, such as \"5us\"; default: as recorded"),
    CLI_FILE(import_options, costs, "costs",
             "host cost of calls: a table with columns call and time_us, or a PyTorch profiler "
             "recording to learn them from"),
    CLI_TEXT(import_options, step, "step", "KERNEL",
             "kernels that end a step or NVTX ranges that begin it, such as \"adamw*\"; default: "
             "ranges of steps or iterations, else optimizers, else sums of gradients"),
    CLI_FILE(import_options, rules, "rules", "kernel rules that replace those of configs/kernels"),
    CLI_FILE(import_options, times, "times",
             "measured kernel times: a table with columns kernel and time_us"),
    CLI_TEXT(import_options, job, "job", "JOB",
             "compare the step with the estimate of this job, by part, instead of the one that the "
             "recording shows; --set sets its keys, too",
             .word = CLI_WORD_JOB),
    CLI_FLAG(import_options, each, "each", "read all logs, including those of identical ranks"),
    CLI_FILE(import_options, traces, "output",
             "write the trace of the first worker to FILE, or of all ranks into an existing folder",
             .letter = 'o'),
    CLI_ROWS_PRICES,
    CLI_ROW_JSON,
    CLI_ROW_CSV,
    CLI_ROW_PATH,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime trace import run.trace --gpu a100-sxm-80gb", "price a recorded program"},
    {"steptime trace import run.trace --cluster dgx-h100 --world 64 -o out.json",
     "expand one recorded rank to 64 and write its trace"},
    {"steptime trace import run.trace --cluster dgx-a100 --job gpt2.yaml --set batch.micro=4",
     "compare the step with the estimate of a job"},
    {NULL, NULL},
};

static st_status write_one(cli_run *run, const st_imported *imported, uint64_t rank,
                           const char *file)
{
    st_buffer text = {0};
    st_imported_write(imported, rank, &text);
    st_status status = cli_write_file(run, file, &text);
    st_buffer_free(&text);
    return status;
}

/* Into a folder, the trace of each worker. */
static st_status write_traces(cli_run *run, const st_imported *imported, const char *path)
{
    struct stat info;
    const st_run *recorded = imported->run;
    st_status status = ST_OK;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        return write_one(run, imported, (uint64_t)recorded->workers[0].rank, path);
    for (size_t i = 0; i < recorded->worker_count && i < MOST_FILES && status == ST_OK; i++) {
        uint64_t rank = (uint64_t)recorded->workers[i].rank;
        const char *file =
            st_arena_printf(run->arena, "%s/rank%llu.json", path, (unsigned long long)rank);
        status = write_one(run, imported, rank, file);
    }
    return status;
}

/* Whether an option sets a key of the recording's sheet: its figures and the cluster. */
static bool is_of_recording(const char *set)
{
    return strncmp(set, "constants.", 10) == 0 || strncmp(set, ST_KEY_CLUSTER, 7) == 0;
}

/* The recording and the job share the cluster; other keys are the job's. */
static st_imported_job divide_sets(cli_run *run, const import_options *options,
                                   st_prices_request *prices)
{
    size_t count = run->common.sets.count;
    const char **job_sets = st_arena_alloc(run->arena, count + 2, sizeof *job_sets);
    const char **recorded = st_arena_alloc(run->arena, count + 1, sizeof *recorded);
    st_imported_job job = {.job = options->job, .sets = job_sets};
    if (options->cluster != NULL)
        job_sets[job.set_count++] =
            st_arena_printf(run->arena, ST_KEY_CLUSTER "=%s", options->cluster);
    else if (options->gpu != NULL)
        job_sets[job.set_count++] =
            st_arena_printf(run->arena, ST_KEY_CLUSTER_GPU "=%s", options->gpu);
    prices->sets = recorded;
    prices->set_count = 0;
    for (size_t i = 0; i < count; i++) {
        const char *set = run->common.sets.items[i];
        if (options->job == NULL || is_of_recording(set))
            recorded[prices->set_count++] = set;
        if (strncmp(set, "constants.", 10) != 0)
            job_sets[job.set_count++] = set;
    }
    return job;
}

static int run_import(cli_run *run)
{
    const import_options *options = run->options;
    st_imported *imported = NULL;
    st_import_request request = {
        .folder = run->arguments[0],
        .run = {.each = options->each, .world = options->world},
        .prices = {.gpu = options->gpu,
                   .cluster = options->cluster,
                   .rules = options->rules,
                   .times = options->times,
                   .refine = run->common.refine.items,
                   .refine_count = run->common.refine.count},
        .costs = options->costs,
        .step_kernel = options->step,
    };
    st_imported_job job = divide_sets(run, options, &request.prices);
    static const quantity_option gap = {
        .name = "--gap", .unit = "s", .most = 10, .expected = "0 s to 10 s"};
    double gap_s = -1;
    st_status status = quantity_option_read(run, &gap, options->gap, &gap_s);
    request.gap_ns = gap_s >= 0 ? (int64_t)(gap_s * 1e9 + 0.5) : -1;
    if (status == ST_OK)
        status = cli_paths(run);
    if (status == ST_OK)
        status = st_imported_make(run->paths, &request, run->arena, &imported, run->errors);
    if (status == ST_OK) {
        st_result result;
        st_node *root = st_imported_result(imported, run->arena, &result);
        status = st_imported_compare(run->paths, imported, &job, run->arena, root, run->errors);
        if (status == ST_OK && options->traces != NULL)
            status = write_traces(run, imported, options->traces);
        if (status == ST_OK)
            cli_show(run, &result);
    }
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_trace_import = {
    .name = "trace import",
    .arguments = "RUN",
    .words = {CLI_WORD_FOLDER, CLI_WORD_NONE},
    .summary = "price a program recorded without a GPU and write its traces",
    .doc =
        "Reads the logs of a recorded program, prices its kernels by the rules of configs/kernels "
        "and its collectives by a plugin, and replays its calls, streams and collectives. "
        "Identical ranks are read once. Ranks that were not recorded are assumed to be identical "
        "to recorded ones. The other verbs of trace read the traces. See docs/record.md.",
    .examples = examples,
    CLI_OPTIONS(option_rows, import_options),
    .run = run_import,
};
