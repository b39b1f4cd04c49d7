/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a config.json says of a model that changes no estimate but another network if it is lost:
 * rotary embeddings, activation functions, norms, the router. A launch takes it from the job.
 */
#include "launch/import/hf.h"

#include "base/word_sets.h"
#include "steptime/keys.h"
#include "steptime/tool/job_keys.h"
#include "steptime/quantity.h"

#include <math.h>
#include <string.h>

typedef struct fact_field {
    const char *key;
    const char *names;
} fact_field;

static const fact_field numbers[] = {
    {ST_KEY_MODEL_ROPE_BASE, "rope_theta rotary_emb_base"},
    {ST_KEY_MODEL_ROPE_SHARE, "partial_rotary_factor rotary_pct rotary_percentage"},
    {ST_KEY_MODEL_NORM_EPSILON, "rms_norm_eps layer_norm_epsilon layer_norm_eps norm_eps "
                                "norm_epsilon layernorm_epsilon layer_norm_rms_epsilon"},
    {ST_KEY_MODEL_INIT_STD, "initializer_range init_std"},
    {ST_KEY_MODEL_ROUTER_SCALE, "routed_scaling_factor route_scale moe_routed_scaling_factor"},
    {ST_KEY_MODEL_ROUTER_BALANCE_WEIGHT,
     "router_aux_loss_coef aux_loss_alpha router_aux_loss_coeff moe_router_aux_loss_coef"},
    {ST_KEY_MODEL_ACTIVATION_CLAMP, "swiglu_limit"},
};

/* What the class of an architecture fixes, whatever its file says; architecture, key, value. */
static const struct {
    const char *families;
    const char *key;
    const char *value;
} classes[] = {
    {"qwen3 qwen3_moe qwen3_next qwen3_5_text qwen3_5_moe_text qwen3_vl_text qwen3_vl_moe_text "
     "qwen3_omni_moe_text gemma3_text deepseek_v2 deepseek_v3 deepseek_v32 kimi_k2 glm_moe_dsa "
     "glm4_moe_lite dots1 exaone4 exaone_moe apertus olmoe",
     ST_KEY_MODEL_QK_NORM, "true"},
    {"deepseek_v3 deepseek_v32 kimi_k2 glm4_moe glm4v_moe_text glm_moe_dsa glm4_moe_lite "
     "minimax_m2 dots1 exaone_moe solar_open",
     ST_KEY_MODEL_ROUTER_SCORE, "sigmoid"},
    {"deepseek_v3 deepseek_v32 kimi_k2 glm4_moe glm4v_moe_text glm_moe_dsa glm4_moe_lite dots1 "
     "minimax_m2 exaone_moe solar_open ernie4_5_moe",
     ST_KEY_MODEL_ROUTER_BIAS, "true"},
    {"mixtral phimoe qwen2_moe qwen3_moe qwen3_next qwen3_5_moe_text qwen3_vl_moe_text "
     "qwen3_omni_moe_text olmoe deepseek_v2 granitemoe granitemoeshared gpt_oss deepseek "
     "ernie4_5_moe dbrx jamba",
     ST_KEY_MODEL_ROUTER_SCORE, "softmax"},
    {"qwen2_moe qwen3_next qwen3_5_moe_text", ST_KEY_MODEL_SHARED_GATE, "true"},
    {"gemma gemma2 gemma3_text qwen3_next qwen3_5_text qwen3_5_moe_text nemotron",
     ST_KEY_MODEL_ZERO_CENTERED_NORM, "true"},
    {"jamba nemotron_h", ST_KEY_MODEL_ROTARY, "false"},
    {"gpt_oss", ST_KEY_MODEL_ACTIVATION, "quick_gelu"},
    {"gpt_oss", ST_KEY_MODEL_GLU_OFFSET, "1"},
    {"gpt_oss", ST_KEY_MODEL_ACTIVATION_CLAMP, "7"},
    {"gpt_oss", ST_KEY_MODEL_QKV_BIAS, "true"},
};

/* Traits of a class that no key says. */
static const struct {
    const char *families;
    const char *feature;
} features[] = {
    {"bloom", "alibi"},
    {"gptj codegen gpt_neox phi persimmon cohere cohere2 cohere2_moe", "parallel_residual"},
    {"gemma gemma2 gemma3_text gemma3n_text vaultgemma", "scaled_embedding"},
    {"gemma2 gemma3_text gemma3n_text olmo2 olmo3 olmo_hybrid exaone4 exaone_moe glm4 vaultgemma",
     "norms_behind_blocks"},
    {"minimax_m2 olmo2 olmo3 olmoe flex_olmo", "qk_norm_over_all_heads"},
    {"glm glm4 chatglm cohere cohere2 cohere2_moe codegen gptj ernie4_5 ernie4_5_moe",
     "interleaved_rotary"},
    {"llama4_text", "l2_qk_norm"},
    {"bloom", "embedding_norm"},
};

