/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of keys. One line here makes a key known to job files, --set, messages,
 * docs/configuration.md and, as an identifier such as ST_KEY_PARALLEL_TP, to C (name_keys.c).
 */
#include "job/keys.h"
#include "job/sections.h"

#include "base/chars.h"

#include <float.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define ABOVE_ZERO         DBL_TRUE_MIN
#define UNBOUNDED          DBL_MAX
#define RANGE(least, most) least, most
#define COUNTS             RANGE(1, 1e9)
#define SPLITS             RANGE(1, 1e6)
#define POSITIVE           RANGE(ABOVE_ZERO, UNBOUNDED)
#define OR_NONE            RANGE(0, 1e9) /* a count, 0 where there is none */
#define SHARE              RANGE(0, 1)

const double st_above_zero = ABOVE_ZERO;

/* A row of each kind. */
#define ROW(...)                                                                                   \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define TEXT(path, initial, doc) ROW(path, ST_KEY_TEXT, NULL, NULL, RANGE(0, 0), initial, doc)
#define FLAG(path, initial, doc) ROW(path, ST_KEY_BOOL, NULL, NULL, RANGE(0, 0), initial, doc)
#define CHOICE(path, values, initial, doc)                                                         \
    ROW(path, ST_KEY_ENUM, NULL, values, RANGE(0, 0), initial, doc)
#define COUNT(path, range, initial, doc)  ROW(path, ST_KEY_COUNT, NULL, NULL, range, initial, doc)
#define NUMBER(path, range, initial, doc) ROW(path, ST_KEY_NUMBER, NULL, NULL, range, initial, doc)
#define QUANTITY(path, unit, range, initial, doc)                                                  \
    ROW(path, ST_KEY_QUANTITY, unit, NULL, range, initial, doc)

#define SHARE_KEY(path, most, doc) NUMBER(path, RANGE(ABOVE_ZERO, most), NULL, doc)
#define CONSTANT_KEY(path, doc)    QUANTITY(path, "us", RANGE(0, UNBOUNDED), NULL, doc)
#define TOKENS_KEY(path, doc)      NUMBER(path, RANGE(0, 1e6), NULL, doc)

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
                   "tokens of a sequence at which it reaches half of that share")
/* What distinguishes a library's kernels from those of all libraries together. */
#define FACTOR_KEY(path, doc) NUMBER(path, RANGE(0.02, 50), "1", doc)
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

