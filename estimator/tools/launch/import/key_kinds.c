/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of frameworks that no importer looked at: harmless ones, by framework, and names that decide
 * what an estimate is, with the key of the job that settles them. All others are listed.
 *
 * Sources: arguments.py, TransformerConfig, OptimizerConfig, DistributedDataParallelConfig of
 * Megatron-LM (August 2026); ConfigContainer of Megatron-Bridge; job_config.py of torchtitan 0.2.2;
 * "DeepSpeed Configuration JSON"; accelerate's plugins; Primus' pre_trainer.yaml.
 */
#include "launch/import/megatron.h"

#include "steptime/keys.h"
#include "steptime/quantity.h"

#include <fnmatch.h>
#include <string.h>

/* Patterns of names, as of fnmatch, with blanks between them. */
typedef struct key_words {
    const char *framework;
    const char *patterns;
} key_words;

static const key_words harmless[] = {
    {"any", "*._target_ *._call_ *._partial_ *._args_ _target_ *_path *_dir *_folder *_file *seed "
            "*_interval *_freq *timeout* *tokenizer* *wandb* *tensorboard* *profil* *logg* log_*"},
    {"Megatron-LM",
     "ckpt_* *inference* rl_* grpo_* eval_* dino_* biencoder_* retriever_* logits_save_* *_factory "
     "freeze_all_layers *random_init fully_parallel_* dsa_indexer_* indexer_* num_channels "
     "patch_dim pad_vocab_size *comm_backend *process_group* min_offloaded_tensor_size "
     "activation_offload_fraction cpu_offloading_activations cpu_offloading_weights "
     "fine_grained_offloading_* *quantizer* gdp_* decrease_batch_size* autocast_dtype "
     "pipeline_dtype moe_dispatch_fwd_dtype moe_combine_bwd_dtype megatron_fsdp_main_params_dtype "
     "high_priority_stream_groups te_rng_tracker num_microbatches* *detach_heads batch_p2p_* "
     "gradient_reduce_div_fusion rotary_* mup_* extra_init_* use_same_sampling* embedding_init_* "
     "output_layer_init_* deallocate_pipeline_outputs deterministic_mode "
     "use_persistent_ckpt_worker "
     "dist_ckpt_* no_*_fusion no_mmap_bin_files no_ckpt_* no_create_attention_mask_in_dataloader "
     "no_persist_layer_norm moe_router_bias_update_rate use_flashinfer_* async_* verify_integrity "
     "flash_decode enable_chunked_prefill defer_embedding_wgrad_compute wgrad_deferral_limit "
     "decoupled_* straggler_* empty_unused_memory_level ddp_num_buckets ddp_pad_buckets_* "
     "ddp_average_in_collective cuda_graph_warmup_steps check_for_large_grads muon_* fim_* "
     "export_* temperature top_p return_log_probs num_tokens_to_generate prompts "
     "max_tokens_to_oom incoming_requests_* output_every_n_results prompt_file* stop_words "
     "termination_id use_coordinator use_legacy_static_engine test_mode "
     "data_impl no_pipeline_parallel no_async_tensor_model_parallel_allreduce DDP_impl "
     "no_fp8_weight_transpose_cache disable_bf16_reduced_precision_matmul offload_time "
     "auto_offload_time offload_overlap_sr "
     "data_sharding "
     "retro_*"},
    {"Megatron-Bridge",
     "checkpoint.* tokenizer.* logger.* scheduler.* rng.* nvrx_straggler.* profiling.* ft.* "
     "straggler.* inprocess_restart.* tensor_inspect.* rerun_state_machine.* validation.* "
     "comm_overlap.*_cfg.* dataset.* dist.* optimizer.* model.generation_config.* peft.target* "
     "peft.alpha peft.dropout* peft.lora_* peft.*_init* "
     "model.*._target_ mixed_precision.*"},
    {"torchtitan",
     "job.* profiling.* metrics.* lr_scheduler.* optimizer.* checkpoint.* comm.* validation.* "
     "memory_estimation.* fault_tolerance.* debug.* compile.* experimental.* training.dataset* "
     "training.max_norm training.gc_* training.dataloader.* model.hf_assets_path "
     "model.tokenizer_path model.print_after_conversion parallelism.disable_loss_parallel "
     "parallelism.context_parallel_load_balancer activation_checkpoint.early_stop "
     "activation_checkpoint.preserve_rng_state activation_checkpoint.determinism_check "
     "activation_checkpoint.debug activation_checkpoint.per_op_sac* "
     "primus_turbo.use_* primus_turbo.enable_primus_turbo primus_turbo.enable_embedding_autocast "
     "activation_checkpoint.visualize* quantize.*.filter_fqns quantize.*.emulate "
     "quantize.*.precompute_float8* quantize.*.enable_fsdp_float8_all_gather "
     "quantize.*.mxfp8_dim1* quantize.*.fqns quantize.*.recipe_name training.deterministic"},
    {"DeepSpeed",
     "optimizer.* scheduler.* prescale_gradients gradient_predivide_factor sparse_gradients "
     "*.loss_scale* *.initial_scale_power *.hysteresis *.consecutive_hysteresis *.min_loss_scale "
     "*.auto_cast bf16.immediate_grad_update bf16.check_grad_overflow gradient_clipping "
     "zero_optimization.*allgather_* *reduce_scatter *_bucket_size *contiguous_gradients "
     "zero_optimization.stage3_* zero_optimization.sub_group_size *.round_robin_gradients "
     "*.ignore_unused_parameters *.load_from_fp32_weights *.elastic_checkpoint *.grad_hooks "
     "*.memory_efficient_linear *.pin_memory *.nvme_path *.buffer_count *.buffer_size "
     "*.fast_init *.pipeline_read *.pipeline_write *.max_in_cpu *.overlap_events "
     "zero_allow_untested_optimizer zero_force_ds_cpu_optimizer steps_per_print dump_state "
     "wall_clock_breakdown memory_breakdown autotuning.* flops_profiler.* monitor_config.* "
     "csv_monitor.* comet.* comms_logger.* aio.* nebula.* data_efficiency.* "
     "curriculum_learning.[!e]* "
     "hybrid_engine.* checkpoint.* compile.* activation_checkpointing.* use_node_local_storage "
     "load_universal_checkpoint"},
    {"accelerate",
     "compute_environment debug main_training_function machine_rank same_network rdzv_backend "
     "main_process_* *.deepspeed_multinode_launcher *.deepspeed_hostfile *.zero3_* "
     "*.gradient_clipping *.fsdp_auto_wrap_policy "
     "*.fsdp_transformer_layer_cls_to_wrap *.fsdp_backward_prefetch* *.fsdp_state_dict_type "
     "*.fsdp_use_orig_params *.fsdp_sync_module_states *.fsdp_cpu_ram_efficient_loading "
     "*.fsdp_version "
     "*.fsdp_forward_prefetch tpu_* dynamo_config.* *enable_cpu_affinity downcast_bf16 "
     "gradient_clipping"},
    {"Primus",
     "work_group user_name exp_name workspace platform modules.*.framework modules.*.config "
     "modules.*.model *sink_level disable_last_saving auto_continue_train *turbo* primus* mlflow_* "
     "*mlflow generate_tracelens* use_rocm_mem_info* weight_deosc* "
     "patch_* pp_warmup pp_max_mem pp_cost_* dump_pp_data sink_* zero_bubble_* enable_zero_bubble "
     "enable_zb_runtime pp_algorithm communication_method debug_scheduler* "
     "moe_router_force_load_balancing_type dataloader_mp_context disable_compile_dependencies "
     "interleave_group_size num_seq_splits allow_padding_num_layers *gradient_stochastic_rounding "
     "pre_communication_optimization enable_exactly_numeric_match align_* odc_* bert_* vision_* "
     "swin_* img_* classes_fraction data_per_class_fraction mask_* sgd_* head_lr_mult pin_cpu_* "
     "error_injection_* suggested_communication_unit_size tp_comm_* query_in_block_prob "
     "iter_per_epoch sample_rate num_classes num_samples image_size non_persistent_* model_type "
     "torch_compile.* mock_dataset.* app_tag_* apply_rope_fusion moe_use_legacy_grouped_gemm "
     "moe_use_fused_router* enable_experimental record_* nvtx_ranges sft_* conv_L_cache "
     "clone_scatter_* tiktoken_*"},
    {"launcher",
     "nodes ntasks* cpus_per_task gres gpus_per_* job_name output error time partition account "
     "qos mem exclusive hostfile include exclude master_* num_machines machine_rank mpi_params "
     "container_* no_container* kill_on_bad_exit export cpu_bind label unbuffered overlap"},
};

