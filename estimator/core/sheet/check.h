/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checker of single expressions.
 */
#ifndef STEPTIME_SHEET_CHECK_H
#define STEPTIME_SHEET_CHECK_H

#include "sheet/internal.h"
#include "sheet/unit_faults.h"

typedef struct st_checker {
    st_sheet *sheet;
    st_errors *errors;
    st_arena *arena;       /* of what follows */
    const st_type **types; /* of expressions, each once */
    size_t type_count;
    const st_formula *formula;         /* the one being checked */
    const st_sheet_function *function; /* whose body it is; NULL: a cell, a check or a message */
    st_unit_faults *faults;
} st_checker;

/* Resolves and types a tree; false when an error was reported. */
bool st_checker_expr(st_checker *checker, st_expr *expr) ST_NODISCARD;
/* Demands a type of an already typed tree; `what` begins the message, e.g. "cell 'T'". */
bool st_checker_expect(st_checker *checker, st_expr *expr, const st_type *type, const char *what);

#endif
