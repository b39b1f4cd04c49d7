/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans, models and systems of other estimators of training steps: Calculon (execution,
 * application, system; Isaev et al., SC 2023) and SimuMax (strategy, model, system), and the files
 * with the time that they print.
 *
 * A table has a row for every key that these tools read. Keys outside of it, and values that no
 * key of a job can say, are errors: a comparison would be of two different jobs.
 */
#include "launch/import/job_draft.h"

#include "base/json_read.h"
#include "base/text.h"
#include "launch/import/megatron.h"
#include "steptime/keys.h"
#include "steptime/quantity.h"
#include "steptime/tool/job_keys.h"

#include <inttypes.h>
#include <string.h>

typedef enum peer_kind {
    CALCULON_EXECUTION,
    CALCULON_APPLICATION,
    CALCULON_SYSTEM,
    CALCULON_RESULT,
    SIMUMAX_STRATEGY,
    SIMUMAX_MODEL,
    SIMUMAX_SYSTEM,
    SIMUMAX_RESULT,
    PEER_KINDS
} peer_kind;

/* The key by which a file is recognized; no other kind has it. */
static const struct {
    const char *mark;
    const char *title;
    bool is_optional;
} kinds[PEER_KINDS] = {
    [CALCULON_EXECUTION] = {"tensor_par", "Calculon's execution", false},
    [CALCULON_APPLICATION] = {"attn_heads", "Calculon's application", false},
    [CALCULON_SYSTEM] = {"matrix", "Calculon's system", true},
    [CALCULON_RESULT] = {"total_time", "Calculon's stats", true},
    [SIMUMAX_STRATEGY] = {"micro_batch_num", "SimuMax's strategy", false},
    [SIMUMAX_MODEL] = {"head_num", "SimuMax's model", false},
    [SIMUMAX_SYSTEM] = {"accelerator", "SimuMax's system", true},
    [SIMUMAX_RESULT] = {"duration_time_per_iter", "SimuMax's result", true},
};

/* Without the key; REQUIRED: an error. */
#define REQUIRED "!"

typedef struct peer_row {
    peer_kind kind;
    const char *name; /* patterns, as of fnmatch, of paths below the root: "networks.0.size" */
    const char *key;  /* of the job; NULL: only looked at */
    /* " UNIT" behind numbers; "theirs=ours ..." for words, all others refused; NULL: any value. */
    const char *values;
    const char *absent; /* their value where the file lacks the key; NULL: nothing */
} peer_row;

