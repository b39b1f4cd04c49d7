/* SPDX-License-Identifier: Apache-2.0 */
/* What every room says where an allocation fails. */
#ifndef STEPTIME_BASE_MEMORY_H
#define STEPTIME_BASE_MEMORY_H

#include "steptime/status.h"

/* Adds the error of a failed allocation, which needs no memory, and returns ST_ERR_MEMORY. */
static inline st_status st_out_of_memory(st_errors *errors)
{
    (void)st_errors_add(
        errors, &(st_error){.status = ST_ERR_MEMORY, .message = st_status_text(ST_ERR_MEMORY)});
    return ST_ERR_MEMORY;
}

#endif
