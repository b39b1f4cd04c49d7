/* SPDX-License-Identifier: Apache-2.0 */
/* Fields by name; see fields.h. */
#include "fit/fields.h"

#include <string.h>

static const st_standard_column columns[] = {
    {"layers", "model.layers", false},
    {"hidden", "model.hidden", false},
    {"ffn", "model.ffn", true},
    {"heads", "model.heads", false},
    {"kv_heads", "model.kv_heads", true},
    {"vocab", "model.vocabulary", false},
    {"seq", "batch.sequence", false},
    {"micro_batch", "batch.micro", false},
    {"global_batch", "batch.global", false},
    {"tp", "parallel.tp", false},
    {"pp", "parallel.pp", false},
    {"dp", "parallel.dp", false},
    {"vp", "parallel.virtual_stages", true},
    {"cp", "parallel.cp", true},
    {"ep", "parallel.ep", true},
    {"sp", "parallel.sequence_parallel", true},
    {"zero_stage", "parallel.zero", true},
    {"recompute", "recompute", false},
    {"dtype", "precision.weights", false},
    {"gpus", "cluster.nodes", false},
    {"gpus_per_node", "cluster.gpus_per_node", false},
};

/* Columns that stand for no single key. */
static const char *const others[] = {"id",  "source",      "ref",         "model", "params_B",
                                     "gpu", "dist_opt",    "framework",   "notes", "split",
                                     "fp8", "target_kind", "split_reason"};

enum { COLUMNS = sizeof columns / sizeof columns[0], OTHERS = sizeof others / sizeof others[0] };

const st_standard_column *st_standard_column_of(const char *key)
{
    for (size_t i = 0; i < COLUMNS; i++)
        if (strcmp(columns[i].key, key) == 0)
            return &columns[i];
    return NULL;
}

bool st_is_standard_column(const char *name)
{
    for (size_t i = 0; i < COLUMNS; i++)
        if (strcmp(columns[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < OTHERS; i++)
        if (strcmp(others[i], name) == 0)
            return true;
    return false;
}

st_field st_field_find(const st_csv *csv, const st_table_source *source, const char *name)
{
    for (size_t i = 0; source != NULL && i < source->extraction_count; i++) {
        const st_extraction *extraction = &source->extractions[i];
        if (strcmp(extraction->column, name) == 0)
            return (st_field){st_csv_column(csv, extraction->from), extraction->behind};
    }
    for (size_t i = 0; source != NULL && i < source->column_count; i++)
        if (strcmp(source->columns[i].name, name) == 0)
            return (st_field){st_csv_column(csv, source->columns[i].theirs), NULL};
    return (st_field){st_csv_column(csv, name), NULL};
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The first digits that follow `behind`. */
static const char *find_number(const char *text, const char *behind, char *storage)
{
    size_t skip = strlen(behind);
    size_t length = 0;
    for (const char *at = strstr(text, behind); at != NULL; at = strstr(at + 1, behind)) {
        while (is_digit(at[skip + length]) && length < ST_FIELD_NUMBER - 1) {
            storage[length] = at[skip + length];
            length++;
        }
        if (length > 0)
            break;
    }
    storage[length] = '\0';
    return storage;
}

const char *st_field_text(const st_csv *csv, st_field field, size_t row, char *storage)
{
    if (field.column == SIZE_MAX)
        return "";
    const char *text = st_csv_field(csv, row, field.column);
    return field.behind != NULL ? find_number(text, field.behind, storage) : text;
}
