/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of layer times: columns by the names of steptime's tables and of Vidur's profiles. */
#include "job/files.h"
#include "calibrate/layers/samples.h"

#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define UNKNOWN ((double)NAN) /* the macro is a float */

enum { NAMES = 3, UNITS = 3 };

#define MOST_TIME    1e6 /* seconds */
#define MOST_FEATURE 1e11

/* ---- columns ---- */

static const char *const feature_columns[ST_TIMES_FEATURES][NAMES] = {
    [ST_TIMES_TOKENS] = {"tokens", "num_tokens", "n"},
    [ST_TIMES_SEQUENCE] = {"seq", "sequence", "s"},
    [ST_TIMES_HIDDEN] = {"hidden", "n_embd", "h"},
    [ST_TIMES_INNER] = {"ffn", "n_expanded_embd", "f"},
    [ST_TIMES_HEADS] = {"heads", "n_head", "a"},
    [ST_TIMES_KV_HEADS] = {"kv_heads", "n_kv_head", "kv"},
    [ST_TIMES_TENSOR] = {"tp", "num_tensor_parallel_workers", "t"},
    [ST_TIMES_UP] = {"gated", "use_gated_mlp", "gated_mlp"},
    [ST_TIMES_CONTEXT] = {"cp", "context_parallel", "cp_size"},
    [ST_TIMES_PASSES] = {"recompute", "recomputation", "passes"},
    [ST_TIMES_SPLIT] = {"norm_split", "norm_split", "norm_split"},
    [ST_TIMES_WIDTH] = {"dtype", "type", "precision"},
    [ST_TIMES_VOCABULARY] = {"vocab", "vocab_size", "V"},
    [ST_TIMES_PARAMETERS] = {"parameters", "params", "P"},
    [ST_TIMES_CLOSED] = {"", "", ""}, /* of no table */
    [ST_TIMES_EXPERTS] = {"experts", "num_experts", "E"},
    [ST_TIMES_TOP] = {"top_k", "topk", "K"},
    [ST_TIMES_EXPERT_INNER] = {"expert_ffn", "moe_ffn", "fe"},
    [ST_TIMES_SHARED_INNER] = {"shared_ffn", "shared_expert_ffn", "fs"},
    [ST_TIMES_EXPERT_RANKS] = {"ep", "expert_parallel", "ep_size"},
    [ST_TIMES_EXPERT_TENSOR] = {"expert_tp", "etp", "expert_tensor_parallel"},
};

typedef struct time_column {
    const char *name;  /* with a unit behind it */
    const char *vidur; /* between "time_stats." and ".median", in ms; NULL: none */
    const char *value; /* the cell */
    st_times_piece piece;
} time_column;

static const time_column time_columns[] = {
    {"layer", NULL, "t_layer", ST_TIMES_LAYER},
    {"forward", NULL, "t_forward", ST_TIMES_LAYER},
    {"backward", NULL, "t_backward", ST_TIMES_LAYER},
    {"wgrad", NULL, "t_wgrad", ST_TIMES_LAYER},
    {"logits", NULL, "t_logits", ST_TIMES_LOGITS},
    {"optimizer", NULL, "T_optimizer", ST_TIMES_OPTIMIZER},
    {"forward_moe", NULL, "t_forward_moe", ST_TIMES_MOE},
    {"backward_moe", NULL, "t_backward_moe", ST_TIMES_MOE},
    {"norm_1", "input_layernorm", "t_forward", ST_TIMES_NORM_1},
    {"qkv", "attn_pre_proj", "t_forward", ST_TIMES_QKV},
    {"rope", "attn_rope", "t_forward", ST_TIMES_ROPE},
    {"projection", "attn_post_proj", "t_forward", ST_TIMES_PROJECTION},
    {"norm_2", "post_attention_layernorm", "t_forward", ST_TIMES_NORM_2},
    {"mlp_up", "mlp_up_proj", "t_forward", ST_TIMES_MLP_UP},
    {"activation", "mlp_act", "t_forward", ST_TIMES_ACTIVATION},
    {"mlp_down", "mlp_down_proj", "t_forward", ST_TIMES_MLP_DOWN},
    {"add", "add", "t_forward", ST_TIMES_ADD},
};

enum { TIME_COLUMNS = sizeof time_columns / sizeof time_columns[0] };

static const struct {
    const char *suffix;
    double seconds;
} units[UNITS] = {{"_us", 1e-6}, {"_ms", 1e-3}, {"_s", 1}};

