/* SPDX-License-Identifier: Apache-2.0 */
/* Databases of Nsight Systems made row by row: events, names, waits, processes, what is refused. */
#include "trace_support.h"

#include "trace/store.h"

#include <stdio.h>
#include <unistd.h>

#ifdef STEPTIME_HAVE_SQLITE

#include <sqlite3.h>

typedef struct fixture {
    st_errors *errors;
    st_store *store;
    const st_trace *trace;
    sqlite3 *database;
    char path[32];
} fixture;

/* Numbers of threads: the process 4001 above 24 bits of a thread. */
#define THREAD "((4001<<24)|31)"
#define PID    "(4001<<24)"

static const char tables[] =
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
    "CREATE TABLE TARGET_INFO_GPU (name TEXT, smCount INTEGER);"
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, "
    "globalPid, demangledName, shortName);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, correlationId, "
    "globalPid, copyKind, srcKind, dstKind);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, streamId, correlationId, "
    "globalPid);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, deviceId, streamId, "
    "correlationId, globalPid, syncType, eventId);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (streamId, correlationId, globalPid, eventId);"
    "CREATE TABLE NVTX_EVENTS (start, end, eventType, text, textId, globalTid);"
    "INSERT INTO StringIds VALUES (101,'ampere_sgemm_128x64_nn'), (102,'ampere'), "
    "(103,'cudaLaunchKernel_v7000'), (104,'forward');";

#define KERNEL(start, end, stream, correlation, pid)                                               \
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" start "," end ",3," stream "," correlation   \
    "," pid ",101,102);"
#define CALL(start, end, thread, correlation)                                                      \
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" start "," end "," thread "," correlation    \
    ",103);"
#define ONE_KERNEL KERNEL("110385", "131000", "7", "31", PID)

