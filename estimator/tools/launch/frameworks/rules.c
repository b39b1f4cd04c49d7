/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a framework does not run, and why: combinations of its options that it refuses, and keys for
 * which it has no option. The nearest plan that it runs is named with each.
 */
#include "launch/frameworks/settings.h"

#include "base/same.h"
#include "steptime/tool/value_text.h"

#include <math.h>
#include <string.h>

static const char *const titles[] = {"Megatron-LM", "Megatron-Bridge", "torchtitan", "DeepSpeed"};
static const char *const names[] = {"megatron", "megatron-bridge", "torchtitan", "deepspeed"};

const char *fw_title(st_framework framework)
{
    return titles[framework];
}

const char *st_framework_name(st_framework framework)
{
    return names[framework];
}

bool fw_refuse(st_errors *errors, st_framework framework, const char *found, const char *reason,
               const char *nearest)
{
    (void)st_fail(errors, ST_ERR_VALUE, (st_place){0}, "%s cannot run %s: %s" ST_HINT "%s",
                  titles[framework], found, reason,
                  nearest[0] != '\0' ? st_or_none(st_errors_text(errors,
                                                                 "the nearest plan that it "
                                                                 "runs has %s",
                                                                 nearest))
                                     : "");
    return false;
}

/* ---- keys without an option ---- */

typedef struct key_reason {
    st_framework framework; /* ST_FRAMEWORKS: of all */
    const char *key;
    const char *reason;
} key_reason;

static const key_reason reasons[] = {
    {ST_FRAMEWORKS, "model.layer_list", "a model of tensors, not of transformer layers"},
    {ST_FRAMEWORKS, "model.causal", "its models are causal"},
    {ST_FRAMEWORKS, "parallel.dp", "the ranks do not fill nodes of cluster.gpus_per_node"},
    {ST_FRAMEWORKS, "parallel.order", "it numbers ranks in an order of its own"},
    {ST_FRAMEWORKS, "offload.activations", "it chooses modules that wait in host memory, no share"},
    {ST_FRAMEWORKS, "train.task", "its launch of adapters is not written"},
    {ST_FRAMEWORKS, "train.sample", "how samples are packed is a part of its data"},
    {ST_FRAMEWORKS, "model.o_lora", "the order of DeepSeek-V4's layers is not in the job"},
    {ST_FRAMEWORKS, "model.compressed_layers", "the order of such layers is not in the job"},
    {ST_MEGATRON_BRIDGE, "precision.gather", "its recipe of mixed precision decides that"},
    {ST_MEGATRON, "parallel.schedule", "its schedules are 1F1B and interleaved 1F1B"},
    {ST_MEGATRON_BRIDGE, "parallel.schedule", "its schedules are 1F1B and interleaved 1F1B"},
    {ST_DEEPSPEED, "parallel.schedule", "its pipeline engine has 1F1B alone"},
    {ST_DEEPSPEED, "parallel.virtual_stages", "its pipeline engine does not interleave chunks"},
    {ST_DEEPSPEED, "parallel.first_stage_layers",
     "its pipeline engine shares layers out evenly, so that they have to divide by the stages"},
    {ST_DEEPSPEED, "parallel.last_stage_layers",
     "its pipeline engine shares layers out evenly, so that they have to divide by the stages"},
    {ST_DEEPSPEED, "parallel.cp",
     "it has no ring attention; its Ulysses exchanges heads, which is another plan"},
    {ST_DEEPSPEED, "parallel.expert_tp", "Megatron-DeepSpeed has no option for it"},
    {ST_DEEPSPEED, "model.kv_lora", "Megatron-DeepSpeed has no multi-head latent attention"},
    {ST_DEEPSPEED, "model.expert_ffn", "its experts are as wide as the MLP"},
    {ST_DEEPSPEED, "model.shared_ffn", "it has no shared experts"},
    {ST_DEEPSPEED, "precision.fp8", "Megatron-DeepSpeed has no FP8 layers"},
    {ST_DEEPSPEED, "precision.optimizer", "its Adam keeps moments in fp32"},
    {ST_TORCHTITAN, "precision.optimizer", "its AdamW keeps moments in fp32"},
    {ST_TORCHTITAN, "precision.gradients", "FSDP reduces in float32 there"},
    {ST_TORCHTITAN, "attention", "its attention is fused (scaled_dot_product_attention)"},
    {ST_TORCHTITAN, "parallel.sequence_parallel",
     "its tensor parallelism always splits norms along the sequence"},
    {ST_TORCHTITAN, "parallel.schedule",
     "with one chunk on a rank its schedules are GPipe and 1F1B, with several interleaved 1F1B"},
};

