/* SPDX-License-Identifier: Apache-2.0 */
/* steptime record */
#define _GNU_SOURCE /* realpath */
#include "record/cli/verbs.h"

#include "base/memory.h"
#include "record/cli/planned_ranks.h"
#include "record/cli/quantity_option.h"
#include "record/price/imported.h"
#include "base/error_scope.h"
#include "steptime/keys.h"
#include "steptime/tool/gpus.h"
#include "steptime/tool/job_values.h"
#include "record/start_program.h"
#include "record/program_file.h"
#include "record/run_outcome.h"
#include "record/rank_dedup.h"
#include "trace/reports.h"

#include <dirent.h>
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_DEVICES = 64, MOST_LIMIT_S = 604800 };

typedef struct record_options {
    const char *device;
    const char *memory;
    const char *context;
    const char *communicator;
    const char *run;
    const char *limit;
    unsigned policy;
    uint64_t devices;
    uint64_t ranks;
    uint64_t rank;
    uint64_t world;
    cli_texts selective;
    const char *plan;
    const char *cluster;
    const char *cupti;
    bool profile;
    bool together;
    bool each;
    bool store;
} record_options;

#define POLICIES "shadow zero full"

static const cli_option option_rows[] = {
    CLI_TEXT(record_options, device, "device", "NAME",
             "GPU that the program sees; 'steptime list gpus' lists them", .initial = "h100-sxm"),
    CLI_FLAG(record_options, profile, "profile",
             "run on this machine's GPU and measure it; only NCCL is replaced"),
    CLI_TEXT(record_options, cupti, "cupti", "FILE", "path of the CUPTI library for --profile",
             .word = CLI_WORD_FILE),
    CLI_TEXT(record_options, memory, "memory", "SIZE", "memory of each GPU, overriding its file"),
    CLI_COUNT(record_options, devices, "devices", 1, MOST_DEVICES,
              "GPUs that a process sees, and ranks per node", .initial = "8"),
    CLI_COUNT(record_options, ranks, "ranks", 1, CLI_MOST_GIVEN,
              "number of ranks; of ranks with identical work one runs"),
    CLI_FLAG(record_options, each, "each",
             "run all of --ranks, including those with identical work"),
    CLI_COUNT(record_options, rank, "rank", 0, CLI_MOST_GIVEN, "run only this rank of --world"),
    CLI_COUNT(record_options, world, "world", 1, CLI_MOST_GIVEN,
              "total number of ranks, for --rank"),
    CLI_NAMES(record_options, selective, "selective", "RANK,...", "run only these ranks of --ranks",
              .once = true),
    CLI_TEXT(record_options, plan, "plan", "JOB", "run one rank per pipeline stage of this job",
             .word = CLI_WORD_JOB),
    CLI_TEXT(
        record_options, cluster, "cluster", "NAME|FILE",
        "end with the step on this cluster, and the estimate of the same job; without it those "
        "of a single GPU",
        .word = CLI_WORD_CLUSTER),
    CLI_FLAG(record_options, together, "together", "run all of --ranks concurrently"),
    CLI_FLAG(record_options, store, "store",
             "serve PyTorch's TCPStore to the ranks; keys that no rank sets get a placeholder"),
    CLI_TEXT(record_options, run, "output", "FOLDER", "folder of the run to create", .letter = 'o',
             .word = CLI_WORD_FOLDER, .initial = "run.trace"),
    CLI_TEXT(record_options, limit, "limit", "TIME",
             "end processes that run longer, such as 60s, and keep their logs"),
    CLI_CHOICE(record_options, policy, "reads", "WHICH", POLICIES,
               "contents of device memory: shadow (keep copies up to 1 MiB, zero the rest), zero "
               "or full (keep all copies in host memory)"),
    CLI_TEXT(record_options, context, "context", "SIZE",
             "memory of a GPU that CUDA and its libraries occupy", .initial = "2.5 GB"),
    CLI_TEXT(record_options, communicator, "communicator", "SIZE",
             "additional memory per NCCL communicator", .initial = "0 GB"),
    CLI_ROW_QUIET,
    CLI_ROW_JSON,
    CLI_ROW_PATH,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime record -- ./train --steps 3", "record a program without a GPU"},
    {"steptime record --device a100-sxm-80gb --ranks 64 -o run.trace -- ./train",
     "record 64 ranks; of ranks with identical work one runs"},
    {"steptime record --rank 17 --world 64 --limit 60s -- ./train", "record one of 64 ranks"},
    {NULL, NULL},
};

