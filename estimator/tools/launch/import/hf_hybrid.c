/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hybrids, whose layers are single blocks for the sheet: Nemotron-H lists them as such; Bamba,
 * Granite 4, Falcon-H1 and Jamba put what mixes tokens and an MLP or experts into one layer, which
 * becomes two or three blocks here.
 */
#include "launch/import/hf.h"

#include "base/memory.h"
#include "base/text.h"
#include "launch/import/layer_kinds.h"
#include "steptime/keys.h"
#include "steptime/quantity.h"
#include "steptime/tool/pattern.h"

#include <math.h>
#include <string.h>

/* ---- letters ---- */

static bool is_family(const hf_reader *reader, const char *name)
{
    return strcmp(reader->architecture, name) == 0;
}

static char letter_of_block(const char *name)
{
    static const struct {
        const char *name;
        char letter;
    } blocks[] = {{"mamba", 'M'},          {"mamba2", 'M'}, {"attention", '*'},
                  {"full_attention", '*'}, {"mlp", '-'},    {"moe", 'E'}};
    size_t i = ST_FIND(blocks, ST_COUNT(blocks), name, name);
    return i < ST_COUNT(blocks) ? blocks[i].letter : '?';
}

/* Jamba: one layer in so many, counted from an offset. */
typedef struct turns {
    uint64_t period;
    uint64_t offset;
} turns;

static uint64_t turn_field(hf_reader *reader, const char *name, uint64_t least)
{
    uint64_t value = hf_class_default(reader, name);
    if (hf_find(reader, name) == NULL)
        st_draft_note(reader->draft, "The file lacks %s; %llu is the default of architecture %s.",
                      name, (unsigned long long)value, reader->architecture);
    else
        (void)hf_count(reader, name, least, &value);
    return value;
}

static turns read_turns(hf_reader *reader, const char *period, const char *offset)
{
    turns read = {turn_field(reader, period, 1), turn_field(reader, offset, 0)};
    const st_json *node = hf_find(reader, offset);
    if (read.offset >= read.period)
        ST_NOTE(reader->draft, ST_ERR_VALUE,
                hf_place(reader, node != NULL ? node : hf_find(reader, period)),
                "%s is out of range" ST_FOUND "%llu" ST_EXPECTED "below %llu, the %s", offset,
                (unsigned long long)read.offset, (unsigned long long)read.period, period);
    return read;
}

static void read_jamba(hf_reader *reader, uint64_t layers, char *mixers, bool *dense)
{
    turns attention = read_turns(reader, "attn_layer_period", "attn_layer_offset");
    turns experts = read_turns(reader, "expert_layer_period", "expert_layer_offset");
    for (uint64_t i = 0; i < layers; i++) {
        mixers[i] = i % attention.period == attention.offset ? '*' : 'M';
        dense[i] = i % experts.period != experts.offset;
    }
}

static void read_names(hf_reader *reader, uint64_t layers, char *mixers)
{
    const st_json *list = hf_find(reader, "layers_block_type layer_types");
    uint64_t i = 0;
    if (list == NULL)
        return;
    hf_check_length(reader, list, layers);
    for (const st_json *node = list->first; node != NULL && i < layers; node = node->next)
        mixers[i++] = letter_of_block(hf_text(node));
}

static void read_indices(hf_reader *reader, uint64_t layers, char *mixers)
{
    const st_json *list = hf_find(reader, "attn_layer_indices");
    uint64_t index = 0;
    if (list != NULL && list->kind != ST_JSON_LIST)
        ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, list),
                "field '%s' cannot be used" ST_FOUND "%s" ST_EXPECTED "a list of layers",
                list->name, st_or_none(st_json_describe(list, reader->draft->errors)));
    else if (list != NULL)
        for (const st_json *node = list->first; node != NULL; node = node->next)
            if (hf_layer(reader, list, node, 0, layers, &index))
                mixers[index] = '*';
}

/* One block, or two: a mixer and an MLP or experts in every layer. */
static void append_layers(hf_reader *reader, st_buffer *letters, const char *behind)
{
    bool parallel = is_family(reader, "falcon_h1");
    bool attends = is_family(reader, "longcat_flash");
    uint64_t layers = 0;
    if (attends && hf_find(reader, "num_layers") == NULL)
        hf_missing(reader, "num_layers", ST_KEY_MODEL_PATTERN);
    if (!hf_count(reader, attends ? "num_layers" : HF_LAYERS, 1, &layers) ||
        layers > ST_PATTERN_LAYERS)
        return;
    char *mixers = st_draft_alloc(reader->draft, layers, sizeof *mixers);
    bool *dense = st_draft_alloc(reader->draft, layers, sizeof *dense);
    if (mixers == NULL || dense == NULL)
        return;
    memset(mixers, attends ? '*' : 'M', layers); /* where no list says otherwise */
    if (is_family(reader, "jamba"))
        read_jamba(reader, layers, mixers, dense);
    read_indices(reader, layers, mixers);
    read_names(reader, layers, mixers);
    for (uint64_t i = 0; i < layers; i++)
        st_buffer_printf(letters, "%s%s", parallel ? "M*" : (char[]){mixers[i], '\0'},
                         dense[i] ? "-" : behind);
}