/* What names decide: any value that is not off, or numbers above 1. */
static const struct {
    const char *patterns;
    bool number;
    const char *key;
} deciding[] = {
    {"*offload* cpu_optimizer", false, ST_KEY_OFFLOAD_OPTIMIZER},
    {"*recompute* *checkpoint_activations* *activation_checkpoint* *gradient_checkpointing*", false,
     ST_KEY_RECOMPUTE},
    {"*micro_batch* *microbatch_size* *per_device*batch* *batch_size_per_gpu*", true,
     ST_KEY_BATCH_MICRO},
    {"*accumulation* *grad_acc*", true, ST_KEY_BATCH_GLOBAL},
    {"*batch_size*", true, ST_KEY_BATCH_GLOBAL},
    {"curriculum_learning.enabled", false, ST_KEY_BATCH_SEQUENCE},
    {"pipeline.stages", true, ST_KEY_PARALLEL_PP},
    {"*seq_len* *seq_length* *sequence_length* *max_length* *context_length*", true,
     ST_KEY_BATCH_SEQUENCE},
    {"*tensor*parallel* *tp_size *tp_degree", true, ST_KEY_PARALLEL_TP},
    {"*pipeline*parallel* *pp_size *pp_degree", true, ST_KEY_PARALLEL_PP},
    {"*context_parallel* *sequence_parallel_size cp_size *cp_degree ulysses*", true,
     ST_KEY_PARALLEL_CP},
    {"*expert*parallel* *ep_size *ep_degree", true, ST_KEY_PARALLEL_EP},
    {"*parallel* *world_size", true, ST_KEY_PARALLEL_DP},
    {"*zbh1* *zero_bubble*", false, ST_KEY_PARALLEL_SCHEDULE},
    {"mlp_type", false, ST_KEY_MODEL_SHARED_FFN},
    {"lora.* *.lora.* lora_rank lora_alpha lora_r peft peft.dim peft._target_", false,
     ST_KEY_TRAIN_TASK},
    {"*zero_stage* *sharding* hybrid_context_parallel", false, ST_KEY_PARALLEL_ZERO},
    {"zero_hpz* *.zero_hpz*", true, ST_KEY_PARALLEL_SHARD},
    {"*precision* *dtype* *fp8* *fp4* *bf16* *fp16* *quantiz* amp.enabled", false,
     ST_KEY_PRECISION_WEIGHTS},
    {"*layers* *n_layer", true, ST_KEY_MODEL_LAYERS},
    {"*ffn* *intermediate*", true, ST_KEY_MODEL_FFN},
    {"*hidden_size *embed_dim *d_model *hidden_dim", true, ST_KEY_MODEL_HIDDEN},
    {"*heads* *query_groups", true, ST_KEY_MODEL_HEADS},
    {"*experts* *topk *top_k", true, ST_KEY_MODEL_EXPERTS},
    {"*vocab_size", true, ST_KEY_MODEL_VOCABULARY},
    {"*_rank *_channels *head_dim", true, ST_KEY_MODEL_HEAD_DIM},
};

