/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of steptime-launch. */
#ifndef STEPTIME_LAUNCH_CLI_VERBS_H
#define STEPTIME_LAUNCH_CLI_VERBS_H

#include "command/cli.h"

extern const cli_program cli_launch_program;

extern const cli_verb cli_verb_import_hf;
extern const cli_verb cli_verb_import_megatron;
extern const cli_verb cli_verb_import_bridge;
extern const cli_verb cli_verb_import_torchtitan;
extern const cli_verb cli_verb_import_deepspeed;
extern const cli_verb cli_verb_import_topology;
extern const cli_verb cli_verb_export;
extern const cli_verb cli_verb_import_layers;

#endif