/* For layers of several blocks: the block after the mixer; NULL for others. */
static const char *behind_mixer(hf_reader *reader)
{
    uint64_t experts = 0;
    if (is_family(reader, "bamba") || is_family(reader, "falcon_h1"))
        return "-";
    if (is_family(reader, "longcat_flash"))
        return "-E*-"; /* the experts and the second half run side by side */
    if (is_family(reader, "mamba2"))
        return "";
    if (is_family(reader, "jamba")) {
        experts = hf_class_default(reader, ST_KEY_MODEL_EXPERTS);
        (void)hf_count(reader, "num_experts", 0, &experts);
        return experts > 1 ? "E" : "-";
    }
    if (!is_family(reader, "granitemoehybrid"))
        return NULL;
    return hf_count(reader, "num_local_experts", 0, &experts) && experts > 0 ? "E" : "-";
}

/* ---- Nemotron-NAS ---- */

/* Layers that a search has cut: either half of a layer may be missing, or be one matrix. A matrix
 * is an MLP of a third of the hidden size here, which has as many weights and products. */

static const st_json *member(const st_json *map, const char *name)
{
    for (const st_json *node = map != NULL && map->kind == ST_JSON_MAP ? map->first : NULL;
         node != NULL; node = node->next)
        if (strcmp(node->name, name) == 0 && node->kind != ST_JSON_NULL)
            return node;
    return NULL;
}

static bool says_yes(const st_json *map, const char *name)
{
    const st_json *node = member(map, name);
    return node != NULL && node->kind == ST_JSON_BOOL && node->text[0] == 't';
}

static bool is_cut(const hf_reader *reader)
{
    return is_family(reader, "nemotron-nas") || is_family(reader, "deci");
}

static void append_blocks(hf_reader *reader, st_buffer *letters)
{
    const st_json *list = hf_find(reader, "block_configs");
    if (list == NULL || list->kind != ST_JSON_LIST)
        hf_missing(reader, "block_configs", ST_KEY_MODEL_PATTERN);
    for (const st_json *node = list != NULL ? list->first : NULL; node != NULL; node = node->next)
        for (int half = 0; half < 2; half++) {
            const st_json *part = member(node, half == 0 ? "attention" : "ffn");
            const bool is_matrix = says_yes(part, "replace_with_linear");
            if (part != NULL && !says_yes(part, "no_op"))
                st_buffer_text(letters, half == 0 && !is_matrix ? "*" : "-");
        }
}

/* A number of a block, above 0. */
static double block_number(hf_reader *reader, const st_json *part, const char *name)
{
    const st_json *node = member(part, name);
    double number = 0;
    if (node == NULL || node->kind != ST_JSON_NUMBER ||
        st_number_parse(node->text, strlen(node->text), (st_place){0}, &number, NULL) != ST_OK ||
        !(number > 0 && number <= 1e6))
        ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, node != NULL ? node : part),
                "block_configs: a block lacks %s" ST_EXPECTED "a number above 0", name);
    return number;
}