/* Times of one cell that the table has. */
typedef struct table_set {
    const char *value;
    st_times_piece pieces[ST_TIMES_PIECES];
    size_t columns[ST_TIMES_PIECES];
    double seconds[ST_TIMES_PIECES]; /* one of the column's unit */
    size_t count;
} table_set;

typedef struct table_reader {
    const st_csv *csv;
    const st_paths *paths;
    st_arena *arena;
    st_time_sets *sets;
    st_errors *errors;
    st_status status;
    size_t features[ST_TIMES_FEATURES];
    size_t micro_batch;
    size_t model;
    size_t gpu;
    const char *told_gpu; /* by the caller; NULL: by the table */
    table_set found[ST_TIME_SETS];
    size_t found_count;
} table_reader;

static void note(table_reader *own, st_status status)
{
    st_note(&own->status, status);
}

static void missing(table_reader *own, const char *name, const char *suggestion)
{
    note(own, st_fail(own->errors, ST_ERR_NAME, (st_place){own->csv->file, 1, 1},
                      "no column %s" ST_HINT "%s", name, st_or_none(suggestion)));
}

static void fault(table_reader *own, size_t row, size_t column, const char *expected)
{
    note(own, st_fail(own->errors, ST_ERR_VALUE, st_csv_place(own->csv, row, column),
                      "column %s" ST_FOUND "'%.80s'" ST_EXPECTED "%s", own->csv->columns[column],
                      st_csv_field(own->csv, row, column), st_or_none(expected)));
}

static size_t find_column(const table_reader *own, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t column = st_csv_column(own->csv, names[i]);
        if (column != SIZE_MAX) {
            return column;
        }
    }
    return SIZE_MAX;
}

/* The column of a time and its unit; SIZE_MAX where the table has none. */
static size_t find_time(const table_reader *own, const time_column *column, double *seconds)
{
    char name[80];
    for (size_t i = 0; i < UNITS; i++) {
        (void)snprintf(name, sizeof name, "%s%s", column->name, units[i].suffix);
        size_t found = st_csv_column(own->csv, name);
        if (found != SIZE_MAX) {
            *seconds = units[i].seconds;
            return found;
        }
    }
    *seconds = 1e-3;
    (void)snprintf(name, sizeof name, "time_stats.%s.median",
                   column->vidur != NULL ? column->vidur : "");
    return column->vidur != NULL ? st_csv_column(own->csv, name) : SIZE_MAX;
}

static void add_time(table_reader *own, const time_column *column, size_t index, double seconds)
{
    table_set *set = NULL;
    for (size_t i = 0; i < own->found_count; i++) {
        if (strcmp(own->found[i].value, column->value) == 0) {
            set = &own->found[i];
        }
    }
    if (set == NULL) {
        set = &own->found[own->found_count++];
        *set = (table_set){.value = column->value};
    }
    /* a whole layer next to its pieces: the pieces say no more */
    if (set->count > 0 && set->pieces[0] == ST_TIMES_LAYER) {
        return;
    }
    set->pieces[set->count] = column->piece;
    set->columns[set->count] = index;
    set->seconds[set->count++] = seconds;
}

static void find_columns(table_reader *own)
{
    static const char *const micro_batch[] = {"micro_batch", "b"};
    static const char *const model[] = {"model"};
    static const char *const gpu[] = {"gpu"};
    for (size_t i = 0; i < ST_TIMES_FEATURES; i++) {
        own->features[i] = find_column(own, feature_columns[i], NAMES);
    }
    own->micro_batch = find_column(own, micro_batch, 2);
    own->model = find_column(own, model, 1);
    own->gpu = find_column(own, gpu, 1);
    for (size_t i = 0; i < TIME_COLUMNS; i++) {
        double seconds = 0;
        size_t column = find_time(own, &time_columns[i], &seconds);
        if (column != SIZE_MAX) {
            add_time(own, &time_columns[i], column, seconds);
        }
    }
}

/* A time in two units would be two times. */
static void check_units(table_reader *own)
{
    for (size_t i = 0; i < TIME_COLUMNS; i++) {
        const char *first = NULL;
        for (size_t k = 0; k < UNITS; k++) {
            const char *name =
                st_errors_text(own->errors, "%s%s", time_columns[i].name, units[k].suffix);
            size_t column = st_csv_column(own->csv, name);
            if (column != SIZE_MAX && first != NULL) {
                note(own, st_fail(own->errors, ST_ERR_NAME, (st_place){own->csv->file, 1, 1},
                                  "columns %s and %s are one time" ST_EXPECTED "one of them", first,
                                  name));
            }
            first = column != SIZE_MAX ? name : first;
        }
    }
}

