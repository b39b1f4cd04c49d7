/* SPDX-License-Identifier: Apache-2.0 */
/* JSON Schemas from the table of keys. */
#ifndef STEPTIME_CLI_SCHEMA_H
#define STEPTIME_CLI_SCHEMA_H

#include "steptime/arena.h"

/* Of a job (""), or of the file of a section: "model", "cluster", "cluster.gpu". */
void cli_write_schema(const char *section, st_buffer *json);

#endif