static void warn(cli_run *run, const char *message)
{
    (void)st_errors_add(
        run->errors,
        &(st_error){.status = ST_ERR_VALUE, .severity = ST_SEVERITY_WARNING, .message = message});
}

static st_status read_size(cli_run *run, const char *name, const char *text, double *bytes)
{
    const quantity_option size = {
        .name = name, .unit = "GiB", .most = 1e15, .expected = "up to 1 PB"};
    return quantity_option_read(run, &size, text, bytes);
}

/* ---- the device ---- */

static double number_of(const st_job *job, const char *path)
{
    const st_job_value *value = st_job_value_of(job, path);
    return value != NULL && value->origin != ST_ORIGIN_NONE ? value->number : 0;
}

/* "NVIDIA H100 SXM 80 GB" is `name:` of the file. */
static st_status read_gpu(cli_run *run, const char *name, const st_job **job)
{
    st_gpus gpus = {0};
    st_status status = cli_paths(run);
    if (status == ST_OK)
        status = st_gpus_list(run->paths, run->arena, &gpus, run->errors);
    if (status != ST_OK)
        return status;
    const char *found = st_gpus_find(&gpus, name, NULL);
    if (found == NULL)
        return st_gpus_unknown(&gpus, name, (st_place){.file = "--device"}, run->errors);
    const char *set = st_arena_printf(run->arena, ST_KEY_CLUSTER_GPU "=%s", found);
    return st_job_load(run->paths, NULL, &set, 1, run->arena, job, run->errors);
}

static st_status describe_device(cli_run *run, st_launch_request *request)
{
    const record_options *options = run->options;
    const st_job *job = NULL;
    double context = 0;
    double communicator = 0;
    st_status status = read_gpu(run, options->device, &job);
    if (status != ST_OK)
        return status;
    double memory = number_of(job, ST_KEY_CLUSTER_GPU_MEMORY);
    status = read_size(run, "--memory", options->memory, &memory);
    if (status == ST_OK)
        status = read_size(run, "--context", options->context, &context);
    if (status == ST_OK)
        status = read_size(run, "--communicator", options->communicator, &communicator);
    if (status != ST_OK)
        return status;
    if (memory <= context)
        return st_fail(run->errors, ST_ERR_VALUE, (st_place){.file = "--memory"},
                       "GPU memory is too small" ST_FOUND "%.0f bytes" ST_EXPECTED
                       "more than --context, %.0f bytes",
                       memory, context);
    double capability = number_of(job, ST_KEY_CLUSTER_GPU_COMPUTE_CAPABILITY);
    if (capability <= 0)
        return st_fail(run->errors, ST_ERR_VALUE, (st_place){.file = "--device"},
                       "%s is not a CUDA GPU: its file lacks compute_capability", options->device);
    double processors = number_of(job, ST_KEY_CLUSTER_GPU_MULTIPROCESSORS);
    if (processors <= 0)
        warn(run, "the GPU's file lacks multiprocessors; the program sees 1");
    const char *name = st_job_text(job, ST_KEY_CLUSTER_GPU_DRIVER_NAME);
    if (name == NULL || name[0] == '\0') {
        const char *shown = st_job_text(job, ST_KEY_CLUSTER_GPU_NAME);
        bool named = shown != NULL && shown[0] != '\0';
        name = st_arena_printf(run->arena, "NVIDIA %s", named ? shown : options->device);
        warn(run, "the GPU's file lacks driver_name; the program sees its name in reports");
    }
    /* Memory transfers twice in each of its clocks, an eighth of the bus's bits in bytes. */
    double bus = number_of(job, ST_KEY_CLUSTER_GPU_MEMORY_BUS);
    double bandwidth = number_of(job, ST_KEY_CLUSTER_GPU_MEMORY_BANDWIDTH);
    double memory_khz = bus > 0 ? bandwidth / (bus / 8) / 2 / 1e3 : 0;
    request->device =
        st_arena_printf(run->arena, "%s,%s,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f", options->device, name,
                        memory, capability * 10, processors > 0 ? processors : 1,
                        number_of(job, ST_KEY_CLUSTER_GPU_CLOCK) / 1e3, memory_khz, bus);
    request->charges = st_arena_printf(run->arena, "%.0f,%.0f", context, communicator);
    return ST_OK;
}

