/* SPDX-License-Identifier: Apache-2.0 */
/* The model of a run of Megatron-LM: shapes, norms, vocabulary, experts. */
#include "launch/import/megatron.h"

#include "steptime/keys.h"

#include <inttypes.h>
#include <string.h>

/* ---- the model ---- */

/* A number that is cut is one that others do not fit. */
static void check_hidden(megatron_run *run, uint64_t heads)
{
    const uint64_t hidden = st_draft_count(run->draft, ST_KEY_MODEL_HIDDEN);
    if (heads > 0 && hidden % heads != 0 && !st_draft_is_given(run->draft, ST_KEY_MODEL_HEAD_DIM))
        ST_NOTE(run->draft, ST_ERR_VALUE, megatron_place(run, megatron_get(run, "hidden_size")),
                "argument 'hidden_size' and the number of heads do not fit" ST_FOUND
                "%" PRIu64 ST_EXPECTED "a multiple of %" PRIu64 ", or kv_channels",
                hidden, heads);
}

static void put_attention(megatron_run *run)
{
    uint64_t heads = megatron_put_needed(run, ST_KEY_MODEL_HEADS, "num_attention_heads");
    uint64_t groups = 0;
    if (megatron_put_shared_kv(run))
        return;
    if (megatron_is_true(run, "multi_latent_attention", false)) {
        megatron_put_given(run, ST_KEY_MODEL_Q_LORA, "q_lora_rank");
        megatron_put_or(run, ST_KEY_MODEL_KV_LORA, "kv_lora_rank", 32);
        megatron_put_or(run, ST_KEY_MODEL_HEAD_DIM, "qk_head_dim", 128);
        megatron_put_or(run, ST_KEY_MODEL_ROPE_DIM, "qk_pos_emb_head_dim", 64);
        megatron_put_or(run, ST_KEY_MODEL_V_DIM, "v_head_dim", 128);
        megatron_pass_over(run, "kv_channels"); /* Megatron does not look at it then */
        megatron_pass_over(run, "num_query_groups");
        return;
    }
    static const char *const latent[] = {"q_lora_rank", "kv_lora_rank", "qk_head_dim",
                                         "qk_pos_emb_head_dim", "v_head_dim"};
    for (size_t i = 0; i < ST_COUNT(latent); i++)
        megatron_pass_over(run, latent[i]);
    if (!megatron_put_given(run, ST_KEY_MODEL_HEAD_DIM, "kv_channels"))
        check_hidden(run, heads);
    bool grouped = megatron_is_true(run, "group_query_attention", false);
    if (megatron_put_given(run, ST_KEY_MODEL_KV_HEADS, "num_key_value_heads"))
        return; /* of Megatron-DeepSpeed */
    if (!grouped || !megatron_read_count(run, "num_query_groups", &groups)) {
        megatron_pass_over(run, "num_query_groups");
        return;
    }
    if (groups == 0 || heads % groups != 0)
        ST_NOTE(run->draft, ST_ERR_VALUE,
                megatron_place(run, megatron_get(run, "num_query_groups")),
                "num_query_groups %" PRIu64 " does not divide the %" PRIu64 " attention heads",
                groups, heads);
    megatron_put(run, ST_KEY_MODEL_KV_HEADS, "num_query_groups", groups);
}

/* Tokenizers by model or type, and vocab_size in config.json of the models that have them. Files of
 * other tokenizers are not read. */
static const struct {
    const char *patterns;
    uint64_t size;
} tokenizers[] = {
    {"GPT2BPETokenizer", 50257},
    {"*Llama-2-* *Mixtral-8x* *Mistral-7B-v0.1 Llama2Tokenizer MixtralTokenizer", 32000},
    {"*Llama-3* Llama3Tokenizer", 128256},
    {"*Llama-4-* Llama4Tokenizer", 202048},
    {"*DeepSeek-V2* DeepSeekV2Tokenizer", 102400},
    {"*DeepSeek-V3* *DeepSeek-V4* *DeepSeek-R1 DeepSeekV3Tokenizer DeepSeekV4Tokenizer", 129280},
    {"*Qwen2.5-0.5B* *Qwen2.5-1.5B* *Qwen2.5-3B* *Qwen3-* *DeepSeek-R1-Distill-Qwen-1.5B", 151936},
    {"*Qwen2.5-*", 152064},
    {"*Qwen3.5-*", 248320},
    {"*Kimi-K2* *Kimi-K3* KimiK2Tokenizer", 163840},
    {"*glm-4-9b*", 151552},
    {"*LFM2-* Lfm2Tokenizer", 65536},
    {"*MiniMax-M2*", 200064},
    {"*gpt-oss-*", 201088},
};

static uint64_t size_of_tokenizer(const char *name)
{
    for (size_t i = 0; i < ST_COUNT(tokenizers); i++)
        if (megatron_fits(tokenizers[i].patterns, name))
            return tokenizers[i].size;
    return 0;
}

