/* SPDX-License-Identifier: Apache-2.0 */
/* Enumerating plans; see plans.h. */
#include "search/plans.h"

#include "base/lists.h"
#include "base/memory.h"
#include "steptime/keys.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const keys[ST_PARAMS] = {
    [ST_PARAM_NODES] = ST_KEY_CLUSTER_NODES,
    [ST_PARAM_TP] = ST_KEY_PARALLEL_TP,
    [ST_PARAM_CP] = ST_KEY_PARALLEL_CP,
    [ST_PARAM_PP] = ST_KEY_PARALLEL_PP,
    [ST_PARAM_DP] = ST_KEY_PARALLEL_DP,
    [ST_PARAM_VIRTUAL] = ST_KEY_PARALLEL_VIRTUAL_STAGES,
    [ST_PARAM_EP] = ST_KEY_PARALLEL_EP,
    [ST_PARAM_MICRO] = ST_KEY_BATCH_MICRO,
    [ST_PARAM_FIRST] = ST_KEY_PARALLEL_FIRST_STAGE_LAYERS,
    [ST_PARAM_LAST] = ST_KEY_PARALLEL_LAST_STAGE_LAYERS,
    [ST_PARAM_RECOMPUTE] = ST_KEY_RECOMPUTE,
    [ST_PARAM_SEQUENCE] = ST_KEY_PARALLEL_SEQUENCE_PARALLEL,
    [ST_PARAM_ZERO] = ST_KEY_PARALLEL_ZERO,
};

const char *st_plan_param_key(st_plan_param param)
{
    return keys[param];
}

st_plan_param st_plan_param_find(const char *key)
{
    st_plan_param param = ST_PARAM_NODES;
    while (param < ST_PARAMS && strcmp(keys[param], key) != 0)
        param++;
    return param;
}

static const char *const base_keys[ST_PLAN_BASES] = {
    [ST_PLAN_LAYERS] = ST_KEY_MODEL_LAYERS,
    [ST_PLAN_BATCH] = ST_KEY_BATCH_GLOBAL,
    [ST_PLAN_EXPERTS] = ST_KEY_MODEL_EXPERTS,
    [ST_PLAN_EXPERT_TP] = ST_KEY_PARALLEL_EXPERT_TP,
};

const char *st_plan_base_key(st_plan_base base)
{
    return base_keys[base];
}

/* A list of values that grows in the arena. */
typedef struct list {
    double *values;
    size_t count;
} list;

typedef struct maker {
    const st_plan_request *request;
    st_arena *arena;
    st_errors *errors;
    st_plans *plans;
    list candidates[ST_SHAPE_LISTS]; /* of free plan parameters, before a shape narrows them */
    double most_layers;              /* 0: unknown */
    double gpus;
    double sizes[ST_PARAM_VIRTUAL];
} maker;

static void add(const maker *self, list *into, double value)
{
    ST_APPEND(self->arena, into->values, into->count, value);
}

static bool divides(double part, double whole)
{
    return part >= 1 && fmod(whole, part) == 0;
}

static void add_divisors(const maker *self, double number, list *into)
{
    size_t root = (size_t)sqrt(number);
    size_t first = into->count;
    for (size_t part = 1; part <= root; part++)
        if (divides((double)part, number))
            add(self, into, (double)part);
    for (size_t i = into->count; i-- > first;) {
        double other = number / into->values[i];
        if (other > (double)root)
            add(self, into, other);
    }
}

/* All that divides `whole` where it is free, else those of its values that do. */
static list sizes_of(const maker *self, st_plan_param param, double whole)
{
    const st_plan_choice *choice = &self->request->choices[param];
    list sizes = {0};
    if (choice->free) {
        add_divisors(self, whole, &sizes);
        return sizes;
    }
    for (size_t i = 0; i < choice->count; i++)
        if (divides(choice->values[i], whole))
            add(self, &sizes, choice->values[i]);
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
    if (ends == 0)
        return divides(stages, layers) ? layers / stages : 0;
    if (stages <= ends)
        return fmax(first, last);
    return fmax(ceil((layers - first - last) / (stages - ends)), 0);
}

typedef struct stage_visitor {
    bool (*visit)(void *context, double layers);
    void *context;
} stage_visitor;

