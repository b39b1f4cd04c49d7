/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers by kind in config.json: windows, gated delta nets, Mamba-2, compressed and chosen keys,
 * multi-token prediction. The files have the fields of published ones, with numbers of their own.
 */
#define _DEFAULT_SOURCE
#include "../support/imports.h"

#include "base/json_read.h"

#define SHAPE                                                                                      \
    "\"hidden_size\": 3072, \"num_attention_heads\": 24, \"num_key_value_heads\": 6,"              \
    "\"intermediate_size\": 7232, \"vocab_size\": 31999"
#define EXPERTS "\"num_experts\": 48, \"num_experts_per_tok\": 5, \"moe_intermediate_size\": 1217"
#define DELTA                                                                                      \
    "\"linear_num_key_heads\": 7, \"linear_num_value_heads\": 14, \"linear_key_head_dim\": 97,"    \
    "\"linear_value_head_dim\": 101, \"linear_conv_kernel_dim\": 4"

static void expect_pattern(const char *source, const char *pattern)
{
    import_case *with = import_good(st_import_hf, source);
    expect_key(with, "model.pattern", pattern);
    if (pattern != NULL) {
        expect_key(with, "model.dense_layers", NULL);
        expect_key(with, "model.moe_every", NULL);
    }
    import_end(with);
}

TEST(windows_alternate)
{
    import_case *with = import_good(
        st_import_hf, "{\"model_type\": \"gpt_oss\", " SHAPE ", \"num_hidden_layers\": 6,"
                      "\"num_local_experts\": 48, \"num_experts_per_tok\": 5, \"head_dim\": 61,"
                      "\"sliding_window\": 127, \"layer_types\": [\"sliding_attention\","
                      "\"full_attention\", \"sliding_attention\", \"full_attention\","
                      "\"sliding_attention\", \"full_attention\"]}");
    expect_key(with, "model.pattern", "(ye)*3");
    expect_key(with, "model.window", "127");
    expect_key(with, "model.sinks", "true");
    expect_key(with, "model.head_dim", "61");
    import_end(with);
    expect_pattern("{\"model_type\": \"gemma2\", " SHAPE ", \"num_hidden_layers\": 7,"
                   "\"sliding_window\": 511}",
                   "(xd)*3x");
    expect_pattern("{\"model_type\": \"gemma3_text\", " SHAPE ", \"num_hidden_layers\": 14,"
                   "\"sliding_window\": 511}",
                   "(x*5d)*2xx");
    expect_pattern("{\"model_type\": \"gemma3_text\", " SHAPE ", \"num_hidden_layers\": 9,"
                   "\"sliding_window\": 511, \"sliding_window_pattern\": 3}",
                   "(xxd)*3");
    expect_pattern("{\"model_type\": \"exaone4\", " SHAPE ", \"num_hidden_layers\": 8,"
                   "\"sliding_window\": 511, \"sliding_window_pattern\": \"LLLG\"}",
                   "(xxxd)*2");
    expect_pattern("{\"model_type\": \"gpt_neo\", " SHAPE ", \"num_hidden_layers\": 6,"
                   "\"max_position_embeddings\": 2048, \"window_size\": 255,"
                   "\"attention_types\": [[[\"global\", \"local\"], 3]]}",
                   "(dx)*3");
}

TEST(windows_of_all_layers)
{
    expect_pattern("{\"model_type\": \"mistral\", " SHAPE ", \"num_hidden_layers\": 9,"
                   "\"max_position_embeddings\": 32768, \"sliding_window\": 4095}",
                   "x*9");
    expect_pattern("{\"model_type\": \"mixtral\", " SHAPE ", \"num_hidden_layers\": 9," EXPERTS
                   ", \"sliding_window\": 4095}",
                   "y*9");
    expect_pattern("{\"model_type\": \"qwen2\", " SHAPE ", \"num_hidden_layers\": 9,"
                   "\"sliding_window\": 4095, \"use_sliding_window\": true,"
                   "\"max_window_layers\": 4}",
                   "d*4x*5");
    expect_pattern("{\"model_type\": \"mistral\", " SHAPE ", \"num_hidden_layers\": 9,"
                   "\"max_position_embeddings\": 4095, \"sliding_window\": 4095}",
                   NULL);
    expect_pattern("{\"model_type\": \"mistral\", " SHAPE ", \"num_hidden_layers\": 9,"
                   "\"sliding_window\": null}",
                   NULL);
}

