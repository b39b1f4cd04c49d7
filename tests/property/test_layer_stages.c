/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists cut into stages against all cuts there are; pipelines against a longest path over all
 * passes; shards against bounds that hold whatever their order.
 */
#include "property.h"

#include "schedule/layer_stages.h"

enum { LISTS = 300, MOST_LAYERS = 9, MOST_STAGES = 5, MOST_MICROS = 7 };

typedef struct list {
    st_layers layers;
    st_tensor tensors[2 * MOST_LAYERS];
    size_t layer_count;
} list;

static void draw_list(property_random *random, list *own)
{
    *own = (list){.layer_count = random_below(random, MOST_LAYERS) + 1};
    for (size_t i = 0; i < own->layer_count; i++) {
        st_tensor tensor = {.parameters = 1 + (double)random_below(random, 3000000),
                            .forward_flop = (double)random_below(random, 4) *
                                            (1 + (double)random_below(random, 100000)),
                            .kept = (double)random_below(random, 2385),
                            .output = 1 + (double)random_below(random, 1700),
                            .begins = true};
        tensor.moved[ST_UNCOMPILED] = (double)random_below(random, 5000);
        for (int j = 0; j < 2; j++) {
            own->tensors[own->layers.count++] = tensor;
            own->layers.parameters += tensor.parameters;
            own->layers.forward_flop += tensor.forward_flop;
            own->layers.moved[ST_UNCOMPILED] += tensor.moved[ST_UNCOMPILED];
            tensor = (st_tensor){.parameters = tensor.parameters};
            if (random_below(random, 2) == 0)
                break;
        }
    }
    own->layers.tensors = own->tensors;
}

static st_layer_pipeline draw_pipeline(property_random *random, const list *own)
{
    return (st_layer_pipeline){
        .layers = &own->layers,
        .by_parameters = random_below(random, 2) == 1,
        .moved_share = 0.3,
        .stages = (double)(random_below(random, own->layer_count < MOST_STAGES ? own->layer_count
                                                                               : MOST_STAGES) +
                           1),
        .micros = (double)random_below(random, MOST_MICROS) + 1,
        .gpipe = (double)random_below(random, 2),
        .forward = 0.017 + 0.1 * random_unit_interval(random),
        .backward = 0.04 + 0.1 * random_unit_interval(random),
        .value_time = random_below(random, 2) == 0 ? 1e-6 : 1e-4,
        .start = 2e-4};
}

static double tensor_weight(const st_layer_pipeline *pipeline, const st_tensor *tensor)
{
    const st_layers *layers = pipeline->layers;
    double moved = layers->moved[ST_UNCOMPILED];
    if (pipeline->by_parameters)
        return tensor->parameters;
    return (moved > 0 ? 0.3 * tensor->moved[ST_UNCOMPILED] / moved : 0) +
           (layers->forward_flop > 0 ? 0.7 * tensor->forward_flop / layers->forward_flop : 0);
}

/* The smallest largest stage over all cuts of the layers from `first` on. */
static double best_cut(const st_layer_pipeline *pipeline, size_t first, size_t stages)
{
    const st_layers *layers = pipeline->layers;
    double best = (double)INFINITY;
    double weight = 0;
    for (size_t end = first; end < layers->count; end++) {
        weight += tensor_weight(pipeline, &layers->tensors[end]);
        bool is_cut = end + 1 == layers->count || layers->tensors[end + 1].begins;
        if (!is_cut || (stages == 1) != (end + 1 == layers->count))
            continue;
        double rest = stages == 1 ? 0 : best_cut(pipeline, end + 1, stages - 1);
        best = fmin(best, fmax(weight, rest));
    }
    return best;
}

TEST(stages_are_as_equal_as_can_be)
{
    for (int i = 0; i < LISTS; i++) {
        list own;
        st_layer_stage stages[ST_LAYER_STAGES];
        draw_list(*state, &own);
        st_layer_pipeline pipeline = draw_pipeline(*state, &own);
        size_t count = (size_t)pipeline.stages;
        assert_true(st_layer_stages_cut(&pipeline, stages));
        double best = best_cut(&pipeline, 0, count);
        double most = 0;
        double parameters = 0;
        for (size_t s = 0; s < count; s++) {
            most = fmax(most, pipeline.by_parameters ? stages[s].parameters : stages[s].share);
            parameters += stages[s].parameters;
            assert_true(stages[s].parameters > 0);
        }
        assert_true(parameters == own.layers.parameters);
        if (fabs(most - best) > 1e-8 * best)
            fail_msg("the largest stage has %.12g, not %.12g", most, best);
        pipeline.stages = (double)own.layer_count + 1;
        assert_false(st_layer_stages_cut(&pipeline, stages));
    }
}

typedef struct pass {
    int micro;
    bool backward;
} pass;

/* The pass in a place of a stage's order: warm-up, forward and backward in turn, the rest. */
static pass pass_at(const st_layer_pipeline *pipeline, int stage, int place)
{
    int micros = (int)pipeline->micros;
    int behind = (int)pipeline->stages - 1 - stage;
    int warm = pipeline->gpipe != 0 || behind > micros ? micros : behind;
    if (place < warm)
        return (pass){place, false};
    if (place >= 2 * micros - warm)
        return (pass){place - micros, true};
    bool backward = (place - warm) % 2 == 1;
    return (pass){(place - warm) / 2 + (backward ? 0 : warm), backward};
}