bool hf_put_block_widths(hf_reader *reader)
{
    st_draft *draft = reader->draft;
    const st_json *list = is_cut(reader) ? hf_find(reader, "block_configs") : NULL;
    const double hidden = (double)st_draft_count(draft, ST_KEY_MODEL_HIDDEN);
    double group = 0;
    double sum = 0;
    size_t count = 0;
    if (list == NULL)
        return false;
    hf_pass_over(reader, "intermediate_size num_key_value_heads");
    for (const st_json *node = list->first; node != NULL && draft->status == ST_OK;
         node = node->next) {
        const st_json *attention = member(node, "attention");
        const st_json *ffn = member(node, "ffn");
        const bool attends = attention != NULL && !says_yes(attention, "no_op");
        const bool feeds = ffn != NULL && !says_yes(ffn, "no_op");
        if (attends && says_yes(attention, "replace_with_linear")) {
            sum += hidden / 3;
            count++;
        } else if (attends) {
            const double heads = block_number(reader, attention, "n_heads_in_group");
            if (group > 0 && heads != group)
                ST_NOTE(draft, ST_ERR_VALUE, hf_place(reader, attention),
                        "block_configs: layers differ from each other in key heads, which the "
                        "sheet has no formula of" ST_FOUND "groups of %g and %g heads",
                        group, heads);
            group = heads;
        }
        if (!feeds)
            continue;
        const bool is_matrix = says_yes(ffn, "replace_with_linear");
        const st_json *width = member(ffn, "intermediate_size");
        const double factor =
            is_matrix || width != NULL ? 0 : block_number(reader, ffn, "ffn_mult");
        /* As its code rounds: up to a multiple of 256. */
        sum += is_matrix       ? hidden / 3
               : width != NULL ? block_number(reader, ffn, "intermediate_size")
                               : ceil(floor(2 * factor * hidden / 3) / 256) * 256;
        count++;
    }
    if (count > 0)
        st_draft_put_count(draft, ST_KEY_MODEL_FFN, list->line,
                           (uint64_t)(sum / (double)count + 0.5),
                           "block_configs, mean width of the MLPs");
    if (group > 0)
        st_draft_put_count(draft, ST_KEY_MODEL_KV_HEADS, list->line,
                           (uint64_t)((double)st_draft_count(draft, ST_KEY_MODEL_HEADS) / group),
                           "block_configs, heads over n_heads_in_group");
    st_draft_note(draft, "MLPs differ from each other in width (block_configs); each is estimated "
                         "with the mean, which keeps parameters and FLOP of the model, not those "
                         "of a stage.");
    return true;
}

/* ---- letters of a file ---- */

/* Layers up to the first '/', which precedes those of multi-token prediction, without the '|'
 * between stages. */
static void append_pattern(const st_json *text, st_buffer *letters)
{
    const char *end = hf_text(text) + strcspn(hf_text(text), "/");
    for (const char *c = hf_text(text); c < end; c++)
        if (*c != '|')
            st_buffer_append(letters, c, 1);
}

const char *hf_hybrid_letters(hf_reader *reader)
{
    if (!reader->lettered) {
        const st_json *text = hf_find(reader, "hybrid_override_pattern hybrid_layer_pattern");
        const char *behind = behind_mixer(reader);
        st_buffer letters = {0};
        if (hf_text(text)[0] != '\0') {
            append_pattern(text, &letters);
            reader->letters = st_draft_keep(reader->draft, &letters);
        } else if (is_cut(reader)) {
            append_blocks(reader, &letters);
            reader->letters = st_draft_keep(reader->draft, &letters);
        } else if (behind == NULL && !is_family(reader, "nemotron_h")) {
            reader->letters = NULL;
        } else {
            if (behind != NULL)
                append_layers(reader, &letters, behind);
            const st_json *list = behind == NULL ? hf_find(reader, "layers_block_type") : NULL;
            for (const st_json *node = list != NULL ? list->first : NULL; node != NULL;
                 node = node->next)
                st_buffer_append(&letters, (char[]){letter_of_block(hf_text(node))}, 1);
            reader->letters = st_draft_keep(reader->draft, &letters);
        }
    }
    reader->lettered = true;
    return reader->letters;
}

void hf_put_layers(hf_reader *reader)
{
    const char *letters = hf_hybrid_letters(reader);
    bool counted = letters != NULL && letters[0] != '\0';
    if (!counted || (behind_mixer(reader) == NULL && !is_cut(reader)) ||
        is_family(reader, "mamba2")) {
        hf_put_field(reader, ST_KEY_MODEL_LAYERS, HF_LAYERS, letters == NULL);
        return;
    }
    if (is_cut(reader)) {
        uint64_t layers = 0;
        const st_json *list = hf_find(reader, "block_configs");
        if (list != NULL && hf_count(reader, HF_LAYERS, 1, &layers))
            hf_check_length(reader, list, layers);
    }
    st_draft_put_count(reader->draft, ST_KEY_MODEL_LAYERS, 0, strlen(letters),
                       is_cut(reader) ? "blocks of block_configs"
                                      : "num_hidden_layers, several blocks each");
}

/* ---- widths ---- */

