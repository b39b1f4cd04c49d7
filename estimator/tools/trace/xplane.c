/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of XLA, as JAX and TensorFlow write them: XSpace of xplane.proto, a message of planes
 * (tsl/profiler/protobuf), whose names xplane_schema.cc lists. Each plane of a device is a rank:
 * lines "Stream ..." of a GPU hold its kernels, "XLA Ops" of a TPU its operations. Host planes hold
 * calls of the driver, which have the correlation of what they launch, and ranges of the program;
 * one with a step number is a step of the training. Events name their metadata by number, as their
 * values do. What the profiler derived from these lines is passed over.
 */
#include "trace/store.h"

#include "base/memory.h"
#include "base/protobuf.h"
#include "trace/bytes.h"
#include "trace/xalloc.h"

#include <string.h>

enum { SPACE_PLANES = 1 };
enum { PLANE_NAME = 2, PLANE_LINES = 3, PLANE_EVENTS = 4, PLANE_STATS = 5, PLANE_VALUES = 6 };
enum { LINE_ID = 1, LINE_NAME = 2, LINE_START_NS = 3, LINE_EVENTS = 4 };
enum { EVENT_METADATA = 1, EVENT_OFFSET_PS = 2, EVENT_DURATION_PS = 3, EVENT_STATS = 4 };
enum { STAT_METADATA = 1, STAT_UINT64 = 3, STAT_INT64 = 4, STAT_TEXT = 5 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2, METADATA_NAME = 2 };

enum { MOST_GIB = 2 };

static const int64_t MOST_NS = INT64_MAX / 4;

/* A name that events or their values refer to. */
typedef struct named {
    int64_t id;
    const char *text;
    size_t length;
} named;

typedef struct name_list {
    named *items;
    size_t count;
} name_list;

typedef struct plane {
    st_proto message;
    const char *name;
    size_t name_length;
    name_list events;
    name_list stats;
    int64_t correlation; /* ids of the values that are looked at; -1: the plane has none */
    int64_t step;
    bool has_lines;
} plane;

typedef struct xplane {
    st_keeper keep;
    st_arena *arena;
    plane *planes;
    size_t count;
    size_t devices;
    const plane *device; /* the rank's; NULL: the file has none */
    int64_t base_ns;
    int64_t *launched; /* correlations of the device's tasks, rising */
    size_t launched_count;
} xplane;

/* An event, with what its line and its values say. */
typedef struct draft {
    int64_t metadata;
    int64_t start_ns;
    int64_t duration_ns;
    int64_t correlation; /* -1: none, as below */
    int64_t step;
} draft;

typedef struct line {
    st_proto message;
    const char *name;
    size_t name_length;
    int64_t id;
    int64_t start_ns;
} line;

/* ---- the wire ---- */

static bool ok(const xplane *own)
{
    return own->keep.status == ST_OK;
}

/* The next field of a message; false at its end, where it is broken, and after a failure. */
static bool next(xplane *own, st_proto *message, st_proto_field *field)
{
    if (!ok(own) || st_proto_next(message, field))
        return ok(own);
    if (message->fault != NULL)
        ST_NOTE(&own->keep, ST_ERR_SYNTAX, (st_place){.file = own->keep.file},
                "byte %zu: %s" ST_EXPECTED "an XSpace, as JAX's profiler writes it, whole",
                message->origin + message->at, message->fault);
    return false;
}

/* A field that is looked at must have its wire type; others are passed over. */
static void check_wire(xplane *own, const st_proto_field *field, st_wire wire, const char *what)
{
    if (field->wire != wire)
        ST_NOTE(&own->keep, ST_ERR_SYNTAX, (st_place){.file = own->keep.file},
                "byte %zu: field %lu of %s has wire type %d" ST_EXPECTED "that of an XSpace",
                field->origin, (unsigned long)field->number, what, (int)field->wire);
}

static bool begins(const char *text, size_t length, const char *wanted)
{
    return length >= strlen(wanted) && memcmp(text, wanted, strlen(wanted)) == 0;
}

static bool is_text(const char *text, size_t length, const char *wanted)
{
    return length == strlen(wanted) && memcmp(text, wanted, length) == 0;
}

/* ---- names ---- */

ST_COMPARE(by_id, named, ST_RISING(id));

