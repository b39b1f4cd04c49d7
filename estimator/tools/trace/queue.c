/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See queue.h. The depth is read from the recording: the most launches that still held their place
 * when a call returned, if calls that return at that level lasted longer than others, until a place
 * was free. Drivers differ in what shares a queue and in what frees a place: the rule is taken that
 * explains most of the time of calls. Tasks in flight when the recording began count as launched
 * before it.
 */
#include "trace/queue.h"

#include "base/lists.h"
#include "trace/xalloc.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEAST_BLOCKED = 8, /* calls, to show a limit */
    LEAST_LEVEL = 256, /* or so many that return at one level */
    LEAST_DEEP = 64    /* a shallower queue needs clearer evidence */
};

/* A shorter wait is the spread of calls. */
static const int64_t LEAST_NS = 2000;

/* What shares a queue, and what frees a place in it. */
typedef struct queue_rule {
    bool by_stream; /* else all streams of a device share a queue */
    bool at_begin;  /* a place is free when its task begins, else when it ends */
    bool in_order;  /* and not before those launched earlier are */
} queue_rule;

typedef struct queue_finder {
    const st_order *order;
    const st_trace *trace;
    st_arena *arena;
    queue_rule rule;
    st_launch *ends;  /* when places are free, rising, and the task that frees each */
    uint32_t *levels; /* by entry: how many held their place when its call returned */
    int64_t *times;   /* scratch */
    int64_t quick_ns; /* of all calls, a tenth is faster */
} queue_finder;

static const st_trace_event *event_of(const queue_finder *f, uint32_t event)
{
    return &f->trace->events[event];
}

/* When a task frees its place. */
static int64_t frees_ns(const queue_finder *f, uint32_t task)
{
    return f->rule.at_begin ? event_of(f, task)->start_ns : st_trace_end_ns(event_of(f, task));
}

/* How many places are free by a time. */
static size_t ended_by(const queue_finder *f, size_t count, int64_t time_ns)
{
    size_t low = 0;
    ST_BISECT(low, count, f->ends[middle].launch_ns <= time_ns);
    return low;
}

/* The wait of a call for the task that frees its place: what of it passed before that did. */
static int64_t waited_ns(const queue_finder *f, uint32_t call, uint32_t frees)
{
    return frees_ns(f, frees) - event_of(f, call)->start_ns;
}

static int64_t quantile(int64_t *values_ns, size_t count, size_t percent)
{
    st_sort(values_ns, count, sizeof *values_ns, st_order_times);
    return count > 0 ? values_ns[(count - 1) * percent / 100] : 0;
}

/* A call that lasts clearly longer than quick ones. */
static bool is_slow(const queue_finder *f, uint32_t call)
{
    return 4 * event_of(f, call)->duration_ns > 5 * f->quick_ns + LEAST_NS;
}

/* The usual time of a call: of those below the level at which calls may block, if there are some.
 */
static int64_t usual_ns(const queue_finder *f, const st_launch_queue *q, uint32_t level)
{
    size_t below = 0;
    size_t all = 0;
    for (size_t i = 0; i < q->count; i++)
        if (q->entries[i].call != ST_TRACE_NONE && f->levels[i] < level)
            f->times[below++] = event_of(f, q->entries[i].call)->duration_ns;
    if (below > 0)
        return quantile(f->times, below, 50);
    for (size_t i = 0; i < q->count; i++)
        if (q->entries[i].call != ST_TRACE_NONE)
            f->times[all++] = event_of(f, q->entries[i].call)->duration_ns;
    return quantile(f->times, all, 10);
}

/* Whose place an entry takes if so many may be outstanding; ST_TRACE_NONE: nobody's. */
static uint32_t freed_by(const queue_finder *f, size_t entry, uint32_t depth)
{
    return entry + 1 > depth ? f->ends[entry - depth].event : ST_TRACE_NONE;
}

static bool is_cuda(const queue_finder *f)
{
    for (size_t i = 0; i < f->trace->event_count; i++)
        if (event_of(f, (uint32_t)i)->kind == ST_TRACE_CALL &&
            event_of(f, (uint32_t)i)->class_ == ST_CALL_LAUNCH)
            return strncmp(f->trace->names[event_of(f, (uint32_t)i)->name], "cu", 2) == 0;
    return false;
}

/*
 * A call that waited: of a deep queue one that lasted longer than usual; of a shallow one, where
 * most calls do, one that returned right after there was room.
 */
