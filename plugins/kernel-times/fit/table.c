/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of layer times: columns by the names of steptime's tables and of Vidur's profiles. */
#include "kernel-times/fit/samples.h"

#include "base/csv_file.h"
#include "base/fields.h"
#include "base/memory.h"
#include "fit/steps/table_csv.h"

#include <math.h>
#include <string.h>

#define UNKNOWN ((double)NAN) /* the macro is a float */

/* ---- columns ---- */

typedef struct time_column {
    st_times_cell cell;
    st_times_piece piece;
} time_column;

static const time_column time_columns[] = {
    {ST_TIMES_OF_LAYER, ST_TIMES_LAYER},        {ST_TIMES_OF_FORWARD, ST_TIMES_LAYER},
    {ST_TIMES_OF_BACKWARD, ST_TIMES_LAYER},     {ST_TIMES_OF_WGRAD, ST_TIMES_LAYER},
    {ST_TIMES_OF_LOGITS, ST_TIMES_LOGITS},      {ST_TIMES_OF_OPTIMIZER, ST_TIMES_OPTIMIZER},
    {ST_TIMES_OF_FORWARD_MOE, ST_TIMES_MOE},    {ST_TIMES_OF_BACKWARD_MOE, ST_TIMES_MOE},
    {ST_TIMES_OF_FORWARD, ST_TIMES_NORM_1},     {ST_TIMES_OF_FORWARD, ST_TIMES_QKV},
    {ST_TIMES_OF_FORWARD, ST_TIMES_ROPE},       {ST_TIMES_OF_FORWARD, ST_TIMES_PROJECTION},
    {ST_TIMES_OF_FORWARD, ST_TIMES_NORM_2},     {ST_TIMES_OF_FORWARD, ST_TIMES_MLP_UP},
    {ST_TIMES_OF_FORWARD, ST_TIMES_ACTIVATION}, {ST_TIMES_OF_FORWARD, ST_TIMES_MLP_DOWN},
    {ST_TIMES_OF_FORWARD, ST_TIMES_ADD},
};

enum {
    TIME_COLUMNS = ST_COUNT(time_columns),
    FIRST_PIECE = 8, /* the first of those that Vidur measures, too */
    PIECES = TIME_COLUMNS - FIRST_PIECE,
    MICRO_BATCH = ST_TIMES_FEATURES,
    MODEL,
    GPU,
    VIDUR, /* before ours: where a table has both, ours count */
    TIMES = VIDUR + PIECES,
    FIELDS = TIMES + TIME_COLUMNS
};

/* What a row of the table says. */
typedef struct table_row {
    double features[ST_TIMES_FEATURES];
    double micro_batch;
    const char *model;
    const char *gpu;
    double times[TIME_COLUMNS]; /* seconds */
} table_row;

static const st_field_unit seconds[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {NULL, 0}};
static const st_field_unit milliseconds[] = {{"", 1e-3}, {NULL, 0}};

#define MOST_FEATURE 1e11
#define AT(feature)  offsetof(table_row, features) + (feature) * sizeof(double)
#define COUNT(feature, label, others)                                                              \
    [feature] = {.name = label,                                                                    \
                 .spellings = label "|" others,                                                    \
                 .set = st_field_count,                                                            \
                 .least = 1,                                                                       \
                 .most = MOST_FEATURE,                                                             \
                 .expected = "a whole number from 1 to 1e11",                                      \
                 .offset = AT(feature)}
#define WORD(feature, label, others, known, help)                                                  \
    [feature] = {.name = label,                                                                    \
                 .spellings = label "|" others,                                                    \
                 .set = st_field_word,                                                             \
                 .words = known,                                                                   \
                 .expected = help,                                                                 \
                 .offset = AT(feature)}
#define TIME(index, label, unit)                                                                   \
    {                                                                                              \
        .name = label, .units = unit, .set = st_field_number, .least = 1e-12, .most = 1e6,         \
        .expected = "a time above 0",                                                              \
        .offset = offsetof(table_row, times) + (index) * sizeof(double)                            \
    }
#define OURS(index, label) [TIMES + (index)] = TIME(index, label, seconds)
#define THEIRS(index, label)                                                                       \
    [VIDUR + (index)] = TIME(FIRST_PIECE + (index), "time_stats." label ".median", milliseconds)

