/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See whatif.h. Tasks of a graph stay what they are: the first of two kernels that become one
 * lasts as long as both and the second no time, without its launch; a kernel with a further one
 * behind it lasts as long as both and what is between them.
 */
#include "steptime/quantity.h"
#include "trace/depend.h"
#include "trace/link.h"
#include "trace/whatif.h"
#include "trace/xalloc.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool st_whatif_has_kernel(const st_trace *trace, const char *pattern)
{
    for (size_t i = 0; i < trace->event_count; i++)
        if (st_trace_is_gpu(&trace->events[i]) &&
            fnmatch(pattern, trace->names[trace->events[i].name], 0) == 0)
            return true;
    return false;
}

double st_whatif_kernel_factor(const st_whatif *w, const st_trace *trace, size_t event)
{
    double factor = 1;
    for (size_t k = 0; k < w->values.kernel_count; k++) {
        const st_whatif_kernels *one = &w->values.kernels[k];
        if (fnmatch(one->pattern, trace->names[trace->events[event].name], 0) == 0)
            factor = one->speed > 0 ? factor / one->speed : 0;
    }
    return factor;
}

typedef struct host_change {
    st_whatif *w;
    const st_trace *trace;
    const st_trace_rank *rank;
    const st_whatif_launches *launches;
    st_links calls;
    struct call_tasks *tasks; /* by event: of a call */
    double *launch_ns;        /* by thread */
} host_change;

static void shorten(const host_change *h, st_task_id task, double by_ns)
{
    double left_ns = (double)st_graph_task(h->w->graph->graph, task).duration_ns - by_ns;
    st_whatif_set_time(h->w, task, left_ns > 0 ? left_ns : 0);
}

/* What a call launches. */
typedef struct call_tasks {
    uint32_t first; /* the first of its tasks */
    uint32_t count; /* 0: it launches nothing */
    uint32_t gone;
    uint32_t further; /* launches behind it; nodes of a graph need none */
    int64_t wait_ns;  /* of the call, for room in the launch queue */
} call_tasks;

/* The first of the tasks that a call launches speaks for it; it goes with the last of them. */
static void change_launch(const host_change *h, uint32_t call, int64_t *last_end_ns)
{
    const st_whatif *w = h->w;
    const call_tasks *tasks = &h->tasks[call];
    const st_trace_event *launch = &h->trace->events[call];
    st_task_id before = h->rank->hosts[tasks->first];
    if (before == ST_TASK_NONE)
        return;
    /* The host task behind the one that ends where a call begins: it begins with the call. */
    const st_graph *graph = h->w->graph->graph;
    st_task_id next = before + 1;
    bool follows = next < st_graph_task_count(graph) &&
                   st_graph_task(graph, next).resource == st_graph_task(graph, before).resource;
    st_task_id during = follows ? next : ST_TASK_NONE;
    double launches = w->values.set[ST_WHATIF_LAUNCH] > 0 ? w->values.set[ST_WHATIF_LAUNCH] : 1;
    double call_ns = (double)(launch->duration_ns - tasks->wait_ns);
    bool gone = tasks->gone == tasks->count;
    double less_ns = gone ? call_ns : call_ns * (1 - 1 / launches);
    if (tasks->further > 0)
        less_ns -= tasks->further * h->launch_ns[launch->track] / launches;
    if (gone && launch->start_ns > *last_end_ns && *last_end_ns > INT64_MIN)
        shorten(h, before, (double)(launch->start_ns - *last_end_ns));
    double work_ns = during == ST_TASK_NONE ? 0 : (double)st_graph_task(graph, during).duration_ns;
    if (during != ST_TASK_NONE && less_ns != 0)
        shorten(h, during, less_ns);
    /* Of a call that waits, part of its work follows the wait, in the next task. */
    if (during != ST_TASK_NONE && tasks->wait_ns > 0 && less_ns > work_ns &&
        next + 1 < st_graph_task_count(graph) &&
        st_graph_task(graph, next + 1).resource == st_graph_task(graph, before).resource)
        shorten(h, next + 1, less_ns - work_ns);
    *last_end_ns = st_trace_end_ns(launch);
}

