/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From arguments of Megatron-LM to the keys of a job.
 *
 * A dump holds every argument, also those that Megatron derived; a command line holds what someone
 * typed, and Megatron's defaults hold for the rest. Defaults are written down as such.
 */
#include "import/megatron.h"

#include "job/files.h"
#include "steptime/quantity.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void fail(megatron_run *run, const megatron_argument *argument, const st_error *error)
{
    st_error whole = *error;
    whole.place = (st_place){.file = run->draft->request->file,
                             .line = argument != NULL ? argument->line : 0};
    st_draft_fail(run->draft, &whole);
}

/* ---- values of arguments ---- */

static bool read_number(megatron_run *run, const megatron_argument *argument, double *value)
{
    const char *text = argument->value;
    if (st_number_parse(text, strlen(text), (st_place){0}, value, NULL) == ST_OK)
        return true;
    fail(run, argument,
         &(st_error){.status = ST_ERR_VALUE,
                     .message = st_errors_text(run->draft->errors,
                                               "argument '%.60s' cannot be used", argument->name),
                     .found = st_errors_text(run->draft->errors, "'%.60s'", text),
                     .expected = "a number",
                     .suggestion = text[0] == '$'
                                       ? "a shell variable is not known here; put its value in"
                                       : NULL});
    return false;
}

/* A count that is given; false where it is absent or faulty. */
static bool read_count(megatron_run *run, const char *name, uint64_t *value)
{
    const megatron_argument *argument = megatron_get(run, name);
    double number = 0;
    if (argument == NULL || !read_number(run, argument, &number))
        return false;
    if (number == floor(number) && number >= 0 && number <= 1e12) {
        *value = (uint64_t)number;
        return true;
    }
    fail(run, argument,
         &(st_error){.status = ST_ERR_VALUE,
                     .message = st_errors_text(run->draft->errors,
                                               "argument '%.60s' cannot be used", argument->name),
                     .found = st_errors_text(run->draft->errors, "'%.60s'", argument->value),
                     .expected = "a whole number"});
    return false;
}

static uint64_t count_or(megatron_run *run, const char *name, uint64_t missing)
{
    uint64_t value = 0;
    return read_count(run, name, &value) ? value : missing;
}

static bool is_true(megatron_run *run, const char *name, bool missing)
{
    const megatron_argument *argument = megatron_get(run, name);
    if (argument == NULL)
        return missing;
    return strcmp(argument->value, "True") == 0 || strcmp(argument->value, "true") == 0;
}

/* The text of an argument, "" where it is absent. */
static const char *text_of(megatron_run *run, const char *name)
{
    const megatron_argument *argument = megatron_get(run, name);
    return argument != NULL ? argument->value : "";
}

static bool is_given(megatron_run *run, const char *name)
{
    return megatron_get(run, name) != NULL;
}

static int line_of(megatron_run *run, const char *name)
{
    const megatron_argument *argument = megatron_get(run, name);
    return argument != NULL ? argument->line : 0;
}

/* ---- writing keys ---- */

static void put(megatron_run *run, const char *path, const char *name, uint64_t value)
{
    st_draft_put_count(run->draft, path, line_of(run, name), value,
                       is_given(run, name) ? name
                                           : st_draft_text(run->draft, "default of %s", name));
}

static void put_bool(megatron_run *run, const char *path, const char *name, bool value)
{
    st_draft_put_bool(run->draft, path, value,
                      is_given(run, name) ? name
                                          : st_draft_text(run->draft, "default of %s", name));
}

/* A count that the run must have. */
static uint64_t put_needed(megatron_run *run, const char *path, const char *name)
{
    uint64_t value = 0;
    if (read_count(run, name, &value))
        st_draft_put_count(run->draft, path, line_of(run, name), value, name);
    else if (!is_given(run, name) && !st_draft_is_given(run->draft, path))
        fail(run, NULL,
             &(st_error){.status = ST_ERR_NAME,
                         .message =
                             st_errors_text(run->draft->errors, "argument '%s' is missing", name),
                         .suggestion =
                             st_errors_text(run->draft->errors, "--set %s=... fills it in", path)});
    return st_draft_count(run->draft, path);
}

