/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of a recorded program, which nobody marked: the same GPU tasks over and over, at least
 * twice, with the host waiting for the GPU at the same places. Behind the training, programs
 * evaluate and sample in loops of their own: a step therefore ends with an optimizer, or where
 * there is none has a sum of gradients or a backward pass, or ends with the kernel that the user
 * names. Where there is none of these, the steps are the longest end of all tasks that repeats;
 * fewer tasks than a step behind the last one may be left out.
 */
#include "record/price/imported.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/numbered_texts.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

enum { MOST_LEFT_OUT = 256, MOST_ENDS = 128 };

/* What ends a step, the best first. */
typedef enum step_end { NAMED, OPTIMIZER, GRADIENTS, BACKWARD, STEP_ENDS } step_end;

typedef struct step_finder {
    const st_run *run;
    const st_walk_worker *walked;
    uint64_t *marks;   /* by task from the last: what it is */
    uint32_t *borders; /* of the marks: the longest beginning that is an end, too */
    size_t count;
    size_t left_out; /* tasks at the end */
    step_end by;     /* what ends steps; layers have sums and backward passes, too */
    bool *ends;      /* by mark: whether a step may end with this task; NULL: with any */
    bool *lasts;     /* by mark: whether it is the last of those that end a step */
    size_t period;   /* tasks of a step */
    size_t covered;  /* tasks of all steps that follow each other */
    size_t *others;  /* the last tasks of all equal steps where others are between them */
    size_t other_count;
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

/* ---- ranges ---- */

static bool has_word(const char *text, const char *word)
{
    for (; *text != '\0'; text++) {
        size_t i = 0;
        while (word[i] != '\0' && st_to_lower(text[i]) == word[i])
            i++;
        if (word[i] == '\0')
            return true;
    }
    return false;
}

/* Whether a call begins a range of NVTX that is a step: by the name that the user gives, or that
 * programs give their iterations of training. */
static bool begins_step(const st_imported *imported, const st_worker_call *call)
{
    if (call->record->kind != ST_LOG_MARK || call->record->mark.push != 1)
        return false;
    const char *text = imported->run->names->texts[call->record->mark.text];
    if (imported->step_kernel != NULL)
        return fnmatch(imported->step_kernel, text, 0) == 0;
    bool evaluates = has_word(text, "eval") || has_word(text, "valid") || has_word(text, "test");
    return !evaluates && (has_word(text, "step") || has_word(text, "iter"));
}

/* The call behind a range's end, or behind the last one. */
static uint32_t end_of_range(const st_worker *worker, uint32_t begin)
{
    size_t depth = 1;
    for (uint32_t i = begin + 1; i < worker->call_count; i++) {
        const st_worker_call *call = &worker->calls[i];
        if (call->record->kind != ST_LOG_MARK || call->thread != worker->calls[begin].thread)
            continue;
        depth = call->record->mark.push == 1 ? depth + 1 : depth - 1;
        if (depth == 0)
            return i;
    }
    return (uint32_t)worker->call_count;
}

/* A step: its tasks, from when all before them are done until they are. */
typedef struct step_range {
    size_t first;
    size_t end;
    int64_t time_ns;
} step_range;

/* The outermost ranges that are steps and have tasks; returns how many there are. */
static size_t take_ranges(const st_imported *imported, const st_walk_worker *walked,
                          st_arena *arena, step_range **ranges)
{
    const st_worker *worker = walked->worker;
    size_t task = 0;
    size_t count = 0;
    int64_t done_ns = 0;
    for (uint32_t i = 0; i < worker->call_count; i++) {
        if (!begins_step(imported, &worker->calls[i]))
            continue;
        step_range made = {0};
        const uint32_t end = end_of_range(worker, i);
        for (; task < walked->task_count && walked->tasks[task].call < i; task++)
            done_ns = walked->tasks[task].end_ns > done_ns ? walked->tasks[task].end_ns : done_ns;
        const int64_t before_ns = done_ns;
        made.first = task;
        for (; task < walked->task_count && walked->tasks[task].call < end; task++)
            done_ns = walked->tasks[task].end_ns > done_ns ? walked->tasks[task].end_ns : done_ns;
        made.end = task;
        made.time_ns = done_ns - before_ns;
        if (made.end > made.first)
            (void)ST_APPEND(arena, *ranges, count, made);
        i = end - 1;
    }
    return count;
}

/* Adds what is guessed of these tasks. */
static void add_guesses(const st_imported *imported, const st_walk_worker *walked,
                        const step_range *of, st_imported_worker *counts)
{
    for (size_t i = of->first; i < of->end; i++) {
        const st_walk_task *task = &walked->tasks[i];
        uint32_t shape = walked->worker->calls[task->what].shape;
        if (task->meet != ST_NO_INDEX || shape == ST_NO_INDEX ||
            !imported->shape_prices[shape].unknown)
            continue;
        counts->step_unknown++;
        counts->step_unknown_ns += task->end_ns - task->start_ns;
    }
}

/* Steps by their ranges; false: there are not two of them. The first has what only it does. */
static bool find_ranges(const st_imported *imported, size_t worker, st_arena *arena)
{
    const st_walk_worker *walked = &imported->walk->workers[worker];
    st_imported_worker *counts = &imported->workers[worker];
    step_range *ranges = NULL;
    size_t steps = take_ranges(imported, walked, arena, &ranges);
    if (steps < 2)
        return false;
    int64_t *times = st_arena_alloc(arena, steps, sizeof *times);
    counts->step_begin_ns = st_arena_alloc(arena, steps + 1, sizeof(int64_t));
    counts->step_first = st_arena_alloc(arena, steps + 1, sizeof(size_t));
    for (size_t i = 0; i < steps; i++) {
        counts->step_begin_ns[i] =
            walked->worker->calls[walked->tasks[ranges[i].first].call].begin_ns;
        counts->step_first[i] = ranges[i].first;
    }
    counts->step_first[steps] = ranges[steps - 1].end;
    counts->step_begin_ns[steps] = walked->end_ns[walked->worker->call_count - 1];
    for (size_t i = 1; i < steps; i++)
        times[i - 1] = ranges[i].time_ns;
    st_sort(times, steps - 1, sizeof *times, st_order_times);
    counts->steps = steps;
    counts->step_tasks = ranges[steps - 1].end - ranges[steps - 1].first;
    counts->step_ns = times[(steps - 1) / 2];
    for (size_t i = 1; i < steps; i++)
        add_guesses(imported, walked, &ranges[i], counts);
    counts->step_unknown /= steps - 1;
    counts->step_unknown_ns /= (int64_t)(steps - 1);
    return true;
}

/* ---- repetition ---- */

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
        if (2 * period > length || (finder->ends == NULL && first >= period))
            continue;
        finder->left_out = first;
        finder->period = period;
        finder->covered = length;
        return;
    }
}

