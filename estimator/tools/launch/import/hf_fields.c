/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of a config.json: finding them under their many names, and reading their values. */
#include "launch/import/hf.h"
#include "base/word_sets.h"

#include "steptime/keys.h"
#include "steptime/quantity.h"

#include <math.h>
#include <string.h>

st_place hf_place(const hf_reader *reader, const st_json *node)
{
    return (st_place){.file = reader->draft->request->file, .line = node != NULL ? node->line : 0};
}

static bool same_scalar(const st_json *a, const st_json *b)
{
    return a->kind == b->kind && a->text != NULL && b->text != NULL &&
           strcmp(a->text, b->text) == 0;
}

/* The number of a list that has one for every layer, where all are the same; else the node. A list
 * of one is none of these. */
static const st_json *same_of_all(const st_json *node)
{
    const st_json *first = node->kind == ST_JSON_LIST ? node->first : NULL;
    for (const st_json *entry = first; entry != NULL; entry = entry->next)
        if (!same_scalar(first, entry))
            return node;
    return first != NULL && first->next != NULL ? first : node;
}

/* Looks through one map; `found` is what earlier maps gave. */
static st_json *find_in(hf_reader *reader, st_json *map, const char *names, st_json *found)
{
    st_errors *errors = reader->draft->errors;
    for (st_json *node = map->first; node != NULL; node = node->next) {
        if (!st_has_word(names, node->name))
            continue;
        node->used = true;
        if (node->kind == ST_JSON_NULL)
            continue;
        if (found != NULL && !same_scalar(same_of_all(found), same_of_all(node))) {
            ST_NOTE(
                reader->draft, ST_ERR_VALUE, hf_place(reader, node),
                "%s" ST_FOUND "%s and %s" ST_EXPECTED "one value",
                st_or_none(strcmp(found->name, node->name) == 0
                               ? st_errors_text(errors,
                                                "field '%s' is given twice with different values",
                                                node->name)
                               : st_errors_text(errors, "'%s' and '%s' mean the same and differ",
                                                found->name, node->name)),
                st_json_describe(found, errors), st_json_describe(node, errors));
            return found;
        }
        found = found != NULL ? found : node;
    }
    return found;
}

st_json *hf_find(hf_reader *reader, const char *names)
{
    st_json *found = find_in(reader, reader->config, names, NULL);
    for (st_json *node = reader->config->first; node != NULL && found == NULL; node = node->next)
        if (node->kind == ST_JSON_MAP && st_has_word("attn_config ffn_config", node->name)) {
            node->used = true;
            found = find_in(reader, node, names, found);
        }
    return found;
}

void hf_pass_over(hf_reader *reader, const char *names)
{
    for (st_json *node = reader->config->first; node != NULL; node = node->next)
        node->used = node->used || st_has_word(names, node->name);
}

st_json *hf_find_outer(hf_reader *reader, const char *names)
{
    st_json *found = hf_find(reader, names);
    return found != NULL ? found : find_in(reader, reader->top, names, NULL);
}

static bool read_number(hf_reader *reader, const st_json *node, const char *name, uint64_t least,
                        uint64_t *value)
{
    double number = 0;
    st_errors *errors = reader->draft->errors;
    const st_json *one = same_of_all(node);
    bool is_number =
        one->kind == ST_JSON_NUMBER &&
        st_number_parse(one->text, strlen(one->text), (st_place){0}, &number, NULL) == ST_OK &&
        number == floor(number) && number >= (double)least && number <= 1e9;
    if (is_number) {
        const uint64_t layers = st_draft_count(reader->draft, ST_KEY_MODEL_LAYERS);
        if (one != node && layers > 0)
            hf_check_length(reader, node, layers);
        *value = (uint64_t)number;
        return true;
    }
    st_note(&reader->draft->status,
            st_fail(reader->draft->errors, ST_ERR_VALUE, hf_place(reader, node),
                    "field '%s' cannot be used" ST_FOUND "%s" ST_EXPECTED
                    "a whole number from %llu to 1e9" ST_HINT "%s",
                    name, st_or_none(st_json_describe(node, errors)), (unsigned long long)least,
                    node->kind == ST_JSON_LIST
                        ? "layers that differ from each other are not modelled"
                        : ""));
    return false;
}

bool hf_number(hf_reader *reader, const st_json *node, uint64_t least, uint64_t *value)
{
    return read_number(reader, node, node->name, least, value);
}

bool hf_entry(hf_reader *reader, const st_json *list, const st_json *entry, uint64_t *value)
{
    return read_number(reader, entry, list->name, 0, value);
}

