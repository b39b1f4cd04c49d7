/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering: from checked trees to the value graph. Calls of sheet functions are inlined. */
#ifndef STEPTIME_PROGRAM_LOWER_H
#define STEPTIME_PROGRAM_LOWER_H

#include "program/impossible.h"
#include "program/values.h"
#include "sheet/binding.h"

typedef struct st_lowering {
    const st_sheet *sheet;
    st_dataflow graph;
    uint32_t *cells;                        /* value of every cell that was lowered */
    const st_provider **cell_providers;     /* per cell, NULL: the formula */
    const st_provider **function_providers; /* per function */
    size_t *order;                          /* of evaluation of the cells */
    st_absence absence;                     /* of members of families */
    bool has_readers; /* some provider reads cells, or gives one: formulas do not give the order */
    bool *marked;     /* per function: the cells that its providers read are marked */
    bool *searched;   /* per function: its calls are known to have bodies, or were reported */
    bool lacks;       /* some function has neither formula nor provider */
    size_t work;      /* nodes walked, against exponential inlining */
    bool too_large;
} st_lowering;

/* Values of the arguments of the function whose body is lowered; NULL outside of functions. */
typedef const uint32_t *st_scope;

/* Binds the providers; errors where one fits nothing. */
st_status st_lowering_begin(st_lowering *lowering, const st_sheet *sheet,
                            const st_program_options *options, st_arena *arena,
                            st_errors *errors) ST_NODISCARD;

/* Lowers the cells marked in `needed` and whatever they need (marks are added). */
st_status st_lowering_cells(st_lowering *lowering, bool *needed, st_errors *errors) ST_NODISCARD;
/* Lowers every other cell that can be, so that what a provider replaces can be shown, too. */
void st_lowering_rest(st_lowering *lowering);
/* Reports every function that a tree calls and that has neither formula nor provider. */
st_status st_lowering_search(st_lowering *lowering, const st_expr *expr,
                             st_errors *errors) ST_NODISCARD;
/* Marks the cells that a tree reads, and those that providers of the functions in it read. */
void st_lowering_mark(st_lowering *lowering, const st_expr *expr, bool *needed);
/* The value of what a provider reads; `arguments` are those of the function it replaces. */
uint32_t st_lowering_read(st_lowering *lowering, const st_read *read, st_scope arguments);

/* The value of a tree; cells that it reads must be lowered. ST_NO_VALUE when it fails. */
uint32_t st_lower(st_lowering *lowering, const st_expr *expr, st_scope scope);
st_status st_lowering_status(const st_lowering *lowering, st_errors *errors) ST_NODISCARD;

#endif
