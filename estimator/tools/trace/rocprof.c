/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings of rocprofv3, as '--output-format json' writes them (AMD, ROCprofiler-SDK, Using
 * rocprofv3). The member "rocprofiler-sdk-tool" lists processes. Each has GPUs ("agents"), names of
 * kernels by number, names of operations by the kind of record and their place in a list, and the
 * records themselves: kernels and copies on streams, calls of HIP on threads, which share a
 * correlation with what they launch, and ranges of ROCTx. Times are nanoseconds.
 */
#include "trace/store.h"

#include "base/memory.h"
#include "trace/scan.h"
#include "trace/xalloc.h"

#include <string.h>

enum { MOST_KINDS = 256 };

/* A number of the file and its meaning. */
typedef struct numbered {
    int64_t id;
    uint32_t name;
    int64_t number; /* of a GPU in the node */
    int64_t units;  /* its multiprocessors */
} numbered;

typedef struct numbered_list {
    numbered *items;
    size_t count;
} numbered_list;

/* The numbers of a record; -1: it has none. */
enum { KIND, OPERATION, THREAD, CORRELATION, START, END, AGENT, TO, FROM, QUEUE, KERNEL, STREAM };
enum { FIELDS = STREAM + 1 };

static const char *const field_names[FIELDS] = {
    "kind",          "operation", "thread_id",    "correlation_id", "start_timestamp",
    "end_timestamp", "agent_id",  "dst_agent_id", "src_agent_id",   "queue_id",
    "kernel_id",     "stream_id"};

typedef struct rocprof {
    st_scan *scan;
    st_keeper keep;
    numbered_list agents;
    numbered_list kernels;
    numbered_list markers;             /* texts of ranges, by correlation */
    size_t operations[MOST_KINDS + 1]; /* where the names of a kind begin in `names` */
    size_t kinds;
    uint32_t *names;
    size_t name_count;
    st_arena *arena;
} rocprof;

static bool ok(const rocprof *own)
{
    return own->keep.status == ST_OK && st_scan_ok(own->scan);
}

static bool is_key(const rocprof *own, st_scan_span key, const char *name)
{
    return key.length == strlen(name) &&
           memcmp(st_scan_text(own->scan, key), name, key.length) == 0;
}

static uint32_t keep_text(rocprof *own)
{
    st_scan_span text = {0};
    uint32_t name = ST_TRACE_NONE;
    if (st_scan_peek(own->scan) != '"') {
        (void)st_scan_skip(own->scan);
        return ST_TRACE_NONE;
    }
    if (st_scan_string(own->scan, &text) &&
        st_names_add(&own->keep.store->names, st_scan_text(own->scan, text), text.length,
                     text.escaped, &name) != ST_OK)
        (void)st_scan_fail(own->scan, ST_ERR_LIMIT, "the recording has too many names");
    return name;
}

/* A whole number, also the one in {"handle": 2} and {"internal": 2}; others leave it as it is. */
static void read_number(rocprof *own, int64_t *number)
{
    st_scan_span text;
    bool started = false;
    char c = st_scan_peek(own->scan);
    if (c == '{' && st_scan_enter(own->scan, '{')) {
        while (st_scan_key(own->scan, &started, &text))
            if (is_key(own, text, "handle") || is_key(own, text, "internal"))
                read_number(own, number);
            else if (!st_scan_skip(own->scan))
                return;
        return;
    }
    if (c != '-' && (c < '0' || c > '9')) {
        (void)st_scan_skip(own->scan);
        return;
    }
    if (st_scan_number(own->scan, &text) && text.length > 0 &&
        !st_whole_value(st_scan_text(own->scan, text), text.length, number))
        st_scan_odd(own->scan, (size_t)(text.start - own->scan->base));
}

/* ---- names ---- */

ST_COMPARE(by_id, numbered, ST_RISING(id));

static const numbered *find(const numbered_list *list, int64_t id)
{
    const numbered wanted = {.id = id};
    return list->count == 0 ? NULL
                            : bsearch(&wanted, list->items, list->count, sizeof wanted, by_id);
}