/* What a task is, whatever its pointers: its shape, or operation and message; loose: of any size,
 * and wherever the host waits, which threads may do at other places in each step. */
static uint64_t mark_of(const step_finder *finder, size_t index, bool loose)
{
    const st_walk_worker *walked = finder->walked;
    const st_worker_call *call = &walked->worker->calls[walked->tasks[index].what];
    uint64_t mark = 0;
    if (call->shape != ST_NO_INDEX) {
        st_task_shape shape = finder->run->shapes[call->shape];
        if (loose)
            shape.sizes[ST_SIZE_BYTES] = 0;
        mark = mark_of_shape(&shape);
    }
    if (call->record->kind == ST_LOG_COLLECTIVE)
        mark = (UINT64_C(1) << 63) ^ ((uint64_t)call->record->collective.operation << 56) ^
               (loose ? 0 : call->record->collective.count);
    if (loose)
        return mark;
    uint32_t last = index > 0 ? walked->tasks[index - 1].call : 0;
    bool waits = index == 0;
    for (uint32_t j = last; j < walked->tasks[index].call && !waits; j++) {
        uint16_t kind = walked->worker->calls[j].record->kind;
        waits =
            kind == ST_LOG_STREAM_SYNC || kind == ST_LOG_EVENT_SYNC || kind == ST_LOG_DEVICE_SYNC;
    }
    return waits ? mark ^ (UINT64_C(1) << 62) : mark;
}