/* ---- the library ---- */

/* Beside the program where it was built, where it is installed, or where it was to be. */
static st_status find_library(cli_run *run, const char **folder)
{
    char self[PATH_MAX] = "";
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash = length > 0 ? strrchr(self, '/') : NULL;
    if (slash != NULL)
        *slash = '\0';
    const char *const places[] = {
        st_arena_printf(run->arena, "%s/../library", self),
        st_arena_printf(run->arena, "%s/../../" STEPTIME_LIBDIR "/steptime/record", self),
        STEPTIME_MODULES "/record"};
    for (size_t i = 0; i < ST_COUNT(places); i++) {
        char whole[PATH_MAX];
        if (places[i] == NULL)
            continue;
        char path[PATH_MAX];
        int library_length = snprintf(path, sizeof path, "%s/libsteptime-record.so", places[i]);
        if (library_length <= 0 || (size_t)library_length >= sizeof path ||
            access(path, R_OK) != 0 || realpath(places[i], whole) == NULL)
            continue;
        *folder = st_arena_copy(run->arena, whole, strlen(whole));
        return ST_OK;
    }
    return st_fail(run->errors, ST_ERR_IO, (st_place){.file = "libsteptime-record.so"},
                   "the recorder's library is not installed" ST_EXPECTED "in %s",
                   STEPTIME_MODULES "/record");
}

/* ---- the run's folder ---- */

static bool is_empty(const char *path)
{
    size_t entries = 0;
    DIR *folder = opendir(path);
    while (folder != NULL && readdir(folder) != NULL)
        entries++;
    if (folder != NULL)
        closedir(folder);
    return entries == 2;
}

/* ---- ranks ---- */

typedef struct rank_list {
    int32_t *items;
    size_t count;
    int32_t *as; /* by rank, as planned; NULL: no plan */
} rank_list;

static st_status check_ranks(cli_run *run, bool one, bool all)
{
    const record_options *options = run->options;
    if (one != cli_is_given(run, &options->world))
        return cli_wrong_use(run, "--rank and --world require each other", NULL);
    if (options->plan != NULL && (one || all))
        return cli_wrong_use(run, "--plan defines the ranks", "omit --rank and --ranks");
    if (one && all)
        return cli_wrong_use(run, "--ranks and --rank exclude each other", "use one of the two");
    if (one && options->rank >= options->world)
        return cli_wrong_use(run, "--rank must be less than --world", NULL);
    if ((options->selective.count > 0 || options->each || options->together) && !all)
        return cli_wrong_use(run, "--selective, --each and --together require --ranks",
                             "add --ranks N");
    if (options->selective.count > 0 && options->each)
        return cli_wrong_use(run, "--each and --selective exclude each other",
                             "use one of the two");
    return ST_OK;
}

