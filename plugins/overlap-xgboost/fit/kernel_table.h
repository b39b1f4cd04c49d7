/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that were measured twice: alone, and with a concurrent collective.
 *
 * A kernel of isolated time g that took d, of which the share o ran concurrently with
 * communication, was slowed by s where d = (1 - o) g + o g s. With a small share s is mostly noise,
 * so that nothing is learnt from kernels below ST_LEAST_SHARE.
 */
#ifndef STEPTIME_CALIBRATE_SLOWDOWN_KERNEL_TABLE_H
#define STEPTIME_CALIBRATE_SLOWDOWN_KERNEL_TABLE_H

#include "base/csv.h"
#include "steptime/quantity.h"

typedef enum st_kernel_class {
    ST_KERNEL_GEMM,
    ST_KERNEL_ATTENTION,
    ST_KERNEL_NORM,
    ST_KERNEL_ELEMENTWISE,
    ST_KERNEL_REDUCTION,
    ST_KERNEL_COPY,
    ST_KERNEL_OTHER,
    ST_KERNEL_CLASSES
} st_kernel_class;

/* The GPUs that models distinguish, by name. Stored models count on the order: add at the end. */
#define ST_KERNEL_GPUS                                                                             \
    "v100 a100 a800 h100 h800 h200 b200 rtx3090 rtx4090 l40s a10 a40 l40 h20 gh200 gb200 "         \
    "mi250x mi300x"

enum { ST_MOST_GPUS = 32 }; /* that a model may have */

/* "gemm", "attention", ... */
const char *st_kernel_class_name(st_kernel_class class);
/* The class that a kernel's function name gives away. */
st_kernel_class st_kernel_class_of(const char *name);

/* What a slowdown is predicted from (echo table 4). A value that is not known is NaN. */
typedef enum st_feature {
    ST_FEATURE_DURATION, /* logarithm of the isolated time in ns */
    ST_FEATURE_COMPUTE,  /* percent of the peak, as Nsight Compute gives it; so the next five */
    ST_FEATURE_MEMORY,
    ST_FEATURE_DRAM,
    ST_FEATURE_OCCUPANCY,
    ST_FEATURE_L1,
    ST_FEATURE_L2,
    ST_FEATURE_PROTOCOL, /* LL, LL128, Simple */
    ST_FEATURE_ALGORITHM,
    ST_FEATURE_COLLECTIVE,
    ST_FEATURE_BYTES, /* logarithm of the message's bytes */
    ST_FEATURE_CHANNELS,
    ST_FEATURE_GPU,
    ST_FEATURE_CLASS, /* one for each class, 1 for the kernel's own */
    ST_FEATURES = ST_FEATURE_CLASS + ST_KERNEL_CLASSES
} st_feature;

const char *st_feature_name(st_feature feature);

enum { ST_LEAST_KERNELS = 20 };
#define ST_LEAST_SHARE 0.05

typedef struct st_kernel {
    const char *name; /* of the function, with its template arguments where the table has them */
    st_kernel_class class;
    double isolated_ns;
    double overlapped_ns;
    double share;    /* of the isolated time that ran concurrently with communication, 0 to 1 */
    double slowdown; /* of that share; NaN where the share is 0 */
    float features[ST_FEATURES];
} st_kernel;

typedef struct st_kernels {
    const char *file;
    st_kernel *rows;
    size_t count;
    double least;        /* slowdown to be predicted: 1, unless the user allows less */
    size_t faster;       /* kernels that were faster concurrently with communication than alone */
    size_t much_faster;  /* of these: at most 0.95 times as long */
    const char **unused; /* columns of the table that nothing was read from */
    size_t unused_count;
} st_kernels;

/*
 * Reads a table of kernels. Columns, in any order and spelling as fields.h has it, others are
 * noted as unused: the name (kernel, or kDemangledName, kShortName, "Kernel Name"), isolated_ns (or
 * ground_truth, "Running time"), overlapped_ns (or duration), overlap_ratio, "Compute throughput",
 * "Memory throughput", "DRAM throughput", "Achieved occupancy", "L1 hit rate", "L2 hit rate" (these
 * six all or none, as in tables from traces); and where the table has them class, protocol,
 * algorithm, collective, bytes (or "Bucket size"), channels (or "Channel number"), gpu. Refused,
 * all errors at once: a column that is missing, a field that is not a number, a time that is not
 * above 0, a share that is not between 0 and 1. Lives in `arena`.
 */
st_status st_kernels_read(const st_csv *csv, st_arena *arena, st_kernels *kernels,
                          st_errors *errors) ST_NODISCARD;

/* Says the GPU of the kernels whose row does not say it; ST_ERR_USAGE for a name that is not known.
 */
st_status st_kernels_name_gpu(st_kernels *kernels, const char *gpu, st_errors *errors) ST_NODISCARD;

/* Refuses what nothing can be learnt from: fewer than ST_LEAST_KERNELS kernels, kernels of one
 * class only, or too few concurrently with communication. */
st_status st_kernels_check(const st_kernels *kernels, st_errors *errors) ST_NODISCARD;

/* Whether a feature is known of all kernels, or of at least one. */
bool st_kernels_have(const st_kernels *kernels, st_feature feature, bool all);

/* Refuses kernels to test that lack a feature which all of those learnt from have, and not all
 * alike: trees would take a branch that no kernel has ever shown them. */
st_status st_kernels_check_like(const st_kernels *test, const st_kernels *learnt,
                                st_errors *errors) ST_NODISCARD;

#endif
