/* SPDX-License-Identifier: Apache-2.0 */
#include "calibrate/slowdown/kernel_table.h"

#include "base/memory.h"
#include "calibrate/slowdown/data_columns.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define UNKNOWN ((double)NAN) /* the macro is a float */

/* ---- classes ---- */

static const char *const class_names[ST_KERNEL_CLASSES] = {
    "gemm", "attention", "norm", "elementwise", "reduction", "copy", "other"};

const char *st_kernel_class_name(st_kernel_class class)
{
    return class_names[class];
}

typedef struct class_mark {
    const char *part; /* of a kernel's name, lower case */
    st_kernel_class class;
} class_mark;

/* The first that matches decides: "layer_norm_grad" before "grad", "elementwise" before "norm". */
static const class_mark class_marks[] = {
    {"fmha", ST_KERNEL_ATTENTION},
    {"flash", ST_KERNEL_ATTENTION},
    {"attention", ST_KERNEL_ATTENTION},
    {"gemm", ST_KERNEL_GEMM},
    {"cutlass", ST_KERNEL_GEMM},
    {"xmma", ST_KERNEL_GEMM},
    {"conv", ST_KERNEL_GEMM},
    {"gemv", ST_KERNEL_GEMM},
    {"nvjet", ST_KERNEL_GEMM},
    {"layer_norm", ST_KERNEL_NORM},
    {"layernorm", ST_KERNEL_NORM},
    {"gammabeta", ST_KERNEL_NORM},
    {"rmsnorm", ST_KERNEL_NORM},
    {"batch_norm", ST_KERNEL_NORM},
    {"bn_", ST_KERNEL_NORM},
    {"elementwise", ST_KERNEL_ELEMENTWISE},
    {"multi_tensor", ST_KERNEL_ELEMENTWISE},
    {"softmax", ST_KERNEL_REDUCTION},
    {"reduce", ST_KERNEL_REDUCTION},
    {"copy", ST_KERNEL_COPY},
    {"memcpy", ST_KERNEL_COPY},
    {"memset", ST_KERNEL_COPY},
};

st_kernel_class st_kernel_class_of(const char *name)
{
    char lower[256];
    size_t length = 0;
    for (; name[length] != '\0' && length + 1 < sizeof lower; length++) {
        lower[length] = (char)tolower((unsigned char)name[length]);
    }
    lower[length] = '\0';
    for (size_t i = 0; i < sizeof class_marks / sizeof class_marks[0]; i++) {
        if (strstr(lower, class_marks[i].part) != NULL) {
            return class_marks[i].class;
        }
    }
    return ST_KERNEL_OTHER;
}

/* ---- columns ---- */

typedef enum column_kind { PERCENT, LOGARITHM, COUNT, NAME } column_kind;

typedef struct feature_column {
    const char *name; /* in reports */
    const char *column;
    const char *spellings[4]; /* of the column, echo table 4 among them */
    const char *values;       /* NAME: the known ones, a blank around each */
    column_kind kind;
    st_column_unit unit;
    bool required;
    bool inside; /* NAME: the value may stand inside of the text */
} feature_column;

