/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors that whoever asked knows better than who finds them: between st_errors_enter and
 * st_errors_leave every error that is added goes through `edit` first, which may change it (its
 * place, its words) or drop it. Scopes nest, the innermost first. A list that is NULL has none.
 *
 *     st_error_scope scope = {st_error_is_severe};
 *     st_errors_enter(errors, &scope);
 *     status = st_job_load(paths, name, sets, count, arena, &job, errors);
 *     st_errors_leave(errors, &scope);
 */
#ifndef STEPTIME_BASE_ERROR_SCOPE_H
#define STEPTIME_BASE_ERROR_SCOPE_H

#include "steptime/status.h"

/* False drops the error; `errors` is for texts. */
typedef bool st_error_edit(const void *context, st_errors *errors, st_error *error);

typedef struct st_error_scope {
    st_error_edit *edit;
    const void *context;
    struct st_error_scope *outer; /* set by st_errors_enter */
} st_error_scope;

void st_errors_enter(st_errors *errors, st_error_scope *scope);
void st_errors_leave(st_errors *errors, const st_error_scope *scope);

/* Drops warnings and limits, where they were reported before. */
st_error_edit st_error_is_severe;
/* Begins messages with the text of `context` and a colon. */
st_error_edit st_error_name;

#endif
