/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers by kind in arguments of Megatron-LM: which have experts, a window or a gated delta net,
 * each a list of 0 and 1 or one layer in so many, and the letters of hybrid models.
 */
#include "launch/import/megatron.h"

#include "launch/import/layer_kinds.h"
#include "steptime/keys.h"
#include "steptime/tool/pattern.h"

#include <inttypes.h>
#include <string.h>

/* ---- lists of 0 and 1 ---- */

enum { LIST_DEPTH = 16 };

/* "([1]*3+[0])*12": lists, sums of them, and repeats, as Python has them. */
typedef struct list_reader {
    const char *next;
    bool *values;
    size_t count;
    size_t most;
    int depth;
} list_reader;

static void skip_blanks(list_reader *list)
{
    list->next += strspn(list->next, " ");
}

static bool read_sum(list_reader *list);

static bool add_value(list_reader *list, bool value)
{
    if (list->count >= list->most)
        return false;
    list->values[list->count++] = value;
    return true;
}

static bool read_members(list_reader *list)
{
    for (; *list->next != ']'; list->next++)
        if (*list->next == '0' || *list->next == '1') {
            if (!add_value(list, *list->next == '1'))
                return false;
        } else if (*list->next != ',' && *list->next != ' ') {
            return false;
        }
    list->next++;
    return true;
}

static bool read_repeats(list_reader *list, size_t first)
{
    skip_blanks(list);
    while (*list->next == '*') {
        size_t times = 0;
        size_t length = list->count - first;
        list->next++;
        skip_blanks(list);
        size_t digits = strspn(list->next, "0123456789");
        if (digits == 0 || digits > 6)
            return false;
        for (size_t i = 0; i < digits; i++)
            times = 10 * times + (size_t)(list->next[i] - '0');
        list->next += digits;
        if (times == 0)
            list->count = first;
        for (size_t i = length; i < times * length; i++)
            if (!add_value(list, list->values[first + i - length]))
                return false;
        skip_blanks(list);
    }
    return true;
}

static bool read_product(list_reader *list)
{
    size_t first = list->count;
    skip_blanks(list);
    char open = *list->next;
    if (open == '[') {
        list->next++;
        return read_members(list) && read_repeats(list, first);
    }
    if (open != '(' || ++list->depth > LIST_DEPTH)
        return false;
    list->next++;
    bool fine = read_sum(list) && *list->next == ')';
    list->depth--;
    list->next += fine ? 1 : 0;
    return fine && read_repeats(list, first);
}

static bool read_sum(list_reader *list)
{
    if (!read_product(list))
        return false;
    while (*list->next == '+') {
        list->next++;
        if (!read_product(list))
            return false;
    }
    return true;
}

/* Values of an argument for each layer; false, with an error, where it cannot be used. */
static bool read_list(megatron_run *run, const megatron_argument *argument, bool *values,
                      size_t layers)
{
    list_reader list = {.next = argument->value, .values = values, .most = layers};
    bool understood = read_sum(&list);
    skip_blanks(&list);
    if (understood && *list.next == '\0' && list.count == layers)
        return true;
    ST_NOTE(run->draft, ST_ERR_VALUE, megatron_place(run, argument),
            "argument '%s' cannot be used" ST_FOUND "'%.60s'" ST_EXPECTED
            "a whole number, or a 0 or 1 for each layer",
            argument->name, argument->value);
    return false;
}

static bool is_number(const megatron_argument *argument)
{
    return strspn(argument->value, "0123456789") == strlen(argument->value) &&
           argument->value[0] != '\0';
}

/* ---- kinds ---- */

/* One layer in `every` is not of the kind: (N-1) layers and then one with full attention. */
static void read_mixers(megatron_run *run, const char *name, char mixer, st_layer_kinds *kinds)
{
    const megatron_argument *argument = megatron_get(run, name);
    bool *values = st_draft_alloc(run->draft, kinds->count + 1, sizeof *values);
    if (values == NULL)
        return;
    if (argument != NULL && !is_number(argument) && !read_list(run, argument, values, kinds->count))
        return;
    uint64_t every = argument != NULL && is_number(argument) ? megatron_count_or(run, name, 0) : 0;
    bool all = argument == NULL || (is_number(argument) && every == 0);
    for (size_t i = 0; i < kinds->count; i++)
        if (all || (every > 0 ? (i + 1) % every != 0 : values[i]))
            kinds->mixers[i] = mixer;
}

