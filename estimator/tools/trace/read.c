/* SPDX-License-Identifier: Apache-2.0 */
/* A file of Kineto: the members around the events, and which events are kept. */
#include "trace/scan.h"
#include "base/chars.h"
#include "trace/link.h"
#include "trace/pairs.h"
#include "trace/store.h"
#include "trace/xalloc.h"

#include <stdlib.h>
#include <string.h>

static const char PARTIAL_REMEDY[] = "--partial uses what could be read";

typedef struct reader {
    st_scan scan;
    st_store *store;
    st_errors *errors;
    bool partial;
    bool details;
    bool without_operators;
    st_draft_details draft_details; /* of the event that is read, as the next */
    st_scan_span marked[ST_MARKED];
    st_shapes *shapes;
    const st_visitor *visitor;
    size_t part; /* of a file of several ranks: the one that is read, from 1 on */
    bool has_events;
    bool is_execution_trace;
    char misspelt[32]; /* may be meant for the events; and where its value begins */
    st_place misspelt_at;
    st_status status;  /* of errors that did not stop the reading */
    uint64_t negative; /* events left out, as below */
    uint64_t incomplete;
    uint64_t impossible;
    uint64_t lone_begins;
    st_pairs pairs;
    uint64_t members; /* of the file, that are of no use */
} reader;

typedef struct category_kind {
    const char *name;
    st_trace_kind kind;
} category_kind;

/* Names since 2022, and before; ROCm and others write those of CUDA. */
static const category_kind kinds[] = {
    {"cpu_op", ST_TRACE_OPERATOR},
    {"kernel", ST_TRACE_KERNEL},
    {"cuda_runtime", ST_TRACE_CALL},
    {"cuda_driver", ST_TRACE_CALL},
    {"gpu_memcpy", ST_TRACE_MEMCPY},
    {"gpu_memset", ST_TRACE_MEMSET},
    {"cuda_sync", ST_TRACE_SYNC},
    {"Operator", ST_TRACE_OPERATOR},
    {"operator", ST_TRACE_OPERATOR},
    {"Runtime", ST_TRACE_CALL},
    {"Kernel", ST_TRACE_KERNEL},
    {"Memcpy", ST_TRACE_MEMCPY},
    {"Memset", ST_TRACE_MEMSET},
    {"hip_runtime", ST_TRACE_CALL},
    {"xpu_runtime", ST_TRACE_CALL},
    {"xpu_driver", ST_TRACE_CALL},
    {"mtia_runtime", ST_TRACE_CALL},
    {"mtia_ccp_events", ST_TRACE_KERNEL},
    {"privateuse1_runtime", ST_TRACE_CALL},
    {"privateuse1_driver", ST_TRACE_CALL},
    {"user_annotation", ST_TRACE_STEP},
};

static const char too_many_tasks[] = "the trace has too many calls and kernels";
static const char most_tasks[] = "at most 2^28";

static st_trace_kind kind_of(const char *text, size_t length)
{
    for (size_t i = 0; i < ST_COUNT(kinds); i++)
        if (strlen(kinds[i].name) == length && memcmp(kinds[i].name, text, length) == 0)
            return kinds[i].kind;
    return ST_TRACE_KINDS;
}

/* Reports a failure of the store, if it is one: that there is too much of something. */
static bool stored(reader *r, st_status status, const char *too_many, const char *limit)
{
    if (status == ST_OK)
        return true;
    if (status == ST_ERR_LIMIT)
        (void)st_scan_fail(&r->scan, ST_ERR_LIMIT, "%s" ST_EXPECTED "%s", too_many,
                           st_or_none(limit));
    else
        r->scan.status = status;
    return false;
}

static bool intern(reader *r, st_scan_span span, uint32_t *name)
{
    return stored(r,
                  st_names_add(&r->store->names, st_scan_text(&r->scan, span), span.length,
                               span.escaped, name),
                  "the trace has too many names", "at most 2^20 in 1 GiB");
}

/* A text that may be missing. */
static bool intern_given(reader *r, st_scan_span span, uint32_t *name)
{
    *name = ST_TRACE_NONE;
    return span.length == 0 || intern(r, span, name);
}

/* A list that may be spread over lines: "[[8192, 4096], []]" on one. */
static bool intern_list(reader *r, st_scan_span span, uint32_t *name)
{
    enum { LONGEST = 8192 };
    char text[LONGEST];
    size_t used = 0;
    bool quoted = false;
    const char *from = st_scan_text(&r->scan, span);
    if (span.length == 0 || span.length > LONGEST / 2 || memchr(from, '\n', span.length) == NULL)
        return intern_given(r, span, name);
    for (size_t i = 0; i < span.length; i++) {
        quoted = quoted != (from[i] == '"');
        if (!quoted && st_is_blank(from[i]))
            continue;
        text[used++] = from[i];
        if (!quoted && from[i] == ',')
            text[used++] = ' ';
    }
    return stored(r, st_names_add(&r->store->names, text, used, span.escaped, name),
                  "the trace has too many names", "at most 2^20 in 1 GiB");
}