static bool is_known_column(const table_reader *own, size_t column)
{
    bool known = column == own->micro_batch || column == own->model || column == own->gpu;
    for (size_t i = 0; i < ST_TIMES_FEATURES; i++) {
        known = known || own->features[i] == column;
    }
    for (size_t i = 0; i < TIME_COLUMNS; i++) {
        double seconds = 0;
        known = known || find_time(own, &time_columns[i], &seconds) == column;
    }
    return known;
}

/* A column that is nearly one of those that are known is a slip; tables have others of their own.
 */
static void warn_of_slips(table_reader *own)
{
    const char *names[ST_TIMES_FEATURES + UNITS * TIME_COLUMNS];
    size_t count = 0;
    for (size_t i = 0; i < ST_TIMES_FEATURES; i++) {
        names[count++] = feature_columns[i][0];
    }
    for (size_t i = 0; i < (size_t)UNITS * TIME_COLUMNS; i++) {
        names[count++] = st_errors_text(own->errors, "%s%s", time_columns[i / UNITS].name,
                                        units[i % UNITS].suffix);
    }
    for (size_t i = 0; i < own->csv->column_count; i++) {
        const char *nearest =
            is_known_column(own, i) ? NULL : st_nearest(own->csv->columns[i], names, count);
        if (nearest == NULL || st_csv_column(own->csv, nearest) != SIZE_MAX) {
            continue;
        }
        st_report(own->errors, ST_SEVERITY_WARNING, ST_ERR_NAME, (st_place){own->csv->file, 1, 1},
                  "column '%.80s' is not known and left out" ST_HINT "%s", own->csv->columns[i],
                  st_or_none(nearest));
    }
}

static bool has_pieces(const table_reader *own)
{
    for (size_t i = 0; i < own->found_count; i++) {
        if (!st_times_is_all(own->found[i].pieces[0])) {
            return true;
        }
    }
    return false;
}

static bool has_value(const table_reader *own, const char *value)
{
    for (size_t i = 0; i < own->found_count; i++) {
        if (strcmp(own->found[i].value, value) == 0) {
            return true;
        }
    }
    return false;
}

static void check_experts(table_reader *own)
{
    static const st_times_feature routed[] = {ST_TIMES_EXPERTS, ST_TIMES_TOP,
                                              ST_TIMES_EXPERT_INNER};
    bool moe = has_value(own, "t_forward_moe") || has_value(own, "t_backward_moe");
    for (size_t i = 0; moe && i < sizeof routed / sizeof routed[0]; i++) {
        if (own->features[routed[i]] == SIZE_MAX) {
            missing(own, st_errors_text(own->errors, "'%s'", feature_columns[routed[i]][0]),
                    "times of MoE layers need experts, top_k and expert_ffn");
        }
    }
}

static void check_columns(table_reader *own)
{
    if (own->features[ST_TIMES_TOKENS] == SIZE_MAX &&
        (own->micro_batch == SIZE_MAX || own->features[ST_TIMES_SEQUENCE] == SIZE_MAX)) {
        missing(own, "'tokens'",
                "give tokens, or micro_batch and seq, of a micro-batch on one rank");
    }
    if (own->features[ST_TIMES_HIDDEN] == SIZE_MAX) {
        missing(own, "'hidden'", st_nearest("hidden", own->csv->columns, own->csv->column_count));
    }
    if (own->found_count == 0) {
        missing(own, "with a time",
                "name one layer_us, forward_us, backward_us, wgrad_us, logits_us, optimizer_us or "
                "after a "
                "piece of a layer, such as mlp_up_us; _ms and _s are other units");
    }
    static const st_times_feature needed[] = {ST_TIMES_INNER, ST_TIMES_HEADS, ST_TIMES_TENSOR};
    for (size_t i = 0; has_pieces(own) && i < sizeof needed / sizeof needed[0]; i++) {
        if (own->features[needed[i]] == SIZE_MAX) {
            missing(own, st_errors_text(own->errors, "'%s'", feature_columns[needed[i]][0]),
                    "pieces of a layer need heads, ffn and tp");
        }
    }
    check_experts(own);
    if (has_value(own, "t_logits") && own->features[ST_TIMES_VOCABULARY] == SIZE_MAX) {
        missing(own, "'vocab'", "times of logits need it");
    }
    if (has_value(own, "T_optimizer") && own->features[ST_TIMES_PARAMETERS] == SIZE_MAX) {
        missing(own, "'parameters'", "times of the optimizer need it, of one rank");
    }
    if (own->told_gpu == NULL && own->gpu == SIZE_MAX) {
        missing(own, "'gpu'", "give the GPU with --gpu, such as --gpu a100-sxm-80gb");
    }
}

