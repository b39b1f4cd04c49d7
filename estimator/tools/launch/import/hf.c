/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a config.json to the keys of a model.
 *
 * max_position_embeddings is how far a model can look, not how it was trained: it becomes the size
 * of a learned position table and never a sequence length.
 */
#include "launch/import/hf.h"
#include "base/word_sets.h"

#include "steptime/keys.h"
#include "steptime/quantity.h"

#include <string.h>

#define HEAD_DIM "head_dim kv_channels attention_head_dim"
#define HEADS    "num_attention_heads n_head n_heads num_heads attention_heads"
#define KV                                                                                         \
    "num_key_value_heads n_head_kv num_kv_heads kv_n_heads multi_query_group_num "                 \
    "num_attention_groups"
#define FFN        "intermediate_size n_inner ffn_dim ffn_hidden_size dff"
#define EXPERTS    "num_experts num_local_experts n_routed_experts moe_num_experts"
#define EXPERT_FFN "moe_intermediate_size expert_ffn_hidden_size"
#define SHARED_FFN                                                                                 \
    "shared_expert_intermediate_size moe_shared_expert_intermediate_size shared_intermediate_size"
#define SHARED "n_shared_experts num_shared_experts moe_num_shared_experts num_shared_expert"

#define TOP_K "num_experts_per_tok num_experts_per_token experts_per_token moe_top_k moe_k moe_topk"

/* ---- attention ---- */

static void put_kv_heads(hf_reader *reader, uint64_t heads)
{
    bool is_falcon = (reader->family->traits & HF_FALCON) != 0;
    bool is_new = hf_bool(reader, "new_decoder_architecture", false);
    bool is_multi_query = hf_bool(reader, "multi_query", is_falcon);
    const st_json *groups = hf_find(reader, "multi_query_attention");
    const st_json *node = hf_find(reader, KV);
    uint64_t kv = 0;
    if (st_draft_count(reader->draft, ST_KEY_MODEL_KV_HEADS) > 0)
        return; /* block_configs gave them */
    if (is_multi_query && !is_new) {
        st_draft_put_count(reader->draft, ST_KEY_MODEL_KV_HEADS, 0, 1, "multi_query");
        return;
    }
    if (node == NULL && hf_class_default(reader, ST_KEY_MODEL_KV_HEADS) > 0) {
        (void)hf_put_field(reader, ST_KEY_MODEL_KV_HEADS, KV, false);
        return;
    }
    if (node == NULL || (is_falcon && !is_new) ||
        (groups != NULL && groups->text != NULL && strcmp(groups->text, "false") == 0))
        return; /* as many as heads */
    if (!hf_number(reader, node, 1, &kv))
        return;
    if (heads % kv != 0) {
        ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, node),
                "%s %llu does not divide the %llu attention heads" ST_EXPECTED
                "a divisor of the heads",
                node->name, (unsigned long long)kv, (unsigned long long)heads);
        return;
    }
    st_draft_put_count(reader->draft, ST_KEY_MODEL_KV_HEADS, node->line, kv, node->name);
}

/* Whose attention divides the hidden size by the heads where head_dim is 0, as where it is null; no
 * other can be built with heads of no width. */
static const char zero_is_unset[] = "ministral ministral3 minimax mistral mixtral";

static void put_attention(hf_reader *reader)
{
    uint64_t hidden = hf_put_field(reader, ST_KEY_MODEL_HIDDEN, HF_HIDDEN, true);
    uint64_t heads = hf_put_field(reader, ST_KEY_MODEL_HEADS, HEADS, true);
    if ((reader->family->traits & HF_SHARED_KV) != 0) {
        hf_read_shared_kv(reader);
        return;
    }
    const st_json *latent = hf_find(reader, "kv_lora_rank");
    if (latent != NULL || (reader->family->traits & HF_MLA) != 0) {
        hf_put_field(reader, ST_KEY_MODEL_KV_LORA, "kv_lora_rank", true);
        hf_put_field(reader, ST_KEY_MODEL_Q_LORA, "q_lora_rank", false);
        hf_put_field(reader, ST_KEY_MODEL_HEAD_DIM, "qk_nope_head_dim", true);
        hf_put_field(reader, ST_KEY_MODEL_ROPE_DIM, "qk_rope_head_dim", true);
        hf_put_field(reader, ST_KEY_MODEL_V_DIM, "v_head_dim", true);
        (void)hf_find(reader, "head_dim"); /* other widths in other versions: not used */
        (void)hf_find(reader, "qk_head_dim");
        (void)hf_find(reader, KV);
        return;
    }
    const bool is_given = hf_find(reader, HEAD_DIM) != NULL;
    uint64_t width = hf_put_field(reader, ST_KEY_MODEL_HEAD_DIM, HEAD_DIM,
                                  is_given && !st_has_word(zero_is_unset, reader->architecture));
    hf_put_field(reader, ST_KEY_MODEL_V_DIM, "v_head_dim", false);
    hf_put_field(reader, ST_KEY_MODEL_Q_LORA, "share_q_dim", false); /* factored attention */
    if (heads > 0)
        put_kv_heads(reader, heads);
    if (heads > 0 && width == 0 && hidden % heads != 0)
        ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, NULL),
                "the hidden size %llu is not a multiple of the %llu heads, and head_dim is missing",
                (unsigned long long)hidden, (unsigned long long)heads);
}

