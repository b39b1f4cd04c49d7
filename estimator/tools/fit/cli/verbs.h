/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of steptime-fit. */
#ifndef STEPTIME_FIT_CLI_VERBS_H
#define STEPTIME_FIT_CLI_VERBS_H

#include "command/cli.h"

extern const cli_program cli_fit_program;

extern const cli_verb cli_verb_validate;
extern const cli_verb cli_verb_fit;
extern const cli_verb cli_verb_fit_kernels;
extern const cli_verb cli_verb_fit_operators;
extern const cli_verb cli_verb_fit_overlap;
extern const cli_verb cli_verb_fit_ratios;
extern const cli_verb cli_verb_fit_nccl;
extern const cli_verb cli_verb_profile_list;
extern const cli_verb cli_verb_profile_show;
extern const cli_verb cli_verb_profile_import;
extern const cli_verb cli_verb_profile_export;
extern const cli_verb cli_verb_profile_remove;
extern const cli_verb cli_verb_trace_layers;

#endif