/* A window that holds the sequence is no window. */
TEST(the_sequence_may_be_shorter)
{
    static const char *const sets[] = {"batch.sequence=2385"};
    (void)state;
    import_case *with = import_begin();
    with->request.sets = sets;
    with->request.set_count = 1;
    import_run(with, st_import_hf,
               "{\"model_type\": \"mistral\", " SHAPE ", \"num_hidden_layers\": 9,"
               "\"sliding_window\": 2385}");
    assert_int_equal(with->status, ST_OK);
    expect_words(with, "The sliding window of 2385 tokens covers the whole sequence");
    assert_null(strstr(with->text.data, "pattern:"));
    import_end(with);
}

TEST(chunks_are_told)
{
    import_case *with = import_good(
        st_import_hf,
        "{\"model_type\": \"llama4\", \"text_config\": {\"model_type\": \"llama4_text\", " SHAPE
        ", \"num_hidden_layers\": 8, \"intermediate_size_mlp\": 16383, \"num_local_experts\": 16,"
        "\"num_experts_per_tok\": 1, \"interleave_moe_layer_step\": 2,"
        "\"attention_chunk_size\": 8191, \"no_rope_layers\": []}}");
    expect_key(with, "model.pattern", "(xyxe)*2");
    expect_key(with, "model.window", "8191");
    expect_words(with, "Attention within chunks is estimated as a sliding window");
    import_end(with);
    expect_pattern("{\"model_type\": \"llama4_text\", " SHAPE ", \"num_hidden_layers\": 4,"
                   "\"intermediate_size_mlp\": 16383, \"num_local_experts\": 16,"
                   "\"num_experts_per_tok\": 1, \"attention_chunk_size\": 8191,"
                   "\"no_rope_layers\": [1, 0, 1, 0]}",
                   "(ye)*2");
}

TEST(delta_nets_are_read)
{
    import_case *with = import_good(
        st_import_hf, "{\"model_type\": \"qwen3_next\", " SHAPE ", " EXPERTS ", " DELTA
                      ", \"num_hidden_layers\": 8, \"head_dim\": 251, \"decoder_sparse_step\": 1,"
                      "\"shared_expert_intermediate_size\": 613, \"mlp_only_layers\": []}");
    expect_key(with, "model.pattern", "(hhhe)*2");
    expect_key(with, "model.delta_k_heads", "7");
    expect_key(with, "model.delta_v_heads", "14");
    expect_key(with, "model.delta_k_dim", "97");
    expect_key(with, "model.delta_v_dim", "101");
    expect_key(with, "model.gated_attention", "true");
    expect_key(with, "model.shared_ffn", "613");
    assert_null(strstr(with->text.data, "Not understood"));
    import_end(with);
    with = import_good(st_import_hf,
                       "{\"model_type\": \"qwen3_5\", \"vision_config\": {\"depth\": 3},"
                       "\"text_config\": {\"model_type\": \"qwen3_5_text\", " SHAPE ", " DELTA
                       ", \"num_hidden_layers\": 9, \"full_attention_interval\": 3,"
                       "\"mtp_num_hidden_layers\": 1}}");
    expect_key(with, "model.pattern", "(ggd)*3");
    expect_key(with, "model.mtp", "1");
    expect_words(with, "Left out: vision_config.");
    import_end(with);
    expect_pattern("{\"model_type\": \"qwen3_5_moe_text\", " SHAPE ", " EXPERTS ", " DELTA
                   ", \"num_hidden_layers\": 4, \"layer_types\": [\"linear_attention\","
                   "\"full_attention\", \"linear_attention\", \"full_attention\"]}",
                   "(he)*2");
    expect_refusal(st_import_hf,
                   "{\"model_type\": \"qwen3_next\", " SHAPE ", " EXPERTS
                   ", \"num_hidden_layers\": 4, \"linear_num_value_heads\": 14}",
                   ST_ERR_NAME, "'linear_key_head_dim' is missing");
    expect_refusal(st_import_hf,
                   "{\"model_type\": \"qwen3_next\", " SHAPE ", " EXPERTS
                   ", \"num_hidden_layers\": 4, \"full_attention_interval\": 2}",
                   ST_ERR_NAME, "'linear_num_value_heads' is missing");
}

#define HYBRID                                                                                     \
    "\"model_type\": \"nemotron_h\", \"hidden_size\": 2688, \"num_attention_heads\": 32,"          \
    "\"num_key_value_heads\": 2, \"head_dim\": 127, \"vocab_size\": 131071,"                       \
    "\"mamba_num_heads\": 65, \"mamba_head_dim\": 63, \"ssm_state_size\": 129, \"n_groups\": 9,"   \
    "\"conv_kernel\": 4, \"expand\": 2, \"chunk_size\": 128, \"mamba_proj_bias\": false"
