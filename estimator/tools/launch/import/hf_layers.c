/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers by kind. What mixes tokens in a layer (attention over all, over a window, a gated delta
 * net) and whether experts follow are read apart, from lists or from intervals; the two together
 * are a pattern, which a job has only where the plain keys cannot say it.
 */
#include "launch/import/hf.h"

#include "launch/import/layer_kinds.h"
#include "steptime/keys.h"
#include "steptime/quantity.h"

#include <stdlib.h>
#include <string.h>

#define WINDOWS                                                                                    \
    "sliding_window sliding_window_size window_size attention_chunk_size attention_window_size"

typedef struct hf_layers {
    hf_reader *reader;
    st_layer_kinds kinds;
    bool chunks;
} hf_layers;

/* A flag of a layer: neither 0 nor false. */
static bool is_set(const st_json *node)
{
    return (node->kind == ST_JSON_NUMBER && strcmp(node->text, "0") != 0) ||
           (node->kind == ST_JSON_BOOL && node->text[0] == 't');
}

/* The entry behind `node`, the first one behind the last: a model made longer by --set repeats. */
static const st_json *next_in(const st_json *list, const st_json *node)
{
    return node != NULL && node->next != NULL ? node->next : list->first;
}

/* A list with entries. */
static st_json *find_list(hf_reader *reader, const char *names)
{
    st_json *list = hf_find(reader, names);
    uint64_t layers = st_draft_count(reader->draft, ST_KEY_MODEL_LAYERS);
    if (list == NULL || list->kind != ST_JSON_LIST || list->first == NULL)
        return NULL;
    if (layers > 0 && !st_draft_is_given(reader->draft, ST_KEY_MODEL_LAYERS))
        hf_check_length(reader, list, layers);
    return list;
}

/* ---- what mixes tokens ---- */

typedef struct family_layers {
    const char *family;
    uint64_t layers;
} family_layers;

/* One layer in so many attends to everything, where the file does not say. */
static const family_layers intervals[] = {
    {"gemma2", 2},     {"gpt_oss", 2},      {"gemma3_text", 6},      {"gemma3n_text", 5},
    {"cohere2", 4},    {"olmo3", 4},        {"llama4_text", 4},      {"qwen3_next", 4},
    {"exaone4", 4},    {"qwen3_5_text", 4}, {"qwen3_5_moe_text", 4}, {"afmoe", 4},
    {"exaone_moe", 4}, {"cohere2_moe", 4},  {"olmo_hybrid", 4}};

static uint64_t layers_of(const family_layers *known, size_t count, const char *family)
{
    size_t i = ST_FIND(known, count, family, family);
    return i < count ? known[i].layers : 0;
}

/* '\0' for a kind that is not modelled. */
static char mixer_of(hf_layers *layers, const st_json *type, bool linear)
{
    static const struct {
        const char *name;
        char letter;
    } kinds[] = {
        {"full_attention", 'd'},
        {"attention", 'd'},
        {"global", 'd'},
        {"sliding_attention", 'x'},
        {"chunked_attention", 'x'},
        {"local", 'x'},
        {"linear_attention", 'g'},
        {"conv", 'g'},
        {"recurrent", 'g'},
    };
    const char *text = hf_text(type);
    /* RecurrentGemma's attention has a window wherever it is. */
    if (hf_is_recurrent(layers->reader) && strcmp(text, "attention") == 0)
        text = "sliding_attention";
    for (size_t i = 0; i < ST_COUNT(kinds); i++)
        if (strcmp(kinds[i].name, text) == 0 && (kinds[i].letter != 'g' || linear)) {
            layers->chunks = layers->chunks || strcmp(text, "chunked_attention") == 0;
            return kinds[i].letter;
        }
    return '\0';
}

/* "LLLG", over and over: local and global. */
static bool mixers_from_letters(hf_layers *layers, const st_json *node)
{
    size_t length = node != NULL ? strlen(hf_text(node)) : 0;
    if (length == 0 || strspn(node->text, "LG") != length)
        return false;
    for (size_t i = 0; i < layers->kinds.count; i++)
        layers->kinds.mixers[i] = node->text[i % length] == 'L' ? 'x' : 'd';
    return true;
}

/* A window where a list has a flag. */
static void mixers_by_flag(hf_layers *layers, const st_json *list)
{
    const st_json *node = NULL;
    for (size_t i = 0; i < layers->kinds.count && list != NULL; i++) {
        node = next_in(list, node);
        layers->kinds.mixers[i] = is_set(node) ? 'x' : 'd';
    }
}

/* Llama 4: layers with rotary positions attend within chunks. */
static bool mixers_from_rope(hf_layers *layers)
{
    const st_json *list = find_list(layers->reader, "no_rope_layers");
    layers->chunks = hf_find(layers->reader, "attention_chunk_size") != NULL;
    if (list == NULL || !layers->chunks)
        return false;
    mixers_by_flag(layers, list);
    return true;
}