/* An entry of a map: a number, and a message whose field 2 is a name. */
static void read_entry(xplane *own, const st_proto_field *entry, name_list *list)
{
    named made = {.text = ""};
    st_proto_field field;
    st_proto message = st_proto_inside(entry);
    while (next(own, &message, &field)) {
        if (field.number == ENTRY_KEY && field.wire == ST_WIRE_VARINT)
            made.id = st_proto_signed(field.value);
        if (field.number != ENTRY_VALUE)
            continue;
        st_proto inner = st_proto_inside(&field);
        st_proto_field part;
        while (next(own, &inner, &part)) {
            if (part.number == METADATA_NAME && part.wire == ST_WIRE_BYTES) {
                made.text = part.bytes;
                made.length = part.length;
            }
        }
    }
    if (ok(own))
        ST_XAPPEND(own->arena, list->items, list->count, made);
}

static int64_t stat_id(const plane *of, const char *name)
{
    for (size_t i = 0; i < of->stats.count; i++)
        if (is_text(of->stats.items[i].text, of->stats.items[i].length, name))
            return of->stats.items[i].id;
    return -1;
}

/* ---- planes and lines ---- */

static bool is_device(const plane *of)
{
    static const char *const kinds[] = {"/device:GPU:", "/device:TPU:"};
    for (size_t i = 0; i < ST_COUNT(kinds); i++) {
        size_t length = strlen(kinds[i]);
        if (begins(of->name, of->name_length, kinds[i]) && of->name_length > length) {
            size_t digits = 0; /* "/device:TPU:0 SparseCore 1" is a part of a device */
            while (length + digits < of->name_length && of->name[length + digits] >= '0' &&
                   of->name[length + digits] <= '9')
                digits++;
            return length + digits == of->name_length;
        }
    }
    return false;
}

/* A device that ran something; a profile also lists idle ones. */
static bool is_used(const plane *of)
{
    return is_device(of) && of->has_lines;
}

static bool is_host(const plane *of)
{
    return is_text(of->name, of->name_length, "/host:CPU") ||
           is_text(of->name, of->name_length, "/host:CUPTI") ||
           is_text(of->name, of->name_length, "/host:ROCTRACER");
}

/* Calls `visit` with every line of a plane. */
static void each_line(xplane *own, const plane *of,
                      void (*visit)(xplane *, const plane *, const line *))
{
    st_proto message = of->message;
    st_proto_field field;
    while (next(own, &message, &field)) {
        if (field.number != PLANE_LINES)
            continue;
        line found = {.message = st_proto_inside(&field), .name = ""};
        st_proto line_message = found.message;
        st_proto_field line_field;
        while (next(own, &line_message, &line_field)) {
            if (line_field.number == LINE_NAME) {
                check_wire(own, &line_field, ST_WIRE_BYTES, "a line");
                found.name = line_field.bytes;
                found.name_length = line_field.length;
            } else if (line_field.number == LINE_ID || line_field.number == LINE_START_NS) {
                check_wire(own, &line_field, ST_WIRE_VARINT, "a line");
                *(line_field.number == LINE_ID ? &found.id : &found.start_ns) =
                    st_proto_signed(line_field.value);
            }
        }
        if (ok(own))
            visit(own, of, &found);
    }
}

/* ---- events ---- */

static void read_stat(xplane *own, const plane *of, const st_proto_field *stat, draft *made)
{
    st_proto message = st_proto_inside(stat);
    st_proto_field field;
    int64_t id = 0;
    int64_t value = -1;
    while (next(own, &message, &field)) {
        if (field.number == STAT_METADATA)
            id = st_proto_signed(field.value);
        if (field.number == STAT_UINT64 || field.number == STAT_INT64)
            value = st_proto_signed(field.value);
    }
    if (of->correlation >= 0 && id == of->correlation)
        made->correlation = value;
    if (of->step >= 0 && id == of->step)
        made->step = value;
}

static draft read_event(xplane *own, const plane *of, const line *on, const st_proto_field *event)
{
    enum { PS_PER_NS = 1000 };
    st_proto message = st_proto_inside(event);
    st_proto_field field;
    int64_t offset_ps = 0;
    int64_t duration_ps = 0;
    draft made = {.correlation = -1, .step = -1};
    while (next(own, &message, &field)) {
        if (field.number < EVENT_METADATA || field.number > EVENT_STATS)
            continue;
        bool is_number = field.number != EVENT_STATS;
        check_wire(own, &field, is_number ? ST_WIRE_VARINT : ST_WIRE_BYTES, "an event");
        int64_t value = st_proto_signed(field.value);
        if (field.number == EVENT_METADATA)
            made.metadata = value;
        else if (field.number == EVENT_OFFSET_PS)
            offset_ps = value;
        else if (field.number == EVENT_DURATION_PS)
            duration_ps = value;
        else if (ok(own))
            read_stat(own, of, &field, &made);
    }
    /* In nanoseconds first: no file's picoseconds overflow then. */
    made.duration_ns =
        duration_ps / PS_PER_NS + (offset_ps % PS_PER_NS + duration_ps % PS_PER_NS) / PS_PER_NS;
    const bool fits = on->start_ns >= -MOST_NS && on->start_ns <= MOST_NS;
    made.start_ns = offset_ps / PS_PER_NS + (fits ? on->start_ns : 0);
    if (!fits && ok(own) && !own->keep.partial)
        ST_NOTE(&own->keep, ST_ERR_LIMIT, (st_place){.file = own->keep.file},
                "byte %zu: a time beyond 73 years" ST_HINT "--partial leaves such events out",
                event->origin);
    if (!fits)
        made.duration_ns = -1; /* left out */
    return made;
}