#define HYBRID_EXPERTS                                                                             \
    "\"n_routed_experts\": 511, \"num_experts_per_tok\": 22, \"moe_intermediate_size\": 2689,"     \
    "\"n_shared_experts\": 1, \"moe_shared_expert_intermediate_size\": 5377,"                      \
    "\"moe_latent_size\": 1023"

TEST(hybrids_are_read)
{
    import_case *with =
        import_good(st_import_hf, "{" HYBRID ", " HYBRID_EXPERTS ", \"num_hidden_layers\": 12,"
                                  "\"hybrid_override_pattern\": \"MEME*EMEMEM*\","
                                  "\"num_nextn_predict_layers\": 2, \"n_group\": 7,"
                                  "\"topk_group\": 3}");
    expect_key(with, "model.expert_groups", "7");
    expect_key(with, "model.top_groups", "3");
    expect_key(with, "model.hybrid", "true");
    expect_key(with, "model.pattern", "MEME*EMEMEM*");
    expect_key(with, "model.layers", "12");
    expect_key(with, "model.mamba_heads", "65");
    expect_key(with, "model.mamba_head_dim", "63");
    expect_key(with, "model.mamba_state", "129");
    expect_key(with, "model.mamba_groups", "9");
    expect_key(with, "model.experts", "511");
    expect_key(with, "model.expert_ffn", "2689");
    expect_key(with, "model.shared_ffn", "5377");
    expect_key(with, "model.moe_latent", "1023");
    expect_key(with, "model.mtp", "2");
    expect_key(with, "model.gated", "false");
    expect_key(with, "model.norm", "rms");
    assert_null(strstr(with->text.data, "Not understood"));
    import_end(with);
}

TEST(hybrids_may_list_their_blocks)
{
    import_case *with = import_good(
        st_import_hf, "{" HYBRID ", " HYBRID_EXPERTS ", \"layers_block_type\": [\"mamba\","
                      "\"moe\", \"attention\", \"mlp\"], \"intermediate_size\": 1857}");
    expect_key(with, "model.pattern", "ME*-");
    expect_key(with, "model.layers", "4");
    expect_key(with, "model.ffn", "1857");
    import_end(with);
    with = import_good(st_import_hf, "{" HYBRID ", " HYBRID_EXPERTS ", \"num_hidden_layers\": 5,"
                                     "\"hybrid_override_pattern\": \"M-M*-\"}");
    expect_key(with, "model.experts", NULL); /* no layer has any */
    import_end(with);
}

TEST(faults_of_hybrids_are_told)
{
    expect_refusal(st_import_hf,
                   "{" HYBRID ", \"num_hidden_layers\": 6, \"hybrid_override_pattern\": \"M-M*-\"}",
                   ST_ERR_VALUE, "found 5 letters; expected 6 (model.layers)");
    expect_refusal(st_import_hf, "{" HYBRID ", \"hybrid_override_pattern\": \"M-MQ-\"}",
                   ST_ERR_VALUE, "found 'Q' at character 4");
    expect_refusal(st_import_hf, "{" HYBRID "}", ST_ERR_SYNTAX, "the pattern is empty");
    expect_refusal(st_import_hf, "{" HYBRID ", \"layers_block_type\": [\"mamba\", \"lightning\"]}",
                   ST_ERR_VALUE, "found '?' at character 2");
}

TEST(indexers_are_read)
{
    import_case *with = import_good(
        st_import_hf,
        "{\"model_type\": \"glm_moe_dsa\", \"hidden_size\": 6144, \"num_attention_heads\": 64,"
        "\"num_hidden_layers\": 7, \"intermediate_size\": 12288, \"vocab_size\": 154880,"
        "\"q_lora_rank\": 2048, \"kv_lora_rank\": 512, \"qk_nope_head_dim\": 192,"
        "\"qk_rope_head_dim\": 64, \"v_head_dim\": 255, \"head_dim\": 192, \"qk_head_dim\": 256,"
        "\"n_routed_experts\": 256, \"num_experts_per_tok\": 8, \"moe_intermediate_size\": 2047,"
        "\"n_shared_experts\": 1, \"first_k_dense_replace\": 3, \"moe_layer_freq\": 1,"
        "\"mlp_layer_types\": [\"dense\", \"dense\", \"dense\", \"sparse\", \"sparse\", \"sparse\","
        "\"sparse\"], \"index_n_heads\": 31, \"index_head_dim\": 127, \"index_topk\": 2047,"
        "\"index_topk_freq\": 4, \"indexer_types\": [\"full\", \"full\", \"full\", \"shared\","
        "\"shared\", \"shared\", \"full\"]}");
    expect_key(with, "model.index_heads", "31");
    expect_key(with, "model.index_dim", "127");
    expect_key(with, "model.index_top_k", "2047");
    expect_key(with, "model.v_dim", "255");
    expect_key(with, "model.dense_layers", "3");
    expect_key(with, "model.pattern", NULL);
    expect_words(with, "3 layers use the keys that the indexer of an earlier layer chose");
    assert_null(strstr(with->text.data, "Not understood"));
    import_end(with);
}