/* Whether a task is one of those that end steps. */
static bool ends_step(const st_imported *imported, const step_finder *finder, size_t index,
                      step_end end)
{
    const st_worker_call *call = &finder->walked->worker->calls[finder->walked->tasks[index].what];
    if (end == GRADIENTS)
        return call->record->kind == ST_LOG_COLLECTIVE &&
               (call->record->collective.operation == ST_LOG_ALL_REDUCE ||
                call->record->collective.operation == ST_LOG_REDUCE_SCATTER);
    if (call->shape == ST_NO_INDEX)
        return false;
    const char *name = finder->run->shapes[call->shape].name;
    if (end == BACKWARD)
        return has_word(name, "backward") || has_word(name, "bwd");
    if (end == NAMED)
        return imported->step_kernel != NULL && fnmatch(imported->step_kernel, name, 0) == 0;
    return st_same(imported->shape_prices[call->shape].operation, ST_OPTIMIZER_OPERATION);
}

/* Whether a mark is of a product or of attention. */
static bool is_work(const step_finder *finder, size_t mark)
{
    const st_walk_task *task = &finder->walked->tasks[finder->count - 1 - mark];
    const uint32_t shape = finder->walked->worker->calls[task->what].shape;
    const st_task_form form = shape != ST_NO_INDEX ? finder->run->shapes[shape].form : ST_FORM_COPY;
    return form == ST_FORM_PRODUCT || form == ST_FORM_ATTENTION ||
           form == ST_FORM_ATTENTION_BACKWARD;
}

/* Finds the tasks that end steps, the best kind of them that there is. Those of an optimizer are
 * one end, with the norm of gradients that it clips: no product is between them. */
static void find_ends(const st_imported *imported, step_finder *finder, st_arena *arena)
{
    bool *ends = st_arena_alloc(arena, finder->count + 1, sizeof *ends);
    bool any = false;
    bool worked = true;
    finder->lasts = st_arena_alloc(arena, finder->count + 1, sizeof *finder->lasts);
    for (step_end end = NAMED; end < STEP_ENDS && !any; end++) {
        finder->by = end;
        for (size_t i = 0; i < finder->count; i++) {
            ends[i] = ends_step(imported, finder, finder->count - 1 - i, end);
            any = any || ends[i];
        }
    }
    finder->ends = any ? ends : NULL;
    for (size_t i = 0; i < finder->count && any; i++) {
        finder->lasts[i] = ends[i] && worked;
        worked = !ends[i] && (worked || is_work(finder, i));
    }
}

/* Of all ends of steps, from the last on, the one before which most repeats; a period has one. */
static void try_ends(step_finder *finder)
{
    size_t tried = 0;
    for (size_t i = 0; i < finder->count && tried < MOST_ENDS; i++) {
        if (!finder->lasts[i] || finder->count - i <= finder->covered)
            continue;
        tried++;
        try_end(finder, i);
        if (finder->covered > (finder->count - i) / 2)
            break;
    }
}

/* Of ends of all tasks that cover as much, the one with the fewest tasks left out. */
static void try_all(step_finder *finder)
{
    for (size_t first = 0; first < MOST_LEFT_OUT && first + 1 < finder->count; first++) {
        if (finder->count - first <= finder->covered)
            break;
        try_end(finder, first);
        if (finder->covered > finder->count / 2)
            break;
    }
}

/* How many groups of tasks that end steps the step that was found has. */
static size_t count_ends(const step_finder *finder)
{
    size_t found = 0;
    for (size_t i = 0; i < finder->period && finder->covered > 0; i++)
        found += finder->lasts[finder->left_out + i];
    return found;
}

/* ---- steps between others ---- */

/* Tasks from one end of a step to the one before it, of which equal ones are one kind. */
typedef struct segment {
    size_t first; /* of the marks, thus the last task */
    size_t length;
    size_t kind;  /* the first one that is equal */
    size_t count; /* equal ones, of the first one */
    double ended; /* bytes of the tasks that end it */
} step_segment;

static bool is_same(const step_finder *finder, const step_segment *a, const step_segment *b)
{
    return a->length == b->length && memcmp(finder->marks + a->first, finder->marks + b->first,
                                            a->length * sizeof *finder->marks) == 0;
}

/* Whether a segment is another with one run of tasks more, an evaluation or copies. Where these go
 * on like the shorter one, they are micro-batches, thus part of the step; *repeats says so. */