static bool is_blocked(const queue_finder *f, const st_launch_queue *q, uint32_t call,
                       int64_t wait_ns, bool is_deep)
{
    int64_t duration_ns = event_of(f, call)->duration_ns;
    int64_t late_ns = duration_ns - wait_ns;
    if (wait_ns <= 0)
        return false;
    return is_deep ? duration_ns > 2 * q->usual_ns + LEAST_NS
                   : late_ns <= LEAST_NS || 4 * late_ns <= duration_ns;
}

/* What calls that return at the highest level say. */
typedef struct level_stats {
    uint32_t most; /* launches that hold a place */
    bool is_deep;
    size_t calls;
    size_t at_level;
    int64_t at_level_ns;
    size_t slow;         /* calls that last clearly longer than quick ones */
    size_t slow_blocked; /* and return at that level as soon as there is a place */
} level_stats;

static void find_levels(const queue_finder *f, const st_launch_queue *q, level_stats *stats)
{
    for (size_t i = 0; i < q->count; i++) {
        uint32_t task = f->rule.at_begin ? q->entries[i].first : q->entries[i].last;
        f->ends[i] = (st_launch){frees_ns(f, task), task};
        if (f->rule.in_order && i > 0 && f->ends[i].launch_ns < f->ends[i - 1].launch_ns)
            f->ends[i] = f->ends[i - 1];
    }
    if (!f->rule.in_order)
        st_sort(f->ends, q->count, sizeof *f->ends, st_launch_compare);
    for (size_t i = 0; i < q->count; i++) {
        f->levels[i] = 0;
        if (q->entries[i].call == ST_TRACE_NONE)
            continue;
        size_t ended = ended_by(f, q->count, st_trace_end_ns(event_of(f, q->entries[i].call)));
        f->levels[i] = ended <= i ? (uint32_t)(i + 1 - ended) : 0;
        stats->most = f->levels[i] > stats->most ? f->levels[i] : stats->most;
        stats->calls++;
    }
    stats->is_deep = stats->most >= LEAST_DEEP;
}

/* Of calls that are not slow; never longer than `most_ns`. */
static int64_t quick_median_ns(const queue_finder *f, const st_launch_queue *q, int64_t most_ns)
{
    size_t count = 0;
    for (size_t i = 0; i < q->count; i++)
        if (q->entries[i].call != ST_TRACE_NONE && !is_slow(f, q->entries[i].call))
            f->times[count++] = event_of(f, q->entries[i].call)->duration_ns;
    int64_t median_ns = quantile(f->times, count, 50);
    return count > 0 && median_ns < most_ns ? median_ns : most_ns;
}

static void find_waits(const queue_finder *f, st_launch_queue *q, level_stats *stats)
{
    uint32_t slack = stats->most / 128 > 4 ? stats->most / 128 : 4;
    uint32_t level = stats->most - (stats->is_deep ? slack : 0);
    q->usual_ns = usual_ns(f, q, level);
    q->usual_ns = stats->is_deep ? q->usual_ns : quick_median_ns(f, q, q->usual_ns);
    for (size_t i = 0; i < q->count && stats->most > 0; i++) {
        st_queue_entry *one = &q->entries[i];
        if (one->call == ST_TRACE_NONE)
            continue;
        int64_t duration_ns = event_of(f, one->call)->duration_ns;
        /* Of a shallow queue more places may be free at once, before the call returns. */
        uint32_t frees = freed_by(f, i, stats->is_deep ? f->levels[i] : stats->most);
        int64_t wait_ns = frees == ST_TRACE_NONE ? 0 : waited_ns(f, one->call, frees);
        bool soon = !stats->is_deep && wait_ns > 0 && duration_ns - wait_ns <= LEAST_NS;
        bool slow = is_slow(f, one->call);
        stats->slow += slow;
        if (f->levels[i] < level && !soon)
            continue;
        one->blocks = is_blocked(f, q, one->call, wait_ns, stats->is_deep);
        stats->at_level++;
        stats->at_level_ns = st_add_ns(stats->at_level_ns, duration_ns);
        stats->slow_blocked += slow && soon;
        q->blocked += one->blocks;
        wait_ns = duration_ns - f->quick_ns < wait_ns ? duration_ns - f->quick_ns : wait_ns;
        q->blocked_ns = st_add_ns(q->blocked_ns, one->blocks && wait_ns > 0 ? wait_ns : 0);
    }
}

