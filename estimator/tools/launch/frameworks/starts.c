/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Megatron-LM asserts at its start (megatron/training/arguments.py and TransformerConfig of
 * core 0.14, 0.16 and 0.19), of plans that no other rule refuses.
 */
#include "launch/frameworks/settings.h"

#include "steptime/keys.h"

#include <math.h>
#include <string.h>

typedef struct start_plan {
    const st_job *job;
    const fw_release *release;
    double layers, tp, pp, cp, ep, chunks, first, last, zero, experts, counted;
    bool has_layout;
    bool is_hybrid;
} start_plan;

static bool divides(double divisor, double number)
{
    return divisor > 0 && fmod(number, divisor) == 0;
}

/* Without a layout, layers and the ends that count as such are split into equal stages, and stages
 * into equal chunks. */
static bool has_equal_stages(const start_plan *plan)
{
    const double ends = (plan->first > 0 ? 1 : 0) + (plan->last > 0 ? 1 : 0);
    if (plan->has_layout || plan->pp == 1)
        return true;
    if (ends > 0 && plan->pp > ends) {
        const double middle = (plan->layers - plan->first - plan->last) / (plan->pp - ends);
        return floor(middle) == middle && divides(plan->chunks, middle) &&
               divides(plan->chunks, plan->first) && divides(plan->chunks, plan->last);
    }
    return ends > 0 || (divides(plan->pp, plan->layers + plan->counted) &&
                        divides(plan->chunks, (plan->layers + plan->counted) / plan->pp));
}

typedef struct start_rule {
    bool fails;
    const char *found;
    const char *reason;
    const char *nearest;
} start_rule;

static bool check_rules(st_framework framework, const start_rule *rules, size_t count,
                        st_errors *errors)
{
    bool fine = true;
    for (size_t i = 0; i < count; i++)
        if (rules[i].fails)
            fine = fw_refuse(errors, framework, rules[i].found, rules[i].reason, rules[i].nearest);
    return fine;
}

static bool check_stages(st_framework framework, const start_plan *plan, st_errors *errors)
{
    const bool ends = plan->first > 0 || plan->last > 0;
    const start_rule rules[] = {
        {!has_equal_stages(plan),
         st_errors_text(errors, "%g layers on %g stages of %g chunks", plan->layers, plan->pp,
                        plan->chunks),
         "it asserts equal stages of equal chunks, but for the ends",
         "a parallel.layout, or stages that divide the layers"},
        {(ends || plan->has_layout) && plan->counted > 0,
         "parallel.account_embedding or account_loss with another split of layers",
         "it takes one of them", ST_KEY_PARALLEL_ACCOUNT_LOSS "=false"},
        {plan->is_hybrid && framework == ST_MEGATRON &&
             fw_release_has(plan->release, "hybrid-layer-pattern") &&
             (plan->chunks > 1 || plan->has_layout || plan->counted > 0 || ends),
         "a split of a hybrid's layers",
         "'|' in its pattern say it since 0.19, which is not exported",
         ST_KEY_PARALLEL_VIRTUAL_STAGES "=1"},
        {plan->is_hybrid && plan->experts > 0 && strcmp(plan->release->version, "0.14") == 0,
         "a hybrid with experts", "release 0.14 asserts that models of a --spec have none",
         "release 0.16"},
    };
    return check_rules(framework, rules, ST_COUNT(rules), errors);
}

static bool check_experts(st_framework framework, const start_plan *plan, st_errors *errors)
{
    const st_job *job = plan->job;
    const bool overlaps = st_job_number(job, ST_KEY_OVERLAP_EP) > 0;
    const bool full = fw_is(job, ST_KEY_RECOMPUTE, "full");
    const double expert_tp = st_job_number(job, ST_KEY_PARALLEL_EXPERT_TP);
    const start_rule rules[] = {
        {plan->experts > 0 && !fw_is(job, ST_KEY_PRECISION_WEIGHTS, "bf16"),
         "experts in another type than bf16", "its grouped products require bf16",
         ST_KEY_PRECISION_WEIGHTS "=bf16"},
        {overlaps && plan->ep <= 1, "overlap.ep without expert parallelism",
         "--overlap-moe-expert-parallel-comm requires it", ST_KEY_OVERLAP_EP "=0"},
        {overlaps && plan->pp > 1 && plan->chunks <= 1 && !plan->has_layout,
         "overlap.ep with stages of one chunk",
         "--overlap-moe-expert-parallel-comm requires interleaved stages", ST_KEY_OVERLAP_EP "=0"},
        {overlaps && full, "overlap.ep with full recomputation",
         "--overlap-moe-expert-parallel-comm excludes it", ST_KEY_OVERLAP_EP "=0"},
        {overlaps && fw_is(job, ST_KEY_PARALLEL_DISPATCHER, "allgather"),
         "overlap.ep with parallel.dispatcher=allgather",
         "--overlap-moe-expert-parallel-comm requires all-to-all or flex",
         ST_KEY_PARALLEL_DISPATCHER "=alltoall"},
        {plan->experts > 0 && fw_is(job, ST_KEY_MODEL_BIAS, "true") &&
             (expert_tp > 0 ? expert_tp : plan->tp) > 1,
         "experts with biases and tensor parallelism", "it has them with one rank per expert only",
         ST_KEY_PARALLEL_EXPERT_TP "=1"},
    };
    return check_rules(framework, rules, ST_COUNT(rules), errors);
}

