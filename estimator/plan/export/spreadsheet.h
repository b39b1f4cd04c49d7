/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sheet as spreadsheet formulas.
 *
 * Every cell and check becomes a formula over defined names, in base units, in the grammar that
 * Excel and LibreOffice share. Calls of the sheet's functions are put in place. What would make a
 * formula too long, or be computed twice, becomes a part: a formula with a cell of its own. What a
 * provider computes is a value with the arguments that it was computed from.
 */
#ifndef STEPTIME_EXPORT_SPREADSHEET_H
#define STEPTIME_EXPORT_SPREADSHEET_H

#include "program/program.h"

/* A value that a provider gave for these arguments. */
typedef struct st_live_call {
    const st_provider *provider;
    const char *const *labels;   /* of the arguments: what they are called */
    const char *const *formulas; /* as they are now */
    const st_type *const *types;
    const double *values; /* as they were, base units */
} st_live_call;

typedef struct st_live {
    const char *name;         /* the defined name */
    const char *formula;      /* without "="; NULL: a value, or nothing at all where it is NaN */
    const char *text;         /* of a part: the piece of the sheet's formula that it replaces */
    const char *owner;        /* of a part: the cell or check; of others NULL */
    const st_type *type;      /* of the value, as the sheet declares it */
    const st_live_call *call; /* NULL: no provider */
    const char *with;         /* the provider of a value that the formula reads; NULL: none */
    double value;             /* base units; NaN: there is none */
} st_live;

typedef struct st_live_sheet {
    const char *const *input_names; /* one defined name per input of the sheet */
    st_live *cells;                 /* as many as the sheet has, in its order */
    st_live *checks;
    st_live *parts; /* in the order in which formulas need them */
    size_t part_count;
    size_t part_capacity;
    const st_enum *enums; /* of the sheet */
    const bool *exact;    /* per enumeration: some of its values differ in case alone */
} st_live_sheet;

enum {
    ST_LIVE_LENGTH = 2000, /* of a formula, unless names alone make it longer; Excel: 8,192 */
    ST_LIVE_DEPTH = 40,    /* levels of calls and parentheses; Excel: 64 */
    ST_LIVE_SHORT = 24 /* up to this length, an argument that a function uses twice stays inline */
};

/*
 * Translates the sheet of a program with its providers; `inputs` are the values for which formulas
 * show results until they are computed anew. Everything lives in `arena`.
 */
st_status st_live_translate(const st_program *program, const double *inputs, st_arena *arena,
                            st_live_sheet *live, st_errors *errors) ST_NODISCARD;

/* Whether texts of an enumeration must be compared with EXACT, for "=" knows no case. */
bool st_live_is_exact(const st_live_sheet *live, const st_enum *enumeration);

#endif