#define SHARED_KV                                                                                  \
    "\"model_type\": \"deepseek_v4\", \"hidden_size\": 4096, \"num_attention_heads\": 64,"         \
    "\"num_key_value_heads\": 1, \"head_dim\": 509, \"qk_rope_head_dim\": 64,"                     \
    "\"q_lora_rank\": 1023, \"o_lora_rank\": 1025, \"o_groups\": 8, \"sliding_window\": 127,"      \
    "\"index_n_heads\": 63, \"index_head_dim\": 129, \"index_topk\": 511, \"hc_mult\": 4,"         \
    "\"vocab_size\": 129280, \"n_routed_experts\": 255, \"n_shared_experts\": 1,"                  \
    "\"num_experts_per_tok\": 6, \"moe_intermediate_size\": 2049"

static void expect_compressed(const char *ratios)
{
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "{" SHARED_KV ", \"num_hidden_layers\": 7, \"num_nextn_predict_layers\": 1, %s}",
                   ratios);
    import_case *with = import_good(st_import_hf, text);
    expect_key(with, "model.head_dim", "445");
    expect_key(with, "model.rope_dim", "64");
    expect_key(with, "model.v_dim", "509");
    expect_key(with, "model.kv_lora", "509");
    expect_key(with, "model.kv_heads", "1");
    expect_key(with, "model.o_lora", "1025");
    expect_key(with, "model.o_groups", "8");
    expect_key(with, "model.window", "127");
    expect_key(with, "model.index_layers", "3");
    expect_key(with, "model.index_compression", "4");
    expect_key(with, "model.compressed_layers", "2");
    expect_key(with, "model.compression", "127");
    expect_key(with, "model.hyper_connections", "4");
    expect_key(with, "model.mtp", "1");
    expect_key(with, "model.pattern", NULL);
    expect_key(with, "model.ffn", NULL);
    assert_null(strstr(with->text.data, "Not understood"));
    import_end(with);
}

TEST(compressed_keys_are_read)
{
    expect_compressed("\"compress_ratios\": [0, 0, 4, 127, 4, 127, 4, 0]");
    expect_compressed("\"compress_rates\": {\"compressed_sparse_attention\": 4,"
                      "\"heavily_compressed_attention\": 127}, \"layer_types\":"
                      "[\"sliding_attention\", \"sliding_attention\","
                      "\"compressed_sparse_attention\", \"heavily_compressed_attention\","
                      "\"compressed_sparse_attention\", \"heavily_compressed_attention\","
                      "\"compressed_sparse_attention\"]");
    expect_refusal(st_import_hf,
                   "{" SHARED_KV
                   ", \"num_hidden_layers\": 4, \"compress_ratios\": [0, 127, 63, 0]}",
                   ST_ERR_VALUE, "two ratios without an indexer; found 127 and 63");
    expect_refusal(st_import_hf,
                   "{" SHARED_KV ", \"num_hidden_layers\": 4, \"compress_ratios\": [0, 4]}",
                   ST_ERR_VALUE, "compress_ratios lists 2 layers, the model has 4");
}

/* Kimi delta attention, lightning attention and short convolutions are delta nets of other rules.
 */