/* "127,0" or "(127, 0)": tokens to the left, besides the token itself, and to the right. */
static uint64_t read_window(megatron_run *run)
{
    const megatron_argument *argument = megatron_get(run, "window_size");
    uint64_t window = 0;
    if (argument == NULL)
        return 0;
    for (const char *c = argument->value + strspn(argument->value, "([ "); *c >= '0' && *c <= '9';
         c++)
        window = window < 100000000 ? 10 * window + (uint64_t)(*c - '0') : window;
    if (window > 0)
        st_draft_put_count(run->draft, ST_KEY_MODEL_WINDOW, argument->line, window + 1,
                           argument->name);
    return window;
}

static bool has_variant(megatron_run *run, const char *name)
{
    return strcmp(megatron_text(run, "experimental_attention_variant"), name) == 0;
}

/* Entries behind the model's layers are those of multi-token prediction; 4 has an indexer. */
static void put_ratios(megatron_run *run, const megatron_argument *list)
{
    enum { INDEXED = 4 };
    st_draft *draft = run->draft;
    uint64_t layers = st_draft_count(draft, ST_KEY_MODEL_LAYERS);
    uint64_t indexed = 0;
    uint64_t compressed = 0;
    uint64_t other = 0;
    for (const char *c = list->value; *c != '\0' && layers > 0; layers--) {
        c += strspn(c, "[](), ");
        size_t digits = strspn(c, "0123456789");
        uint64_t ratio = 0;
        for (size_t i = 0; i < digits && i < 9; i++)
            ratio = 10 * ratio + (uint64_t)(c[i] - '0');
        c += digits > 0 ? digits : strlen(c);
        indexed += ratio == INDEXED ? 1 : 0;
        compressed += ratio > 1 && ratio != INDEXED ? 1 : 0;
        other = ratio > 1 && ratio != INDEXED ? ratio : other;
    }
    if (indexed > 0) {
        st_draft_put_count(draft, ST_KEY_MODEL_INDEX_LAYERS, list->line, indexed, list->name);
        st_draft_put_count(draft, ST_KEY_MODEL_INDEX_COMPRESSION, list->line, INDEXED, list->name);
    }
    if (compressed > 0) {
        st_draft_put_count(draft, ST_KEY_MODEL_COMPRESSED_LAYERS, list->line, compressed,
                           list->name);
        st_draft_put_count(draft, ST_KEY_MODEL_COMPRESSION, list->line, other, list->name);
    }
}

bool megatron_put_shared_kv(megatron_run *run)
{
    const megatron_argument *ratios = megatron_get(run, "csa_compress_ratios");
    uint64_t width = megatron_count_or(run, "v_head_dim", 512);
    uint64_t rotary = megatron_count_or(run, "qk_pos_emb_head_dim", 64);
    if (!has_variant(run, "dsv4_hybrid"))
        return false;
    megatron_put_or(run, ST_KEY_MODEL_Q_LORA, "q_lora_rank", 1024);
    megatron_put(run, ST_KEY_MODEL_KV_LORA, "v_head_dim", width);
    megatron_put(run, ST_KEY_MODEL_V_DIM, "v_head_dim", width);
    megatron_put(run, ST_KEY_MODEL_ROPE_DIM, "qk_pos_emb_head_dim", rotary);
    st_draft_put_count(run->draft, ST_KEY_MODEL_HEAD_DIM, 0, width > rotary ? width - rotary : 0,
                       "v_head_dim without qk_pos_emb_head_dim");
    st_draft_put_count(run->draft, ST_KEY_MODEL_KV_HEADS, 0, 1, "experimental_attention_variant");
    megatron_put_or(run, ST_KEY_MODEL_O_LORA, "o_lora_rank", 1024);
    megatron_put_or(run, ST_KEY_MODEL_O_GROUPS, "o_groups", 8);
    megatron_put_or(run, ST_KEY_MODEL_WINDOW, "csa_window_size", 128);
    if (ratios != NULL)
        put_ratios(run, ratios);
    return true;
}

