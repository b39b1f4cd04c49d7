/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers whose mixer is neither softmax attention nor Mamba: gated delta nets, Kimi delta
 * attention, lightning attention, short convolutions. A model has one of these kinds.
 */
#include "launch/import/hf.h"

#include "steptime/keys.h"

#include <string.h>

/* A layer that no list has named so far. */
#define NOWHERE '\0'

enum { LINEAR = HF_CHANNEL_DELTA | HF_LIGHTNING | HF_CONVOLUTION | HF_RECURRENT };

bool hf_needs_linear(const hf_reader *reader)
{
    return (reader->family->traits & LINEAR) != 0;
}

bool hf_has_linear(hf_reader *reader)
{
    return hf_needs_linear(reader) || hf_find(reader, "linear_num_value_heads") != NULL ||
           hf_find(reader, "full_attention_interval") != NULL;
}

/* ---- which layers ---- */

/* Layers of a list of numbers, counted from `first`; false if it is faulty. */
static bool mark(hf_reader *reader, const st_json *list, uint64_t first, char letter, char *mixers,
                 size_t count)
{
    uint64_t layer = 0;
    if (list->kind != ST_JSON_LIST) {
        ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, list),
                "field '%s' cannot be used" ST_FOUND "%s" ST_EXPECTED "a list of layers",
                list->name, st_or_none(st_json_describe(list, reader->draft->errors)));
        return false;
    }
    for (const st_json *node = list->first; node != NULL; node = node->next) {
        if (!hf_layer(reader, list, node, first, count, &layer))
            return false;
        if (mixers[layer] != NOWHERE && mixers[layer] != letter) {
            ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, node),
                    "layer %llu is in both full_attn_layers and kda_layers" ST_EXPECTED
                    "one of them",
                    (unsigned long long)(layer + first));
            return false;
        }
        mixers[layer] = letter;
    }
    return true;
}

/* The map that Kimi Linear describes its layers in, or `nothing`, which is empty. */
static hf_reader inner_of(hf_reader *reader, st_json *nothing)
{
    hf_reader inner = *reader;
    st_json *map = hf_find(reader, "linear_attn_config");
    *nothing = (st_json){.kind = ST_JSON_MAP};
    inner.config = map != NULL && map->kind == ST_JSON_MAP ? map : nothing;
    return inner;
}

bool hf_linear_layers(hf_reader *reader, char *mixers, size_t count)
{
    st_json nothing;
    hf_reader inner = inner_of(reader, &nothing);
    const st_json *types = hf_find(reader, "attn_type_list");
    const st_json *full = hf_find(reader, "full_attn_idxs");
    bool divided =
        hf_find(&inner, "full_attn_layers") != NULL || hf_find(&inner, "kda_layers") != NULL;
    if (types != NULL && types->kind == ST_JSON_LIST) {
        /* MiniMax: 1 for softmax attention. */
        size_t i = 0;
        hf_check_length(reader, types, count);
        for (const st_json *node = types->first; node != NULL && i < count; node = node->next) {
            uint64_t softmax = 0;
            if (!hf_entry(reader, types, node, &softmax))
                break;
            if (softmax == 0 && !hf_has_linear(reader)) {
                st_note(&reader->draft->status,
                        st_fail(reader->draft->errors, ST_ERR_VALUE, hf_place(reader, node),
                                "%s has layers that are not modelled (lightning attention)" ST_FOUND
                                "0" ST_EXPECTED "1, softmax attention, in each",
                                types->name));
                break;
            }
            mixers[i++] = softmax == 0 ? 'g' : 'd';
        }
        return true;
    }
    if (full == NULL && !divided)
        return false;
    memset(mixers, NOWHERE, count);
    if (full != NULL) {
        (void)mark(reader, full, 0, 'd', mixers, count);
    } else {
        /* Kimi Linear: two lists that name each layer, counted from 1, once. */
        const st_json *divided_full = hf_find(&inner, "full_attn_layers");
        const st_json *delta = hf_find(&inner, "kda_layers");
        if (divided_full == NULL)
            hf_missing(&inner, "full_attn_layers", ST_KEY_MODEL_PATTERN);
        if (delta == NULL)
            hf_missing(&inner, "kda_layers", ST_KEY_MODEL_PATTERN);
        if (divided_full != NULL && delta != NULL &&
            mark(&inner, divided_full, 1, 'd', mixers, count) &&
            mark(&inner, delta, 1, 'g', mixers, count)) {
            const char *left = memchr(mixers, NOWHERE, count);
            if (left != NULL)
                ST_NOTE(inner.draft, ST_ERR_VALUE, hf_place(&inner, delta),
                        "layer %llu is neither in full_attn_layers nor in kda_layers" ST_EXPECTED
                        "one of them",
                        (unsigned long long)(left - mixers + 1));
        }
    }
    for (size_t i = 0; i < count; i++)
        mixers[i] = mixers[i] == NOWHERE ? 'g' : mixers[i];
    return true;
}

/* ---- the keys ---- */

static void put_rule(hf_reader *reader, const char *rule)
{
    st_draft_put(reader->draft, ST_KEY_MODEL_DELTA_RULE, 0, rule, hf_of_class(reader, "class"));
}

/* As many heads of keys as of values, and as wide. */
static void put_heads(hf_reader *reader, uint64_t heads, uint64_t width, const char *origin)
{
    st_draft *draft = reader->draft;
    st_draft_put_count(draft, ST_KEY_MODEL_DELTA_V_HEADS, 0, heads, origin);
    st_draft_put_count(draft, ST_KEY_MODEL_DELTA_V_DIM, 0, width, origin);
    if ((reader->family->traits & (HF_CONVOLUTION | HF_RECURRENT)) != 0)
        return;
    st_draft_put_count(draft, ST_KEY_MODEL_DELTA_K_HEADS, 0, heads, origin);
    st_draft_put_count(draft, ST_KEY_MODEL_DELTA_K_DIM, 0, width, origin);
}

