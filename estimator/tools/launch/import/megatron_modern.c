/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of Megatron-LM of 2024 and later: recipes of precision, pipeline layouts, dispatchers
 * of experts, modules that are computed again, CUDA graphs, offload, shards of replicas.
 */
#include "launch/import/megatron.h"

#include "launch/import/ends_layout.h"
#include "steptime/keys.h"
#include "steptime/tool/pattern.h"
#include "steptime/quantity.h"

#include <inttypes.h>
#include <string.h>

const megatron_word megatron_recipes[MEGATRON_RECIPES] = {{"delayed", "fp8_delayed"},
                                                          {"tensorwise", "fp8_current"},
                                                          {"blockwise", "fp8_block"},
                                                          {"mxfp8", "mxfp8"}};
const megatron_word megatron_modules[MEGATRON_MODULES] = {
    {"core_attn", ST_KEY_RECOMPUTED_ATTENTION},
    {"mlp", ST_KEY_RECOMPUTED_MLP},
    {"moe", ST_KEY_RECOMPUTED_MOE},
    {"moe_act", ST_KEY_RECOMPUTED_ACTIVATION},
    {"layernorm", ST_KEY_RECOMPUTED_NORMS},
    {"mla_up_proj", ST_KEY_RECOMPUTED_LATENT},
    {"shared_experts", ST_KEY_RECOMPUTED_SHARED_EXPERTS}};

static const char *value_of(const megatron_word *rows, size_t count, const char *word)
{
    size_t i = ST_FIND(rows, count, word, word);
    return i < count ? rows[i].value : NULL;
}

#define VALUE_OF(rows, word) value_of(rows, sizeof(rows) / sizeof *(rows), word)

/* The next word of "core_attn mlp", "['core_attn', 'mlp']" or "core_attn,mlp"; its length. */
static size_t next_word(const char **text)
{
    static const char between[] = " ,[]()'\"";
    *text += strspn(*text, between);
    return strcspn(*text, between);
}

static bool has_word(const char *text, const char *word)
{
    for (size_t length; (length = next_word(&text)) > 0; text += length)
        if (length == strlen(word) && memcmp(text, word, length) == 0)
            return true;
    return false;
}

/* ---- pipeline ---- */

/* Stages beyond the ranks interleave. */
static void put_layout(megatron_run *run)
{
    st_draft *draft = run->draft;
    const megatron_argument *argument = megatron_get(run, "pipeline_model_parallel_layout");
    const char *hybrid = argument == NULL ? megatron_hybrid_layout(run) : NULL;
    if (argument == NULL && hybrid == NULL)
        return;
    const char *value = argument != NULL ? argument->value : hybrid;
    const char *origin = argument != NULL ? argument->name : "hybrid_layer_pattern";
    const int line = argument != NULL ? argument->line : 0;
    size_t quote = value[0] == '\'' && strlen(value) > 1 ? 1 : 0;
    const char *text = st_arena_copy(draft->arena, value + quote, strlen(value) - 2 * quote);
    if (text == NULL) {
        st_draft_out_of_memory(draft);
        return;
    }
    uint64_t pp = st_draft_count(draft, ST_KEY_PARALLEL_PP);
    st_layout_needs needs = {.place = megatron_place(run, argument),
                             .pp = pp > 0 ? (double)pp : 1,
                             .layers = (double)st_draft_count(draft, ST_KEY_MODEL_LAYERS),
                             .mtp = (double)st_draft_count(draft, ST_KEY_MODEL_MTP)};
    st_layout layout;
    st_status status = st_layout_read(text, &needs, draft->arena, &layout, draft->errors);
    st_note(&draft->status, status);
    if (status != ST_OK)
        return;
    st_ends ends;
    if (st_ends_of_layout(text, &layout, draft->arena, &ends)) {
        st_draft_put_count(draft, ST_KEY_PARALLEL_FIRST_STAGE_LAYERS, line, ends.first, origin);
        st_draft_put_count(draft, ST_KEY_PARALLEL_LAST_STAGE_LAYERS, line, ends.last, origin);
    } else {
        st_draft_put(draft, ST_KEY_PARALLEL_LAYOUT, line, text, origin);
    }
    if (layout.virtual_stages > 1) {
        st_draft_put_count(draft, ST_KEY_PARALLEL_VIRTUAL_STAGES, line, layout.virtual_stages,
                           origin);
        st_draft_put(draft, ST_KEY_PARALLEL_SCHEDULE, line, "interleaved", origin);
    }
}

/* ---- dispatchers, context parallelism, shards ---- */