static const peer_row rows[] = {
    {CALCULON_EXECUTION, "num_procs", NULL, NULL, REQUIRED},
    {CALCULON_EXECUTION, "tensor_par", ST_KEY_PARALLEL_TP, NULL, REQUIRED},
    {CALCULON_EXECUTION, "pipeline_par", ST_KEY_PARALLEL_PP, NULL, REQUIRED},
    {CALCULON_EXECUTION, "data_par", ST_KEY_PARALLEL_DP, NULL, REQUIRED},
    {CALCULON_EXECUTION, "tensor_par_net", NULL, NULL, REQUIRED},
    {CALCULON_EXECUTION, "pipeline_par_net", NULL, NULL, REQUIRED},
    {CALCULON_EXECUTION, "data_par_net", NULL, NULL, REQUIRED},
    {CALCULON_EXECUTION, "batch_size", ST_KEY_BATCH_GLOBAL, NULL, REQUIRED},
    {CALCULON_EXECUTION, "microbatch_size", ST_KEY_BATCH_MICRO, NULL, REQUIRED},
    {CALCULON_EXECUTION, "datatype", ST_KEY_PRECISION_WEIGHTS,
     "float16=fp16 bfloat16=bf16 float32=fp32", REQUIRED},
    {CALCULON_EXECUTION, "fused_activation", NULL, NULL, REQUIRED},
    {CALCULON_EXECUTION, "attention_type", ST_KEY_MODEL_KV_HEADS, "multihead=0 multiquery=1",
     REQUIRED},
    {CALCULON_EXECUTION, "activation_recompute", ST_KEY_RECOMPUTE,
     "none=none attn_only=selective full=full", REQUIRED},
    {CALCULON_EXECUTION, "pipeline_interleaving", ST_KEY_PARALLEL_VIRTUAL_STAGES, NULL, REQUIRED},
    {CALCULON_EXECUTION, "optimizer_sharding", ST_KEY_PARALLEL_ZERO, "false=0 true=1", REQUIRED},
    {CALCULON_EXECUTION, "tensor_par_comm_type", ST_KEY_PARALLEL_SEQUENCE_PARALLEL,
     "ar=false p2p_rs_ag=false rs_ag=true", REQUIRED},
    {CALCULON_EXECUTION, "tensor_par_overlap", ST_KEY_OVERLAP_TP, "none=0", REQUIRED},
    {CALCULON_EXECUTION, "seq_par_ag_redo", NULL, NULL, REQUIRED},
    {CALCULON_EXECUTION, "data_par_overlap", ST_KEY_OVERLAP_GRADIENTS, "false=0 true=1", REQUIRED},
    {CALCULON_EXECUTION, "weight_offload", NULL, "false=", REQUIRED},
    {CALCULON_EXECUTION, "activations_offload", ST_KEY_OFFLOAD_ACTIVATIONS, "false=0 true=1",
     REQUIRED},
    {CALCULON_EXECUTION, "optimizer_offload", ST_KEY_OFFLOAD_OPTIMIZER, "false=0 true=1", REQUIRED},
    {CALCULON_EXECUTION, "training", NULL, "true=", REQUIRED},

    {CALCULON_APPLICATION, "hidden", ST_KEY_MODEL_HIDDEN, NULL, REQUIRED},
    {CALCULON_APPLICATION, "feedforward", ST_KEY_MODEL_FFN, NULL, REQUIRED},
    {CALCULON_APPLICATION, "seq_size", ST_KEY_BATCH_SEQUENCE, NULL, REQUIRED},
    {CALCULON_APPLICATION, "attn_heads", ST_KEY_MODEL_HEADS, NULL, REQUIRED},
    {CALCULON_APPLICATION, "attn_size", ST_KEY_MODEL_HEAD_DIM, NULL, REQUIRED},
    {CALCULON_APPLICATION, "num_blocks", ST_KEY_MODEL_LAYERS, NULL, REQUIRED},
    /* The vocabulary of its count of parameters, Llm.Application.num_parameters. */
    {CALCULON_APPLICATION, "vocabulary", ST_KEY_MODEL_VOCABULARY, NULL, "51200"},
    {CALCULON_APPLICATION, "rotary", ST_KEY_MODEL_ROTARY, NULL, "false"},
    /* Its layers are those of Megatron-LM in 2022: scores are stored, weight gradients added. */
    {CALCULON_APPLICATION, "attention", ST_KEY_ATTENTION, NULL, "unfused"},
    {CALCULON_APPLICATION, "fused_gradients", ST_KEY_PRECISION_FUSED_WGRAD, NULL, "false"},

    {CALCULON_SYSTEM, "matrix.float16.tflops", ST_KEY_CLUSTER_GPU_PEAK_FP16, " TFLOP/s", NULL},
    {CALCULON_SYSTEM, "matrix.bfloat16.tflops", ST_KEY_CLUSTER_GPU_PEAK_BF16, " TFLOP/s", NULL},
    {CALCULON_SYSTEM, "matrix.float32.tflops", ST_KEY_CLUSTER_GPU_PEAK_FP32, " TFLOP/s", NULL},
    {CALCULON_SYSTEM, "matrix.float16.gflops_efficiency.0.1", ST_KEY_CLUSTER_GPU_GEMM_EFFICIENCY,
     NULL, NULL},
    {CALCULON_SYSTEM, "matrix.* vector.* processing_mode", NULL, NULL, NULL},
    {CALCULON_SYSTEM, "mem1.GiB", ST_KEY_CLUSTER_GPU_MEMORY, " GiB", REQUIRED},
    {CALCULON_SYSTEM, "mem1.GBps", ST_KEY_CLUSTER_GPU_MEMORY_BANDWIDTH, " GB/s", REQUIRED},
    {CALCULON_SYSTEM, "mem2.GBps", ST_KEY_CLUSTER_GPU_HOST_BANDWIDTH, " GB/s", NULL},
    {CALCULON_SYSTEM, "mem[12].*efficiency* mem2.GiB", NULL, NULL, NULL},
    {CALCULON_SYSTEM,
     "networks.*.bandwidth networks.*.size networks.*.efficiency networks.*.latency "
     "networks.*.ops.* networks.*.must_be_filled networks.*.processor_usage",
     NULL, NULL, NULL},

    {SIMUMAX_STRATEGY, "seq_len", ST_KEY_BATCH_SEQUENCE, NULL, REQUIRED},
    {SIMUMAX_STRATEGY, "micro_batch_size", ST_KEY_BATCH_MICRO, NULL, REQUIRED},
    {SIMUMAX_STRATEGY, "micro_batch_num", NULL, NULL, REQUIRED},
    {SIMUMAX_STRATEGY, "world_size", NULL, NULL, "8"},
    {SIMUMAX_STRATEGY, "dtype", ST_KEY_PRECISION_WEIGHTS, "bf16=bf16 fp16=fp16 fp32=fp32", "bf16"},
    {SIMUMAX_STRATEGY, "tp_size", ST_KEY_PARALLEL_TP, NULL, "1"},
    {SIMUMAX_STRATEGY, "cp_size", ST_KEY_PARALLEL_CP, NULL, "1"},
    {SIMUMAX_STRATEGY, "pp_size", ST_KEY_PARALLEL_PP, NULL, "1"},
    {SIMUMAX_STRATEGY, "ep_size", ST_KEY_PARALLEL_EP, NULL, "1"},
    {SIMUMAX_STRATEGY, "etp_size", ST_KEY_PARALLEL_EXPERT_TP, NULL, "1"},
    {SIMUMAX_STRATEGY, "cp_comm_type", ST_KEY_PARALLEL_CP_METHOD, "a2a=alltoall", "a2a"},
    {SIMUMAX_STRATEGY, "order_of_paralielism", NULL, "tp-cp-ep-dp-pp=", NULL},
    {SIMUMAX_STRATEGY, "moe_dispatcher_policy", ST_KEY_PARALLEL_DISPATCHER,
     "all2all=alltoall all2all-seq=alltoall", "all2all"},
    {SIMUMAX_STRATEGY, "num_layers_in_first_pipeline_stage", ST_KEY_PARALLEL_FIRST_STAGE_LAYERS,
     NULL, NULL},
    {SIMUMAX_STRATEGY, "num_layers_in_last_pipeline_stage", ST_KEY_PARALLEL_LAST_STAGE_LAYERS, NULL,
     NULL},
    {SIMUMAX_STRATEGY, "account_for_embedding_in_pipeline_split", ST_KEY_PARALLEL_ACCOUNT_EMBEDDING,
     NULL, NULL},
    {SIMUMAX_STRATEGY, "account_for_loss_in_pipeline_split", ST_KEY_PARALLEL_ACCOUNT_LOSS, NULL,
     NULL},
    {SIMUMAX_STRATEGY, "offload_groupgemm_col_inputs", NULL, "false=", NULL},
    {SIMUMAX_STRATEGY, "enable_sequence_parallel", ST_KEY_PARALLEL_SEQUENCE_PARALLEL, NULL, "true"},
    {SIMUMAX_STRATEGY, "interleaving_size", ST_KEY_PARALLEL_VIRTUAL_STAGES, NULL, "1"},
    {SIMUMAX_STRATEGY, "pp_comm_async", ST_KEY_OVERLAP_PP, "true=1 false=0", "true"},
    {SIMUMAX_STRATEGY, "zero_state", ST_KEY_PARALLEL_ZERO, NULL, "1"},
    {SIMUMAX_STRATEGY, "attention_sparse_ratio", ST_KEY_MODEL_CAUSAL,
     "0=false 0.0=false 0.5=true 0.50=true", "0"},
    {SIMUMAX_STRATEGY, "enable_dropout", ST_KEY_MODEL_DROPOUT, NULL, "false"},
    {SIMUMAX_STRATEGY, "use_fp32_accum_grad", ST_KEY_PRECISION_GRADIENTS, "true=fp32 false=bf16",
     "true"},
    {SIMUMAX_STRATEGY, "use_fused_grad_accumulation", ST_KEY_PRECISION_FUSED_WGRAD, NULL, "true"},
    {SIMUMAX_STRATEGY, "overlap_grad_reduce", ST_KEY_OVERLAP_GRADIENTS, "true=1 false=0", "true"},
    {SIMUMAX_STRATEGY, "use_flash_sdp use_fused_norm use_fused_swiglu", NULL, "true=", NULL},
    {SIMUMAX_STRATEGY, "use_math_sdp megatron_recompute fp8 recompute_variance", NULL,
     "false=", NULL},
    {SIMUMAX_STRATEGY, "recompute_layer_num", NULL, NULL, NULL},
    {SIMUMAX_STRATEGY, "enable_recompute", NULL, NULL, "true"},
    {SIMUMAX_STRATEGY, "recompute_granularity", NULL,
     "full_block= selective_recompute= none=", NULL},
    {SIMUMAX_STRATEGY, "attn_recompute mlp_recompute mla_rms_recompute mlp_rms_recompute", NULL,
     "true= false=", NULL},
    {SIMUMAX_STRATEGY,
     "mem_factor enable_straggler_model use_accm_weight cross_entropy_loss_fusion *_net te_* "
     "dispatch_probs microbatch_group_size_per_vp_stage",
     NULL, NULL, NULL},

    {SIMUMAX_MODEL, "model_name", ST_KEY_MODEL_NAME, NULL, NULL},
    {SIMUMAX_MODEL, "model_type", NULL, "dense= moe=", NULL},
    {SIMUMAX_MODEL, "hidden_size", ST_KEY_MODEL_HIDDEN, NULL, REQUIRED},
    {SIMUMAX_MODEL, "head_num", ST_KEY_MODEL_HEADS, NULL, REQUIRED},
    {SIMUMAX_MODEL, "intermediate_size", ST_KEY_MODEL_FFN, NULL, REQUIRED},
    {SIMUMAX_MODEL, "layer_num", ST_KEY_MODEL_LAYERS, NULL, REQUIRED},
    {SIMUMAX_MODEL, "vocab_size", ST_KEY_MODEL_VOCABULARY, NULL, REQUIRED},
    {SIMUMAX_MODEL, "orig_vocab_size", NULL, NULL, NULL},
    {SIMUMAX_MODEL, "use_swiglu", ST_KEY_MODEL_GATED, NULL, REQUIRED},
    {SIMUMAX_MODEL, "expert_num", NULL, NULL, "1"},
    {SIMUMAX_MODEL, "topk", ST_KEY_MODEL_TOP_K, NULL, NULL},
    {SIMUMAX_MODEL, "moe_ffn_hidden_size", ST_KEY_MODEL_EXPERT_FFN, NULL, NULL},
    {SIMUMAX_MODEL, "moe_shared_expert_intermediate_size", ST_KEY_MODEL_SHARED_FFN, NULL, NULL},
    {SIMUMAX_MODEL, "dense_layer[s]", ST_KEY_MODEL_DENSE_LAYERS, NULL, NULL},
    {SIMUMAX_MODEL, "attention_type", NULL, "mha= gqa= mla=", "mha"},
    {SIMUMAX_MODEL, "kv_head_num head_size qk_head_dim v_head_dim qk_pos_emb_head_dim *_lora_rank",
     NULL, NULL, NULL},
    {SIMUMAX_MODEL, "moe_pad_expert_input_to_capacity", NULL, NULL, NULL},
    {SIMUMAX_MODEL, "capacity", NULL, "1=", NULL},
    {SIMUMAX_MODEL, "group_linear_mode", NULL, "parallel=", NULL},
    /* As its layers are built: RMSNorm without biases, an output layer of its own. */
    {SIMUMAX_MODEL, "bias", ST_KEY_MODEL_BIAS, NULL, "false"},
    {SIMUMAX_MODEL, "norm", ST_KEY_MODEL_NORM, NULL, "rms"},
    {SIMUMAX_MODEL, "tied", ST_KEY_MODEL_TIED, NULL, "false"},

    {SIMUMAX_SYSTEM, "sys_name", ST_KEY_CLUSTER_NAME, NULL, NULL},
    {SIMUMAX_SYSTEM, "num_per_node", ST_KEY_CLUSTER_GPUS_PER_NODE, NULL, "8"},
    {SIMUMAX_SYSTEM, "accelerator.mem_gbs", ST_KEY_CLUSTER_GPU_MEMORY, " GiB", REQUIRED},
    {SIMUMAX_SYSTEM, "accelerator.op.matmul.tflops", ST_KEY_CLUSTER_GPU_PEAK_BF16, " TFLOP/s",
     REQUIRED},
    {SIMUMAX_SYSTEM, "accelerator.op.matmul.efficient_factor", ST_KEY_CLUSTER_GPU_GEMM_EFFICIENCY,
     NULL, REQUIRED},
    {SIMUMAX_SYSTEM, "accelerator.bandwidth.default.gbps", ST_KEY_CLUSTER_GPU_MEMORY_BANDWIDTH,
     " GB/s", REQUIRED},
    {SIMUMAX_SYSTEM, "networks.high_intra_node.bandwidth.gbps", ST_KEY_CLUSTER_GPU_LINK_BANDWIDTH,
     " GB/s", REQUIRED},
    {SIMUMAX_SYSTEM, "networks.inter_node.bandwidth.gbps", ST_KEY_CLUSTER_NIC_BANDWIDTH, " GB/s",
     NULL},
    {SIMUMAX_SYSTEM, "networks.intra_with_pcie", NULL, "false=", NULL},
    {SIMUMAX_SYSTEM,
     "FC8 accelerator.backend accelerator.mode accelerator.op.* accelerator.bandwidth.* "
     "networks.*_node.*",
     NULL, NULL, NULL},

    {CALCULON_RESULT, "total_time", ST_KEY_MEASURED_STEP_TIME, " s", REQUIRED},
    {CALCULON_RESULT, "*", NULL, NULL, NULL},
    {SIMUMAX_RESULT, "duration_time_per_iter", ST_KEY_MEASURED_STEP_TIME, " ms", REQUIRED},
    {SIMUMAX_RESULT, "*", NULL, NULL, NULL},
};