static bool count_category(reader *r, const st_draft *draft)
{
    st_trace *trace = &r->store->trace;
    uint32_t name = 0;
    if (!draft->has_category)
        return true;
    if (!intern(r, draft->category, &name))
        return false;
    for (size_t i = 0; i < trace->category_count; i++) {
        if (trace->categories[i].name == name) {
            trace->categories[i].count++;
            return true;
        }
    }
    if (trace->category_count < ST_TRACE_CATEGORIES)
        trace->categories[trace->category_count++] = (st_trace_category){name, 1};
    return true;
}

static bool mark_number(reader *r, const st_mark *mark, bool *is_text, int64_t *number)
{
    uint32_t name = 0;
    *number = mark->number;
    if (!mark->is_text)
        return true;
    if (!intern(r, mark->text, &name))
        return false;
    *is_text = true;
    *number = name;
    return true;
}

static bool find_track(reader *r, const st_draft *draft, bool is_stream, uint16_t *track)
{
    st_trace_track key = {.is_stream = is_stream};
    bool ignored = false;
    if (is_stream && draft->device >= 0)
        key.process = draft->device;
    else if (!mark_number(r, &draft->process, &ignored, &key.process))
        return false;
    if (is_stream && draft->stream >= 0)
        key.number = draft->stream;
    else if (!mark_number(r, &draft->thread, &key.is_text, &key.number))
        return false;
    return stored(r, st_store_track(r->store, &key, track),
                  key.is_stream ? "the trace has too many streams"
                                : "the trace has too many threads",
                  key.is_stream ? "at most 4096, of all devices" : "at most 61440");
}

static bool keep_collective(reader *r, const st_draft *draft, st_trace_event *event)
{
    st_trace_collective made = {.in_elements = draft->in_elements,
                                .out_elements = draft->out_elements,
                                .group_size = draft->group_size,
                                .sequence = draft->sequence,
                                .source = draft->source,
                                .destination = draft->destination,
                                .channels = draft->blocks};
    if (!intern_given(r, draft->collective, &made.name) ||
        !intern_given(r, draft->dtype, &made.dtype) ||
        !intern_given(r, draft->group, &made.group) || !intern_given(r, draft->ranks, &made.ranks))
        return false;
    st_store_collective(r->store, made, event);
    return true;
}

/* What belongs to some kinds of events only. */
static bool keep_detail(reader *r, const st_draft *draft, st_trace_event *event)
{
    if (event->kind == ST_TRACE_CALL) {
        st_store_call(r->store, event->name, &event->class_);
        return true;
    }
    if (event->kind == ST_TRACE_SYNC) {
        const st_trace_wait made = {.device = draft->device,
                                    .stream = draft->stream,
                                    .on_stream = draft->wait_stream,
                                    .record_correlation = draft->record_correlation};
        st_store_wait(r->store, made, event);
        return true;
    }
    event->class_ = ST_TRACE_MEMORY;
    if (event->kind != ST_TRACE_KERNEL)
        return true;
    st_store_class(r->store, event->name, &event->class_);
    return draft->collective.length == 0 || keep_collective(r, draft, event);
}

/* An event that cannot be used; with --partial it is left out. */
static bool refuse_event_at(reader *r, st_place place, const char *message, const char *found,
                            const char *expected)
{
    r->store->trace.left_out++;
    if (r->partial)
        return true;
    r->status =
        st_fail(r->errors, ST_ERR_VALUE, place,
                "%s" ST_FOUND "%s" ST_EXPECTED "%s" ST_HINT "--partial leaves such events out",
                message, st_or_none(found), st_or_none(expected));
    return !st_errors_full(r->errors);
}

static bool refuse_event(reader *r, const char *message, const char *found, const char *expected)
{
    return refuse_event_at(r, st_scan_place(&r->scan), message, found, expected);
}

static bool is_complete(const st_draft *draft)
{
    return draft->has_name && draft->has_start && draft->has_duration;
}

/* What a complete event is kept as, ST_TRACE_KINDS for those of no use. */
static st_trace_kind kept_kind(const reader *r, const st_draft *draft)
{
    static const char step[] = "ProfilerStep";
    static const char optimizer[] = "Optimizer.step";
    if (draft->phase != 'X' || !draft->has_category)
        return ST_TRACE_KINDS;
    st_trace_kind kind = kind_of(st_scan_text(&r->scan, draft->category), draft->category.length);
    bool is_step = draft->name.length >= sizeof step - 1 &&
                   memcmp(st_scan_text(&r->scan, draft->name), step, sizeof step - 1) == 0;
    if (kind == ST_TRACE_OPERATOR && is_step)
        return ST_TRACE_STEP;
    if (kind == ST_TRACE_STEP && draft->name.length >= sizeof optimizer - 1 &&
        memcmp(st_scan_text(&r->scan, draft->name), optimizer, sizeof optimizer - 1) == 0)
        return ST_TRACE_RANGE;
    return kind == ST_TRACE_STEP && !is_step ? ST_TRACE_KINDS : kind;
}