/* ---- MLP and experts ---- */

static void put_ratio_ffn(hf_reader *reader)
{
    const st_json *ratio = hf_find(reader, "expansion_ratio intermediate_multiple_size");
    double times = 0;
    if (ratio == NULL || ratio->kind != ST_JSON_NUMBER ||
        st_number_parse(ratio->text, strlen(ratio->text), (st_place){0}, &times, NULL) != ST_OK ||
        times < 1 || times > 100)
        return; /* four times the hidden size */
    uint64_t hidden = st_draft_count(reader->draft, ST_KEY_MODEL_HIDDEN);
    st_draft_put_count(reader->draft, ST_KEY_MODEL_FFN, ratio->line,
                       (uint64_t)((double)hidden * times),
                       st_draft_text(reader->draft, "%s times the hidden size", ratio->name));
}

/* Of a hybrid none of whose blocks has any, whatever its file says of them. */
static void pass_over_experts(hf_reader *reader)
{
    static const char *const fields[] = {EXPERTS, TOP_K, EXPERT_FFN, SHARED, SHARED_FFN};
    for (size_t i = 0; i < ST_COUNT(fields); i++)
        (void)hf_find(reader, fields[i]);
}

/* LongCat: some of the experts that a token may choose do nothing; on average they take their
 * share. */
static void put_idle_experts(hf_reader *reader, uint64_t experts, uint64_t visited)
{
    const st_json *node = hf_find(reader, "zero_expert_num");
    uint64_t idle = 0;
    if (node == NULL || !hf_number(reader, node, 0, &idle) || idle == 0 ||
        st_draft_is_given(reader->draft, ST_KEY_MODEL_TOP_K))
        return;
    const uint64_t all = experts + idle;
    if (visited * experts % all != 0) {
        ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, node),
                "the average number of experts that compute is not whole" ST_FOUND
                "%llu of %llu, of which %llu are idle" ST_HINT "set it with --set model.top_k=...",
                (unsigned long long)visited, (unsigned long long)all, (unsigned long long)idle);
        return;
    }
    st_draft_put_count(reader->draft, ST_KEY_MODEL_TOP_K, node->line, visited * experts / all,
                       "those of moe_topk that compute, on average");
    st_draft_note(reader->draft,
                  "Of the %llu experts that a token visits, %llu of %llu are idle "
                  "(zero_expert_num); the average is estimated.",
                  (unsigned long long)visited, (unsigned long long)idle, (unsigned long long)all);
}

