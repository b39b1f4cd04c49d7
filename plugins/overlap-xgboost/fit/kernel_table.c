/* SPDX-License-Identifier: Apache-2.0 */
#include "overlap-xgboost/fit/kernel_table.h"

#include "base/fields.h"
#include "base/memory.h"

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
    for (; name[length] != '\0' && length + 1 < sizeof lower; length++)
        lower[length] = (char)tolower((unsigned char)name[length]);
    lower[length] = '\0';
    for (size_t i = 0; i < ST_COUNT(class_marks); i++)
        if (strstr(lower, class_marks[i].part) != NULL)
            return class_marks[i].class;
    return ST_KERNEL_OTHER;
}

/* ---- columns ---- */

static const st_field_unit percents[] = {{"", 1}, {"percent", 1}, {"pct", 1}, {NULL, 0}};
static const st_field_unit nanoseconds[] = {{"", 1},
                                            {"ns", 1},
                                            {"us", 1e3},
                                            {"\xc2\xb5s", 1e3}, /* the micro sign is there twice */
                                            {"\xce\xbcs", 1e3},
                                            {"ms", 1e6},
                                            {"s", 1e9},
                                            {NULL, 0}};
static const st_field_unit bytes[] = {{"", 1},          {"b", 1},    {"bytes", 1}, {"kib", 1024},
                                      {"mib", 1048576}, {"kb", 1e3}, {"mb", 1e6},  {NULL, 0}};

/* What a row of the table says. */
typedef struct kernel_row {
    double features[ST_FEATURE_CLASS]; /* as in the table, times in ns */
    const char *name;
    double overlapped_ns;
    double share;
    double class;
} kernel_row;

enum { NAME = ST_FEATURE_CLASS, OVERLAPPED, SHARE, CLASS, FIELDS };

#define AT(feature) offsetof(kernel_row, features) + (feature) * sizeof(double)
/* Nsight Compute prints a little over 100 % at times. */
#define PERCENT(feature, label, spelt)                                                             \
    [feature] = {.name = label,                                                                    \
                 .spellings = spelt,                                                               \
                 .units = percents,                                                                \
                 .set = st_field_number,                                                           \
                 .most = 200,                                                                      \
                 .offset = AT(feature)}
#define WORD(feature, label, spelt, known)                                                         \
    [feature] = {.name = label,                                                                    \
                 .spellings = spelt,                                                               \
                 .set = st_field_word,                                                             \
                 .words = known,                                                                   \
                 .flags = ST_FIELD_BLANK | ST_FIELD_INSIDE,                                        \
                 .offset = AT(feature)}

/* Echo's table 4 among the spellings. */
static const st_field fields[FIELDS] = {
    [ST_FEATURE_DURATION] = {.name = "isolated_ns",
                             .spellings = "isolated|ground truth|running time",
                             .units = nanoseconds,
                             .set = st_field_number,
                             .flags = ST_FIELD_REQUIRED,
                             .least = 1e-3,
                             .most = 1e18,
                             .offset = AT(ST_FEATURE_DURATION)},
    PERCENT(ST_FEATURE_COMPUTE, "compute throughput", "compute throughput|compute sm throughput"),
    PERCENT(ST_FEATURE_MEMORY, "memory throughput", NULL),
    PERCENT(ST_FEATURE_DRAM, "DRAM throughput", "dram throughput"),
    PERCENT(ST_FEATURE_OCCUPANCY, "achieved occupancy", NULL),
    PERCENT(ST_FEATURE_L1, "L1 hit rate", "l1 hit rate|l1 tex hit rate"),
    PERCENT(ST_FEATURE_L2, "L2 hit rate", "l2 hit rate"),
    [ST_FEATURE_PROTOCOL] = {.name = "protocol",
                             .set = st_field_word,
                             .words = "LL LL128 Simple",
                             .flags = ST_FIELD_BLANK,
                             .offset = AT(ST_FEATURE_PROTOCOL)},
    [ST_FEATURE_ALGORITHM] = {.name = "algorithm",
                              .set = st_field_word,
                              .words = "ring tree collnet nvls nvlstree pat",
                              .flags = ST_FIELD_BLANK,
                              .offset = AT(ST_FEATURE_ALGORITHM)},
    WORD(ST_FEATURE_COLLECTIVE, "collective", NULL,
         "all_reduce all_gather reduce_scatter all_to_all broadcast send_recv"),
    [ST_FEATURE_BYTES] = {.name = "bytes",
                          .spellings = "bytes|bucket size|message size",
                          .units = bytes,
                          .set = st_field_number,
                          .flags = ST_FIELD_BLANK,
                          .least = 1e-3,
                          .most = 1e18,
                          .offset = AT(ST_FEATURE_BYTES)},
    [ST_FEATURE_CHANNELS] = {.name = "channels",
                             .spellings = "channels|channel number",
                             .set = st_field_number,
                             .flags = ST_FIELD_BLANK,
                             .least = 1,
                             .most = 1e6,
                             .offset = AT(ST_FEATURE_CHANNELS)},
    WORD(ST_FEATURE_GPU, "gpu", "gpu|gpu type", ST_KERNEL_GPUS),
    [NAME] = {.name = "kernel",
              .spellings = "kernel|kdemangledname|kshortname|kernel name",
              .set = st_field_text,
              .flags = ST_FIELD_REQUIRED,
              .offset = offsetof(kernel_row, name)},
    [OVERLAPPED] = {.name = "overlapped_ns",
                    .spellings = "overlapped|duration",
                    .units = nanoseconds,
                    .set = st_field_number,
                    .flags = ST_FIELD_REQUIRED,
                    .least = 1e-3,
                    .most = 1e18,
                    .offset = offsetof(kernel_row, overlapped_ns)},
    [SHARE] = {.name = "overlap_ratio",
               .spellings = "overlap ratio",
               .set = st_field_number,
               .flags = ST_FIELD_REQUIRED,
               .most = 1.0000001,
               .offset = offsetof(kernel_row, share)},
    [CLASS] = {.name = "class",
               .spellings = "class|kernel class|kernel type",
               .set = st_field_word,
               .words = "gemm attention norm elementwise reduction copy other",
               .flags = ST_FIELD_BLANK,
               .offset = offsetof(kernel_row, class)},
};

