/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a run of Megatron-LM: ranks, batch, recomputation, precision, overlap. */
#include "launch/import/megatron.h"

#include "steptime/keys.h"
#include "steptime/quantity.h"

#include <inttypes.h>
#include <string.h>

/* ---- the plan ---- */

/* A count that a source without it leaves open; 0 where it has none, and a stated 0 is reported. */
static uint64_t stated_count(megatron_run *run, const char *name)
{
    uint64_t given = 0;
    const megatron_argument *argument = megatron_get(run, name);
    if (!megatron_read_count(run, name, &given) || given > 0)
        return given;
    ST_NOTE(run->draft, ST_ERR_VALUE, megatron_place(run, argument),
            "argument '%s' cannot be used" ST_FOUND "'0'" ST_EXPECTED "a whole number from 1",
            name);
    return 0;
}

/* Arguments of another run than the one that the log says began, or a line of it that was changed.
 */
static void check_ranks(megatron_run *run, uint64_t given, uint64_t others, uint64_t stated)
{
    const uint64_t ranks = run->ranks > 0 ? run->ranks : stated;
    if (given == 0 || ranks == 0 || given * others == ranks ||
        st_draft_is_given(run->draft, ST_KEY_PARALLEL_DP))
        return;
    ST_NOTE(run->draft, ST_ERR_VALUE, megatron_place(run, megatron_get(run, "data_parallel_size")),
            "data-parallel size %" PRIu64
            " times tensor x pipeline x context parallel size %" PRIu64
            " is not the number of ranks" ST_EXPECTED "%" PRIu64 "%s" ST_HINT
            "set it with --set parallel.dp=...",
            given, others, ranks,
            run->ranks > 0 ? st_draft_text(run->draft, ", as line %d says", run->ranks_line) : "");
}

static uint64_t put_data_parallel(megatron_run *run, uint64_t others)
{
    uint64_t given = stated_count(run, "data_parallel_size");
    /* Ranks of the run. */
    uint64_t ranks;
    uint64_t per_node = stated_count(run, "nproc_per_node");
    uint64_t nodes = megatron_is_given(run, "nnodes") ? stated_count(run, "nnodes") : 1;
    uint64_t size = stated_count(run, "world_size");
    if (per_node > 0) {
        megatron_put(run, ST_KEY_CLUSTER_GPUS_PER_NODE, "nproc_per_node", per_node);
        megatron_put(run, ST_KEY_CLUSTER_NODES, "nnodes", nodes);
        ranks = size > 0 ? size : per_node * (nodes <= 1000000 ? nodes : 0);
    } else {
        ranks = size;
    }
    if (ranks > 0 && ranks % others != 0 && !st_draft_is_given(run->draft, ST_KEY_PARALLEL_DP)) {
        ST_NOTE(run->draft, ST_ERR_VALUE, megatron_place(run, NULL),
                "%" PRIu64
                " ranks are not a multiple of tensor x pipeline x context parallel size %" PRIu64
                    ST_HINT "set it with --set parallel.dp=...",
                ranks, others);
        return 0;
    }
    check_ranks(run, given, others, ranks);
    if (given > 0)
        st_draft_put_count(run->draft, ST_KEY_PARALLEL_DP,
                           megatron_line_of(run, "data_parallel_size"), given,
                           "data_parallel_size");
    else if (ranks > 0)
        st_draft_put_count(
            run->draft, ST_KEY_PARALLEL_DP, 0, ranks / others,
            st_draft_text(run->draft, "%" PRIu64 " ranks over %" PRIu64, ranks, others));
    else if (!st_draft_is_given(run->draft, ST_KEY_PARALLEL_DP))
        st_draft_note(run->draft, "The arguments lack the number of ranks: "
                                  "parallel.dp is left out.");
    return st_draft_count(run->draft, ST_KEY_PARALLEL_DP);
}

/* Which states data-parallel ranks split. */
static void put_zero(megatron_run *run)
{
    static const char *const names[] = {"no_shard", "optim", "optim_grads", "optim_grads_params"};
    bool sharded = megatron_is_true(run, "use_torch_fsdp2", false);
    bool optimizer = megatron_is_true(run, "use_distributed_optimizer", false);
    bool fsdp = megatron_is_true(run, "use_megatron_fsdp", false) ||
                megatron_is_true(run, "use_custom_fsdp", false);
    const char *strategy = megatron_text(run, "data_parallel_sharding_strategy");
    uint64_t stage = megatron_count_or(run, "zero_stage", optimizer ? 1 : 0);
    const char *origin = megatron_is_given(run, "zero_stage") ? "zero_stage"
                         : megatron_is_given(run, "use_distributed_optimizer")
                             ? "use_distributed_optimizer"
                             : "default of Megatron-LM";
    if (sharded) {
        stage = 3;
        origin = "use_torch_fsdp2";
    }
    for (uint64_t i = 0; fsdp && i < ST_COUNT(names); i++)
        if (strcmp(strategy, names[i]) == 0) {
            stage = i;
            origin = "data_parallel_sharding_strategy";
        }
    st_draft_put_count(run->draft, ST_KEY_PARALLEL_ZERO, 0, stage, origin);
}

