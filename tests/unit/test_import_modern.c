/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of Megatron-LM of 2024 and later: layers by kind, layouts, dispatchers, recipes,
 * modules, graphs and offload.
 */
#define _DEFAULT_SOURCE
#include "../support/imports.h"

#define NEEDED                                                                                     \
    "--num-layers 23 --hidden-size 3072 --num-attention-heads 24 --seq-length 2385 "               \
    "--max-position-embeddings 2385 --micro-batch-size 3 --tokenizer-type GPT2BPETokenizer "       \
    "--bf16 "
#define EXPERTS "--num-experts 17 --moe-router-topk 3 "

static void expect(const char *arguments, const char *key, const char *value)
{
    char text[2048];
    (void)snprintf(text, sizeof text, NEEDED "%s", arguments);
    import_case *with = import_good(st_import_megatron, text);
    expect_key(with, key, value);
    assert_null(strstr(with->text.data, "Unknown, left out"));
    import_end(with);
}

TEST(windows_and_delta_nets_make_patterns)
{
    expect("--window-size 127,0 --window-attn-skip-freq 2", "model.pattern", "(xd)*11x");
    expect("--window-size 127,0 --window-attn-skip-freq 2", "model.window", "128");
    expect("--window-size (127,0)", "model.pattern", "x*23");
    expect("--window-size 127,0 --window-attn-skip-freq ([1]*5+[0])*3+[1]*5", "model.pattern",
           "(x*5d)*3x*5");
    expect(EXPERTS "--window-size 127,0 --window-attn-skip-freq 2 --softmax-type learnable",
           "model.pattern", "(ye)*11y");
    expect(EXPERTS "--softmax-type learnable", "model.sinks", "true");
    expect(EXPERTS "--experimental-attention-variant gated_delta_net --linear-attention-freq 4 "
                   "--linear-num-value-heads 31 --linear-conv-kernel-dim 4",
           "model.pattern", "(hhhe)*5hhh");
    expect("--experimental-attention-variant gated_delta_net --linear-num-value-heads 31",
           "model.delta_v_heads", "31");
    expect("--attention-output-gate", "model.gated_attention", "true");
    expect(EXPERTS "--moe-layer-freq [0]*3+[1]*20", "model.dense_layers", "3");
    expect("--experimental-attention-variant dsa --dsa-indexer-n-heads 31 --dsa-indexer-topk 2047",
           "model.index_top_k", "2047");
}

TEST(hybrids_and_prediction_are_read)
{
    import_case *with = import_good(
        st_import_megatron,
        "--hidden-size 2688 --num-attention-heads 32 --seq-length 2385 --micro-batch-size 3 "
        "--max-position-embeddings 2385 --hybrid-layer-pattern \"MEM*|EMEM*-/*E/*E\" "
        "--mamba-num-heads 65 --mamba-state-dim 129 --position-embedding-type none --vocab-size 97 "
        "--num-experts 31 --moe-latent-size 1023 --mtp-use-repeated-layer --bf16 "
        "--moe-router-num-groups 31 --moe-router-group-topk 17 "
        "--pipeline-model-parallel-size 2");
    expect_key(with, "model.layers", "10");
    expect_key(with, "model.hybrid", "true");
    expect_key(with, "model.pattern", "MEM*EMEM*-");
    expect_key(with, "model.mamba_heads", "65");
    expect_key(with, "model.mamba_head_dim", "64");
    expect_key(with, "model.mamba_state", "129");
    expect_key(with, "model.mamba_groups", "8");
    expect_key(with, "model.mtp", "2");
    expect_key(with, "model.mtp_shared", "true");
    expect_key(with, "model.moe_latent", "1023");
    expect_key(with, "model.expert_groups", "31");
    expect_key(with, "model.top_groups", "17");
    expect_key(with, "parallel.layout", "Et*4|t*6mmL");
    import_end(with);
    expect("--hybrid-override-pattern MM*-MM*-MM*-MM*-MM*-MM*", "model.mamba_heads", "96");
    expect_refusal(st_import_megatron, NEEDED "--hybrid-override-pattern MGM", ST_ERR_VALUE,
                   "found 'G' at character 2");
}

TEST(compressed_keys_are_read)
{
    import_case *with = import_good(
        st_import_megatron, NEEDED EXPERTS
        "--multi-latent-attention --experimental-attention-variant dsv4_hybrid --q-lora-rank 1023 "
        "--v-head-dim 509 --qk-pos-emb-head-dim 64 --o-lora-rank 1025 --o-groups 7 "
        "--csa-window-size 127 --dsa-indexer-topk 511 --mtp-num-layers 1 --csa-compress-ratios "
        "[0,0,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,128,4,0]");
    expect_key(with, "model.head_dim", "445");
    expect_key(with, "model.v_dim", "509");
    expect_key(with, "model.kv_lora", "509");
    expect_key(with, "model.kv_heads", "1");
    expect_key(with, "model.o_groups", "7");
    expect_key(with, "model.window", "127");
    expect_key(with, "model.index_layers", "11");
    expect_key(with, "model.index_top_k", "511");
    expect_key(with, "model.compressed_layers", "10");
    expect_key(with, "model.compression", "128");
    expect_key(with, "model.mtp", "1");
    expect_key(with, "model.pattern", NULL);
    import_end(with);
}