TEST(other_linear_layers_are_read)
{
    import_case *with = import_good(
        st_import_hf, "{\"model_type\": \"kimi_linear\", " SHAPE ", " EXPERTS
                      ", \"num_hidden_layers\": 6, \"first_k_dense_replace\": 1,"
                      "\"kv_lora_rank\": 509, \"qk_nope_head_dim\": 127,"
                      "\"qk_rope_head_dim\": 61, \"v_head_dim\": 113,"
                      "\"linear_attn_config\": {\"full_attn_layers\": [3, 6],"
                      "\"kda_layers\": [1, 2, 4, 5], \"num_heads\": 23, \"head_dim\": 97}}");
    expect_key(with, "model.pattern", "ghehhe");
    expect_key(with, "model.delta_rule", "channel_delta");
    expect_key(with, "model.delta_k_heads", "23");
    expect_key(with, "model.delta_v_dim", "97");
    expect_key(with, "model.delta_rank", "97");
    expect_words(with, "Kimi delta attention are estimated as those of a gated delta net");
    import_end(with);
    with =
        import_good(st_import_hf, "{\"model_type\": \"lfm2\", " SHAPE ", \"num_hidden_layers\": 5,"
                                  "\"full_attn_idxs\": [2, 4], \"block_ff_dim\": 10240,"
                                  "\"block_multiple_of\": 254}");
    expect_key(with, "model.pattern", "ggdgd");
    expect_key(with, "model.delta_rule", "convolution");
    expect_key(with, "model.delta_k_heads", NULL);
    expect_key(with, "model.ffn", "6858"); /* 6826, up to a multiple of 254 */
    import_end(with);
    with =
        import_good(st_import_hf, "{\"model_type\": \"lfm2\", " SHAPE ", \"num_hidden_layers\": 5,"
                                  "\"full_attn_idxs\": [2, 4], \"block_ff_dim\": 10240,"
                                  "\"block_multiple_of\": 254, \"block_ffn_dim_multiplier\": 1.5}");
    expect_key(with, "model.ffn", "10414"); /* 10239, the same */
    import_end(with);
    expect_pattern("{\"model_type\": \"minimax_m1\", " SHAPE ", " EXPERTS
                   ", \"num_hidden_layers\": 3, \"attn_type_list\": [0, 0, 1]}",
                   "hhe");
}

TEST(lists_of_linear_layers_are_checked)
{
    expect_refusal(st_import_hf, "{\"model_type\": \"lfm2\", " SHAPE ", \"num_hidden_layers\": 5}",
                   ST_ERR_NAME, "'layer_types' is missing");
    expect_refusal(st_import_hf,
                   "{\"model_type\": \"lfm2\", " SHAPE ", \"num_hidden_layers\": 5,"
                   "\"full_attn_idxs\": [2, 4], \"block_ffn_dim_multiplier\": -1.5}",
                   ST_ERR_VALUE, "block_ffn_dim_multiplier is out of range");
    expect_refusal(st_import_hf,
                   "{\"model_type\": \"lfm2\", " SHAPE ", \"num_hidden_layers\": 5,"
                   "\"full_attn_idxs\": [2, 5]}",
                   ST_ERR_VALUE, "unknown layer 5");
    expect_refusal(st_import_hf,
                   "{\"model_type\": \"minimax\", " SHAPE ", " EXPERTS
                   ", \"num_hidden_layers\": 5, \"attn_type_list\": [0, 1]}",
                   ST_ERR_VALUE, "attn_type_list lists 2 layers, the model has 5");
    expect_refusal(st_import_hf,
                   "{\"model_type\": \"lfm2\", " SHAPE ", \"num_hidden_layers\": 5,"
                   "\"full_attn_idxs\": 3}",
                   ST_ERR_VALUE, "expected a list of layers");
    expect_refusal(st_import_hf,
                   "{\"model_type\": \"kimi_linear\", " SHAPE ", " EXPERTS
                   ", \"num_hidden_layers\": 4, \"kv_lora_rank\": 509,"
                   "\"qk_nope_head_dim\": 127, \"qk_rope_head_dim\": 61, \"v_head_dim\": 113,"
                   "\"linear_attn_config\": {\"full_attn_layers\": [0],"
                   "\"kda_layers\": [1, 2, 3]}}",
                   ST_ERR_VALUE, "unknown layer 0");
}

/* Every layer stands in one of Kimi Linear's two lists, and in no more than one. */
TEST(kimi_divides_its_layers)
{
    static const struct {
        const char *lists;
        st_status status;
        const char *words;
    } bad[] = {
        {"\"full_attn_layers\": [3,\n6],\"kda_layers\": [1, 2,\n3, 4, 5]", ST_ERR_VALUE,
         ":3: layer 3 is in both full_attn_layers and kda_layers"},
        {"\"full_attn_layers\": [3, 6],\n\"kda_layers\": [1, 2, 4]", ST_ERR_VALUE,
         ":2: layer 5 is neither in full_attn_layers nor in kda_layers"},
        {"\"full_attn_layers\": [3, 6]", ST_ERR_NAME,
         "'kda_layers' is missing in linear_attn_config"},
        {"\"kda_layers\": [1, 2, 4, 5]", ST_ERR_NAME,
         "'full_attn_layers' is missing in linear_attn_config"},
    };
    (void)state;
    for (size_t i = 0; i < ST_COUNT(bad); i++) {
        char text[1024];
        (void)snprintf(text, sizeof text,
                       "{\"model_type\": \"kimi_linear\", " SHAPE ", " EXPERTS
                       ", \"num_hidden_layers\": 6, \"kv_lora_rank\": 509,"
                       "\"qk_nope_head_dim\": 127, \"qk_rope_head_dim\": 61,"
                       "\"v_head_dim\": 113, \"linear_attn_config\": {\"num_heads\": 23,"
                       "\"head_dim\": 97, %s}}",
                       bad[i].lists);
        expect_refusal(st_import_hf, text, bad[i].status, bad[i].words);
    }
}

