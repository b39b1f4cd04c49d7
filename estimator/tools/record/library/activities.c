/* SPDX-License-Identifier: Apache-2.0 */
/* See activities.h. One writer for all threads of the process, behind a lock of its own: CUPTI
 * hands records over in a thread of its own, or in one that calls CUDA. */
#include "record/library/activities.h"

#include "base/index.h"
#include "base/lists.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { DOMAIN_DRIVER = 1, DOMAIN_RUNTIME = 2, MOST_CONTEXTS = 64, MOST_DEVICES = 64 };
/* CUpti_ActivityKind */
enum {
    MEMCPY = 1,
    MEMSET = 2,
    DRIVER = 4,
    RUNTIME = 5,
    KERNEL = 10,
    MEMCPY_PEER = 22,
    EVENT = 36,
    STREAM = 37,
    SYNCHRONIZATION = 38,
    EXTERNAL = 39,
    MEMORY = 49
};

/* Products whose calls CUPTI may still report: it delivers at least every half second. */
enum { MOST_PRODUCTS = 1 << 18 };

typedef struct product {
    uint64_t number;
    bool logged; /* a call of it */
    st_log_gemm gemm;
} product;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static st_log_writer *log_file;
static st_callback_name *callback_name;
static uint64_t zero;
static uint64_t *keys; /* of each string: where CUPTI has it, or domain and number */
static size_t key_capacity;
static st_index strings_by_key;
static uint32_t strings;
static uint64_t calls;
static uint64_t work;
static uint16_t context_devices[MOST_CONTEXTS]; /* by context, as far as tasks report it */
static uint64_t live_bytes[MOST_DEVICES];
static product products[MOST_PRODUCTS];
static uint64_t product_count;

/* ---- names ---- */

/* The number of a text, which is defined where it is new; 0: out of memory. */
static uint32_t string_of(uint64_t key, const char *text)
{
    uint32_t found = 0;
    ST_INDEX_FIND(&strings_by_key, key, found, keys[found] == key);
    if (found != ST_INDEX_NONE)
        return found + 1;
    if (!ST_ROOM(keys, strings, key_capacity) || !st_log_define(log_file, strings + 1, text))
        return 0;
    keys[strings] = key;
    (void)st_index_add_own(&strings_by_key, key, strings); /* or it is defined once more */
    return ++strings;
}

/* "cudaMalloc_v3020" is cudaMalloc; the driver's versions belong to its names. */
static uint32_t name_of(uint32_t domain, uint32_t callback)
{
    char own[256];
    const char *text = NULL;
    if (callback_name(domain, callback, &text) != 0 || text == NULL)
        text = domain == DOMAIN_RUNTIME ? "cuda" : "cu";
    size_t length = strnlen(text, sizeof own - 1);
    memcpy(own, text, length);
    own[length] = '\0';
    char *version = strrchr(own, '_');
    if (domain == DOMAIN_RUNTIME && version != NULL && strncmp(version, "_v", 2) == 0 &&
        strspn(version + 2, "0123456789") >= 4)
        *version = '\0';
    return string_of((uint64_t)domain << 32 | callback, own);
}

/* ---- records ---- */

static void keep(const st_log_record *record)
{
    st_log_record *into = st_log_next(log_file);
    if (into == NULL)
        return;
    memcpy((char *)into + sizeof into->kind, (const char *)record + sizeof record->kind,
           sizeof *into - sizeof into->kind);
    st_log_commit(into, (st_log_kind)record->kind);
}

static void keep_measured(st_log_record *record, uint64_t start_ns, uint64_t end_ns,
                          const st_log_measured *measured)
{
    st_log_record second = {.kind = ST_LOG_MEASURED, .measured = *measured};
    uint64_t length_ns = end_ns > start_ns ? end_ns - start_ns : 0;
    record->begin_ns = start_ns - zero;
    record->length_ns = length_ns < UINT32_MAX ? (uint32_t)length_ns : UINT32_MAX;
    second.begin_ns = record->begin_ns;
    second.device = record->device;
    second.measured.length_ns = length_ns;
    keep(record);
    keep(&second);
}