/* MiMo: 1 where a layer has a window. */
static bool mixers_from_flags(hf_layers *layers)
{
    const st_json *list = hf_find(layers->reader, "hybrid_layer_pattern");
    if (list == NULL || list->kind != ST_JSON_LIST)
        return false;
    mixers_by_flag(layers, find_list(layers->reader, "hybrid_layer_pattern"));
    return true;
}

static void mixers_by_interval(hf_layers *layers, uint64_t interval, char between)
{
    for (size_t i = 0; i < layers->kinds.count; i++)
        layers->kinds.mixers[i] = interval > 0 && (i + 1) % interval == 0 ? 'd' : between;
}

/* Qwen's first layers see everything, where windows are used at all. */
static void mixers_by_window(hf_layers *layers)
{
    uint64_t first = 0;
    bool switched = hf_find(layers->reader, "use_sliding_window") != NULL;
    if (switched)
        (void)hf_count(layers->reader, "max_window_layers", 0, &first);
    for (size_t i = 0; i < layers->kinds.count; i++)
        layers->kinds.mixers[i] = i < first ? 'd' : 'x';
}

/* RecurrentGemma: the first types of layers, over and over; GPT-Neo: [[["global", "local"], 12]].
 */
static const st_json *repeated_types(hf_reader *reader)
{
    const st_json *blocks = hf_find(reader, "block_types _block_types");
    if (blocks != NULL && blocks->kind == ST_JSON_LIST && blocks->first != NULL)
        return blocks;
    const st_json *types = hf_find(reader, "attention_types");
    for (int depth = 0; depth < 2 && types != NULL; depth++)
        types = types->kind == ST_JSON_LIST ? types->first : NULL;
    return types != NULL && types->kind == ST_JSON_LIST && types->first != NULL ? types : NULL;
}

static void read_mixers(hf_layers *layers, bool windows)
{
    hf_reader *reader = layers->reader;
    const st_json *list = find_list(reader, "layer_types attention_layers");
    const st_json *letters = hf_find(reader, "sliding_window_pattern _sliding_window_pattern "
                                             "layer_switch global_attn_every_n_layers");
    const st_json *full = hf_find(reader, "full_attention_interval no_rope_layer_interval");
    uint64_t interval = layers_of(intervals, ST_COUNT(intervals), reader->architecture);
    if (list == NULL)
        list = repeated_types(reader);
    if (list != NULL) {
        bool linear = hf_has_linear(layers->reader);
        const st_json *type = NULL;
        for (size_t i = 0; i < layers->kinds.count; i++) {
            type = next_in(list, type);
            layers->kinds.mixers[i] = mixer_of(layers, type, linear);
            if (layers->kinds.mixers[i] != '\0')
                continue;
            st_errors *errors = layers->reader->draft->errors;
            st_note(
                &layers->reader->draft->status,
                st_fail(errors, ST_ERR_VALUE, hf_place(layers->reader, type),
                        "%s has layers that are not modelled" ST_FOUND "%s" ST_EXPECTED
                        "full_attention, sliding_attention, or linear_attention of a gated delta "
                        "net (linear_num_value_heads)",
                        list->name != NULL ? list->name : "attention_types",
                        st_or_none(st_json_describe(type, errors))));
            layers->kinds.count = 0;
        }
    } else if (hf_linear_layers(reader, layers->kinds.mixers, layers->kinds.count) ||
               mixers_from_rope(layers) || mixers_from_flags(layers) ||
               mixers_from_letters(layers, letters)) {
        return;
    } else if (hf_is_recurrent(reader)) {
        for (size_t i = 0; i < layers->kinds.count; i++) /* default of block_types */
            layers->kinds.mixers[i] = i % 3 == 2 ? 'x' : 'g';
    } else if (hf_needs_linear(reader)) {
        hf_missing(reader, "layer_types attn_type_list full_attn_idxs linear_attn_config",
                   ST_KEY_MODEL_PATTERN);
    } else if (hf_has_linear(reader)) {
        if (full != NULL && !hf_number(reader, full, 1, &interval))
            return;
        mixers_by_interval(layers, interval, 'g');
    } else if (windows) {
        if (letters != NULL && !hf_number(reader, letters, 1, &interval))
            return;
        if (interval > 0)
            mixers_by_interval(layers, interval, 'x');
        else
            mixers_by_window(layers);
    }
}

/* ---- windows ---- */

