/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the checker share: types, errors with their places, demands. */
#ifndef STEPTIME_SHEET_CHECK_PARTS_H
#define STEPTIME_SHEET_CHECK_PARTS_H

#include "sheet/check.h"

/* A number in base units, a value of an enumeration: the same one every time. */
const st_type *st_checker_number(st_checker *checker, st_dimension dimension);
const st_type *st_checker_value(st_checker *checker, const st_enum *enumeration);
/* Values without a kind of their own count by their dimension. */
bool st_checker_is_same(const st_type *a, const st_type *b);
const char *st_checker_describe_type(st_checker *checker, const st_type *type);
/* "'V' (B)": an operand as written, with its type. */
const char *st_checker_describe(st_checker *checker, const st_expr *expr);

/* Finding a place takes a walk through the text: not for an error that nobody will see. */
st_place st_checker_place(const st_checker *checker, size_t offset);
/* Adds an error; returns false. */
bool st_checker_fail(st_checker *checker, size_t offset, st_status status, const char *format, ...)
    ST_PRINTF(4, 5);

/* True where the expression is a value (or a choice of values) of a not yet known enumeration. */
bool st_checker_is_unsettled(const st_expr *expr);
/* Whether the expression is settled and of the type: nothing is left to report. */
bool st_checker_fits(const st_expr *expr, const st_type *type);
/* Gives an unsettled expression its enumeration. */
bool st_checker_settle(st_checker *checker, st_expr *expr, const st_enum *enumeration);
bool st_checker_refuse_unsettled(st_checker *checker, const st_expr *expr);

/* Demands; `what` begins the message, e.g. "'+'". */
bool st_checker_need_number(st_checker *checker, const st_expr *expr, const char *what);
bool st_checker_need_truth(st_checker *checker, const st_expr *expr, const char *what);
bool st_checker_need_pure(st_checker *checker, const st_expr *expr, const char *what);
/* Both sides of `what` must have one type; an unsettled side takes the other's enumeration. */
bool st_checker_need_same(st_checker *checker, size_t offset, st_expr *a, st_expr *b,
                          const char *what);

/* check_index.c: why a name with an index, or a family's without one, names no cell; false. */
bool st_checker_refuse_index(st_checker *checker, const st_expr *expr);

/* The operands are typed on the way. */
bool st_checker_call(st_checker *checker, st_expr *expr);

#endif
