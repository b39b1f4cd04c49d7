/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of Megatron-LM in YAML: MODEL_ARGS of its functional tests (model_config.yaml), the
 * overrides of Primus, and a flat map as of Primus' models.
 */
#include "launch/import/megatron.h"

#include "base/text.h"
#include "base/yaml.h"

#include <string.h>

static const char *const marks[] = {"MODEL_ARGS:", "modules:", "extends:", "num_layers:"};

bool megatron_is_yaml(const st_import_request *request)
{
    megatron_line line = {0};
    for (size_t offset = 0; megatron_next_line(request, &offset, &line);)
        for (size_t i = 0; i < ST_COUNT(marks); i++)
            if (line.length >= strlen(marks[i]) &&
                memcmp(line.text, marks[i], strlen(marks[i])) == 0)
                return true;
    return false;
}

static const st_yaml_node *member(const st_yaml_node *map, const char *name)
{
    for (size_t i = 0; map != NULL && map->kind == ST_YAML_MAP && i < map->count; i++)
        if (strcmp(map->keys[i], name) == 0)
            return map->items[i];
    return NULL;
}

/* "${NAME:2385}" of Primus and "${NAME:-2385}" have a value to fall back on. */
static const char *fallback(megatron_run *run, const char *text)
{
    const char *colon = strncmp(text, "${", 2) == 0 ? strchr(text, ':') : NULL;
    if (colon == NULL || !st_ends_in(text, "}"))
        return text;
    colon += colon[1] == '-' ? 2 : 1;
    return st_draft_text(run->draft, "%.*s", (int)(strlen(colon) - 1), colon);
}

static const char *text_of(megatron_run *run, const st_yaml_node *node)
{
    st_buffer list = {0};
    if (node->kind == ST_YAML_SCALAR) {
        const char *text = fallback(run, node->text);
        return strcmp(text, "true") == 0    ? "True"
               : strcmp(text, "false") == 0 ? "False"
               : strcmp(text, "null") == 0  ? "None"
                                            : text;
    }
    for (size_t i = 0; i < node->count; i++)
        if (node->items[i]->kind == ST_YAML_SCALAR)
            st_buffer_printf(&list, "%s%s", list.length > 0 ? " " : "", node->items[i]->text);
    return st_draft_keep(run->draft, &list);
}

/* Options are arguments under other names, and one that is false is not given. */
static void read_map(megatron_run *run, const st_yaml_node *map)
{
    for (size_t i = 0; i < map->count; i++) {
        const st_yaml_node *node = map->items[i];
        if (node == NULL)
            continue;
        const bool is_option = strncmp(map->keys[i], "--", 2) == 0;
        const char *key = map->keys[i] + (is_option ? 2 : 0);
        char *name = st_arena_copy(run->draft->arena, key, strlen(key));
        if (name == NULL) {
            st_draft_out_of_memory(run->draft);
            return;
        }
        for (char *c = name; *c != '\0'; c++)
            *c = *c == '-' ? '_' : *c;
        if (node->kind == ST_YAML_MAP) {
            read_map(run, node);
            continue;
        }
        const char *value = text_of(run, node);
        if (!is_option)
            megatron_set(run, name, value, node->place.line);
        else if (strcmp(value, "False") != 0 && strcmp(value, "None") != 0)
            megatron_set_option(run, name, strcmp(value, "True") == 0 ? NULL : value,
                                node->place.line);
    }
}

/* What Primus' trainer_base.yaml, language_model.yaml and the files of its models, which extend
 * llama_base.yaml, have where an experiment is silent. */
static const char *const primus[] = {
    "micro_batch_size=2",
    "global_batch_size=128",
    "seq_length=4096",
    "bf16=True",
    "sequence_parallel=True",
    "swiglu=True",
    "add_bias_linear=False",
    "untie_embeddings_and_output_weights=True",
    "position_embedding_type=rope",
    "normalization=RMSNorm",
    "hidden_dropout=0.0",
    "attention_dropout=0.0",
};

/* One module trains; its model is a file of its own. */
static void read_module(megatron_run *run, const char *name, const st_yaml_node *module)
{
    const st_yaml_node *framework = member(module, "framework");
    const st_yaml_node *model = member(module, "model");
    const st_yaml_node *overrides = member(module, "overrides");
    if (framework != NULL && framework->kind == ST_YAML_SCALAR &&
        strcmp(framework->text, "megatron") != 0)
        ST_NOTE(run->draft, ST_ERR_VALUE, framework->place,
                "module '%.40s' trains with another framework" ST_FOUND "'%.40s'" ST_EXPECTED
                "megatron",
                name, framework->text);
    else if (overrides != NULL && overrides->kind == ST_YAML_MAP)
        read_map(run, overrides);
    for (size_t i = 0; i < ST_COUNT(primus); i++) {
        const size_t length = strcspn(primus[i], "=");
        const char *argument = st_draft_text(run->draft, "%.*s", (int)length, primus[i]);
        const bool other = strcmp(argument, "bf16") == 0 && megatron_is_true(run, "fp16", false);
        if (!other && !ST_HAS(run->arguments, run->count, name, argument))
            megatron_set(run, argument, primus[i] + length + 1, 0);
    }
    st_draft_note(run->draft, "Where the file is silent, values are those of Primus: bf16, and "
                              "layers of its Llama models.");
    if (model != NULL && model->kind == ST_YAML_SCALAR && !megatron_is_given(run, "num_layers"))
        st_draft_note(run->draft,
                      "The shape of the model is in %.80s, which the file names: give it with "
                      "--set model.layers=... and so on.",
                      model->text);
}

void megatron_read_yaml(megatron_run *run)
{
    st_draft *draft = run->draft;
    const st_yaml_node *root = NULL;
    st_note(&draft->status,
            st_yaml_parse(draft->request->file, draft->request->text, draft->request->length,
                          draft->arena, &root, draft->errors));
    if (draft->status != ST_OK || root->kind != ST_YAML_MAP)
        return;
    const st_yaml_node *options = member(root, "MODEL_ARGS");
    const st_yaml_node *modules = member(root, "modules");
    const st_yaml_node *variables = member(root, "ENV_VARS");
    if (options != NULL && options->kind == ST_YAML_MAP)
        read_map(run, options);
    for (size_t i = 0; modules != NULL && modules->kind == ST_YAML_MAP && i < modules->count; i++)
        read_module(run, modules->keys[i], modules->items[i]);
    if (options == NULL && modules == NULL)
        read_map(run, root);
    for (size_t i = 0; variables != NULL && variables->kind == ST_YAML_MAP && i < variables->count;
         i++)
        if (megatron_is_rank_variable(variables->keys[i]))
            megatron_set(run, variables->keys[i], text_of(run, variables->items[i]),
                         variables->items[i]->place.line);
    megatron_settle_ranks(run);
}
