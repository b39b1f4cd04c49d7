/* SPDX-License-Identifier: Apache-2.0 */
/* Measurements that a sheet asks for and a job leaves to defaults, in reports. */
#ifndef ST_RESTS_ON_DEFAULTS_H
#define ST_RESTS_ON_DEFAULTS_H

#include "estimate/summary_values.h"

/* What the summary wants measured and the job leaves to defaults that move the first shown value,
 * with the sizes that it prices. */
void st_rests_put(const st_estimate *estimate, const st_summary_values *values, st_node *root);

#endif