static const st_field fields[FIELDS] = {
    COUNT(ST_TIMES_TOKENS, "tokens", "num_tokens|n"),
    COUNT(ST_TIMES_SEQUENCE, "seq", "sequence|s"),
    COUNT(ST_TIMES_HIDDEN, "hidden", "n_embd|h"),
    COUNT(ST_TIMES_INNER, "ffn", "n_expanded_embd|f"),
    COUNT(ST_TIMES_HEADS, "heads", "n_head|a"),
    COUNT(ST_TIMES_KV_HEADS, "kv_heads", "n_kv_head|kv"),
    COUNT(ST_TIMES_TENSOR, "tp", "num_tensor_parallel_workers|t"),
    WORD(ST_TIMES_UP, "gated", "use_gated_mlp|gated_mlp", "false|no|0 true|yes|1|2",
         "True or False"),
    COUNT(ST_TIMES_CONTEXT, "cp", "context_parallel|cp_size"),
    WORD(ST_TIMES_PASSES, "recompute", "recomputation|passes", "none|selective|0|1 full|2",
         "none, selective or full"),
    COUNT(ST_TIMES_SPLIT, "norm_split", ""),
    WORD(ST_TIMES_WIDTH, "dtype", "type|precision", "fp8 fp16|bf16 fp32",
         "fp32, bf16, fp16 or fp8"),
    COUNT(ST_TIMES_VOCABULARY, "vocab", "vocab_size|V"),
    COUNT(ST_TIMES_PARAMETERS, "parameters", "params|P"),
    [ST_TIMES_CLOSED] = {.name = ""}, /* of no table */
    COUNT(ST_TIMES_EXPERTS, "experts", "num_experts|E"),
    COUNT(ST_TIMES_TOP, "top_k", "topk|K"),
    COUNT(ST_TIMES_EXPERT_INNER, "expert_ffn", "moe_ffn|fe"),
    [ST_TIMES_SHARED_INNER] = {.name = "shared_ffn",
                               .spellings = "shared_ffn|shared_expert_ffn|fs",
                               .set = st_field_count,
                               .most = MOST_FEATURE,
                               .expected = "a whole number from 0 to 1e11",
                               .offset = AT(ST_TIMES_SHARED_INNER)},
    COUNT(ST_TIMES_EXPERT_RANKS, "ep", "expert_parallel|ep_size"),
    COUNT(ST_TIMES_EXPERT_TENSOR, "expert_tp", "etp|expert_tensor_parallel"),
    [MICRO_BATCH] = {.name = "micro_batch",
                     .spellings = "micro_batch|b",
                     .set = st_field_count,
                     .least = 1,
                     .most = MOST_FEATURE,
                     .expected = "a whole number from 1 to 1e11",
                     .offset = offsetof(table_row, micro_batch)},
    [MODEL] = {.name = "model", .set = st_field_text, .offset = offsetof(table_row, model)},
    [GPU] = {.name = "gpu", .set = st_field_text, .offset = offsetof(table_row, gpu)},
    THEIRS(0, "input_layernorm"),
    THEIRS(1, "attn_pre_proj"),
    THEIRS(2, "attn_rope"),
    THEIRS(3, "attn_post_proj"),
    THEIRS(4, "post_attention_layernorm"),
    THEIRS(5, "mlp_up_proj"),
    THEIRS(6, "mlp_act"),
    THEIRS(7, "mlp_down_proj"),
    THEIRS(8, "add"),
    OURS(0, "layer"),
    OURS(1, "forward"),
    OURS(2, "backward"),
    OURS(3, "wgrad"),
    OURS(4, "logits"),
    OURS(5, "optimizer"),
    OURS(6, "forward_moe"),
    OURS(7, "backward_moe"),
    OURS(8, "norm_1"),
    OURS(9, "qkv"),
    OURS(10, "rope"),
    OURS(11, "projection"),
    OURS(12, "norm_2"),
    OURS(13, "mlp_up"),
    OURS(14, "activation"),
    OURS(15, "mlp_down"),
    OURS(16, "add"),
};

/* Times of one cell that the table has. */
typedef struct table_set {
    st_times_cell cell;
    st_times_piece pieces[ST_TIMES_PIECES];
    size_t columns[ST_TIMES_PIECES]; /* among time_columns */
    size_t count;
} table_set;

typedef struct table_reader {
    st_field_reader fields;
    const st_paths *paths;
    st_time_sets *sets;
    const char *told_gpu; /* by the caller; NULL: by the table */
    table_set found[ST_TIME_SETS];
    size_t found_count;
} table_reader;

static void note(table_reader *input, st_status status)
{
    st_note(&input->fields.status, status);
}

static bool has(const table_reader *input, size_t field)
{
    return st_fields_have(&input->fields, field);
}

