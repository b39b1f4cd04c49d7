/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a framework cannot run, and why: combinations of options that it refuses, and keys without
 * an option. Each names the nearest plan that it runs.
 */
#include "launch/frameworks/settings.h"

#include "base/chars.h"
#include "steptime/keys.h"
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
    {ST_FRAMEWORKS, ST_KEY_MODEL_LAYER_LIST, "a model of tensors, not of transformer layers"},
    {ST_FRAMEWORKS, ST_KEY_MODEL_CAUSAL, "its models are causal"},
    {ST_FRAMEWORKS, ST_KEY_PARALLEL_DP, "the ranks do not fill nodes of cluster.gpus_per_node"},
    {ST_FRAMEWORKS, ST_KEY_PARALLEL_ORDER, "it numbers ranks in an order of its own"},
    {ST_FRAMEWORKS, ST_KEY_OFFLOAD_ACTIVATIONS,
     "it offloads whole modules to host memory, not a share"},
    {ST_FRAMEWORKS, ST_KEY_TRAIN_TASK, "exporting adapters is not supported"},
    {ST_FRAMEWORKS, ST_KEY_TRAIN_SAMPLE, "its data defines how samples are packed"},
    {ST_FRAMEWORKS, ST_KEY_MODEL_O_LORA, "the order of DeepSeek-V4's layers is not in the job"},
    {ST_FRAMEWORKS, ST_KEY_MODEL_COMPRESSED_LAYERS, "the order of such layers is not in the job"},
    {ST_MEGATRON, ST_KEY_PARALLEL_SCHEDULE, "its schedules are 1F1B and interleaved 1F1B"},
    {ST_MEGATRON_BRIDGE, ST_KEY_PARALLEL_SCHEDULE, "its schedules are 1F1B and interleaved 1F1B"},
    {ST_DEEPSPEED, ST_KEY_PARALLEL_SCHEDULE, "its pipeline engine has only 1F1B"},
    {ST_DEEPSPEED, ST_KEY_PARALLEL_VIRTUAL_STAGES,
     "its pipeline engine does not interleave chunks"},
    {ST_DEEPSPEED, ST_KEY_PARALLEL_FIRST_STAGE_LAYERS,
     "its pipeline engine needs a multiple of the stages as the number of layers"},
    {ST_DEEPSPEED, ST_KEY_PARALLEL_LAST_STAGE_LAYERS,
     "its pipeline engine needs a multiple of the stages as the number of layers"},
    {ST_DEEPSPEED, ST_KEY_PARALLEL_CP,
     "it has no ring attention; its Ulysses exchanges heads instead"},
    {ST_DEEPSPEED, ST_KEY_PARALLEL_EXPERT_TP, "Megatron-DeepSpeed has no option for it"},
    {ST_DEEPSPEED, ST_KEY_MODEL_KV_LORA, "Megatron-DeepSpeed has no multi-head latent attention"},
    {ST_DEEPSPEED, ST_KEY_MODEL_EXPERT_FFN, "its experts are as wide as the MLP"},
    {ST_DEEPSPEED, ST_KEY_MODEL_SHARED_FFN, "it has no shared experts"},
    {ST_DEEPSPEED, ST_KEY_PRECISION_FP8, "Megatron-DeepSpeed has no FP8 layers"},
    {ST_DEEPSPEED, ST_KEY_PRECISION_OPTIMIZER, "its Adam keeps moments in fp32"},
    {ST_TORCHTITAN, ST_KEY_PRECISION_OPTIMIZER, "its AdamW keeps moments in fp32"},
    {ST_TORCHTITAN, ST_KEY_PRECISION_GRADIENTS, "FSDP reduces in float32 there"},
    {ST_TORCHTITAN, ST_KEY_ATTENTION, "its attention is fused (scaled_dot_product_attention)"},
    {ST_TORCHTITAN, ST_KEY_PARALLEL_SEQUENCE_PARALLEL,
     "its tensor parallelism always splits norms along the sequence"},
    {ST_TORCHTITAN, ST_KEY_PARALLEL_SCHEDULE,
     "its schedules are GPipe and 1F1B with one chunk per rank, interleaved 1F1B with several"},
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
        ST_KEY_NAME,
        ST_KEY_STACK_RELEASE,
        ST_KEY_SHEET,
        ST_KEY_REFINE,
        ST_KEY_ISOLATE,
        ST_KEY_MODEL_NAME,
        ST_KEY_MODEL_IMBALANCE,
        ST_KEY_PRECISION_COMMUNICATION,
        ST_KEY_PARALLEL_SCATTER_GATHER,
        ST_KEY_PRECISION_FUSED_WGRAD,
        ST_KEY_TRAIN_TOKENS,
    };
    for (size_t i = 0; i < ST_COUNT(carried); i++)
        if (strcmp(key, carried[i]) == 0)
            return true;
    if (st_begins(key, ST_KEY_OVERLAP ".") || st_begins(key, ST_KEY_MEASURED ".") ||
        st_begins(key, ST_KEY_CLUSTER "."))
        return true;
    if (framework == ST_TORCHTITAN && st_begins(key, ST_KEY_MODEL "."))
        return true; /* its models are Python; fw_torchtitan_check looks at them */
    /* Its recipe of mixed precision gathers as the rules of megatron-bridge say. */
    return framework == ST_MEGATRON_BRIDGE &&
           (strcmp(key, ST_KEY_PARALLEL_DP) == 0 || strcmp(key, ST_KEY_PRECISION_GATHER) == 0);
}

