/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a recorded run: what a program asked of CUDA's libraries, without a GPU.
 *
 * A run is a folder. It holds one file for each thread of each process that called CUDA, named
 * "PID-TID.steplog" (st_log_list finds them), and "run.json", which `steptime record` writes when
 * the run is over. A file is one st_log_header of 512 bytes and then st_log_record of 64 bytes, in
 * the order of the thread's calls; numbers are little-endian, as on every machine that runs CUDA.
 * Files of one process are put in order of time by `begin_ns`, which all its threads count from the
 * header's start_monotonic_ns, the same in all files of a process.
 *
 * A file may be cut anywhere: by a program that died, a full disk, or a copy that was not
 * finished. It is read up to its last whole record. What a writer had not filled yet is zero, and a
 * record of kind ST_LOG_NONE ends a file. Only a file with ST_LOG_END, which a thread's or
 * program's orderly exit writes, is whole.
 *
 * While a file is written, and where its program died, its last records are in
 * "PID-TID.steplog.tail": two windows of ST_LOG_WINDOW_RECORDS that take turns. The file has full
 * ones alone then; as many as it has whole, as often the windows took turns, which says which of
 * both has the records behind them.
 *
 * Numbers of things are small and dense and belong to the process: strings, streams, events,
 * graphs and executable graphs from 1, in order of creation; stream 0 is the legacy default
 * stream, stream ST_LOG_STREAM_PER_THREAD the default one of each thread (the file distinguishes
 * them). Strings are defined in every file that uses them, before their first use; the reader
 * collects them. A communicator's number is the same in all processes of a run: a hash of
 * ncclUniqueId, or, of a split, of the parent's number, the number of splits before, and the color.
 *
 * Units: bytes; nanoseconds. What a call enqueues carries no duration: there was no GPU.
 *
 * Calls while a stream is captured are not executed, they become nodes of the graph: their records
 * have ST_LOG_CAPTURED set and lie, in order, in the capturing streams between
 * ST_LOG_CAPTURE_BEGIN and ST_LOG_CAPTURE_END. A ST_LOG_GRAPH_LAUNCH runs them all again. Nodes
 * that a program adds or changes by itself have ST_LOG_NODE or ST_LOG_CHANGE, too, and a
 * ST_LOG_GRAPH_NODE behind them that says which node of which graph they are.
 */
#ifndef STEPTIME_RECORD_LOG_H
#define STEPTIME_RECORD_LOG_H

#include "steptime/arena.h"

#include <stdint.h>

enum { ST_LOG_VERSION = 4, ST_LOG_NAME_BYTES = 64, ST_LOG_WINDOW_RECORDS = 1024 };

#define ST_LOG_MAGIC             "STEPLOG\n"
#define ST_LOG_SUFFIX            ".steplog"
#define ST_LOG_TAIL              ".tail"
#define ST_LOG_STREAM_PER_THREAD UINT32_C(0xffffffff)
#define ST_LOG_NO_STREAM         UINT32_C(0xfffffffe) /* a call that goes to no stream */

typedef struct st_log_header {
    char magic[8];
    uint32_t version;      /* ST_LOG_VERSION */
    uint32_t header_bytes; /* sizeof(st_log_header) */
    uint32_t record_bytes; /* sizeof(st_log_record) */
    int32_t rank;          /* as the environment said when the process began; -1: it did not */
    int32_t world;         /* total ranks, -1: unknown; ST_LOG_COMM has those of NCCL */
    int32_t local_rank;    /* -1: unknown */
    uint32_t pid;
    uint32_t tid;
    uint32_t parent_pid;            /* that the process was forked from with CUDA in use; 0: none */
    uint32_t device_count;          /* of the process */
    uint64_t device_bytes;          /* memory of each device */
    uint64_t context_bytes;         /* charged for a context, before any allocation */
    uint64_t start_realtime_ns;     /* wall clock (Unix epoch) at the first call of the process */
    uint64_t start_monotonic_ns;    /* the clock that begin_ns counts on, at the same moment */
    uint32_t cuda_version;          /* 12080, 13000: of the runtime that the program asked for */
    uint32_t thread;                /* number of the thread in its process, from 0 */
    char device[ST_LOG_NAME_BYTES]; /* file of configs/gpus/, "h100-sxm" */
    char program[ST_LOG_NAME_BYTES]; /* what was run, its last bytes where it is longer */
    char policy[16]; /* what device memory reads back as: "zero", "shadow", "full" */
    uint32_t
        error; /* of errno: why the file could not grow, so that calls are missing; 0: it could */
    uint8_t reserved[276]; /* zero */
} st_log_header;

