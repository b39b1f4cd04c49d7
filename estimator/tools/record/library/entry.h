/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The implementation behind every function of CUDA's libraries: libsteptime-record.so.
 *
 * calls.txt has a line for each function that a library exports. The generator makes an entry of
 * st_entries from it and a trampoline of that name, which stores the words of its arguments and
 * calls st_dispatch. This takes the one lock of the process, runs the entry's handler, and writes
 * what the handler left in `draft` to the log of the thread. An entry without a handler is not
 * supported: it is logged and returns its library's own error.
 *
 * This code lives in other people's programs. It uses nothing of steptime but the log's writer,
 * exports nothing but the functions of calls.txt, prints nothing, and ends nobody's process.
 */
#ifndef STEPTIME_RECORD_LIBRARY_ENTRY_H
#define STEPTIME_RECORD_LIBRARY_ENTRY_H

#include "record/log.h"

#include <string.h>

typedef enum st_library {
    ST_CUDART,
    ST_CUDA,
    ST_CUBLAS,
    ST_CUBLASLT,
    ST_CUDNN,
    ST_NCCL,
    ST_NVML,
    ST_LIBRARIES
} st_library;

/* CUDA's own errors, of the runtime and the driver alike. */
enum {
    ST_CUDA_INVALID_VALUE = 1,
    ST_CUDA_OUT_OF_MEMORY = 2,
    ST_CUDA_NOT_INITIALIZED = 3,
    ST_CUDA_DEINITIALIZED = 4,
    ST_CUDA_INVALID_CONFIGURATION = 9,
    ST_CUDA_INVALID_PITCH = 12,
    ST_CUDA_INVALID_SYMBOL = 13,
    ST_CUDA_INVALID_DEVICE_FUNCTION = 98,
    ST_CUDA_INVALID_DEVICE = 101,
    ST_CUDA_INVALID_HANDLE = 400,
    ST_CUDA_ILLEGAL_STATE = 401,
    ST_CUDA_NOT_FOUND = 500,
    ST_CUDA_NOT_READY = 600,
    ST_CUDA_HOST_ALREADY_REGISTERED = 712,
    ST_CUDA_HOST_NOT_REGISTERED = 713,
    ST_CUDA_NOT_SUPPORTED = 801,
    ST_CUDA_CAPTURE_UNSUPPORTED = 900,
    ST_CUDA_CAPTURE_INVALIDATED = 901,
    ST_CUDA_CAPTURE_UNMATCHED = 903
};

/* Words: arguments of a call, in the order of its prototype; a structure by value is as many as it
 * fills. */
/* Of whatever prototype. */
typedef void (*st_function)(void);

enum { ST_CALL_EXTRAS = 256 }; /* experts of a grouped product */

typedef struct st_call st_call;
typedef uint64_t (*st_handler)(st_call *call);

/* A word of the arguments that is checked before the handler runs. */
typedef struct st_take {
    uint8_t kind; /* st_object_kind or st_take_kind; 0: no more */
    uint8_t word; /* from 1 */
} st_take;

enum { ST_TAKES = 3 };

typedef struct st_entry {
    const char *name;
    st_function address; /* of its trampoline */
    st_handler run;      /* NULL: not supported */
    uint8_t library;     /* st_library */
    bool quiet;          /* not kept in the log unless it is misused */
    bool per_thread;     /* its default stream is each thread's own */
    int32_t constant;    /* of the table's line */
    st_take takes[ST_TAKES];
    uint8_t place[26]; /* position of the argument with this letter, from 1; 0: none */
} st_entry;

extern const st_entry st_entries[]; /* in order of names, then the spare ones */
extern const uint32_t st_entry_count;

/* Who calls: made at the first call of a thread. */
typedef struct st_thread {
    st_log_writer *log; /* NULL: cannot be written */
    uint64_t *defined;  /* a bit for each string that the log has */
    size_t defined_words;
    uint64_t calls;
    uint64_t unsupported;
    uint64_t work_hash;
    uint32_t number;
    uint32_t last_error; /* cudaGetLastError */
    uint32_t device;
    uint64_t pushed[8]; /* __cudaPushCallConfiguration: grid, block, shared memory, stream */
    uint32_t capture_mode;
    struct st_thread *next;
    st_log_record extra[ST_CALL_EXTRAS];
} st_thread;

