/* SPDX-License-Identifier: Apache-2.0 */
/* A table of steps as its reader leaves it: statements with expressions in postfix order. */
#ifndef STEPTIME_FABRIC_STEPS_TEXT_H
#define STEPTIME_FABRIC_STEPS_TEXT_H

#include "fabric/step_table.h"

enum {
    ST_STEPS_MAX_STATEMENTS = 100000,
    ST_STEPS_MAX_NAMES = 12, /* r, n, g, m and the variables of loops */
    ST_STEPS_MAX_DEPTH = 8
};

/* Places of the names that every table knows. */
enum { ST_STEPS_RANK, ST_STEPS_RANKS, ST_STEPS_PER_NODE, ST_STEPS_NODES, ST_STEPS_FIRST_LOOP };

typedef struct st_steps_code {
    char op; /* '#' a number, 'v' a variable; + - * / % x ^ l ~ = ! < > { } */
    int64_t value;
} st_steps_code;

typedef struct st_steps_expr {
    const st_steps_code *codes;
    size_t count;
} st_steps_expr;

typedef enum st_step_kind {
    ST_STEP_SEND,
    ST_STEP_REDUCE,
    ST_STEP_COPY,
    ST_STEP_FOR,
    ST_STEP_IF,
    ST_STEP_END
} st_step_kind;

typedef struct st_statement {
    st_step_kind kind;
    int line;
    size_t variable;       /* of a loop */
    size_t end;            /* of a loop or condition: the statement that closes it */
    st_steps_expr chunk;   /* a loop's begin, a condition */
    st_steps_expr count;   /* chunks; a loop's end */
    st_steps_expr partner; /* the other rank */
} st_statement;

struct st_steps {
    const char *file;
    int line; /* of `collective` */
    st_collective collective;
    int64_t ranks; /* 0: any */
    bool multiple; /* of `ranks` */
    bool power;    /* of `ranks` */
    st_steps_expr chunks;
    st_statement *statements;
    size_t count;
};

/* The value of an expression; false where there is none: a division by zero, too large a number. */
bool st_steps_value(const st_steps_expr *expr, const int64_t *names, int64_t *value);

#endif
