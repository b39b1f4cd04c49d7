/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of families that a job cannot have, left out when a sheet is read for it alone.
 *
 * A member that exists `where` a condition holds is zero elsewhere. Where what is known of the job
 * makes the condition false, the member is zero at once: its formula is neither expanded nor
 * checked, and sums pass over it. The other members get their trees and no texts: who has to show a
 * formula reads the sheet again, as a whole. Every value stays what it is.
 */
#ifndef STEPTIME_SHEET_LEFT_OUT_H
#define STEPTIME_SHEET_LEFT_OUT_H

#include "sheet/internal.h"

/* What is known before a sheet is read; `value` is false for an input that is not, or may change.
 */
typedef struct st_given {
    bool (*value)(const void *context, const st_sheet_input *input, double *value);
    const void *context;
} st_given;

/* Marks the members that the conditions exclude; before the sheet is expanded. */
void st_sheet_leave_out(st_sheet *sheet, const st_given *given, st_arena *arena);

/* As st_sheet_load; `given` NULL: nothing is left out. */
st_status st_sheet_load_given(const st_sheet_reader *reader, const char *name,
                              const st_given *given, st_arena *arena, const st_sheet **sheet,
                              st_errors *errors) ST_NODISCARD;

#endif