static void put_parallel(megatron_run *run)
{
    uint64_t tp = megatron_put_or(run, ST_KEY_PARALLEL_TP, "tensor_model_parallel_size", 1);
    uint64_t pp = megatron_put_or(run, ST_KEY_PARALLEL_PP, "pipeline_model_parallel_size", 1);
    uint64_t cp = megatron_put_or(run, ST_KEY_PARALLEL_CP, "context_parallel_size", 1);
    bool bounded = tp >= 1 && pp >= 1 && cp >= 1 && tp <= 1000000 && pp <= 1000000 && cp <= 1000000;
    (void)put_data_parallel(run, bounded ? tp * pp * cp : 1);
    if (st_draft_count(run->draft, ST_KEY_MODEL_EXPERTS) > 0) {
        megatron_put_or(run, ST_KEY_PARALLEL_EP, "expert_model_parallel_size", 1);
        /* Without the option experts are split as the other layers are, whatever a stack's recipes
         * set; 0 says so. */
        if (!megatron_put_given(run, ST_KEY_PARALLEL_EXPERT_TP, "expert_tensor_parallel_size") &&
            tp > 1)
            megatron_put_or(run, ST_KEY_PARALLEL_EXPERT_TP, "expert_tensor_parallel_size", 0);
    }
    megatron_pass_over(run, "expert_model_parallel_size");
    megatron_pass_over(run, "expert_tensor_parallel_size");
    uint64_t layers = st_draft_count(run->draft, ST_KEY_MODEL_LAYERS);
    uint64_t per_chunk = megatron_count_or(run, "num_layers_per_virtual_pipeline_stage", 0);
    uint64_t chunks = megatron_count_or(run, "num_virtual_stages_per_pipeline_rank", 0);
    uint64_t derived = megatron_count_or(run, "virtual_pipeline_model_parallel_size", 0);
    const char *origin = "virtual_pipeline_model_parallel_size";
    if (derived == 0 && chunks > 0) {
        derived = chunks;
        origin = "num_virtual_stages_per_pipeline_rank";
    } else if (derived == 0 && per_chunk > 0 && pp > 0) {
        derived = layers / pp / per_chunk;
        origin = "num_layers_per_virtual_pipeline_stage";
    }
    if (derived > 1) {
        st_draft_put_count(run->draft, ST_KEY_PARALLEL_VIRTUAL_STAGES, 0, derived, origin);
        st_draft_put(run->draft, ST_KEY_PARALLEL_SCHEDULE, 0, "interleaved", origin);
    }
    megatron_put_given(run, ST_KEY_PARALLEL_FIRST_STAGE_LAYERS,
                       "decoder_first_pipeline_num_layers");
    megatron_put_given(run, ST_KEY_PARALLEL_LAST_STAGE_LAYERS, "decoder_last_pipeline_num_layers");
    megatron_put_true(run, ST_KEY_PARALLEL_SEQUENCE_PARALLEL, "sequence_parallel", false);
    put_zero(run);
    if (megatron_is_given(run, "scatter_gather_tensors_in_pipeline"))
        megatron_put_true(run, ST_KEY_PARALLEL_SCATTER_GATHER, "scatter_gather_tensors_in_pipeline",
                          false);
    if (megatron_is_true(run, "use_tp_pp_dp_mapping", false))
        st_draft_put(run->draft, ST_KEY_PARALLEL_ORDER, 0, "tp-cp-ep-pp-dp",
                     "use_tp_pp_dp_mapping");
}

/* ---- batch, recomputation, precision, overlap ---- */

