/* SPDX-License-Identifier: Apache-2.0 */
/* One error for a mistyped unit, however many formulas it spoils; see unit_faults.c. */
#ifndef STEPTIME_SHEET_UNIT_FAULTS_H
#define STEPTIME_SHEET_UNIT_FAULTS_H

#include "sheet/internal.h"

/* The text of a unit that could not be read. */
#define ST_UNIT_UNKNOWN "?"

/* A formula that was refused. */
typedef struct st_unit_fault {
    const st_expr *expr;
    st_name_kind kind; /* whose it is: a cell's, a function's, or nobody's */
    size_t owner;
    size_t error; /* its first one in the list */
    size_t errors;
} st_unit_fault;

typedef struct st_unit_faults {
    st_unit_fault items[ST_ERRORS_KEPT];
    size_t count;
} st_unit_faults;

/* Adds what was found to `errors`, of formulas that one name spoils the first alone. */
void st_unit_faults_report(const st_sheet *sheet, st_unit_faults *faults, const st_errors *found,
                           st_errors *errors);

#endif