static const feature_column feature_columns[ST_FEATURE_CLASS] = {
    [ST_FEATURE_DURATION] = {.name = "duration",
                             .column = "isolated_ns",
                             .spellings = {"isolated", "ground truth", "running time"},
                             .kind = LOGARITHM,
                             .unit = ST_COLUMN_TIME,
                             .required = true},
    [ST_FEATURE_COMPUTE] = {.name = "compute throughput",
                            .column = "Compute throughput",
                            .spellings = {"compute throughput", "compute sm throughput"},
                            .kind = PERCENT,
                            .unit = ST_COLUMN_PERCENT,
                            .required = true},
    [ST_FEATURE_MEMORY] = {.name = "memory throughput",
                           .column = "Memory throughput",
                           .spellings = {"memory throughput"},
                           .kind = PERCENT,
                           .unit = ST_COLUMN_PERCENT,
                           .required = true},
    [ST_FEATURE_DRAM] = {.name = "DRAM throughput",
                         .column = "DRAM throughput",
                         .spellings = {"dram throughput"},
                         .kind = PERCENT,
                         .unit = ST_COLUMN_PERCENT,
                         .required = true},
    [ST_FEATURE_OCCUPANCY] = {.name = "achieved occupancy",
                              .column = "Achieved occupancy",
                              .spellings = {"achieved occupancy"},
                              .kind = PERCENT,
                              .unit = ST_COLUMN_PERCENT,
                              .required = true},
    [ST_FEATURE_L1] = {.name = "L1 hit rate",
                       .column = "L1 hit rate",
                       .spellings = {"l1 hit rate", "l1 tex hit rate"},
                       .kind = PERCENT,
                       .unit = ST_COLUMN_PERCENT,
                       .required = true},
    [ST_FEATURE_L2] = {.name = "L2 hit rate",
                       .column = "L2 hit rate",
                       .spellings = {"l2 hit rate"},
                       .kind = PERCENT,
                       .unit = ST_COLUMN_PERCENT,
                       .required = true},
    [ST_FEATURE_PROTOCOL] = {.name = "protocol",
                             .column = "protocol",
                             .spellings = {"protocol"},
                             .values = " LL LL128 Simple ",
                             .kind = NAME},
    [ST_FEATURE_ALGORITHM] = {.name = "algorithm",
                              .column = "algorithm",
                              .spellings = {"algorithm"},
                              .values = " ring tree collnet nvls nvlstree pat ",
                              .kind = NAME},
    [ST_FEATURE_COLLECTIVE] = {.name = "collective",
                               .column = "collective",
                               .spellings = {"collective"},
                               .values = " all_reduce all_gather reduce_scatter all_to_all "
                                         "broadcast send_recv ",
                               .kind = NAME,
                               .inside = true},
    [ST_FEATURE_BYTES] = {.name = "bytes",
                          .column = "bytes",
                          .spellings = {"bytes", "bucket size", "message size"},
                          .kind = LOGARITHM,
                          .unit = ST_COLUMN_BYTES},
    [ST_FEATURE_CHANNELS] = {.name = "channels",
                             .column = "channels",
                             .spellings = {"channels", "channel number"},
                             .kind = COUNT},
    [ST_FEATURE_GPU] = {.name = "gpu",
                        .column = "gpu",
                        .spellings = {"gpu", "gpu type"},
                        .values = ST_KERNEL_GPUS,
                        .kind = NAME,
                        .inside = true},
};

const char *st_feature_name(st_feature feature)
{
    return feature < ST_FEATURE_CLASS ? feature_columns[feature].name
                                      : class_names[feature - ST_FEATURE_CLASS];
}

typedef struct reader {
    const st_csv *csv;
    st_arena *arena;
    st_errors *errors;
    st_status status;
    st_column name;
    st_column overlapped;
    st_column share;
    st_column class;
    st_column features[ST_FEATURE_CLASS];
} reader;

static void fault(reader *own, size_t row, size_t column, const char *message, const char *expected)
{
    const char *text = st_csv_field(own->csv, row, column);
    own->status = st_fail(own->errors, ST_ERR_VALUE, st_csv_place(own->csv, row, column),
                          "%s: %s" ST_FOUND "'%s'" ST_EXPECTED "%s", own->csv->columns[column],
                          message, text, st_or_none(expected));
}

/* Whether a column is read as something. */
static bool is_used(const reader *own, size_t column)
{
    bool used = column == own->name.at || column == own->overlapped.at || column == own->share.at ||
                column == own->class.at;
    for (size_t i = 0; i < ST_FEATURE_CLASS; i++) {
        used = used || column == own->features[i].at;
    }
    return used;
}

