/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of Megatron-LM that run a job. One table says which argument a value of a key is;
 * import/megatron_model.c and import/megatron_plan.c read them back.
 */
#include "launch/frameworks/settings.h"

#include "launch/import/ends_layout.h"

#include <inttypes.h>
#include <string.h>

static const fw_row model_rows[] = {
    {"model.layers", "*", "num_layers", NULL},
    {"model.hidden", "*", "hidden_size", NULL},
    {"model.ffn", "*", "ffn_hidden_size", NULL},
    {"model.heads", "*", "num_attention_heads", NULL},
    {"model.kv_heads", "*", "group_query_attention", "True"},
    {"model.kv_heads", "*", "num_query_groups", NULL},
    {"model.gated", "true", "swiglu", "True"},
    {"model.bias", "false", "add_bias_linear", "False"},
    {"model.norm", "rms", "normalization", "RMSNorm"},
    {"model.norm", "layer", "normalization", "LayerNorm"},
    {"model.dropout", "false", "hidden_dropout", "0"},
    {"model.dropout", "false", "attention_dropout", "0"},
    {"model.dropout", "true", "hidden_dropout", "0.1"},
    {"model.dropout", "true", "attention_dropout", "0.1"},
    {"model.tied", "false", "untie_embeddings_and_output_weights", "True"},
    {"model.vocabulary", "*", "vocab_size", NULL},
    {"model.vocabulary_multiple", "*", "make_vocab_size_divisible_by", NULL},
    {"model.experts", "*", "num_experts", NULL},
    {"model.experts", "*", "moe_grouped_gemm", "True"},
    {"model.top_k", "*", "moe_router_topk", NULL},
    {"model.expert_ffn", "*", "moe_ffn_hidden_size", NULL},
    {"model.shared_ffn", "*", "moe_shared_expert_intermediate_size", NULL},
    {"model.capacity_factor", "*", "moe_expert_capacity_factor", NULL},
    {"model.moe_latent", "*", "moe_latent_size", NULL},
    {"model.expert_groups", "*", "moe_router_num_groups", NULL},
    {"model.top_groups", "*", "moe_router_group_topk", NULL},
    {"model.sinks", "true", "softmax_type", "learnable"},
    {"model.gated_attention", "true", "attention_output_gate", "True"},
    {"model.mtp", "*", "mtp_num_layers", NULL},
    {"model.mtp_shared", "true", "mtp_use_repeated_layer", "True"},
};

static const fw_row plan_rows[] = {
    {"parallel.tp", "*", "tensor_model_parallel_size", NULL},
    {"parallel.pp", "*", "pipeline_model_parallel_size", NULL},
    {"parallel.cp", "*", "context_parallel_size", NULL},
    {"parallel.outer_states", "true", "outer_dp_sharding_strategy", "optim"},
    {"parallel.layout", "*", "pipeline_model_parallel_layout", NULL},
    {"parallel.account_embedding", "true", "account_for_embedding_in_pipeline_split", "True"},
    {"parallel.account_loss", "true", "account_for_loss_in_pipeline_split", "True"},
    {"parallel.cp_method", "alltoall", "cp_comm_type", "a2a"},
    {"parallel.cp_method", "hierarchical", "cp_comm_type", "a2a+p2p"},
    {"parallel.scatter_gather", "false", "scatter_gather_tensors_in_pipeline", "False"},
    {"parallel.order", "tp-cp-ep-pp-dp", "use_tp_pp_dp_mapping", "True"},
    {"batch.micro", "*", "micro_batch_size", NULL},
    {"batch.global", "*", "global_batch_size", NULL},
    {"batch.sequence", "*", "seq_length", NULL},
    {"recompute", "selective", "recompute_granularity", "selective"},
    {"recompute", "full", "recompute_granularity", "full"},
    {"precision.weights", "bf16", "bf16", "True"},
    {"precision.weights", "fp16", "fp16", "True"},
    {"precision.attention_fp8", "true", "fp8_dot_product_attention", "True"},
    {"precision.gather", "fp8", "fp8_param_gather", "True"},
    {"precision.gather", "fp4", "fp4_param_gather", "True"},
    {"optimizer", "muon", "optimizer", "dist_muon"},
    {"offload.optimizer", "*", "optimizer_cpu_offload", "True"},
    {"offload.optimizer", "*", "optimizer_offload_fraction", NULL},
    {"train.task", "sft", "sft", "True"},
    {"precision.fused_wgrad", "false", "gradient_accumulation_fusion", "False"},
    {"attention", "flash", "attention_backend", "flash"},
    {"attention", "unfused", "attention_backend", "unfused"},
    {"overlap.gradients", "*", "overlap_grad_reduce", "True"},
    {"overlap.tp", "*", "tp_comm_overlap", "True"},
    {"overlap.ep", "*", "overlap_moe_expert_parallel_comm", "True"},
};

#define COUNT_OF(rows) (sizeof(rows) / sizeof *(rows))

static uint64_t count_of(const st_job *job, const char *key)
{
    return (uint64_t)st_job_number(job, key);
}

fw_ranks fw_ranks_of(const st_job *job)
{
    const uint64_t used = count_of(job, "cluster.gpus_used_per_node");
    const uint64_t gpus = used > 0 ? used : count_of(job, "cluster.gpus_per_node");
    fw_ranks ranks = {.world = count_of(job, "parallel.tp") * count_of(job, "parallel.pp") *
                               count_of(job, "parallel.cp") * count_of(job, "parallel.dp")};
    ranks.per_node = gpus < ranks.world ? gpus : ranks.world;
    ranks.nodes = ranks.per_node > 0 ? (ranks.world + ranks.per_node - 1) / ranks.per_node : 0;
    return ranks;
}