typedef enum st_log_kind {
    ST_LOG_NONE = 0, /* ends a file */
    ST_LOG_STRING,   /* `string`; the reader keeps these for itself */
    ST_LOG_CALL,     /* a call with name, times and result alone */
    ST_LOG_LAUNCH,
    ST_LOG_ARGUMENTS, /* of the launch before it */
    ST_LOG_COPY,
    ST_LOG_SET,
    ST_LOG_MALLOC, /* `memory`; status 2 and no pointer where it does not fit */
    ST_LOG_FREE,
    ST_LOG_EVENT_RECORD, /* `event` */
    ST_LOG_EVENT_WAIT,   /* a stream waits for an event */
    ST_LOG_EVENT_SYNC,   /* the host waits for an event */
    ST_LOG_STREAM_CREATE,
    ST_LOG_STREAM_DESTROY,
    ST_LOG_STREAM_SYNC,   /* the host waits for a stream */
    ST_LOG_DEVICE_SYNC,   /* the host waits for all streams of the record's device */
    ST_LOG_HOST_FUNCTION, /* cudaLaunchHostFunc: `stream` */
    ST_LOG_COMM,          /* a communicator is there: `comm` */
    ST_LOG_COLLECTIVE,    /* an operation of NCCL, also ncclSend and ncclRecv: `collective` */
    ST_LOG_GEMM,          /* of cuBLAS or cuBLASLt */
    ST_LOG_BLAS,          /* another function of cuBLAS, of m by n or n numbers: `gemm` */
    ST_LOG_CUDNN,         /* `cudnn`: a plan or a function of cuDNN is executed */
    ST_LOG_CAPTURE_BEGIN, /* `graph` */
    ST_LOG_CAPTURE_END,
    ST_LOG_GRAPH_INSTANTIATE,
    ST_LOG_GRAPH_LAUNCH,
    ST_LOG_MARK,        /* `mark`: cudaProfilerStart/Stop, a range of NVTX */
    ST_LOG_UNSUPPORTED, /* a function that the recorder does not know; the first time in a thread */
    ST_LOG_OUT_OF_MEMORY, /* `memory`: what was asked for; ST_LOG_BLOCK records follow */
    ST_LOG_BLOCK,         /* `memory`: one of the largest live blocks at that time */
    ST_LOG_MISUSE,        /* `mark`: a bad handle, a double free; `status` is what CUDA answers */
    ST_LOG_FORKED,        /* `mark`: the process was forked; `value` is the child's process id */
    ST_LOG_END,           /* `end`: the thread or the program ended in order */
    ST_LOG_GRAPH_NODE,    /* `graph`: what the record before it is, ST_LOG_NODE or ST_LOG_CHANGE */
    ST_LOG_MEASURED,      /* `measured`: the record before it is of a real GPU */
    ST_LOG_KINDS
} st_log_kind;

/* Bits of st_log_record.flags. */
enum {
    ST_LOG_CAPTURED = 1,     /* became a node of a graph instead of being executed */
    ST_LOG_ASYNC = 2,        /* of copies, sets and memory: in order of the stream */
    ST_LOG_NON_BLOCKING = 4, /* of ST_LOG_STREAM_CREATE: does not wait for the default stream ... */
    ST_LOG_NODE = 8,         /* a node that a program adds to a graph; ST_LOG_GRAPH_NODE follows */
    ST_LOG_CHANGE = 16,      /* takes the place of a node, or a ST_LOG_CALL switches it off or on */
    ST_LOG_DEFAULT = 32,     /* ... of ST_LOG_STREAM_CREATE: it is the default stream */
    ST_LOG_FURTHER = 64,     /* of a measured ST_LOG_GEMM: the product was logged before */
    ST_LOG_SAME_NODE = 128   /* with ST_LOG_CAPTURED: part of the node before it in its stream */
};