bool hf_layer(hf_reader *reader, const st_json *list, const st_json *entry, uint64_t first,
              uint64_t count, uint64_t *layer)
{
    uint64_t named = 0;
    if (!hf_entry(reader, list, entry, &named))
        return false;
    *layer = named - first;
    if (named >= first && *layer < count)
        return true;
    ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, entry),
            "%s: unknown layer %llu" ST_EXPECTED "from %llu to %llu", list->name,
            (unsigned long long)named, (unsigned long long)first,
            (unsigned long long)(first + count - 1));
    return false;
}

bool hf_count(hf_reader *reader, const char *names, uint64_t least, uint64_t *value)
{
    const st_json *node = hf_find(reader, names);
    return node != NULL && hf_number(reader, node, least, value);
}

bool hf_is_bool(hf_reader *reader, const st_json *node)
{
    if (node->kind == ST_JSON_BOOL)
        return true;
    ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, node),
            "field '%s' cannot be used" ST_FOUND "%s" ST_EXPECTED "true or false", node->name,
            st_or_none(st_json_describe(node, reader->draft->errors)));
    return false;
}

bool hf_bool(hf_reader *reader, const char *names, bool missing)
{
    const st_json *node = hf_find(reader, names);
    return node != NULL && hf_is_bool(reader, node) ? node->text[0] == 't' : missing;
}

/* Layers of multi-token prediction, which some lists count behind the others. */
static uint64_t prediction_layers(hf_reader *reader)
{
    uint64_t depth = 0;
    return hf_count(reader, "num_nextn_predict_layers", 0, &depth) ? depth : 0;
}

void hf_check_length(hf_reader *reader, const st_json *list, uint64_t layers)
{
    uint64_t count = 0;
    for (const st_json *node = list->first; node != NULL; node = node->next)
        count++;
    if (count != layers && count != layers + prediction_layers(reader))
        ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, list),
                "%s lists %llu layers, the model has %llu", list->name, (unsigned long long)count,
                (unsigned long long)layers);
}

/* ---- fields that are keys ---- */

static const char *first_word(hf_reader *reader, const char *words)
{
    return st_draft_text(reader->draft, "%.*s", (int)strcspn(words, " "), words);
}

void hf_missing(hf_reader *reader, const char *names, const char *path)
{
    st_errors *errors = reader->draft->errors;
    if (st_draft_is_given(reader->draft, path))
        return;
    st_note(
        &reader->draft->status,
        st_fail(reader->draft->errors, ST_ERR_NAME,
                hf_place(reader, reader->config == reader->top ? NULL : reader->config),
                "field '%s' is missing%s%s" ST_EXPECTED "%s" ST_HINT "set it with --set %s=...",
                first_word(reader, names), reader->config->name != NULL ? " in " : "",
                reader->config->name != NULL ? reader->config->name : "",
                st_or_none(strchr(names, ' ') != NULL ? st_errors_text(errors, "one of %s", names)
                                                      : NULL),
                path));
}

const char *hf_of_class(hf_reader *reader, const char *what)
{
    return st_draft_text(reader->draft, "%s of architecture %s", what, reader->architecture);
}

/* Fields whose null has no default in transformers: a model of such a file cannot be built. */
static const char never_null[] =
    "d_model hidden_size intermediate_size moe_intermediate_size n_embd n_head n_layer "
    "num_attention_heads num_experts_per_tok num_hidden_layers shared_intermediate_size vocab_size";

static bool is_null(hf_reader *reader, const char *path, const char *names)
{
    for (const st_json *node = reader->config->first; node != NULL; node = node->next)
        if (node->kind == ST_JSON_NULL && st_has_word(names, node->name) &&
            st_has_word(never_null, node->name) && !st_draft_is_given(reader->draft, path)) {
            ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, node),
                    "field '%s' is null" ST_EXPECTED "a whole number" ST_HINT
                    "set it with --set %s=...",
                    node->name, path);
            return true;
        }
    return false;
}

/* A field that is a count of the model; its value, 0 where it is missing. */
uint64_t hf_put_field(hf_reader *reader, const char *path, const char *names, bool needed)
{
    uint64_t value = 0;
    const st_json *node = hf_find(reader, names);
    /* An MLP without a gate is four times as wide as the model where its width is null. */
    if (node == NULL && (needed || strcmp(path, ST_KEY_MODEL_FFN) != 0) &&
        is_null(reader, path, names))
        return 0;
    uint64_t unsaid = node == NULL ? hf_class_default(reader, path) : 0;
    if (unsaid > 0)
        st_draft_put_count(reader->draft, path, 0, unsaid,
                           hf_of_class(reader, "missing in the file; default"));
    else if (node == NULL && needed)
        hf_missing(reader, names, path);
    else if (node != NULL && hf_number(reader, node, needed ? 1 : 0, &value))
        st_draft_put_count(reader->draft, path, node->line, value, node->name);
    return st_draft_count(reader->draft, path);
}

