/* SPDX-License-Identifier: Apache-2.0 */
/* What `validate` and `fit` share: tables on the command line. */
#ifndef STEPTIME_CLI_TABLES_H
#define STEPTIME_CLI_TABLES_H

#include "cli/cli.h"
#include "calibrate/steps/measured.h"

/* A --table with the --rows behind it. */
typedef struct cli_table {
    const char *file;
    const char *filter; /* NULL: all rows */
} cli_table;

/* The tables on the command line. A --rows in front of all tables is for those without one. */
st_status cli_tables(cli_run *run, const cli_table **tables, size_t *count) ST_NODISCARD;

/* What tables are read with: --sheet, --constants, --set, and all sources of the search path. */
st_status cli_table_request(cli_run *run, const st_paths *paths,
                            st_measured_request *request) ST_NODISCARD;

/* Marks the rows behind the constants that a source names and behind --constants. */
st_status cli_mark_fitted(cli_run *run, const st_paths *paths, st_measured *measured) ST_NODISCARD;

#endif
