/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoders of images, videos and sounds next to a language model. An estimate lacks them; the job
 * says how large they are by what their own part of the config.json says. The sheet counts their
 * parameters as those of a model whose vocabulary is the values of a patch.
 */
#include "launch/import/hf.h"

#include "base/chars.h"
#include "base/word_sets.h"
#include "steptime/keys.h"
#include "steptime/quantity.h"

#include <string.h>

static bool is_other_part(const char *name)
{
    static const char *const parts[] = {"vision",   "vit",       "visual",  "image",     "video",
                                        "img",      "audio",     "speech",  "sound",     "talker",
                                        "code2wav", "perceiver", "qformer", "projector", "vq"};
    bool part = strstr(name, "_config") != NULL || st_ends_in(name, "_processor") ||
                st_ends_in(name, "_lora");
    for (size_t i = 0; part && i < ST_COUNT(parts); i++)
        if (strncmp(name, parts[i], strlen(parts[i])) == 0)
            return true;
    return false;
}

/* Encoders whose MLP has a gate, and those whose positions are not learned. */
static const char gated[] =
    "aimv2 aimv2_vision_model glm4v glm4v_moe glm4v_moe_vision glm4v_vision "
    "glm46v pixtral qwen2_5_omni_vision_encoder qwen2_5_vl";
/* Encoders whose MLP is as wide as what they give; intermediate_size is of what follows. */
static const char ffn_out[] = "glm4v glm4v_moe glm4v_moe_vision glm4v_vision glm46v";
static const char rotary[] =
    "ernie4_5_vl_moe_vision pixtral qwen2_5_omni_vision_encoder qwen2_5_vl qwen2_vl";

typedef struct encoder_shape {
    uint64_t layers, hidden, heads, ffn, patch, channels, frames, image, positions, bins;
} encoder_shape;

/* A number of the part, whatever its name is there; 0: it has none. */
static uint64_t number_of(const st_json *part, const char *names)
{
    for (const st_json *node = part->first; node != NULL; node = node->next) {
        double value = 0;
        const st_json *one = node->kind == ST_JSON_LIST && node->first != NULL ? node->first : node;
        if (st_has_word(names, node->name) && one->kind == ST_JSON_NUMBER &&
            st_number_parse(one->text, strlen(one->text), (st_place){0}, &value, NULL) == ST_OK &&
            value >= 1 && value <= 1e9)
            return (uint64_t)value;
    }
    return 0;
}

static encoder_shape read_encoder(const st_json *part)
{
    encoder_shape read = {
        .layers = number_of(part, "num_hidden_layers depth encoder_layers num_layers layers"),
        .hidden = number_of(part, "hidden_size embed_dim d_model width"),
        .heads = number_of(part, "num_attention_heads num_heads encoder_attention_heads heads"),
        .ffn = number_of(part, "intermediate_size encoder_ffn_dim mlp_dim"),
        .patch = number_of(part, "patch_size spatial_patch_size"),
        .channels = number_of(part, "num_channels in_channels in_chans in_channel"),
        .frames = number_of(part, "temporal_patch_size"),
        .image = number_of(part, "image_size"),
        .positions = number_of(part, "num_position_embeddings"),
        .bins = number_of(part, "num_mel_bins"),
    };
    const uint64_t width = number_of(part, "embed_dim");
    if (number_of(part, "mlp_ratio") > 0 && read.ffn == 0)
        read.ffn = (uint64_t)number_of(part, "mlp_ratio") * (width > 0 ? width : read.hidden);
    /* Qwen2-VL: hidden_size is what the encoder gives to the language model. */
    read.hidden = width > 0 ? width : read.hidden;
    return read;
}

