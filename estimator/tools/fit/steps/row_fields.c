/* SPDX-License-Identifier: Apache-2.0 */
/* Fields by name; see row_fields.h. */
#include "fit/steps/row_fields.h"

#include "steptime/keys.h"

#include <string.h>

static const st_standard_column columns[] = {
    {"layers", ST_KEY_MODEL_LAYERS, false},
    {"hidden", ST_KEY_MODEL_HIDDEN, false},
    {"ffn", ST_KEY_MODEL_FFN, true},
    {"heads", ST_KEY_MODEL_HEADS, false},
    {"kv_heads", ST_KEY_MODEL_KV_HEADS, true},
    {"vocab", ST_KEY_MODEL_VOCABULARY, false},
    {"seq", ST_KEY_BATCH_SEQUENCE, false},
    {"micro_batch", ST_KEY_BATCH_MICRO, false},
    {"global_batch", ST_KEY_BATCH_GLOBAL, false},
    {"tp", ST_KEY_PARALLEL_TP, false},
    {"pp", ST_KEY_PARALLEL_PP, false},
    {"dp", ST_KEY_PARALLEL_DP, false},
    {"vp", ST_KEY_PARALLEL_VIRTUAL_STAGES, true},
    {"cp", ST_KEY_PARALLEL_CP, true},
    {"ep", ST_KEY_PARALLEL_EP, true},
    {"sp", ST_KEY_PARALLEL_SEQUENCE_PARALLEL, true},
    {"zero_stage", ST_KEY_PARALLEL_ZERO, true},
    {"recompute", ST_KEY_RECOMPUTE, false},
    {"dtype", ST_KEY_PRECISION_WEIGHTS, false},
    {"order", ST_KEY_PARALLEL_ORDER, true},
    {"gpus", ST_KEY_CLUSTER_NODES, false},
    {"gpus_per_node", ST_KEY_CLUSTER_GPUS_PER_NODE, false},
};

/* Columns that do not map to a single key. */
static const char *const others[] = {"id",
                                     "source",
                                     "ref",
                                     "model",
                                     "params_B",
                                     "gpu",
                                     "dist_opt",
                                     "framework",
                                     "notes",
                                     "split",
                                     "fp8",
                                     "target_kind",
                                     "split_reason",
                                     "iter_time_s",
                                     "tokens_per_s_per_gpu",
                                     "tflops_per_gpu",
                                     "mfu_pct"};

enum { COLUMNS = ST_COUNT(columns), OTHERS = ST_COUNT(others) };

const st_standard_column *st_standard_column_of(const char *key)
{
    size_t i = ST_FIND(columns, COLUMNS, key, key);
    return i < COLUMNS ? &columns[i] : NULL;
}

bool st_is_standard_column(const char *name)
{
    for (size_t i = 0; i < COLUMNS; i++)
        if (strcmp(columns[i].name, name) == 0)
            return true;
    return st_has_text(others, OTHERS, name);
}

st_source_field st_source_field_find(const st_csv *csv, const st_table_source *source,
                                     const char *name)
{
    for (size_t i = 0; source != NULL && i < source->extraction_count; i++) {
        const st_extraction *extraction = &source->extractions[i];
        if (strcmp(extraction->column, name) == 0)
            return (st_source_field){st_csv_column(csv, extraction->from), extraction};
    }
    for (size_t i = 0; source != NULL && i < source->column_count; i++)
        if (strcmp(source->columns[i].name, name) == 0)
            return (st_source_field){st_csv_column(csv, source->columns[i].theirs), NULL};
    return (st_source_field){st_csv_column(csv, name), NULL};
}

static void copy_digits(const char *from, size_t length, char *storage)
{
    if (length >= ST_SOURCE_FIELD_BYTES)
        length = 0; /* no count has so many */
    memcpy(storage, from, length);
    storage[length] = '\0';
}

const char *st_source_field_text(const st_csv *csv, st_source_field field, size_t row,
                                 char *storage)
{
    if (field.column == SIZE_MAX)
        return "";
    const char *text = st_csv_field(csv, row, field.column);
    if (field.number == NULL)
        return text;
    if (field.number->behind[0] != '\0') {
        /* The first digits behind a text. */
        const char *mark = field.number->behind;
        size_t skip = strlen(mark);
        size_t length = 0;
        const char *at = strstr(text, mark);
        while (at != NULL && !st_is_digit(at[skip]))
            at = strstr(at + 1, mark);
        while (at != NULL && st_is_digit(at[skip + length]))
            length++;
        copy_digits(at != NULL ? at + skip : text, length, storage);
    } else {
        /* The first digits in front of a text. */
        const char *mark = field.number->before;
        size_t length = 0;
        const char *at = strstr(text, mark);
        while (at != NULL && (at == text || !st_is_digit(at[-1])))
            at = strstr(at + 1, mark);
        while (at != NULL && at - length > text && st_is_digit(*(at - length - 1)))
            length++;
        copy_digits(at != NULL ? at - length : text, length, storage);
    }
    return storage;
}