/* Objects of a list with a number and a text: the first of the keys of each that they have. */
typedef struct name_keys {
    const char *id;
    const char *names[2];
    const char *number;
    const char *units;
    const char *only; /* "type": those of another kind than 2 are passed over */
} name_keys;

static void read_names(rocprof *own, const name_keys *keys, numbered_list *list)
{
    bool listed = false;
    if (st_scan_peek(own->scan) != '[') {
        (void)st_scan_skip(own->scan);
        return;
    }
    (void)st_scan_enter(own->scan, '[');
    while (ok(own) && st_scan_item(own->scan, &listed)) {
        numbered made = {.id = -1, .name = ST_TRACE_NONE, .number = -1, .units = -1};
        int64_t type = 2;
        size_t named = ST_COUNT(keys->names);
        st_scan_span key;
        bool started = false;
        st_scan_hold(own->scan);
        if (!st_scan_enter(own->scan, '{'))
            return;
        while (ok(own) && st_scan_key(own->scan, &started, &key)) {
            size_t which = 0;
            while (which < ST_COUNT(keys->names) && !is_key(own, key, keys->names[which]))
                which++;
            if (which < named) {
                uint32_t text = keep_text(own);
                made.name = text != ST_TRACE_NONE ? text : made.name;
                named = text != ST_TRACE_NONE ? which : named;
            } else if (is_key(own, key, keys->id)) {
                read_number(own, &made.id);
            } else if (keys->number != NULL && is_key(own, key, keys->number)) {
                read_number(own, &made.number);
            } else if (keys->units != NULL && is_key(own, key, keys->units)) {
                read_number(own, &made.units);
            } else if (keys->only != NULL && is_key(own, key, keys->only)) {
                read_number(own, &type);
            } else {
                (void)st_scan_skip(own->scan);
            }
        }
        st_scan_release(own->scan);
        if (ok(own) && type == 2 && made.name != ST_TRACE_NONE)
            ST_XAPPEND(own->arena, list->items, list->count, made);
    }
    st_sort(list->items, list->count, sizeof *list->items, by_id);
}

/* "strings": {"buffer_records": [{"kind": "HIP_RUNTIME_API", "operations": ["hipInit", ...]}]} */
static void read_operations(rocprof *own)
{
    bool listed = false;
    if (!st_scan_enter(own->scan, '['))
        return;
    while (ok(own) && st_scan_item(own->scan, &listed)) {
        st_scan_span key;
        bool started = false;
        if (own->kinds < MOST_KINDS)
            own->operations[own->kinds] = own->name_count;
        st_scan_hold(own->scan);
        if (!st_scan_enter(own->scan, '{'))
            return;
        while (ok(own) && st_scan_key(own->scan, &started, &key)) {
            bool in_list = false;
            if (!is_key(own, key, "operations") || st_scan_peek(own->scan) != '[') {
                (void)st_scan_skip(own->scan);
                continue;
            }
            (void)st_scan_enter(own->scan, '[');
            while (ok(own) && st_scan_item(own->scan, &in_list)) {
                uint32_t name = keep_text(own);
                ST_XAPPEND(own->arena, own->names, own->name_count, name);
            }
        }
        st_scan_release(own->scan);
        own->kinds += own->kinds < MOST_KINDS;
        own->operations[own->kinds] = own->name_count;
    }
}

static void read_strings(rocprof *own)
{
    st_scan_span key;
    bool started = false;
    if (!st_scan_enter(own->scan, '{'))
        return;
    while (ok(own) && st_scan_held_key(own->scan, &started, &key)) {
        bool operations = is_key(own, key, "buffer_records") && st_scan_peek(own->scan) == '[';
        bool markers = is_key(own, key, "marker_api");
        st_scan_release(own->scan);
        if (operations)
            read_operations(own);
        else if (markers)
            read_names(own, &(name_keys){.id = "key", .names = {"value", "name"}}, &own->markers);
        else
            (void)st_scan_skip(own->scan);
    }
}

/* ---- records ---- */

