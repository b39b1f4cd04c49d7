/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles: what a program holds of streams, events, graphs and the like. A handle is not a pointer
 * but kind, generation and place in a table, so that an invalid one is detected without touching
 * memory.
 */
#ifndef STEPTIME_RECORD_LIBRARY_OBJECTS_H
#define STEPTIME_RECORD_LIBRARY_OBJECTS_H

#include "record/library/entry.h"

typedef enum st_object_kind {
    ST_OBJECT_FREE,
    ST_OBJECT_STREAM,
    ST_OBJECT_EVENT,
    ST_OBJECT_GRAPH,
    ST_OBJECT_EXECUTABLE,
    ST_OBJECT_MODULE,
    ST_OBJECT_FUNCTION,
    ST_OBJECT_CONTEXT,
    ST_OBJECT_POOL,
    ST_OBJECT_BLAS,
    ST_OBJECT_COMM,
    ST_OBJECT_CUDNN,
    ST_OBJECT_PHYSICAL, /* of cuMemCreate */
    ST_OBJECT_KINDS
} st_object_kind;

/* What calls take besides. */
typedef enum st_take_kind {
    ST_TAKE_CREATED_STREAM = ST_OBJECT_KINDS, /* not the default one */
    ST_TAKE_DEVICE,                           /* number of a device */
    ST_TAKE_POINTER                           /* not NULL */
} st_take_kind;

typedef struct st_object {
    uint64_t handle;
    uint32_t number; /* of its kind in the process, from 1 */
    uint32_t device;
    union {
        struct {
            uint32_t capture; /* number of the capture that it is part of; 0: none */
            uint32_t group;   /* of NCCL, see st_log_collective, that has a node last */
            int32_t priority;
            uint32_t flags;
            bool origin;  /* of its capture */
            bool invalid; /* the capture was broken by a call in this stream */
        } stream;
        struct {
            uint32_t stream; /* number, ST_LOG_NO_STREAM: never recorded */
            uint32_t sequence;
            uint32_t capture;
            bool untimed;
            uint64_t host_ns;
        } event;
        struct {
            uint32_t nodes; /* of an executable one */
            uint32_t graph;
            uint32_t capture;
        } graph;
        struct {
            void *image; /* a copy; NULL: not known */
        } module;
        struct {
            uint32_t name;       /* string */
            uint32_t parameters; /* place in the list of launches.c */
            uint64_t hash;       /* of the name */
            uint32_t block[3];   /* of cuFuncSetBlockShape, as the next ones are of its like */
            uint32_t shared_bytes;
            unsigned char *arguments; /* NULL: none */
        } function;
        struct {
            uint64_t stream;
            uint32_t math_mode;
            uint32_t pointer_mode;
        } blas; /* of cuDNN too */
        struct {
            uint64_t id;
            int32_t rank;
            int32_t ranks;
            uint32_t sequence;
            uint32_t splits;
        } comm;
        struct {
            uint64_t bytes;
        } physical;
    };
} st_object;

/* NULL when out of memory. */
st_object *st_object_make(st_object_kind kind);
/* NULL for an invalid handle of this kind. */
st_object *st_object_of(uint64_t handle, st_object_kind kind);
/* The graph of a node's handle, and which of its nodes that is; NULL for an invalid one. */
st_object *st_object_of_node(uint64_t node, uint32_t *number);
/* The error of a library for a pointer that is NULL. */
extern const uint16_t st_null_errors[ST_LIBRARIES];
/* Checks what the table says of the arguments, and puts the objects into the call; 0, or the error.
 */
uint64_t st_take_arguments(st_call *call);
void st_object_drop(st_object *object);
/* Calls for each that is alive. */
void st_object_each(st_object_kind kind, void (*visit)(st_object *object, void *context),
                    void *context);

/*
 * The stream that a handle means, also NULL and cudaStreamLegacy (0, 1) and cudaStreamPerThread
 * (2); NULL for a bad handle.
 */
st_object *st_stream_of(uint64_t handle);
/* The stream that a call names, or else the default one; NULL makes the call a misuse, whose error
 * is draft.status. */
st_object *st_stream_taken(st_call *call, uint64_t handle);

/* Whether it is none of the default ones, which belong to all devices. */
static inline bool st_stream_is_made(const st_object *stream)
{
    return stream->number != 0 && stream->number != ST_LOG_STREAM_PER_THREAD;
}

/* cudaGraphNodeType */
enum { ST_NODE_KERNEL, ST_NODE_COPY, ST_NODE_SET, ST_NODE_HOST, ST_NODE_GRAPH, ST_NODE_EMPTY };

/* The beginning of cudaKernelNodeParams and CUDA_KERNEL_NODE_PARAMS, and that of their versions. */
typedef struct st_kernel_given {
    uint64_t function;
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared_bytes;
    uint64_t arguments; /* an address for each; 0: not known */
    uint64_t extra;
} st_kernel_given;

/* A node of a capture or of a graph that a program makes. */
typedef struct st_node {
    uint32_t type;
    st_kernel_given kernel; /* function 0: of a library */
    void *arguments;        /* copies of them and their addresses */
} st_node;

/* Adds one; NULL when out of memory. */
st_node *st_node_add(uint32_t capture, uint32_t type);
/* The node of a number, from 1; NULL: the capture has none. */
st_node *st_node_at(uint32_t capture, uint32_t number);
uint32_t st_node_count(uint32_t capture);
void st_nodes_drop(uint32_t capture);

/* What a call enqueues becomes a node where its stream is captured. */
static inline void st_enqueue_as(st_call *call, st_object *stream, uint32_t type)
{
    if (stream->stream.capture == 0)
        return;
    call->draft.flags |= ST_LOG_CAPTURED;
    if (st_node_add(stream->stream.capture, type) == NULL)
        stream->stream.invalid = true;
}

static inline void st_enqueue(st_call *call, st_object *stream)
{
    st_enqueue_as(call, stream, ST_NODE_KERNEL);
}

#endif
