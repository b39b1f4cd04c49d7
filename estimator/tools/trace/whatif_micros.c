/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The micro-batches of every step, by what the recording shows of its optimizer: what is launched
 * inside of a range "Optimizer.step", or kernels of optimizers behind the last product or
 * attention. Before that, a step of several micro-batches does the same several times; in one of a
 * single micro-batch, kernels of the pass forward never run again after some point, and those
 * after it never before. Where a recording has no such evidence, layers that repeat show passes.
 */
#include "trace/whatif.h"
#include "trace/xalloc.h"

#include <string.h>

static const double LEAST_REPEATED_FRAC = 0.9; /* of the time before the optimizer */
static const double LEAST_APART_FRAC = 0.75;   /* of the time of each pass */
static const double LEAST_PASS_FRAC = 0.15;    /* of the time before the optimizer */

enum { MOST_COMPARED = 300000000 }; /* names */

/* A step: what is before its optimizer, as tasks of the repeats. */
typedef struct step_body {
    uint32_t first;
    uint32_t end;
} step_body;

typedef struct micro_finder {
    st_whatif *w;
    const st_trace *trace;
    const st_repeats *repeats;
    bool *optimizes;    /* by task: its call is inside of a range of the optimizer */
    uint32_t *segments; /* by task: how many marks of steps its call is behind */
    bool has_ranges;
    step_body *bodies;
    size_t body_count;
    uint32_t *tasks; /* of a body, without collectives */
    size_t count;
    uint32_t optimizer; /* event: the first kernel of one */
    uint32_t range;     /* event: the first range of one */
    double repeated_frac;
    double apart_frac;
} micro_finder;

static const st_trace_event *event_of(const micro_finder *f, uint32_t task)
{
    return &f->trace->events[f->repeats->tasks[task]];
}

static bool is_work(const micro_finder *f, uint32_t task)
{
    const uint8_t class_ = event_of(f, task)->class_;
    return (class_ == ST_TRACE_GEMM || class_ == ST_TRACE_ATTENTION) && !f->optimizes[task];
}

static bool is_optimizer(const micro_finder *f, uint32_t task)
{
    return f->has_ranges ? f->optimizes[task] : event_of(f, task)->class_ == ST_TRACE_OPTIMIZER;
}

/* By the times of calls: inside of which ranges, and behind which marks they are. */
static void place_tasks(micro_finder *f)
{
    static const char range[] = "Optimizer.step";
    const st_trace *trace = f->trace;
    st_order order;
    uint32_t next = 0;
    uint32_t marks = 0;
    int64_t until_ns = INT64_MIN;
    st_order_make(trace, f->w->arena, &order);
    for (uint32_t i = 0; i < f->repeats->task_count; i++) {
        const int64_t launch_ns = st_order_launch_ns(&order, f->repeats->tasks[i]);
        for (; next < trace->event_count && trace->events[next].start_ns <= launch_ns; next++) {
            const st_trace_event *event = &trace->events[next];
            marks += event->kind == ST_TRACE_STEP;
            if ((event->kind != ST_TRACE_RANGE && event->kind != ST_TRACE_OPERATOR) ||
                strncmp(trace->names[event->name], range, sizeof range - 1) != 0)
                continue;
            f->range = f->has_ranges ? f->range : next;
            f->has_ranges = true;
            until_ns = st_trace_end_ns(event) > until_ns ? st_trace_end_ns(event) : until_ns;
        }
        f->optimizes[i] = launch_ns < until_ns;
        f->segments[i] = marks;
    }
    st_order_free(&order);
}

/* From `*at` on to the next mark, or without marks to the next work behind an optimizer; false
 * where work is behind the optimizer of a marked step, or a step has none. */
static bool find_body(micro_finder *f, bool is_marked, uint32_t *at)
{
    const uint32_t count = (uint32_t)f->repeats->task_count;
    step_body one = {.first = *at};
    uint32_t end = *at;
    uint32_t work = 0;
    uint32_t tail = 0;
    for (; end < count && f->segments[end] == f->segments[*at]; end++) {
        if (is_work(f, end) && tail > 0)
            break;
        work = is_work(f, end) ? end + 1 : work;
        if (is_optimizer(f, end) && work == 0)
            one.first = end + 1; /* gradients that are set to zero */
        else if (is_optimizer(f, end) && tail == 0)
            tail = end;
    }
    const bool goes_on = end < count && f->segments[end] == f->segments[*at];
    if ((work > 0 && tail == 0) || (goes_on && is_marked))
        return false;
    while (goes_on && !is_optimizer(f, end - 1))
        end--; /* what leads to that work is of the next step */
    *at = end;
    one.end = tail;
    f->optimizer = f->body_count == 0 && work > 0 ? f->repeats->tasks[tail] : f->optimizer;
    if (work > 0)
        ST_XAPPEND(f->w->arena, f->bodies, f->body_count, one);
    return true;
}