static bool take_event(reader *r, const st_draft *draft, st_trace_kind kind)
{
    if (!is_complete(draft)) {
        const char *category = st_scan_text(&r->scan, draft->category);
        r->incomplete++;
        return refuse_event(r,
                            st_errors_text(r->errors, "an event of category '%.*s' has no '%s'",
                                           (int)draft->category.length, category,
                                           !draft->has_name    ? "name"
                                           : !draft->has_start ? "ts"
                                                               : "dur"),
                            NULL, "a name, a time and a duration");
    }
    if (draft->duration_ns >= 0) {
        st_trace_event event = {.start_ns = draft->start_ns,
                                .duration_ns = draft->duration_ns,
                                .link = st_store_link(draft->correlation),
                                .kind = (uint8_t)kind};
        r->store->trace.has_decimals = r->store->trace.has_decimals || draft->has_decimals;
        if ((kind == ST_TRACE_OPERATOR || kind == ST_TRACE_RANGE) && r->without_operators)
            return true;
        return intern(r, draft->name, &event.name) &&
               find_track(r, draft,
                          kind == ST_TRACE_KERNEL || kind == ST_TRACE_MEMCPY ||
                              kind == ST_TRACE_MEMSET,
                          &event.track) &&
               keep_detail(r, draft, &event) &&
               stored(r, st_store_event(r->store, &event), too_many_tasks, most_tasks);
    }
    const char *name = st_scan_text(&r->scan, draft->name);
    int length = draft->name.length < 100 ? (int)draft->name.length : 100;
    r->negative++;
    return refuse_event(
        r, st_errors_text(r->errors, "the event '%.*s' has a negative duration", length, name),
        st_errors_text(r->errors, "%.3f us", (double)draft->duration_ns / 1e3), "at least 0");
}

/* The kind of a range on a thread, ST_FRAME_KINDS for others. */
static st_trace_frame_kind frame_kind(const reader *r, const st_draft *draft)
{
    static const char module[] = "nn.Module: ";
    if (draft->phase != 'X' || !draft->has_category)
        return ST_FRAME_KINDS;
    st_scan_span category = draft->category;
    const char *text = st_scan_text(&r->scan, category);
    if (category.length == 15 && memcmp(text, "user_annotation", 15) == 0)
        return ST_FRAME_ANNOTATION;
    if (category.length == 15 && memcmp(text, "python_function", 15) == 0)
        return draft->name.length >= sizeof module - 1 &&
                       memcmp(st_scan_text(&r->scan, draft->name), module, sizeof module - 1) == 0
                   ? ST_FRAME_MODULE
                   : ST_FRAME_PYTHON;
    return kind_of(text, category.length) == ST_TRACE_OPERATOR ? ST_FRAME_OPERATOR : ST_FRAME_KINDS;
}

static bool keep_details(reader *r, const st_draft *draft)
{
    if (draft->details == NULL)
        return true;
    static const char memory[] = "[memory]";
    if (draft->phase == 'i' && draft->has_name && draft->has_start &&
        draft->name.length == sizeof memory - 1 &&
        memcmp(st_scan_text(&r->scan, draft->name), memory, sizeof memory - 1) == 0) {
        bool is_gpu_memory = draft->details->device_type != 0 && draft->details->device_id >= 0;
        st_trace_allocation made = {.at_ns = draft->start_ns,
                                    .bytes = draft->details->bytes,
                                    .address = draft->details->address,
                                    .allocated_bytes = draft->details->allocated,
                                    .reserved_bytes = draft->details->reserved,
                                    .device = is_gpu_memory ? draft->details->device_id : -1};
        return find_track(r, draft, false, &made.track) &&
               stored(r, st_store_allocation(r->store, &made), too_many_tasks, most_tasks);
    }
    st_trace_frame_kind kind = frame_kind(r, draft);
    if (kind == ST_FRAME_KINDS || !is_complete(draft) || draft->duration_ns < 0)
        return true;
    st_trace_frame frame = {.start_ns = draft->start_ns,
                            .duration_ns = draft->duration_ns,
                            .sequence = draft->details->number,
                            .is_backward = draft->details->forward > 0,
                            .kind = (uint8_t)kind};
    return intern(r, draft->name, &frame.name) &&
           intern_given(r, draft->details->stack, &frame.stack) &&
           intern_list(r, draft->details->shapes, &frame.shapes) &&
           intern_list(r, draft->details->types, &frame.types) &&
           find_track(r, draft, false, &frame.track) &&
           stored(r, st_store_frame(r->store, &frame), too_many_tasks, most_tasks);
}

