/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The task graph of a step: every slot of every stage becomes a chain of tasks on the stage's
 * streams, tied to its neighbours by what they send.
 *
 * Passes compute on one stream and communicate on another, one after the other, as exposed times
 * are; hidden communication runs on a third stream. With every rank the pipeline is repeated, and
 * collectives become instances of the ranks of a group.
 */
#include "base/number.h"
#include "schedule/schedule_internal.h"

#include <math.h>
#include <stdlib.h>

typedef enum st_stream {
    STREAM_COMPUTE,
    STREAM_COMMUNICATION,
    STREAM_DATA,    /* hidden gradients, and weights of units of a layer list */
    STREAM_WEIGHTS, /* hidden weights, which go first */
    STREAM_FORWARD,
    STREAM_BACKWARD, /* transfers that do not block, by direction */
    STREAMS
} st_stream;

typedef enum st_label {
    LABEL_FORWARD,
    LABEL_BACKWARD,
    LABEL_WEIGHTS,
    LABEL_SLOWDOWN,
    LABEL_LAUNCH,
    LABEL_TP,
    LABEL_CP,
    LABEL_EP,
    LABEL_PP,
    LABEL_DP,
    LABEL_TIED,
    LABEL_OPTIMIZER,
    LABEL_OVERHEAD,
    LABELS
} st_label;

static const struct {
    const char *name;
    st_work work;
} labels[LABELS] = {
    {"forward", ST_WORK_COMPUTE},  {"backward", ST_WORK_COMPUTE},   {"weights", ST_WORK_COMPUTE},
    {"slowdown", ST_WORK_COMPUTE}, {"launch", ST_WORK_NONE},        {"tp", ST_WORK_COMMUNICATION},
    {"cp", ST_WORK_COMMUNICATION}, {"ep", ST_WORK_COMMUNICATION},   {"pp", ST_WORK_COMMUNICATION},
    {"dp", ST_WORK_COMMUNICATION}, {"tied", ST_WORK_COMMUNICATION}, {"optimizer", ST_WORK_COMPUTE},
    {"overhead", ST_WORK_NONE},
};

/* Kinds of groups whose members meet. */
typedef enum st_circle {
    CIRCLE_TP,
    CIRCLE_CP,
    CIRCLE_EP,
    CIRCLE_DP,
    CIRCLE_TIED,
    CIRCLES
} st_circle;

/* The instances of one group, in the order in which its first member came to them. */
typedef struct st_instances {
    uint32_t *numbers;
    size_t count;
    size_t capacity;
} st_instances;

typedef struct st_builder {
    const st_schedule_plan *plan;
    const st_schedule_shape *shape;
    const st_schedule_order *order;
    st_graph *graph;
    st_errors *errors;
    st_status status;
    uint16_t category[LABELS];
    uint32_t places;
    uint32_t pipelines;
    uint32_t widest; /* ranks of a stage in one pipeline, the most */
    /* by place, micro-batch, direction and rank, of the pipeline that is being built */
    st_task_id *first;
    st_task_id *sent;
    st_task_id *along;     /* what starts together with a pass, or ST_TASK_NONE */
    size_t *last_backward; /* by chunk, slots of the rank that is being built */
    st_task_id *weights;   /* by chunk, those that the pass behind its first one waits for */
    st_task_id *gathered; /* weights of the pieces ahead, of the rank that is being built; a ring */
    /* groups by circle, stage and number in the stage */
    st_instances *instances[CIRCLES];
    uint32_t most_groups;
} st_builder;

/* The rank that is being built. */
typedef struct st_rank {
    st_builder *builder;
    uint32_t stage;
    uint32_t index; /* among those of its stage in the pipeline */
    uint32_t number;
    uint32_t group[CIRCLES]; /* number of its group in the stage */
    size_t met[CIRCLES];
    uint32_t stream[STREAMS]; /* resources; ST_TASK_NONE until used */
    st_task_id tail;          /* the next task of the chain waits for this one */
    st_stream tail_stream;
    bool together; /* the pass that is being added runs as one with another */
    /* Pieces: those whose weights were asked for, from there on, and those that were computed. */
    size_t ahead_slot;
    size_t ahead_piece;
    uint64_t asked;
    uint64_t computed;
    st_task_id computed_last; /* the last task of a piece, or ST_TASK_NONE */
    st_task_id reduced;       /* the last reduction of a piece, or ST_TASK_NONE */
    st_task_id awaited; /* weights that its first pass ends no earlier than, or ST_TASK_NONE */
} st_rank;

static void note(st_builder *builder, st_status status)
{
    st_note(&builder->status, status);
}