static void put_kinds(megatron_run *run)
{
    st_draft *draft = run->draft;
    const megatron_argument *frequency = megatron_get(run, "moe_layer_freq");
    st_layer_kinds kinds = st_layer_kinds_create(draft, st_draft_count(draft, ST_KEY_MODEL_LAYERS));
    bool delta = has_variant(run, "gated_delta_net");
    if (kinds.count == 0)
        return;
    if (read_window(run) > 0)
        read_mixers(run, "window_attn_skip_freq", 'x', &kinds);
    if (delta)
        read_mixers(run, "linear_attention_freq", 'g', &kinds);
    /* Megatron counts from the first layer: one in N, beginning with it. */
    const megatron_argument *argument = megatron_get(run, "moe_layer_freq");
    if (st_draft_count(run->draft, ST_KEY_MODEL_EXPERTS) != 0) {
        if (argument != NULL && !is_number(argument)) {
            (void)read_list(run, argument, kinds.moe, kinds.count);
        } else {
            uint64_t every = megatron_count_or(run, "moe_layer_freq", 1);
            for (size_t i = 0; i < kinds.count; i++)
                kinds.moe[i] = every > 0 && i % every == 0;
        }
    }
    if (delta) {
        megatron_put_or(run, ST_KEY_MODEL_DELTA_K_HEADS, "linear_num_key_heads", 16);
        megatron_put_or(run, ST_KEY_MODEL_DELTA_V_HEADS, "linear_num_value_heads", 32);
        megatron_put_or(run, ST_KEY_MODEL_DELTA_K_DIM, "linear_key_head_dim", 128);
        megatron_put_or(run, ST_KEY_MODEL_DELTA_V_DIM, "linear_value_head_dim", 128);
    }
    bool plain = st_layer_kinds_of(&kinds, 'd') == kinds.count;
    if (plain && frequency != NULL && is_number(frequency))
        megatron_put_or(run, ST_KEY_MODEL_MOE_EVERY, "moe_layer_freq", 1);
    else
        st_draft_put_layers(draft, &kinds, "moe_layer_freq",
                            delta   ? "linear_attention_freq"
                            : plain ? "moe_layer_freq"
                                    : "window_attn_skip_freq");
}

/* ---- hybrids ---- */

static const megatron_argument *hybrid_of(megatron_run *run)
{
    const megatron_argument *pattern = megatron_get(run, "hybrid_layer_pattern");
    return pattern != NULL ? pattern : megatron_get(run, "hybrid_override_pattern");
}

/* Layers up to the first '/', which precedes those of multi-token prediction, without the '|'
 * between stages. */
static const char *hybrid_letters(megatron_run *run, const char *text)
{
    st_draft *draft = run->draft;
    char *letters = st_arena_copy(draft->arena, text, strcspn(text, "/"));
    size_t count = 0;
    if (letters == NULL) {
        st_draft_out_of_memory(draft);
        return "";
    }
    for (const char *c = letters; *c != '\0'; c++)
        if (*c != '|' && *c != '\'')
            letters[count++] = *c;
    letters[count] = '\0';
    return letters;
}

const char *megatron_hybrid_layout(megatron_run *run)
{
    st_draft *draft = run->draft;
    const megatron_argument *argument = hybrid_of(run);
    st_buffer text = {0};
    if (argument == NULL || strchr(argument->value, '|') == NULL)
        return NULL;
    const uint64_t mtp = st_draft_count(draft, ST_KEY_MODEL_MTP);
    const char *part = argument->value;
    st_buffer_text(&text, "E");
    for (const char *end = part + strcspn(part, "/"); part < end;) {
        size_t length = strcspn(part, "|/'");
        if (length > 0)
            st_buffer_printf(&text, length > 1 ? "t*%zu" : "t", length);
        part += length;
        if (*part == '|')
            st_buffer_text(&text, "|");
        part += part < end ? 1 : 0;
    }
    for (uint64_t i = 0; i < mtp && i < 64; i++)
        st_buffer_text(&text, "m");
    st_buffer_text(&text, "L");
    return st_draft_keep(draft, &text);
}

static uint64_t separators(const char *text)
{
    uint64_t count = 0;
    for (; *text != '\0'; text++)
        count += *text == '/' ? 1 : 0;
    return count;
}

bool megatron_put_hybrid(megatron_run *run)
{
    st_draft *draft = run->draft;
    const megatron_argument *argument = hybrid_of(run);
    st_pattern pattern;
    if (argument == NULL)
        return false;
    const char *letters = hybrid_letters(run, argument->value);
    if (!megatron_is_given(run, "num_layers") && letters[0] != '\0')
        st_draft_put_count(draft, ST_KEY_MODEL_LAYERS, argument->line, strlen(letters),
                           argument->name);
    else
        (void)megatron_put_needed(run, ST_KEY_MODEL_LAYERS, "num_layers");
    st_note(&draft->status,
            st_pattern_read(letters, (double)st_draft_count(draft, ST_KEY_MODEL_LAYERS),
                            megatron_place(run, argument), draft->arena, &pattern, draft->errors));
    if (separators(argument->value) > 0 && !megatron_is_given(run, "mtp_num_layers"))
        st_draft_put_count(draft, ST_KEY_MODEL_MTP, argument->line, separators(argument->value),
                           argument->name);
    if (pattern.count == 0)
        return true;
    st_draft_put_bool(draft, ST_KEY_MODEL_HYBRID, true, argument->name);
    st_draft_put_pattern(draft, letters, argument->name);
    return true;
}