static void put_batch(megatron_run *run)
{
    uint64_t micro = megatron_put_needed(run, ST_KEY_BATCH_MICRO, "micro_batch_size");
    const bool other = !megatron_is_given(run, "seq_length") &&
                       megatron_is_given(run, "encoder_seq_length"); /* the same, says Megatron */
    uint64_t sequence = megatron_put_needed(run, ST_KEY_BATCH_SEQUENCE,
                                            other ? "encoder_seq_length" : "seq_length");
    uint64_t dp = st_draft_count(run->draft, ST_KEY_PARALLEL_DP);
    uint64_t global = 0;
    if (megatron_read_count(run, "global_batch_size", &global)) /* 0 differs from an absent key */
        megatron_put(run, ST_KEY_BATCH_GLOBAL, "global_batch_size", global);
    else if (dp > 0 && micro > 0)
        st_draft_put_count(run->draft, ST_KEY_BATCH_GLOBAL, 0, micro * dp,
                           "micro_batch_size times dp, default of global_batch_size");
    uint64_t samples = megatron_count_or(run, "train_samples", 0);
    uint64_t iterations = megatron_count_or(run, "train_iters", 0);
    global = st_draft_count(run->draft, ST_KEY_BATCH_GLOBAL);
    double tokens = samples > 0 ? (double)samples : (double)iterations * (double)global;
    char number[64];
    if (tokens > 0 && sequence > 0)
        st_draft_put(
            run->draft, ST_KEY_TRAIN_TOKENS, 0,
            st_draft_text(run->draft, "%s",
                          st_number_format(tokens * (double)sequence, number, sizeof number)),
            samples > 0 ? "train_samples times seq_length"
                        : "train_iters times global batch and seq_length");
    const megatron_argument *encoder = megatron_get(run, "encoder_seq_length");
    uint64_t length = 0;
    if (encoder != NULL && !run->is_dump && !st_draft_is_given(run->draft, ST_KEY_BATCH_SEQUENCE) &&
        megatron_read_count(run, "encoder_seq_length", &length) && length != sequence)
        ST_NOTE(run->draft, ST_ERR_VALUE, megatron_place(run, encoder),
                "two sequence lengths contradict each other" ST_FOUND "seq_length %" PRIu64
                " and encoder_seq_length %" PRIu64 ST_EXPECTED "one",
                sequence, length);
    /* Megatron asserts it. */
    const uint64_t unit = micro <= 1000000 && dp <= 1000000 ? micro * dp : 0;
    if (unit > 0 && global > 0 && global % unit != 0 && !run->is_export)
        ST_NOTE(run->draft, ST_ERR_VALUE,
                megatron_place(run, megatron_get(run, "global_batch_size")),
                "no accumulation gives the global batch" ST_FOUND "%" PRIu64
                " samples of micro-batches of %" PRIu64 " on %" PRIu64
                " data-parallel ranks" ST_EXPECTED "a multiple of %" PRIu64 ST_HINT
                "set batch.global, batch.micro or parallel.dp",
                global, micro, dp, unit);
    if (megatron_is_given(run, "rampup_batch_size"))
        st_draft_note(run->draft, "The batch ramps up at the start (rampup_batch_size); the "
                                  "estimate uses the full batch.");
}

static void put_recompute(megatron_run *run)
{
    const char *granularity = megatron_text(run, "recompute_granularity");
    const char *method = megatron_text(run, "recompute_method");
    uint64_t layers = megatron_count_or(run, "recompute_num_layers", 0);
    const bool checkpoints = megatron_is_true(run, "checkpoint_activations", false);
    const bool activations = megatron_is_true(run, "recompute_activations", false);
    /* Before 2022 a method alone said that whole layers are computed again. */
    const char *old = megatron_text(run, "activations_checkpoint_method");
    const bool whole = old[0] != '\0';
    bool full = strcmp(granularity, "full") == 0 || checkpoints || whole;
    bool selective = strcmp(granularity, "selective") == 0 || activations;
    st_draft_put(run->draft, ST_KEY_RECOMPUTE, megatron_line_of(run, "recompute_granularity"),
                 full        ? "full"
                 : selective ? "selective"
                             : "none",
                 granularity[0] != '\0' ? "recompute_granularity"
                                        : "default of recompute_granularity");
    if (full && strcmp(whole ? old : method, "block") == 0 && layers > 0)
        megatron_put(run, ST_KEY_RECOMPUTED_LAYERS, "recompute_num_layers", layers);
}

/* The type for a name of PyTorch or Transformer Engine. */
static const char *moment_type(const char *name)
{
    static const struct {
        const char *word;
        const char *type;
    } types[] = {
        {"fp8", "fp8"}, {"uint8", "fp8"}, {"bf16", "bf16"}, {"bfloat16", "bf16"}, {"16", "fp16"}};
    for (size_t i = 0; i < ST_COUNT(types); i++)
        if (strstr(name, types[i].word) != NULL)
            return types[i].type;
    return "fp32";
}

