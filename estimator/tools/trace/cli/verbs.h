/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of steptime-trace. */
#ifndef STEPTIME_TRACE_CLI_VERBS_H
#define STEPTIME_TRACE_CLI_VERBS_H

#include "command/cli.h"

extern const cli_program cli_trace_program;

extern const cli_verb cli_verb_trace_whatif;

#endif