typedef struct peer_file {
    const st_source *source;
    const st_json *root;
} peer_file;

typedef struct peer {
    st_draft draft;
    peer_file files[PEER_KINDS];
    st_buffer unused; /* names that are only looked at and decide nothing */
} peer;

static st_place place_of(const peer_file *file, const st_json *node)
{
    return (st_place){.file = file->source != NULL ? file->source->file : NULL,
                      .line = node != NULL ? node->line : 0};
}

static const st_json *child(const st_json *map, const char *name)
{
    for (const st_json *node = map != NULL ? map->first : NULL; node != NULL; node = node->next)
        if (node->name != NULL && strcmp(node->name, name) == 0)
            return node->kind != ST_JSON_NULL ? node : NULL;
    return NULL;
}

/* ---- the keys of a file ---- */

/* Our value for theirs; NULL: `values` is a list without it. */
static const char *translated(peer *from, const char *values, const char *theirs)
{
    const size_t length = strlen(theirs);
    if (values == NULL)
        return theirs;
    if (values[0] == ' ')
        return strpbrk(theirs, " s") != NULL ? theirs
                                             : st_draft_text(&from->draft, "%s%s", theirs, values);
    for (const char *word = values; *word != '\0'; word += strspn(word, " ")) {
        const size_t end = strcspn(word, " ");
        if (strncmp(word, theirs, length) == 0 && word[length] == '=')
            return st_draft_text(&from->draft, "%.*s", (int)(end - length - 1), word + length + 1);
        word += end;
    }
    return NULL;
}

