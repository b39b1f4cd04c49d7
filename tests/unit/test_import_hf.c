/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.json of Hugging Face: names, nesting, what architectures leave unsaid, what is refused.
 * The files are shaped like published ones, with numbers of their own.
 */
#define _DEFAULT_SOURCE
#include "../support/imports.h"
#include "launch/import/import.h"

#include "base/json_read.h"

#define LLAMA                                                                                      \
    "\"model_type\": \"llama\", \"hidden_size\": 3072, \"num_hidden_layers\": 23,\n"               \
    "\"num_attention_heads\": 24, \"intermediate_size\": 7232, \"vocab_size\": 31999"

TEST(llama_gives_every_field)
{
    import_case *with = import_good(
        st_import_hf, "{" LLAMA ", \"num_key_value_heads\": 6, \"tie_word_embeddings\": false,"
                      "\"max_position_embeddings\": 131072, \"torch_dtype\": \"bfloat16\","
                      "\"_name_or_path\": \"organisation/Model-7B\", \"rope_theta\": 5e5}");
    expect_key(with, "model.name", "model-7b");
    expect_key(with, "model.layers", "23");
    expect_key(with, "model.hidden", "3072");
    expect_key(with, "model.heads", "24");
    expect_key(with, "model.kv_heads", "6");
    expect_key(with, "model.ffn", "7232");
    expect_key(with, "model.vocabulary", "31999");
    expect_key(with, "model.vocabulary_multiple", "1");
    expect_key(with, "model.gated", "true");
    expect_key(with, "model.bias", "false");
    expect_key(with, "model.norm", "rms");
    expect_key(with, "model.tied", "false");
    expect_key(with, "model.positions", "0");
    expect_key(with, "model.dropout", "false");
    expect_key(with, "model.experts", NULL);
    expect_key(with, "precision.weights", "bf16");
    expect_words(with, "layers: 23                    # num_hidden_layers\n");
    expect_words(with, "An estimate also needs, here or with --set: batch.sequence, batch.global,");
    assert_null(strstr(with->text.data, "Not understood"));
    import_end(with);
}

/* The longest context is not the length of training sequences. */
TEST(the_sequence_is_left_out)
{
    import_case *with =
        import_good(st_import_hf, "{" LLAMA ", \"max_position_embeddings\": 131072}");
    expect_key(with, "batch.sequence", NULL);
    expect_words(with, "max_position_embeddings is the longest");
    assert_null(strstr(with->text.data, "131072"));
    import_end(with);
}

TEST(assignments_win_and_fill_in)
{
    static const char *const sets[] = {"batch.sequence=2385",
                                       "model.ffn=7168",
                                       "model.heads=12",
                                       "batch.micro=3",
                                       "parallel.tp=2",
                                       "cluster.nodes=7",
                                       "cluster.nic_bandwidth=23.85 GB/s"};
    (void)state;
    import_case *with = import_begin();
    with->request.cluster = "dgx-h100";
    with->request.sets = sets;
    with->request.set_count = sizeof sets / sizeof sets[0];
    import_run(with, st_import_hf,
               "{\"model_type\": \"llama\", \"hidden_size\": 3072, \"num_hidden_layers\": 23,"
               "\"intermediate_size\": 7232, \"vocab_size\": 31999}");
    assert_int_equal(with->status, ST_OK);
    expect_words(with, "  ffn: 7168                     # --set, in place of 7232 from "
                       "intermediate_size\n");
    expect_words(with, "  heads: 12                     # --set\n");
    expect_words(with, "batch:\n  micro: 3                      # --set\n  sequence: 2385");
    expect_words(with, "cluster:\n  base: \"dgx-h100\"\n  nodes: 7                      # --set\n"
                       "  nic_bandwidth: 23.85 GB/s     # --set\n");
    import_end(with);
}

TEST(a_cluster_stands_alone)
{
    import_case *with = import_begin();
    with->request.cluster = "dgx-h100";
    import_run(with, st_import_hf, "{" LLAMA "}");
    assert_int_equal(with->status, ST_OK);
    expect_words(with, "\ncluster: \"dgx-h100\"\n");
    import_end(with);
}

/* ---- architectures ---- */

TEST(gpt2_has_its_own_names)
{
    import_case *with = import_good(
        st_import_hf, "{\"model_type\": \"gpt2\", \"n_embd\": 768, \"n_layer\": 11, \"n_head\": 12,"
                      "\"n_positions\": 1023, \"n_ctx\": 1023, \"n_inner\": null,"
                      "\"vocab_size\": 50257, \"resid_pdrop\": 0.1}");
    expect_key(with, "model.hidden", "768");
    expect_key(with, "model.layers", "11");
    expect_key(with, "model.positions", "1023");
    expect_key(with, "model.ffn", NULL); /* four times the hidden size */
    expect_key(with, "model.gated", "false");
    expect_key(with, "model.bias", "true");
    expect_key(with, "model.norm", "layer");
    expect_key(with, "model.tied", "true");
    expect_key(with, "model.dropout", "true");
    import_end(with);
}

