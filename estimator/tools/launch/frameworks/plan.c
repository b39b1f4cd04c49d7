/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of Megatron-LM that run a job. One table says which argument a value of a key is;
 * import/megatron_*.c read them back.
 */
#include "launch/frameworks/settings.h"

#include "launch/import/ends_layout.h"
#include "steptime/keys.h"

#include <inttypes.h>
#include <string.h>

static const fw_row model_rows[] = {
    {ST_KEY_MODEL_LAYERS, "*", "num_layers", NULL},
    {ST_KEY_MODEL_HIDDEN, "*", "hidden_size", NULL},
    {ST_KEY_MODEL_FFN, "*", "ffn_hidden_size", NULL},
    {ST_KEY_MODEL_HEADS, "*", "num_attention_heads", NULL},
    {ST_KEY_MODEL_KV_HEADS, "*", "group_query_attention", "True"},
    {ST_KEY_MODEL_KV_HEADS, "*", "num_query_groups", NULL},
    {ST_KEY_MODEL_BIAS, "false", "add_bias_linear", "False"},
    {ST_KEY_MODEL_NORM, "rms", "normalization", "RMSNorm"},
    {ST_KEY_MODEL_NORM, "layer", "normalization", "LayerNorm"},
    {ST_KEY_MODEL_DROPOUT, "false", "hidden_dropout", "0"},
    {ST_KEY_MODEL_DROPOUT, "false", "attention_dropout", "0"},
    {ST_KEY_MODEL_DROPOUT, "true", "hidden_dropout", "0.1"},
    {ST_KEY_MODEL_DROPOUT, "true", "attention_dropout", "0.1"},
    {ST_KEY_MODEL_TIED, "false", "untie_embeddings_and_output_weights", "True"},
    {ST_KEY_MODEL_VOCABULARY, "*", "vocab_size", NULL},
    {ST_KEY_MODEL_VOCABULARY_MULTIPLE, "*", "make_vocab_size_divisible_by", NULL},
    {ST_KEY_MODEL_EXPERTS, "*", "num_experts", NULL},
    {ST_KEY_MODEL_EXPERTS, "*", "moe_grouped_gemm", "True"},
    {ST_KEY_MODEL_TOP_K, "*", "moe_router_topk", NULL},
    {ST_KEY_MODEL_EXPERT_FFN, "*", "moe_ffn_hidden_size", NULL},
    {ST_KEY_MODEL_SHARED_FFN, "*", "moe_shared_expert_intermediate_size", NULL},
    {ST_KEY_MODEL_CAPACITY_FACTOR, "*", "moe_expert_capacity_factor", NULL},
    {ST_KEY_MODEL_MOE_LATENT, "*", "moe_latent_size", NULL},
    {ST_KEY_MODEL_SINKS, "true", "softmax_type", "learnable"},
    {ST_KEY_MODEL_GATED_ATTENTION, "true", "attention_output_gate", "True"},
    {ST_KEY_MODEL_MTP, "*", "mtp_num_layers", NULL},
    {ST_KEY_MODEL_MTP_SHARED, "true", "mtp_use_repeated_layer", "True"},
};

static const fw_row groups[] = {
    {ST_KEY_MODEL_EXPERT_GROUPS, "*", "moe_router_num_groups", NULL},
    {ST_KEY_MODEL_TOP_GROUPS, "*", "moe_router_group_topk", NULL},
};

static const fw_row cp_rows[] = {
    {ST_KEY_PARALLEL_CP_METHOD, "alltoall", "cp_comm_type", "a2a"},
    {ST_KEY_PARALLEL_CP_METHOD, "hierarchical", "cp_comm_type", "a2a+p2p"},
};

