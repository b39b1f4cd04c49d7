/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of tables of counters; an error names its row and column. */
#include "overlap-xgboost/fit/counters.h"

#include "base/fields.h"
#include "base/memory.h"
#include "steptime/quantity.h"

#include <math.h>
#include <string.h>

/* Of ncu, which record the counters. */
static const char *const sections[ST_COUNTERS] = {
    [ST_COUNTER_COMPUTE] = "SpeedOfLight",      [ST_COUNTER_MEMORY] = "SpeedOfLight",
    [ST_COUNTER_DRAM] = "SpeedOfLight",         [ST_COUNTER_OCCUPANCY] = "Occupancy",
    [ST_COUNTER_L1] = "MemoryWorkloadAnalysis", [ST_COUNTER_L2] = "MemoryWorkloadAnalysis",
};

/* ---- fields ---- */

/* "(128, 2, 1)", "128, 2, 1" or "128"; false for anything else. */
static bool set_shape(const st_field *field, const char *text, double scale, void *target)
{
    int64_t *shape = target;
    (void)field;
    (void)scale;
    size_t filled = 0;
    bool inside = false;
    int64_t sizes[3] = {0, 1, 1};
    for (; *text != '\0'; text++) {
        if (*text >= '0' && *text <= '9') {
            if (!inside && ++filled > 3)
                return false;
            sizes[filled - 1] = inside ? sizes[filled - 1] * 10 + (*text - '0') : *text - '0';
            inside = true;
            if (sizes[filled - 1] > INT32_MAX)
                return false;
        } else if (strchr("(), x", *text) != NULL) {
            inside = false;
        } else {
            return false;
        }
    }
    for (size_t i = 0; i < 3 && filled > 0; i++)
        shape[i] = sizes[i];
    return true;
}

/* A number such as "1,048,576.25"; "n/a" and nothing leave what is there. */
static bool set_percent(const st_field *field, const char *text, double scale, void *target)
{
    char plain[64];
    size_t length = 0;
    if (st_field_is_blank(text))
        return true;
    for (; *text != '\0' && length + 1 < sizeof plain; text++)
        if (*text != ',')
            plain[length++] = *text;
    plain[length] = '\0';
    return *text == '\0' && st_field_number(field, plain, scale, target);
}

/* What a row says. */
typedef struct counter_row {
    double values[ST_COUNTERS]; /* page raw */
    const char *name;
    const char *id;
    const char *metric; /* page details, as the next two */
    const char *unit;
    const char *value;
    int64_t grid[3];
    int64_t block[3];
} counter_row;

enum { NAME = ST_COUNTERS, ID, GRID, BLOCK, METRIC, UNIT, VALUE, FIELDS };

/* Metrics as Nsight Compute 2019.4 to 2025 names them: of the page raw, then of the page details.
 */
#define COUNTER(counter, metric, others)                                                           \
    [counter] = {.name = metric,                                                                   \
                 .spellings = metric "|" others,                                                   \
                 .set = set_percent,                                                               \
                 .most = 200,                                                                      \
                 .expected = "percent of the peak",                                                \
                 .offset = offsetof(counter_row, values) + (counter) * sizeof(double)}
#define TEXT(field, heading, member)                                                               \
    [field] = {.name = heading, .set = st_field_text, .offset = offsetof(counter_row, member)}
#define SHAPE(field, heading, member)                                                              \
    [field] = {.name = heading,                                                                    \
               .set = set_shape,                                                                   \
               .expected = "a shape such as (128, 1, 1)",                                          \
               .offset = offsetof(counter_row, member)}

static const st_field fields[FIELDS] = {
    COUNTER(ST_COUNTER_COMPUTE, "sm__throughput.avg.pct_of_peak_sustained_elapsed",
            "Compute (SM) Throughput|SM [%]|SOL SM"),
    COUNTER(ST_COUNTER_MEMORY, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
            "gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed|"
            "Memory Throughput|Memory [%]|SOL Memory"),
    COUNTER(ST_COUNTER_DRAM, "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
            "dram__throughput.avg.pct_of_peak_sustained_elapsed|DRAM Throughput|SOL DRAM"),
    COUNTER(ST_COUNTER_OCCUPANCY, "sm__warps_active.avg.pct_of_peak_sustained_active",
            "Achieved Occupancy"),
    COUNTER(ST_COUNTER_L1, "l1tex__t_sector_hit_rate.pct", "L1/TEX Hit Rate|L1 Hit Rate"),
    COUNTER(ST_COUNTER_L2, "lts__t_sector_hit_rate.pct", "L2 Hit Rate"),
    TEXT(NAME, "Kernel Name", name),
    TEXT(ID, "ID", id),
    SHAPE(GRID, "Grid Size", grid),
    SHAPE(BLOCK, "Block Size", block),
    TEXT(METRIC, "Metric Name", metric),
    TEXT(UNIT, "Metric Unit", unit),
    TEXT(VALUE, "Metric Value", value),
};

/* ---- rows ---- */

typedef struct reader {
    st_field_reader fields;
    st_counters *into;
    bool seen[ST_COUNTERS];
} counter_reader;