static bool has_more(const step_finder *finder, const step_segment *more, const step_segment *less,
                     bool *repeats)
{
    const uint64_t *a = finder->marks + more->first;
    const uint64_t *b = finder->marks + less->first;
    size_t same_last = 0;
    size_t same_first = 0;
    size_t ending = 0;
    if (more->length <= less->length)
        return false;
    while (same_last < less->length && a[same_last] == b[same_last])
        same_last++;
    while (same_first < less->length &&
           a[more->length - 1 - same_first] == b[less->length - 1 - same_first])
        same_first++;
    for (size_t i = 0; i < less->length && !is_work(finder, less->first + i); i++)
        ending = finder->ends[less->first + i] ? i + 1 : ending;
    const size_t added = more->length - less->length;
    const size_t body = less->length - ending;
    *repeats = same_first + same_last >= less->length + (added < body ? added : body);
    return same_first + same_last >= less->length;
}

static size_t take_segments(const step_finder *finder, st_arena *arena, step_segment **segments)
{
    enum { MOST_KINDS = 64 };
    size_t count = 0;
    size_t kinds = 0;
    step_segment made = {.length = 0};
    for (size_t i = 0; i < finder->count; i++) {
        if (finder->lasts[i]) {
            if (made.length > 0 && finder->lasts[made.first])
                (void)ST_APPEND(arena, *segments, count, made);
            made = (step_segment){.first = i};
        }
        made.length++;
        const st_walk_task *task = &finder->walked->tasks[finder->count - 1 - i];
        const uint32_t shape = finder->walked->worker->calls[task->what].shape;
        if (finder->ends[i] && shape != ST_NO_INDEX)
            made.ended += finder->run->shapes[shape].sizes[ST_SIZE_BYTES];
    }
    for (size_t i = 0; i < count && kinds < MOST_KINDS; i++) {
        step_segment *own = &(*segments)[i];
        size_t kind = 0;
        while (kind < i &&
               !((*segments)[kind].kind == kind && is_same(finder, own, &(*segments)[kind])))
            kind++;
        own->kind = kind;
        kinds += kind == i;
        (*segments)[kind].count++;
    }
    return kinds < MOST_KINDS ? count : 0;
}

/* How many segments are a step like this one, with or without an evaluation; 0: some are steps of
 * another kind, as those of a second network are. */
static size_t like_it(const step_finder *finder, const step_segment *segments, size_t count,
                      size_t wanted)
{
    const step_segment *step = &segments[wanted];
    size_t found = step->count;
    for (size_t i = 0; i < count; i++) {
        const step_segment *other = &segments[i];
        bool repeats = false;
        if (other->kind != i || i == wanted)
            continue;
        bool more = has_more(finder, other, step, &repeats);
        if (more && !repeats)
            found += other->count;
        /* A smaller batch updates the same weights. */
        bool same_end = fabs(other->ended - step->ended) < 0.5 && 2 * other->count <= step->count;
        if (!more && !same_end && !has_more(finder, step, other, &repeats))
            return 0;
    }
    return found;
}

/* The step that most ends of steps belong to, where evaluations, samples or batches of other sizes
 * are between steps. Those that follow each other are reported. */
static void try_segments(step_finder *finder, st_arena *arena)
{
    step_segment *segments = NULL;
    size_t count = take_segments(finder, arena, &segments);
    size_t best = 0;
    size_t most = 1;
    for (size_t i = 0; i < count; i++) {
        size_t found = segments[i].kind == i && segments[i].count > 1
                           ? like_it(finder, segments, count, i)
                           : 0;
        if (found <= most)
            continue;
        most = found;
        best = i;
    }
    if (most < 2)
        return;
    finder->others = st_arena_alloc(arena, count + 1, sizeof *finder->others);
    finder->period = segments[best].length;
    finder->covered = 0;
    size_t run = 0;
    for (size_t i = 0; i < count; i++) {
        bool repeats = false;
        bool same = segments[i].kind == best;
        /* In front of the steps that follow it may be one with an evaluation at its begin. */
        bool last = !same && run > 0 && has_more(finder, &segments[i], &segments[best], &repeats) &&
                    memcmp(finder->marks + segments[i].first, finder->marks + segments[best].first,
                           finder->period * sizeof *finder->marks) == 0;
        run = same || last ? run + 1 : 0;
        if (same || last)
            finder->others[finder->other_count++] = segments[i].first;
        if (run * finder->period > finder->covered) {
            finder->covered = run * finder->period;
            finder->left_out = segments[i].first + finder->period - finder->covered;
        }
        run = last ? 0 : run;
    }
}

