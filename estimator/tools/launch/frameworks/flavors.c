/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flavors of torchtitan's models: their shapes, as keys below `model` in
 * configs/launches/torchtitan.yaml. An import reads the shape of a flavor, an export finds the
 * flavor that has the shape of its job.
 */
#include "launch/frameworks/settings.h"

#include "base/word_sets.h"
#include "base/yaml.h"
#include "steptime/keys.h"
#include "steptime/tool/job_keys.h"
#include "steptime/tool/value_text.h"

#include <string.h>

enum { MAX_NAMED = 8 };

static const st_yaml_node *flavors_of(const st_yaml_node *models, size_t i)
{
    return st_yaml_get(models->items[i], "flavors");
}

/* ---- import ---- */

static void put_keys(megatron_run *options, const st_yaml_node *shape, const char *origin, int line)
{
    for (size_t i = 0; shape != NULL && i < shape->count; i++)
        st_draft_put(options->draft,
                     st_draft_text(options->draft, ST_KEY_MODEL ".%s", shape->keys[i]), line,
                     shape->items[i]->text, origin);
}

/* Variants with other kernels of attention have the same shape. */
static size_t flavor_length(const char *flavor)
{
    static const char *const kinds[] = {"_flex", "_varlen"};
    for (size_t i = 0; i < ST_COUNT(kinds); i++)
        if (strstr(flavor, kinds[i]) != NULL)
            return (size_t)(strstr(flavor, kinds[i]) - flavor);
    return strlen(flavor);
}

static void refuse(megatron_run *options, const st_yaml_node *models, const char *model)
{
    const megatron_argument *flavor = megatron_get(options, "model.flavor");
    const st_yaml_node *known = st_yaml_get(st_yaml_get(models, model), "flavors");
    st_buffer names = {0};
    for (size_t i = 0; i < (known != NULL ? known->count : models->count); i++)
        st_buffer_printf(&names, " %s", known != NULL ? known->keys[i] : models->keys[i]);
    ST_NOTE(options->draft, ST_ERR_NAME, megatron_place(options, flavor),
            "the shape of flavor '%.60s' of model '%.40s' is not known" ST_EXPECTED "%s%s" ST_HINT
            "give the shape with --set model.layers=..., --set model.hidden=... and so on",
            flavor != NULL ? flavor->value : "", model, known != NULL ? "one of" : "a model of",
            st_draft_keep(options->draft, &names));
}

void fw_put_flavor(megatron_run *options)
{
    st_draft *draft = options->draft;
    const char *model = megatron_text(options, ST_KEY_MODEL_NAME); /* named alike */
    const megatron_argument *flavor = megatron_get(options, "model.flavor");
    const char *name = flavor != NULL ? flavor->value : "";
    const int line = flavor != NULL ? flavor->line : 0;
    const size_t length = flavor_length(name);
    fw_release release = {0};
    if (options->is_export || model[0] == '\0' || st_draft_is_given(draft, ST_KEY_MODEL_LAYERS))
        return;
    const st_status status = fw_release_load(ST_TORCHTITAN, draft->request->paths, NULL,
                                             draft->arena, &release, draft->errors);
    if (status != ST_OK) {
        st_note(&draft->status, status);
        return;
    }
    const st_yaml_node *of = st_yaml_get(release.models, model);
    const st_yaml_node *known = st_yaml_get(of, "flavors");
    const char *base = st_draft_text(draft, "%.*s", (int)length, name);
    if (st_yaml_get(known, base) == NULL) {
        refuse(options, release.models, model);
        return;
    }
    const char *origin = st_draft_text(draft, "flavor %.20s of %.20s", name, model);
    put_keys(options, st_yaml_get(of, "shape"), origin, line);
    put_keys(options, st_yaml_get(known, base), origin, line);
    uint64_t layers = 0;
    if (megatron_read_count(options, "model.n_layers", &layers)) /* Primus writes it over those */
        st_draft_put_count(draft, ST_KEY_MODEL_LAYERS, megatron_line_of(options, "model.n_layers"),
                           layers, "model.n_layers");
    st_draft_put(draft, ST_KEY_MODEL_NAME, line, st_draft_text(draft, "%.20s-%s", model, base),
                 origin);
}

