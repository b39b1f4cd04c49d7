/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measured times of layers, and what is predicted where none was measured: the text of a profile,
 * read and asked. The plugin answers from it, and `steptime fit kernels`, which writes it, tries it
 * on what it has not seen with these same functions.
 *
 * Needs nothing of steptime. Numbers are in base units: s, B, FLOP.
 */
#ifndef STEPTIME_CALIBRATE_LAYERS_TIMES_H
#define STEPTIME_CALIBRATE_LAYERS_TIMES_H

#include <stdbool.h>
#include <stddef.h>

/* The cells that measured times replace, by the words of profiles: the names in the sheet megatron,
 * for which the plugin is written. */
#define ST_TIMES_CELL_layer        "t_layer[dense]"
#define ST_TIMES_CELL_forward      "t_forward[dense]"
#define ST_TIMES_CELL_backward     "t_backward[dense]"
#define ST_TIMES_CELL_wgrad        "t_wgrad[dense]"
#define ST_TIMES_CELL_logits       "t_logits"
#define ST_TIMES_CELL_optimizer    "T_optimizer"
#define ST_TIMES_CELL_forward_moe  "t_forward[moe]"
#define ST_TIMES_CELL_backward_moe "t_backward[moe]"

typedef enum st_times_cell {
    ST_TIMES_OF_LAYER, /* all passes */
    ST_TIMES_OF_FORWARD,
    ST_TIMES_OF_BACKWARD,
    ST_TIMES_OF_WGRAD,
    ST_TIMES_OF_LOGITS,
    ST_TIMES_OF_OPTIMIZER,
    ST_TIMES_OF_FORWARD_MOE,
    ST_TIMES_OF_BACKWARD_MOE,
    ST_TIMES_CELLS
} st_times_cell;

extern const char *const st_times_cell_names[ST_TIMES_CELLS];

/* What distinguishes layers; a profile names them as the sheet megatron does. */
typedef enum st_times_feature {
    ST_TIMES_TOKENS, /* n */
    ST_TIMES_SEQUENCE,
    ST_TIMES_HIDDEN,
    ST_TIMES_INNER, /* width of the MLP */
    ST_TIMES_HEADS,
    ST_TIMES_KV_HEADS,
    ST_TIMES_TENSOR, /* tensor-parallel size */
    ST_TIMES_UP,     /* matrices into the MLP's width */
    ST_TIMES_CONTEXT,
    ST_TIMES_PASSES, /* forward passes: 2 with full recomputation */
    ST_TIMES_SPLIT,  /* ranks over which norms are split */
    ST_TIMES_WIDTH,  /* bytes of a weight */
    ST_TIMES_VOCABULARY,
    ST_TIMES_PARAMETERS, /* that a rank updates */
    ST_TIMES_CLOSED,     /* the sheet's own time for the whole, which does not distinguish shapes */
    ST_TIMES_EXPERTS,    /* of a MoE layer, as all below */
    ST_TIMES_TOP,        /* experts that a token goes to */
    ST_TIMES_EXPERT_INNER,  /* width of a routed expert */
    ST_TIMES_SHARED_INNER,  /* of the shared ones together; 0: none */
    ST_TIMES_EXPERT_RANKS,  /* expert-parallel size */
    ST_TIMES_EXPERT_TENSOR, /* tensor-parallel size inside an expert */
    ST_TIMES_FEATURES
} st_times_feature;

/* What a time is made of. */
typedef enum st_times_piece {
    ST_TIMES_WHOLE, /* not distinguished; its work is the sheet's own time */
    ST_TIMES_LAYER, /* not distinguished; its work is counted from the shape, as that of all others
                     */
    ST_TIMES_LOGITS,
    ST_TIMES_OPTIMIZER,
    ST_TIMES_NORM_1,
    ST_TIMES_QKV,
    ST_TIMES_ROPE,
    ST_TIMES_PROJECTION,
    ST_TIMES_NORM_2,
    ST_TIMES_MLP_UP,
    ST_TIMES_ACTIVATION,
    ST_TIMES_MLP_DOWN,
    ST_TIMES_ADD,
    ST_TIMES_MOE, /* a MoE layer, not distinguished */
    ST_TIMES_PIECES
} st_times_piece;

extern const char *const st_times_feature_names[ST_TIMES_FEATURES];
extern const char *const st_times_piece_names[ST_TIMES_PIECES];

enum {
    ST_TIMES_MAX_ROWS = 20000,
    ST_TIMES_MAX_TREES = 2000,
    ST_TIMES_MAX_NODES = 200000,
    /* Of a tree: features, and behind the closed form work and the roofline's time, where trees
     * that were written before there were features of MoE layers look for them. */
    ST_TIMES_INPUT_FLOP = ST_TIMES_CLOSED + 1,
    ST_TIMES_INPUT_BYTES,
    ST_TIMES_INPUT_LINE,
    ST_TIMES_INPUT_ROWS = ST_TIMES_FEATURES + 3, /* a piece's own dimensions, st_times_dimensions */
    ST_TIMES_INPUTS = ST_TIMES_INPUT_ROWS + 3,
    ST_TIMES_NAME = 80
};