typedef void event_visitor(xplane *own, const plane *of, const line *on, const draft *made);

static void each_event(xplane *own, const plane *of, const line *on, event_visitor *visit)
{
    st_proto message = on->message;
    st_proto_field field;
    while (next(own, &message, &field)) {
        if (field.number != LINE_EVENTS)
            continue;
        check_wire(own, &field, ST_WIRE_BYTES, "a line");
        draft made = ok(own) ? read_event(own, of, on, &field) : (draft){0};
        if (ok(own))
            visit(own, of, on, &made);
    }
}

/* ---- keeping ---- */

/* Adds an event of a kind and a class under a name; negative times are refused, or left out. */
static void keep(xplane *own, const draft *from, const st_trace_track *track, st_trace_event *event)
{
    st_trace *trace = &own->keep.store->trace;
    event->start_ns = from->start_ns - own->base_ns;
    event->duration_ns = from->duration_ns;
    event->link = st_store_link(from->correlation);
    if (event->start_ns >= 0 && event->duration_ns >= 0 &&
        event->start_ns <= INT64_MAX / 4 - event->duration_ns) {
        trace->has_decimals = trace->has_decimals || event->start_ns % 1000 != 0;
        (void)st_keep_event(&own->keep, track, event);
        return;
    }
    own->keep.left_out++;
    if (!own->keep.partial)
        ST_NOTE(&own->keep, ST_ERR_VALUE, (st_place){.file = own->keep.file},
                "an event has an impossible time" ST_FOUND "start %lld ns, duration %lld ns" ST_HINT
                "--partial leaves such events out",
                (long long)event->start_ns, (long long)event->duration_ns);
}

static uint32_t name_event(xplane *own, const plane *of, const draft *from)
{
    const named wanted = {.id = from->metadata};
    const named *found = of->events.count == 0 ? NULL
                                               : bsearch(&wanted, of->events.items,
                                                         of->events.count, sizeof wanted, by_id);
    if (found != NULL)
        return st_keep_name(&own->keep, found->text, found->length);
    own->keep.left_out++;
    if (!own->keep.partial)
        ST_NOTE(&own->keep, ST_ERR_NAME, (st_place){.file = own->keep.file},
                "an event names the metadata %lld, which plane '%.*s' does not have" ST_HINT
                "--partial leaves such events out",
                (long long)from->metadata, (int)(of->name_length < 80 ? of->name_length : 80),
                of->name);
    return ST_TRACE_NONE;
}

static void keep_task(xplane *own, const plane *of, const line *on, const draft *from)
{
    st_trace_event event = {
        .kind = ST_TRACE_KERNEL, .class_ = ST_TRACE_MEMORY, .name = name_event(own, of, from)};
    const st_trace_track track = {.is_stream = true, .number = on->id};
    if (!ok(own) || event.name == ST_TRACE_NONE)
        return;
    const char *name = own->keep.store->names.texts[event.name];
    if (strncmp(name, "Memcpy", 6) == 0)
        event.kind = ST_TRACE_MEMCPY;
    else if (strncmp(name, "Memset", 6) == 0)
        event.kind = ST_TRACE_MEMSET;
    else
        st_keep_class(&own->keep, &event);
    if (ok(own) && from->correlation >= 0)
        ST_XAPPEND(own->arena, own->launched, own->launched_count, from->correlation);
    if (ok(own))
        keep(own, from, &track, &event);
}

static void keep_device_line(xplane *own, const plane *of, const line *on)
{
    bool streams = begins(on->name, on->name_length, "Stream");
    bool operations = is_text(on->name, on->name_length, "XLA Ops") ||
                      is_text(on->name, on->name_length, "Async XLA Ops");
    bool gpu = begins(of->name, of->name_length, "/device:GPU:");
    if (gpu ? streams : operations)
        each_event(own, of, on, keep_task);
}

