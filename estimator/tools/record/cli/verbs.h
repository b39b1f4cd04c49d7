/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of steptime-record. */
#ifndef STEPTIME_RECORD_CLI_VERBS_H
#define STEPTIME_RECORD_CLI_VERBS_H

#include "command/cli.h"

extern const cli_verb cli_verb_trace_import;
extern const cli_verb cli_verb_record;

#endif
