/* SPDX-License-Identifier: Apache-2.0 */
/* Enumerating plans; see plans.h. */
#include "search/plans.h"

#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const keys[ST_KNOBS] = {
    [ST_KNOB_NODES] = "cluster.nodes", [ST_KNOB_TP] = "parallel.tp",
    [ST_KNOB_CP] = "parallel.cp",      [ST_KNOB_PP] = "parallel.pp",
    [ST_KNOB_DP] = "parallel.dp",      [ST_KNOB_VIRTUAL] = "parallel.virtual_stages",
    [ST_KNOB_EP] = "parallel.ep",      [ST_KNOB_MICRO] = "batch.micro",
    [ST_KNOB_RECOMPUTE] = "recompute", [ST_KNOB_SEQUENCE] = "parallel.sequence_parallel",
    [ST_KNOB_ZERO] = "parallel.zero",
};

const char *st_knob_key(st_knob knob)
{
    return keys[knob];
}

st_knob st_knob_find(const char *key)
{
    st_knob knob = ST_KNOB_NODES;
    while (knob < ST_KNOBS && strcmp(keys[knob], key) != 0) {
        knob++;
    }
    return knob;
}

typedef struct maker {
    const st_plan_request *request;
    st_arena *arena;
    st_errors *errors;
    st_plans *plans;
    size_t capacity;
    double gpus;
    double sizes[ST_KNOB_VIRTUAL];
} maker;

static st_status out_of_memory(const maker *self)
{
    (void)st_out_of_memory(self->errors);
    return ST_ERR_MEMORY;
}

/* A list of values that grows in the arena. */
typedef struct list {
    double *values;
    size_t count;
    size_t capacity;
    bool failed;
} list;

static void add(const maker *self, list *into, double value)
{
    double *values =
        st_arena_grow(self->arena, into->values, sizeof *values, into->count + 1, &into->capacity);
    if (values == NULL) {
        into->failed = true;
        return;
    }
    values[into->count++] = value;
    into->values = values;
}

static bool divides(double part, double whole)
{
    return part >= 1 && fmod(whole, part) == 0;
}

static void add_divisors(const maker *self, double number, list *into)
{
    size_t root = (size_t)sqrt(number);
    for (size_t part = 1; part <= root; part++) {
        if (divides((double)part, number)) {
            add(self, into, (double)part);
        }
    }
    for (size_t i = into->count; i-- > 0;) {
        double other = number / into->values[i];
        if (other > (double)root) {
            add(self, into, other);
        }
    }
}

/* All that divides `whole` where the knob is free, else those of its values that do. */
static list sizes_of(const maker *self, st_knob knob, double whole)
{
    const st_knob_choice *choice = &self->request->choices[knob];
    list sizes = {0};
    if (choice->free) {
        add_divisors(self, whole, &sizes);
        return sizes;
    }
    for (size_t i = 0; i < choice->count; i++) {
        if (divides(choice->values[i], whole)) {
            add(self, &sizes, choice->values[i]);
        }
    }
    return sizes;
}

/* --- what varies within a shape -------------------------------------------------------------- */

/* Interleaving wants the same number of layers in every chunk (Narayanan et al. 2021, sec. 2.2). */
static bool allows_chunks(const maker *self, double chunks)
{
    double stages = self->sizes[ST_KNOB_PP];
    double layers = self->request->layers;
    if (chunks == 1) {
        return true;
    }
    return stages > 1 && (layers == 0 || divides(stages * chunks, layers));
}

/* Expert ranks are taken from all ranks of a stage (Lepikhin et al. 2020, sec. 3). */
static bool allows_experts(const maker *self, double ranks)
{
    const st_plan_request *request = self->request;
    double stage = self->sizes[ST_KNOB_TP] * self->sizes[ST_KNOB_CP] * self->sizes[ST_KNOB_DP];
    double inner = request->expert_tp > 0 ? request->expert_tp : self->sizes[ST_KNOB_TP];
    return ranks == 1 || (divides(ranks, request->experts) && divides(ranks * inner, stage));
}

