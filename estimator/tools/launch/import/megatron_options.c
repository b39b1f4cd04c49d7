/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of Megatron-LM and Megatron-DeepSpeed: those that are flags, those whose argument has
 * another name or the opposite meaning, and those without effect on an estimate.
 */
#include "launch/import/megatron.h"
#include "base/word_sets.h"

static const megatron_option options[] = {
    {"DDP_bucket_size", "ddp_bucket_size", NULL},
    {"activations_checkpoint_num_layers", "recompute_num_layers", NULL},
    {"checkpoint_activations", "checkpoint_activations", "True"},
    {"disable_bias_linear", "add_bias_linear", "False"},
    {"deepspeed_activation_checkpointing", "checkpoint_activations", "True"},
    {"expert_parallel_size", "expert_model_parallel_size", NULL},
    {"moe_expert_parallel_size", "expert_model_parallel_size", NULL},
    {"model_parallel_size", "tensor_model_parallel_size", NULL},
    {"no_check_for_nan_in_loss_and_grad", "check_for_nan_in_loss_and_grad", "False"},
    {"no_gradient_accumulation_fusion", "gradient_accumulation_fusion", "False"},
    {"no_position_embedding", "add_position_embedding", "False"},
    {"no_scatter_gather_tensors_in_pipeline", "scatter_gather_tensors_in_pipeline", "False"},
    {"moe_train_capacity_factor", "moe_expert_capacity_factor", NULL},
    {"nproc", "nproc_per_node", NULL},
    {"use_rotary_position_embeddings", "position_embedding_type", "rope"},
};

static const char flags[] =
    "account_for_embedding_in_pipeline_split account_for_loss_in_pipeline_split "
    "accumulate_allreduce_grads_in_fp32 add_bias_linear add_qkv_bias apply_layernorm_1p "
    "apply_query_key_layer_scaling attention_output_gate auto_detect_ckpt_format bf16 "
    "calculate_per_token_loss checkpoint_activations cpu_offloading cross_entropy_loss_fusion "
    "deepspeed deepspeed_activation_checkpointing defer_embedding_wgrad_compute "
    "delay_wgrad_compute disable_bias_linear "
    "enable_cuda_graph enable_one_logger exit_on_missing_checkpoint external_cuda_graph "
    "fine_grained_activation_offloading first_last_layers_bf16 fp16 fp4_param_gather "
    "fp8_dot_product_attention fp8_multi_head_attention fp8_param_gather grad_reduce_in_bf16 "
    "group_query_attention is_hybrid_model log_memory_to_tensorboard log_num_zeros_in_grad "
    "log_params_norm log_progress log_throughput log_timers_to_tensorboard "
    "log_validation_ppl_to_tensorboard manual_gc masked_softmax_fusion mock_data moe_enable_deepep "
    "moe_grouped_gemm moe_pad_expert_input_to_capacity moe_permute_fusion "
    "moe_permute_fusion_into_hybridep moe_router_enable_expert_bias "
    "moe_router_force_load_balancing moe_router_fusion moe_router_padding_for_fp8 "
    "moe_router_pre_softmax "
    "moe_router_padding_for_quantization moe_shared_expert_gate moe_shared_expert_overlap "
    "moe_use_legacy_grouped_gemm mtp_use_repeated_layer multi_latent_attention "
    "no_async_tensor_model_parallel_allreduce no_bias_dropout_fusion no_bias_gelu_fusion "
    "no_bias_swiglu_fusion no_check_for_nan_in_loss_and_grad "
    "no_create_attention_mask_in_dataloader no_gradient_accumulation_fusion "
    "no_load_optim no_load_rng no_masked_softmax_fusion no_pipeline_parallel no_position_embedding "
    "no_rope_fusion no_save_optim no_save_rng no_scatter_gather_tensors_in_pipeline "
    "offload_optimizer_states optimizer_cpu_offload overlap_cpu_optimizer_d2h_h2d "
    "overlap_grad_reduce overlap_moe_expert_parallel_comm overlap_param_gather "
    "overlap_param_gather_with_optimizer_step profile qk_layernorm quick_geglu "
    "recompute_activations "
    "reset_attention_mask reset_position_ids reuse_grad_buf_for_mxfp8_param_ag sequence_parallel "
    "sft squared_relu swiglu te_rng_tracker tp_comm_overlap transformer_engine "
    "untie_embeddings_and_output_weights use_checkpoint_args use_checkpoint_opt_param_scheduler "
    "use_cpu_initialization use_custom_fsdp use_dist_ckpt use_distributed_optimizer use_fast_rope "
    "use_flash_attn use_flash_attn_triton use_flash_attn_v2 use_legacy_models use_mcore_models "
    "use_megatron_fsdp "
    "use_precision_aware_optimizer use_rope_scaling use_rotary_position_embeddings use_torch_fsdp2 "
    "use_torch_optimizer_for_cpu_offload use_tp_pp_dp_mapping";

