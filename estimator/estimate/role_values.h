/* SPDX-License-Identifier: Apache-2.0 */
/* Values of roles of a job, as formulas give them: nothing is checked, and no plugin asked. */
#ifndef STEPTIME_ESTIMATE_ROLE_VALUES_H
#define STEPTIME_ESTIMATE_ROLE_VALUES_H

#include "estimate/estimate_internal.h"
#include "sheet/roles.h"

/* One value for each item, in base units; one that the sheet does not fill is an error. */
st_status st_estimate_roles(const st_paths *paths, const st_request *request,
                            const st_role_list *roles, st_arena *arena, double *values,
                            st_errors *errors) ST_NODISCARD;

#endif