/* Path, what values it has, default, meaning. */
static const st_key keys[] = {
    TEXT("name", NULL, "name of the job in reports; default: the file's name"),
    TEXT("stack.release", NULL,
         "release of the stack, or a date such as 2026-02 or 2026 for the newest until then, which "
         "`stack: NAME@RELEASE` gives as well; default: the newest"),
    TEXT("sheet", "megatron", "the sheet that estimates the job, by name or path"),
    TEXT("refine", NULL,
         "plugins that replace open functions and cells of the sheet, in order of preference: a "
         "list of names or of maps `{plugin, options, fallback, profile}` (docs/plugins.md); "
         "`none` for none"),
    FLAG("isolate", "false",
         "each plugin runs in a process of its own, as with `--isolate` (docs/SECURITY.md)"),
    CHOICE("recompute", "none selective full", NULL,
           "which activations the backward pass recomputes"),
    CHOICE("attention", "flash unfused", "flash",
           "how scores are computed: fused with softmax and context, or one kernel after the "
           "other, which keeps them in memory"),

    TEXT("model.name", NULL, "name of the model in reports"),
    COUNT("model.layers", SPLITS, NULL, "transformer layers"),
    COUNT("model.hidden", COUNTS, NULL, "hidden size"),
    COUNT("model.heads", COUNTS, NULL, "attention heads of a layer"),
    COUNT("model.kv_heads", OR_NONE, "0",
          "key and value heads of grouped-query attention; 0: as many as heads"),
    COUNT("model.head_dim", OR_NONE, "0", "width of a head; 0: hidden size over heads"),
    COUNT("model.ffn", OR_NONE, "0", "inner width of the MLP; 0: four times the hidden size"),
    FLAG("model.gated", "false", "gated MLP (SwiGLU, GeGLU), which has a third matrix"),
    FLAG("model.bias", "true", "linear layers have biases"),
    CHOICE("model.norm", "layer rms", "layer",
           "norm in front of attention and MLP: layer norm or RMS norm"),
    FLAG("model.dropout", "true", "dropout after attention and MLP, and on unfused scores"),
    FLAG("model.causal", "true", "causal attention: tokens see only earlier ones"),
    FLAG("model.tied", "true", "the output layer uses the matrix of the embedding"),
    COUNT("model.vocabulary", COUNTS, NULL, "tokens in the vocabulary, before padding"),
    COUNT("model.vocabulary_multiple", COUNTS, "128",
          "the embedding is padded to a multiple of this times the tensor-parallel size, as "
          "Megatron does"),
    COUNT("model.positions", OR_NONE, NULL,
          "rows of a learned position embedding; 0: none, as with rotary positions"),
    COUNT("model.q_lora", OR_NONE, "0",
          "rank of the query projection in multi-head latent attention, or in attention whose "
          "queries are factored (Step-3); 0: not factored"),
    COUNT("model.kv_lora", OR_NONE, "0",
          "rank of the key and value projection in multi-head latent attention; 0: ordinary "
          "attention"),
    COUNT("model.rope_dim", OR_NONE, "0",
          "rotary part of a head in multi-head latent attention, in addition to head_dim"),
    COUNT("model.v_dim", OR_NONE, "0", "width of a value head; 0: head_dim"),
    COUNT("model.experts", OR_NONE, "0", "routed experts of a MoE layer; 0: a dense model"),
    NUMBER("model.top_k", OR_NONE, "0",
           "routed experts per token; a fraction is a mean, where a gate may skip one"),
    COUNT("model.expert_ffn", OR_NONE, "0", "inner width of one routed expert; 0: that of the MLP"),
    COUNT("model.shared_ffn", OR_NONE, "0", "inner width of the shared experts together; 0: none"),
    COUNT("model.dense_layers", OR_NONE, "0", "dense layers before the first MoE layer"),
    COUNT("model.moe_every", SPLITS, "1", "one MoE layer in this many of the layers after them"),
    NUMBER("model.imbalance", RANGE(1, 1e6), "1",
           "tokens of the busiest expert rank over the mean (routing imbalance)"),
    NUMBER("model.capacity_factor", RANGE(0, 1e6), "0",
           "capacity of an expert over the mean number of tokens; 0: no token is dropped"),
    TEXT("model.pattern", NULL,
         "layers by kind, one letter each, `(..)*n` and `d*n` repeat: d dense, e experts, x "
         "windowed attention with MLP, y with experts, g gated delta net with MLP, h with experts; "
         "of hybrids, whose layers are single blocks, M Mamba-2, * attention, - MLP, E experts"),
    FLAG("model.hybrid", "false",
         "a layer is one block only: Mamba-2, attention, MLP or experts (model.pattern)"),
    COUNT("model.window", OR_NONE, "0",
          "tokens that a layer with sliding-window attention sees; 0: all"),
    FLAG("model.sinks", "false", "attention has learned sinks, which few kernels support"),
    FLAG("model.gated_attention", "false",
         "the output of attention is gated by a second query projection"),
    COUNT("model.index_heads", OR_NONE, "0", "heads of the indexer of sparse attention; 0: none"),
    COUNT("model.index_dim", OR_NONE, "0", "width of an indexer's head"),
    COUNT("model.index_top_k", OR_NONE, "0", "keys that sparse attention chooses for a token"),
    COUNT("model.index_compression", SPLITS, "1",
          "tokens whose keys are merged before the indexer scores them"),
    COUNT("model.index_layers", OR_NONE, "0", "layers with an indexer; 0: all"),
    COUNT("model.compressed_layers", OR_NONE, "0",
          "layers that attend to compressed keys without an indexer, in addition to their window"),
    COUNT("model.compression", SPLITS, "1", "tokens whose keys are merged in these layers"),
    COUNT("model.o_lora", OR_NONE, "0",
          "rank of the projection back from the heads, of each group; 0: not factored"),
    COUNT("model.o_groups", SPLITS, "1", "groups of that projection"),
    COUNT("model.hyper_connections", SPLITS, "1",
          "residual streams of hyper-connections; 1: the ordinary residual"),
    COUNT("model.mamba_heads", OR_NONE, "0", "heads of a Mamba-2 layer; 0: none"),
    COUNT("model.mamba_head_dim", OR_NONE, "0", "width of such a head"),
    COUNT("model.mamba_state", OR_NONE, "0", "state of a Mamba-2 channel"),
    COUNT("model.mamba_groups", SPLITS, "1", "groups that share the projections to the state"),
    COUNT("model.mamba_rank", OR_NONE, "0",
          "rank of the projection to the steps of Mamba-1; 0: Mamba-2"),
    CHOICE(
        "model.delta_rule", "gated_delta channel_delta lightning convolution rg_lru", "gated_delta",
        "what mixes tokens in layers g and h: a gated delta net, one with a decay for each channel "
        "(Kimi delta attention), lightning attention, a short convolution between gates, or a "
        "real-gated linear recurrent unit"),
    COUNT("model.delta_rank", OR_NONE, "0",
          "rank of the projections to decays of channels and to the gate"),
    COUNT("model.delta_k_heads", OR_NONE, "0", "key heads of a gated delta net; 0: none"),
    COUNT("model.delta_v_heads", OR_NONE, "0", "value heads of it"),
    COUNT("model.delta_k_dim", OR_NONE, "0", "width of a key head of it"),
    COUNT("model.delta_v_dim", OR_NONE, "0", "width of a value head of it"),
    COUNT("model.moe_latent", OR_NONE, "0",
          "width to which tokens are projected before routed experts; 0: the hidden size"),
    COUNT("model.expert_groups", SPLITS, "1",
          "groups of experts, among which a token chooses before it chooses experts"),
    COUNT("model.top_groups", OR_NONE, "0", "groups whose experts a token chooses from; 0: all"),
    COUNT("model.layer_embedding", OR_NONE, "0", "width of per-layer embeddings; 0: none"),
    COUNT("model.layer_vocabulary", OR_NONE, "0", "rows of each per-layer embedding"),
    COUNT("model.side_rank", OR_NONE, "0",
          "rank of a linear path parallel to attention (LAuReL); 0: none"),
    COUNT("model.mtp", RANGE(0, 64), "0",
          "depth of multi-token prediction, each with a layer and logits; 0: none"),
    FLAG("model.mtp_shared", "false", "the depths of multi-token prediction share their weights"),
    FLAG("model.qk_norm", "false", "queries and keys are normed before their product"),
    FLAG("model.qkv_bias", "false", "the projections to queries, keys and values have biases"),
    FLAG("model.rotary", "true",
         "positions enter by rotary embeddings, unless model.positions gives a table"),
    NUMBER("model.rope_base", POSITIVE, NULL, "base of the rotary embeddings' frequencies"),
    NUMBER("model.rope_share", RANGE(ABOVE_ZERO, 1), NULL,
           "share of a head that the rotary embeddings turn"),
    TEXT("model.rope_scaling", NULL,
         "how the rotary embeddings are stretched: a type of config.json and its parameters, `yarn "
         "factor=40 original_max_position_embeddings=4096`"),
    CHOICE("model.activation", "silu gelu quick_gelu relu relu2", NULL,
           "activation function of MLPs; gelu: exact or by tanh; relu2: squared ReLU"),
    NUMBER("model.activation_clamp", POSITIVE, NULL,
           "bound to which a gated MLP clamps its activations"),
    NUMBER("model.glu_offset", POSITIVE, NULL, "added to the linear half of a gated MLP"),
    NUMBER("model.norm_epsilon", POSITIVE, NULL, "epsilon of norms"),
    FLAG("model.zero_centered_norm", "false", "norms scale by 1 and their weight"),
    NUMBER("model.init_std", POSITIVE, NULL, "standard deviation of initial weights"),
    CHOICE("model.router_score", "softmax sigmoid sqrtsoftplus", NULL,
           "score function of the router"),
    FLAG("model.router_pre_softmax", "false",
         "the weights of chosen experts are their scores among all experts, which do not add up to "
         "1"),
    FLAG("model.router_bias", "false",
         "a bias that follows the load is added to scores when experts are chosen"),
    NUMBER("model.router_scale", POSITIVE, NULL, "factor on the output of routed experts"),
    CHOICE("model.router_balance", "none aux_loss seq_aux_loss global_aux_loss", NULL,
           "loss that balances the load of experts: of a micro-batch, a sequence, a batch"),
    NUMBER("model.router_balance_weight", RANGE(0, 1e6), NULL, "coefficient of this loss"),
    FLAG("model.shared_gate", "false", "the output of shared experts is gated by a token's score"),
    TEXT("model.features", NULL,
         "what else defines the model and no key says, `NAME=VALUE ...`: soft caps, multipliers, "
         "parallel residuals; an export refuses it"),
    TEXT("model.layer_list", NULL,
         "list of parameter tensors in configs/layers, by name or path, for sheets that model "
         "single layers"),

    COUNT("batch.global", COUNTS, NULL, "sequences in an optimizer step"),
    COUNT("batch.micro", COUNTS, NULL, "sequences in a micro-batch of one data-parallel rank"),
    COUNT("batch.sequence", COUNTS, NULL, "tokens in a sequence"),

    COUNT("parallel.tp", SPLITS, "1", "tensor-parallel size"),
    COUNT("parallel.pp", SPLITS, "1", "pipeline stages"),
    COUNT("parallel.dp", SPLITS, "1", "data-parallel size"),
    COUNT("parallel.cp", SPLITS, "1", "context-parallel size"),
    COUNT("parallel.ep", SPLITS, "1",
          "expert-parallel size; its ranks are taken from tp, cp and dp"),
    COUNT("parallel.expert_tp", RANGE(0, 1e6), "0",
          "tensor-parallel size inside an expert; 0: that of the other layers"),
    COUNT("parallel.virtual_stages", SPLITS, "1",
          "model chunks of a pipeline rank; more than 1 interleaves the schedule"),
    CHOICE("parallel.schedule",
           "gpipe 1f1b interleaved zero_bubble zero_bubble_2 zero_bubble_v v_half v_min dualpipe",
           "1f1b",
           "pipeline schedule; zero_bubble keeps the memory of 1f1b (ZB-H1), zero_bubble_2 takes "
           "twice as much (ZB-2p); zero_bubble_v, v_half and v_min have two chunks a rank, there "
           "and back, in the memory of 1f1b, half and a third of it; dualpipe has the weights of "
           "two stages on a rank; `PLUGIN:NAME`, that of a plugin, is simulated by `timeline`; "
           "formulas use 1f1b instead"),
    COUNT("parallel.first_stage_layers", OR_NONE, "0",
          "layers of the first stage; 0: as in the others"),
    COUNT("parallel.last_stage_layers", OR_NONE, "0",
          "layers of the last stage; 0: as in the others"),
    COUNT("parallel.stage", OR_NONE, "0", "stage whose traffic is reported, counted from 0"),
    COUNT("parallel.chunk", OR_NONE, "0",
          "chunk of that stage whose layers count, from 1; 0: all of them"),
    FLAG("parallel.sequence_parallel", "false",
         "norms, dropouts and residuals are split over the tensor-parallel ranks along the "
         "sequence"),
    COUNT("parallel.zero", RANGE(0, 3), "0",
          "what data-parallel ranks split: 0 nothing, 1 optimizer state (distributed optimizer), 2 "
          "gradients too, 3 weights too (FSDP)"),
    FLAG("parallel.scatter_gather", "true",
         "each tensor-parallel rank sends its part of what the next stage needs, which gathers it"),
    TEXT("parallel.order", NULL,
         "order of ranks, the group of neighbouring ranks first, e.g. tp-dp-pp: some of tp, cp, "
         "ep, dp and pp, joined by '-', each at most once"),

    TEXT("parallel.layout", NULL,
         "layers of every virtual stage, as Megatron's pipeline_model_parallel_layout writes them: "
         "E embedding, t layer, m multi-token prediction, L loss, | between stages, `t*n` and "
         "`(..)*n`; auto: a layout that balances the pipeline"),
    FLAG("parallel.account_embedding", "false",
         "the embedding counts as a layer when layers are divided over stages"),
    FLAG("parallel.account_loss", "false",
         "the output layer counts as a layer when layers are divided over stages"),
    CHOICE("parallel.dispatcher", "alltoall allgather deepep hybridep", "alltoall",
           "how tokens reach experts: by all-gather, by all-to-all with a copy per expert, or by "
           "DeepEP or HybridEP with a copy per rank or node"),
    COUNT("parallel.shard", RANGE(0, 1e6), "0",
          "data-parallel ranks that shard weights (zero 3); such groups hold replicas (HSDP); 0: "
          "all"),
    FLAG("parallel.outer_states", "false", "these replicas split the optimizer's state among them"),
    CHOICE("parallel.cp_method", "ring alltoall hierarchical", "ring",
           "how context-parallel ranks exchange keys and values"),
    CHOICE("precision.weights", "fp32 bf16 fp16", "bf16", "weights and activations"),
    CHOICE("precision.gradients", "fp32 bf16 fp16", "fp32",
           "gradients that are accumulated and reduced"),
    CHOICE("precision.optimizer", "fp32 bf16 fp16 fp8", "fp32",
           "each of Adam's two moments; weights below 32 bits also have an fp32 copy"),
    CHOICE("precision.communication", "fp32 bf16 fp16 fp8", "bf16",
           "activations in messages of tensor, context, expert and pipeline parallelism"),
    FLAG("precision.fp8", "false", "linear layers of the blocks are computed in FP8"),
    CHOICE("precision.recipe", "default bf16 fp8_delayed fp8_current fp8_block mxfp8 nvfp4",
           "default",
           "type and scaling of the linear layers of the blocks; default: FP8 with delayed scaling "
           "where precision.fp8 is true, else the type of the weights"),
    COUNT("precision.first_last_bf16", RANGE(0, 1e6), "0",
          "layers at each end of the model that keep the type of the weights"),
    CHOICE("precision.gather", "weights fp8 fp4", "weights",
           "type in which split weights are gathered"),
    FLAG("precision.attention_fp8", "false",
         "attention between the projections is computed in FP8"),
    CHOICE("precision.master", "fp32 fp16 bf16 none", "fp32",
           "the optimizer's own copy of weights below 32 bits; none: it updates the weights "
           "themselves"),
    FLAG("precision.fused_wgrad", "true",
         "the GEMM of a weight gradient adds into the gradient buffer itself"),

    NUMBER("overlap.gradients", SHARE, "0",
           "share of the gradient reduction that runs alongside the backward pass"),
    NUMBER("overlap.parameters", SHARE, "0",
           "share of the gathering of weights that may hide behind computation"),
    COUNT("overlap.prefetch", RANGE(0, 1024), "1",
          "layers whose sharded weights are gathered ahead of the computing one (zero 3)"),
    NUMBER("overlap.tp", SHARE, "0",
           "share of tensor-parallel communication that runs alongside GEMMs; 1: all of it; how "
           "much of that hides is the stack's, as for gradients and experts"),
    NUMBER("overlap.pp", SHARE, "0", "hidden share of transfers between stages"),
    NUMBER("overlap.cp", SHARE, "1",
           "share of the attention that may hide the ring of keys and values"),
    NUMBER("overlap.ep", SHARE, "0",
           "share of the expert all-to-all that runs alongside another micro-batch"),

    CHOICE(
        "graphs", "none layer scoped full", "none",
        "CUDA graphs: of whole layers, of the parts of a layer that can (scoped), of a whole step"),
    CHOICE("optimizer", "adam muon", "adam", "the optimizer"),

    FLAG("recomputed.attention", "false",
         "selective recomputation: attention between the projections (core_attn)"),
    FLAG("recomputed.mlp", "false", "selective recomputation: dense MLPs (mlp)"),
    FLAG("recomputed.moe", "false",
         "selective recomputation: MoE blocks with their messages (moe)"),
    FLAG("recomputed.activation", "false",
         "selective recomputation: activation functions of experts (moe_act)"),
    FLAG("recomputed.norms", "false", "selective recomputation: norms (layernorm)"),
    FLAG("recomputed.latent", "false",
         "selective recomputation: up-projections of latent attention (mla_up_proj)"),
    FLAG("recomputed.shared_experts", "false",
         "selective recomputation: shared experts (shared_experts)"),
    COUNT("recomputed.layers", OR_NONE, "0",
          "full recomputation: layers of a stage's chunk that are repeated (block); 0: all"),

    NUMBER("offload.optimizer", SHARE, "0",
           "share of the optimizer's state that is kept and updated in host memory"),
    NUMBER("offload.activations", SHARE, "0", "share of kept activations offloaded to host memory"),

    NUMBER("variance.slow", RANGE(1, 1e3), NULL,
           "time of the slowest rank's computation over that of the others"),
    NUMBER("variance.jitter", RANGE(0, 10), "0",
           "standard deviation of a rank's computation over its mean, from step to step"),
    CHOICE("variance.distribution", "normal lognormal uniform exponential", "lognormal",
           "how a rank's computation is distributed"),

    QUANTITY("failures.gpu_mtbf", "h", POSITIVE, NULL,
             "mean time between failures of a GPU and its parts"),
    QUANTITY("failures.node_mtbf", "h", POSITIVE, NULL,
             "mean time between failures of a node, without those of its GPUs"),
    QUANTITY("failures.restart", "min", POSITIVE, NULL, "time from a failure to the next step"),
    QUANTITY("failures.checkpoint", "s", POSITIVE, NULL,
             "time for which a checkpoint stops the training"),
    QUANTITY("failures.interval", "min", POSITIVE, NULL,
             "training time between two checkpoints; left out: the best"),

    CHOICE("train.task", "pretraining sft lora", "pretraining",
           "pre-training, fine-tuning of all weights, or of adapters on frozen weights"),
    COUNT("train.lora_rank", OR_NONE, "0", "rank of the adapters; 0: 32"),
    FLAG("train.lora_qkv", "true", "adapters at the projections into attention, delta nets, Mamba"),
    FLAG("train.lora_projection", "true", "adapters at the projections back from them"),
    FLAG("train.lora_fc1", "true", "adapters at the matrices into MLPs and experts"),
    FLAG("train.lora_fc2", "true", "adapters at the matrices back from them"),
    COUNT("train.sample", OR_NONE, "0",
          "mean tokens of a sample; several are packed into a sequence without attention between "
          "them; 0: a sequence is one sample"),
    NUMBER("train.tokens", POSITIVE, NULL, "tokens of the whole training"),

    QUANTITY("measured.step_time", "s", POSITIVE, NULL,
             "measured time of a step, which `steptime fit` compares with the estimate"),
    QUANTITY("measured.memory", "GiB", POSITIVE, NULL, "measured peak memory of the fullest GPU"),

    CHOICE("operator.kind", "gemm attention experts", "gemm",
           "what is timed alone: a matrix product, fused causal attention, routed experts"),
    CHOICE("operator.precision", "bf16 fp8 fp8_static fp8_block mxfp8 nvfp4", "bf16",
           "type of its products; all but bf16 and fp8_static quantise the activations first"),
    FLAG("operator.burst", "false", "measured in a short burst, not under sustained load"),
    CHOICE("operator.library", "any sglang trtllm vllm flashinfer triton", "any",
           "library of the timed kernels; any: unspecified"),
    COUNT("operator.m", OR_NONE, "0", "rows of a product: tokens"),
    COUNT("operator.n", OR_NONE, "0", "columns of a product"),
    COUNT("operator.k", OR_NONE, "0", "width over which a product sums"),
    COUNT("operator.batch", OR_NONE, "0", "sequences of an attention"),
    COUNT("operator.sequence", OR_NONE, "0", "tokens of each"),
    COUNT("operator.heads", OR_NONE, "0", "heads of queries"),
    COUNT("operator.kv_heads", OR_NONE, "0", "heads of keys and values; 0: as many as of queries"),
    COUNT("operator.head_dim", OR_NONE, "0", "width of a head"),
    COUNT("operator.tokens", OR_NONE, "0", "tokens routed to experts"),
    COUNT("operator.hidden", OR_NONE, "0", "hidden size of the experts"),
    COUNT("operator.ffn", OR_NONE, "0", "inner width of an expert"),
    COUNT("operator.top_k", OR_NONE, "0", "experts of a token"),
    COUNT("operator.experts", OR_NONE, "0", "routed experts"),
    COUNT("operator.products", OR_NONE, "1", "equal products of one kernel"),
    QUANTITY("operator.bytes", "B", OR_NONE, "0 B",
             "memory that a kernel reads and writes, or that a copy moves"),
    COUNT("operator.reductions", OR_NONE, "0",
          "sums over each row of a kernel that memory bounds: 1 for a norm, 0 for an element-wise "
          "one"),

    TEXT("cluster.name", NULL, "name of the cluster in reports"),
    TEXT("collectives.all_reduce", NULL,
         "the table of steps of all-reduces (docs/topologies.md), in configs/steps or by path"),
    TEXT("collectives.all_gather", NULL, "the same for all-gathers"),
    TEXT("collectives.reduce_scatter", NULL, "the same for reduce-scatters"),
    TEXT("collectives.all_to_all", NULL, "the same for all-to-alls"),
    COUNT("cluster.nodes", COUNTS, NULL, "nodes that the job runs on"),
    COUNT("cluster.gpus_per_node", COUNTS, NULL, "GPUs in a node"),
    NUMBER("cluster.gpu_utilization", RANGE(ABOVE_ZERO, 1), NULL,
           "share of the peak FLOP rate that kernels reach (mu)"),
    QUANTITY("cluster.nic_bandwidth", "GB/s", POSITIVE, NULL,
             "network bandwidth of a node, per direction"),
    COUNT("cluster.gpus_used_per_node", RANGE(0, 1e6), "0",
          "GPUs of a node available to jobs (64 of the 72 of an NVL72); 0: all"),
    QUANTITY("cluster.bandwidth.tp", "GB/s", POSITIVE, NULL,
             "effective bandwidth per rank of tensor-parallel collectives"),
    QUANTITY("cluster.bandwidth.pp", "GB/s", POSITIVE, NULL,
             "effective bandwidth per rank between pipeline stages"),
    QUANTITY("cluster.bandwidth.dp", "GB/s", POSITIVE, NULL,
             "effective bandwidth per rank of data-parallel collectives"),
    QUANTITY("cluster.price", "$/h", POSITIVE, NULL,
             "price of one GPU, before that in the GPU's file"),
    NUMBER("cluster.pue", RANGE(1, 10), NULL, "power of the building over that of the nodes"),
    CHOICE("cluster.protocol", "infiniband roce efa tcpxo tcpx slingshot tcp", NULL,
           "transport of messages between nodes"),
    COUNT("cluster.nccl_version", RANGE(1000, 99999), NULL,
          "version of NCCL: 2.27.3, or 22703, as in its header"),

    TEXT("cluster.topology", NULL,
         "the network's links, over which collectives are simulated (docs/topologies.md), in "
         "configs/topologies or by path"),
    TEXT("cluster.gpu.name", NULL, "name of the GPU in reports"),
    QUANTITY("cluster.gpu.peak_fp16", "TFLOP/s", POSITIVE, NULL,
             "peak rate of 16-bit GEMMs, dense, with 32-bit accumulation"),
    QUANTITY("cluster.gpu.peak_bf16", "TFLOP/s", POSITIVE, NULL,
             "the same in bf16; omit where unsupported"),
    QUANTITY("cluster.gpu.peak_fp8", "TFLOP/s", POSITIVE, NULL,
             "the same in FP8; omit where unsupported"),
    QUANTITY("cluster.gpu.peak_fp4", "TFLOP/s", POSITIVE, NULL,
             "the same in FP4; omit where unsupported"),
    FLAG("cluster.gpu.mxfp8", "false",
         "the GPU multiplies MXFP8, which has a scale for every 32 numbers"),
    QUANTITY("cluster.gpu.host_bandwidth", "GB/s", POSITIVE, NULL,
             "bandwidth of a GPU to host memory, per direction: PCIe or chip-to-chip"),
    CHOICE("cluster.gpu.host", "x86 grace", "x86", "the processor that launches its kernels"),
    QUANTITY("cluster.gpu.peak_fp32", "TFLOP/s", POSITIVE, NULL,
             "peak rate of 32-bit products, dense, without TF32"),
    COUNT("cluster.gpu.multiprocessors", COUNTS, NULL,
          "multiprocessors; expert dispatchers reserve some"),
    TEXT("cluster.gpu.stack", NULL,
         "stack of jobs that name none, where the sheet's own does not run"),
    TEXT("cluster.gpu.driver_name", NULL, "name that NVIDIA's driver gives to programs"),
    QUANTITY("cluster.gpu.clock", "1/us", POSITIVE, NULL, "highest clock, in MHz: 1410 1/us"),
    COUNT("cluster.gpu.memory_bus", COUNTS, NULL, "bits of the memory's bus"),
    NUMBER("cluster.gpu.gemm_efficiency", RANGE(0, 1), NULL,
           "share of the peak rate that large GEMMs reach, 0 for what they reach alone "
           "(gemm_efficiency_bf16)"),
    NUMBER("cluster.gpu.gemm_kept", RANGE(0.1, 2), NULL,
           "share of their rate alone that large products in FP8 and FP4 keep in a step, if "
           "gemm_efficiency is not 0"),
    PRODUCT_KEYS("bf16", "16 bits"),
    PRODUCT_KEYS("fp8", "FP8 with one scale for a tensor"),
    PRODUCT_KEYS("fp8_block", "FP8 with a scale for each block"),
    PRODUCT_KEYS("mxfp8", "MXFP8"),
    PRODUCT_KEYS("nvfp4", "NVFP4"),
    COUNT("cluster.gpu.gemm_measured_rows", COUNTS, NULL,
          "rows of the largest measured product; without it, nobody measured products"),
    COUNT("cluster.gpu.gemm_measured_width", COUNTS, NULL,
          "columns, or numbers summed, of the largest measured product"),
    NUMBER("cluster.gpu.gemm_burst", RANGE(0.5, 2), "1",
           "rate of large products in a short burst over that under sustained load, where the "
           "power limit throttles"),
    ATTENTION_KEYS("64"),
    ATTENTION_KEYS("128"),
    CONSTANT_KEY("cluster.gpu.attention_constant", "fixed time of each attention kernel"),
    CONSTANT_KEY("cluster.gpu.attention_kernel_constant",
                 "fixed time of the one kernel of fused attention in a recording"),
    CONSTANT_KEY("cluster.gpu.kernel_constant", "fixed time of each memory-bound kernel"),
    CONSTANT_KEY("cluster.gpu.reduction_constant",
                 "further fixed time of a kernel that sums over rows, such as a norm"),
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
    CONSTANT_KEY("cluster.gpu.grouped_constant", "fixed time of each pass through the experts"),
    NUMBER("cluster.gpu.compute_capability", RANGE(1, 100), NULL,
           "compute capability: 8.0 for Ampere, 9.0 for Hopper"),
    QUANTITY("cluster.gpu.memory", "GiB", POSITIVE, NULL, "memory of a GPU"),
    QUANTITY("cluster.gpu.memory_bandwidth", "GB/s", POSITIVE, NULL, "bandwidth of that memory"),
    QUANTITY("cluster.gpu.link_bandwidth", "GB/s", POSITIVE, NULL,
             "bandwidth of a GPU to the others of its node, per direction"),
    QUANTITY("cluster.gpu.power", "W", POSITIVE, NULL, "power limit of the board"),
    QUANTITY("cluster.gpu.price", "$/h", POSITIVE, NULL,
             "list price of one GPU; omit where unknown"),
};

