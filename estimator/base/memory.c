/* SPDX-License-Identifier: Apache-2.0 */
/* The one error that all rooms share; see memory.h. */
#include "base/memory.h"

st_status st_out_of_memory(st_errors *errors)
{
    return st_errors_add(
        errors, &(st_error){.status = ST_ERR_MEMORY, .message = st_status_text(ST_ERR_MEMORY)});
}