static bool is_counter(size_t feature)
{
    return feature >= ST_FEATURE_COMPUTE && feature <= ST_FEATURE_L2;
}

const char *st_feature_name(st_feature feature)
{
    return feature == ST_FEATURE_DURATION ? "duration"
           : feature < ST_FEATURE_CLASS   ? fields[feature].name
                                          : class_names[feature - ST_FEATURE_CLASS];
}

/* The columns that nothing is read from: a spelling that is not known is reported, not lost. */
static st_status note_unused(const st_field_reader *reader, st_kernels *kernels)
{
    const st_csv *csv = reader->csv;
    kernels->unused = st_arena_alloc(reader->arena, csv->column_count + 1, sizeof(char *));
    for (size_t i = 0; i < csv->column_count && kernels->unused != NULL; i++)
        if (!st_fields_use(reader, i))
            kernels->unused[kernels->unused_count++] = csv->columns[i];
    return kernels->unused != NULL ? ST_OK : ST_ERR_MEMORY;
}

/* ---- rows ---- */

static void read_row(st_field_reader *reader, size_t index, st_kernel *kernel)
{
    kernel_row row = {.class = UNKNOWN};
    for (size_t i = 0; i < ST_FEATURE_CLASS; i++)
        row.features[i] = UNKNOWN;
    bool good = st_fields_read(reader, index, &row);
    if (good && row.name[0] == '\0') {
        st_fields_refuse(reader, index, NAME, "the name of a kernel");
    } else if (good) {
        const double *features = row.features;
        kernel->name = row.name;
        kernel->class =
            isnan(row.class) ? st_kernel_class_of(row.name) : (st_kernel_class)row.class;
        kernel->isolated_ns = features[ST_FEATURE_DURATION];
        kernel->overlapped_ns = row.overlapped_ns;
        kernel->share = row.share > 1 ? 1 : row.share;
        kernel->slowdown =
            kernel->share > 0
                ? (kernel->overlapped_ns / kernel->isolated_ns - (1 - kernel->share)) /
                      kernel->share
                : UNKNOWN;
        for (size_t i = 0; i < ST_FEATURE_CLASS; i++) {
            bool logarithm = i == ST_FEATURE_DURATION || i == ST_FEATURE_BYTES;
            kernel->features[i] = (float)(logarithm ? log(features[i]) : features[i]);
        }
        for (size_t i = 0; i < ST_KERNEL_CLASSES; i++)
            kernel->features[ST_FEATURE_CLASS + i] = i == (size_t)kernel->class ? 1 : 0;
    }
}