/* "none, attn_only, full" */
static const char *listed(peer *from, const char *values)
{
    st_buffer list = {0};
    for (const char *word = values; *word != '\0'; word += strspn(word, " ")) {
        st_buffer_printf(&list, "%s%.*s", list.length > 0 ? ", " : "", (int)strcspn(word, "="),
                         word);
        word += strcspn(word, " ");
    }
    return st_draft_keep(&from->draft, &list);
}

static bool is_of_cluster(const char *key)
{
    return strncmp(key, ST_KEY_CLUSTER ".", sizeof ST_KEY_CLUSTER) == 0;
}

static void put_row(peer *from, const peer_row *row, const char *name, const char *theirs,
                    const st_json *node)
{
    const peer_file *file = &from->files[row->kind];
    const char *ours = translated(from, row->values, theirs);
    if (row->key != NULL && (st_draft_is_given(&from->draft, row->key) ||
                             (from->draft.cluster != NULL && is_of_cluster(row->key))))
        return;
    if (ours == NULL)
        ST_NOTE(&from->draft, ST_ERR_VALUE, place_of(file, node),
                "no key of a job says '%s'" ST_FOUND "%s" ST_EXPECTED "%s" ST_HINT "%s%s", name,
                theirs, listed(from, row->values),
                row->key != NULL ? "override it with --set " : "", st_or_none(row->key));
    else if (row->key != NULL)
        st_draft_put_at(&from->draft, row->key, place_of(&from->files[row->kind], node), ours,
                        st_draft_text(&from->draft,
                                      node != NULL ? "%s %s" : "%s, as it is without %s",
                                      kinds[row->kind].title, name));
}

