/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of one recorded run, whichever profiler recorded it, and which of them communicate.
 */
#ifndef STEPTIME_CALIBRATE_SLOWDOWN_RECORDED_H
#define STEPTIME_CALIBRATE_SLOWDOWN_RECORDED_H

#include "trace/link.h"

/* Of a collective; "" and 0 for what is not known. Names are those of a table of kernels. */
typedef struct st_recorded_collective {
    const char *collective; /* "all_reduce" */
    const char *protocol;   /* "LL", "LL128", "Simple" */
    const char *algorithm;  /* "ring", "tree", ... */
    double bytes;
    int64_t channels;
} st_recorded_collective;

typedef struct st_recorded_kernel {
    const char *name;
    int64_t device;
    int64_t stream;
    int64_t start_ns;
    int64_t end_ns;
    int64_t grid[3]; /* 0: not known */
    int64_t block[3];
    const st_recorded_collective *collective; /* NULL: it computes */
} st_recorded_kernel;

typedef struct st_recorded {
    const char *file;
    const char *gpu;             /* as the recording spells it, "" where it does not say */
    st_recorded_kernel *kernels; /* by start */
    size_t count;
} st_recorded;

enum { ST_RECORDED_MAX_KERNELS = 4000000 };

/*
 * Reads a trace of Kineto, or a database that 'nsys export --type sqlite' wrote. Everything lives
 * in `arena`. Refused: what the reader of traces refuses, a database without the table of kernels,
 * and a recording without kernels.
 */
st_status st_recorded_read(const char *path, st_arena *arena, st_recorded *recorded,
                           st_errors *errors) ST_NODISCARD;

/* What the name of a kernel of NCCL gives away; NULL where it is none, or without memory. */
st_recorded_collective *st_recorded_collective_of(const char *name, st_arena *arena);
/* Which collective a name speaks of, "" for none. */
const char *st_recorded_collective_word(const char *name);

/* The database of Nsight Systems alone; for st_recorded_read. */
st_status st_recorded_read_nsys(const char *path, st_arena *arena, st_recorded *recorded,
                                st_errors *errors) ST_NODISCARD;

#endif
