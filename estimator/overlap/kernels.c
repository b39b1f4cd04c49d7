/* SPDX-License-Identifier: Apache-2.0 */
#include "overlap/kernels.h"

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
    const char *columns[2];
    const char *values; /* NAME: the known ones, a blank around each */
    column_kind kind;
    bool required;
} feature_column;

static const feature_column feature_columns[ST_FEATURE_CLASS] = {
    [ST_FEATURE_DURATION] = {"duration", {"isolated_ns", "ground_truth"}, NULL, LOGARITHM, true},
    [ST_FEATURE_COMPUTE] =
        {"compute throughput", {"Compute throughput", "compute_throughput"}, NULL, PERCENT, true},
    [ST_FEATURE_MEMORY] =
        {"memory throughput", {"Memory throughput", "memory_throughput"}, NULL, PERCENT, true},
    [ST_FEATURE_DRAM] =
        {"DRAM throughput", {"DRAM throughput", "dram_throughput"}, NULL, PERCENT, true},
    [ST_FEATURE_OCCUPANCY] =
        {"achieved occupancy", {"Achieved occupancy", "achieved_occupancy"}, NULL, PERCENT, true},
    [ST_FEATURE_L1] = {"L1 hit rate", {"L1 hit rate", "l1_hit_rate"}, NULL, PERCENT, true},
    [ST_FEATURE_L2] = {"L2 hit rate", {"L2 hit rate", "l2_hit_rate"}, NULL, PERCENT, true},
    [ST_FEATURE_PROTOCOL] =
        {"protocol", {"protocol", "Protocol"}, " LL LL128 Simple ", NAME, false},
    [ST_FEATURE_ALGORITHM] = {"algorithm",
                              {"algorithm", "Algorithm"},
                              " ring tree collnet nvls nvlstree pat ",
                              NAME,
                              false},
    [ST_FEATURE_COLLECTIVE] = {"collective",
                               {"collective", "Collective"},
                               " all_reduce all_gather reduce_scatter all_to_all broadcast "
                               "send_recv ",
                               NAME,
                               false},
    [ST_FEATURE_BYTES] = {"bytes", {"bytes", "Bytes"}, NULL, LOGARITHM, false},
    [ST_FEATURE_CHANNELS] = {"channels", {"channels", "Channels"}, NULL, COUNT, false},
    [ST_FEATURE_GPU] = {"gpu",
                        {"gpu", "GPU"},
                        " v100 a100 a800 h100 h800 h200 b200 rtx3090 rtx4090 l40s ",
                        NAME,
                        false},
};

const char *st_feature_name(st_feature feature)
{
    return feature < ST_FEATURE_CLASS ? feature_columns[feature].name
                                      : class_names[feature - ST_FEATURE_CLASS];
}

typedef struct reader {
    const st_csv *csv;
    st_errors *errors;
    st_status status;
    size_t name;
    size_t overlapped;
    size_t share;
    size_t class;
    size_t features[ST_FEATURE_CLASS]; /* SIZE_MAX: the table has none */
} reader;

static void fault(reader *own, size_t row, size_t column, const char *message, const char *expected)
{
    const char *text = st_csv_field(own->csv, row, column);
    own->status = st_errors_add(
        own->errors, &(st_error){.status = ST_ERR_VALUE,
                                 .place = st_csv_place(own->csv, row, column),
                                 .message = st_errors_text(own->errors, "%s: %s",
                                                           own->csv->columns[column], message),
                                 .found = st_errors_text(own->errors, "'%s'", text),
                                 .expected = expected});
}

/* The first of some names that the table has as a column; reports where it has none. */
static size_t find_column(reader *own, const char *const *names, size_t count, bool required)
{
    for (size_t i = 0; i < count; i++) {
        size_t column = st_csv_column(own->csv, names[i]);
        if (column != SIZE_MAX) {
            return column;
        }
    }
    if (required) {
        own->status = st_errors_add(
            own->errors,
            &(st_error){.status = ST_ERR_NAME,
                        .place = {.file = own->csv->file, .line = 1, .column = 1},
                        .message = st_errors_text(own->errors, "no column '%s'", names[0]),
                        .suggestion =
                            st_nearest(names[0], own->csv->columns, own->csv->column_count)});
    }
    return SIZE_MAX;
}

/* The counters of a profiler are there all or, as in tables from traces, not at all. */
static void find_features(reader *own)
{
    size_t counters = 0;
    for (size_t i = 0; i < ST_FEATURE_CLASS; i++) {
        own->features[i] = find_column(own, feature_columns[i].columns, 2, false);
        bool is_counter = feature_columns[i].kind == PERCENT;
        counters += is_counter && own->features[i] != SIZE_MAX ? 1 : 0;
    }
    for (size_t i = 0; i < ST_FEATURE_CLASS; i++) {
        bool required =
            feature_columns[i].kind == PERCENT ? counters > 0 : feature_columns[i].required;
        if (required && own->features[i] == SIZE_MAX) {
            (void)find_column(own, feature_columns[i].columns, 2, true);
        }
    }
}

static void find_columns(reader *own)
{
    static const char *const kernel[] = {"kernel", "kDemangledName", "kShortName", "Kernel Name"};
    static const char *const overlapped[] = {"overlapped_ns", "duration"};
    static const char *const share[] = {"overlap_ratio"};
    static const char *const class[] = {"class"};
    own->name = find_column(own, kernel, 4, true);
    own->overlapped = find_column(own, overlapped, 2, true);
    own->share = find_column(own, share, 1, true);
    own->class = find_column(own, class, 1, false);
    find_features(own);
}

