/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of a database that 'nsys export --type sqlite' wrote: the table
 * CUPTI_ACTIVITY_KIND_KERNEL, whose names are numbers of the table StringIds (NVIDIA, Nsight
 * Systems User Guide, SQLite Schema Reference). Which columns there are depends on the version, so
 * that they are looked up first. The grid of a kernel of NCCL is its channels.
 */
#include "overlap-xgboost/fit/recorded.h"

#include "base/memory.h"
#include "base/sqlite_file.h"
#include "steptime/tool/input_files.h"

#ifdef STEPTIME_HAVE_SQLITE

#include <stdio.h>
#include <string.h>

enum { MOST_PROCESSES = 256, DEVICES_OF_PROCESS = 1024 };

typedef struct nsys {
    st_sqlite database;
    const char *file;
    st_arena *arena;
    st_recorded *recorded;
    st_errors *errors;
    int64_t *processes; /* that ran kernels, in order */
    size_t process_count;
} nsys;

static const char kernels_table[] = "CUPTI_ACTIVITY_KIND_KERNEL";

static st_status has_column(const nsys *database, const char *column, bool *has)
{
    return st_sqlite_has_column(&database->database, kernels_table, column, has);
}

/* ---- rows ---- */

static st_status take_process(void *context, sqlite3_stmt *row)
{
    nsys *database = context;
    if (database->process_count == MOST_PROCESSES)
        return st_fail(database->errors, ST_ERR_VALUE, (st_place){.file = database->file},
                       "the kernels are of too many processes" ST_EXPECTED "at most 256");
    const int64_t process = sqlite3_column_int64(row, 0);
    return ST_APPEND(database->arena, database->processes, database->process_count, process)
               ? ST_OK
               : st_out_of_memory(database->errors);
}

/*
 * Each process counts its devices from 0, so that the ranks of a node may all run on "device 0".
 * A device is identified by its process as well, by its place among the others: numbers of
 * processes differ from recording to recording.
 */
static int64_t device_of(const nsys *database, int64_t device, int64_t process)
{
    size_t place = 0;
    while (place < database->process_count && database->processes[place] < process)
        place++;
    return database->process_count > 1 && device >= 0 && device < DEVICES_OF_PROCESS
               ? (int64_t)place * DEVICES_OF_PROCESS + device
               : device;
}

/* The columns of the SELECT in read_kernels. */
static st_status take_kernel(void *context, sqlite3_stmt *row)
{
    nsys *database = context;
    st_recorded *recorded = database->recorded;
    const char *name = (const char *)sqlite3_column_text(row, 4);
    if (name == NULL)
        return st_fail(database->errors, ST_ERR_VALUE, (st_place){.file = database->file},
                       "a kernel has no name in the table StringIds");
    if (recorded->count >= ST_RECORDED_MAX_KERNELS)
        return st_fail(database->errors, ST_ERR_VALUE, (st_place){.file = database->file},
                       "the recording has too many kernels" ST_EXPECTED "at most 4 million");
    st_recorded_kernel made = {
        .start_ns = sqlite3_column_int64(row, 0),
        .end_ns = sqlite3_column_int64(row, 1),
        .device = device_of(database, sqlite3_column_int64(row, 2), sqlite3_column_int64(row, 11)),
        .stream = sqlite3_column_int64(row, 3),
        .name = st_arena_copy(database->arena, name, strlen(name))};
    if (made.start_ns < 0 || made.end_ns < made.start_ns)
        return st_fail(database->errors, ST_ERR_VALUE, (st_place){.file = database->file},
                       "a kernel ends before it starts");
    for (int i = 0; i < 3; i++) {
        int64_t grid = sqlite3_column_int64(row, 5 + i);
        int64_t block = sqlite3_column_int64(row, 8 + i);
        made.grid[i] = grid > 0 && grid <= INT32_MAX ? grid : 0;
        made.block[i] = block > 0 && block <= INT32_MAX ? block : 0;
    }
    st_recorded_collective *collective = st_recorded_collective_of(name, database->arena);
    if (collective != NULL)
        collective->channels = made.grid[0];
    made.collective = collective;
    return ST_APPEND(database->arena, recorded->kernels, recorded->count, made)
               ? ST_OK
               : st_out_of_memory(database->errors);
}

static st_status read_processes(nsys *database, bool *has)
{
    size_t rows = 0;
    st_status status = has_column(database, "globalPid", has);
    if (status != ST_OK || !*has)
        return status;
    return st_sqlite_query(&database->database,
                           "SELECT DISTINCT globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL "
                           "ORDER BY globalPid",
                           take_process, database, &rows);
}