static st_status choose_ranks(cli_run *run, uint64_t *world, rank_list *ranks)
{
    const record_options *options = run->options;
    bool one = cli_is_given(run, &options->rank);
    bool all = cli_is_given(run, &options->ranks);
    st_status status = check_ranks(run, one, all);
    if (status != ST_OK)
        return status;
    if (options->plan != NULL) {
        cli_planned_ranks planned;
        status = cli_planned_ranks_of(run, options->plan, &planned);
        if (status != ST_OK)
            return status;
        *world = planned.world;
        *ranks = (rank_list){.items = planned.ranks, .count = planned.count, .as = planned.as};
        return ST_OK;
    }
    size_t most = all ? (size_t)options->ranks + options->selective.count : 1;
    ranks->items = st_arena_alloc(run->arena, most, sizeof *ranks->items);
    ranks->count = 1;
    ranks->items[0] = one ? (int32_t)options->rank : -1;
    *world = one ? options->world : 0;
    if (!all)
        return ST_OK;
    *world = options->ranks;
    ranks->count = options->selective.count > 0 ? 0 : (size_t)options->ranks;
    for (size_t i = 0; i < ranks->count; i++)
        ranks->items[i] = (int32_t)i;
    for (size_t i = 0; i < options->selective.count; i++) {
        const char *text = options->selective.items[i];
        double number = 0;
        st_place place = {.file = "--selective"};
        status = st_number_parse(text, strlen(text), place, &number, run->errors);
        if (status != ST_OK)
            return status;
        if (number < 0 || number >= (double)*world || number > (double)(int32_t)number)
            return st_fail(run->errors, ST_ERR_VALUE, place,
                           "rank is out of range" ST_FOUND "%s" ST_EXPECTED "0 to %llu", text,
                           (unsigned long long)*world - 1);
        ranks->items[ranks->count++] = (int32_t)number;
    }
    return ST_OK;
}

/* ---- what came of it ---- */

/* Why a program may have ended, or have not; NULL: not known. */
static const char *reason_of(const st_launch_end *end, bool reads, bool lacks_ranks, bool alone)
{
    if (end->over_time && end->waited && !alone)
        return lacks_ranks
                   ? "it may have waited for ranks that did not run; run all of them with --each"
                   : "it waited, for another rank, a file or a connection";
    if (!reads)
        return NULL;
    return end->over_time
               ? "it read results of kernels, which are zero without a GPU; a loop that waits for "
                 "a loss never ends: give it a number of steps"
               : "it read results of kernels, which are zero without a GPU; run it without checks "
                 "of a loss or of other results";
}

static void judge_end(cli_run *run, const st_run_outcome *outcome, const st_launch_end *end,
                      const st_launch_request *request, bool lacks_ranks)
{
    char who[32] = "the program";
    const char *what = NULL;
    if (end->rank >= 0)
        (void)snprintf(who, sizeof who, "rank %d", end->rank);
    if (end->awaits != NULL)
        what = st_arena_printf(run->arena,
                               "waited for the key '%s' of the store, which none of the ranks that "
                               "were left set",
                               end->awaits);
    else if (end->over_time)
        what = "exceeded --limit and was ended";
    else if (end->signal != 0)
        what = st_arena_printf(run->arena, "was killed by signal %d (%s)", end->signal,
                               strsignal(end->signal));
    else if (end->exit_code != 0)
        what = st_arena_printf(run->arena, "failed with exit code %d", end->exit_code);
    if (what == NULL)
        return;
    const char *why = end->awaits == NULL
                          ? reason_of(end, outcome->reads > 0, lacks_ranks, request->world <= 1)
                          : NULL;
    const st_status status = end->over_time ? ST_ERR_LIMIT : ST_ERR_VALUE;
    const st_place place = {.file = request->path};
    if (why != NULL)
        (void)st_fail(run->errors, status, place, "%s %s; its logs are kept" ST_HINT "%s", who,
                      what, why);
    else
        (void)st_fail(run->errors, status, place, "%s %s; its logs are kept", who, what);
}