/* Of the width of the hidden size, or of the attention's heads. */
static void put_like_attention(hf_reader *reader, const char *rule)
{
    st_draft *draft = reader->draft;
    uint64_t heads = st_draft_count(draft, ST_KEY_MODEL_HEADS);
    uint64_t width = st_draft_count(draft, ST_KEY_MODEL_HEAD_DIM);
    if (heads > 0 && width == 0)
        width = st_draft_count(draft, ST_KEY_MODEL_HIDDEN) / heads;
    put_rule(reader, rule);
    put_heads(reader, heads, width, "heads of the attention");
}

void hf_put_linear(hf_reader *reader)
{
    unsigned traits = reader->family->traits;
    if ((traits & HF_CHANNEL_DELTA) != 0) {
        st_json nothing;
        hf_reader inner = inner_of(reader, &nothing);
        uint64_t heads = 0;
        uint64_t width = 0;
        (void)hf_find(&inner, "short_conv_kernel_size");
        if (!hf_count(&inner, "num_heads", 1, &heads))
            hf_missing(&inner, "num_heads", ST_KEY_MODEL_DELTA_V_HEADS);
        if (!hf_count(&inner, "head_dim", 1, &width))
            hf_missing(&inner, "head_dim", ST_KEY_MODEL_DELTA_V_DIM);
        if (heads != 0 && width != 0) {
            put_rule(reader, "channel_delta");
            put_heads(reader, heads, width, "linear_attn_config");
            st_draft_put_count(reader->draft, ST_KEY_MODEL_DELTA_RANK, 0, width,
                               "head_dim of linear_attn_config, the rank of decays and gate");
        }
    } else if ((traits & HF_LIGHTNING) != 0) {
        put_like_attention(reader, "lightning");
    } else if ((traits & HF_CONVOLUTION) != 0) {
        put_like_attention(reader, "convolution");
    } else if ((traits & HF_RECURRENT) != 0) {
        uint64_t heads = st_draft_count(reader->draft, ST_KEY_MODEL_HEADS);
        uint64_t width = st_draft_count(reader->draft, ST_KEY_MODEL_HIDDEN);
        const st_json *node = hf_find(reader, "lru_width");
        if (node != NULL && !hf_number(reader, node, 1, &width))
            return;
        if (heads > 0 && width % heads != 0)
            ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, node),
                    "the width of the recurrent unit is not a multiple of its heads" ST_FOUND
                    "%llu and %llu heads",
                    (unsigned long long)width, (unsigned long long)heads);
        put_rule(reader, "rg_lru");
        put_heads(reader, heads, heads > 0 ? width / heads : 0,
                  node != NULL ? "lru_width" : "hidden_size, default of lru_width");
    } else {
        hf_put_field(reader, ST_KEY_MODEL_DELTA_K_HEADS, "linear_num_key_heads", true);
        hf_put_field(reader, ST_KEY_MODEL_DELTA_V_HEADS, "linear_num_value_heads", true);
        hf_put_field(reader, ST_KEY_MODEL_DELTA_K_DIM, "linear_key_head_dim", true);
        hf_put_field(reader, ST_KEY_MODEL_DELTA_V_DIM, "linear_value_head_dim", true);
        return;
    }
    if ((traits & (HF_CONVOLUTION | HF_RECURRENT)) == 0)
        st_draft_note(reader->draft,
                      "The kernels of %s are estimated as those of a gated delta net with one "
                      "decay per head; no measured step of such a model was compared.",
                      (traits & HF_LIGHTNING) != 0 ? "lightning attention"
                                                   : "Kimi delta attention");
}

/* ---- LFM2's MLP ---- */

bool hf_put_adjusted_ffn(hf_reader *reader)
{
    uint64_t width = 0;
    uint64_t multiple = 256;
    if (strcmp(reader->architecture, "lfm2") != 0)
        return false;
    const st_json *node = hf_find(reader, "block_ff_dim"); /* goes before the other */
    const st_json *other = hf_find(reader, "intermediate_size");
    node = node != NULL ? node : other;
    if (node == NULL || !hf_number(reader, node, 1, &width) ||
        !hf_bool(reader, "block_auto_adjust_ff_dim", true))
        return false;
    (void)hf_count(reader, "block_multiple_of", 1, &multiple);
    width = 2 * width / 3;
    /* What the two thirds are multiplied by; 1 where the file says nothing. */
    double ffn_multiplier = 1;
    const st_json *multiplier_node = hf_find(reader, "block_ffn_dim_multiplier");
    double multiplier = 1;
    if (multiplier_node != NULL && multiplier_node->kind != ST_JSON_NULL) {
        if (multiplier_node->kind != ST_JSON_NUMBER ||
            st_number_parse(multiplier_node->text, strlen(multiplier_node->text),
                            hf_place(reader, multiplier_node), &multiplier, NULL) != ST_OK ||
            !(multiplier > 0 && multiplier <= 1000))
            ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, multiplier_node),
                    "block_ffn_dim_multiplier is out of range" ST_EXPECTED "above 0, at most 1000");
        else
            ffn_multiplier = multiplier;
    }
    width = (uint64_t)(ffn_multiplier * (double)width);
    width = (width + multiple - 1) / multiple * multiple;
    st_draft_put_count(reader->draft, ST_KEY_MODEL_FFN, node->line, width,
                       st_draft_text(reader->draft, "two thirds of %s, in multiples of %llu",
                                     node->name, (unsigned long long)multiple));
    return true;
}
