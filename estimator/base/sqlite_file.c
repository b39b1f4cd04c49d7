/* SPDX-License-Identifier: Apache-2.0 */
/* See sqlite_file.h. */
#include "base/sqlite_file.h"

#ifdef STEPTIME_HAVE_SQLITE

enum { MOST_VALUE_BYTES = 16 << 20 };

static st_status fail(const st_sqlite *sqlite)
{
    return st_fail(sqlite->errors, ST_ERR_VALUE, (st_place){.file = sqlite->file},
                   "cannot read the database: %s" ST_EXPECTED "%s",
                   sqlite3_errmsg(sqlite->database), sqlite->expected);
}

st_status st_sqlite_open(st_sqlite *sqlite, const char *path)
{
    sqlite->file = path;
    int code = sqlite3_open_v2(path, &sqlite->database, SQLITE_OPEN_READONLY, NULL);
    /* A confined process may not lock a file. */
    if (code == SQLITE_OK &&
        sqlite3_exec(sqlite->database, "PRAGMA schema_version", NULL, NULL, NULL) == SQLITE_PERM) {
        (void)sqlite3_close(sqlite->database);
        code = sqlite3_open_v2(path, &sqlite->database, SQLITE_OPEN_READONLY, "unix-none");
    }
    if (code != SQLITE_OK)
        return fail(sqlite);
    /* A few bytes of a file can claim a text of gigabytes. */
    (void)sqlite3_limit(sqlite->database, SQLITE_LIMIT_LENGTH, MOST_VALUE_BYTES);
    (void)sqlite3_db_config(sqlite->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(sqlite->database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    (void)sqlite3_db_config(sqlite->database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    (void)sqlite3_db_config(sqlite->database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    return ST_OK;
}

void st_sqlite_close(st_sqlite *sqlite)
{
    (void)sqlite3_close(sqlite->database);
    sqlite->database = NULL;
}

st_status st_sqlite_query(const st_sqlite *sqlite, const char *sql,
                          st_status (*take)(void *context, sqlite3_stmt *row), void *context,
                          size_t *rows)
{
    sqlite3_stmt *statement = NULL;
    st_status status = ST_OK;
    *rows = 0;
    int code = sqlite3_prepare_v2(sqlite->database, sql, -1, &statement, NULL);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(statement);
        if (code == SQLITE_ROW) {
            ++*rows;
            status = take != NULL ? take(context, statement) : ST_OK;
        }
        if (status != ST_OK || code == SQLITE_DONE)
            break;
    }
    if (status == ST_OK && code != SQLITE_DONE)
        status = fail(sqlite);
    (void)sqlite3_finalize(statement);
    return status;
}

st_status st_sqlite_has_table(const st_sqlite *sqlite, const char *table, bool *has)
{
    char sql[160];
    size_t rows = 0;
    (void)sqlite3_snprintf(sizeof sql, sql,
                           "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = %Q", table);
    st_status status = st_sqlite_query(sqlite, sql, NULL, NULL, &rows);
    *has = rows > 0;
    return status;
}

st_status st_sqlite_has_column(const st_sqlite *sqlite, const char *table, const char *column,
                               bool *has)
{
    char sql[200];
    size_t rows = 0;
    (void)sqlite3_snprintf(sizeof sql, sql, "SELECT 1 FROM pragma_table_info(%Q) WHERE name = %Q",
                           table, column);
    st_status status = st_sqlite_query(sqlite, sql, NULL, NULL, &rows);
    *has = rows > 0;
    return status;
}

#endif