static const fw_row plan_rows[] = {
    {ST_KEY_PARALLEL_TP, "*", "tensor_model_parallel_size", NULL},
    {ST_KEY_PARALLEL_PP, "*", "pipeline_model_parallel_size", NULL},
    {ST_KEY_PARALLEL_CP, "*", "context_parallel_size", NULL},
    {ST_KEY_PARALLEL_OUTER_STATES, "true", "outer_dp_sharding_strategy", "optim"},
    {ST_KEY_PARALLEL_LAYOUT, "*", "pipeline_model_parallel_layout", NULL},
    {ST_KEY_PARALLEL_ACCOUNT_EMBEDDING, "true", "account_for_embedding_in_pipeline_split", "True"},
    {ST_KEY_PARALLEL_ACCOUNT_LOSS, "true", "account_for_loss_in_pipeline_split", "True"},
    {ST_KEY_PARALLEL_SCATTER_GATHER, "false", "scatter_gather_tensors_in_pipeline", "False"},
    {ST_KEY_PARALLEL_ORDER, "tp-cp-ep-pp-dp", "use_tp_pp_dp_mapping", "True"},
    {ST_KEY_BATCH_MICRO, "*", "micro_batch_size", NULL},
    {ST_KEY_BATCH_GLOBAL, "*", "global_batch_size", NULL},
    {ST_KEY_BATCH_SEQUENCE, "*", "seq_length", NULL},
    {ST_KEY_RECOMPUTE, "selective", "recompute_granularity", "selective"},
    {ST_KEY_RECOMPUTE, "full", "recompute_granularity", "full"},
    {ST_KEY_PRECISION_WEIGHTS, "bf16", "bf16", "True"},
    {ST_KEY_PRECISION_WEIGHTS, "fp16", "fp16", "True"},
    {ST_KEY_PRECISION_ATTENTION_FP8, "true", "fp8_dot_product_attention", "True"},
    {ST_KEY_PRECISION_GATHER, "fp8", "fp8_param_gather", "True"},
    {ST_KEY_PRECISION_GATHER, "fp4", "fp4_param_gather", "True"},
    {ST_KEY_OPTIMIZER, "muon", "optimizer", "dist_muon"},
    {ST_KEY_OFFLOAD_OPTIMIZER, "*", "optimizer_cpu_offload", "True"},
    {ST_KEY_OFFLOAD_OPTIMIZER, "*", "optimizer_offload_fraction", NULL},
    {ST_KEY_OFFLOAD_OPTIMIZER, "*", "use_precision_aware_optimizer", "True"},
    {ST_KEY_TRAIN_TASK, "sft", "sft", "True"},
    {ST_KEY_PRECISION_FUSED_WGRAD, "false", "gradient_accumulation_fusion", "False"},
    {ST_KEY_ATTENTION, "flash", "attention_backend", "flash"},
    {ST_KEY_ATTENTION, "unfused", "attention_backend", "unfused"},
    {ST_KEY_OVERLAP_GRADIENTS, "*", "overlap_grad_reduce", "True"},
};

#define COUNT_OF(rows) (sizeof(rows) / sizeof *(rows))

static uint64_t count_of(const st_job *job, const char *key)
{
    return (uint64_t)st_job_number(job, key);
}

fw_ranks fw_ranks_of(const st_job *job)
{
    const uint64_t used = count_of(job, ST_KEY_CLUSTER_GPUS_USED_PER_NODE);
    const uint64_t gpus = used > 0 ? used : count_of(job, ST_KEY_CLUSTER_GPUS_PER_NODE);
    fw_ranks ranks = {.world =
                          count_of(job, ST_KEY_PARALLEL_TP) * count_of(job, ST_KEY_PARALLEL_PP) *
                          count_of(job, ST_KEY_PARALLEL_CP) * count_of(job, ST_KEY_PARALLEL_DP)};
    ranks.per_node = gpus < ranks.world ? gpus : ranks.world;
    ranks.nodes = ranks.per_node > 0 ? (ranks.world + ranks.per_node - 1) / ranks.per_node : 0;
    return ranks;
}

const char *fw_ends_layout(const st_job *job, st_arena *arena)
{
    const uint64_t chunks = count_of(job, ST_KEY_PARALLEL_VIRTUAL_STAGES);
    const st_ends given = {.stages = count_of(job, ST_KEY_PARALLEL_PP),
                           .chunks = chunks > 0 ? chunks : 1,
                           .layers = count_of(job, ST_KEY_MODEL_LAYERS),
                           .first = count_of(job, ST_KEY_PARALLEL_FIRST_STAGE_LAYERS),
                           .last = count_of(job, ST_KEY_PARALLEL_LAST_STAGE_LAYERS),
                           .mtp = count_of(job, ST_KEY_MODEL_MTP)};
    return st_ends_layout(&given, arena);
}

