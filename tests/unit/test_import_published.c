/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.json as models are published with it on the Hub: dense and with experts, grouped and
 * latent attention, sliding windows, inside of a model with several parts. The shapes are those
 * that the models' papers and cards print.
 */
#define _DEFAULT_SOURCE
#include "../support/imports.h"

#include "base/json_read.h"

typedef struct published {
    const char *file;
    const char *text;
    const char *keys; /* "model.layers=32 ..." that the job must have */
} published;

#define COMMON                                                                                     \
    "\"torch_dtype\": \"bfloat16\", \"transformers_version\": \"4.43.0\", \"use_cache\": true"

static const published models[] = {
    {"Llama-3.1-8B/config.json",
     "{\"architectures\": [\"LlamaForCausalLM\"], \"attention_bias\": false, \"bos_token_id\": "
     "128000,"
     "\"eos_token_id\": 128001, \"hidden_act\": \"silu\", \"hidden_size\": 4096,"
     "\"initializer_range\": 0.02, \"intermediate_size\": 14336, \"max_position_embeddings\": "
     "131072,"
     "\"mlp_bias\": false, \"model_type\": \"llama\", \"num_attention_heads\": 32,"
     "\"num_hidden_layers\": 32, \"num_key_value_heads\": 8, \"pretraining_tp\": 1,"
     "\"rms_norm_eps\": 1e-05, \"rope_scaling\": {\"factor\": 8.0, \"high_freq_factor\": 4.0, "
     "\"low_freq_factor\": 1.0, \"original_max_position_embeddings\": 8192, \"rope_type\": "
     "\"llama3\"},"
     "\"rope_theta\": 500000.0, \"tie_word_embeddings\": false, \"vocab_size\": 128256, " COMMON
     "}",
     "model.name=llama-3.1-8b model.layers=32 model.hidden=4096 model.ffn=14336 model.heads=32 "
     "model.kv_heads=8 model.vocabulary=128256 model.tied=false model.gated=true model.norm=rms"},
    {"Llama-3.1-405B/config.json",
     "{\"architectures\": [\"LlamaForCausalLM\"], \"hidden_act\": \"silu\", \"hidden_size\": 16384,"
     "\"intermediate_size\": 53248, \"max_position_embeddings\": 131072, \"model_type\": \"llama\","
     "\"num_attention_heads\": 128, \"num_hidden_layers\": 126, \"num_key_value_heads\": 8,"
     "\"rms_norm_eps\": 1e-05, \"rope_theta\": 500000.0, \"tie_word_embeddings\": false,"
     "\"vocab_size\": 128256, " COMMON "}",
     "model.layers=126 model.hidden=16384 model.ffn=53248 model.heads=128 model.kv_heads=8"},
    {"Qwen2.5-72B/config.json",
     "{\"architectures\": [\"Qwen2ForCausalLM\"], \"attention_dropout\": 0.0, \"hidden_act\": "
     "\"silu\","
     "\"hidden_size\": 8192, \"intermediate_size\": 29568, \"max_position_embeddings\": 131072,"
     "\"max_window_layers\": 80, \"model_type\": \"qwen2\", \"num_attention_heads\": 64,"
     "\"num_hidden_layers\": 80, \"num_key_value_heads\": 8, \"rms_norm_eps\": 1e-05,"
     "\"rope_theta\": 1000000.0, \"sliding_window\": 131072, \"tie_word_embeddings\": false,"
     "\"use_sliding_window\": false, \"vocab_size\": 152064, " COMMON "}",
     "model.name=qwen2.5-72b model.layers=80 model.hidden=8192 model.ffn=29568 model.kv_heads=8 "
     "model.vocabulary=152064"},
    {"Qwen3-30B-A3B/config.json",
     "{\"architectures\": [\"Qwen3MoeForCausalLM\"], \"attention_bias\": false,"
     "\"decoder_sparse_step\": 1, \"head_dim\": 128, \"hidden_act\": \"silu\", \"hidden_size\": "
     "2048,"
     "\"intermediate_size\": 6144, \"max_position_embeddings\": 40960, \"max_window_layers\": 48,"
     "\"mlp_only_layers\": [], \"model_type\": \"qwen3_moe\", \"moe_intermediate_size\": 768,"
     "\"norm_topk_prob\": true, \"num_attention_heads\": 32, \"num_experts\": 128,"
     "\"num_experts_per_tok\": 8, \"num_hidden_layers\": 48, \"num_key_value_heads\": 4,"
     "\"output_router_logits\": false, \"rms_norm_eps\": 1e-06, \"rope_theta\": 1000000.0,"
     "\"router_aux_loss_coef\": 0.001, \"sliding_window\": null, \"tie_word_embeddings\": false,"
     "\"use_sliding_window\": false, \"vocab_size\": 151936, " COMMON "}",
     "model.layers=48 model.hidden=2048 model.heads=32 model.kv_heads=4 model.head_dim=128 "
     "model.experts=128 model.top_k=8 model.expert_ffn=768"},
    {"Mixtral-8x22B-v0.1/config.json",
     "{\"architectures\": [\"MixtralForCausalLM\"], \"attention_dropout\": 0.0, \"hidden_size\": "
     "6144,"
     "\"intermediate_size\": 16384, \"max_position_embeddings\": 65536, \"model_type\": "
     "\"mixtral\","
     "\"num_attention_heads\": 48, \"num_experts_per_tok\": 2, \"num_hidden_layers\": 56,"
     "\"num_key_value_heads\": 8, \"num_local_experts\": 8, \"rms_norm_eps\": 1e-05,"
     "\"rope_theta\": 1000000, \"router_aux_loss_coef\": 0.001, \"sliding_window\": null,"
     "\"tie_word_embeddings\": false, \"vocab_size\": 32000, " COMMON "}",
     "model.layers=56 model.hidden=6144 model.ffn=16384 model.heads=48 model.kv_heads=8 "
     "model.experts=8 model.top_k=2"},
    {"DeepSeek-V3/config.json",
     "{\"architectures\": [\"DeepseekV3ForCausalLM\"], \"attention_bias\": false, \"ep_size\": 1,"
     "\"first_k_dense_replace\": 3, \"hidden_act\": \"silu\", \"hidden_size\": 7168,"
     "\"intermediate_size\": 18432, \"kv_lora_rank\": 512, \"max_position_embeddings\": 163840,"
     "\"model_type\": \"deepseek_v3\", \"moe_intermediate_size\": 2048, \"moe_layer_freq\": 1,"
     "\"n_group\": 8, \"n_routed_experts\": 256, \"n_shared_experts\": 1, \"norm_topk_prob\": true,"
     "\"num_attention_heads\": 128, \"num_experts_per_tok\": 8, \"num_hidden_layers\": 61,"
     "\"num_key_value_heads\": 128, \"num_nextn_predict_layers\": 1, \"q_lora_rank\": 1536,"
     "\"qk_nope_head_dim\": 128, \"qk_rope_head_dim\": 64, \"quantization_config\": {\"fmt\": "
     "\"e4m3\"},"
     "\"rms_norm_eps\": 1e-06, \"rope_theta\": 10000, \"routed_scaling_factor\": 2.5,"
     "\"scoring_func\": \"sigmoid\", \"tie_word_embeddings\": false, \"topk_group\": 4,"
     "\"topk_method\": \"noaux_tc\", \"v_head_dim\": 128, \"vocab_size\": 129280, " COMMON "}",
     "model.layers=61 model.hidden=7168 model.q_lora=1536 model.kv_lora=512 model.head_dim=128 "
     "model.rope_dim=64 model.v_dim=128 model.experts=256 model.top_k=8 model.expert_ffn=2048 "
     "model.shared_ffn=2048 model.dense_layers=3 model.mtp=1"},
    {"gemma-2-9b/config.json",
     "{\"architectures\": [\"Gemma2ForCausalLM\"], \"attention_bias\": false,"
     "\"attn_logit_softcapping\": 50.0, \"cache_implementation\": \"hybrid\","
     "\"final_logit_softcapping\": 30.0, \"head_dim\": 256, \"hidden_activation\": "
     "\"gelu_pytorch_tanh\", \"hidden_size\": 3584, \"intermediate_size\": 14336,"
     "\"max_position_embeddings\": 8192, \"model_type\": \"gemma2\", \"num_attention_heads\": 16,"
     "\"num_hidden_layers\": 42, \"num_key_value_heads\": 8, \"query_pre_attn_scalar\": 256,"
     "\"rms_norm_eps\": 1e-06, \"rope_theta\": 10000.0, \"sliding_window\": 4096,"
     "\"sliding_window_size\": 4096, \"vocab_size\": 256000, " COMMON "}",
     "model.layers=42 model.hidden=3584 model.heads=16 model.kv_heads=8 model.head_dim=256 "
     "model.tied=true model.vocabulary=256000 model.pattern=(xd)*21 model.window=4096"},
    {"gemma-3-27b-it/config.json",
     "{\"architectures\": [\"Gemma3ForConditionalGeneration\"], \"boi_token_index\": 255999,"
     "\"eoi_token_index\": 256000, \"eos_token_id\": [1, 106], \"image_token_index\": 262144,"
     "\"mm_tokens_per_image\": 256, \"model_type\": \"gemma3\", \"text_config\": {\"head_dim\": "
     "128,"
     "\"hidden_size\": 5376, \"intermediate_size\": 21504, \"model_type\": \"gemma3_text\","
     "\"num_attention_heads\": 32, \"num_hidden_layers\": 62, \"num_key_value_heads\": 16,"
     "\"query_pre_attn_scalar\": 168, \"rope_scaling\": {\"factor\": 8.0, \"rope_type\": "
     "\"linear\"},"
     "\"sliding_window\": 1024}, \"vision_config\": {\"hidden_size\": 1152, \"image_size\": 896,"
     "\"model_type\": \"siglip_vision_model\", \"patch_size\": 14}, " COMMON "}",
     "model.name=gemma-3-27b-it model.layers=62 model.hidden=5376 model.heads=32 model.kv_heads=16 "
     "model.head_dim=128 model.vocabulary=262208 model.tied=true model.pattern=(x*5d)*10xx "
     "model.window=1024"},
    {"Mistral-7B-v0.1/config.json",
     "{\"architectures\": [\"MistralForCausalLM\"], \"hidden_act\": \"silu\", \"hidden_size\": "
     "4096,"
     "\"intermediate_size\": 14336, \"max_position_embeddings\": 32768, \"model_type\": "
     "\"mistral\","
     "\"num_attention_heads\": 32, \"num_hidden_layers\": 32, \"num_key_value_heads\": 8,"
     "\"rms_norm_eps\": 1e-05, \"rope_theta\": 10000.0, \"sliding_window\": 4096,"
     "\"tie_word_embeddings\": false, \"vocab_size\": 32000, " COMMON "}",
     "model.layers=32 model.hidden=4096 model.ffn=14336 model.kv_heads=8 model.vocabulary=32000 "
     "model.pattern=x*32 model.window=4096"},
    {"Phi-3-mini-4k-instruct/config.json",
     "{\"_name_or_path\": \"Phi-3-mini-4k-instruct\", \"architectures\": [\"Phi3ForCausalLM\"],"
     "\"attention_bias\": false, \"attention_dropout\": 0.0, \"auto_map\": {}, \"embd_pdrop\": 0.0,"
     "\"hidden_act\": \"silu\", \"hidden_size\": 3072, \"intermediate_size\": 8192,"
     "\"max_position_embeddings\": 4096, \"model_type\": \"phi3\", \"num_attention_heads\": 32,"
     "\"num_hidden_layers\": 32, \"num_key_value_heads\": 32, \"original_max_position_embeddings\":"
     "4096, \"resid_pdrop\": 0.0, \"rms_norm_eps\": 1e-05, \"rope_scaling\": null,"
     "\"sliding_window\": 2047, \"tie_word_embeddings\": false, \"vocab_size\": 32064, " COMMON "}",
     "model.name=phi-3-mini-4k-instruct model.layers=32 model.hidden=3072 model.ffn=8192 "
     "model.heads=32 model.vocabulary=32064 model.dropout=false"},
    {"gpt-oss-120b/config.json",
     "{\"architectures\": [\"GptOssForCausalLM\"], \"attention_bias\": true, "
     "\"attention_dropout\": 0.0,"
     "\"experts_per_token\": 4, \"head_dim\": 64, \"hidden_act\": \"silu\", \"hidden_size\": 2880,"
     "\"initial_context_length\": 4096, \"intermediate_size\": 2880,"
     "\"max_position_embeddings\": 131072, \"model_type\": \"gpt_oss\", \"num_attention_heads\": "
     "64,"
     "\"num_experts_per_tok\": 4, \"num_hidden_layers\": 36, \"num_key_value_heads\": 8,"
     "\"num_local_experts\": 128, \"quantization_config\": {\"quant_method\": \"mxfp4\"},"
     "\"rms_norm_eps\": 1e-05, \"rope_theta\": 150000, \"router_aux_loss_coef\": 0.9,"
     "\"sliding_window\": 128, \"swiglu_limit\": 7.0, \"tie_word_embeddings\": false,"
     "\"vocab_size\": 201088, " COMMON "}",
     "model.layers=36 model.hidden=2880 model.heads=64 model.kv_heads=8 model.head_dim=64 "
     "model.experts=128 model.top_k=4 model.ffn=2880 model.vocabulary=201088 model.window=128 "
     "model.pattern=(ye)*18 model.sinks=true"},
    {"Qwen3-235B-A22B/config.json",
     "{\"architectures\": [\"Qwen3MoeForCausalLM\"], \"decoder_sparse_step\": 1, \"head_dim\": 128,"
     "\"hidden_size\": 4096, \"intermediate_size\": 12288, \"max_position_embeddings\": 40960,"
     "\"max_window_layers\": 94, \"mlp_only_layers\": [], \"model_type\": \"qwen3_moe\","
     "\"moe_intermediate_size\": 1536, \"norm_topk_prob\": true, \"num_attention_heads\": 64,"
     "\"num_experts\": 128, \"num_experts_per_tok\": 8, \"num_hidden_layers\": 94,"
     "\"num_key_value_heads\": 4, \"rms_norm_eps\": 1e-06, \"rope_theta\": 1000000.0,"
     "\"tie_word_embeddings\": false, \"use_sliding_window\": false, \"vocab_size\": "
     "151936, " COMMON "}",
     "model.layers=94 model.hidden=4096 model.heads=64 model.kv_heads=4 model.experts=128 "
     "model.expert_ffn=1536"},
    {"Qwen3-Next-80B-A3B-Instruct/config.json",
     "{\"architectures\": [\"Qwen3NextForCausalLM\"], \"attention_bias\": false"
     ", \"attention_dropout\": 0.0, \"decoder_sparse_step\": 1"
     ", \"full_attention_interval\": 4, \"head_dim\": 256, \"hidden_act\": \"silu\""
     ", \"hidden_size\": 2048, \"intermediate_size\": 5120, \"linear_conv_kernel_dim\": 4"
     ", \"linear_key_head_dim\": 128, \"linear_num_key_heads\": 16"
     ", \"linear_num_value_heads\": 32, \"linear_value_head_dim\": 128"
     ", \"max_position_embeddings\": 262144, \"mlp_only_layers\": []"
     ", \"model_type\": \"qwen3_next\", \"moe_intermediate_size\": 512"
     ", \"norm_topk_prob\": true, \"num_attention_heads\": 16, \"num_experts\": 512"
     ", \"num_experts_per_tok\": 10, \"num_hidden_layers\": 48, \"num_key_value_heads\": 2"
     ", \"output_router_logits\": false, \"partial_rotary_factor\": 0.25"
     ", \"rms_norm_eps\": 1e-06, \"rope_scaling\": null, \"rope_theta\": 10000000"
     ", \"router_aux_loss_coef\": 0.001, \"shared_expert_intermediate_size\": 512"
     ", \"tie_word_embeddings\": false, \"use_sliding_window\": false"
     ", \"vocab_size\": 151936, " COMMON "}",
     "model.layers=48 model.pattern=(hhhe)*12 model.head_dim=256 model.kv_heads=2 "
     "model.experts=512 model.top_k=10 model.expert_ffn=512 model.shared_ffn=512 "
     "model.delta_k_heads=16 model.delta_v_heads=32 model.delta_k_dim=128 "
     "model.gated_attention=true"},
    {"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16/config.json",
     "{\"architectures\": [\"NemotronHForCausalLM\"], \"attention_bias\": false"
     ", \"chunk_size\": 128, \"conv_kernel\": 4, \"expand\": 2, \"head_dim\": 128"
     ", \"hidden_size\": 2688"
     ", \"hybrid_override_pattern\": \"MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME\""
     ", \"intermediate_size\": 1856, \"layer_norm_epsilon\": 1e-05, \"mamba_head_dim\": 64"
     ", \"mamba_hidden_act\": \"silu\", \"mamba_num_heads\": 64, \"mamba_proj_bias\": false"
     ", \"max_position_embeddings\": 262144, \"mlp_bias\": false"
     ", \"mlp_hidden_act\": \"relu2\", \"model_type\": \"nemotron_h\""
     ", \"moe_intermediate_size\": 1856, \"moe_shared_expert_intermediate_size\": 3712"
     ", \"n_group\": 1, \"n_groups\": 8, \"n_routed_experts\": 128, \"n_shared_experts\": 1"
     ", \"norm_topk_prob\": true, \"num_attention_heads\": 32, \"num_experts_per_tok\": 6"
     ", \"num_hidden_layers\": 52, \"num_key_value_heads\": 2, \"ssm_state_size\": 128"
     ", \"tie_word_embeddings\": false, \"time_step_max\": 0.1, \"topk_group\": 1"
     ", \"use_bias\": false, \"vocab_size\": 131072, " COMMON "}",
     "model.layers=52 model.hybrid=true model.hidden=2688 model.heads=32 model.mamba_heads=64 "
     "model.mamba_head_dim=64 model.mamba_state=128 model.mamba_groups=8 model.experts=128 "
     "model.top_k=6 model.expert_ffn=1856 model.shared_ffn=3712 model.gated=false "
     "model.norm=rms model.tied=false"},
    {"GLM-4.5/config.json",
     "{\"architectures\": [\"Glm4MoeForCausalLM\"], \"attention_bias\": true"
     ", \"first_k_dense_replace\": 3, \"head_dim\": 128, \"hidden_act\": \"silu\""
     ", \"hidden_size\": 5120, \"intermediate_size\": 12288"
     ", \"max_position_embeddings\": 131072, \"model_type\": \"glm4_moe\""
     ", \"moe_intermediate_size\": 1536, \"n_group\": 1, \"n_routed_experts\": 160"
     ", \"n_shared_experts\": 1, \"norm_topk_prob\": true, \"num_attention_heads\": 96"
     ", \"num_experts_per_tok\": 8, \"num_hidden_layers\": 92, \"num_key_value_heads\": 8"
     ", \"num_nextn_predict_layers\": 1, \"partial_rotary_factor\": 0.5"
     ", \"rms_norm_eps\": 1e-05, \"rope_theta\": 1000000, \"routed_scaling_factor\": 2.5"
     ", \"tie_word_embeddings\": false, \"topk_group\": 1, \"use_qk_norm\": true"
     ", \"vocab_size\": 151552, " COMMON "}",
     "model.layers=92 model.hidden=5120 model.heads=96 model.kv_heads=8 model.head_dim=128 "
     "model.experts=160 model.dense_layers=3 model.shared_ffn=1536 model.mtp=1"},
    {"Kimi-K2-Instruct/config.json",
     "{\"architectures\": [\"DeepseekV3ForCausalLM\"], \"first_k_dense_replace\": 1"
     ", \"hidden_size\": 7168, \"intermediate_size\": 18432, \"kv_lora_rank\": 512"
     ", \"max_position_embeddings\": 131072, \"model_type\": \"kimi_k2\""
     ", \"moe_intermediate_size\": 2048, \"moe_layer_freq\": 1, \"n_group\": 1"
     ", \"n_routed_experts\": 384, \"n_shared_experts\": 1, \"num_attention_heads\": 64"
     ", \"num_experts_per_tok\": 8, \"num_hidden_layers\": 61, \"num_key_value_heads\": 64"
     ", \"num_nextn_predict_layers\": 0, \"q_lora_rank\": 1536, \"qk_nope_head_dim\": 128"
     ", \"qk_rope_head_dim\": 64, \"tie_word_embeddings\": false, \"v_head_dim\": 128"
     ", \"vocab_size\": 163840, " COMMON "}",
     "model.layers=61 model.heads=64 model.experts=384 model.dense_layers=1 model.kv_lora=512"},
    {"DeepSeek-V3.2-Exp/config.json",
     "{\"architectures\": [\"DeepseekV32ForCausalLM\"], \"first_k_dense_replace\": 3"
     ", \"hidden_size\": 7168, \"index_head_dim\": 128, \"index_n_heads\": 64"
     ", \"index_topk\": 2048, \"intermediate_size\": 18432, \"kv_lora_rank\": 512"
     ", \"max_position_embeddings\": 163840, \"model_type\": \"deepseek_v32\""
     ", \"moe_intermediate_size\": 2048, \"moe_layer_freq\": 1, \"n_routed_experts\": 256"
     ", \"n_shared_experts\": 1, \"num_attention_heads\": 128, \"num_experts_per_tok\": 8"
     ", \"num_hidden_layers\": 61, \"num_key_value_heads\": 128"
     ", \"num_nextn_predict_layers\": 1, \"q_lora_rank\": 1536, \"qk_nope_head_dim\": 128"
     ", \"qk_rope_head_dim\": 64, \"tie_word_embeddings\": false, \"v_head_dim\": 128"
     ", \"vocab_size\": 129280, " COMMON "}",
     "model.layers=61 model.index_heads=64 model.index_dim=128 model.index_top_k=2048 "
     "model.mtp=1"},
    {"DeepSeek-V4-Flash/config.json",
     "{\"architectures\": [\"DeepseekV4ForCausalLM\"]"
     ", \"compress_ratios\": [0, 0, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, "
     "128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, 4, 128, "
     "4, 128, 4, 0]"
     ", \"compress_rope_theta\": 160000, \"expert_dtype\": \"fp4\", \"hc_eps\": 1e-06"
     ", \"hc_mult\": 4, \"hc_sinkhorn_iters\": 20, \"head_dim\": 512, \"hidden_size\": 4096"
     ", \"index_head_dim\": 128, \"index_n_heads\": 64, \"index_topk\": 512"
     ", \"max_position_embeddings\": 1048576, \"model_type\": \"deepseek_v4\""
     ", \"moe_intermediate_size\": 2048, \"n_routed_experts\": 256, \"n_shared_experts\": 1"
     ", \"num_attention_heads\": 64, \"num_experts_per_tok\": 6, \"num_hash_layers\": 3"
     ", \"num_hidden_layers\": 43, \"num_key_value_heads\": 1"
     ", \"num_nextn_predict_layers\": 1, \"o_groups\": 8, \"o_lora_rank\": 1024"
     ", \"q_lora_rank\": 1024, \"qk_rope_head_dim\": 64, \"scoring_func\": \"sqrtsoftplus\""
     ", \"sliding_window\": 128, \"swiglu_limit\": 10.0, \"tie_word_embeddings\": false"
     ", \"vocab_size\": 129280, " COMMON "}",
     "model.layers=43 model.heads=64 model.head_dim=448 model.rope_dim=64 model.v_dim=512 "
     "model.kv_lora=512 model.o_lora=1024 model.o_groups=8 model.window=128 "
     "model.index_layers=21 model.index_compression=4 model.compressed_layers=20 "
     "model.compression=128 model.hyper_connections=4 model.mtp=1 model.shared_ffn=2048"},
    {"Llama-4-Scout-17B-16E/config.json",
     "{\"architectures\": [\"Llama4ForConditionalGeneration\"], \"model_type\": \"llama4\""
     ", \"text_config\": {\"attention_chunk_size\": 8192, \"attention_bias\": false"
     ", \"head_dim\": 128, \"hidden_size\": 5120, \"interleave_moe_layer_step\": 1"
     ", \"intermediate_size\": 8192, \"intermediate_size_mlp\": 16384"
     ", \"max_position_embeddings\": 10485760, \"model_type\": \"llama4_text\""
     ", \"no_rope_layers\": [], \"num_attention_heads\": 40, \"num_experts_per_tok\": 1"
     ", \"num_hidden_layers\": 48, \"num_key_value_heads\": 8, \"num_local_experts\": 16"
     ", \"use_qk_norm\": true, \"vocab_size\": 202048}"
     ", \"vision_config\": {\"hidden_size\": 1408, \"model_type\": "
     "\"llama4_vision_model\"}, " COMMON "}",
     "model.layers=48 model.pattern=(yyye)*12 model.window=8192 model.experts=16 "
     "model.expert_ffn=8192 model.shared_ffn=8192 model.ffn=16384"},
};