/* In a file of several ranks: "rank 3 25738" is the process 25738 of the fourth. */
static bool is_of_part(const reader *r, st_draft *draft)
{
    char text[64];
    char *end = NULL;
    st_scan_span own = draft->process.text;
    if (!draft->process.is_text || own.length >= sizeof text || own.length < 7)
        return false;
    memcpy(text, st_scan_text(&r->scan, own), own.length);
    text[own.length] = '\0';
    if (strncmp(text, "rank ", 5) != 0 || strtoull(text + 5, &end, 10) + 1 != r->part ||
        *end != ' ')
        return false;
    size_t skip = (size_t)(end + 1 - text);
    draft->process.text.start += skip;
    draft->process.text.length -= (uint32_t)skip;
    draft->process.is_text = !st_whole_value(end + 1, own.length - skip, &draft->process.number);
    return true;
}

/* ---- events of a begin and an end ---- */

/* Pairs of E are of a thread, those of e of a category and an id. */
static bool pair_thread(reader *r, const st_draft *draft, uint32_t *thread)
{
    char text[200];
    const bool is_async = draft->phase == 'b' || draft->phase == 'e';
    st_scan_span first = is_async ? draft->category : draft->process.text;
    st_scan_span second = is_async ? draft->id : draft->thread.text;
    int length = snprintf(text, sizeof text, "%d|%.*s|%.*s", is_async,
                          first.length < 90 ? (int)first.length : 90,
                          first.length > 0 ? st_scan_text(&r->scan, first) : "",
                          second.length < 90 ? (int)second.length : 90,
                          second.length > 0 ? st_scan_text(&r->scan, second) : "");
    return stored(r, st_pairs_thread(&r->pairs, text, (size_t)length, thread),
                  "the trace has too many threads or ids of events that begin and end",
                  "at most 2^20");
}

static uint64_t name_hash(const reader *r, const st_draft *draft)
{
    return draft->name.length == 0
               ? 0
               : st_hash_bytes(ST_HASH_BEGIN, st_scan_text(&r->scan, draft->name),
                               draft->name.length);
}

/* What the event of this number in the store has begun; its duration is not known yet. */
static bool begin_pair(reader *r, const st_draft *draft, size_t event, size_t frame)
{
    st_trace *trace = &r->store->trace;
    uint32_t thread = 0;
    st_open open = {.start_ns = draft->start_ns,
                    .name = name_hash(r, draft),
                    .event = ST_TRACE_NONE,
                    .frame = ST_TRACE_NONE};
    if (event < trace->event_count) {
        open.event = (uint32_t)event;
        trace->events[event].duration_ns = -1;
    }
    if (frame < trace->frame_count) {
        open.frame = (uint32_t)frame;
        trace->frames[frame].duration_ns = -1;
    }
    if (!pair_thread(r, draft, &thread))
        return false;
    st_pairs_begin(&r->pairs, thread, open);
    return true;
}

static bool end_pair(reader *r, st_draft *draft, st_trace_kind *kind)
{
    st_trace *trace = &r->store->trace;
    uint32_t thread = 0;
    st_open open;
    if (!pair_thread(r, draft, &thread))
        return false;
    if (!st_pairs_end(&r->pairs, thread, name_hash(r, draft), &open))
        return true;
    draft->duration_ns = draft->has_start ? draft->start_ns - open.start_ns : -1;
    if (draft->duration_ns < 0)
        return true; /* the begin stays without an end */
    if (open.event != ST_TRACE_NONE) {
        st_trace_event *event = &trace->events[open.event];
        event->duration_ns = draft->duration_ns;
        int64_t *correlation = event->link >= -1 ? &event->link
                               : event->kind == ST_TRACE_SYNC
                                   ? &trace->waits[st_trace_detail(event)].correlation
                                   : &trace->collectives[st_trace_detail(event)].correlation;
        *correlation = *correlation < 0 ? st_store_link(draft->correlation) : *correlation;
        *kind = (st_trace_kind)event->kind;
    }
    if (open.frame != ST_TRACE_NONE)
        trace->frames[open.frame].duration_ns = draft->duration_ns;
    return true;
}

/* Keeps an event, one that begins like one that lasts. */
static bool keep_event(reader *r, st_draft *draft, st_trace_kind *kind)
{
    const size_t event = r->store->trace.event_count;
    const size_t frame = r->store->trace.frame_count;
    const char phase = draft->phase;
    const bool begins = phase == 'B' || phase == 'b';
    if (phase == 'E' || phase == 'e')
        return end_pair(r, draft, kind);
    if (begins) {
        draft->phase = 'X';
        draft->has_duration = draft->has_start;
        draft->duration_ns = 0;
        *kind = kept_kind(r, draft);
    }
    if (*kind != ST_TRACE_KINDS && !take_event(r, draft, *kind))
        return false;
    if (!keep_details(r, draft))
        return false;
    draft->phase = phase;
    return !begins || begin_pair(r, draft, event, frame);
}