static void put_dispatcher(megatron_run *run)
{
    static const megatron_word backends[] = {{"deepep", "deepep"}, {"hybridep", "hybridep"}};
    static const megatron_word types[] = {
        {"alltoall", "alltoall"}, {"allgather", "allgather"}, {"alltoall_seq", "alltoall"}};
    const char *type = megatron_text(run, "moe_token_dispatcher_type");
    const char *backend = megatron_text(run, "moe_flex_dispatcher_backend");
    bool flex = strcmp(type, "flex") == 0 || megatron_is_true(run, "moe_enable_deepep", false);
    const char *value = flex              ? VALUE_OF(backends, backend)
                        : type[0] != '\0' ? VALUE_OF(types, type)
                                          : "allgather";
    if (st_draft_count(run->draft, ST_KEY_MODEL_EXPERTS) == 0)
        return;
    if (value == NULL && flex)
        value = "deepep";
    if (value != NULL)
        st_draft_put(run->draft, ST_KEY_PARALLEL_DISPATCHER, 0, value,
                     flex              ? "moe_flex_dispatcher_backend"
                     : type[0] != '\0' ? "moe_token_dispatcher_type"
                                       : "default of moe_token_dispatcher_type");
    else
        st_draft_note(run->draft, "Unknown dispatcher of experts: %.40s.", type);
}

static void put_shards(megatron_run *run)
{
    uint64_t instances = megatron_count_or(run, "num_distributed_optimizer_instances", 1);
    uint64_t cp = st_draft_count(run->draft, ST_KEY_PARALLEL_CP);
    uint64_t dp = st_draft_count(run->draft, ST_KEY_PARALLEL_DP) * (cp > 0 ? cp : 1);
    megatron_pass_over(run, "outer_dp_sharding_strategy");
    if (instances <= 1 || dp == 0)
        return;
    if (dp % instances != 0) {
        ST_NOTE(run->draft, ST_ERR_VALUE,
                megatron_place(run, megatron_get(run, "num_distributed_optimizer_instances")),
                "num_distributed_optimizer_instances %" PRIu64
                " does not divide the data-parallel size %" PRIu64,
                instances, dp);
        return;
    }
    st_draft_put_count(run->draft, ST_KEY_PARALLEL_SHARD, 0, dp / instances,
                       "data-parallel size over num_distributed_optimizer_instances");
    if (strcmp(megatron_text(run, "outer_dp_sharding_strategy"), "optim") == 0)
        st_draft_put_bool(run->draft, ST_KEY_PARALLEL_OUTER_STATES, true,
                          "outer_dp_sharding_strategy");
}

/* ---- precision ---- */

static void put_types(megatron_run *run)
{
    st_draft *draft = run->draft;
    /* Megatron scales FP8 with delay where no recipe is named. */
    const char *recipe = megatron_text(run, "fp8_recipe");
    const char *value = VALUE_OF(megatron_recipes, recipe);
    bool fp8 = megatron_is_given(run, "fp8") || megatron_is_given(run, "fp8_format");
    if (megatron_is_given(run, "fp4") || megatron_is_given(run, "fp4_format")) {
        st_draft_put(draft, ST_KEY_PRECISION_RECIPE, 0, "nvfp4", "fp4_format");
    } else if (fp8) {
        if (value != NULL)
            st_draft_put(draft, ST_KEY_PRECISION_RECIPE, 0, value, "fp8_recipe");
        else if (recipe[0] != '\0')
            st_draft_note(draft, "Unknown FP8 recipe, estimated as delayed scaling: %.40s.",
                          recipe);
        if (value == NULL || strcmp(recipe, "delayed") == 0)
            st_draft_put_bool(draft, ST_KEY_PRECISION_FP8, true, "fp8_format");
    }
    uint64_t first = megatron_count_or(run, "num_layers_at_start_in_bf16", 1);
    uint64_t last = megatron_count_or(run, "num_layers_at_end_in_bf16", 1);
    if (megatron_is_true(run, "first_last_layers_bf16", false)) {
        st_draft_put_count(run->draft, ST_KEY_PRECISION_FIRST_LAST_BF16, 0, (first + last) / 2,
                           "num_layers_at_start_in_bf16");
        if (first != last)
            st_draft_note(run->draft,
                          "%" PRIu64 " layers at the start and %" PRIu64
                          " at the end stay in 16 bits; as many at each end are estimated.",
                          first, last);
    }
    if (megatron_is_true(run, "fp4_param_gather", false))
        st_draft_put(draft, ST_KEY_PRECISION_GATHER, 0, "fp4", "fp4_param_gather");
    else if (megatron_is_true(run, "fp8_param_gather", false))
        st_draft_put(draft, ST_KEY_PRECISION_GATHER, 0, "fp8", "fp8_param_gather");
    if (megatron_is_true(run, "fp8_dot_product_attention", false) ||
        megatron_is_true(run, "fp8_multi_head_attention", false))
        st_draft_put_bool(draft, ST_KEY_PRECISION_ATTENTION_FP8, true, "fp8_dot_product_attention");
    if (strstr(megatron_text(run, "main_params_dtype"), "16") != NULL)
        st_draft_put(draft, ST_KEY_PRECISION_MASTER, 0, "fp16", "main_params_dtype");
}