/* ---- activities ---- */

static uint32_t word(const char *from, size_t at)
{
    uint32_t value;
    memcpy(&value, from + at, sizeof value);
    return value;
}

static uint64_t long_word(const char *from, size_t at)
{
    uint64_t value;
    memcpy(&value, from + at, sizeof value);
    return value;
}

/* callback 4, thread 28, result 36 */
static void draft_call(const char *from, st_activity_draft *into)
{
    st_log_record *record = &into->record;
    record->kind = ST_LOG_CALL;
    record->call = name_of(word(from, 0) == DRIVER ? DOMAIN_DRIVER : DOMAIN_RUNTIME, word(from, 4));
    record->status = (uint16_t)word(from, 36);
    into->measured.thread = word(from, 28);
    calls++;
}

/* grid 52, block 64, dynamic shared memory 80, name 104: mangled, it lives as long as CUPTI */
static void draft_kernel(const char *from, st_activity_draft *into)
{
    st_log_record *record = &into->record;
    const char *name;
    memcpy(&name, from + 104, sizeof name);
    /* The order between threads is unknown; a sum does not depend on it. */
    uint64_t hash = st_hash_text(ST_HASH_BEGIN, name != NULL ? name : "");
    record->kind = ST_LOG_LAUNCH;
    record->launch =
        (st_log_launch){.kernel = string_of(long_word(from, 104), name != NULL ? name : "kernel"),
                        .stream = into->stream,
                        .shared_bytes = word(from, 80)};
    for (size_t i = 0; i < 3; i++) {
        record->launch.grid[i] = word(from, 52 + 4 * i);
        record->launch.block[i] = (uint16_t)word(from, 64 + 4 * i);
        hash = st_hash_word(hash, record->launch.grid[i]);
    }
    work += hash;
}

/* direction 4, kinds of memory 5 and 6, bytes 8 */
static void draft_copy(const char *from, st_activity_draft *into)
{
    st_log_record *record = &into->record;
    /* CUpti_ActivityMemcpyKind; arrays lie on the device. */
    static const uint8_t directions[] = {ST_LOG_DEVICE_TO_DEVICE,
                                         ST_LOG_HOST_TO_DEVICE,
                                         ST_LOG_DEVICE_TO_HOST,
                                         ST_LOG_HOST_TO_DEVICE,
                                         ST_LOG_DEVICE_TO_HOST,
                                         ST_LOG_DEVICE_TO_DEVICE,
                                         ST_LOG_DEVICE_TO_DEVICE,
                                         ST_LOG_DEVICE_TO_DEVICE,
                                         ST_LOG_DEVICE_TO_DEVICE,
                                         ST_LOG_HOST_TO_HOST,
                                         ST_LOG_PEER};
    enum { PINNED = 2, PEER = sizeof directions - 1 };
    const uint8_t given = word(from, 0) == MEMCPY_PEER ? PEER : (uint8_t)from[4];
    record->kind = ST_LOG_COPY;
    record->copy = (st_log_copy){
        .bytes = long_word(from, 8),
        .stream = into->stream,
        .direction = directions[given <= PEER ? given : 0],
        .host_memory = from[5] == PINNED || from[6] == PINNED ? ST_LOG_PINNED : ST_LOG_PAGEABLE};
}

/* value 4, bytes 8 */
static void draft_set(const char *from, st_activity_draft *into)
{
    st_log_record *record = &into->record;
    record->kind = ST_LOG_SET;
    record->flags = ST_LOG_ASYNC;
    record->copy = (st_log_copy){.bytes = long_word(from, 8),
                                 .stream = into->stream,
                                 .direction = ST_LOG_DEVICE_TO_DEVICE,
                                 .from = word(from, 4)};
}

/* event 16 */
static void draft_event(const char *from, st_activity_draft *into)
{
    st_log_record *record = &into->record;
    record->kind = ST_LOG_EVENT_RECORD;
    record->event = (st_log_event){.event = word(from, 16), .stream = into->stream};
}