static bool is_seen(const st_launch_queue *q, const level_stats *stats)
{
    bool all_slow =
        (double)stats->at_level_ns > 1.5 * (double)q->usual_ns * (double)stats->at_level;
    if (stats->is_deep && stats->at_level >= LEAST_LEVEL && 2 * stats->at_level >= stats->most)
        return true;
    if (q->blocked < LEAST_BLOCKED)
        return false;
    /* A shallow queue that is full now and then: whatever is slow waits for it. */
    if (!stats->is_deep && 20 * stats->slow_blocked >= stats->calls &&
        5 * stats->slow_blocked >= 4 * stats->slow && 4 * stats->at_level >= stats->calls)
        return true;
    return stats->is_deep ? 4 * q->blocked >= stats->at_level
                          : 5 * q->blocked >= 3 * stats->at_level &&
                                2 * stats->at_level >= stats->calls && all_slow;
}

/* Finds depth and waits of a queue whose entries are there. */
static void measure(const queue_finder *f, st_launch_queue *q)
{
    level_stats stats = {0};
    find_levels(f, q, &stats);
    find_waits(f, q, &stats);
    q->is_seen = is_seen(q, &stats);
    q->blocked = q->is_seen ? q->blocked : 0;
    q->blocked_ns = q->is_seen ? q->blocked_ns : 0;
    q->depth = q->is_seen                                   ? stats.most
               : is_cuda(f) && stats.most <= ST_QUEUE_USUAL ? ST_QUEUE_USUAL
                                                            : 0;
    for (size_t i = 0; i < q->count; i++) {
        st_queue_entry *one = &q->entries[i];
        one->blocks = one->blocks && q->is_seen;
        if (q->depth != 0 && one->call != ST_TRACE_NONE)
            one->frees = freed_by(f, i, one->blocks && stats.is_deep ? f->levels[i] : q->depth);
    }
}

/* --- entries -----------------------------------------------------------------------------------
 */

/* 1 + the queue of a stream's device, of those that are known; behind them all: it has none yet. */
static uint32_t queue_of(const queue_finder *f, const uint32_t *first, size_t count, uint32_t track)
{
    uint32_t own = 0;
    while (!f->rule.by_stream && own < count &&
           f->trace->tracks[first[own]].process != f->trace->tracks[track].process)
        own++;
    return 1 + (f->rule.by_stream ? (uint32_t)count : own);
}

/* Tasks of a stream before the first one whose launch is recorded were in flight. */
static void add_in_flight(const queue_finder *f, uint32_t track, st_launch_queue *q)
{
    const st_lists *tasks = &f->order->by_start;
    for (uint32_t i = tasks->starts[track]; i < tasks->starts[track + 1]; i++) {
        uint32_t task = tasks->items[i];
        if (f->order->call_of[task] != ST_TRACE_NONE)
            break;
        q->entries[q->count++] = (st_queue_entry){ST_TRACE_NONE, task, task, ST_TRACE_NONE, false};
    }
}

/* Of a call that launches: its first and its last task. */
static st_queue_entry entry_of(const queue_finder *f, uint32_t call)
{
    const st_lists *tasks = &f->order->call_tasks;
    uint32_t first = tasks->items[tasks->starts[call]];
    st_queue_entry one = {call, first, first, ST_TRACE_NONE, false};
    for (uint32_t i = tasks->starts[call]; i < tasks->starts[call + 1]; i++) {
        uint32_t task = tasks->items[i];
        if (event_of(f, task)->start_ns < event_of(f, one.first)->start_ns)
            one.first = task;
        if (st_trace_end_ns(event_of(f, task)) >= st_trace_end_ns(event_of(f, one.last)))
            one.last = task;
    }
    return one;
}