static uint32_t stream_of(st_rank *rank, st_stream stream)
{
    static const char *const names[STREAMS] = {"compute",         "communication", ST_DATA_STREAM,
                                               ST_WEIGHTS_STREAM, "send forward",  "send backward"};
    st_builder *builder = rank->builder;
    if (rank->stream[stream] == ST_TASK_NONE) {
        uint32_t made = 0;
        note(builder, st_graph_resource(builder->graph, rank->number,
                                        stream == STREAM_COMPUTE ? ST_RESOURCE_COMPUTE
                                                                 : ST_RESOURCE_COMMUNICATION,
                                        names[stream], &made, builder->errors));
        rank->stream[stream] = made;
    }
    return rank->stream[stream];
}

static void join(st_builder *builder, st_task_id before, st_task_id task, st_edge_kind kind)
{
    if (before != ST_TASK_NONE && task != ST_TASK_NONE && builder->status == ST_OK)
        note(builder, st_graph_edge(builder->graph, before, task, kind, builder->errors));
}

/* --- ranks --------------------------------------------------------------------------------------
 */

static const st_schedule_groups *groups_of(const st_schedule_plan *plan, uint32_t stage)
{
    return plan->own_groups != NULL ? &plan->own_groups[stage] : &plan->groups;
}

static uint32_t rank_count(const st_schedule_groups *groups)
{
    return groups->tp * groups->cp * groups->dp;
}

uint32_t st_schedule_pipelines(const st_schedule_plan *plan)
{
    double all = 0;
    if (!plan->every_rank)
        return 1;
    if (plan->own_groups == NULL)
        return rank_count(&plan->groups);
    for (uint32_t stage = 0; stage < plan->shape.stages; stage++)
        all = st_common_divisor(all, plan->own_groups[stage].dp);
    return (uint32_t)all;
}

/* Ranks of a stage in one pipeline. */
static uint32_t width_of(const st_schedule_plan *plan, uint32_t pipelines, uint32_t stage)
{
    return plan->every_rank && plan->own_groups != NULL
               ? rank_count(&plan->own_groups[stage]) / pipelines
               : 1;
}

uint32_t st_schedule_stage_of_rank(const st_schedule_plan *plan, size_t index)
{
    uint32_t pipelines = st_schedule_pipelines(plan);
    uint32_t stage = 0;
    size_t all = 0;
    if (!plan->every_rank || plan->own_groups == NULL)
        return (uint32_t)(index % plan->shape.stages);
    for (uint32_t i = 0; i < plan->shape.stages; i++)
        all += width_of(plan, pipelines, i);
    for (size_t left = all > 0 ? index % all : 0; left >= width_of(plan, pipelines, stage); stage++)
        left -= width_of(plan, pipelines, stage);
    return stage;
}

static uint32_t group_size(const st_builder *builder, st_circle circle, uint32_t stage)
{
    const st_schedule_plan *plan = builder->plan;
    const st_schedule_groups *groups = groups_of(plan, stage);
    if (circle == CIRCLE_TIED)
        return width_of(plan, builder->pipelines, 0) +
               width_of(plan, builder->pipelines, plan->shape.stages - 1);
    if (!plan->every_rank)
        return 1;
    return circle == CIRCLE_TP   ? groups->tp
           : circle == CIRCLE_CP ? groups->cp
           : circle == CIRCLE_EP ? groups->ep
                                 : groups->dp * groups->cp;
}

/* The instance at which the rank is next in one of its groups; 0 where it is alone. */
static uint32_t next_instance(st_rank *rank, st_circle circle)
{
    st_builder *builder = rank->builder;
    uint32_t size = circle == CIRCLES ? 0 : group_size(builder, circle, rank->stage);
    if (size < 2 || builder->status != ST_OK)
        return 0;
    size_t place = (size_t)(circle == CIRCLE_TIED ? 0 : rank->stage) * builder->most_groups;
    st_instances *instances = &builder->instances[circle][place + rank->group[circle]];
    size_t turn = rank->met[circle]++;
    if (turn == instances->count) {
        if (!ST_ROOM(instances->numbers, turn, instances->capacity)) {
            note(builder, st_out_of_memory(builder->errors));
            return 0;
        }
        note(builder,
             st_graph_instance(builder->graph, size, &instances->numbers[turn], builder->errors));
        instances->count++;
    }
    return instances->numbers[turn];
}