static bool read_event(reader *r)
{
    st_draft draft = {.shapes = r->shapes,
                      .details = r->details ? &r->draft_details : NULL,
                      .marked = r->visitor != NULL ? r->marked : NULL};
    if (r->details || r->visitor != NULL) {
        memset(r->marked, 0, sizeof r->marked);
        r->draft_details = (st_draft_details){.number = -1,
                                              .forward = -1,
                                              .address = -1,
                                              .allocated = -1,
                                              .reserved = -1,
                                              .device_type = -1,
                                              .device_id = -1};
    }
    if (st_scan_peek(&r->scan) != '{' && st_scan_ok(&r->scan)) {
        st_place place = st_scan_place(&r->scan);
        r->impossible++;
        return st_scan_skip(&r->scan) &&
               refuse_event_at(r, place, "an event of the wrong kind", NULL, "'{'");
    }
    st_scan_hold(&r->scan);
    if (!st_draft_read(&r->scan, &draft))
        return false;
    /* Nothing of a file of several ranks but how many there are, unless one of them is asked for.
     */
    if (r->part > 0 ? !is_of_part(r, &draft) : r->store->trace.parts > 0) {
        st_scan_release(&r->scan);
        return true;
    }
    st_trace *trace = &r->store->trace;
    trace->file_events++;
    trace->complete_events += draft.phase == 'X';
    st_trace_kind kind = kept_kind(r, &draft);
    bool ok = count_category(r, &draft);
    uint64_t left_out = trace->left_out;
    if (ok && draft.wrong != NULL) {
        r->impossible++;
        ok = refuse_event_at(r, draft.wrong_place, draft.wrong, NULL, draft.expected);
    } else {
        ok = ok && keep_event(r, &draft, &kind);
    }
    if (ok && r->visitor != NULL && trace->left_out == left_out) {
        size_t begin = r->scan.hold;
        while (r->scan.data[begin] != '{')
            begin++;
        st_status status =
            r->visitor->event(r->visitor->context, &(st_visit){.draft = &draft,
                                                               .text = r->scan.data + begin,
                                                               .length = r->scan.at - begin,
                                                               .start = r->scan.base + begin,
                                                               .kind = kind});
        if (status != ST_OK)
            r->scan.status = status;
        ok = status == ST_OK;
    }
    st_scan_release(&r->scan);
    return ok;
}

static bool read_events(reader *r)
{
    bool started = false;
    if (r->has_events) {
        (void)st_scan_fail(&r->scan, ST_ERR_NAME,
                           "'traceEvents' is given twice" ST_EXPECTED "one list");
        return false;
    }
    r->has_events = true;
    if (!st_scan_enter(&r->scan, '['))
        return false;
    while (st_scan_item(&r->scan, &started))
        if (!read_event(r))
            return false;
    /* The Trace Event Format lets a list that is a file end anywhere behind an event. */
    if (r->store->trace.is_array && r->scan.cut && r->store->trace.file_events > 0 &&
        !st_bytes_cut(r->scan.bytes)) {
        r->scan.cut = false;
        st_report(r->errors, ST_SEVERITY_WARNING, ST_ERR_SYNTAX, st_scan_place(&r->scan),
                  "the list of events has no ']': its %llu events are used",
                  (unsigned long long)r->store->trace.file_events);
    }
    return st_scan_ok(&r->scan);
}

/* The keys of an object that are asked for, and where their values go. */
typedef struct wanted {
    const char *key;
    int64_t *number;
    uint32_t *text;
} wanted;

static bool read_wanted(reader *r, const wanted *found)
{
    st_scan_span text = {0};
    char c = st_scan_peek(&r->scan);
    if (found->text != NULL && c == '"')
        return st_scan_string(&r->scan, &text) && intern_given(r, text, found->text);
    if (found->number == NULL || (c != '"' && c != '-' && (c < '0' || c > '9')))
        return st_scan_skip(&r->scan);
    if (!(c == '"' ? st_scan_string(&r->scan, &text) : st_scan_number(&r->scan, &text)))
        return false;
    if (st_whole_value(st_scan_text(&r->scan, text), text.length, found->number))
        return true;
    r->members++;
    if (!r->partial)
        (void)st_scan_fail(&r->scan, ST_ERR_VALUE,
                           "'%s' is not a valid whole number" ST_EXPECTED
                           "a whole number of 64 bits" ST_HINT "--partial leaves it out",
                           found->key);
    return r->partial;
}

