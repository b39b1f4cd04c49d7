/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of programs from the inside; see bounds.h. */
#ifndef STEPTIME_GUIDED_BOUNDS_INSIDE_H
#define STEPTIME_GUIDED_BOUNDS_INSIDE_H

#include "program/instructions.h"
#include "search/guided/intervals.h"

#define ST_NO_ENTRY UINT32_MAX

struct st_bounds {
    const st_program *program;
    bool *unknown;     /* per call: its provider is not asked */
    bool *open;        /* per slot: depends on such a call */
    double *values;    /* per slot that is not open */
    st_range *ranges;  /* per slot that is */
    st_range *slopes;  /* per slot that is: how an output changes with it */
    uint32_t *entries; /* per slot that is: the last one through which all that is open comes */
    double *least;     /* per slot that is: its value where providers give nothing */
};

/* Operands of an instruction that is no call. */
size_t st_operand_count(st_op op);
/* Fills the entries. */
void st_bounds_find_entries(st_bounds *self);
/* Whether a product does not fall while the slot through which all that is open comes rises. */
bool st_bounds_region_rises(const st_bounds *self, const st_instruction *target);
st_range st_bounds_range(const st_bounds *self, uint32_t slot);

#endif