/* Every number of layers that a stage of the shape may have, until a visit is enough. */
static bool visit_stages(const maker *self, const stage_visitor *visitor)
{
    const st_plan_numbers *layers = &self->request->bases[ST_PLAN_LAYERS];
    for (size_t i = 0; i < layers->count; i++) {
        double stage = layers_of_stage(self->sizes[ST_PARAM_PP], layers->values[i],
                                       self->sizes[ST_PARAM_FIRST], self->sizes[ST_PARAM_LAST]);
        if (stage >= 1 && visitor->visit(visitor->context, stage))
            return true;
    }
    return false;
}

static bool has_chunks(void *context, double layers)
{
    const double *chunks = context;
    return divides(*chunks, layers);
}

/* If the layers of a stage are given, every chunk has one, except the one with the embedding and
 * the one with the output, as in Megatron's layouts. */
static bool fills_ends(const double sizes[ST_PARAM_VIRTUAL], double chunks)
{
    double first = sizes[ST_PARAM_FIRST];
    double last = sizes[ST_PARAM_LAST];
    return (first == 0 || chunks <= first + 1) && (last == 0 || chunks <= last + 1);
}

/* Chunks that a balanced layout fills, each with one part at least. */
static bool fills_layout(const maker *self, double chunks)
{
    const st_plan_numbers *layers = &self->request->bases[ST_PLAN_LAYERS];
    double most = layers->count > 0 ? layers->values[layers->count - 1] : 0;
    return self->sizes[ST_PARAM_PP] > 1
               ? most == 0 || self->sizes[ST_PARAM_PP] * chunks <= most + self->request->balanced
               : chunks == 1;
}

/* Expert ranks are taken from all ranks of a stage (Lepikhin et al. 2020, sec. 3). */
static bool allows_experts(const maker *self, double ranks)
{
    const st_plan_numbers *experts = &self->request->bases[ST_PLAN_EXPERTS];
    const st_plan_numbers *inner = &self->request->bases[ST_PLAN_EXPERT_TP];
    double stage = self->sizes[ST_PARAM_TP] * self->sizes[ST_PARAM_CP] * self->sizes[ST_PARAM_DP];
    bool among = experts->count == 0;
    bool fits = inner->count == 0;
    for (size_t i = 0; i < experts->count && !among; i++)
        among = divides(ranks, experts->values[i]);
    for (size_t i = 0; i < inner->count && !fits; i++) {
        double size = inner->values[i] > 0 ? inner->values[i] : self->sizes[ST_PARAM_TP];
        fits = divides(ranks * size, stage);
    }
    return ranks == 1 || (among && fits);
}

static bool allows(const maker *self, st_plan_param param, double value)
{
    switch (param) {
    case ST_PARAM_VIRTUAL: {
        double chunks = value;
        if (self->request->balanced > 0)
            return fills_layout(self, chunks);
        if (!fills_ends(self->sizes, chunks))
            return false;
        if (chunks == 1 || self->sizes[ST_PARAM_PP] <= 1)
            return chunks == 1;
        return self->most_layers == 0 ||
               visit_stages(self, &(stage_visitor){.visit = has_chunks, .context = &chunks});
    }
    case ST_PARAM_EP:
        return allows_experts(self, value);
    case ST_PARAM_MICRO: {
        const st_plan_numbers *batch = &self->request->bases[ST_PLAN_BATCH];
        bool allowed = batch->count == 0;
        for (size_t i = 0; i < batch->count && !allowed; i++)
            allowed = batch->values[i] == 0 ||
                      divides(value * self->sizes[ST_PARAM_DP], batch->values[i]);
        return allowed;
    }
    case ST_PARAM_SEQUENCE: /* one tensor rank has nothing to divide, even if it is fixed on */
        return value == 0 || self->sizes[ST_PARAM_TP] > 1 ||
               self->request->choices[ST_PARAM_SEQUENCE].held;
    case ST_PARAM_ZERO: {
        /* Where nothing is to be split, the stage of ZeRO is 0, whatever the software runs, or
         * what is given. */
        const st_plan_request *request = self->request;
        bool several = self->sizes[ST_PARAM_DP] * self->sizes[ST_PARAM_CP] > 1;
        bool staged = self->sizes[ST_PARAM_PP] > 1 && request->zero_with_stages != 0;
        unsigned runs = staged ? request->zero_with_stages : request->zero;
        if (!several || runs == 0 || !request->choices[ST_PARAM_ZERO].free)
            return value == 0 || several || request->choices[ST_PARAM_ZERO].held;
        return (runs >> (unsigned)value & 1U) != 0;
    }
    default: /* sizes that the enumeration of shapes has chosen, and what suits every plan */
        return true;
    }
}