static int64_t find_all(const queue_finder *f, st_launch_queues *queues)
{
    size_t tracks = f->trace->track_count;
    uint32_t *index = st_xalloc(f->arena, tracks + 1, sizeof *index); /* 1 + the queue */
    size_t *streams = st_xalloc(f->arena, tracks + 1, sizeof *streams);
    size_t *room = st_xalloc(f->arena, tracks + 1, sizeof *room);
    uint32_t *first = st_xalloc(f->arena, tracks + 1, sizeof *first); /* stream of a queue */
    int64_t blocked_ns = 0;
    *queues = (st_launch_queues){.items = st_xalloc(f->arena, tracks + 1, sizeof *queues->items)};
    for (uint32_t t = 0; t < tracks; t++) {
        uint32_t tasks = f->order->by_start.starts[t + 1] - f->order->by_start.starts[t];
        if (tasks == 0)
            continue;
        index[t] = queue_of(f, first, queues->count, t);
        if (index[t] > queues->count)
            first[queues->count++] = t;
        room[index[t] - 1] += tasks;
        streams[index[t] - 1]++;
    }
    for (size_t i = 0; i < queues->count; i++) {
        queues->items[i].entries =
            st_xalloc(f->arena, room[i] + 1, sizeof *queues->items[i].entries);
        queues->items[i].is_stream = streams[i] == 1;
    }
    for (uint32_t t = 0; t < tracks; t++)
        if (index[t] != 0)
            add_in_flight(f, t, &queues->items[index[t] - 1]);
    for (uint32_t call = 0; call < f->trace->event_count; call++) {
        const uint32_t *starts = f->order->call_tasks.starts;
        if (starts[call + 1] == starts[call])
            continue;
        st_queue_entry one = entry_of(f, call);
        st_launch_queue *q = &queues->items[index[event_of(f, one.last)->track] - 1];
        q->entries[q->count++] = one;
    }
    for (size_t i = 0; i < queues->count; i++) {
        measure(f, &queues->items[i]);
        blocked_ns = st_add_ns(blocked_ns, queues->items[i].blocked_ns);
    }
    return blocked_ns;
}

static bool are_single(const st_launch_queues *queues)
{
    bool single = true;
    for (size_t i = 0; i < queues->count; i++)
        single = single && queues->items[i].is_stream;
    return single;
}

static uint32_t deepest(const st_launch_queues *queues)
{
    uint32_t depth = 0;
    for (size_t i = 0; i < queues->count; i++)
        depth = queues->items[i].is_seen && queues->items[i].depth > depth ? queues->items[i].depth
                                                                           : depth;
    return depth;
}

/* How long quick calls take; whether others take so much longer as for a full, shallow queue. */
static bool measure_calls(queue_finder *f)
{
    size_t count = 0;
    for (uint32_t call = 0; call < f->trace->event_count; call++)
        if (f->order->call_tasks.starts[call + 1] > f->order->call_tasks.starts[call] &&
            count < f->order->gpu_count)
            f->times[count++] = event_of(f, call)->duration_ns;
    f->quick_ns = quantile(f->times, count, 10);
    return count >= LEAST_BLOCKED && 4 * quantile(f->times, count, 95) > 5 * f->quick_ns + LEAST_NS;
}

void st_queues_find(const st_order *order, st_arena *arena, st_launch_queues *queues)
{
    /* Where two explain as much, the one before. */
    enum { USUAL_RULES = 2 };
    static const queue_rule rules[] = {
        {true, false, false}, {false, false, false}, {false, false, true},
        {false, true, false}, {false, true, true},   {true, true, false},
    };
    static const double clearly = 1.02;
    size_t most = order->gpu_count + 1;
    size_t best = 0;
    size_t count = ST_COUNT(rules);
    double best_ns = 0;
    bool may_be_shallow = false;
    queue_finder f = {.order = order, .trace = order->trace};
    f.ends = st_xmalloc(most * sizeof *f.ends);
    f.levels = st_xmalloc(most * sizeof *f.levels);
    f.times = st_xmalloc(most * sizeof *f.times);
    may_be_shallow = measure_calls(&f);
    for (size_t i = 0; i < count; i++) {
        st_launch_queues found;
        f.arena = st_xarena();
        f.rule = rules[i];
        double explained_ns = (double)find_all(&f, &found);
        if (explained_ns > clearly * best_ns) {
            best = i;
            best_ns = explained_ns;
        }
        /* In a deep queue it makes no difference what frees a place. */
        if (i + 1 == USUAL_RULES &&
            (are_single(&found) || deepest(&found) >= LEAST_DEEP || !may_be_shallow))
            count = USUAL_RULES;
        st_arena_destroy(f.arena);
    }
    f.arena = arena;
    f.rule = rules[best];
    (void)find_all(&f, queues);
    queues->at_begin = f.rule.at_begin;
    queues->in_order = f.rule.in_order;
    free(f.ends);
    free(f.levels);
    free(f.times);
}