static bool check_splits(st_framework framework, const start_plan *plan, st_errors *errors)
{
    const st_job *job = plan->job;
    const double kv = st_job_number(job, ST_KEY_MODEL_KV_HEADS);
    const start_rule rules[] = {
        {plan->tp > 1 && kv > 0 && !divides(plan->tp, kv) && !divides(kv, plan->tp),
         "tensor parallelism over groups of queries", "one must be a multiple of the other",
         ST_KEY_PARALLEL_TP "=1"},
        {plan->tp > kv && kv > 0 && st_job_number(job, ST_KEY_MODEL_KV_LORA) == 0 &&
             strcmp(plan->release->version, "0.14") == 0,
         "more tensor-parallel ranks than key heads", "release 0.14 asserts a multiple of them",
         "release 0.16"},
        {plan->cp > 1 && !divides(2 * plan->cp, st_job_number(job, ST_KEY_BATCH_SEQUENCE)),
         "this sequence with context parallelism", "it asserts a multiple of 2 x parallel.cp",
         ST_KEY_PARALLEL_CP "=1"},
        {plan->cp > 1 && fw_is(job, ST_KEY_PARALLEL_CP_METHOD, "hierarchical"),
         ST_KEY_PARALLEL_CP_METHOD "=hierarchical",
         "it also needs the sizes of both levels, which no key says",
         ST_KEY_PARALLEL_CP_METHOD "=ring"},
        {plan->cp > 1 && st_job_number(job, ST_KEY_MODEL_DELTA_K_HEADS) > 0,
         "gated delta nets with context parallelism", "it does not split them along the sequence",
         ST_KEY_PARALLEL_CP "=1"},
        {st_job_number(job, ST_KEY_OVERLAP_TP) > 0 &&
             (plan->tp == 1 || !fw_is(job, ST_KEY_PARALLEL_SEQUENCE_PARALLEL, "true")),
         "overlap.tp without sequence parallelism", "--tp-comm-overlap requires it",
         ST_KEY_OVERLAP_TP "=0"},
    };
    return check_rules(framework, rules, ST_COUNT(rules), errors);
}

