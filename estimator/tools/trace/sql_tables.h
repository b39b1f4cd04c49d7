/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings as tables of SQLite: virtual tables that read the loaded ranks in place. The table
 * `columns` lists them all with units; docs/traces.md has the same list.
 */
#ifndef STEPTIME_TRACE_SQL_TABLES_H
#define STEPTIME_TRACE_SQL_TABLES_H

#include "trace/trace.h"

#ifdef STEPTIME_HAVE_SQLITE

#include <sqlite3.h>

typedef struct st_sql_tables st_sql_tables;

/* Adds the tables and functions to a database. `set` may be NULL: all tables are empty. */
void st_sql_tables_add(sqlite3 *database, const st_trace_set *set, st_arena *arena,
                       st_sql_tables **tables);
void st_sql_tables_free(st_sql_tables *tables);
/* "ranks, kernels, ..."; "" when out of memory. */
const char *st_sql_table_names(st_arena *arena);
/* Whether the table has rows only of recordings that were read with their details. */
bool st_sql_table_needs_details(const char *name);

#endif
#endif
