/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of Megatron-LM: command lines, scripts, dumps of arguments, iteration times. */
#define _DEFAULT_SOURCE
#include "../support/imports.h"
#include "launch/import/import.h"

#define NEEDED                                                                                     \
    "--num-layers 23 --hidden-size 3072 --num-attention-heads 24 --seq-length 2385 "               \
    "--max-position-embeddings 4096 --micro-batch-size 3 "

#define DUMP                                                                                       \
    "------------------------ arguments ------------------------\n"                                \
    "  bf16 ............................................ True\n"                                   \
    "  data_parallel_size .............................. 5\n"                                      \
    "  ffn_hidden_size ................................. 7232\n"                                   \
    "  global_batch_size ............................... 240\n"                                    \
    "  hidden_size ..................................... 3072\n"                                   \
    "  max_position_embeddings ......................... 4096\n"                                   \
    "  micro_batch_size ................................ 3\n"                                      \
    "  num_attention_heads ............................. 24\n"                                     \
    "  num_experts ..................................... None\n"                                   \
    "  num_layers ...................................... 23\n"                                     \
    "  num_query_groups ................................ 1\n"                                      \
    "  seq_length ...................................... 2385\n"                                   \
    "  weight_decay .................................... 0.1\n"                                    \
    "  a_knob_that_nobody_ever_heard_of_until_this_day_x 7\n"                                      \
    "  a_knob_that_nobody_ever_heard_of_until_this_day_y  8\n"                                     \
    "  knob_that_is_off ................................ False\n"                                  \
    "-------------------- end of arguments ---------------------\n"

/* ---- command lines ---- */

TEST(a_command_line_has_megatrons_defaults)
{
    import_case *with = import_good(st_import_megatron, NEEDED);
    expect_key(with, "model.layers", "23");
    expect_key(with, "model.hidden", "3072");
    expect_key(with, "model.heads", "24");
    expect_key(with, "model.kv_heads", NULL);
    expect_key(with, "model.ffn", NULL);
    expect_key(with, "model.gated", "false");
    expect_key(with, "model.bias", "true");
    expect_key(with, "model.tied", "true");
    expect_key(with, "model.norm", "layer");
    expect_key(with, "model.dropout", "true");
    expect_key(with, "model.positions", "4096");
    expect_key(with, "model.vocabulary", NULL);
    expect_key(with, "model.vocabulary_multiple", "128");
    expect_key(with, "batch.sequence", "2385");
    expect_key(with, "batch.micro", "3");
    expect_key(with, "parallel.tp", "1");
    expect_key(with, "parallel.dp", NULL);
    expect_key(with, "precision.weights", "fp32");
    expect_key(with, "recompute", "none");
    expect_words(with, "# default of tensor_model_parallel_size\n");
    expect_words(with, "parallel.dp is left out");
    expect_words(with, "The arguments lack the vocabulary size");
    import_end(with);
}

TEST(options_of_the_model)
{
    import_case *with = import_good(
        st_import_megatron,
        NEEDED "--swiglu --normalization RMSNorm --disable-bias-linear --group-query-attention "
               "--num-query-groups 8 --kv-channels 96 --untie-embeddings-and-output-weights "
               "--position-embedding-type rope --hidden-dropout 0 --vocab-size=31999 "
               "--make-vocab-size-divisible-by 64 --num-experts 16 --moe-router-topk 4 "
               "--moe-ffn-hidden-size 1409 --moe-shared-expert-intermediate-size 2817 "
               "--moe-expert-capacity-factor 1.25 --moe-layer-freq ([0]*3+[1]*20)");
    expect_key(with, "model.ffn", "8192"); /* 8/3 of 3072, in multiples of 64 */
    expect_key(with, "model.gated", "true");
    expect_key(with, "model.norm", "rms");
    expect_key(with, "model.bias", "false");
    expect_key(with, "model.kv_heads", "8");
    expect_key(with, "model.head_dim", "96");
    expect_key(with, "model.tied", "false");
    expect_key(with, "model.positions", "0");
    expect_key(with, "model.dropout", "false");
    expect_key(with, "model.vocabulary", "31999");
    expect_key(with, "model.vocabulary_multiple", "64");
    expect_key(with, "model.experts", "16");
    expect_key(with, "model.top_k", "4");
    expect_key(with, "model.expert_ffn", "1409");
    expect_key(with, "model.shared_ffn", "2817");
    expect_key(with, "model.capacity_factor", "1.25");
    expect_key(with, "model.dense_layers", "3");
    import_end(with);
}

