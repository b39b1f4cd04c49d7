/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measured times of layers: shapes with the times of a cell of the sheet, whole or in pieces. They
 * come from a table of times, from measured steps or from a trace; profiles are made of them.
 */
#ifndef STEPTIME_CALIBRATE_LAYERS_SAMPLES_H
#define STEPTIME_CALIBRATE_LAYERS_SAMPLES_H

#include "kernel-times/model/times.h"
#include "base/csv.h"
#include "steptime/tool/roles.h"
#include "steptime/paths.h"

/* What distinguishes shapes, as sheets name it: initializers by feature. */
#define ST_TIME_SHAPE_ROLES                                                                        \
    [ST_TIMES_TOKENS] = {ST_ROLE_LAYER_SHAPE, 0}, [ST_TIMES_SEQUENCE] = {ST_ROLE_LAYER_SHAPE, 1},  \
    [ST_TIMES_HIDDEN] = {ST_ROLE_LAYER_SHAPE, 2}, [ST_TIMES_INNER] = {ST_ROLE_LAYER_SHAPE, 3},     \
    [ST_TIMES_HEADS] = {ST_ROLE_LAYER_SHAPE, 4}, [ST_TIMES_KV_HEADS] = {ST_ROLE_LAYER_SHAPE, 5},   \
    [ST_TIMES_TENSOR] = {ST_ROLE_TP, 0}, [ST_TIMES_UP] = {ST_ROLE_LAYER_SHAPE, 6},                 \
    [ST_TIMES_CONTEXT] = {ST_ROLE_CP, 0}, [ST_TIMES_PASSES] = {ST_ROLE_LAYER_SHAPE, 7},            \
    [ST_TIMES_SPLIT] = {ST_ROLE_LAYER_SHAPE, 8}, [ST_TIMES_WIDTH] = {ST_ROLE_WEIGHT_BYTES, 0}

/* The parts of the role layer_time. */
enum { ST_LAYER_TIME_ALL, ST_LAYER_TIME_FORWARD, ST_LAYER_TIME_BACKWARD };
enum { ST_LAYER_TIME_MOE_FORWARD = ST_LAYER_TIME_BACKWARD + 1, ST_LAYER_TIME_MOE_BACKWARD };

/* One shape. */
typedef struct st_time_sample {
    st_times_shape shape;
    double times[ST_TIMES_PIECES]; /* seconds, by the index in the set's `pieces` */
    size_t group;
    size_t repeats; /* measurements behind it */
} st_time_sample;

/* Times of one cell on one GPU. */
typedef struct st_time_set {
    st_times_cell cell;
    bool has[ST_TIMES_FEATURES]; /* features that distinguish shapes */
    st_times_piece pieces[ST_TIMES_PIECES];
    size_t piece_count;
    st_time_sample *samples;
    size_t count;
} st_time_set;

enum { ST_TIME_SETS = 8, ST_TIME_GROUPS = 1000 };

/* All that some tables say. */
typedef struct st_time_sets {
    st_time_set sets[ST_TIME_SETS];
    size_t count;
    const char *groups[ST_TIME_GROUPS]; /* files, or models of a table */
    size_t group_count;
    const char *gpu; /* its file's name; NULL: unknown */
    double peak;     /* FLOP/s */
    double bandwidth;
} st_time_sets;

/* The GPU of that name, as tables call it, into `sets`, which must not have another one. */
st_status st_time_gpu(const st_paths *paths, const char *gpu, st_place place, st_arena *arena,
                      st_time_sets *sets, st_errors *errors) ST_NODISCARD;

/* The set of a cell and its pieces, made where there is none; NULL where the sets are of others. */
st_time_set *st_time_set_of(st_time_sets *sets, st_times_cell cell, const bool *has,
                            const st_times_piece *pieces, size_t piece_count);

st_status st_time_add(st_time_set *set, const st_time_sample *sample, st_arena *arena,
                      st_errors *errors) ST_NODISCARD;

/* Sorts the samples by their shapes and makes one of those that are alike, with their mean. */
void st_time_merge(st_time_set *set);

/*
 * Reads a table of layer times into `sets`, which may hold earlier tables. Shapes: columns
 * tokens (or micro_batch, seq and cp), hidden, and where the table has them seq, ffn, heads,
 * kv_heads, tp, gated, cp, recompute, vocab, parameters, gpu, model. Times: layer, forward,
 * backward, wgrad, logits, optimizer, or the pieces of a layer, with _us, _ms or _s behind the
 * name; or the columns of Vidur's profiles (num_tokens, time_stats.mlp_up_proj.median, ...).
 * Refused, all errors at once: a missing column, a field that is not a number, a time that is not
 * above 0, two GPUs.
 */
st_status st_time_table_read(const st_csv *csv, const st_paths *paths, const char *gpu,
                             st_arena *arena, st_time_sets *sets, st_errors *errors) ST_NODISCARD;

/* The same of a file, packed or not. */
st_status st_time_file_read(const char *file, const st_paths *paths, const char *gpu,
                            st_arena *arena, st_time_sets *sets, st_errors *errors) ST_NODISCARD;

#endif