static bool check_rest(st_framework framework, const start_plan *plan, st_errors *errors)
{
    const st_job *job = plan->job;
    const bool muon = fw_is(job, ST_KEY_OPTIMIZER, "muon");
    const bool early = strcmp(plan->release->version, "0.16") == 0;
    const bool layers = fw_is(job, ST_KEY_GRAPHS, "layer") || fw_is(job, ST_KEY_GRAPHS, "scoped");
    const bool full = fw_is(job, ST_KEY_RECOMPUTE, "full");
    const bool low = fw_is(job, ST_KEY_PRECISION_FP8, "true") ||
                     fw_is(job, ST_KEY_PRECISION_RECIPE, "fp8_delayed") ||
                     fw_is(job, ST_KEY_PRECISION_RECIPE, "fp8_current") ||
                     fw_is(job, ST_KEY_PRECISION_RECIPE, "fp8_block") ||
                     fw_is(job, ST_KEY_PRECISION_RECIPE, "mxfp8");
    const start_rule rules[] = {
        {layers && strcmp(plan->release->version, "0.14") == 0 &&
             !fw_is(job, ST_KEY_RECOMPUTE, "none"),
         "graphs of layers with recomputation", "release 0.14 excludes one another",
         ST_KEY_RECOMPUTE "=none"},
        {layers && fw_is(job, ST_KEY_RECOMPUTED_ATTENTION, "true") &&
             fw_is(job, ST_KEY_MODEL_DROPOUT, "true"),
         "recomputed.attention with dropout in graphs", "it excludes one another",
         ST_KEY_RECOMPUTED_ATTENTION "=false"},
        {full && layers, "graphs of layers with full recomputation", "it excludes one another",
         "graphs=none"},
        {fw_is(job, ST_KEY_GRAPHS, "scoped") && fw_is(job, ST_KEY_RECOMPUTED_MOE, "true") &&
             fw_is(job, ST_KEY_RECOMPUTE, "selective"),
         "recomputed.moe with graphs=scoped", "its graphs hold the router",
         ST_KEY_RECOMPUTED_MOE "=false"},
        {early && plan->ep > 1 && fw_is(job, ST_KEY_GRAPHS, "layer"),
         "graphs=layer with expert parallelism", "it asserts graphs of parts of a layer",
         "graphs=scoped"},
        {muon && plan->zero > 1, "optimizer=muon with sharded gradients",
         "its FSDP knows Adam and SGD", ST_KEY_PARALLEL_ZERO "=1"},
        {muon && early && (plan->zero > 0 || st_job_number(job, ST_KEY_OVERLAP_GRADIENTS) > 0),
         "optimizer=muon with split states or overlap.gradients", "release 0.16 has neither",
         ST_KEY_PARALLEL_ZERO "=0 " ST_KEY_OVERLAP_GRADIENTS "=0"},
        {st_job_number(job, ST_KEY_PRECISION_FIRST_LAST_BF16) > 0 &&
             (fw_is(job, ST_KEY_PRECISION_RECIPE, "fp8_delayed") ||
              (fw_is(job, ST_KEY_PRECISION_RECIPE, "default") &&
               fw_is(job, ST_KEY_PRECISION_FP8, "true"))),
         "precision.first_last_bf16 with delayed scaling", "it asserts another recipe",
         ST_KEY_PRECISION_FIRST_LAST_BF16 "=0"},
        {fw_is(job, ST_KEY_PRECISION_GATHER, "fp8") && !low,
         ST_KEY_PRECISION_GATHER "=fp8 without a recipe of FP8", "it requires one",
         ST_KEY_PRECISION_GATHER "=weights"},
        {st_job_number(job, ST_KEY_MODEL_MTP) > 0 && st_job_number(job, ST_KEY_MODEL_POSITIONS) > 0,
         "multi-token prediction with learned positions", "it knows rotary ones or none",
         ST_KEY_MODEL_MTP "=0"},
    };
    return check_rules(framework, rules, ST_COUNT(rules), errors);
}

bool fw_check_start(st_framework framework, const st_job *job, const fw_release *release,
                    st_errors *errors)
{
    st_arena *arena = st_arena_create();
    const start_plan plan = {
        .job = job,
        .release = release,
        .layers = st_job_number(job, ST_KEY_MODEL_LAYERS),
        .tp = st_job_number(job, ST_KEY_PARALLEL_TP),
        .pp = st_job_number(job, ST_KEY_PARALLEL_PP),
        .cp = st_job_number(job, ST_KEY_PARALLEL_CP),
        .ep = st_job_number(job, ST_KEY_PARALLEL_EP),
        .chunks = fmax(1, st_job_number(job, ST_KEY_PARALLEL_VIRTUAL_STAGES)),
        .first = st_job_number(job, ST_KEY_PARALLEL_FIRST_STAGE_LAYERS),
        .last = st_job_number(job, ST_KEY_PARALLEL_LAST_STAGE_LAYERS),
        .zero = st_job_number(job, ST_KEY_PARALLEL_ZERO),
        .experts = st_job_number(job, ST_KEY_MODEL_EXPERTS),
        .counted = (fw_is(job, ST_KEY_PARALLEL_ACCOUNT_EMBEDDING, "true") ? 1 : 0) +
                   (fw_is(job, ST_KEY_PARALLEL_ACCOUNT_LOSS, "true") ? 1 : 0),
        .has_layout = fw_is(job, ST_KEY_PARALLEL_LAYOUT, "*") ||
                      (arena != NULL && fw_ends_layout(job, arena) != NULL),
        .is_hybrid = fw_is(job, ST_KEY_MODEL_HYBRID, "true"),
    };
    st_arena_destroy(arena);
    const bool stages = check_stages(framework, &plan, errors);
    const bool experts = check_experts(framework, &plan, errors);
    const bool splits = check_splits(framework, &plan, errors);
    return check_rest(framework, &plan, errors) && stages && experts && splits;
}
