/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of a trace, distinguished by their kernels; see layer_times.h. */
#include "kernel-times/fit/layer_times.h"

#include "base/memory.h"
#include "steptime/tool/input_files.h"
#include "trace/link.h"
#include "trace/repeat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PATTERNS = 256 };

/* Runs of one pattern of kernels. */
typedef struct pattern {
    uint64_t mark; /* of the names of a layer's tasks, in whatever order */
    uint32_t period;
    uint32_t first; /* task of the first run */
    size_t runs;
    int64_t computation_ns;
    int64_t communication_ns;
    int64_t elapsed_ns;
} pattern;

typedef struct layer_finder {
    st_arena *arena;
    st_errors *errors;
    st_trace_layers *result;
    pattern patterns[MOST_PATTERNS];
    size_t pattern_count;
    size_t optimizer_ranks;
} layer_finder;

static pattern *find_pattern(layer_finder *finder, uint64_t mark, const st_repeat *repeat)
{
    for (size_t i = 0; i < finder->pattern_count; i++)
        if (finder->patterns[i].mark == mark && finder->patterns[i].period == repeat->period)
            return &finder->patterns[i];
    if (finder->pattern_count == MOST_PATTERNS)
        return NULL;
    pattern *made = &finder->patterns[finder->pattern_count++];
    *made = (pattern){.mark = mark, .period = repeat->period, .first = repeat->first};
    return made;
}

ST_COMPARE(by_computation, pattern, ST_FALLING(computation_ns));

/* The two patterns with the most work; the one that runs first goes forward. */
static st_status take_rank(layer_finder *finder, const st_trace *trace, uint32_t layers)
{
    st_sort(finder->patterns, finder->pattern_count, sizeof finder->patterns[0], by_computation);
    if (finder->pattern_count == 0)
        return st_fail(finder->errors, ST_ERR_VALUE, (st_place){.file = trace->file},
                       "this trace has no repeated kernels, as layers would cause" ST_HINT
                       "give the number of layers with --layers");
    /* what is far less than the other is none of the two passes */
    size_t count = finder->pattern_count > 1 && finder->patterns[1].computation_ns >
                                                    finder->patterns[0].computation_ns / 10
                       ? 2
                       : 1;
    const pattern *both[ST_LAYER_PASSES] = {&finder->patterns[0], &finder->patterns[1]};
    if (count == 2 && both[0]->first > both[1]->first) {
        both[0] = &finder->patterns[1];
        both[1] = &finder->patterns[0];
    }
    if (finder->result->ranks > 0 && count != finder->result->pass_count)
        return st_fail(finder->errors, ST_ERR_VALUE, (st_place){.file = trace->file},
                       "this rank has other passes than the previous one" ST_HINT
                       "give the number of layers with --layers");
    finder->result->pass_count = count;
    for (size_t i = 0; i < count; i++) {
        st_layer_runs *into = &finder->result->passes[i];
        double per_layer = 1e-9 / ((double)both[i]->runs * layers);
        into->runs += both[i]->runs;
        into->tasks += both[i]->period;
        into->computation_s += per_layer * (double)both[i]->computation_ns;
        into->communication_s += per_layer * (double)both[i]->communication_ns;
        into->elapsed_s += per_layer * (double)both[i]->elapsed_ns;
    }
    return ST_OK;
}

static st_status find_rank(layer_finder *finder, const st_trace *trace, uint32_t layers)
{
    st_repeats repeats;
    finder->pattern_count = 0;
    st_repeats_find(trace, (st_repeats_ask){layers, false}, finder->arena, &repeats);
    if (repeats.layers > 0 && !st_repeats_are_layers(&repeats))
        return st_fail(finder->errors, ST_ERR_VALUE, (st_place){.file = trace->file},
                       "%s" ST_HINT "give the number of layers with --layers",
                       st_or_none(st_repeats_doubt(&repeats, finder->errors)));
    for (size_t i = 0; i < repeats.count; i++) {
        const st_repeat *repeat = &repeats.items[i];
        pattern *into = find_pattern(finder, st_repeat_mark(trace, &repeats, repeat), repeat);
        int64_t start_ns = INT64_MAX;
        int64_t end_ns = INT64_MIN;
        if (into == NULL)
            continue;
        for (uint32_t j = repeat->first; j < repeat->first + repeat->period * repeat->layers; j++) {
            const st_trace_event *event = &trace->events[repeats.tasks[j]];
            int64_t *sum = event->class_ == ST_TRACE_COMMUNICATION ? &into->communication_ns
                                                                   : &into->computation_ns;
            *sum = st_add_ns(*sum, event->duration_ns);
            start_ns = event->start_ns < start_ns ? event->start_ns : start_ns;
            end_ns = st_trace_end_ns(event) > end_ns ? st_trace_end_ns(event) : end_ns;
        }
        into->elapsed_ns = st_add_ns(into->elapsed_ns, end_ns - start_ns);
        into->runs++;
    }
    if (finder->result->layers != 0 && repeats.layers != finder->result->layers)
        return st_fail(finder->errors, ST_ERR_VALUE, (st_place){.file = trace->file},
                       "this rank repeats %u layers, the previous one %u" ST_HINT
                       "give the number of layers with --layers",
                       repeats.layers, finder->result->layers);
    st_status status = take_rank(finder, trace, repeats.layers);
    if (status == ST_OK) {
        finder->result->layers = repeats.layers;
        finder->result->ranks++;
        /* The optimizer's kernels of a step. */
        int64_t sum_ns = 0;
        size_t steps = trace->kind_counts[ST_TRACE_STEP];
        for (size_t i = 0; i < trace->event_count; i++) {
            const st_trace_event *event = &trace->events[i];
            if (st_trace_is_gpu(event) && event->class_ == ST_TRACE_OPTIMIZER)
                sum_ns = st_add_ns(sum_ns, event->duration_ns);
        }
        if (steps > 0 && sum_ns > 0) {
            finder->result->optimizer_s += 1e-9 * (double)sum_ns / (double)steps;
            finder->result->steps += steps;
            finder->optimizer_ranks++;
        }
    }
    return status;
}

st_status st_trace_layers_find(const st_trace_set *set, uint32_t layers, st_arena *arena,
                               st_trace_layers *result, st_errors *errors)
{
    layer_finder *finder = st_arena_alloc(arena, 1, sizeof *finder);
    st_status status = ST_OK;
    if (finder == NULL)
        return st_out_of_memory(errors);
    *result = (st_trace_layers){.layers = 0};
    if (set->count > 0 && set->ranks[0]->gpu != ST_TRACE_NONE)
        result->gpu = set->ranks[0]->names[set->ranks[0]->gpu];
    finder->arena = arena;
    finder->errors = errors;
    finder->result = result;
    for (size_t i = 0; i < set->count && status == ST_OK; i++)
        status = find_rank(finder, set->ranks[i], layers);
    for (size_t i = 0; i < ST_LAYER_PASSES && status == ST_OK; i++) {
        st_layer_runs *runs = &result->passes[i];
        runs->tasks /= (double)result->ranks;
        runs->computation_s /= (double)result->ranks;
        runs->communication_s /= (double)result->ranks;
        runs->elapsed_s /= (double)result->ranks;
    }
    result->optimizer_s = finder->optimizer_ranks > 0
                              ? result->optimizer_s / (double)finder->optimizer_ranks
                              : (double)NAN;
    return status;
}