static bool allows_batch(const maker *self, double sequences)
{
    double batch = self->request->batch;
    return batch == 0 || divides(sequences * self->sizes[ST_KNOB_DP], batch);
}

static bool allows(const maker *self, st_knob knob, double value)
{
    switch (knob) {
    case ST_KNOB_VIRTUAL:
        return allows_chunks(self, value);
    case ST_KNOB_EP:
        return allows_experts(self, value);
    case ST_KNOB_MICRO:
        return allows_batch(self, value);
    case ST_KNOB_SEQUENCE: /* of one tensor rank there is nothing to divide */
        return value == 0 || self->sizes[ST_KNOB_TP] > 1;
    case ST_KNOB_ZERO:
        return value == 0 || self->sizes[ST_KNOB_DP] * self->sizes[ST_KNOB_CP] > 1;
    case ST_KNOB_NODES:
    case ST_KNOB_TP:
    case ST_KNOB_CP:
    case ST_KNOB_PP:
    case ST_KNOB_DP:
    case ST_KNOB_RECOMPUTE:
    case ST_KNOBS:
        break;
    }
    return true;
}

/* What a free knob could be at all, before the shape has its say. */
static void add_candidates(const maker *self, st_knob knob, list *into)
{
    const st_plan_request *request = self->request;
    if (knob == ST_KNOB_VIRTUAL && request->layers > 0) {
        add_divisors(self, request->layers, into);
    } else if (knob == ST_KNOB_EP && request->experts > 0) {
        add_divisors(self, request->experts, into);
    } else if (knob == ST_KNOB_MICRO && request->batch > 0) {
        add_divisors(self, request->batch, into);
    } else if (knob == ST_KNOB_SEQUENCE || knob == ST_KNOB_ZERO) {
        for (int value = 0; value <= (knob == ST_KNOB_ZERO ? 3 : 1); value++) {
            add(self, into, value);
        }
    } else {
        add(self, into, 1);
    }
}

static list values_of(const maker *self, st_knob knob)
{
    const st_knob_choice *choice = &self->request->choices[knob];
    list candidates = {0};
    list values = {0};
    if (choice->free && choice->count == 0) {
        add_candidates(self, knob, &candidates);
    } else {
        candidates = (list){.values = NULL, .count = choice->count};
    }
    const double *from = candidates.values != NULL ? candidates.values : choice->values;
    for (size_t i = 0; i < candidates.count; i++) {
        if (allows(self, knob, from[i])) {
            add(self, &values, from[i]);
        }
    }
    values.failed = values.failed || candidates.failed;
    return values;
}

static st_status add_shape(maker *self)
{
    st_plans *plans = self->plans;
    st_shape shape = {.first = plans->count};
    uint64_t rows = 1;
    memcpy(shape.sizes, self->sizes, sizeof shape.sizes);
    for (size_t i = 0; i < ST_SHAPE_LISTS; i++) {
        list values = values_of(self, (st_knob)(ST_KNOB_VIRTUAL + i));
        if (values.failed) {
            return out_of_memory(self);
        }
        shape.lists[i] = values.values;
        shape.counts[i] = values.count;
        rows *= values.count;
    }
    if (rows == 0) {
        return ST_OK;
    }
    if (plans->shape_count == ST_SHAPES_MAX || rows > (UINT64_C(1) << 40)) {
        return st_errors_add(self->errors,
                             &(st_error){.status = ST_ERR_LIMIT,
                                         .message = "there are too many plans to number them",
                                         .expected = "fewer GPU counts or fewer values"});
    }
    st_shape *shapes = st_arena_grow(self->arena, plans->shapes, sizeof *shapes,
                                     plans->shape_count + 1, &self->capacity);
    if (shapes == NULL) {
        return out_of_memory(self);
    }
    shapes[plans->shape_count++] = shape;
    plans->shapes = shapes;
    plans->count += rows;
    return ST_OK;
}

/* --- factorizations -------------------------------------------------------------------------- */

/* Data ranks are what is left, and must be among those that are wanted. */
static st_status close_shape(maker *self, double left)
{
    const st_knob_choice *choice = &self->request->choices[ST_KNOB_DP];
    bool wanted = choice->free;
    for (size_t i = 0; i < choice->count && !wanted; i++) {
        wanted = choice->values[i] == left;
    }
    self->sizes[ST_KNOB_DP] = left;
    return wanted ? add_shape(self) : ST_OK;
}