/* Adds a task; it waits for nothing but the order of its stream. */
static st_task_id add(st_rank *rank, st_stream stream, st_label label, uint32_t name, int64_t time)
{
    static const st_circle circles[LABELS] = {
        [LABEL_FORWARD] = CIRCLES,  [LABEL_BACKWARD] = CIRCLES, [LABEL_WEIGHTS] = CIRCLES,
        [LABEL_SLOWDOWN] = CIRCLES, [LABEL_LAUNCH] = CIRCLES,   [LABEL_TP] = CIRCLE_TP,
        [LABEL_CP] = CIRCLE_CP,     [LABEL_EP] = CIRCLE_EP,     [LABEL_PP] = CIRCLES,
        [LABEL_DP] = CIRCLE_DP,     [LABEL_TIED] = CIRCLE_TIED, [LABEL_OPTIMIZER] = CIRCLES,
        [LABEL_OVERHEAD] = CIRCLES};
    st_builder *builder = rank->builder;
    st_task_id task = ST_TASK_NONE;
    st_task_spec spec = {.resource = stream_of(rank, stream),
                         .name = name,
                         .category = builder->category[label],
                         .duration_ns = time,
                         .instance = next_instance(rank, circles[label])};
    if (builder->status == ST_OK)
        note(builder, st_graph_add(builder->graph, &spec, &task, builder->errors));
    return task;
}

/* Adds a task to the chain in which a rank does one thing after the other. */
static st_task_id chain(st_rank *rank, st_stream stream, st_label label, uint32_t name,
                        int64_t time)
{
    st_task_id task = add(rank, stream, label, name, time);
    if (rank->tail_stream != stream)
        join(rank->builder, rank->tail, task, ST_EDGE_STREAM);
    rank->tail = task;
    rank->tail_stream = stream;
    return task;
}

static uint32_t name_of(st_builder *builder, const char *text)
{
    uint32_t name = 0;
    note(builder, st_graph_name(builder->graph, text, &name, builder->errors));
    return name;
}

/* --- pieces -------------------------------------------------------------------------------------
 */

/* The pieces of a pass, NULL where it has none. */
static const st_schedule_piece *pieces_of(const st_builder *builder, uint32_t place, st_pass pass,
                                          size_t *count)
{
    const st_schedule_pieces *pieces = builder->plan->pieces;
    *count = 0;
    if (pieces == NULL)
        return NULL;
    bool forward = pass == ST_PASS_FORWARD;
    *count = forward ? pieces[place].forward_count : pieces[place].backward_count;
    return *count == 0 ? NULL : forward ? pieces[place].forward : pieces[place].backward;
}

/* Requests the weights of the pieces up to `prefetch` ahead of the next one. */
static void gather_ahead(st_rank *rank)
{
    st_builder *builder = rank->builder;
    size_t ring = (size_t)builder->plan->prefetch + 1;
    while (rank->asked < rank->computed + ring && builder->status == ST_OK) {
        /* The next piece of the rank's order that needs weights. */
        const st_schedule_piece *piece = NULL;
        const st_slot *slots = builder->order->slots[rank->stage];
        while (rank->ahead_slot < builder->order->counts[rank->stage]) {
            const st_slot *slot = &slots[rank->ahead_slot];
            uint32_t place = st_schedule_place(builder->shape, rank->stage, slot->chunk);
            size_t count = 0;
            const st_schedule_piece *pieces =
                pieces_of(builder, place, (st_pass)slot->pass, &count);
            if (slot->pass != ST_PASS_WEIGHTS && rank->ahead_piece < count) {
                piece = &pieces[rank->ahead_piece++];
                break;
            }
            if (builder->plan->gathers_in_pass && rank->computed < rank->asked)
                break;
            rank->ahead_slot++;
            rank->ahead_piece = 0;
        }
        st_task_id task = ST_TASK_NONE;
        if (piece == NULL)
            return;
        if (piece->gather_hidden > 0) {
            st_stream stream = builder->plan->gathers_in_pass ? STREAM_DATA : STREAM_WEIGHTS;
            task = add(rank, stream, LABEL_DP, name_of(builder, "gather weights"),
                       piece->gather_hidden);
            join(builder, rank->computed_last, task, ST_EDGE_STREAM);
        }
        builder->gathered[rank->asked++ % ring] = task;
    }
}