static void put_splits(st_framework framework, const st_job *job, megatron_run *arguments)
{
    const uint64_t zero = count_of(job, ST_KEY_PARALLEL_ZERO);
    const fw_ranks ranks = fw_ranks_of(job);
    if (count_of(job, ST_KEY_PARALLEL_TP) > 1 &&
        fw_is(job, ST_KEY_PARALLEL_SEQUENCE_PARALLEL, "true"))
        megatron_set(arguments, "sequence_parallel", "True", 0);
    /* What nothing sends is not hidden. */
    if (count_of(job, ST_KEY_PARALLEL_TP) > 1 && st_job_number(job, ST_KEY_OVERLAP_TP) > 0)
        megatron_set(arguments, "tp_comm_overlap", "True", 0);
    if (count_of(job, ST_KEY_PARALLEL_EP) > 1 && st_job_number(job, ST_KEY_OVERLAP_EP) > 0)
        megatron_set(arguments, "overlap_moe_expert_parallel_comm", "True", 0);
    if (count_of(job, ST_KEY_MODEL_EXPERTS) > 0) {
        fw_set_count(arguments, "expert_model_parallel_size", count_of(job, ST_KEY_PARALLEL_EP));
        if (count_of(job, ST_KEY_PARALLEL_EXPERT_TP) > 0)
            fw_set_count(arguments, "expert_tensor_parallel_size",
                         count_of(job, ST_KEY_PARALLEL_EXPERT_TP));
    }
    /* A layout says itself how many chunks a rank has, and what lies on the ends. */
    static const fw_row ends[] = {
        {ST_KEY_PARALLEL_FIRST_STAGE_LAYERS, "*", "decoder_first_pipeline_num_layers", NULL},
        {ST_KEY_PARALLEL_LAST_STAGE_LAYERS, "*", "decoder_last_pipeline_num_layers", NULL},
    };
    const uint64_t chunks = count_of(job, ST_KEY_PARALLEL_VIRTUAL_STAGES);
    const char *layout = fw_ends_layout(job, arguments->draft->arena);
    if (layout != NULL && !fw_has(job, ST_KEY_PARALLEL_LAYOUT)) {
        megatron_set(arguments, "pipeline_model_parallel_layout", layout, 0);
    } else {
        fw_write_rows(arguments, job, ends, COUNT_OF(ends));
        if (chunks > 1 && !fw_has(job, ST_KEY_PARALLEL_LAYOUT))
            fw_set_count(arguments, "num_virtual_stages_per_pipeline_rank", chunks);
    }
    if (framework == ST_DEEPSPEED && count_of(job, ST_KEY_PARALLEL_PP) == 1)
        megatron_set(arguments, "no_pipeline_parallel", "True", 0);
    if (framework == ST_DEEPSPEED)
        fw_set_count(arguments, "zero_stage", zero);
    else if (zero > 0)
        megatron_set(arguments, "use_distributed_optimizer", "True", 0);
    if (framework != ST_DEEPSPEED && zero > 1) {
        megatron_set(arguments, "use_megatron_fsdp", "True", 0);
        megatron_set(arguments, "data_parallel_sharding_strategy",
                     zero == 2 ? "optim_grads" : "optim_grads_params", 0);
        megatron_set(arguments, "ckpt_format", "fsdp_dtensor", 0);
    }
    if (st_job_number(job, ST_KEY_OVERLAP_PARAMETERS) > 0 && zero > 0)
        megatron_set(arguments, "overlap_param_gather", "True", 0);
    if (framework != ST_MEGATRON_BRIDGE && ranks.per_node > 0) {
        fw_set_count(arguments, "nproc_per_node", ranks.per_node);
        fw_set_count(arguments, "nnodes", ranks.nodes);
    }
}

/* ---- arguments of 2024 and later ---- */

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

static void put_modern(const st_job *job, megatron_run *arguments)
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
    if (fw_is(job, ST_KEY_GRAPHS, "full")) /* which would read a value back */
        megatron_set(arguments, "check_for_nan_in_loss_and_grad", "False", 0);
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