static int judge(cli_run *run, const st_run_outcome *outcome, const st_launch_end *ends,
                 size_t count, const st_launch_request *request)
{
    const char *path = request->path;
    const char *folder = request->folder;
    if (outcome->out_of_memory) {
        (void)st_errors_add(run->errors,
                            &(st_error){.status = ST_ERR_CHECK,
                                        .severity = ST_SEVERITY_LIMIT,
                                        .message = "the program exceeds GPU memory; the result has "
                                                   "the request and what was in use"});
        return CLI_CHECK_FAILS;
    }
    for (size_t i = 0; i < count; i++)
        judge_end(run, outcome, &ends[i], request, count < request->world);
    if (outcome->logs == 0)
        (void)st_fail(run->errors, ST_ERR_VALUE, (st_place){.file = path},
                      "the program called no CUDA function" ST_EXPECTED
                      "a program that loads libcudart, libcuda, libcublas or libnccl");
    if (outcome->unreadable > 0)
        (void)st_fail(run->errors, ST_ERR_IO, (st_place){.file = path},
                      "%llu of %llu logs are unreadable; the totals exclude them" ST_HINT
                      "see 'steptime trace import' for the errors",
                      (unsigned long long)outcome->unreadable, (unsigned long long)outcome->logs);
    if (outcome->full > 0)
        (void)st_fail(run->errors, ST_ERR_IO, (st_place){.file = folder != NULL ? folder : path},
                      "%llu of %llu logs could not grow and miss calls: %s" ST_HINT
                      "give them room: -o FOLDER, or ulimit -f",
                      (unsigned long long)outcome->full, (unsigned long long)outcome->logs,
                      strerror(outcome->full_error));
    if (outcome->unsupported > 0)
        warn(run, "the program called unsupported functions; the result lists them");
    if (outcome->unsure_splits > 0)
        warn(run, "the size of a split communicator is unknown because some ranks did not run; the "
                  "program got the parent's size; run all ranks with --each");
    if (outcome->forks > 0)
        warn(run, "a process forked after CUDA initialization; its child cannot use CUDA");
    return st_errors_count(run->errors, ST_SEVERITY_ERROR) > 0 ? CLI_FAILED : CLI_DONE;
}

/* Warnings are those of `steptime trace import`; an error takes the price, and not the logs. */
static bool warn_of_price(const void *context, st_errors *errors, st_error *error)
{
    (void)context;
    (void)errors;
    bool severe = error->severity == ST_SEVERITY_ERROR;
    error->severity = ST_SEVERITY_WARNING;
    return severe;
}

/* The step of a run that was recorded whole, and the estimate of the job that it shows. */
static void price(cli_run *run, const st_launch_request *request, const st_run_outcome *outcome,
                  st_node *root)
{
    enum { MOST_CALLS = 2000000 }; /* a second, and memory for them */
    const record_options *options = run->options;
    const char *cluster = options->cluster;
    bool alone = request->world <= 1 && outcome->processes == 1 && outcome->collectives == 0;
    if (options->profile || outcome->calls > MOST_CALLS || (!alone && cluster == NULL) ||
        outcome->products == 0)
        return;
    const st_import_request asked = {
        .folder = request->folder,
        .gap_ns = 5000, /* a fixed one, which a busy machine does not change */
        .prices = {.gpu = cluster == NULL ? options->device : NULL, .cluster = cluster}};
    const char *set =
        st_arena_printf(run->arena, "%s=%s", cluster == NULL ? ST_KEY_CLUSTER_GPU : ST_KEY_CLUSTER,
                        cluster == NULL ? options->device : cluster);
    const st_imported_job job = {.sets = &set, .set_count = 1};
    st_imported *imported = NULL;
    st_error_scope scope = {.edit = warn_of_price};
    st_errors_enter(run->errors, &scope);
    st_status status = st_imported_make(run->paths, &asked, run->arena, &imported, run->errors);
    st_errors_leave(run->errors, &scope);
    int64_t step_ns = 0;
    for (size_t i = 0; status == ST_OK && i < imported->run->worker_count; i++)
        step_ns = imported->workers[i].step_ns > step_ns ? imported->workers[i].step_ns : step_ns;
    if (step_ns == 0)
        return;
    st_put_ns(root, "step_ns", step_ns);
    st_say(root, "step       %.3f ms\n", (double)step_ns / 1e6);
    (void)!st_imported_compare(run->paths, imported, &job, run->arena, root, run->errors);
}

