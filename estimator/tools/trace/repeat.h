/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What repeats in the work of a rank: the same kernels in the same order, once per layer.
 */
#ifndef STEPTIME_TRACE_REPEAT_H
#define STEPTIME_TRACE_REPEAT_H

#include "trace/link.h"

/* GPU tasks in the order of their launches, from `first`: `layers` times the same `period` tasks.
 */
typedef struct st_repeat {
    uint32_t first;
    uint32_t period;
    uint32_t layers;
    uint32_t slack;      /* it might as well begin so many tasks later */
    int64_t duration_ns; /* of its tasks, in sum */
} st_repeat;

static inline uint32_t st_repeat_end(const st_repeat *run)
{
    return run->first + run->period * run->layers;
}

typedef struct st_repeats {
    const uint32_t *tasks; /* events, by launch */
    size_t task_count;
    st_repeat *items; /* of the same number of layers, in order, without overlap */
    size_t count;
    uint32_t layers;     /* 0: nothing repeats */
    double covered_frac; /* of the time of kernels that compute, what the repetitions take */
    uint32_t folded;     /* each may be so many layers, by what is in it; 1: it is one */
    bool is_given;       /* their number was asked for */
    bool is_nested;      /* each contains other repetitions, as micro-batches contain layers */
} st_repeats;

/*
 * Whether what repeats may be taken for layers. Those of a model that trains take most of a step;
 * what repeats three times in a tenth of it may be anything, such as equal blocks of a small model.
 */
bool st_repeats_are_layers(const st_repeats *repeats);
/* Why they may be none; a text of `errors`. */
const char *st_repeats_doubt(const st_repeats *repeats, st_errors *errors);

/* The same number for runs of the same kernels, wherever in a layer they begin. */
uint64_t st_repeat_mark(const st_trace *trace, const st_repeats *repeats, const st_repeat *run);

/*
 * Finds runs of `layers` repetitions, or, where that is 0, of the number that covers most time.
 * Runs end at the marks of steps. With `optimizers` what these repeat counts however short it is,
 * as for another number of layers; for passes it does not.
 */
typedef struct st_repeats_ask {
    uint32_t layers;
    bool optimizers;
} st_repeats_ask;

void st_repeats_find(const st_trace *trace, st_repeats_ask asked, st_arena *arena,
                     st_repeats *repeats);

/* The share of the kernels' time that the repetitions take, anew. */
void st_repeats_cover(const st_trace *trace, st_repeats *repeats);

#endif
