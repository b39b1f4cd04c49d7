/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas with numbers in place of names. */
#ifndef STEPTIME_PROGRAM_SUBSTITUTE_H
#define STEPTIME_PROGRAM_SUBSTITUTE_H

#include "program/session.h"

/* A tree with the text that it came from and, inside of a function, the values of the arguments. */
typedef struct st_formula_view {
    const char *text;
    const st_expr *expr;
    st_scope scope;
    const st_sheet_function *function; /* NULL: a cell or a check */
} st_formula_view;

/* Appends the formula with the value of every name in its place. */
void st_show_numbers(st_session *session, const st_formula_view *shown, st_buffer *buffer);
/* The value of a name node, and its declared type. */
double st_show_name(st_session *session, const st_formula_view *shown, const st_expr *name,
                    const st_type **type);

#endif
