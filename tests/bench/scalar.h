/* SPDX-License-Identifier: Apache-2.0 */
/* The plain C that scalar_gen.c writes from a sheet; outputs in the order of the sheet's cells. */
#ifndef STEPTIME_TESTS_SCALAR_H
#define STEPTIME_TESTS_SCALAR_H

#include <stddef.h>

void scalar_run(size_t rows, const double *const *inputs, double *const *outputs);
/* step_time, memory and mfu of the sheet megatron, then its checks. */
void megatron_run(size_t rows, const double *const *inputs, double *const *outputs);

#endif