/* A call that launches one kernel, as many do. */
typedef struct one_launch {
    uint32_t track;
    int64_t duration_ns;
} one_launch;

ST_COMPARE(compare_launches, one_launch, ST_RISING(track) ST_RISING(duration_ns));

/* Launches of a thread in their order; graphs count once. */
static void change_launches(host_change *h)
{
    st_arena *arena = h->w->arena;
    size_t tracks = h->trace->track_count;
    size_t events = h->trace->event_count + 1;
    int64_t *ends_ns = st_xalloc(arena, tracks + 1, sizeof *ends_ns);
    one_launch *all = st_xalloc(arena, events, sizeof *all);
    h->tasks = st_xalloc(arena, events, sizeof *h->tasks);
    h->launch_ns = st_xalloc(arena, tracks + 1, sizeof *h->launch_ns);
    for (size_t i = 0; i < tracks; i++)
        ends_ns[i] = INT64_MIN;
    for (uint32_t i = 0; i < h->trace->event_count; i++) {
        const st_trace_event *event = &h->trace->events[i];
        uint32_t call = st_trace_is_gpu(event) ? st_links_call(&h->calls, event) : ST_TRACE_NONE;
        if (call == ST_TRACE_NONE)
            continue;
        call_tasks *tasks = &h->tasks[call];
        tasks->first = tasks->count == 0 ? i : tasks->first;
        tasks->further = tasks->count == 0 ? h->launches->further[i] : 0;
        tasks->gone += h->launches->gone[i] || st_whatif_kernel_factor(h->w, h->trace, i) <= 0;
        tasks->count++;
    }
    for (size_t i = 0; i < h->rank->blocked_call_count; i++)
        h->tasks[h->rank->blocked_calls[i].call].wait_ns = h->rank->blocked_calls[i].wait_ns;
    /* The median cost of a launch, by thread. */
    size_t count = 0;
    for (uint32_t i = 0; i < h->trace->event_count; i++)
        if (h->tasks[i].count == 1 && h->trace->events[h->tasks[i].first].kind == ST_TRACE_KERNEL)
            all[count++] = (one_launch){h->trace->events[i].track,
                                        h->trace->events[i].duration_ns - h->tasks[i].wait_ns};
    qsort(all, count, sizeof *all, compare_launches);
    for (size_t first = 0, end = 0; first < count; first = end) {
        while (end < count && all[end].track == all[first].track)
            end++;
        size_t middle = first + (end - first) / 2;
        h->launch_ns[all[first].track] = (double)all[middle].duration_ns;
    }
    for (uint32_t i = 0; i < h->trace->event_count; i++) {
        const st_trace_event *event = &h->trace->events[i];
        if (event->kind != ST_TRACE_CALL)
            continue;
        if (h->tasks[i].count > 0)
            change_launch(h, i, &ends_ns[event->track]);
        else if (st_trace_end_ns(event) > ends_ns[event->track])
            ends_ns[event->track] = st_trace_end_ns(event);
    }
}

void st_whatif_scale(st_whatif *w, st_task_id task, double factor)
{
    st_whatif_set_time(w, task, (double)st_graph_task(w->graph->graph, task).duration_ns * factor);
}

st_task_id st_whatif_delay_of(const st_whatif *w, st_task_id task)
{
    const st_graph *graph = w->graph->graph;
    if (task == 0)
        return ST_TASK_NONE;
    st_task_view before = st_graph_task(graph, task - 1);
    bool delays = before.resource == st_graph_task(graph, task).resource &&
                  strcmp(before.category_name, "delay") == 0;
    return delays ? task - 1 : ST_TASK_NONE;
}

const bool *st_whatif_threads(const st_whatif *w, const st_trace_rank *rank)
{
    const st_graph *graph = w->graph->graph;
    bool *threads = st_xalloc(w->arena, st_graph_resource_count(graph) + 1, sizeof *threads);
    for (size_t i = 0; i < rank->thread_count; i++)
        if (rank->thread_acts[i])
            threads[st_graph_task(graph, rank->threads[i]).resource] = true;
    return threads;
}

bool st_whatif_is_host_work(const st_whatif *w, const bool *threads, st_task_id task)
{
    const st_task_view view = st_graph_task(w->graph->graph, task);
    return threads[view.resource] && view.kind == ST_RESOURCE_HOST &&
           strcmp(view.category_name, "host") == 0;
}

