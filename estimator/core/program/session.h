/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program run for one row with every intermediate value at hand.
 *
 * Explaining and error-finding need the value of any piece of any formula. A session compiles the
 * sheet again with the same compiler, runs every value of the graph with the same operations, and
 * answers for a tree by lowering it once more: an equal tree gives the value that is already there.
 */
#ifndef STEPTIME_PROGRAM_SESSION_H
#define STEPTIME_PROGRAM_SESSION_H

#include "program/instructions.h"

typedef struct st_session {
    const st_program *program;
    st_lowering lowering;
    const double *inputs;
    double *values; /* per graph value */
    size_t value_count;
    size_t value_capacity;
    const bool *needed; /* per cell: an output or a check needs it */
    st_style style;     /* of numbers that are shown */
    bool failed;        /* memory ran out: values asked for since then mean nothing */
} st_session;

st_status st_session_begin(st_session *session, const st_program *program, const double *inputs,
                           st_arena *arena, st_errors *errors) ST_NODISCARD;

/* Computes what was lowered since the last time; failures show in session->failed. */
void st_session_catch_up(st_session *session);
/* The graph's number for the value of a tree, ST_NO_VALUE where it has none. */
uint32_t st_session_lower(st_session *session, const st_expr *expr, st_scope scope);
/* The value of a tree; NaN (and session->failed) when memory ran out. */
double st_session_value(st_session *session, const st_expr *expr, st_scope scope);
/* Values of a call's arguments, for the scope of the function's body. */
void st_session_arguments(st_session *session, const st_expr *call, st_scope scope,
                          uint32_t *arguments);
double st_session_value_of(const st_session *session, uint32_t value);
/* The value of a cell by its index, as the program has it (a provider's where one is bound). */
double st_session_cell(const st_session *session, size_t cell);

/*
 * Asks a provider again, alone: its value (NaN where it refuses) and what it says about it.
 * `arguments` are those of the function that it replaces, NULL where that is a cell.
 */
double st_session_ask(st_session *session, const st_sheet_function *function,
                      const st_provider *provider, st_scope arguments,
                      st_provider_account *account);

/* True where `child` of an operation had no say in the result: a branch not taken. */
bool st_session_skips(st_session *session, const st_expr *expr, size_t child, st_scope scope);

#endif