/* Gradients of a piece that is done. */
static void end_piece(st_rank *rank, const st_slot *slot, const st_schedule_piece *piece)
{
    st_builder *builder = rank->builder;
    if (piece == NULL)
        return;
    if (slot->pass != ST_PASS_WEIGHTS) {
        rank->computed++;
        rank->computed_last = rank->tail;
    }
    if (slot->pass == ST_PASS_FORWARD || (slot->pass == ST_PASS_BACKWARD && !slot->with_weights))
        return;
    if (builder->plan->reduces_last_only && slot->micro + 1 < builder->shape->micros)
        return;
    uint32_t name = name_of(builder, "reduce gradients");
    if (piece->reduce_hidden > 0) {
        rank->reduced = add(rank, STREAM_DATA, LABEL_DP, name, piece->reduce_hidden);
        join(builder, rank->tail, rank->reduced, ST_EDGE_STREAM);
    }
    if (piece->reduce_exposed > 0)
        (void)chain(rank, STREAM_COMMUNICATION, LABEL_DP, name, piece->reduce_exposed);
}

/* --- passes -------------------------------------------------------------------------------------
 */

static int64_t part_time(const st_rank *rank, const st_slot *slot, uint32_t place, st_part part)
{
    const st_chunk_times *times = &rank->builder->shape->times[place];
    if (part == ST_PART_ALONE && rank->together)
        return 0;
    int64_t time = times->part[slot->pass][part];
    if (slot->with_weights)
        time += times->part[ST_PASS_WEIGHTS][part];
    return time;
}

/* The tasks of one pass; returns the first. */
static st_task_id add_parts(st_rank *rank, const st_slot *slot, uint32_t place)
{
    static const struct {
        st_stream stream;
        st_label label;
    } ways[ST_PARTS] = {
        {STREAM_COMPUTE, LABEL_FORWARD},  {STREAM_COMPUTE, LABEL_SLOWDOWN},
        {STREAM_COMPUTE, LABEL_LAUNCH},   {STREAM_COMMUNICATION, LABEL_TP},
        {STREAM_COMMUNICATION, LABEL_CP}, {STREAM_COMMUNICATION, LABEL_EP},
        {STREAM_COMMUNICATION, LABEL_EP},
    };
    st_builder *builder = rank->builder;
    /* "F 3", or with chunks "F 3.1"; from 1, as people count. */
    static const char letters[ST_PASSES] = {'F', 'B', 'W'};
    char text[48];
    if (builder->shape->chunks > 1)
        (void)snprintf(text, sizeof(text), "%c %lu.%u", letters[slot->pass],
                       (unsigned long)slot->micro + 1, slot->chunk + 1U);
    else
        (void)snprintf(text, sizeof(text), "%c %lu", letters[slot->pass],
                       (unsigned long)slot->micro + 1);
    uint32_t name = name_of(builder, text);
    size_t count = 0;
    const st_schedule_piece *pieces = pieces_of(builder, place, (st_pass)slot->pass, &count);
    uint32_t layers = builder->plan->layers == 0 ? 1 : builder->plan->layers;
    layers = pieces != NULL ? (uint32_t)count : layers;
    st_task_id first = ST_TASK_NONE;
    for (uint32_t i = 0; i < layers && builder->status == ST_OK; i++) {
        const st_schedule_piece *piece = pieces == NULL ? NULL : &pieces[i];
        /* What a piece waits for before it computes; returns the task that its first one waits
         * for. */
        st_task_id waits = ST_TASK_NONE;
        size_t ring = (size_t)builder->plan->prefetch + 1;
        if (piece != NULL && slot->pass != ST_PASS_WEIGHTS) {
            gather_ahead(rank);
            if (piece->gather_exposed > 0)
                (void)chain(rank, STREAM_COMMUNICATION, LABEL_DP,
                            name_of(builder, "gather weights"), piece->gather_exposed);
            waits =
                builder->status == ST_OK ? builder->gathered[rank->computed % ring] : ST_TASK_NONE;
        }
        for (int part = 0; part < ST_PARTS; part++) {
            int64_t time = part_time(rank, slot, place, (st_part)part);
            if (time == 0 && part != ST_PART_WORK)
                continue;
            st_label label =
                part == ST_PART_WORK ? (st_label)(LABEL_FORWARD + slot->pass) : ways[part].label;
            /* The time of the i-th piece, or of `count` equal parts; all of them add up to it. */
            int64_t piece_time;
            if (pieces == NULL) {
                /* The i-th of `count` parts of a time, so that all of them add up to it. */
                int64_t each = time / layers;
                piece_time = each + (i < (uint32_t)(time % layers) ? 1 : 0);
            } else {
                double from = i == 0 ? 0 : pieces[i - 1].until;
                piece_time = llround((double)time * pieces[i].until) - llround((double)time * from);
            }
            st_task_id task = chain(rank, ways[part].stream, label, name, piece_time);
            join(builder, waits, task, ST_EDGE_STREAM);
            waits = ST_TASK_NONE;
            first = first == ST_TASK_NONE ? task : first;
        }
        end_piece(rank, slot, piece);
    }
    return first;
}