void megatron_put_layers(megatron_run *run)
{
    static const char *const read[] = {"mtp_hybrid_override_pattern",
                                       "is_hybrid_model",
                                       "linear_conv_kernel_dim",
                                       "window_attn_skip_freq",
                                       "linear_attention_freq",
                                       "kv_lora_rank",
                                       "qk_head_dim",
                                       "multi_latent_attention",
                                       "kv_channels",
                                       "num_query_groups",
                                       "group_query_attention"};
    st_draft *draft = run->draft;
    bool hybrid = hybrid_of(run) != NULL;
    if (!hybrid) {
        put_kinds(run);
    } else if (strchr(hybrid_of(run)->value, 'M') != NULL) {
        uint64_t width = megatron_count_or(run, "mamba_head_dim", 64);
        uint64_t heads = megatron_count_or(run, "mamba_num_heads", 0);
        megatron_put(run, ST_KEY_MODEL_MAMBA_HEAD_DIM, "mamba_head_dim", width);
        if (heads > 0)
            megatron_put(run, ST_KEY_MODEL_MAMBA_HEADS, "mamba_num_heads", heads);
        else if (width > 0)
            st_draft_put_count(run->draft, ST_KEY_MODEL_MAMBA_HEADS, 0,
                               2 * st_draft_count(run->draft, ST_KEY_MODEL_HIDDEN) / width,
                               "twice hidden_size over mamba_head_dim, default of mamba_num_heads");
        megatron_put_or(run, ST_KEY_MODEL_MAMBA_STATE, "mamba_state_dim", 128);
        megatron_put_or(run, ST_KEY_MODEL_MAMBA_GROUPS, "mamba_num_groups", 8);
    }
    for (size_t i = 0; i < ST_COUNT(read); i++)
        megatron_pass_over(run, read[i]);
    if (has_variant(run, "dsa") || has_variant(run, "dsv4_hybrid")) {
        megatron_put_or(run, ST_KEY_MODEL_INDEX_HEADS, "dsa_indexer_n_heads", 64);
        megatron_put_or(run, ST_KEY_MODEL_INDEX_DIM, "dsa_indexer_head_dim", 128);
        megatron_put_or(run, ST_KEY_MODEL_INDEX_TOP_K, "dsa_indexer_topk", 2048);
    } else if (megatron_text(run, "experimental_attention_variant")[0] != '\0' &&
               !has_variant(run, "gated_delta_net")) {
        st_draft_note(draft,
                      "Left out: attention of the kind %.40s "
                      "(experimental_attention_variant); it is estimated as full attention.",
                      megatron_text(run, "experimental_attention_variant"));
    }
    if (strcmp(megatron_text(run, "softmax_type"), "learnable") == 0)
        st_draft_put_bool(draft, ST_KEY_MODEL_SINKS, true, "softmax_type");
    if (megatron_is_true(run, "attention_output_gate", false))
        st_draft_put_bool(draft, ST_KEY_MODEL_GATED_ATTENTION, true, "attention_output_gate");
    if (megatron_count_or(run, "moe_latent_size", 0) > 0)
        megatron_put_or(run, ST_KEY_MODEL_MOE_LATENT, "moe_latent_size", 0);
    if (megatron_count_or(run, "moe_router_num_groups", 0) > 1) {
        megatron_put_or(run, ST_KEY_MODEL_EXPERT_GROUPS, "moe_router_num_groups", 1);
        megatron_put_or(run, ST_KEY_MODEL_TOP_GROUPS, "moe_router_group_topk", 0);
    }
    if (megatron_count_or(run, "mtp_num_layers", 0) > 0)
        megatron_put_or(run, ST_KEY_MODEL_MTP, "mtp_num_layers", 0);
    if (megatron_is_true(run, "mtp_use_repeated_layer", false))
        st_draft_put_bool(draft, ST_KEY_MODEL_MTP_SHARED, true, "mtp_use_repeated_layer");
}