/* Known, and without a part in an estimate of a step. */
static const char skipped[] =
    "activation_func_clamp_value adam_beta1 adam_beta2 adam_eps add_qkv_bias apply_layernorm_1p "
    "apply_query_key_layer_scaling apply_residual_connection_post_layernorm async_save "
    "async_tensor_model_parallel_allreduce attention_softmax_in_fp32 auto_detect_ckpt_format "
    "barrier_with_L1_time bias_dropout_fusion bias_gelu_fusion bias_swiglu_fusion "
    "calculate_per_token_loss check_for_nan_in_loss_and_grad ckpt_format clip_grad "
    "consumed_train_samples consumed_valid_samples create_attention_mask_in_dataloader "
    "cross_entropy_fusion_impl cross_entropy_loss_fusion data_cache_path data_path dataloader_type "
    "ddp_bucket_size decoder_num_layers decoder_seq_length deepspeed deepspeed_config "
    "delay_wgrad_compute dist_ckpt_format dist_ckpt_strictness distribute_saved_activations "
    "distributed_backend distributed_timeout distributed_timeout_minutes ds_inference "
    "embedding_path enable_one_logger encoder_num_layers end_weight_decay eod_mask_loss "
    "eval_interval eval_iters exit_duration_in_mins exit_interval exit_on_missing_checkpoint "
    "exit_signal_handler extra_vocab_size finetune fp16_lm_cross_entropy fp32_residual_connection "
    "fp4_recipe fp8_amax_compute_algo fp8_amax_history_len fp8_interval fp8_margin fp8_wgrad "
    "glu_linear_offset hysteresis init_method_std initial_loss_scale iteration iterations_to_skip "
    "layernorm_epsilon load local_rank log_interval log_learning_rate_to_tensorboard "
    "log_loss_scale_to_tensorboard log_memory_to_tensorboard log_num_zeros_in_grad log_params_norm "
    "log_progress log_throughput log_timers_to_tensorboard log_validation_ppl_to_tensorboard "
    "log_world_size_to_tensorboard logging_level loss_scale loss_scale_window lr lr_decay_iters "
    "lr_decay_samples lr_decay_style lr_warmup_fraction lr_warmup_init lr_warmup_iters "
    "lr_warmup_samples lr_wsd_decay_iters lr_wsd_decay_samples lr_wsd_decay_style main_grads_dtype "
    "manual_gc manual_gc_eval manual_gc_interval mask_prob masked_softmax_fusion master_addr "
    "master_port merge_file min_loss_scale min_lr mmap_bin_files mock_data moe_aux_loss_coeff "
    "moe_deepep_num_sms moe_grouped_gemm moe_hybridep_num_sms moe_pad_expert_input_to_capacity "
    "moe_permute_fusion moe_permute_fusion_into_hybridep moe_router_dtype "
    "moe_router_enable_expert_bias moe_router_force_load_balancing moe_router_fusion "
    "moe_router_group_topk moe_router_load_balancing_type moe_router_num_groups "
    "moe_router_padding_for_fp8 moe_router_padding_for_quantization moe_router_pre_softmax "
    "moe_router_score_function moe_router_topk_scaling_factor moe_shared_expert_gate "
    "moe_token_drop_policy moe_z_loss_coeff mscale mscale_all_dim mtp_loss_scaling_factor "
    "nccl_communicator_config_path no_load_optim no_load_rng no_save_optim no_save_rng node_rank "
    "norm_epsilon num_dataset_builder_threads num_workers one_logger_async one_logger_project "
    "one_logger_run_name onnx_safe openai_gelu overlap_cpu_optimizer_d2h_h2d "
    "override_opt_param_scheduler params_dtype perform_initialization profile profile_ranks "
    "profile_step_end profile_step_start qk_layernorm rank rdzv_backend rdzv_endpoint rdzv_id "
    "rerun_mode reset_attention_mask reset_position_ids reuse_grad_buf_for_mxfp8_param_ag "
    "rope_fusion rope_scaling_factor rotary_base rotary_interleaved rotary_percent "
    "rotary_scaling_factor rotary_seq_len_interpolation_factor save save_interval seed "
    "short_seq_prob spec split start_weight_decay swiglu_limit te_rng_tracker tensorboard_dir "
    "tensorboard_log_interval tensorboard_queue_size test_data_path timing_log_level "
    "timing_log_option tokenizer_model train_data_path transformer_engine use_checkpoint_args "
    "use_checkpoint_opt_param_scheduler use_cpu_initialization use_dist_ckpt use_legacy_models "
    "use_mcore_models use_one_sent_docs use_ring_exchange_p2p use_torch_optimizer_for_cpu_offload "
    "valid_data_path variable_seq_lengths vocab_extra_ids vocab_file wandb_entity wandb_exp_name "
    "wandb_project wandb_save_dir weight_decay weight_decay_incr_style";

const megatron_option *megatron_option_find(const char *name)
{
    size_t i = ST_FIND(options, ST_COUNT(options), option, name);
    return i < ST_COUNT(options) ? &options[i] : NULL;
}

const char *megatron_option_against(const char *argument, const char *value)
{
    for (size_t i = 0; i < ST_COUNT(options); i++)
        if (strcmp(options[i].argument, argument) == 0 && options[i].value != NULL &&
            strcmp(options[i].value, "False") == 0 && strcmp(value, "False") == 0)
            return options[i].option;
    return NULL;
}

bool megatron_is_flag(const char *name)
{
    return st_has_word(flags, name);
}

bool megatron_is_list(const char *name)
{
    return st_has_word("cuda_graph_modules cuda_graph_scope cp_comm_type num_experts "
                       "offload_modules recompute_modules",
                       name);
}

bool megatron_is_skipped(const char *name)
{
    return st_has_word(skipped, name);
}