/* ---- what is left over ---- */

/* Fields that a step's time does not depend on. */
static const char harmless[] =
    "activation activation_function add_classification_head add_cross_attention "
    "apply_residual_connection_post_layernorm architectures attention_chunk_size "
    "attention_dropout attention_logit_softcapping attention_out_bias attention_softmax_in_fp32 "
    "attention_value_scale attn_implementation attn_logit_softcapping attn_pdrop attn_rotary_emb "
    "attn_scale attn_temperature_tuning auto_map bad_words_ids begin_suppress_tokens "
    "cache_implementation chunk_size chunk_size_feed_forward cla_share_factor class_num "
    "classifier_dropout clip_qkv compress_rope_theta conv_L_cache conv_bias conv_dim conv_dim_out "
    "conv_kernel cross_attention_hidden_size dense_list diversity_penalty do_layer_norm_before "
    "do_sample early_stopping embd_pdrop embed_dim_dropout embed_dropout embedding_dropout "
    "embedding_fraction enable_moe_fp32_combine encoder_no_repeat_ngram_size ep_size expand "
    "expert_dtype exponential_decay_length_penalty final_logit_softcapping finetuning_task "
    "floor_scale full_attention_interval full_attn_mod gradient_checkpointing "
    "group_limited_greedy head_dim head_dtype head_type hidden_act hidden_activation "
    "hybrid_layer_pattern id2label indexer_rope_interleave init_config init_device init_method "
    "init_method_std init_std initial_context_length initializer_range interpolate_factor "
    "is_composition is_decoder is_encoder_decoder label2id layer_norm_elementwise_affine "
    "layer_norm_epsilon layer_rope_theta layer_switch layerdrop learned_pos_emb length_penalty "
    "linear_conv_kernel_dim lm_head_bias logit_scale logits_scaling masked_softmax_fusion "
    "max_length max_position_embeddings max_seq_len max_window_layers min_length mla_use_nope "
    "mlp_expansion_factor mlp_hidden_act mlp_type model_max_length model_type moe_capacity "
    "moe_drop_tokens moe_gate moe_layers moe_random_routing_dropped_token moe_renormalize "
    "moe_use_aux_free mscale mtp_hybrid_override_pattern mtp_layers_block_type "
    "mtp_transformer_layers mtp_use_dedicated_embeddings mup_enabled n_ctx n_group n_positions "
    "no_repeat_ngram_size no_rope_layer_interval no_rope_layers norm_after_gate norm_before_gate "
    "norm_topk_prob norm_type normalization_function num_beam_groups num_beams num_hash_layers "
    "num_key_value_heads num_labels num_ln_in_parallel_attn num_logits_to_keep num_media_embeds "
    "num_return_sequences offset_alibi order_of_interleaved_layers "
    "original_max_position_embeddings output_attentions output_dropout output_hidden_states "
    "output_router_logits output_scores parallel_attn partial_rotary_factor pool_type "
    "position_embedding_type position_embedding_xdrope postnorm prefix pretraining_tp "
    "problem_type projectors_bias pruned_heads qk_layernorm qk_norm_type query_pre_attn_scalar "
    "remove_invalid_values reorder_and_upcast_attn repetition_penalty rescale_prenorm_residual "
    "residual_in_fp32 return_dict return_dict_in_generate rms_norm rotary_dim rotary_emb_base "
    "rotary_pct route_scale routed_scaling_factor scale_attention_softmax_in_fp32 "
    "scale_attn_by_inverse_layer_idx scale_attn_weights score_func score_function scoring_func "
    "seq_aux seq_length shared_moe_mode slow_but_exact suppress_tokens swiglu_limit "
    "task_specific_params temperature tf_legacy_loss tie_encoder_decoder tokenizer_class top_k "
    "top_p topk_group topk_method torchscript transformers_version typical_p unsloth_fixed "
    "unsloth_version use_bfloat16 use_cache use_conv_bias use_embedding_sharing use_expert_bias "
    "use_flash_attn use_gated_activation use_grouped_topk use_mamba_kernels use_mixed_mlp_moe "
    "use_mla use_mrope use_parallel_block use_parallel_embedding use_parallel_residual "
    "use_pos_enc use_qk_norm use_return_dict use_rmsnorm use_rotary_pos_emb use_routing_bias "
    "use_sliding_window verbose";