/* ---- the model ---- */

static void put_attention(megatron_run *run)
{
    uint64_t heads = put_needed(run, "model.heads", "num_attention_heads");
    uint64_t groups = 0;
    if (is_true(run, "multi_latent_attention", false)) {
        if (is_given(run, "q_lora_rank"))
            put(run, "model.q_lora", "q_lora_rank", count_or(run, "q_lora_rank", 0));
        put(run, "model.kv_lora", "kv_lora_rank", count_or(run, "kv_lora_rank", 32));
        put(run, "model.head_dim", "qk_head_dim", count_or(run, "qk_head_dim", 128));
        put(run, "model.rope_dim", "qk_pos_emb_head_dim", count_or(run, "qk_pos_emb_head_dim", 64));
        put(run, "model.v_dim", "v_head_dim", count_or(run, "v_head_dim", 128));
        (void)is_given(run, "kv_channels"); /* Megatron does not look at it then */
        (void)is_given(run, "num_query_groups");
        return;
    }
    if (is_given(run, "kv_channels"))
        put(run, "model.head_dim", "kv_channels", count_or(run, "kv_channels", 0));
    bool grouped = is_true(run, "group_query_attention", false);
    if (!grouped || !read_count(run, "num_query_groups", &groups)) {
        (void)is_given(run, "num_query_groups");
        return;
    }
    if (groups == 0 || heads % groups != 0)
        fail(run, megatron_get(run, "num_query_groups"),
             &(st_error){.status = ST_ERR_VALUE,
                         .message =
                             st_errors_text(run->draft->errors,
                                            "num_query_groups %" PRIu64
                                            " does not divide the %" PRIu64 " attention heads",
                                            groups, heads)});
    put(run, "model.kv_heads", "num_query_groups", groups);
}

/* SwiGLU without a width gets two thirds of 4h, in multiples of 64, as Megatron computes it. */
static void put_mlp(megatron_run *run)
{
    uint64_t hidden = st_draft_count(run->draft, "model.hidden");
    bool gated = is_true(run, "swiglu", false) || is_true(run, "gated_linear_unit", false);
    if (is_given(run, "ffn_hidden_size"))
        put(run, "model.ffn", "ffn_hidden_size", count_or(run, "ffn_hidden_size", 0));
    else if (gated)
        st_draft_put_count(run->draft, "model.ffn", 0, 8 * hidden / 3 / 64 * 64,
                           "8/3 of hidden_size in multiples of 64, default for swiglu");
    put_bool(run, "model.gated", "swiglu", gated);
}

static void put_norms(megatron_run *run)
{
    const char *norm = text_of(run, "normalization");
    double dropout = 0.1;
    const megatron_argument *share = megatron_get(run, "hidden_dropout");
    if (share != NULL && !read_number(run, share, &dropout))
        dropout = 0;
    put_bool(run, "model.bias", "add_bias_linear", is_true(run, "add_bias_linear", true));
    st_draft_put(run->draft, "model.norm", line_of(run, "normalization"),
                 strcmp(norm, "RMSNorm") == 0 ? "rms" : "layer",
                 norm[0] != '\0' ? "normalization" : "default of normalization");
    put_bool(run, "model.dropout", "hidden_dropout", dropout > 0);
    (void)is_given(run, "attention_dropout");
}

static void put_positions(megatron_run *run)
{
    const char *type = text_of(run, "position_embedding_type");
    bool learned = is_true(run, "add_position_embedding", true) &&
                   (type[0] == '\0' || strstr(type, "learned") != NULL);
    if (!learned)
        st_draft_put_count(run->draft, "model.positions", 0, 0, "position_embedding_type");
    else
        put_needed(run, "model.positions", "max_position_embeddings");
    (void)is_given(run, "max_position_embeddings");
    (void)is_true(run, "use_rotary_position_embeddings", false);
}