/* ---- export ---- */

/* What training follows and no shape: written at the top of the file where it differs. */
#define LISTED                                                                                     \
    ST_KEY_MODEL_NORM_EPSILON " " ST_KEY_MODEL_INIT_STD " " ST_KEY_MODEL_ROUTER_BIAS               \
                              " " ST_KEY_MODEL_ROUTER_BALANCE                                      \
                              " " ST_KEY_MODEL_ROUTER_BALANCE_WEIGHT

/* What a flavor does not say, or what layers' letters say together. */
#define PASSED_OVER                                                                                \
    ST_KEY_MODEL_NAME " " ST_KEY_MODEL_IMBALANCE " " ST_KEY_MODEL_VOCABULARY_MULTIPLE              \
                      " " ST_KEY_MODEL_FEATURES " " ST_KEY_MODEL_LAYER_LIST                        \
                      " " ST_KEY_MODEL_PATTERN " " ST_KEY_MODEL_DENSE_LAYERS                       \
                      " " ST_KEY_MODEL_MOE_EVERY

/* The key says what the model is and changes no estimate: a job that is silent may be any. */
static bool is_fact(const char *key)
{
    static const char *const others =
        ST_KEY_MODEL_ROTARY " " ST_KEY_MODEL_ACTIVATION " " ST_KEY_MODEL_ROPE_SCALING;
    for (size_t i = 0; i < MEGATRON_FACTS; i++)
        if (strcmp(megatron_facts[i].key, key) == 0)
            return true;
    return st_has_word(others, key);
}

/* The value of a key in the shape of a flavor; NULL: it says nothing of it. */
static const char *text_of(const fw_flavor *flavor, const st_key *key)
{
    const char *name = key->path + strlen(ST_KEY_MODEL ".");
    const st_yaml_node *own = st_yaml_get(flavor->own, name);
    const st_yaml_node *node = own != NULL ? own : st_yaml_get(flavor->shape, name);
    return node != NULL ? node->text : key->default_text;
}

static double number_of(const void *flavor, const char *key)
{
    const char *text = text_of(flavor, st_key_find(key));
    return text != NULL ? strtod(text, NULL) : 0;
}

static bool agrees(const fw_flavor *flavor, const st_job *job, const st_key *key)
{
    const st_job_value *value = st_job_value_of(job, key->path);
    const char *text = text_of(flavor, key);
    const bool is_given = value->origin == ST_ORIGIN_FILE || value->origin == ST_ORIGIN_SET;
    if (st_has_word(PASSED_OVER, key->path) || value->origin == ST_ORIGIN_NONE ||
        (!is_given && is_fact(key->path)) ||
        (strcmp(key->path, ST_KEY_MODEL_EXPERT_FFN) == 0 &&
         number_of(flavor, ST_KEY_MODEL_EXPERTS) + st_job_number(job, ST_KEY_MODEL_EXPERTS) == 0))
        return true;
    if (text == NULL) /* a factor of 1 says nothing */
        return strcmp(key->path, ST_KEY_MODEL_ROUTER_SCALE) == 0 && value->number == 1;
    if (key->kind == ST_KEY_TEXT) /* of YaRN the parameters that torchtitan has */
        return strncmp(value->text, text, strlen(text)) == 0;
    const st_value_text words = {.text = text, .length = strlen(text)};
    double number = 0;
    return st_value_parse(key, &words, &number, NULL) == ST_OK &&
           fw_meaning(number_of, flavor, key->path, number) ==
               fw_meaning(fw_number_in_job, job, key->path, value->number);
}

