/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the logs of a run into workers; see workers.h. */
#include "record/price/workers.h"

#include "base/memory.h"
#include "record/price/cupti_join.h"
#include "record/price/launch_sizes.h"
#include "record/price/memory_ranges.h"
#include "record/rank_dedup.h"
#include "base/numbered_texts.h"
#include "trace/scan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST_TASK_NS UINT64_C(3600000000000)

/* A log of one thread. */
typedef struct log_file {
    const char *path;
    size_t records; /* at most */
    st_log_header header;
    uint64_t hash; /* of its end; 0: it has none */
} log_file;

/* Threads of one process: files[first .. first + count - 1]. */
typedef struct process {
    size_t first;
    size_t count;
    int64_t rank;
    uint64_t hash;
} logged_process;

/* A kernel of the run. */
typedef struct loaded_kernel {
    st_kernel_name name;
    const st_rule *rule;
} loaded_kernel;

typedef struct loader {
    st_run *run;
    st_launch_sizer *sizer;
    loaded_kernel **kernels; /* by mangled name in st_run.names; NULL: not seen yet */
    size_t kernel_count;
    const st_run_options *options;
    st_errors *errors;
    const char *reading; /* the log */
    log_file *files;
    size_t file_count;
    logged_process *processes;
    size_t process_count;
} run_loader;

/* ---- files ---- */

/* Whether the run's own summary is whole, and as many logs are here as it counted. */
static st_status check_summary(const run_loader *loader, size_t found)
{
    static const char logs[] = "logs";
    st_bytes *bytes = NULL;
    st_scan scan;
    st_scan_span key;
    bool started = false;
    uint64_t counted = 0;
    int decimals = 0;
    const char *path = st_arena_printf(loader->run->arena, "%s/run.json", loader->run->folder);
    if (path == NULL)
        return st_out_of_memory(loader->errors);
    if (access(path, F_OK) != 0) /* of a program that still runs, or one log alone */
        return ST_OK;
    st_status status = st_bytes_open(path, &bytes, loader->errors);
    if (status != ST_OK)
        return status;
    st_scan_init(&scan, bytes, loader->errors);
    bool goes_on = st_scan_enter(&scan, '{');
    while (goes_on && st_scan_held_key(&scan, &started, &key)) {
        bool is_count = key.length == sizeof logs - 1 &&
                        memcmp(st_scan_text(&scan, key), logs, sizeof logs - 1) == 0;
        st_scan_release(&scan);
        goes_on =
            (is_count && st_scan_usual_number(&scan, &counted, &decimals)) || st_scan_skip(&scan);
    }
    if (!scan.cut)
        (void)st_scan_end(&scan);
    status = scan.status;
    st_place place = st_scan_place(&scan);
    if (status == ST_OK && scan.cut)
        st_report(loader->errors, ST_SEVERITY_WARNING, ST_ERR_SYNTAX, place,
                  "the file ends in the middle: logs of the run may be missing" ST_HINT
                  "copy the whole folder");
    if (status == ST_OK && found < counted)
        st_report(loader->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE,
                  (st_place){.file = loader->run->folder},
                  "%zu of the run's %llu logs are in the folder" ST_HINT "copy the whole folder",
                  found, (unsigned long long)counted);
    st_scan_free(&scan);
    st_bytes_close(bytes);
    return status;
}

static st_status open_files(run_loader *loader)
{
    const char *const *paths = NULL;
    size_t count = 0;
    st_status status =
        st_log_list(loader->run->folder, loader->run->arena, &paths, &count, loader->errors);
    if (status == ST_OK)
        status = check_summary(loader, count);
    if (status != ST_OK)
        return status;
    loader->files = st_arena_alloc(loader->run->arena, count + 1, sizeof *loader->files);
    loader->processes = st_arena_alloc(loader->run->arena, count + 1, sizeof *loader->processes);
    if (loader->files == NULL || loader->processes == NULL)
        return st_out_of_memory(loader->errors);
    for (size_t i = 0; i < count; i++) {
        st_log *log = NULL;
        st_status opened = st_log_open(paths[i], &log, loader->errors);
        if (opened == ST_OK) {
            log_file *file = &loader->files[loader->file_count++];
            *file = (log_file){.path = paths[i],
                               .records = st_log_room(log),
                               .header = *st_log_header_of(log),
                               .hash = st_log_end_hash(log)};
        }
        st_note(&status, opened);
        st_log_destroy(log);
    }
    return status;
}

