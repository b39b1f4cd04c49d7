/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, events, and the capture of both. */
#include "record/library/handlers.h"
#include "record/library/objects.h"

st_object *st_stream_of(uint64_t handle)
{
    static st_object legacy = {.number = 0};
    static st_object per_thread = {.number = ST_LOG_STREAM_PER_THREAD};
    if (handle == 1 || (handle == 0 && !st_now.per_thread))
        return &legacy;
    return handle == 0 || handle == 2 ? &per_thread : st_object_of(handle, ST_OBJECT_STREAM);
}

uint64_t st_do_stream_create(st_call *call)
{
    st_object *stream = st_object_make(ST_OBJECT_STREAM);
    if (stream == NULL)
        return ST_CUDA_OUT_OF_MEMORY;
    stream->device = call->thread->device;
    stream->stream.flags = (uint32_t)st_role(call, 'f', 0);
    stream->stream.priority = (int32_t)(uint32_t)st_role(call, 'p', 0);
    call->draft.kind = ST_LOG_STREAM_CREATE;
    call->draft.flags = stream->stream.flags == 1 ? ST_LOG_NON_BLOCKING : 0;
    call->draft.stream =
        (st_log_stream){.stream = stream->number, .priority = stream->stream.priority};
    return ST_PUT(call, 0, uint64_t, stream->handle);
}

uint64_t st_do_stream_destroy(st_call *call)
{
    st_object *stream = call->taken[0];
    call->draft.kind = ST_LOG_STREAM_DESTROY;
    call->draft.stream = (st_log_stream){.stream = stream->number};
    st_object_drop(stream);
    return 0;
}

uint64_t st_do_stream_sync(st_call *call)
{
    st_object *stream = call->stream;
    if (stream->stream.capture != 0) {
        stream->stream.invalid = true;
        return st_misuse(call, ST_CUDA_CAPTURE_UNSUPPORTED, "wait for a stream under capture");
    }
    call->is_short = true;
    call->draft.kind = ST_LOG_STREAM_SYNC;
    call->draft.stream = (st_log_stream){.stream = stream->number};
    return 0;
}

/* Writes what is asked of a stream: its priority, its flags, its device, its number. */
uint64_t st_do_stream_get(st_call *call)
{
    const st_object *stream = call->stream;
    if (call->entry->constant == 3)
        return ST_PUT(call, 1, uint64_t, stream->number);
    const uint32_t values[] = {(uint32_t)stream->stream.priority, stream->stream.flags,
                               stream->number == 0 ? call->thread->device : stream->device};
    return ST_PUT(call, 1, uint32_t, values[call->entry->constant]);
}

typedef struct host_call {
    uint64_t function;
    uint64_t data;
    uint64_t stream; /* of a callback, which gets it and a status */
    bool is_callback;
} host_call;

static void run_host_call(void *context)
{
    const host_call *of = context;
    void (*function)(uint64_t data);
    void (*callback)(uint64_t stream, int status, uint64_t data);
    memcpy(&function, &of->function, sizeof function);
    memcpy(&callback, &of->function, sizeof callback);
    if (of->is_callback)
        callback(of->stream, 0, of->data);
    else
        function(of->data);
}

/* cudaLaunchHostFunc(stream, function, data); constant 1: cudaStreamAddCallback */
uint64_t st_do_host_function(st_call *call)
{
    const st_object *stream = call->stream;
    host_call wanted = {st_word(call, 1), st_word(call, 2), st_word(call, 0),
                        call->entry->constant == 1};
    call->draft.kind = ST_LOG_HOST_FUNCTION;
    call->draft.stream = (st_log_stream){.stream = stream->number};
    st_enqueue_as(call, call->stream, ST_NODE_HOST);
    if (stream->stream.capture != 0)
        return 0;
    if (wanted.function == 0)
        return ST_CUDA_INVALID_VALUE;
    st_call_back(run_host_call, &wanted);
    return 0;
}

/* ---- events ---- */

static void draft_event(st_call *call, st_log_kind kind, const st_object *event, uint32_t stream)
{
    call->is_short = true;
    call->draft.kind = (uint16_t)kind;
    call->draft.event = (st_log_event){.event = event->number,
                                       .stream = stream,
                                       .recorded_stream = event->event.stream,
                                       .sequence = event->event.sequence};
}

uint64_t st_do_event_record(st_call *call)
{
    st_object *event = call->taken[0];
    const st_object *stream = call->stream;
    if (call->entry->library == ST_CUDART && st_stream_is_made(stream) &&
        event->device != stream->device)
        return st_misuse(call, ST_CUDA_INVALID_HANDLE, "event of another device than its stream");
    event->event.stream = stream->number;
    event->event.sequence++;
    event->event.capture = stream->stream.capture;
    event->event.host_ns = st_host_ns();
    draft_event(call, ST_LOG_EVENT_RECORD, event, stream->number);
    call->draft.flags = stream->stream.capture != 0 ? ST_LOG_CAPTURED : 0;
    st_mix(ST_LOG_EVENT_RECORD);
    return 0;
}

