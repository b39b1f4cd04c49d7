/* SPDX-License-Identifier: Apache-2.0 */
/* Options that take a size or a time. */
#ifndef STEPTIME_RECORD_CLI_QUANTITY_OPTION_H
#define STEPTIME_RECORD_CLI_QUANTITY_OPTION_H

#include "command/cli.h"

typedef struct quantity_option {
    const char *name; /* "--limit" */
    const char *unit; /* of the value, and of numbers without a unit */
    double least;
    double most;
    const char *expected; /* the range in words */
} quantity_option;

/* Reads `text`; NULL leaves *value as it is. */
st_status quantity_option_read(cli_run *run, const quantity_option *option, const char *text,
                               double *value) ST_NODISCARD;

#endif