/* Of an input that is not known, or that trees are not to look at: below all logarithms. */
#define ST_TIMES_NO_INPUT (-100.0F)

typedef struct st_times_shape {
    double features[ST_TIMES_FEATURES]; /* NaN: not known */
} st_times_shape;

/* T = floor + ((flop / rate)^4 + (bytes / bandwidth)^4)^(1/4); of a whole floor + scale * closed.
 */
typedef struct st_times_roofline {
    double floor;
    double per_flop; /* of a whole: over the closed form */
    double per_byte;
} st_times_roofline;

/* One node after the other, a tree's first one at its `start`; a leaf has feature -1. */
typedef struct st_times_node {
    int feature;
    float threshold; /* below it: left, else right; of a leaf the value */
    size_t left;
    size_t right;
} st_times_node;

/* How a piece is predicted. Trees give the logarithm of the time, or of its ratio to the roofline;
 * trees inside do the latter within the range of what was measured, beyond which the roofline
 * stands alone. */
typedef enum st_times_form {
    ST_TIMES_ROOFLINE,
    ST_TIMES_TREES,
    ST_TIMES_BOTH,
    ST_TIMES_WITHIN,
    ST_TIMES_FORMS
} st_times_form;

extern const char *const st_times_form_names[ST_TIMES_FORMS];

typedef struct st_times_model {
    bool given;
    st_times_form form;
    st_times_roofline roofline;
    double base;
    size_t *starts;
    size_t tree_count;
    st_times_node *nodes;
    size_t node_count;
} st_times_model;

typedef struct st_times {
    char value[ST_TIMES_NAME]; /* the cell */
    char gpu[ST_TIMES_NAME];
    double peak;      /* of the GPU, FLOP/s */
    double bandwidth; /* of its memory, B/s */
    st_times_feature shape[ST_TIMES_FEATURES];
    size_t shape_count;
    st_times_piece pieces[ST_TIMES_PIECES];
    size_t piece_count;
    double *rows; /* shape_count features, then piece_count times, sorted by the features */
    size_t row_count;
    st_times_model models[ST_TIMES_PIECES]; /* by the index in `pieces` */
    double least[ST_TIMES_FEATURES];        /* of the rows, by the index in `shape` */
    double most[ST_TIMES_FEATURES];
    /* Of the rows, by the index in `pieces`, where a piece has dimensions of its own: */
    double least_own[ST_TIMES_PIECES][3];
    double most_own[ST_TIMES_PIECES][3];
} st_times;

/* How an answer came about. */
typedef enum st_times_origin {
    ST_TIMES_MEASURED,
    ST_TIMES_BETWEEN,   /* two measured numbers of tokens */
    ST_TIMES_PREDICTED, /* inside of the measured range */
    ST_TIMES_OUTSIDE    /* of it */
} st_times_origin;

typedef struct st_times_answer {
    st_times_origin origin;
    st_times_feature outside; /* the first feature out of range */
    double pieces[ST_TIMES_PIECES];
    double sum;
} st_times_answer;

/*
 * Reads a profile's text, which need not end in NUL. NULL on success, else the reason, in
 * `reason`'s memory or static; then nothing has to be freed.
 */
const char *st_times_read(st_times *times, const char *text, size_t length, char *reason,
                          size_t reason_bytes);
void st_times_free(st_times *times);

/* Whether a piece is all that a cell is about. */
bool st_times_is_all(st_times_piece piece);

/* Whether the times are of everything that the cell is about, and not of a layer's pieces. */
bool st_times_is_whole(const st_times *times);

/* Whether a piece is a GEMM, whose weight gradient takes as long as it does. */
bool st_times_is_product(st_times_piece piece);

/* How often a layer has a piece. */
double st_times_repeats(st_times_piece piece);

/* The time of a shape. Answers are above 0, or NaN where the model has none. */
void st_times_ask(const st_times *times, const st_times_shape *shape, st_times_answer *answer);

/* Only predicted, as if nothing of the shape were measured; `piece` is an index in `pieces`. */
double st_times_predict(const st_times *times, size_t piece, const st_times_shape *shape);

/* The shape of a row; what does not distinguish rows is unknown. */
void st_times_shape_of(const st_times *times, const double *row, st_times_shape *shape);

/* Operations and memory traffic of a piece; of a whole the closed form and 0. */
void st_times_work(st_times_piece piece, const st_times_shape *shape, double *flop, double *bytes);

/*
 * What a piece of a layer does, whatever the layer looks like around it: rows, columns and inner
 * size of a product; rows and width of an element-wise kernel, with 0 behind them. False for pieces
 * that are a whole layer and more.
 */
bool st_times_dimensions(st_times_piece piece, const st_times_shape *shape, double dimensions[3]);

double st_times_roofline_time(const st_times_roofline *line, double flop, double bytes);

/* Finds the ranges of the rows. */
void st_times_note_ranges(st_times *times);

/* What trees are asked with: logarithms of the features that distinguish shapes, of the work, of
 * the roofline's time and of the piece's own dimensions. */
void st_times_inputs(const st_times *times, size_t piece, const st_times_shape *shape,
                     float inputs[ST_TIMES_INPUTS]);

#endif
