/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why streams are idle. A gap before a task is divided at the begin of the call that launches it:
 * before that the host is the cause, after that what the task waits for. The host is late because
 * it had waited for the GPU where a call that does so returned in the gap: it could not launch
 * ahead.
 */
#include "base/number.h"
#include "trace/depend.h"
#include "trace/view.h"
#include "trace/devices.h"
#include "trace/xalloc.h"

#include <stdlib.h>

/* As in waits of the host: what lasts longer than this needs a cause (docs/traces.md). */
static const int64_t UNKNOWN_NS = 100000;

typedef struct idler {
    const st_order *order;
    const st_trace *trace;
    st_arena *arena;
    int64_t start_ns; /* window */
    int64_t end_ns;
    uint32_t *last_before; /* by event: of the tasks on other streams before it, the last to end */
    int64_t *syncs_ns;     /* when calls returned that wait for the GPU, rising */
    size_t sync_count;
} idler;

/* "host_bound_ns" and the like. */
static const char *idle_cause_key(st_idle_cause cause)
{
    static const char *const keys[ST_IDLE_CAUSES] = {"host_bound_ns", "synchronisation_ns",
                                                     "dependency_ns", "communication_ns",
                                                     "launch_ns",     "unknown_ns"};
    return keys[cause];
}

/* ---- what is known of the rank ---- */

static void find_waits(idler *k)
{
    st_dependencies found;
    st_depend_find(k->order, k->arena, &found);
    k->last_before = st_xalloc(k->arena, k->trace->event_count + 1, sizeof *k->last_before);
    for (size_t i = 0; i < k->trace->event_count; i++)
        k->last_before[i] = ST_TRACE_NONE;
    for (size_t i = 0; i < found.count; i++) {
        const st_dependency *item = &found.items[i];
        if (item->kind != ST_DEPEND_STREAM)
            continue;
        uint32_t *last = &k->last_before[item->after];
        if (*last == ST_TRACE_NONE || st_trace_end_ns(&k->trace->events[item->before]) >
                                          st_trace_end_ns(&k->trace->events[*last]))
            *last = item->before;
    }
}

/* ---- gaps ---- */

static void add_cause(st_idle *idle, st_idle_cause cause, int64_t from_ns, int64_t to_ns)
{
    if (to_ns > from_ns)
        idle->causes_ns[cause] += to_ns - from_ns;
}

/* A time in which nothing runs, up to the begin of `task`, or the window's end without one. */
static void add_gap(const idler *k, int64_t from_ns, int64_t to_ns, uint32_t task, st_idle *idle)
{
    if (to_ns <= from_ns)
        return;
    idle->idle_ns += to_ns - from_ns;
    uint32_t call = task == ST_TRACE_NONE ? ST_TRACE_NONE : k->order->call_of[task];
    if (task != ST_TRACE_NONE && call == ST_TRACE_NONE) {
        add_cause(idle, ST_IDLE_UNKNOWN, from_ns, to_ns);
        return;
    }
    int64_t launch_ns = call == ST_TRACE_NONE ? to_ns : k->trace->events[call].start_ns;
    launch_ns = launch_ns < to_ns ? launch_ns : to_ns;
    size_t low = 0;
    ST_BISECT(low, k->sync_count, k->syncs_ns[middle] <= from_ns);
    add_cause(idle,
              low < k->sync_count && k->syncs_ns[low] <= launch_ns ? ST_IDLE_SYNC : ST_IDLE_HOST,
              from_ns, launch_ns);
    if (call != ST_TRACE_NONE) {
        /* From the launch of a task on: what it waits for, and what is left without anything to
         * wait for. */
        int64_t queued_from_ns = launch_ns > from_ns ? launch_ns : from_ns;
        int64_t queued_to_ns = k->trace->events[task].start_ns;
        int64_t known_ns = st_trace_end_ns(&k->trace->events[k->order->call_of[task]]);
        uint32_t before = k->last_before[task];
        queued_to_ns = queued_to_ns < k->end_ns ? queued_to_ns : k->end_ns;
        if (before != ST_TRACE_NONE) {
            const st_trace_event *event = &k->trace->events[before];
            int64_t end_ns =
                st_trace_end_ns(event) < queued_to_ns ? st_trace_end_ns(event) : queued_to_ns;
            bool communicates = event->class_ == ST_TRACE_COMMUNICATION;
            add_cause(idle, communicates ? ST_IDLE_COMMUNICATION : ST_IDLE_DEPENDENCY,
                      queued_from_ns, end_ns);
            queued_from_ns = end_ns > queued_from_ns ? end_ns : queued_from_ns;
        }
        known_ns = (known_ns > queued_from_ns ? known_ns : queued_from_ns) + UNKNOWN_NS;
        known_ns = known_ns < queued_to_ns ? known_ns : queued_to_ns;
        add_cause(idle, ST_IDLE_LAUNCH, queued_from_ns, known_ns);
        add_cause(idle, ST_IDLE_UNKNOWN, known_ns > queued_from_ns ? known_ns : queued_from_ns,
                  queued_to_ns);
    }
}