TEST(layouts_give_stages)
{
    static const char layout[] = "--pipeline-model-parallel-size 4 "
                                 "--pipeline-model-parallel-layout \"Ett|(t*3|)*6t*3L\"";
    expect(layout, "parallel.layout", "Ett|(t*3|)*6t*3L");
    expect(layout, "parallel.virtual_stages", "2");
    expect(layout, "parallel.schedule", "interleaved");
    expect("--pipeline-model-parallel-size 5 --account-for-embedding-in-pipeline-split "
           "--account-for-loss-in-pipeline-split",
           "parallel.account_loss", "true");
    expect_refusal(st_import_megatron,
                   NEEDED "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout "
                          "\"Et*9|t*13L\"",
                   ST_ERR_VALUE, "found 22 't'; expected 23 (model.layers)");
}

TEST(plans_of_modern_runs_are_read)
{
    static const char *const cases[][3] = {
        {EXPERTS, "parallel.dispatcher", "allgather"},
        {EXPERTS "--moe-token-dispatcher-type alltoall", "parallel.dispatcher", "alltoall"},
        {EXPERTS "--moe-token-dispatcher-type flex", "parallel.dispatcher", "deepep"},
        {EXPERTS "--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep",
         "parallel.dispatcher", "hybridep"},
        {"--cp-comm-type a2a", "parallel.cp_method", "alltoall"},
        {"--cp-comm-type a2a+p2p --hierarchical-context-parallel-sizes 2", "parallel.cp_method",
         "hierarchical"},
        {"--nproc-per-node 8 --nnodes 3 --num-distributed-optimizer-instances 2 "
         "--outer-dp-sharding-strategy optim",
         "parallel.outer_states", "true"},
        {"--nproc-per-node 8 --nnodes 3 --num-distributed-optimizer-instances 2", "parallel.shard",
         "12"},
        {"--fp8-format hybrid", "precision.fp8", "true"},
        {"--fp8-format hybrid", "precision.recipe", NULL},
        {"--fp8-format hybrid --fp8-recipe tensorwise", "precision.recipe", "fp8_current"},
        {"--fp8-format e4m3 --fp8-recipe blockwise", "precision.recipe", "fp8_block"},
        {"--fp8-format e4m3 --fp8-recipe mxfp8", "precision.recipe", "mxfp8"},
        {"--fp8-format e4m3 --fp8-recipe mxfp8", "precision.fp8", NULL},
        {"--fp8-recipe mxfp8", "precision.recipe", NULL},
        {"--fp4-format e2m1", "precision.recipe", "nvfp4"},
        {"--fp8-format e4m3 --fp8-param-gather", "precision.gather", "fp8"},
        {"--fp4-format e2m1 --fp4-param-gather", "precision.gather", "fp4"},
        {"--first-last-layers-bf16 --num-layers-at-start-in-bf16 3 "
         "--num-layers-at-end-in-bf16 3",
         "precision.first_last_bf16", "3"},
        {"--fp8-format e4m3 --fp8-dot-product-attention", "precision.attention_fp8", "true"},
        {"--recompute-granularity selective --recompute-modules core_attn mlp",
         "recomputed.attention", "true"},
        {"--recompute-granularity selective --recompute-modules core_attn mlp", "recomputed.mlp",
         "true"},
        {"--recompute-granularity selective --recompute-modules moe_act layernorm mla_up_proj",
         "recomputed.latent", "true"},
        {"--recompute-granularity selective --recompute-modules moe_act", "recomputed.attention",
         NULL},
        {"--recompute-granularity full --recompute-modules moe_act", "recomputed.activation", NULL},
        {"--cuda-graph-impl local", "graphs", "layer"},
        {"--cuda-graph-impl none", "graphs", NULL},
        {"--cuda-graph-impl full_iteration", "graphs", "full"},
        {"--cuda-graph-impl local --cuda-graph-scope full_iteration", "graphs", "full"},
        {"--cuda-graph-impl transformer_engine --cuda-graph-modules attn moe_router", "graphs",
         "scoped"},
        {"--enable-cuda-graph", "graphs", "layer"},
        {"--optimizer-cpu-offload --optimizer-offload-fraction 0.37", "offload.optimizer", "0.37"},
        {"--optimizer-cpu-offload", "offload.optimizer", "1"},
        {"--optimizer dist_muon", "optimizer", "muon"},
        {"--sft", "train.task", "sft"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect(cases[i][0], cases[i][1], cases[i][2]);
}

TEST(what_has_no_share_is_told)
{
    import_case *with =
        import_good(st_import_megatron, NEEDED
                    "--fine-grained-activation-offloading --offload-modules moe_act core_attn "
                    "--recompute-granularity selective --recompute-modules gdn_norm_out "
                    "--optimizer sgd --fp8-format hybrid --fp8-recipe custom "
                    "--experimental-attention-variant newest");
    expect_words(with, "offload_modules: moe_act core_attn");
    expect_words(with, "gdn_norm_out");
    expect_words(with, "The optimizer sgd is estimated as Adam.");
    expect_words(with, "Unknown FP8 recipe");
    expect_words(with, "attention of the kind newest");
    import_end(with);
    expect_refusal(st_import_megatron,
                   NEEDED "--nproc-per-node 8 --num-distributed-optimizer-instances 3",
                   ST_ERR_VALUE, "does not divide the data-parallel size 8");
}

TEST(lists_that_are_wrong_are_refused)
{
    static const char *const lists[] = {"[0]*3",      "[1]*99999999",     "([1]*23",
                                        "[2]*23",     "[1*23]",           "[1]*22",
                                        "[1]*23+[x]", "((((((((((((((((("};
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        char text[1024];
        (void)snprintf(text, sizeof text, NEEDED "--window-size 127,0 --window-attn-skip-freq %s",
                       lists[i]);
        expect_refusal(st_import_megatron, text, ST_ERR_VALUE, "'window_attn_skip_freq'");
    }
}

TESTS(import_modern);