static void run(fixture *own, const char *sql)
{
    if (sqlite3_exec(own->database, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sqlite3_errmsg(own->database), sql);
}

static int setup(void **state)
{
    fixture *own = calloc(1, sizeof *own);
    own->errors = st_errors_create();
    strcpy(own->path, "/tmp/st-nsys-XXXXXX");
    int file = mkstemp(own->path);
    assert_true(file >= 0);
    assert_int_equal(close(file), 0);
    assert_int_equal(sqlite3_open(own->path, &own->database), SQLITE_OK);
    run(own, "PRAGMA journal_mode = off; PRAGMA synchronous = off;");
    run(own, tables);
    *state = own;
    return 0;
}

static int teardown(void **state)
{
    fixture *own = *state;
    st_store_destroy(own->store);
    st_errors_destroy(own->errors);
    (void)sqlite3_close(own->database);
    unlink(own->path);
    free(own);
    return 0;
}

/* Reads one process; the events lie in the order of time afterwards. */
static st_status read_part(fixture *own, size_t part, bool partial)
{
    st_store_destroy(own->store);
    own->store = NULL;
    st_store_create(own->path, NULL, &own->store);
    st_status status =
        st_nsys_read(&(st_trace_part){own->path, part}, partial, own->store, own->errors);
    if (status == ST_OK)
        st_store_finish(own->store);
    own->trace = &own->store->trace;
    return status;
}

static void read_good(fixture *own, size_t part)
{
    if (read_part(own, part, false) != ST_OK)
        fail_msg("%s", said(own->errors));
    assert_int_equal(st_errors_size(own->errors), 0);
}

static void expect_refusal(fixture *own, st_status status, const char *words)
{
    assert_int_equal(read_part(own, 0, false), status);
    assert_contains(said(own->errors), words);
}

static const char *name_of(const fixture *own, st_trace_kind kind, size_t i)
{
    return own->trace->names[event_of(own->trace, kind, i)->name];
}

/* ---- events ---- */

typedef struct expected_event {
    st_trace_kind kind;
    const char *name;
    int64_t start_ns;
    int64_t duration_ns;
    int64_t correlation;
    st_trace_track track;
    int class_; /* -1: not looked at */
} expected_event;

static void assert_event(const fixture *own, size_t at, const expected_event *expected)
{
    const st_trace_event *event = &own->trace->events[at];
    const st_trace_track *track = &own->trace->tracks[event->track];
    assert_int_equal(event->kind, expected->kind);
    assert_string_equal(own->trace->names[event->name], expected->name);
    assert_int_equal(event->start_ns, expected->start_ns);
    assert_int_equal(event->duration_ns, expected->duration_ns);
    assert_int_equal(st_trace_correlation(own->trace, event), expected->correlation);
    assert_int_equal(track->is_stream, expected->track.is_stream);
    assert_int_equal(track->process, expected->track.process);
    assert_int_equal(track->number, expected->track.number);
    if (expected->class_ >= 0)
        assert_int_equal(event->class_, expected->class_);
}

TEST_WITH(events_of_every_table_are_kept, setup, teardown)
{
    static const expected_event expected[] = {
        {ST_TRACE_STEP, "ProfilerStep#7", 100000, 90385, -1, {.process = 4001, .number = 31}, -1},
        {ST_TRACE_OPERATOR, "forward", 101000, 9000, -1, {.process = 4001, .number = 33}, -1},
        {ST_TRACE_CALL,
         "cudaLaunchKernel",
         102385,
         5000,
         31,
         {.process = 4001, .number = 31},
         ST_CALL_LAUNCH},
        {ST_TRACE_KERNEL,
         "ampere_sgemm_128x64_nn",
         110385,
         20615,
         31,
         {.is_stream = true, .process = 3, .number = 7},
         ST_TRACE_GEMM},
        {ST_TRACE_MEMCPY,
         "Memcpy HtoD (Pageable -> Device)",
         140000,
         2385,
         32,
         {.is_stream = true, .process = 3, .number = 13},
         ST_TRACE_MEMORY},
        {ST_TRACE_MEMSET,
         "Memset (Device)",
         150000,
         571,
         33,
         {.is_stream = true, .process = 3, .number = 14},
         ST_TRACE_MEMORY},
    };
    fixture *own = *state;
    run(own, ONE_KERNEL CALL("102385", "107385", THREAD, "31"));
    run(own, "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES "
             "(140000,142385,3,13,32," PID ",1,0,2);"
             "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (150000,150571,3,14,33," PID ");"
             "INSERT INTO TARGET_INFO_GPU VALUES ('NVIDIA H100', 132), ('another', 108);"
             "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1711964646000000239);");
    /* Ranges of other types are marks; one without an end is open. */
    run(own, "INSERT INTO NVTX_EVENTS VALUES (101000,110000,59,NULL,104,((4001<<24)|33)), "
             "(100000,190385,60,'ProfilerStep#7',NULL," THREAD "), "
             "(103000,104000,58,'mark',NULL," THREAD "), (105000,106000,61,'mark',NULL," THREAD "),"
             "(107000,NULL,59,'open',NULL," THREAD "), (107500,108500,59,NULL,999," THREAD ");");
    read_good(own, 0);
    assert_int_equal(own->trace->event_count, COUNT(expected));
    for (size_t i = 0; i < COUNT(expected); i++)
        assert_event(own, i, &expected[i]);
    assert_string_equal(st_trace_name(own->trace, own->trace->gpu), "NVIDIA H100");
    assert_int_equal(own->trace->sm_count, 132);
    assert_int_equal(own->trace->base_ns, 1711964646000000239);
    assert_true(own->trace->has_decimals);
    assert_int_equal(own->trace->file_events, 6);
    assert_int_equal(own->trace->complete_events, 6);
    assert_false(own->trace->partial);
}

/* Kinds of events that a recording has none of are not listed. */
TEST_WITH(categories_are_counted, setup, teardown)
{
    static const struct {
        const char *name;
        size_t count;
    } expected[] = {{"kernel", 2}, {"gpu_memset", 1}, {"cuda_runtime", 3}};
    fixture *own = *state;
    run(own, ONE_KERNEL KERNEL("131000", "139000", "7", "32", PID));
    run(own, "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (150000,150571,3,14,33," PID ");");
    run(own, CALL("101", "102", THREAD, "31") CALL("103", "104", THREAD, "32")
                 CALL("105", "106", THREAD, "33"));
    read_good(own, 0);
    assert_int_equal(own->trace->category_count, COUNT(expected));
    for (size_t i = 0; i < COUNT(expected); i++) {
        const st_trace_category *category = &own->trace->categories[i];
        assert_string_equal(own->trace->names[category->name], expected[i].name);
        assert_int_equal(category->count, expected[i].count);
    }
}

/* Whole microseconds everywhere, or a part of one at an end alone. */
TEST_WITH(decimals_are_seen_at_both_ends, setup, teardown)
{
    static const struct {
        const char *kernel;
        bool has_decimals;
    } cases[] = {
        {KERNEL("110000", "131000", "7", "31", PID), false},
        {KERNEL("110001", "131000", "7", "31", PID), true},
        {KERNEL("110000", "131999", "7", "31", PID), true},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        run(own, "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL;");
        run(own, cases[i].kernel);
        read_good(own, 0);
        assert_int_equal(own->trace->has_decimals, cases[i].has_decimals);
        assert_int_equal(own->trace->event_count, 1);
        assert_int_equal(own->trace->sm_count, -1);
    }
}

/* ---- names ---- */

/* Adds a row of a table with a name of its own, `i` after the one before. */
static void add_named(fixture *own, const char *format, const char *name, size_t i)
{
    int at = 1000 + (int)i;
    char *sql = sqlite3_mprintf("INSERT INTO StringIds VALUES (%d,%Q);", at, name);
    run(own, sql);
    sqlite3_free(sql);
    sql = sqlite3_mprintf(format, at, at + 1, at, at);
    run(own, sql);
    sqlite3_free(sql);
}

/* As NVIDIA numbers ways of copies (0 to 10) and Nsight Systems kinds of memory (0 to 4). */
TEST_WITH(copies_are_named_as_kineto_does, setup, teardown)
{
    static const struct {
        const char *kinds; /* of the copy, its source and its target */
        const char *name;
    } cases[] = {
        {"0,0,2", "Memcpy Unknown (Pageable -> Device)"},
        {"1,0,2", "Memcpy HtoD (Pageable -> Device)"},
        {"2,2,1", "Memcpy DtoH (Device -> Pinned)"},
        {"3,1,3", "Memcpy HtoA (Pinned -> Array)"},
        {"4,3,0", "Memcpy AtoH (Array -> Pageable)"},
        {"5,3,3", "Memcpy AtoA (Array -> Array)"},
        {"6,3,2", "Memcpy AtoD (Array -> Device)"},
        {"7,2,3", "Memcpy DtoA (Device -> Array)"},
        {"8,2,4", "Memcpy DtoD (Device -> Managed)"},
        {"9,1,0", "Memcpy HtoH (Pinned -> Pageable)"},
        {"10,2,5", "Memcpy PtoP (Device -> Unknown)"},
        {"11,-1,2", "Memcpy Unknown (Unknown -> Device)"},
        {"-1,NULL,2", "Memcpy Unknown (Unknown -> Device)"},
    };
    fixture *own = *state;
    run(own, ONE_KERNEL);
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *sql = sqlite3_mprintf("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES "
                                    "(%d,%d,3,13,%d," PID ",%s);",
                                    (int)i, 20, 50 + (int)i, cases[i].kinds);
        run(own, sql);
        sqlite3_free(sql);
    }
    read_good(own, 0);
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(name_of(own, ST_TRACE_MEMCPY, i), cases[i].name);
}