ST_COMPARE(order_files, log_file,
           ST_RISING(header.rank) ST_RISING(header.pid) ST_RISING(header.start_monotonic_ns)
               ST_RISING(header.thread));

/* ---- records ---- */

static uint32_t intern(st_run *run, const char *text)
{
    uint32_t name = 0;
    return st_names_add(run->names, text, strlen(text), false, &name) == ST_OK ? name : 0;
}

/* The task of a record, as a shape of the run. */
static void take_shape(run_loader *loader, const st_log *log, st_log_record *record,
                       st_worker_call *call)
{
    st_task_shape shape;
    const char *of = st_log_text(log, record->call);
    call->shape = ST_NO_INDEX;
    if (record->kind == ST_LOG_LAUNCH) /* its sizes are known when all launches are */
        return;
    if (record->kind == ST_LOG_CUDNN)
        of = st_log_text(log, record->cudnn.operations);
    uint32_t name = intern(loader->run, of); /* which may move the texts */
    if (!st_task_shape_of(record, loader->run->names->texts[name], &shape))
        return;
    shape.measured = record->call == 0; /* only records of CUPTI have no function */
    call->shape = st_run_shape(loader->run, &shape);
}

static st_status take_record(run_loader *loader, const st_log *log, st_log_record *record,
                             st_worker_call *call, st_worker *worker, st_memory_ranges *ranges)
{
    for (size_t i = 0; record->kind == ST_LOG_ARGUMENTS && i < ST_LOG_ARGUMENTS_OF_RECORD; i++)
        if (record->arguments.kind[i] == ST_LOG_ARG_STRUCT)
            record->arguments.value[i] =
                intern(loader->run, st_log_text(log, (uint32_t)record->arguments.value[i]));
    if (record->kind == ST_LOG_LAUNCH)
        record->launch.kernel = intern(loader->run, st_log_text(log, record->launch.kernel));
    if (!st_memory_ranges_add(ranges, record))
        return st_out_of_memory(loader->errors);
    if (record->kind == ST_LOG_ARGUMENTS || record->kind == ST_LOG_BLOCK)
        return ST_OK;
    if (record->kind == ST_LOG_MEASURED) {
        /* It is of the record before it. */
        uint64_t length_ns = record->measured.length_ns;
        if (length_ns > MOST_TASK_NS)
            return st_fail(loader->errors, ST_ERR_VALUE, (st_place){.file = worker->file},
                           "a measured time in the log is out of range" ST_FOUND
                           "%llu ns" ST_EXPECTED "at most an hour",
                           (unsigned long long)length_ns);
        if (worker->call_count == 0)
            return ST_OK;
        worker->calls[worker->call_count - 1].times = (uint32_t)loader->run->time_count;
        (void)ST_APPEND(loader->run->arena, loader->run->times, loader->run->time_count,
                        (st_call_times){.log = record->measured});
        return ST_OK;
    }
    worker->unsupported += record->kind == ST_LOG_UNSUPPORTED;
    worker->out_of_memory += record->kind == ST_LOG_OUT_OF_MEMORY;
    if (record->kind == ST_LOG_MARK)
        record->mark.text = intern(loader->run, st_log_text(log, record->mark.text));
    take_shape(loader, log, record, call);
    record->call = intern(loader->run, st_log_text(log, record->call));
    if (record->kind == ST_LOG_COMM) {
        const st_log_comm *comm = &record->comm;
        st_worker_comm made = {.comm = comm->comm,
                               .parent = comm->parent,
                               .rank = comm->rank,
                               .ranks = comm->ranks,
                               .color = comm->color,
                               .key = comm->key,
                               .device = record->device};
        (void)ST_APPEND(loader->run->arena, worker->comms, worker->comm_count, made);
    }
    if (worker->call_count >= ST_WORKERS_MOST_CALLS)
        return st_fail(loader->errors, ST_ERR_LIMIT, (st_place){.file = loader->reading},
                       "the logs of a process are too long" ST_EXPECTED "at most %d calls",
                       ST_WORKERS_MOST_CALLS);
    call->record = st_run_record(loader->run, record);
    if (call->record == NULL)
        return st_out_of_memory(loader->errors);
    call->begin_ns = (int64_t)record->begin_ns;
    call->length_ns = record->length_ns;
    if (worker->call_count < worker->call_room) /* not what a program writes meanwhile */
        worker->calls[worker->call_count++] = *call;
    return ST_OK;
}