static size_t cell_of(const st_builder *builder, uint32_t place, uint32_t micro, st_pass pass)
{
    return (((size_t)place * builder->shape->micros + micro) * 2 + (size_t)pass) * builder->widest;
}

/*
 * Hands the result of a pass to the rank that waits for it; returns the task that ends with it. A
 * blocking stage exchanges with its neighbours once a pass, at the ends of the model, too, where it
 * only receives.
 */
static st_task_id send(st_rank *rank, const st_slot *slot, uint32_t place)
{
    st_builder *builder = rank->builder;
    const st_schedule_shape *shape = builder->shape;
    bool forward = slot->pass == ST_PASS_FORWARD;
    bool last = forward ? place + 1 == builder->places : place == 0;
    st_task_id made = rank->tail;
    if (shape->transfer == 0 || shape->stages == 1)
        return made;
    const int64_t *own = builder->plan->transfers;
    uint32_t name = name_of(builder, forward ? "send activations" : "send gradients");
    if (builder->plan->transfers_block)
        return chain(rank, STREAM_COMMUNICATION, LABEL_PP, name, shape->transfer);
    if (last ||
        st_schedule_stage(shape, forward ? place + 1 : place - 1, slot->micro) == rank->stage)
        return made;
    int64_t time = own != NULL ? own[forward ? place : place - 1] : shape->transfer;
    st_task_id transfer =
        add(rank, forward ? STREAM_FORWARD : STREAM_BACKWARD, LABEL_PP, name, time);
    join(builder, made, transfer, ST_EDGE_STREAM);
    return transfer;
}

/* A slot, or several that run as one; returns how many. */
static size_t add_slots(st_rank *rank, const st_slot *slots, size_t count)
{
    st_builder *builder = rank->builder;
    st_task_id first = ST_TASK_NONE;
    size_t together = 0;
    rank->together = slots->with_next && count > 1;
    do {
        const st_slot *slot = &slots[together];
        uint32_t place = st_schedule_place(builder->shape, rank->stage, slot->chunk);
        st_task_id own = add_parts(rank, slot, place);
        first = together == 0 ? own : first;
        if (rank->awaited != ST_TASK_NONE) {
            st_task_id there =
                chain(rank, STREAM_COMPUTE, LABEL_LAUNCH, name_of(builder, "weights gathered"), 0);
            join(builder, rank->awaited, there, ST_EDGE_STREAM);
            rank->awaited = ST_TASK_NONE;
        }
        if (slot->pass != ST_PASS_WEIGHTS)
            builder
                ->first[cell_of(builder, place, slot->micro, (st_pass)slot->pass) + rank->index] =
                first;
        together++;
    } while (together < count && slots[together - 1].with_next);
    for (size_t i = 0; i < together; i++) {
        /* Sends what a pass has made, once it and what runs with it have ended. */
        const st_slot *slot = &slots[i];
        st_builder *hand_builder = rank->builder;
        uint32_t place = st_schedule_place(hand_builder->shape, rank->stage, slot->chunk);
        int64_t data = hand_builder->plan->ends.data_per_micro;
        if (slot->pass == ST_PASS_WEIGHTS)
            continue;
        hand_builder
            ->sent[cell_of(hand_builder, place, slot->micro, (st_pass)slot->pass) + rank->index] =
            send(rank, slot, place);
        if (slot->pass == ST_PASS_BACKWARD && data > 0)
            (void)chain(rank, STREAM_COMMUNICATION, LABEL_DP, name_of(hand_builder, "data"), data);
    }
    return together;
}

static void end(st_rank *rank, st_task_id reduce)
{
    st_builder *builder = rank->builder;
    const st_schedule_ends *ends = &builder->plan->ends;
    uint32_t last = builder->shape->stages - 1;
    if (ends->reduce_exposed > 0 || reduce != ST_TASK_NONE) {
        st_task_id task = chain(rank, STREAM_COMMUNICATION, LABEL_DP,
                                name_of(builder, "reduce gradients"), ends->reduce_exposed);
        join(builder, reduce, task, ST_EDGE_STREAM);
    }
    if (ends->tied > 0 && last > 0 && (rank->stage == 0 || rank->stage == last))
        (void)chain(rank, STREAM_COMMUNICATION, LABEL_TIED, name_of(builder, "tied embedding"),
                    ends->tied);
    if (ends->slowdown > 0)
        (void)chain(rank, STREAM_COMPUTE, LABEL_SLOWDOWN, name_of(builder, "slowdown"),
                    ends->slowdown);
    if (ends->optimizer > 0)
        (void)chain(rank, STREAM_COMPUTE, LABEL_OPTIMIZER, name_of(builder, "optimizer"),
                    ends->optimizer);
    if (ends->overhead > 0)
        (void)chain(rank, STREAM_COMPUTE, LABEL_OVERHEAD, name_of(builder, "overhead"),
                    ends->overhead);
}

