/* SPDX-License-Identifier: Apache-2.0 */
/* Where a config.json describes its language model, and which architecture that is. */
#include "launch/import/hf.h"

#include <string.h>

#define LANGUAGE                                                                                   \
    "text_config language_config llm_config thinker_config language_model text_model_config"

static const char *text_of(const st_json *map, const char *name)
{
    for (const st_json *node = map->first; node != NULL; node = node->next)
        if (strcmp(node->name, name) == 0 && node->kind == ST_JSON_STRING)
            return node->text;
    return NULL;
}

/* Steps into the map of the language model; false where something there is no map. */
bool hf_find_language_model(hf_reader *reader)
{
    hf_reader quiet = *reader;
    reader->config = reader->top;
    for (int level = 0; level < 4; level++) {
        const char *name = text_of(reader->config, "model_type");
        const char *reason = name != NULL ? hf_refusal(name) : NULL;
        if (reason != NULL)
            ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, NULL),
                    "architecture '%.60s' is %s" ST_EXPECTED "a decoder-only language model", name,
                    reason);
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

static bool is_other_part(const char *name)
{
    static const char *const parts[] = {"vision",   "vit",       "visual",  "image",    "video",
                                        "img",      "audio",     "speech",  "sound",    "talker",
                                        "code2wav", "perceiver", "qformer", "projector"};
    bool part = strstr(name, "_config") != NULL || st_ends_in(name, "_processor") ||
                st_ends_in(name, "_lora");
    for (size_t i = 0; part && i < ST_COUNT(parts); i++)
        if (strncmp(name, parts[i], strlen(parts[i])) == 0)
            return true;
    return false;
}

/* Names the parts beside the language model, which an estimate then lacks. */
void hf_note_other_parts(hf_reader *reader)
{
    for (const st_json *node = reader->top->first; node != NULL; node = node->next) {
        if (node->kind == ST_JSON_MAP && is_other_part(node->name))
            st_draft_note(reader->draft,
                          "Left out: %.40s. Only the language model was read, which is not the "
                          "whole model.",
                          node->name);
    }
}

/* The architecture of which an unknown one has the fields. */
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
    const char *names[256];
    size_t count = 0;
    size_t keys = 0;
    (void)st_keys(&keys);
    while (count < ST_COUNT(names) && st_import_hf_architecture(count) != NULL) {
        names[count] = st_import_hf_architecture(count);
        count++;
    }
    st_draft scratch = *reader->draft;
    hf_reader trial = *reader;
    scratch.errors = NULL;
    scratch.values = st_arena_alloc(scratch.arena, keys, sizeof *scratch.values);
    trial.draft = &scratch;
    trial.family = hf_family_find("llama");
    if (scratch.values != NULL)
        hf_read_fields(&trial);
    const char *unknown = hf_list_unknown(&trial);
    const char *nearest = st_nearest(reader->name, names, count);
    ST_NOTE(reader->draft, ST_ERR_NAME, hf_place(reader, NULL),
            "unknown architecture '%.60s'; fields not understood: %s" ST_HINT "%s", reader->name,
            unknown[0] != '\0' ? unknown : "none",
            nearest != NULL
                ? nearest
                : st_draft_text(reader->draft,
                                "name a known one that it is built like, as in --assume %s",
                                built_like(reader)));
}

static bool has_field(const hf_reader *reader, const char *name)
{
    for (const st_json *node = reader->top->first; node != NULL; node = node->next)
        if (strcmp(node->name, name) == 0)
            return true;
    return false;
}

/* Models of images and sounds that no list names show themselves by what they are called. */
static const char *part_by_name(const char *name)
{
    if (strstr(name, "_vision") != NULL || st_ends_in(name, "_vit"))
        return "vision model by its name";
    if (strstr(name, "_audio") != NULL || strstr(name, "codec") != NULL ||
        st_ends_in(name, "_ctc") || st_ends_in(name, "_asr"))
        return "speech model by its name";
    return NULL;
}

/* Or by fields: they have no words. */
static const char *part_by_fields(const hf_reader *reader)
{
    bool image = has_field(reader, "image_size") &&
                 (has_field(reader, "patch_size") || has_field(reader, "num_channels"));
    bool sound = has_field(reader, "num_mel_bins") || has_field(reader, "sampling_rate") ||
                 has_field(reader, "feat_extract_norm");
    if (has_field(reader, "vocab_size") || !(image || sound))
        return NULL;
    return image ? "vision model: it has image_size and no vocab_size"
                 : "speech model: it has fields of sounds and no vocab_size";
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

static const char *family_of_class(const char *class)
{
    const char *best = NULL;
    for (size_t i = 0; st_import_hf_architecture(i) != NULL; i++) {
        const char *name = st_import_hf_architecture(i);
        if (is_named_after(class, name) && (best == NULL || strlen(name) > strlen(best)))
            best = name;
    }
    return best;
}

static void refuse_nameless(hf_reader *reader)
{
    st_errors *errors = reader->draft->errors;
    const char *diffusers = text_of(reader->top, "_class_name");
    const char *class = class_of(reader);
    st_place place = hf_place(reader, NULL);
    const char *family = class != NULL ? family_of_class(class) : NULL;
    st_status status =
        diffusers != NULL
            ? st_fail(errors, ST_ERR_NAME, place,
                      "a file of diffusers (%.60s), which is no language model" ST_EXPECTED
                      "a field 'model_type'",
                      diffusers)
            : st_fail(errors, ST_ERR_NAME, place,
                      "the file does not say its architecture%s%.60s%s" ST_EXPECTED
                      "a field 'model_type'" ST_HINT "name it, as in --assume %s",
                      class != NULL ? ", only its class '" : "", st_or_none(class),
                      class != NULL ? "'" : "", family != NULL ? family : "llama");
    st_note(&reader->draft->status, status);
}

bool hf_find_family(hf_reader *reader)
{
    st_draft *draft = reader->draft;
    const char *own = text_of(reader->config, "model_type");
    const char *assume = draft->request->assume;
    reader->name = own != NULL ? own : text_of(reader->top, "model_type");
    if (assume != NULL) {
        reader->family = hf_family_find(assume);
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
                    "architecture '%.60s' is a %s" ST_EXPECTED "a decoder-only language model",
                    shown, part);
        if (part != NULL)
            return false;
    }
    if (reader->name == NULL || reader->name[0] == '\0') {
        refuse_nameless(reader);
        return false;
    }
    reader->family = hf_family_find(reader->name);
    if (reader->family == NULL)
        refuse_unknown(reader);
    return reader->family != NULL;
}
