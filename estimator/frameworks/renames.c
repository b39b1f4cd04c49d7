/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of frameworks that are built on Megatron: Megatron-Bridge (ConfigContainer of 0.2, as its
 * guide for users of Megatron-LM maps it) and DeepSpeed (its JSON, and "launch." for arguments of
 * Megatron-DeepSpeed). An argument that has no row is none there.
 */
#include "frameworks/settings.h"

#define MODEL(name)                                                                                \
    {                                                                                              \
        "model." #name, #name, NULL, NULL, FW_BOTH                                                 \
    }
#define LAUNCH(name)                                                                               \
    {                                                                                              \
        "launch." #name, #name, NULL, NULL, FW_BOTH                                                \
    }
#define FP8_RECIPE "bf16_with_fp8_delayed_scaling_mixed"

static const fw_rename bridge[] = {
    MODEL(num_layers),
    MODEL(hidden_size),
    MODEL(ffn_hidden_size),
    MODEL(num_attention_heads),
    MODEL(num_query_groups),
    {"model.num_query_groups", "group_query_attention", NULL, "True", FW_IMPORT},
    MODEL(kv_channels),
    {"model.gated_linear_unit", "swiglu", NULL, NULL, FW_BOTH},
    {"model.activation_func", "swiglu", "silu", "True", FW_EXPORT},
    MODEL(add_bias_linear),
    MODEL(normalization),
    MODEL(hidden_dropout),
    MODEL(attention_dropout),
    {"model.share_embeddings_and_output_weights", "untie_embeddings_and_output_weights", "False",
     "True", FW_BOTH},
    MODEL(vocab_size),
    MODEL(make_vocab_size_divisible_by),
    MODEL(position_embedding_type),
    MODEL(max_position_embeddings),
    MODEL(multi_latent_attention),
    MODEL(q_lora_rank),
    MODEL(kv_lora_rank),
    MODEL(qk_head_dim),
    MODEL(qk_pos_emb_head_dim),
    MODEL(v_head_dim),
    {"model.num_moe_experts", "num_experts", NULL, NULL, FW_BOTH},
    MODEL(moe_grouped_gemm),
    MODEL(moe_token_dispatcher_type),
    MODEL(moe_router_topk),
    MODEL(moe_ffn_hidden_size),
    MODEL(moe_shared_expert_intermediate_size),
    MODEL(moe_expert_capacity_factor),
    MODEL(moe_layer_freq),
    MODEL(tensor_model_parallel_size),
    MODEL(pipeline_model_parallel_size),
    MODEL(context_parallel_size),
    MODEL(expert_model_parallel_size),
    MODEL(expert_tensor_parallel_size),
    MODEL(sequence_parallel),
    {"model.virtual_pipeline_model_parallel_size", "num_virtual_stages_per_pipeline_rank", NULL,
     NULL, FW_BOTH},
    {"model.num_layers_in_first_pipeline_stage", "decoder_first_pipeline_num_layers", NULL, NULL,
     FW_BOTH},
    {"model.num_layers_in_last_pipeline_stage", "decoder_last_pipeline_num_layers", NULL, NULL,
     FW_BOTH},
    {"model.scatter_gather_tensors_in_pipeline", "scatter_gather_tensors_in_pipeline", NULL, NULL,
     FW_BOTH},
    MODEL(recompute_granularity),
    MODEL(recompute_method),
    MODEL(recompute_num_layers),
    MODEL(attention_backend),
    MODEL(gradient_accumulation_fusion),
    MODEL(seq_length),
    {"dataset.seq_length", "seq_length", NULL, NULL, FW_BOTH},
    {"train.micro_batch_size", "micro_batch_size", NULL, NULL, FW_BOTH},
    {"train.global_batch_size", "global_batch_size", NULL, NULL, FW_BOTH},
    {"train.train_samples", "train_samples", NULL, NULL, FW_BOTH},
    {"train.train_iters", "train_iters", NULL, NULL, FW_IMPORT},
    {"mixed_precision", "bf16", "bf16_mixed", "True", FW_BOTH},
    {"mixed_precision", "fp16", "16-mixed", "True", FW_BOTH},
    {"mixed_precision", "fp8_format", FP8_RECIPE, "hybrid", FW_BOTH},
    {"mixed_precision", "bf16", FP8_RECIPE, "True", FW_IMPORT},
    {"ddp.grad_reduce_in_fp32", "grad_reduce_in_bf16", "False", "True", FW_BOTH},
    {"ddp.grad_reduce_in_fp32", "accumulate_allreduce_grads_in_fp32", "True", "True", FW_BOTH},
    {"ddp.overlap_grad_reduce", "overlap_grad_reduce", NULL, NULL, FW_BOTH},
    {"ddp.overlap_param_gather", "overlap_param_gather", NULL, NULL, FW_BOTH},
    {"ddp.use_distributed_optimizer", "use_distributed_optimizer", NULL, NULL, FW_BOTH},
    {"ddp.use_megatron_fsdp", "use_megatron_fsdp", NULL, NULL, FW_BOTH},
    {"ddp.data_parallel_sharding_strategy", "data_parallel_sharding_strategy", NULL, NULL, FW_BOTH},
    {"checkpoint.ckpt_format", "ckpt_format", NULL, NULL, FW_BOTH},
    {"optimizer.use_distributed_optimizer", "use_distributed_optimizer", NULL, NULL, FW_BOTH},
    {"optimizer.use_precision_aware_optimizer", "use_precision_aware_optimizer", NULL, NULL,
     FW_BOTH},
    {"optimizer.exp_avg_dtype", "exp_avg_dtype", NULL, NULL, FW_BOTH},
    {"optimizer.exp_avg_sq_dtype", "exp_avg_sq_dtype", NULL, NULL, FW_BOTH},
    {"comm_overlap.tp_comm_overlap", "tp_comm_overlap", NULL, NULL, FW_BOTH},
    {"comm_overlap.overlap_moe_expert_parallel_comm", "overlap_moe_expert_parallel_comm", NULL,
     NULL, FW_BOTH},
    {"dist.use_tp_pp_dp_mapping", "use_tp_pp_dp_mapping", NULL, NULL, FW_BOTH},
};

