/* SPDX-License-Identifier: Apache-2.0 */
/* What `steptime fit kernels` and `trace layers` show. */
#ifndef STEPTIME_CLI_KERNELS_H
#define STEPTIME_CLI_KERNELS_H

#include "cli/cli.h"

#include "calibrate/layers/layer_fit.h"

void cli_kernels_write(const st_layer_fit *own, cli_run *run);
/* What one layer takes, as text alone. */
void cli_kernels_say_layers(const st_trace_layers *layers, st_node *node);

#endif
