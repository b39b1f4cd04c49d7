/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of tables of counters; a fault names its row and column. */
#include "calibrate/slowdown/counters.h"

#include "base/csv.h"
#include "job/files.h"
#include "calibrate/slowdown/ragged.h"
#include "steptime/quantity.h"

#include <math.h>
#include <string.h>

enum { NAMES = 3 };

typedef struct counter_names {
    const char *raw[NAMES];     /* metrics of the page raw */
    const char *details[NAMES]; /* of the page details, where the unit is "%" */
    const char *section;        /* of ncu that records it */
} counter_names;

/* Metrics as Nsight Compute 2019.4 to 2025 names them. */
static const counter_names names[ST_COUNTERS] = {
    [ST_COUNTER_COMPUTE] = {{"sm__throughput.avg.pct_of_peak_sustained_elapsed"},
                            {"Compute (SM) Throughput", "SM [%]", "SOL SM"},
                            "SpeedOfLight"},
    [ST_COUNTER_MEMORY] = {{"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
                            "gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_"
                            "elapsed"},
                           {"Memory Throughput", "Memory [%]", "SOL Memory"},
                           "SpeedOfLight"},
    [ST_COUNTER_DRAM] = {{"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
                          "dram__throughput.avg.pct_of_peak_sustained_elapsed"},
                         {"DRAM Throughput", "SOL DRAM"},
                         "SpeedOfLight"},
    [ST_COUNTER_OCCUPANCY] = {{"sm__warps_active.avg.pct_of_peak_sustained_active"},
                              {"Achieved Occupancy"},
                              "Occupancy"},
    [ST_COUNTER_L1] = {{"l1tex__t_sector_hit_rate.pct"},
                       {"L1/TEX Hit Rate", "L1 Hit Rate"},
                       "MemoryWorkloadAnalysis"},
    [ST_COUNTER_L2] = {{"lts__t_sector_hit_rate.pct"}, {"L2 Hit Rate"}, "MemoryWorkloadAnalysis"},
};

typedef struct reader {
    const st_ragged *table;
    st_counters *into;
    st_arena *arena;
    st_errors *errors;
    st_status status;
    size_t name;
    size_t id;
    size_t block;
    size_t grid;
    size_t metrics[ST_COUNTERS]; /* page raw */
    size_t metric;               /* page details, as the next two */
    size_t unit;
    size_t value;
    bool seen[ST_COUNTERS];
} reader;

static size_t find_column(const reader *own, const char *const *given, size_t count)
{
    for (size_t i = 0; i < count && given[i] != NULL; i++) {
        size_t column = st_ragged_column(own->table, given[i]);
        if (column != SIZE_MAX) {
            return column;
        }
    }
    return SIZE_MAX;
}

/* ---- fields ---- */

/* "(128, 2, 1)", "128, 2, 1" or "128"; false for anything else. */
static bool read_shape(const char *text, int64_t shape[3])
{
    size_t filled = 0;
    bool inside = false;
    int64_t sizes[3] = {0, 1, 1};
    for (; *text != '\0'; text++) {
        if (*text >= '0' && *text <= '9') {
            if (!inside && ++filled > 3) {
                return false;
            }
            sizes[filled - 1] = inside ? sizes[filled - 1] * 10 + (*text - '0') : *text - '0';
            inside = true;
            if (sizes[filled - 1] > INT32_MAX) {
                return false;
            }
        } else if (strchr("(), x", *text) != NULL) {
            inside = false;
        } else {
            return false;
        }
    }
    for (size_t i = 0; i < 3 && filled > 0; i++) {
        shape[i] = sizes[i];
    }
    return true;
}

/* A number such as "1,048,576.25" into `value`; NaN for "n/a" and nothing. */
static bool read_value(const char *text, double *value)
{
    char plain[64];
    size_t length = 0;
    *value = (double)NAN;
    if (text[0] == '\0' || strcmp(text, "n/a") == 0 || strcmp(text, "nan") == 0) {
        return true;
    }
    for (; *text != '\0'; text++) {
        if (*text != ',') {
            if (length + 1 >= sizeof plain) {
                return false;
            }
            plain[length++] = *text;
        }
    }
    return st_number_parse(plain, length, (st_place){0}, value, NULL) == ST_OK;
}