TEST(latent_attention)
{
    import_case *with = import_good(
        st_import_megatron, NEEDED "--multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 511 "
                                   "--qk-head-dim 127 --v-head-dim 126 --kv-channels 99");
    expect_key(with, "model.q_lora", "1536");
    expect_key(with, "model.kv_lora", "511");
    expect_key(with, "model.head_dim", "127");
    expect_key(with, "model.rope_dim", "64"); /* Megatron's default */
    expect_key(with, "model.v_dim", "126");
    import_end(with);
}

TEST(options_of_the_plan)
{
    import_case *with = import_good(
        st_import_megatron,
        "torchrun --nproc_per_node 8 --nnodes 6 pretrain_gpt.py --num-layers 24 --hidden-size 3072 "
        "--num-attention-heads 24 --seq-length 2384 --micro-batch-size 3 --train-iters 1000 "
        "--max-position-embeddings 4096 --tensor-model-parallel-size 2 "
        "--pipeline-model-parallel-size 4 --context-parallel-size 2 --sequence-parallel "
        "--num-layers-per-virtual-pipeline-stage 2 --use-distributed-optimizer "
        "--overlap-grad-reduce --overlap-param-gather --recompute-granularity selective --bf16 "
        "--no-scatter-gather-tensors-in-pipeline --use-tp-pp-dp-mapping --use-flash-attn "
        "--no-gradient-accumulation-fusion --fp8-format hybrid --tp-comm-overlap");
    expect_key(with, "cluster.nodes", "6");
    expect_key(with, "cluster.gpus_per_node", "8");
    expect_key(with, "parallel.tp", "2");
    expect_key(with, "parallel.pp", "4");
    expect_key(with, "parallel.cp", "2");
    expect_key(with, "parallel.dp", "3");
    expect_key(with, "parallel.virtual_stages", "3");
    expect_key(with, "parallel.schedule", "interleaved");
    expect_key(with, "parallel.sequence_parallel", "true");
    expect_key(with, "parallel.zero", "1");
    expect_key(with, "parallel.scatter_gather", "false");
    expect_key(with, "parallel.order", "tp-cp-ep-pp-dp");
    expect_key(with, "batch.global", "9"); /* micro-batch times dp */
    expect_key(with, "train.tokens", "21456000");
    expect_key(with, "recompute", "selective");
    expect_key(with, "attention", "flash");
    expect_key(with, "overlap.gradients", "1");
    expect_key(with, "overlap.parameters", "1");
    expect_key(with, "precision.weights", "bf16");
    expect_key(with, "precision.gradients", "fp32");
    expect_key(with, "precision.fp8", "true");
    expect_key(with, "precision.fused_wgrad", "false");
    expect_words(with, "set overlap.tp to the share\n# that hides.");
    import_end(with);
}