static void put_latent_attention(const st_job *job, megatron_run *arguments)
{
    static const fw_row rows[] = {
        {"model.kv_lora", "*", "multi_latent_attention", "True"},
        {"model.q_lora", "*", "q_lora_rank", NULL},
        {"model.kv_lora", "*", "kv_lora_rank", NULL},
        {"model.rope_dim", "*", "qk_pos_emb_head_dim", NULL},
    };
    const uint64_t width = count_of(job, "model.head_dim");
    const uint64_t value = count_of(job, "model.v_dim");
    if (count_of(job, "model.kv_lora") == 0) {
        if (width > 0)
            fw_set_count(arguments, "kv_channels", width);
        return;
    }
    fw_write_rows(arguments, job, rows, COUNT_OF(rows));
    if (width > 0)
        fw_set_count(arguments, "qk_head_dim", width);
    if (value > 0 || width > 0)
        fw_set_count(arguments, "v_head_dim", value > 0 ? value : width);
}

/* A layout says itself how many chunks a rank has, and what lies on the ends. */
static void put_chunks(const st_job *job, megatron_run *arguments)
{
    static const fw_row ends[] = {
        {"parallel.first_stage_layers", "*", "decoder_first_pipeline_num_layers", NULL},
        {"parallel.last_stage_layers", "*", "decoder_last_pipeline_num_layers", NULL},
    };
    const uint64_t chunks = count_of(job, "parallel.virtual_stages");
    const st_ends given = {.stages = count_of(job, "parallel.pp"),
                           .chunks = chunks > 0 ? chunks : 1,
                           .layers = count_of(job, "model.layers"),
                           .first = count_of(job, "parallel.first_stage_layers"),
                           .last = count_of(job, "parallel.last_stage_layers"),
                           .mtp = count_of(job, "model.mtp")};
    const char *layout = st_ends_layout(&given, arguments->draft->arena);
    if (layout != NULL && !fw_has(job, "parallel.layout")) {
        megatron_set(arguments, "pipeline_model_parallel_layout", layout, 0);
        return;
    }
    fw_write_rows(arguments, job, ends, COUNT_OF(ends));
    if (chunks > 1 && !fw_has(job, "parallel.layout"))
        fw_set_count(arguments, "num_virtual_stages_per_pipeline_rank", chunks);
}

static void put_splits(st_framework framework, const st_job *job, megatron_run *arguments)
{
    const uint64_t zero = count_of(job, "parallel.zero");
    const fw_ranks ranks = fw_ranks_of(job);
    if (count_of(job, "parallel.tp") > 1 && fw_is(job, "parallel.sequence_parallel", "true"))
        megatron_set(arguments, "sequence_parallel", "True", 0);
    if (count_of(job, "model.experts") > 0) {
        fw_set_count(arguments, "expert_model_parallel_size", count_of(job, "parallel.ep"));
        if (count_of(job, "parallel.expert_tp") > 0)
            fw_set_count(arguments, "expert_tensor_parallel_size",
                         count_of(job, "parallel.expert_tp"));
    }
    put_chunks(job, arguments);
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
    if (st_job_number(job, "overlap.parameters") > 0 && zero > 0)
        megatron_set(arguments, "overlap_param_gather", "True", 0);
    if (framework != ST_MEGATRON_BRIDGE && ranks.per_node > 0) {
        fw_set_count(arguments, "nproc_per_node", ranks.per_node);
        fw_set_count(arguments, "nnodes", ranks.nodes);
    }
}

static void put_precision(const st_job *job, megatron_run *arguments)
{
    static const char *const types[] = {"fp32", "bf16", "fp16", "fp8"};
    const bool bf16 = fw_is(job, "precision.weights", "bf16");
    const bool fp32 = fw_is(job, "precision.gradients", "fp32");
    const char *moments = types[(size_t)st_job_number(job, "precision.optimizer") % 4];
    if (bf16 && !fp32)
        megatron_set(arguments, "grad_reduce_in_bf16", "True", 0);
    if (!bf16 && fp32)
        megatron_set(arguments, "accumulate_allreduce_grads_in_fp32", "True", 0);
    if (strcmp(moments, "fp32") == 0)
        return;
    megatron_set(arguments, "use_precision_aware_optimizer", "True", 0);
    megatron_set(arguments, "exp_avg_dtype", moments, 0);
    megatron_set(arguments, "exp_avg_sq_dtype", moments, 0);
}

void fw_megatron_arguments(st_framework framework, const st_job *job, megatron_run *arguments)
{
    const double tokens = st_job_number(job, "train.tokens");
    const double sequence = st_job_number(job, "batch.sequence");
    fw_write_rows(arguments, job, model_rows, COUNT_OF(model_rows));
    put_latent_attention(job, arguments);
    /* Megatron takes 8/3 of the hidden size for a gated MLP without a width. */
    const uint64_t positions = count_of(job, "model.positions");
    if (count_of(job, "model.ffn") == 0 && fw_is(job, "model.gated", "true"))
        fw_set_count(arguments, "ffn_hidden_size", 4 * count_of(job, "model.hidden"));
    megatron_set(arguments, "position_embedding_type", positions > 0 ? "learned_absolute" : "rope",
                 0);
    fw_set_count(arguments, "max_position_embeddings",
                 positions > 0 ? positions : count_of(job, "batch.sequence"));
    fw_put_layers(framework, job, arguments);
    fw_write_rows(arguments, job, plan_rows, COUNT_OF(plan_rows));
    put_splits(framework, job, arguments);
    put_precision(job, arguments);
    fw_put_modern(job, arguments);
    if (tokens >= sequence && sequence > 0)
        fw_set_count(arguments, "train_samples", (uint64_t)(tokens / sequence));
}