/* Gaps between tasks, which are by start: `reach` is how far the stream is busy. */
static void see_task(const idler *k, uint32_t task, int64_t *reach_ns, st_idle *idle)
{
    const st_trace_event *event = &k->trace->events[task];
    int64_t start_ns = event->start_ns < k->end_ns ? event->start_ns : k->end_ns;
    add_gap(k, *reach_ns, start_ns, task, idle);
    if (st_trace_end_ns(event) > *reach_ns)
        *reach_ns = st_trace_end_ns(event);
    idle->tasks++;
}

/* ---- queues ---- */

typedef struct samples {
    int64_t *delays_ns;
    int64_t *empty_ns;
    int64_t *calls_ns;
    st_launch *changes; /* of the queue: event 1 where a task is launched, 0 where it begins */
    size_t count;
    size_t empty_count;
} samples;

/* The value at a share of a list, which is sorted; -1 of nothing. */
static int64_t quantile(int64_t *values_ns, size_t count, size_t percent)
{
    st_sort(values_ns, count, sizeof *values_ns, st_order_times);
    return count > 0 ? values_ns[(count - 1) * percent / 100] : -1;
}

static void see_queue(const idler *k, uint32_t track, st_queue *queue)
{
    size_t most = k->order->by_start.starts[track + 1] - k->order->by_start.starts[track] + 1;
    samples s = {.delays_ns = st_xmalloc(most * sizeof *s.delays_ns),
                 .empty_ns = st_xmalloc(most * sizeof *s.empty_ns),
                 .calls_ns = st_xmalloc(most * sizeof *s.calls_ns),
                 .changes = st_xmalloc(2 * most * sizeof *s.changes)};
    *queue = (st_queue){0};
    const st_lists *tasks = &k->order->by_start;
    int64_t reach_ns = INT64_MIN;
    for (uint32_t i = tasks->starts[track]; i < tasks->starts[track + 1]; i++) {
        const st_trace_event *task = &k->trace->events[tasks->items[i]];
        uint32_t index = k->order->call_of[tasks->items[i]];
        if (index != ST_TRACE_NONE) {
            const st_trace_event *call = &k->trace->events[index];
            int64_t delay_ns = task->start_ns - call->start_ns;
            s.delays_ns[s.count] = delay_ns > 0 ? delay_ns : 0;
            s.calls_ns[s.count] = call->duration_ns;
            s.changes[2 * s.count] = (st_launch){call->start_ns, 1};
            s.changes[2 * s.count + 1] = (st_launch){call->start_ns + s.delays_ns[s.count], 0};
            if (reach_ns <= call->start_ns && k->last_before[tasks->items[i]] == ST_TRACE_NONE)
                s.empty_ns[s.empty_count++] = s.delays_ns[s.count];
            queue->shorter += task->duration_ns < call->duration_ns;
            s.count++;
        }
        if (st_trace_end_ns(task) > reach_ns)
            reach_ns = st_trace_end_ns(task);
    }
    double area = 0;
    int64_t last_ns = k->start_ns;
    size_t length = 0;
    st_sort(s.changes, 2 * s.count, sizeof *s.changes, st_launch_compare);
    for (size_t i = 0; i < 2 * s.count; i++) {
        int64_t at_ns = s.changes[i].launch_ns;
        at_ns = at_ns < k->start_ns ? k->start_ns : at_ns > k->end_ns ? k->end_ns : at_ns;
        area += (double)length * (double)(at_ns - last_ns);
        last_ns = at_ns;
        length = s.changes[i].event == 1 ? length + 1 : length - (length > 0);
        queue->most_length = length > queue->most_length ? length : queue->most_length;
    }
    if (k->end_ns > k->start_ns)
        queue->mean_length = area / (double)(k->end_ns - k->start_ns);
    queue->launched = s.count;
    queue->delay_median_ns = quantile(s.delays_ns, s.count, 50);
    queue->delay_p90_ns = quantile(s.delays_ns, s.count, 90);
    queue->delay_most_ns = quantile(s.delays_ns, s.count, 100);
    queue->empty_median_ns = quantile(s.empty_ns, s.empty_count, 50);
    queue->call_median_ns = quantile(s.calls_ns, s.count, 50);
    free(s.delays_ns);
    free(s.empty_ns);
    free(s.calls_ns);
    free(s.changes);
}