TEST(opt_has_two_more_positions)
{
    import_case *with = import_good(
        st_import_hf, "{\"model_type\": \"opt\", \"hidden_size\": 768, \"num_hidden_layers\": 11,"
                      "\"num_attention_heads\": 12, \"ffn_dim\": 3079, \"vocab_size\": 50272,"
                      "\"max_position_embeddings\": 2048, \"dropout\": 0.0}");
    expect_key(with, "model.positions", "2050");
    expect_key(with, "model.ffn", "3079");
    expect_key(with, "model.dropout", "false");
    import_end(with);
}

TEST(latent_attention_has_its_ranks)
{
    import_case *with = import_good(
        st_import_hf,
        "{\"model_type\": \"deepseek_v3\", \"hidden_size\": 7168, \"num_hidden_layers\": 61,"
        "\"num_attention_heads\": 128, \"num_key_value_heads\": 128, \"head_dim\": 64,"
        "\"q_lora_rank\": 1536, \"kv_lora_rank\": 512, \"qk_nope_head_dim\": 128,"
        "\"qk_rope_head_dim\": 61, \"v_head_dim\": 127, \"intermediate_size\": 18432,"
        "\"n_routed_experts\": 256, \"num_experts_per_tok\": 8, \"n_shared_experts\": 3,"
        "\"moe_intermediate_size\": 2049, \"first_k_dense_replace\": 3, \"moe_layer_freq\": 1,"
        "\"vocab_size\": 129280, \"num_nextn_predict_layers\": 1,"
        "\"quantization_config\": {\"quant_method\": \"fp8\"}}");
    expect_key(with, "model.head_dim", "128"); /* and not the rotary part */
    expect_key(with, "model.rope_dim", "61");
    expect_key(with, "model.v_dim", "127");
    expect_key(with, "model.q_lora", "1536");
    expect_key(with, "model.kv_lora", "512");
    expect_key(with, "model.kv_heads", NULL);
    expect_key(with, "model.experts", "256");
    expect_key(with, "model.top_k", "8");
    expect_key(with, "model.expert_ffn", "2049");
    expect_key(with, "model.shared_ffn", "6147");
    expect_key(with, "model.dense_layers", "3");
    expect_key(with, "precision.fp8", NULL);
    expect_key(with, "model.mtp", "1");
    expect_words(with, "Multi-token prediction is estimated (num_nextn_predict_layers: 1).");
    expect_words(with, "quantization");
    import_end(with);
}

TEST(a_query_without_a_rank_stays_whole)
{
    import_case *with = import_good(
        st_import_hf,
        "{\"model_type\": \"deepseek_v2\", \"hidden_size\": 2048, \"num_hidden_layers\": 27,"
        "\"num_attention_heads\": 16, \"q_lora_rank\": null, \"kv_lora_rank\": 512,"
        "\"qk_nope_head_dim\": 128, \"qk_rope_head_dim\": 64, \"v_head_dim\": 128,"
        "\"intermediate_size\": 10944, \"n_routed_experts\": 64, \"num_experts_per_tok\": 6,"
        "\"moe_intermediate_size\": 1408, \"vocab_size\": 102400}");
    expect_key(with, "model.q_lora", NULL);
    expect_key(with, "model.kv_lora", "512");
    import_end(with);
}

TEST(experts_under_other_names)
{
    import_case *with =
        import_good(st_import_hf, "{\"model_type\": \"mixtral\", \"hidden_size\": 4096,"
                                  "\"num_hidden_layers\": 31, \"num_attention_heads\": 32,"
                                  "\"num_key_value_heads\": 8, \"intermediate_size\": 14337,"
                                  "\"vocab_size\": 32000, \"num_local_experts\": 9,"
                                  "\"num_experts_per_tok\": 2, \"sliding_window\": null}");
    expect_key(with, "model.experts", "9");
    expect_key(with, "model.expert_ffn", NULL); /* that of the MLP */
    expect_key(with, "model.ffn", "14337");
    assert_null(strstr(with->text.data, "sliding"));
    import_end(with);
    with = import_good(st_import_hf,
                       "{\"model_type\": \"qwen2_moe\", \"hidden_size\": 3584,"
                       "\"num_hidden_layers\": 28, \"num_attention_heads\": 28,"
                       "\"num_key_value_heads\": 4, \"intermediate_size\": 18944,"
                       "\"vocab_size\": 151936, \"num_experts\": 64, \"num_experts_per_tok\": 8,"
                       "\"moe_intermediate_size\": 2560, \"decoder_sparse_step\": 2,"
                       "\"shared_expert_intermediate_size\": 20480, \"mlp_only_layers\": [0, 5]}");
    expect_key(with, "model.pattern", "dededddedededededededededede"); /* layer 5 has none */
    expect_key(with, "model.moe_every", NULL);
    expect_key(with, "model.shared_ffn", "20480");
    expect_key(with, "model.dense_layers", NULL);
    expect_words(with, "Biases of the attention are left out");
    import_end(with);
}