bool megatron_fits(const char *patterns, const char *name)
{
    char pattern[64];
    for (const char *word = patterns; *word != '\0';) {
        size_t length = strcspn(word, " ");
        (void)snprintf(pattern, sizeof pattern, "%.*s", (int)length, word);
        if (fnmatch(pattern, name, 0) == 0)
            return true;
        word += length + strspn(word + length, " ");
    }
    return false;
}

/* The name in its section, "fp8" of "model.fp8". */
static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL ? dot + 1 : name;
}

bool megatron_is_off(const char *value)
{
    static const char *const off[] = {"None", "False", "false", "0",    "[]",   "0.0",
                                      "",     "null",  "{}",    "none", "auto", "standard"};
    for (size_t i = 0; i < ST_COUNT(off); i++)
        if (strcmp(value, off[i]) == 0)
            return true;
    return false;
}

bool megatron_is_harmless(const char *name)
{
    const bool is_adapter = megatron_fits("lora.* *.lora.*", name);
    if (!is_adapter && (megatron_is_skipped(name) || megatron_is_skipped(last_part(name))))
        return true;
    for (size_t i = 0; i < ST_COUNT(harmless); i++)
        if (megatron_fits(harmless[i].patterns, name))
            return true;
    return false;
}

const char *megatron_decided_key(const megatron_argument *argument)
{
    double number = 0;
    const char *text = argument->value;
    bool counts =
        st_number_parse(text, strlen(text), (st_place){0}, &number, NULL) == ST_OK && number > 1;
    if (megatron_is_off(text) || megatron_is_harmless(argument->name))
        return NULL;
    for (size_t i = 0; i < ST_COUNT(deciding); i++)
        if ((counts || !deciding[i].number) && megatron_fits(deciding[i].patterns, argument->name))
            return deciding[i].key;
    return NULL;
}