static void put_experts(hf_reader *reader)
{
    unsigned traits = reader->family->traits;
    /* A single expert is an MLP, as files say of models that have none. */
    bool has_no_experts = false;
    const st_json *node = hf_find(reader, EXPERTS);
    uint64_t no_experts = 0;
    if (node != NULL && node->kind == ST_JSON_NUMBER && strlen(node->text) <= 1 &&
        (reader->family->traits & HF_MOE) == 0) {
        (void)hf_find(reader, TOP_K);
        (void)hf_find(reader, SHARED);
        has_no_experts = hf_number(reader, node, 0, &no_experts) && no_experts <= 1;
    }
    if (has_no_experts)
        return;
    uint64_t experts = hf_put_field(reader, ST_KEY_MODEL_EXPERTS, EXPERTS, (traits & HF_MOE) != 0);
    if (experts == 0)
        return;
    uint64_t visited = hf_put_field(reader, ST_KEY_MODEL_TOP_K, TOP_K, true);
    if (visited > experts)
        ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, hf_find(reader, TOP_K)),
                "a token cannot visit %llu of %llu experts", (unsigned long long)visited,
                (unsigned long long)experts);
    put_idle_experts(reader, experts, visited);
    bool expert_field = (traits & (HF_DENSE_FFN_MLP | HF_EXPERT_FFN)) != 0;
    /* files with routed experts of this name have dense layers as wide as intermediate_size */
    bool needed =
        expert_field || hf_find(reader, "n_routed_experts") != NULL || hf_has_expert_width(reader);
    hf_put_field(reader, ST_KEY_MODEL_EXPERT_FFN, expert_field ? "intermediate_size" : EXPERT_FFN,
                 needed);
    uint64_t count = 0;
    uint64_t width = st_draft_count(reader->draft, ST_KEY_MODEL_EXPERT_FFN);
    width = width > 0 ? width : st_draft_count(reader->draft, ST_KEY_MODEL_FFN);
    if ((reader->family->traits & HF_DENSE_FFN_MLP) != 0)
        st_draft_put_count(reader->draft, ST_KEY_MODEL_SHARED_FFN, 0, width,
                           hf_of_class(reader, "one shared expert"));
    else if (hf_put_field(reader, ST_KEY_MODEL_SHARED_FFN, SHARED_FFN " share_expert_dim", false) >
             0)
        (void)hf_find(reader, SHARED);
    else if (hf_count(reader, SHARED, 0, &count))
        st_draft_put_count(reader->draft, ST_KEY_MODEL_SHARED_FFN, 0, count * width,
                           "shared experts times the width of an expert");
}

/* ---- embeddings, norms, biases ---- */

static void put_embeddings(hf_reader *reader)
{
    const st_json *tie = hf_find_outer(reader, "tie_word_embeddings tie_embedding");
    bool tied = (reader->family->traits & HF_TIED) != 0;
    bool given = tie != NULL && hf_is_bool(reader, tie);
    hf_put_field(reader, ST_KEY_MODEL_VOCABULARY, "vocab_size padded_vocab_size", true);
    st_draft_put_count(reader->draft, ST_KEY_MODEL_VOCABULARY_MULTIPLE, 0, 1,
                       "vocab_size includes padding");
    /* OPT 350M narrows its embedding: what lies between it and the layers is left out. */
    const st_json *node = hf_find(reader, "word_embed_proj_dim");
    uint64_t width = 0;
    if (node != NULL && hf_number(reader, node, 1, &width) &&
        width != st_draft_count(reader->draft, ST_KEY_MODEL_HIDDEN))
        st_draft_note(reader->draft,
                      "The embedding is narrower than the layers (%s: %llu); it is estimated as "
                      "wide as they are.",
                      node->name, (unsigned long long)width);
    if (given)
        st_draft_put_bool(reader->draft, ST_KEY_MODEL_TIED, tie->text[0] == 't', tie->name);
    else
        st_draft_put_bool(reader->draft, ST_KEY_MODEL_TIED, tied, hf_of_class(reader, "default"));
    hf_positions kind = reader->family->positions;
    bool alibi = (reader->family->traits & HF_ALIBI_FIELD) != 0 && hf_bool(reader, "alibi", false);
    if (kind == HF_ROTARY || alibi) {
        st_draft_put_count(reader->draft, ST_KEY_MODEL_POSITIONS, 0, 0,
                           hf_of_class(reader, "no learned positions"));
        return;
    }
    static const char names[] = "max_position_embeddings n_positions n_ctx max_seq_len";
    const st_json *position_node = hf_find(reader, names);
    uint64_t rows = 0;
    if (position_node == NULL)
        hf_missing(reader, names, ST_KEY_MODEL_POSITIONS);
    else if (hf_number(reader, position_node, 1, &rows))
        st_draft_put_count(
            reader->draft, ST_KEY_MODEL_POSITIONS, position_node->line,
            rows + (kind == HF_LEARNED_OFFSET ? 2 : 0),
            kind == HF_LEARNED_OFFSET
                ? st_draft_text(reader->draft, "%s and an offset of 2", position_node->name)
                : position_node->name);
}

/* ---- the rest of the file ---- */

