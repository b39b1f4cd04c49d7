/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions over scalars, and providers. */
#ifndef STEPTIME_PROGRAM_SCALAR_H
#define STEPTIME_PROGRAM_SCALAR_H

#include "program/instructions.h"

/* Runs a list of instructions that one of ST_OP_CONSTANT ends, such as program->grouped, for one
 * row; scalars[slot] is a slot's value, inputs and constants set. */
void st_scalars_run(const st_program *program, const st_instruction *list, double *scalars);
/* Copies outputs and, unless `checks` is NULL, checks from them. */
void st_scalars_give(const st_program *program, const double *scalars, double *outputs,
                     double *checks);
/* Runs one instruction. */
void st_scalars_run_one(const st_program *program, const st_instruction *instruction,
                        double *scalars);

/* Values of a provider: NaN where it fails or gives what no estimate can use. */
void st_provider_call(const st_provider *provider, size_t rows, const double *const *arguments,
                      double *values);
double st_provider_call_one(const st_provider *provider, const double *const *arguments);

#endif