/* Tokenizers whose size everybody knows; others have files that are not read. */
static void put_vocabulary(megatron_run *run)
{
    const char *tokenizer = text_of(run, "tokenizer_type");
    st_draft *draft = run->draft;
    uint64_t size = 0;
    put(run, "model.vocabulary_multiple", "make_vocab_size_divisible_by",
        count_or(run, "make_vocab_size_divisible_by", 128));
    if (run->vocabulary > 0)
        st_draft_put_count(draft, "model.vocabulary", 0, run->vocabulary,
                           "the log, where it pads the vocabulary");
    else if (read_count(run, "vocab_size", &size))
        st_draft_put_count(draft, "model.vocabulary", line_of(run, "vocab_size"),
                           size + (strcmp(tokenizer, "NullTokenizer") == 0 ? 1 : 0),
                           strcmp(tokenizer, "NullTokenizer") == 0
                               ? "vocab_size and one token of NullTokenizer"
                               : "vocab_size");
    else if (read_count(run, "padded_vocab_size", &size))
        st_draft_put_count(draft, "model.vocabulary", line_of(run, "padded_vocab_size"), size,
                           "padded_vocab_size");
    else if (strcmp(tokenizer, "GPT2BPETokenizer") == 0)
        st_draft_put_count(draft, "model.vocabulary", 0, 50257, "tokenizer_type GPT2BPETokenizer");
    else if (!st_draft_is_given(draft, "model.vocabulary"))
        st_draft_note(draft, "The size of the vocabulary is not among the arguments, it depends on "
                             "the tokenizer's files: model.vocabulary is left out.");
    (void)is_given(run, "vocab_size");
    (void)is_given(run, "padded_vocab_size");
}

/* ---- experts ---- */

/* What moe_layer_freq says of the layers: dense ones first, then one MoE layer in so many. */
typedef struct layer_pattern {
    uint64_t layers;
    uint64_t moe;
    uint64_t dense_first; /* before the first MoE layer */
    bool mixed;           /* dense layers also behind it */
} layer_pattern;

static void add_layers(layer_pattern *pattern, char kind, uint64_t count)
{
    if (kind == '1') {
        pattern->moe += count;
    } else if (pattern->moe == 0) {
        pattern->dense_first += count;
    } else if (count > 0) {
        pattern->mixed = true;
    }
    pattern->layers += count;
}

/* "[0, 1, 1]" or "([0]*3+[1]*58)": lists of 0 and 1, perhaps repeated, joined by '+'. */
static bool read_pattern(const char *text, layer_pattern *pattern)
{
    char kinds[512];
    size_t count = 0;
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '[') {
            count = 0;
        } else if (*c == '0' || *c == '1') {
            if (count == sizeof kinds)
                return false;
            kinds[count++] = *c;
        } else if (*c == ']') {
            uint64_t times = 1;
            const char *next = c + 1 + strspn(c + 1, " ");
            if (*next == '*') {
                next += 1 + strspn(next + 1, " ");
                size_t digits = strspn(next, "0123456789");
                if (digits == 0 || digits > 5)
                    return false;
                times = 0;
                for (size_t i = 0; i < digits; i++)
                    times = 10 * times + (uint64_t)(next[i] - '0');
                c = next + digits - 1;
            }
            for (uint64_t i = 0; i < times; i++)
                for (size_t j = 0; j < count; j++)
                    add_layers(pattern, kinds[j], 1);
        } else if (strchr(" ,+()", *c) == NULL) {
            return false;
        }
    }
    return pattern->layers > 0;
}

static void put_layer_frequency(megatron_run *run)
{
    const megatron_argument *argument = megatron_get(run, "moe_layer_freq");
    layer_pattern pattern = {0};
    if (argument == NULL)
        return;
    if (strspn(argument->value, "0123456789") == strlen(argument->value)) {
        put(run, "model.moe_every", "moe_layer_freq", count_or(run, "moe_layer_freq", 1));
        return;
    }
    bool understood = read_pattern(argument->value, &pattern) && pattern.moe > 0;
    uint64_t layers = st_draft_count(run->draft, "model.layers");
    if (!understood || (layers > 0 && pattern.layers != layers)) {
        fail(run, argument,
             &(st_error){.status = ST_ERR_VALUE,
                         .message = "argument 'moe_layer_freq' cannot be used",
                         .found = st_errors_text(run->draft->errors, "'%.60s'", argument->value),
                         .expected = "a whole number, or a 0 or 1 for each layer"});
        return;
    }
    if (pattern.mixed)
        st_draft_note(run->draft,
                      "Dense layers stand between MoE layers (moe_layer_freq); they are "
                      "taken as the first ones.");
    st_draft_put_count(run->draft, "model.dense_layers", argument->line,
                       pattern.layers - pattern.moe, argument->name);
}