static bool has_same_layers(const fw_flavor *flavor, const st_job *job, st_arena *arena)
{
    const char *wanted = fw_layer_letters(job, arena);
    const char *pattern = text_of(flavor, st_key_find(ST_KEY_MODEL_PATTERN));
    const char *letters =
        fw_letters_of(&(fw_layer_words){.pattern = pattern,
                                        .layers = st_job_number(job, ST_KEY_MODEL_LAYERS),
                                        .experts = number_of(flavor, ST_KEY_MODEL_EXPERTS),
                                        .dense = number_of(flavor, ST_KEY_MODEL_DENSE_LAYERS),
                                        .every = number_of(flavor, ST_KEY_MODEL_MOE_EVERY)},
                      arena);
    return wanted != NULL && letters != NULL && strcmp(wanted, letters) == 0;
}

/* "model.qk_norm=true model.layers=36", of what differs; the number of those that refuse. */
static size_t differences(const fw_flavor *flavor, const st_job *job, bool listed, st_arena *arena,
                          st_buffer *list)
{
    size_t count = 0;
    size_t key_count = 0;
    const st_key *keys = st_keys(&key_count);
    for (size_t i = 0; i < key_count; i++) {
        const st_key *key = &keys[i];
        if (strncmp(key->path, ST_KEY_MODEL ".", strlen(ST_KEY_MODEL ".")) != 0 ||
            st_has_word(LISTED, key->path) != listed || agrees(flavor, job, key))
            continue;
        const char *text = text_of(flavor, key);
        if (list != NULL && count < MAX_NAMED)
            st_buffer_printf(list, "%s%s%s%s", list->length > 0 ? " " : "", key->path,
                             text != NULL ? "=" : "", text != NULL ? text : "");
        count++;
    }
    if (list != NULL && count > MAX_NAMED)
        st_buffer_printf(list, " and %zu more", count - MAX_NAMED);
    if (!listed && !has_same_layers(flavor, job, arena)) {
        if (list != NULL)
            st_buffer_printf(list, "%slayers of its kinds", list->length > 0 ? ", and " : "");
        count++;
    }
    return count;
}

st_status fw_find_flavor(const st_job *job, const fw_release *release, st_arena *arena,
                         fw_flavor *flavor, st_errors *errors)
{
    const st_yaml_node *models = release->models;
    fw_flavor best = {0};
    size_t fewest = SIZE_MAX;
    for (size_t i = 0; models != NULL && i < models->count; i++) {
        const st_yaml_node *since = st_yaml_get(models->items[i], "since");
        const st_yaml_node *known = flavors_of(models, i);
        if (since != NULL && fw_release_compare(release->version, since->text) < 0)
            continue;
        for (size_t k = 0; known != NULL && k < known->count; k++) {
            const fw_flavor one = {.model = models->keys[i],
                                   .name = known->keys[k],
                                   .shape = st_yaml_get(models->items[i], "shape"),
                                   .own = known->items[k]};
            const size_t count = differences(&one, job, false, arena, NULL);
            if (count < fewest) {
                fewest = count;
                best = one;
            }
        }
    }
    *flavor = best;
    if (fewest == 0)
        return ST_OK;
    st_buffer list = {0};
    if (best.model != NULL)
        (void)differences(&best, job, false, arena, &list);
    (void)fw_refuse(errors, ST_TORCHTITAN, "this model", "no flavor of its models has its shape",
                    st_errors_text(errors, "%s (flavor %s of %s)", st_or_none(list.data),
                                   st_or_none(best.name), st_or_none(best.model)));
    st_buffer_free(&list);
    return ST_ERR_VALUE;
}

const char *fw_flavor_note(st_draft *draft, const fw_flavor *flavor, const st_job *job)
{
    st_buffer list = {0};
    (void)differences(flavor, job, true, draft->arena, &list);
    const char *text = st_draft_keep(draft, &list);
    return text[0] == '\0' ? NULL
                           : st_draft_text(draft, "Flavor %s of %s has its own %s.", flavor->name,
                                           flavor->model, text);
}