static void put_mamba(hf_reader *reader)
{
    if (is_family(reader, "mamba2")) {
        hf_put_field(reader, ST_KEY_MODEL_MAMBA_HEADS, "num_heads", true);
        hf_put_field(reader, ST_KEY_MODEL_MAMBA_HEAD_DIM, "head_dim", true);
        hf_put_field(reader, ST_KEY_MODEL_MAMBA_STATE, "state_size", true);
        hf_put_field(reader, ST_KEY_MODEL_MAMBA_GROUPS, "n_groups", true);
        return;
    }
    if (is_family(reader, "jamba")) {
        /* Mamba-1 has a state for each channel, and steps by way of a rank, a 16th of the hidden
         * size where the file says "auto". */
        st_draft *draft = reader->draft;
        const st_json *node = hf_find(reader, "mamba_dt_rank");
        uint64_t hidden = st_draft_count(draft, ST_KEY_MODEL_HIDDEN);
        uint64_t times = 2;
        (void)hf_count(reader, "mamba_expand", 1, &times);
        st_draft_put_count(draft, ST_KEY_MODEL_MAMBA_HEADS, 0, times * hidden,
                           "channels of mamba_expand, each with a state of its own");
        st_draft_put_count(draft, ST_KEY_MODEL_MAMBA_HEAD_DIM, 0, 1, hf_of_class(reader, "class"));
        hf_put_field(reader, ST_KEY_MODEL_MAMBA_STATE, "mamba_d_state", true);
        if (node == NULL || node->kind == ST_JSON_STRING)
            st_draft_put_count(draft, ST_KEY_MODEL_MAMBA_RANK, 0, (hidden + 15) / 16,
                               "a 16th of the hidden size");
        else
            hf_put_field(reader, ST_KEY_MODEL_MAMBA_RANK, "mamba_dt_rank", true);
        st_draft_note(
            draft,
            "The scan of Mamba-1 is estimated as that of Mamba-2, which runs fewer kernels.");
        return;
    }
    uint64_t heads =
        hf_put_field(reader, ST_KEY_MODEL_MAMBA_HEADS, "mamba_num_heads mamba_n_heads", true);
    /* "auto", or silence: what is left of the inner width for a head. */
    const st_json *node = hf_find(reader, "mamba_head_dim mamba_d_head");
    uint64_t inner = 0;
    uint64_t times = 2;
    if (node != NULL && node->kind != ST_JSON_STRING) {
        hf_put_field(reader, ST_KEY_MODEL_MAMBA_HEAD_DIM, "mamba_head_dim mamba_d_head", true);
    } else {
        (void)hf_count(reader, "mamba_expand expand", 1, &times);
        if (!hf_count(reader, "mamba_d_ssm", 1, &inner))
            inner = times * st_draft_count(reader->draft, ST_KEY_MODEL_HIDDEN);
        if (node == NULL || heads == 0 || inner % heads != 0)
            hf_missing(reader, "mamba_head_dim mamba_d_head", ST_KEY_MODEL_MAMBA_HEAD_DIM);
        else
            st_draft_put_count(reader->draft, ST_KEY_MODEL_MAMBA_HEAD_DIM, 0, inner / heads,
                               "the inner width over the heads");
    }
    hf_put_field(reader, ST_KEY_MODEL_MAMBA_STATE, "ssm_state_size mamba_d_state", true);
    hf_put_field(reader, ST_KEY_MODEL_MAMBA_GROUPS, "n_groups mamba_n_groups", false);
    if (is_family(reader, "falcon_h1"))
        st_draft_note(reader->draft, "Attention and Mamba-2 run in parallel in every layer; they "
                                     "are estimated one after the other.");
}

bool hf_read_hybrid(hf_reader *reader)
{
    st_draft *draft = reader->draft;
    const char *letters = hf_hybrid_letters(reader);
    const st_json *node = hf_find(
        reader, "hybrid_override_pattern hybrid_layer_pattern layers_block_type layer_types "
                "attn_layer_indices block_configs");
    st_pattern pattern;
    if (letters == NULL)
        return false;
    uint64_t layers = st_draft_count(draft, ST_KEY_MODEL_LAYERS);
    if (layers == 0 && letters[0] != '\0')
        st_draft_put_count(draft, ST_KEY_MODEL_LAYERS, 0, strlen(letters),
                           node != NULL ? node->name : "hybrid_override_pattern");
    layers = layers > 0 ? layers : strlen(letters);
    st_note(&draft->status, st_pattern_read(letters, (double)layers, hf_place(reader, node),
                                            draft->arena, &pattern, draft->errors));
    if (pattern.count == 0)
        return true;
    st_draft_put_bool(draft, ST_KEY_MODEL_HYBRID, true, "a layer is one block");
    st_draft_put_pattern(draft, letters, node != NULL ? node->name : "layers");
    if (pattern.before[pattern.count].of[ST_LAYER_MAMBA] > 0)
        put_mamba(reader);
    if (is_family(reader, "longcat_flash"))
        st_draft_note(draft,
                      "The experts of a layer run next to its second attention and MLP; they "
                      "are estimated one after the other.");
    return true;
}