/* ---- a rank ---- */

static bool is_of(const st_trace *trace, uint32_t track, int64_t device)
{
    return device < 0 || trace->tracks[track].process == device;
}

static void see_streams(const idler *k, st_idle_rank *rank)
{
    const uint32_t *starts = k->order->by_start.starts;
    size_t tracks = k->trace->track_count;
    rank->streams = st_xalloc(k->arena, tracks + 1, sizeof *rank->streams);
    rank->queues = st_xalloc(k->arena, tracks + 1, sizeof *rank->queues);
    for (uint32_t t = 0; t < tracks; t++) {
        if (starts[t + 1] == starts[t] || !is_of(k->trace, t, rank->device))
            continue;
        st_idle *idle = &rank->streams[rank->stream_count];
        const st_lists *tasks = &k->order->by_start;
        int64_t reach_ns = k->start_ns;
        *idle =
            (st_idle){.stream = k->trace->tracks[t].number, .device = k->trace->tracks[t].process};
        for (uint32_t i = tasks->starts[t]; i < tasks->starts[t + 1]; i++)
            see_task(k, tasks->items[i], &reach_ns, idle);
        add_gap(k, reach_ns, k->end_ns, ST_TRACE_NONE, idle);
        see_queue(k, t, &rank->queues[rank->stream_count++]);
    }
    /* All streams together; after clocks are aligned, events need not be by start any more. */
    int64_t reach_ns = k->start_ns;
    size_t count = 0;
    st_launch *gpu_starts = st_xmalloc((k->order->gpu_count + 1) * sizeof *gpu_starts);
    rank->gpu = (st_idle){.stream = -1, .device = rank->device};
    for (uint32_t i = 0; i < k->trace->event_count; i++)
        if (st_trace_is_gpu(&k->trace->events[i]) &&
            is_of(k->trace, k->trace->events[i].track, rank->device))
            gpu_starts[count++] = (st_launch){k->trace->events[i].start_ns, i};
    st_sort(gpu_starts, count, sizeof *gpu_starts, st_launch_compare);
    for (size_t i = 0; i < count; i++)
        see_task(k, gpu_starts[i].event, &reach_ns, &rank->gpu);
    add_gap(k, reach_ns, k->end_ns, ST_TRACE_NONE, &rank->gpu);
    free(gpu_starts);
}

/* A rank, or each device of one that has several. */
static void see_rank(idler *k, size_t index, st_idle_rank **made, size_t *count)
{
    const st_trace *trace = k->trace;
    st_trace_device *devices = NULL;
    bool are_ranks = false;
    size_t device_count = st_trace_devices(trace, k->arena, &devices, &are_ranks);
    st_view_window(k->order, &k->start_ns, &k->end_ns);
    k->syncs_ns = st_xalloc(k->arena, trace->kind_counts[ST_TRACE_CALL] + 1, sizeof *k->syncs_ns);
    for (size_t j = 0; j < trace->event_count; j++) {
        const st_trace_event *event = &trace->events[j];
        if (event->kind == ST_TRACE_CALL && event->class_ >= ST_CALL_SYNC_STREAM &&
            event->class_ <= ST_CALL_FREE)
            k->syncs_ns[k->sync_count++] = st_trace_end_ns(event);
    }
    st_sort(k->syncs_ns, k->sync_count, sizeof *k->syncs_ns, st_order_times);
    find_waits(k);
    for (size_t i = 0; i < (device_count > 1 ? device_count : 1); i++) {
        st_idle_rank one = {.trace = trace,
                            .rank = index,
                            .device = device_count > 1 ? devices[i].number : -1,
                            .window_ns = k->end_ns - k->start_ns};
        see_streams(k, &one);
        ST_XAPPEND(k->arena, *made, *count, one);
    }
}