static st_status check_columns(nsys *database)
{
    static const char *const needed[] = {"start", "end", "deviceId", "streamId"};
    for (size_t i = 0; i < ST_COUNT(needed); i++) {
        bool has = false;
        st_status status = has_column(database, needed[i], &has);
        if (status != ST_OK || !has)
            return status != ST_OK
                       ? status
                       : st_fail(database->errors, ST_ERR_VALUE, (st_place){.file = database->file},
                                 "the table CUPTI_ACTIVITY_KIND_KERNEL has no column '%s'",
                                 needed[i]);
    }
    return ST_OK;
}

/* The column with the numbers of names. */
static st_status find_name(nsys *database, const char **name)
{
    static const char *const names[] = {"demangledName", "shortName"};
    for (size_t i = 0; i < 2; i++) {
        bool has = false;
        st_status status = has_column(database, names[i], &has);
        if (status != ST_OK || has) {
            *name = names[i];
            return status;
        }
    }
    return st_fail(database->errors, ST_ERR_VALUE, (st_place){.file = database->file},
                   "the table CUPTI_ACTIVITY_KIND_KERNEL has no names of kernels" ST_EXPECTED
                   "a column 'demangledName' or 'shortName'");
}

static st_status read_kernels(nsys *database)
{
    static const char *const sizes[] = {"gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"};
    const char *name = NULL;
    char sizes_sql[128] = "";
    char sql[512];
    size_t rows = 0;
    bool has = false;
    st_status status = check_columns(database);
    if (status == ST_OK)
        status = find_name(database, &name);
    for (size_t i = 0; i < ST_COUNT(sizes) && status == ST_OK; i++) {
        status = has_column(database, sizes[i], &has);
        size_t length = strlen(sizes_sql);
        (void)snprintf(sizes_sql + length, sizeof sizes_sql - length, "%s%s",
                       has ? ", k." : ", 0 AS ", sizes[i]);
    }
    if (status == ST_OK)
        status = read_processes(database, &has);
    if (status != ST_OK)
        return status;
    (void)sqlite3_snprintf(sizeof sql, sql,
                           "SELECT k.start, k.\"end\", k.deviceId, k.streamId, s.value%s, %s FROM "
                           "CUPTI_ACTIVITY_KIND_KERNEL AS k LEFT JOIN StringIds AS s "
                           "ON s.id = k.%s ORDER BY k.start, k.rowid",
                           sizes_sql, has ? "k.globalPid" : "0", name);
    return st_sqlite_query(&database->database, sql, take_kernel, database, &rows);
}

static st_status take_gpu(void *context, sqlite3_stmt *row)
{
    nsys *database = context;
    const char *name = (const char *)sqlite3_column_text(row, 0);
    const char *kept = name != NULL ? st_arena_copy(database->arena, name, strlen(name)) : "";
    database->recorded->gpu = kept != NULL ? kept : "";
    return kept != NULL ? ST_OK : st_out_of_memory(database->errors);
}

static st_status read_gpu(nsys *database)
{
    bool has = false;
    size_t rows = 0;
    st_status status = st_sqlite_has_table(&database->database, "TARGET_INFO_GPU", &has);
    if (status != ST_OK || !has)
        return status;
    return st_sqlite_query(&database->database, "SELECT name FROM TARGET_INFO_GPU LIMIT 1",
                           take_gpu, database, &rows);
}

/* ---- the database ---- */

static st_status check_tables(nsys *database)
{
    static const char *const tables[] = {"CUPTI_ACTIVITY_KIND_KERNEL", "StringIds"};
    for (size_t i = 0; i < 2; i++) {
        bool has = false;
        st_status status = st_sqlite_has_table(&database->database, tables[i], &has);
        if (status != ST_OK)
            return status;
        if (!has)
            return st_fail(database->errors, ST_ERR_VALUE, (st_place){.file = database->file},
                           "the database has no table '%s'" ST_EXPECTED
                           "a recording of 'nsys profile --trace=cuda', exported with 'nsys export "
                           "--type sqlite'",
                           tables[i]);
    }
    return ST_OK;
}

st_status st_recorded_read_nsys(const char *path, st_arena *arena, st_recorded *recorded,
                                st_errors *errors)
{
    nsys database = {.file = path,
                     .arena = arena,
                     .recorded = recorded,
                     .errors = errors,
                     .database = {.errors = errors,
                                  .expected = "a complete file of 'nsys export --type sqlite'"}};
    st_status status = st_sqlite_open(&database.database, path);
    if (status == ST_OK)
        status = check_tables(&database);
    if (status == ST_OK)
        status = read_kernels(&database);
    if (status == ST_OK)
        status = read_gpu(&database);
    st_sqlite_close(&database.database);
    return status;
}

#else

st_status st_recorded_read_nsys(const char *path, st_arena *arena, st_recorded *recorded,
                                st_errors *errors)
{
    (void)arena;
    (void)recorded;
    return st_fail(errors, ST_ERR_IO, (st_place){.file = path},
                   "this build lacks SQLite, which databases of Nsight Systems require");
}

#endif