/* What is before the optimizer of each step; false where a step has none, or work behind it. */
static bool find_bodies(micro_finder *f)
{
    const bool is_marked = f->trace->kind_counts[ST_TRACE_STEP] > 0;
    uint32_t at = 0;
    while (is_marked && at < f->repeats->task_count && f->segments[at] == 0)
        at++;
    while (at < f->repeats->task_count)
        if (!find_body(f, is_marked, &at))
            return false;
    return f->body_count > 0 &&
           (!is_marked || f->body_count == f->trace->kind_counts[ST_TRACE_STEP]);
}

static int64_t time_of(const micro_finder *f, size_t first, size_t end)
{
    int64_t sum_ns = 0;
    for (size_t i = first; i < end; i++)
        sum_ns = st_add_ns(sum_ns, event_of(f, f->tasks[i])->duration_ns);
    return sum_ns;
}

static uint32_t name_of(const micro_finder *f, size_t i)
{
    return event_of(f, f->tasks[i])->name;
}

/*
 * The first task after which kernels run that do not run before, for most of the time on both
 * sides; `end` if none is found.
 */
static size_t find_turn(micro_finder *f, size_t first, size_t end)
{
    size_t *last = st_xcalloc(f->trace->name_count + 1, sizeof *last);
    int64_t *before_ns = st_xcalloc(end - first + 2, sizeof *before_ns);
    int64_t *after_ns = st_xcalloc(end - first + 2, sizeof *after_ns);
    size_t found = end;
    double best = LEAST_APART_FRAC;
    /* By place: the time of what has run for the last time before it, and for the first time. */
    for (size_t i = first; i < end; i++)
        last[name_of(f, i)] = i + 1;
    for (size_t i = first; i < end; i++)
        before_ns[last[name_of(f, i)] - first] += event_of(f, f->tasks[i])->duration_ns;
    for (size_t i = end; i-- > first;)
        last[name_of(f, i)] = i + 1;
    for (size_t i = first; i < end; i++)
        after_ns[last[name_of(f, i)] - 1 - first] += event_of(f, f->tasks[i])->duration_ns;
    for (size_t i = 0; i < end - first; i++)
        before_ns[i + 1] += before_ns[i];
    for (size_t i = end - first; i-- > 0;)
        after_ns[i] += after_ns[i + 1];
    int64_t passed_ns = 0;
    const int64_t all_ns = time_of(f, first, end);
    for (size_t i = first; i < end; i++) {
        const double before = (double)before_ns[i - first] / ((double)passed_ns + 1);
        const double after = (double)after_ns[i - first] / ((double)(all_ns - passed_ns) + 1);
        const double least = before < after ? before : after;
        const double passed = (double)passed_ns / ((double)all_ns + 1);
        const bool are_passes = passed >= LEAST_PASS_FRAC && passed <= 1 - LEAST_PASS_FRAC;
        if (are_passes && least > best) {
            best = least;
            found = i;
            f->apart_frac = (double)(before_ns[i - first] + after_ns[i - first]) / (double)all_ns;
        }
        passed_ns += event_of(f, f->tasks[i])->duration_ns;
    }
    free(last);
    free(before_ns);
    free(after_ns);
    return found;
}

/* The shortest part that is done `*micros` times, 0: at least twice; false without one. */
static bool find_repeated(micro_finder *f, size_t *micros, size_t *first, size_t *period)
{
    const double all_ns = (double)time_of(f, 0, f->count);
    for (size_t p = 1; 2 * p <= f->count && p * f->count <= MOST_COMPARED; p++) {
        size_t length = 0;
        for (size_t i = 0; i + p <= f->count; i++) {
            if (i + p < f->count && name_of(f, i) == name_of(f, i + p)) {
                length++;
                continue;
            }
            const size_t times = (length + p) / p;
            const size_t begin = i - length;
            length = 0;
            if (times < 2 || (*micros > 0 && times != *micros) ||
                (double)time_of(f, begin, begin + times * p) < LEAST_REPEATED_FRAC * all_ns ||
                find_turn(f, begin, begin + p) == begin + p)
                continue;
            f->repeated_frac = (double)time_of(f, begin, begin + times * p) / all_ns;
            *micros = times;
            *first = begin;
            *period = p;
            return true;
        }
    }
    return false;
}

static size_t count_messages(const micro_finder *f, uint32_t first, uint32_t end)
{
    size_t count = 0;
    for (uint32_t i = first; i < end; i++)
        count += event_of(f, i)->class_ == ST_TRACE_COMMUNICATION;
    return count;
}

static bool runs_between(const micro_finder *f, uint32_t name, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        if (event_of(f, i)->name == name)
            return true;
    return false;
}