/* Fields that say such traits; those that are 0, 1, false or null say nothing. */
static const char feature_fields[] =
    "alibi attention_multiplier attn_logit_softcapping attn_temperature_tuning clip_qkv "
    "embedding_multiplier final_logit_softcapping layer_norm_elementwise_affine lm_head_bias "
    "logit_scale logits_scaling mla_use_nope no_rope_layers no_rope_layer_interval parallel_attn "
    "query_pre_attn_scalar residual_multiplier "
    "scale_emb scale_depth use_mrope use_parallel_residual attention_value_scale "
    "mrope_section rope_local_base_freq layer_rope_theta compress_rope_theta";

/* The scalar of rope_parameters, where transformers 5 keeps what it had next to it. */
static const st_json *field_of(hf_reader *reader, const char *names)
{
    const st_json *found = hf_find(reader, names);
    const st_json *map = hf_find(reader, "rope_parameters");
    for (const st_json *node = map != NULL && map->kind == ST_JSON_MAP ? map->first : NULL;
         node != NULL && found == NULL; node = node->next)
        if (st_has_word(names, node->name) && node->kind != ST_JSON_NULL)
            found = node;
    return found;
}

static bool number_of(const st_json *node, double *number)
{
    return node != NULL && node->kind == ST_JSON_NUMBER &&
           st_number_parse(node->text, strlen(node->text), (st_place){0}, number, NULL) == ST_OK;
}

static const char *number_text(hf_reader *reader, double number)
{
    char digits[64];
    if (number >= 1e5 && number == floor(number))
        return st_draft_text(reader->draft, "%.0f", number);
    return st_draft_text(reader->draft, "%s", st_number_format(number, digits, sizeof digits));
}

/* "yarn factor=40 ...": parameters that differ from what frameworks take without them. */
static void put_scaling(hf_reader *reader)
{
    static const struct {
        const char *name;
        double missing;
    } parameters[] = {{"factor", (double)NAN},
                      {"short_factor", (double)NAN},
                      {"low_freq_factor", (double)NAN},
                      {"high_freq_factor", (double)NAN},
                      {"beta_fast", 32},
                      {"beta_slow", 1},
                      {"original_max_position_embeddings", (double)NAN},
                      {"attention_factor", (double)NAN},
                      {"mscale", (double)NAN},
                      {"mscale_all_dim", (double)NAN}};
    const st_json *map = hf_find(reader, "rope_scaling");
    map = map != NULL && map->kind == ST_JSON_MAP ? map : hf_find(reader, "rope_parameters");
    const char *type = "";
    st_buffer text = {0};
    if (map == NULL || map->kind != ST_JSON_MAP)
        return;
    for (const st_json *node = map->first; node != NULL; node = node->next)
        if (st_has_word("rope_type type", node->name) && node->kind == ST_JSON_STRING)
            type = node->text;
    if (type[0] == '\0' || strcmp(type, "default") == 0)
        return;
    st_buffer_printf(&text, "%.40s", type);
    for (size_t i = 0; i < ST_COUNT(parameters); i++)
        for (const st_json *node = map->first; node != NULL; node = node->next) {
            double value = 0;
            if (strcmp(node->name, parameters[i].name) != 0)
                continue;
            if (node->kind == ST_JSON_LIST)
                st_buffer_printf(&text, " %s=list", node->name);
            else if (number_of(node, &value) && value != parameters[i].missing)
                st_buffer_printf(&text, " %s=%s", node->name, number_text(reader, value));
        }
    st_draft_put(reader->draft, ST_KEY_MODEL_ROPE_SCALING, map->line,
                 st_draft_keep(reader->draft, &text), map->name);
}

static void put_activation(hf_reader *reader)
{
    static const char *const words[][2] = {
        {"silu swish", "silu"},
        {"gelu gelu_new gelu_fast gelu_pytorch_tanh gelu_python gelu_accurate", "gelu"},
        {"quick_gelu", "quick_gelu"},
        {"relu", "relu"},
        {"relu2", "relu2"}};
    const st_json *node =
        hf_find(reader, "hidden_act mlp_hidden_act activation_function hidden_activation");
    if (node == NULL || node->kind != ST_JSON_STRING)
        return;
    for (size_t i = 0; i < ST_COUNT(words); i++)
        if (st_has_word(words[i][0], node->text))
            st_draft_put(reader->draft, ST_KEY_MODEL_ACTIVATION, node->line, words[i][1],
                         node->name);
}