static int report(cli_run *run, const st_launch_request *request, const st_fleet *fleet,
                  const st_rank_dedup *dedup)
{
    size_t count = 0;
    const st_launch_end *ends = st_fleet_ends(fleet, &count);
    st_run_outcome outcome;
    st_result result;
    if (st_run_outcome_read(request->folder, run->arena, &outcome, run->errors) != ST_OK)
        return CLI_FAILED;
    int code = judge(run, &outcome, ends, count, request);
    st_node *root = st_result_begin(&result, run->arena);
    const record_options *options = run->options;
    bool unnamed = options->profile && !cli_is_given(run, &options->device);
    const char *device = unnamed ? "the GPU of this machine" : options->device;
    st_put_text(root, "device", device);
    st_put_bool(root, "measured", options->profile);
    st_put_text(root, "program", request->path);
    st_put_text(root, "run", options->run);
    const char *word = outcome.out_of_memory ? "out of memory"
                       : code == CLI_DONE    ? "recorded"
                       : outcome.logs == 0   ? "no CUDA"
                                             : "failed";
    st_put_text(root, "verdict", word);
    st_say(root, "program    %s\n", request->path);
    st_say(root, "verdict    %s, %s %s; logs in %s\n", word,
           options->profile ? "measured on" : "as if on", device, options->run);
    /* Which ranks were run, and how the others are known. */
    size_t ran = dedup->run > 0 ? dedup->run : count;
    st_put_count(root, "world", request->world);
    st_put_count(root, "ranks_run", ran);
    st_put_count(root, "ranks_run_again", dedup->again);
    st_put_count(root, "ranks_proven", dedup->proven);
    st_put_bool(root, "ranks_waited", dedup->met);
    if (request->store != NULL)
        st_put_count(root, "keys_stood_in", st_store_stood_in(request->store));
    if (request->world != 0) {
        if (ran >= request->world)
            st_say(root, "ranks      all %u were run%s\n", request->world,
                   dedup->met ? ", because they wait for each other" : "");
        else if (dedup->run > 0 && options->plan != NULL)
            st_say(root, "ranks      %u, of which %zu were run, one per stage of %s\n",
                   request->world, ran, options->plan);
        else if (dedup->run > 0)
            st_say(
                root,
                "ranks      %u, of which %zu were run; the others are identical to one of these, "
                "verified by %zu random ranks\n",
                request->world, ran, dedup->proven);
        else
            st_say(root, "ranks      %u, of which %zu were run\n", request->world, ran);
        if (request->store != NULL && st_store_stood_in(request->store) > 0)
            st_say(root, "store      %llu keys that no rank set got placeholders\n",
                   (unsigned long long)st_store_stood_in(request->store));
    }
    st_run_outcome_put(&outcome, ends, count, root);
    if (code == CLI_DONE)
        price(run, request, &outcome, root);
    st_buffer text = {0};
    st_result_write_json(&result, &text);
    const char *file = st_arena_printf(run->arena, "%s/run.json", request->folder);
    if (file == NULL || cli_write_file(run, file, &text) != ST_OK)
        code = CLI_FAILED;
    st_buffer_free(&text);
    cli_show(run, &result);
    return code;
}

/* This machine's GPU: the log names a file of it only where --device does. */
static st_status find_real_gpu(cli_run *run, st_launch_request *request)
{
    const record_options *options = run->options;
    const st_job *job = NULL;
    st_real_gpu found;
    bool stands_in = cli_is_given(run, &options->memory) || cli_is_given(run, &options->context) ||
                     cli_is_given(run, &options->communicator) ||
                     cli_is_given(run, &options->policy);
    if (stands_in)
        return cli_wrong_use(run,
                             "--memory, --context, --communicator and --reads exclude --profile",
                             "omit them, or --profile");
    if (options->together)
        return cli_wrong_use(
            run, "--together and --profile exclude each other: the ranks would share a GPU",
            "omit one of the two");
    st_status status = st_real_gpu_find(options->cupti, &found, run->errors);
    bool named = cli_is_given(run, &options->device);
    if (status == ST_OK && named)
        status = read_gpu(run, options->device, &job);
    if (status != ST_OK)
        return status;
    request->cupti = found.cupti;
    if (!cli_is_given(run, &options->devices))
        request->devices = found.count;
    request->device = st_arena_printf(run->arena, "%s,real,0,0,0", named ? options->device : "");
    request->charges = "0,0";
    return ST_OK;
}