static const fw_rename deepspeed[] = {
    {"train_batch_size", "global_batch_size", NULL, NULL, FW_BOTH},
    {"train_micro_batch_size_per_gpu", "micro_batch_size", NULL, NULL, FW_BOTH},
    {"zero_optimization.stage", "zero_stage", NULL, NULL, FW_BOTH},
    {"zero_optimization.overlap_comm", "overlap_grad_reduce", NULL, NULL, FW_BOTH},
    {"bf16.enabled", "bf16", NULL, NULL, FW_BOTH},
    {"fp16.enabled", "fp16", NULL, NULL, FW_BOTH},
    {"data_types.grad_accum_dtype", "grad_reduce_in_bf16", "bf16", "True", FW_BOTH},
    {"data_types.grad_accum_dtype", "accumulate_allreduce_grads_in_fp32", "fp32", "True", FW_BOTH},
    {"launch.num_gpus", "nproc_per_node", NULL, NULL, FW_BOTH},
    {"launch.num_nodes", "nnodes", NULL, NULL, FW_BOTH},
    LAUNCH(num_layers),
    LAUNCH(hidden_size),
    LAUNCH(ffn_hidden_size),
    LAUNCH(num_attention_heads),
    {"launch.num_key_value_heads", "num_query_groups", NULL, NULL, FW_BOTH},
    {"launch.num_key_value_heads", "group_query_attention", NULL, "True", FW_IMPORT},
    LAUNCH(kv_channels),
    LAUNCH(swiglu),
    {"launch.disable_bias_linear", "add_bias_linear", "True", "False", FW_BOTH},
    {"launch.normalization", "normalization", "rmsnorm", "RMSNorm", FW_BOTH},
    {"launch.normalization", "normalization", "layernorm", "LayerNorm", FW_BOTH},
    LAUNCH(hidden_dropout),
    LAUNCH(attention_dropout),
    LAUNCH(untie_embeddings_and_output_weights),
    LAUNCH(vocab_size),
    LAUNCH(make_vocab_size_divisible_by),
    {"launch.use_rotary_position_embeddings", "position_embedding_type", "True", "rope", FW_BOTH},
    {"launch.no_position_embedding", "position_embedding_type", "True", "rope", FW_EXPORT},
    LAUNCH(max_position_embeddings),
    LAUNCH(seq_length),
    LAUNCH(tensor_model_parallel_size),
    LAUNCH(pipeline_model_parallel_size),
    LAUNCH(sequence_parallel),
    LAUNCH(num_experts),
    {"launch.topk", "moe_router_topk", NULL, NULL, FW_BOTH},
    {"launch.expert_interval", "moe_layer_freq", NULL, NULL, FW_BOTH},
    {"launch.moe_expert_parallel_size", "expert_model_parallel_size", NULL, NULL, FW_BOTH},
    LAUNCH(recompute_granularity),
    LAUNCH(recompute_method),
    LAUNCH(recompute_num_layers),
    {"launch.no_gradient_accumulation_fusion", "gradient_accumulation_fusion", "True", "False",
     FW_BOTH},
    {"launch.use_flash_attn_v2", "attention_backend", "True", "flash", FW_BOTH},
    LAUNCH(train_samples),
};

const fw_rename *fw_renames(st_framework framework, size_t *count)
{
    *count = framework == ST_MEGATRON_BRIDGE ? sizeof bridge / sizeof bridge[0]
             : framework == ST_DEEPSPEED     ? sizeof deepspeed / sizeof deepspeed[0]
                                             : 0;
    return framework == ST_MEGATRON_BRIDGE ? bridge : deepspeed;
}