static void put_type(hf_reader *reader)
{
    static const char *const types[][2] = {{"bfloat16", "bf16"}, {"float16", "fp16"}};
    const st_json *type = hf_find_outer(reader, "torch_dtype dtype");
    const char *text = type != NULL && type->kind == ST_JSON_STRING ? type->text : "";
    const char *name = strncmp(text, "torch.", 6) == 0 ? text + 6 : text;
    for (size_t i = 0; i < ST_COUNT(types); i++)
        if (strcmp(name, types[i][0]) == 0)
            st_draft_put(reader->draft, ST_KEY_PRECISION_WEIGHTS, type->line, types[i][1],
                         st_draft_text(reader->draft, "%s, as stored", type->name));
    if (strcmp(name, "float32") == 0)
        st_draft_note(reader->draft, "The weights are stored in float32; training is assumed to "
                                     "compute in 16 bits (precision.weights).");
}

static void note_rest(hf_reader *reader)
{
    /* The longest sequence; files have several, not always equal. */
    static const char *const names[] = {
        "max_position_embeddings", "n_positions", "n_ctx", "max_seq_len",
        "max_sequence_length",     "seq_length"};
    const st_json *context = NULL;
    for (size_t i = 0; i < ST_COUNT(names); i++) {
        const st_json *node = hf_find(reader, names[i]);
        context = context != NULL ? context : node;
    }
    if (hf_find_outer(reader, "quantization_config compression_config") != NULL)
        st_draft_note(reader->draft, "Left out: the quantization of the stored weights. Set "
                                     "precision.recipe where training computes in FP8 or FP4.");
    if (!st_draft_is_given(reader->draft, ST_KEY_BATCH_SEQUENCE))
        st_draft_note(reader->draft,
                      "The length of the training sequences is not in the file%s%.60s%s",
                      context != NULL ? ": " : "", context != NULL ? context->name : "",
                      context != NULL ? " is the longest that the model accepts." : ".");
    if (reader->draft->request->assume == NULL && reader->draft->errors != NULL)
        hf_refuse_widths(reader);
    hf_remember_keys(reader);
    const char *unknown = hf_list_unknown(reader);
    if (unknown[0] != '\0' && reader->draft->request->strict)
        ST_NOTE(reader->draft, ST_ERR_NAME, hf_place(reader, NULL),
                "fields are neither read nor known as harmless" ST_FOUND "%.1500s" ST_HINT
                "leave out --strict to list them in the job",
                unknown);
    else if (unknown[0] != '\0')
        st_draft_note(reader->draft, "Unknown and left out: %s.", unknown);
}