static void keep_value(reader *own, size_t row, size_t counter, size_t column,
                       st_counted_kernel *kernel)
{
    const char *text = st_ragged_field(own->table, row, column);
    double value = 0;
    if (!read_value(text, &value)) {
        own->status =
            st_fail(own->errors, ST_ERR_VALUE,
                    (st_place){.file = own->table->file, .line = st_ragged_line(own->table, row)},
                    "%s: no number" ST_FOUND "'%s'" ST_EXPECTED "a number such as 23.85",
                    names[counter].raw[0], text);
    } else if (value < 0 || value > 200) {
        own->status =
            st_fail(own->errors, ST_ERR_VALUE,
                    (st_place){.file = own->table->file, .line = st_ragged_line(own->table, row)},
                    "%s: out of range" ST_FOUND "'%s'" ST_EXPECTED "percent of the peak",
                    names[counter].raw[0], text);
    } else if (!isnan(value)) {
        kernel->values[counter] = value;
        own->seen[counter] = true;
    }
}

static void keep_kernel(reader *own, size_t row)
{
    st_counted_kernel *kernel = &own->into->kernels[own->into->count++];
    size_t length = 0;
    const char *name = st_function_name(st_ragged_field(own->table, row, own->name), &length);
    kernel->name = st_arena_copy(own->arena, name, length);
    if (kernel->name == NULL) {
        own->status = st_out_of_memory(own->errors);
        kernel->name = "";
    }
    for (size_t i = 0; i < ST_COUNTERS; i++) {
        kernel->values[i] = (double)NAN;
    }
    const size_t shapes[] = {own->grid, own->block};
    int64_t *into[] = {kernel->grid, kernel->block};
    for (size_t i = 0; i < 2; i++) {
        const char *text = shapes[i] != SIZE_MAX ? st_ragged_field(own->table, row, shapes[i]) : "";
        if (!read_shape(text, into[i])) {
            own->status = st_fail(
                own->errors, ST_ERR_VALUE,
                (st_place){.file = own->table->file, .line = st_ragged_line(own->table, row)},
                "%s" ST_FOUND "'%s'" ST_EXPECTED "a shape such as (128, 1, 1)",
                i == 0 ? "Grid Size: no shape" : "Block Size: no shape", text);
        }
    }
}

/* ---- pages ---- */

/* A row of units follows the heading: percents must be percents. */
static bool is_units(const reader *own, size_t row)
{
    return st_ragged_field(own->table, row, own->name)[0] == '\0' &&
           (own->id == SIZE_MAX || st_ragged_field(own->table, row, own->id)[0] == '\0');
}

static void check_units(reader *own, size_t row)
{
    for (size_t i = 0; i < ST_COUNTERS; i++) {
        const char *unit = st_ragged_field(own->table, row, own->metrics[i]);
        if (unit[0] != '\0' && strcmp(unit, "%") != 0) {
            own->status = st_fail(
                own->errors, ST_ERR_VALUE,
                (st_place){.file = own->table->file, .line = st_ragged_line(own->table, row)},
                "%s has another unit" ST_FOUND "'%s'" ST_EXPECTED "'%%'", names[i].raw[0], unit);
        }
    }
}

static void read_raw(reader *own)
{
    for (size_t row = 0; row < own->table->row_count; row++) {
        if (is_units(own, row)) {
            check_units(own, row);
            continue;
        }
        if (st_ragged_width(own->table, row) < own->table->column_count) {
            own->status = st_fail(
                own->errors, ST_ERR_VALUE,
                (st_place){.file = own->table->file, .line = st_ragged_line(own->table, row)},
                "the row ends too soon" ST_FOUND "%zu fields" ST_EXPECTED "%zu",
                st_ragged_width(own->table, row), own->table->column_count);
            continue;
        }
        keep_kernel(own, row);
        for (size_t i = 0; i < ST_COUNTERS; i++) {
            keep_value(own, row, i, own->metrics[i], &own->into->kernels[own->into->count - 1]);
        }
    }
}

static size_t counter_of(const char *metric)
{
    for (size_t i = 0; i < ST_COUNTERS; i++) {
        for (size_t k = 0; k < NAMES; k++) {
            if ((names[i].raw[k] != NULL && strcmp(names[i].raw[k], metric) == 0) ||
                (names[i].details[k] != NULL && strcmp(names[i].details[k], metric) == 0)) {
                return i;
            }
        }
    }
    return ST_COUNTERS;
}

