/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of families that a job cannot have.
 *
 * A member that exists `where` a condition holds is zero elsewhere, and maxima pass over it. Where
 * what is given of the inputs, whatever else rows change, makes the condition false, a program
 * leaves the member out: terms of sums that it makes zero are passed over, and nobody computes what
 * it would be. Every value stays what it is.
 */
#ifndef STEPTIME_PROGRAM_IMPOSSIBLE_H
#define STEPTIME_PROGRAM_IMPOSSIBLE_H

#include "sheet/internal.h"
#include "steptime/tool/providers.h"

/* What is given of the inputs; `value` is false for one that rows may change. */
typedef struct st_given {
    bool (*value)(const void *context, const st_sheet_input *input, double *value);
    const void *context;
} st_given;

/* A number as far as it is known. */
typedef struct st_guess {
    bool known;
    double value;
} st_guess;

typedef struct st_absence {
    const st_sheet *sheet;
    const st_given *given;               /* NULL: nothing is left out */
    const st_provider *const *providers; /* per cell; NULL, as the list may be: its formula */
    bool asks_providers;                 /* those that read nothing; else cells are unknown */
    double *values;                      /* per cell, where the next one says ST_KNOWN */
    uint8_t *asked;                      /* of type st_asked */
    uint8_t *states;                     /* of type st_presence */
    size_t depth;                        /* in cells that read each other */
} st_absence;

typedef enum st_asked { ST_NOT_ASKED, ST_UNKNOWN, ST_KNOWN } st_asked;

typedef enum st_presence { ST_UNDECIDED, ST_PRESENT, ST_ABSENT } st_presence;

/* False when out of memory. */
bool st_absence_begin(st_absence *absence, const st_sheet *sheet, const st_given *given,
                      const st_provider *const *providers, st_arena *arena) ST_NODISCARD;
/* What a tree is; known only where conditions over what is given say it. */
st_guess st_absence_guess(st_absence *absence, const st_expr *expr);
/* Whether a choice that a family put in place is known to be the other branch. */
bool st_absence_refutes(st_absence *absence, const st_expr *choice);
st_presence st_absence_decide(st_absence *absence, size_t cell);
bool st_absence_is_zero(st_absence *absence, const st_expr *expr);

/* The same of any tree: few are choices. */
static inline bool st_absence_denies(st_absence *absence, const st_expr *expr)
{
    return expr->guards && absence->given != NULL && st_absence_refutes(absence, expr);
}

static inline bool st_absence_has_cell(st_absence *absence, size_t cell)
{
    if (absence->given == NULL)
        return false;
    const uint8_t state = absence->states[cell];
    return (state == ST_UNDECIDED ? st_absence_decide(absence, cell) : state) == ST_ABSENT;
}

/* Whether a product or quotient is zero because a member that is left out makes it so. */
static inline bool st_absence_has_term(st_absence *absence, const st_expr *expr)
{
    const bool may_be = expr->kind == ST_EXPR_BINARY
                            ? expr->op == ST_OPERATOR_TIMES || expr->op == ST_OPERATOR_DIVIDE
                            : expr->kind == ST_EXPR_NAME || expr->builtin == ST_BUILTIN_IF;
    return may_be && absence->given != NULL && st_absence_is_zero(absence, expr);
}

#endif