const char *fw_reason(st_framework framework, const char *key)
{
    for (size_t i = 0; i < ST_COUNT(reasons); i++)
        if ((reasons[i].framework == framework || reasons[i].framework == ST_FRAMEWORKS) &&
            strcmp(reasons[i].key, key) == 0)
            return reasons[i].reason;
    return "it has no option for that";
}

/* ---- keys that are carried ---- */

bool fw_is_carried(st_framework framework, const char *key)
{
    static const char *const carried[] = {
        "name",
        "sheet",
        "refine",
        "isolate",
        "model.name",
        "model.imbalance",
        "precision.communication",
        "parallel.scatter_gather",
        "precision.fused_wgrad",
        "train.tokens",
    };
    for (size_t i = 0; i < ST_COUNT(carried); i++)
        if (strcmp(key, carried[i]) == 0)
            return true;
    if (st_begins(key, "overlap.") || st_begins(key, "measured.") || st_begins(key, "cluster."))
        return true;
    if (framework == ST_TORCHTITAN && st_begins(key, "model."))
        return true; /* its models are Python; fw_torchtitan_check looks at them */
    return framework == ST_MEGATRON_BRIDGE && strcmp(key, "parallel.dp") == 0;
}

/* ---- combinations ---- */

typedef struct plan_numbers {
    double pp, tp, zero, chunks, experts;
    double micro_batches;
} plan_numbers;

/* Megatron's interleaved schedule sends micro-batches in groups of as many as there are stages, and
 * refuses at its start a last group of fewer. */
static bool check_interleaving(st_framework framework, const st_job *job, plan_numbers plan,
                               st_errors *errors)
{
    if (plan.chunks <= 1 || plan.pp <= 1 || fmod(plan.micro_batches, plan.pp) == 0)
        return true;
    double nearest = fmax(plan.pp, plan.pp * round(plan.micro_batches / plan.pp));
    double each = st_job_number(job, "batch.global") / plan.micro_batches;
    return fw_refuse(errors, framework,
                     st_errors_text(errors, "%g micro-batches with %g interleaved stages",
                                    plan.micro_batches, plan.pp),
                     "its interleaved schedule needs a multiple of the stages",
                     st_errors_text(errors,
                                    "batch.global=%.0f (%g micro-batches) or "
                                    "parallel.virtual_stages=1",
                                    nearest * each, nearest));
}

static bool check_megatron(st_framework framework, const st_job *job, plan_numbers plan,
                           st_errors *errors)
{
    bool fine = true;
    if (plan.zero > 1 && plan.pp > 1)
        fine = fw_refuse(errors, framework, "parallel.zero above 1 with pipeline stages",
                         "its FSDP, which splits gradients and weights, has no pipeline",
                         "parallel.zero=1");
    if (plan.zero == 0 && !fw_is(job, "precision.optimizer", "fp32"))
        fine = fw_refuse(errors, framework, "precision.optimizer below fp32 with parallel.zero=0",
                         "moments below fp32 are a part of the distributed optimizer",
                         "parallel.zero=1");
    if (plan.zero > 0 && st_job_number(job, "overlap.parameters") > 0 &&
        st_job_number(job, "overlap.gradients") == 0)
        fine =
            fw_refuse(errors, framework, "overlap.parameters without overlap.gradients",
                      "--overlap-param-gather needs --overlap-grad-reduce", "overlap.gradients=1");
    if (plan.experts > 0 && plan.tp > 1 && !fw_is(job, "parallel.sequence_parallel", "true"))
        fine = fw_refuse(errors, framework,
                         "experts with parallel.tp above 1 and no sequence "
                         "parallelism",
                         "its MoE layers need it", "parallel.sequence_parallel=true");
    if (plan.chunks > 1 && plan.pp == 1)
        fine = fw_refuse(errors, framework, "parallel.virtual_stages above 1 without a pipeline",
                         "chunks are of pipeline ranks", "parallel.virtual_stages=1");
    return check_interleaving(framework, job, plan, errors) && fine;
}