void st_whatif_host(st_whatif *w, size_t rank, const st_whatif_launches *launches)
{
    host_change h = {.w = w,
                     .trace = w->graph->set->ranks[rank],
                     .rank = &w->graph->ranks[rank],
                     .launches = launches};
    bool removes = w->values.edit_count > 0;
    for (size_t k = 0; k < w->values.kernel_count; k++)
        removes = removes || w->values.kernels[k].speed <= 0;
    if (removes || w->values.set[ST_WHATIF_LAUNCH] > 0) {
        st_links_make(h.trace, ST_TRACE_CALL, &h.calls);
        change_launches(&h);
        st_links_free(&h.calls);
    }
    if (w->status == ST_OK && w->values.set[ST_WHATIF_HOST] > 0) {
        const st_graph *graph = h.w->graph->graph;
        const bool *threads = st_whatif_threads(w, h.rank);
        double speed = h.w->values.set[ST_WHATIF_HOST];
        for (st_task_id i = 0; i < st_graph_task_count(graph); i++)
            if (st_whatif_is_host_work(w, threads, i))
                st_whatif_scale(h.w, i, 1 / speed);
    }
}

/*
 *
 *
 * Of several micro-batches all but the last are stretched, since gradients are reduced in the last
 * alone.
 */

/* GPU tasks by launch, from first to before end, and how much longer all of them last, with what
 * they were late and what the host does for them. */
typedef struct part {
    uint32_t first;
    uint32_t end;
    bool hands_over; /* the host's way to the next part belongs to it */
    double factor;
} part;

typedef struct stretcher {
    st_whatif *w;
    const st_trace_rank *rank;
    const st_repeats *repeats;
    part *parts;
    size_t count;
} stretcher;

static void add_part(stretcher *s, const part *one)
{
    ST_XAPPEND(s->w->arena, s->parts, s->count, *one);
}

/* --- layers ------------------------------------------------------------------------------------
 */

/* --- micro-batches -----------------------------------------------------------------------------
 */

static st_task_id host_of(const stretcher *s, uint32_t task)
{
    return s->rank->hosts[s->repeats->tasks[task]];
}

/* When the host begins to prepare a task, in the replay. */
static int64_t prepared_ns(const stretcher *s, uint32_t task)
{
    st_task_id host = host_of(s, task);
    return host == ST_TASK_NONE ? 0 : st_replay_task(s->w->replay, host).start_ns;
}

/* When it has launched the one before `end`, or, past threads that hand over, goes on to the next.
 */
static int64_t over_ns(const stretcher *s, uint32_t end, bool hands_over)
{
    if (hands_over && end < s->repeats->task_count && prepared_ns(s, end) > 0)
        return prepared_ns(s, end);
    st_task_id host = host_of(s, end - 1);
    return host == ST_TASK_NONE ? 0 : st_replay_task(s->w->replay, host).end_ns;
}

static void add_step(stretcher *s, const st_micro_span *spans, size_t micros)
{
    double set = s->w->values.set[ST_WHATIF_MICROS];
    double factor = micros > 1 ? (set - 1) / (double)(micros - 1) : set;
    uint32_t end = micros > 1 ? spans[micros - 1].first : spans[0].end;
    add_part(s, &(part){spans[0].first, end, true, factor});
}

/* --- stretching --------------------------------------------------------------------------------
 */