typedef enum st_log_direction {
    ST_LOG_HOST_TO_HOST,
    ST_LOG_HOST_TO_DEVICE,
    ST_LOG_DEVICE_TO_HOST,
    ST_LOG_DEVICE_TO_DEVICE,
    ST_LOG_PEER /* to another device */
} st_log_direction;

/* Where memory is, for ST_LOG_MALLOC, ST_LOG_FREE and ST_LOG_COPY's host side. */
typedef enum st_log_memory_kind {
    ST_LOG_DEVICE,     /* cudaMalloc, cuMemAlloc */
    ST_LOG_POOL,       /* cudaMallocAsync: charged in the pool's pieces */
    ST_LOG_VIRTUAL,    /* cuMemCreate: physical memory that is mapped later */
    ST_LOG_MANAGED,    /* cudaMallocManaged */
    ST_LOG_PINNED,     /* cudaMallocHost, cudaHostRegister: no memory of the device */
    ST_LOG_PAGEABLE,   /* the program's own: of copies only */
    ST_LOG_COMM_BUFFER /* what a communicator of NCCL is charged with */
} st_log_memory_kind;

/* Types of numbers, CUDA's own cudaDataType_t where it has one. */
typedef enum st_log_type {
    ST_LOG_FP32 = 0,
    ST_LOG_FP64 = 1,
    ST_LOG_FP16 = 2,
    ST_LOG_INT8 = 3,
    ST_LOG_COMPLEX32 = 4, /* two FP32 */
    ST_LOG_COMPLEX64 = 5, /* two FP64 */
    ST_LOG_UINT8 = 8,
    ST_LOG_INT32 = 10,
    ST_LOG_UINT32 = 12,
    ST_LOG_BF16 = 14,
    ST_LOG_INT64 = 24,
    ST_LOG_UINT64 = 26,
    ST_LOG_FP8_E4M3 = 28,
    ST_LOG_FP8_E5M2 = 29,
    ST_LOG_FP4_E2M1 = 33,
    ST_LOG_TYPE_UNKNOWN = 255
} st_log_type;

typedef enum st_log_operation {
    ST_LOG_ALL_REDUCE,
    ST_LOG_REDUCE_SCATTER, /* count: what a rank receives */
    ST_LOG_ALL_GATHER,     /* count: what a rank sends */
    ST_LOG_BROADCAST,
    ST_LOG_REDUCE,
    ST_LOG_SEND,
    ST_LOG_RECEIVE,
    ST_LOG_ALL_TO_ALL, /* count: to each rank */
    ST_LOG_GATHER,
    ST_LOG_SCATTER,
    ST_LOG_OPERATIONS
} st_log_operation;

/* What an argument of a kernel is, in ST_LOG_ARGUMENTS. */
typedef enum st_log_argument {
    ST_LOG_ARG_UNKNOWN, /* a structure, or not known from the kernel's name; value is 0 */
    ST_LOG_ARG_POINTER, /* value: bytes from there to the end of its allocation, 0: none known */
    ST_LOG_ARG_INTEGER, /* value: int64_t */
    ST_LOG_ARG_FLOAT,   /* value: its bits */
    ST_LOG_ARG_STRUCT,  /* value: string, its bytes in hexadecimal with pointers as zeros */
    ST_LOG_ARG_INSIDE   /* as ST_LOG_ARG_POINTER, inside of the structure before it */
} st_log_argument;

enum { ST_LOG_ARGUMENTS_OF_RECORD = 3 };

typedef struct st_log_launch { /* ST_LOG_LAUNCH */
    uint32_t kernel;           /* string: the mangled name */
    uint32_t stream;
    uint32_t grid[3];
    uint16_t block[3];
    uint16_t cluster;      /* thread blocks of a cluster; 0: none */
    uint32_t shared_bytes; /* dynamic */
    uint32_t pointer_kib;  /* sum over the pointers of what they reach, in KiB, rounded up */
} st_log_launch;