/* Jamba puts Mamba-1 or attention, and an MLP or experts, into one layer, in turns. */
TEST(jamba_takes_turns)
{
    import_case *with =
        import_good(st_import_hf, "{\"model_type\": \"jamba\", " SHAPE ", \"num_hidden_layers\": 6,"
                                  "\"num_experts\": 14, \"num_experts_per_tok\": 3,"
                                  "\"attn_layer_period\": 3, \"attn_layer_offset\": 1,"
                                  "\"expert_layer_period\": 2, \"expert_layer_offset\": 1,"
                                  "\"mamba_d_state\": 17, \"mamba_dt_rank\": \"auto\"}");
    expect_key(with, "model.pattern", "M-*EM-ME*-ME");
    expect_key(with, "model.layers", "12");
    expect_key(with, "model.mamba_state", "17");
    expect_key(with, "model.mamba_head_dim", "1");
    expect_words(with, "The scan of Mamba-1 is estimated as that of Mamba-2");
    import_end(with);
    expect_pattern("{\"model_type\": \"jamba\", " SHAPE ", \"num_hidden_layers\": 4,"
                   "\"num_experts\": 1, \"attn_layer_period\": 4, \"attn_layer_offset\": 3,"
                   "\"mamba_d_state\": 17, \"mamba_dt_rank\": 93}",
                   "(M-)*3*-");
}

#define JAMBA "{\"model_type\": \"jamba\", " SHAPE ","

/* What the file leaves out is what its class has: attention in the fifth of eight layers, 16
 * experts in every other layer. */
TEST(jamba_has_defaults)
{
    import_case *with = import_good(st_import_hf, JAMBA "\"num_hidden_layers\": 13}");
    expect_key(with, "model.pattern", "M-MEM-ME*-MEM-MEM-MEM-ME*-");
    expect_key(with, "model.experts", "16");
    expect_key(with, "model.top_k", "2");
    expect_key(with, "model.mamba_state", "16");
    expect_words(with, "The file lacks expert_layer_offset; 1 is");
    import_end(with);
    expect_pattern(JAMBA "\"num_hidden_layers\": 6, \"attn_layer_offset\": 2,"
                         "\"num_experts\": 1}",
                   "M-M-*-M-M-M-");
    expect_refusal(st_import_hf,
                   JAMBA "\"num_hidden_layers\": 6, \"attn_layer_period\": 5,\n"
                         "\"attn_layer_offset\": 7}",
                   ST_ERR_VALUE,
                   ":2: attn_layer_offset is out of range; found 7; expected below 5");
    expect_refusal(st_import_hf, JAMBA "\"num_hidden_layers\": 6,\n\"expert_layer_offset\": 3}",
                   ST_ERR_VALUE,
                   ":2: expert_layer_offset is out of range; found 3; expected below 2");
    expect_refusal(st_import_hf, JAMBA "\"num_hidden_layers\": 6,\n\"attn_layer_period\": 3}",
                   ST_ERR_VALUE,
                   ":2: attn_layer_offset is out of range; found 4; expected below 3");
}

#define GEMMA                                                                                      \
    "{\"model_type\": \"gemma3n_text\", " SHAPE ", \"num_hidden_layers\": 7,"                      \
    "\"sliding_window\": 511, \"vocab_size_per_layer_input\": 2999,"

TEST(sides_of_gemma_3n_are_checked)
{
    import_case *with = import_good(st_import_hf, GEMMA
                                    "\"hidden_size_per_layer_input\": 257, \"laurel_rank\": 67,"
                                    "\"altup_num_inputs\": 3, \"num_kv_shared_layers\": 5,"
                                    "\"activation_sparsity_pattern\": [0.9, 0.9, 0, 0, 0, 0, 0]}");
    expect_key(with, "model.layer_embedding", "257");
    expect_key(with, "model.side_rank", "67");
    expect_words(with, "5 layers use the keys and values of an earlier layer");
    import_end(with);
    expect_refusal(st_import_hf,
                   GEMMA "\"hidden_size_per_layer_input\": 257,\n\"num_kv_shared_layers\": 8}",
                   ST_ERR_VALUE,
                   ":2: num_kv_shared_layers exceeds the layers of the model; "
                   "found 8; expected 7 at most");
    expect_refusal(st_import_hf,
                   GEMMA "\"hidden_size_per_layer_input\": 257,"
                         "\n\"activation_sparsity_pattern\": [0.9, 0.9, 0, 0, 0, 0]}",
                   ST_ERR_VALUE, ":2: activation_sparsity_pattern lists 6 layers, the model has 7");
    expect_refusal(st_import_hf, GEMMA "\n\"hidden_size_per_layer_input\": 0, \"laurel_rank\": 67}",
                   ST_ERR_VALUE,
                   ":2: laurel_rank without per-layer embeddings is not modelled; found "
                   "hidden_size_per_layer_input of 0");
    expect_refusal(st_import_hf,
                   GEMMA "\"hidden_size_per_layer_input\": 0, \"altup_num_inputs\": 3}",
                   ST_ERR_VALUE, "altup_num_inputs without per-layer embeddings");
    expect_refusal(st_import_hf, GEMMA "\"altup_num_inputs\": 3}", ST_ERR_NAME,
                   "'hidden_size_per_layer_input' is missing");
}