const double *st_whatif_stretch(st_whatif *w, size_t rank)
{
    size_t events = w->graph->set->ranks[rank]->event_count;
    double *factors = st_xalloc(w->arena, events + 1, sizeof *factors);
    stretcher s = {.w = w, .rank = &w->graph->ranks[rank], .repeats = &w->repeats[rank]};
    for (size_t i = 0; i < events; i++)
        factors[i] = 1;
    if (w->values.set[ST_WHATIF_LAYERS] > 0 && !w->repeats_layers) {
        double factor = s.w->layer_growth;
        for (size_t i = 0; i < s.repeats->count; i++) {
            const st_repeat *run = &s.repeats->items[i];
            add_part(&s, &(part){run->first, st_repeat_end(run), false, factor});
        }
    }
    if (st_whatif_adds_micros(w) && !w->repeats_micros) {
        const st_micros found = st_whatif_micros_of(w, rank);
        for (size_t i = 0; i < found.steps && w->status == ST_OK; i++)
            add_step(&s, found.items + found.each * i, found.each);
    }
    for (size_t p = 0; p < s.count; p++)
        for (uint32_t i = s.parts[p].first; i < s.parts[p].end; i++)
            factors[s.repeats->tasks[i]] *= s.parts[p].factor;
    if (w->status == ST_OK) {
        size_t count = st_graph_task_count(s.w->graph->graph);
        const bool *threads = st_whatif_threads(w, s.rank);
        for (st_task_id task = 0; task < count && s.count > 0; task++) {
            if (!st_whatif_is_host_work(w, threads, task))
                continue;
            /* The part in whose time a host task ends; parts are in the order of their launches.
             */
            const int64_t end_ns = st_replay_task(s.w->replay, task).end_ns;
            double factor = 1;
            for (size_t i = 0; i < s.count; i++)
                if (end_ns > prepared_ns(&s, s.parts[i].first) &&
                    end_ns <= over_ns(&s, s.parts[i].end, s.parts[i].hands_over))
                    factor *= s.parts[i].factor;
            if (factor != 1)
                st_whatif_scale(s.w, task, factor);
        }
    }
    return factors;
}

/* --- options ---------------------------------------------------------------------------------- */

/* The last `sign` without a backslash before it; *count is how many there are. */
static const char *find_sign(const char *text, const char *end, char sign, size_t *count)
{
    const char *found = NULL;
    *count = 0;
    for (const char *at = text; at < end; at++) {
        if (*at == '\\' && at + 1 < end) {
            at++;
        } else if (*at == sign) {
            found = at;
            (*count)++;
        }
    }
    return found;
}

static st_status parse_time(const char *option, const char *text, double *time_ns,
                            st_errors *errors)
{
    st_unit second;
    double time_s = 0;
    st_place place = {.file = option};
    st_status status = st_unit_parse("s", 1, place, &second, errors);
    if (status == ST_OK)
        status = st_quantity_parse(text, strlen(text), &second, place, &time_s, errors);
    if (st_xstatus(status) != ST_OK)
        return ST_ERR_USAGE;
    if (!(time_s > 0) || time_s > 1e6)
        return st_fail(errors, ST_ERR_USAGE, place,
                       "a kernel cannot take this time" ST_FOUND "'%s'" ST_EXPECTED
                       "more than 0 and at most 1e6 s",
                       text);
    *time_ns = 1e9 * time_s;
    return ST_OK;
}

static st_status add_edit(st_whatif_values *values, const st_whatif_edit_rule *edit,
                          const char *option, st_errors *errors)
{
    if (values->edit_count == ST_WHATIF_PATTERNS)
        return st_fail(errors, ST_ERR_USAGE, (st_place){.file = option},
                       "too many patterns" ST_EXPECTED "at most %d of --fuse and --insert",
                       ST_WHATIF_PATTERNS);
    values->edits[values->edit_count++] = *edit;
    return ST_OK;
}

static st_status parse_fuse(const char *text, st_arena *arena, st_whatif_values *values,
                            st_errors *errors)
{
    static const char option[] = "--fuse";
    size_t signs = 0;
    size_t commas = 0;
    double time_ns = 0;
    const char *equals = find_sign(text, text + strlen(text), '=', &signs);
    const char *end = equals != NULL ? equals : text + strlen(text);
    const char *comma = find_sign(text, end, ',', &commas);
    st_status status = ST_OK;
    if (commas != 1 || comma == text || comma + 1 == end)
        return st_fail(errors, ST_ERR_USAGE, (st_place){.file = option},
                       "not two patterns" ST_FOUND "'%s'" ST_EXPECTED "A,B or A,B=385us; commas "
                       "and equals signs of names are written \\, and \\=",
                       text);
    if (equals != NULL)
        status = parse_time(option, equals + 1, &time_ns, errors);
    const char *first = st_xcopy(arena, text, (size_t)(comma - text));
    const char *second = st_xcopy(arena, comma + 1, (size_t)(end - comma - 1));
    return status == ST_OK
               ? add_edit(values, &(st_whatif_edit_rule){first, second, time_ns, 0}, option, errors)
               : status;
}