static void refuse_key(peer *from, peer_kind kind, const char *path, const st_json *node)
{
    const char *names[ST_COUNT(rows)];
    size_t count = 0;
    for (size_t i = 0; i < ST_COUNT(rows); i++)
        if (rows[i].kind == kind)
            names[count++] = rows[i].name;
    ST_NOTE(&from->draft, ST_ERR_NAME, place_of(&from->files[kind], node),
            "unknown key '%.100s' in %s" ST_HINT "%s", path, kinds[kind].title,
            st_errors_nearest(from->draft.errors, path, names, count));
}

static void read_node(peer *from, peer_kind kind, const st_json *node, const char *path)
{
    const peer_row *row = rows;
    size_t index = 0;
    if (node->kind == ST_JSON_NULL || from->draft.status == ST_ERR_MEMORY)
        return;
    for (const st_json *below = node->first; below != NULL; below = below->next, index++) {
        const char *name =
            below->name != NULL ? below->name : st_draft_text(&from->draft, "%zu", index);
        read_node(from, kind, below,
                  path[0] == '\0' ? name : st_draft_text(&from->draft, "%s.%s", path, name));
    }
    if (node->kind == ST_JSON_MAP || node->kind == ST_JSON_LIST)
        return;
    while (row < rows + ST_COUNT(rows) &&
           (row->kind != kind || !megatron_fits(row->name, path) ||
            (row->absent != NULL && row->absent[0] != '!' && child(node->parent, path) != node)))
        row++;
    if (row == rows + ST_COUNT(rows)) {
        refuse_key(from, kind, path, node);
        return;
    }
    if (row->key == NULL && row->values == NULL && row->absent == NULL &&
        node->parent == from->files[kind].root && kind != CALCULON_RESULT && kind != SIMUMAX_RESULT)
        st_buffer_printf(&from->unused, "%s%s", from->unused.length > 0 ? ", " : "", path);
    put_row(from, row, path, node->text, node);
}

/* The value of a path, "networks.0.size"; NULL: not there. */
static const st_json *at_path(const st_json *node, const char *path)
{
    while (node != NULL && *path != '\0') {
        const size_t length = strcspn(path, ".");
        size_t index = 0;
        const st_json *found = NULL;
        for (const st_json *one = node->first; one != NULL && found == NULL; one = one->next) {
            char number[24];
            (void)snprintf(number, sizeof number, "%zu", index++);
            const char *name = one->name != NULL ? one->name : number;
            if (strlen(name) == length && strncmp(name, path, length) == 0)
                found = one;
        }
        node = found;
        path += length + (path[length] == '.');
    }
    return node != NULL && node->kind != ST_JSON_NULL ? node : NULL;
}

static void read_file(peer *from, peer_kind kind)
{
    const st_json *root = from->files[kind].root;
    read_node(from, kind, root, "");
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        const peer_row *row = &rows[i];
        if (row->kind != kind || row->absent == NULL || at_path(root, row->name) != NULL)
            continue;
        if (strcmp(row->absent, REQUIRED) != 0)
            put_row(from, row, row->name, row->absent, NULL);
        else if (row->key == NULL || !st_draft_is_given(&from->draft, row->key))
            ST_NOTE(&from->draft, ST_ERR_NAME, place_of(&from->files[kind], root),
                    "%s lacks the key '%s'", kinds[kind].title, row->name);
    }
}