static void take_marks(step_finder *finder, bool loose)
{
    for (size_t i = 0; i < finder->count; i++)
        finder->marks[i] = mark_of(finder, finder->count - 1 - i, loose);
}

/* Steps begin on the host where it launches their first tasks; how long they take is from the
 * beginning of a step's first task to that of the task behind it: the host may be far ahead. */
static void report_steps(const st_imported *imported, const step_finder *finder, size_t worker,
                         st_arena *arena)
{
    const st_walk_worker *walked = finder->walked;
    st_imported_worker *counts = &imported->workers[worker];
    const size_t steps = finder->covered / finder->period;
    const size_t end = finder->count - finder->left_out;
    const size_t most = finder->other_count > 0 ? finder->other_count : steps - 1;
    size_t known = 0;
    int64_t *times = st_arena_alloc(arena, most + 1, sizeof *times);
    counts->step_begin_ns = st_arena_alloc(arena, steps + 1, sizeof(int64_t));
    counts->step_first = st_arena_alloc(arena, steps + 1, sizeof(size_t));
    counts->step_first[steps] = end;
    for (size_t i = 0; i < steps; i++) {
        counts->step_first[i] = end - (steps - i) * finder->period;
        const st_walk_task *task = &walked->tasks[counts->step_first[i]];
        counts->step_begin_ns[i] = walked->worker->calls[task->call].begin_ns;
    }
    int64_t last_ns = walked->end_ns[walked->worker->call_count - 1];
    for (size_t i = end - finder->period; i < end; i++)
        last_ns = walked->tasks[i].end_ns > last_ns ? walked->tasks[i].end_ns : last_ns;
    counts->step_begin_ns[steps] = last_ns;
    for (size_t i = 0; i < most; i++) {
        const size_t behind = finder->other_count > 0 ? finder->count - finder->others[i]
                                                      : end - (steps - i - 1) * finder->period;
        if (behind < finder->count)
            times[known++] =
                walked->tasks[behind].start_ns - walked->tasks[behind - finder->period].start_ns;
    }
    st_sort(times, known, sizeof *times, st_order_times);
    counts->steps = steps;
    counts->step_tasks = finder->period;
    counts->step_ns = known > 0 ? times[known / 2] : 0;
    add_guesses(imported, walked, &(step_range){.first = end - steps * finder->period, .end = end},
                counts);
    counts->step_unknown /= steps;
    counts->step_unknown_ns /= (int64_t)steps;
}

void st_imported_find_steps(const st_imported *imported, size_t worker, st_arena *arena)
{
    const st_walk_worker *walked = &imported->walk->workers[worker];
    if (find_ranges(imported, worker, arena))
        return;
    step_finder finder = {.run = imported->run, .walked = walked, .count = walked->task_count};
    finder.marks = st_arena_alloc(arena, finder.count + 1, sizeof *finder.marks);
    finder.borders = st_arena_alloc(arena, finder.count + 2, sizeof *finder.borders);
    take_marks(&finder, false);
    try_all(&finder);
    find_ends(imported, &finder, arena);
    if (finder.ends != NULL && count_ends(&finder) == 0) {
        finder.covered = 0;
        try_ends(&finder);
    }
    if (finder.ends != NULL && finder.covered < finder.count / 2) {
        /* Nothing, or a loop inside of a step. */
        take_marks(&finder, true);
        try_ends(&finder);
    }
    if (finder.ends != NULL && finder.by == GRADIENTS && finder.covered < finder.count / 4)
        finder.covered = 0;
    if (finder.ends != NULL && finder.by <= OPTIMIZER && count_ends(&finder) != 1) {
        take_marks(&finder, true);
        try_segments(&finder, arena);
    }
    if (finder.covered > 0)
        report_steps(imported, &finder, worker, arena);
}