typedef struct st_log_arguments { /* ST_LOG_ARGUMENTS */
    uint64_t value[3];            /* of a pointer: bytes from it to the end of its block */
    uint32_t block[3];            /* number of that block in the process, from 1; 0: none */
    uint8_t kind[3];              /* st_log_argument; 0: none */
    uint8_t first;                /* which argument value[0] is */
} st_log_arguments;

typedef struct st_log_copy { /* ST_LOG_COPY, ST_LOG_SET */
    uint64_t bytes;
    uint32_t stream;
    uint8_t direction;   /* st_log_direction; of a set: ST_LOG_DEVICE_TO_DEVICE */
    uint8_t host_memory; /* st_log_memory_kind of the host's side */
    uint16_t peer;       /* the other device of ST_LOG_PEER */
    uint64_t to;         /* pointers as the program has them */
    uint64_t from;       /* of a set: the value */
    uint64_t reserved;
} st_log_copy;

typedef struct st_log_memory { /* ST_LOG_MALLOC, ST_LOG_FREE, ST_LOG_OUT_OF_MEMORY, ST_LOG_BLOCK */
    uint64_t pointer;          /* as the program has it; its own name of the block */
    uint64_t bytes;            /* as asked for */
    uint64_t charged_bytes;    /* as the driver rounds it */
    uint64_t live_bytes;       /* charged on the device after the call, with contexts */
    uint32_t stream;           /* of ST_LOG_ASYNC */
    uint32_t memory;           /* st_log_memory_kind */
} st_log_memory;

typedef struct st_log_event { /* ST_LOG_EVENT_* */
    uint32_t event;
    uint32_t stream;          /* that records or waits; ST_LOG_NO_STREAM for ST_LOG_EVENT_SYNC */
    uint32_t recorded_stream; /* where the event was recorded last; ST_LOG_NO_STREAM: never */
    uint32_t sequence;        /* records of this event so far, which one is waited for; 0: none */
    uint32_t reserved[6];
} st_log_event;

typedef struct st_log_stream { /* ST_LOG_STREAM_*, ST_LOG_HOST_FUNCTION */
    uint32_t stream;
    int32_t priority;
    uint32_t reserved[8];
} st_log_stream;

typedef struct st_log_comm { /* ST_LOG_COMM */
    uint64_t comm;
    uint64_t parent; /* of a split; 0: none */
    int32_t rank;    /* in it; of a split -1: the collator has to put ranks in order of `key` */
    int32_t ranks; /* -1: a split whose size the process could not know; it was told that of ... */
    int32_t color; /* ... the parent */
    int32_t key;
    uint32_t splits; /* of the parent before this one */
    uint32_t reserved;
} st_log_comm;

typedef struct st_log_collective { /* ST_LOG_COLLECTIVE */
    uint64_t comm;
    uint64_t count;    /* elements, as the function was given it */
    uint32_t sequence; /* number of the operation on its communicator in this process, from 0 */
    uint32_t stream;
    uint32_t group;    /* number of the outermost ncclGroupStart of the process, from 1; 0: none */
    int32_t peer;      /* rank of the other side of send and receive, root of those with one; -1 */
    uint8_t operation; /* st_log_operation */
    uint8_t type;      /* st_log_type */
    uint8_t reduction; /* ncclRedOp_t: sum, prod, max, min, avg; 255: none */
    uint8_t reserved[5];
} st_log_collective;

typedef struct st_log_gemm { /* ST_LOG_GEMM, ST_LOG_BLAS; D (m by n) = A (m by k) B (k by n) */
    uint32_t m, n, k;
    uint32_t batch; /* 1: one product */
    uint32_t stream;
    uint8_t type_a; /* st_log_type */
    uint8_t type_b;
    uint8_t type_d;
    uint8_t compute;     /* cublasComputeType_t: 64 half, 68 single, 77 TF32, ... */
    uint8_t transpose_a; /* 0, 1: transposed, 2: conjugated too */
    uint8_t transpose_b;
    uint16_t epilogue; /* cublasLtEpilogue_t; 0: unknown, 1: none. Of ST_LOG_BLAS: how often its
                          numbers are read or written */
    uint32_t lda, ldb, ldd;
} st_log_gemm;

