/* SPDX-License-Identifier: Apache-2.0 */
/* Values of roles of a job, as formulas give them, or plugins that the request names, unchecked;
 * and the checks without values. */
#ifndef STEPTIME_ESTIMATE_ROLE_VALUES_H
#define STEPTIME_ESTIMATE_ROLE_VALUES_H

#include "estimate/estimate_internal.h"
#include "steptime/tool/roles.h"

/* One value for each item, in base units; one that the sheet does not fill is an error. */
st_status st_estimate_roles(const st_paths *paths, const st_request *request,
                            const st_role_list *roles, st_arena *arena, double *values,
                            st_errors *errors) ST_NODISCARD;

/* Errors of the sheet's checks, as an estimate of the request has them; warnings and limits, as of
 * memory, are left out. */
st_status st_estimate_check_plan(const st_paths *paths, const st_request *request, st_arena *arena,
                                 st_errors *errors) ST_NODISCARD;

#endif