/* Rising, none twice. */
static void order(list *values)
{
    size_t kept = 0;
    st_sort(values->values, values->count, sizeof *values->values, st_order_numbers);
    for (size_t i = 0; i < values->count; i++)
        if (kept == 0 || values->values[i] != values->values[kept - 1])
            values->values[kept++] = values->values[i];
    values->count = kept;
}

static void add_all_divisors(const maker *self, const st_plan_numbers *numbers, list *into)
{
    add(self, into, 1);
    for (size_t i = 0; i < numbers->count; i++)
        if (numbers->values[i] > 1)
            add_divisors(self, numbers->values[i], into);
    order(into);
}

/* What a free plan parameter could be at all. Chunks depend on the stages and are found in each
 * shape. */
static bool make_candidates(maker *self)
{
    const st_plan_numbers *bases = self->request->bases;
    add_all_divisors(self, &bases[ST_PLAN_EXPERTS],
                     &self->candidates[ST_PARAM_EP - ST_PARAM_VIRTUAL]);
    add_all_divisors(self, &bases[ST_PLAN_BATCH],
                     &self->candidates[ST_PARAM_MICRO - ST_PARAM_VIRTUAL]);
    add(self, &self->candidates[ST_PARAM_RECOMPUTE - ST_PARAM_VIRTUAL], 1);
    for (int value = 0; value <= 3; value++) {
        add(self, &self->candidates[ST_PARAM_ZERO - ST_PARAM_VIRTUAL], value);
        if (value <= 1)
            add(self, &self->candidates[ST_PARAM_SEQUENCE - ST_PARAM_VIRTUAL], value);
    }
    return !st_arena_failed(self->arena);
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

static list values_of(const maker *self, st_plan_param param)
{
    const st_plan_choice *choice = &self->request->choices[param];
    bool open = choice->free && choice->count == 0;
    if (open && param == ST_PARAM_VIRTUAL) {
        /* Chunks per stage that some number of layers allows. */
        chunk_finder finder = {.maker = self};
        if (self->request->balanced > 0) {
            /* Chunks of a balanced layout: as few as leave each at most 1, 2, ... layers. */
            const st_plan_numbers *layers = &self->request->bases[ST_PLAN_LAYERS];
            double stages = self->sizes[ST_PARAM_PP];
            list found = {0};
            add(self, &found, 1);
            for (size_t i = 0; stages > 1 && i < layers->count; i++)
                for (size_t each = 1; (double)each * stages < layers->values[i]; each++)
                    add(self, &found, ceil(layers->values[i] / (stages * (double)each)));
            order(&found);
            return found;
        }
        add(self, &finder.found, 1);
        if (self->sizes[ST_PARAM_PP] > 1)
            (void)visit_stages(self, &(stage_visitor){.visit = add_chunks, .context = &finder});
        order(&finder.found);
        while (finder.found.count > 1 &&
               !fills_ends(self->sizes, finder.found.values[finder.found.count - 1]))
            finder.found.count--;
        return finder.found;
    }
    const list *candidates = &self->candidates[param - ST_PARAM_VIRTUAL];
    const double *from = open ? candidates->values : choice->values;
    size_t count = open ? candidates->count : choice->count;
    list values = {0};
    for (size_t i = 0; i < count; i++)
        if (allows(self, param, from[i]))
            add(self, &values, from[i]);
    return values;
}

/* How far a factorization comes before it fails: sizes are chosen in this order. */
static int stage_of(st_plan_param param)
{
    static const int stages[ST_PARAM_VIRTUAL] = {
        [ST_PARAM_TP] = 1, [ST_PARAM_PP] = 2, [ST_PARAM_CP] = 3, [ST_PARAM_DP] = 4};
    return param < ST_PARAM_VIRTUAL ? stages[param] : (int)param;
}

static void note_miss(maker *self, st_plan_param param, double left)
{
    st_plan_miss *miss = &self->plans->miss;
    if (miss->given && stage_of(miss->param) >= stage_of(param))
        return;
    *miss = (st_plan_miss){.given = true, .param = param, .gpus = self->gpus, .left = left};
    memcpy(miss->sizes, self->sizes, sizeof miss->sizes);
}

static st_status add_shape(maker *self)
{
    st_plans *plans = self->plans;
    st_shape shape = {.first = plans->count};
    uint64_t rows = 1;
    memcpy(shape.sizes, self->sizes, sizeof shape.sizes);
    for (size_t i = 0; i < ST_SHAPE_LISTS; i++) {
        list values = values_of(self, (st_plan_param)(ST_PARAM_VIRTUAL + i));
        if (st_arena_failed(self->arena))
            return st_out_of_memory(self->errors);
        shape.lists[i] = values.values;
        shape.counts[i] = values.count;
        rows *= values.count;
        if (rows == 0) {
            note_miss(self, (st_plan_param)(ST_PARAM_VIRTUAL + i), 1);
            break;
        }
    }
    if (rows == 0)
        return ST_OK;
    if (plans->shape_count == ST_SHAPES_MAX || rows > (UINT64_C(1) << 40))
        return st_fail(self->errors, ST_ERR_LIMIT, (st_place){0},
                       "too many plans to number" ST_EXPECTED "fewer GPU counts or fewer values");
    if (!ST_APPEND(self->arena, plans->shapes, plans->shape_count, shape))
        return st_out_of_memory(self->errors);
    plans->count += rows;
    return ST_OK;
}

/* --- first and last stage -------------------------------------------------------------------- */

/*
 * Where stages do not divide the layers: middle stages have as many as fewest stages would fill,
 * and the first and the last go without what is missing, in every way that leaves each a layer.
 * Most layers of a stage are so as few as can be.
 */
typedef struct ends {
    double fullest; /* layers of a middle stage */
    double missing; /* in the first and the last stage together */
} ends;

static ends ends_of(double stages, double layers)
{
    double fullest = ceil(layers / stages);
    return (ends){.fullest = fullest, .missing = fullest * stages - layers};
}

static bool are_ends(const ends *own, double first, double last)
{
    return first >= 1 && last >= 1 && first <= own->fullest && last <= own->fullest &&
           first + last == 2 * own->fullest - own->missing;
}

static bool has_ends(const ends *own)
{
    return own->missing >= 1 && own->missing <= 2 * (own->fullest - 1);
}

/* Whether an earlier number of layers has brought these ends already. */
static bool were_ends(const maker *self, size_t before)
{
    const st_plan_numbers *layers = &self->request->bases[ST_PLAN_LAYERS];
    for (size_t i = 0; i < before; i++) {
        ends other = ends_of(self->sizes[ST_PARAM_PP], layers->values[i]);
        if (has_ends(&other) &&
            are_ends(&other, self->sizes[ST_PARAM_FIRST], self->sizes[ST_PARAM_LAST]))
            return true;
    }
    return false;
}

/* The ends that one number of layers has; `given` notes whether there are some. */
static st_status add_ends(maker *self, size_t layers, bool *given)
{
    ends own =
        ends_of(self->sizes[ST_PARAM_PP], self->request->bases[ST_PLAN_LAYERS].values[layers]);
    st_status status = ST_OK;
    *given = self->sizes[ST_PARAM_PP] > 1 && has_ends(&own);
    const size_t most = (size_t)own.fullest;
    for (size_t layers_first = 1; *given && layers_first <= most && status == ST_OK;
         layers_first++) {
        const double first = (double)layers_first;
        self->sizes[ST_PARAM_FIRST] = first;
        self->sizes[ST_PARAM_LAST] = 2 * own.fullest - own.missing - first;
        if (are_ends(&own, first, self->sizes[ST_PARAM_LAST]) && !were_ends(self, layers))
            status = add_shape(self);
    }
    return status;
}

/* Stages alike, and where they cannot be so the ends that can; else the values that are wanted. */
static st_status add_shapes(maker *self)
{
    const st_plan_choice *first = &self->request->choices[ST_PARAM_FIRST];
    const st_plan_choice *last = &self->request->choices[ST_PARAM_LAST];
    const st_plan_numbers *layers = &self->request->bases[ST_PLAN_LAYERS];
    bool even = layers->count == 0;
    st_status status = ST_OK;
    for (size_t i = 0; first->free && last->free && i < layers->count && status == ST_OK; i++) {
        bool given = false;
        status = layers->values[i] > 0 ? add_ends(self, i, &given) : ST_OK;
        even = even || !given;
    }
    if (first->free && last->free) {
        if (status != ST_OK || !even)
            return status;
        self->sizes[ST_PARAM_FIRST] = 0;
        self->sizes[ST_PARAM_LAST] = 0;
        return add_shape(self);
    }
    for (size_t i = 0; i < first->count && status == ST_OK; i++) {
        for (size_t k = 0; k < last->count && status == ST_OK; k++) {
            self->sizes[ST_PARAM_FIRST] = first->values[i];
            self->sizes[ST_PARAM_LAST] = last->values[k];
            status = add_shape(self);
        }
    }
    return status;
}

/* --- factorizations -------------------------------------------------------------------------- */

static st_status split(maker *self, size_t depth, double left)
{
    static const st_plan_param groups[] = {ST_PARAM_TP, ST_PARAM_PP, ST_PARAM_CP};
    if (depth == ST_COUNT(groups)) {
        /* Data ranks are what is left, and must be among those that are wanted. */
        const st_plan_choice *choice = &self->request->choices[ST_PARAM_DP];
        bool wanted = choice->free;
        for (size_t i = 0; i < choice->count && !wanted; i++)
            wanted = choice->values[i] == left;
        self->sizes[ST_PARAM_DP] = left;
        if (!wanted) {
            note_miss(self, ST_PARAM_DP, left);
            return ST_OK;
        }
        return add_shapes(self);
    }
    list sizes = sizes_of(self, groups[depth], left);
    st_status status = st_arena_failed(self->arena) ? st_out_of_memory(self->errors) : ST_OK;
    if (sizes.count == 0)
        note_miss(self, groups[depth], left);
    for (size_t i = 0; i < sizes.count && status == ST_OK; i++) {
        self->sizes[groups[depth]] = sizes.values[i];
        bool stages = groups[depth] == ST_PARAM_PP && self->most_layers > 0;
        if (!stages || sizes.values[i] <= self->most_layers)
            status = split(self, depth + 1, left / sizes.values[i]);
        else
            note_miss(self, ST_PARAM_PP, left);
    }
    return status;
}

/* --- the job's own plan ---------------------------------------------------------------------- */

static size_t place_of(const double *values, size_t count, double value)
{
    size_t i = 0;
    while (i < count && values[i] != value)
        i++;
    return i;
}

/* The number of a plan; UINT64_MAX: it is none of them. */
static uint64_t find_plan(const st_plans *plans, const double values[ST_PARAMS])
{
    for (size_t i = 0; i < plans->shape_count; i++) {
        const st_shape *shape = &plans->shapes[i];
        uint64_t number = 0;
        bool same = memcmp(shape->sizes, values, sizeof shape->sizes) == 0;
        for (size_t k = 0; k < ST_SHAPE_LISTS && same; k++) {
            size_t at = place_of(shape->lists[k], shape->counts[k], values[ST_PARAM_VIRTUAL + k]);
            same = at < shape->counts[k];
            number = number * shape->counts[k] + at;
        }
        if (same)
            return shape->first + number;
    }
    return UINT64_MAX;
}

/* What has nothing to split splits nothing. */
static void settle(const st_plan_request *request, double values[ST_PARAMS])
{
    if (request->choices[ST_PARAM_ZERO].free && values[ST_PARAM_DP] * values[ST_PARAM_CP] == 1)
        values[ST_PARAM_ZERO] = 0;
    if (request->choices[ST_PARAM_SEQUENCE].free && values[ST_PARAM_TP] == 1)
        values[ST_PARAM_SEQUENCE] = 0;
}

/* The job's own plan, where it takes as many GPUs as are asked for, nobody lists values, and batch
 * and experts divide: an estimate runs it, whatever its stages have. */
static st_status add_own(maker *self)
{
    const st_plan_request *request = self->request;
    double *own = st_arena_alloc(self->arena, ST_PARAMS, sizeof *own);
    double ranks = 1;
    self->plans->own = UINT64_MAX;
    if (request->own == NULL)
        return ST_OK;
    if (own == NULL)
        return st_out_of_memory(self->errors);
    memcpy(own, request->own, ST_PARAMS * sizeof *own);
    for (size_t i = ST_PARAM_TP; i <= ST_PARAM_DP; i++)
        ranks *= own[i];
    if (place_of(request->gpus, request->gpus_count, ranks) == request->gpus_count)
        return ST_OK;
    for (size_t i = ST_PARAM_TP; i < ST_PARAMS; i++) {
        const st_plan_choice *choice = &request->choices[i];
        bool listed = !choice->free && !choice->held && i != ST_PARAM_RECOMPUTE;
        if (listed ||
            (choice->count > 0 && place_of(choice->values, choice->count, own[i]) == choice->count))
            return ST_OK;
    }
    settle(request, own);
    memcpy(self->sizes, own, sizeof self->sizes);
    if (!allows(self, ST_PARAM_MICRO, own[ST_PARAM_MICRO]) ||
        !allows(self, ST_PARAM_EP, own[ST_PARAM_EP]) ||
        (own[ST_PARAM_VIRTUAL] > 1 && own[ST_PARAM_PP] == 1))
        return ST_OK;
    own[ST_PARAM_NODES] = request->gpus_per_node > 0 ? ceil(ranks / request->gpus_per_node) : 1;
    self->plans->own = find_plan(self->plans, own);
    if (self->plans->own != UINT64_MAX)
        return ST_OK;
    st_shape shape = {.first = self->plans->count};
    memcpy(shape.sizes, own, sizeof shape.sizes);
    for (size_t i = 0; i < ST_SHAPE_LISTS; i++) {
        shape.lists[i] = &own[ST_PARAM_VIRTUAL + i];
        shape.counts[i] = 1;
    }
    if (!ST_APPEND(self->arena, self->plans->shapes, self->plans->shape_count, shape))
        return st_out_of_memory(self->errors);
    self->plans->own = self->plans->count++;
    return ST_OK;
}

st_status st_plans_make(const st_plan_request *request, st_arena *arena, st_plans *plans,
                        st_errors *errors)
{
    maker self = {.request = request, .arena = arena, .errors = errors, .plans = plans};
    const st_plan_numbers *layers = &request->bases[ST_PLAN_LAYERS];
    *plans = (st_plans){0};
    if (layers->count > 0 && layers->values[0] > 0)
        self.most_layers = layers->values[layers->count - 1];
    st_status status = make_candidates(&self) ? ST_OK : st_out_of_memory(self.errors);
    for (size_t i = 0; i < request->gpus_count && status == ST_OK; i++) {
        double gpus = request->gpus[i];
        double node = request->gpus_per_node;
        self.gpus = gpus;
        self.sizes[ST_PARAM_NODES] = request->nodes_differ ? gpus
                                     : node > 0            ? ceil(gpus / node)
                                                           : 1;
        status = split(&self, 0, gpus);
    }
    return status == ST_OK ? add_own(&self) : status;
}

/* Whether first and last stage are as add_shapes() makes them for this number of layers. */
static bool divides_stages(double layers, const double values[ST_PARAMS], bool ends_free)
{
    double stages = values[ST_PARAM_PP];
    if (!ends_free || layers <= 0)
        return true;
    ends own = ends_of(stages, layers);
    bool given = stages > 1 && has_ends(&own);
    return given ? are_ends(&own, values[ST_PARAM_FIRST], values[ST_PARAM_LAST])
                 : values[ST_PARAM_FIRST] == 0 && values[ST_PARAM_LAST] == 0;
}

bool st_plan_divides(const st_plan_request *whole, const double bases[ST_PLAN_BASES],
                     const double values[ST_PARAMS])
{
    st_plan_request request = {.balanced = whole->balanced};
    const bool ends_free =
        whole->choices[ST_PARAM_FIRST].free && whole->choices[ST_PARAM_LAST].free;
    maker self = {.request = &request, .most_layers = bases[ST_PLAN_LAYERS]};
    request.choices[ST_PARAM_SEQUENCE].held = true; /* they depend on none of the bases */
    request.choices[ST_PARAM_ZERO].held = true;
    for (size_t i = 0; i < ST_PLAN_BASES; i++)
        request.bases[i] = (st_plan_numbers){.values = &bases[i], .count = 1};
    memcpy(self.sizes, values, sizeof self.sizes);
    if (self.most_layers > 0 && self.sizes[ST_PARAM_PP] > self.most_layers)
        return false;
    if (!divides_stages(bases[ST_PLAN_LAYERS], values, ends_free))
        return false;
    for (st_plan_param param = ST_PARAM_VIRTUAL; param < ST_PARAMS; param++)
        if (!allows(&self, param, values[param]))
            return false;
    return true;
}

bool st_plan_runs(const st_plan_request *request, const double bases[ST_PLAN_BASES],
                  const double values[ST_PARAMS])
{
    double stages = values[ST_PARAM_PP];
    double batches = bases[ST_PLAN_BATCH] / (values[ST_PARAM_DP] * values[ST_PARAM_MICRO]);
    bool whole = stages <= 1 || values[ST_PARAM_VIRTUAL] <= 1 || fmod(batches, stages) == 0;
    if (request->whole_groups && !whole)
        return false;
    if (!request->near_ends)
        return true;
    /* Layers that one chunk of a middle stage has at least as many of as each end goes without. */
    double first = values[ST_PARAM_FIRST];
    double last = values[ST_PARAM_LAST];
    double middle = layers_of_stage(values[ST_PARAM_PP], bases[ST_PLAN_LAYERS], first, last);
    double chunk = middle / values[ST_PARAM_VIRTUAL];
    if (first == 0 && last == 0)
        return true;
    return values[ST_PARAM_PP] > 2 && middle - first <= chunk && middle - last <= chunk;
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
    switch (miss->param) {
    case ST_PARAM_DP:
        return st_arena_printf(arena,
                               "%.10g GPUs leave %.10g data-parallel ranks (tp %.10g, cp %.10g, pp "
                               "%.10g), but parallel.dp is fixed to another number",
                               miss->left, miss->gpus, sizes[ST_PARAM_TP], sizes[ST_PARAM_CP],
                               sizes[ST_PARAM_PP]);
    case ST_PARAM_MICRO:
        return st_arena_printf(arena,
                               "no value of batch.micro times %.10g data-parallel ranks divides "
                               "the %.10g sequences of a step",
                               sizes[ST_PARAM_DP], greatest(&bases[ST_PLAN_BATCH]));
    case ST_PARAM_VIRTUAL:
        return st_arena_printf(arena,
                               "no value of parallel.virtual_stages divides the layers of a stage "
                               "(%.10g layers, %.10g stages)",
                               greatest(&bases[ST_PLAN_LAYERS]), sizes[ST_PARAM_PP]);
    case ST_PARAM_EP:
        return st_arena_printf(arena,
                               "no value of parallel.ep divides the %.10g experts and the %.10g "
                               "ranks of a stage",
                               greatest(&bases[ST_PLAN_EXPERTS]),
                               sizes[ST_PARAM_TP] * sizes[ST_PARAM_CP] * sizes[ST_PARAM_DP]);
    case ST_PARAM_SEQUENCE:
    case ST_PARAM_ZERO:
        return st_arena_printf(arena, "%s cannot split anything with tp %.10g, cp %.10g, dp %.10g",
                               st_plan_param_key(miss->param), sizes[ST_PARAM_TP],
                               sizes[ST_PARAM_CP], sizes[ST_PARAM_DP]);
    default: /* sizes, which have to divide */
        break;
    }
    const char *key = miss->param < ST_PARAMS ? st_plan_param_key(miss->param) : "any key";
    return st_arena_printf(arena, "no value of %s divides %.10g ranks of %.10g GPUs%s", key,
                           miss->left, miss->gpus,
                           miss->param == ST_PARAM_PP ? " and leaves every stage a layer" : "");
}

/* --- rows ------------------------------------------------------------------------------------ */

/* The last shape that begins at or before a plan. */
const st_shape *st_plan_shape(const st_plans *plans, uint64_t plan)
{
    size_t low = 1;
    ST_BISECT(low, plans->shape_count, plans->shapes[middle].first <= plan);
    return &plans->shapes[low - 1];
}

/* The first plan behind a shape. */
static uint64_t shape_end(const st_plans *plans, const st_shape *shape)
{
    size_t next = (size_t)(shape - plans->shapes) + 1;
    return next < plans->shape_count ? plans->shapes[next].first : plans->count;
}

const double *st_plan_cursor_at(st_plan_cursor *cursor, uint64_t plan)
{
    bool begun = cursor->shape != NULL;
    if (begun && plan == cursor->plan + 1 && plan < cursor->end) {
        /* To the plan behind, of the same shape. */
        const st_shape *shape = cursor->shape;
        bool carries = true;
        for (size_t i = ST_SHAPE_LISTS; i-- > 0 && carries;) {
            carries = ++cursor->digits[i] == shape->counts[i];
            if (carries)
                cursor->digits[i] = 0;
            cursor->values[ST_PARAM_VIRTUAL + i] = shape->lists[i][cursor->digits[i]];
        }
    } else if (!begun || plan != cursor->plan) {
        const st_shape *shape = st_plan_shape(cursor->plans, plan);
        uint64_t rest = plan - shape->first;
        cursor->shape = shape;
        cursor->end = shape_end(cursor->plans, shape);
        memcpy(cursor->values, shape->sizes, sizeof shape->sizes);
        for (size_t i = ST_SHAPE_LISTS; i-- > 0;) {
            cursor->digits[i] = (size_t)(rest % shape->counts[i]);
            cursor->values[ST_PARAM_VIRTUAL + i] = shape->lists[i][cursor->digits[i]];
            rest /= shape->counts[i];
        }
    }
    cursor->plan = plan;
    return cursor->values;
}

void st_plan_at(const st_plans *plans, uint64_t plan, double values[ST_PARAMS])
{
    st_plan_cursor cursor = {.plans = plans};
    memcpy(values, st_plan_cursor_at(&cursor, plan), sizeof cursor.values);
}

size_t st_plans_run(const st_plans *plans, uint64_t repeat, uint64_t first, size_t rows)
{
    const st_shape *shape = st_plan_shape(plans, first / repeat);
    uint64_t left = shape_end(plans, shape) * repeat - first;
    return left < rows ? (size_t)left : rows;
}

st_product st_plans_product(const st_plans *plans, uint64_t plan)
{
    const st_shape *shape = st_plan_shape(plans, plan);
    return (st_product){
        .lists = shape->lists, .counts = shape->counts, .first = plan - shape->first};
}

/* A list whose values cover `stride` rows each, from row `first` of a shape on. */
static void fill_list(const double *values, size_t count, uint64_t stride, uint64_t first,
                      size_t rows, double *column)
{
    size_t digit = (size_t)(first / stride % count);
    uint64_t left = stride - first % stride;
    const size_t around = stride * count < rows ? (size_t)stride * count : rows;
    for (size_t row = 0; row < around;) {
        const size_t end = left < around - row ? row + (size_t)left : around;
        const double value = values[digit];
        while (row < end)
            column[row++] = value;
        digit = digit + 1 == count ? 0 : digit + 1;
        left = stride;
    }
    /* What is there again and again, twice as much each time. */
    for (size_t row = around, more = 0; row < rows; row += more) {
        more = row < rows - row ? row : rows - row;
        memcpy(column + row, column, more * sizeof *column);
    }
}

void st_plans_fill(const st_plans *plans, uint64_t repeat, uint64_t first, size_t rows,
                   double *const columns[ST_PARAMS])
{
    for (size_t row = 0; row < rows;) {
        size_t run = st_plans_run(plans, repeat, first + row, rows - row);
        const st_shape *shape = st_plan_shape(plans, (first + row) / repeat);
        /* Rows of one shape, from its row `first` on, into columns from row `at` on. */
        const uint64_t shape_first = first + row - shape->first * repeat;
        for (size_t param = 0; param < ST_PARAM_VIRTUAL; param++)
            if (columns[param] != NULL)
                fill_list(&shape->sizes[param], 1, run, 0, run, columns[param] + row);
        uint64_t stride = repeat;
        for (size_t i = ST_SHAPE_LISTS; i-- > 0;) {
            double *column = columns[ST_PARAM_VIRTUAL + i];
            if (column != NULL)
                fill_list(shape->lists[i], shape->counts[i], stride, shape_first, run,
                          column + row);
            stride *= shape->counts[i];
        }
        row += run;
    }
}