TEST_WITH(calls_lose_their_versions, setup, teardown)
{
    static const struct {
        const char *recorded;
        const char *name;
    } cases[] = {
        {"cudaLaunchKernel_v7000", "cudaLaunchKernel"},
        {"cudaMemcpyAsync_ptsz_v7000", "cudaMemcpyAsync"},
        {"cudaMemcpyAsync_ptds_v7000", "cudaMemcpyAsync"},
        {"cudaMemcpyAsync_ptsz", "cudaMemcpyAsync"},
        {"cuMemFree_v2", "cuMemFree"},
        {"cuMemFree_v", "cuMemFree_v"},
        {"cuMemFree_w2", "cuMemFree_w2"},
        {"cuMemFree-v2", "cuMemFree-v2"},
        {"cuMemFree_v2x", "cuMemFree_v2x"},
        {"cuMemFree_v09", "cuMemFree"},
        {"cuLaunchKernelEx", "cuLaunchKernelEx"},
        {"d_v2", "d"},
        {"v2", "v2"},
        {"2385", "2385"},
        {"_ptsz", "_ptsz"},
        {"a_ptsz", "a"},
        {"a_ptds", "a"},
        {"a_ptdz", "a_ptdz"},
    };
    fixture *own = *state;
    run(own, ONE_KERNEL);
    for (size_t i = 0; i < COUNT(cases); i++)
        add_named(own, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (%d,%d," THREAD ",%d,%d);",
                  cases[i].recorded, i);
    read_good(own, 0);
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(name_of(own, ST_TRACE_CALL, i), cases[i].name);
}

