/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What two short texts of a job say: model.pattern, the layers of a model by kind, and
 * parallel.layout, the layers of every virtual stage as Megatron-LM writes them.
 */
#ifndef STEPTIME_TOOL_PATTERN_H
#define STEPTIME_TOOL_PATTERN_H

#include "steptime/arena.h"

enum { ST_PATTERN_LAYERS = 100000 }; /* the most that either text may spell out */

typedef enum st_layer_kind {
    ST_LAYER_DENSE,
    ST_LAYER_MOE,
    ST_LAYER_WINDOW,
    ST_LAYER_WINDOW_MOE,
    ST_LAYER_DELTA,
    ST_LAYER_DELTA_MOE,
    ST_LAYER_MAMBA, /* from here on a layer is one block, as hybrids have them */
    ST_LAYER_ATTENTION,
    ST_LAYER_MLP,
    ST_LAYER_EXPERTS,
    ST_LAYER_KINDS
} st_layer_kind;

/* The letter of a kind in a pattern. */
char st_layer_letter(st_layer_kind kind);

typedef struct st_layer_counts {
    uint32_t of[ST_LAYER_KINDS];
} st_layer_counts;

typedef struct st_pattern {
    size_t count;                  /* layers */
    const unsigned char *kinds;    /* st_layer_kind of each, in order */
    const st_layer_counts *before; /* [i]: kinds among the layers before layer i; count + 1 rows */
    bool hybrid;                   /* layers are single blocks */
} st_pattern;

/*
 * Reads `text`: letters, blanks between them, `d*3` and `(..)*3`, brackets within brackets. A `*`
 * before a digit repeats, any other is a layer of attention. `layers` is model.layers, with which
 * the letters must agree; NAN: it is not known. Arrays live in `arena`.
 */
st_status st_pattern_read(const char *text, double layers, st_place place, st_arena *arena,
                          st_pattern *pattern, st_errors *errors) ST_NODISCARD;

/* Kinds among layers first .. first + count - 1 of the pattern. */
st_layer_counts st_pattern_counts(const st_pattern *pattern, size_t first, size_t count);

/* Appends the shortest of a few ways to write `count` letters: (gggd)*12, d*3e*58. */
void st_pattern_write(const char *letters, size_t count, st_buffer *buffer);

/* What a layout has to agree with; NAN: nothing is known of it. */
typedef struct st_layout_needs {
    st_place place;
    double pp;     /* pipeline ranks */
    double layers; /* model.layers */
    double mtp;    /* layers of multi-token prediction */
} st_layout_needs;

/* A virtual stage; the one with index i runs on pipeline rank i mod pp, as its chunk i div pp. */
typedef struct st_layout_stage {
    uint32_t first;  /* its first layer, or where that would be */
    uint32_t layers; /* layers, without multi-token prediction */
    uint32_t mtp;
    bool embedding;
    bool loss;
} st_layout_stage;

typedef struct st_layout {
    size_t count; /* pp times virtual_stages */
    size_t virtual_stages;
    const st_layout_stage *stages;
} st_layout;

/* The layout that a plan balances by itself. */
#define ST_LAYOUT_AUTO "auto"

/* Reads a layout: E, t, m, L and | with repeats as above, blanks and commas between them. */
st_status st_layout_read(const char *text, const st_layout_needs *needs, st_arena *arena,
                         st_layout *layout, st_errors *errors) ST_NODISCARD;

/* Its text, stages that are alike as a repeat: Et*3|(tt|)*29m|L. NULL: out of memory. */
const char *st_layout_text(const st_layout *layout, st_arena *arena);

#endif
