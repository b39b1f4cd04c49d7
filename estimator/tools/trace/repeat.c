/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See repeat.h. A run of equal names at distance p is a stretch that repeats with period p. Runs of
 * one number of repetitions are taken together, the longest first, as long as they do not overlap.
 * Layers repeat within micro-batches and these within steps: of the numbers that cover nearly as
 * much time as the best one, the one with the shortest period is that of the layers. Copies may
 * lie anywhere between the kernels of layers; what was in flight when the recording began is of
 * no step of it.
 */
#include "trace/repeat.h"
#include "trace/sends.h"
#include "trace/xalloc.h"

#include <stdlib.h>

enum {
    LEAST_PERIOD = 2, /* 1 where the number of layers is known, and of optimizers */
    MOST_PERIOD = 4096,
    LEAST_LAYERS = 3,
    MOST_COMPARED = 300000000, /* names */
    MOST_RUNS = 65536,
    MOST_INNER = 256,
    MOST_CHOICES = 128 /* different numbers of repetitions */
};

typedef struct finder {
    const st_trace *trace;
    uint32_t *tasks;
    uint32_t *names;    /* by task; a mark of a step is a name of its own between tasks */
    uint32_t *segments; /* by task: how many steps and messages of a pipeline have begun before */
    bool *optimizes;    /* by task */
    size_t count;
    st_repeat *runs;
    size_t run_count;
    uint32_t wanted;
    bool optimizers;
    bool is_nested; /* what is chosen may be micro-batches */
} finder;

static int64_t span_ns(const finder *f, const st_repeat *run)
{
    int64_t sum = 0;
    for (uint32_t i = run->first; i < run->first + run->period * run->layers; i++)
        sum = st_add_ns(sum, f->trace->events[f->tasks[i]].duration_ns);
    return sum;
}

/* What an optimizer does layer by layer is short, but hardly by chance as often as there are
 * layers. */
static bool optimizes(const finder *f, const st_repeat *run)
{
    uint32_t i = run->first;
    while (i < st_repeat_end(run) && f->optimizes[i])
        i++;
    return f->optimizers && i == st_repeat_end(run);
}

static void keep_run(finder *f, size_t end, size_t length, uint32_t period)
{
    uint32_t layers = (uint32_t)((length + period) / period);
    if (layers < (f->wanted != 0 ? 2 : LEAST_LAYERS) || (f->wanted != 0 && layers != f->wanted) ||
        f->run_count == MOST_RUNS)
        return;
    st_repeat *run = &f->runs[f->run_count++];
    *run = (st_repeat){.first = (uint32_t)(end - length),
                       .period = period,
                       .layers = layers,
                       .slack = (uint32_t)(length + period - (size_t)layers * period)};
    run->duration_ns = span_ns(f, run);
    /* Any kernel may run several times by chance. */
    f->run_count -= f->wanted == 0 && period < LEAST_PERIOD && !optimizes(f, run);
}

/* By number of layers; the longest first, of equally long ones that with the shorter period. */
ST_COMPARE(compare_runs, st_repeat, ST_RISING(layers) ST_FALLING(period) ST_RISING(first));

ST_COMPARE(compare_places, st_repeat, ST_RISING(first));

/* Runs of one number of layers, without those that overlap a longer one. */
typedef struct choice {
    size_t first; /* run */
    size_t count;
    uint32_t period; /* of the longest */
    int64_t covered_ns;
} choice;

/* True where no task of the run is taken. */
static bool is_free(const st_repeat *run, const bool *taken, uint32_t *last_taken)
{
    bool is_taken = false;
    for (uint32_t k = run->first + run->period * run->layers; k > run->first && !is_taken; k--) {
        is_taken = taken[k - 1];
        *last_taken = k - 1;
    }
    return !is_taken;
}

/*
 * Layers often end in what layers of the other pass end in, too, such as a collective: the run of
 * the second pass then begins inside of the first one's. It is moved behind that, as far as it may.
 */