TEST(llama4_names_the_experts_width)
{
    import_case *with = import_good(
        st_import_hf,
        "{\"model_type\": \"llama4\", \"text_config\": {\"model_type\": \"llama4_text\","
        "\"hidden_size\": 5120, \"num_hidden_layers\": 48, \"num_attention_heads\": 40,"
        "\"num_key_value_heads\": 8, \"head_dim\": 128, \"intermediate_size\": 8191,"
        "\"intermediate_size_mlp\": 16383, \"num_local_experts\": 16, \"num_experts_per_tok\": 1,"
        "\"interleave_moe_layer_step\": 2, \"vocab_size\": 202048},"
        "\"vision_config\": {\"hidden_size\": 1408}}");
    expect_key(with, "model.ffn", "16383");
    expect_key(with, "model.expert_ffn", "8191");
    expect_key(with, "model.shared_ffn", "8191");
    expect_key(with, "model.moe_every", "2");
    expect_words(with, "Left out: vision_config.");
    import_end(with);
}

TEST(falcon_shares_keys_and_values)
{
    static const char form[] =
        "{\"model_type\": \"falcon\", \"hidden_size\": 4544, \"num_hidden_layers\": 32,"
        "\"num_attention_heads\": 71, \"num_kv_heads\": 71, \"multi_query\": true,"
        "\"new_decoder_architecture\": %s, \"vocab_size\": 65024}";
    char text[512];
    (void)state;
    (void)snprintf(text, sizeof text, form, "false");
    import_case *with = import_good(st_import_hf, text);
    expect_key(with, "model.kv_heads", "1");
    import_end(with);
    (void)snprintf(text, sizeof text, form, "true");
    with = import_good(st_import_hf, text);
    expect_key(with, "model.kv_heads", "71");
    import_end(with);
}

TEST(parts_of_a_configuration_are_searched)
{
    import_case *with = import_good(
        st_import_hf, "{\"model_type\": \"dbrx\", \"d_model\": 6144, \"n_layers\": 40,"
                      "\"n_heads\": 48, \"vocab_size\": 100352,"
                      "\"attn_config\": {\"kv_n_heads\": 8, \"clip_qkv\": 8},"
                      "\"ffn_config\": {\"ffn_hidden_size\": 10752, \"moe_num_experts\": 16,"
                      "\"moe_top_k\": 4}}");
    expect_key(with, "model.kv_heads", "8");
    expect_key(with, "model.ffn", "10752");
    expect_key(with, "model.experts", "16");
    expect_key(with, "model.top_k", "4");
    import_end(with);
    with =
        import_good(st_import_hf, "{\"model_type\": \"mpt\", \"d_model\": 4096, \"n_layers\": 32,"
                                  "\"n_heads\": 32, \"vocab_size\": 50432, \"expansion_ratio\": 3,"
                                  "\"no_bias\": true, \"max_seq_len\": 2048,"
                                  "\"attn_config\": {\"alibi\": true}}");
    expect_key(with, "model.ffn", "12288");
    expect_key(with, "model.positions", "0");
    expect_key(with, "model.bias", "false");
    import_end(with);
}

/* ---- nesting ---- */

TEST(the_language_model_is_found)
{
    static const char *const wraps[] = {
        "{\"model_type\": \"llava\", \"text_config\": {" LLAMA "}, \"vision_config\": {}}",
        "{\"model_type\": \"x\", \"language_config\": {" LLAMA "}, \"vision_config\": {}}",
        "{\"model_type\": \"x\", \"llm_config\": {" LLAMA "}, \"vision_config\": {}}",
        "{\"model_type\": \"x\", \"thinker_config\": {\"text_config\": {" LLAMA "}},"
        "\"vision_config\": {}}",
        "{" LLAMA ", \"text_config\": {}, \"vision_config\": {\"hidden_size\": 17}}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof wraps / sizeof wraps[0]; i++) {
        import_case *with = import_good(st_import_hf, wraps[i]);
        expect_key(with, "model.hidden", "3072");
        expect_words(with, "Only the language model was read");
        import_end(with);
    }
}