struct st_call {
    const st_entry *entry;
    const uint64_t *registers;
    const uint64_t *stack;
    st_thread *thread;
    struct st_object *stream;          /* that the call goes to; NULL: it names none */
    struct st_object *taken[ST_TAKES]; /* other handles, in the order of the prototype */
    st_log_record draft;  /* kind: what it is logged as, ST_LOG_CALL unless a handler says */
    bool is_short;        /* it only writes its record: it is as long as others of that kind */
    uint32_t device;      /* of its records: the thread's unless a handler says */
    uint32_t extra_count; /* records that follow it */
    st_log_record *extra; /* of the thread: a call that runs within another has the same ones */
};

/* The process, behind the lock. */
typedef struct st_process {
    bool started;
    bool ended;
    bool is_child;     /* forked from a process that used CUDA */
    bool two_versions; /* it is logged */
    st_log_header header;
    char folder[3072];
    st_thread *threads;
    uint32_t thread_count;
    uint32_t capture_count;
    bool complete;               /* all ranks of the world run */
    bool per_thread;             /* of the call that runs now */
    uint32_t compute_capability; /* 90 */
    uint32_t multiprocessors;
    uint32_t clock_khz; /* 0: not known, as the next two */
    uint32_t memory_clock_khz;
    uint32_t memory_bus; /* bits */
    uint64_t comm_bytes; /* charged for a communicator */
    char device_name[ST_LOG_NAME_BYTES];
} st_process;

#define ST_NO_DEVICE UINT32_MAX

#define ST_TWO_VERSIONS "two CUDA runtime versions in one process"

extern st_process st_now;

/* What every handler needs. */
static inline uint64_t st_word(const st_call *call, unsigned index)
{
    return index < 6 ? call->registers[index] : call->stack[index - 6];
}

static inline void *st_pointer(const st_call *call, unsigned index)
{
    void *pointer;
    uint64_t word = st_word(call, index);
    memcpy(&pointer, &word, sizeof pointer);
    return pointer;
}

/* A text as a word that a call returns. */
static inline uint64_t st_text_word(const char *text)
{
    uint64_t word;
    memcpy(&word, &text, sizeof word);
    return word;
}

static inline int32_t st_int(const st_call *call, unsigned index)
{
    return (int32_t)(uint32_t)st_word(call, index);
}

/* The word of the argument with this letter in the table, `none` where there is none. */
static inline uint64_t st_role(const st_call *call, char letter, uint64_t none)
{
    uint8_t place = call->entry->place[letter - 'a'];
    return place > 0 ? st_word(call, place - 1U) : none;
}

static inline void *st_role_pointer(const st_call *call, char letter)
{
    uint64_t word = st_role(call, letter, 0);
    void *pointer;
    memcpy(&pointer, &word, sizeof pointer);
    return pointer;
}

/* Whether a pointer may be one: handles, which programs confuse with it, are not addresses. */
static inline bool st_is_address(const void *pointer)
{
    uint64_t word;
    memcpy(&word, &pointer, sizeof word);
    return word >> 12 != 0 && word >> 47 == 0;
}

/* Writes a value where an argument points to; invalid value where that is NULL. */
uint64_t st_put_bytes(void *to, const void *value, size_t bytes);
#define ST_PUT(call, index, type, value)                                                           \
    st_put_bytes(st_pointer((call), (index)), &(type){value}, sizeof(type))

/* A string's number; the same text has the same one. */
uint32_t st_string(const char *text);
/* Mixes what a thread enqueues into its hash; sizes count by their leading bits only, and what
 * follows the data of each rank, as blocks for buckets of tokens do, by its order of magnitude. */
void st_mix(uint64_t value);
void st_mix_size(uint64_t bytes);
void st_mix_order(uint64_t value);
/* The draft becomes a misuse with CUDA's own error. */
uint64_t st_misuse(st_call *call, uint64_t error, const char *what);
/* One more record behind the draft. */
st_log_record *st_extra(st_call *call, st_log_kind kind);
/* Releases the lock while the program's own function runs. */
void st_call_back(void (*function)(void *), void *data);
/* Sleeps without the lock. */
void st_pause(uint32_t ms);
uint64_t st_host_ns(void);
/* Reads the settings, where no call has come yet. */
void st_begin_process(void);

/* The address for a name: its trampoline, or a spare one that is not supported. */
st_function st_address_of(const char *name);
/* That of the function with exactly this name; NULL: none. */
st_function st_address_of_known(const char *name);
/* That of a function of the runtime; NULL: none. */
st_function st_address_of_runtime(const char *name);

#endif