static bool find_place(const finder *f, st_repeat *run, const bool *taken)
{
    uint32_t last = 0;
    if (is_free(run, taken, &last))
        return true;
    uint32_t shift = last + 1 - run->first;
    if (shift > run->slack)
        return false;
    run->first += shift;
    run->slack -= shift;
    run->duration_ns = span_ns(f, run);
    return is_free(run, taken, &last);
}

static void take(const st_repeat *run, bool *taken, bool value)
{
    for (uint32_t k = run->first; k < run->first + run->period * run->layers; k++)
        taken[k] = value;
}

/*
 * As many micro-batches as layers repeat as layers do: true where runs of shorter periods, among
 * the next ones, make up nearly all of a run.
 */
static bool holds_layers(const finder *f, size_t index, size_t end)
{
    const st_repeat *run = &f->runs[index];
    int64_t inner_ns = 0;
    uint32_t period = 0;
    for (size_t i = index + 1; i < end && i < index + MOST_INNER; i++) {
        const st_repeat *inner = &f->runs[i];
        bool inside = inner->first >= run->first && inner->first + inner->period * inner->layers <=
                                                        run->first + run->period * run->layers;
        if (!inside || inner->period * inner->layers > run->period)
            continue;
        inner_ns = inner->period == period ? inner_ns : 0;
        period = inner->period;
        inner_ns = st_add_ns(inner_ns, inner->duration_ns);
        /* One kernel several times is a part of a layer, as the products of an attention are. */
        if ((double)inner_ns > (period > 1 ? 0.4 : 0.8) * (double)run->duration_ns)
            return true;
    }
    return false;
}

/* 0.8: what surrounds the layers of a micro-batch may take a fifth. */
static bool is_better(const choice *a, const choice *best)
{
    double a_ns = (double)a->covered_ns;
    double best_ns = (double)best->covered_ns;
    if (a->period < best->period)
        return a_ns >= 0.8 * best_ns;
    return a_ns * 0.8 > best_ns;
}

static int64_t all_ns(const finder *f)
{
    int64_t all = 0;
    for (size_t i = 0; i < f->count; i++)
        all = st_add_ns(all, f->trace->events[f->tasks[i]].duration_ns);
    return all;
}

/*
 * Micro-batches of layers: a pass forward and one backward, both of as many repetitions, stand in
 * each, and take a twentieth of it at least. `other` are runs of another number.
 */
static bool holds_passes(const finder *f, const choice *best, const choice *other)
{
    static const double least_frac = 0.05;
    const st_repeat *run = &f->runs[best->first];
    uint32_t end = run->first + run->period * run->layers;
    int64_t inner_ns = 0;
    size_t passes = 0;
    if (other->first == best->first)
        return false;
    for (size_t i = other->first; i < other->first + other->count; i++) {
        const st_repeat *inner = &f->runs[i];
        if (inner->first < run->first || inner->first + inner->period * inner->layers > end)
            continue;
        inner_ns = st_add_ns(inner_ns, inner->duration_ns);
        passes++;
    }
    /* Where a micro-batch is cut within a pass, that is of none. */
    return passes + 1 >= 2 * (size_t)run->layers &&
           (double)inner_ns >= least_frac * (double)run->duration_ns;
}

static bool is_nested(const finder *f, const choice *best, const choice *all, size_t count)
{
    for (size_t i = 0; i < count && best->count > 0; i++)
        if (holds_passes(f, best, &all[i]))
            return true;
    return false;
}

/* The best choice; nothing where that is less than a tenth of the work and nobody asked for it. */
static choice choose_layers(finder *f, bool *taken)
{
    choice best = {0};
    choice all[MOST_CHOICES];
    size_t count = 0;
    qsort(f->runs, f->run_count, sizeof *f->runs, compare_runs);
    for (size_t first = 0; first < f->run_count;) {
        size_t end = first;
        while (end < f->run_count && f->runs[end].layers == f->runs[first].layers)
            end++;
        /* Moves the runs that are kept to the front of theirs. */
        choice one = {.first = first, .period = f->runs[first].period};
        int64_t longest_ns = 0;
        for (size_t i = first; i < end; i++) {
            st_repeat run = f->runs[i];
            bool is_short = (double)run.duration_ns < 0.1 * (double)longest_ns;
            if (holds_layers(f, i, end) || (is_short && !optimizes(f, &run)) ||
                !find_place(f, &run, taken))
                continue;
            longest_ns = run.duration_ns > longest_ns ? run.duration_ns : longest_ns;
            take(&run, taken, true);
            f->runs[first + one.count++] = run;
            one.covered_ns = st_add_ns(one.covered_ns, run.duration_ns);
        }
        for (size_t i = first; i < first + one.count; i++)
            take(&f->runs[i], taken, false);
        if (count < MOST_CHOICES)
            all[count++] = one;
        if (best.count == 0 || is_better(&one, &best))
            best = one;
        first = end;
    }
    f->is_nested = is_nested(f, &best, all, count);
    return f->wanted != 0 || best.covered_ns >= all_ns(f) / 10 ? best : (choice){0};
}