static st_counted_kernel *add_kernel(counter_reader *reader, const counter_row *row)
{
    st_counted_kernel *kernel = &reader->into->kernels[reader->into->count++];
    size_t length = 0;
    const char *name = st_function_name(row->name, &length);
    kernel->name = st_arena_copy(reader->fields.arena, name, length);
    if (kernel->name == NULL) {
        reader->fields.status = st_out_of_memory(reader->fields.errors);
        kernel->name = "";
    }
    memcpy(kernel->grid, row->grid, sizeof kernel->grid);
    memcpy(kernel->block, row->block, sizeof kernel->block);
    for (size_t i = 0; i < ST_COUNTERS; i++)
        kernel->values[i] = row->values[i];
    return kernel;
}

static size_t counter_of(const char *metric)
{
    size_t counter = 0;
    while (counter < ST_COUNTERS && !st_field_is_spelt(&fields[counter], metric))
        counter++;
    return counter;
}

/* On the page details rows of one kernel follow each other and have its ID. */
static void read_row(counter_reader *reader, size_t index, const char **last)
{
    counter_row row = {.id = ""};
    for (size_t i = 0; i < ST_COUNTERS; i++)
        row.values[i] = (double)NAN;
    if (!st_fields_read(&reader->fields, index, &row))
        return;
    bool details = st_fields_have(&reader->fields, METRIC);
    bool begins = !details || *last == NULL || strcmp(*last, row.id) != 0;
    st_counted_kernel *kernel =
        begins ? add_kernel(reader, &row) : &reader->into->kernels[reader->into->count - 1];
    *last = row.id;
    /* "Memory Throughput" is there twice, in percent and in bytes per second */
    size_t counter = details && strcmp(row.unit, "%") == 0 ? counter_of(row.metric) : ST_COUNTERS;
    if (counter < ST_COUNTERS &&
        !set_percent(&fields[counter], row.value, 1, &kernel->values[counter]))
        st_fields_refuse(&reader->fields, index, VALUE, fields[counter].expected);
    for (size_t i = 0; i < ST_COUNTERS; i++)
        reader->seen[i] = reader->seen[i] || !isnan(kernel->values[i]);
}

/* ---- the whole ---- */

st_status st_counters_read(const char *file, const char *text, size_t length, st_arena *arena,
                           st_counters *counters, st_errors *errors)
{
    const st_csv *csv = NULL;
    const char *last = NULL;
    *counters = (st_counters){.file = file};
    const st_csv_input input = {
        .file = file, .text = text, .length = length, .mark = fields[NAME].name};
    st_status status = st_csv_read(&input, arena, &csv, errors);
    if (status != ST_OK)
        return status;
    counter_reader reader = {
        .fields = {.csv = csv, .fields = fields, .count = FIELDS, .arena = arena, .errors = errors},
        .into = counters};
    counters->kernels = st_arena_alloc(arena, csv->row_count + 1, sizeof *counters->kernels);
    if (counters->kernels == NULL)
        return st_out_of_memory(errors);
    bool known = false;
    st_field_reader *field_reader = &reader.fields;
    static const size_t needed[] = {ID, UNIT, VALUE};
    if (st_fields_find(field_reader)) {
        for (size_t i = 0; st_fields_have(field_reader, METRIC) && i < ST_COUNT(needed); i++)
            if (!st_fields_have(field_reader, needed[i]))
                st_fields_missing(field_reader, fields[needed[i]].name, NULL);
        known = field_reader->status == ST_OK;
    }
    /* A row of units follows the heading of the page raw: percents must be percents. */
    for (size_t row = 0; known && row < csv->row_count; row++)
        if (!st_fields_have(&reader.fields, METRIC) &&
            st_fields_text(&reader.fields, row, NAME)[0] == '\0' &&
            st_fields_text(&reader.fields, row, ID)[0] == '\0') {
            for (size_t i = 0; i < ST_COUNTERS; i++) {
                const char *unit = st_fields_text(&reader.fields, row, i);
                if (unit[0] != '\0' && strcmp(unit, "%") != 0)
                    st_fields_refuse(&reader.fields, row, i, "the unit '%'");
            }
        } else {
            read_row(&reader, row, &last);
        }
    if (reader.fields.status == ST_OK) {
        st_errors *whole_errors = reader.fields.errors;
        const st_csv *whole_csv = reader.fields.csv;
        if (reader.into->count == 0) {
            reader.fields.status =
                st_fail(whole_errors, ST_ERR_VALUE, (st_place){.file = whole_csv->file},
                        "no kernels below the heading" ST_EXPECTED
                        "the output of 'ncu --csv --page raw' or 'ncu --csv'");
        } else {
            for (size_t i = 0; i < ST_COUNTERS; i++) {
                if (!reader.seen[i])
                    reader.fields.status =
                        st_fail(whole_errors, ST_ERR_NAME, st_csv_head_place(whole_csv, 0),
                                "no metric '%s'" ST_HINT "record it with 'ncu --section %s'",
                                fields[i].name, sections[i]);
            }
        }
    }
    return reader.fields.status;
}