st_status st_kernels_check(const st_kernels *kernels, st_errors *errors)
{
    const char *message = NULL;
    const char *expected = NULL;
    bool alike = true;
    size_t concurrent = 0;
    for (size_t i = 0; i < kernels->count; i++) {
        alike = alike && kernels->rows[i].class == kernels->rows[0].class;
        concurrent += kernels->rows[i].share >= ST_LEAST_SHARE ? 1 : 0;
    }
    if (kernels->count < ST_LEAST_KERNELS) {
        message = st_errors_text(errors, "%zu kernels are too few to learn from", kernels->count);
        expected = st_errors_text(errors, "at least %d", (int)ST_LEAST_KERNELS);
    } else if (alike) {
        message = st_errors_text(errors, "all kernels are of the class %s",
                                 class_names[kernels->rows[0].class]);
        expected = "two classes or more, as in a training step";
    } else if (concurrent < ST_LEAST_KERNELS / 2) {
        message = st_errors_text(errors, "%zu kernels ran alongside communication", concurrent);
        expected = st_errors_text(errors, "at least %d with an overlap_ratio of %g or more",
                                  ST_LEAST_KERNELS / 2, ST_LEAST_SHARE);
    }
    return message == NULL ? ST_OK
                           : st_fail(errors, ST_ERR_VALUE, (st_place){.file = kernels->file},
                                     "%s" ST_EXPECTED "%s", message, st_or_none(expected));
}

st_status st_kernels_read(const st_csv *csv, st_arena *arena, st_kernels *kernels,
                          st_errors *errors)
{
    st_field_reader reader = {.csv = csv,
                              .fields = fields,
                              .count = FIELDS,
                              .loose = true,
                              .arena = arena,
                              .errors = errors};
    (void)st_fields_find(&reader);
    /* The counters of a profiler are there all or, as in tables from traces, not at all. */
    size_t found = 0;
    for (size_t i = 0; i < ST_FEATURE_CLASS; i++)
        found += is_counter(i) && st_fields_have(&reader, i) ? 1 : 0;
    for (size_t i = 0; i < ST_FEATURE_CLASS && found > 0; i++)
        if (is_counter(i) && !st_fields_have(&reader, i))
            st_fields_missing(&reader, fields[i].name, NULL);
    if (reader.status != ST_OK)
        return reader.status;
    *kernels = (st_kernels){.file = csv->file, .count = csv->row_count, .least = 1};
    kernels->rows = st_arena_alloc(arena, csv->row_count + 1, sizeof *kernels->rows);
    if (kernels->rows == NULL || note_unused(&reader, kernels) != ST_OK)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < csv->row_count; i++) {
        read_row(&reader, i, &kernels->rows[i]);
        const st_kernel *kernel = &kernels->rows[i];
        if (kernel->share >= ST_LEAST_SHARE) {
            kernels->faster += kernel->slowdown < 1 ? 1 : 0;
            kernels->much_faster += kernel->slowdown <= 0.95 ? 1 : 0;
        }
    }
    return reader.status;
}

st_status st_kernels_name_gpu(st_kernels *kernels, const char *gpu, st_errors *errors)
{
    size_t index = st_word_index(gpu, ST_KERNEL_GPUS, true);
    if (index == SIZE_MAX)
        return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                       "option --gpu" ST_FOUND "'%s'" ST_EXPECTED "one of " ST_KERNEL_GPUS, gpu);
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
    for (size_t i = 0; i < kernels->count; i++)
        known += isnan(kernels->rows[i].features[feature]) ? 0 : 1;
    return all ? known == kernels->count : known > 0;
}

/* What is the same everywhere, such as the one GPU, is asked for by no tree. */
static bool varies(const st_kernels *kernels, st_feature feature)
{
    bool found = false;
    for (size_t i = 1; i < kernels->count; i++)
        found = found || kernels->rows[i].features[feature] > kernels->rows[0].features[feature] ||
                kernels->rows[i].features[feature] < kernels->rows[0].features[feature];
    return found;
}

st_status st_kernels_check_like(const st_kernels *test, const st_kernels *learnt, st_errors *errors)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < ST_FEATURE_CLASS; i++) {
        st_feature feature = (st_feature)i;
        if (varies(learnt, feature) && st_kernels_have(learnt, feature, true) &&
            !st_kernels_have(test, feature, true))
            status = st_fail(errors, ST_ERR_VALUE, (st_place){.file = test->file},
                             "%s '%s', unlike all in %s" ST_EXPECTED "all features of the model",
                             st_kernels_have(test, feature, false) ? "some kernels have no"
                                                                   : "no kernel has a",
                             fields[i].name, learnt->file);
    }
    return status;
}