static void list_tasks(finder *f, st_arena *arena)
{
    const st_trace *trace = f->trace;
    st_order order;
    st_order_make(trace, arena, &order);
    st_launch *keys = st_xmalloc((trace->event_count + 1) * sizeof *keys);
    for (uint32_t i = 0; i < trace->event_count; i++)
        if (trace->events[i].kind == ST_TRACE_KERNEL &&
            st_order_launch_ns(&order, i) >= order.start_ns)
            keys[f->count++] = (st_launch){st_order_launch_ns(&order, i), i};
    qsort(keys, f->count, sizeof *keys, st_launch_compare);
    uint32_t steps = 0;
    int64_t optimizes_until_ns = INT64_MIN;
    size_t next = 0;
    for (size_t i = 0; i < f->count; i++) {
        const st_trace_event *task = &trace->events[keys[i].event];
        for (; next < trace->event_count && trace->events[next].start_ns <= keys[i].launch_ns;
             next++) {
            const st_trace_event *event = &trace->events[next];
            steps += event->kind == ST_TRACE_STEP;
            if (event->kind == ST_TRACE_RANGE && st_trace_end_ns(event) > optimizes_until_ns)
                optimizes_until_ns = st_trace_end_ns(event);
        }
        f->optimizes[i] =
            task->class_ == ST_TRACE_OPTIMIZER || keys[i].launch_ns < optimizes_until_ns;
        f->tasks[i] = keys[i].event;
        f->names[i] = task->name;
        f->segments[i] = steps;
    }
    /* Layers lie between the messages of a pipeline; each message is a run of its own. */
    uint32_t messages = 0;
    for (size_t i = 0; i < f->count; i++) {
        bool is_message = st_message_is(trace, &trace->events[f->tasks[i]], NULL);
        messages += is_message;
        f->segments[i] += messages;
        messages += is_message;
    }
    free(keys);
    st_order_free(&order);
}

bool st_repeats_are_layers(const st_repeats *repeats)
{
    static const double least_frac = 0.5;
    bool is_clear = !repeats->is_nested && repeats->covered_frac >= least_frac;
    return repeats->layers > 0 && (repeats->is_given || is_clear);
}

const char *st_repeats_doubt(const st_repeats *repeats, st_errors *errors)
{
    if (repeats->is_nested)
        return st_errors_text(errors,
                              "the most frequent repetition, %u times, contains repeated passes "
                              "and may be micro-batches",
                              repeats->layers);
    return st_errors_text(errors,
                          "the most frequent repetition, %u times, takes %.0f %% of the time of "
                          "computing kernels and may not be layers",
                          repeats->layers, 100 * repeats->covered_frac);
}

/* A sum of scattered names. */
uint64_t st_repeat_mark(const st_trace *trace, const st_repeats *repeats, const st_repeat *run)
{
    uint64_t sum = 0;
    for (uint32_t i = run->first; i < run->first + run->period; i++) {
        uint64_t mixed = trace->events[repeats->tasks[i]].name + 1;
        mixed *= UINT64_C(0x9E3779B97F4A7C15);
        mixed ^= mixed >> 29;
        sum += mixed * UINT64_C(0xBF58476D1CE4E5B9);
    }
    return sum;
}