static st_status split(maker *self, size_t depth, double left)
{
    static const st_knob order[] = {ST_KNOB_TP, ST_KNOB_PP, ST_KNOB_CP};
    if (depth == sizeof order / sizeof order[0]) {
        return close_shape(self, left);
    }
    list sizes = sizes_of(self, order[depth], left);
    st_status status = sizes.failed ? out_of_memory(self) : ST_OK;
    for (size_t i = 0; i < sizes.count && status == ST_OK; i++) {
        self->sizes[order[depth]] = sizes.values[i];
        bool stages = order[depth] == ST_KNOB_PP && self->request->layers > 0;
        if (!stages || sizes.values[i] <= self->request->layers) {
            status = split(self, depth + 1, left / sizes.values[i]);
        }
    }
    return status;
}

st_status st_plans_make(const st_plan_request *request, st_arena *arena, st_plans *plans,
                        st_errors *errors)
{
    maker self = {.request = request, .arena = arena, .errors = errors, .plans = plans};
    *plans = (st_plans){0};
    st_status status = ST_OK;
    for (size_t i = 0; i < request->gpus_count && status == ST_OK; i++) {
        double gpus = request->gpus[i];
        double node = request->gpus_per_node;
        self.sizes[ST_KNOB_NODES] = node > 0 ? ceil(gpus / node) : 1;
        status = split(&self, 0, gpus);
    }
    return status;
}

/* --- rows ------------------------------------------------------------------------------------ */

/* The last shape that begins at or before a plan. */
static const st_shape *find_shape(const st_plans *plans, uint64_t plan)
{
    size_t low = 0;
    size_t high = plans->shape_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (plans->shapes[middle].first <= plan) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &plans->shapes[low];
}

/* Where a walk through the plans stands. */
typedef struct walk {
    const st_shape *shape;
    size_t digits[ST_SHAPE_LISTS];
} walk;

static walk start_walk(const st_plans *plans, uint64_t plan)
{
    walk at = {.shape = find_shape(plans, plan)};
    uint64_t rest = plan - at.shape->first;
    for (size_t i = ST_SHAPE_LISTS; i-- > 0;) {
        at.digits[i] = (size_t)(rest % at.shape->counts[i]);
        rest /= at.shape->counts[i];
    }
    return at;
}

/* Shapes without plans are not kept, so the next one always has a first plan. */
static void step(walk *at)
{
    for (size_t i = ST_SHAPE_LISTS; i-- > 0;) {
        if (++at->digits[i] < at->shape->counts[i]) {
            return;
        }
        at->digits[i] = 0;
    }
    at->shape++;
}

static void read_values(const walk *at, double values[ST_KNOBS])
{
    memcpy(values, at->shape->sizes, sizeof at->shape->sizes);
    for (size_t i = 0; i < ST_SHAPE_LISTS; i++) {
        values[ST_KNOB_VIRTUAL + i] = at->shape->lists[i][at->digits[i]];
    }
}

const st_shape *st_plan_shape(const st_plans *plans, uint64_t plan)
{
    return find_shape(plans, plan);
}

void st_plan_at(const st_plans *plans, uint64_t plan, double values[ST_KNOBS])
{
    walk at = start_walk(plans, plan);
    read_values(&at, values);
}

void st_plans_fill(const st_plans *plans, uint64_t repeat, uint64_t first, size_t rows,
                   double *const columns[ST_KNOBS])
{
    double values[ST_KNOBS];
    walk at = start_walk(plans, first / repeat);
    uint64_t left = repeat - first % repeat;
    read_values(&at, values);
    for (size_t row = 0; row < rows; row++) {
        for (size_t knob = 0; knob < ST_KNOBS; knob++) {
            if (columns[knob] != NULL) {
                columns[knob][row] = values[knob];
            }
        }
        if (--left == 0 && row + 1 < rows) {
            left = repeat;
            step(&at);
            read_values(&at, values);
        }
    }
}