TEST(a_whole_model_may_tie_its_embeddings)
{
    import_case *with =
        import_good(st_import_hf, "{\"model_type\": \"llava\", \"text_config\": {" LLAMA "},"
                                  "\"tie_word_embeddings\": true, \"dtype\": \"torch.float16\"}");
    expect_key(with, "model.tied", "true");
    expect_key(with, "precision.weights", "fp16");
    import_end(with);
}

/* ---- notes ---- */

TEST(what_is_not_modelled_is_said)
{
    import_case *with =
        import_good(st_import_hf, "{\"model_type\": \"llama\", \"hidden_size\": 3072,"
                                  "\"num_hidden_layers\": 2, \"num_attention_heads\": 24,"
                                  "\"intermediate_size\": 7232, \"vocab_size\": 31999,"
                                  "\"layer_types\": [\"full_attention\","
                                  "\"sliding_attention\"], \"torch_dtype\": \"float32\","
                                  "\"odd_gate\": 3, \"odd\\ngate\": 4, \"attention_bias\": true}");
    expect_words(with, "Sliding-window attention");
    expect_words(with, "stored in float32");
    expect_words(with, "Unknown and left out: odd_gate, odd?gate.");
    expect_key(with, "model.bias", "false");
    expect_key(with, "precision.weights", NULL);
    import_end(with);
}

TEST(a_narrow_embedding_is_told)
{
    import_case *with = import_good(
        st_import_hf, "{\"model_type\": \"opt\", \"hidden_size\": 1088, \"ffn_dim\": 4352,"
                      "\"num_attention_heads\": 17, \"num_hidden_layers\": 23,"
                      "\"max_position_embeddings\": 2048, \"vocab_size\": 50272,"
                      "\"word_embed_proj_dim\": 544}");
    expect_words(with, "narrower than the layers (word_embed_proj_dim: 544)");
    import_end(with);
}

TEST(windows_that_are_off_are_not_told)
{
    import_case *with = import_good(st_import_hf, "{" LLAMA ", \"sliding_window\": 4096,"
                                                  "\"use_sliding_window\": false}");
    assert_null(strstr(with->text.data, "sliding"));
    import_end(with);
}

/* ---- names, and what classes leave unsaid ---- */

static void expect_name(const char *file, const char *name)
{
    import_case *with = import_begin();
    with->request.file = file;
    import_run(with, st_import_hf, "{" LLAMA "}");
    char line[128];
    (void)snprintf(line, sizeof line, "name: \"%s\"", name);
    expect_words(with, line);
    assert_null(strstr(with->text.data, "/"));
    import_end(with);
}

TEST(models_are_called_after_their_place)
{
    expect_name("/home/someone/Qwen2.5-72B/config.json", "qwen2.5-72b");
    expect_name("Tiny-1B/config.json", "tiny-1b");
    expect_name("/data/mine-3B.json", "mine-3b");
    expect_name("hub/models--Qwen--Qwen3-32B/snapshots/9216db57/config.json", "qwen3-32b");
    expect_name("config.json", "llama-2.6b");
    expect_name("../config.json", "llama-2.6b");
    expect_name("with blank/config.json", "llama-2.6b");
    expect_name("<stdin>", "llama-2.6b");
}

/* 3*(4*256^2 + 3*256*688) + 2*1009*256 = 2.9 million; 128*3*2048*768*48 = 29 of 30.5 billion. */
TEST(models_without_a_name_are_called_by_their_size)
{
    import_case *with = import_good(
        st_import_hf,
        "{\"model_type\": \"llama\", \"hidden_size\": 256, \"num_hidden_layers\": 3,"
        "\"num_attention_heads\": 4, \"intermediate_size\": 688, \"vocab_size\": 1009}");
    expect_words(with, "name: \"llama-3m\" ");
    expect_words(with, "# model_type and the number of parameters, for lack of a name");
    import_end(with);
    with = import_good(
        st_import_hf,
        "{\"model_type\": \"qwen3_moe\", \"hidden_size\": 2048, \"intermediate_size\": 6144,"
        "\"moe_intermediate_size\": 768, \"num_experts\": 128, \"num_experts_per_tok\": 8,"
        "\"num_hidden_layers\": 48, \"num_attention_heads\": 32, \"num_key_value_heads\": 4,"
        "\"head_dim\": 128, \"tie_word_embeddings\": false, \"vocab_size\": 151936}");
    expect_words(with, "name: \"qwen3-moe-30.5b\" ");
    import_end(with);
}

