/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks beyond attention over all keys and an MLP: keys that are compressed or chosen by an
 * indexer, sinks and gates, multi-token prediction.
 */
#include "launch/import/hf.h"

#include "steptime/keys.h"

#include <string.h>

#define MTP                                                                                        \
    "num_nextn_predict_layers mtp_num_hidden_layers mtp_num_layers num_mtp_modules "               \
    "num_mtp_layers"

/* ---- compressed keys ---- */

typedef struct key_ratios {
    uint64_t indexed; /* layers whose keys an indexer chooses from */
    uint64_t index_ratio;
    uint64_t compressed; /* layers that see all compressed keys */
    uint64_t ratio;
} key_ratios;

static bool put_ratio(hf_reader *reader, const st_json *node, uint64_t ratio, key_ratios *ratios)
{
    enum { INDEXED = 4 }; /* DeepSeek-V4 gives layers of this ratio an indexer */
    uint64_t *known = ratio == INDEXED ? &ratios->index_ratio : &ratios->ratio;
    if (ratio == 0)
        return true;
    if (*known != 0 && *known != ratio) {
        ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, node),
                "compress_ratios has two ratios without an indexer" ST_FOUND
                "%llu and %llu" ST_EXPECTED "one",
                (unsigned long long)*known, (unsigned long long)ratio);
        return false;
    }
    *known = ratio;
    *(ratio == INDEXED ? &ratios->indexed : &ratios->compressed) += 1;
    return true;
}

/* Entries beyond the model's layers are those of multi-token prediction. */
static void read_ratios(hf_reader *reader, key_ratios *ratios)
{
    const st_json *list = hf_find(reader, "compress_ratios");
    uint64_t layers = st_draft_count(reader->draft, ST_KEY_MODEL_LAYERS);
    uint64_t count = 0;
    for (const st_json *node = list != NULL ? list->first : NULL; node != NULL && count < layers;
         node = node->next, count++) {
        uint64_t ratio = 0;
        if (!hf_entry(reader, list, node, &ratio) || !put_ratio(reader, node, ratio, ratios))
            return;
    }
    if (list != NULL && count < layers)
        ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, list),
                "compress_ratios lists %llu layers, the model has %llu", (unsigned long long)count,
                (unsigned long long)layers);
}

void hf_read_shared_kv(hf_reader *reader)
{
    st_draft *draft = reader->draft;
    uint64_t width = 0;
    uint64_t rotary = hf_put_field(reader, ST_KEY_MODEL_ROPE_DIM, "qk_rope_head_dim", true);
    if (hf_count(reader, "head_dim", rotary + 1, &width)) {
        st_draft_put_count(draft, ST_KEY_MODEL_HEAD_DIM, 0, width - rotary,
                           "head_dim without qk_rope_head_dim");
        st_draft_put_count(draft, ST_KEY_MODEL_V_DIM, 0, width, "head_dim");
        st_draft_put_count(draft, ST_KEY_MODEL_KV_LORA, 0, width, "head_dim: keys are the values");
    } else {
        hf_put_field(reader, ST_KEY_MODEL_HEAD_DIM, "head_dim", true);
    }
    hf_put_field(reader, ST_KEY_MODEL_KV_HEADS, "num_key_value_heads", true);
    hf_put_field(reader, ST_KEY_MODEL_Q_LORA, "q_lora_rank", true);
    hf_put_field(reader, ST_KEY_MODEL_O_LORA, "o_lora_rank", true);
    hf_put_field(reader, ST_KEY_MODEL_O_GROUPS, "o_groups", true);
    hf_put_field(reader, ST_KEY_MODEL_WINDOW, "sliding_window", true);
    st_draft *ratio_draft = reader->draft;
    const st_json *list = hf_find(reader, "compress_ratios");
    const char *origin = list != NULL ? "compress_ratios" : "layer_types and compress_rates";
    key_ratios ratios = {0};
    if (list != NULL) {
        read_ratios(reader, &ratios);
    } else {
        /* The same as names, with a map of their ratios. */
        const st_json *ratio_list = hf_find(reader, "layer_types");
        const st_json *rates = hf_find(reader, "compress_rates");
        for (const st_json *node = ratio_list != NULL ? ratio_list->first : NULL; node != NULL;
             node = node->next) {
            ratios.indexed += strcmp(hf_text(node), "compressed_sparse_attention") == 0 ? 1 : 0;
            ratios.compressed += strcmp(hf_text(node), "heavily_compressed_attention") == 0 ? 1 : 0;
        }
        for (const st_json *rate = rates != NULL ? rates->first : NULL; rate != NULL;
             rate = rate->next) {
            uint64_t value = 0;
            if (!hf_number(reader, rate, 1, &value))
                break;
            if (strcmp(rate->name, "compressed_sparse_attention") == 0)
                ratios.index_ratio = value;
            else if (strcmp(rate->name, "heavily_compressed_attention") == 0)
                ratios.ratio = value;
        }
    }
    if (ratios.indexed > 0) {
        st_draft_put_count(ratio_draft, ST_KEY_MODEL_INDEX_LAYERS, 0, ratios.indexed, origin);
        st_draft_put_count(ratio_draft, ST_KEY_MODEL_INDEX_COMPRESSION, 0, ratios.index_ratio,
                           origin);
    }
    if (ratios.compressed > 0) {
        st_draft_put_count(ratio_draft, ST_KEY_MODEL_COMPRESSED_LAYERS, 0, ratios.compressed,
                           origin);
        st_draft_put_count(ratio_draft, ST_KEY_MODEL_COMPRESSION, 0, ratios.ratio, origin);
    }
}