/* ---- what a launch needs ---- */

static bool has_values(st_framework framework, const st_job *job, st_errors *errors)
{
    static const char *const needed[] = {
        ST_KEY_MODEL_LAYERS, ST_KEY_MODEL_HIDDEN, ST_KEY_MODEL_HEADS, ST_KEY_BATCH_SEQUENCE,
        ST_KEY_BATCH_GLOBAL, ST_KEY_BATCH_MICRO,  ST_KEY_RECOMPUTE};
    bool fine = true;
    if (!fw_has(job, ST_KEY_MODEL_LAYERS) && fw_has(job, ST_KEY_MODEL_LAYER_LIST))
        return fw_refuse(errors, framework, "a model of model.layer_list",
                         fw_reason(framework, ST_KEY_MODEL_LAYER_LIST), "");
    for (size_t i = 0; i < ST_COUNT(needed); i++)
        if (!fw_has(job, needed[i])) {
            (void)st_fail(errors, ST_ERR_VALUE, (st_place){0},
                          "a launch needs %s, which job %s does not set" ST_HINT
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
    const st_job_value *value = st_job_value_of(job, ST_KEY_PARALLEL_SCHEDULE);
    const st_value_text text = {.text = value->text != NULL ? value->text : "",
                                .length = strlen(st_or_none(value->text))};
    if (!st_value_is_laid_out(value->key, &text))
        return true;
    return fw_refuse(
        errors, framework, st_errors_text(errors, ST_KEY_PARALLEL_SCHEDULE "=%s", text.text),
        fw_reason(framework, ST_KEY_PARALLEL_SCHEDULE), ST_KEY_PARALLEL_SCHEDULE "=1f1b");
}

bool fw_check(st_framework framework, const st_job *job, st_errors *errors)
{
    if (!has_values(framework, job, errors) || !check_schedule(framework, job, errors))
        return false;
    const fw_ranks ranks = fw_ranks_of(job);
    if (ranks.per_node > 0 && ranks.world % ranks.per_node != 0)
        return fw_refuse(errors, framework,
                         st_errors_text(errors, ST_KEY_PARALLEL_DP "=%g",
                                        st_job_number(job, ST_KEY_PARALLEL_DP)),
                         fw_reason(framework, ST_KEY_PARALLEL_DP), "");
    /* A mean over tokens is what a gate makes of an option, and no option. */
    double visited = st_job_number(job, ST_KEY_MODEL_TOP_K);
    if (visited != floor(visited) &&
        !fw_refuse(errors, framework, st_errors_text(errors, ST_KEY_MODEL_TOP_K "=%g", visited),
                   "a token visits a whole number of experts",
                   st_errors_text(errors, ST_KEY_MODEL_TOP_K "=%.0f", ceil(visited))))
        return false;
    const char *features =
        fw_has(job, ST_KEY_MODEL_FEATURES) ? st_job_value_of(job, ST_KEY_MODEL_FEATURES)->text : "";
    if (features[0] != '\0') {
        (void)st_fail(errors, ST_ERR_VALUE, (st_place){0},
                      "%s has no option for what defines this model" ST_FOUND "%s" ST_HINT
                      "write the launch without it with --set " ST_KEY_MODEL_FEATURES "=",
                      titles[framework], features);
        return false;
    }
    return true;
}