/* As Gemma 3 is published: what its class sets stands nowhere in the file. */
TEST(classes_fill_in_what_a_part_leaves_out)
{
    import_case *with = import_good(
        st_import_hf, "{\"model_type\": \"gemma3\", \"vision_config\": {\"hidden_size\": 1152},"
                      "\"text_config\": {\"model_type\": \"gemma3_text\", \"hidden_size\": 2560,"
                      "\"intermediate_size\": 10240, \"num_hidden_layers\": 34}}");
    expect_key(with, "model.vocabulary", "262208");
    expect_key(with, "model.heads", "8");
    expect_key(with, "model.kv_heads", "4");
    expect_key(with, "model.head_dim", "256");
    expect_key(with, "model.layers", "34");
    expect_words(with,
                 "262208            # missing in the file; default of architecture gemma3_text");
    expect_words(with, "Left out: vision_config.");
    import_end(with);
    with = import_good(st_import_hf, "{\"model_type\": \"gpt_oss\", \"hidden_size\": 2880,"
                                     "\"intermediate_size\": 2880, \"num_hidden_layers\": 23,"
                                     "\"num_attention_heads\": 64, \"num_key_value_heads\": 8,"
                                     "\"num_local_experts\": 29, \"num_experts_per_tok\": 4,"
                                     "\"vocab_size\": 201088}");
    expect_key(with, "model.head_dim", "64");
    import_end(with);
    expect_refusal(st_import_hf,
                   "{\"model_type\": \"gemma3_text\", \"hidden_size\": 2560, \"head_dim\": 256,"
                   "\"intermediate_size\": 10240, \"num_hidden_layers\": 34}",
                   ST_ERR_NAME, "'num_attention_heads' is missing");
}

/* ---- what is refused ---- */

TEST(models_without_a_known_name_are_told_apart)
{
    expect_refusal(st_import_hf,
                   "{\"model_type\": \"newvit\", \"image_size\": 224, \"patch_size\": 14}",
                   ST_ERR_VALUE, "'newvit' is a vision model: it has image_size");
    expect_refusal(st_import_hf, "{\"model_type\": \"newear\", \"num_mel_bins\": 80}", ST_ERR_VALUE,
                   "'newear' is a speech model");
    expect_refusal(st_import_hf,
                   "{\"model_type\": \"newvit\", \"image_size\": 224, \"vocab_size\": 7}",
                   ST_ERR_NAME, "unknown architecture 'newvit'");
    expect_refusal(st_import_hf,
                   "{\"architectures\": [\"GPTNeoXForCausalLM\"], \"hidden_size\": 2304}",
                   ST_ERR_NAME, "--assume gpt_neox");
    expect_refusal(st_import_hf,
                   "{\"architectures\": [\"GPTNeoForCausalLM\"], \"model_type\": \"\"}",
                   ST_ERR_NAME, "--assume gpt_neo");
    expect_refusal(st_import_hf, "{\"architectures\": [\"Zebra\"]}", ST_ERR_NAME,
                   "only its class 'Zebra'");
    expect_refusal(st_import_hf, "{\"architectures\": [7], \"hidden_size\": 2304}", ST_ERR_NAME,
                   "does not name its architecture");
}

TEST(fields_that_contradict_are_refused)
{
    expect_refusal(st_import_hf, "{" LLAMA ", \"layer_types\": [\"full_attention\"]}", ST_ERR_VALUE,
                   "layer_types lists 1 layers");
    expect_refusal(st_import_hf, "{" LLAMA ", \"tie_word_embeddings\": \"no\"}", ST_ERR_VALUE,
                   "'tie_word_embeddings' cannot be used; found the text 'no'");
    expect_refusal(st_import_hf, "{" LLAMA ", \"vocab_size\": 2385}", ST_ERR_VALUE,
                   "field 'vocab_size' is given twice with different values");
}