static st_status parse_insert(const char *text, st_arena *arena, st_whatif_values *values,
                              st_errors *errors)
{
    static const char option[] = "--insert";
    size_t signs = 0;
    double time_ns = 0;
    const char *equals = find_sign(text, text + strlen(text), '=', &signs);
    if (equals == NULL || equals == text)
        return st_fail(errors, ST_ERR_USAGE, (st_place){.file = option},
                       "%s" ST_FOUND "'%s'" ST_EXPECTED "PATTERN=238.5us",
                       equals == NULL ? "no time" : "an empty pattern", text);
    st_status status = parse_time(option, equals + 1, &time_ns, errors);
    const char *pattern = st_xcopy(arena, text, (size_t)(equals - text));
    return status == ST_OK
               ? add_edit(values, &(st_whatif_edit_rule){pattern, NULL, time_ns, 0}, option, errors)
               : status;
}

st_status st_whatif_edits_parse(const st_trace_change *change, st_arena *arena,
                                st_whatif_values *values, st_errors *errors)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < change->fused_count; i++)
        st_note(&status, parse_fuse(change->fused[i], arena, values, errors));
    for (size_t i = 0; i < change->inserted_count; i++)
        st_note(&status, parse_insert(change->inserted[i], arena, values, errors));
    return status;
}

/* --- GPU tasks -------------------------------------------------------------------------------- */

typedef struct editor {
    st_whatif *w;
    const st_trace *trace;
    const st_trace_rank *rank;
    const double *factors;
    st_whatif_launches *launches;
    st_order order;
    bool *waits; /* by event: for a task of another stream */
    bool *done;  /* by event: part of a pair */
} editor;

static int64_t duration_ns(const editor *e, uint32_t event)
{
    return st_graph_task(e->w->graph->graph, e->rank->tasks[event]).duration_ns;
}

static void set_duration(const editor *e, uint32_t event, double new_ns)
{
    e->w->outcome->scaled++;
    st_whatif_set_time(e->w, e->rank->tasks[event], new_ns);
}

/* Kernels that compute; those of collectives end where ranks meet. */
static bool matches(const editor *e, uint32_t event, const char *pattern)
{
    const st_trace_event *one = &e->trace->events[event];
    return one->kind == ST_TRACE_KERNEL && one->class_ != ST_TRACE_COMMUNICATION &&
           e->rank->tasks[event] != ST_TASK_NONE &&
           fnmatch(pattern, e->trace->names[one->name], 0) == 0;
}

static void fuse(editor *e, st_whatif_edit_rule *rule)
{
    const st_lists *streams = &e->order.by_start;
    for (size_t track = 0; track < e->trace->track_count; track++)
        for (uint32_t i = streams->starts[track]; i + 1 < streams->starts[track + 1]; i++) {
            uint32_t first = streams->items[i];
            uint32_t second = streams->items[i + 1];
            if (e->done[first] || e->done[second] || !matches(e, first, rule->pattern) ||
                !matches(e, second, rule->second))
                continue;
            if (e->waits[second]) {
                e->w->apart++;
            } else {
                double sum_ns = (double)duration_ns(e, first) + (double)duration_ns(e, second);
                double given_ns = rule->time_ns * e->factors[first];
                st_task_id delay = st_whatif_delay_of(e->w, e->rank->tasks[second]);
                set_duration(e, first, rule->time_ns > 0 ? given_ns : sum_ns);
                set_duration(e, second, 0);
                if (delay != ST_TASK_NONE)
                    st_whatif_set_ns(e->w, delay, 0);
                e->launches->gone[second] = true;
                e->done[first] = e->done[second] = true;
                rule->count++;
            }
        }
}