/* priority 12, flag 16 */
static void draft_stream(const char *from, st_activity_draft *into)
{
    st_log_record *record = &into->record;
    static const uint16_t flags[] = {[2] = ST_LOG_NON_BLOCKING, [3] = ST_LOG_DEFAULT};
    const uint32_t flag = word(from, 16);
    record->kind = ST_LOG_STREAM_CREATE;
    record->flags = flag < ST_COUNT(flags) ? flags[flag] : 0;
    record->stream = (st_log_stream){.stream = into->stream, .priority = (int32_t)word(from, 12)};
}

/* type 4, event 36 */
static void draft_wait(const char *from, st_activity_draft *into)
{
    st_log_record *record = &into->record;
    static const uint16_t kinds[] = {ST_LOG_NONE, ST_LOG_EVENT_SYNC, ST_LOG_EVENT_WAIT,
                                     ST_LOG_STREAM_SYNC, ST_LOG_DEVICE_SYNC};
    const uint32_t type = word(from, 4);
    record->kind = type < ST_COUNT(kinds) ? kinds[type] : ST_LOG_NONE;
    if (record->kind == ST_LOG_STREAM_SYNC)
        record->stream.stream = into->stream;
    else if (record->kind != ST_LOG_DEVICE_SYNC)
        record->event = (st_log_event){.event = word(from, 36), .stream = into->stream};
}

/* operation 4, kind of memory 8, address 16, bytes 24 */
static void draft_memory(const char *from, st_activity_draft *into)
{
    st_log_record *record = &into->record;
    enum { ALLOCATION = 1, DEVICE = 3, MANAGED = 5 };
    const uint32_t memory = word(from, 8);
    const uint64_t bytes = long_word(from, 24);
    if (record->device >= MOST_DEVICES || (memory != DEVICE && memory != MANAGED))
        return;
    uint64_t *live = &live_bytes[record->device];
    const bool more = word(from, 4) == ALLOCATION;
    *live = more ? *live + bytes : *live - (bytes < *live ? bytes : *live);
    record->kind = more ? ST_LOG_MALLOC : ST_LOG_FREE;
    record->memory = (st_log_memory){.pointer = long_word(from, 16),
                                     .bytes = bytes,
                                     .charged_bytes = bytes,
                                     .live_bytes = *live,
                                     .stream = ST_LOG_NO_STREAM,
                                     .memory = memory == MANAGED ? ST_LOG_MANAGED : ST_LOG_DEVICE};
}

/* what the thread had pushed when it made the call 8 */
static void draft_product(const char *from, st_activity_draft *into)
{
    st_log_record *record = &into->record;
    const uint64_t pushed = long_word(from, 8);
    product *of = &products[pushed % MOST_PRODUCTS];
    if (pushed == 0 || of->number != pushed)
        return;
    record->kind = ST_LOG_GEMM;
    record->flags = of->logged ? ST_LOG_FURTHER : 0;
    record->gemm = of->gemm;
    of->logged = true;
    into->measured.product = of->number;
}

const st_activity st_activities[] = {
    {RUNTIME, 8, 16, 0, 0, 0, 32, draft_call, "CUPTI does not report runtime calls"},
    {DRIVER, 8, 16, 0, 0, 0, 32, draft_call, "CUPTI does not report driver calls"},
    {KERNEL, 16, 24, 40, 44, 48, 92, draft_kernel, "CUPTI does not measure kernels"},
    {MEMCPY, 16, 24, 32, 36, 40, 44, draft_copy, "CUPTI does not measure copies"},
    {MEMCPY_PEER, 16, 24, 32, 36, 40, 60, draft_copy, "CUPTI does not measure copies between GPUs"},
    {MEMSET, 16, 24, 32, 36, 40, 44, draft_set, "CUPTI does not measure fills"},
    {STREAM, 0, 0, 0, 4, 8, 20, draft_stream, "CUPTI does not report streams"},
    {EVENT, 0, 0, 0, 8, 12, 4, draft_event, "CUPTI does not report events"},
    {SYNCHRONIZATION, 8, 16, 0, 28, 32, 24, draft_wait, "CUPTI does not report synchronization"},
    {MEMORY, 32, 32, 52, 0, 0, 12, draft_memory, "CUPTI does not report memory"},
    {EXTERNAL, 0, 0, 0, 0, 0, 16, draft_product,
     "CUPTI does not report kernels of matrix products"},
    {0},
};