TEST(other_models_are_refused_by_name)
{
    expect_refusal(st_import_hf, "{\"model_type\": \"vit\", \"hidden_size\": 768}", ST_ERR_VALUE,
                   "architecture 'vit' is a vision model");
    expect_refusal(st_import_hf, "{\"model_type\": \"clip\", \"text_config\": {" LLAMA "}}",
                   ST_ERR_VALUE, "'clip' is a vision model");
    expect_refusal(st_import_hf, "{\"model_type\": \"bert\"}", ST_ERR_VALUE, "an encoder");
    expect_refusal(st_import_hf, "{\"model_type\": \"t5\"}", ST_ERR_VALUE, "and a decoder");
    expect_refusal(st_import_hf, "{\"model_type\": \"mamba\"}", ST_ERR_VALUE, "recurrent");
    expect_refusal(st_import_hf, "{\"model_type\": \"whisper\"}", ST_ERR_VALUE, "speech");
    expect_refusal(st_import_hf,
                   "{\"model_type\": \"mllama\", \"text_config\": {\"model_type\": "
                   "\"mllama_text_model\"}}",
                   ST_ERR_VALUE, "cross-attention");
    expect_refusal(st_import_hf, "{\"model_type\": \"lama\", \"hidden_size\": 1}", ST_ERR_NAME,
                   "unknown architecture 'lama'; fields not understood: none; found ; expected ; "
                   "llama");
    expect_refusal(st_import_hf, "{\"model_type\": \"zebra9\", \"stripes\": 1}", ST_ERR_NAME,
                   "fields not understood: stripes");
    expect_refusal(st_import_hf, "{\"hidden_size\": 1}", ST_ERR_NAME, "its architecture");
    expect_refusal(st_import_hf, "{\"_class_name\": \"UNet2DModel\"}", ST_ERR_NAME, "diffusers");
}

TEST(an_architecture_can_be_assumed)
{
    import_case *with = import_begin();
    with->request.assume = "llama";
    import_run(with, st_import_hf,
               "{\"model_type\": \"zebra9\", \"hidden_size\": 3072, \"num_hidden_layers\": 23,"
               "\"num_attention_heads\": 24, \"intermediate_size\": 7232, \"vocab_size\": 31999}");
    assert_int_equal(with->status, ST_OK);
    expect_words(with, "Read as architecture llama, by --assume; the file says zebra9.");
    import_end(with);
    with = import_begin();
    with->request.assume = "lama";
    import_run(with, st_import_hf, "{" LLAMA "}");
    assert_int_equal(with->status, ST_ERR_USAGE);
    import_end(with);
}

TEST(missing_fields_are_named_together)
{
    expect_refusal(
        st_import_hf, "{\"model_type\": \"llama\"}", ST_ERR_NAME,
        "field 'num_hidden_layers' is missing; found ; expected one of "
        "num_hidden_layers n_layer n_layers num_layers; set it with --set model.layers=...");
    expect_refusal(st_import_hf, "{\"model_type\": \"llama\"}", ST_ERR_NAME, "'intermediate_size'");
    expect_refusal(st_import_hf, "{\"model_type\": \"llama\"}", ST_ERR_NAME, "'vocab_size'");
    expect_refusal(st_import_hf,
                   "{\"model_type\": \"llava\", \"text_config\": {\"model_type\": "
                   "\"qwen2\"}}",
                   ST_ERR_NAME, "'hidden_size' is missing in text_config");
    expect_refusal(st_import_hf,
                   "{\"model_type\": \"mixtral\", \"hidden_size\": 4096, \"num_hidden_layers\": 2,"
                   "\"num_attention_heads\": 32, \"intermediate_size\": 9, \"vocab_size\": 9}",
                   ST_ERR_NAME, "'num_experts' is missing");
    expect_refusal(st_import_hf, "{" LLAMA ", \"kv_lora_rank\": 512}", ST_ERR_NAME,
                   "'v_head_dim' is missing");
}

/* As transformers has it: null is the hidden size over the heads, 0 only where a class says so. */
TEST(heads_of_no_width_are_those_of_their_class)
{
    expect_refusal(st_import_hf, "{" LLAMA ",\n\"head_dim\": 0}", ST_ERR_VALUE,
                   "source:3: field 'head_dim' cannot be used; found 0; expected a whole number "
                   "from 1 to 1e9");
    import_case *with = import_good(st_import_hf, "{" LLAMA ", \"head_dim\": null}");
    expect_key(with, "model.head_dim", NULL);
    import_end(with);
    with = import_good(
        st_import_hf,
        "{\"model_type\": \"mistral\", \"hidden_size\": 4096, \"num_hidden_layers\": 2,"
        "\"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"intermediate_size\": 9,"
        "\"vocab_size\": 9, \"head_dim\": 0}");
    expect_key(with, "model.head_dim", "0");
    import_end(with);
}