/* NULL without memory. */
static loaded_kernel *kernel_of(run_loader *loader, uint32_t mangled)
{
    st_run *run = loader->run;
    if (mangled >= loader->kernel_count) {
        size_t count = (size_t)run->names->count + 64;
        loaded_kernel **grown = st_arena_alloc(run->arena, count, sizeof(loaded_kernel *));
        if (grown == NULL)
            return NULL;
        for (size_t i = 0; i < loader->kernel_count; i++)
            grown[i] = loader->kernels[i];
        loader->kernels = grown;
        loader->kernel_count = count;
    }
    if (loader->kernels[mangled] == NULL) {
        loaded_kernel *made = st_arena_alloc(run->arena, 1, sizeof *made);
        if (made == NULL)
            return NULL;
        st_kernel_name_read(run->names->texts[mangled], run->arena, &made->name);
        if (loader->options->rules != NULL)
            made->rule = st_rules_find(loader->options->rules, ST_FORM_KERNEL, made->name.name);
        loader->kernels[mangled] = made;
    }
    return loader->kernels[mangled];
}

/* What a launch does, by its name and arguments: its shape. */
static uint32_t shape_launch(run_loader *loader, const st_memory_ranges *ranges, size_t launch)
{
    bool measured = false;
    const loaded_kernel *kernel =
        kernel_of(loader, st_memory_ranges_kernel(ranges, launch, &measured));
    uint32_t structures[ST_LAUNCH_STRUCTURES];
    if (kernel == NULL)
        return ST_NO_INDEX; /* the arena has failed, which its owner finds */
    st_launch_facts facts = {.name = kernel->name.name, .rule = kernel->rule};
    st_task_shape shape = {.form = ST_FORM_KERNEL, .name = facts.name};
    st_memory_ranges_facts(ranges, launch, &kernel->name, &facts, structures);
    for (size_t i = 0; i < facts.structure_count; i++)
        facts.structures[i] = loader->run->names->texts[structures[i]];
    if (loader->sizer == NULL || !st_launch_size(loader->sizer, &facts, &shape)) {
        shape.sizes[ST_SIZE_BYTES] = facts.read_bytes + facts.written_bytes;
        shape.at_most = facts.at_most;
    }
    shape.measured = measured;
    return st_run_shape(loader->run, &shape);
}

static int order_calls(const void *left, const void *right)
{
    const st_worker_call *a = *(st_worker_call *const *)left;
    const st_worker_call *b = *(st_worker_call *const *)right;
    int order = ST_ORDER(a->begin_ns, b->begin_ns);
    if (order == 0)
        order = ST_ORDER(a->thread, b->thread);
    return order != 0 ? order : ST_ORDER(a, b);
}

/* Calls of several threads, which are one thread after another, in order of time. */
static st_status order_by_time(st_run *run, st_worker *worker, st_arena *scratch, st_errors *errors)
{
    const size_t count = worker->call_count;
    st_worker_call **order = st_arena_alloc(scratch, count + 1, sizeof(st_worker_call *));
    st_worker_call *sorted = st_arena_alloc(run->arena, count + 1, sizeof *sorted);
    if (order == NULL || sorted == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < count; i++)
        order[i] = &worker->calls[i];
    st_sort(order, count, sizeof *order, order_calls);
    for (size_t i = 0; i < count; i++)
        sorted[i] = *order[i];
    worker->calls = sorted;
    return ST_OK;
}

/* The shapes of launches, whose calls are in the order of the logs still. */
static void shape_launches(run_loader *loader, const st_memory_ranges *ranges, st_worker *worker,
                           uint32_t *shapes, size_t launches)
{
    for (size_t i = 0; i < launches; i++)
        shapes[i] = shape_launch(loader, ranges, i);
    size_t launch = 0;
    for (size_t i = 0; i < worker->call_count; i++)
        if (worker->calls[i].record->kind == ST_LOG_LAUNCH)
            worker->calls[i].shape = shapes[st_memory_ranges_launch(ranges, launch++)];
}

