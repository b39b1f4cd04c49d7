/* SPDX-License-Identifier: Apache-2.0 */
/* See cupti_join.h. */
#include "record/price/cupti_join.h"

#include "base/lists.h"
#include "base/numbered_texts.h"

#include <string.h>

/* A call with what CUPTI says of it. */
typedef struct measured_call {
    st_worker_call *call;
    st_call_times *times;
} measured_call;

/* Tasks of a GPU and parts of products, in order of their calls' numbers. */
typedef struct joiner {
    st_run *run;
    measured_call *tasks;
    size_t task_count;
    measured_call *parts;
    size_t part_count;
    st_worker_call *joined;
    size_t joined_count;
} task_joiner;

enum { MOST_STREAMS = 4096 };

static bool is_task(const st_run *run, const st_worker_call *call)
{
    return call->times != 0 && run->times[call->times].log.thread == 0;
}

ST_COMPARE(order_tasks, measured_call,
           ST_RISING(times->log.correlation) ST_RISING(call->begin_ns) ST_RISING(call));

/* ---- products ---- */

/* A kernel that a product launched. */
typedef struct launched {
    uint64_t product;
    uint64_t length_ns;
    measured_call task;
    const st_worker_call *part;
} launched;

/* The longest kernel of a product comes first, of equal ones the first. */
ST_COMPARE(order_launched, launched,
           ST_RISING(product) ST_FALLING(length_ns) ST_RISING(task.times->log.correlation)
               ST_RISING(task.call));

/* Of the kernels of a product, the longest multiplies; others prepare it, or add up its parts. */
static void give_products(const task_joiner *joiner)
{
    launched *all = st_arena_alloc(joiner->run->arena, joiner->task_count + 1, sizeof *all);
    size_t count = 0;
    size_t part = 0;
    for (size_t i = 0; i < joiner->task_count; i++) {
        measured_call task = joiner->tasks[i];
        uint32_t correlation = task.times->log.correlation;
        while (part < joiner->part_count &&
               joiner->parts[part].times->log.correlation < correlation)
            part++;
        bool found =
            part < joiner->part_count && joiner->parts[part].times->log.correlation == correlation;
        if (found && task.call->record->kind == ST_LOG_LAUNCH && task.call->shape != ST_NO_INDEX)
            all[count++] = (launched){joiner->parts[part].times->log.product,
                                      task.times->log.length_ns, task, joiner->parts[part].call};
    }
    st_sort(all, count, sizeof *all, order_launched);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && all[i].product == all[i - 1].product)
            continue;
        /* The sizes and the type of the product; the time is the kernel's own. */
        st_task_shape shape = joiner->run->shapes[all[i].task.call->shape];
        const st_task_shape *of = &joiner->run->shapes[all[i].part->shape];
        shape.form = of->form;
        shape.type = of->type;
        memcpy(shape.sizes, of->sizes, sizeof shape.sizes);
        all[i].task.call->shape = st_run_shape(joiner->run, &shape);
    }
}

/* ---- calls ---- */

static uint32_t thread_of(st_run *run, st_measured_threads *threads, uint32_t number)
{
    for (size_t i = 0; i < threads->count; i++)
        if (threads->numbers[i] == number)
            return (uint32_t)i;
    (void)st_arena_append(run->arena, &threads->numbers, &threads->count, &threads->capacity,
                          &number, sizeof number);
    return (uint32_t)threads->count - 1;
}

static void join_call(task_joiner *joiner, const st_worker_call *call, uint32_t thread)
{
    uint32_t correlation = joiner->run->times[call->times].log.correlation;
    /* The first task of a call. */
    size_t first = 0;
    ST_BISECT(first, joiner->task_count,
              joiner->tasks[middle].times->log.correlation < correlation);
    uint32_t behind = 0;
    for (size_t i = first; i < joiner->task_count; i++) {
        st_call_times *times = joiner->tasks[i].times;
        if (times->log.correlation != correlation || times->joined)
            break; /* or another call of this number has them, which only a broken log has */
        st_worker_call made = *joiner->tasks[i].call;
        st_log_record record = *made.record;
        made.begin_ns = call->begin_ns;
        made.length_ns = behind == 0 ? call->length_ns : 0;
        made.thread = thread;
        record.status = call->record->status;
        record.call = behind == 0 ? call->record->call : 0;
        /* A copy that the host does not wait for has Async in its name. */
        if (record.kind == ST_LOG_COPY &&
            strstr(joiner->run->names->texts[call->record->call], "Async") != NULL)
            record.flags |= ST_LOG_ASYNC;
        made.record = st_run_record(joiner->run, &record);
        (void)ST_APPEND(joiner->run->arena, joiner->joined, joiner->joined_count, made);
        times->behind = behind++;
        times->joined = true;
    }
    if (behind > 0)
        return;
    st_worker_call made = *call;
    made.thread = thread;
    (void)ST_APPEND(joiner->run->arena, joiner->joined, joiner->joined_count, made);
}

void st_measured_join(st_run *run, st_worker *worker, st_measured_threads *threads, uint64_t *lost)
{
    task_joiner joiner = {.run = run};
    bool any = false;
    for (size_t i = 0; i < worker->call_count; i++)
        any = any || worker->calls[i].times != 0;
    if (!any)
        return;
    bool is_default[MOST_STREAMS] = {0};
    joiner.tasks = st_arena_alloc(run->arena, worker->call_count + 1, sizeof *joiner.tasks);
    joiner.parts = st_arena_alloc(run->arena, worker->call_count + 1, sizeof *joiner.parts);
    for (size_t i = 0; i < worker->call_count; i++) {
        st_worker_call *call = &worker->calls[i];
        const measured_call measured = {call, &run->times[call->times]};
        if (is_task(run, call) && call->record->kind == ST_LOG_GEMM)
            joiner.parts[joiner.part_count++] = measured;
        else if (is_task(run, call))
            joiner.tasks[joiner.task_count++] = measured;
        bool names = call->record->kind == ST_LOG_STREAM_CREATE &&
                     (call->record->flags & ST_LOG_DEFAULT) != 0;
        if (names && call->record->stream.stream < MOST_STREAMS)
            is_default[call->record->stream.stream] = true;
    }
    st_sort(joiner.tasks, joiner.task_count, sizeof *joiner.tasks, order_tasks);
    st_sort(joiner.parts, joiner.part_count, sizeof *joiner.parts, order_tasks);
    give_products(&joiner);
    for (size_t i = 0; i < worker->call_count; i++) {
        const st_worker_call *call = &worker->calls[i];
        if (call->times == 0)
            (void)ST_APPEND(run->arena, joiner.joined, joiner.joined_count, *call);
        else if (!is_task(run, call)) /* parts are gone with that */
            join_call(&joiner, call, thread_of(run, threads, run->times[call->times].log.thread));
    }
    for (size_t i = 0; i < joiner.task_count; i++)
        *lost += !joiner.tasks[i].times->joined;
    /* CUPTI counts default streams among the others. */
    for (size_t i = 0; i < joiner.joined_count; i++) {
        st_log_record record = *joiner.joined[i].record;
        const uint32_t *stream = st_record_stream(&record);
        if (stream == NULL || *stream >= MOST_STREAMS || !is_default[*stream])
            continue;
        memset((char *)&record + ((const char *)stream - (const char *)&record), 0, sizeof *stream);
        joiner.joined[i].record = st_run_record(run, &record);
    }
    worker->calls = joiner.joined;
    worker->call_count = joiner.joined_count;
    worker->thread_count = threads->count;
}