static void expect_keys(import_case *with, const char *keys)
{
    char pairs[1024];
    assert_true(strlen(keys) < sizeof pairs);
    memcpy(pairs, keys, strlen(keys) + 1);
    for (char *pair = pairs; pair != NULL && *pair != '\0';) {
        char *next = strchr(pair, ' ');
        char *value = strchr(pair, '=');
        assert_non_null(value);
        *value++ = '\0';
        if (next != NULL)
            *next++ = '\0';
        const st_key *key = st_key_find(pair);
        const char *name = strrchr(pair, '.');
        char line[256];
        assert_non_null(key);
        const char *quote = key->kind == ST_KEY_TEXT ? "\"" : "";
        (void)snprintf(line, sizeof line, "%s: %s%s%s ", name + 1, quote, value, quote);
        expect_words(with, line);
        pair = next;
    }
}

TEST(published_files_are_imported)
{
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        import_case *with = import_begin();
        with->request.file = models[i].file;
        import_run(with, st_import_hf, models[i].text);
        if (with->status != ST_OK)
            fail_msg("%s: %s", models[i].file, import_faults(with));
        expect_keys(with, models[i].keys);
        expect_words(with, "Next, with values of your own: steptime search JOB --gpus 64");
        if (strstr(with->text.data, "Not understood") != NULL)
            fail_msg("%s: %s", models[i].file, with->text.data);
        assert_null(strstr(with->text.data, "/"));
        import_end(with);
    }
}

TEST_GROUP(import_published)
{
    if (!st_json_available())
        return 77;
    return RUN_TESTS(import_published);
}
