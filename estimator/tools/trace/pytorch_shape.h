/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of PyTorch, and what the shapes of their tensors say of the work on a GPU. */
#ifndef STEPTIME_TRACE_PYTORCH_SHAPE_H
#define STEPTIME_TRACE_PYTORCH_SHAPE_H

#include "trace/prices.h"

enum { ST_PYTORCH_SHAPES = 4, ST_PYTORCH_DIMS = 6 };

/* A tensor that an operator is given or gives back. */
typedef struct st_pytorch_tensor {
    int64_t storage; /* the same for views of one */
    double bytes;    /* of its elements */
    bool on_gpu;
    bool is_output;
} st_pytorch_tensor;

typedef struct st_pytorch_operator {
    uint64_t id;
    uint64_t parent;
    const char *name;
    const char *type; /* of the first tensor: "bf16"; NULL: none of a number with a fraction */
    const char *collective; /* "allreduce", "wait", of what torch.distributed records, or NULL */
    const char *group;      /* name of its process group, or NULL */
    int64_t group_size;     /* -1: unknown, as below */
    int64_t group_stride;
    int64_t in_elements;
    int64_t first_number; /* of the arguments: a collective's own, which a wait for it has, too */
    int64_t last_number;
    int64_t dims[ST_PYTORCH_SHAPES][ST_PYTORCH_DIMS]; /* of the first arguments, the last one the
                                                           first result */
    uint8_t dim_counts[ST_PYTORCH_SHAPES];
    uint8_t type_bytes;  /* of an element of the first tensor; 0: not known */
    bool is_work;        /* runs a kernel */
    bool has_work_below; /* of operators that it calls */
    size_t tensor_first;
    size_t tensor_count;
    size_t place; /* in the file, byte */
} st_pytorch_operator;

/* The operators of a rank, by id, which is the order in which they began. */
typedef struct st_pytorch {
    const char *file;
    st_pytorch_operator *items;
    size_t count;
    st_pytorch_tensor *tensors;
    size_t tensor_count;
} st_pytorch;

/* What the shapes of an operator's tensors lack to fit each other; NULL where they do or are not
 * recorded. */
const char *st_pytorch_contradiction(const st_pytorch_operator *one);

/* Of "c10::BFloat16": "bf16", or NULL for types without a fraction, and the bytes of a number, 0
 * where the type is not known. */
const char *st_pytorch_type(const char *text, size_t length, double *bytes);

/* What the operator runs on the GPU, for rules of kernels. */
void st_pytorch_shape(const st_pytorch *operators, const st_pytorch_operator *one,
                      st_task_shape *shape);

#endif