static void put_experts(megatron_run *run)
{
    static const char *const others[] = {"moe_router_topk", "moe_ffn_hidden_size", "moe_layer_freq",
                                         "moe_shared_expert_intermediate_size",
                                         "moe_expert_capacity_factor"};
    uint64_t experts = count_or(run, "num_experts", 0);
    if (experts == 0) {
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
            (void)is_given(run, others[i]); /* without experts they say nothing */
        return;
    }
    put(run, "model.experts", "num_experts", experts);
    put(run, "model.top_k", "moe_router_topk", count_or(run, "moe_router_topk", 2));
    if (is_given(run, "moe_ffn_hidden_size"))
        put(run, "model.expert_ffn", "moe_ffn_hidden_size",
            count_or(run, "moe_ffn_hidden_size", 0));
    if (is_given(run, "moe_shared_expert_intermediate_size"))
        put(run, "model.shared_ffn", "moe_shared_expert_intermediate_size",
            count_or(run, "moe_shared_expert_intermediate_size", 0));
    const megatron_argument *capacity = megatron_get(run, "moe_expert_capacity_factor");
    if (capacity != NULL)
        st_draft_put(run->draft, "model.capacity_factor", capacity->line, capacity->value,
                     capacity->name);
    put_layer_frequency(run);
}

static void put_model(megatron_run *run)
{
    put_needed(run, "model.layers", "num_layers");
    put_needed(run, "model.hidden", "hidden_size");
    put_attention(run);
    put_mlp(run);
    put_norms(run);
    put_positions(run);
    put_bool(run, "model.tied", "untie_embeddings_and_output_weights",
             !is_true(run, "untie_embeddings_and_output_weights", false));
    put_vocabulary(run);
    put_experts(run);
    if (count_or(run, "mtp_num_layers", 0) > 0)
        st_draft_note(run->draft, "Left out: layers of multi-token prediction (mtp_num_layers).");
}

/* ---- the plan ---- */

static void put_stages(megatron_run *run, uint64_t pp)
{
    uint64_t layers = st_draft_count(run->draft, "model.layers");
    uint64_t per_chunk = count_or(run, "num_layers_per_virtual_pipeline_stage", 0);
    uint64_t chunks = count_or(run, "num_virtual_stages_per_pipeline_rank", 0);
    uint64_t derived = count_or(run, "virtual_pipeline_model_parallel_size", 0);
    const char *origin = "virtual_pipeline_model_parallel_size";
    if (derived == 0 && chunks > 0) {
        derived = chunks;
        origin = "num_virtual_stages_per_pipeline_rank";
    } else if (derived == 0 && per_chunk > 0 && pp > 0) {
        derived = layers / pp / per_chunk;
        origin = "num_layers_per_virtual_pipeline_stage";
    }
    if (derived > 1) {
        st_draft_put_count(run->draft, "parallel.virtual_stages", 0, derived, origin);
        st_draft_put(run->draft, "parallel.schedule", 0, "interleaved", origin);
    }
    if (is_given(run, "decoder_first_pipeline_num_layers"))
        put(run, "parallel.first_stage_layers", "decoder_first_pipeline_num_layers",
            count_or(run, "decoder_first_pipeline_num_layers", 0));
    if (is_given(run, "decoder_last_pipeline_num_layers"))
        put(run, "parallel.last_stage_layers", "decoder_last_pipeline_num_layers",
            count_or(run, "decoder_last_pipeline_num_layers", 0));
}

