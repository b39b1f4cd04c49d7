/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of what the search path holds, for `list` and `sheet list`. */
#ifndef STEPTIME_CLI_LISTING_H
#define STEPTIME_CLI_LISTING_H

#include "command/cli.h"

/* `what` is one of the choices of `list`: "jobs", "sheets", ... */
int cli_list_folder(cli_run *run, const char *what);

#endif