/* A chunk's part of what all chunks of a stage send at an end of the step. */
static int64_t part_of_chunk(const st_builder *builder, int64_t time, uint32_t chunk)
{
    uint32_t chunks = st_schedule_rank_chunks(builder->shape);
    return time / chunks + (chunk < (uint32_t)(time % chunks) ? 1 : 0);
}

/* The last backward pass of each chunk, `count` where it has none. */
static void find_last_backward(const st_builder *builder, const st_slot *slots, size_t count)
{
    for (uint32_t chunk = 0; chunk < st_schedule_rank_chunks(builder->shape); chunk++)
        builder->last_backward[chunk] = count;
    for (size_t i = 0; i < count; i++)
        if (slots[i].pass == ST_PASS_BACKWARD)
            builder->last_backward[slots[i].chunk] = i;
}

/* The reduction of a chunk's gradients that its last backward pass hides, which starts with it. */
static st_task_id reduce_along(st_rank *rank, const st_slot *slot)
{
    st_builder *builder = rank->builder;
    uint32_t place = st_schedule_place(builder->shape, rank->stage, slot->chunk);
    st_task_id reduce = add(rank, STREAM_DATA, LABEL_DP, name_of(builder, "reduce gradients"),
                            part_of_chunk(builder, builder->plan->ends.reduce_hidden, slot->chunk));
    join(builder, rank->tail, reduce, ST_EDGE_STREAM);
    builder->along[cell_of(builder, place, slot->micro, ST_PASS_BACKWARD) + rank->index] = reduce;
    return reduce;
}

static void add_rank(st_rank *rank)
{
    st_builder *builder = rank->builder;
    const st_slot *slots = builder->order->slots[rank->stage];
    size_t count = builder->order->counts[rank->stage];
    const st_schedule_ends *ends = &builder->plan->ends;
    uint32_t chunks = st_schedule_rank_chunks(builder->shape);
    st_task_id reduce = ST_TASK_NONE;
    find_last_backward(builder, slots, count);
    (void)stream_of(rank, STREAM_COMPUTE);
    /* Weights are gathered before the first pass, but for the hidden rest: of several chunks it is
     * there before the pass that follows the first one of its chunk, of one chunk it begins with
     * the first pass, in a hook before the module's (Megatron, FSDP), and is there at its end. */
    uint32_t name = name_of(builder, "gather weights");
    if (ends->gather_exposed > 0)
        (void)chain(rank, STREAM_COMMUNICATION, LABEL_DP, name, ends->gather_exposed);
    for (uint32_t chunk = 0; chunk < chunks; chunk++) {
        builder->weights[chunk] = ST_TASK_NONE;
        if (ends->gather_hidden > 0) {
            builder->weights[chunk] = add(rank, STREAM_WEIGHTS, LABEL_DP, name,
                                          part_of_chunk(builder, ends->gather_hidden, chunk));
            join(builder, rank->tail, builder->weights[chunk], ST_EDGE_STREAM);
        }
    }
    if (chunks == 1 && builder->weights[0] != ST_TASK_NONE && count > 0 &&
        slots[0].pass == ST_PASS_FORWARD && builder->status == ST_OK) {
        uint32_t place = st_schedule_place(builder->shape, rank->stage, 0);
        builder->along[cell_of(builder, place, slots[0].micro, ST_PASS_FORWARD) + rank->index] =
            builder->weights[0];
        rank->awaited = builder->weights[0];
        builder->weights[0] = ST_TASK_NONE;
    }
    st_task_id waiting = ST_TASK_NONE;
    for (size_t i = 0; i < count && builder->status == ST_OK;) {
        size_t next = st_graph_task_count(builder->graph);
        size_t first = i;
        size_t after = i + 1;
        while (after < count && slots[after - 1].with_next)
            after++;
        for (size_t k = first; k < after; k++) {
            if (ends->reduce_hidden > 0 && builder->last_backward[slots[k].chunk] == k) {
                reduce = reduce_along(rank, &slots[k]);
                next++;
            }
        }
        i += add_slots(rank, &slots[i], count - i);
        if (waiting != ST_TASK_NONE && builder->status == ST_OK)
            join(builder, waiting, (st_task_id)next, ST_EDGE_STREAM);
        waiting = ST_TASK_NONE;
        for (size_t k = first; k < after; k++) {
            uint32_t chunk = slots[k].chunk;
            if (builder->weights[chunk] != ST_TASK_NONE) {
                waiting = builder->weights[chunk];
                builder->weights[chunk] = ST_TASK_NONE;
            }
        }
    }
    end(rank, reduce == ST_TASK_NONE ? rank->reduced : reduce);
}