static const st_key_section sections[] = {
    {"stack", true, ST_FOLDER_STACKS,
     "training software: its overlap, recomputation, precisions and reached rates "
     "(docs/stacks.md)"},
    {"model", true, ST_FOLDER_MODELS, "the model"},
    {"batch", false, ST_FOLDERS, "data per step"},
    {"parallel", false, ST_FOLDERS, "distribution of the work over the GPUs"},
    {"precision", false, ST_FOLDERS, "number formats"},
    {"overlap", false, ST_FOLDERS, "shares of communication that overlap with computation"},
    {"recomputed", false, ST_FOLDERS, "modules of selective recomputation"},
    {"offload", false, ST_FOLDERS, "offloading to host memory"},
    {"variance", false, ST_FOLDERS, "ranks of unequal speed (docs/reliability.md)"},
    {"failures", false, ST_FOLDERS, "interruptions of a training (docs/reliability.md)"},
    {"train", false, ST_FOLDERS, "the whole training; a job is one step"},
    {"measured", false, ST_FOLDERS, "measurements of a run of the job"},
    {"operator", false, ST_FOLDERS, "a single operator, for the sheet operators"},
    {"collectives", false, ST_FOLDERS, "tables of steps of collectives"},
    {"cluster", true, ST_FOLDER_CLUSTERS, "the nodes and their network"},
    {"cluster.bandwidth", false, ST_FOLDERS,
     "measured rates of a group's collectives on the cluster"},
    {"cluster.gpu", true, ST_FOLDER_GPUS, "one GPU"},
    {"constants", true, ST_FOLDER_CONSTANTS,
     "values defined by a sheet; the sheet's input documents meaning and unit"},
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

const st_key *st_key_find(const char *path)
{
    if (!atomic_load(&places_filled)) {
        /* Threads that fill at the same time find each other's keys in place. */
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
    enum { LONGEST = 128 };
    char path[LONGEST];
    const char *dot = section[0] != '\0' ? "." : "";
    int length = snprintf(path, sizeof path, "%s%s%s", section, dot, name);
    /* Longer than any key; a name with a dot is none of this very section. */
    bool fits = length > 0 && length < LONGEST && strchr(name, '.') == NULL;
    return fits ? st_key_find(path) : NULL;
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

const char *st_key_suggestion(const char *section, const char *name, st_errors *errors)
{
    if (strchr(name, '.') != NULL && st_key_find(name) != NULL && section[0] == '\0')
        return st_errors_text(errors, "write %.*s: {%s: ...}", (int)strcspn(name, "."), name,
                              strchr(name, '.') + 1);
    /* Where keys of exactly this name belong: "model", or "parallel or cluster.bandwidth". */
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
    if (homes != NULL)
        return st_errors_text(errors, "'%s' belongs under %s", name, homes);
    const char *names[KEY_COUNT + SECTION_COUNT + 3];
    const st_key_section *known = st_section_find(section);
    size_t count = add_names_below(section, names);
    names[count++] = "source";
    names[count++] = "doc";
    if (known != NULL && known->is_file)
        names[count++] = "base";
    const char *nearest = st_nearest(name, names, count);
    if (nearest != NULL)
        return nearest;
    const char *elsewhere[KEY_COUNT + SECTION_COUNT];
    for (size_t i = 0; i < KEY_COUNT + SECTION_COUNT; i++)
        elsewhere[i] =
            st_last_part(i < KEY_COUNT ? keys[i].path : sections[i - KEY_COUNT].path, '.');
    nearest = st_nearest(name, elsewhere, KEY_COUNT + SECTION_COUNT);
    for (size_t i = 0; i < KEY_COUNT + SECTION_COUNT && nearest != NULL; i++)
        if (elsewhere[i] == nearest)
            return i < KEY_COUNT ? keys[i].path : sections[i - KEY_COUNT].path;
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