void hf_read_fields(hf_reader *reader)
{
    const char *letters = hf_hybrid_letters(reader);
    hf_put_layers(reader);
    put_attention(reader);
    bool gated = (reader->family->traits & HF_GATED) != 0;
    unsigned traits = reader->family->traits;
    bool needed = gated && ((traits & HF_MOE) == 0 || hf_find(reader, EXPERT_FFN) == NULL);
    if (hf_put_adjusted_ffn(reader) || hf_put_block_widths(reader))
        ;
    else if ((traits & HF_DENSE_FFN_MLP) != 0)
        hf_put_field(reader, ST_KEY_MODEL_FFN, "intermediate_size_mlp", true);
    else if ((traits & HF_EXPERT_FFN) != 0)
        hf_put_field(reader, ST_KEY_MODEL_FFN, "shared_intermediate_size", true);
    else if (hf_put_field(reader, ST_KEY_MODEL_FFN, FFN, needed) == 0)
        put_ratio_ffn(reader);
    else if (hf_is_recurrent(reader))
        st_draft_put_count(reader->draft, ST_KEY_MODEL_FFN, 0,
                           st_draft_count(reader->draft, ST_KEY_MODEL_FFN) / 2,
                           "half of intermediate_size, as RecurrentGemma has it");
    st_draft_put_bool(reader->draft, ST_KEY_MODEL_GATED, gated, hf_of_class(reader, "MLP"));
    if (letters == NULL || strchr(letters, 'E') != NULL)
        put_experts(reader);
    else
        pass_over_experts(reader);
    if (!hf_read_hybrid(reader))
        hf_read_layers(reader);
    hf_read_extras(reader);
    put_embeddings(reader);
    hf_bias kind = reader->family->bias;
    bool all = hf_bool(reader, "use_bias bias add_bias_linear", kind == HF_BIAS) &&
               !hf_bool(reader, "no_bias", false);
    bool mlp = hf_bool(reader, "mlp_bias", all);
    bool inputs = hf_bool(reader, "attention_bias qkv_bias use_qkv_bias add_qkv_bias",
                          kind == HF_QKV_BIAS || all);
    st_draft_put_bool(reader->draft, ST_KEY_MODEL_BIAS, mlp,
                      kind == HF_BIAS_FIELD && hf_find(reader, "use_bias bias add_bias_linear "
                                                               "no_bias mlp_bias") != NULL
                          ? "biases that the file gives"
                          : hf_of_class(reader, "biases"));
    if (inputs && !mlp)
        st_draft_note(reader->draft, "Biases of the attention are left out: they are too few to "
                                     "matter.");
    const st_json *node = hf_find(reader, "resid_pdrop hidden_dropout dropout resid_dropout "
                                          "hidden_dropout_prob residual_dropout");
    double share = 0;
    if (node != NULL &&
        (node->kind != ST_JSON_NUMBER ||
         st_number_parse(node->text, strlen(node->text), (st_place){0}, &share, NULL) != ST_OK)) {
        ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, node),
                "field '%s' cannot be used" ST_FOUND "%s" ST_EXPECTED "a share from 0 to 1",
                node->name, st_or_none(st_json_describe(node, reader->draft->errors)));
    } else {
        st_draft_put_bool(reader->draft, ST_KEY_MODEL_DROPOUT, share > 0,
                          node != NULL ? node->name : hf_of_class(reader, "no dropout"));
        st_draft_put(reader->draft, ST_KEY_MODEL_NORM, 0,
                     (reader->family->traits & HF_LAYER_NORM) != 0 ? "layer" : "rms",
                     hf_of_class(reader, "norm"));
    }
    hf_read_facts(reader, inputs && !mlp);
    put_type(reader);
    hf_put_name(reader);
    note_rest(reader);
}

st_status st_import_hf(const st_import_request *request, st_buffer *job, st_errors *errors)
{
    st_draft draft;
    hf_reader reader = {.draft = &draft};
    st_arena *arena = st_arena_create();
    if (arena == NULL)
        return st_out_of_memory(errors);
    st_status status = st_draft_start(&draft, request, arena, errors);
    if (status == ST_OK)
        status = st_json_parse(request->file, request->text, request->length, arena, &reader.top,
                               errors);
    if (status == ST_OK) {
        if (reader.top->kind != ST_JSON_MAP) {
            ST_NOTE(reader.draft, ST_ERR_VALUE, hf_place(&reader, reader.top),
                    "not a config.json" ST_FOUND "%s" ST_EXPECTED "a map of fields",
                    st_or_none(st_json_describe(reader.top, draft.errors)));
            status = draft.status;
        } else if (!hf_find_language_model(&reader) || !hf_find_family(&reader)) {
            status = draft.status;
        } else {
            hf_note_other_parts(&reader);
            hf_read_fields(&reader);
            status = st_draft_write(
                &draft,
                st_draft_text(&draft,
                              "From %.200s, a config.json of architecture %.60s, by "
                              "steptime import hf. The comment after each value names its field.",
                              st_draft_source(&draft), reader.name),
                job);
        }
    }
    st_arena_destroy(arena);
    return status;
}

/* ---- architectures ---- */

/* Where a config.json describes its language model, and which architecture that is. */

#define LANGUAGE                                                                                   \
    "text_config language_config llm_config thinker_config language_model text_model_config"

static const char *text_of(const st_json *map, const char *name)
{
    for (const st_json *node = map->first; node != NULL; node = node->next)
        if (strcmp(node->name, name) == 0 && node->kind == ST_JSON_STRING)
            return node->text;
    return NULL;
}

