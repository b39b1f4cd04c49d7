/* SPDX-License-Identifier: Apache-2.0 */
/* Equations 2 to 5 of Echo, with the times of their symbols from a table by chunk size. */
#ifndef ST_ECHO_H
#define ST_ECHO_H

#include "model.h"

#define ST_ECHO_ROWS 64

enum { ST_ECHO_ROUND, ST_ECHO_OPERATION };

typedef struct st_echo_row {
    double size_bytes;  /* of the message */
    double chunk_bytes; /* nominal */
    double alpha_us;    /* set-up */
    double beta_us;     /* inside a machine */
    double gamma_us;    /* between machines */
    double reduce_us;   /* reduction of the whole message */
} st_echo_row;

typedef struct st_echo_table {
    size_t count;
    double ranks; /* of the group that was measured */
    double per_node;
    st_echo_row rows[ST_ECHO_ROWS]; /* by rising size */
} st_echo_table;

/* Symbols of the equations for one message. */
typedef struct st_echo_symbols {
    double alpha_us;
    double beta_us;
    double gamma_us;
    double delta_us_per_byte;
    double eta;
} st_echo_symbols;

/* Reads a table; NULL, or what is wrong with it and in which line. */
const char *st_echo_parse(const char *text, size_t length, st_echo_table *table, size_t *line);

/* Times at a chunk of so many bytes: between rows straight in the logarithms, beyond them as at the
 * last row. Rows with equal chunks count as their mean. */
st_echo_symbols st_echo_look_up(const st_echo_table *table, double chunk_bytes);

/* Equations 2 to 5, in parts. `line` of the answer is NULL. */
st_nccl_answer st_echo_ring(const st_nccl_group *group, int collective, double bytes,
                            const st_echo_symbols *symbols);
st_nccl_answer st_echo_tree(const st_nccl_group *group, double bytes,
                            const st_echo_symbols *symbols);

/* The table read as times of a whole operation: their sum at so many bytes. */
st_nccl_answer st_echo_operation(const st_echo_table *table, double bytes);

#endif