/* Of SwiGLU, GeGLU and the ungated functions those that Megatron has an argument for; GELU is what
 * it takes without one. */
static void put_activation(const st_job *job, megatron_run *arguments)
{
    const bool gated = fw_is(job, ST_KEY_MODEL_GATED, "true");
    if (fw_is(job, ST_KEY_MODEL_ACTIVATION, gated ? "quick_gelu" : "relu2"))
        megatron_set(arguments, gated ? "quick_geglu" : "squared_relu", "True", 0);
    else if (gated)
        megatron_set(arguments, "swiglu", "True", 0);
}

/* The number behind NAME= in model.rope_scaling; "" where it has none. */
static const char *parameter(st_draft *draft, const char *scaling, const char *name)
{
    const char *found = strstr(scaling, st_draft_text(draft, " %s=", name));
    return found != NULL ? st_draft_text(draft, "%.*s", (int)strcspn(found + 2 + strlen(name), " "),
                                         found + 2 + strlen(name))
                         : "";
}

/* Scaling that these arguments do not say comes back otherwise, and is refused. Ordinary attention
 * is stretched as YaRN does it by Megatron-Bridge alone, which has names of its own for that. */
static void put_scaling(st_framework framework, const st_job *job, megatron_run *arguments)
{
    static const char *const latent[][2] = {
        {"factor", "rotary_scaling_factor"},
        {"original_max_position_embeddings", "yarn_original_max_position_embeddings"},
        {"mscale", "mscale"},
        {"mscale_all_dim", "mscale_all_dim"},
        {"beta_fast", "beta_fast"},
        {"beta_slow", "beta_slow"}};
    static const char *const ordinary[][2] = {
        {"factor", "yarn_rotary_scaling_factor"},
        {"original_max_position_embeddings", "yarn_original_max_position_embeddings"},
        {"mscale", "yarn_mscale"},
        {"mscale_all_dim", "yarn_mscale_all_dim"},
        {"beta_fast", "yarn_beta_fast"},
        {"beta_slow", "yarn_beta_slow"}};
    const bool is_ordinary = framework != ST_DEEPSPEED && count_of(job, ST_KEY_MODEL_KV_LORA) == 0;
    const char *const(*names)[2] = is_ordinary ? ordinary : latent;
    const char *scaling = fw_text(arguments->draft, job, ST_KEY_MODEL_ROPE_SCALING);
    if (strncmp(scaling, "llama3 ", 7) == 0) {
        megatron_set(arguments, "use_rope_scaling", "True", 0);
        megatron_set(arguments, "rope_scaling_factor",
                     parameter(arguments->draft, scaling, "factor"), 0);
    }
    if (strncmp(scaling, "yarn ", 5) == 0 && is_ordinary)
        megatron_set(arguments, "position_embedding_type", "yarn", 0);
    for (size_t i = 0; strncmp(scaling, "yarn ", 5) == 0 && i < ST_COUNT(latent); i++) {
        const char *value = parameter(arguments->draft, scaling, names[i][0]);
        const bool is_default = i == 1 && !is_ordinary && strcmp(value, "4096") == 0;
        /* Options of Megatron-LM have the prefix where latent attention has none of its own. */
        const bool has_prefix = i == 1 || i > 3 || framework == ST_MEGATRON_BRIDGE;
        if (value[0] != '\0' && !is_default)
            megatron_set(arguments, has_prefix ? names[i][1] : latent[i][1], value, 0);
    }
}

/* A number above 0, or what the model is without a default. */
static bool is_given(const st_job *job, const char *key)
{
    return st_key_find(key)->default_text != NULL ? count_of(job, key) > 0 : fw_has(job, key);
}

/* A recipe of Megatron-Bridge brings a model of its own, so that what is off, or is not there, is
 * said as well: MLA without a rank of queries, a router without groups. Of norms and routers only
 * where the job describes them. */