/* What a pass hands on; the cells of its first ranks. */
typedef struct st_handover {
    uint32_t from_stage;
    uint32_t to_stage;
    size_t from;
    size_t to;
} st_handover;

/* A rank waits for those whose part of a micro-batch it takes: of equally many, its like. */
static void join_passes(st_builder *builder, const st_handover *handover)
{
    uint64_t from = width_of(builder->plan, builder->pipelines, handover->from_stage);
    uint64_t to = width_of(builder->plan, builder->pipelines, handover->to_stage);
    for (uint64_t i = 0; i < to; i++) {
        for (uint64_t k = i * from / to; k * to < (i + 1) * from; k++) {
            st_task_id sent = builder->sent[handover->from + k];
            join(builder, sent, builder->first[handover->to + i], ST_EDGE_USER);
            join(builder, sent, builder->along[handover->to + i], ST_EDGE_USER);
        }
        builder->along[handover->to + i] = ST_TASK_NONE;
    }
}

/* The passes of neighbours that wait for each other, once all stages of a pipeline are there. */
static void join_stages(st_builder *builder)
{
    uint32_t last = builder->places - 1;
    for (uint32_t place = 0; place <= last; place++) {
        for (uint32_t micro = 0; micro < builder->shape->micros; micro++) {
            uint32_t stage = st_schedule_stage(builder->shape, place, micro);
            size_t forward = cell_of(builder, place, micro, ST_PASS_FORWARD);
            st_handover back = {stage, stage, forward,
                                cell_of(builder, place, micro, ST_PASS_BACKWARD)};
            if (place > 0)
                join_passes(
                    builder,
                    &(st_handover){st_schedule_stage(builder->shape, place - 1, micro), stage,
                                   cell_of(builder, place - 1, micro, ST_PASS_FORWARD), forward});
            if (place < last) {
                back.from_stage = st_schedule_stage(builder->shape, place + 1, micro);
                back.from = cell_of(builder, place + 1, micro, ST_PASS_BACKWARD);
            }
            join_passes(builder, &back);
        }
    }
}

/* --- what is asked for -------------------------------------------------------------------------
 */

static st_status prepare(st_builder *builder)
{
    st_status status = st_schedule_check_order(builder->shape, builder->order, builder->errors);
    if (status == ST_OK) {
        /* Room for the groups of every stage; a stage has as many groups of a kind as ranks, at
         * most. */
        const st_schedule_plan *plan = builder->plan;
        builder->pipelines = st_schedule_pipelines(plan);
        builder->most_groups = 1;
        builder->widest = 1;
        for (uint32_t stage = 0; stage < plan->shape.stages && plan->every_rank; stage++) {
            uint32_t ranks = rank_count(groups_of(plan, stage));
            uint32_t width = width_of(plan, builder->pipelines, stage);
            builder->most_groups = ranks > builder->most_groups ? ranks : builder->most_groups;
            builder->widest = width > builder->widest ? width : builder->widest;
        }
        for (int i = 0; i < CIRCLES; i++) {
            size_t stages = i == CIRCLE_TIED ? 1 : plan->shape.stages;
            builder->instances[i] =
                calloc(stages * builder->most_groups + 1, sizeof(*builder->instances[i]));
            if (builder->instances[i] == NULL) {
                status = st_out_of_memory(builder->errors);
                break;
            }
        }
    }
    if (status != ST_OK)
        return status;
    size_t cells = (size_t)builder->places * builder->shape->micros * 2 * builder->widest;
    builder->first = malloc(cells * sizeof(*builder->first));
    builder->sent = malloc(cells * sizeof(*builder->sent));
    builder->along = malloc(cells * sizeof(*builder->along));
    builder->gathered = malloc(((size_t)builder->plan->prefetch + 1) * sizeof(*builder->gathered));
    builder->last_backward =
        malloc(st_schedule_rank_chunks(builder->shape) * sizeof(*builder->last_backward));
    builder->weights = malloc(st_schedule_rank_chunks(builder->shape) * sizeof(*builder->weights));
    if (builder->last_backward == NULL || builder->weights == NULL || builder->first == NULL ||
        builder->sent == NULL || builder->along == NULL || builder->gathered == NULL)
        return st_out_of_memory(builder->errors);
    for (size_t i = 0; i < cells; i++)
        builder->along[i] = ST_TASK_NONE;
    for (int i = 0; i < LABELS && status == ST_OK; i++)
        status = st_graph_category(builder->graph, labels[i].name, labels[i].work,
                                   &builder->category[i], builder->errors);
    return status;
}