static void need(table_reader *input, size_t field, const char *hint)
{
    if (!has(input, field))
        st_fields_missing(&input->fields, fields[field].name, hint);
}

static bool has_pieces(const table_reader *input)
{
    for (size_t i = 0; i < input->found_count; i++)
        if (!st_times_is_all(input->found[i].pieces[0]))
            return true;
    return false;
}

static bool has_times(const table_reader *input, st_times_cell cell)
{
    for (size_t i = 0; i < input->found_count; i++)
        if (input->found[i].cell == cell)
            return true;
    return false;
}

static void check_times(table_reader *input)
{
    static const st_times_feature needed[] = {ST_TIMES_INNER, ST_TIMES_HEADS, ST_TIMES_TENSOR};
    if (input->found_count == 0)
        note(
            input,
            st_fail(input->fields.errors, ST_ERR_NAME, st_csv_head_place(input->fields.csv, 0),
                    "missing time column" ST_HINT
                    "name one layer_us, forward_us, backward_us, wgrad_us, logits_us, optimizer_us "
                    "or after a piece of a layer, such as mlp_up_us; _ms and _s are other units"));
    for (size_t i = 0; has_pieces(input) && i < ST_COUNT(needed); i++)
        need(input, needed[i], "pieces of a layer need heads, ffn and tp");
    static const st_times_feature routed[] = {ST_TIMES_EXPERTS, ST_TIMES_TOP,
                                              ST_TIMES_EXPERT_INNER};
    bool moe =
        has_times(input, ST_TIMES_OF_FORWARD_MOE) || has_times(input, ST_TIMES_OF_BACKWARD_MOE);
    for (size_t i = 0; moe && i < ST_COUNT(routed); i++)
        need(input, routed[i], "times of MoE layers need experts, top_k and expert_ffn");
    if (has_times(input, ST_TIMES_OF_LOGITS))
        need(input, ST_TIMES_VOCABULARY, "times of logits need it");
    if (has_times(input, ST_TIMES_OF_OPTIMIZER))
        need(input, ST_TIMES_PARAMETERS, "times of the optimizer need it, of one rank");
}

/* ---- rows ---- */

/* The group of a row: its model, else its file. */
static size_t find_group(table_reader *input, const char *model)
{
    st_time_sets *sets = input->sets;
    const char *name = model[0] != '\0' ? model : input->fields.csv->file;
    for (size_t i = 0; i < sets->group_count; i++)
        if (strcmp(sets->groups[i], name) == 0)
            return i;
    if (sets->group_count == ST_TIME_GROUPS)
        return ST_TIME_GROUPS - 1;
    const char *kept = st_arena_copy(input->fields.arena, name, strlen(name));
    if (kept == NULL) {
        note(input, st_out_of_memory(input->fields.errors));
        return 0;
    }
    sets->groups[sets->group_count] = kept;
    return sets->group_count++;
}

static void read_gpu(table_reader *input, size_t row, const char *gpu)
{
    const st_csv *csv = input->fields.csv;
    st_place place = {.file = "--gpu"};
    if (input->told_gpu == NULL) {
        size_t column = input->fields.found[GPU].column;
        if (row > 0 && strcmp(gpu, st_csv_field(csv, row - 1, column)) == 0)
            return;
        place = st_csv_place(csv, row, column);
    } else if (row > 0) {
        return;
    }
    note(input, st_time_gpu(input->paths, input->told_gpu != NULL ? input->told_gpu : gpu, place,
                            input->fields.arena, input->sets, input->fields.errors));
}

static void read_row(table_reader *input, st_time_set *const *into, size_t index)
{
    st_time_sample sample = {.repeats = 1};
    table_row row = {.model = "", .gpu = "", .micro_batch = UNKNOWN};
    for (size_t i = 0; i < ST_TIMES_FEATURES; i++)
        row.features[i] = UNKNOWN;
    if (!st_fields_read(&input->fields, index, &row))
        return;
    /* Words as numbers: matrices, passes, bytes. */
    double *features = row.features;
    features[ST_TIMES_UP] += 1;
    features[ST_TIMES_PASSES] += 1;
    features[ST_TIMES_WIDTH] = exp2(features[ST_TIMES_WIDTH]);
    /* Tokens that the table does not count itself. */
    double *token_features = row.features;
    if (!has(input, ST_TIMES_TOKENS)) {
        double context = token_features[ST_TIMES_CONTEXT];
        token_features[ST_TIMES_TOKENS] =
            row.micro_batch * token_features[ST_TIMES_SEQUENCE] / (isnan(context) ? 1 : context);
        if (token_features[ST_TIMES_TOKENS] > MOST_FEATURE)
            st_fields_refuse(&input->fields, index, MICRO_BATCH, "at most 1e11 tokens");
    }
    read_gpu(input, index, row.gpu);
    sample.group = find_group(input, row.model);
    for (size_t i = 0; i < input->found_count && input->fields.status == ST_OK; i++) {
        const table_set *set = &input->found[i];
        for (size_t k = 0; k < set->count; k++)
            sample.times[k] = row.times[set->columns[k]];
        for (size_t k = 0; k < ST_TIMES_FEATURES; k++)
            sample.shape.features[k] = into[i]->has[k] ? row.features[k] : UNKNOWN;
        note(input, st_time_add(into[i], &sample, input->fields.arena, input->fields.errors));
    }
}

