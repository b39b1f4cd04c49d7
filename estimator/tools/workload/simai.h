/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workload files of SimAI, as AICB writes and SimAI's Workload.cc reads them (github.com/aliyun:
 * SimAI docs/Tutorial.md, aicb training/tutorial.md; Wang et al. 2025).
 *
 * A line of sizes, the count of rows, then rows of 12 fields: a name, -1, compute, collective and
 * bytes of the forward pass, of gradients of inputs and of gradients of weights, and a delay.
 * Times are nanoseconds. Rows run down in the forward pass and up in the backward pass.
 */
#ifndef STEPTIME_WORKLOAD_SIMAI_H
#define STEPTIME_WORKLOAD_SIMAI_H

#include "base/result.h"
#include "workload/workload.h"

typedef enum st_simai_kind {
    ST_SIMAI_NONE,
    ST_SIMAI_ALL_REDUCE,
    ST_SIMAI_ALL_GATHER,
    ST_SIMAI_REDUCE_SCATTER,
    ST_SIMAI_ALL_TO_ALL,
    ST_SIMAI_KINDS
} st_simai_kind;

typedef enum st_simai_column {
    ST_SIMAI_FORWARD,
    ST_SIMAI_INPUT,   /* gradients of inputs */
    ST_SIMAI_WEIGHTS, /* gradients of weights, and all of data parallelism */
    ST_SIMAI_COLUMNS
} st_simai_column;

/* Bytes are those of the whole buffer: what is reduced or exchanged by a rank, all that is
 * gathered.
 */
typedef struct st_simai_work {
    uint64_t compute_ns;
    st_simai_kind kind;
    st_group group; /* ST_GROUP_TP, _EP, _DP or _EXPERT_DP */
    uint64_t bytes;
} st_simai_work;

typedef struct st_simai_row {
    const char *name;
    st_simai_work work[ST_SIMAI_COLUMNS];
    uint64_t update_ns;
} st_simai_row;

/* Sizes of the first line. */
typedef enum st_simai_size {
    ST_SIMAI_TP,
    ST_SIMAI_EP,
    ST_SIMAI_PP,
    ST_SIMAI_VPP, /* chunks of a stage */
    ST_SIMAI_GA,  /* micro-batches of a pipeline */
    ST_SIMAI_GPUS,
    ST_SIMAI_SIZES
} st_simai_size;

typedef struct st_simai {
    uint64_t size[ST_SIMAI_SIZES];
    uint64_t pp_bytes; /* of a transfer between stages */
    st_simai_row *rows;
    size_t count;
} st_simai;

/*
 * The work of a stage of a workload, in `arena`. Refused: what SimAI lacks groups for (context
 * parallelism; experts that are not cut as dense layers are) and transfers of 2 GiB and more, whose
 * size it holds in 31 bits. Gradients of a tied embedding are left out, with a warning.
 */
st_status st_simai_make(const st_workload *workload, size_t stage, st_arena *arena, st_simai *simai,
                        st_errors *errors) ST_NODISCARD;
void st_simai_write(const st_simai *simai, st_buffer *buffer);

/*
 * Reads a file; texts live in `arena`. What SimAI passes over in silence is refused with its place:
 * unknown collectives, sizes of 0 or of no number, fewer or more rows than the second line says.
 */
st_status st_simai_read(const st_source *source, st_arena *arena, st_simai *simai,
                        st_errors *errors) ST_NODISCARD;
/* Sizes, computation of each column and bytes of each collective by group, over all rows. */
void st_simai_report(const st_simai *simai, st_arena *arena, st_result *result);

#endif
