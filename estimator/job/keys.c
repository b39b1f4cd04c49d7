/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of keys. One line here makes a key known to job files, --set, messages and
 * docs/configuration.md; nothing else has to be told.
 */
#include "job/keys.h"
#include "job/sections.h"

#include "base/same.h"

#include <float.h>
#include <stdatomic.h>
#include <string.h>

#define ABOVE_ZERO DBL_TRUE_MIN
#define UNBOUNDED  DBL_MAX
#define COUNTS     1, 1e9
#define SPLITS     1, 1e6
#define POSITIVE   ABOVE_ZERO, UNBOUNDED
#define OR_NONE    0, 1e9 /* a count, 0 where there is none */
#define SHARE      0, 1

const double st_above_zero = ABOVE_ZERO;

#define SHARE_KEY(path, most, doc)                                                                 \
    {                                                                                              \
        path, ST_KEY_NUMBER, NULL, NULL, ABOVE_ZERO, most, NULL, doc                               \
    }
#define CONSTANT_KEY(path, doc)                                                                    \
    {                                                                                              \
        path, ST_KEY_QUANTITY, "us", NULL, 0, UNBOUNDED, NULL, doc                                 \
    }
#define TOKENS_KEY(path, doc)                                                                      \
    {                                                                                              \
        path, ST_KEY_NUMBER, NULL, NULL, 0, 1e6, NULL, doc                                         \
    }

/* What products of one precision reach on a GPU: large ones, thin ones, at the least, grouped. */
#define PRODUCT_KEYS(name, what)                                                                   \
    SHARE_KEY("cluster.gpu.gemm_efficiency_" name, 1,                                              \
              "share of the peak rate that large products in " what                                \
              " reach under sustained load"),                                                      \
        SHARE_KEY("cluster.gpu.gemm_memory_" name, 1,                                              \
                  "share of the memory bandwidth that thin products in " what " reach"),           \
        CONSTANT_KEY("cluster.gpu.gemm_constant_" name,                                            \
                     "time that each product in " what " takes besides"),                          \
        SHARE_KEY("cluster.gpu.grouped_efficiency_" name, 2,                                       \
                  "rate of the experts' grouped products in " what                                 \
                  " with many tokens over that of plain ones")
/* What fused attention with heads of one width reaches. */
#define ATTENTION_KEYS(width)                                                                      \
    SHARE_KEY("cluster.gpu.attention_efficiency_" width, 1,                                        \
              "share of the 16-bit peak that fused causal attention with heads of " width          \
              " numbers reaches, long sequences, forward"),                                        \
        TOKENS_KEY("cluster.gpu.attention_half_" width,                                            \
                   "tokens of a sequence at which it reaches half of that")
/* What tells a library's kernels from those of all libraries together. */
#define FACTOR_KEY(path, doc)                                                                      \
    {                                                                                              \
        path, ST_KEY_NUMBER, NULL, NULL, 0.02, 50, "1", doc                                        \
    }
#define PRODUCT_FACTORS(library, whose)                                                            \
    FACTOR_KEY("cluster.gpu.gemm_overhead_fp8_" library,                                           \
               "gemm_constant_fp8 of " whose " kernels over that of all libraries"),               \
        FACTOR_KEY("cluster.gpu.gemm_overhead_fp8_block_" library,                                 \
                   "gemm_constant_fp8_block of " whose " kernels over that of all libraries"),     \
        FACTOR_KEY("cluster.gpu.gemm_overhead_nvfp4_" library,                                     \
                   "gemm_constant_nvfp4 of " whose " kernels over that of all libraries")
#define ATTENTION_FACTORS(library, whose)                                                          \
    FACTOR_KEY("cluster.gpu.attention_rate_" library,                                              \
               "attention_efficiency of " whose " kernels over that of all libraries"),            \
        FACTOR_KEY("cluster.gpu.attention_overhead_" library,                                      \
                   "attention_half of " whose " kernels over that of all libraries")