TEST_WITH(ranges_with_a_number_are_steps, setup, teardown)
{
    static const struct {
        const char *name;
        bool is_step;
    } cases[] = {{"ProfilerStep#7", true},
                 {"iteration 7", true},
                 {"Iteration: 23", true},
                 {"train_step_385", true},
                 {"step: 7", true},
                 {"Step=0", true},
                 {"iter-9", true},
                 {"iter9", true},
                 {"step7", true},
                 {"step", false},
                 {"step #", false},
                 {"step 7 of 8", false},
                 {"ProfilerStep#7x", false},
                 {"my step 7", false},
                 {"iterate 7", false},
                 {"step/7", false},
                 {"Iteration", false},
                 {"itera 7", false},
                 {"Train_step 7", false},
                 {"step 7 ", false},
                 {"iteration#:_=- 7", true},
                 {"ProfilerStepper 7", false}};
    fixture *own = *state;
    run(own, ONE_KERNEL);
    for (size_t i = 0; i < COUNT(cases); i++)
        add_named(own, "INSERT INTO NVTX_EVENTS VALUES (%d,%d,59,NULL,%d," THREAD ");",
                  cases[i].name, i);
    read_good(own, 0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_trace_event *event = &own->trace->events[i];
        assert_string_equal(own->trace->names[event->name], cases[i].name);
        if ((event->kind == ST_TRACE_STEP) != cases[i].is_step)
            fail_msg("'%s' is %s step", cases[i].name, cases[i].is_step ? "no" : "a");
    }
}

/* ---- who waits for what ---- */

/* Event 5 is recorded at 100 on stream 7 and again at 300 on stream 9, event 6 at 150. */
static const char records[] = CALL("300", "301", THREAD, "43") CALL("100", "101", THREAD, "41")
    CALL("150", "151", THREAD, "42") "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (9,43," PID
                                     ",5), (7,41," PID ",5), "
                                     "(8,42," PID ",6);";

typedef struct wait_case {
    const char *start; /* of the call that waits */
    const char *kind;  /* type and event */
    const char *name;  /* NULL: not kept */
    st_trace_wait wait;
} wait_case;

static void assert_wait(const fixture *own, size_t at, const wait_case *expected)
{
    const st_trace_event *event = event_of(own->trace, ST_TRACE_SYNC, at);
    const st_trace_wait *wait = &own->trace->waits[st_trace_detail(event)];
    assert_string_equal(own->trace->names[event->name], expected->name);
    assert_int_equal(wait->stream, expected->wait.stream);
    assert_int_equal(wait->on_stream, expected->wait.on_stream);
    assert_int_equal(wait->record_correlation, expected->wait.record_correlation);
}

