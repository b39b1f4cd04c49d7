/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings of Nsight Systems, as 'nsys export --type sqlite' writes them (NVIDIA, Nsight Systems
 * User Guide, SQLite Schema Reference). One database holds all processes of a node; each that ran
 * kernels is a rank. Names are numbers of the table StringIds; a process is the upper part of the
 * number of a thread. Tables that a recording lacks are passed over, but for that of kernels.
 *
 * rocprofv3 writes databases, too (rocpd; AMD, ROCprofiler-SDK, Using rocpd output format). Names
 * of their tables end in the id of a recording, of which a merged file has several. Views without
 * it are not used, as they are programs. A kernel and its call share the number of a stack.
 */
#include "trace/store.h"

#include "base/memory.h"
#include "base/sqlite_file.h"
#include "trace/xalloc.h"

#include <string.h>

#ifdef STEPTIME_HAVE_SQLITE

/* Bits of a thread in its number; those above them are its process. */
#define THREAD_BITS INT64_C(0xFFFFFF)

enum { MOST_PROCESSES = 256, SQL = 2048, MOST_ID = 64 };

/* When an event was recorded into a stream. */
typedef struct recorded {
    int64_t event;
    int64_t call_ns;
    int64_t stream;
    int64_t correlation;
} recorded;

typedef struct nsys {
    st_sqlite database;
    st_keeper keep;
    int64_t processes[MOST_PROCESSES];
    size_t process_count;
    char where[64];    /* process of the rank that is read, as SQL */
    const char *same;  /* a call `r` is of the process of a record `k` */
    const char *calls; /* the table of calls, or a query that takes each call once */
    char ids[MOST_PROCESSES][MOST_ID]; /* of rocpd: how names of tables end, by process */
    size_t id_count;                   /* before processes are known, by recording */
    st_trace_kind kind;
    recorded *records;
    size_t record_count;
    st_arena *arena;
} nsys;

/* Of rocpd, where @ is the id: the process of a row `k`, its event, and what calls and tasks share.
 */
#define PROCESS "JOIN \"rocpd_info_process@\" AS p ON p.id = k.pid"
#define EVENT   " LEFT JOIN \"rocpd_event@\" AS e ON e.id = k.event_id"
#define STACK   "coalesce(nullif(e.stack_id, 0), e.correlation_id)"
/* Regions of a thread by their category. */
#define REGION(shared, name, category)                                                             \
    "SELECT k.start, k.\"end\", " shared                                                           \
    ", ((p.pid & 16777215) << 24) | (t.tid & 16777215), " name                                     \
    " FROM \"rocpd_region@\" AS k " PROCESS EVENT " JOIN \"rocpd_info_thread@\" AS t ON t.id = "   \
    "k.tid LEFT JOIN \"rocpd_string@\" AS s ON s.id = k.name_id JOIN \"rocpd_string@\" AS c ON "   \
    "c.id = e.category_id AND (c.string " category ")"

typedef st_status row_taker(void *context, sqlite3_stmt *row);

static bool ok(const nsys *own)
{
    return own->keep.status == ST_OK;
}

static st_status fail(const nsys *own, st_status status, const char *message)
{
    return st_fail(own->keep.errors, status, (st_place){.file = own->keep.file}, "%s", message);
}

static void query(nsys *own, const char *sql, row_taker *take)
{
    size_t rows = 0;
    if (ok(own))
        own->keep.status = st_sqlite_query(&own->database, sql, take, own, &rows);
}

static bool has_table(nsys *own, const char *table)
{
    bool has = false;
    if (ok(own))
        own->keep.status = st_sqlite_has_table(&own->database, table, &has);
    return has && ok(own);
}

static bool has_column(nsys *own, const char *table, const char *name)
{
    bool has = false;
    if (ok(own))
        own->keep.status = st_sqlite_has_column(&own->database, table, name, &has);
    return has && ok(own);
}

/* -1 for NULL. */
static int64_t number(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_INTEGER ? sqlite3_column_int64(row, column)
                                                              : -1;
}

static const char *text(sqlite3_stmt *row, int column)
{
    return (const char *)sqlite3_column_text(row, column);
}

/* ---- events ---- */

