/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions over scalars, and providers. */
#ifndef STEPTIME_PROGRAM_SCALAR_H
#define STEPTIME_PROGRAM_SCALAR_H

#include "program/instructions.h"

/* Runs the whole program for one row; scalars[slot] is a slot's value, inputs and constants set. */
void st_scalars_run(const st_program *program, double *scalars);
/* Runs one instruction. */
void st_scalars_run_one(const st_program *program, const st_instruction *instruction,
                        double *scalars);

/* Values of a provider: NaN where it fails or gives what no estimate can use. */
void st_provider_call(const st_provider *provider, size_t rows, const double *const *arguments,
                      double *values);
double st_provider_call_one(const st_provider *provider, const double *const *arguments);

#endif