TEST(dense_layers_stand_anywhere)
{
    expect_pattern("{\"model_type\": \"qwen3_moe\", " SHAPE ", " EXPERTS
                   ", \"num_hidden_layers\": 7, \"mlp_only_layers\": [2, 5]}",
                   "(eed)*2e");
    import_case *with =
        import_good(st_import_hf, "{\"model_type\": \"qwen3_moe\", " SHAPE ", " EXPERTS
                                  ", \"num_hidden_layers\": 7, \"mlp_only_layers\": [0, 1]}");
    expect_key(with, "model.dense_layers", "2");
    expect_key(with, "model.pattern", NULL);
    import_end(with);
    expect_pattern("{\"model_type\": \"qwen3_moe\", " SHAPE ", " EXPERTS
                   ", \"num_hidden_layers\": 4, \"moe_layer_freq\": [0, 1, 0, 0]}",
                   "dedd");
    expect_pattern("{\"model_type\": \"qwen3_moe\", " SHAPE ", " EXPERTS
                   ", \"num_hidden_layers\": 3, \"moe_layer_freq\": [0, 0, 0]}",
                   "ddd");
    expect_refusal(st_import_hf,
                   "{\"model_type\": \"qwen3_moe\", " SHAPE ", " EXPERTS
                   ", \"num_hidden_layers\": 2, \"mlp_layer_types\": [\"dense\", \"dnse\"]}",
                   ST_ERR_VALUE, "expected dense or sparse");
    expect_refusal(st_import_hf,
                   "{\"model_type\": \"qwen3_moe\", " SHAPE ", " EXPERTS
                   ", \"num_hidden_layers\": 7, \"mlp_only_layers\": [2, 7]}",
                   ST_ERR_VALUE, "mlp_only_layers: unknown layer 7");
    expect_refusal(st_import_hf,
                   "{\"model_type\": \"glm4_moe\", " SHAPE ", " EXPERTS
                   ", \"num_hidden_layers\": 7, \"first_k_dense_replace\": 7}",
                   ST_ERR_VALUE, "first_k_dense_replace leaves no layer for the model's experts");
    expect_refusal(st_import_hf,
                   "{\"model_type\": \"glm4_moe\", " SHAPE ", \"n_routed_experts\": 48,"
                   "\"num_experts_per_tok\": 5, \"num_hidden_layers\": 7}",
                   ST_ERR_NAME, "'moe_intermediate_size' is missing");
}

TEST(other_kinds_are_refused_by_name)
{
    expect_refusal(st_import_hf, "{\"model_type\": \"bailing_moe_linear\"}", ST_ERR_VALUE,
                   "lightning attention");
    expect_refusal(st_import_hf,
                   "{\"model_type\": \"minimax_m2\", " SHAPE ", " EXPERTS
                   ", \"num_hidden_layers\": 3, \"attn_type_list\": [1, 0, 1]}",
                   ST_ERR_VALUE, "lightning attention); found 0");
    expect_pattern("{\"model_type\": \"minimax_m2\", " SHAPE ", " EXPERTS
                   ", \"num_hidden_layers\": 3, \"attn_type_list\": [1, 1, 1]}",
                   NULL);
    expect_refusal(st_import_hf,
                   "{\"model_type\": \"llama\", " SHAPE ", \"num_hidden_layers\": 1,"
                   "\"layer_types\": [\"linear_attention\"]}",
                   ST_ERR_VALUE, "found the text 'linear_attention'");
}

#define MAMBA                                                                                      \
    "\"mamba_n_heads\": 48, \"mamba_d_state\": 61, \"mamba_n_groups\": 3, \"mamba_expand\": 2"