/* A row's first columns: start, end, correlation. False where it is left out, or refused. */
static bool begin_event(nsys *own, sqlite3_stmt *row, st_trace_event *event)
{
    st_trace *trace = &own->keep.store->trace;
    static const int64_t MOST_NS = INT64_MAX / 4;
    int64_t start = number(row, 0);
    int64_t end = number(row, 1);
    const bool fits = start >= 0 && end >= start && end <= MOST_NS;
    *event = (st_trace_event){.start_ns = start,
                              .duration_ns = fits ? end - start : 0,
                              .link = st_store_link(number(row, 2)),
                              .kind = (uint8_t)own->kind,
                              .class_ = ST_TRACE_MEMORY};
    if (fits) {
        trace->has_decimals = trace->has_decimals || start % 1000 != 0 || end % 1000 != 0;
        return true;
    }
    own->keep.left_out++;
    if (!own->keep.partial)
        ST_NOTE(&own->keep, ST_ERR_VALUE, (st_place){.file = own->keep.file},
                "an event has an impossible time" ST_FOUND "%lld to %lld ns" ST_HINT
                "--partial leaves such events out",
                (long long)start, (long long)end);
    return false;
}

/* A row that cannot be used. */
static st_status leave_out(nsys *own, const char *message)
{
    own->keep.left_out++;
    if (!own->keep.partial)
        ST_NOTE(&own->keep, ST_ERR_NAME, (st_place){.file = own->keep.file},
                "%s" ST_HINT "--partial leaves such events out", message);
    return own->keep.status;
}

static st_status add_to_stream(nsys *own, sqlite3_stmt *row, st_trace_event *event)
{
    const st_trace_track track = {
        .is_stream = true, .process = number(row, 3), .number = number(row, 4)};
    return st_keep_event(&own->keep, &track, event);
}

static st_status add_to_thread(nsys *own, sqlite3_stmt *row, st_trace_event *event)
{
    int64_t thread = number(row, 3);
    const st_trace_track track = {.process = thread >> 24 & THREAD_BITS,
                                  .number = thread & THREAD_BITS};
    return st_keep_event(&own->keep, &track, event);
}

/* start, end, correlation, device, stream, name */
static st_status take_kernel(void *context, sqlite3_stmt *row)
{
    nsys *own = context;
    st_trace_event event;
    if (!begin_event(own, row, &event))
        return own->keep.status;
    const char *name = text(row, 5);
    if (name == NULL)
        return leave_out(own, "a kernel has no name in the table StringIds");
    event.name = st_keep_name(&own->keep, name, strlen(name));
    st_keep_class(&own->keep, &event);
    return add_to_stream(own, row, &event);
}

static const char *memory_name(int64_t kind)
{
    static const char *const names[] = {"Pageable", "Pinned", "Device", "Array", "Managed"};
    return kind >= 0 && (size_t)kind < ST_COUNT(names) ? names[kind] : "Unknown";
}