/* The rank in the largest communicator, where the environment has none. */
static int64_t rank_of(const st_worker *worker)
{
    int64_t most = 0;
    int64_t rank = worker->header.rank;
    for (size_t i = 0; i < worker->comm_count && worker->header.rank < 0; i++)
        if (worker->comms[i].ranks > most && worker->comms[i].rank >= 0) {
            most = worker->comms[i].ranks;
            rank = worker->comms[i].rank;
        }
    return rank;
}

static st_status join_measured(run_loader *loader, const logged_process *process, st_worker *worker)
{
    st_measured_threads threads = {.count = process->count, .capacity = process->count};
    threads.numbers = st_arena_alloc(loader->run->arena, process->count, sizeof *threads.numbers);
    if (threads.numbers == NULL)
        return st_out_of_memory(loader->errors);
    for (size_t i = 0; i < process->count; i++)
        threads.numbers[i] = loader->files[process->first + i].header.tid;
    st_measured_join(loader->run, worker, &threads, &loader->run->lost_tasks);
    return ST_OK;
}

static st_status read_process(run_loader *loader, const logged_process *process, st_worker *worker)
{
    const log_file *first = &loader->files[process->first];
    st_arena *scratch = st_arena_create(); /* what is not needed once the process is read */
    if (scratch == NULL)
        return st_out_of_memory(loader->errors);
    st_memory_ranges *ranges = st_memory_ranges_create(scratch);
    st_status status = ranges != NULL ? ST_OK : st_out_of_memory(loader->errors);
    /* Pages of calls that are none are never touched. */
    size_t records = 0;
    for (size_t i = 0; i < process->count; i++)
        records += loader->files[process->first + i].records;
    *worker = (st_worker){.file = first->path,
                          .header = first->header,
                          .hash = process->hash,
                          .thread_count = process->count,
                          .rank_count = 1,
                          .whole = true};
    records = records < ST_WORKERS_MOST_CALLS ? records : ST_WORKERS_MOST_CALLS;
    worker->call_room = records;
    worker->calls = st_arena_alloc(process->count > 1 ? scratch : loader->run->arena, records + 1,
                                   sizeof *worker->calls);
    if (worker->calls == NULL)
        status = st_out_of_memory(loader->errors);
    for (size_t i = 0; i < process->count && status == ST_OK; i++) {
        const log_file *file = first + i;
        uint32_t thread = (uint32_t)i;
        st_log *log = NULL;
        bool more = true;
        status = st_log_open(file->path, &log, loader->errors);
        while (status == ST_OK && more) {
            st_worker_call call = {.thread = thread};
            st_log_record record;
            status = st_log_read(log, &record, &more, loader->errors);
            if (status != ST_OK || !more)
                break;
            loader->reading = file->path;
            status = take_record(loader, log, &record, &call, worker, ranges);
        }
        worker->whole = worker->whole && status == ST_OK && st_log_is_whole(log);
        st_log_destroy(log);
    }
    size_t launches = 0;
    uint32_t *shapes = NULL;
    if (status == ST_OK && st_memory_ranges_settle(ranges, &launches))
        shapes = st_arena_alloc(scratch, launches + 1, sizeof *shapes);
    if (status == ST_OK && shapes == NULL)
        status = st_out_of_memory(loader->errors);
    if (status != ST_OK) {
        st_arena_destroy(scratch);
        return status;
    }
    shape_launches(loader, ranges, worker, shapes, launches);
    status = join_measured(loader, process, worker);
    if (process->count > 1 || worker->thread_count > 1)
        st_note(&status, order_by_time(loader->run, worker, scratch, loader->errors));
    st_arena_destroy(scratch);
    worker->rank = rank_of(worker);
    return status == ST_OK && st_arena_failed(loader->run->arena) ? st_out_of_memory(loader->errors)
                                                                  : status;
}

/* ---- processes that launch others ---- */

/* What a process asked of GPUs, 0: nothing. One that starts others may only have counted them, or
 * have tried one before it did. */