bool hf_find_language_model(hf_reader *reader)
{
    hf_reader quiet = *reader;
    reader->config = reader->top;
    for (int level = 0; level < 4; level++) {
        const char *name = text_of(reader->config, "model_type");
        const char *reason = name != NULL ? hf_refusal(name) : NULL;
        if (reason != NULL)
            ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, NULL),
                    strstr(reason, "the sheet lacks") != NULL
                        ? "architecture '%.60s' is %s"
                        : "architecture '%.60s' is %s" ST_EXPECTED "a decoder-only language model",
                    name, reason);
        if (reason != NULL)
            return false;
        st_json *inner = hf_find(reader, LANGUAGE);
        quiet.config = reader->config;
        if (inner == NULL ||
            (hf_find(&quiet, HF_LAYERS) != NULL && hf_find(&quiet, HF_HIDDEN) != NULL))
            return true;
        if (inner->kind != ST_JSON_MAP) {
            ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, inner),
                    "'%s' cannot be used" ST_FOUND "%s" ST_EXPECTED "a map", inner->name,
                    st_or_none(st_json_describe(inner, reader->draft->errors)));
            return false;
        }
        reader->config = inner;
    }
    return true;
}

/* The known architecture with the most similar fields. */
static const char *built_like(hf_reader *reader)
{
    if (hf_find(reader, "kv_lora_rank") != NULL)
        return "deepseek_v3";
    if (hf_find(reader, "linear_num_value_heads") != NULL)
        return "qwen3_next";
    if (hf_find(reader, "moe_intermediate_size") != NULL)
        return "qwen3_moe";
    return hf_find(reader, "num_local_experts num_experts") != NULL ? "mixtral" : "llama";
}

/* What a reader of the nearest kind would have left over helps to judge an unknown architecture. */
static void refuse_unknown(hf_reader *reader)
{
    char stored[256][ST_IMPORT_HF_NAME];
    const char *names[ST_COUNT(stored)];
    size_t count = 0;
    size_t keys = 0;
    (void)st_keys(&keys);
    for (; count < ST_COUNT(names) && st_import_hf_architecture(count, stored[count]); count++)
        names[count] = stored[count];
    st_draft scratch = *reader->draft;
    hf_reader trial = *reader;
    scratch.errors = NULL;
    scratch.values = st_arena_alloc(scratch.arena, keys, sizeof *scratch.values);
    trial.draft = &scratch;
    trial.family = hf_family_find("llama");
    trial.architecture = "llama";
    if (scratch.values != NULL)
        hf_read_fields(&trial);
    const char *unknown = hf_list_unknown(&trial);
    const char *nearest = st_nearest(reader->name, names, count);
    ST_NOTE(
        reader->draft, ST_ERR_NAME, hf_place(reader, NULL),
        "unknown architecture '%.60s'; fields not understood: %s" ST_HINT "%s", reader->name,
        unknown[0] != '\0' ? unknown : "none",
        nearest != NULL
            ? nearest
            : st_draft_text(reader->draft,
                            "name a known architecture with the same structure, as in --assume %s",
                            built_like(reader)));
}

static bool has_field(const hf_reader *reader, const char *name)
{
    for (const st_json *node = reader->config->first; node != NULL; node = node->next)
        if (strcmp(node->name, name) == 0)
            return true;
    return false;
}

/* Models of images and sounds that no list names show themselves by what they are called. */
static const char *part_by_name(const char *name)
{
    if (strstr(name, "_vision") != NULL || st_ends_in(name, "_vit"))
        return "a vision model by its name";
    if (strstr(name, "_audio") != NULL || strstr(name, "codec") != NULL ||
        st_ends_in(name, "_ctc") || st_ends_in(name, "_asr"))
        return "a speech model by its name";
    return NULL;
}

/* Or by fields: they have no words. */
static const char *part_by_fields(hf_reader *reader)
{
    static const struct {
        const char *field;
        const char *kind;
    } signs[] = {
        {"relative_attention_num_buckets", "an encoder and a decoder"},
        {"encoder_layers", "an encoder and a decoder"},
        {"num_encoder_layers", "an encoder and a decoder"},
        {"type_vocab_size", "an encoder"},
        {"projection_dim", "an encoder"},
        {"num_time_features", "a model of time series"},
        {"num_input_channels", "a model of time series"},
        {"horizon_length", "a model of time series"},
        {"num_queries", "a vision model"},
        {"state_dim", "a model of decisions"},
    };
    if (hf_bool(reader, "is_encoder_decoder", false))
        return "an encoder and a decoder: is_encoder_decoder is true";
    for (size_t i = 0; i < ST_COUNT(signs); i++)
        if (has_field(reader, signs[i].field))
            return st_draft_text(reader->draft, "%s: it has %s", signs[i].kind, signs[i].field);
    bool image = has_field(reader, "image_size") &&
                 (has_field(reader, "patch_size") || has_field(reader, "num_channels"));
    bool sound = has_field(reader, "num_mel_bins") || has_field(reader, "sampling_rate") ||
                 has_field(reader, "feat_extract_norm");
    if (has_field(reader, "vocab_size") || !(image || sound))
        return NULL;
    return image ? "a vision model: it has image_size and no vocab_size"
                 : "a speech model: it has fields of sounds and no vocab_size";
}

