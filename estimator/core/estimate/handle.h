/* SPDX-License-Identifier: Apache-2.0 */
/* What is behind the st_estimate of steptime/estimate.h: the estimate, and all that it lives on. */
#ifndef STEPTIME_ESTIMATE_HANDLE_H
#define STEPTIME_ESTIMATE_HANDLE_H

#include "estimate/estimate_internal.h"

typedef struct st_estimate_handle {
    st_estimate estimate; /* first: the public pointer is one to it */
    st_arena *texts;      /* of the request, as long as the handle lives */
    st_arena *arena;      /* what was loaded, anew after each st_estimate_set */
    st_paths *paths;
    st_request request;
    const char **sets; /* request.sets, which grow */
    size_t set_capacity;
    const char *const *cells; /* that were asked for, 0: those of the report */
    size_t cell_count;
    bool all;
} st_estimate_handle;

/* Of an estimate that st_estimate_create made. */
st_estimate_handle *st_estimate_handle_of(st_estimate *estimate);

/* Computes the requested cells if necessary; a report can be written afterwards. */
st_status st_estimate_complete(st_estimate_handle *handle, st_errors *errors) ST_NODISCARD;
/* Adds a cell or input to what is computed, and computes; after an error that leaves no values,
 * nothing has changed. */
st_status st_estimate_want(st_estimate_handle *handle, const char *name,
                           st_errors *errors) ST_NODISCARD;

#endif
