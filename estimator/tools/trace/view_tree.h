/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU time by where it comes from: modules, annotations, functions of Python or operators, as a
 * tree.
 *
 * A GPU task belongs to the innermost range on the thread of its call in which the call begins.
 * What the backward thread launches belongs to the module or function that ran the operator
 * forward, by the sequence number that both have; under an annotation it belongs to what the thread
 * of the steps is in at that time. What then belongs nowhere stays at the root: unattributed.
 */
#ifndef STEPTIME_TRACE_VIEW_TREE_H
#define STEPTIME_TRACE_VIEW_TREE_H

#include "trace/view.h"

typedef enum st_tree_by {
    ST_TREE_MODULE,
    ST_TREE_ANNOTATION,
    ST_TREE_STACK,
    ST_TREE_OPERATOR,
    ST_TREE_NOTHING, /* kernels alone */
    ST_TREE_BYS
} st_tree_by;

/* "module annotation stack operator", in the order of the enumeration. */
#define ST_TREE_WORDS "module annotation stack operator"

typedef struct st_tree_node {
    const char *name;
    uint32_t parent; /* lower than its own; ST_TRACE_NONE of the root */
    uint32_t depth;  /* 0 of the root */
    bool is_kernel;  /* of trees with kernels: below what launches it */
    uint64_t calls;  /* ranges of this name */
    int64_t host_ns; /* their time */
    uint64_t kernels;
    int64_t self_ns;          /* of GPU tasks that belong to none below */
    int64_t gpu_ns;           /* with all below */
    int64_t backward_ns;      /* of these: launched by another thread than ran forward */
    int64_t communication_ns; /* of these: collectives */
} st_tree_node;

/* Node 0 is the root: its time is that of all tasks, its own what belongs nowhere. */
typedef struct st_tree {
    st_tree_by by;
    st_tree_node *nodes;
    size_t count;
    size_t ranks;
    uint32_t *order; /* depth first, siblings by falling time */
} st_tree;

/* Of all ranks together. Traces that were read with details; refuses those without such ranges,
 * with what to record. */
st_status st_view_tree(const st_trace_set *set, st_tree_by by, st_arena *arena, st_tree *tree,
                       st_errors *errors) ST_NODISCARD;

/* The same with the kernels of each part below it. */
st_status st_view_tree_kernels(const st_trace_set *set, st_tree_by by, st_arena *arena,
                               st_tree *tree, st_errors *errors) ST_NODISCARD;

/* What of a tree is shown: deeper or smaller parts become one line. */
typedef struct st_tree_limits {
    uint64_t depth;     /* 0: all */
    double least_share; /* of all time */
} st_tree_limits;

void st_view_tree_result(const st_tree *tree, const st_tree_limits *limits, st_arena *arena,
                         st_result *result);
/* The tree as a picture: parts lie under their whole, as wide as their time. */
void st_view_tree_svg(const st_tree *tree, st_buffer *svg);

#endif