static void read_record(rocprof *own, int64_t *values)
{
    st_scan_span key;
    bool started = false;
    if (!st_scan_enter(own->scan, '{'))
        return;
    while (ok(own) && st_scan_key(own->scan, &started, &key)) {
        size_t which = 0;
        while (which < FIELDS && !is_key(own, key, field_names[which]))
            which++;
        if (which < FIELDS)
            read_number(own, &values[which]);
        else if (is_key(own, key, "dispatch_info") && st_scan_peek(own->scan) == '{')
            read_record(own, values);
        else
            (void)st_scan_skip(own->scan);
    }
}

static void leave_out(rocprof *own, const char *message)
{
    own->keep.left_out++;
    if (!own->keep.partial)
        ST_NOTE(&own->keep, ST_ERR_VALUE, st_scan_place(own->scan),
                "%s" ST_HINT "--partial leaves such events out", message);
}

static uint32_t operation_of(const rocprof *own, const int64_t *values)
{
    if (values[KIND] < 0 || (size_t)values[KIND] >= own->kinds || values[OPERATION] < 0)
        return ST_TRACE_NONE;
    size_t first = own->operations[values[KIND]];
    size_t count = own->operations[values[KIND] + 1] - first;
    return (size_t)values[OPERATION] < count ? own->names[first + (size_t)values[OPERATION]]
                                             : ST_TRACE_NONE;
}

/* "MEMORY_COPY_HOST_TO_DEVICE" is what Kineto calls "Memcpy HtoD". */
static uint32_t copy_name(rocprof *own, uint32_t operation)
{
    static const char *const ways[][2] = {{"HOST_TO_DEVICE", "Memcpy HtoD"},
                                          {"DEVICE_TO_HOST", "Memcpy DtoH"},
                                          {"DEVICE_TO_DEVICE", "Memcpy DtoD"},
                                          {"HOST_TO_HOST", "Memcpy HtoH"}};
    const char *name = "Memcpy";
    for (size_t i = 0; i < ST_COUNT(ways) && operation != ST_TRACE_NONE; i++)
        if (strstr(own->keep.store->names.texts[operation], ways[i][0]) != NULL)
            name = ways[i][1];
    return st_keep_name(&own->keep, name, strlen(name));
}

static void keep_record(rocprof *own, st_trace_kind kind, const int64_t *values)
{
    static const int64_t MOST_NS = INT64_MAX / 4;
    st_trace *trace = &own->keep.store->trace;
    const bool is_task = kind == ST_TRACE_KERNEL || kind == ST_TRACE_MEMCPY;
    st_trace_event event = {.start_ns = values[START],
                            .duration_ns = values[END] - values[START],
                            .link = st_store_link(values[CORRELATION]),
                            .name = operation_of(own, values),
                            .kind = (uint8_t)kind,
                            .class_ = ST_TRACE_MEMORY};
    st_trace_track track = {.is_stream = is_task, .number = values[THREAD]};
    if (values[START] < 0 || values[END] < values[START] || values[END] > MOST_NS) {
        leave_out(own, "a record has an impossible time");
        return;
    }
    if (is_task) {
        const numbered *agent = NULL; /* of a copy the GPU that takes it, or else that gives it */
        for (int i = AGENT; i <= FROM && agent == NULL; i++)
            agent = find(&own->agents, values[i]);
        track.process = agent != NULL ? agent->number : values[AGENT];
        track.number = values[STREAM] >= 0 ? values[STREAM] : values[QUEUE];
        if (agent != NULL && trace->gpu == ST_TRACE_NONE) {
            trace->gpu = agent->name;
            trace->sm_count = agent->units;
        }
    }
    if (kind == ST_TRACE_KERNEL) {
        const numbered *symbol = find(&own->kernels, values[KERNEL]);
        event.name = symbol != NULL ? symbol->name : ST_TRACE_NONE;
    } else if (kind == ST_TRACE_MEMCPY) {
        event.name = copy_name(own, event.name);
    } else if (kind == ST_TRACE_OPERATOR) {
        const numbered *text = find(&own->markers, values[CORRELATION]);
        event.name = text != NULL ? text->name : event.name;
        event.link = -1;
    }
    if (event.name == ST_TRACE_NONE) {
        leave_out(own, kind == ST_TRACE_KERNEL
                           ? "a kernel's number is not among the kernel_symbols before it"
                           : "a record's operation is not among the strings before it");
        return;
    }
    if (kind == ST_TRACE_KERNEL)
        st_keep_class(&own->keep, &event);
    if (kind == ST_TRACE_CALL)
        st_keep_call(&own->keep, &event);
    trace->has_decimals = trace->has_decimals || event.start_ns % 1000 != 0;
    (void)st_keep_event(&own->keep, &track, &event);
}