/* Ranks of the run; 0 where the source does not say. */
static uint64_t world_size(megatron_run *run)
{
    uint64_t per_node = count_or(run, "nproc_per_node", 0);
    uint64_t nodes = count_or(run, "nnodes", 1);
    uint64_t size = count_or(run, "world_size", 0);
    if (per_node > 0) {
        put(run, "cluster.gpus_per_node", "nproc_per_node", per_node);
        put(run, "cluster.nodes", "nnodes", nodes);
        return size > 0 ? size : per_node * (nodes <= 1000000 ? nodes : 0);
    }
    return size;
}

/* The data-parallel size that the source states, 0 where it states none. */
static uint64_t stated_data_parallel(megatron_run *run)
{
    uint64_t given = 0;
    const megatron_argument *argument = megatron_get(run, "data_parallel_size");
    if (!read_count(run, "data_parallel_size", &given) || given > 0)
        return given;
    fail(run, argument,
         &(st_error){.status = ST_ERR_VALUE,
                     .message = "argument 'data_parallel_size' cannot be used",
                     .found = "'0'",
                     .expected = "a whole number from 1"});
    return 0;
}

static uint64_t put_data_parallel(megatron_run *run, uint64_t others)
{
    uint64_t given = stated_data_parallel(run);
    uint64_t ranks = world_size(run);
    if (ranks > 0 && ranks % others != 0) {
        fail(run, NULL,
             &(st_error){.status = ST_ERR_VALUE,
                         .message = st_errors_text(run->draft->errors,
                                                   "%" PRIu64 " ranks are not a multiple of tensor "
                                                   "x pipeline x context parallel size %" PRIu64,
                                                   ranks, others)});
        return 0;
    }
    if (given > 0)
        st_draft_put_count(run->draft, "parallel.dp", line_of(run, "data_parallel_size"), given,
                           "data_parallel_size");
    else if (ranks > 0)
        st_draft_put_count(
            run->draft, "parallel.dp", 0, ranks / others,
            st_draft_text(run->draft, "%" PRIu64 " ranks over %" PRIu64, ranks, others));
    else if (!st_draft_is_given(run->draft, "parallel.dp"))
        st_draft_note(run->draft, "How many ranks the run had is not among the arguments: "
                                  "parallel.dp is left out.");
    return st_draft_count(run->draft, "parallel.dp");
}

/* Which states data-parallel ranks split. */
static void put_zero(megatron_run *run)
{
    static const char *const names[] = {"no_shard", "optim", "optim_grads", "optim_grads_params"};
    bool sharded = is_true(run, "use_torch_fsdp2", false);
    bool optimizer = is_true(run, "use_distributed_optimizer", false);
    bool fsdp = is_true(run, "use_megatron_fsdp", false) || is_true(run, "use_custom_fsdp", false);
    const char *strategy = text_of(run, "data_parallel_sharding_strategy");
    uint64_t stage = count_or(run, "zero_stage", optimizer ? 1 : 0);
    const char *origin = is_given(run, "zero_stage")                  ? "zero_stage"
                         : is_given(run, "use_distributed_optimizer") ? "use_distributed_optimizer"
                                                                      : "default of Megatron-LM";
    if (sharded) {
        stage = 3;
        origin = "use_torch_fsdp2";
    }
    for (uint64_t i = 0; fsdp && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(strategy, names[i]) == 0) {
            stage = i;
            origin = "data_parallel_sharding_strategy";
        }
    st_draft_put_count(run->draft, "parallel.zero", 0, stage, origin);
}