st_status st_time_table_read(const st_csv *csv, const st_paths *paths, const char *gpu,
                             st_arena *arena, st_time_sets *sets, st_errors *errors)
{
    table_reader input = {
        .fields = {.csv = csv, .fields = fields, .count = FIELDS, .arena = arena, .errors = errors},
        .paths = paths,
        .sets = sets,
        .told_gpu = gpu};
    st_time_set *into[ST_TIME_SETS] = {NULL};
    (void)st_fields_find(&input.fields);
    for (size_t i = 0; i < TIME_COLUMNS; i++)
        if (has(&input, TIMES + i) || (i >= FIRST_PIECE && has(&input, VIDUR + i - FIRST_PIECE))) {
            const time_column *column = &time_columns[i];
            table_set *set = NULL;
            for (size_t k = 0; k < input.found_count; k++)
                if (input.found[k].cell == column->cell)
                    set = &input.found[k];
            if (set == NULL) {
                set = &input.found[input.found_count++];
                *set = (table_set){.cell = column->cell};
            }
            /* a whole layer next to its pieces: the pieces say no more */
            if (set->count > 0 && set->pieces[0] == ST_TIMES_LAYER)
                continue;
            set->pieces[set->count] = column->piece;
            set->columns[set->count++] = i;
        }
    if (!has(&input, MICRO_BATCH) || !has(&input, ST_TIMES_SEQUENCE))
        need(&input, ST_TIMES_TOKENS,
             "give tokens, or micro_batch and seq, of a micro-batch on one rank");
    need(&input, ST_TIMES_HIDDEN, NULL);
    check_times(&input);
    if (input.told_gpu == NULL)
        need(&input, GPU, "give the GPU with --gpu, such as --gpu a100-sxm-80gb");
    st_fields_warn_of_slips(&input.fields);
    for (size_t i = 0; i < input.found_count && input.fields.status == ST_OK; i++) {
        bool known[ST_TIMES_FEATURES];
        /* Which features distinguish the shapes of a cell. */
        const table_set *set = &input.found[i];
        for (size_t j = 0; j < ST_TIMES_FEATURES; j++)
            known[j] = has(&input, j) || j == ST_TIMES_TOKENS;
        bool moe = set->pieces[0] == ST_TIMES_MOE;
        for (size_t j = ST_TIMES_EXPERTS; j <= ST_TIMES_EXPERT_TENSOR; j++)
            known[j] = known[j] && moe;
        known[ST_TIMES_INNER] = known[ST_TIMES_INNER] && !moe; /* of dense layers */
        known[ST_TIMES_VOCABULARY] = set->cell == ST_TIMES_OF_LOGITS;
        known[ST_TIMES_CLOSED] = false;
        known[ST_TIMES_PARAMETERS] = set->cell == ST_TIMES_OF_OPTIMIZER;
        into[i] = st_time_set_of(sets, input.found[i].cell, known, input.found[i].pieces,
                                 input.found[i].count);
        if (into[i] == NULL)
            input.fields.status = st_fail(errors, ST_ERR_VALUE, (st_place){csv->file, 1, 0},
                                          "the table has other columns than the previous one");
    }
    bool good = input.fields.status == ST_OK;
    for (size_t row = 0; good && row < csv->row_count; row++)
        read_row(&input, into, row);
    return input.fields.status;
}

st_status st_time_file_read(const char *file, const st_paths *paths, const char *gpu,
                            st_arena *arena, st_time_sets *sets, st_errors *errors)
{
    const st_csv *csv = NULL;
    st_status status = st_packed_csv_read(file, arena, &csv, errors);
    return status == ST_OK ? st_time_table_read(csv, paths, gpu, arena, sets, errors) : status;
}