uint64_t st_do_stream_wait(st_call *call)
{
    st_object *stream = call->stream;
    const st_object *event = call->taken[0];
    draft_event(call, ST_LOG_EVENT_WAIT, event, stream->number);
    if (event->event.capture != 0) /* a stream that waits for a captured one is captured too */
        stream->stream.capture = event->event.capture;
    call->draft.flags = stream->stream.capture != 0 ? ST_LOG_CAPTURED : 0;
    st_mix(ST_LOG_EVENT_WAIT);
    return 0;
}

uint64_t st_do_event_sync(st_call *call)
{
    const st_object *event = call->taken[0];
    draft_event(call, ST_LOG_EVENT_SYNC, event, ST_LOG_NO_STREAM);
    return 0;
}

/* What the host took between the two calls: the device takes no time here. */
uint64_t st_do_event_elapsed(st_call *call)
{
    const st_object *start = call->taken[0];
    const st_object *end = call->taken[1];
    if (start->event.sequence == 0 || end->event.sequence == 0)
        return st_misuse(call, ST_CUDA_INVALID_HANDLE, "event was never recorded");
    if (start->event.untimed || end->event.untimed)
        return st_misuse(call, ST_CUDA_INVALID_HANDLE, "event has timing disabled");
    double ns = (double)end->event.host_ns - (double)start->event.host_ns;
    return ST_PUT(call, 0, float, (float)(ns / 1e6));
}

/* ---- capture and graphs ---- */

uint64_t st_do_capture_begin(st_call *call)
{
    st_object *stream = call->stream;
    if (stream->number == 0)
        return st_misuse(call, ST_CUDA_CAPTURE_UNSUPPORTED, "capture of the default stream");
    if (stream->stream.capture != 0)
        return st_misuse(call, ST_CUDA_ILLEGAL_STATE, "stream is already being captured");
    stream->stream.capture = ++st_now.capture_count;
    stream->stream.origin = true;
    call->draft.kind = ST_LOG_CAPTURE_BEGIN;
    call->draft.graph = (st_log_graph){.stream = stream->number, .capture = stream->stream.capture};
    return 0;
}

typedef struct capture_end {
    uint32_t capture;
    bool invalid;
} capture_end;

static void leave_capture(st_object *stream, void *context)
{
    capture_end *end = context;
    if (stream->stream.capture != end->capture)
        return;
    end->invalid = end->invalid || stream->stream.invalid;
    stream->stream.capture = 0;
    stream->stream.origin = false;
    stream->stream.invalid = false;
}

static void leave_event(st_object *event, void *context)
{
    const capture_end *end = context;
    if (event->event.capture == end->capture)
        event->event.capture = 0;
}

uint64_t st_do_capture_end(st_call *call)
{
    st_object *stream = call->stream;
    if (stream->stream.capture == 0)
        return st_misuse(call, ST_CUDA_ILLEGAL_STATE, "capture ends without a start");
    if (!stream->stream.origin)
        return st_misuse(call, ST_CUDA_CAPTURE_UNMATCHED,
                         "capture ends in another stream than it started in");
    capture_end end = {.capture = stream->stream.capture};
    leave_capture(stream, &end); /* which may be a thread's default one */
    st_object_each(ST_OBJECT_STREAM, leave_capture, &end);
    st_object_each(ST_OBJECT_EVENT, leave_event, &end);
    if (end.invalid) {
        (void)ST_PUT(call, 1, uint64_t, 0);
        st_nodes_drop(end.capture);
        return st_misuse(call, ST_CUDA_CAPTURE_INVALIDATED, "capture was invalidated");
    }
    st_object *graph = st_object_make(ST_OBJECT_GRAPH);
    if (graph == NULL)
        return ST_CUDA_OUT_OF_MEMORY;
    graph->graph.capture = end.capture;
    call->draft.kind = ST_LOG_CAPTURE_END;
    call->draft.graph = (st_log_graph){.graph = graph->number,
                                       .stream = stream->number,
                                       .nodes = st_node_count(end.capture),
                                       .capture = end.capture};
    return ST_PUT(call, 1, uint64_t, graph->handle);
}

/* None, active or invalidated. */
static uint32_t capture_state(const st_object *stream)
{
    return stream->stream.capture == 0 ? 0 : stream->stream.invalid ? 2 : 1;
}

/* (stream, status *, id *, ...): further results are left alone unless nothing is captured;
 * the constant is 1 where there is only a status */
uint64_t st_do_capture_info(st_call *call)
{
    const st_object *stream = call->stream;
    if (call->entry->constant == 0 && st_word(call, 2) != 0)
        (void)ST_PUT(call, 2, uint64_t, stream->stream.capture);
    return ST_PUT(call, 1, uint32_t, capture_state(stream));
}

uint64_t st_do_capture_mode(st_call *call)
{
    uint32_t *mode = st_pointer(call, 0);
    if (mode == NULL)
        return ST_CUDA_INVALID_VALUE;
    uint32_t before = call->thread->capture_mode;
    call->thread->capture_mode = *mode;
    *mode = before;
    return 0;
}