/* Whether the device that is read ran what a call launched; other devices' launches are theirs. */
static bool is_own(const xplane *own, const st_trace_event *event, const draft *from)
{
    return own->devices < 2 || event->class_ != ST_CALL_LAUNCH ||
           (own->launched_count > 0 &&
            bsearch(&from->correlation, own->launched, own->launched_count, sizeof *own->launched,
                    st_order_times) != NULL);
}

static void keep_host(xplane *own, const plane *of, const line *on, const draft *from)
{
    st_trace_event event = {.kind = ST_TRACE_OPERATOR, .name = name_event(own, of, from)};
    const st_trace_track track = {.process = 1, .number = on->id};
    if (!ok(own) || event.name == ST_TRACE_NONE)
        return;
    if (from->correlation > 0) {
        event.kind = ST_TRACE_CALL;
        st_keep_call(&own->keep, &event);
        if (!is_own(own, &event, from))
            return;
    } else if (from->step >= 0) {
        event.kind = ST_TRACE_STEP;
        /* "train" with step number 7 is the step "train#7". */
        const uint32_t name = event.name;
        char *text = st_xprintf(own->arena, "%.200s#%lld", own->keep.store->names.texts[name],
                                (long long)from->step);
        event.name = st_keep_name(&own->keep, text, strlen(text));
    }
    if (ok(own))
        keep(own, from, &track, &event);
}

static void keep_host_line(xplane *own, const plane *of, const line *on)
{
    each_event(own, of, on, keep_host);
}

/* The earliest of all lines: times count from there. */
static void note_start(xplane *own, const plane *of, const line *on)
{
    (void)of;
    if (on->start_ns >= -MOST_NS && on->start_ns <= MOST_NS && on->start_ns < own->base_ns)
        own->base_ns = on->start_ns;
}

/* ---- the file ---- */

static void read_planes(xplane *own, st_proto space)
{
    st_proto_field field;
    while (next(own, &space, &field)) {
        if (field.number != SPACE_PLANES)
            continue;
        check_wire(own, &field, ST_WIRE_BYTES, "the space");
        if (ok(own)) {
            plane made = {.message = st_proto_inside(&field), .name = ""};
            st_proto_field plane_field;
            st_proto message = made.message;
            while (next(own, &message, &plane_field)) {
                if (plane_field.number < PLANE_NAME || plane_field.number > PLANE_STATS)
                    continue;
                check_wire(own, &plane_field, ST_WIRE_BYTES, "a plane");
                made.has_lines = made.has_lines || plane_field.number == PLANE_LINES;
                if (ok(own) && plane_field.number == PLANE_NAME) {
                    made.name = plane_field.bytes;
                    made.name_length = plane_field.length;
                } else if (ok(own) && plane_field.number != PLANE_LINES) {
                    read_entry(own, &plane_field,
                               plane_field.number == PLANE_EVENTS ? &made.events : &made.stats);
                }
            }
            if (!ok(own))
                continue;
            st_sort(made.events.items, made.events.count, sizeof *made.events.items, by_id);
            made.correlation = stat_id(&made, "correlation_id");
            made.step = stat_id(&made, "step_num");
            own->devices += is_used(&made) ? 1 : 0;
            ST_XAPPEND(own->arena, own->planes, own->count, made);
        }
    }
    if (ok(own) && own->count == 0)
        own->keep.status = st_fail(
            own->keep.errors, ST_ERR_NAME, (st_place){.file = own->keep.file},
            "the profile has no planes" ST_EXPECTED "an XSpace, as JAX's profiler writes it");
}

/*
 * What a plane says of its GPU: a name, where there is one, as of TPUs; otherwise vendor,
 * capability and multiprocessors, "AMD 9.4, 304 multiprocessors", which differ between models.
 */
