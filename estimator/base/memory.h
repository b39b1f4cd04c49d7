/* SPDX-License-Identifier: Apache-2.0 */
/* What every module says where something fails. */
#ifndef STEPTIME_BASE_MEMORY_H
#define STEPTIME_BASE_MEMORY_H

#include "base/lists.h"
#include "steptime/status.h"

/* Adds the error of a failed allocation, which needs no memory, and returns ST_ERR_MEMORY. */
static inline st_status st_out_of_memory(st_errors *errors)
{
    (void)st_errors_add(
        errors, &(st_error){.status = ST_ERR_MEMORY, .message = st_status_text(ST_ERR_MEMORY)});
    return ST_ERR_MEMORY;
}

/*
 * An error of something that goes on after errors, as st_fail: any structure with `errors` and the
 * `status` of the first of them.
 */
#define ST_NOTE(self, ...) st_note(&(self)->status, st_fail((self)->errors, __VA_ARGS__))

#endif