/* ---- the log ---- */

bool st_activities_open(const char *path, const st_log_header *header, uint64_t zero_ns,
                        st_callback_name *name)
{
    pthread_mutex_lock(&lock);
    if (log_file == NULL)
        log_file = st_log_create(path, header);
    zero = zero_ns;
    callback_name = name;
    bool open = log_file != NULL;
    pthread_mutex_unlock(&lock);
    return open;
}

void st_activities_take(const void *taken)
{
    const char *from = taken;
    const uint32_t kind = word(from, 0);
    const st_activity *of = st_activities;
    while (of->draft != NULL && of->kind != kind)
        of++;
    pthread_mutex_lock(&lock);
    if (log_file != NULL && of->draft != NULL) {
        st_activity_draft draft = {.measured.correlation = word(from, of->correlation)};
        st_log_record *record = &draft.record;
        const uint32_t context = of->context != 0 ? word(from, of->context) : MOST_CONTEXTS;
        if (of->device != 0)
            record->device = (uint16_t)word(from, of->device);
        else if (context < MOST_CONTEXTS)
            record->device = context_devices[context];
        if (of->device != 0 && context < MOST_CONTEXTS)
            context_devices[context] = record->device;
        draft.stream = of->stream != 0 ? word(from, of->stream) : 0;
        of->draft(from, &draft);
        if (record->kind != ST_LOG_NONE)
            keep_measured(record, of->start != 0 ? long_word(from, of->start) : zero,
                          of->end != 0 ? long_word(from, of->end) : zero, &draft.measured);
    }
    pthread_mutex_unlock(&lock);
}

uint64_t st_activities_product(const st_log_gemm *gemm)
{
    uint64_t number = 0;
    pthread_mutex_lock(&lock);
    if (log_file != NULL) {
        number = ++product_count;
        products[number % MOST_PRODUCTS] = (product){.number = number, .gemm = *gemm};
    }
    pthread_mutex_unlock(&lock);
    return number;
}

void st_activities_default(uint32_t stream)
{
    st_log_record record = {.kind = ST_LOG_STREAM_CREATE, .flags = ST_LOG_DEFAULT};
    record.stream.stream = stream;
    pthread_mutex_lock(&lock);
    if (log_file != NULL)
        keep(&record);
    pthread_mutex_unlock(&lock);
}

void st_activities_refused(const char *what, int error)
{
    pthread_mutex_lock(&lock);
    if (log_file != NULL) {
        uint64_t key;
        memcpy(&key, &what, sizeof key);
        keep(&(st_log_record){.kind = ST_LOG_MISUSE,
                              .status = (uint16_t)error,
                              .mark = {.text = string_of(key, what)}});
    }
    pthread_mutex_unlock(&lock);
}

void st_activities_close(void)
{
    pthread_mutex_lock(&lock);
    if (log_file != NULL) {
        st_log_record end = {.kind = ST_LOG_END};
        end.end =
            (st_log_end){.records = st_log_written(log_file), .calls = calls, .work_hash = work};
        keep(&end);
        st_log_close(log_file);
        log_file = NULL;
    }
    pthread_mutex_unlock(&lock);
}

/* ---- forks ---- */

void st_activities_before_fork(void)
{
    pthread_mutex_lock(&lock);
}

void st_activities_after_fork_in_parent(void)
{
    pthread_mutex_unlock(&lock);
}

void st_activities_after_fork_in_child(void)
{
    st_log_abandon(log_file);
    log_file = NULL;
    pthread_mutex_unlock(&lock);
}