static size_t gpu_calls(const st_worker *worker)
{
    size_t count = 0;
    for (size_t i = 0; i < worker->call_count; i++) {
        uint16_t kind = worker->calls[i].record->kind;
        count += worker->calls[i].shape != ST_NO_INDEX || kind == ST_LOG_COLLECTIVE ||
                 kind == ST_LOG_COMM || kind == ST_LOG_MALLOC || kind == ST_LOG_OUT_OF_MEMORY;
    }
    return count;
}

/* Removes such processes, and workers that then represent nobody. */
static st_status leave_out(run_loader *loader, uint32_t *of)
{
    st_run *run = loader->run;
    size_t *used = st_arena_alloc(run->arena, run->worker_count + 1, sizeof *used);
    bool *launchers = st_arena_alloc(run->arena, loader->process_count + 1, sizeof *launchers);
    uint32_t *moved = st_arena_alloc(run->arena, run->worker_count + 1, sizeof *moved);
    if (used == NULL || launchers == NULL || moved == NULL)
        return st_out_of_memory(loader->errors);
    size_t kept = 0;
    for (size_t i = 0; i < run->worker_count; i++)
        used[i] = gpu_calls(&run->workers[i]);
    for (size_t i = 0; i < loader->process_count; i++) {
        bool found = false;
        int64_t rank = loader->processes[i].rank;
        for (size_t j = 0; j < loader->process_count && !found; j++) {
            const size_t own = used[of[i]];
            const size_t other = used[of[j]];
            bool same = rank >= 0 && loader->processes[j].rank == rank && i != j;
            found = (own == 0 && other > 0 && rank < 0) ||
                    (same && (other > own || (other == own && j < i)));
        }
        launchers[i] = found;
    }
    for (size_t i = 0; i < loader->process_count; i++) {
        if (launchers[i])
            continue;
        moved[of[i]] = 1;
        loader->processes[kept] = loader->processes[i];
        of[kept++] = of[i];
    }
    run->left_out = loader->process_count - kept;
    loader->process_count = run->process_count = kept;
    kept = 0;
    for (size_t i = 0; i < run->worker_count; i++) {
        bool stays = moved[i] == 1;
        moved[i] = (uint32_t)kept;
        if (stays)
            run->workers[kept++] = run->workers[i];
    }
    run->worker_count = kept;
    for (size_t i = 0; i < loader->process_count; i++)
        of[i] = moved[of[i]];
    return ST_OK;
}

/* ---- workers ---- */

static uint32_t worker_with(const st_run *run, uint64_t hash)
{
    for (size_t i = 0; i < run->worker_count && hash != 0; i++)
        if (run->workers[i].hash == hash)
            return (uint32_t)i;
    return ST_NO_INDEX;
}

/* Reads what is new; `of` is the worker of each process. */
static st_status read_workers(run_loader *loader, uint32_t *of)
{
    st_run *run = loader->run;
    st_status status = ST_OK;
    run->workers = st_arena_alloc(run->arena, loader->process_count + 1, sizeof *run->workers);
    if (of == NULL || run->workers == NULL)
        return st_out_of_memory(loader->errors);
    for (size_t i = 0; i < loader->process_count && status == ST_OK; i++) {
        const logged_process *process = &loader->processes[i];
        of[i] = loader->options->each ? ST_NO_INDEX : worker_with(run, process->hash);
        if (of[i] != ST_NO_INDEX)
            continue;
        of[i] = (uint32_t)run->worker_count;
        status = read_process(loader, process, &run->workers[run->worker_count++]);
        loader->processes[i].rank = run->workers[of[i]].rank;
    }
    run->process_count = loader->process_count;
    return status;
}

/* As many ranks as asked for, or as the logs say, or as there are processes. */
static uint64_t world_of(const run_loader *loader)
{
    uint64_t world = loader->options->world;
    for (size_t i = 0; i < loader->process_count && loader->options->world == 0; i++) {
        int32_t declared = loader->files[loader->processes[i].first].header.world;
        world = declared > 0 && (uint64_t)declared > world ? (uint64_t)declared : world;
    }
    for (size_t i = 0; i < loader->run->worker_count && loader->options->world == 0; i++)
        for (size_t k = 0; k < loader->run->workers[i].comm_count; k++) {
            int64_t ranks = loader->run->workers[i].comms[k].ranks;
            world = ranks > 0 && (uint64_t)ranks > world ? (uint64_t)ranks : world;
        }
    return world > loader->process_count ? world : loader->process_count;
}