typedef struct st_log_cudnn { /* ST_LOG_CUDNN */
    uint32_t operations;      /* string: "matmul,pointwise,reduction,matmul" or a function's name */
    uint32_t stream;
    uint32_t
        dims[4]; /* attention: batch, heads, length, width of the queries; one product or ... */
    uint32_t other[2]; /* ... convolution: m, n, k, products. Length and width of the keys */
    uint8_t type;      /* st_log_type of the first tensor */
    uint8_t matmuls;   /* matrix products in it: 2 attention forward, 5 backward */
    uint8_t tensors;   /* that lie in memory ... */
    uint8_t share;     /* attention: heads of queries to one of keys; 0: not known */
    uint32_t kib;      /* ... and what they hold, in KiB, rounded up; 0: not known */
} st_log_cudnn;

typedef struct st_log_graph { /* ST_LOG_CAPTURE_*, ST_LOG_GRAPH_* */
    uint32_t graph;           /* 0 while it is being captured first */
    uint32_t executable;      /* 0: none yet */
    uint32_t stream;          /* captured, or launched into; of a node 0: it is switched off */
    uint32_t nodes;           /* how many; of ST_LOG_GRAPH_NODE: which, from 1; of
                                 ST_LOG_CAPTURE_BEGIN: the capture that it is a copy of, 0: none */
    uint32_t capture;         /* number of the capture in the process, from 1 */
    uint32_t reserved[5];
} st_log_graph;

typedef struct st_log_mark { /* ST_LOG_MARK, ST_LOG_MISUSE, ST_LOG_FORKED, ST_LOG_UNSUPPORTED */
    uint32_t text;           /* string; 0: none */
    uint32_t push;           /* 1: a range begins, 2: ends */
    uint64_t value;
    uint64_t reserved[3];
} st_log_mark;

typedef struct st_log_end { /* ST_LOG_END */
    uint64_t records;       /* in the file before this one, strings included */
    uint64_t calls;         /* of the thread, those not recorded included */
    uint64_t unsupported;   /* of them */
    uint64_t work_hash;     /* rolling hash of what the thread enqueued, without pointers, ... */
    uint64_t reserved;      /* ... numbers of ranks and times: equal for workers that do the same */
} st_log_end;

/*
 * What CUPTI measured, in a file of its own for each process: of each call the time, and of what
 * the call put on the GPU a record without a function's name. A ST_LOG_GEMM says which product the
 * call of this number was made for, and has no time: the product's kernels have.
 */
typedef struct st_log_measured { /* ST_LOG_MEASURED */
    uint32_t correlation;        /* the same for a call and for what it put on the GPU */
    uint32_t thread;             /* of a call: its thread, as the system counts; else 0 */
    uint64_t length_ns;
    uint64_t product; /* of a ST_LOG_GEMM: its number, from 1; it may have made several calls */
    uint64_t reserved[2];
} st_log_measured;

typedef struct st_log_string { /* ST_LOG_STRING: more records follow until `length` is reached */
    uint32_t string;           /* its number */
    uint32_t length;           /* in bytes, of the whole text */
    char text[32];             /* bytes [part * 32, ...) of it; `call` of the record is the part */
} st_log_string;

typedef struct st_log_record {
    uint16_t kind;      /* st_log_kind; written last */
    uint16_t status;    /* what the call returned: CUDA's, cuBLAS's, cuDNN's, NCCL's own; 0: fine */
    uint32_t call;      /* string: the function's name */
    uint64_t begin_ns;  /* when the host entered the call, after start_monotonic_ns */
    uint32_t length_ns; /* until it left; UINT32_MAX: that or more */
    uint16_t device;    /* current in the thread */
    uint16_t flags;
    union {
        st_log_launch launch;
        st_log_arguments arguments;
        st_log_copy copy;
        st_log_memory memory;
        st_log_event event;
        st_log_stream stream;
        st_log_comm comm;
        st_log_collective collective;
        st_log_gemm gemm;
        st_log_cudnn cudnn;
        st_log_graph graph;
        st_log_mark mark;
        st_log_end end;
        st_log_measured measured;
        st_log_string string;
    };
} st_log_record;