static bool read_object(reader *r, const wanted *list, size_t count)
{
    st_scan_span key;
    bool started = false;
    if (st_scan_peek(&r->scan) != '{')
        return st_scan_skip(&r->scan);
    if (!st_scan_enter(&r->scan, '{'))
        return false;
    st_scan_hold(&r->scan);
    while (st_scan_key(&r->scan, &started, &key)) {
        const wanted *found = NULL;
        for (size_t i = 0; i < count && found == NULL; i++)
            if (strlen(list[i].key) == key.length &&
                memcmp(list[i].key, st_scan_text(&r->scan, key), key.length) == 0)
                found = &list[i];
        if (!(found != NULL ? read_wanted(r, found) : st_scan_skip(&r->scan)))
            return false;
    }
    st_scan_release(&r->scan);
    return st_scan_ok(&r->scan);
}

/* Members that hold events. */
static const char *const event_lists[] = {"traceEvents", "rocprofiler-sdk-tool"};

static bool read_top_member(reader *r, st_scan_span key);

/* A member of each, from what would be the top of its own file. */
static bool read_part(reader *r)
{
    st_scan_span key;
    bool started = false;
    if (!st_scan_enter(&r->scan, '{'))
        return false;
    while (st_scan_held_key(&r->scan, &started, &key)) {
        if (!read_top_member(r, key))
            return false;
        st_scan_release(&r->scan);
    }
    return st_scan_ok(&r->scan);
}

static bool read_first_gpu(reader *r)
{
    bool started = false;
    if (st_scan_peek(&r->scan) != '[')
        return st_scan_skip(&r->scan);
    if (!st_scan_enter(&r->scan, '['))
        return false;
    for (size_t i = 0; st_scan_item(&r->scan, &started); i++) {
        const wanted list[] = {
            {"name", NULL, &r->store->trace.gpu},
            {"numSms", &r->store->trace.sm_count, NULL},
        };
        if (!(i == 0 ? read_object(r, list, 2) : st_scan_skip(&r->scan)))
            return false;
    }
    return st_scan_ok(&r->scan);
}

static bool read_top_member(reader *r, st_scan_span key)
{
    char name[sizeof r->misspelt];
    st_trace *trace = &r->store->trace;
    size_t length = key.length < sizeof name ? key.length : sizeof name - 1;
    memcpy(name, st_scan_text(&r->scan, key), length);
    name[length] = '\0';
    st_scan_release(&r->scan);
    if (strcmp(name, "traceEvents") == 0)
        return read_events(r);
    if (strcmp(name, ST_TRACE_PARTS) == 0) {
        bool started = false;
        if (trace->parts > 0)
            return st_scan_fail(&r->scan, ST_ERR_NAME, "'" ST_TRACE_PARTS "' is given twice") ==
                   ST_OK;
        if (!st_scan_enter(&r->scan, '['))
            return false;
        while (st_scan_item(&r->scan, &started))
            if (!(++trace->parts == r->part ? read_part(r) : st_scan_skip(&r->scan)))
                return false;
        return st_scan_ok(&r->scan);
    }
    if (strcmp(name, "rocprofiler-sdk-tool") == 0) {
        size_t processes = 0;
        const st_rocprof_part part = {r->part > 0 ? r->part : 1, r->partial};
        r->has_events = true;
        if (!st_rocprof_read(&r->scan, part, r->store, &processes))
            return false;
        if (processes > 1 && r->part == 0)
            trace->parts = processes;
        return true;
    }
    if (strcmp(name, "distributedInfo") == 0) {
        const wanted list[] = {
            {"rank", &trace->rank, NULL},
            {"world_size", &trace->world_size, NULL},
        };
        return read_object(r, list, 2);
    }
    if (strcmp(name, "deviceProperties") == 0)
        return read_first_gpu(r);
    r->is_execution_trace = r->is_execution_trace || strcmp(name, "nodes") == 0;
    const wanted base = {"baseTimeNanoseconds", &trace->base_ns, NULL};
    const wanted unit = {"displayTimeUnit", NULL, &trace->unit};
    const wanted *found = strcmp(name, base.key) == 0   ? &base
                          : strcmp(name, unit.key) == 0 ? &unit
                                                        : NULL;
    if (found == NULL) {
        if (r->misspelt[0] == '\0' &&
            st_nearest(name, event_lists, ST_COUNT(event_lists)) != NULL) {
            memcpy(r->misspelt, name, sizeof name);
            r->misspelt_at = st_scan_place(&r->scan);
        }
        return st_scan_skip(&r->scan);
    }
    st_scan_hold(&r->scan);
    return read_wanted(r, found);
}

/* The text is over: was it all? */
static st_status judge_end(reader *r)
{
    st_trace *trace = &r->store->trace;
    bool gzip_cut = st_bytes_cut(r->scan.bytes);
    if (!r->scan.cut && !gzip_cut)
        return ST_OK;
    trace->partial = true;
    if (trace->file_events == 0)
        return st_fail(r->errors, ST_ERR_SYNTAX, st_scan_place(&r->scan), "%s",
                       gzip_cut ? "the gzip data end before the first event"
                                : "the file ends before the first event");
    if (r->partial) {
        st_report(r->errors, ST_SEVERITY_WARNING, ST_ERR_SYNTAX,
                  (st_place){.file = st_bytes_name(r->scan.bytes)},
                  "the file was cut: %llu events are used", (unsigned long long)trace->file_events);
        return ST_OK;
    }
    return st_fail(r->errors, ST_ERR_SYNTAX, st_scan_place(&r->scan),
                   "%s in the middle, after %llu events" ST_HINT "%s",
                   gzip_cut ? "the gzip data end" : "the file ends",
                   (unsigned long long)trace->file_events, PARTIAL_REMEDY);
}

