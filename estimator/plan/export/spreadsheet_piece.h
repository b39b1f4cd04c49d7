/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of spreadsheet formulas, which spreadsheet.c puts together from expression trees.
 *
 * Every piece of text knows how tightly it binds in a spreadsheet (where a sign binds tighter than
 * a power), how deep it nests and whether it may fail: AND and OR look at all of their operands
 * there, so that operands that may fail need an IF.
 */
#ifndef STEPTIME_EXPORT_SPREADSHEET_PIECE_H
#define STEPTIME_EXPORT_SPREADSHEET_PIECE_H

#include "export/cell_names.h"
#include "program/session.h"
#include "export/spreadsheet.h"

/* Against functions that call functions twice each. */
enum {
    ST_LIVE_MAX_WORK = 500000,       /* nodes put in place, each of which is text */
    ST_LIVE_MAX_LOWERED = 100000000, /* nodes looked at to find values */
    ST_LIVE_MAX_PARTS = 100000,      /* a tenth of the rows of a spreadsheet */
    ST_LIVE_RECALLED = 64            /* calls whose text is at hand when they come again */
};

typedef enum st_strength {
    ST_BINDS_COMPARISON = 1,
    ST_BINDS_SUM,
    ST_BINDS_PRODUCT,
    ST_BINDS_POWER,
    ST_BINDS_SIGN, /* tighter than a power: -2^2 is 4 there */
    ST_BINDS_ATOM
} st_strength;

typedef struct st_piece {
    const char *text;
    size_t length;
    st_strength strength;
    unsigned depth;
    bool may_fail;
    bool single;       /* a name or a literal: nothing is gained by a cell of its own */
    const char *joins; /* "AND" or "OR": a plain call of that, which takes more operands */
} st_piece;

/* Where a tree stands: in a cell or check, or in a function with these arguments. */
typedef struct st_piece_context {
    const char *formula;
    const st_sheet_function *function; /* NULL: none */
    const st_piece *arguments;
    st_scope values;
} st_piece_context;

/* A call that was put in place, by the graph's number of its value. */
typedef struct st_recent {
    uint32_t key;
    st_piece piece;
} st_recent;

typedef struct st_translator {
    const st_sheet *sheet;
    st_session session;
    st_arena *arena;
    st_live_sheet *live;
    st_cell_names names;
    bool *may_fail;      /* per cell */
    st_live *owner;      /* the cell or check at work */
    size_t first_part;   /* of the owner */
    uint32_t *part_keys; /* the graph's value of every part */
    size_t key_capacity;
    st_recent recent[ST_LIVE_RECALLED]; /* of the owner */
    size_t recent_next;
    size_t work;
    size_t lowered;
    bool failed; /* out of memory */
    bool too_large;
} st_translator;

/* spreadsheet_piece.c: text from operands. Failures show in own->failed. */
extern const st_piece st_piece_none; /* what cannot be had: NA() */
st_piece st_piece_single(st_translator *own, const char *text);
st_piece st_piece_number(st_translator *own, double value);
st_piece st_piece_call(st_translator *own, const char *name, const st_piece *operands,
                       size_t count);
st_piece st_piece_negate(st_translator *own, const st_piece *operand);
st_piece st_piece_binary(st_translator *own, const st_expr *expr, const st_piece *operands);
st_piece st_piece_builtin(st_translator *own, const st_expr *expr, const st_piece *operands);

/* spreadsheet_expr.c: trees. */
st_piece st_translate(st_translator *own, const st_expr *expr, const st_piece_context *where);

/* What a call reads, one entry per argument. */
typedef struct st_call_columns {
    const char **labels;
    const char **formulas;
    const st_type **types;
    double *values;
} st_call_columns;

/* NULL when out of memory; the columns are the caller's to fill. */
st_live_call *st_live_call_make(st_translator *own, const st_provider *provider,
                                st_call_columns *columns);

#endif