/* The nearest of the columns that are not read as anything else. */
static const char *nearest_column(const reader *own, const char *name)
{
    const char **unused = st_arena_alloc(own->arena, own->csv->column_count + 1, sizeof *unused);
    size_t count = 0;
    for (size_t i = 0; i < own->csv->column_count && unused != NULL; i++) {
        if (!is_used(own, i)) {
            unused[count++] = own->csv->columns[i];
        }
    }
    const char *nearest = unused != NULL ? st_nearest(name, unused, count) : NULL;
    return nearest == NULL ? NULL
                           : st_errors_text(own->errors, "the nearest column is '%s'", nearest);
}

static void missing(reader *own, const char *name)
{
    own->status = st_fail(
        own->errors, ST_ERR_NAME, (st_place){.file = own->csv->file, .line = 1, .column = 1},
        "no column '%s'" ST_HINT "%s", name, st_or_none(nearest_column(own, name)));
}

/* The counters of a profiler are there all or, as in tables from traces, not at all. */
static void find_features(reader *own)
{
    size_t counters = 0;
    for (size_t i = 0; i < ST_FEATURE_CLASS; i++) {
        const feature_column *kind = &feature_columns[i];
        own->features[i] = st_column_find(own->csv, kind->spellings, kind->unit);
        counters += kind->kind == PERCENT && own->features[i].at != SIZE_MAX ? 1 : 0;
    }
    for (size_t i = 0; i < ST_FEATURE_CLASS; i++) {
        bool required =
            feature_columns[i].kind == PERCENT ? counters > 0 : feature_columns[i].required;
        if (required && own->features[i].at == SIZE_MAX) {
            missing(own, feature_columns[i].column);
        }
    }
}

static void find_columns(reader *own)
{
    static const char *const kernel[] = {"kernel", "kdemangledname", "kshortname", "kernel name",
                                         NULL};
    static const char *const overlapped[] = {"overlapped", "duration", NULL};
    static const char *const share[] = {"overlap ratio", NULL};
    static const char *const class[] = {"class", "kernel class", "kernel type", NULL};
    own->name = st_column_find(own->csv, kernel, ST_COLUMN_PLAIN);
    own->overlapped = st_column_find(own->csv, overlapped, ST_COLUMN_TIME);
    own->share = st_column_find(own->csv, share, ST_COLUMN_PLAIN);
    own->class = st_column_find(own->csv, class, ST_COLUMN_PLAIN);
    find_features(own);
    const struct {
        const st_column *column;
        const char *name;
    } required[] = {{&own->name, "kernel"},
                    {&own->overlapped, "overlapped_ns"},
                    {&own->share, "overlap_ratio"}};
    for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
        if (required[i].column->at == SIZE_MAX) {
            missing(own, required[i].name);
        }
    }
}

/* The columns that nothing is read from: a spelling that is not known is told, not lost. */
static st_status note_unused(reader *own, st_kernels *kernels)
{
    kernels->unused = st_arena_alloc(own->arena, own->csv->column_count + 1, sizeof(char *));
    for (size_t i = 0; i < own->csv->column_count && kernels->unused != NULL; i++) {
        if (!is_used(own, i)) {
            kernels->unused[kernels->unused_count++] = own->csv->columns[i];
        }
    }
    return kernels->unused != NULL ? ST_OK : ST_ERR_MEMORY;
}

/* ---- rows ---- */

/* In ns, bytes or as it stands. */
static double read_number(reader *own, size_t row, const st_column *column, double least,
                          double most)
{
    const char *text = st_csv_field(own->csv, row, column->at);
    double value = 0;
    if (st_number_parse(text, strlen(text), (st_place){0}, &value, NULL) != ST_OK) {
        fault(own, row, column->at, "no number", "a number such as 2.385");
        return UNKNOWN;
    }
    value *= column->scale;
    if (value < least || value > most) {
        fault(own, row, column->at, "out of range",
              st_errors_text(own->errors, "a number from %g to %g", least / column->scale,
                             most / column->scale));
        return UNKNOWN;
    }
    return value;
}