/* start, end, correlation, device, stream, copyKind, srcKind, dstKind */
static st_status take_copy(void *context, sqlite3_stmt *row)
{
    nsys *own = context;
    st_trace_event event;
    if (!begin_event(own, row, &event))
        return own->keep.status;
    /* As Kineto names copies, which says whether the host waits: "Memcpy HtoD (Pageable ->
     * Device)". */
    static const char *const ways[] = {NULL,   "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                       "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
    char name[80] = "Memset (Device)";
    int64_t way = number(row, 5);
    bool known = way > 0 && (size_t)way < ST_COUNT(ways);
    if (own->id_count > 0)
        (void)snprintf(name, sizeof name, "Memcpy%s%s", known ? " " : "", known ? ways[way] : "");
    else if (own->kind != ST_TRACE_MEMSET)
        (void)snprintf(name, sizeof name, "Memcpy %s (%s -> %s)", known ? ways[way] : "Unknown",
                       memory_name(number(row, 6)), memory_name(number(row, 7)));
    event.name = st_keep_name(&own->keep, name, strlen(name));
    return add_to_stream(own, row, &event);
}

/* start, end, correlation, thread, name */
static st_status take_call(void *context, sqlite3_stmt *row)
{
    nsys *own = context;
    st_trace_event event;
    if (!begin_event(own, row, &event))
        return own->keep.status;
    const char *name = text(row, 4);
    if (name == NULL)
        return leave_out(own, "a call has no name in the table StringIds");
    /* "cudaLaunchKernel_v7000" is cudaLaunchKernel, "cudaMemcpyAsync_ptsz_v7000"
     * cudaMemcpyAsync. */
    size_t length = strlen(name);
    size_t digits = length;
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
        digits--;
    if (digits < length && digits >= 2 && name[digits - 1] == 'v' && name[digits - 2] == '_')
        length = digits - 2;
    bool own_stream = length > 5 && (memcmp(name + length - 5, "_ptsz", 5) == 0 ||
                                     memcmp(name + length - 5, "_ptds", 5) == 0);
    event.name = st_keep_name(&own->keep, name, own_stream ? length - 5 : length);
    st_keep_call(&own->keep, &event);
    return add_to_thread(own, row, &event);
}

/* "ProfilerStep#7", "iteration 7", "step: 7": a step of the training. */
static bool names_step(const char *text)
{
    static const char *const words[] = {"ProfilerStep", "iteration", "Iteration", "train_step",
                                        "step",         "Step",      "iter"};
    for (size_t i = 0; i < ST_COUNT(words); i++) {
        size_t length = strlen(words[i]);
        if (strncmp(text, words[i], length) != 0)
            continue;
        length += strspn(text + length, " #:_=-");
        size_t digits = strspn(text + length, "0123456789");
        return digits > 0 && text[length + digits] == '\0';
    }
    return false;
}

/* start, end, nothing, thread, name */
static st_status take_range(void *context, sqlite3_stmt *row)
{
    nsys *own = context;
    st_trace_event event;
    const char *name = text(row, 4);
    if (!begin_event(own, row, &event) || name == NULL)
        return own->keep.status;
    event.kind = (uint8_t)(names_step(name) ? ST_TRACE_STEP : ST_TRACE_OPERATOR);
    event.name = st_keep_name(&own->keep, name, strlen(name));
    return add_to_thread(own, row, &event);
}

/* ---- who waits for what ---- */

/* event, stream, correlation, start of the call */
static st_status take_record(void *context, sqlite3_stmt *row)
{
    nsys *own = context;
    const recorded made = {.event = number(row, 0),
                           .stream = number(row, 1),
                           .correlation = number(row, 2),
                           .call_ns = number(row, 3)};
    ST_XAPPEND(own->arena, own->records, own->record_count, made);
    return ST_OK;
}

ST_COMPARE(by_event, recorded, ST_RISING(event) ST_RISING(call_ns));

/* The last record of an event before a moment: what a call then waits for; NULL: none is known. */
static const recorded *last_record(const nsys *own, int64_t event, int64_t before_ns)
{
    const recorded wanted = {.event = event, .call_ns = before_ns};
    size_t low = 0;
    ST_BISECT(low, own->record_count, by_event(&own->records[middle], &wanted) < 0);
    return low > 0 && own->records[low - 1].event == event ? &own->records[low - 1] : NULL;
}

/* start, end, correlation, device, stream, syncType, event, start of the call */
static st_status take_sync(void *context, sqlite3_stmt *row)
{
    static const char *const names[] = {NULL, "Event Sync", "Stream Wait Event", "Stream Sync",
                                        "Context Sync"};
    enum { EVENT_SYNC = 1, STREAM_WAIT = 2, STREAM_SYNC = 3 };
    nsys *own = context;
    st_trace_event event;
    int64_t type = number(row, 5);
    if (!begin_event(own, row, &event) || type < EVENT_SYNC || (size_t)type >= ST_COUNT(names))
        return own->keep.status;
    const recorded *record = type == EVENT_SYNC || type == STREAM_WAIT
                                 ? last_record(own, number(row, 6), number(row, 7))
                                 : NULL;
    const st_trace_wait wait = {
        .device = -1,
        .stream = type == STREAM_WAIT || type == STREAM_SYNC ? number(row, 4) : -1,
        .on_stream = record != NULL ? record->stream : -1,
        .record_correlation = record != NULL ? record->correlation : -1};
    st_store_wait(own->keep.store, wait, &event);
    event.name = st_keep_name(&own->keep, names[type], strlen(names[type]));
    const st_trace_track track = {.process = number(row, 3), .number = number(row, 4)};
    return st_keep_event(&own->keep, &track, &event);
}

/* ---- tables ---- */

static const char kernels_table[] = "CUPTI_ACTIVITY_KIND_KERNEL";
static const char calls_table[] = "CUPTI_ACTIVITY_KIND_RUNTIME";

/* A table, where the recording has it, with its columns in `sql` behind SELECT. */
static void read_table(nsys *own, const char *table, const char *sql, row_taker *take)
{
    if (has_table(own, table))
        query(own, sql, take);
}

/* What replaces a column that the table lacks. */
static const char *column(nsys *own, const char *table, const char *name)
{
    return has_column(own, table, name) ? name : "NULL";
}

static st_status take_twice(void *context, sqlite3_stmt *row)
{
    nsys *own = context;
    (void)row;
    /* Both the wrapper and what it wraps, as collectors of before 2022 wrote them: the outer row is
     * the call. */
    own->calls = "(SELECT * FROM (SELECT *, max(\"end\") OVER (PARTITION BY globalTid, "
                 "correlationId ORDER BY start, \"end\" DESC ROWS BETWEEN UNBOUNDED PRECEDING AND "
                 "1 PRECEDING) AS until FROM CUPTI_ACTIVITY_KIND_RUNTIME) WHERE until IS NULL OR "
                 "\"end\" > until OR coalesce(correlationId, 0) = 0)";
    return ST_OK;
}

static void read_copies(nsys *own)
{
    static const char table[] = "CUPTI_ACTIVITY_KIND_MEMCPY";
    char sql[SQL];
    const char *source = column(own, table, "srcKind");
    const char *target = column(own, table, "dstKind");
    own->kind = ST_TRACE_MEMCPY;
    (void)sqlite3_snprintf(sizeof sql, sql,
                           "SELECT start, \"end\", correlationId, deviceId, streamId, copyKind, "
                           "%s, %s FROM %s AS k WHERE %s",
                           source, target, table, own->where);
    read_table(own, table, sql, take_copy);
    own->kind = ST_TRACE_MEMSET;
    (void)sqlite3_snprintf(sizeof sql, sql,
                           "SELECT start, \"end\", correlationId, deviceId, streamId FROM "
                           "CUPTI_ACTIVITY_KIND_MEMSET AS k WHERE %s",
                           own->where);
    read_table(own, "CUPTI_ACTIVITY_KIND_MEMSET", sql, take_copy);
}

static void read_waits(nsys *own)
{
    static const char events[] = "CUPTI_ACTIVITY_KIND_CUDA_EVENT";
    static const char syncs[] = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
    char sql[SQL];
    if (!has_table(own, calls_table))
        return;
    (void)sqlite3_snprintf(sizeof sql, sql,
                           "SELECT k.eventId, k.streamId, k.correlationId, r.start FROM %s AS k "
                           "JOIN %s AS r ON r.correlationId = k.correlationId AND %s WHERE %s",
                           events, own->calls, own->same, own->where);
    read_table(own, events, sql, take_record);
    st_sort(own->records, own->record_count, sizeof *own->records, by_event);
    own->kind = ST_TRACE_SYNC;
    (void)sqlite3_snprintf(sizeof sql, sql,
                           "SELECT k.start, k.\"end\", k.correlationId, k.deviceId, k.streamId, "
                           "k.syncType, k.eventId, r.start FROM %s AS k "
                           "JOIN %s AS r ON r.correlationId = k.correlationId AND %s WHERE %s",
                           syncs, own->calls, own->same, own->where);
    read_table(own, syncs, sql, take_sync);
}

static st_status take_gpu(void *context, sqlite3_stmt *row)
{
    nsys *own = context;
    st_trace *trace = &own->keep.store->trace;
    const char *name = text(row, 0);
    trace->sm_count = number(row, 1);
    if (name != NULL)
        trace->gpu = st_keep_name(&own->keep, name, strlen(name));
    return own->keep.status;
}

static st_status take_start(void *context, sqlite3_stmt *row)
{
    nsys *own = context;
    own->keep.store->trace.base_ns = number(row, 0);
    return ST_OK;
}

/* ---- the database ---- */

static st_status take_process(void *context, sqlite3_stmt *row)
{
    nsys *own = context;
    if (own->process_count == MOST_PROCESSES)
        return fail(own, ST_ERR_LIMIT, "kernels of more than 256 processes are too many");
    own->processes[own->process_count++] = number(row, 0);
    return ST_OK;
}

static st_status take_recording(void *context, sqlite3_stmt *row)
{
    nsys *own = context;
    if (own->id_count < MOST_PROCESSES)
        (void)snprintf(own->ids[own->id_count++], MOST_ID, "%s", text(row, 0));
    return ST_OK;
}

/* Asks the tables of a recording. */
static void query_recording(nsys *own, const char *id, const char *sql, row_taker *take)
{
    st_buffer whole = {0};
    for (const char *at = sql; *at != '\0'; at++)
        st_buffer_append(&whole, *at == '@' ? id : at, *at == '@' ? strlen(id) : 1);
    st_xdone(!whole.failed);
    query(own, whole.data, take);
    st_buffer_free(&whole);
}

static void find_recordings(nsys *own)
{
    char ids[MOST_PROCESSES][MOST_ID];
    query(own,
          "SELECT substr(name, 22) FROM sqlite_schema WHERE type = 'table' AND name GLOB "
          "'rocpd_kernel_dispatch*' AND name NOT GLOB '*[^A-Za-z0-9_-]*' ORDER BY 1",
          take_recording);
    memcpy(ids, own->ids, sizeof ids);
    for (size_t i = 0; i < own->id_count && ok(own); i++) {
        const size_t first = own->process_count;
        query_recording(own, ids[i],
                        "SELECT DISTINCT p.pid FROM \"rocpd_kernel_dispatch@\" AS k " PROCESS
                        " ORDER BY 1",
                        take_process);
        for (size_t k = first; k < own->process_count; k++)
            memcpy(own->ids[k], ids[i], MOST_ID);
    }
}

static void open_database(nsys *own)
{
    static const char *const tables[] = {kernels_table, "StringIds"};
    own->database = (st_sqlite){
        .errors = own->keep.errors,
        .expected = "a file that 'nsys export --type sqlite' or rocprofv3 wrote, whole"};
    own->keep.status = st_sqlite_open(&own->database, own->keep.file);
    if (has_table(own, "rocpd_op"))
        ST_NOTE(&own->keep, ST_ERR_NAME, (st_place){.file = own->keep.file},
                "a database of rocmProfileData is not read" ST_HINT
                "write one with 'rpd2tracing.py FILE OUTPUT.json'");
    find_recordings(own);
    for (size_t i = 0; i < ST_COUNT(tables) && ok(own) && own->id_count == 0; i++)
        if (!has_table(own, tables[i]) && ok(own))
            ST_NOTE(&own->keep, ST_ERR_NAME, (st_place){.file = own->keep.file},
                    "the database has no table '%s'" ST_EXPECTED
                    "what 'nsys profile --trace=cuda,nvtx' records and 'nsys export "
                    "--type sqlite' writes",
                    tables[i]);
    if (has_column(own, kernels_table, "globalPid"))
        query(own, "SELECT DISTINCT globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY 1",
              take_process);
}

st_status st_nsys_count(const char *path, size_t *count, st_errors *errors)
{
    nsys own = {.keep = {.file = path, .errors = errors}};
    open_database(&own);
    st_sqlite_close(&own.database);
    *count = own.process_count > 0 ? own.process_count : 1;
    return own.keep.status;
}

/* What the file states about itself, as Kineto's does. */
static void finish(nsys *own)
{
    static const struct {
        const char *name;
        st_trace_kind kind;
    } kinds[] = {{"kernel", ST_TRACE_KERNEL},     {"gpu_memcpy", ST_TRACE_MEMCPY},
                 {"gpu_memset", ST_TRACE_MEMSET}, {"cuda_runtime", ST_TRACE_CALL},
                 {"cuda_sync", ST_TRACE_SYNC},    {"nvtx", ST_TRACE_OPERATOR}};
    st_trace *trace = &own->keep.store->trace;
    for (size_t i = 0; i < ST_COUNT(kinds) && ok(own); i++) {
        st_trace_category *category = &trace->categories[trace->category_count];
        category->count = trace->kind_counts[kinds[i].kind];
        if (category->count > 0 && ++trace->category_count > 0)
            category->name = st_keep_name(&own->keep, kinds[i].name, strlen(kinds[i].name));
    }
    if (ok(own))
        st_keep_end(&own->keep);
}

/* Columns of rocpd for the functions above. */
static void read_rocpd(nsys *own, size_t part)
{
    static const struct {
        st_trace_kind kind;
        row_taker *take;
        const char *sql;
    } events[] = {
        {ST_TRACE_KERNEL, take_kernel,
         "SELECT k.start, k.\"end\", " STACK ", coalesce(a.type_index, k.agent_id), k.stream_id, "
         "coalesce(s.display_name, s.kernel_name) FROM \"rocpd_kernel_dispatch@\" AS k " PROCESS
             EVENT " LEFT JOIN \"rocpd_info_agent@\" AS a ON a.id = k.agent_id LEFT JOIN "
         "\"rocpd_info_kernel_symbol@\" AS s ON s.id = k.kernel_id"},
        /* A copy belongs to the GPU that takes it, or else that gives it. */
        {ST_TRACE_MEMCPY, take_copy,
         "SELECT k.start, k.\"end\", " STACK ", coalesce(a.type_index, b.type_index, -1), "
         "k.stream_id, CASE WHEN s.string LIKE '%HOST_TO_DEVICE' THEN 1 WHEN s.string LIKE "
         "'%DEVICE_TO_HOST' THEN 2 WHEN s.string LIKE '%DEVICE_TO_DEVICE' THEN 8 WHEN s.string "
         "LIKE '%HOST_TO_HOST' THEN 9 END FROM \"rocpd_memory_copy@\" AS k " PROCESS EVENT
         " LEFT JOIN \"rocpd_info_agent@\" AS a ON a.id = k.dst_agent_id AND a.type = 'GPU' LEFT "
         "JOIN \"rocpd_info_agent@\" AS b ON b.id = k.src_agent_id AND b.type = 'GPU' LEFT JOIN "
         "\"rocpd_string@\" AS s ON s.id = k.name_id"},
        {ST_TRACE_CALL, take_call, REGION(STACK, "s.string", "LIKE '%HIP%'")},
        {ST_TRACE_OPERATOR, take_range,
         REGION("NULL",
                "coalesce(CASE WHEN json_valid(e.extdata) THEN json_extract(e.extdata, "
                "'$.message') END, s.string)",
                "LIKE '%MARKER%' OR c.string LIKE '%RCCL%'")},
    };
    char sql[SQL];
    for (size_t i = 0; i < ST_COUNT(events) && part < own->process_count; i++) {
        own->kind = events[i].kind;
        (void)snprintf(sql, sizeof sql, "%s WHERE p.pid = %lld", events[i].sql,
                       (long long)own->processes[part]);
        query_recording(own, own->ids[part], sql, events[i].take);
    }
    if (part < own->process_count)
        query_recording(own, own->ids[part],
                        "SELECT coalesce(product_name, name), CASE WHEN json_valid(extdata) THEN "
                        "json_extract(extdata, '$.cu_count') END FROM \"rocpd_info_agent@\" WHERE "
                        "type = 'GPU' LIMIT 1",
                        take_gpu);
    finish(own);
}

static void read_rank(nsys *own, size_t part)
{
    bool one = own->process_count < 2;
    int64_t process = part < own->process_count ? own->processes[part] : 0;
    own->where[0] = '1';
    if (!one)
        (void)sqlite3_snprintf(sizeof own->where, own->where, "k.globalPid = %lld",
                               (long long)process);
    own->same = one ? "1" : "r.globalTid - (r.globalTid & 16777215) = k.globalPid";
    own->arena = st_xarena();
    static const char *const needed[] = {"start", "end", "deviceId", "streamId", "correlationId"};
    char kernel_sql[SQL];
    for (size_t i = 0; i < ST_COUNT(needed) && ok(own); i++)
        if (!has_column(own, kernels_table, needed[i]) && ok(own))
            ST_NOTE(&own->keep, ST_ERR_NAME, (st_place){.file = own->keep.file},
                    "the table %s has no column '%s'", kernels_table, needed[i]);
    const char *name = column(own, kernels_table, "demangledName");
    if (strcmp(name, "NULL") == 0)
        name = column(own, kernels_table, "shortName");
    own->kind = ST_TRACE_KERNEL;
    (void)sqlite3_snprintf(sizeof kernel_sql, kernel_sql,
                           "SELECT k.start, k.\"end\", k.correlationId, k.deviceId, k.streamId, "
                           "s.value FROM %s AS k LEFT JOIN StringIds AS s ON s.id = k.%s WHERE %s",
                           kernels_table, name, own->where);
    query(own, kernel_sql, take_kernel);
    read_copies(own);
    /* Of threads of the process that ran the kernels. */
    char where[96] = "1";
    char thread_sql[SQL];
    if (!one)
        (void)sqlite3_snprintf(sizeof where, where, "globalTid - (globalTid & %lld) = %lld",
                               (long long)THREAD_BITS, (long long)process);
    own->calls = calls_table;
    read_table(own, calls_table,
               "SELECT 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId > 0 GROUP BY "
               "globalTid, correlationId HAVING count(*) > 1 LIMIT 1",
               take_twice);
    own->kind = ST_TRACE_CALL;
    (void)sqlite3_snprintf(sizeof thread_sql, thread_sql,
                           "SELECT k.start, k.\"end\", k.correlationId, k.globalTid, s.value FROM "
                           "%s AS k LEFT JOIN StringIds AS s ON s.id = k.nameId WHERE %s",
                           own->calls, where);
    read_table(own, calls_table, thread_sql, take_call);
    own->kind = ST_TRACE_OPERATOR;
    const char *id = has_column(own, "NVTX_EVENTS", "textId") ? "k.textId" : "NULL";
    /* 59 and 60 are ranges that a thread opens and closes. */
    (void)sqlite3_snprintf(sizeof thread_sql, thread_sql,
                           "SELECT k.start, k.\"end\", NULL, k.globalTid, "
                           "coalesce(k.text, s.value) FROM NVTX_EVENTS AS k LEFT JOIN StringIds "
                           "AS s ON s.id = %s WHERE k.eventType IN (59, 60) AND k.\"end\" IS NOT "
                           "NULL AND %s",
                           id, where);
    read_table(own, "NVTX_EVENTS", thread_sql, take_range);
    read_waits(own);
    char sql[SQL];
    (void)sqlite3_snprintf(sizeof sql, sql, "SELECT name, %s FROM TARGET_INFO_GPU LIMIT 1",
                           column(own, "TARGET_INFO_GPU", "smCount"));
    read_table(own, "TARGET_INFO_GPU", sql, take_gpu);
    read_table(own, "TARGET_INFO_SESSION_START_TIME",
               "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME LIMIT 1", take_start);
    st_arena_destroy(own->arena);
    finish(own);
}

st_status st_nsys_read(const st_trace_part *part, bool partial, st_store *store, st_errors *errors)
{
    nsys own = {.keep = {.file = part->path,
                         .what = "recording",
                         .wrong = "impossible times or without a name",
                         .store = store,
                         .errors = errors,
                         .partial = partial}};
    open_database(&own);
    if (ok(&own))
        (own.id_count > 0 ? read_rocpd : read_rank)(&own, part->part);
    st_sqlite_close(&own.database);
    return own.keep.status;
}

#else

static st_status refuse(const char *path, st_errors *errors)
{
    return st_fail(errors, ST_ERR_IO, (st_place){.file = path},
                   "this steptime was built without SQLite, which databases of Nsight Systems "
                   "need");
}

st_status st_nsys_count(const char *path, size_t *count, st_errors *errors)
{
    *count = 1;
    return refuse(path, errors);
}

st_status st_nsys_read(const st_trace_part *part, bool partial, st_store *store, st_errors *errors)
{
    (void)partial;
    (void)store;
    return refuse(part->path, errors);
}

#endif