static void put_vocabulary(megatron_run *run)
{
    const char *tokenizer = megatron_text(run, "tokenizer_type");
    const char *model = megatron_text(run, "tokenizer_model");
    const uint64_t known =
        size_of_tokenizer(model) > 0 ? size_of_tokenizer(model) : size_of_tokenizer(tokenizer);
    st_draft *draft = run->draft;
    uint64_t size = 0;
    megatron_put_or(run, ST_KEY_MODEL_VOCABULARY_MULTIPLE, "make_vocab_size_divisible_by", 128);
    if (run->vocabulary > 0)
        st_draft_put_count(draft, ST_KEY_MODEL_VOCABULARY, 0, run->vocabulary,
                           "the log, where it pads the vocabulary");
    else if (megatron_read_count(run, "vocab_size", &size))
        st_draft_put_count(draft, ST_KEY_MODEL_VOCABULARY, megatron_line_of(run, "vocab_size"),
                           size + (strcmp(tokenizer, "NullTokenizer") == 0 ? 1 : 0),
                           strcmp(tokenizer, "NullTokenizer") == 0
                               ? "vocab_size and one token of NullTokenizer"
                               : "vocab_size");
    else if (megatron_read_count(run, "padded_vocab_size", &size))
        st_draft_put_count(draft, ST_KEY_MODEL_VOCABULARY,
                           megatron_line_of(run, "padded_vocab_size"), size, "padded_vocab_size");
    else if (known > 0)
        st_draft_put_count(draft, ST_KEY_MODEL_VOCABULARY, 0, known,
                           st_draft_text(draft, "default of models with the tokenizer %.80s",
                                         size_of_tokenizer(model) > 0 ? model : tokenizer));
    else if (!st_draft_is_given(draft, ST_KEY_MODEL_VOCABULARY))
        st_draft_note(draft, "The arguments lack the vocabulary size, which depends on the "
                             "tokenizer's files: model.vocabulary is left out.");
    megatron_pass_over(run, "vocab_size");
    megatron_pass_over(run, "padded_vocab_size");
}

/* ---- experts ---- */

void megatron_put_model(megatron_run *run)
{
    if (!megatron_put_hybrid(run))
        megatron_put_needed(run, ST_KEY_MODEL_LAYERS, "num_layers");
    megatron_put_needed(run, ST_KEY_MODEL_HIDDEN, "hidden_size");
    put_attention(run);
    /* SwiGLU without a width gets two thirds of 4h, in multiples of 64, as Megatron computes it. */
    uint64_t hidden = st_draft_count(run->draft, ST_KEY_MODEL_HIDDEN);
    bool gated = megatron_is_true(run, "swiglu", false) ||
                 megatron_is_true(run, "quick_geglu", false) ||
                 megatron_is_true(run, "gated_linear_unit", false);
    if (!megatron_put_given(run, ST_KEY_MODEL_FFN, "ffn_hidden_size") && gated)
        st_draft_put_count(run->draft, ST_KEY_MODEL_FFN, 0, 8 * hidden / 3 / 64 * 64,
                           "8/3 of hidden_size in multiples of 64, default for swiglu");
    megatron_put_bool(run, ST_KEY_MODEL_GATED, "swiglu", gated);
    const char *norm = megatron_text(run, "normalization");
    double dropout = 0.1;
    const megatron_argument *share = megatron_get(run, "hidden_dropout");
    if (share != NULL && !megatron_read_number(run, share, &dropout))
        dropout = 0;
    megatron_put_true(run, ST_KEY_MODEL_BIAS, "add_bias_linear", true);
    st_draft_put(run->draft, ST_KEY_MODEL_NORM, megatron_line_of(run, "normalization"),
                 strcmp(norm, "RMSNorm") == 0 ? "rms" : "layer",
                 norm[0] != '\0' ? "normalization" : "default of normalization");
    megatron_put_bool(run, ST_KEY_MODEL_DROPOUT, "hidden_dropout", dropout > 0);
    megatron_pass_over(run, "attention_dropout");
    const char *type = megatron_text(run, "position_embedding_type");
    bool learned = megatron_is_true(run, "add_position_embedding", true) &&
                   (type[0] == '\0' || strstr(type, "learned") != NULL);
    if (!learned)
        st_draft_put_count(run->draft, ST_KEY_MODEL_POSITIONS, 0, 0, "position_embedding_type");
    else
        megatron_put_needed(run, ST_KEY_MODEL_POSITIONS, "max_position_embeddings");
    megatron_pass_over(run, "max_position_embeddings");
    (void)megatron_is_true(run, "use_rotary_position_embeddings", false);
    megatron_put_bool(run, ST_KEY_MODEL_TIED, "untie_embeddings_and_output_weights",
                      !megatron_is_true(run, "untie_embeddings_and_output_weights", false));
    put_vocabulary(run);
    static const char *const others[] = {"moe_router_topk", "moe_ffn_hidden_size", "moe_layer_freq",
                                         "moe_shared_expert_intermediate_size",
                                         "moe_expert_capacity_factor"};
    uint64_t experts = megatron_count_or(run, "num_experts", 0);
    if (experts == 0) {
        for (size_t i = 0; i < ST_COUNT(others); i++)
            megatron_pass_over(run, others[i]); /* without experts they say nothing */
    } else {
        megatron_put(run, ST_KEY_MODEL_EXPERTS, "num_experts", experts);
        megatron_put_or(run, ST_KEY_MODEL_TOP_K, "moe_router_topk", 2);
        megatron_put_given(run, ST_KEY_MODEL_EXPERT_FFN, "moe_ffn_hidden_size");
        megatron_put_given(run, ST_KEY_MODEL_SHARED_FFN, "moe_shared_expert_intermediate_size");
        const megatron_argument *capacity = megatron_get(run, "moe_expert_capacity_factor");
        if (capacity != NULL)
            st_draft_put(run->draft, ST_KEY_MODEL_CAPACITY_FACTOR, capacity->line, capacity->value,
                         capacity->name);
    }
    megatron_put_layers(run);
    megatron_put_facts(run);
}