TEST_WITH(waits_find_the_last_record_before_them, setup, teardown)
{
    static const wait_case cases[] = {
        {"50", "2,5", "Stream Wait Event", {0, -1, 20, -1, -1}},
        {"100", "2,5", "Stream Wait Event", {0, -1, 20, -1, -1}},
        {"213", "2,5", "Stream Wait Event", {0, -1, 20, 7, 41}},
        {"300", "2,5", "Stream Wait Event", {0, -1, 20, 7, 41}},
        {"301", "2,5", "Stream Wait Event", {0, -1, 20, 9, 43}},
        {"350", "1,5", "Event Sync", {0, -1, -1, 9, 43}},
        {"350", "1,6", "Event Sync", {0, -1, -1, 8, 42}},
        {"350", "2,4", "Stream Wait Event", {0, -1, 20, -1, -1}},
        {"350", "2,7", "Stream Wait Event", {0, -1, 20, -1, -1}},
        {"350", "3,5", "Stream Sync", {0, -1, 20, -1, -1}},
        {"350", "4,5", "Context Sync", {0, -1, -1, -1, -1}},
        {"350", "0,5", NULL, {0}},
        {"350", "5,5", NULL, {0}},
    };
    fixture *own = *state;
    size_t kept = 0;
    run(own, ONE_KERNEL);
    run(own, records);
    for (size_t i = 0; i < COUNT(cases); i++) {
        int at = 1000 + (int)i;
        char *sql = sqlite3_mprintf(
            CALL("%s", "%s+1", THREAD, "%d") "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION "
                                             "VALUES (%d,%d,3,20,%d," PID ",%s);",
            cases[i].start, cases[i].start, at, at, at + 1, at, cases[i].kind);
        run(own, sql);
        sqlite3_free(sql);
    }
    read_good(own, 0);
    for (size_t i = 0; i < COUNT(cases); i++)
        if (cases[i].name != NULL)
            assert_wait(own, kept++, &cases[i]);
    assert_int_equal(own->trace->kind_counts[ST_TRACE_SYNC], kept);
}

/* ---- processes ---- */

/* Both have the correlation 31, which waits in its own process only. */
static const char two_processes[] = KERNEL("110385", "131000", "7", "31", PID)
    KERNEL("210385", "241000", "8", "31", "(4002<<24)") CALL("102385", "107385", THREAD, "31") CALL(
        "202385", "209385", "((4002<<24)|77)",
        "31") "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (140000,142385,3,13,32," PID ",1,0,2);"
              "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (250000,250571,3,14,33,(4002<<24));"
              "INSERT INTO NVTX_EVENTS VALUES (100000,190385,60,'step 1',NULL," THREAD "), "
              "(200000,290385,60,'step 2',NULL,((4002<<24)|77));"
              "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES "
              "(160000,160571,3,20,31," PID ",3,0), (260000,260571,3,21,31,(4002<<24),3,0);";

TEST_OF(each_process_is_a_rank, fixture *own, setup, teardown)
{
    size_t count = 0;
    run(own, two_processes);
    assert_int_equal(st_nsys_count(own->path, &count, own->errors), ST_OK);
    assert_int_equal(count, 2);
    read_good(own, 0);
    assert_int_equal(own->trace->event_count, 5);
    assert_int_equal(own->trace->kind_counts[ST_TRACE_MEMCPY], 1);
    assert_string_equal(name_of(own, ST_TRACE_STEP, 0), "step 1");
    assert_int_equal(event_of(own->trace, ST_TRACE_SYNC, 0)->start_ns, 160000);
    read_good(own, 1);
    assert_int_equal(own->trace->event_count, 5);
    assert_int_equal(own->trace->kind_counts[ST_TRACE_MEMSET], 1);
    assert_int_equal(event_of(own->trace, ST_TRACE_KERNEL, 0)->start_ns, 210385);
    assert_int_equal(event_of(own->trace, ST_TRACE_CALL, 0)->start_ns, 202385);
    assert_int_equal(own->trace->tracks[event_of(own->trace, ST_TRACE_CALL, 0)->track].process,
                     4002);
    assert_string_equal(name_of(own, ST_TRACE_STEP, 0), "step 2");
    assert_int_equal(event_of(own->trace, ST_TRACE_SYNC, 0)->start_ns, 260000);
}