static int place_of(const st_layer_pipeline *pipeline, int stage, pass wanted)
{
    int place = 0;
    pass at = pass_at(pipeline, stage, 0);
    while (at.micro != wanted.micro || at.backward != wanted.backward)
        at = pass_at(pipeline, stage, ++place);
    return place;
}

static double pass_end(const st_layer_pipeline *pipeline, const st_layer_stage *stages, int stage,
                       int place);

/* When what a pass hands on has reached the next stage: one micro-batch is sent after the other. */
static double pass_arrives(const st_layer_pipeline *pipeline, const st_layer_stage *stages,
                           int stage, pass own)
{
    const st_layer_stage *sender = &stages[own.backward ? stage - 1 : stage];
    pass before = {own.micro - 1, own.backward};
    double end = pass_end(pipeline, stages, stage, place_of(pipeline, stage, own));
    double sent = own.micro > 0 ? pass_arrives(pipeline, stages, stage, before) : 0;
    return fmax(end, sent) + pipeline->start + pipeline->value_time * sender->output;
}

/* When the pass before has reached the stage. */
static double pass_ready(const st_layer_pipeline *pipeline, const st_layer_stage *stages, int stage,
                         pass own)
{
    bool is_turn = own.backward && stage + 1 == (int)pipeline->stages;
    int from = is_turn ? stage : own.backward ? stage + 1 : stage - 1;
    if (from < 0)
        return 0;
    own.backward = own.backward && !is_turn;
    return is_turn ? pass_end(pipeline, stages, from, place_of(pipeline, from, own))
                   : pass_arrives(pipeline, stages, from, own);
}

/* When a pass ends, by what it waits for: the pass before it on its stage, and that of the next. */
static double pass_end(const st_layer_pipeline *pipeline, const st_layer_stage *stages, int stage,
                       int place)
{
    if (place < 0)
        return 0;
    pass own = pass_at(pipeline, stage, place);
    double length = stages[stage].share * (own.backward ? pipeline->backward : pipeline->forward);
    return fmax(pass_ready(pipeline, stages, stage, own),
                pass_end(pipeline, stages, stage, place - 1)) +
           length;
}

TEST(passes_wait_for_what_they_need)
{
    for (int i = 0; i < LISTS; i++) {
        list own;
        st_layer_stage stages[ST_LAYER_STAGES];
        draw_list(*state, &own);
        st_layer_pipeline pipeline = draw_pipeline(*state, &own);
        pipeline.stages = fmin(pipeline.stages, 3);
        pipeline.micros = fmin(pipeline.micros, 4);
        double end = 0;
        assert_true(st_layer_stages_cut(&pipeline, stages));
        for (int s = 0; s < (int)pipeline.stages; s++)
            end = fmax(end, pass_end(&pipeline, stages, s, 2 * (int)pipeline.micros - 1));
        double found = st_layer_stages_run(&pipeline, true);
        if (fabs(found - end) > 1e-9 * end)
            fail_msg("%g stages, %g micro-batches: %.12g s, not %.12g", pipeline.stages,
                     pipeline.micros, found, end);
        assert_true(st_layer_stages_run(&pipeline, false) <= found);
    }
}

TEST(shards_hide_what_passes_have_room_for)
{
    for (int i = 0; i < LISTS; i++) {
        list own;
        st_bucket_curve curve;
        draw_list(*state, &own);
        double cap = 1e5 * (1 + (double)random_below(*state, 200));
        st_shards shards = {.layers = &own.layers,
                            .caps = {cap, cap, 4},
                            .forward = 0.1 * random_unit_interval(*state),
                            .backward = 0.2 * random_unit_interval(*state),
                            .gathers_again = random_below(*state, 2) == 1,
                            .scatter = 0.5 + random_unit_interval(*state),
                            .gather = &curve};
        st_bucket_sizes(&own.layers, &shards.caps, &curve);
        for (size_t j = 0; j < curve.count; j++)
            curve.times[j] = 2e-5 + curve.bytes[j] * 1e-9;
        const st_bucket_times times = {.backward = 1, .curve = &curve, .slowdown = 1};
        double all = st_buckets_run(&own.layers, &shards.caps, &times).total;
        double sent = (shards.gathers_again ? 2 : 1) * all + shards.scatter * all;
        double exposed = st_shards_exposed(&shards);
        double least = fmin(curve.times[0], curve.times[curve.count - 1]);
        assert_true(exposed <= sent + 1e-12);
        assert_true(exposed >= sent - shards.forward - shards.backward - 1e-12);
        assert_true(exposed >= ((shards.gathers_again ? 2 : 1) + shards.scatter) * least - 1e-12);
        for (size_t j = 0; j < curve.count; j++)
            curve.times[j] *= 1.7;
        assert_true(st_shards_exposed(&shards) >= exposed - 1e-12);
    }
}

TESTS_WITH(layer_stages, property_setup, NULL);
