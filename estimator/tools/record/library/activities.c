/* SPDX-License-Identifier: Apache-2.0 */
/* See activities.h. One writer for all threads of the process, behind a lock of its own: CUPTI
 * hands records over in a thread of its own, or in one that calls CUDA. */
#include "record/library/activities.h"

#include "base/index.h"
#include "base/lists.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(offsetof(st_cupti_api, correlation) == 32, "CUpti_ActivityAPI");
_Static_assert(offsetof(st_cupti_kernel, correlation) == 92, "CUpti_ActivityKernel4 and later");
_Static_assert(offsetof(st_cupti_kernel, name) == 104, "CUpti_ActivityKernel4 and later");
_Static_assert(offsetof(st_cupti_copy, correlation) == 44, "CUpti_ActivityMemcpy4 and later");
_Static_assert(offsetof(st_cupti_copy, peer_correlation) == 60, "CUpti_ActivityMemcpyPtoP4");
_Static_assert(offsetof(st_cupti_set, correlation) == 44, "CUpti_ActivityMemset3 and later");
_Static_assert(offsetof(st_cupti_wait, event) == 36, "CUpti_ActivitySynchronization");
_Static_assert(offsetof(st_cupti_memory, stream) == 60, "CUpti_ActivityMemory3 and later");
_Static_assert(offsetof(st_cupti_external, correlation) == 16, "CUpti_ActivityExternalCorrelation");

enum { DOMAIN_DRIVER = 1, DOMAIN_RUNTIME = 2, MOST_CONTEXTS = 64, MOST_DEVICES = 64 };
enum { WAIT_HOST_EVENT = 1, WAIT_STREAM_EVENT, WAIT_STREAM, WAIT_CONTEXT };
enum { STREAM_NON_BLOCKING = 2, STREAM_DEFAULT = 3, MEMORY_DEVICE = 3, MEMORY_MANAGED = 5 };

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
static uint32_t context_devices[MOST_CONTEXTS]; /* by context, as far as tasks report it */
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

static void keep_task(st_log_record *record, uint64_t start_ns, uint64_t end_ns,
                      uint32_t correlation)
{
    keep_measured(record, start_ns, end_ns, &(st_log_measured){.correlation = correlation});
}

static void learn_device(uint32_t context, uint32_t device)
{
    if (context < MOST_CONTEXTS)
        context_devices[context] = device;
}

static uint16_t device_of(uint32_t context)
{
    return context < MOST_CONTEXTS ? (uint16_t)context_devices[context] : 0;
}

static void take_api(const st_cupti_api *api)
{
    uint32_t domain = api->kind == ST_CUPTI_DRIVER ? DOMAIN_DRIVER : DOMAIN_RUNTIME;
    st_log_record record = {.kind = ST_LOG_CALL,
                            .call = name_of(domain, api->callback),
                            .status = (uint16_t)api->result};
    const st_log_measured measured = {.correlation = api->correlation, .thread = api->thread};
    calls++;
    keep_measured(&record, api->start_ns, api->end_ns, &measured);
}

static void take_kernel(const st_cupti_kernel *kernel)
{
    const char *name = kernel->name != NULL ? kernel->name : "kernel";
    uint64_t key;
    memcpy(&key, &name, sizeof key);
    st_log_record record = {.kind = ST_LOG_LAUNCH, .device = (uint16_t)kernel->device};
    record.launch = (st_log_launch){.kernel = string_of(key, name),
                                    .stream = kernel->stream,
                                    .shared_bytes = kernel->dynamic_shared};
    for (size_t i = 0; i < 3; i++) {
        record.launch.grid[i] = kernel->grid[i];
        record.launch.block[i] = (uint16_t)kernel->block[i];
    }
    learn_device(kernel->context, kernel->device);
    /* The order between threads is unknown; a sum does not depend on it. */
    uint64_t hash = st_hash_text(ST_HASH_BEGIN, kernel->name != NULL ? kernel->name : "");
    for (size_t i = 0; i < 3; i++)
        hash = st_hash_word(hash, kernel->grid[i]);
    work += hash;
    keep_task(&record, kernel->start_ns, kernel->end_ns, kernel->correlation);
}

/* CUpti_ActivityMemcpyKind; arrays lie on the device. */
static uint8_t direction_of(uint8_t direction)
{
    static const uint8_t directions[] = {
        [1] = ST_LOG_HOST_TO_DEVICE, [2] = ST_LOG_DEVICE_TO_HOST, [3] = ST_LOG_HOST_TO_DEVICE,
        [4] = ST_LOG_DEVICE_TO_HOST, [9] = ST_LOG_HOST_TO_HOST,   [10] = ST_LOG_PEER};
    uint8_t found = direction < sizeof directions ? directions[direction] : 0;
    return found != 0 || direction == 9 ? found : ST_LOG_DEVICE_TO_DEVICE;
}

static void take_copy(const st_cupti_copy *copy)
{
    enum { PAGEABLE = 1, PINNED = 2 };
    bool peer = copy->kind == ST_CUPTI_MEMCPY_PEER;
    bool pinned = copy->from == PINNED || copy->to == PINNED;
    st_log_record record = {.kind = ST_LOG_COPY, .device = (uint16_t)copy->device};
    record.copy = (st_log_copy){.bytes = copy->bytes,
                                .stream = copy->stream,
                                .direction = peer ? ST_LOG_PEER : direction_of(copy->direction),
                                .host_memory = pinned ? ST_LOG_PINNED : ST_LOG_PAGEABLE};
    learn_device(copy->context, copy->device);
    keep_task(&record, copy->start_ns, copy->end_ns,
              peer ? copy->peer_correlation : copy->correlation);
}

