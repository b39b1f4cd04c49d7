/* SPDX-License-Identifier: Apache-2.0 */
/* Enumerating plans; see plans.h. */
#include "search/plans.h"

#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
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

static const char *const base_keys[ST_PLAN_BASES] = {
    [ST_PLAN_LAYERS] = "model.layers",
    [ST_PLAN_FIRST] = "parallel.first_stage_layers",
    [ST_PLAN_LAST] = "parallel.last_stage_layers",
    [ST_PLAN_BATCH] = "batch.global",
    [ST_PLAN_EXPERTS] = "model.experts",
    [ST_PLAN_EXPERT_TP] = "parallel.expert_tp",
};

const char *st_plan_base_key(st_plan_base base)
{
    return base_keys[base];
}

/* A list of values that grows in the arena. */
typedef struct list {
    double *values;
    size_t count;
    size_t capacity;
    bool failed;
} list;

typedef struct maker {
    const st_plan_request *request;
    st_arena *arena;
    st_errors *errors;
    st_plans *plans;
    size_t capacity;
    list candidates[ST_SHAPE_LISTS]; /* of free knobs, before a shape has its say */
    double most_layers;              /* 0: unknown */
    double gpus;
    double sizes[ST_KNOB_VIRTUAL];
} maker;

static st_status out_of_memory(const maker *self)
{
    (void)st_out_of_memory(self->errors);
    return ST_ERR_MEMORY;
}

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
    size_t first = into->count;
    for (size_t part = 1; part <= root; part++) {
        if (divides((double)part, number)) {
            add(self, into, (double)part);
        }
    }
    for (size_t i = into->count; i-- > first;) {
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

/*
 * Layers of a stage, or of a middle one where those of the ends are given: interleaving cuts it
 * into chunks of as many layers (Narayanan et al. 2021, sec. 2.2); 0: stages are not alike.
 */
static double layers_of_stage(double stages, double layers, double first, double last)
{
    double ends = (first > 0 ? 1 : 0) + (last > 0 ? 1 : 0);
    if (ends == 0) {
        return divides(stages, layers) ? layers / stages : 0;
    }
    if (stages <= ends) {
        return fmax(first, last);
    }
    return fmax(ceil((layers - first - last) / (stages - ends)), 0);
}

typedef struct stage_visitor {
    bool (*visit)(void *context, double layers);
    void *context;
} stage_visitor;

/* Every number of layers that a stage of the shape may have, until a visit is enough. */
static bool visit_stages(const maker *self, const stage_visitor *visitor)
{
    const st_plan_numbers *bases = self->request->bases;
    const st_plan_numbers *layers = &bases[ST_PLAN_LAYERS];
    const st_plan_numbers *first = &bases[ST_PLAN_FIRST];
    const st_plan_numbers *last = &bases[ST_PLAN_LAST];
    for (size_t i = 0; i < layers->count; i++) {
        for (size_t j = 0; j < first->count; j++) {
            for (size_t k = 0; k < last->count; k++) {
                double stage = layers_of_stage(self->sizes[ST_KNOB_PP], layers->values[i],
                                               first->values[j], last->values[k]);
                if (stage >= 1 && visitor->visit(visitor->context, stage)) {
                    return true;
                }
            }
        }
    }
    return false;
}

static bool has_chunks(void *context, double layers)
{
    const double *chunks = context;
    return divides(*chunks, layers);
}

static bool allows_chunks(const maker *self, double chunks)
{
    if (chunks == 1 || self->sizes[ST_KNOB_PP] <= 1) {
        return chunks == 1;
    }
    return self->most_layers == 0 ||
           visit_stages(self, &(stage_visitor){.visit = has_chunks, .context = &chunks});
}

/* Expert ranks are taken from all ranks of a stage (Lepikhin et al. 2020, sec. 3). */
static bool allows_experts(const maker *self, double ranks)
{
    const st_plan_numbers *experts = &self->request->bases[ST_PLAN_EXPERTS];
    const st_plan_numbers *inner = &self->request->bases[ST_PLAN_EXPERT_TP];
    double stage = self->sizes[ST_KNOB_TP] * self->sizes[ST_KNOB_CP] * self->sizes[ST_KNOB_DP];
    bool among = experts->count == 0;
    bool fits = inner->count == 0;
    for (size_t i = 0; i < experts->count && !among; i++) {
        among = divides(ranks, experts->values[i]);
    }
    for (size_t i = 0; i < inner->count && !fits; i++) {
        double size = inner->values[i] > 0 ? inner->values[i] : self->sizes[ST_KNOB_TP];
        fits = divides(ranks * size, stage);
    }
    return ranks == 1 || (among && fits);
}

static bool allows_batch(const maker *self, double sequences)
{
    const st_plan_numbers *batch = &self->request->bases[ST_PLAN_BATCH];
    bool allowed = batch->count == 0;
    for (size_t i = 0; i < batch->count && !allowed; i++) {
        allowed =
            batch->values[i] == 0 || divides(sequences * self->sizes[ST_KNOB_DP], batch->values[i]);
    }
    return allowed;
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

static int compare_numbers(const void *a, const void *b)
{
    double first = *(const double *)a;
    double second = *(const double *)b;
    return first < second ? -1 : first > second ? 1 : 0;
}

/* Rising, none twice. */
static void order(list *values)
{
    size_t kept = 0;
    if (values->count > 1) {
        qsort(values->values, values->count, sizeof *values->values, compare_numbers);
    }
    for (size_t i = 0; i < values->count; i++) {
        if (kept == 0 || values->values[i] != values->values[kept - 1]) {
            values->values[kept++] = values->values[i];
        }
    }
    values->count = kept;
}

static void add_all_divisors(const maker *self, const st_plan_numbers *numbers, list *into)
{
    add(self, into, 1);
    for (size_t i = 0; i < numbers->count; i++) {
        if (numbers->values[i] > 1) {
            add_divisors(self, numbers->values[i], into);
        }
    }
    order(into);
}

/* What a free knob could be at all. Chunks hang on the stages and are found in each shape. */
static bool make_candidates(maker *self)
{
    const st_plan_numbers *bases = self->request->bases;
    bool good = true;
    add_all_divisors(self, &bases[ST_PLAN_EXPERTS],
                     &self->candidates[ST_KNOB_EP - ST_KNOB_VIRTUAL]);
    add_all_divisors(self, &bases[ST_PLAN_BATCH],
                     &self->candidates[ST_KNOB_MICRO - ST_KNOB_VIRTUAL]);
    add(self, &self->candidates[ST_KNOB_RECOMPUTE - ST_KNOB_VIRTUAL], 1);
    for (int value = 0; value <= 3; value++) {
        add(self, &self->candidates[ST_KNOB_ZERO - ST_KNOB_VIRTUAL], value);
        if (value <= 1) {
            add(self, &self->candidates[ST_KNOB_SEQUENCE - ST_KNOB_VIRTUAL], value);
        }
    }
    for (size_t i = 0; i < ST_SHAPE_LISTS; i++) {
        good = good && !self->candidates[i].failed;
    }
    return good;
}

typedef struct chunk_finder {
    const maker *maker;
    list found;
} chunk_finder;

static bool add_chunks(void *context, double layers)
{
    chunk_finder *finder = context;
    add_divisors(finder->maker, layers, &finder->found);
    return false;
}

/* Chunks per stage that some number of layers allows. */
static list chunks_of(const maker *self)
{
    chunk_finder finder = {.maker = self};
    add(self, &finder.found, 1);
    if (self->sizes[ST_KNOB_PP] > 1) {
        (void)visit_stages(self, &(stage_visitor){.visit = add_chunks, .context = &finder});
    }
    order(&finder.found);
    return finder.found;
}

static list values_of(const maker *self, st_knob knob)
{
    const st_knob_choice *choice = &self->request->choices[knob];
    bool open = choice->free && choice->count == 0;
    if (open && knob == ST_KNOB_VIRTUAL) {
        return chunks_of(self);
    }
    const list *candidates = &self->candidates[knob - ST_KNOB_VIRTUAL];
    const double *from = open ? candidates->values : choice->values;
    size_t count = open ? candidates->count : choice->count;
    list values = {0};
    for (size_t i = 0; i < count; i++) {
        if (allows(self, knob, from[i])) {
            add(self, &values, from[i]);
        }
    }
    return values;
}

/* How far a factorization comes before it fails: sizes are chosen in this order. */
static int stage_of(st_knob knob)
{
    static const int stages[ST_KNOB_VIRTUAL] = {
        [ST_KNOB_TP] = 1, [ST_KNOB_PP] = 2, [ST_KNOB_CP] = 3, [ST_KNOB_DP] = 4};
    return knob < ST_KNOB_VIRTUAL ? stages[knob] : (int)knob;
}

static void note_miss(maker *self, st_knob knob, double left)
{
    st_plan_miss *miss = &self->plans->miss;
    if (miss->given && stage_of(miss->knob) >= stage_of(knob)) {
        return;
    }
    *miss = (st_plan_miss){.given = true, .knob = knob, .gpus = self->gpus, .left = left};
    memcpy(miss->sizes, self->sizes, sizeof miss->sizes);
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
        if (rows == 0) {
            note_miss(self, (st_knob)(ST_KNOB_VIRTUAL + i), 1);
            break;
        }
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
    if (!wanted) {
        note_miss(self, ST_KNOB_DP, left);
        return ST_OK;
    }
    return add_shape(self);
}

static st_status split(maker *self, size_t depth, double left)
{
    static const st_knob groups[] = {ST_KNOB_TP, ST_KNOB_PP, ST_KNOB_CP};
    if (depth == sizeof groups / sizeof groups[0]) {
        return close_shape(self, left);
    }
    list sizes = sizes_of(self, groups[depth], left);
    st_status status = sizes.failed ? out_of_memory(self) : ST_OK;
    if (sizes.count == 0) {
        note_miss(self, groups[depth], left);
    }
    for (size_t i = 0; i < sizes.count && status == ST_OK; i++) {
        self->sizes[groups[depth]] = sizes.values[i];
        bool stages = groups[depth] == ST_KNOB_PP && self->most_layers > 0;
        if (!stages || sizes.values[i] <= self->most_layers) {
            status = split(self, depth + 1, left / sizes.values[i]);
        } else {
            note_miss(self, ST_KNOB_PP, left);
        }
    }
    return status;
}

st_status st_plans_make(const st_plan_request *request, st_arena *arena, st_plans *plans,
                        st_errors *errors)
{
    maker self = {.request = request, .arena = arena, .errors = errors, .plans = plans};
    const st_plan_numbers *layers = &request->bases[ST_PLAN_LAYERS];
    *plans = (st_plans){0};
    if (layers->count > 0 && layers->values[0] > 0) {
        self.most_layers = layers->values[layers->count - 1];
    }
    st_status status = make_candidates(&self) ? ST_OK : out_of_memory(&self);
    for (size_t i = 0; i < request->gpus_count && status == ST_OK; i++) {
        double gpus = request->gpus[i];
        double node = request->gpus_per_node;
        self.gpus = gpus;
        self.sizes[ST_KNOB_NODES] = request->nodes_differ ? gpus : node > 0 ? ceil(gpus / node) : 1;
        status = split(&self, 0, gpus);
    }
    return status;
}

bool st_plan_divides(const double bases[ST_PLAN_BASES], const double values[ST_KNOBS])
{
    st_plan_request request = {0};
    maker self = {.request = &request, .most_layers = bases[ST_PLAN_LAYERS]};
    for (size_t i = 0; i < ST_PLAN_BASES; i++) {
        request.bases[i] = (st_plan_numbers){.values = &bases[i], .count = 1};
    }
    memcpy(self.sizes, values, sizeof self.sizes);
    if (self.most_layers > 0 && self.sizes[ST_KNOB_PP] > self.most_layers) {
        return false;
    }
    for (st_knob knob = ST_KNOB_VIRTUAL; knob < ST_KNOBS; knob++) {
        if (!allows(&self, knob, values[knob])) {
            return false;
        }
    }
    return true;
}

/* --- what came near -------------------------------------------------------------------------- */

static double greatest(const st_plan_numbers *numbers)
{
    return numbers->count > 0 ? numbers->values[numbers->count - 1] : 0;
}

const char *st_plan_miss_text(const st_plan_request *request, const st_plan_miss *miss,
                              st_arena *arena)
{
    const st_plan_numbers *bases = request->bases;
    const double *sizes = miss->sizes;
    switch (miss->knob) {
    case ST_KNOB_DP:
        return st_arena_printf(arena,
                               "%.10g data-parallel ranks are left of %.10g GPUs (tp %.10g, cp "
                               "%.10g, pp %.10g), and parallel.dp is to be another",
                               miss->left, miss->gpus, sizes[ST_KNOB_TP], sizes[ST_KNOB_CP],
                               sizes[ST_KNOB_PP]);
    case ST_KNOB_MICRO:
        return st_arena_printf(arena,
                               "no value of batch.micro times %.10g data-parallel ranks divides "
                               "the %.10g sequences of a step",
                               sizes[ST_KNOB_DP], greatest(&bases[ST_PLAN_BATCH]));
    case ST_KNOB_VIRTUAL:
        return st_arena_printf(arena,
                               "no value of parallel.virtual_stages divides the layers of a stage "
                               "(%.10g layers, %.10g stages)",
                               greatest(&bases[ST_PLAN_LAYERS]), sizes[ST_KNOB_PP]);
    case ST_KNOB_EP:
        return st_arena_printf(arena,
                               "no value of parallel.ep divides the %.10g experts and the %.10g "
                               "ranks of a stage",
                               greatest(&bases[ST_PLAN_EXPERTS]),
                               sizes[ST_KNOB_TP] * sizes[ST_KNOB_CP] * sizes[ST_KNOB_DP]);
    case ST_KNOB_SEQUENCE:
    case ST_KNOB_ZERO:
        return st_arena_printf(arena, "%s has nothing to split with tp %.10g, cp %.10g, dp %.10g",
                               st_knob_key(miss->knob), sizes[ST_KNOB_TP], sizes[ST_KNOB_CP],
                               sizes[ST_KNOB_DP]);
    case ST_KNOB_NODES:
    case ST_KNOB_TP:
    case ST_KNOB_CP:
    case ST_KNOB_PP:
    case ST_KNOB_RECOMPUTE:
    case ST_KNOBS:
        break;
    }
    const char *key = miss->knob < ST_KNOBS ? st_knob_key(miss->knob) : "any key";
    return st_arena_printf(arena, "no value of %s divides %.10g ranks of %.10g GPUs%s", key,
                           miss->left, miss->gpus,
                           miss->knob == ST_KNOB_PP ? " and leaves every stage a layer" : "");
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
