/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database of profiles; see profile.h.
 *
 * The schema's number is in user_version and the mark of our files in application_id. A writer
 * takes the lock before it looks (BEGIN IMMEDIATE), so that two that begin together wait for each
 * other instead of failing halfway. The file may come from anyone: triggers, views and functions
 * that it brings are switched off, and nothing in it is believed.
 */
#include "profile/database.h"

#include "base/lists.h"
#include "base/scratch.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/yaml.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#ifdef STEPTIME_HAVE_SQLITE

#include <errno.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { BUSY_MS = 4000, APPLICATION_ID = 0x73747066, FOLDER_MODE = 0700, ANY_WRITE = 0222 };

/* One text per step: from nothing to schema 1, from 1 to 2, ... */
static const char *const migrations[ST_PROFILES_SCHEMA] = {
    "CREATE TABLE profile ("
    " name TEXT NOT NULL, kind TEXT NOT NULL, plugin TEXT NOT NULL, cluster TEXT NOT NULL,"
    " fabric TEXT NOT NULL, nccl TEXT NOT NULL, collective TEXT NOT NULL,"
    " ranks INTEGER NOT NULL, nodes INTEGER NOT NULL,"
    " payload BLOB NOT NULL, provenance TEXT NOT NULL,"
    " PRIMARY KEY (name, kind, plugin, cluster, fabric, nccl, collective, ranks, nodes)"
    ") WITHOUT ROWID;",
    "ALTER TABLE profile ADD COLUMN digest INTEGER;", /* NULL: written before there were digests */
};

#define COLUMNS                                                                                    \
    "name, kind, plugin, cluster, fabric, nccl, collective, ranks, nodes, payload, "               \
    "provenance"

enum {
    AT_RANKS = ST_PROFILE_KEYS,
    AT_NODES,
    AT_PAYLOAD,
    AT_PROVENANCE,
    AT_DIGEST,
    COLUMN_COUNT = AT_DIGEST
};

struct st_profiles {
    sqlite3 *database;
    char *file;
    int schema;
    sigset_t before; /* a transaction: signals that wait until its journal is gone */
    st_profiles_access access;
    size_t made;  /* of `file`: up to the end of the first folder that was not there; 0: all were */
    bool is_new;  /* the file was not there */
    bool is_used; /* a change of its entries was kept */
};

/* ---- errors ---- */

/* What a code of SQLite means for the user. */
static st_status fail_with(const st_profiles *profiles, int code, st_errors *errors)
{
    static const struct {
        int code;
        st_status status;
        const char *message;
    } known[] = {/* what SQLite also says of lengths that cannot be, in damaged files */
                 {SQLITE_NOMEM, ST_ERR_IO, "the database is damaged or out of memory"},
                 {SQLITE_NOTADB, ST_ERR_SYNTAX, "not a profile database"},
                 {SQLITE_CORRUPT, ST_ERR_SYNTAX, "the database is damaged"},
                 {SQLITE_READONLY, ST_ERR_IO, "the database is read-only"},
                 {SQLITE_PERM, ST_ERR_IO, "the database is read-only"},
                 {SQLITE_FULL, ST_ERR_IO, "the disk is full"},
                 {SQLITE_TOOBIG, ST_ERR_LIMIT, "an entry is too large"}};
    const st_place place = {.file = profiles->file};
    int kind = code & 0xFF;
    for (size_t i = 0; i < ST_COUNT(known); i++)
        if (known[i].code == kind)
            return st_fail(errors, known[i].status, place, "%s", known[i].message);
    if (kind == SQLITE_BUSY || kind == SQLITE_LOCKED)
        return st_fail(errors, ST_ERR_IO, place,
                       "the database is locked by another program" ST_HINT "try again later");
    return st_fail(errors, ST_ERR_IO, place, "the database cannot be used: %s",
                   profiles->database != NULL ? sqlite3_errmsg(profiles->database)
                                              : sqlite3_errstr(code));
}

