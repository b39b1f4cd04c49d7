/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of frameworks that are built on Megatron: Megatron-Bridge (ConfigContainer of 0.2, as its
 * guide for users of Megatron-LM maps it) and DeepSpeed (its JSON, and "launch." for arguments of
 * Megatron-DeepSpeed). An argument without row and section does not exist there.
 */
#include "launch/frameworks/settings.h"

#define FP8_RECIPE "bf16_with_fp8_delayed_scaling_mixed"

static const fw_section bridge_sections[] = {
    {"model.",
     "num_layers hidden_size ffn_hidden_size num_attention_heads num_query_groups kv_channels "
     "add_bias_linear normalization hidden_dropout attention_dropout vocab_size "
     "make_vocab_size_divisible_by position_embedding_type max_position_embeddings "
     "multi_latent_attention q_lora_rank kv_lora_rank qk_head_dim qk_pos_emb_head_dim v_head_dim "
     "moe_grouped_gemm moe_token_dispatcher_type moe_router_topk moe_ffn_hidden_size "
     "moe_shared_expert_intermediate_size moe_expert_capacity_factor moe_layer_freq "
     "moe_latent_size moe_router_num_groups moe_router_group_topk softmax_type "
     "attention_output_gate mtp_num_layers mtp_use_repeated_layer is_hybrid_model "
     "hybrid_layer_pattern hybrid_override_pattern mtp_hybrid_override_pattern mamba_num_heads "
     "mamba_head_dim "
     "mamba_state_dim mamba_num_groups window_size window_attn_skip_freq "
     "experimental_attention_variant linear_attention_freq linear_num_key_heads "
     "linear_num_value_heads linear_key_head_dim linear_value_head_dim dsa_indexer_n_heads "
     "dsa_indexer_head_dim dsa_indexer_topk pipeline_model_parallel_layout "
     "account_for_embedding_in_pipeline_split account_for_loss_in_pipeline_split "
     "moe_flex_dispatcher_backend cp_comm_type fp8_dot_product_attention first_last_layers_bf16 "
     "num_layers_at_start_in_bf16 num_layers_at_end_in_bf16 tensor_model_parallel_size "
     "pipeline_model_parallel_size context_parallel_size expert_model_parallel_size "
     "expert_tensor_parallel_size sequence_parallel "
     "recompute_granularity recompute_method recompute_num_layers recompute_modules "
     "cuda_graph_impl cuda_graph_scope attention_backend gradient_accumulation_fusion seq_length "
     "qk_layernorm add_qkv_bias rotary_base rotary_percent activation_func_clamp_value "
     "glu_linear_offset init_method_std moe_router_score_function moe_router_pre_softmax "
     "moe_router_enable_expert_bias moe_router_topk_scaling_factor "
     "moe_router_load_balancing_type moe_aux_loss_coeff moe_shared_expert_gate "
     "rope_scaling_factor rotary_scaling_factor mscale mscale_all_dim "
     "yarn_original_max_position_embeddings yarn_rotary_scaling_factor yarn_mscale "
     "beta_fast beta_slow yarn_beta_fast yarn_beta_slow "
     "yarn_mscale_all_dim"},
    {"dataset.", "seq_length"},
    {"train.", "micro_batch_size global_batch_size train_samples"},
    {"ddp.", "overlap_grad_reduce overlap_param_gather use_distributed_optimizer use_megatron_fsdp "
             "data_parallel_sharding_strategy num_distributed_optimizer_instances "
             "outer_dp_sharding_strategy"},
    {"checkpoint.", "ckpt_format"},
    {"optimizer.",
     "use_distributed_optimizer use_precision_aware_optimizer optimizer optimizer_cpu_offload "
     "optimizer_offload_fraction main_params_dtype exp_avg_dtype exp_avg_sq_dtype"},
    {"comm_overlap.", "tp_comm_overlap overlap_moe_expert_parallel_comm"},
    {"dist.", "use_tp_pp_dp_mapping"},
    {NULL, NULL},
};