_Static_assert(sizeof(st_log_header) == 512, "the header of a log has 512 bytes");
_Static_assert(sizeof(st_log_record) == 64, "a record of a log has 64 bytes");

/* Bytes of an element, 0 where the type is unknown; half a byte counts as 1. */
static inline uint32_t st_log_type_bytes(uint32_t type)
{
    static const uint8_t bytes[] = {
        [ST_LOG_INT8] = 1,     [ST_LOG_UINT8] = 1,     [ST_LOG_FP8_E4M3] = 1,
        [ST_LOG_FP8_E5M2] = 1, [ST_LOG_FP4_E2M1] = 1,  [ST_LOG_FP16] = 2,
        [ST_LOG_BF16] = 2,     [ST_LOG_FP32] = 4,      [ST_LOG_INT32] = 4,
        [ST_LOG_UINT32] = 4,   [ST_LOG_FP64] = 8,      [ST_LOG_INT64] = 8,
        [ST_LOG_UINT64] = 8,   [ST_LOG_COMPLEX32] = 8, [ST_LOG_COMPLEX64] = 16,
    };
    return type < sizeof bytes ? bytes[type] : 0;
}

/* A thread's part of its process' hash, which is their sum whatever the order of threads. */
uint64_t st_log_work(uint64_t work_hash);

/* Bytes that a collective is given: its count, of its type. */
uint64_t st_log_collective_bytes(const st_log_collective *collective);

/*
 * Writing: into a memory map, which survives abort() and kill. Needs nothing of steptime, so that
 * it can live in other people's programs, and reports by returning NULL or false. A writer belongs
 * to one thread.
 */
typedef struct st_log_writer st_log_writer;

/* Makes a file, which must not be there, with this header; magic, version and sizes are filled in.
 * NULL with errno set where that fails. */
st_log_writer *st_log_create(const char *path, const st_log_header *header);
/* Room for a record, zeroed; NULL where the disk is full. Fill in all but `kind`. */
st_log_record *st_log_next(st_log_writer *writer);
/* Makes it count. */
void st_log_commit(st_log_record *record, st_log_kind kind);
/* Defines a string; at most UINT16_MAX bytes of it are kept. False where the disk is full. */
bool st_log_define(st_log_writer *writer, uint32_t string, const char *text);
/* Records so far. */
uint64_t st_log_written(const st_log_writer *writer);
/* Writes the last records, removes the tail and frees the writer; NULL is fine. */
void st_log_close(st_log_writer *writer);
/* In a child of fork: forgets the map without touching the file, which is the parent's. */
void st_log_abandon(st_log_writer *writer);

/* Reading. */
typedef struct st_log st_log;

/* The paths of a run's logs in order of their names, in `arena`; `folder` may also name one log.
 * A folder without logs is an error. */
st_status st_log_list(const char *folder, st_arena *arena, const char *const **paths, size_t *count,
                      st_errors *errors) ST_NODISCARD;
/* Opens a file and checks its header. On success *log is the caller's to close. */
st_status st_log_open(const char *path, st_log **log, st_errors *errors) ST_NODISCARD;
const st_log_header *st_log_header_of(const st_log *log); /* its texts end in NUL */
/* At most so many records, strings included. */
size_t st_log_room(const st_log *log);
/* The work hash at the end of a log that is whole; 0: of others, and where it cannot be read. */
uint64_t st_log_end_hash(const st_log *log);
/*
 * The next record other than a string; *more is false at the end of the file, and *into then is
 * zeroed. A cut file ends at its last whole record, without an error (st_log_is_whole); a record of
 * an unknown kind is an error with its place.
 */
st_status st_log_read(st_log *log, st_log_record *into, bool *more, st_errors *errors) ST_NODISCARD;
/* A string that was defined so far, "" for others; lives as long as the log. */
const char *st_log_text(const st_log *log, uint32_t string);
/* Whether the end of the file was reached by ST_LOG_END. */
bool st_log_is_whole(const st_log *log);
void st_log_destroy(st_log *log); /* NULL is fine */

#endif
