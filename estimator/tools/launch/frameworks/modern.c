/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of Megatron-LM of 2024 and later, where a value of a key is more than one argument or
 * depends on others; import/megatron_modern.c reads them back.
 */
#include "launch/frameworks/settings.h"

#include "steptime/keys.h"

#include <inttypes.h>
#include <string.h>

void fw_set_count(megatron_run *settings, const char *name, uint64_t count)
{
    megatron_set(settings, name, st_draft_text(settings->draft, "%" PRIu64, count), 0);
}

static void put_recipe(const st_job *job, megatron_run *arguments)
{
    const uint64_t ends = (uint64_t)st_job_number(job, ST_KEY_PRECISION_FIRST_LAST_BF16);
    if (fw_is(job, ST_KEY_PRECISION_RECIPE, "default") && fw_is(job, ST_KEY_PRECISION_FP8, "true"))
        megatron_set(arguments, "fp8_format", "hybrid", 0);
    for (size_t i = 0; i < MEGATRON_RECIPES; i++)
        if (fw_is(job, ST_KEY_PRECISION_RECIPE, megatron_recipes[i].value)) {
            megatron_set(arguments, "fp8_format", i < 2 ? "hybrid" : "e4m3", 0);
            megatron_set(arguments, "fp8_recipe", megatron_recipes[i].word, 0);
        }
    if (fw_is(job, ST_KEY_PRECISION_RECIPE, "nvfp4"))
        megatron_set(arguments, "fp4_format", "e2m1", 0);
    if (ends == 0)
        return;
    megatron_set(arguments, "first_last_layers_bf16", "True", 0);
    fw_set_count(arguments, "num_layers_at_start_in_bf16", ends);
    fw_set_count(arguments, "num_layers_at_end_in_bf16", ends);
}

void fw_put_modern(const st_job *job, megatron_run *arguments)
{
    put_recipe(job, arguments);
    const char *kind = fw_text(arguments->draft, job, ST_KEY_PARALLEL_DISPATCHER);
    bool flex = strcmp(kind, "deepep") == 0 || strcmp(kind, "hybridep") == 0;
    if (st_job_number(job, ST_KEY_MODEL_EXPERTS) != 0) {
        megatron_set(arguments, "moe_token_dispatcher_type", flex ? "flex" : kind, 0);
        if (flex)
            megatron_set(arguments, "moe_flex_dispatcher_backend", kind, 0);
    }
    const uint64_t layers = (uint64_t)st_job_number(job, ST_KEY_RECOMPUTED_LAYERS);
    const char *list = "";
    if (fw_is(job, ST_KEY_RECOMPUTE, "full")) {
        megatron_set(arguments, "recompute_method", layers > 0 ? "block" : "uniform", 0);
        fw_set_count(arguments, "recompute_num_layers", layers > 0 ? layers : 1);
    }
    for (size_t i = 0; i < MEGATRON_MODULES; i++)
        if (fw_is(job, megatron_modules[i].value, "true"))
            list = st_draft_text(arguments->draft, "%s%s%s", list, list[0] != '\0' ? " " : "",
                                 megatron_modules[i].word);
    if (list[0] != '\0' && fw_is(job, ST_KEY_RECOMPUTE, "selective"))
        megatron_set(arguments, "recompute_modules", list, 0);
    if (fw_is(job, ST_KEY_GRAPHS, "layer"))
        megatron_set(arguments, "cuda_graph_impl", "local", 0);
    else if (fw_is(job, ST_KEY_GRAPHS, "full"))
        megatron_set(arguments, "cuda_graph_impl", "full_iteration", 0);
    if (fw_is(job, ST_KEY_GRAPHS, "scoped")) {
        bool experts = st_job_number(job, ST_KEY_MODEL_EXPERTS) > 0;
        bool mamba = st_job_number(job, ST_KEY_MODEL_MAMBA_HEADS) > 0;
        megatron_set(arguments, "cuda_graph_impl", "transformer_engine", 0);
        megatron_set(arguments, "cuda_graph_scope",
                     st_draft_text(arguments->draft, "attn%s%s", mamba ? " mamba" : "",
                                   experts ? " moe_router moe_preprocess" : ""),
                     0);
    }
    const uint64_t shard = (uint64_t)st_job_number(job, ST_KEY_PARALLEL_SHARD);
    const uint64_t dp =
        (uint64_t)(st_job_number(job, ST_KEY_PARALLEL_DP) * st_job_number(job, ST_KEY_PARALLEL_CP));
    if (shard > 0 && shard < dp && dp % shard == 0)
        fw_set_count(arguments, "num_distributed_optimizer_instances", dp / shard);
    if (fw_is(job, ST_KEY_PRECISION_MASTER, "fp16")) {
        megatron_set(arguments, "use_precision_aware_optimizer", "True", 0);
        megatron_set(arguments, "main_params_dtype", "fp16", 0);
    }
}