/* What mixes tokens and an MLP or experts stand in one layer of the file, in two blocks here. */
TEST(layers_of_two_blocks_are_read)
{
    import_case *with = import_good(
        st_import_hf, "{\"model_type\": \"bamba\", " SHAPE ", \"num_hidden_layers\": 7, " MAMBA
                      ", \"mamba_d_head\": \"auto\", \"attn_layer_indices\": [2, 5]}");
    expect_key(with, "model.layers", "14");
    expect_key(with, "model.pattern", "(M-M-*-)*2M-");
    expect_key(with, "model.mamba_heads", "48");
    expect_key(with, "model.mamba_head_dim", "128");
    expect_key(with, "model.mamba_groups", "3");
    import_end(with);
    with =
        import_good(st_import_hf, "{\"model_type\": \"granitemoehybrid\", " SHAPE
                                  ", \"num_hidden_layers\": 3, " MAMBA
                                  ", \"mamba_d_head\": 127, \"num_local_experts\": 48,"
                                  "\"num_experts_per_tok\": 5, \"shared_intermediate_size\": 1537,"
                                  "\"layer_types\": [\"mamba\", \"attention\", \"mamba\"]}");
    expect_key(with, "model.pattern", "ME*EME");
    expect_key(with, "model.expert_ffn", "7232");
    expect_key(with, "model.shared_ffn", "1537");
    expect_key(with, "model.tied", "false");
    import_end(with);
    with = import_good(st_import_hf,
                       "{\"model_type\": \"falcon_h1\", " SHAPE ", \"num_hidden_layers\": 3, " MAMBA
                       ", \"mamba_d_head\": \"auto\", \"mamba_d_ssm\": 4656}");
    expect_key(with, "model.pattern", "(M*-)*3");
    expect_key(with, "model.mamba_head_dim", "97");
    expect_words(with, "in parallel");
    import_end(with);
    expect_refusal(st_import_hf,
                   "{\"model_type\": \"granitemoehybrid\", " SHAPE
                   ", \"num_hidden_layers\": 4, \"shared_intermediate_size\": 1537, " MAMBA
                   ", \"layer_types\": [\"mamba\", \"conv\", \"mamba\", \"mamba\"]}",
                   ST_ERR_VALUE, "found '?' at character 3");
    expect_refusal(st_import_hf,
                   "{\"model_type\": \"bamba\", " SHAPE ", \"num_hidden_layers\": 4,"
                   "\"mamba_n_heads\": 47, \"mamba_d_state\": 61, \"mamba_d_head\": \"auto\"}",
                   ST_ERR_NAME, "'mamba_head_dim' is missing");
}

TEST(experts_are_listed_in_many_ways)
{
#define MOE(type, more)                                                                            \
    "{\"model_type\": \"" type "\", " SHAPE ", " EXPERTS ", \"num_hidden_layers\": 5, " more "}"
    expect_pattern(MOE("exaone_moe", "\"is_moe_layer\": [false, true, false, true, true]"),
                   "(de)*2e");
    expect_pattern(MOE("ernie4_5_moe", "\"moe_layer_start_index\": 1, \"moe_layer_end_index\": 3"),
                   "deeed");
    expect_pattern(MOE("mimo_v2_flash", "\"sliding_window\": 127, \"v_head_dim\": 67,"
                                        "\"hybrid_layer_pattern\": [0, 1, 1, 1, 0]"),
                   "dyyye");
    expect_pattern(MOE("afmoe", "\"sliding_window\": 127, \"num_dense_layers\": 2,"
                                "\"global_attn_every_n_layers\": 3"),
                   "xxeyy");
    import_case *with =
        import_good(st_import_hf, MOE("hunyuan_v1_moe", "\"moe_topk\": [5, 5, 5, 5, 5],"
                                                        "\"num_shared_expert\": [2, 2, 2, 2, 2]"));
    expect_key(with, "model.shared_ffn", "2434");
    expect_key(with, "model.tied", "false");
    import_end(with);
    with = import_good(st_import_hf, "{\"model_type\": \"hunyuan_v1_dense\", " SHAPE
                                     ", \"num_hidden_layers\": 5, \"num_experts\": 1}");
    expect_key(with, "model.experts", NULL);
    import_end(with);
    expect_refusal(st_import_hf, MOE("hunyuan_v1_moe", "\"moe_topk\": [5, 5, 5, 5, 4]"),
                   ST_ERR_VALUE, "mean the same and differ");
    expect_refusal(st_import_hf,
                   "{\"model_type\": \"newest\", " SHAPE ", " EXPERTS ", \"num_hidden_layers\": 5}",
                   ST_ERR_NAME, "--assume qwen3_moe");
#undef MOE
}

TEST_GROUP(import_layers)
{
    if (!st_json_available())
        return 77;
    return RUN_TESTS(import_layers);
}