/* Adds the micro-batches of a step, as many as other steps have; false where none are found. */
static bool find_micros(micro_finder *f, const step_body *body, st_micros *found)
{
    size_t micros = found->each;
    size_t first = 0;
    size_t period = 0;
    f->count = 0;
    for (uint32_t i = body->first; i < body->end; i++)
        if (event_of(f, i)->class_ != ST_TRACE_COMMUNICATION)
            f->tasks[f->count++] = i;
    if (f->count == 0)
        return false;
    if (micros != 1 && find_repeated(f, &micros, &first, &period)) {
        for (size_t i = 0; i < micros; i++) {
            const size_t last = first + (i + 1) * period;
            st_micro_span one = {f->tasks[first + i * period], last < f->count && i + 1 < micros
                                                                   ? f->tasks[last]
                                                                   : f->tasks[last - 1] + 1};
            ST_XAPPEND(f->w->arena, found->items, found->count, one);
        }
        found->each = micros;
        return true;
    }
    if (micros > 1)
        return false;
    const size_t turn = find_turn(f, 0, f->count);
    st_micro_span one = {body->first, body->end};
    if (turn == f->count && (micros == 0 || count_messages(f, one.first, one.end) > 0))
        return false;
    while (turn < f->count && one.end > f->tasks[f->count - 1] + 1 &&
           !runs_between(f, event_of(f, one.end - 1)->name, one.first, f->tasks[turn]))
        one.end--; /* gradients that are reduced behind the pass, in no collective of a layer */
    ST_XAPPEND(f->w->arena, found->items, found->count, one);
    found->reduces = turn < f->count && count_messages(f, one.first, f->tasks[turn]) == 0 &&
                     count_messages(f, f->tasks[turn], one.end) > 0;
    found->each = 1;
    return true;
}

static void note_evidence(st_whatif *w, const micro_finder *f, const st_micros *found)
{
    const st_trace *trace = f->trace;
    const char *const why =
        found->each > 1 ? st_errors_text(w->errors,
                                         "kernels of %.0f %% of the time before its optimizer "
                                         "repeat so often",
                                         100 * f->repeated_frac)
        : f->apart_frac > 0
            ? st_errors_text(w->errors,
                             "kernels of %.0f %% of the time before its optimizer run only before "
                             "or only after the turn of the passes",
                             100 * f->apart_frac)
            : "as given";
    st_whatif_note(w, "a step has %zu micro-batch%s: %s", found->each, found->each > 1 ? "es" : "",
                   why);
    st_whatif_note(w, "the optimizer begins with the kernel '%.100s', by %s%s",
                   trace->names[trace->events[f->optimizer].name],
                   f->has_ranges ? "the range " : "its class",
                   f->has_ranges ? trace->names[trace->events[f->range].name] : "");
}

static bool find_rank(st_whatif *w, size_t rank, st_micros *found)
{
    micro_finder f = {.w = w, .trace = w->graph->set->ranks[rank], .repeats = &w->repeats[rank]};
    f.optimizes = st_xalloc(w->arena, f.repeats->task_count + 1, sizeof *f.optimizes);
    f.segments = st_xalloc(w->arena, f.repeats->task_count + 1, sizeof *f.segments);
    f.tasks = st_xalloc(w->arena, f.repeats->task_count + 1, sizeof *f.tasks);
    *found = (st_micros){.each = (size_t)w->values.have[ST_WHATIF_MICROS]};
    place_tasks(&f);
    if (!find_bodies(&f))
        return false;
    for (size_t i = 0; i < f.body_count; i++)
        if (!find_micros(&f, &f.bodies[i], found))
            return false;
    found->steps = f.body_count;
    if (rank == 0)
        note_evidence(w, &f, found);
    return true;
}

bool st_whatif_find_micros(st_whatif *w)
{
    const size_t ranks = w->graph->set->count;
    st_micros *found = st_xalloc(w->arena, ranks, sizeof *found);
    for (size_t i = 0; i < ranks; i++)
        if (!find_rank(w, i, &found[i]) || found[i].each != found[0].each ||
            found[i].steps != found[0].steps)
            return false;
    w->micros = found;
    return true;
}

st_micros st_whatif_micros_of(st_whatif *w, size_t rank)
{
    const st_repeats *repeats = &w->repeats[rank];
    st_micros found = {0};
    if (w->micros != NULL)
        return w->micros[rank];
    st_whatif_micros(w, rank, &found.steps, &found.each);
    for (size_t i = 0; i < found.steps * found.each && w->status == ST_OK; i++) {
        const st_repeat *forward = &repeats->items[2 * i];
        const bool is_last = (i + 1) % found.each == 0;
        st_micro_span one = {forward->first,
                             is_last ? st_repeat_end(&forward[1]) : forward[2].first};
        ST_XAPPEND(w->arena, found.items, found.count, one);
        micro_finder f = {.w = w, .trace = w->graph->set->ranks[rank], .repeats = repeats};
        found.reduces = count_messages(&f, forward->first, st_repeat_end(forward)) == 0 &&
                        count_messages(&f, forward[1].first, one.end) > 0;
    }
    return found;
}