/* A job has as many ranks as it says; -1 is what a process that is not part of one writes. */
static st_status judge_rank(reader *r)
{
    st_trace *trace = &r->store->trace;
    bool rank_fits = trace->world_size == -1 || trace->rank < trace->world_size;
    if (trace->rank >= -1 && trace->world_size != 0 && trace->world_size >= -1 && rank_fits)
        return ST_OK;
    const char *message = st_errors_text(r->errors, "rank %lld of a job of %lld ranks",
                                         (long long)trace->rank, (long long)trace->world_size);
    if (!r->partial)
        return st_fail(r->errors, ST_ERR_VALUE, (st_place){.file = st_bytes_name(r->scan.bytes)},
                       "%s" ST_EXPECTED "a rank below the number of ranks" ST_HINT
                       "--partial takes both as unknown",
                       message);
    st_report(r->errors, ST_SEVERITY_WARNING, ST_ERR_SYNTAX,
              (st_place){.file = st_bytes_name(r->scan.bytes)}, "%s: both are taken as unknown",
              message);
    trace->rank = -1;
    trace->world_size = -1;
    return ST_OK;
}

/* What of the file is not used, by its fault. */
static void warn_left_out(reader *r)
{
    const struct {
        uint64_t count;
        const char *what;
    } faults[] = {
        {r->negative, "events of negative duration are left out"},
        {r->incomplete, "events without a name, time or duration are left out"},
        {r->impossible, "events with an impossible time or phase are left out"},
        {r->lone_begins, "events that begin (phase B) have no end (phase E) and are left out"},
        {r->pairs.lone_ends, "ends of events (phase E) have no begin (phase B) and are left out"},
        {r->members, "values about the file are left out"},
        {r->scan.odd_values, "values without a valid number are left out"},
        {r->scan.controls, "control characters in strings count as blanks"},
    };
    for (size_t i = 0; i < ST_COUNT(faults); i++) {
        st_place place = {.file = st_bytes_name(r->scan.bytes)};
        if (faults[i].count > 0)
            st_report(r->errors, ST_SEVERITY_WARNING, ST_ERR_SYNTAX,
                      i < 6 ? place : r->scan.first_odd, "%llu %s",
                      (unsigned long long)faults[i].count, faults[i].what);
    }
}

static st_status fail_without_events(reader *r)
{
    if (r->is_execution_trace)
        return st_fail(r->errors, ST_ERR_NAME, st_scan_place(&r->scan),
                       "this is an execution trace of PyTorch, which has no times" ST_HINT
                       "give the file that the profiler wrote, or price it: 'steptime trace "
                       "chakra FILE --gpu GPU'");
    if (r->misspelt[0] != '\0')
        return st_fail(r->errors, ST_ERR_NAME, r->misspelt_at,
                       "no events: the file has an unknown member '%s'" ST_HINT "%s", r->misspelt,
                       st_nearest(r->misspelt, event_lists, ST_COUNT(event_lists)));
    return st_fail(r->errors, ST_ERR_NAME, st_scan_place(&r->scan),
                   "no events: the file has no list 'traceEvents'");
}

static st_status judge(reader *r, bool whole)
{
    if (r->scan.status != ST_OK)
        return r->scan.status;
    if (whole && !r->has_events && st_scan_peek(&r->scan) == '{')
        return st_fail(r->errors, ST_ERR_SYNTAX, st_scan_place(&r->scan),
                       "a second object, as in JSON lines" ST_EXPECTED
                       "one list of events, or one object with 'traceEvents'" ST_HINT
                       "make a list of the lines: 'jq -s . FILE'");
    if (whole)
        (void)st_scan_end(&r->scan);
    if (r->scan.status != ST_OK)
        return r->scan.status;
    if (r->scan.base + r->scan.used == 0 && !st_bytes_cut(r->scan.bytes))
        return st_fail(r->errors, ST_ERR_SYNTAX, st_scan_place(&r->scan), "the file is empty");
    if (whole && !r->has_events)
        return fail_without_events(r);
    int64_t *base_ns = &r->store->trace.base_ns;
    if ((*base_ns > INT64_MAX / 4 || *base_ns < -1) && !r->partial)
        return st_fail(r->errors, ST_ERR_VALUE, st_scan_place(&r->scan),
                       "'baseTimeNanoseconds' is %s" ST_HINT "--partial leaves it out",
                       *base_ns < 0 ? "negative" : "too large");
    if (*base_ns > INT64_MAX / 4 || *base_ns < -1) {
        *base_ns = -1;
        r->members++;
    }
    st_status status = judge_end(r);
    if (status == ST_OK)
        status = r->status;
    if (status == ST_OK)
        status = judge_rank(r);
    if (status == ST_OK) {
        r->lone_begins = r->pairs.count > 0 ? st_pairs_finish(&r->store->trace) : 0;
        r->store->trace.left_out += r->lone_begins;
        r->store->trace.partial = r->store->trace.partial || r->store->trace.left_out > 0;
        warn_left_out(r);
    }
    return status;
}