size_t st_view_idle(const st_trace_set *set, st_arena *arena, st_idle_rank **ranks)
{
    st_view_orders orders;
    size_t count = 0;
    *ranks = NULL;
    st_view_orders_make(set, arena, &orders);
    for (size_t i = 0; i < set->count; i++) {
        idler k = {.order = &orders.orders[i], .trace = orders.orders[i].trace, .arena = arena};
        see_rank(&k, i, ranks, &count);
    }
    st_view_orders_free(&orders);
    return count;
}

/* Idle time and queues as a result; times are nanoseconds, as in the trace. */

enum { TEXT = 48 };

static void put_idle(const st_idle *idle, int64_t window_ns, st_node *node)
{
    st_put_ns(node, "idle_ns", idle->idle_ns);
    st_put_ms(node, ".idle", idle->idle_ns);
    st_put_share(node, ".share", idle->idle_ns, window_ns);
    for (int i = 0; i < ST_IDLE_CAUSES; i++)
        st_put_ns(node, idle_cause_key((st_idle_cause)i), idle->causes_ns[i]);
    static const char *const shares[ST_IDLE_CAUSES] = {".host",          ".sync",   ".dependency",
                                                       ".communication", ".launch", ".unknown"};
    for (int i = 0; i < ST_IDLE_CAUSES; i++)
        st_put_share(node, shares[i], idle->causes_ns[i], idle->idle_ns);
    if (!idle->is_replayed)
        return;
    int64_t sum_ns = 0;
    for (int i = 0; i < ST_IDLE_CAUSES; i++)
        sum_ns = st_add_ns(sum_ns, idle->causes_ns[i]);
    st_put_ns(node, "caused_ns", sum_ns);
    st_put_ns(node, "rest_ns", idle->idle_ns - sum_ns);
    st_put_share(node, ".caused", sum_ns, idle->idle_ns);
    st_put_share(node, ".rest", idle->idle_ns - sum_ns, idle->idle_ns);
}

static void put_us(st_node *node, const char *key, int64_t time_ns)
{
    char text[TEXT];
    if (time_ns < 0)
        st_put_text(node, key, "unknown");
    else
        st_put_format(node, key, "%s us",
                      st_number_print('f', 1, (double)time_ns / 1e3, text, sizeof text));
}

