/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measured collectives as nccl-tests prints them: text logs behind whatever a launcher puts in
 * front of a line, the JSON of newer versions, and CSV; and as others print them.
 *
 * A reader takes what a log says of itself (collective, ranks, nodes, GPUs, version of NCCL) and
 * asks for what it does not say. Lines into which others were written are put together again; a row
 * that cannot be is left out with a warning. A log that ends inside of a row is refused: what else
 * it lacks, nobody knows.
 */
#ifndef STEPTIME_CALIBRATE_COLLECTIVES_NCCL_TABLE_H
#define STEPTIME_CALIBRATE_COLLECTIVES_NCCL_TABLE_H

#include "steptime/arena.h"

enum {
    ST_NCCL_MAX_RANKS = 1 << 20,
    ST_NCCL_MAX_TABLES = 256,
    ST_NCCL_MAX_ROWS = 100000 /* of one table */
};

/* The largest message that a row may have: more than any machine holds. */
#define ST_NCCL_MAX_BYTES 1125899906842624.0 /* 2^50 */

/* Where the result lies: nccl-tests measures each size twice. */
typedef enum st_nccl_buffers {
    ST_NCCL_OUT_OF_PLACE,
    ST_NCCL_IN_PLACE,
    ST_NCCL_ANY /* out of place where the table has it, else in place */
} st_nccl_buffers;

typedef struct st_nccl_row {
    double size_bytes;   /* as nccl-tests counts: the larger of what a rank sends and receives */
    double time_s[2];    /* by st_nccl_buffers; NaN where there is none */
    double bandwidth[2]; /* size over time as printed, byte/s; NaN where there is none */
    double slack[2];     /* half of its last digit */
    double bus[2];       /* busbw as printed, byte/s */
    double bus_slack[2]; /* half of its last digit; 0: none is printed */
    double wrong;        /* results that are not right */
    int line;
} st_nccl_row;

/* What a list of devices says of the first group of ranks. */
typedef struct st_nccl_list {
    size_t count; /* 0: none are listed */
    size_t first; /* ranks */
    size_t last;
    size_t per_host;    /* of a host of which the first device is listed, up to ends_at */
    size_t ends_at;     /* its last rank that is listed */
    bool is_followed;   /* by the next rank, on another host */
    bool is_repeated;   /* a rank is there twice */
    const char *uneven; /* hosts with different numbers of ranks: which; NULL: none */
} st_nccl_list;

typedef struct st_nccl_table {
    const char *file;
    int line;               /* of its heading */
    const char *collective; /* the function of a sheet: "all_reduce" */
    size_t ranks;
    size_t nodes;
    st_nccl_list list;
    size_t trays;       /* which NVLink joins to these nodes, 18 of an NVL72; 0: as many as nodes */
    const char *gpu;    /* "NVIDIA H100 80GB HBM3"; "" unknown */
    const char *fabric; /* what connects the nodes, where a file says it; "" unknown */
    st_place fabric_at; /* where it says so */
    const char *version; /* of NCCL, "2.22.3"; "" unknown */
    const char *source;  /* where the numbers come from, where a file says it; "" unknown */
    st_nccl_row *rows;   /* sizes above 0, a time above 0 in the chosen buffers */
    size_t row_count;
    st_nccl_buffers buffers; /* those that were chosen; ST_NCCL_ANY: nobody has chosen yet */
    size_t left_out;         /* rows without a size, or broken */
    bool sizes_of_osu;       /* as OSU counts them, until the whole file is read */
} st_nccl_table;

typedef struct st_nccl_request {
    const char *collective; /* only this one, also where the file names none; NULL: what it says */
    size_t ranks;           /* where the file does not say, 0: what it says */
    size_t nodes;
    size_t domain; /* GPUs that NVLink joins in the cluster; 0: what the table says */
    st_nccl_buffers buffers;
    bool chooses_later; /* the caller calls st_nccl_choose */
    bool may_lack;      /* a file without a table is none, with a warning */
} st_nccl_request;

typedef struct st_nccl_input {
    const char *file;
    const char *text; /* of any bytes */
    size_t length;
} st_nccl_input;

/*
 * Reads all tables of a file, which must be of one collective. The results of nccl-tests,
 * rccl-tests, mscclpp-test, MSCCL++'s benchmark, the OSU micro-benchmarks and look-up tables
 * ("size(B),...,time(ns)") are read by their headings. Refused, with file and line: no table,
 * tables of different collectives, times of zero, sizes above ST_NCCL_MAX_BYTES, a file that ends
 * inside of a row, no row left, a number of ranks that nodes do not share evenly, a collective or a
 * number of ranks that neither file nor request name.
 */
st_status st_nccl_read(const st_nccl_request *request, const st_nccl_input *input, st_arena *arena,
                       st_nccl_table **tables, size_t *count, st_errors *errors) ST_NODISCARD;

/* Chooses the buffers and leaves out rows that lack them; a table that has none left is refused. */
st_status st_nccl_choose(st_nccl_table *table, st_nccl_buffers wanted,
                         st_errors *errors) ST_NODISCARD;

/*
 * Puts tables that hold one half of a run each together, before buffers are chosen: "x.csv" and
 * "x.inplace.csv", or two that name the same source and agree in all else. Halves whose names say
 * that they are one run and whose contents do not are refused. *count falls.
 */
st_status st_nccl_join_runs(st_nccl_table **tables, size_t *count, st_errors *errors) ST_NODISCARD;

/* Rejects in-place times next to out-of-place times of another run of the same kind; of each table
 * they are chosen. */
st_status st_nccl_check_runs(const st_nccl_table *const *tables, size_t count,
                             st_errors *errors) ST_NODISCARD;

/* The function of a sheet for "all_reduce_perf", "AllReduce", "alltoall"; NULL: none. */
const char *st_nccl_collective(const char *name, size_t length);

/* The time of the chosen buffers. */
static inline double st_nccl_time(const st_nccl_table *table, const st_nccl_row *row)
{
    return row->time_s[table->buffers];
}

/* The place of its heading. */
static inline st_place st_nccl_place_of(const st_nccl_table *table)
{
    return (st_place){.file = table->file, .line = table->line};
}

#endif
