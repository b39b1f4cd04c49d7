/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of a recorded program, which nobody marked: the longest end of its GPU tasks that is the
 * same tasks over and over, at least twice, with the host waiting for the GPU at the same places.
 * Fewer tasks than a step behind the last one, of an evaluation or of cleaning up, may be left out.
 */
#include "record/price/imported.h"

#include "base/hash.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { MOST_LEFT_OUT = 256 };

typedef struct step_finder {
    const st_run *run;
    const st_walk_worker *walked;
    uint64_t *marks;   /* by task from the last: what it is */
    uint32_t *borders; /* of the marks: the longest beginning that is an end, too */
    size_t count;
    size_t left_out; /* tasks at the end */
    size_t period;   /* tasks of a step */
    size_t covered;  /* tasks of all steps */
} step_finder;

/* Products and attention are the same by all of their sizes, others by the highest bit of their
 * bytes, which follow tokens and neighbours in memory; copies to and from the host are alike. */
static uint64_t mark_of_shape(const st_task_shape *shape)
{
    double bytes = shape->sizes[ST_SIZE_BYTES];
    double sizes[ST_SIZE_KEYS];
    int exponent = 0;
    memcpy(sizes, shape->sizes, sizeof sizes);
    (void)frexp(bytes, &exponent);
    sizes[ST_SIZE_BYTES] = shape->form == ST_FORM_HOST_COPY ? 0 : exponent;
    uint64_t hash = st_hash_bytes(ST_HASH_BEGIN, sizes, sizeof sizes);
    return st_hash_word(st_hash_text(hash, shape->name), (uint64_t)shape->form) >> 3;
}

/* The longest beginning that consists of at least two periods. */
static void try_end(step_finder *finder, size_t first)
{
    /* Knuth, Morris and Pratt: borders[i] is that of the first i marks. */
    const uint64_t *marks = finder->marks + first;
    size_t count = finder->count - first;
    finder->borders[0] = 0;
    if (count > 0)
        finder->borders[1] = 0;
    for (size_t i = 1; i < count; i++) {
        size_t border = finder->borders[i];
        while (border > 0 && marks[border] != marks[i])
            border = finder->borders[border];
        finder->borders[i + 1] = (uint32_t)(marks[border] == marks[i] ? border + 1 : 0);
    }
    for (size_t length = finder->count - first; length > finder->covered && length > 1; length--) {
        size_t period = length - finder->borders[length];
        if (2 * period > length || first >= period)
            continue;
        finder->left_out = first;
        finder->period = period;
        finder->covered = length;
        return;
    }
}

void st_imported_find_steps(const st_imported *imported, size_t worker, st_arena *arena)
{
    const st_walk_worker *walked = &imported->walk->workers[worker];
    step_finder finder = {.run = imported->run, .walked = walked, .count = walked->task_count};
    finder.marks = st_arena_alloc(arena, finder.count + 1, sizeof *finder.marks);
    finder.borders = st_arena_alloc(arena, finder.count + 2, sizeof *finder.borders);
    for (size_t i = 0; i < finder.count; i++) {
        /* What a task is, whatever its pointers: its shape, or operation and message. */
        const size_t index = finder.count - 1 - i;
        const st_worker_call *call = &walked->worker->calls[walked->tasks[index].what];
        uint64_t mark =
            call->shape != ST_NO_INDEX ? mark_of_shape(&finder.run->shapes[call->shape]) : 0;
        if (call->record.kind == ST_LOG_COLLECTIVE)
            mark = (UINT64_C(1) << 63) ^ ((uint64_t)call->record.collective.operation << 56) ^
                   call->record.collective.count;
        uint32_t last = index > 0 ? walked->tasks[index - 1].call : 0;
        bool waits = index == 0;
        for (uint32_t j = last; j < walked->tasks[index].call && !waits; j++) {
            uint16_t kind = walked->worker->calls[j].record.kind;
            waits = kind == ST_LOG_STREAM_SYNC || kind == ST_LOG_EVENT_SYNC ||
                    kind == ST_LOG_DEVICE_SYNC;
        }
        finder.marks[i] = waits ? mark ^ (UINT64_C(1) << 62) : mark;
    }
    /* Of ends that cover as much, the one with the fewest tasks left out. */
    for (size_t first = 0; first < MOST_LEFT_OUT && first + 1 < finder.count; first++) {
        if (finder.count - first <= finder.covered)
            break;
        try_end(&finder, first);
        if (finder.covered > finder.count / 2)
            break;
    }
    if (finder.covered > 0) {
        /* Steps begin on the host where it launches their first tasks; how long they take is from
         * the beginning of a step's first task to that of the next one's: the host may be far
         * ahead. */
        st_imported_worker *counts = &imported->workers[worker];
        size_t steps = finder.covered / finder.period;
        size_t end = finder.count - finder.left_out;
        int64_t *times = st_arena_alloc(arena, steps + 1, sizeof *times);
        counts->step_begin_ns = st_arena_alloc(arena, steps + 1, sizeof(int64_t));
        for (size_t i = 0; i < steps; i++) {
            const st_walk_task *task = &finder.walked->tasks[end - (steps - i) * finder.period];
            counts->step_begin_ns[i] = finder.walked->begin_ns[task->call];
        }
        int64_t last_ns = finder.walked->end_ns[finder.walked->worker->call_count - 1];
        for (size_t i = end - finder.period; i < end; i++)
            last_ns =
                finder.walked->tasks[i].end_ns > last_ns ? finder.walked->tasks[i].end_ns : last_ns;
        counts->step_begin_ns[steps] = last_ns;
        for (size_t i = 0; i + 1 < steps; i++)
            times[i] = finder.walked->tasks[end - (steps - i - 1) * finder.period].start_ns -
                       finder.walked->tasks[end - (steps - i) * finder.period].start_ns;
        st_sort(times, steps - 1, sizeof *times, st_order_times);
        counts->steps = steps;
        counts->step_tasks = finder.period;
        counts->step_ns = times[(steps - 1) / 2];
    }
}