static bool check_deepspeed(plan_numbers plan, st_errors *errors)
{
    bool fine = true;
    if (plan.zero > 1 && plan.pp > 1)
        fine = fw_refuse(errors, ST_DEEPSPEED, "parallel.zero above 1 with pipeline stages",
                         "its pipeline engine accumulates whole gradients", "parallel.zero=1");
    if (plan.experts > 0 && plan.pp > 1)
        fine = fw_refuse(errors, ST_DEEPSPEED, "experts with pipeline stages",
                         "Megatron-DeepSpeed trains them without its pipeline engine",
                         "parallel.pp=1");
    return fine;
}

static bool has_values(st_framework framework, const st_job *job, st_errors *errors)
{
    static const char *const needed[] = {"model.layers",   "model.hidden", "model.heads",
                                         "batch.sequence", "batch.global", "batch.micro",
                                         "recompute"};
    bool fine = true;
    if (!fw_has(job, "model.layers") && fw_has(job, "model.layer_list"))
        return fw_refuse(errors, framework, "a model of model.layer_list",
                         fw_reason(framework, "model.layer_list"), "");
    for (size_t i = 0; i < ST_COUNT(needed); i++)
        if (!fw_has(job, needed[i])) {
            (void)st_fail(errors, ST_ERR_VALUE, (st_place){0},
                          "%s of job %s has no value, and a launch needs it" ST_HINT
                          "give it with --set %s=VALUE%s",
                          needed[i], st_job_name(job), needed[i],
                          i < 5 ? "" : "; 'steptime search' finds one");
            fine = false;
        }
    return fine;
}

/* A schedule that no formula knows: that of a plugin, or one that is laid out only. */
static bool check_schedule(st_framework framework, const st_job *job, st_errors *errors)
{
    const st_job_value *value = st_job_value_of(job, "parallel.schedule");
    const st_value_text text = {.text = value->text != NULL ? value->text : "",
                                .length = strlen(st_or_none(value->text))};
    if (!st_value_is_laid_out(value->key, &text))
        return true;
    return fw_refuse(errors, framework, st_errors_text(errors, "parallel.schedule=%s", text.text),
                     fw_reason(framework, "parallel.schedule"), "parallel.schedule=1f1b");
}

/* A mean over tokens is what a gate makes of an option, and no option. */
static bool check_experts(st_framework framework, const st_job *job, st_errors *errors)
{
    double visited = st_job_number(job, "model.top_k");
    return visited == floor(visited) ||
           fw_refuse(errors, framework, st_errors_text(errors, "model.top_k=%g", visited),
                     "a token visits a whole number of experts",
                     st_errors_text(errors, "model.top_k=%.0f", ceil(visited)));
}

bool fw_check(st_framework framework, const st_job *job, st_errors *errors)
{
    const plan_numbers plan = {.pp = st_job_number(job, "parallel.pp"),
                               .tp = st_job_number(job, "parallel.tp"),
                               .zero = st_job_number(job, "parallel.zero"),
                               .chunks = st_job_number(job, "parallel.virtual_stages"),
                               .experts = st_job_number(job, "model.experts"),
                               .micro_batches = st_job_number(job, "batch.global") /
                                                st_job_number(job, "parallel.dp") /
                                                st_job_number(job, "batch.micro")};
    if (!has_values(framework, job, errors) || !check_schedule(framework, job, errors) ||
        !check_experts(framework, job, errors))
        return false;
    if (framework == ST_TORCHTITAN)
        return true; /* torchtitan.c has its rules */
    return framework == ST_DEEPSPEED ? check_deepspeed(plan, errors)
                                     : check_megatron(framework, job, plan, errors);
}
