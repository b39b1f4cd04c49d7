/* SPDX-License-Identifier: Apache-2.0 */
/* See sqlite_file.h. */
#include "base/sqlite_file.h"

#ifdef STEPTIME_HAVE_SQLITE

#include "steptime/arena.h"

#include <string.h>
#include <sys/stat.h>

enum { MOST_VALUE_BYTES = 16 << 20 };

static st_status fail(const st_sqlite *sqlite)
{
    return st_fail(sqlite->errors, ST_ERR_VALUE, (st_place){.file = sqlite->file},
                   "cannot read the database: %s" ST_EXPECTED "%s",
                   sqlite3_errmsg(sqlite->database), sqlite->expected);
}

/* Whether a write-ahead log of the file holds rows. */
static bool has_log(const char *path, st_buffer *name)
{
    struct stat found = {0};
    st_buffer_printf(name, "%s-wal", path);
    bool has = !name->failed && stat(name->data, &found) == 0 && found.st_size > 0;
    st_buffer_free(name);
    return has;
}

/*
 * SQLite makes files for a log, and locks, unless the file is said not to change. A reader does
 * neither where it can: the folder is the user's, and a confined process may not.
 */
static int open_unchanging(st_sqlite *sqlite, const char *path, st_buffer *name)
{
    st_buffer_text(name, path[0] == '/' ? "file://" : "file:"); /* //x: x would be a host */
    for (const char *at = path; *at != '\0'; at++)
        st_buffer_printf(name, strchr("%?#", *at) != NULL ? "%%%02X" : "%c", (unsigned char)*at);
    st_buffer_text(name, "?immutable=1");
    int code = name->failed ? SQLITE_NOMEM
                            : sqlite3_open_v2(name->data, &sqlite->database,
                                              SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    st_buffer_free(name);
    return code;
}

st_status st_sqlite_open(st_sqlite *sqlite, const char *path)
{
    sqlite->file = path;
    st_buffer name = {0};
    const bool logged = has_log(path, &name);
    int code = logged ? sqlite3_open_v2(path, &sqlite->database, SQLITE_OPEN_READONLY, NULL)
                      : open_unchanging(sqlite, path, &name);
    if (code == SQLITE_OK && logged &&
        sqlite3_exec(sqlite->database, "PRAGMA schema_version", NULL, NULL, NULL) != SQLITE_OK)
        return st_fail(sqlite->errors, ST_ERR_VALUE, (st_place){.file = path},
                       "cannot read the database with its log %s-wal: %s" ST_HINT
                       "leave out --confine, or let the program that writes it end",
                       path, sqlite3_errmsg(sqlite->database));
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
