/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of steptime-workload. */
#ifndef STEPTIME_WORKLOAD_CLI_VERBS_H
#define STEPTIME_WORKLOAD_CLI_VERBS_H

#include "command/cli.h"

extern const cli_verb cli_verb_export_chakra;
extern const cli_verb cli_verb_export_simai;
extern const cli_verb cli_verb_trace_chakra;
extern const cli_verb cli_verb_trace_simai;

#endif