/* path, kind, unit, values, minimum, maximum, default, meaning */
static const st_key keys[] = {
    {"name", ST_KEY_TEXT, NULL, NULL, 0, 0, NULL,
     "what reports call the job; the file's name where it is left out"},
    {"sheet", ST_KEY_TEXT, NULL, NULL, 0, 0, "megatron",
     "the sheet that estimates the job, by name or path"},
    {ST_REFINE, ST_KEY_TEXT, NULL, NULL, 0, 0, NULL,
     "plugins that replace open functions and cells of the sheet, in order of preference: a "
     "list of names or of maps `{plugin, options, fallback, profile}` (docs/plugins.md); `none` "
     "for "
     "none"},
    {ST_ISOLATE, ST_KEY_BOOL, NULL, NULL, 0, 0, "false",
     "each plugin runs in a process of its own, as with `--isolate` (docs/SECURITY.md)"},
    {"recompute", ST_KEY_ENUM, NULL, "none selective full", 0, 0, NULL,
     "which activations the backward pass computes again"},
    {"attention", ST_KEY_ENUM, NULL, "flash unfused", 0, 0, "flash",
     "how scores are computed: fused with softmax and context, or one kernel after the other, "
     "which "
     "keeps them in memory"},

    {"model.name", ST_KEY_TEXT, NULL, NULL, 0, 0, NULL, "what reports call the model"},
    {"model.layers", ST_KEY_COUNT, NULL, NULL, SPLITS, NULL, "transformer layers"},
    {"model.hidden", ST_KEY_COUNT, NULL, NULL, COUNTS, NULL, "hidden size"},
    {"model.heads", ST_KEY_COUNT, NULL, NULL, COUNTS, NULL, "attention heads of a layer"},
    {"model.kv_heads", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "key and value heads of grouped-query attention; 0: as many as heads"},
    {"model.head_dim", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "width of a head; 0: hidden size over heads"},
    {"model.ffn", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "inner width of the MLP; 0: four times the hidden size"},
    {"model.gated", ST_KEY_BOOL, NULL, NULL, 0, 0, "false",
     "gated MLP (SwiGLU, GeGLU), which has a third matrix"},
    {"model.bias", ST_KEY_BOOL, NULL, NULL, 0, 0, "true", "linear layers have biases"},
    {"model.norm", ST_KEY_ENUM, NULL, "layer rms", 0, 0, "layer",
     "norm in front of attention and MLP: layer norm or RMS norm"},
    {"model.dropout", ST_KEY_BOOL, NULL, NULL, 0, 0, "true",
     "dropout after attention and MLP, and on unfused scores"},
    {"model.causal", ST_KEY_BOOL, NULL, NULL, 0, 0, "true",
     "tokens see only earlier ones, which fused attention makes use of"},
    {"model.tied", ST_KEY_BOOL, NULL, NULL, 0, 0, "true",
     "the output layer uses the matrix of the embedding"},
    {"model.vocabulary", ST_KEY_COUNT, NULL, NULL, COUNTS, NULL,
     "tokens in the vocabulary, before padding"},
    {"model.vocabulary_multiple", ST_KEY_COUNT, NULL, NULL, COUNTS, "128",
     "the embedding is padded to a multiple of this times the tensor-parallel size, as Megatron "
     "does"},
    {"model.positions", ST_KEY_COUNT, NULL, NULL, OR_NONE, NULL,
     "rows of a learned position embedding; 0: none, as with rotary positions"},
    {"model.q_lora", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "rank of the query projection in multi-head latent attention; 0: not factored"},
    {"model.kv_lora", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "rank of the key and value projection in multi-head latent attention; 0: ordinary attention"},
    {"model.rope_dim", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "rotary part of a head in multi-head latent attention, beside head_dim"},
    {"model.v_dim", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0", "width of a value head; 0: head_dim"},
    {"model.experts", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "routed experts of a MoE layer; 0: a dense model"},
    {"model.top_k", ST_KEY_NUMBER, NULL, NULL, OR_NONE, "0",
     "routed experts that a token visits; with a fraction the mean, where a gate may leave one "
     "out"},
    {"model.expert_ffn", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "inner width of one routed expert; 0: that of the MLP"},
    {"model.shared_ffn", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "inner width of the shared experts together; 0: none"},
    {"model.dense_layers", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "dense layers before the first MoE layer"},
    {"model.moe_every", ST_KEY_COUNT, NULL, NULL, SPLITS, "1",
     "one MoE layer in so many of the layers after them"},
    {"model.imbalance", ST_KEY_NUMBER, NULL, NULL, 1, 1e6, "1",
     "tokens of the busiest expert rank over the mean (routing imbalance)"},
    {"model.capacity_factor", ST_KEY_NUMBER, NULL, NULL, 0, 1e6, "0",
     "tokens that an expert takes at most, over the mean; 0: no token is dropped"},
    {"model.pattern", ST_KEY_TEXT, NULL, NULL, 0, 0, NULL,
     "layers by kind, one letter each, `(..)*n` and `d*n` repeat: d dense, e experts, x windowed "
     "attention with MLP, y with experts, g gated delta net with MLP, h with experts; of hybrids, "
     "whose layers are single blocks, M Mamba-2, * attention, - MLP, E experts"},
    {"model.hybrid", ST_KEY_BOOL, NULL, NULL, 0, 0, "false",
     "a layer is one block only: Mamba-2, attention, MLP or experts (model.pattern)"},
    {"model.window", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "tokens that a layer with sliding-window attention sees; 0: all"},
    {"model.sinks", ST_KEY_BOOL, NULL, NULL, 0, 0, "false",
     "attention has learned sinks, which few kernels know"},
    {"model.gated_attention", ST_KEY_BOOL, NULL, NULL, 0, 0, "false",
     "the output of attention is gated by a second query projection"},
    {"model.index_heads", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "heads of the indexer of sparse attention; 0: none"},
    {"model.index_dim", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0", "width of an indexer's head"},
    {"model.index_top_k", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "keys that sparse attention chooses for a token"},
    {"model.index_compression", ST_KEY_COUNT, NULL, NULL, SPLITS, "1",
     "tokens whose keys are joined into one before the indexer scores them"},
    {"model.index_layers", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "layers with an indexer; 0: all"},
    {"model.compressed_layers", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "layers that attend to compressed keys without an indexer, beside their window"},
    {"model.compression", ST_KEY_COUNT, NULL, NULL, SPLITS, "1",
     "tokens whose keys are joined into one in these layers"},
    {"model.o_lora", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "rank of the projection back from the heads, of each group; 0: not factored"},
    {"model.o_groups", ST_KEY_COUNT, NULL, NULL, SPLITS, "1", "groups of that projection"},
    {"model.hyper_connections", ST_KEY_COUNT, NULL, NULL, SPLITS, "1",
     "residual streams of hyper-connections; 1: the ordinary residual"},
    {"model.mamba_heads", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "heads of a Mamba-2 layer; 0: none"},
    {"model.mamba_head_dim", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0", "width of such a head"},
    {"model.mamba_state", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0", "state of a Mamba-2 channel"},
    {"model.mamba_groups", ST_KEY_COUNT, NULL, NULL, SPLITS, "1",
     "groups that share the projections to the state"},
    {"model.mamba_rank", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "rank of the projection to the steps of Mamba-1; 0: Mamba-2"},
    {"model.delta_rule", ST_KEY_ENUM, NULL, "gated_delta channel_delta lightning convolution", 0, 0,
     "gated_delta",
     "what mixes tokens in layers g and h: a gated delta net, one with a decay for each channel "
     "(Kimi delta attention), lightning attention, or a short convolution between gates"},
    {"model.delta_rank", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "rank of the projections to decays of channels and to the gate"},
    {"model.delta_k_heads", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "key heads of a gated delta net; 0: none"},
    {"model.delta_v_heads", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0", "value heads of it"},
    {"model.delta_k_dim", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0", "width of a key head of it"},
    {"model.delta_v_dim", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0", "width of a value head of it"},
    {"model.moe_latent", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "width to which tokens are projected before routed experts; 0: the hidden size"},
    {"model.expert_groups", ST_KEY_COUNT, NULL, NULL, SPLITS, "1",
     "groups of experts, of which a token chooses some before it chooses experts"},
    {"model.top_groups", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "groups whose experts a token chooses from; 0: all"},
    {"model.layer_embedding", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "width of the embeddings that each layer has of its own; 0: none"},
    {"model.layer_vocabulary", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0", "rows of each of them"},
    {"model.side_rank", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "rank of a linear path beside attention (LAuReL); 0: none"},
    {"model.mtp", ST_KEY_COUNT, NULL, NULL, 0, 64, "0",
     "depth of multi-token prediction, each with a layer and logits; 0: none"},
    {"model.mtp_shared", ST_KEY_BOOL, NULL, NULL, 0, 0, "false",
     "the depths of multi-token prediction share their weights"},
    {"model.layer_list", ST_KEY_TEXT, NULL, NULL, 0, 0, NULL,
     "the list of parameter tensors in configs/layers, by name or path, for sheets that look into "
     "layers"},

    {"batch.global", ST_KEY_COUNT, NULL, NULL, COUNTS, NULL, "sequences in an optimizer step"},
    {"batch.micro", ST_KEY_COUNT, NULL, NULL, COUNTS, NULL,
     "sequences in a micro-batch of one data-parallel rank"},
    {"batch.sequence", ST_KEY_COUNT, NULL, NULL, COUNTS, NULL, "tokens in a sequence"},

    {"parallel.tp", ST_KEY_COUNT, NULL, NULL, SPLITS, "1", "tensor-parallel size"},
    {"parallel.pp", ST_KEY_COUNT, NULL, NULL, SPLITS, "1", "pipeline stages"},
    {"parallel.dp", ST_KEY_COUNT, NULL, NULL, SPLITS, "1", "data-parallel size"},
    {"parallel.cp", ST_KEY_COUNT, NULL, NULL, SPLITS, "1", "context-parallel size"},
    {"parallel.ep", ST_KEY_COUNT, NULL, NULL, SPLITS, "1",
     "expert-parallel size; its ranks are taken from tp, cp and dp"},
    {"parallel.expert_tp", ST_KEY_COUNT, NULL, NULL, 0, 1e6, "0",
     "tensor-parallel size inside an expert; 0: that of the other layers"},
    {"parallel.virtual_stages", ST_KEY_COUNT, NULL, NULL, SPLITS, "1",
     "model chunks of a pipeline rank; more than 1 interleaves the schedule"},
    {"parallel.schedule", ST_KEY_ENUM, NULL,
     "gpipe 1f1b interleaved zero_bubble zero_bubble_2 zero_bubble_v v_half v_min dualpipe", 0, 0,
     "1f1b",
     "pipeline schedule; zero_bubble keeps the memory of 1f1b (ZB-H1), zero_bubble_2 takes twice "
     "as much (ZB-2p); zero_bubble_v, v_half and v_min have two chunks a rank, there and back, in "
     "the "
     "memory of 1f1b, half and a third of it; dualpipe has the weights of two stages on a rank; "
     "`PLUGIN:NAME`, that of a plugin, is laid out by `timeline`, and formulas take 1f1b for it"},
    {"parallel.first_stage_layers", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "layers of the first stage; 0: as the others"},
    {"parallel.last_stage_layers", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "layers of the last stage; 0: as the others"},
    {"parallel.stage", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "stage whose traffic the report has, counted from 0"},
    {"parallel.chunk", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "chunk of that stage whose layers count, from 1; 0: all of them"},
    {"parallel.sequence_parallel", ST_KEY_BOOL, NULL, NULL, 0, 0, "false",
     "norms, dropouts and residuals are split over the tensor-parallel ranks along the sequence"},
    {"parallel.zero", ST_KEY_COUNT, NULL, NULL, 0, 3, "0",
     "what data-parallel ranks split: 0 nothing, 1 optimizer state (distributed optimizer), 2 "
     "gradients too, 3 weights too (FSDP)"},
    {"parallel.scatter_gather", ST_KEY_BOOL, NULL, NULL, 0, 0, "true",
     "each tensor-parallel rank sends its part of what the next stage needs, which gathers it"},
    {"parallel.order", ST_KEY_TEXT, NULL, NULL, 0, 0, NULL,
     "how ranks are numbered, the group of neighbouring ranks first, e.g. tp-dp-pp: some of tp, "
     "cp, "
     "ep, dp and pp, joined by '-', each at most once"},

    {"parallel.layout", ST_KEY_TEXT, NULL, NULL, 0, 0, NULL,
     "layers of every virtual stage, as Megatron's pipeline_model_parallel_layout writes them: E "
     "embedding, t layer, m multi-token prediction, L loss, | between stages, `t*n` and `(..)*n`; "
     "auto: "
     "the one that balances the pipeline"},
    {"parallel.account_embedding", ST_KEY_BOOL, NULL, NULL, 0, 0, "false",
     "the embedding counts as a layer where layers are divided over stages"},
    {"parallel.account_loss", ST_KEY_BOOL, NULL, NULL, 0, 0, "false",
     "the output layer counts as a layer where layers are divided over stages"},
    {"parallel.dispatcher", ST_KEY_ENUM, NULL, "alltoall allgather deepep hybridep", 0, 0,
     "alltoall",
     "how tokens reach experts: by all-gather, by all-to-all with a copy per expert, or by DeepEP "
     "or HybridEP with a copy per rank or node"},
    {"parallel.shard", ST_KEY_COUNT, NULL, NULL, 0, 1e6, "0",
     "data-parallel ranks that split weights among them (zero 3), groups of which hold replicas "
     "(HSDP); 0: all"},
    {"parallel.outer_states", ST_KEY_BOOL, NULL, NULL, 0, 0, "false",
     "these replicas split the optimizer's state among them"},
    {"parallel.cp_method", ST_KEY_ENUM, NULL, "ring alltoall hierarchical", 0, 0, "ring",
     "how context-parallel ranks exchange keys and values"},
    {"precision.weights", ST_KEY_ENUM, NULL, "fp32 bf16 fp16", 0, 0, "bf16",
     "weights and activations"},
    {"precision.gradients", ST_KEY_ENUM, NULL, "fp32 bf16 fp16", 0, 0, "fp32",
     "gradients that are accumulated and reduced"},
    {"precision.optimizer", ST_KEY_ENUM, NULL, "fp32 bf16 fp16 fp8", 0, 0, "fp32",
     "each of Adam's two moments; weights below 32 bits have an fp32 copy besides"},
    {"precision.communication", ST_KEY_ENUM, NULL, "fp32 bf16 fp16 fp8", 0, 0, "bf16",
     "activations in messages of tensor, context, expert and pipeline parallelism"},
    {"precision.fp8", ST_KEY_BOOL, NULL, NULL, 0, 0, "false",
     "linear layers of the blocks are computed in FP8"},
    {"precision.recipe", ST_KEY_ENUM, NULL,
     "default bf16 fp8_delayed fp8_current fp8_block mxfp8 nvfp4", 0, 0, "default",
     "type and scaling of the linear layers of the blocks; default: FP8 with delayed scaling where "
     "precision.fp8 is true, else the type of the weights"},
    {"precision.first_last_bf16", ST_KEY_COUNT, NULL, NULL, 0, 1e6, "0",
     "layers at each end of the model that stay in the type of the weights"},
    {"precision.gather", ST_KEY_ENUM, NULL, "weights fp8 fp4", 0, 0, "weights",
     "type in which split weights are gathered"},
    {"precision.attention_fp8", ST_KEY_BOOL, NULL, NULL, 0, 0, "false",
     "attention between the projections is computed in FP8"},
    {"precision.master", ST_KEY_ENUM, NULL, "fp32 fp16 bf16 none", 0, 0, "fp32",
     "the optimizer's own copy of weights below 32 bits; none: it updates the weights themselves"},
    {"precision.fused_wgrad", ST_KEY_BOOL, NULL, NULL, 0, 0, "true",
     "the GEMM of a weight gradient adds into the gradient buffer itself"},

    {"overlap.gradients", ST_KEY_NUMBER, NULL, NULL, SHARE, "0",
     "share of the gradient reduction that may hide behind the backward pass"},
    {"overlap.parameters", ST_KEY_NUMBER, NULL, NULL, SHARE, "0",
     "share of the gathering of weights that may hide behind computation"},
    {"overlap.prefetch", ST_KEY_COUNT, NULL, NULL, 0, 1024, "1",
     "layers whose split weights are gathered ahead of the one that computes (zero 3)"},
    {"overlap.tp", ST_KEY_NUMBER, NULL, NULL, SHARE, "0",
     "share of tensor-parallel communication that hides behind GEMMs"},
    {"overlap.pp", ST_KEY_NUMBER, NULL, NULL, SHARE, "0",
     "share of the transfers between stages that hides"},
    {"overlap.cp", ST_KEY_NUMBER, NULL, NULL, SHARE, "1",
     "share of the attention behind which the ring of keys and values may hide"},
    {"overlap.ep", ST_KEY_NUMBER, NULL, NULL, SHARE, "0",
     "share of the expert all-to-all that hides"},

    {"graphs", ST_KEY_ENUM, NULL, "none layer scoped full", 0, 0, "none",
     "CUDA graphs: of whole layers, of the parts of a layer that can (scoped), of a whole step"},
    {"optimizer", ST_KEY_ENUM, NULL, "adam muon", 0, 0, "adam", "the optimizer"},

    {"recomputed.attention", ST_KEY_BOOL, NULL, NULL, 0, 0, "false",
     "selective recomputation: attention between the projections (core_attn)"},
    {"recomputed.mlp", ST_KEY_BOOL, NULL, NULL, 0, 0, "false",
     "selective recomputation: dense MLPs (mlp)"},
    {"recomputed.moe", ST_KEY_BOOL, NULL, NULL, 0, 0, "false",
     "selective recomputation: MoE blocks with their messages (moe)"},
    {"recomputed.activation", ST_KEY_BOOL, NULL, NULL, 0, 0, "false",
     "selective recomputation: activation functions of experts (moe_act)"},
    {"recomputed.norms", ST_KEY_BOOL, NULL, NULL, 0, 0, "false",
     "selective recomputation: norms (layernorm)"},
    {"recomputed.latent", ST_KEY_BOOL, NULL, NULL, 0, 0, "false",
     "selective recomputation: up-projections of latent attention (mla_up_proj)"},
    {"recomputed.shared_experts", ST_KEY_BOOL, NULL, NULL, 0, 0, "false",
     "selective recomputation: shared experts (shared_experts)"},
    {"recomputed.layers", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "full recomputation: layers of a stage that are computed again (block); 0: all"},

    {"offload.optimizer", ST_KEY_NUMBER, NULL, NULL, SHARE, "0",
     "share of the optimizer's state that lies in host memory and is updated there"},
    {"offload.activations", ST_KEY_NUMBER, NULL, NULL, SHARE, "0",
     "share of the kept activations that waits in host memory"},

    {"variance.slow", ST_KEY_NUMBER, NULL, NULL, 1, 1e3, NULL,
     "time of the slowest rank's computation over that of the others"},
    {"variance.jitter", ST_KEY_NUMBER, NULL, NULL, 0, 10, "0",
     "standard deviation of a rank's computation over its mean, from step to step"},
    {"variance.distribution", ST_KEY_ENUM, NULL, "normal lognormal uniform exponential", 0, 0,
     "lognormal", "how a rank's computation is distributed"},

    {"failures.gpu_mtbf", ST_KEY_QUANTITY, "h", NULL, POSITIVE, NULL,
     "mean time between failures of a GPU with what belongs to it"},
    {"failures.node_mtbf", ST_KEY_QUANTITY, "h", NULL, POSITIVE, NULL,
     "mean time between failures of a node, beside those of its GPUs"},
    {"failures.restart", ST_KEY_QUANTITY, "min", NULL, POSITIVE, NULL,
     "from a failure to the first step after it"},
    {"failures.checkpoint", ST_KEY_QUANTITY, "s", NULL, POSITIVE, NULL,
     "time for which a checkpoint holds the training up"},
    {"failures.interval", ST_KEY_QUANTITY, "min", NULL, POSITIVE, NULL,
     "training between two checkpoints; left out: the best"},

    {"train.task", ST_KEY_ENUM, NULL, "pretraining sft lora", 0, 0, "pretraining",
     "pre-training, fine-tuning of all weights, or of adapters beside frozen weights"},
    {"train.lora_rank", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0", "rank of the adapters"},
    {"train.sample", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "mean tokens of a sample, several of which are packed into a sequence and do not see each "
     "other; 0: a sequence is one sample"},
    {"train.tokens", ST_KEY_NUMBER, NULL, NULL, POSITIVE, NULL, "tokens of the whole training"},

    {"measured.step_time", ST_KEY_QUANTITY, "s", NULL, POSITIVE, NULL,
     "measured time of a step, which `steptime fit` compares with the estimate"},
    {"measured.memory", ST_KEY_QUANTITY, "GiB", NULL, POSITIVE, NULL,
     "measured peak memory of the fullest GPU"},

    {"operator.kind", ST_KEY_ENUM, NULL, "gemm attention experts", 0, 0, "gemm",
     "what is timed alone: a matrix product, fused causal attention, routed experts"},
    {"operator.precision", ST_KEY_ENUM, NULL, "bf16 fp8 fp8_static fp8_block mxfp8 nvfp4", 0, 0,
     "bf16", "type of its products; all but bf16 and fp8_static quantise the activations first"},
    {"operator.burst", ST_KEY_BOOL, NULL, NULL, 0, 0, "false",
     "measured in a short burst, not under sustained load"},
    {"operator.library", ST_KEY_ENUM, NULL, "any sglang trtllm vllm flashinfer triton", 0, 0, "any",
     "whose kernels are timed; any: one that is not named"},
    {"operator.m", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0", "rows of a product: tokens"},
    {"operator.n", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0", "columns of a product"},
    {"operator.k", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0", "width over which a product sums"},
    {"operator.batch", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0", "sequences of an attention"},
    {"operator.sequence", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0", "tokens of each"},
    {"operator.heads", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0", "heads of queries"},
    {"operator.kv_heads", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "heads of keys and values; 0: as many as of queries"},
    {"operator.head_dim", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0", "width of a head"},
    {"operator.tokens", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "tokens that are routed to experts"},
    {"operator.hidden", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0", "hidden size of the experts"},
    {"operator.ffn", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0", "inner width of an expert"},
    {"operator.top_k", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0", "experts of a token"},
    {"operator.experts", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0", "routed experts"},
    {"operator.products", ST_KEY_COUNT, NULL, NULL, OR_NONE, "1", "equal products of one kernel"},
    {"operator.bytes", ST_KEY_QUANTITY, "B", NULL, OR_NONE, "0 B",
     "memory that a kernel reads and writes, or that a copy moves"},
    {"operator.reductions", ST_KEY_COUNT, NULL, NULL, OR_NONE, "0",
     "sums over each row of a kernel that memory bounds: 1 for a norm, 0 for an element-wise one"},

    {"cluster.name", ST_KEY_TEXT, NULL, NULL, 0, 0, NULL, "what reports call the cluster"},
    {"collectives.all_reduce", ST_KEY_TEXT, NULL, NULL, 0, 0, NULL,
     "the table of steps of all-reduces (docs/topologies.md), in configs/steps or by path"},
    {"collectives.all_gather", ST_KEY_TEXT, NULL, NULL, 0, 0, NULL, "that of all-gathers"},
    {"collectives.reduce_scatter", ST_KEY_TEXT, NULL, NULL, 0, 0, NULL, "that of reduce-scatters"},
    {"collectives.all_to_all", ST_KEY_TEXT, NULL, NULL, 0, 0, NULL, "that of all-to-alls"},
    {"cluster.nodes", ST_KEY_COUNT, NULL, NULL, COUNTS, NULL, "nodes that the job runs on"},
    {"cluster.gpus_per_node", ST_KEY_COUNT, NULL, NULL, COUNTS, NULL, "GPUs in a node"},
    {"cluster.gpu_utilization", ST_KEY_NUMBER, NULL, NULL, ABOVE_ZERO, 1, NULL,
     "share of the peak FLOP rate that kernels reach (mu)"},
    {"cluster.nic_bandwidth", ST_KEY_QUANTITY, "GB/s", NULL, POSITIVE, NULL,
     "network bandwidth of a node, per direction"},
    {"cluster.gpus_used_per_node", ST_KEY_COUNT, NULL, NULL, 0, 1e6, "0",
     "GPUs of a node that jobs use, where it has more (64 of the 72 of an NVL72); 0: all"},
    {"cluster.bandwidth.tp", ST_KEY_QUANTITY, "GB/s", NULL, POSITIVE, NULL,
     "effective bandwidth per rank of tensor-parallel collectives"},
    {"cluster.bandwidth.pp", ST_KEY_QUANTITY, "GB/s", NULL, POSITIVE, NULL,
     "effective bandwidth per rank between pipeline stages"},
    {"cluster.bandwidth.dp", ST_KEY_QUANTITY, "GB/s", NULL, POSITIVE, NULL,
     "effective bandwidth per rank of data-parallel collectives"},
    {"cluster.price", ST_KEY_QUANTITY, "$/h", NULL, POSITIVE, NULL,
     "price of one GPU, before that in the GPU's file"},
    {"cluster.pue", ST_KEY_NUMBER, NULL, NULL, 1, 10, NULL,
     "power of the building over that of the nodes"},
    {"cluster.protocol", ST_KEY_ENUM, NULL, "infiniband roce efa tcpxo tcpx slingshot tcp", 0, 0,
     NULL, "what carries messages between nodes"},
    {"cluster.nccl_version", ST_KEY_COUNT, NULL, NULL, 1000, 99999, NULL,
     "version of NCCL: 2.27.3, or 22703, as its header counts it"},

    {"cluster.topology", ST_KEY_TEXT, NULL, NULL, 0, 0, NULL,
     "the network's links, on which collectives are laid out (docs/topologies.md), in "
     "configs/topologies or by path"},
    {"cluster.gpu.name", ST_KEY_TEXT, NULL, NULL, 0, 0, NULL, "what reports call the GPU"},
    {"cluster.gpu.peak_fp16", ST_KEY_QUANTITY, "TFLOP/s", NULL, POSITIVE, NULL,
     "peak rate of 16-bit GEMMs, dense, with 32-bit accumulation"},
    {"cluster.gpu.peak_bf16", ST_KEY_QUANTITY, "TFLOP/s", NULL, POSITIVE, NULL,
     "the same in bf16; left out where the GPU has none"},
    {"cluster.gpu.peak_fp8", ST_KEY_QUANTITY, "TFLOP/s", NULL, POSITIVE, NULL,
     "the same in FP8; left out where the GPU has none"},
    {"cluster.gpu.peak_fp4", ST_KEY_QUANTITY, "TFLOP/s", NULL, POSITIVE, NULL,
     "the same in FP4; left out where the GPU has none"},
    {"cluster.gpu.mxfp8", ST_KEY_BOOL, NULL, NULL, 0, 0, "false",
     "the GPU multiplies MXFP8, which has a scale for every 32 numbers"},
    {"cluster.gpu.host_bandwidth", ST_KEY_QUANTITY, "GB/s", NULL, POSITIVE, NULL,
     "bandwidth of a GPU to host memory, per direction: PCIe or chip-to-chip"},
    {"cluster.gpu.host", ST_KEY_ENUM, NULL, "x86 grace", 0, 0, "x86",
     "the processor that launches its kernels"},
    {"cluster.gpu.peak_fp32", ST_KEY_QUANTITY, "TFLOP/s", NULL, POSITIVE, NULL,
     "peak rate of 32-bit products, dense, without TF32"},
    {"cluster.gpu.multiprocessors", ST_KEY_COUNT, NULL, NULL, COUNTS, NULL,
     "multiprocessors, of which dispatchers of experts keep some for themselves"},
    {"cluster.gpu.gemm_efficiency", ST_KEY_NUMBER, NULL, NULL, 0, 1, NULL,
     "share of the peak rate that large GEMMs reach, 0 for what they reach alone "
     "(gemm_efficiency_bf16)"},
    PRODUCT_KEYS("bf16", "16 bits"),
    PRODUCT_KEYS("fp8", "FP8 with one scale for a tensor"),
    PRODUCT_KEYS("fp8_block", "FP8 with a scale for each block"),
    PRODUCT_KEYS("mxfp8", "MXFP8"),
    PRODUCT_KEYS("nvfp4", "NVFP4"),
    {"cluster.gpu.gemm_burst", ST_KEY_NUMBER, NULL, NULL, 0.5, 2, "1",
     "rate of large products in a short burst over that under sustained load, which the power "
     "limit "
     "slows down"},
    ATTENTION_KEYS("64"),
    ATTENTION_KEYS("128"),
    CONSTANT_KEY("cluster.gpu.attention_constant", "time that each attention kernel takes besides"),
    PRODUCT_FACTORS("sglang", "SGLang's"),
    PRODUCT_FACTORS("trtllm", "TensorRT-LLM's"),
    PRODUCT_FACTORS("vllm", "vLLM's"),
    ATTENTION_FACTORS("sglang", "SGLang's"),
    ATTENTION_FACTORS("trtllm", "TensorRT-LLM's"),
    ATTENTION_FACTORS("vllm", "vLLM's"),
    ATTENTION_FACTORS("flashinfer", "FlashInfer's"),
    ATTENTION_FACTORS("triton", "Triton's"),
    TOKENS_KEY("cluster.gpu.grouped_half",
               "tokens of an expert at which grouped products reach half of their rate with many"),
    SHARE_KEY("cluster.gpu.grouped_memory", 1,
              "share of the memory bandwidth at which experts' weights and rows of tokens move"),
    CONSTANT_KEY("cluster.gpu.grouped_constant",
                 "time that each pass through the experts takes besides"),
    {"cluster.gpu.compute_capability", ST_KEY_NUMBER, NULL, NULL, 1, 100, NULL,
     "compute capability, which tells the architecture: 8.0 for Ampere, 9.0 for Hopper"},
    {"cluster.gpu.memory", ST_KEY_QUANTITY, "GiB", NULL, POSITIVE, NULL, "memory of a GPU"},
    {"cluster.gpu.memory_bandwidth", ST_KEY_QUANTITY, "GB/s", NULL, POSITIVE, NULL,
     "bandwidth of that memory"},
    {"cluster.gpu.link_bandwidth", ST_KEY_QUANTITY, "GB/s", NULL, POSITIVE, NULL,
     "bandwidth of a GPU to the others of its node, per direction"},
    {"cluster.gpu.power", ST_KEY_QUANTITY, "W", NULL, POSITIVE, NULL, "power limit of the board"},
    {"cluster.gpu.price", ST_KEY_QUANTITY, "$/h", NULL, POSITIVE, NULL,
     "price of one GPU on a provider's list; left out where none is known"},
};

static const st_key_section sections[] = {
    {ST_STACK, true, ST_FOLDER_STACKS,
     "the software that trains: what it overlaps, computes again and keeps in which precision, and "
     "what it reaches (docs/stacks.md)"},
    {"model", true, ST_FOLDER_MODELS, "what is trained"},
    {"batch", false, ST_FOLDERS, "how much data a step takes"},
    {"parallel", false, ST_FOLDERS, "how the work is divided over the GPUs"},
    {"precision", false, ST_FOLDERS, "how many bits a number has"},
    {"overlap", false, ST_FOLDERS, "which share of communication may hide behind computation"},
    {"recomputed", false, ST_FOLDERS, "which modules selective recomputation computes again"},
    {"offload", false, ST_FOLDERS, "what lies in host memory"},
    {"variance", false, ST_FOLDERS, "ranks that are not equally fast (docs/reliability.md)"},
    {"failures", false, ST_FOLDERS, "what interrupts a training (docs/reliability.md)"},
    {"train", false, ST_FOLDERS, "the whole training, of which a job is one step"},
    {"measured", false, ST_FOLDERS, "what a run of the job was seen to take"},
    {"operator", false, ST_FOLDERS, "one operator alone, for the sheet operators"},
    {"collectives", false, ST_FOLDERS, "tables of steps, of which collectives consist"},
    {"cluster", true, ST_FOLDER_CLUSTERS, "the nodes and what connects them"},
    {"cluster.bandwidth", false, ST_FOLDERS,
     "what the collectives of a group reach, as measured on the cluster"},
    {"cluster.gpu", true, ST_FOLDER_GPUS, "one GPU"},
    {ST_CONSTANTS, true, ST_FOLDER_CONSTANTS,
     "values that a sheet names itself; the sheet's input says what each means and its unit"},
};

enum { KEY_COUNT = ST_COUNT(keys), SECTION_COUNT = ST_COUNT(sections) };

const st_key *st_keys(size_t *count)
{
    *count = KEY_COUNT;
    return keys;
}

const st_key_section *st_key_sections(size_t *count)
{
    *count = SECTION_COUNT;
    return sections;
}

/* Where keys are found, as their index + 1; filled once, by whoever asks first. */
enum { PLACES = 2048 };
static _Atomic uint16_t places[PLACES];
static atomic_bool places_filled;
_Static_assert(2 * ST_COUNT(keys) < PLACES, "a place is found in a step or two");

static size_t place_of(const char *path)
{
    uint32_t hash = 2166136261U;
    for (const unsigned char *c = (const unsigned char *)path; *c != '\0'; c++)
        hash = (hash ^ *c) * 16777619U;
    return (hash ^ (hash >> 16)) % PLACES;
}

/* Threads that fill at the same time find each other's keys in place. */
static void fill_places(void)
{
    for (size_t i = 0; i < KEY_COUNT; i++) {
        size_t at = place_of(keys[i].path);
        uint16_t found = 0;
        while (!atomic_compare_exchange_strong(&places[at], &found, (uint16_t)(i + 1)) &&
               found != i + 1) {
            at = (at + 1) % PLACES;
            found = 0;
        }
    }
    atomic_store(&places_filled, true);
}

const st_key *st_key_find(const char *path)
{
    if (!atomic_load(&places_filled))
        fill_places();
    for (size_t at = place_of(path);; at = (at + 1) % PLACES) {
        size_t found = atomic_load(&places[at]);
        if (found == 0)
            return NULL;
        if (strcmp(keys[found - 1].path, path) == 0)
            return &keys[found - 1];
    }
}

const st_key_section *st_section_find(const char *path)
{
    size_t i = ST_FIND(sections, SECTION_COUNT, path, path);
    return i < SECTION_COUNT ? &sections[i] : NULL;
}

size_t st_key_index(const st_key *key)
{
    return (size_t)(key - keys);
}

size_t st_section_index(const st_key_section *section)
{
    return (size_t)(section - sections);
}

const char *st_path_below(const char *path, const char *section)
{
    size_t length = strlen(section);
    if (length > 0 && (strncmp(path, section, length) != 0 || path[length] != '.'))
        return NULL;
    const char *name = length > 0 ? path + length + 1 : path;
    return strchr(name, '.') == NULL ? name : NULL;
}

static bool is_below(const char *path, const char *section, const char *name)
{
    const char *own = st_path_below(path, section);
    return own != NULL && strcmp(own, name) == 0;
}

const st_key *st_key_in(const char *section, const char *name)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (is_below(keys[i].path, section, name))
            return &keys[i];
    return NULL;
}

const st_key_section *st_section_in(const char *section, const char *name)
{
    for (size_t i = 0; i < SECTION_COUNT; i++)
        if (is_below(sections[i].path, section, name))
            return &sections[i];
    return NULL;
}

/* ---- suggestions ---- */

static size_t add_names_below(const char *section, const char **names)
{
    size_t count = 0;
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (st_path_below(keys[i].path, section) != NULL)
            names[count++] = st_path_below(keys[i].path, section);
    for (size_t i = 0; i < SECTION_COUNT; i++)
        if (st_path_below(sections[i].path, section) != NULL)
            names[count++] = st_path_below(sections[i].path, section);
    return count;
}

static const char *nearest_below(const char *section, const char *name)
{
    const char *names[KEY_COUNT + SECTION_COUNT + 3];
    const st_key_section *own = st_section_find(section);
    size_t count = add_names_below(section, names);
    names[count++] = "source";
    names[count++] = "doc";
    if (own != NULL && own->is_file)
        names[count++] = "base";
    return st_nearest(name, names, count);
}

/* Where keys of exactly this name belong: "model", or "parallel or cluster.bandwidth". */
static const char *homes_of(const char *name, st_errors *errors)
{
    const char *homes = NULL;
    for (size_t i = 0; i < KEY_COUNT + SECTION_COUNT; i++) {
        const char *path = i < KEY_COUNT ? keys[i].path : sections[i - KEY_COUNT].path;
        const char *last = st_last_part(path, '.');
        if (strcmp(last, name) != 0)
            continue;
        const char *home = last == path
                               ? "the top level of the job"
                               : st_errors_text(errors, "%.*s", (int)(last - path - 1), path);
        homes = homes == NULL ? home : st_errors_text(errors, "%s or %s", homes, home);
    }
    return homes;
}

const char *st_key_suggestion(const char *section, const char *name, st_errors *errors)
{
    if (strchr(name, '.') != NULL && st_key_find(name) != NULL && section[0] == '\0')
        return st_errors_text(errors, "write %.*s: {%s: ...}", (int)strcspn(name, "."), name,
                              strchr(name, '.') + 1);
    const char *homes = homes_of(name, errors);
    if (homes != NULL)
        return st_errors_text(errors, "'%s' belongs under %s", name, homes);
    const char *nearest = nearest_below(section, name);
    if (nearest != NULL)
        return nearest;
    const char *elsewhere[KEY_COUNT];
    for (size_t i = 0; i < KEY_COUNT; i++)
        elsewhere[i] = st_last_part(keys[i].path, '.');
    nearest = st_nearest(name, elsewhere, KEY_COUNT);
    for (size_t i = 0; i < KEY_COUNT && nearest != NULL; i++)
        if (elsewhere[i] == nearest)
            return keys[i].path;
    return NULL;
}

bool st_key_is_for_plugins(const char *path)
{
    return strcmp(path, "cluster.nccl_version") == 0 || strcmp(path, "cluster.protocol") == 0;
}

const char *st_key_nearest_path(const char *path)
{
    const char *paths[KEY_COUNT + SECTION_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (strcmp(st_last_part(keys[i].path, '.'), path) == 0)
            return keys[i].path;
        paths[count++] = keys[i].path;
    }
    for (size_t i = 0; i < SECTION_COUNT; i++)
        if (sections[i].is_file)
            paths[count++] = sections[i].path;
    return st_nearest(path, paths, count);
}

enum { NAMES_SHOWN = 8 };

/* "tp, pp" or, with the section before each name, "parallel.tp, parallel.pp". */
static const char *list_names(const st_key_section *section, bool full, st_errors *errors)
{
    const char *names[KEY_COUNT + SECTION_COUNT];
    size_t count = add_names_below(section->path, names);
    const char *text = "";
    for (size_t i = 0; i < count && i < NAMES_SHOWN; i++)
        text = st_errors_text(errors, "%s%s%s%s%s", text, i > 0 ? ", " : "",
                              full ? section->path : "", full ? "." : "", names[i]);
    return count > NAMES_SHOWN ? st_errors_text(errors, "%s, ...", text) : text;
}

const char *st_section_names(const st_key_section *section, st_errors *errors)
{
    return list_names(section, false, errors);
}

const char *st_section_paths(const st_key_section *section, st_errors *errors)
{
    return list_names(section, true, errors);
}

bool st_is_constant_name(const char *name)
{
    if (!st_is_letter(name[0]))
        return false;
    for (const char *c = name; *c != '\0'; c++)
        if (!st_is_letter(*c) && !(*c >= '0' && *c <= '9'))
            return false;
    return strlen(name) <= 64;
}