/* ---- what several keys say together ---- */

static double number_at(const peer *from, peer_kind kind, const char *path, double absent)
{
    const st_json *node = at_path(from->files[kind].root, path);
    double number = absent;
    if (node != NULL && node->text != NULL &&
        st_number_parse(node->text, strlen(node->text), (st_place){0}, &number, NULL) != ST_OK)
        return absent;
    return number;
}

static bool is_true(const peer *from, const char *name, bool absent)
{
    const st_json *node = child(from->files[SIMUMAX_STRATEGY].root, name);
    return node == NULL ? absent : node->text != NULL && strcmp(node->text, "true") == 0;
}

static void put_number(peer *from, const char *key, double value, const char *unit,
                       const char *origin)
{
    if (from->draft.cluster == NULL || !is_of_cluster(key))
        st_draft_put(&from->draft, key, 0, st_draft_text(&from->draft, "%.17g%s", value, unit),
                     origin);
}

static uint64_t count_of(const peer *from, const char *key)
{
    const uint64_t count = st_draft_count(&from->draft, key);
    return count > 0 ? count : 1;
}

static void put_nodes(peer *from, double ranks)
{
    const uint64_t width = count_of(from, ST_KEY_CLUSTER_GPUS_PER_NODE);
    const uint64_t nodes = ((uint64_t)ranks + width - 1) / width;
    put_number(from, ST_KEY_CLUSTER_NODES, (double)nodes, "", "the ranks over the GPUs of a node");
    /* The sheet has the energy of a step, which no comparison with these tools shows. */
    put_number(from, ST_KEY_CLUSTER_GPU_POWER, 400, " W",
               "assumed: the system has none; energy and cost alone depend on it");
}

/* The stack that the tool describes, where --set names no other. */
static void put_stack(peer *from, const char *stack)
{
    if (from->draft.file_count == 0)
        from->draft.files[from->draft.file_count++] = stack;
}

/* The two 16-bit types have the same rate on every GPU that has both. */
static void put_missing_peaks(peer *from, const char *origin)
{
    static const char *const keys[2] = {ST_KEY_CLUSTER_GPU_PEAK_FP16, ST_KEY_CLUSTER_GPU_PEAK_BF16};
    for (size_t i = 0; i < 2 && from->draft.cluster == NULL; i++) {
        const char *own = from->draft.values[st_key_index(st_key_find(keys[i]))].text;
        const char *other = from->draft.values[st_key_index(st_key_find(keys[1 - i]))].text;
        if (own == NULL && other != NULL)
            st_draft_put(&from->draft, keys[i], 0, other, origin);
    }
}

static void settle_calculon(peer *from)
{
    const peer_file *plan = &from->files[CALCULON_EXECUTION];
    const double ranks = number_at(from, CALCULON_EXECUTION, "num_procs", 0);
    const double sizes = number_at(from, CALCULON_EXECUTION, "tensor_par", 1) *
                         number_at(from, CALCULON_EXECUTION, "pipeline_par", 1) *
                         number_at(from, CALCULON_EXECUTION, "data_par", 1);
    if (ranks != sizes)
        ST_NOTE(&from->draft, ST_ERR_VALUE, place_of(plan, child(plan->root, "num_procs")),
                "num_procs %g is not tensor_par x pipeline_par x data_par = %g", ranks, sizes);
    put_number(from, ST_KEY_MODEL_POSITIONS, number_at(from, CALCULON_APPLICATION, "seq_size", 0),
               "", "Calculon counts a learned position per token");
    put_stack(from, ST_KEY_STACK "=megatron-2021");
    if (!st_draft_is_given(&from->draft, ST_KEY_PRECISION_GRADIENTS))
        st_draft_put(&from->draft, ST_KEY_PRECISION_GRADIENTS, 0,
                     from->draft.values[st_key_index(st_key_find(ST_KEY_PRECISION_WEIGHTS))].text,
                     "Calculon's execution datatype, which its gradients have, too");
    if (from->files[CALCULON_SYSTEM].root == NULL || from->draft.cluster != NULL)
        return;
    /* Network 0 is the fast one inside of a node where there are two. */
    const char *second =
        at_path(from->files[CALCULON_SYSTEM].root, "networks.1") != NULL ? "1" : "0";
    const double node = number_at(from, CALCULON_SYSTEM, "networks.0.size", 0);
    put_number(from, ST_KEY_CLUSTER_GPUS_PER_NODE, node, "", "Calculon's system networks.0.size");
    put_number(from, ST_KEY_CLUSTER_GPU_LINK_BANDWIDTH,
               number_at(from, CALCULON_SYSTEM, "networks.0.bandwidth", 0), " GB/s",
               "Calculon's system networks.0.bandwidth");
    put_number(from, ST_KEY_CLUSTER_NIC_BANDWIDTH,
               node * number_at(from, CALCULON_SYSTEM,
                                st_draft_text(&from->draft, "networks.%s.bandwidth", second), 0),
               " GB/s", "Calculon's system, bandwidth of a GPU times those of a node");
    /* A system has one rate for both types, or that of the plan's type alone. */
    put_missing_peaks(from, "Calculon's system, of the other 16-bit type");
    put_nodes(from, ranks);
}