/* ---- fields ---- */

static bool is_one_of(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Fields that are words: NaN where the word is not known. */
static double read_word(st_times_feature feature, const char *text)
{
    static const char *const yes[] = {"True", "true", "yes", "1", "2"};
    static const char *const no[] = {"False", "false", "no", "0"};
    static const char *const full[] = {"full", "2"};
    static const char *const part[] = {"none", "selective", "1", "0"};
    static const char *const widths[] = {"fp8", "fp16", "bf16", "fp32"};
    if (feature == ST_TIMES_UP) {
        return is_one_of(text, yes, 5) ? 2 : is_one_of(text, no, 4) ? 1 : UNKNOWN;
    }
    if (feature == ST_TIMES_PASSES) {
        return is_one_of(text, full, 2) ? 2 : is_one_of(text, part, 4) ? 1 : UNKNOWN;
    }
    return is_one_of(text, widths, 1)       ? 1
           : is_one_of(text, widths + 1, 2) ? 2
           : is_one_of(text, widths + 3, 1) ? 4
                                            : UNKNOWN;
}

static double read_feature(table_reader *own, size_t row, st_times_feature feature)
{
    size_t column = own->features[feature];
    double value = UNKNOWN;
    if (column == SIZE_MAX) {
        return UNKNOWN;
    }
    const char *text = st_csv_field(own->csv, row, column);
    if (feature == ST_TIMES_UP || feature == ST_TIMES_PASSES || feature == ST_TIMES_WIDTH) {
        value = read_word(feature, text);
        if (isnan(value)) {
            fault(own, row, column,
                  feature == ST_TIMES_UP       ? "True or False"
                  : feature == ST_TIMES_PASSES ? "none, selective or full"
                                               : "fp32, bf16, fp16 or fp8");
        }
        return value;
    }
    double least = feature == ST_TIMES_SHARED_INNER ? 0 : 1;
    if (st_number_parse(text, strlen(text), (st_place){0}, &value, NULL) != ST_OK ||
        value < least || value > MOST_FEATURE || value != floor(value)) {
        fault(own, row, column,
              least > 0 ? "a whole number from 1 to 1e11" : "a whole number from 0 to 1e11");
        return UNKNOWN;
    }
    return value;
}

static double read_time(table_reader *own, size_t row, size_t column, double seconds)
{
    const char *text = st_csv_field(own->csv, row, column);
    double value = UNKNOWN;
    if (st_number_parse(text, strlen(text), (st_place){0}, &value, NULL) != ST_OK ||
        !(value * seconds >= 1e-12) || value * seconds > MOST_TIME) {
        fault(own, row, column, "a time above 0");
        return UNKNOWN;
    }
    return value * seconds;
}

/* Tokens that the table does not count itself. */
static void count_tokens(table_reader *own, size_t row, double *features)
{
    double micro_batch = 0;
    if (own->features[ST_TIMES_TOKENS] != SIZE_MAX) {
        return;
    }
    const char *text = st_csv_field(own->csv, row, own->micro_batch);
    if (st_number_parse(text, strlen(text), (st_place){0}, &micro_batch, NULL) != ST_OK ||
        micro_batch < 1 || micro_batch > MOST_FEATURE || micro_batch != floor(micro_batch)) {
        fault(own, row, own->micro_batch, "a whole number from 1 to 1e11");
    }
    double context = features[ST_TIMES_CONTEXT];
    features[ST_TIMES_TOKENS] =
        micro_batch * features[ST_TIMES_SEQUENCE] / (isnan(context) ? 1 : context);
    if (features[ST_TIMES_TOKENS] > MOST_FEATURE) {
        fault(own, row, own->micro_batch, "at most 1e11 tokens");
    }
}

/* The group of a row: its model, else its file. */
static size_t find_group(table_reader *own, size_t row)
{
    st_time_sets *sets = own->sets;
    const char *name = own->model != SIZE_MAX ? st_csv_field(own->csv, row, own->model) : "";
    name = name[0] != '\0' ? name : own->csv->file;
    for (size_t i = 0; i < sets->group_count; i++) {
        if (strcmp(sets->groups[i], name) == 0) {
            return i;
        }
    }
    if (sets->group_count == ST_TIME_GROUPS) {
        return ST_TIME_GROUPS - 1;
    }
    const char *kept = st_arena_copy(own->arena, name, strlen(name));
    if (kept == NULL) {
        note(own, st_out_of_memory(own->errors));
        return 0;
    }
    sets->groups[sets->group_count] = kept;
    return sets->group_count++;
}

static void read_gpu(table_reader *own, size_t row)
{
    const char *gpu = own->told_gpu;
    st_place place = {.file = "--gpu"};
    if (gpu == NULL) {
        gpu = st_csv_field(own->csv, row, own->gpu);
        if (row > 0 && strcmp(gpu, st_csv_field(own->csv, row - 1, own->gpu)) == 0) {
            return;
        }
        place = st_csv_place(own->csv, row, own->gpu);
    } else if (row > 0) {
        return;
    }
    note(own, st_time_gpu(own->paths, gpu, place, own->arena, own->sets, own->errors));
}

static void read_row(table_reader *own, st_time_set *const *into, size_t row)
{
    st_time_sample sample = {.repeats = 1};
    for (size_t i = 0; i < ST_TIMES_FEATURES; i++) {
        sample.shape.features[i] = read_feature(own, row, (st_times_feature)i);
    }
    count_tokens(own, row, sample.shape.features);
    read_gpu(own, row);
    sample.group = find_group(own, row);
    for (size_t i = 0; i < own->found_count; i++) {
        const table_set *set = &own->found[i];
        for (size_t k = 0; k < set->count; k++) {
            sample.times[k] = read_time(own, row, set->columns[k], set->seconds[k]);
        }
        st_time_sample one = sample;
        for (size_t k = 0; k < ST_TIMES_FEATURES; k++) {
            one.shape.features[k] = into[i]->has[k] ? one.shape.features[k] : UNKNOWN;
        }
        if (own->status == ST_OK) {
            note(own, st_time_add(into[i], &one, own->arena, own->errors));
        }
    }
}

/* Which features tell the shapes of a cell apart. */
static void list_features(const table_reader *own, const table_set *set, bool *has)
{
    for (size_t i = 0; i < ST_TIMES_FEATURES; i++) {
        has[i] = own->features[i] != SIZE_MAX || i == ST_TIMES_TOKENS;
    }
    bool moe = set->pieces[0] == ST_TIMES_MOE;
    for (size_t i = ST_TIMES_EXPERTS; i <= ST_TIMES_EXPERT_TENSOR; i++) {
        has[i] = has[i] && moe;
    }
    has[ST_TIMES_INNER] = has[ST_TIMES_INNER] && !moe; /* of dense layers */
    has[ST_TIMES_VOCABULARY] = strcmp(set->value, "t_logits") == 0;
    has[ST_TIMES_CLOSED] = false;
    has[ST_TIMES_PARAMETERS] = strcmp(set->value, "T_optimizer") == 0;
}

st_status st_time_table_read(const st_csv *csv, const st_paths *paths, const char *gpu,
                             st_arena *arena, st_time_sets *sets, st_errors *errors)
{
    table_reader own = {.csv = csv,
                        .paths = paths,
                        .arena = arena,
                        .sets = sets,
                        .errors = errors,
                        .told_gpu = gpu};
    st_time_set *into[ST_TIME_SETS] = {NULL};
    find_columns(&own);
    check_columns(&own);
    check_units(&own);
    warn_of_slips(&own);
    for (size_t i = 0; i < own.found_count && own.status == ST_OK; i++) {
        bool has[ST_TIMES_FEATURES];
        list_features(&own, &own.found[i], has);
        into[i] =
            st_time_set_of(sets, own.found[i].value, has, own.found[i].pieces, own.found[i].count);
        if (into[i] == NULL) {
            own.status = st_fail(errors, ST_ERR_VALUE, (st_place){csv->file, 1, 0},
                                 "the table has other columns than the one before it");
        }
    }
    bool known = own.status == ST_OK;
    for (size_t row = 0; known && row < csv->row_count; row++) {
        read_row(&own, into, row);
    }
    return own.status;
}