TEST(values_that_do_not_fit_are_refused)
{
    expect_refusal(st_import_hf, "{" LLAMA ",\n\"num_key_value_heads\": 5}", ST_ERR_VALUE,
                   "source:3: num_key_value_heads 5 does not divide the 24 attention heads");
    expect_refusal(st_import_hf, "{" LLAMA ", \"n_head\": 12}", ST_ERR_VALUE,
                   "'num_attention_heads' and 'n_head' mean the same and differ");
    expect_refusal(st_import_hf, "{" LLAMA ", \"num_hidden_layers\": 24}", ST_ERR_VALUE,
                   "different values; found 23 and 24");
    expect_refusal(st_import_hf, "{" LLAMA ", \"num_key_value_heads\": [6, 8]}", ST_ERR_VALUE,
                   "layers that differ from each other are not modelled");
    expect_refusal(st_import_hf, "{" LLAMA ", \"num_key_value_heads\": \"6\"}", ST_ERR_VALUE,
                   "found the text '6'; expected a whole number from 1 to 1e9");
    expect_refusal(st_import_hf, "{" LLAMA ", \"num_key_value_heads\": 0}", ST_ERR_VALUE,
                   "found 0");
    expect_refusal(st_import_hf, "{" LLAMA ", \"num_key_value_heads\": 2.5}", ST_ERR_VALUE,
                   "found 2.5");
    expect_refusal(st_import_hf, "{" LLAMA ", \"num_key_value_heads\": -6}", ST_ERR_VALUE,
                   "found -6");
    expect_refusal(st_import_hf, "{" LLAMA ", \"num_key_value_heads\": 1e300}", ST_ERR_VALUE,
                   "found 1e300");
    expect_refusal(st_import_hf, "{" LLAMA ", \"num_experts\": 4, \"num_experts_per_tok\": 5}",
                   ST_ERR_VALUE, "cannot visit 5 of 4 experts");
    expect_refusal(st_import_hf, "{" LLAMA ", \"mlp_bias\": 1}", ST_ERR_VALUE, "true or false");
    expect_refusal(st_import_hf, "{" LLAMA ", \"dropout\": \"x\"}", ST_ERR_VALUE, "'dropout'");
    expect_refusal(st_import_hf, "{" LLAMA ", \"layer_types\": [\"linear_attention\"]}",
                   ST_ERR_VALUE, "the text 'linear_attention'");
    expect_refusal(st_import_hf, "{\"model_type\": \"x\", \"text_config\": [1]}", ST_ERR_VALUE,
                   "'text_config' cannot be used; found a list");
    expect_refusal(st_import_hf,
                   "{\"model_type\": \"llama\", \"hidden_size\": 3071, \"num_hidden_layers\": 2,"
                   "\"num_attention_heads\": 24, \"intermediate_size\": 9, \"vocab_size\": 9}",
                   ST_ERR_VALUE, "3071 is not a multiple of the 24 heads");
}

TEST(requests_are_checked)
{
    static const char *const sets[] = {"cluster=dgx-h100", "batch.sequnce=3", "constants.x=3"};
    (void)state;
    import_case *with = import_begin();
    with->request.cluster = "dgx-h1000";
    with->request.sets = sets;
    with->request.set_count = 3;
    import_run(with, st_import_hf, "{" LLAMA "}");
    assert_int_not_equal(with->status, ST_OK);
    assert_non_null(strstr(import_faults(with), "'cluster' cannot be set in an import"));
    assert_non_null(strstr(import_faults(with), "use --cluster"));
    assert_non_null(strstr(import_faults(with), "unknown key 'batch.sequnce'"));
    assert_non_null(strstr(import_faults(with), "dgx-h1000"));
    assert_int_equal(with->text.length, 0);
    import_end(with);
}

/* ---- JSON ---- */

TEST(other_texts_are_refused)
{
    expect_refusal(st_import_hf, "[{" LLAMA "}]", ST_ERR_VALUE,
                   "not a config.json; found a list; expected a map of fields");
    expect_refusal(st_import_hf, "\"llama\"", ST_ERR_VALUE, "found the text 'llama'");
    expect_refusal(st_import_hf, "3", ST_ERR_VALUE, "found 3");
    expect_refusal(st_import_hf, "null", ST_ERR_VALUE, "found null");
    expect_refusal(st_import_hf, "", ST_ERR_SYNTAX, "not JSON");
    expect_refusal(st_import_hf, "{\n\"a\": 1,\n\"b\": }", ST_ERR_SYNTAX, "source:3: not JSON");
    expect_refusal(st_import_hf, "{\"a\": 1", ST_ERR_SYNTAX, "not JSON");
    expect_refusal(st_import_hf, "{\"a\": nan}", ST_ERR_SYNTAX, "not JSON");
    expect_refusal(st_import_hf, "{\"a\": NaN, \"b\": NaNs}", ST_ERR_SYNTAX, "not JSON");
    expect_refusal(st_import_hf, "{} {}", ST_ERR_SYNTAX, "not JSON");
    expect_refusal(st_import_hf, "{\"a\": \"\xff\"}", ST_ERR_SYNTAX, "not JSON");
    expect_refusal(st_import_hf, "{\"model_type\": \"llama\\u0000\"}", ST_ERR_LIMIT, "U+0000");
    expect_refusal(st_import_hf, "{\"model\\u0000\": 1}", ST_ERR_LIMIT, "U+0000");
}