/* ---- the rest ---- */

/* Gemma 3n: per-layer embeddings, parallel residual streams (AltUp), a linear path parallel to
 * attention (LAuReL). */
static void put_layer_embeddings(hf_reader *reader)
{
    st_draft *draft = reader->draft;
    if (hf_put_field(reader, ST_KEY_MODEL_LAYER_EMBEDDING, "hidden_size_per_layer_input", false) ==
        0) {
        /* Gemma 3n's streams and linear path are modelled with the layers' own embeddings alone. */
        static const char *const fields[] = {"laurel_rank", "altup_num_inputs", "altup_active_idx",
                                             "altup_coef_clip", "altup_correct_scale"};
        const st_json *width = hf_find(reader, "hidden_size_per_layer_input");
        const st_json *side = NULL;
        for (size_t i = 0; i < ST_COUNT(fields) && side == NULL; i++)
            side = hf_find(reader, fields[i]);
        if (side != NULL) {
            if (width == NULL)
                hf_missing(reader, "hidden_size_per_layer_input", ST_KEY_MODEL_LAYER_EMBEDDING);
            else
                ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, width),
                        "%s without per-layer embeddings is not modelled" ST_FOUND
                        "%s of 0" ST_EXPECTED "1 or more",
                        side->name, width->name);
        }
        return;
    }
    hf_put_field(reader, ST_KEY_MODEL_LAYER_VOCABULARY, "vocab_size_per_layer_input", true);
    hf_put_field(reader, ST_KEY_MODEL_SIDE_RANK, "laurel_rank", false);
    if (hf_put_field(reader, ST_KEY_MODEL_HYPER_CONNECTIONS, "altup_num_inputs", false) > 1)
        st_draft_note(draft, "AltUp's streams are estimated as hyper-connections.");
    const st_json *sparsity = hf_find(reader, "activation_sparsity_pattern");
    if (sparsity != NULL && sparsity->kind == ST_JSON_LIST)
        hf_check_length(reader, sparsity, st_draft_count(draft, ST_KEY_MODEL_LAYERS));
    const st_json *node = hf_find(reader, "num_kv_shared_layers");
    uint64_t layers = st_draft_count(reader->draft, ST_KEY_MODEL_LAYERS);
    uint64_t shared = 0;
    if (node == NULL || !hf_number(reader, node, 0, &shared) || shared == 0)
        return;
    if (layers > 0 && shared > layers)
        ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, node),
                "%s exceeds the layers of the model" ST_FOUND "%llu" ST_EXPECTED "%llu at most",
                node->name, (unsigned long long)shared, (unsigned long long)layers);
    st_draft_note(reader->draft,
                  "%llu layers use the keys and values of an earlier layer; each is estimated with "
                  "its own, which overestimates the work.",
                  (unsigned long long)shared);
}