static st_status execute(st_profiles *profiles, const char *sql, st_errors *errors)
{
    int code = sqlite3_exec(profiles->database, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? ST_OK : fail_with(profiles, code, errors);
}

/* The number that a statement without parameters gives; 0 where it gives none. */
static st_status query(st_profiles *profiles, const char *sql, int *value, st_errors *errors)
{
    sqlite3_stmt *statement = NULL;
    *value = 0;
    int code = sqlite3_prepare_v2(profiles->database, sql, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        *value = sqlite3_column_int(statement, 0);
    (void)sqlite3_finalize(statement);
    return code == SQLITE_ROW || code == SQLITE_DONE ? ST_OK : fail_with(profiles, code, errors);
}

/* ---- opening ---- */

static st_status check_file(st_profiles *profiles, st_errors *errors)
{
    struct stat file;
    bool writes = profiles->access == ST_PROFILES_WRITE;
    if (profiles->file[0] == '\0' || strcmp(profiles->file, ":memory:") == 0 ||
        strncmp(profiles->file, "file:", strlen("file:")) == 0)
        return st_fail(errors, ST_ERR_USAGE, (st_place){.file = "--db"},
                       "the profile database is not a file" ST_FOUND "'%s'" ST_EXPECTED
                       "a path, with './' before a name that begins with ':' or 'file:': './%s'",
                       profiles->file, profiles->file);
    if (stat(profiles->file, &file) != 0) {
        profiles->is_new = errno == ENOENT && writes;
        if (profiles->is_new) {
            for (char *at = profiles->file + 1; *profiles->file != '\0' && *at != '\0'; at++) {
                if (*at != '/')
                    continue;
                *at = '\0';
                int fault = mkdir(profiles->file, FOLDER_MODE) == 0 ? 0 : errno;
                if (fault == 0 && profiles->made == 0)
                    profiles->made = (size_t)(at - profiles->file);
                fault = fault == EEXIST ? 0 : fault;
                const char *message =
                    fault != 0 ? st_errors_text(errors, "cannot create the folder %s: %s",
                                                profiles->file, strerror(fault))
                               : NULL;
                *at = '/';
                if (fault != 0)
                    return st_fail(errors, ST_ERR_IO, (st_place){.file = profiles->file}, "%s",
                                   message);
            }
            return ST_OK;
        }
        return st_fail(errors, ST_ERR_IO, (st_place){.file = profiles->file}, "%s" ST_HINT "%s",
                       errno == ENOENT ? "no such profile database" : strerror(errno),
                       errno == ENOENT ? "create one with 'steptime fit nccl LOG --save NAME'"
                                       : "");
    }
    if (!S_ISREG(file.st_mode))
        return st_fail(errors, ST_ERR_IO, (st_place){.file = profiles->file},
                       "the profile database is not a regular file");
    if (file.st_size == 1) /* which SQLite takes for an empty database, and writes over */
        return fail_with(profiles, SQLITE_NOTADB, errors);
    if (writes && (file.st_mode & ANY_WRITE) == 0)
        return st_fail(errors, ST_ERR_IO, (st_place){.file = profiles->file},
                       "the database is read-only");
    return ST_OK;
}

/* The schema's number; 0 for a file that has nothing in it yet. */
static st_status read_schema(st_profiles *profiles, int *schema, st_errors *errors)
{
    int tables = 0;
    int mark = 0;
    st_status status = query(profiles, "PRAGMA user_version", schema, errors);
    if (status == ST_OK)
        status = query(profiles, "SELECT count(*) FROM sqlite_schema", &tables, errors);
    if (status == ST_OK)
        status = query(profiles, "PRAGMA application_id", &mark, errors);
    if (status != ST_OK)
        return status;
    profiles->schema = *schema;
    if (tables == 0 && *schema == 0 && mark == 0)
        return ST_OK;
    if (mark != APPLICATION_ID)
        return st_fail(errors, ST_ERR_SYNTAX, (st_place){.file = profiles->file},
                       "not a profile database" ST_HINT "another program made this file");
    if (*schema < 0 || *schema > ST_PROFILES_SCHEMA)
        return st_fail(
            errors, ST_ERR_VALUE, (st_place){.file = profiles->file},
            "the database has schema %d, and this steptime supports schemas up to %d" ST_HINT
            "use a newer steptime",
            *schema, ST_PROFILES_SCHEMA);
    /* Checks pages, indexes and rows, so that damage is reported before data is used. */
    sqlite3_stmt *statement = NULL;
    bool good = false;
    int code =
        sqlite3_prepare_v2(profiles->database, "PRAGMA quick_check(1)", -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        const unsigned char *text = sqlite3_column_text(statement, 0);
        good = text != NULL && strcmp((const char *)text, "ok") == 0;
    }
    (void)sqlite3_finalize(statement);
    if (code != SQLITE_ROW)
        return fail_with(profiles, code, errors);
    return good ? ST_OK : fail_with(profiles, SQLITE_CORRUPT, errors);
}

/* Runs in a transaction that has the lock. */
static st_status migrate(st_profiles *profiles, st_errors *errors)
{
    int schema = 0;
    char sql[96];
    st_status status = read_schema(profiles, &schema, errors);
    if (status != ST_OK || schema == ST_PROFILES_SCHEMA)
        return status;
    for (int i = schema; i < ST_PROFILES_SCHEMA && status == ST_OK; i++)
        status = execute(profiles, migrations[i], errors);
    (void)sqlite3_snprintf(sizeof sql, sql, "PRAGMA user_version=%d; PRAGMA application_id=%d",
                           ST_PROFILES_SCHEMA, APPLICATION_ID);
    profiles->schema = ST_PROFILES_SCHEMA;
    return status == ST_OK ? execute(profiles, sql, errors) : status;
}

static st_status begin(st_profiles *profiles, st_errors *errors)
{
    st_signals_hold(&profiles->before);
    st_status status = execute(profiles, "BEGIN IMMEDIATE", errors);
    if (status == ST_OK) {
        /* Another program that had made the file may have taken it back (take_back). */
        int moved = 0;
        (void)sqlite3_file_control(profiles->database, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
        status = moved == 0
                     ? ST_OK
                     : st_fail(errors, ST_ERR_IO, (st_place){.file = profiles->file},
                               "another program has removed the database" ST_HINT "try again");
        if (status != ST_OK)
            (void)sqlite3_exec(profiles->database, "ROLLBACK", NULL, NULL, NULL);
    }
    if (status != ST_OK)
        st_signals_release(&profiles->before);
    return status;
}

/* Keeps the changes where all went well, else none of them. */
static st_status finish(st_profiles *profiles, st_status status, st_errors *errors)
{
    if (status == ST_OK)
        status = execute(profiles, "COMMIT", errors);
    if (status != ST_OK)
        (void)sqlite3_exec(profiles->database, "ROLLBACK", NULL, NULL, NULL);
    st_signals_release(&profiles->before);
    return status;
}

static int open_handle(st_profiles *profiles, int access)
{
    int code = sqlite3_open_v2(profiles->file, &profiles->database,
                               access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (code == SQLITE_OK) {
        sqlite3 *database = profiles->database;
        (void)sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        (void)sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
        (void)sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
        (void)sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
        (void)sqlite3_limit(database, SQLITE_LIMIT_LENGTH, 2 * ST_PROFILE_MAX_BYTES);
        (void)sqlite3_busy_timeout(database, BUSY_MS);
    }
    return code;
}

static st_status open_database(st_profiles *profiles, st_errors *errors)
{
    st_status status = check_file(profiles, errors);
    if (status != ST_OK)
        return status;
    if (profiles->access == ST_PROFILES_READ) {
        /* A writer that was cut off leaves a journal, which takes a right to write to bring back.
         */
        int schema = 0;
        int read_code = open_handle(profiles, SQLITE_OPEN_READONLY);
        if (read_code == SQLITE_OK && sqlite3_exec(profiles->database, "PRAGMA user_version", NULL,
                                                   NULL, NULL) == SQLITE_READONLY_ROLLBACK) {
            (void)sqlite3_close(profiles->database);
            profiles->database = NULL;
            read_code = open_handle(profiles, SQLITE_OPEN_READWRITE);
        }
        return read_code == SQLITE_OK ? read_schema(profiles, &schema, errors)
                                      : fail_with(profiles, read_code, errors);
    }
    int code = open_handle(profiles, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    if (code != SQLITE_OK)
        return fail_with(profiles, code, errors);
    if (sqlite3_db_readonly(profiles->database, "main") == 1)
        return fail_with(profiles, SQLITE_READONLY, errors);
    status = begin(profiles, errors);
    return status == ST_OK ? finish(profiles, migrate(profiles, errors), errors) : status;
}

bool st_profiles_available(void)
{
    return true;
}

st_status st_profiles_open(const char *file, st_profiles_access access, st_profiles **profiles,
                           st_errors *errors)
{
    st_arena *arena = st_arena_create();
    st_profiles *opened = calloc(1, sizeof *opened);
    st_status status = ST_ERR_MEMORY;
    if (arena == NULL || opened == NULL)
        goto cleanup;
    if (file == NULL)
        file = st_profiles_path(arena);
    if (file == NULL) {
        status = st_fail(errors, ST_ERR_IO, (st_place){0},
                         "no folder for the profile database" ST_HINT
                         "set XDG_DATA_HOME or HOME, or use --db FILE");
        goto cleanup;
    }
    opened->file = malloc(strlen(file) + 1);
    opened->access = access;
    if (opened->file == NULL)
        goto cleanup;
    memcpy(opened->file, file, strlen(file) + 1);
    status = open_database(opened, errors);
    if (status == ST_OK) {
        *profiles = opened;
        opened = NULL;
    }
cleanup:
    st_profiles_close(opened);
    st_arena_destroy(arena);
    return status;
}

/* The lock of a writer, in a transaction that reads: BEGIN EXCLUSIVE writes to an empty file, which
 * a full disk refuses. */
static bool lock(const st_profiles *profiles)
{
    sqlite3_file *file = NULL;
    return sqlite3_file_control(profiles->database, "main", SQLITE_FCNTL_FILE_POINTER, &file) ==
               SQLITE_OK &&
           file->pMethods->xLock(file, SQLITE_LOCK_RESERVED) == SQLITE_OK &&
           file->pMethods->xLock(file, SQLITE_LOCK_EXCLUSIVE) == SQLITE_OK;
}

void st_profiles_close(st_profiles *profiles)
{
    if (profiles == NULL)
        return;
    if (profiles->is_new && !profiles->is_used) {
        /* Removes an unused file that was created here, and its folders. A file that others have
         * used stays; those that wait for the lock see that it was removed (check_place). */
        st_signals_hold(&profiles->before);
        if (profiles->database != NULL &&
            sqlite3_exec(profiles->database, "BEGIN", NULL, NULL, NULL) == SQLITE_OK) {
            int tables = 0;
            int entries = 0;
            bool is_empty =
                query(profiles, "SELECT count(*) FROM sqlite_schema", &tables, NULL) == ST_OK &&
                (tables == 0 ||
                 (query(profiles, "SELECT count(*) FROM profile", &entries, NULL) == ST_OK &&
                  entries == 0));
            if (is_empty && lock(profiles))
                (void)unlink(profiles->file);
            (void)sqlite3_exec(profiles->database, "ROLLBACK", NULL, NULL, NULL);
        }
        char *end = strrchr(profiles->file, '/');
        while (profiles->made > 0 && end != NULL &&
               (size_t)(end - profiles->file) >= profiles->made) {
            *end = '\0';
            (void)rmdir(profiles->file); /* refused where anything is in it */
            end = strrchr(profiles->file, '/');
        }
        st_signals_release(&profiles->before);
    }
    (void)sqlite3_close(profiles->database);
    free(profiles->file);
    free(profiles);
}

/* ---- digests ---- */

static uLong add_text(uLong digest, const char *text)
{
    return crc32_z(digest, (const Bytef *)text, strlen(text) + 1);
}

/* Of all that an entry is: what a broken disk or a strange hand changes is not taken for measured.
 */
static sqlite3_int64 digest_of(const st_profile *entry)
{
    char counts[64];
    uLong digest = crc32_z(0, NULL, 0);
    for (size_t i = 0; i < ST_PROFILE_TEXTS; i++)
        digest = add_text(digest, entry->texts[i]);
    (void)snprintf(counts, sizeof counts, "%zu %zu", entry->ranks, entry->nodes);
    digest = add_text(digest, counts);
    digest = crc32_z(digest, entry->payload, entry->payload_bytes);
    return (sqlite3_int64)digest;
}

/* ---- writing ---- */

static st_status put_entry(st_profiles *profiles, sqlite3_stmt *statement, const st_profile *entry,
                           st_errors *errors)
{
    int code = SQLITE_OK;
    int next = 1;
    for (size_t i = 0; i < ST_PROFILE_KEYS && code == SQLITE_OK; i++)
        code = sqlite3_bind_text(statement, next++, entry->texts[i], -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(statement, next++, (sqlite3_int64)entry->ranks);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(statement, next++, (sqlite3_int64)entry->nodes);
    if (code == SQLITE_OK)
        code = sqlite3_bind_blob64(statement, next++, entry->payload, entry->payload_bytes,
                                   SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(statement, next++, entry->provenance, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(statement, next, digest_of(entry));
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    (void)sqlite3_reset(statement);
    if ((code & 0xFF) == SQLITE_CONSTRAINT)
        return st_fail(errors, ST_ERR_NAME, (st_place){.file = profiles->file},
                       "duplicate %s" ST_HINT "use --replace to overwrite it",
                       st_profile_describe(entry, errors));
    return code == SQLITE_DONE ? ST_OK : fail_with(profiles, code, errors);
}

static st_status put_entries(st_profiles *profiles, const st_profile *entries, size_t count,
                             bool replace, st_errors *errors)
{
    sqlite3_stmt *statement = NULL;
#define VALUES " INTO profile (" COLUMNS ", digest) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"
    const char *sql = replace ? "INSERT OR REPLACE" VALUES : "INSERT" VALUES;
#undef VALUES
    int code = sqlite3_prepare_v2(profiles->database, sql, -1, &statement, NULL);
    st_status status = code == SQLITE_OK ? ST_OK : fail_with(profiles, code, errors);
    for (size_t i = 0; i < count && status == ST_OK; i++)
        status = put_entry(profiles, statement, &entries[i], errors);
    (void)sqlite3_finalize(statement);
    return status;
}

st_status st_profiles_put(st_profiles *profiles, const st_profile *entries, size_t count,
                          bool replace, st_errors *errors)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < count; i++) {
        st_status checked =
            st_profile_check(&entries[i], (st_place){.file = profiles->file}, errors);
        status = status == ST_OK ? checked : status;
    }
    if (status == ST_OK)
        status = begin(profiles, errors);
    if (status != ST_OK)
        return status;
    status = finish(profiles, put_entries(profiles, entries, count, replace, errors), errors);
    profiles->is_used = profiles->is_used || status == ST_OK;
    return status;
}

static st_status remove_rows(st_profiles *profiles, const char *name, size_t *removed,
                             st_errors *errors)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(profiles->database, "DELETE FROM profile WHERE name = ?", -1,
                                  &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    *removed = code == SQLITE_DONE ? (size_t)sqlite3_changes(profiles->database) : 0;
    (void)sqlite3_finalize(statement);
    if (code != SQLITE_DONE)
        return fail_with(profiles, code, errors);
    return *removed > 0 ? ST_OK : st_profiles_unknown(profiles, name, errors);
}

st_status st_profiles_remove(st_profiles *profiles, const char *name, size_t *removed,
                             st_errors *errors)
{
    st_status status = begin(profiles, errors);
    if (status != ST_OK)
        return status;
    return finish(profiles, remove_rows(profiles, name, removed, errors), errors);
}

/* ---- reading ---- */

static const char *column_text(sqlite3_stmt *statement, int column, st_arena *arena)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    const char *copy = (const char *)text;
    return text == NULL ? "" : st_arena_copy(arena, copy, strlen(copy));
}

static size_t column_count(sqlite3_stmt *statement, int column)
{
    sqlite3_int64 value = sqlite3_column_int64(statement, column);
    return value > 0 ? (size_t)value : 0;
}

static st_status read_entry(sqlite3_stmt *statement, st_arena *arena, st_profile *entry)
{
    for (int i = 0; i < AT_RANKS; i++)
        entry->texts[i] = column_text(statement, i, arena);
    entry->provenance = column_text(statement, AT_PROVENANCE, arena);
    entry->ranks = column_count(statement, AT_RANKS);
    entry->nodes = column_count(statement, AT_NODES);
    const void *payload = sqlite3_column_blob(statement, AT_PAYLOAD);
    if (payload != NULL)
        entry->payload_bytes = (size_t)sqlite3_column_bytes(statement, AT_PAYLOAD);
    entry->payload = st_arena_copy(arena, payload != NULL ? payload : "", entry->payload_bytes);
    return st_arena_failed(arena) ? ST_ERR_MEMORY : ST_OK;
}

static int bind_filter(sqlite3_stmt *statement, const st_profile_filter *filter)
{
    const char *const texts[] = {filter->name, filter->kind, filter->plugin, filter->collective};
    int code = SQLITE_OK;
    for (int i = 0; i < 4 && code == SQLITE_OK; i++)
        code = texts[i] != NULL ? sqlite3_bind_text(statement, i + 1, texts[i], -1, SQLITE_STATIC)
                                : sqlite3_bind_null(statement, i + 1);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(statement, 5, (sqlite3_int64)filter->ranks);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(statement, 6, (sqlite3_int64)filter->nodes);
    return code;
}

/* Steps through the rows; the code at the end. */
static int read_entries(sqlite3_stmt *statement, st_arena *arena, st_profile **entries,
                        size_t *count)
{
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        if (*count >= ST_PROFILE_MAX_ENTRIES)
            return SQLITE_TOOBIG;
        st_profile entry = {0};
        /* Checks columns and their types, which SQLite itself does not. */
        bool good = true;
        for (int i = 0; i < COLUMN_COUNT; i++) {
            int type = sqlite3_column_type(statement, i);
            bool counts = i == AT_RANKS || i == AT_NODES;
            good = good && (i == AT_PAYLOAD ? type == SQLITE_BLOB || type == SQLITE_TEXT
                            : counts        ? type == SQLITE_INTEGER
                                            : type == SQLITE_TEXT);
        }
        if (!good)
            return SQLITE_CORRUPT;
        if (read_entry(statement, arena, &entry) != ST_OK)
            return SQLITE_NOMEM;
        if (sqlite3_column_type(statement, AT_DIGEST) != SQLITE_NULL &&
            sqlite3_column_int64(statement, AT_DIGEST) != digest_of(&entry))
            return SQLITE_CORRUPT;
        if (!ST_APPEND(arena, *entries, *count, entry))
            return SQLITE_NOMEM;
    }
    return code;
}

st_status st_profiles_find(st_profiles *profiles, const st_profile_filter *filter, st_arena *arena,
                           const st_profile **entries, size_t *count, st_errors *errors)
{
    assert(profiles != NULL); /* as st_profiles_open left it with ST_OK */
#define CHOICE                                                                                     \
    " FROM profile WHERE (?1 IS NULL OR name = ?1) AND"                                            \
    " (?2 IS NULL OR kind = ?2) AND (?3 IS NULL OR plugin = ?3) AND"                               \
    " (?4 IS NULL OR collective = ?4) AND (?5 = 0 OR ranks = ?5) AND (?6 = 0 OR nodes = ?6)"       \
    " ORDER BY name, plugin, kind, collective, nodes, ranks, cluster, fabric, nccl"
    const char *sql = profiles->schema >= 2 ? "SELECT " COLUMNS ", digest" CHOICE
                                            : "SELECT " COLUMNS ", NULL" CHOICE;
#undef CHOICE
    sqlite3_stmt *statement = NULL;
    st_profile *found = NULL;
    size_t length = 0;
    *entries = NULL;
    *count = 0;
    if (profiles->schema == 0) /* nothing was ever written */
        return ST_OK;
    int code = sqlite3_prepare_v2(profiles->database, sql, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = bind_filter(statement, filter);
    if (code == SQLITE_OK)
        code = read_entries(statement, arena, &found, &length);
    (void)sqlite3_finalize(statement);
    if (code != SQLITE_DONE)
        return fail_with(profiles, code, errors);
    *entries = found;
    *count = length;
    return ST_OK;
}

st_status st_profiles_unknown(st_profiles *profiles, const char *name, st_errors *errors)
{
    st_arena *arena = st_arena_create();
    const st_profile *entries = NULL;
    size_t count = 0;
    st_status status = arena == NULL ? ST_ERR_MEMORY
                                     : st_profiles_find(profiles, &(st_profile_filter){0}, arena,
                                                        &entries, &count, errors);
    const char **names = status == ST_OK ? st_arena_alloc(arena, count + 1, sizeof *names) : NULL;
    for (size_t i = 0; names != NULL && i < count; i++)
        names[i] = entries[i].name;
    if (status == ST_OK) {
        const char *near = names != NULL ? st_nearest(name, names, count) : NULL;
        status = st_fail(errors, ST_ERR_NAME, (st_place){.file = profiles->file},
                         "unknown profile '%s'" ST_HINT "%s", name,
                         near != NULL ? near : "list them with 'steptime profile list'");
    }
    st_arena_destroy(arena);
    return status;
}

#else

static st_status left_out(st_errors *errors)
{
    return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                   "this steptime was built without SQLite, which stores profiles" ST_HINT
                   "install libsqlite3-dev and rebuild");
}

bool st_profiles_available(void)
{
    return false;
}

st_status st_profiles_open(const char *file, st_profiles_access access, st_profiles **profiles,
                           st_errors *errors)
{
    (void)file;
    (void)access;
    (void)profiles;
    return left_out(errors);
}

void st_profiles_close(st_profiles *profiles)
{
    (void)profiles;
}

st_status st_profiles_put(st_profiles *profiles, const st_profile *entries, size_t count,
                          bool replace, st_errors *errors)
{
    (void)profiles;
    (void)entries;
    (void)count;
    (void)replace;
    return left_out(errors);
}

st_status st_profiles_find(st_profiles *profiles, const st_profile_filter *filter, st_arena *arena,
                           const st_profile **entries, size_t *count, st_errors *errors)
{
    (void)profiles;
    (void)filter;
    (void)arena;
    (void)entries;
    (void)count;
    return left_out(errors);
}

st_status st_profiles_remove(st_profiles *profiles, const char *name, size_t *removed,
                             st_errors *errors)
{
    (void)profiles;
    (void)name;
    (void)removed;
    return left_out(errors);
}

st_status st_profiles_unknown(st_profiles *profiles, const char *name, st_errors *errors)
{
    (void)profiles;
    (void)name;
    return left_out(errors);
}

#endif

/* ---- entries ---- */

/*
 * Entries of profiles, independent of their storage: valid contents, their options, and the one
 * that a job means.
 */

enum { NAME_BYTES = 100, TEXT_BYTES = 500, PROVENANCE_BYTES = 65536, MOST_COUNT = 1 << 30 };
enum { NAMES = 3 /* of the texts: name, kind and plugin */ };

const char *const st_profile_names[ST_PROFILE_TEXTS] = {
    "name", "kind", "plugin", "cluster", "fabric", "nccl", "collective", "provenance"};

const char *st_profiles_path(st_arena *arena)
{
    const char *data = getenv("XDG_DATA_HOME");
    const char *home = getenv("HOME");
    if (data != NULL && data[0] == '/')
        return st_arena_printf(arena, "%s/steptime/profiles.db", data);
    if (home != NULL && home[0] == '/')
        return st_arena_printf(arena, "%s/.local/share/steptime/profiles.db", home);
    return NULL;
}

const char *st_profile_describe(const st_profile *entry, st_errors *errors)
{
    return st_errors_text(errors, "profile '%s' of %s for %s on %zu ranks and %zu nodes",
                          entry->name, entry->plugin,
                          entry->collective[0] != '\0' ? entry->collective : "any collective",
                          entry->ranks, entry->nodes);
}

/* ---- valid entries ---- */

static bool is_name(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '_' || (i > 0 && (c == '.' || c == '-'));
        if (!plain)
            return false;
    }
    return length > 0 && length <= NAME_BYTES;
}

static bool is_text(const char *text, size_t most)
{
    size_t length = strnlen(text, most + 1);
    for (size_t i = 0; i < length;) {
        uint32_t code = 0;
        size_t bytes = st_utf8_decode(text + i, length - i, &code);
        if (bytes == 0 || st_utf8_is_control(code))
            return false;
        i += bytes;
    }
    return length <= most;
}

st_status st_profile_check(const st_profile *entry, st_place place, st_errors *errors)
{
    for (size_t i = 0; i < NAMES; i++)
        if (!is_name(entry->texts[i]))
            return st_fail(errors, ST_ERR_VALUE, place,
                           "invalid %s of a profile" ST_FOUND "'%s'" ST_EXPECTED
                           "letters, digits, '.', '_' and '-'",
                           st_profile_names[i], entry->texts[i]);
    for (size_t i = NAMES; i < ST_PROFILE_KEYS; i++)
        if (!is_text(entry->texts[i], TEXT_BYTES))
            return st_fail(errors, ST_ERR_VALUE, place,
                           "a text of a profile is too long or contains control characters" ST_FOUND
                           "'%s'" ST_EXPECTED "at most 500 bytes",
                           entry->texts[i]);
    if (entry->ranks > MOST_COUNT || entry->nodes > MOST_COUNT)
        return st_fail(errors, ST_ERR_VALUE, place,
                       "a profile has too many ranks or nodes" ST_EXPECTED "at most 2^30");
    if (entry->nodes > 0 && entry->ranks % entry->nodes != 0)
        return st_fail(errors, ST_ERR_VALUE, place,
                       "the number of ranks is not a multiple of the number of nodes" ST_FOUND
                       "%zu ranks on %zu nodes",
                       entry->ranks, entry->nodes);
    if (entry->payload_bytes > ST_PROFILE_MAX_BYTES)
        return st_fail(errors, ST_ERR_VALUE, place,
                       "the payload of a profile is too large" ST_EXPECTED "at most 16 MiB");
    if (strnlen(entry->provenance, PROVENANCE_BYTES + 1) > PROVENANCE_BYTES)
        return st_fail(errors, ST_ERR_VALUE, place,
                       "the provenance of a profile is too long" ST_EXPECTED "at most 64 KiB");
    return ST_OK;
}

/* ---- options ---- */

void st_profile_write_options(const st_profile_option *options, size_t count, st_buffer *buffer)
{
    st_buffer_text(buffer, "{");
    for (size_t i = 0; i < count; i++) {
        st_buffer_text(buffer, i > 0 ? ", " : "");
        st_buffer_json_string(buffer, options[i].name);
        st_buffer_quoted(buffer, ": ", options[i].text, "");
    }
    st_buffer_text(buffer, "}");
}

st_status st_profile_options(const st_profile *entry, st_arena *arena,
                             const st_profile_option **options, size_t *count, st_errors *errors)
{
    const char *file = st_errors_text(errors, "profile '%s'", entry->name);
    const st_yaml_node *root = NULL;
    if (strcmp(entry->kind, ST_PROFILE_TIMES) == 0 || strcmp(entry->kind, ST_PROFILE_MODEL) == 0) {
        /* A payload of another kind as the one option of that name. */
        st_profile_option *whole = st_arena_alloc(arena, 1, sizeof *whole);
        char *text = st_arena_copy(arena, entry->payload, entry->payload_bytes);
        if (whole == NULL || text == NULL)
            return ST_ERR_MEMORY;
        if (strlen(text) != entry->payload_bytes)
            return st_fail(errors, ST_ERR_VALUE,
                           (st_place){.file = st_errors_text(errors, "profile '%s'", entry->name)},
                           "the payload of the profile is not text");
        *whole = (st_profile_option){entry->kind, text};
        *options = whole;
        *count = 1;
        return ST_OK;
    }
    st_status status =
        st_yaml_parse(file, entry->payload, entry->payload_bytes, arena, &root, errors);
    if (status != ST_OK)
        return status;
    if (strcmp(entry->kind, ST_PROFILE_OPTIONS) != 0 || root->kind != ST_YAML_MAP)
        return st_fail(errors, ST_ERR_VALUE, (st_place){.file = file},
                       "the profile has no options" ST_FOUND "kind '%s'", entry->kind);
    st_profile_option *found = st_arena_alloc(arena, root->count + 1, sizeof *found);
    if (found == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < root->count; i++) {
        if (root->items[i]->kind != ST_YAML_SCALAR)
            return st_fail(errors, ST_ERR_VALUE, (st_place){.file = file},
                           "an option of the profile is not a string" ST_FOUND "'%s'",
                           root->keys[i]);
        found[i] = (st_profile_option){root->keys[i], root->items[i]->text};
    }
    *options = found;
    *count = root->count;
    return ST_OK;
}

/* ---- the entry that a job means ---- */

static size_t distance(size_t have, size_t want)
{
    if (want == 0 || have == 0)
        return 0;
    size_t larger = have > want ? have : want;
    size_t smaller = have > want ? want : have;
    size_t doublings = 0;
    while (smaller < larger && smaller < MOST_COUNT) {
        smaller *= 2;
        doublings++;
    }
    return doublings;
}

/* Nodes count before ranks; what holds for any is further than what fits, nearer than the next. */
static size_t apart(const st_profile *entry, const st_profile_filter *filter)
{
    bool for_any = entry->nodes == 0 && filter->nodes != 0;
    bool of_any = filter->collective != NULL && entry->collective[0] == '\0';
    return 1000 * distance(entry->nodes, filter->nodes) +
           10 * distance(entry->ranks, filter->ranks) + (for_any ? 2 : 0) + (of_any ? 1 : 0);
}

static bool fits(const st_profile *entry, const st_profile_filter *filter)
{
    const char *own = entry->collective;
    return filter->collective == NULL || own[0] == '\0' || strcmp(own, filter->collective) == 0;
}

/* The nearest; the first of several. */
static const st_profile *nearest(const st_profile *entries, size_t count,
                                 const st_profile_filter *filter)
{
    const st_profile *best = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        size_t own = apart(&entries[i], filter);
        if (fits(&entries[i], filter) && own < least) {
            best = &entries[i];
            least = own;
        }
    }
    return best;
}

size_t st_profile_nearest(const st_profile_found *found, size_t count,
                          const st_profile_filter *filter)
{
    size_t best = 0;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        size_t own = apart(found[i].entry, filter);
        if (own < least) {
            best = i;
            least = own;
        }
    }
    return best;
}

static st_status no_entry(const st_profile *entries, size_t count, const st_profile_filter *filter,
                          st_errors *errors)
{
    const char *has = NULL;
    for (size_t i = 0; i < count; i++)
        if (has == NULL || strstr(has, entries[i].collective) == NULL)
            has = st_errors_text(errors, "%s%s%s", has != NULL ? has : "", has != NULL ? ", " : "",
                                 entries[i].collective);
    return st_fail(errors, ST_ERR_NAME, (st_place){0},
                   "profile '%s' has no options of %s for %s" ST_FOUND "%s", filter->name,
                   filter->plugin, filter->collective, st_or_none(has));
}

/* Entries of the profile and plugin; an error if there are none. */
static st_status must_find(st_profiles *profiles, const st_profile_filter *filter, st_arena *arena,
                           const st_profile **entries, size_t *count, st_errors *errors)
{
    const st_profile *all = NULL;
    size_t others = 0;
    /* Entries of a plugin: its options, or where there are none its times, or its model. */
    static const char *const kinds[] = {ST_PROFILE_OPTIONS, ST_PROFILE_TIMES, ST_PROFILE_MODEL};
    st_status status = ST_OK;
    *count = 0;
    for (size_t i = 0; i < 3 && *count == 0 && status == ST_OK; i++) {
        st_profile_filter entrie_all = {
            .name = filter->name, .kind = kinds[i], .plugin = filter->plugin};
        status = st_profiles_find(profiles, &entrie_all, arena, entries, count, errors);
    }
    if (status != ST_OK || *count > 0)
        return status;
    st_profile_filter named = {.name = filter->name};
    status = st_profiles_find(profiles, &named, arena, &all, &others, errors);
    if (status == ST_OK && others == 0)
        return st_profiles_unknown(profiles, filter->name, errors);
    if (status == ST_OK)
        status = st_fail(errors, ST_ERR_NAME, (st_place){0},
                         "profile '%s' has no options for plugin '%s'" ST_FOUND "'%s'",
                         filter->name, filter->plugin, all[0].plugin);
    return status;
}

static st_status choose(st_profiles *profiles, const st_profile_filter *filter, st_arena *arena,
                        const st_profile **entry, st_errors *errors)
{
    const st_profile *entries = NULL;
    size_t count = 0;
    st_status status = must_find(profiles, filter, arena, &entries, &count, errors);
    if (status != ST_OK)
        return status;
    *entry = nearest(entries, count, filter);
    return *entry != NULL ? ST_OK : no_entry(entries, count, filter, errors);
}

st_status st_profile_settings(const char *file, const st_profile_filter *filter, st_arena *arena,
                              st_profile_found *found, st_errors *errors)
{
    st_profiles *profiles = NULL;
    st_profile_found chosen = {.entry = NULL};
    st_status status = st_profiles_open(file, ST_PROFILES_READ, &profiles, errors);
    if (status != ST_OK)
        return status;
    status = choose(profiles, filter, arena, &chosen.entry, errors);
    if (status == ST_OK && chosen.entry != NULL)
        status = st_profile_options(chosen.entry, arena, &chosen.options, &chosen.count, errors);
    if (status == ST_OK)
        *found = chosen;
    st_profiles_close(profiles);
    return status;
}

/* The one of the same group that came before; NULL: none did. */
static st_profile_found *same_group(st_profile_found *found, size_t count, const st_profile *entry)
{
    for (size_t i = 0; i < count; i++)
        if (found[i].entry->nodes == entry->nodes && found[i].entry->ranks == entry->ranks)
            return &found[i];
    return NULL;
}

/* Those that fit, of each group the first; that of the collective before that of any. */
static void keep_fitting(const st_profile *entries, size_t count, const st_profile_filter *filter,
                         st_profile_found *found, size_t *kept, st_errors *errors)
{
    for (size_t i = 0; i < count; i++) {
        if (!fits(&entries[i], filter))
            continue;
        st_profile_found *twin =
            filter->collective != NULL ? same_group(found, *kept, &entries[i]) : NULL;
        if (twin == NULL) {
            found[(*kept)++].entry = &entries[i];
        } else if (strcmp(twin->entry->collective, entries[i].collective) == 0) {
            const st_profile *first = twin->entry;
            const st_profile *entry = &entries[i];
            st_report(errors, ST_SEVERITY_WARNING, ST_ERR_NAME, (st_place){0},
                      "profile '%s' has two entries for %s on %zu ranks and %zu node%s: uses "
                      "cluster '%s', fabric "
                      "'%s' and NCCL '%s', ignores '%s', '%s' and '%s'",
                      entry->name, entry->collective, entry->ranks, entry->nodes,
                      entry->nodes == 1 ? "" : "s", first->cluster, first->fabric, first->nccl,
                      entry->cluster, entry->fabric, entry->nccl);
        } else if (twin->entry->collective[0] == '\0') {
            twin->entry = &entries[i];
        }
    }
}

static st_status read_all_options(st_profile_found *found, size_t count, st_arena *arena,
                                  st_errors *errors)
{
    for (size_t i = 0; i < count; i++) {
        st_status status =
            st_profile_options(found[i].entry, arena, &found[i].options, &found[i].count, errors);
        if (status != ST_OK)
            return status;
    }
    return ST_OK;
}

st_status st_profile_all(const char *file, const st_profile_filter *filter, st_arena *arena,
                         st_profile_found **found, size_t *count, st_errors *errors)
{
    st_profiles *profiles = NULL;
    const st_profile *entries = NULL;
    size_t all = 0;
    *count = 0;
    st_status status = st_profiles_open(file, ST_PROFILES_READ, &profiles, errors);
    if (status == ST_OK)
        status = must_find(profiles, filter, arena, &entries, &all, errors);
    *found = status == ST_OK ? st_arena_alloc(arena, all + 1, sizeof **found) : NULL;
    if (status == ST_OK && *found == NULL)
        status = ST_ERR_MEMORY;
    if (status == ST_OK) {
        keep_fitting(entries, all, filter, *found, count, errors);
        status = read_all_options(*found, *count, arena, errors);
    }
    st_profiles_close(profiles);
    return status;
}