TEST(a_byte_order_mark_is_stepped_over)
{
    import_case *with = import_good(st_import_hf, "\xEF\xBB\xBF{" LLAMA "}");
    expect_key(with, "model.layers", "23");
    import_end(with);
}

static void expect_limit(const char *unit, size_t count, const char *words)
{
    st_buffer text = {0};
    for (size_t i = 0; i < count; i++)
        st_buffer_text(&text, unit);
    assert_false(text.failed);
    expect_refusal(st_import_hf, text.data, ST_ERR_LIMIT, words);
    st_buffer_free(&text);
}

TEST(sizes_are_bounded)
{
    expect_limit("[", 33, "at most 32 levels");
    expect_limit("[", 1000000, "at most 32 levels");
    expect_limit("          ", ST_JSON_MAX_BYTES / 10 + 1, "at most 8 MiB");
    st_buffer text = {0};
    st_buffer_text(&text, "[0");
    for (size_t i = 0; i < ST_JSON_MAX_NODES; i++)
        st_buffer_text(&text, ",0");
    expect_refusal(st_import_hf, text.data, ST_ERR_LIMIT, "at most 200,000 values");
    st_buffer_free(&text);
}

#define BLOCK  "{\"attention\": {\"n_heads_in_group\": 4}, \"ffn\": {\"ffn_mult\": 2.385}}"
#define BLOCKS BLOCK "," BLOCK "," BLOCK "," BLOCK "," BLOCK ","

TEST(every_architecture_is_read)
{
    size_t count = 0;
    (void)state;
    for (char name[ST_IMPORT_HF_NAME]; st_import_hf_architecture(count, name); count++) {
        import_case *with = import_begin();
        char text[4096];
        (void)snprintf(text, sizeof text,
                       "{\"model_type\": \"%s\", \"hidden_size\": 3072, \"num_hidden_layers\": 23,"
                       "\"num_attention_heads\": 24, \"intermediate_size\": 7232,"
                       "\"intermediate_size_mlp\": 7168, \"vocab_size\": 31999,"
                       "\"num_experts\": 8, \"num_experts_per_tok\": 2, \"kv_lora_rank\": 512,"
                       "\"qk_nope_head_dim\": 128, \"qk_rope_head_dim\": 64, \"v_head_dim\": 128,"
                       "\"max_position_embeddings\": 2048, \"head_dim\": 128,"
                       "\"num_key_value_heads\": 24, \"q_lora_rank\": 96, \"o_lora_rank\": 48,"
                       "\"o_groups\": 3, \"sliding_window\": 127, \"linear_num_key_heads\": 3,"
                       "\"linear_num_value_heads\": 6, \"linear_key_head_dim\": 65,"
                       "\"linear_value_head_dim\": 67, \"mamba_num_heads\": 5,"
                       "\"mamba_head_dim\": 63, \"ssm_state_size\": 61, \"num_heads\": 24,"
                       "\"state_size\": 59, \"n_groups\": 3,"
                       "\"moe_intermediate_size\": 1409,"
                       "\"shared_intermediate_size\": 1537%s}",
                       name,
                       strcmp(name, "nemotron_h") == 0
                           ? ", \"hybrid_override_pattern\": \"MEMEM*EMEMEM*EMEMEM*EM-\""
                       : strcmp(name, "kimi_linear") == 0
                           ? ", \"linear_attn_config\": {\"full_attn_layers\": [4, 8, 23],"
                             "\"kda_layers\": [1, 2, 3, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15,"
                             "16, 17, 18, 19, 20, 21, 22],"
                             "\"num_heads\": 23, \"head_dim\": 127}"
                       : strcmp(name, "longcat_flash") == 0 ? ", \"num_layers\": 11"
                       : strcmp(name, "deci") == 0 || strcmp(name, "nemotron-nas") == 0
                           ? ", \"block_configs\": [" BLOCKS BLOCKS BLOCKS BLOCKS BLOCK "," BLOCK
                             "," BLOCK "]"
                       : strncmp(name, "lfm2", 4) == 0 || strncmp(name, "minimax", 7) == 0
                           ? ", \"full_attn_idxs\": [2, 5, 22]"
                           : "");
        with->request.assume = name; /* no architecture knows all of these widths */
        import_run(with, st_import_hf, text);
        if (with->status != ST_OK)
            fail_msg("%s: %s", name, import_faults(with));
        expect_words(with, name);
        import_end(with);
    }
    assert_true(count > 40);
}

TEST_GROUP(import_hf)
{
    if (!st_json_available()) {
        print_message("built without yajl\n");
        return 77; /* skipped */
    }
    return RUN_TESTS(import_hf);
}