static double read_name(reader *own, size_t row, size_t feature)
{
    const feature_column *kind = &feature_columns[feature];
    size_t column = own->features[feature].at;
    size_t index = st_column_word(st_csv_field(own->csv, row, column), kind->values, kind->inside);
    if (index != SIZE_MAX) {
        return (double)index;
    }
    fault(own, row, column, "an unknown name",
          st_errors_text(own->errors, "one of %.*s", (int)strlen(kind->values) - 2,
                         kind->values + 1));
    return UNKNOWN;
}

static double read_feature(reader *own, size_t row, size_t feature)
{
    const st_column *column = &own->features[feature];
    const feature_column *kind = &feature_columns[feature];
    if (column->at == SIZE_MAX ||
        (!kind->required && st_csv_field(own->csv, row, column->at)[0] == '\0')) {
        return UNKNOWN;
    }
    switch (kind->kind) {
    case PERCENT:
        return read_number(own, row, column, 0, 200); /* Nsight prints a little over 100 at times */
    case LOGARITHM:
        return log(read_number(own, row, column, 1e-3, 1e18));
    case COUNT:
        return read_number(own, row, column, 1, 1e6);
    case NAME:
        return read_name(own, row, feature);
    }
    return UNKNOWN;
}

static st_kernel_class read_class(reader *own, size_t row, const char *name)
{
    if (own->class.at != SIZE_MAX && st_csv_field(own->csv, row, own->class.at)[0] != '\0') {
        const char *text = st_csv_field(own->csv, row, own->class.at);
        for (int i = 0; i < ST_KERNEL_CLASSES; i++) {
            if (strcmp(class_names[i], text) == 0) {
                return (st_kernel_class)i;
            }
        }
        fault(own, row, own->class.at, "an unknown class",
              "gemm, attention, norm, elementwise, reduction, copy or other");
    }
    return st_kernel_class_of(name);
}

static void read_row(reader *own, size_t row, st_kernel *kernel)
{
    kernel->name = st_csv_field(own->csv, row, own->name.at);
    if (kernel->name[0] == '\0') {
        fault(own, row, own->name.at, "a kernel without a name", NULL);
    }
    kernel->class = read_class(own, row, kernel->name);
    kernel->isolated_ns = read_number(own, row, &own->features[ST_FEATURE_DURATION], 1e-3, 1e18);
    kernel->overlapped_ns = read_number(own, row, &own->overlapped, 1e-3, 1e18);
    kernel->share = read_number(own, row, &own->share, 0, 1.0000001);
    kernel->share = kernel->share > 1 ? 1 : kernel->share;
    kernel->slowdown =
        kernel->share > 0
            ? (kernel->overlapped_ns / kernel->isolated_ns - (1 - kernel->share)) / kernel->share
            : UNKNOWN;
    kernel->features[ST_FEATURE_DURATION] = (float)log(kernel->isolated_ns);
    for (size_t i = 1; i < ST_FEATURE_CLASS; i++) {
        kernel->features[i] = (float)read_feature(own, row, i);
    }
    for (size_t i = 0; i < ST_KERNEL_CLASSES; i++) {
        kernel->features[ST_FEATURE_CLASS + i] = i == (size_t)kernel->class ? 1 : 0;
    }
}

st_status st_kernels_check(const st_kernels *kernels, st_errors *errors)
{
    const char *message = NULL;
    const char *expected = NULL;
    bool alike = true;
    size_t beside = 0;
    for (size_t i = 0; i < kernels->count; i++) {
        alike = alike && kernels->rows[i].class == kernels->rows[0].class;
        beside += kernels->rows[i].share >= ST_LEAST_SHARE ? 1 : 0;
    }
    if (kernels->count < ST_LEAST_KERNELS) {
        message = st_errors_text(errors, "%zu kernels are too few to learn from", kernels->count);
        expected = st_errors_text(errors, "at least %d", (int)ST_LEAST_KERNELS);
    } else if (alike) {
        message = st_errors_text(errors, "all kernels are of the class %s",
                                 class_names[kernels->rows[0].class]);
        expected = "two classes or more, as in a training step";
    } else if (beside < ST_LEAST_KERNELS / 2) {
        message = st_errors_text(errors, "%zu kernels ran beside communication", beside);
        expected = st_errors_text(errors, "at least %d with an overlap_ratio of %g or more",
                                  ST_LEAST_KERNELS / 2, ST_LEAST_SHARE);
    }
    return message == NULL ? ST_OK
                           : st_fail(errors, ST_ERR_VALUE, (st_place){.file = kernels->file},
                                     "%s" ST_EXPECTED "%s", message, st_or_none(expected));
}