/* ---- recomputation, graphs, offload, optimizer ---- */

/* Megatron's own graphs hold a layer, those of Transformer Engine the modules that are named. */
static void put_graphs(megatron_run *run)
{
    static const char *const scopes[] = {"cuda_graph_scope", "cuda_graph_modules"};
    const char *kind = megatron_text(run, "cuda_graph_impl");
    bool some = false;
    bool full = strcmp(kind, "full_iteration") == 0;
    for (size_t i = 0; i < 2; i++) {
        const char *text = megatron_text(run, scopes[i]);
        full = full || has_word(text, "full_iteration");
        some = some || (next_word(&text) > 0 && !has_word(text, "full"));
    }
    bool local = megatron_is_true(run, "enable_cuda_graph", false);
    bool external = megatron_is_true(run, "external_cuda_graph", false);
    if (strcmp(kind, "none") == 0 || (kind[0] == '\0' && !local && !external))
        return;
    st_draft_put(run->draft, ST_KEY_GRAPHS, 0,
                 full   ? "full"
                 : some ? "scoped"
                        : "layer",
                 kind[0] != '\0' ? "cuda_graph_impl" : "enable_cuda_graph");
}

void megatron_put_modern(megatron_run *run)
{
    if (megatron_is_true(run, "account_for_embedding_in_pipeline_split", false))
        st_draft_put_bool(run->draft, ST_KEY_PARALLEL_ACCOUNT_EMBEDDING, true,
                          "account_for_embedding_in_pipeline_split");
    if (megatron_is_true(run, "account_for_loss_in_pipeline_split", false))
        st_draft_put_bool(run->draft, ST_KEY_PARALLEL_ACCOUNT_LOSS, true,
                          "account_for_loss_in_pipeline_split");
    put_layout(run);
    put_dispatcher(run);
    static const megatron_word methods[] = {
        {"p2p", "ring"}, {"a2a", "alltoall"}, {"a2a+p2p", "hierarchical"}};
    const char *text = megatron_text(run, "cp_comm_type");
    size_t length = next_word(&text);
    const char *value = VALUE_OF(methods, st_draft_text(run->draft, "%.*s", (int)length, text));
    megatron_pass_over(run, "hierarchical_context_parallel_sizes");
    if (length > 0 && value != NULL)
        st_draft_put(run->draft, ST_KEY_PARALLEL_CP_METHOD, 0, value, "cp_comm_type");
    else if (length > 0)
        st_draft_note(run->draft, "Context parallelism of the kind %.20s is estimated as a ring.",
                      text);
    put_shards(run);
    put_types(run);
    const char *module_text = megatron_text(run, "recompute_modules");
    if (strcmp(megatron_text(run, "recompute_granularity"), "selective") == 0) {
        for (size_t module_length; (module_length = next_word(&module_text)) > 0;
             module_text += module_length) {
            const char *word = st_draft_text(run->draft, "%.*s", (int)module_length, module_text);
            const char *key = VALUE_OF(megatron_modules, word);
            if (key != NULL)
                st_draft_put_bool(run->draft, key, true, "recompute_modules");
            else
                st_draft_note(run->draft,
                              "Left out: recomputation in the module %.40s "
                              "(recompute_modules).",
                              word);
        }
    }
    put_graphs(run);
    const megatron_argument *share = megatron_get(run, "optimizer_offload_fraction");
    if (megatron_is_true(run, "optimizer_cpu_offload", false))
        st_draft_put(run->draft, ST_KEY_OFFLOAD_OPTIMIZER, share != NULL ? share->line : 0,
                     share != NULL ? share->value : "1", "optimizer_offload_fraction");
    if (megatron_is_true(run, "offload_optimizer_states", false))
        st_draft_note(run->draft, "Left out: optimizer states in host memory "
                                  "(offload_optimizer_states) that are updated on the GPU.");
    bool modules = megatron_is_true(run, "fine_grained_activation_offloading", false);
    if (modules || megatron_count_or(run, "cpu_offloading_num_layers", 0) > 0)
        st_draft_note(
            run->draft,
            "Activations are offloaded to host memory (%s%.200s): set offload.activations to "
            "their share.",
            modules ? "offload_modules: " : "cpu_offloading_num_layers",
            modules ? megatron_text(run, "offload_modules") : "");
    const char *name = megatron_text(run, "optimizer");
    if (strstr(name, "muon") != NULL)
        st_draft_put(run->draft, ST_KEY_OPTIMIZER, 0, "muon", "optimizer");
    else if (name[0] != '\0' && strcmp(name, "adam") != 0)
        st_draft_note(run->draft, "The optimizer %.40s is estimated as Adam.", name);
    if (megatron_is_true(run, "sft", false))
        st_draft_put(run->draft, ST_KEY_TRAIN_TASK, 0, "sft", "sft");
}