/* Puts recorded ranks, of which leave_out() keeps one each, into their places, and then those
 * without a rank into free ones. */
static st_status place_ranks(run_loader *loader, const uint32_t *of)
{
    st_run *run = loader->run;
    size_t next = 0;
    for (size_t i = 0; i < loader->process_count; i++) {
        int64_t rank = loader->processes[i].rank;
        if (rank >= (int64_t)run->world)
            return st_fail(loader->errors, ST_ERR_VALUE,
                           (st_place){.file = loader->files[loader->processes[i].first].path},
                           "rank %lld is out of range in a run of %llu ranks", (long long)rank,
                           (unsigned long long)run->world);
        if (rank >= 0)
            run->worker_of[rank] = of[i];
    }
    for (size_t i = 0; i < loader->process_count; i++) {
        if (loader->processes[i].rank >= 0)
            continue;
        while (run->worker_of[next] != ST_NO_INDEX)
            next++;
        run->worker_of[next] = of[i];
        if (run->workers[of[i]].rank < 0)
            run->workers[of[i]].rank = (int64_t)next;
    }
    return ST_OK;
}

/* Whether blocks of so many ranks have one recorded rank each, as the stages of a pipeline do. */
static bool one_in_each(const st_run *run, uint64_t block)
{
    for (uint64_t first = 0; first < run->world; first += block) {
        size_t found = 0;
        for (uint64_t i = first; i < first + block; i++)
            found += run->worker_of[i] != ST_NO_INDEX;
        if (found != 1)
            return false;
    }
    return true;
}

/* Ranks that were not run do as the recorder found out, as far as it did. */
static st_status follow_dedup(const run_loader *loader)
{
    st_run *run = loader->run;
    int32_t *as = NULL;
    bool found = false;
    if (run->world !=
        (uint64_t)loader->files[0].header.world) /* it is about another number of ranks */
        return ST_OK;
    st_status status =
        st_rank_dedup_read(run->folder, run->world, run->arena, &as, &found, loader->errors);
    for (uint64_t i = 0; i < run->world && status == ST_OK && found; i++) {
        if (run->worker_of[i] != ST_NO_INDEX || as[i] < 0 || as[as[i]] != as[i])
            continue;
        run->worker_of[i] = run->worker_of[as[i]];
        run->assumed += run->worker_of[i] != ST_NO_INDEX;
    }
    return status;
}

static st_status spread(run_loader *loader, uint32_t *of)
{
    st_run *run = loader->run;
    st_status status = leave_out(loader, of);
    if (status != ST_OK)
        return status;
    run->world = world_of(loader);
    if (loader->options->world > 0 && loader->options->world < loader->process_count)
        return st_fail(loader->errors, ST_ERR_USAGE, (st_place){.file = "--world"},
                       "fewer ranks than recorded" ST_FOUND "%llu" ST_EXPECTED
                       "at least %zu, the recorded ranks",
                       (unsigned long long)loader->options->world, loader->process_count);
    if (run->world > ST_WORKERS_MOST_RANKS)
        return st_fail(loader->errors, ST_ERR_LIMIT, (st_place){.file = run->folder},
                       "too many ranks" ST_FOUND "%llu" ST_EXPECTED "at most %d",
                       (unsigned long long)run->world, ST_WORKERS_MOST_RANKS);
    run->worker_of = st_arena_alloc(run->arena, run->world + 1, sizeof *run->worker_of);
    if (run->worker_of == NULL)
        return st_out_of_memory(loader->errors);
    for (uint64_t i = 0; i < run->world; i++)
        run->worker_of[i] = ST_NO_INDEX;
    status = place_ranks(loader, of);
    if (status != ST_OK)
        return status;
    status = follow_dedup(loader);
    if (status != ST_OK)
        return status;
    /* Ranks that were not recorded do as the recorded one of their block, or the one before
     * them. */
    const size_t recorded = loader->process_count;
    uint64_t block = recorded > 0 ? run->world / recorded : run->world;
    if (block == 0 || run->world % block != 0 || !one_in_each(run, block))
        block = run->world;
    for (uint64_t first = 0; first < run->world; first += block) {
        /* Gives ranks that have no worker the one before them, the first ones that of the first. */
        const uint64_t end = first + block;
        uint64_t i = first;
        while (i < end && run->worker_of[i] == ST_NO_INDEX)
            i++;
        uint32_t last = run->worker_of[i];
        for (i = first; i < end; i++) {
            run->assumed += run->worker_of[i] == ST_NO_INDEX;
            last = run->worker_of[i] != ST_NO_INDEX ? run->worker_of[i] : last;
            run->worker_of[i] = last;
        }
    }
    for (size_t i = 0; i < run->worker_count; i++)
        run->workers[i].rank_count = 0;
    for (uint64_t i = 0; i < run->world; i++)
        run->workers[run->worker_of[i]].rank_count++;
    return ST_OK;
}