static void put_parallel(megatron_run *run)
{
    uint64_t tp = count_or(run, "tensor_model_parallel_size", 1);
    uint64_t pp = count_or(run, "pipeline_model_parallel_size", 1);
    uint64_t cp = count_or(run, "context_parallel_size", 1);
    put(run, "parallel.tp", "tensor_model_parallel_size", tp);
    put(run, "parallel.pp", "pipeline_model_parallel_size", pp);
    put(run, "parallel.cp", "context_parallel_size", cp);
    bool bounded = tp >= 1 && pp >= 1 && cp >= 1 && tp <= 1000000 && pp <= 1000000 && cp <= 1000000;
    (void)put_data_parallel(run, bounded ? tp * pp * cp : 1);
    if (st_draft_count(run->draft, "model.experts") > 0) {
        put(run, "parallel.ep", "expert_model_parallel_size",
            count_or(run, "expert_model_parallel_size", 1));
        if (is_given(run, "expert_tensor_parallel_size"))
            put(run, "parallel.expert_tp", "expert_tensor_parallel_size",
                count_or(run, "expert_tensor_parallel_size", 0));
    }
    (void)is_given(run, "expert_model_parallel_size");
    (void)is_given(run, "expert_tensor_parallel_size");
    put_stages(run, pp);
    put_bool(run, "parallel.sequence_parallel", "sequence_parallel",
             is_true(run, "sequence_parallel", false));
    put_zero(run);
    if (is_given(run, "scatter_gather_tensors_in_pipeline"))
        put_bool(run, "parallel.scatter_gather", "scatter_gather_tensors_in_pipeline",
                 is_true(run, "scatter_gather_tensors_in_pipeline", true));
    if (is_true(run, "use_tp_pp_dp_mapping", false))
        st_draft_put(run->draft, "parallel.order", 0, "tp-cp-ep-pp-dp", "use_tp_pp_dp_mapping");
}

/* ---- batch, recomputation, precision, overlap ---- */

static void put_batch(megatron_run *run)
{
    uint64_t micro = put_needed(run, "batch.micro", "micro_batch_size");
    uint64_t sequence = put_needed(run, "batch.sequence", "seq_length");
    uint64_t dp = st_draft_count(run->draft, "parallel.dp");
    uint64_t global = count_or(run, "global_batch_size", 0);
    if (global > 0)
        put(run, "batch.global", "global_batch_size", global);
    else if (dp > 0 && micro > 0)
        st_draft_put_count(run->draft, "batch.global", 0, micro * dp,
                           "micro_batch_size times dp, default of global_batch_size");
    uint64_t samples = count_or(run, "train_samples", 0);
    uint64_t iterations = count_or(run, "train_iters", 0);
    global = st_draft_count(run->draft, "batch.global");
    double tokens = samples > 0 ? (double)samples : (double)iterations * (double)global;
    char number[64];
    if (tokens > 0 && sequence > 0)
        st_draft_put(
            run->draft, "train.tokens", 0,
            st_draft_text(run->draft, "%s",
                          st_number_format(tokens * (double)sequence, number, sizeof number)),
            samples > 0 ? "train_samples times seq_length"
                        : "train_iters times global batch and seq_length");
    (void)is_given(run, "encoder_seq_length");
    if (is_given(run, "rampup_batch_size"))
        st_draft_note(run->draft, "The batch grows at the beginning (rampup_batch_size); the "
                                  "estimate is of a step with the whole batch.");
}

static void put_recompute(megatron_run *run)
{
    const char *granularity = text_of(run, "recompute_granularity");
    const char *method = text_of(run, "recompute_method");
    uint64_t layers = count_or(run, "recompute_num_layers", 0);
    bool full = strcmp(granularity, "full") == 0 || is_true(run, "checkpoint_activations", false) ||
                is_true(run, "deepspeed_activation_checkpointing", false);
    bool selective =
        strcmp(granularity, "selective") == 0 || is_true(run, "recompute_activations", false);
    st_draft_put(run->draft, "recompute", line_of(run, "recompute_granularity"),
                 full        ? "full"
                 : selective ? "selective"
                             : "none",
                 granularity[0] != '\0' ? "recompute_granularity"
                                        : "default of recompute_granularity");
    if (full && strcmp(method, "block") == 0)
        st_draft_note(run->draft,
                      "Only %" PRIu64 " layers of a stage are computed again (recompute_method "
                      "block); the estimate recomputes all of them.",
                      layers);
    (void)is_given(run, "recompute_modules");
}