/* Through the reader that takes any format: both ranks, numbered as they come. */
TEST_OF(a_set_has_all_processes, fixture *own, setup, teardown)
{
    const char *paths[] = {own->path};
    st_trace_set *set = NULL;
    run(own, two_processes);
    assert_int_equal(st_trace_set_read(paths, 1, NULL, &set, own->errors), ST_OK);
    assert_int_equal(set->count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(set->ranks[i]->rank, i);
        assert_int_equal(event_of(set->ranks[i], ST_TRACE_KERNEL, 0)->start_ns,
                         i == 0 ? 110385 : 210385);
    }
    st_trace_set_destroy(set);
}

static void add_processes(fixture *own, int count)
{
    char *sql = sqlite3_mprintf(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 5, 9, 3, 7, i, i << 24, 101, 102 FROM n;",
        count);
    run(own, sql);
    sqlite3_free(sql);
}

TEST_OF(at_most_256_processes_are_taken, fixture *own, setup, teardown)
{
    size_t count = 0;
    add_processes(own, 256);
    assert_int_equal(st_nsys_count(own->path, &count, own->errors), ST_OK);
    assert_int_equal(count, 256);
    read_good(own, 255);
    assert_int_equal(event_of(own->trace, ST_TRACE_KERNEL, 0)->link, 256);
    run(own, "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL;");
    add_processes(own, 257);
    assert_int_equal(st_nsys_count(own->path, &count, own->errors), ST_ERR_LIMIT);
    assert_contains(said(own->errors), "kernels of more than 256 processes are too many");
}

/* Seven bytes of a page can claim a text of a gigabyte, for which there would be memory. */
TEST_OF(texts_of_many_megabytes_are_refused, fixture *own, setup, teardown)
{
    run(own, ONE_KERNEL "UPDATE StringIds SET value = printf('%.*c', 16777217, 'x');");
    expect_refusal(own, ST_ERR_VALUE, "string or blob too big");
}

/* ---- what recordings lack ---- */

/* Nothing but kernels, without a process, with short names: all are of one rank. */
TEST_OF(tables_but_that_of_kernels_may_lack, fixture *own, setup, teardown)
{
    size_t count = 0;
    run(own, "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY;"
             "DROP TABLE CUPTI_ACTIVITY_KIND_MEMSET; DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME;"
             "DROP TABLE NVTX_EVENTS; DROP TABLE TARGET_INFO_GPU;"
             "DROP TABLE TARGET_INFO_SESSION_START_TIME;"
             "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, "
             "correlationId, shortName);"
             "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5,9,3,7,31,102), (9,17,4,7,32,101);"
             "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (9,9,3,7,31," PID ",3,0);");
    assert_int_equal(st_nsys_count(own->path, &count, own->errors), ST_OK);
    assert_int_equal(count, 1);
    read_good(own, 0);
    assert_int_equal(own->trace->event_count, 2);
    assert_string_equal(name_of(own, ST_TRACE_KERNEL, 0), "ampere");
    assert_int_equal(own->trace->base_ns, -1);
    assert_int_equal(own->trace->gpu, ST_TRACE_NONE);
}

/* Of older exports: kinds of memory, numbers of texts, multiprocessors. */
TEST_OF(columns_may_lack, fixture *own, setup, teardown)
{
    run(own, ONE_KERNEL "ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY DROP COLUMN srcKind;"
                        "ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY DROP COLUMN dstKind;"
                        "ALTER TABLE NVTX_EVENTS DROP COLUMN textId;"
                        "ALTER TABLE TARGET_INFO_GPU DROP COLUMN smCount;"
                        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (5,9,3,13,32," PID ",8);"
                        "INSERT INTO NVTX_EVENTS VALUES (5,9,60,'backward'," THREAD ");"
                        "INSERT INTO TARGET_INFO_GPU VALUES ('NVIDIA A100');");
    read_good(own, 0);
    assert_string_equal(name_of(own, ST_TRACE_MEMCPY, 0), "Memcpy DtoD (Unknown -> Unknown)");
    assert_string_equal(name_of(own, ST_TRACE_OPERATOR, 0), "backward");
    assert_string_equal(st_trace_name(own->trace, own->trace->gpu), "NVIDIA A100");
    assert_int_equal(own->trace->sm_count, -1);
}