static void settle_recompute(peer *from)
{
    const double experts = number_at(from, SIMUMAX_MODEL, "expert_num", 1);
    const bool has_dense =
        experts <= 1 || st_draft_count(&from->draft, ST_KEY_MODEL_DENSE_LAYERS) > 0;
    const struct {
        const char *name;
        const char *key;
        bool is_there;
    } modules[] = {{"attn_recompute", ST_KEY_RECOMPUTED_ATTENTION, true},
                   {"mlp_recompute", ST_KEY_RECOMPUTED_MLP, has_dense},
                   {"mlp_recompute", ST_KEY_RECOMPUTED_MOE, experts > 1},
                   {"mla_rms_recompute", ST_KEY_RECOMPUTED_NORMS, true}};
    const peer_file *plan = &from->files[SIMUMAX_STRATEGY];
    const st_json *granularity = child(plan->root, "recompute_granularity");
    const uint64_t stage_layers =
        count_of(from, ST_KEY_MODEL_LAYERS) / count_of(from, ST_KEY_PARALLEL_PP);
    const double of_stage = (double)stage_layers;
    const double layers = number_at(from, SIMUMAX_STRATEGY, "recompute_layer_num", 0);
    const char *what = "none";
    if (is_true(from, "enable_recompute", true) && granularity != NULL && layers > 0 &&
        granularity->text != NULL && strcmp(granularity->text, "none") != 0)
        what = strcmp(granularity->text, "full_block") == 0 ? "full" : "selective";
    st_draft_put(&from->draft, ST_KEY_RECOMPUTE, 0, what,
                 "SimuMax's strategy enable_recompute, recompute_granularity, recompute_layer_num");
    if (strcmp(what, "full") == 0 && layers < of_stage)
        put_number(from, ST_KEY_RECOMPUTED_LAYERS, layers, "",
                   "SimuMax's strategy recompute_layer_num");
    if (strcmp(what, "selective") == 0 && layers < of_stage &&
        !st_draft_is_given(&from->draft, ST_KEY_RECOMPUTE))
        ST_NOTE(&from->draft, ST_ERR_VALUE,
                place_of(plan, child(plan->root, "recompute_layer_num")),
                "no key of a job says that modules of %g of the %g layers of a stage are "
                "recomputed" ST_HINT
                "set recompute_layer_num to %g, or override it with --set " ST_KEY_RECOMPUTE "=...",
                layers, of_stage, of_stage);
    for (size_t i = 0; strcmp(what, "selective") == 0 && i < ST_COUNT(modules); i++)
        st_draft_put_bool(&from->draft, modules[i].key,
                          modules[i].is_there && is_true(from, modules[i].name, false),
                          st_draft_text(&from->draft, "SimuMax's strategy %s", modules[i].name));
}

static void settle_simumax(peer *from)
{
    static const char *const latent[][2] = {{"v_head_dim", ST_KEY_MODEL_V_DIM},
                                            {"qk_pos_emb_head_dim", ST_KEY_MODEL_ROPE_DIM},
                                            {"q_lora_rank", ST_KEY_MODEL_Q_LORA},
                                            {"kv_lora_rank", ST_KEY_MODEL_KV_LORA}};
    const peer_file *plan = &from->files[SIMUMAX_STRATEGY];
    const st_json *attention = child(from->files[SIMUMAX_MODEL].root, "attention_type");
    const bool is_latent =
        attention != NULL && attention->text != NULL && strcmp(attention->text, "mla") == 0;
    const double ranks = number_at(from, SIMUMAX_STRATEGY, "world_size", 8);
    const uint64_t inner = count_of(from, ST_KEY_PARALLEL_TP) * count_of(from, ST_KEY_PARALLEL_CP) *
                           count_of(from, ST_KEY_PARALLEL_PP);
    const uint64_t dp = (uint64_t)ranks / inner;
    const double experts = number_at(from, SIMUMAX_MODEL, "expert_num", 1);
    if (dp * inner != (uint64_t)ranks || dp == 0) {
        ST_NOTE(&from->draft, ST_ERR_VALUE, place_of(plan, child(plan->root, "world_size")),
                "world_size %g is not a multiple of tp_size x cp_size x pp_size = %" PRIu64, ranks,
                inner);
        return;
    }
    put_number(from, ST_KEY_PARALLEL_DP, (double)dp, "",
               "SimuMax's strategy world_size over the other sizes");
    put_number(from, ST_KEY_BATCH_GLOBAL,
               (double)(count_of(from, ST_KEY_PARALLEL_DP) * count_of(from, ST_KEY_BATCH_MICRO)) *
                   number_at(from, SIMUMAX_STRATEGY, "micro_batch_num", 1),
               "", "SimuMax's strategy micro_batch_num x micro_batch_size x data-parallel size");
    put_number(from, ST_KEY_MODEL_EXPERTS, experts > 1 ? experts : 0, "",
               "SimuMax's model expert_num");
    put_number(from, ST_KEY_MODEL_HEAD_DIM,
               number_at(from, SIMUMAX_MODEL, is_latent ? "qk_head_dim" : "head_size", 0), "",
               is_latent ? "SimuMax's model qk_head_dim" : "SimuMax's model head_size");
    for (size_t i = 0; i < ST_COUNT(latent) && is_latent; i++)
        put_number(from, latent[i][1], number_at(from, SIMUMAX_MODEL, latent[i][0], 0), "",
                   st_draft_text(&from->draft, "SimuMax's model %s", latent[i][0]));
    put_number(from, ST_KEY_MODEL_KV_HEADS,
               is_latent ? 0 : number_at(from, SIMUMAX_MODEL, "kv_head_num", 0), "",
               "SimuMax's model kv_head_num");
    settle_recompute(from);
    put_stack(from, ST_KEY_STACK "=megatron-core");
    if (from->files[SIMUMAX_SYSTEM].root != NULL) {
        put_missing_peaks(from, "SimuMax's system, of the other 16-bit type");
        put_nodes(from, ranks);
    }
}