static void count_faster(st_kernels *kernels, const st_kernel *kernel)
{
    if (kernel->share >= ST_LEAST_SHARE) {
        kernels->faster += kernel->slowdown < 1 ? 1 : 0;
        kernels->much_faster += kernel->slowdown <= 0.95 ? 1 : 0;
    }
}

st_status st_kernels_read(const st_csv *csv, st_arena *arena, st_kernels *kernels,
                          st_errors *errors)
{
    reader own = {.csv = csv, .arena = arena, .errors = errors};
    find_columns(&own);
    if (own.status != ST_OK) {
        return own.status;
    }
    *kernels = (st_kernels){.file = csv->file, .count = csv->row_count, .least = 1};
    kernels->rows = st_arena_alloc(arena, csv->row_count + 1, sizeof *kernels->rows);
    if (kernels->rows == NULL || note_unused(&own, kernels) != ST_OK) {
        return st_out_of_memory(errors);
    }
    for (size_t i = 0; i < csv->row_count; i++) {
        read_row(&own, i, &kernels->rows[i]);
        count_faster(kernels, &kernels->rows[i]);
    }
    return own.status;
}

st_status st_kernels_name_gpu(st_kernels *kernels, const char *gpu, st_errors *errors)
{
    size_t index = st_column_word(gpu, ST_KERNEL_GPUS, true);
    if (index == SIZE_MAX) {
        return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                       "option --gpu" ST_FOUND "'%s'" ST_EXPECTED "one of %.*s", gpu,
                       (int)strlen(ST_KERNEL_GPUS) - 2, &ST_KERNEL_GPUS[1]);
    }
    for (size_t i = 0; i < kernels->count; i++) {
        float *own = &kernels->rows[i].features[ST_FEATURE_GPU];
        *own = isnan(*own) ? (float)index : *own;
    }
    return ST_OK;
}

/* ---- what two tables have ---- */

bool st_kernels_have(const st_kernels *kernels, st_feature feature, bool all)
{
    size_t known = 0;
    for (size_t i = 0; i < kernels->count; i++) {
        known += isnan(kernels->rows[i].features[feature]) ? 0 : 1;
    }
    return all ? known == kernels->count : known > 0;
}

/* What is the same everywhere, such as the one GPU, is asked for by no tree. */
static bool varies(const st_kernels *kernels, st_feature feature)
{
    bool found = false;
    for (size_t i = 1; i < kernels->count; i++) {
        found = found || kernels->rows[i].features[feature] > kernels->rows[0].features[feature] ||
                kernels->rows[i].features[feature] < kernels->rows[0].features[feature];
    }
    return found;
}

st_status st_kernels_check_like(const st_kernels *test, const st_kernels *learnt, st_errors *errors)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < ST_FEATURE_CLASS; i++) {
        st_feature feature = (st_feature)i;
        if (varies(learnt, feature) && st_kernels_have(learnt, feature, true) &&
            !st_kernels_have(test, feature, true)) {
            const char *message = st_errors_text(
                errors, "%s '%s', unlike all in %s",
                st_kernels_have(test, feature, false) ? "some kernels have no" : "no kernel has a",
                feature_columns[i].column, learnt->file);
            status = st_fail(errors, ST_ERR_VALUE, (st_place){.file = test->file},
                             "%s" ST_EXPECTED "all features that the model is trained on", message);
        }
    }
    return status;
}