static bool is_harmless(const char *name)
{
    static const char *const starts[] = {
        "rope_",       "summary_",    "router_",    "_",         "aux_loss", "mamba_",
        "moe_router_", "hc_sinkhorn", "time_step_", "ssm_",      "mrope_",   "altup_",
        "conv_use_",   "block_",      "layernorm_", "mlp_alpha", "mlp_beta"};
    static const char *const ends[] = {"_token_id", "_token_ids",   "_coef",       "_alpha",
                                       "_eps",      "_token_index", "_multiplier", "_multipliers"};
    for (size_t i = 0; i < ST_COUNT(starts); i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    for (size_t i = 0; i < ST_COUNT(ends); i++)
        if (st_ends_in(name, ends[i]))
            return true;
    return st_has_word(harmless, name);
}

/* Names of widths and counts, whose model is another one where they are ignored. */
static bool is_width(const st_json *node)
{
    static const char *const ends[] = {"_size",    "_dim",   "_dims",   "_rank",   "_heads",
                                       "_experts", "_width", "_layers", "_groups", "_channels"};
    /* A list for the layers, or a map of what other layers have. */
    const bool is_list = node->kind == ST_JSON_LIST && node->first != NULL &&
                         node->first->kind == ST_JSON_NUMBER && node->first->text[0] != '-';
    if (!is_list &&
        (node->kind != ST_JSON_NUMBER || strcmp(node->text, "0") == 0 || node->text[0] == '-'))
        return false;
    for (size_t i = 0; i < ST_COUNT(ends); i++)
        if (st_ends_in(node->name, ends[i]))
            return true;
    return false;
}

static bool has_width(const st_json *map)
{
    for (const st_json *node = map->kind == ST_JSON_MAP ? map->first : NULL; node != NULL;
         node = node->next)
        if (is_width(node))
            return true;
    return false;
}

void hf_refuse_widths(hf_reader *reader)
{
    const char *noted = NULL;
    for (st_json *node = reader->config->first; node != NULL; node = node->next) {
        bool is_unused = false;
        const char *note = hf_unused(reader, node->name, &is_unused);
        node->used = node->used || is_unused;
        if (note != NULL && note != noted)
            st_draft_note(reader->draft, "%s", note);
        noted = note != NULL ? note : noted;
        const bool shapes = is_width(node) || (!st_ends_in(node->name, "_config") &&
                                               !st_ends_in(node->name, "_map") && has_width(node));
        if (!node->used && shapes && !is_harmless(node->name))
            ST_NOTE(reader->draft, ST_ERR_NAME, hf_place(reader, node),
                    "field '%s' is a width or a count that is not understood" ST_FOUND
                    "%.40s" ST_HINT
                    "--assume %s reads the file without it, where it does not shape layers",
                    node->name, st_or_none(st_json_describe(node, reader->draft->errors)),
                    reader->architecture);
    }
}

static st_key_fate fate_of(const st_json *node)
{
    const bool is_known =
        node->kind == ST_JSON_NULL || is_harmless(node->name) || st_ends_in(node->name, "_config");
    return node->used ? ST_FATE_READ : is_known ? ST_FATE_HARMLESS : ST_FATE_UNKNOWN;
}

void hf_remember_keys(hf_reader *reader)
{
    const bool is_inner = reader->config != reader->top;
    for (const st_json *node = reader->top->first; node != NULL; node = node->next)
        st_draft_key(reader->draft, node->name, node->text, node->line, fate_of(node));
    for (const st_json *node = is_inner ? reader->config->first : NULL; node != NULL;
         node = node->next)
        st_draft_key(reader->draft,
                     st_draft_text(reader->draft, "%s.%s", reader->config->name, node->name),
                     node->text, node->line, fate_of(node));
}

const char *hf_list_unknown(hf_reader *reader)
{
    enum { SHOWN = 40 };
    st_buffer names = {0};
    size_t count = 0;
    for (const st_json *node = reader->config->first; node != NULL; node = node->next)
        if (fate_of(node) == ST_FATE_UNKNOWN && ++count <= SHOWN)
            st_buffer_printf(&names, "%s%.80s", count > 1 ? ", " : "", node->name);
    if (count > SHOWN)
        st_buffer_printf(&names, " and %zu more", count - SHOWN);
    return st_draft_keep(reader->draft, &names);
}