TEST_WITH(what_must_be_there_is_named, setup, teardown)
{
    static const struct {
        const char *sql;
        st_status status;
        const char *words;
    } cases[] = {
        {"ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN streamId TO other;", ST_ERR_NAME,
         "the table CUPTI_ACTIVITY_KIND_KERNEL has no column 'streamId'"},
        {"ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN other TO streamId;"
         "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN correlationId TO other;",
         ST_ERR_NAME, "the table CUPTI_ACTIVITY_KIND_KERNEL has no column 'correlationId'"},
        {"ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN other TO correlationId;"
         "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 999;",
         ST_ERR_NAME, "a kernel has no name in the table StringIds"},
        {"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 101;" CALL(
             "1", "2", THREAD, "31") "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET nameId = 999;",
         ST_ERR_NAME, "a call has no name in the table StringIds"},
        {"ALTER TABLE StringIds RENAME TO Strings;", ST_ERR_NAME,
         "the database has no table 'StringIds'"},
        {"ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO Kernels;", ST_ERR_NAME,
         "the database has no table 'CUPTI_ACTIVITY_KIND_KERNEL'"},
    };
    fixture *own = *state;
    run(own, ONE_KERNEL);
    for (size_t i = 0; i < COUNT(cases); i++) {
        run(own, cases[i].sql);
        expect_refusal(own, cases[i].status, cases[i].words);
    }
}

/* A kernel that ends before it starts, or before the recording; one of no length is fine. */
TEST_WITH(impossible_times_are_left_out_of_partial_readings, setup, teardown)
{
    static const char *const times[] = {"110750,110749",
                                        "-1,5",
                                        "NULL,5",
                                        "5,NULL",
                                        "-9223372036854775808,9223372036854775807",
                                        "5,9223372036854775807"};
    fixture *own = *state;
    run(own, KERNEL("5", "5", "7", "30", PID));
    read_good(own, 0);
    for (size_t i = 0; i < COUNT(times); i++) {
        char *sql = sqlite3_mprintf("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE "
                                    "correlationId = 31; INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL "
                                    "VALUES (%s,3,7,31," PID ",101,102);",
                                    times[i]);
        run(own, sql);
        sqlite3_free(sql);
        expect_refusal(own, ST_ERR_VALUE, "an event has an impossible time");
        assert_int_equal(read_part(own, 0, true), ST_OK);
        assert_contains(said(own->errors), "1 events of impossible times or without");
        assert_int_equal(own->trace->event_count, 1);
        assert_int_equal(own->trace->left_out, 1);
        assert_int_equal(own->trace->file_events, 2);
        assert_true(own->trace->partial);
    }
}

/* Every other table, too: its one event is left out. */
TEST_WITH(impossible_times_are_seen_in_every_table, setup, teardown)
{
    static const char *const rows[] = {
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (9,8,3,13,32," PID ",1,0,2);",
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (9,8,3,13,32," PID ");",
        CALL("9", "8", THREAD, "31"),
        "INSERT INTO NVTX_EVENTS VALUES (9,8,59,'forward',NULL," THREAD ");",
        "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (9,8,3,20,31," PID ",3,0);",
    };
    fixture *own = *state;
    run(own, ONE_KERNEL);
    for (size_t i = 0; i < COUNT(rows); i++) {
        run(own, rows[i]);
        assert_int_equal(read_part(own, 0, false), ST_ERR_VALUE);
        assert_int_equal(read_part(own, 0, true), ST_OK);
        assert_int_equal(own->trace->left_out, i + 1);
        assert_int_equal(own->trace->event_count, 1);
        st_errors_clear(own->errors);
    }
}

/* ---- rocprofv3 ---- */

