/* SPDX-License-Identifier: Apache-2.0 */
/* What `validate` and `fit` share: tables on the command line. */
#ifndef STEPTIME_CLI_TABLES_H
#define STEPTIME_CLI_TABLES_H

#include "command/cli.h"
#include "fit/steps/measured.h"

/* What their options give. */
typedef struct cli_table_options {
    cli_texts files;
    cli_texts filters;
    const char *constants;
} cli_table_options;

/* The rows of it, which is the member `at` of a verb's own structure. */
#define CLI_ROWS_TABLE(type, at)                                                                   \
    CLI_TEXTS(type, at.files, "table", "FILE",                                                     \
              "measured rows, a CSV file as docs/tables.md describes it; may be repeated",         \
              .word = CLI_WORD_FILE),                                                              \
        CLI_TEXTS(type, at.filters, "rows", "FILTER",                                              \
                  "use these rows of the --table before it: COLUMN=VALUE|VALUE, COLUMN!=VALUE "    \
                  "and START:STOP:STEP, separated by commas")
#define CLI_ROW_CONSTANTS(type, at)                                                                \
    CLI_TEXT(type, at.constants, "constants", "NAME|FILE",                                         \
             "constants from this file instead of the sheet's own", .word = CLI_WORD_FILE)

/* The tables on the command line. A --rows in front of all tables is for those without one. */
st_status cli_tables(cli_run *run, const cli_table_options *options,
                     const st_measured_table **tables, size_t *count) ST_NODISCARD;

/* What tables are read with: --sheet, --constants, --set, and all sources of the search path. */
st_status cli_table_request(cli_run *run, const cli_table_options *options,
                            st_measured_request *request) ST_NODISCARD;

/* Marks the rows behind the constants that a source names and behind --constants. */
st_status cli_mark_fitted(cli_run *run, const char *constants, st_measured *measured) ST_NODISCARD;

#endif