void hf_read_extras(hf_reader *reader)
{
    unsigned traits = reader->family->traits;
    st_draft *draft = reader->draft;
    if ((traits & HF_SINKS) != 0)
        st_draft_put_bool(draft, ST_KEY_MODEL_SINKS, true, hf_of_class(reader, "class"));
    if (hf_bool(reader, "attn_output_gate attention_output_gate mla_use_output_gate",
                (traits & HF_GATED_ATTENTION) != 0))
        st_draft_put_bool(draft, ST_KEY_MODEL_GATED_ATTENTION, true, hf_of_class(reader, "class"));
    if (hf_put_field(reader, ST_KEY_MODEL_INDEX_HEADS, "index_n_heads", false) != 0) {
        hf_put_field(reader, ST_KEY_MODEL_INDEX_DIM, "index_head_dim", true);
        hf_put_field(reader, ST_KEY_MODEL_INDEX_TOP_K, "index_topk", true);
        /* GLM 5 computes what an indexer chooses in some layers and uses it again in those
         * behind. */
        const st_json *list = hf_find(reader, "indexer_types");
        uint64_t shared = 0;
        hf_pass_over(reader, "index_topk_freq index_skip_topk_offset index_topk_pattern "
                             "index_share_for_mtp_iteration");
        for (const st_json *indexer_node = list != NULL ? list->first : NULL; indexer_node != NULL;
             indexer_node = indexer_node->next)
            shared += strcmp(hf_text(indexer_node), "shared") == 0 ? 1 : 0;
        if (shared > 0)
            st_draft_note(reader->draft,
                          "%llu layers use the keys that the indexer of an earlier layer chose; "
                          "each is estimated with its own indexer, which overestimates the work.",
                          (unsigned long long)shared);
    }
    hf_put_field(reader, ST_KEY_MODEL_MOE_LATENT, "moe_latent_size routed_expert_hidden_size",
                 false);
    /* Tokens choose among the experts of some groups only. */
    uint64_t groups = 0;
    const st_json *group_node = hf_find(reader, "n_group num_expert_group num_expert_groups");
    if (group_node != NULL && hf_number(reader, group_node, 1, &groups) && groups >= 2) {
        st_draft_put_count(reader->draft, ST_KEY_MODEL_EXPERT_GROUPS, group_node->line, groups,
                           group_node->name);
        hf_put_field(reader, ST_KEY_MODEL_TOP_GROUPS, "topk_group num_limited_groups", false);
    } else {
        hf_pass_over(reader, "topk_group num_limited_groups");
    }
    uint64_t streams = 0;
    const st_json *node = hf_find(reader, "hc_mult");
    if (node != NULL && hf_number(reader, node, 1, &streams) && streams > 1)
        st_draft_put_count(draft, ST_KEY_MODEL_HYPER_CONNECTIONS, node->line, streams, node->name);
    put_layer_embeddings(reader);
    const st_json *mtp_node = hf_find(reader, MTP);
    uint64_t depth = 0;
    if (mtp_node == NULL || !hf_bool(reader, "use_mtp", true) ||
        !hf_number(reader, mtp_node, 0, &depth) || depth == 0)
        return;
    st_draft_put_count(draft, ST_KEY_MODEL_MTP, mtp_node->line, depth, mtp_node->name);
    if (hf_bool(reader, "mtp_use_repeated_layer mtp_share_weights", false))
        st_draft_put_bool(draft, ST_KEY_MODEL_MTP_SHARED, true, "one layer for all depths");
    if (!st_draft_is_given(draft, ST_KEY_MODEL_MTP))
        st_draft_note(draft,
                      "Multi-token prediction is estimated (%s: %llu). --set model.mtp=0 leaves it "
                      "out.",
                      mtp_node->name, (unsigned long long)depth);
}