static const fw_rename bridge_rows[] = {
    {"model.num_query_groups", "group_query_attention", NULL, "True", FW_IMPORT},
    {"model.gated_linear_unit", "swiglu", NULL, NULL, FW_BOTH},
    {"model.activation_func", "swiglu", "silu", "True", FW_EXPORT},
    {"model.gated_linear_unit", "quick_geglu", NULL, NULL, FW_EXPORT},
    {"model.activation_func", "quick_geglu", "quick_gelu", "True", FW_BOTH},
    {"model.activation_func", "squared_relu", "squared_relu", "True", FW_BOTH},
    {"model.layernorm_epsilon", "norm_epsilon", NULL, NULL, FW_BOTH},
    {"model.layernorm_zero_centered_gamma", "apply_layernorm_1p", NULL, NULL, FW_BOTH},
    {"model.rope_scaling", "use_rope_scaling", NULL, NULL, FW_BOTH},
    {"model.share_embeddings_and_output_weights", "untie_embeddings_and_output_weights", "False",
     "True", FW_BOTH},
    {"model.share_embeddings_and_output_weights", "untie_embeddings_and_output_weights", "True",
     "False", FW_BOTH},
    {"model.num_moe_experts", "num_experts", NULL, NULL, FW_BOTH},
    {"model.virtual_pipeline_model_parallel_size", "num_virtual_stages_per_pipeline_rank", NULL,
     NULL, FW_BOTH},
    {"model.num_layers_in_first_pipeline_stage", "decoder_first_pipeline_num_layers", NULL, NULL,
     FW_BOTH},
    {"model.num_layers_in_last_pipeline_stage", "decoder_last_pipeline_num_layers", NULL, NULL,
     FW_BOTH},
    {"train.train_iters", "train_iters", NULL, NULL, FW_IMPORT},
    {"world_size", "world_size", NULL, NULL, FW_IMPORT}, /* of a log */
    {"mixed_precision", "bf16", "bf16_mixed", "True", FW_BOTH},
    {"mixed_precision", "fp16", "16-mixed", "True", FW_BOTH},
    {"mixed_precision", "fp8_format", FP8_RECIPE, "hybrid", FW_BOTH},
    {"mixed_precision", "bf16", FP8_RECIPE, "True", FW_IMPORT},
    {"mixed_precision", "fp8_recipe", "bf16_with_fp8_current_scaling_mixed", "tensorwise", FW_BOTH},
    {"mixed_precision", "fp8_format", "bf16_with_fp8_current_scaling_mixed", "hybrid", FW_IMPORT},
    {"mixed_precision", "bf16", "bf16_with_fp8_current_scaling_mixed", "True", FW_IMPORT},
    {"mixed_precision", "fp8_recipe", "bf16_with_fp8_subchannel_scaling_mixed", "blockwise",
     FW_BOTH},
    {"mixed_precision", "fp8_format", "bf16_with_fp8_subchannel_scaling_mixed", "e4m3", FW_IMPORT},
    {"mixed_precision", "bf16", "bf16_with_fp8_subchannel_scaling_mixed", "True", FW_IMPORT},
    {"mixed_precision", "fp8_recipe", "bf16_with_mxfp8_mixed", "mxfp8", FW_BOTH},
    {"mixed_precision", "fp8_format", "bf16_with_mxfp8_mixed", "e4m3", FW_IMPORT},
    {"mixed_precision", "bf16", "bf16_with_mxfp8_mixed", "True", FW_IMPORT},
    {"mixed_precision", "fp4_format", "bf16_with_nvfp4_mixed", "e2m1", FW_BOTH},
    {"mixed_precision", "bf16", "bf16_with_nvfp4_mixed", "True", FW_IMPORT},
    {"ddp.grad_reduce_in_fp32", "grad_reduce_in_bf16", "False", "True", FW_BOTH},
    {"ddp.grad_reduce_in_fp32", "accumulate_allreduce_grads_in_fp32", "True", "True", FW_BOTH},
};