st_status st_schedule_build(const st_schedule_plan *plan, const st_schedule_order *order,
                            st_graph *graph, st_errors *errors)
{
    st_status status = st_schedule_check(&plan->shape, errors);
    if (status == ST_OK && plan->pieces != NULL)
        status = st_schedule_check_pieces(plan, errors);
    for (uint32_t i = 0; i < plan->shape.stages && status == ST_OK && plan->every_rank; i++)
        status = st_schedule_check_groups(groups_of(plan, i), errors);
    if (status != ST_OK)
        return status;
    st_builder builder = {.plan = plan,
                          .shape = &plan->shape,
                          .order = order,
                          .graph = graph,
                          .errors = errors,
                          .places = st_schedule_places(&plan->shape)};
    builder.status = prepare(&builder);
    for (uint32_t i = 0; i < builder.pipelines && builder.status == ST_OK; i++) {
        for (uint32_t stage = 0; stage < builder.shape->stages; stage++) {
            uint32_t width = width_of(builder.plan, builder.pipelines, stage);
            for (uint32_t j = 0; j < width && builder.status == ST_OK; j++) {
                st_rank rank = {.builder = &builder,
                                .stage = stage,
                                .index = j,
                                .tail = ST_TASK_NONE,
                                .tail_stream = STREAMS,
                                .computed_last = ST_TASK_NONE,
                                .reduced = ST_TASK_NONE,
                                .awaited = ST_TASK_NONE};
                /* Numbers of the groups of a rank among those of its stage. */
                const st_schedule_groups *groups = groups_of(rank.builder->plan, rank.stage);
                for (int k = 0; k < STREAMS; k++)
                    rank.stream[k] = ST_TASK_NONE;
                if (!rank.builder->plan->every_rank) {
                    rank.number =
                        groups->ranks != NULL
                            ? groups->ranks[0]
                            : rank.stage * (groups->pp_stride == 0 ? 1 : groups->pp_stride);
                } else {
                    uint32_t number = i * width + rank.index;
                    uint32_t tp = number % groups->tp;
                    uint32_t cp = number / groups->tp % groups->cp;
                    uint32_t dp = number / groups->tp / groups->cp;
                    rank.number = groups->ranks != NULL
                                      ? groups->ranks[number]
                                      : tp * groups->tp_stride + cp * groups->cp_stride +
                                            dp * groups->dp_stride + rank.stage * groups->pp_stride;
                    rank.group[CIRCLE_TP] = number / groups->tp;
                    rank.group[CIRCLE_CP] = tp + groups->tp * dp;
                    rank.group[CIRCLE_EP] = (dp + groups->dp * (cp + groups->cp * tp)) / groups->ep;
                    rank.group[CIRCLE_DP] = tp;
                    rank.group[CIRCLE_TIED] = i;
                }
                add_rank(&rank);
            }
        }
        if (builder.status == ST_OK)
            join_stages(&builder);
    }
    for (int i = 0; i < CIRCLES; i++) {
        size_t stages = i == CIRCLE_TIED ? 1 : builder.shape->stages;
        for (size_t j = 0; builder.instances[i] != NULL && j < stages * builder.most_groups; j++)
            free(builder.instances[i][j].numbers);
        free(builder.instances[i]);
    }
    free(builder.first);
    free(builder.sent);
    free(builder.along);
    free(builder.gathered);
    free(builder.last_backward);
    free(builder.weights);
    return builder.status;
}

/* Passes are one task each here, so that a cycle names passes alone. */
st_status st_schedule_try(const st_schedule_shape *shape, const st_schedule_order *order,
                          st_errors *errors)
{
    st_schedule_plan plan = {.shape = *shape,
                             .groups = {.tp = 1, .cp = 1, .dp = 1, .ep = 1, .pp_stride = 1}};
    st_chunk_times *none = calloc(st_schedule_places(shape), sizeof(*none));
    st_graph *graph = st_graph_create(NULL);
    st_status status = graph == NULL || none == NULL ? st_out_of_memory(errors) : ST_OK;
    plan.shape.times = none;
    plan.shape.transfer = 0;
    if (status == ST_OK)
        status = st_schedule_build(&plan, order, graph, errors);
    if (status == ST_OK)
        status = st_graph_seal(graph, errors);
    st_graph_destroy(graph);
    free(none);
    return status;
}