/* Tokens that a windowed layer sees; 0 where the file has no window or does not use it. */
static uint64_t read_window(hf_reader *reader)
{
    const st_json *node = hf_find(reader, WINDOWS);
    const st_json *longest = hf_find(reader, "max_position_embeddings");
    uint64_t window = node == NULL ? hf_class_default(reader, ST_KEY_MODEL_WINDOW) : 0;
    uint64_t most = 0;
    if (node != NULL && !hf_number(reader, node, 0, &window))
        return 0;
    if (!hf_bool(reader, "use_sliding_window", true))
        return 0;
    bool whole = longest != NULL && hf_number(reader, longest, 1, &most) && window >= most;
    return whole ? 0 : window;
}

/* ---- experts ---- */

/* Leading layers without experts, where the file does not say. */
static const family_layers dense_layers[] = {
    {"afmoe", 1}, {"deepseek_v3", 3}, {"exaone_moe", 1},   {"glm4_moe", 1},
    {"hy_v3", 1}, {"laguna", 1},      {"mimo_v2_flash", 1}};

#define FIRST_MOE                                                                                  \
    "first_k_dense_replace moe_layer_start_index num_dense_layers moe_layer_num_skipped"

/* One layer in `step` from `first` on; DeepSeek counts from the model's first layer, the others
 * take the last of each `step`. */
static void moe_by_step(hf_layers *layers)
{
    hf_reader *reader = layers->reader;
    uint64_t first = layers_of(dense_layers, ST_COUNT(dense_layers), reader->architecture);
    uint64_t last = layers->kinds.count;
    uint64_t frequency = 1;
    uint64_t step = 1;
    const st_json *node = hf_find(reader, "moe_layer_freq");
    (void)hf_count(reader, FIRST_MOE, 0, &first);
    const st_json *end = hf_find(reader, "moe_layer_end_index"); /* -1: the last layer */
    if (end != NULL && (end->kind != ST_JSON_NUMBER || end->text[0] != '-'))
        (void)hf_number(reader, end, 0, &last);
    if (node != NULL && node->kind != ST_JSON_LIST)
        (void)hf_number(reader, node, 1, &frequency);
    (void)hf_count(reader, "decoder_sparse_step interleave_moe_layer_step moe_layer_interval", 1,
                   &step);
    for (size_t i = 0; i < layers->kinds.count; i++)
        layers->kinds.moe[i] = i >= first && i <= last && i % frequency == 0 && (i + 1) % step == 0;
    /* Named layers lack experts. Names beyond the model's layers are wrong, unless
     * the number of these was set. */
    const st_json *list = hf_find(reader, "mlp_only_layers");
    uint64_t layer = 0;
    uint64_t count = layers->kinds.count;
    uint64_t named = 0;
    if (st_draft_is_given(reader->draft, ST_KEY_MODEL_LAYERS) &&
        hf_count(reader, HF_LAYERS, 1, &named))
        count = named;
    for (const st_json *listed_node = list != NULL ? list->first : NULL; listed_node != NULL;
         listed_node = listed_node->next)
        if (hf_layer(reader, list, listed_node, 0, count, &layer) && layer < layers->kinds.count)
            layers->kinds.moe[layer] = false;
}

static bool is_moe(hf_layers *layers, const st_json *node)
{
    if (node->kind == ST_JSON_NUMBER || node->kind == ST_JSON_BOOL)
        return is_set(node);
    const char *text = hf_text(node);
    bool experts =
        strcmp(text, "sparse") == 0 || strcmp(text, "moe") == 0 || strcmp(text, "hash_moe") == 0;
    if (!experts && strcmp(text, "dense") != 0) {
        hf_reader *reader = layers->reader;
        st_errors *errors = reader->draft->errors;
        ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, node),
                "%s %s" ST_FOUND "%s" ST_EXPECTED "%s", node->name != NULL ? node->name : "a list",
                ("of layers is not known"), st_or_none(st_json_describe(node, errors)),
                ("dense or sparse"));
    }
    return experts;
}

/* Step-3: "4,5,6", the layers with experts. */
static void read_named_moe(hf_layers *layers)
{
    hf_reader *reader = layers->reader;
    const st_json *names = hf_find(reader, "moe_layers_enum");
    const char *text = hf_text(names);
    if (text[0] == '\0')
        return;
    memset(layers->kinds.moe, 0, layers->kinds.count * sizeof *layers->kinds.moe);
    while (*text != '\0') {
        char *end = NULL;
        const unsigned long layer = strtoul(text, &end, 10);
        if (end == text || (*end != ',' && *end != '\0') ||
            (layer >= layers->kinds.count &&
             !st_draft_is_given(reader->draft, ST_KEY_MODEL_LAYERS))) {
            ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, names),
                    "moe_layers_enum: unknown layer" ST_FOUND "'%.20s'" ST_EXPECTED
                    "numbers below %zu with commas between them",
                    text, layers->kinds.count);
            return;
        }
        if (layer < layers->kinds.count)
            layers->kinds.moe[layer] = true;
        text = *end == ',' ? end + 1 : end;
    }
}