/* ---- the files ---- */

static void add_file(peer *from, const st_source *source)
{
    st_json *root = NULL;
    st_status status = st_json_parse(source->file, source->text, source->length, from->draft.arena,
                                     &root, from->draft.errors);
    size_t kind = 0;
    st_note(&from->draft.status, status);
    if (status != ST_OK)
        return;
    while (kind < PEER_KINDS && child(root, kinds[kind].mark) == NULL)
        kind++;
    const peer_file file = {source, root};
    if (kind == PEER_KINDS)
        ST_NOTE(&from->draft, ST_ERR_VALUE, place_of(&file, root),
                "not a file of Calculon or SimuMax" ST_EXPECTED
                "an execution, application, system or stats of Calculon, or a strategy, model, "
                "system or result of SimuMax");
    else if (from->files[kind].root != NULL)
        ST_NOTE(&from->draft, ST_ERR_VALUE, place_of(&file, root),
                "a second file with %s" ST_HINT "the first is %s", kinds[kind].title,
                from->files[kind].source->file);
    else
        from->files[kind] = file;
}

/* The files of one tool, all that a job needs. */
static bool is_whole(peer *from, bool *is_calculon)
{
    bool has[2] = {false, false};
    for (size_t kind = 0; kind < PEER_KINDS; kind++)
        has[kind >= SIMUMAX_STRATEGY] |= from->files[kind].root != NULL;
    *is_calculon = has[0];
    if (has[0] && has[1])
        ST_NOTE(&from->draft, ST_ERR_VALUE, (st_place){0},
                "files of Calculon and of SimuMax in one job" ST_EXPECTED "those of one tool");
    for (size_t kind = 0; kind < PEER_KINDS && has[0] != has[1]; kind++)
        if (has[kind >= SIMUMAX_STRATEGY] && !kinds[kind].is_optional &&
            from->files[kind].root == NULL)
            ST_NOTE(&from->draft, ST_ERR_NAME, (st_place){0}, "no file has %s, with the key '%s'",
                    kinds[kind].title, kinds[kind].mark);
    return from->draft.status == ST_OK;
}

st_status st_import_peer(const st_import_request *request, const st_source *files, size_t count,
                         st_buffer *job, st_errors *errors)
{
    peer from = {0};
    bool is_calculon = false;
    st_arena *arena = st_arena_create();
    st_status status = arena != NULL ? ST_OK : st_out_of_memory(errors);
    if (status == ST_OK)
        status = st_draft_start(&from.draft, request, arena, errors);
    for (size_t i = 0; i < count && status == ST_OK; i++)
        add_file(&from, &files[i]);
    if (status == ST_OK && from.draft.status == ST_OK && is_whole(&from, &is_calculon)) {
        for (size_t kind = 0; kind < PEER_KINDS; kind++)
            if (from.files[kind].root != NULL)
                read_file(&from, (peer_kind)kind);
        if (from.draft.status == ST_OK && is_calculon)
            settle_calculon(&from);
        else if (from.draft.status == ST_OK)
            settle_simumax(&from);
        if (from.unused.length > 0)
            st_draft_note(&from.draft, "Keys without effect on this job: %s.",
                          st_draft_keep(&from.draft, &from.unused));
    }
    if (status == ST_OK)
        status = from.draft.status;
    if (status == ST_OK)
        status = st_draft_write(
            &from.draft, is_calculon ? "From files of Calculon." : "From files of SimuMax.", job);
    st_buffer_free(&from.unused);
    st_arena_destroy(arena);
    return status;
}
