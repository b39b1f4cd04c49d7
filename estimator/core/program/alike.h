/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single rows that come again and again with the same switches: truth values, members of
 * enumerations, and zeros, of which a job has one for each key that it lacks. What depends on
 * these alone is the same in each row, and what a condition on them leaves out is in none; the
 * rest, half of a sheet or less, is listed once and then run alone.
 */
#ifndef STEPTIME_PROGRAM_ALIKE_H
#define STEPTIME_PROGRAM_ALIKE_H

#include "program/workspace.h"

enum { ST_ALIKE_ROWS = 64 }; /* before their list pays */

struct st_alike {
    double *switches;     /* per input: the value that it has had */
    bool *is_switch;      /* per input */
    uint64_t *masks;      /* per input: the bits that may not differ */
    st_instruction *list; /* what the other inputs change; one of ST_OP_CONSTANT ends it */
    size_t rows;          /* that have had these switches */
    bool is_listed;
};

/* What a row has to run, before its inputs are written: all of the program, or that list. */
const st_instruction *st_alike_list(st_workspace *workspace, const double *inputs);
/* Fills `rest` with the instructions in the order of single rows; those that the switches settle or
 * leave out, and those that repeat another value, are of ST_OP_CONSTANT, and nothing reads them.
 * False when out of memory. */
bool st_alike_rest(st_workspace *workspace, const bool *is_switch, const double *inputs,
                   st_instruction *rest);
/* The values of the workspace are those of another run. */
void st_alike_forget(st_workspace *workspace);
void st_alike_destroy(st_alike *alike); /* NULL is fine */

#endif