/* Of two recordings in one file, with an id in the names of their tables. */
static void add_rocpd(fixture *own, const char *id, int process)
{
    static const char *const rows[] = {
        "CREATE TABLE rocpd_string%s (id, string)",
        "CREATE TABLE rocpd_info_process%s (id, pid)",
        "CREATE TABLE rocpd_info_thread%s (id, tid)",
        "CREATE TABLE rocpd_info_agent%s (id, type, type_index, name, product_name, extdata)",
        "CREATE TABLE rocpd_info_kernel_symbol%s (id, kernel_name, display_name)",
        "CREATE TABLE rocpd_event%s (id, category_id, stack_id, correlation_id, extdata)",
        "CREATE TABLE rocpd_region%s (pid, tid, start, end, name_id, event_id)",
        "CREATE TABLE rocpd_kernel_dispatch%s (pid, agent_id, kernel_id, stream_id, start, end, "
        "event_id)",
        "CREATE TABLE rocpd_memory_copy%s (pid, start, end, name_id, dst_agent_id, src_agent_id, "
        "stream_id, event_id)",
        "INSERT INTO rocpd_string%s VALUES (1,'HIP_RUNTIME_API_EXT'), (2,'hipLaunchKernel'),"
        "(3,'MARKER_CORE_RANGE_API'), (4,'roctxThreadRangeA'), (5,'MEMORY_COPY_HOST_TO_DEVICE'),"
        "(6,'HSA_CORE_API')",
        "INSERT INTO rocpd_info_process%s VALUES (1,%d)",
        "INSERT INTO rocpd_info_thread%s VALUES (1,31)",
        "INSERT INTO rocpd_info_agent%s VALUES (1,'CPU',0,'EPYC','EPYC','{}'),"
        "(2,'GPU',3,'gfx942','AMD Instinct MI300X','{\"cu_count\":304}')",
        "INSERT INTO rocpd_info_kernel_symbol%s VALUES (7,'_Z4gemm','Cijk_Alik_MT64')",
        "INSERT INTO rocpd_event%s VALUES (1,1,41,0,'{}'), (2,3,42,0,'{\"message\":\"forward\"}'),"
        "(3,6,43,0,'{}'), (4,1,41,0,''), (5,1,0,44,'{}')",
        "INSERT INTO rocpd_region%s VALUES (1,1,100385,102770,2,1), (1,1,100000,150000,4,2),"
        "(1,1,100001,100002,2,3)",
        "INSERT INTO rocpd_kernel_dispatch%s VALUES (1,2,7,6,103000,126850,4)",
        "INSERT INTO rocpd_memory_copy%s VALUES (1,127000,129385,5,2,1,6,5)",
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *sql = sqlite3_mprintf(rows[i], id, process);
        run(own, sql);
        sqlite3_free(sql);
    }
}

TEST_OF(rocpd_is_read, fixture *own, setup, teardown)
{
    size_t count = 0;
    add_rocpd(own, "_0190b3", 4001);
    add_rocpd(own, "_0190b4", 4002);
    assert_int_equal(st_nsys_count(own->path, &count, own->errors), ST_OK);
    assert_int_equal(count, 2);
    read_good(own, 1);
    assert_int_equal(own->trace->event_count, 4);
    const st_trace_track stream = {.is_stream = true, .process = 3, .number = 6};
    const st_trace_track thread = {.process = 4002, .number = 31};
    assert_event(own, 0,
                 &(expected_event){ST_TRACE_OPERATOR, "forward", 100000, 50000, -1, thread, -1});
    assert_event(own, 1,
                 &(expected_event){ST_TRACE_CALL, "hipLaunchKernel", 100385, 2385, 41, thread,
                                   ST_CALL_LAUNCH});
    assert_event(own, 2,
                 &(expected_event){ST_TRACE_KERNEL, "Cijk_Alik_MT64", 103000, 23850, 41, stream,
                                   ST_TRACE_GEMM});
    assert_event(own, 3,
                 &(expected_event){ST_TRACE_MEMCPY, "Memcpy HtoD", 127000, 2385, 44, stream, -1});
    assert_string_equal(st_trace_name(own->trace, own->trace->gpu), "AMD Instinct MI300X");
    assert_int_equal(own->trace->sm_count, 304);
}

TESTS(trace_nsys);

#else

TEST_GROUP(trace_nsys)
{
    puts("1..0 # SKIP built without SQLite");
    return 0;
}

#endif