/* The first class under 'architectures', such as LlamaForCausalLM; NULL where there is none. */
static const char *class_of(const hf_reader *reader)
{
    for (const st_json *node = reader->top->first; node != NULL; node = node->next)
        if (strcmp(node->name, "architectures") == 0 && node->kind == ST_JSON_LIST &&
            node->first != NULL && node->first->kind == ST_JSON_STRING)
            return node->first->text;
    return NULL;
}

/* LlamaForCausalLM is named after llama, GPTNeoXForCausalLM after gpt_neox. */
static bool is_named_after(const char *class, const char *name)
{
    for (; *name != '\0'; name++) {
        if (*name == '_')
            continue;
        if ((*class | 0x20) != *name)
            return false;
        class ++;
    }
    return true;
}

/* The longest name of an architecture that a class is named after; "llama" if there is none. */
static const char *family_of_class(hf_reader *reader, const char *class)
{
    char name[ST_IMPORT_HF_NAME];
    char best[ST_IMPORT_HF_NAME] = "";
    for (size_t i = 0; class != NULL && st_import_hf_architecture(i, name); i++)
        if (is_named_after(class, name) && strlen(name) > strlen(best))
            memcpy(best, name, sizeof best);
    return best[0] != '\0' ? st_draft_text(reader->draft, "%s", best) : "llama";
}

bool hf_find_family(hf_reader *reader)
{
    st_draft *draft = reader->draft;
    const char *own = text_of(reader->config, "model_type");
    const char *assume = draft->request->assume;
    reader->name = own != NULL ? own : text_of(reader->top, "model_type");
    if (assume != NULL) {
        reader->family = hf_family_find(assume);
        reader->architecture = assume;
        if (reader->family == NULL)
            ST_NOTE(draft, ST_ERR_USAGE, (st_place){.file = "--assume"},
                    "unknown architecture '%.60s'" ST_EXPECTED
                    "one that 'steptime help import hf' lists",
                    assume);
        else if (reader->name == NULL || strcmp(reader->name, assume) != 0)
            st_draft_note(draft, "Read as architecture %s, by --assume; the file says %.60s.",
                          assume, reader->name != NULL ? reader->name : "nothing");
        reader->name = reader->name != NULL ? reader->name : assume;
        return reader->family != NULL;
    }
    const char *class = class_of(reader);
    const char *shown = reader->name != NULL ? reader->name
                        : class != NULL      ? class
                                             : "without name";
    if (hf_family_find(shown) == NULL) {
        const char *part = part_by_fields(reader);
        part = part != NULL ? part : part_by_name(shown);
        if (part != NULL)
            ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, NULL),
                    "architecture '%.60s' is %s" ST_EXPECTED "a decoder-only language model", shown,
                    part);
        if (part != NULL)
            return false;
    }
    if (reader->name == NULL || reader->name[0] == '\0') {
        st_errors *errors = reader->draft->errors;
        const char *diffusers = text_of(reader->top, "_class_name");
        st_place place = hf_place(reader, NULL);
        st_status status =
            diffusers != NULL
                ? st_fail(errors, ST_ERR_NAME, place,
                          "a diffusion model (%.60s of diffusers), not a language model" ST_EXPECTED
                          "a field 'model_type'" ST_HINT
                          "write its layers down and use 'steptime import layers'",
                          diffusers)
                : st_fail(errors, ST_ERR_NAME, place,
                          "the file does not name its architecture%s%.60s%s" ST_EXPECTED
                          "a field 'model_type'" ST_HINT "name it, as in --assume %s",
                          class != NULL ? ", only its class '" : "", st_or_none(class),
                          class != NULL ? "'" : "", family_of_class(reader, class));
        st_note(&reader->draft->status, status);
        return false;
    }
    reader->family = hf_family_find(reader->name);
    reader->architecture = reader->name;
    if (reader->family == NULL)
        refuse_unknown(reader);
    return reader->family != NULL;
}