TEST(ways_to_shard_and_to_recompute)
{
    static const char *const cases[][3] = {
        {"--use-torch-fsdp2", "parallel.zero", "3"},
        {"--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads", "parallel.zero", "2"},
        {"--zero-stage 2", "parallel.zero", "2"},
        {"--recompute-activations", "recompute", "selective"},
        {"--checkpoint-activations", "recompute", "full"},
        {"--recompute-granularity full", "recompute", "full"},
        {"--attention-backend unfused", "attention", "unfused"},
        {"--fp16 --accumulate-allreduce-grads-in-fp32", "precision.gradients", "fp32"},
        {"--fp16", "precision.gradients", "fp16"},
        {"--bf16 --grad-reduce-in-bf16", "precision.gradients", "bf16"},
        {"--bf16 --use-precision-aware-optimizer --exp-avg-dtype fp8", "precision.optimizer",
         "fp8"},
        {"--use-rotary-position-embeddings", "model.positions", "0"},
        {"--tokenizer-type GPT2BPETokenizer", "model.vocabulary", "50257"},
        {"--tokenizer-type NullTokenizer --vocab-size 31999", "model.vocabulary", "32000"},
        {"--num-experts 8 --expert-model-parallel-size 4 --expert-tensor-parallel-size 1",
         "parallel.ep", "4"},
        {"--num-experts 8 --moe-layer-freq 2", "model.moe_every", "2"},
        {"--num-experts 8 --moe-layer-freq ([0,1]*11+[1])", "model.pattern", "(de)*11e"},
        {"--decoder-first-pipeline-num-layers 5 --pipeline-model-parallel-size 3",
         "parallel.first_stage_layers", "5"},
        {"--num-virtual-stages-per-pipeline-rank 4", "parallel.virtual_stages", "4"},
        {"--train-samples 7", "train.tokens", "16695"},
        {"--global-batch-size 77", "batch.global", "77"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        (void)snprintf(text, sizeof text, NEEDED "%s", cases[i][0]);
        import_case *with = import_good(st_import_megatron, text);
        expect_key(with, cases[i][1], cases[i][2]);
        import_end(with);
    }
}

TEST(notes_on_what_is_not_taken_over)
{
    import_case *with = import_good(
        st_import_megatron,
        NEEDED "--recompute-granularity full --recompute-method block --recompute-num-layers 7 "
               "--mtp-num-layers 1 --rampup-batch-size 16 16 500 --lr 1e-4 --clip-grad 1.0 "
               "--brand-new 3 --moe-shared-expert-overlap");
    expect_key(with, "recomputed.layers", "7");
    expect_key(with, "model.mtp", "1");
    expect_words(with, "rampup_batch_size");
    expect_words(with, "Skipped, without effect on an estimate (2): lr, clip_grad.");
    expect_words(with, "Unknown, left out (1): brand_new.");
    expect_words(with, "set overlap.ep");
    import_end(with);
}

/* ---- scripts ---- */

TEST(a_script_is_read_and_not_run)
{
    static const char script[] =
        "#!/bin/bash\n"
        "# --num-layers 99 stands in a comment\n"
        "GPUS=8\r\n"
        "NODES=${NUM_NODES:-3}\n"
        "export LAYERS=23; TOUCHED=$(touch /tmp/steptime-must-not-exist)\n"
        "RUN=(\n    --nproc_per_node $GPUS \n    --nnodes ${NODES}\n)\n"
        "MODEL=(--num-layers $LAYERS --hidden-size 3072\n    --num-attention-heads 24)\n"
        "MORE=\"--seq-length 2385 \\\n  --max-position-embeddings 4096 --swiglu\"\n"
        "torchrun ${RUN[@]} pretrain_gpt.py ${MODEL[@]} $MORE '--micro-batch-size' \"3\" \\\n"
        "  --split 949,50,1 --tokenizer-type GPT2BPETokenizer # the end\n";
    (void)state;
    import_case *with = import_good(st_import_megatron, script);
    expect_key(with, "model.layers", "23");
    expect_key(with, "model.heads", "24");
    expect_key(with, "model.gated", "true");
    expect_key(with, "cluster.nodes", "3");
    expect_key(with, "parallel.dp", "24");
    expect_key(with, "batch.micro", "3");
    expect_key(with, "model.vocabulary", "50257");
    assert_int_not_equal(access("/tmp/steptime-must-not-exist", F_OK), 0);
    import_end(with);
}

TEST(the_last_of_two_options_counts)
{
    import_case *with = import_good(st_import_megatron, NEEDED "--num-layers 29 --swiglu");
    expect_key(with, "model.layers", "29");
    import_end(with);
}

TEST(assignments_fill_in)
{
    static const char *const sets[] = {"batch.micro=7", "model.vocabulary=31999"};
    (void)state;
    import_case *with = import_begin();
    with->request.sets = sets;
    with->request.set_count = 2;
    with->request.cluster = "dgx-a100";
    import_run(with, st_import_megatron,
               "--num-layers 23 --hidden-size 3072 --num-attention-heads 24 --seq-length 2385 "
               "--max-position-embeddings 4096");
    assert_int_equal(with->status, ST_OK);
    expect_words(with, "  micro: 7                      # --set\n");
    expect_words(with, "  vocabulary: 31999             # --set\n");
    expect_words(with, "cluster: \"dgx-a100\"\n");
    import_end(with);
}

/* ---- logs ---- */

TEST(a_log_gives_arguments_and_the_median)
{
    import_case *with = import_good(
        st_import_megatron,
        "starting\n" DUMP " > padded vocab (size: 31999) with 129 dummy tokens (new size: 32128)\n"
        " iteration 1/ 9 | elapsed time per iteration (ms): 9000.0 | learning rate: 1E-4 |\n"
        " iteration 2/ 9 | elapsed time per iteration (ms): 2387.5 | learning rate: 1E-4 |\n"
        " iteration 3/ 9 | elapsed time per iteration (ms): 2385.0 |\n"
        " iteration 4/ 9 | elapsed time per iteration (ms): 2500.0 |\n");
    expect_key(with, "model.layers", "23");
    expect_key(with, "model.ffn", "7232");
    expect_key(with, "model.experts", NULL);
    expect_key(with, "model.kv_heads", NULL); /* num_query_groups alone means nothing */
    expect_key(with, "model.vocabulary", "31999");
    expect_key(with, "parallel.dp", "5");
    expect_key(with, "batch.global", "240");
    expect_key(with, "measured.step_time", "2387.5 ms");
    expect_words(with, "median of 3 of 4 lines; the first 1 dropped as warm-up");
    expect_words(with, "Skipped, without effect on an estimate (1): weight_decay.");
    expect_words(with, "Unknown, left out (1, not counting those that are off):\n"
                       "# a_knob_that_nobody_ever_heard_of_until_this_day_y.");
    import_end(with);
}

TEST(launchers_may_put_words_in_front)
{
    st_buffer text = {0};
    (void)state;
    for (const char *line = DUMP; *line != '\0'; line += strcspn(line, "\n") + 1)
        st_buffer_printf(&text, "2024-05-01 [rank 3]: %.*s\r\n", (int)strcspn(line, "\n"), line);
    st_buffer_text(&text, "3: elapsed time per iteration (s): 2.5 |\n");
    import_case *with = import_good(st_import_megatron, text.data);
    expect_key(with, "model.hidden", "3072");
    expect_key(with, "measured.step_time", "2500 ms");
    expect_words(with, "a single line, which may include warm-up");
    st_buffer_free(&text);
    import_end(with);
}

TEST(the_last_run_of_a_log_counts)
{
    import_case *with = import_good(
        st_import_megatron, "-- arguments --\n  num_layers ..... 99\n-- end of arguments --\n"
                            " elapsed time per iteration (ms): 777.0 |\n" DUMP
                            " elapsed time per iteration (ms): 888.0 |\n"
                            " elapsed time per iteration (ms): -5 | elapsed\n"
                            " elapsed time per iteration (ms): nan |\n");
    expect_key(with, "model.layers", "23");
    expect_key(with, "measured.step_time", "888 ms");
    expect_words(with, "the log holds 2 runs");
    import_end(with);
}

TEST(even_counts_have_a_median_between)
{
    import_case *with =
        import_good(st_import_megatron, DUMP "elapsed time per iteration (ms): 9999\n"
                                             "elapsed time per iteration (ms): 101\n"
                                             "elapsed time per iteration (ms): 104\n");
    expect_key(with, "measured.step_time", "102.5 ms");
    import_end(with);
}

TEST(a_log_without_times_says_so)
{
    import_case *with = import_good(st_import_megatron, DUMP);
    expect_key(with, "measured.step_time", NULL);
    expect_words(with, "no iteration times");
    import_end(with);
}

/* ---- what is refused ---- */

TEST(what_cannot_be_read_is_refused)
{
    expect_refusal(st_import_megatron, "", ST_ERR_NAME, "no arguments of Megatron-LM found");
    expect_refusal(st_import_megatron, "hello world\n", ST_ERR_NAME, "no arguments");
    expect_refusal(st_import_megatron, "elapsed time per iteration (ms): 3\n", ST_ERR_NAME,
                   "no dump of arguments");
    expect_refusal(
        st_import_megatron, "--num-layers 3", ST_ERR_NAME,
        "argument 'hidden_size' is missing; found ; expected ; set it with --set model.hidden=...");
    expect_refusal(st_import_megatron, "--num-layers 3", ST_ERR_NAME, "'micro_batch_size'");
    expect_refusal(st_import_megatron, NEEDED "\n--num-layers $LAYERS", ST_ERR_VALUE,
                   "source:2: argument 'num_layers' cannot be used; found '$LAYERS'; expected a "
                   "number; replace the shell variable or command with its value");
    expect_refusal(st_import_megatron, NEEDED "--num-layers 2.5", ST_ERR_VALUE, "a whole number");
    expect_refusal(st_import_megatron, NEEDED "--num-layers 0", ST_ERR_VALUE, "model.layers");
    expect_refusal(st_import_megatron, NEEDED "--num-layers 1e30", ST_ERR_VALUE, "a whole number");
    expect_refusal(st_import_megatron, NEEDED "--num-layers -3", ST_ERR_VALUE, "'num_layers'");
    expect_refusal(st_import_megatron, NEEDED "--group-query-attention --num-query-groups 5",
                   ST_ERR_VALUE, "num_query_groups 5 does not divide the 24 attention heads");
    expect_refusal(st_import_megatron, NEEDED "--group-query-attention --num-query-groups 0",
                   ST_ERR_VALUE, "does not divide");
    expect_refusal(st_import_megatron, NEEDED "--world-size 10 --tensor-model-parallel-size 3",
                   ST_ERR_VALUE, "10 ranks are not a multiple");
    expect_refusal(st_import_megatron, NEEDED "--tensor-model-parallel-size 0", ST_ERR_VALUE,
                   "parallel.tp");
    expect_refusal(st_import_megatron, NEEDED "--hidden-dropout x", ST_ERR_VALUE,
                   "'hidden_dropout'");
    expect_refusal(st_import_megatron, NEEDED "--num-experts 8 --moe-layer-freq __import__('os')",
                   ST_ERR_VALUE, "'moe_layer_freq'");
    expect_refusal(st_import_megatron, NEEDED "--num-experts 8 --moe-layer-freq [0,1]",
                   ST_ERR_VALUE, "'moe_layer_freq'");
    expect_refusal(st_import_megatron, NEEDED "--num-experts 8 --moe-layer-freq [1]*99999999",
                   ST_ERR_VALUE, "'moe_layer_freq'");
    expect_refusal(st_import_megatron, NEEDED "--moe-expert-capacity-factor x --num-experts 8",
                   ST_ERR_SYNTAX, "capacity_factor");
}

TEST(sizes_are_bounded)
{
    st_buffer text = {0};
    (void)state;
    for (size_t i = 0; i < 5000; i++)
        st_buffer_printf(&text, "--option-%zu 1 ", i);
    expect_refusal(st_import_megatron, text.data, ST_ERR_LIMIT, "at most 4096");
    st_buffer_free(&text);
}

/* Words of a log that would end their comment or their line. */
TEST(hostile_words_stay_in_their_comment)
{
    import_case *with =
        import_good(st_import_megatron, "-- arguments --\n  knob\x01 .... \x1b[31mred\n" DUMP
                                        "  elapsed \xff\xfe time\n");
    for (size_t i = 0; i < with->text.length; i++)
        assert_true(with->text.data[i] == '\n' ||
                    (with->text.data[i] >= ' ' && with->text.data[i] <= '~'));
    import_end(with);
}

TESTS(import_megatron);
