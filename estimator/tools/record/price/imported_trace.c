/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walked worker as a trace in the form of PyTorch's profiler: calls, GPU tasks with correlation,
 * stream and sizes, what streams wait for, collectives, memory and steps.
 */
#include "record/price/imported.h"

#include "base/numbered_texts.h"
#include "base/number.h"

enum { INNER_STREAMS = 1000000, THREAD_STREAMS = 2000000, MOST_RANKS_SHOWN = 128 };

typedef struct trace_writer {
    const st_imported *imported;
    const st_walk_worker *walked;
    const st_worker *worker;
    uint32_t index; /* of the worker */
    st_buffer *out;
    bool started;
} trace_writer;

static const char *name_of(const trace_writer *writer, uint32_t name)
{
    return writer->imported->run->names->texts[name];
}

/* "{"ph": "X", "cat": ..., "name": ..., "pid": , "tid": ", times; the caller adds args and '}'. */
static void begin_event(trace_writer *writer, const char *category, const char *name,
                        int64_t start_ns, int64_t end_ns)
{
    char start[ST_MICROSECONDS_TEXT];
    char length[ST_MICROSECONDS_TEXT];
    st_buffer_text(writer->out, writer->started ? ",\n" : "\n");
    writer->started = true;
    st_buffer_printf(writer->out, "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":", category);
    st_buffer_json_string(writer->out, name);
    st_buffer_printf(writer->out, ",\"ts\":%s,\"dur\":%s", st_microseconds_print(start_ns, start),
                     st_microseconds_print(end_ns - start_ns, length));
}

static int64_t stream_number(const st_walk_lane *lane)
{
    int64_t number = lane->stream;
    if (lane->stream == ST_LOG_STREAM_PER_THREAD)
        number = THREAD_STREAMS + (int64_t)lane->thread;
    return lane->inner ? INNER_STREAMS + number : number;
}

static void put_place(trace_writer *writer, int64_t process, int64_t track)
{
    st_buffer_printf(writer->out, ",\"pid\":%lld,\"tid\":%lld,\"args\":{", (long long)process,
                     (long long)track);
}

/* ---- calls ---- */

/* What the profiler calls memory: each change of what is charged on a device. */
static void write_memory(trace_writer *writer, size_t index)
{
    const st_worker_call *call = &writer->worker->calls[index];
    const st_log_memory *memory = &call->record->memory;
    char time[ST_MICROSECONDS_TEXT];
    bool frees = call->record->kind == ST_LOG_FREE;
    st_buffer_printf(
        writer->out,
        ",\n{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\","
        "\"ts\":%s",
        st_microseconds_print(writer->walked->end_ns[index], time));
    put_place(writer, writer->worker->header.pid,
              writer->worker->header.tid + (int64_t)call->thread);
    st_buffer_printf(writer->out,
                     "\"Addr\":%llu,\"Bytes\":%s%llu,\"Device Type\":1,\"Device Id\":%u,"
                     "\"Total Allocated\":%llu,\"Total Reserved\":%llu}}",
                     (unsigned long long)memory->pointer, frees ? "-" : "",
                     (unsigned long long)memory->charged_bytes, (unsigned)call->record->device,
                     (unsigned long long)memory->live_bytes,
                     (unsigned long long)memory->live_bytes);
}

/* ---- collectives ---- */

static const char *torch_type(uint32_t type)
{
    static const char *const names[] = {
        [ST_LOG_FP32] = "Float",
        [ST_LOG_FP64] = "Double",
        [ST_LOG_FP16] = "Half",
        [ST_LOG_BF16] = "BFloat16",
        [ST_LOG_INT8] = "Char",
        [ST_LOG_UINT8] = "Byte",
        [ST_LOG_INT32] = "Int",
        [ST_LOG_UINT32] = "Int",
        [ST_LOG_INT64] = "Long",
        [ST_LOG_UINT64] = "Long",
        [ST_LOG_FP8_E4M3] = "Float8_e4m3fn",
        [ST_LOG_FP8_E5M2] = "Float8_e5m2",
    };
    return type < ST_COUNT(names) && names[type] != NULL ? names[type] : "Unknown";
}

static void write_collective(trace_writer *writer, const st_walk_task *task)
{
    /* The collective by which all that meet call the task: the one of the least number. */
    const st_walk_meet *meet = &writer->walked->meets[task->meet];
    for (uint32_t i = task->meet; i != ST_NO_INDEX; i = writer->walked->meets[i].next)
        if (writer->walked->meets[i].instance < meet->instance)
            meet = &writer->walked->meets[i];
    const st_log_record *record = writer->worker->calls[meet->what].record;
    const st_log_collective *collective = &record->collective;
    const st_communicator *group = st_groups_find(writer->imported->groups, writer->index, record);
    uint64_t ranks = group != NULL && group->ranks > 0 ? (uint64_t)group->ranks : 1;
    bool gathers = collective->operation == ST_LOG_ALL_GATHER;
    bool spreads = collective->operation == ST_LOG_REDUCE_SCATTER ||
                   collective->operation == ST_LOG_ALL_TO_ALL;
    bool all = collective->operation == ST_LOG_ALL_TO_ALL;
    uint64_t in_elements = collective->count * (spreads ? ranks : 1);
    uint64_t out_elements = collective->count * (gathers || all ? ranks : 1);
    st_buffer_printf(writer->out,
                     ",\"Collective name\":\"%s\",\"dtype\":\"%s\",\"In msg nelems\":%llu,"
                     "\"Out msg nelems\":%llu,\"Group size\":%llu,\"Seq\":%lu",
                     st_operations[collective->operation].torch, torch_type(collective->type),
                     (unsigned long long)in_elements, (unsigned long long)out_elements,
                     (unsigned long long)ranks, (unsigned long)meet->instance);
    if (group == NULL)
        return;
    st_buffer_printf(writer->out, ",\"Process Group Name\":\"%016llx\",\"Rank\":%lld",
                     (unsigned long long)group->key, (long long)group->rank);
    if (group->ranks > MOST_RANKS_SHOWN)
        return;
    st_buffer_text(writer->out, ",\"Process Group Ranks\":\"[");
    int64_t at = group->base;
    for (int64_t i = 0; i < group->ranks; i++, at += group->stride)
        st_buffer_printf(writer->out, "%s%lld", i > 0 ? ", " : "", (long long)at);
    st_buffer_text(writer->out, "]\"");
}

/* ---- GPU tasks ---- */

/* A name from which readers of traces derive the class of a task. */
static const char *task_name(const trace_writer *writer, const st_worker_call *call,
                             const char **category, char *text, size_t size)
{
    static const char *const copies[] = {"Memcpy HtoH", "Memcpy HtoD", "Memcpy DtoH", "Memcpy DtoD",
                                         "Memcpy PtoP"};
    const st_log_record *record = call->record;
    const st_task_shape *shape =
        call->shape != ST_NO_INDEX ? &writer->imported->run->shapes[call->shape] : NULL;
    *category = "kernel";
    switch ((st_log_kind)record->kind) {
    case ST_LOG_COPY:
        *category = "gpu_memcpy";
        return copies[record->copy.direction <= ST_LOG_PEER ? record->copy.direction : 0];
    case ST_LOG_SET:
        *category = "gpu_memset";
        return "Memset (Device)";
    case ST_LOG_COLLECTIVE:
        (void)snprintf(text, size, "ncclDevKernel_%s",
                       st_operations[record->collective.operation].kernel);
        return text;
    case ST_LOG_CUDNN:
        if (shape == NULL)
            return "cudnn";
        (void)snprintf(text, size, "%s_%s", shape->form == ST_FORM_KERNEL ? "cudnn" : "flash",
                       st_task_form_name(shape->form));
        return text;
    case ST_LOG_GEMM:
        (void)snprintf(text, size, "%s gemm", name_of(writer, record->call));
        return text;
    default:
        return shape != NULL ? shape->name : "";
    }
}

static void write_task(trace_writer *writer, const st_walk_task *task)
{
    enum { NAME = 160 };
    char text[NAME];
    const char *category = NULL;
    const st_walk_lane *lane = &writer->walked->lanes[task->lane];
    const st_worker_call *call = &writer->worker->calls[task->what];
    const char *name = task_name(writer, call, &category, text, sizeof text);
    begin_event(writer, category, name, task->start_ns, task->end_ns);
    put_place(writer, lane->device, stream_number(lane));
    st_buffer_printf(writer->out, "\"device\":%lu,\"stream\":%lld,\"correlation\":%lu",
                     (unsigned long)lane->device, (long long)stream_number(lane),
                     (unsigned long)task->call + 1);
    if (task->meet != ST_NO_INDEX) {
        write_collective(writer, task);
    } else {
        const st_log_record *record = call->record;
        const st_log_launch *launch = &record->launch;
        const st_task_shape *shape = &writer->imported->run->shapes[call->shape];
        const st_price *price = &writer->imported->shape_prices[call->shape];
        if (record->kind == ST_LOG_LAUNCH)
            st_buffer_printf(writer->out,
                             ",\"grid\":[%lu,%lu,%lu],\"block\":[%u,%u,%u],\"shared memory\":%lu",
                             (unsigned long)launch->grid[0], (unsigned long)launch->grid[1],
                             (unsigned long)launch->grid[2], launch->block[0], launch->block[1],
                             launch->block[2], (unsigned long)launch->shared_bytes);
        if (shape->form == ST_FORM_PRODUCT)
            st_buffer_printf(writer->out, ",\"MNK\":[%.0f,%.0f,%.0f],\"batch\":%.0f",
                             shape->sizes[ST_SIZE_M], shape->sizes[ST_SIZE_N],
                             shape->sizes[ST_SIZE_K], shape->sizes[ST_SIZE_PRODUCTS]);
        if (shape->type != NULL)
            st_buffer_printf(writer->out, ",\"type\":\"%s\"", shape->type);
        if (shape->sizes[ST_SIZE_BYTES] > 0)
            st_buffer_printf(writer->out, ",\"bytes\":%.0f", shape->sizes[ST_SIZE_BYTES]);
        st_buffer_printf(writer->out, ",\"operation\":\"%s\"%s", price->operation,
                         price->unknown ? ",\"unknown\":1" : "");
    }
    st_buffer_text(writer->out, "}}");
}

/* ---- the file ---- */

static void write_steps(trace_writer *writer)
{
    const st_imported_worker *counts = &writer->imported->workers[writer->index];
    enum { NAME = 40 };
    char name[NAME];
    for (size_t i = 0; i < counts->steps; i++) {
        (void)snprintf(name, sizeof name, "ProfilerStep#%zu", i);
        begin_event(writer, "user_annotation", name, counts->step_begin_ns[i],
                    counts->step_begin_ns[i + 1]);
        put_place(writer, writer->worker->header.pid, writer->worker->header.tid);
        st_buffer_text(writer->out, "}}");
    }
}

void st_imported_write(const st_imported *imported, uint64_t rank, st_buffer *buffer)
{
    uint32_t index = imported->run->worker_of[rank];
    trace_writer writer = {.imported = imported,
                           .walked = &imported->walk->workers[index],
                           .worker = &imported->run->workers[index],
                           .index = index,
                           .out = buffer};
    const st_log_header *header = &writer.worker->header;
    st_buffer_text(writer.out,
                   "{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"deviceProperties\":[");
    for (uint32_t i = 0; i < header->device_count && i < 64; i++) {
        st_buffer_printf(writer.out, "%s{\"id\":%lu,\"name\":", i > 0 ? "," : "", (unsigned long)i);
        st_buffer_json_string(writer.out, writer.imported->device);
        st_buffer_printf(writer.out, ",\"totalGlobalMem\":%llu}",
                         (unsigned long long)header->device_bytes);
    }
    st_buffer_printf(writer.out,
                     "],\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":%llu,"
                     "\"world_size\":%llu},\"baseTimeNanoseconds\":0,\"recorded\":{\"program\":",
                     (unsigned long long)rank, (unsigned long long)writer.imported->run->world);
    st_buffer_json_string(writer.out, header->program);
    st_buffer_text(writer.out, "},\"traceEvents\":[");
    write_steps(&writer);
    for (size_t i = 0; i < writer.worker->call_count; i++) {
        const st_log_record *record = writer.worker->calls[i].record;
        if (record->call == 0 || record->kind == ST_LOG_END || record->kind == ST_LOG_FORKED ||
            record->kind == ST_LOG_MARK)
            continue;
        const st_worker_call *call = &writer.worker->calls[i];
        const char *name = name_of(&writer, record->call);
        bool driver = name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
        begin_event(&writer, driver ? "cuda_driver" : "cuda_runtime", name, call->begin_ns,
                    writer.walked->end_ns[i]);
        put_place(&writer, writer.worker->header.pid,
                  writer.worker->header.tid + (int64_t)call->thread);
        st_buffer_printf(writer.out, "\"correlation\":%zu}}", i + 1);
        bool allocates = record->kind == ST_LOG_MALLOC || record->kind == ST_LOG_FREE;
        if (allocates && record->status == 0 && record->memory.charged_bytes > 0 &&
            record->memory.memory != ST_LOG_PINNED)
            write_memory(&writer, i);
    }
    for (size_t i = 0; i < writer.walked->task_count; i++) {
        /* What a stream waits for before a task, as the profiler records it since 2024. */
        const st_walk_task *task = &writer.walked->tasks[i];
        const st_walk_lane *lane = &writer.walked->lanes[task->lane];
        for (uint32_t j = task->wait; j != ST_NO_INDEX; j = writer.walked->waits[j].next) {
            const st_walk_wait *wait = &writer.walked->waits[j];
            if (wait->record == ST_NO_INDEX)
                continue;
            const st_walk_lane *on = &writer.walked->lanes[writer.walked->tasks[wait->task].lane];
            const int64_t begin_ns = writer.worker->calls[task->call].begin_ns;
            begin_event(&writer, "cuda_sync", "Stream Wait Event", begin_ns, begin_ns);
            put_place(&writer, lane->device, stream_number(lane));
            st_buffer_printf(writer.out,
                             "\"cuda_sync_kind\":\"Stream Wait Event\",\"stream\":%lld,"
                             "\"correlation\":%lu,\"wait_on_stream\":%lld,"
                             "\"wait_on_cuda_event_record_corr_id\":%lu,\"device\":%lu}}",
                             (long long)stream_number(lane), (unsigned long)task->call + 1,
                             (long long)stream_number(on), (unsigned long)wait->record + 1,
                             (unsigned long)lane->device);
        }
        write_task(&writer, &writer.walked->tasks[i]);
    }
    st_buffer_text(buffer, "\n]}\n");
}