static void read_moe(hf_layers *layers)
{
    hf_reader *reader = layers->reader;
    if (st_draft_count(reader->draft, ST_KEY_MODEL_EXPERTS) == 0)
        return;
    moe_by_step(layers);
    const st_json *list = find_list(reader, "mlp_layer_types is_moe_layer");
    const st_json *frequency = hf_find(reader, "moe_layer_freq");
    if (list == NULL && frequency != NULL && frequency->kind == ST_JSON_LIST)
        list = find_list(reader, "moe_layer_freq");
    read_named_moe(layers);
    const st_json *node = NULL;
    for (size_t i = 0; i < layers->kinds.count && list != NULL; i++) {
        node = next_in(list, node);
        layers->kinds.moe[i] = is_moe(layers, node);
    }
    const st_json *first = hf_find(reader, FIRST_MOE);
    bool any = first == NULL || list != NULL;
    for (size_t i = 0; i < layers->kinds.count; i++)
        any = any || layers->kinds.moe[i];
    if (!any)
        ST_NOTE(reader->draft, ST_ERR_VALUE, hf_place(reader, first),
                "%s leaves no layer for the model's experts" ST_EXPECTED "less than its %zu layers",
                first->name, layers->kinds.count);
}

/* ---- the keys ---- */

static const char *origin_of(hf_layers *layers)
{
    static const char *const names[] = {"layer_types",        "attn_type_list",
                                        "full_attn_idxs",     "full_attention_interval",
                                        "linear_attn_config", "sliding_window_pattern",
                                        "mlp_layer_types",    "mlp_only_layers"};
    for (size_t i = 0; i < ST_COUNT(names); i++) {
        const st_json *node = hf_find(layers->reader, names[i]);
        if (node != NULL && (node->kind != ST_JSON_LIST || node->first != NULL))
            return names[i];
    }
    return "the layers of the architecture";
}

static bool has_dense(const st_layer_kinds *kinds)
{
    for (size_t i = 0; i < kinds->count; i++)
        if (!kinds->moe[i])
            return true;
    return false;
}

void hf_read_layers(hf_reader *reader)
{
    st_draft *draft = reader->draft;
    hf_layers layers = {
        .reader = reader,
        .kinds = st_layer_kinds_create(draft, st_draft_count(draft, ST_KEY_MODEL_LAYERS))};
    if (layers.kinds.count == 0)
        return;
    if ((reader->family->traits & HF_SHARED_KV) == 0) { /* there all layers have the same window */
        uint64_t window = read_window(reader);
        read_mixers(&layers, window > 0);
        /* A window that no layer can be given, or that holds the whole sequence, is full
         * attention. */
        st_draft *window_draft = layers.reader->draft;
        uint64_t sequence = st_draft_count(window_draft, ST_KEY_BATCH_SEQUENCE);
        if (st_layer_kinds_of(&layers.kinds, 'x') != 0) {
            bool holds = window > 0 && sequence > 0 && window >= sequence;
            if (window > 0 && !holds) {
                const st_json *node = hf_find(layers.reader, WINDOWS);
                st_draft_put_count(window_draft, ST_KEY_MODEL_WINDOW, node != NULL ? node->line : 0,
                                   window,
                                   node != NULL ? node->name : "default of the architecture");
                if (layers.chunks)
                    st_draft_note(window_draft,
                                  "Attention within chunks is estimated as a sliding window of the "
                                  "size of a chunk, which is up to twice the work.");
            } else {
                for (size_t i = 0; i < layers.kinds.count; i++)
                    layers.kinds.mixers[i] =
                        layers.kinds.mixers[i] == 'x' ? 'd' : layers.kinds.mixers[i];
                if (holds)
                    st_draft_note(window_draft,
                                  "The sliding window of %llu tokens covers the whole sequence: "
                                  "attention is full.",
                                  (unsigned long long)window);
                else
                    st_draft_note(window_draft,
                                  "Sliding-window attention is estimated as full attention, which "
                                  "overestimates the work: the file lacks the window size.");
            }
        }
    }
    read_moe(&layers);
    /* A layer without experts is as wide as the file says, whatever it says of experts. */
    if ((reader->family->traits & HF_GATED) != 0 && st_draft_count(draft, ST_KEY_MODEL_FFN) == 0 &&
        has_dense(&layers.kinds))
        hf_put_field(reader, ST_KEY_MODEL_FFN, "intermediate_size", true);
    if (st_layer_kinds_of(&layers.kinds, 'g') > 0)
        hf_put_linear(reader);
    const st_json *dense = hf_find(reader, "first_k_dense_replace");
    st_draft_put_layers(draft, &layers.kinds,
                        dense != NULL ? dense->name : "layers without experts", origin_of(&layers));
}