static void show_idle(const st_idle_rank *rank, st_node *node)
{
    const char *keys =
        rank->gpu.is_replayed
            ? ".name,.idle,.share,.host,.sync,.dependency,.communication,.launch,.unknown,.caused,"
              ".rest"
            : ".name,.idle,.share,.host,.sync,.dependency,.communication,.launch,.unknown";
    st_table *table = st_say_columns(
        node, rank->gpu.is_replayed ? "*idle|>time|>of window|>host-bound|>sync|>dependency|>"
                                      "communication|>launch|>unknown|>sum|>rest"
                                    : "*idle|>time|>of window|>host-bound|>sync|>dependency|>"
                                      "communication|>launch|>unknown");
    st_node *gpu = st_put_map(node, "gpu");
    st_put_text(gpu, ".name", "GPU");
    st_put_count(gpu, "tasks", rank->gpu.tasks);
    put_idle(&rank->gpu, rank->window_ns, gpu);
    st_table_show(table, gpu, keys);
    st_node *streams = st_put_list(node, "streams");
    for (size_t i = 0; i < rank->stream_count; i++) {
        const st_idle *idle = &rank->streams[i];
        st_node *stream = st_put_map(streams, NULL);
        st_put_format(stream, ".name", "stream %lld", (long long)idle->stream);
        st_put_ns(stream, "stream", idle->stream);
        st_put_ns(stream, "device", idle->device);
        st_put_count(stream, "tasks", idle->tasks);
        put_idle(idle, rank->window_ns, stream);
        const st_queue *queue = &rank->queues[i];
        char text[TEXT];
        st_put_count(stream, "launched", queue->launched);
        st_put_number(stream, "queue_mean", queue->mean_length);
        st_put_count(stream, "queue_most", queue->most_length);
        st_put_ns_known(stream, "delay_median_ns", queue->delay_median_ns);
        st_put_ns_known(stream, "delay_p90_ns", queue->delay_p90_ns);
        st_put_ns_known(stream, "delay_most_ns", queue->delay_most_ns);
        st_put_ns_known(stream, "delay_empty_ns", queue->empty_median_ns);
        st_put_ns_known(stream, "call_median_ns", queue->call_median_ns);
        st_put_count(stream, "shorter_than_call", queue->shorter);
        st_put_text(stream, ".mean",
                    st_number_print('f', 1, queue->mean_length, text, sizeof text));
        put_us(stream, ".median", queue->delay_median_ns);
        put_us(stream, ".p90", queue->delay_p90_ns);
        put_us(stream, ".most", queue->delay_most_ns);
        put_us(stream, ".empty", queue->empty_median_ns);
        put_us(stream, ".call", queue->call_median_ns);
    }
    st_table_show(table, streams, keys);
}

void st_view_idle_result(const st_idle_rank *ranks, size_t count, st_arena *arena,
                         st_result *result)
{
    st_node *root = st_result_begin(result, arena);
    st_node *list = st_put_list(root, "ranks");
    for (size_t i = 0; i < count; i++) {
        const st_idle_rank *rank = &ranks[i];
        st_node *node = st_put_map(list, NULL);
        char text[TEXT];
        st_put_text(node, "file", rank->trace->file);
        st_put_known(node, "rank", rank->trace->rank);
        char device[TEXT] = "";
        if (rank->device >= 0) {
            st_put_ns(node, "device", rank->device);
            (void)snprintf(device, sizeof device, ", device %lld", (long long)rank->device);
        }
        st_put_ns(node, "window_ns", rank->window_ns);
        st_say(node, "%s%s%s: window %s; causes in percent of idle time%s\n", i > 0 ? "\n" : "",
               rank->trace->file, device, st_ms_text(rank->window_ns, text, TEXT),
               rank->gpu.is_replayed ? ", as a replay without each saves it" : "");
        show_idle(rank, node);
        const st_item *streams = st_node_find(node, "streams", sizeof "streams" - 1);
        st_say(node, "\n");
        if (streams != NULL && streams->kind == ST_ITEM_NODE) {
            st_node *queue_streams = streams->node;
            st_table *table = st_say_columns(node, "*queue|>launched|>mean length|>most|>launch "
                                                   "delay|>90 %|>most|>if empty|>call|>shorter");
            st_table_show(table, queue_streams,
                          ".name,launched,.mean,queue_most,.median,.p90,.most,.empty,.call,"
                          "shorter_than_call");
        }
    }
    st_result_csv(result, "ranks/streams",
                  "file,rank,stream,device,tasks,window_ns,idle_ns,host_bound_ns,"
                  "synchronisation_ns,dependency_ns,communication_ns,launch_ns,unknown_ns,"
                  "launched,queue_mean,queue_most,delay_median_ns,delay_p90_ns,delay_most_ns,"
                  "delay_empty_ns,call_median_ns,shorter_than_call");
    if (count > 0 && ranks[0].gpu.is_replayed)
        st_result_csv(result, "ranks/streams",
                      "file,rank,stream,device,tasks,window_ns,idle_ns,host_bound_ns,"
                      "synchronisation_ns,dependency_ns,communication_ns,launch_ns,unknown_ns,"
                      "launched,queue_mean,queue_most,delay_median_ns,delay_p90_ns,delay_most_ns,"
                      "delay_empty_ns,call_median_ns,shorter_than_call,caused_ns,rest_ns");
}