static void put_precision(megatron_run *run)
{
    bool bf16 = megatron_is_true(run, "bf16", false);
    bool fp16 = megatron_is_true(run, "fp16", false);
    const char *moment = megatron_text(run, "exp_avg_dtype");
    const char *type = bf16 ? "bf16" : fp16 ? "fp16" : "fp32";
    if (bf16 && fp16)
        ST_NOTE(run->draft, ST_ERR_VALUE, megatron_place(run, megatron_get(run, "fp16")),
                "two precisions contradict each other" ST_FOUND "bf16 and fp16" ST_EXPECTED "one");
    st_draft_put(run->draft, ST_KEY_PRECISION_WEIGHTS, 0, type,
                 bf16 || fp16 ? type : "default of bf16 and fp16");
    st_draft_put(run->draft, ST_KEY_PRECISION_COMMUNICATION, 0, type, "as the weights");
    /* bf16 accumulates and reduces gradients in fp32 by default. */
    bool fp32 = megatron_is_true(run, "accumulate_allreduce_grads_in_fp32", bf16) ||
                strstr(megatron_text(run, "grad_reduce_in_bf16"), "False") != NULL;
    if (megatron_is_true(run, "grad_reduce_in_bf16", false))
        fp32 = false;
    st_draft_put(run->draft, ST_KEY_PRECISION_GRADIENTS, 0, fp32 ? "fp32" : type,
                 "accumulate_allreduce_grads_in_fp32, always with bf16");
    if (megatron_is_true(run, "use_precision_aware_optimizer", false) && moment[0] != '\0')
        st_draft_put(run->draft, ST_KEY_PRECISION_OPTIMIZER, 0, moment_type(moment),
                     "exp_avg_dtype");
    const megatron_argument *reduced = megatron_get(run, "megatron_fsdp_grad_comm_dtype");
    const megatron_argument *kept = megatron_get(run, "megatron_fsdp_main_grads_dtype");
    if (reduced != NULL && strcmp(reduced->value, "auto") != 0)
        st_draft_put(run->draft, ST_KEY_PRECISION_COMMUNICATION, reduced->line,
                     moment_type(reduced->value), reduced->name);
    if (kept != NULL && strcmp(kept->value, "auto") != 0)
        st_draft_put(run->draft, ST_KEY_PRECISION_GRADIENTS, kept->line, moment_type(kept->value),
                     kept->name);
    megatron_pass_over(run, "exp_avg_sq_dtype");
    if (megatron_is_given(run, "gradient_accumulation_fusion"))
        megatron_put_true(run, ST_KEY_PRECISION_FUSED_WGRAD, "gradient_accumulation_fusion", false);
}

void megatron_put_plan(megatron_run *run)
{
    put_parallel(run);
    put_batch(run);
    put_recompute(run);
    put_precision(run);
    if (megatron_is_true(run, "overlap_grad_reduce", false))
        st_draft_put(run->draft, ST_KEY_OVERLAP_GRADIENTS, 0, "1", "overlap_grad_reduce");
    if (megatron_is_true(run, "overlap_param_gather", false))
        st_draft_put(run->draft, ST_KEY_OVERLAP_PARAMETERS, 0, "1", "overlap_param_gather");
    if (megatron_is_true(run, "tp_comm_overlap", false))
        st_draft_note(run->draft, "Tensor-parallel communication overlaps with GEMMs "
                                  "(tp_comm_overlap): set overlap.tp to the share that hides.");
    if (megatron_is_true(run, "overlap_moe_expert_parallel_comm", false) ||
        megatron_is_true(run, "moe_shared_expert_overlap", false))
        st_draft_note(run->draft, "Expert communication overlaps with computation: set overlap.ep "
                                  "to the share that hides.");
    if (megatron_is_true(run, "overlap_p2p_communication", false) ||
        megatron_is_true(run, "overlap_p2p_comm", false))
        st_draft_note(run->draft, "Transfers between stages overlap with computation: set "
                                  "overlap.pp to the share that hides.");
    const char *backend = megatron_text(run, "attention_backend");
    const bool second = megatron_is_true(run, "use_flash_attn_v2", false);
    const bool triton = megatron_is_true(run, "use_flash_attn_triton", false);
    bool flash = megatron_is_true(run, "use_flash_attn", false) || second || triton ||
                 strstr(backend, "flash") != NULL || strstr(backend, "fused") != NULL;
    bool unfused = strstr(backend, "unfused") != NULL || strstr(backend, "local") != NULL;
    megatron_pass_over(run, "use_flash_attn_v2");
    if (flash || unfused)
        st_draft_put(run->draft, ST_KEY_ATTENTION, 0, unfused ? "unfused" : "flash",
                     unfused || strstr(backend, "f") != NULL ? "attention_backend"
                                                             : "use_flash_attn");
    megatron_pass_over(run, "transformer_impl");
    megatron_put_modern(run);
}