st_status st_run_read(const char *folder, const st_run_options *options, st_run **run,
                      st_errors *errors)
{
    st_arena *arena = st_arena_create();
    st_run *made = arena != NULL ? st_arena_alloc(arena, 1, sizeof *made) : NULL;
    st_names *names = made != NULL ? st_arena_alloc(arena, 1, sizeof *names) : NULL;
    if (names == NULL || st_names_init(names) != ST_OK) {
        st_arena_destroy(arena);
        return st_out_of_memory(errors);
    }
    *made = (st_run){
        .arena = arena, .folder = st_arena_copy(arena, folder, strlen(folder)), .names = names};
    run_loader loader = {.run = made, .options = options, .errors = errors};
    uint32_t *of = NULL;
    bool fine = ST_APPEND(arena, made->times, made->time_count, (st_call_times){0});
    st_status status = fine ? ST_OK : st_out_of_memory(errors);
    if (status == ST_OK)
        status = st_names_add(made->names, "", 0, false, &(uint32_t){0});
    if (status == ST_OK && options->rules != NULL)
        status = st_launch_sizer_open(options->rules, arena, &loader.sizer, errors);
    if (status == ST_OK)
        status = open_files(&loader);
    if (status == ST_OK) {
        st_sort(loader.files, loader.file_count, sizeof *loader.files, order_files);
        for (size_t i = 0; i < loader.file_count; i++) {
            logged_process *last = i > 0 ? &loader.processes[loader.process_count - 1] : NULL;
            const st_log_header *header = &loader.files[i].header;
            const st_log_header *before = i > 0 ? &loader.files[last->first].header : header;
            if (i > 0 && before->pid == header->pid && before->rank == header->rank &&
                before->start_monotonic_ns == header->start_monotonic_ns) {
                last->count++;
                if (last->hash != 0)
                    last->hash = loader.files[i].hash != 0 ? last->hash + loader.files[i].hash : 0;
                continue;
            }
            loader.processes[loader.process_count++] = (logged_process){
                .first = i, .count = 1, .rank = header->rank, .hash = loader.files[i].hash};
        }
        of = st_arena_alloc(arena, loader.process_count + 1, sizeof *of);
        status = read_workers(&loader, of);
    }
    if (status == ST_OK)
        status = spread(&loader, of);
    if (status == ST_OK) {
        if (loader.run->left_out > 0)
            st_report(loader.errors, ST_SEVERITY_WARNING, ST_ERR_VALUE,
                      (st_place){.file = loader.run->folder},
                      "ignored %llu processes without GPU activity, or with less than another of "
                      "their rank",
                      (unsigned long long)loader.run->left_out);
        for (size_t i = 0; i < loader.run->worker_count; i++)
            if (!loader.run->workers[i].whole)
                st_report(loader.errors, ST_SEVERITY_WARNING, ST_ERR_SYNTAX,
                          (st_place){.file = loader.run->workers[i].file},
                          "truncated log, or the program died; using its %zu calls",
                          loader.run->workers[i].call_count);
        *run = made;
    } else {
        st_run_destroy(made);
    }
    return status;
}

void st_run_destroy(st_run *run)
{
    if (run == NULL)
        return;
    st_names_free(run->names);
    st_arena_destroy(run->arena);
}