static void describe_gpu(xplane *own, const plane *of)
{
    enum { TYPE, VENDOR, CORES, MAJOR, MINOR, VALUES };
    static const char *const names[VALUES] = {"device_type_string", "device_vendor", "core_count",
                                              "compute_cap_major", "compute_cap_minor"};
    st_proto_field values[VALUES] = {{0}};
    st_proto message = of->message;
    st_proto_field field;
    while (next(own, &message, &field)) {
        if (field.number != PLANE_VALUES || field.wire != ST_WIRE_BYTES)
            continue;
        st_proto stat = st_proto_inside(&field);
        st_proto_field part;
        int64_t id = -1;
        st_proto_field value = {0};
        while (next(own, &stat, &part))
            if (part.number == STAT_METADATA)
                id = st_proto_signed(part.value);
            else if (part.number == STAT_UINT64 || part.number == STAT_INT64 ||
                     part.number == STAT_TEXT)
                value = part;
        for (size_t i = 0; i < VALUES && id >= 0; i++)
            if (id == stat_id(of, names[i]) &&
                (value.wire == ST_WIRE_BYTES) == (i == TYPE || i == VENDOR))
                values[i] = value;
    }
    st_trace *trace = &own->keep.store->trace;
    const long long cores = (long long)st_proto_signed(values[CORES].value);
    if (!ok(own))
        return;
    const int length = (int)(values[VENDOR].length < 40 ? values[VENDOR].length : 40);
    const char *text =
        cores > 0 && length > 0
            ? st_xprintf(own->arena, "%.*s %lld.%lld, %lld multiprocessors", length,
                         values[VENDOR].bytes, (long long)st_proto_signed(values[MAJOR].value),
                         (long long)st_proto_signed(values[MINOR].value), cores)
            : NULL;
    if (cores > 0)
        trace->sm_count = cores;
    if (values[TYPE].length > 0)
        trace->gpu = st_keep_name(&own->keep, values[TYPE].bytes, values[TYPE].length);
    else if (text != NULL)
        trace->gpu = st_keep_name(&own->keep, text, strlen(text));
}

st_status st_xplane_read_memory(const st_trace_text *text, const st_trace_part *part, bool partial,
                                st_store *store, st_errors *errors)
{
    xplane own = {.keep = {.file = part->path,
                           .what = "profile",
                           .wrong = "impossible times, or without a name,",
                           .store = store,
                           .errors = errors,
                           .partial = partial},
                  .arena = st_xarena()};
    read_planes(&own, st_proto_of(text->bytes, text->length));
    for (size_t i = 0, place = 0; i < own.count && own.device == NULL; i++)
        if (is_used(&own.planes[i]) && place++ == part->part)
            own.device = &own.planes[i];
    own.base_ns = INT64_MAX;
    for (size_t i = 0; i < own.count; i++)
        if (is_host(&own.planes[i]) || is_device(&own.planes[i]))
            each_line(&own, &own.planes[i], note_start);
    own.base_ns = own.base_ns == INT64_MAX || own.base_ns < 0 ? 0 : own.base_ns;
    if (own.device != NULL)
        each_line(&own, own.device, keep_device_line);
    st_sort(own.launched, own.launched_count, sizeof *own.launched, st_order_times);
    for (size_t i = 0; i < own.count; i++)
        if (is_host(&own.planes[i]))
            each_line(&own, &own.planes[i], keep_host_line);
    st_trace *trace = &own.keep.store->trace;
    if (ok(&own)) {
        trace->base_ns = own.base_ns > 0 && own.base_ns <= INT64_MAX / 4 ? own.base_ns : -1;
        st_keep_end(&own.keep);
        if (own.device != NULL)
            describe_gpu(&own, own.device);
    }
    st_arena_destroy(own.arena);
    return own.keep.status;
}

static st_status read_file(const char *path, st_buffer *text, st_errors *errors)
{
    st_bytes *bytes = NULL;
    st_status status = st_bytes_open(path, &bytes, errors);
    if (status == ST_OK)
        status = st_bytes_read_messages(bytes, "the profile", MOST_GIB, text, errors);
    st_bytes_close(bytes);
    return status;
}

enum { MOST_DEVICES = 256 };

st_status st_xplane_count(const char *path, size_t *count, st_errors *errors)
{
    xplane own = {.keep = {.file = path, .errors = errors}, .arena = st_xarena()};
    st_buffer text = {0};
    own.keep.status = read_file(path, &text, errors);
    read_planes(&own, st_proto_of(text.data, text.length));
    st_buffer_free(&text);
    st_arena_destroy(own.arena);
    /* Each device reads the file once more. */
    if (own.keep.status == ST_OK && own.devices > MOST_DEVICES)
        own.keep.status = st_fail(errors, ST_ERR_LIMIT, (st_place){.file = path},
                                  "the profile has too many devices" ST_FOUND "%zu" ST_EXPECTED
                                  "at most %d, those of one host",
                                  (size_t)own.devices, MOST_DEVICES);
    *count = own.devices > 0 ? own.devices : 1;
    return own.keep.status;
}

st_status st_xplane_read(const st_trace_part *part, bool partial, st_store *store,
                         st_errors *errors)
{
    st_buffer text = {0};
    st_status status = read_file(part->path, &text, errors);
    if (status == ST_OK)
        status = st_xplane_read_memory(&(st_trace_text){text.data, text.length}, part, partial,
                                       store, errors);
    st_buffer_free(&text);
    return status;
}
