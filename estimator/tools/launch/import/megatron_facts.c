/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What defines the model of a run of Megatron-LM and changes no estimate: norms of queries and
 * keys, rotary embeddings, activation functions, the router.
 */
#include "launch/import/megatron.h"

#include "steptime/keys.h"

#include <string.h>

const megatron_row megatron_facts[MEGATRON_FACTS] = {
    {ST_KEY_MODEL_QK_NORM, "true", "qk_layernorm", "True"},
    {ST_KEY_MODEL_QKV_BIAS, "true", "add_qkv_bias", "True"},
    {ST_KEY_MODEL_ROPE_BASE, "*", "rotary_base", NULL},
    {ST_KEY_MODEL_ROPE_SHARE, "*", "rotary_percent", NULL},
    {ST_KEY_MODEL_ACTIVATION_CLAMP, "*", "activation_func_clamp_value", NULL},
    {ST_KEY_MODEL_GLU_OFFSET, "*", "glu_linear_offset", NULL},
    {ST_KEY_MODEL_NORM_EPSILON, "*", "norm_epsilon", NULL},
    {ST_KEY_MODEL_ZERO_CENTERED_NORM, "true", "apply_layernorm_1p", "True"},
    {ST_KEY_MODEL_INIT_STD, "*", "init_method_std", NULL},
    {ST_KEY_MODEL_ROUTER_SCORE, "softmax", "moe_router_score_function", "softmax"},
    {ST_KEY_MODEL_ROUTER_SCORE, "sigmoid", "moe_router_score_function", "sigmoid"},
    {ST_KEY_MODEL_ROUTER_SCORE, "sqrtsoftplus", "moe_router_score_function", "sqrtsoftplus"},
    {ST_KEY_MODEL_ROUTER_PRE_SOFTMAX, "true", "moe_router_pre_softmax", "True"},
    {ST_KEY_MODEL_ROUTER_BIAS, "true", "moe_router_enable_expert_bias", "True"},
    {ST_KEY_MODEL_ROUTER_SCALE, "*", "moe_router_topk_scaling_factor", NULL},
    {ST_KEY_MODEL_ROUTER_BALANCE, "none", "moe_router_load_balancing_type", "none"},
    {ST_KEY_MODEL_ROUTER_BALANCE, "aux_loss", "moe_router_load_balancing_type", "aux_loss"},
    {ST_KEY_MODEL_ROUTER_BALANCE, "seq_aux_loss", "moe_router_load_balancing_type", "seq_aux_loss"},
    {ST_KEY_MODEL_ROUTER_BALANCE, "global_aux_loss", "moe_router_load_balancing_type",
     "global_aux_loss"},
    {ST_KEY_MODEL_ROUTER_BALANCE_WEIGHT, "=", "moe_aux_loss_coeff", NULL},
    {ST_KEY_MODEL_SHARED_GATE, "true", "moe_shared_expert_gate", "True"},
};

/* Megatron's Llama 3.1 scaling has one parameter; the others are constants in its code. */
#define LLAMA3_CONSTANTS                                                                           \
    " low_freq_factor=1 high_freq_factor=4 original_max_position_embeddings=8192"

static const char *given_or(megatron_run *run, const char *name, const char *missing)
{
    const char *text = megatron_text(run, name);
    return text[0] != '\0' ? text : missing;
}

/* Latent attention has names without "yarn_", ordinary attention with it. */
static const char *yarn_text(megatron_run *run, const char *name)
{
    const char *text = megatron_text(run, name);
    return text[0] != '\0' ? text : megatron_text(run, st_draft_text(run->draft, "yarn_%s", name));
}

static const char *yarn_scaling(megatron_run *run, const char *factor)
{
    static const char *const names[] = {
        "beta_fast", "beta_slow", "original_max_position_embeddings", "mscale", "mscale_all_dim"};
    const char *text = st_draft_text(run->draft, "yarn factor=%s", factor);
    for (size_t i = 0; i < ST_COUNT(names); i++) {
        const char *value = yarn_text(run, names[i]);
        if (value[0] == '\0' && i == 2)
            value = "4096";
        if (value[0] != '\0')
            text = st_draft_text(run->draft, "%s %s=%s", text, names[i], value);
    }
    return text;
}

static void put_scaling(megatron_run *run)
{
    const char *text = NULL;
    const char *given = yarn_text(run, "rotary_scaling_factor");
    const char *factor = given[0] != '\0' ? given : "1.0";
    const bool latent = megatron_is_true(run, "multi_latent_attention", false);
    const bool yarn = strcmp(megatron_text(run, "position_embedding_type"), "yarn") == 0;
    if (megatron_is_true(run, "use_rope_scaling", false))
        text = st_draft_text(run->draft, "llama3 factor=%s" LLAMA3_CONSTANTS,
                             given_or(run, "rope_scaling_factor", "8"));
    else if ((latent && strcmp(given_or(run, "rope_type", "yarn"), "yarn") == 0 &&
              strtod(factor, NULL) != 1) ||
             yarn)
        text = yarn_scaling(run, factor);
    megatron_pass_over(run, "rope_scaling_factor");
    if (text != NULL)
        st_draft_put(run->draft, ST_KEY_MODEL_ROPE_SCALING, 0, text,
                     "scaling of rotary embeddings");
}

void megatron_put_facts(megatron_run *run)
{
    /* Megatron-Bridge says "gated" and the function one by one. */
    const char *activation = megatron_is_true(run, "quick_geglu", false)    ? "quick_gelu"
                             : megatron_is_true(run, "swiglu", false)       ? "silu"
                             : megatron_is_true(run, "squared_relu", false) ? "relu2"
                                                                            : NULL;
    if (activation != NULL)
        st_draft_put(run->draft, ST_KEY_MODEL_ACTIVATION, 0, activation, "activation function");
    if (strcmp(megatron_text(run, "position_embedding_type"), "none") == 0)
        st_draft_put_bool(run->draft, ST_KEY_MODEL_ROTARY, false, "position_embedding_type");
    put_scaling(run);
    const char *balance = megatron_text(run, "moe_router_load_balancing_type");
    if (balance[0] != '\0' && strstr(balance, "aux_loss") == NULL && strcmp(balance, "none") != 0)
        st_draft_put(run->draft, ST_KEY_MODEL_FEATURES, 0,
                     st_draft_text(run->draft, "moe_router_load_balancing_type=%.40s", balance),
                     "moe_router_load_balancing_type");
    for (size_t i = 0; i < MEGATRON_FACTS; i++) {
        const megatron_row *row = &megatron_facts[i];
        const megatron_argument *given = megatron_get(run, row->option);
        if (given != NULL && (row->value == NULL || strcmp(given->value, row->value) == 0))
            st_draft_put(run->draft, row->key, given->line,
                         row->when[0] == '*' || row->when[0] == '=' ? given->value : row->when,
                         row->option);
    }
}
