/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Databases that other programs wrote, read as files: nothing in them may run, and tables and
 * columns are looked up first, as they differ from version to version.
 */
#ifndef STEPTIME_BASE_SQLITE_FILE_H
#define STEPTIME_BASE_SQLITE_FILE_H

#include "steptime/status.h"

#ifdef STEPTIME_HAVE_SQLITE

#include <sqlite3.h>

typedef struct st_sqlite {
    sqlite3 *database;
    const char *file;
    const char *expected; /* what the file should be, for messages */
    st_errors *errors;
} st_sqlite;

/* Opens a database to be read; st_sqlite_close also after a failure. */
st_status st_sqlite_open(st_sqlite *sqlite, const char *path) ST_NODISCARD;
void st_sqlite_close(st_sqlite *sqlite);

/* Calls `take`, which may be NULL, with every row that a statement finds, and says how many. */
st_status st_sqlite_query(const st_sqlite *sqlite, const char *sql,
                          st_status (*take)(void *context, sqlite3_stmt *row), void *context,
                          size_t *rows) ST_NODISCARD;
st_status st_sqlite_has_table(const st_sqlite *sqlite, const char *table, bool *has) ST_NODISCARD;
st_status st_sqlite_has_column(const st_sqlite *sqlite, const char *table, const char *column,
                               bool *has) ST_NODISCARD;

#endif
#endif