static void read_records(rocprof *own)
{
    static const struct {
        const char *name;
        st_trace_kind kind;
    } lists[] = {{"kernel_dispatch", ST_TRACE_KERNEL},
                 {"memory_copy", ST_TRACE_MEMCPY},
                 {"hip_api", ST_TRACE_CALL},
                 {"marker_api", ST_TRACE_OPERATOR},
                 {"rccl_api", ST_TRACE_OPERATOR}};
    st_scan_span key;
    bool started = false;
    if (!st_scan_enter(own->scan, '{'))
        return;
    while (ok(own) && st_scan_held_key(own->scan, &started, &key)) {
        size_t which = 0;
        while (which < ST_COUNT(lists) && !is_key(own, key, lists[which].name))
            which++;
        st_scan_release(own->scan);
        bool listed = false;
        if (which == ST_COUNT(lists) || st_scan_peek(own->scan) != '[') {
            (void)st_scan_skip(own->scan);
            continue;
        }
        (void)st_scan_enter(own->scan, '[');
        while (ok(own) && st_scan_item(own->scan, &listed)) {
            int64_t values[FIELDS];
            memset(values, 0xff, sizeof values);
            st_scan_hold(own->scan);
            read_record(own, values);
            st_scan_release(own->scan);
            if (ok(own))
                keep_record(own, lists[which].kind, values);
        }
    }
}

static void read_process(rocprof *own)
{
    st_scan_span key;
    bool started = false;
    if (!st_scan_enter(own->scan, '{'))
        return;
    while (ok(own) && st_scan_held_key(own->scan, &started, &key)) {
        static const char *const names[] = {"agents", "kernel_symbols", "strings",
                                            "buffer_records"};
        size_t which = 0;
        while (which < ST_COUNT(names) && !is_key(own, key, names[which]))
            which++;
        st_scan_release(own->scan);
        if (which == 0)
            read_names(own,
                       &(name_keys){.id = "id",
                                    .names = {"product_name", "name"},
                                    .number = "logical_node_type_id",
                                    .units = "cu_count",
                                    .only = "type"},
                       &own->agents);
        else if (which == 1)
            read_names(
                own,
                &(name_keys){.id = "kernel_id", .names = {"formatted_kernel_name", "kernel_name"}},
                &own->kernels);
        else if (which == 2)
            read_strings(own);
        else if (which == 3)
            read_records(own);
        else
            (void)st_scan_skip(own->scan);
    }
}

bool st_rocprof_read(st_scan *scan, st_rocprof_part part, st_store *store, size_t *processes)
{
    rocprof own = {.scan = scan,
                   .keep = {.file = st_bytes_name(scan->bytes),
                            .what = "recording",
                            .wrong = "impossible times or without a name",
                            .store = store,
                            .errors = scan->errors,
                            .partial = part.partial},
                   .arena = st_xarena()};
    bool started = false;
    *processes = 0;
    if (st_scan_enter(scan, '['))
        while (ok(&own) && st_scan_item(scan, &started)) {
            if (++*processes == part.number)
                read_process(&own);
            else
                (void)st_scan_skip(scan);
        }
    if (own.keep.status == ST_OK && scan->status == ST_OK) { /* or the file was cut */
        st_keep_end(&own.keep);
        const size_t *kinds = store->trace.kind_counts;
        if (kinds[ST_TRACE_KERNEL] > 0 && kinds[ST_TRACE_CALL] == 0)
            st_report(scan->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE,
                      (st_place){.file = own.keep.file},
                      "the calls that launch kernels are not recorded, which idle time and what-if "
                      "need" ST_HINT "record with 'rocprofv3 --hip-trace --kernel-trace'");
    }
    if (scan->status == ST_OK)
        scan->status = own.keep.status;
    st_arena_destroy(own.arena);
    return st_scan_ok(scan);
}