static const fw_section deepspeed_sections[] = {
    {"launch.",
     "num_layers hidden_size ffn_hidden_size num_attention_heads kv_channels swiglu hidden_dropout "
     "attention_dropout untie_embeddings_and_output_weights vocab_size "
     "make_vocab_size_divisible_by max_position_embeddings seq_length tensor_model_parallel_size "
     "pipeline_model_parallel_size sequence_parallel num_experts recompute_granularity "
     "recompute_method recompute_num_layers train_samples init_method_std squared_relu "
     "rotary_percent no_pipeline_parallel"},
    {NULL, NULL},
};

static const fw_rename deepspeed_rows[] = {
    {"train_batch_size", "global_batch_size", NULL, NULL, FW_BOTH},
    {"train_micro_batch_size_per_gpu", "micro_batch_size", NULL, NULL, FW_BOTH},
    {"zero_optimization.stage", "zero_stage", NULL, NULL, FW_BOTH},
    {"zero_optimization.overlap_comm", "overlap_grad_reduce", NULL, NULL, FW_BOTH},
    {"launch.global_batch_size", "global_batch_size", NULL, NULL, FW_EXPORT},
    {"launch.micro_batch_size", "micro_batch_size", NULL, NULL, FW_EXPORT},
    {"launch.bf16", "bf16", NULL, NULL, FW_EXPORT},
    {"launch.fp16", "fp16", NULL, NULL, FW_EXPORT},
    {"bf16.enabled", "bf16", NULL, NULL, FW_BOTH},
    {"fp16.enabled", "fp16", NULL, NULL, FW_BOTH},
    {"data_types.grad_accum_dtype", "grad_reduce_in_bf16", "bf16", "True", FW_BOTH},
    {"data_types.grad_accum_dtype", "accumulate_allreduce_grads_in_fp32", "fp32", "True", FW_BOTH},
    {"launch.num_gpus", "nproc_per_node", NULL, NULL, FW_BOTH},
    {"launch.num_nodes", "nnodes", NULL, NULL, FW_BOTH},
    {"launch.num_key_value_heads", "num_query_groups", NULL, NULL, FW_BOTH},
    {"launch.num_key_value_heads", "group_query_attention", NULL, "True", FW_IMPORT},
    {"launch.disable_bias_linear", "add_bias_linear", "True", "False", FW_BOTH},
    {"launch.normalization", "normalization", "rmsnorm", "RMSNorm", FW_BOTH},
    {"launch.normalization", "normalization", "layernorm", "LayerNorm", FW_BOTH},
    {"launch.use_rotary_position_embeddings", "position_embedding_type", "True", "rope", FW_BOTH},
    {"launch.no_position_embedding", "position_embedding_type", "True", "rope", FW_EXPORT},
    {"launch.rotary_position_embeddings_theta", "rotary_base", NULL, NULL, FW_BOTH},
    {"launch.layernorm_epsilon", "norm_epsilon", NULL, NULL, FW_BOTH},
    {"launch.topk", "moe_router_topk", NULL, NULL, FW_BOTH},
    {"launch.expert_interval", "moe_layer_freq", NULL, NULL, FW_BOTH},
    {"launch.moe_expert_parallel_size", "expert_model_parallel_size", NULL, NULL, FW_BOTH},
    {"launch.no_gradient_accumulation_fusion", "gradient_accumulation_fusion", "True", "False",
     FW_BOTH},
    {"launch.use_flash_attn_v2", "attention_backend", "True", "flash", FW_BOTH},
};

const fw_names *fw_names_of(st_framework framework)
{
    static const fw_names names[ST_FRAMEWORKS] = {
        [ST_MEGATRON_BRIDGE] = {bridge_sections, bridge_rows, ST_COUNT(bridge_rows)},
        [ST_DEEPSPEED] = {deepspeed_sections, deepspeed_rows, ST_COUNT(deepspeed_rows)},
    };
    return &names[framework];
}