static st_status prepare(cli_run *run, st_launch_request *request)
{
    const record_options *options = run->options;
    static const char *const policies[] = {"shadow", "zero", "full"};
    request->policy = options->profile ? "real" : policies[options->policy];
    request->devices = (uint32_t)options->devices;
    static const quantity_option limit = {.name = "--limit",
                                          .unit = "s",
                                          .least = DBL_MIN,
                                          .most = MOST_LIMIT_S,
                                          .expected = "above zero, at most a week"};
    st_status status = quantity_option_read(run, &limit, options->limit, &request->limit_s);
    request->progress = !run->common.quiet;
    if (status == ST_OK && options->cupti != NULL && !options->profile)
        status = cli_wrong_use(run, "--cupti requires --profile", "add --profile");
    if (status == ST_OK)
        status = options->profile ? find_real_gpu(run, request) : describe_device(run, request);
    if (status == ST_OK)
        status = find_library(run, &request->library);
    if (status == ST_OK)
        status = st_program_find(run->arguments[0], !options->profile, run->arena, &request->path,
                                 run->errors);
    if (status == ST_OK) {
        const char *path = options->run;
        char absolute[PATH_MAX];
        if (mkdir(path, 0777) != 0 && !(errno == EEXIST && is_empty(path))) {
            status =
                st_fail(run->errors, ST_ERR_IO, (st_place){.file = path},
                        "cannot create the run's folder: %s" ST_EXPECTED "a new or empty folder",
                        strerror(errno));
        } else if (realpath(path, absolute) == NULL) {
            status = st_fail(run->errors, ST_ERR_IO, (st_place){.file = path},
                             "cannot find the run's folder: %s", strerror(errno));
        } else {
            request->folder = st_arena_copy(run->arena, absolute, strlen(absolute));
        }
    }
    if (status != ST_OK)
        return status;
    const char **command = st_arena_alloc(run->arena, run->argument_count + 1, sizeof *command);
    memcpy(command, run->arguments, run->argument_count * sizeof *command);
    request->command = command;
    return ST_OK;
}

static st_status write_dedup(cli_run *run, const st_launch_request *request,
                             const st_rank_dedup *dedup)
{
    st_buffer text = {0};
    const char *file = st_arena_printf(run->arena, "%s/" ST_RANK_DEDUP_FILE, request->folder);
    st_rank_dedup_write(dedup, &text);
    st_status status = cli_write_file(run, file, &text);
    st_buffer_free(&text);
    return status;
}

static st_status run_ranks(cli_run *run, st_launch_request *request, st_fleet *fleet,
                           const rank_list *ranks, st_rank_dedup *dedup)
{
    const record_options *options = run->options;
    bool all = request->complete;
    if (ranks->as != NULL) {
        *dedup = (st_rank_dedup){.world = request->world, .as = ranks->as, .run = ranks->count};
        st_status status = st_fleet_run(fleet, ranks->items, ranks->count, false, run->errors);
        return status == ST_OK ? write_dedup(run, request, dedup) : status;
    }
    if (!cli_is_given(run, &options->ranks) || options->selective.count > 0 || all)
        return st_fleet_run(fleet, ranks->items, ranks->count, false, run->errors);
    st_status status = st_rank_dedup_run(fleet, request, run->arena, dedup, run->errors);
    if (status == ST_OK && !dedup->is_complete)
        status = write_dedup(run, request, dedup);
    return status;
}

/* Addresses of GPU memory are reserved, not used, but ulimit -v counts them. */
static st_status check_addresses(cli_run *run)
{
    const rlim_t least = (rlim_t)1 << 36;
    struct rlimit limit;
    const record_options *options = run->options;
    if (options->profile || getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur >= least)
        return ST_OK;
    return st_fail(run->errors, ST_ERR_LIMIT, (st_place){.file = "ulimit -v"},
                   "the address space is too small for the memory of a GPU" ST_FOUND
                   "%llu KiB" ST_EXPECTED "unlimited, or at least %llu KiB",
                   (unsigned long long)limit.rlim_cur / 1024, (unsigned long long)least / 1024);
}