/* Without collectives, which may wait for others in any length. */
static int64_t computing_ns(const st_trace *trace, const uint32_t *tasks, size_t first, size_t end)
{
    int64_t sum = 0;
    for (size_t i = first; i < end; i++) {
        const st_trace_event *event = &trace->events[tasks[i]];
        if (event->class_ != ST_TRACE_COMMUNICATION)
            sum = st_add_ns(sum, event->duration_ns);
    }
    return sum;
}

void st_repeats_cover(const st_trace *trace, st_repeats *repeats)
{
    const uint32_t *tasks = repeats->tasks;
    int64_t all = computing_ns(trace, tasks, 0, repeats->task_count);
    int64_t covered = 0;
    for (size_t i = 0; i < repeats->count; i++) {
        const st_repeat *run = &repeats->items[i];
        covered = st_add_ns(covered, computing_ns(trace, tasks, run->first, st_repeat_end(run)));
    }
    repeats->covered_frac = all > 0 ? (double)covered / (double)all : 0;
}

static uint32_t divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/*
 * How many layers a repetition of the first run may be: every kernel is in it as many times, or it
 * has several attentions with products between them, as models whose layers take turns do.
 */
static uint32_t folded(const finder *f, const st_repeat *run)
{
    uint32_t common = 0;
    uint32_t attentions = 0;
    bool attends = false;
    for (uint32_t i = run->first; i < run->first + run->period; i++) {
        uint8_t class_ = f->trace->events[f->tasks[i]].class_;
        uint32_t count = 0;
        for (uint32_t k = run->first; k < run->first + run->period && common != 1; k++)
            count += f->names[k] == f->names[i];
        common = common == 1 ? 1 : divisor(count, common);
        attentions += class_ == ST_TRACE_ATTENTION && !attends;
        attends = class_ == ST_TRACE_ATTENTION || (attends && class_ != ST_TRACE_GEMM);
    }
    if (common > 1)
        return common;
    return attentions > 1 ? attentions : 1;
}

void st_repeats_find(const st_trace *trace, st_repeats_ask asked, st_arena *arena,
                     st_repeats *repeats)
{
    size_t events = trace->event_count + 1;
    finder f = {.trace = trace, .wanted = asked.layers, .optimizers = asked.optimizers};
    *repeats = (st_repeats){0};
    f.tasks = st_xalloc(arena, events, sizeof *f.tasks);
    f.names = st_xalloc(arena, events, sizeof *f.names);
    f.optimizes = st_xalloc(arena, events, sizeof *f.optimizes);
    f.segments = st_xalloc(arena, events, sizeof *f.segments);
    f.runs = st_xmalloc(MOST_RUNS * sizeof *f.runs);
    bool *taken = st_xcalloc(events, sizeof *taken);
    list_tasks(&f, arena);
    size_t most = f.count / (asked.layers != 0 ? 2 : LEAST_LAYERS);
    most = most < MOST_PERIOD ? most : MOST_PERIOD;
    for (uint32_t period = 1; period <= most; period++) {
        if ((uint64_t)period * f.count > MOST_COMPARED)
            break;
        size_t length = 0;
        for (size_t i = 0; i + period < f.count; i++) {
            if (f.names[i] == f.names[i + period] && f.segments[i] == f.segments[i + period]) {
                length++;
                continue;
            }
            if (length > 0)
                keep_run(&f, i, length, period);
            length = 0;
        }
        if (f.count > period)
            keep_run(&f, f.count - period, length, period);
    }
    choice best = choose_layers(&f, taken);
    repeats->items = st_xalloc(arena, best.count + 1, sizeof *repeats->items);
    for (size_t i = 0; i < best.count; i++)
        repeats->items[repeats->count++] = f.runs[best.first + i];
    repeats->layers = best.count > 0 ? repeats->items[0].layers : 0;
    repeats->is_given = f.wanted != 0;
    repeats->folded = repeats->count > 0 ? folded(&f, &repeats->items[0]) : 1;
    repeats->is_nested = f.is_nested;
    qsort(repeats->items, repeats->count, sizeof *repeats->items, compare_places);
    repeats->tasks = f.tasks;
    repeats->task_count = f.count;
    st_repeats_cover(trace, repeats);
    free(f.runs);
    free(taken);
}