static double parameters_of(hf_reader *reader, const encoder_shape *encoder, const char *type)
{
    size_t count = 0;
    (void)st_keys(&count);
    st_draft scratch = *reader->draft;
    const st_job *given = NULL;
    scratch.errors = NULL;
    scratch.values = st_arena_alloc(scratch.arena, count, sizeof *scratch.values);
    if (scratch.values == NULL ||
        st_job_load(scratch.request->paths, NULL, NULL, 0, scratch.arena, &given, NULL) != ST_OK)
        return 0;
    scratch.given = given;
    const uint64_t side = encoder->patch > 0 ? encoder->image / encoder->patch : 0;
    const uint64_t learned = encoder->positions > 0 ? encoder->positions : side * side;
    const uint64_t channels = encoder->channels > 0 ? encoder->channels : 3;
    const uint64_t frames = encoder->frames > 0 ? encoder->frames : 1;
    /* Two convolutions of three steps make sounds what patches are. */
    const uint64_t values = encoder->bins > 0 ? 3 * (encoder->bins + encoder->hidden)
                                              : channels * frames * encoder->patch * encoder->patch;
    const struct {
        const char *path;
        uint64_t value;
    } numbers[] = {
        {ST_KEY_MODEL_LAYERS, encoder->layers},
        {ST_KEY_MODEL_HIDDEN, encoder->hidden},
        {ST_KEY_MODEL_HEADS, encoder->heads},
        {ST_KEY_MODEL_FFN, encoder->ffn},
        {ST_KEY_MODEL_VOCABULARY, values > 0 ? values : 1},
        {ST_KEY_MODEL_VOCABULARY_MULTIPLE, 1},
        {ST_KEY_MODEL_POSITIONS, st_has_word(rotary, type) ? 0 : learned},
    };
    for (size_t i = 0; i < ST_COUNT(numbers); i++)
        if (numbers[i].value > 0 || i + 1 == ST_COUNT(numbers))
            st_draft_put_count(&scratch, numbers[i].path, 0, numbers[i].value, NULL);
    st_draft_put_bool(&scratch, ST_KEY_MODEL_TIED, true, NULL);
    st_draft_put_bool(&scratch, ST_KEY_MODEL_BIAS, !st_has_word(gated, type), NULL);
    st_draft_put_bool(&scratch, ST_KEY_MODEL_GATED, st_has_word(gated, type), NULL);
    return scratch.status == ST_OK ? hf_count_parameters(&scratch) : 0;
}

static const char *type_of(const st_json *map)
{
    for (const st_json *node = map->first; node != NULL; node = node->next)
        if (strcmp(node->name, "model_type") == 0 && node->kind == ST_JSON_STRING)
            return node->text;
    return "";
}

static void note_part(hf_reader *reader, st_json *part)
{
    encoder_shape encoder = read_encoder(part);
    const char *type = type_of(part)[0] != '\0' ? type_of(part) : type_of(reader->top);
    st_buffer text = {0};
    double parameters = 0;
    if (st_has_word(ffn_out, type))
        encoder.ffn = number_of(part, "out_hidden_size");
    if (encoder.layers > 0 && encoder.hidden > 0)
        parameters = parameters_of(reader, &encoder, type);
    st_buffer_printf(&text, "Left out: %.40s", part->name);
    if (parameters > 0)
        st_buffer_printf(&text, ", an encoder of %.3g %s parameters (%llu layers, %llu wide",
                         parameters < 9.995e8 ? parameters / 1e6 : parameters / 1e9,
                         parameters < 9.995e8 ? "million" : "billion",
                         (unsigned long long)encoder.layers, (unsigned long long)encoder.hidden);
    if (parameters > 0 && encoder.ffn > 0)
        st_buffer_printf(&text, ", MLP of %llu", (unsigned long long)encoder.ffn);
    if (parameters > 0 && encoder.patch > 0)
        st_buffer_printf(&text, ", patches of %llu", (unsigned long long)encoder.patch);
    if (parameters > 0 && encoder.image > 0)
        st_buffer_printf(&text, ", images of %llu", (unsigned long long)encoder.image);
    st_buffer_text(&text, parameters > 0 ? ")" : "");
    st_draft_note(reader->draft,
                  "%s. Only the language model was read, which is not the whole model.",
                  st_draft_keep(reader->draft, &text));
    part->used = parameters > 0;
}

void hf_note_other_parts(hf_reader *reader)
{
    for (st_json *node = reader->top->first; node != NULL; node = node->next)
        if (node->kind == ST_JSON_MAP && is_other_part(node->name))
            note_part(reader, node);
    /* Qwen-Omni: the encoders lie next to the text part, inside of the thinker. */
    for (st_json *outer = reader->top->first; outer != NULL; outer = outer->next)
        for (st_json *node = outer->kind == ST_JSON_MAP ? outer->first : NULL;
             node != NULL && st_has_word("thinker_config llm_config", outer->name);
             node = node->next)
            if (node->kind == ST_JSON_MAP && is_other_part(node->name))
                note_part(reader, node);
}