/* ---- rows ---- */

static double read_number(reader *own, size_t row, size_t column, double least, double most)
{
    const char *text = st_csv_field(own->csv, row, column);
    double value = 0;
    if (st_number_parse(text, strlen(text), (st_place){0}, &value, NULL) != ST_OK) {
        fault(own, row, column, "no number", "a number such as 2.385");
        return UNKNOWN;
    }
    if (value < least || value > most) {
        fault(own, row, column, "out of range",
              st_errors_text(own->errors, "a number from %g to %g", least, most));
        return UNKNOWN;
    }
    return value;
}

/* The index of a name in a list such as " LL LL128 Simple ", upper and lower case alike. */
static double read_name(reader *own, size_t row, size_t column, const char *values)
{
    const char *text = st_csv_field(own->csv, row, column);
    size_t length = strlen(text);
    size_t index = 0;
    if (length == 0) {
        return UNKNOWN;
    }
    for (const char *word = values + 1; *word != '\0'; index++) {
        size_t size = strcspn(word, " ");
        size_t same = 0;
        while (same < size && same < length &&
               tolower((unsigned char)word[same]) == tolower((unsigned char)text[same])) {
            same++;
        }
        if (same == size && same == length) {
            return (double)index;
        }
        word += size + 1;
    }
    fault(own, row, column, "an unknown name", st_errors_text(own->errors, "one of%s", values));
    return UNKNOWN;
}

static double read_feature(reader *own, size_t row, size_t feature)
{
    size_t column = own->features[feature];
    const feature_column *kind = &feature_columns[feature];
    if (column == SIZE_MAX || (!kind->required && st_csv_field(own->csv, row, column)[0] == '\0')) {
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
        return read_name(own, row, column, kind->values);
    }
    return UNKNOWN;
}

static st_kernel_class read_class(reader *own, size_t row, const char *name)
{
    if (own->class != SIZE_MAX && st_csv_field(own->csv, row, own->class)[0] != '\0') {
        const char *text = st_csv_field(own->csv, row, own->class);
        for (int i = 0; i < ST_KERNEL_CLASSES; i++) {
            if (strcmp(class_names[i], text) == 0) {
                return (st_kernel_class)i;
            }
        }
        fault(own, row, own->class, "an unknown class",
              "gemm, attention, norm, elementwise, reduction, copy or other");
    }
    return st_kernel_class_of(name);
}

static void read_row(reader *own, size_t row, st_kernel *kernel)
{
    kernel->name = st_csv_field(own->csv, row, own->name);
    if (kernel->name[0] == '\0') {
        fault(own, row, own->name, "a kernel without a name", NULL);
    }
    kernel->class = read_class(own, row, kernel->name);
    kernel->isolated_ns = read_number(own, row, own->features[ST_FEATURE_DURATION], 1e-3, 1e18);
    kernel->overlapped_ns = read_number(own, row, own->overlapped, 1e-3, 1e18);
    kernel->share = read_number(own, row, own->share, 0, 1.0000001);
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

static void check_whole(reader *own, const st_kernels *kernels)
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
        message =
            st_errors_text(own->errors, "%zu kernels are too few to learn from", kernels->count);
        expected = st_errors_text(own->errors, "at least %d", (int)ST_LEAST_KERNELS);
    } else if (alike) {
        message = st_errors_text(own->errors, "all kernels are of the class %s",
                                 class_names[kernels->rows[0].class]);
        expected = "two classes or more, as in a training step";
    } else if (beside < ST_LEAST_KERNELS / 2) {
        message = st_errors_text(own->errors, "%zu kernels ran beside communication", beside);
        expected = st_errors_text(own->errors, "at least %d with an overlap_ratio of %g or more",
                                  ST_LEAST_KERNELS / 2, ST_LEAST_SHARE);
    }
    if (message != NULL) {
        own->status = st_errors_add(own->errors, &(st_error){.status = ST_ERR_VALUE,
                                                             .place = {.file = own->csv->file},
                                                             .message = message,
                                                             .expected = expected});
    }
}

st_status st_kernels_read(const st_csv *csv, st_arena *arena, st_kernels *kernels,
                          st_errors *errors)
{
    reader own = {.csv = csv, .errors = errors};
    find_columns(&own);
    if (own.status != ST_OK) {
        return own.status;
    }
    *kernels = (st_kernels){.file = csv->file, .count = csv->row_count, .least = 1};
    kernels->rows = st_arena_alloc(arena, csv->row_count + 1, sizeof *kernels->rows);
    if (kernels->rows == NULL) {
        return st_errors_add(errors,
                             &(st_error){.status = ST_ERR_MEMORY, .message = "out of memory"});
    }
    for (size_t i = 0; i < csv->row_count; i++) {
        read_row(&own, i, &kernels->rows[i]);
        kernels->faster +=
            kernels->rows[i].slowdown <= 0.95 && kernels->rows[i].share >= ST_LEAST_SHARE ? 1 : 0;
    }
    if (own.status == ST_OK) {
        check_whole(&own, kernels);
    }
    return own.status;
}