/* The type that a name of PyTorch or Transformer Engine stands for. */
static const char *moment_type(const char *name)
{
    static const struct {
        const char *word;
        const char *type;
    } types[] = {
        {"fp8", "fp8"}, {"uint8", "fp8"}, {"bf16", "bf16"}, {"bfloat16", "bf16"}, {"16", "fp16"}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strstr(name, types[i].word) != NULL)
            return types[i].type;
    return "fp32";
}

/* bf16 accumulates and reduces gradients in fp32 unless told otherwise. */
static void put_gradients(megatron_run *run, bool bf16, const char *type)
{
    bool fp32 = is_true(run, "accumulate_allreduce_grads_in_fp32", bf16) ||
                strstr(text_of(run, "grad_reduce_in_bf16"), "False") != NULL;
    if (is_true(run, "grad_reduce_in_bf16", false))
        fp32 = false;
    st_draft_put(run->draft, "precision.gradients", 0, fp32 ? "fp32" : type,
                 "accumulate_allreduce_grads_in_fp32, always with bf16");
}

static void put_precision(megatron_run *run)
{
    bool bf16 = is_true(run, "bf16", false);
    bool fp16 = is_true(run, "fp16", false);
    const char *moment = text_of(run, "exp_avg_dtype");
    const char *type = bf16 ? "bf16" : fp16 ? "fp16" : "fp32";
    st_draft_put(run->draft, "precision.weights", 0, type,
                 bf16 || fp16 ? type : "neither bf16 nor fp16");
    st_draft_put(run->draft, "precision.communication", 0, type, "as the weights");
    put_gradients(run, bf16, type);
    if (is_true(run, "use_precision_aware_optimizer", false) && moment[0] != '\0')
        st_draft_put(run->draft, "precision.optimizer", 0, moment_type(moment), "exp_avg_dtype");
    (void)is_given(run, "exp_avg_sq_dtype");
    if (is_given(run, "fp8") || is_given(run, "fp8_format"))
        st_draft_put_bool(run->draft, "precision.fp8", true, "fp8_format");
    if (is_given(run, "gradient_accumulation_fusion"))
        put_bool(run, "precision.fused_wgrad", "gradient_accumulation_fusion",
                 is_true(run, "gradient_accumulation_fusion", true));
}

static void put_attention_kernel(megatron_run *run)
{
    const char *backend = text_of(run, "attention_backend");
    bool flash = is_true(run, "use_flash_attn", false) || strstr(backend, "flash") != NULL ||
                 strstr(backend, "fused") != NULL;
    bool unfused = strstr(backend, "unfused") != NULL || strstr(backend, "local") != NULL;
    (void)is_true(run, "use_flash_attn_v2", false);
    if (flash || unfused)
        st_draft_put(run->draft, "attention", 0, unfused ? "unfused" : "flash",
                     unfused || strstr(backend, "f") != NULL ? "attention_backend"
                                                             : "use_flash_attn");
    (void)is_given(run, "transformer_impl");
}

static void put_overlap(megatron_run *run)
{
    if (is_true(run, "overlap_grad_reduce", false))
        st_draft_put(run->draft, "overlap.gradients", 0, "1", "overlap_grad_reduce");
    if (is_true(run, "overlap_param_gather", false))
        st_draft_put(run->draft, "overlap.parameters", 0, "1", "overlap_param_gather");
    if (is_true(run, "tp_comm_overlap", false))
        st_draft_note(run->draft, "Tensor-parallel communication overlaps with GEMMs "
                                  "(tp_comm_overlap): set overlap.tp to the share that hides.");
    if (is_true(run, "overlap_moe_expert_parallel_comm", false) ||
        is_true(run, "moe_shared_expert_overlap", false))
        st_draft_note(run->draft, "Expert communication overlaps with computation: set overlap.ep "
                                  "to the share that hides.");
    if (is_true(run, "overlap_p2p_communication", false) || is_true(run, "overlap_p2p_comm", false))
        st_draft_note(run->draft, "Transfers between stages overlap with computation: set "
                                  "overlap.pp to the share that hides.");
}

/* ---- what was not used ---- */

static bool is_off(const char *value)
{
    return strcmp(value, "None") == 0 || strcmp(value, "False") == 0 || strcmp(value, "0") == 0 ||
           strcmp(value, "[]") == 0 || strcmp(value, "0.0") == 0;
}