static void put_rest(const st_job *job, megatron_run *arguments)
{
    static const struct {
        const char *only; /* where the job gives this key */
        const char *argument;
        const char *value;
    } rest[] = {
        {ST_KEY_MODEL_NORM_EPSILON, "qk_layernorm", "False"},
        {ST_KEY_MODEL_NORM_EPSILON, "add_qkv_bias", "False"},
        {ST_KEY_MODEL_NORM_EPSILON, "apply_layernorm_1p", "False"},
        {NULL, "untie_embeddings_and_output_weights", "False"},
        {NULL, "softmax_type", "vanilla"},
        {NULL, "attention_output_gate", "False"},
        {NULL, "mtp_num_layers", "None"},
        {NULL, "window_size", "None"},
        {ST_KEY_MODEL_NORM_EPSILON, "rotary_percent", "1.0"},
        {ST_KEY_MODEL_NORM_EPSILON, "use_rope_scaling", "False"},
        {ST_KEY_MODEL_NORM_EPSILON, "activation_func_clamp_value", "None"},
        {ST_KEY_MODEL_EXPERTS, "moe_layer_freq", "1"},
        {ST_KEY_MODEL_ROUTER_SCORE, "moe_router_pre_softmax", "False"},
        {ST_KEY_MODEL_ROUTER_SCORE, "moe_router_enable_expert_bias", "False"},
        {ST_KEY_MODEL_EXPERTS, "moe_router_num_groups", "None"},
        {ST_KEY_MODEL_EXPERTS, "moe_router_group_topk", "None"},
        {ST_KEY_MODEL_ROUTER_SCORE, "moe_router_topk_scaling_factor", "None"},
        {ST_KEY_MODEL_EXPERTS, "moe_shared_expert_intermediate_size", "None"},
        {ST_KEY_MODEL_ROUTER_SCORE, "moe_shared_expert_gate", "False"},
        {ST_KEY_MODEL_KV_LORA, "q_lora_rank", "None"},
        {ST_KEY_MODEL_KV_LORA, "rotary_scaling_factor", "1.0"},
        {ST_KEY_MODEL_KV_LORA, "mscale", "1.0"},
        {ST_KEY_MODEL_KV_LORA, "mscale_all_dim", "1.0"},
    };
    static const struct {
        const char *only;
        const char *argument;
        const char *key;
    } widths[] = {
        {ST_KEY_MODEL_HEADS, "ffn_hidden_size", ST_KEY_MODEL_FFN},
        {ST_KEY_MODEL_HEADS, "num_query_groups", ST_KEY_MODEL_KV_HEADS},
        {ST_KEY_MODEL_EXPERTS, "moe_ffn_hidden_size", ST_KEY_MODEL_EXPERT_FFN},
    };
    for (size_t i = 0; i < ST_COUNT(widths); i++)
        if (count_of(job, widths[i].only) > 0 && !megatron_is_given(arguments, widths[i].argument))
            fw_set_count(arguments, widths[i].argument,
                         (uint64_t)fw_meaning(fw_number_in_job, job, widths[i].key,
                                              st_job_number(job, widths[i].key)));
    if (count_of(job, ST_KEY_MODEL_KV_LORA) == 0 && !megatron_is_given(arguments, "kv_channels"))
        fw_set_count(arguments, "kv_channels",
                     (uint64_t)fw_meaning(fw_number_in_job, job, ST_KEY_MODEL_HEAD_DIM, 0));
    if (fw_is(job, ST_KEY_MODEL_BIAS, "true"))
        megatron_set(arguments, "add_bias_linear", "True", 0);
    if (!fw_is(job, ST_KEY_MODEL_GATED, "true"))
        megatron_set(arguments, "swiglu", "False", 0);
    for (size_t i = 0; i < ST_COUNT(rest); i++)
        if ((rest[i].only == NULL || is_given(job, rest[i].only)) &&
            (strncmp(rest[i].argument, "mscale", 6) != 0 ||
             !fw_has(job, ST_KEY_MODEL_ROPE_SCALING)) &&
            !megatron_is_given(arguments, rest[i].argument))
            megatron_set(arguments, rest[i].argument, rest[i].value, 0);
}

