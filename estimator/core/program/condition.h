/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions of a caller in addition to the sheet's checks: a sweep or a search may demand
 * "memory <= 72[GiB]" in the sheet's own language.
 */
#ifndef STEPTIME_PROGRAM_CONDITION_H
#define STEPTIME_PROGRAM_CONDITION_H

#include "steptime/sheet.h"

typedef struct st_conditions {
    const char *option; /* with which they came: "--where" */
    const char *const *texts;
    size_t count;
} st_conditions;

/*
 * A sheet that differs from `sheet` only in further checks behind its own, one per text. Every text
 * is parsed, resolved and unit-checked as a check of the sheet would be; all errors are reported,
 * each at "OPTION 'TEXT'". The new sheet lives in `arena` and refers to the old one.
 */
st_status st_sheet_with_conditions(const st_sheet *sheet, const st_conditions *conditions,
                                   st_arena *arena, const st_sheet **extended,
                                   st_errors *errors) ST_NODISCARD;

#endif