/* Rows of one kernel follow each other and have its ID. */
static void read_details(reader *own)
{
    const char *last = NULL;
    for (size_t row = 0; row < own->table->row_count; row++) {
        const char *id = st_ragged_field(own->table, row, own->id);
        if (st_ragged_width(own->table, row) <= own->value) {
            own->status = st_fail(
                own->errors, ST_ERR_VALUE,
                (st_place){.file = own->table->file, .line = st_ragged_line(own->table, row)},
                "the row ends too soon" ST_FOUND "%zu fields" ST_EXPECTED "%zu or more",
                st_ragged_width(own->table, row), own->value + 1);
            continue;
        }
        if (last == NULL || strcmp(last, id) != 0) {
            keep_kernel(own, row);
            last = id;
        }
        /* "Memory Throughput" is there twice, in percent and in bytes per second */
        size_t counter = counter_of(st_ragged_field(own->table, row, own->metric));
        if (counter < ST_COUNTERS &&
            strcmp(st_ragged_field(own->table, row, own->unit), "%") == 0) {
            keep_value(own, row, counter, own->value, &own->into->kernels[own->into->count - 1]);
        }
    }
}

/* ---- the whole ---- */

static void missing(reader *own, size_t counter)
{
    own->status = st_fail(own->errors, ST_ERR_NAME,
                          (st_place){.file = own->table->file, .line = own->table->head_line},
                          "no metric '%s'" ST_HINT "'ncu --section %s' records it",
                          names[counter].raw[0], names[counter].section);
}

static void find_columns(reader *own)
{
    static const char *const name[] = {"Kernel Name"};
    static const char *const id[] = {"ID"};
    static const char *const block[] = {"Block Size"};
    static const char *const grid[] = {"Grid Size"};
    static const char *const details[] = {"Metric Name"};
    static const char *const unit[] = {"Metric Unit"};
    static const char *const value[] = {"Metric Value"};
    own->name = find_column(own, name, 1);
    own->id = find_column(own, id, 1);
    own->block = find_column(own, block, 1);
    own->grid = find_column(own, grid, 1);
    own->metric = find_column(own, details, 1);
    own->unit = find_column(own, unit, 1);
    own->value = find_column(own, value, 1);
    for (size_t i = 0; i < ST_COUNTERS && own->metric == SIZE_MAX; i++) {
        own->metrics[i] = find_column(own, names[i].raw, NAMES);
        if (own->metrics[i] == SIZE_MAX) {
            missing(own, i);
        }
    }
    if (own->metric != SIZE_MAX &&
        (own->unit == SIZE_MAX || own->value == SIZE_MAX || own->id == SIZE_MAX)) {
        own->status = st_fail(own->errors, ST_ERR_NAME,
                              (st_place){.file = own->table->file, .line = own->table->head_line},
                              "no column 'ID', 'Metric Unit' or 'Metric Value'");
    }
}

static void check_whole(reader *own)
{
    if (own->into->count == 0) {
        own->status = st_fail(own->errors, ST_ERR_VALUE, (st_place){.file = own->table->file},
                              "no kernels below the heading" ST_EXPECTED
                              "what 'ncu --csv --page raw' or 'ncu --csv' prints");
        return;
    }
    for (size_t i = 0; i < ST_COUNTERS; i++) {
        if (!own->seen[i]) {
            missing(own, i);
        }
    }
}

st_status st_counters_read(const char *file, const char *text, size_t length, st_arena *arena,
                           st_counters *counters, st_errors *errors)
{
    st_ragged table = {.file = file};
    reader own = {.table = &table, .into = counters, .arena = arena, .errors = errors};
    *counters = (st_counters){.file = file};
    st_status status = st_ragged_parse(&table, text, length, "Kernel Name", arena, errors);
    if (status != ST_OK) {
        return status;
    }
    counters->kernels = st_arena_alloc(arena, table.row_count + 1, sizeof *counters->kernels);
    if (counters->kernels == NULL) {
        return st_out_of_memory(errors);
    }
    find_columns(&own);
    if (own.status == ST_OK && own.metric == SIZE_MAX) {
        read_raw(&own);
    } else if (own.status == ST_OK) {
        read_details(&own);
    }
    if (own.status == ST_OK) {
        check_whole(&own);
    }
    return own.status;
}
