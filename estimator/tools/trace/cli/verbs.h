/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of steptime-trace. */
#ifndef STEPTIME_TRACE_CLI_VERBS_H
#define STEPTIME_TRACE_CLI_VERBS_H

#include "command/cli.h"

extern const cli_program cli_trace_program;

extern const cli_verb cli_verb_trace_summary;
extern const cli_verb cli_verb_trace_idle;
extern const cli_verb cli_verb_trace_breakdown;
extern const cli_verb cli_verb_trace_kernels;
extern const cli_verb cli_verb_trace_collectives;
extern const cli_verb cli_verb_trace_memory;
extern const cli_verb cli_verb_trace_diff;
extern const cli_verb cli_verb_trace_graph;
extern const cli_verb cli_verb_trace_replay;
extern const cli_verb cli_verb_trace_path;
extern const cli_verb cli_verb_trace_export;
extern const cli_verb cli_verb_trace_whatif;
extern const cli_verb cli_verb_trace_rank;
extern const cli_verb cli_verb_trace_sql;

#endif