/* How long after a task the next one of its stream could begin that is launched right behind it. */
static double pause_ns(const editor *e, uint32_t event)
{
    const st_trace_event *task = &e->trace->events[event];
    uint32_t call = e->order.call_of[event];
    double gap_ns = (double)e->rank->queue_gap_ns;
    if (call == ST_TRACE_NONE)
        return gap_ns;
    const st_trace_event *launch = &e->trace->events[call];
    double calls_ns = (1.0 + e->launches->further[event]) * (double)launch->duration_ns;
    double end_ns = (double)(task->start_ns - launch->start_ns - e->rank->gpu_late_ns) +
                    (double)duration_ns(e, event);
    return fmax(gap_ns, calls_ns + (double)e->rank->launch_lag_ns - end_ns);
}

void st_whatif_edit(st_whatif *w, size_t rank, const double *factors, st_whatif_launches *launches)
{
    const st_trace *trace = w->graph->set->ranks[rank];
    size_t events = trace->event_count + 1;
    editor e = {.w = w,
                .trace = trace,
                .rank = &w->graph->ranks[rank],
                .factors = factors,
                .launches = launches,
                .waits = st_xalloc(w->arena, events, sizeof *e.waits),
                .done = st_xalloc(w->arena, events, sizeof *e.done)};
    *launches = (st_whatif_launches){st_xalloc(w->arena, events, sizeof *launches->gone),
                                     st_xalloc(w->arena, events, sizeof *launches->further)};
    if (w->values.edit_count == 0 || w->status != ST_OK)
        return;
    st_order_make(trace, w->arena, &e.order);
    /* Which kernels wait for other streams. */
    st_dependencies found;
    st_depend_find(&e.order, e.w->arena, &found);
    for (size_t i = 0; i < found.count; i++)
        if (found.items[i].kind == ST_DEPEND_STREAM)
            e.waits[found.items[i].after] = true;
    for (size_t i = 0; i < w->values.edit_count && w->status == ST_OK; i++) {
        st_whatif_edit_rule *rule = &w->values.edits[i];
        if (rule->second != NULL) {
            fuse(&e, rule);
        } else {
            for (uint32_t j = 0; j < e.trace->event_count; j++) {
                if (!matches(&e, j, rule->pattern))
                    continue;
                double time_ns = rule->time_ns * e.factors[j];
                set_duration(&e, j, (double)duration_ns(&e, j) + pause_ns(&e, j) + time_ns);
                e.w->unlaunched += e.order.call_of[j] == ST_TRACE_NONE;
                e.launches->further[j]++;
                rule->count++;
            }
        }
    }
    st_order_free(&e.order);
}

/* --- what was changed ------------------------------------------------------------------------- */

void st_whatif_note_edits(st_whatif *w)
{
    for (size_t i = 0; i < w->values.edit_count; i++) {
        const st_whatif_edit_rule *rule = &w->values.edits[i];
        if (rule->count == 0 && rule->second != NULL)
            st_whatif_refuse(w,
                             "no kernel called '%s' is directly followed on its stream by one "
                             "called '%s'%s" ST_HINT "--fuse joins kernels that compute, in the "
                             "order in which they run; * matches any text",
                             rule->pattern, rule->second,
                             w->apart > 0 ? " without waiting for another stream" : "");
        else if (rule->count == 0)
            st_whatif_refuse(w,
                             "no kernel that computes is called '%s'" ST_HINT
                             "'steptime trace summary --top 20' lists kernels; * matches any text",
                             rule->pattern);
        else if (rule->second == NULL)
            st_whatif_note(w, "%zu kernels of %.3f us are launched right behind '%s'", rule->count,
                           rule->time_ns / 1e3, rule->pattern);
        else if (rule->time_ns > 0)
            st_whatif_note(w, "%zu times '%s' and '%s' are one kernel of %.3f us", rule->count,
                           rule->pattern, rule->second, rule->time_ns / 1e3);
        else
            st_whatif_note(w, "%zu times '%s' and '%s' are one kernel that takes as long as both",
                           rule->count, rule->pattern, rule->second);
        *(rule->second == NULL ? &w->outcome->inserted : &w->outcome->fused) += rule->count;
    }
    if (w->apart > 0)
        st_whatif_note(w,
                       "%zu pairs of --fuse stay two kernels: the second one waits for "
                       "another stream",
                       w->apart);
    if (w->unlaunched > 0)
        st_whatif_note(w,
                       "%zu kernels of --insert have no launch: that of the one before "
                       "them is not recorded",
                       w->unlaunched);
}