/* Scores, whether chosen ones are normed again, and the losses. */
static void put_router(hf_reader *reader)
{
    const st_json *score = hf_find(reader, "scoring_func score_function score_func");
    const st_json *method = hf_find(reader, "topk_method");
    const bool has_loss =
        reader->draft->values[st_key_index(st_key_find(ST_KEY_MODEL_ROUTER_BALANCE_WEIGHT))].text !=
        NULL;
    const bool normed = hf_bool(
        reader, "norm_topk_prob moe_renormalize route_norm",
        !st_has_word("qwen2_moe qwen3_moe olmoe deepseek deepseek_v2", reader->architecture));
    const char *name = score != NULL && score->kind == ST_JSON_STRING ? score->text : "";
    if (strcmp(name, "softmax") == 0 || strcmp(name, "sigmoid") == 0 ||
        strcmp(name, "sqrtsoftplus") == 0)
        st_draft_put(reader->draft, ST_KEY_MODEL_ROUTER_SCORE, score->line, name, score->name);
    if (!normed)
        st_draft_put_bool(reader->draft, ST_KEY_MODEL_ROUTER_PRE_SOFTMAX, true, "norm_topk_prob");
    if ((method != NULL && method->kind == ST_JSON_STRING &&
         strcmp(method->text, "noaux_tc") == 0) ||
        hf_bool(reader, "use_routing_bias use_expert_bias moe_router_enable_expert_bias", false))
        st_draft_put_bool(reader->draft, ST_KEY_MODEL_ROUTER_BIAS, true, "bias of the router");
    if (has_loss)
        st_draft_put(reader->draft, ST_KEY_MODEL_ROUTER_BALANCE, 0,
                     hf_bool(reader, "seq_aux", false) ? "seq_aux_loss" : "aux_loss",
                     "coefficient of the router's loss");
}

/* "NAME=VALUE ..." of what no key says. */
static void put_features(hf_reader *reader)
{
    st_buffer list = {0};
    for (size_t i = 0; i < ST_COUNT(features); i++)
        if (st_has_word(features[i].families, reader->architecture))
            st_buffer_printf(&list, "%s%s", list.length > 0 ? " " : "", features[i].feature);
    for (const st_json *node = reader->config->first; node != NULL; node = node->next) {
        double number = 0;
        const bool says = st_has_word(feature_fields, node->name) &&
                          (node->kind == ST_JSON_LIST || node->kind == ST_JSON_MAP ||
                           (node->kind == ST_JSON_BOOL && node->text[0] == 't') ||
                           (number_of(node, &number) && number != 0 && number != 1));
        if (says)
            st_buffer_printf(&list, "%s%.60s=%.40s", list.length > 0 ? " " : "", node->name,
                             node->text != NULL ? node->text : "list");
    }
    const char *text = st_draft_keep(reader->draft, &list);
    if (text[0] != '\0')
        st_draft_put(reader->draft, ST_KEY_MODEL_FEATURES, 0, text, "what no other key says");
}

void hf_read_facts(hf_reader *reader, bool qkv_bias)
{
    const bool experts = st_draft_count(reader->draft, ST_KEY_MODEL_EXPERTS) > 0;
    const bool rotary = reader->family->positions == HF_ROTARY;
    double part = 0;
    double width = 0;
    for (size_t i = 0; i < ST_COUNT(numbers); i++) {
        const st_json *node = field_of(reader, numbers[i].names);
        double number = 0;
        const bool applies = strncmp(numbers[i].key, ST_KEY_MODEL_ROPE_BASE, 10) != 0 || rotary;
        if (applies && number_of(node, &number) &&
            (experts || strstr(numbers[i].key, ".router") == NULL) && number > 0)
            st_draft_put(reader->draft, numbers[i].key, node->line, number_text(reader, number),
                         node->name);
    }
    if (number_of(hf_find(reader, "rotary_dim"), &part) &&
        number_of(hf_find(reader, "head_dim"), &width) && part > 0 && part < width)
        st_draft_put(reader->draft, ST_KEY_MODEL_ROPE_SHARE, 0, number_text(reader, part / width),
                     "rotary_dim of head_dim");
    put_activation(reader);
    if (rotary)
        put_scaling(reader);
    if (qkv_bias)
        st_draft_put_bool(reader->draft, ST_KEY_MODEL_QKV_BIAS, true, "biases of the attention");
    if (hf_bool(reader, "use_qk_norm qk_layernorm qk_norm", false))
        st_draft_put_bool(reader->draft, ST_KEY_MODEL_QK_NORM, true, "norms of queries and keys");
    for (size_t i = 0; i < ST_COUNT(classes); i++)
        if (st_has_word(classes[i].families, reader->architecture) &&
            (experts || strstr(classes[i].key, ".router") == NULL))
            st_draft_put(reader->draft, classes[i].key, 0, classes[i].value,
                         hf_of_class(reader, "class"));
    if (experts)
        put_router(reader);
    put_features(reader);
}