void fw_megatron_arguments(st_framework framework, const st_job *job, megatron_run *arguments)
{
    const double tokens = st_job_number(job, ST_KEY_TRAIN_TOKENS);
    const double sequence = st_job_number(job, ST_KEY_BATCH_SEQUENCE);
    fw_write_rows(arguments, job, model_rows, COUNT_OF(model_rows));
    if (count_of(job, ST_KEY_MODEL_EXPERT_GROUPS) > 1)
        fw_write_rows(arguments, job, groups, COUNT_OF(groups));
    put_activation(job, arguments);
    static const fw_row rows[] = {
        {ST_KEY_MODEL_KV_LORA, "*", "multi_latent_attention", "True"},
        {ST_KEY_MODEL_Q_LORA, "*", "q_lora_rank", NULL},
        {ST_KEY_MODEL_KV_LORA, "*", "kv_lora_rank", NULL},
        {ST_KEY_MODEL_ROPE_DIM, "*", "qk_pos_emb_head_dim", NULL},
    };
    const uint64_t width = count_of(job, ST_KEY_MODEL_HEAD_DIM);
    const uint64_t value = count_of(job, ST_KEY_MODEL_V_DIM);
    if (count_of(job, ST_KEY_MODEL_KV_LORA) == 0) {
        if (width > 0)
            fw_set_count(arguments, "kv_channels", width);
    } else {
        fw_write_rows(arguments, job, rows, COUNT_OF(rows));
        if (width > 0)
            fw_set_count(arguments, "qk_head_dim", width);
        if (value > 0 || width > 0)
            fw_set_count(arguments, "v_head_dim", value > 0 ? value : width);
    }
    /* Megatron takes 8/3 of the hidden size for a gated MLP without a width. */
    const uint64_t positions = count_of(job, ST_KEY_MODEL_POSITIONS);
    if (count_of(job, ST_KEY_MODEL_FFN) == 0 && fw_is(job, ST_KEY_MODEL_GATED, "true"))
        fw_set_count(arguments, "ffn_hidden_size", 4 * count_of(job, ST_KEY_MODEL_HIDDEN));
    megatron_set(arguments, "position_embedding_type",
                 positions > 0                              ? "learned_absolute"
                 : fw_is(job, ST_KEY_MODEL_ROTARY, "false") ? "none"
                                                            : "rope",
                 0);
    fw_set_count(arguments, "max_position_embeddings",
                 positions > 0 ? positions : count_of(job, ST_KEY_BATCH_SEQUENCE));
    fw_write_rows(arguments, job, megatron_facts, MEGATRON_FACTS);
    put_scaling(framework, job, arguments);
    fw_put_layers(framework, job, arguments);
    if (framework == ST_MEGATRON_BRIDGE)
        put_rest(job, arguments);
    fw_write_rows(arguments, job, plan_rows, COUNT_OF(plan_rows));
    if (count_of(job, ST_KEY_PARALLEL_CP) > 1)
        fw_write_rows(arguments, job, cp_rows, COUNT_OF(cp_rows));
    put_splits(framework, job, arguments);
    static const char *const types[] = {"fp32", "bf16", "fp16", "fp8"};
    const bool bf16 = fw_is(job, ST_KEY_PRECISION_WEIGHTS, "bf16");
    const bool fp32 = fw_is(job, ST_KEY_PRECISION_GRADIENTS, "fp32");
    const char *moments = types[(size_t)st_job_number(job, ST_KEY_PRECISION_OPTIMIZER) % 4];
    if (bf16 && !fp32)
        megatron_set(arguments, "grad_reduce_in_bf16", "True", 0);
    /* DeepSpeed keeps gradients in the type of the weights unless it is asked for another. */
    if (fp32 && (!bf16 || framework == ST_DEEPSPEED))
        megatron_set(arguments, "accumulate_allreduce_grads_in_fp32", "True", 0);
    if (strcmp(moments, "fp32") != 0) {
        megatron_set(arguments, "use_precision_aware_optimizer", "True", 0);
        megatron_set(arguments, "exp_avg_dtype", moments, 0);
        megatron_set(arguments, "exp_avg_sq_dtype", moments, 0);
    }
    put_modern(job, arguments);
    if (tokens >= sequence && sequence > 0)
        fw_set_count(arguments, "train_samples", (uint64_t)(tokens / sequence));
}