/* Text in another encoding or packing, by its first bytes. */
static void refuse_foreign(reader *r)
{
    static const struct {
        uint8_t length;
        const char *begin;
        const char *what;
        const char *remedy;
    } others[] = {
        {4, "\xFF\xFE\0\0", "text in UTF-32", "iconv -f UTF-32 -t UTF-8 FILE"},
        {2, "\xFF\xFE", "text in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE"},
        {2, "\xFE\xFF", "text in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE"},
        {2, "{\0", "text in UTF-16", "iconv -f UTF-16LE -t UTF-8 FILE"},
        {2, "[\0", "text in UTF-16", "iconv -f UTF-16LE -t UTF-8 FILE"},
        {2, "\x1F\x8B", "a file that was compressed twice", "gunzip FILE"},
        {4, "\x28\xB5\x2F\xFD", "a file in Zstandard's compression", "zstd -d FILE"},
        {4, "\x04\x22\x4D\x18", "a file in LZ4's compression", "lz4 -d FILE"},
        {3, "BZh", "a file in bzip2's compression", "bunzip2 FILE"},
        {6, "\3757zXZ\0", "a file in xz's compression", "xz -d FILE"},
        {4, "PK\3\4", "an archive", "unzip FILE"},
        {24, "version https://git-lfs.", "a pointer of Git LFS", "git lfs pull"},
    };
    for (size_t i = 0; i < ST_COUNT(others); i++)
        if (r->scan.used >= others[i].length && r->scan.status == ST_OK &&
            memcmp(r->scan.data, others[i].begin, others[i].length) == 0)
            r->scan.status =
                st_fail(r->errors, ST_ERR_SYNTAX, (st_place){.file = st_bytes_name(r->scan.bytes)},
                        ST_FOREIGN_FORMAT, others[i].what, others[i].remedy);
}

static st_status read_bytes(st_bytes *bytes, const st_trace_options *options, st_trace **trace,
                            st_errors *errors)
{
    reader r = {.errors = errors,
                .partial = options != NULL && options->partial,
                .details = options != NULL && options->details,
                .without_operators = options != NULL && options->without_operators,
                .visitor = options != NULL ? options->visitor : NULL,
                .part = options != NULL ? options->part : 0,
                .shapes = st_xcalloc(1, sizeof *r.shapes)};
    st_scan_init(&r.scan, bytes, errors);
    st_store_create(st_bytes_name(bytes), options, &r.store);
    static const char mark[] = "\xEF\xBB\xBF"; /* of UTF-8, which some editors write */
    st_status status = ST_OK;
    bool whole;
    char c = st_scan_peek(&r.scan);
    refuse_foreign(&r);
    if (memcmp(r.scan.data + r.scan.at, mark, sizeof mark - 1) == 0) {
        r.scan.at += sizeof mark - 1;
        c = st_scan_peek(&r.scan);
    }
    if (c == '[') {
        r.store->trace.is_array = true;
        whole = read_events(&r);
    } else {
        whole = read_part(&r);
    }
    status = judge(&r, whole);
    if (status == ST_OK)
        st_store_finish(r.store);
    if (status == ST_OK)
        status = st_trace_check(&r.store->trace, r.partial, errors);
    st_scan_free(&r.scan);
    free(r.shapes);
    st_pairs_free(&r.pairs);
    if (status == ST_OK)
        *trace = &r.store->trace;
    else
        st_store_destroy(r.store);
    return status;
}

st_status st_trace_read(const char *path, const st_trace_options *options, st_trace **trace,
                        st_errors *errors)
{
    st_bytes *bytes = NULL;
    st_status status = st_bytes_open(path, &bytes, errors);
    if (status == ST_OK)
        status = read_bytes(bytes, options, trace, errors);
    st_bytes_close(bytes);
    return status;
}

st_status st_trace_read_memory(const char *name, const char *text, size_t length,
                               const st_trace_options *options, st_trace **trace, st_errors *errors)
{
    st_bytes *bytes = NULL;
    st_bytes_from_memory(name, text, length, &bytes);
    st_status status = read_bytes(bytes, options, trace, errors);
    st_bytes_close(bytes);
    return status;
}

void st_trace_destroy(st_trace *trace)
{
    if (trace != NULL)
        st_store_destroy(trace->owner);
}