/* MASTER_PORT of the environment, else one that is free. */
static st_status open_store(cli_run *run, st_launch_request *request)
{
    const char *text = getenv("MASTER_PORT");
    double port = 0;
    st_place place = {.file = "MASTER_PORT"};
    st_status status = ST_OK;
    if (request->world == 0)
        return cli_wrong_use(run, "--store requires ranks", "add --ranks N, or --rank and --world");
    if (text != NULL)
        status = st_number_parse(text, strlen(text), place, &port, run->errors);
    if (status == ST_OK && !(port >= 0 && port <= UINT16_MAX && port <= (double)(uint16_t)port))
        status = st_fail(run->errors, ST_ERR_VALUE, place,
                         "invalid port" ST_FOUND "%s" ST_EXPECTED "0 to 65535", text);
    if (status == ST_OK)
        status = st_store_open((uint16_t)port, request->complete ? 0 : request->world - 1U,
                               &request->store, run->errors);
    return status;
}

static int run_record(cli_run *run)
{
    const record_options *options = run->options;
    st_launch_request request = {.together = options->together,
                                 .complete = options->each || options->together};
    rank_list ranks = {0};
    uint64_t world = 0;
    st_fleet *fleet = NULL;
    st_rank_dedup dedup = {0};
    st_status status = check_addresses(run);
    if (status == ST_OK)
        status = choose_ranks(run, &world, &ranks);
    request.world = (uint32_t)world;
    if (status == ST_OK && options->store)
        status = open_store(run, &request);
    if (status == ST_OK)
        status = prepare(run, &request);
    if (status == ST_OK) {
        fleet = st_fleet_make(&request, run->arena);
        status = run_ranks(run, &request, fleet, &ranks, &dedup);
    }
    st_fleet_end(fleet);
    if (request.folder != NULL) {
        /* What ranks left for one another is of no use any more. */
        const char *path = request.folder;
        DIR *split_folder = opendir(path);
        for (const struct dirent *entry;
             split_folder != NULL && (entry = readdir(split_folder)) != NULL;) {
            char file[PATH_MAX];
            int length = snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
            if (strncmp(entry->d_name, "split-", 6) == 0 && length < (int)sizeof file)
                (void)unlink(file);
        }
        if (split_folder != NULL)
            closedir(split_folder);
    }
    int code = status == ST_OK ? report(run, &request, fleet, &dedup) : cli_exit_code(run, status);
    st_store_close(request.store);
    return code;
}

const cli_verb cli_verb_record = {
    .name = "record",
    .arguments = "-- PROGRAM [ARGUMENT...]",
    .words = {CLI_WORD_FILE, CLI_WORD_NONE},
    .summary = "record an unmodified CUDA program without a GPU",
    .doc =
        "Runs a program with stand-ins for libcudart, libcuda, libcublas, libcublasLt, libcudnn, "
        "libnccl and libnvidia-ml. Nothing is computed. The stand-ins check each call as CUDA does "
        "and log it in the run's folder, one file per thread. They account memory as the driver "
        "does. A program that does not fit gets CUDA's out-of-memory error; the exit code is then "
        "3.\n\nWhat kernels would have computed reads back as zeros. A program whose "
        "control flow depends on it is therefore recorded incorrectly. Unsupported "
        "functions return 'not supported', and the result lists them.\n\nThe program's output goes "
        "to standard error. Ranks have RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT "
        "in their environment. They run one after the other, but when one waits - for a file, a "
        "connection, a communicator split - the next one starts, so that they can meet. With more "
        "than 16 ranks, only one of several ranks with identical work runs, by a hash of what they "
        "enqueue; ranks.csv maps each rank to the one that ran.",
    .examples = examples,
    CLI_OPTIONS(option_rows, record_options),
    .run = run_record,
};