static void take_wait(const st_cupti_wait *wait)
{
    st_log_record record = {.device = device_of(wait->context)};
    const st_log_event event = {.event = wait->event, .stream = wait->stream};
    switch (wait->type) {
    case WAIT_HOST_EVENT:
        record.kind = ST_LOG_EVENT_SYNC;
        record.event = event;
        break;
    case WAIT_STREAM_EVENT:
        record.kind = ST_LOG_EVENT_WAIT;
        record.event = event;
        break;
    case WAIT_STREAM:
        record.kind = ST_LOG_STREAM_SYNC;
        record.stream = (st_log_stream){.stream = wait->stream};
        break;
    case WAIT_CONTEXT:
        record.kind = ST_LOG_DEVICE_SYNC;
        break;
    default:
        return;
    }
    keep_task(&record, wait->start_ns, wait->end_ns, wait->correlation);
}

static void take_memory(const st_cupti_memory *memory)
{
    enum { ALLOCATION = 1 };
    bool charged = memory->memory == MEMORY_DEVICE || memory->memory == MEMORY_MANAGED;
    if (memory->device >= MOST_DEVICES || !charged)
        return;
    uint64_t *live = &live_bytes[memory->device];
    bool more = memory->operation == ALLOCATION;
    *live = more ? *live + memory->bytes : *live - (memory->bytes < *live ? memory->bytes : *live);
    st_log_record record = {.kind = more ? ST_LOG_MALLOC : ST_LOG_FREE,
                            .device = (uint16_t)memory->device};
    record.memory = (st_log_memory){
        .pointer = memory->address,
        .bytes = memory->bytes,
        .charged_bytes = memory->bytes,
        .live_bytes = *live,
        .stream = ST_LOG_NO_STREAM,
        .memory = memory->memory == MEMORY_MANAGED ? ST_LOG_MANAGED : ST_LOG_DEVICE,
    };
    keep_task(&record, memory->time_ns, memory->time_ns, memory->correlation);
}

static void take_external(const st_cupti_external *external)
{
    product *of = &products[external->pushed % MOST_PRODUCTS];
    if (external->pushed == 0 || of->number != external->pushed)
        return;
    st_log_record record = {
        .kind = ST_LOG_GEMM, .flags = of->logged ? ST_LOG_FURTHER : 0, .gemm = of->gemm};
    of->logged = true;
    keep_measured(&record, zero, zero,
                  &(st_log_measured){.correlation = external->correlation, .product = of->number});
}

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

void st_activities_take(const void *record)
{
    pthread_mutex_lock(&lock);
    if (log_file != NULL) {
        uint32_t kind;
        memcpy(&kind, record, sizeof kind);
        switch (kind) {
        case ST_CUPTI_DRIVER:
        case ST_CUPTI_RUNTIME:
            take_api(record);
            break;
        case ST_CUPTI_KERNEL:
            take_kernel(record);
            break;
        case ST_CUPTI_MEMCPY:
        case ST_CUPTI_MEMCPY_PEER:
            take_copy(record);
            break;
        case ST_CUPTI_MEMSET: {
            const st_cupti_set *set = record;
            st_log_record set_record = {
                .kind = ST_LOG_SET, .device = (uint16_t)set->device, .flags = ST_LOG_ASYNC};
            set_record.copy = (st_log_copy){.bytes = set->bytes,
                                            .stream = set->stream,
                                            .direction = ST_LOG_DEVICE_TO_DEVICE,
                                            .from = set->value};
            learn_device(set->context, set->device);
            keep_task(&set_record, set->start_ns, set->end_ns, set->correlation);
            break;
        }
        case ST_CUPTI_EVENT: {
            const st_cupti_event *event = record;
            st_log_record event_record = {.kind = ST_LOG_EVENT_RECORD,
                                          .device = device_of(event->context)};
            event_record.event = (st_log_event){.event = event->event, .stream = event->stream};
            keep_task(&event_record, zero, zero, event->correlation);
            break;
        }
        case ST_CUPTI_STREAM: {
            const st_cupti_stream *stream = record;
            st_log_record stream_record = {.kind = ST_LOG_STREAM_CREATE,
                                           .device = device_of(stream->context)};
            stream_record.stream =
                (st_log_stream){.stream = stream->stream, .priority = (int32_t)stream->priority};
            if (stream->flag == STREAM_NON_BLOCKING)
                stream_record.flags = ST_LOG_NON_BLOCKING;
            if (stream->flag == STREAM_DEFAULT)
                stream_record.flags = ST_LOG_DEFAULT;
            keep_task(&stream_record, zero, zero, stream->correlation);
            break;
        }
        case ST_CUPTI_SYNCHRONIZATION:
            take_wait(record);
            break;
        case ST_CUPTI_EXTERNAL:
            take_external(record);
            break;
        case ST_CUPTI_MEMORY:
            take_memory(record);
            break;
        default:
            break;
        }
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