static void list_names(megatron_run *run, bool known, size_t *count, st_buffer *names)
{
    enum { SHOWN = 120 };
    *count = 0;
    for (size_t i = 0; i < run->count; i++) {
        const megatron_argument *argument = &run->arguments[i];
        if (argument->used || megatron_is_skipped(argument->name) != known ||
            (!known && run->is_dump && is_off(argument->value)))
            continue;
        if (++*count <= SHOWN)
            st_buffer_printf(names, "%s%.60s", names->length > 0 ? ", " : "", argument->name);
    }
    if (*count > SHOWN)
        st_buffer_printf(names, " and %zu more", *count - SHOWN);
}

static void note_unused(megatron_run *run)
{
    st_buffer skipped = {0};
    st_buffer unknown = {0};
    size_t skipped_count = 0;
    size_t unknown_count = 0;
    list_names(run, true, &skipped_count, &skipped);
    list_names(run, false, &unknown_count, &unknown);
    if (skipped.failed || unknown.failed)
        st_draft_out_of_memory(run->draft);
    if (skipped_count > 0 && !skipped.failed)
        st_draft_note(run->draft, "Skipped, no part in an estimate (%zu): %s.", skipped_count,
                      skipped.data);
    if (unknown_count > 0 && !unknown.failed)
        st_draft_note(run->draft, "Unknown, left out (%zu%s): %s.", unknown_count,
                      run->is_dump ? ", those that are off not counted" : "", unknown.data);
    st_buffer_free(&skipped);
    st_buffer_free(&unknown);
}

static void note_source(megatron_run *run)
{
    if (run->dumps > 1)
        st_draft_note(run->draft, "The log holds %zu runs; this is the last one.", run->dumps);
    if (run->odd_times > 0)
        st_draft_note(run->draft,
                      "%zu line%s of the log (the first is line %d) have a time that is no number "
                      "above 0; left out.",
                      run->odd_times, run->odd_times == 1 ? "" : "s", run->odd_line);
    else if (run->is_dump && run->time_count == 0)
        st_draft_note(run->draft, "The log has no line with the time of an iteration.");
    if (run->dumps == 0 && run->is_dump)
        fail(run, NULL,
             &(st_error){.status = ST_ERR_NAME,
                         .message = "the log has no dump of arguments",
                         .expected = "a line '------ arguments ------' and what follows it"});
    else if (run->count == 0)
        fail(run, NULL,
             &(st_error){.status = ST_ERR_NAME,
                         .message = "no arguments of Megatron-LM found",
                         .expected = "a log with a dump of arguments, or a command line with "
                                     "options such as --num-layers 24"});
}

static st_status import_run(megatron_run *run, st_buffer *job)
{
    st_draft *draft = run->draft;
    run->is_dump = megatron_is_log(draft->request);
    if (run->is_dump)
        megatron_read_log(run);
    else
        megatron_read_command(run);
    note_source(run);
    if (draft->status != ST_OK)
        return draft->status;
    put_model(run);
    put_parallel(run);
    put_batch(run);
    put_recompute(run);
    put_precision(run);
    put_overlap(run);
    put_attention_kernel(run);
    megatron_put_time(run);
    note_unused(run);
    return st_draft_write(draft,
                          st_draft_text(draft,
                                        "From %.200s, %s of Megatron-LM, by steptime import "
                                        "megatron. Behind each value stands the argument that it "
                                        "comes from.",
                                        draft->request->file,
                                        run->is_dump ? "the log of a run" : "a command line"),
                          job);
}

st_status st_import_megatron(const st_import_request *request, st_buffer *job, st_errors *errors)
{
    st_draft draft;
    megatron_run run = {.draft = &draft};
    st_arena *arena = st_arena_create();
    if (arena == NULL)
        return st_out_of_memory(errors);
    st_status status = st_draft_start(&draft, request, arena, errors);
    if (status == ST_OK)
        status = import_run(&run, job);
    st_arena_destroy(arena);
    return status;
}
