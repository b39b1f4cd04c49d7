/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/view_memory.h"

#include "base/chars.h"
#include "trace/view_sweep.h"
#include "trace/xalloc.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SAMPLES = 500 };

/* An event of a device: a block is taken, or given back. */
typedef struct step {
    const st_trace_allocation *event;
    uint32_t place; /* in the order of time */
    uint32_t frees; /* of what is taken: the step that gives it back; ST_TRACE_NONE: none */
    uint8_t category;
} step;

typedef struct keeper {
    const st_trace *trace;
    st_arena *arena;
    st_memory_device *device;
    st_sweep categories;
    st_sweep operators; /* frames */
    step *steps;        /* by time */
    size_t count;
    int64_t start_ns;
} keeper;

const char *st_memory_category_name(st_memory_category category)
{
    static const char *const names[ST_MEMORY_CATEGORIES] = {"before", "forward", "backward",
                                                            "optimizer", "other"};
    return names[category];
}

/* ---- where memory is taken ---- */

static st_status category_value(void *context, uint32_t outer, const st_trace_frame *frame,
                                uint32_t *value)
{
    const st_trace *trace = ((const keeper *)context)->trace;
    const char *name = trace->names[frame->name];
    *value = outer;
    if (outer == ST_MEMORY_OPTIMIZER || outer == ST_MEMORY_BACKWARD)
        return ST_OK;
    if (st_begins(name, "Optimizer."))
        *value = ST_MEMORY_OPTIMIZER;
    else if (frame->kind == ST_FRAME_OPERATOR &&
             (frame->is_backward || st_begins(name, "autograd::engine::evaluate_function")))
        *value = ST_MEMORY_BACKWARD;
    else if (frame->kind == ST_FRAME_MODULE ||
             (frame->kind == ST_FRAME_OPERATOR && !st_begins(name, "ProfilerStep")))
        *value = ST_MEMORY_FORWARD;
    return ST_OK;
}

static st_status operator_value(void *context, uint32_t outer, const st_trace_frame *frame,
                                uint32_t *value)
{
    const st_trace *trace = ((const keeper *)context)->trace;
    (void)outer;
    *value = (uint32_t)(frame - trace->frames);
    return ST_OK;
}

static st_status find_places(keeper *k, st_errors *errors)
{
    size_t all = 0;
    uint32_t *frames = st_xmalloc((k->trace->frame_count + 1) * sizeof *frames);
    for (uint32_t i = 0; i < k->trace->frame_count; i++)
        frames[all++] = i;
    st_status status =
        st_sweep_make(&(st_sweep_ask){k->trace, frames, all, ST_MEMORY_OTHER, category_value, k},
                      &k->categories, errors);
    all = 0;
    for (uint32_t i = 0; i < k->trace->frame_count; i++)
        if (k->trace->frames[i].kind == ST_FRAME_OPERATOR)
            frames[all++] = i;
    if (status == ST_OK)
        status =
            st_sweep_make(&(st_sweep_ask){k->trace, frames, all, ST_TRACE_NONE, operator_value, k},
                          &k->operators, errors);
    free(frames);
    return status;
}

/* ---- what gives back what ---- */

ST_COMPARE(compare_times, step, ST_RISING(event->at_ns) ST_RISING(event));

static int compare_addresses(const void *left, const void *right)
{
    const step *a = *(step *const *)left;
    const step *b = *(step *const *)right;
    if (a->event->address != b->event->address)
        return ST_ORDER(a->event->address, b->event->address);
    return ST_ORDER(a->place, b->place);
}

static void list_steps(keeper *k)
{
    const st_trace *trace = k->trace;
    st_memory_device *device = k->device;
    size_t count = 0;
    k->steps = st_xcalloc(trace->allocation_count + 1, sizeof *k->steps);
    device->has_addresses = true;
    for (size_t i = 0; i < trace->allocation_count; i++) {
        const st_trace_allocation *event = &trace->allocations[i];
        if (event->device != device->device)
            continue;
        device->has_addresses = device->has_addresses && event->address >= 0;
        if (event->reserved_bytes > device->reserved_bytes)
            device->reserved_bytes = event->reserved_bytes;
        k->steps[count++] =
            (step){.event = event, .frees = ST_TRACE_NONE, .category = ST_MEMORY_OTHER};
    }
    k->count = count;
    st_sort(k->steps, count, sizeof *k->steps, compare_times);
    for (uint32_t i = 0; i < count; i++)
        k->steps[i].place = i;
    device->events = count;
    if (!device->has_addresses)
        return;
    step **order = st_xmalloc((count + 1) * sizeof(step *));
    step *taken = NULL;
    for (size_t i = 0; i < count; i++)
        order[i] = &k->steps[i];
    st_sort(order, count, sizeof(step *), compare_addresses);
    for (size_t i = 0; i < count; i++) {
        step *one = order[i];
        bool same = taken != NULL && taken->event->address == one->event->address;
        if (one->event->bytes >= 0) {
            one->category =
                (uint8_t)st_sweep_at(&k->categories, one->event->track, one->event->at_ns);
            taken = one;
            continue;
        }
        one->category = same ? taken->category : ST_MEMORY_BEFORE;
        if (same)
            taken->frees = one->place;
        taken = NULL;
    }
    free(order);
}

/* ---- over time ---- */

static int64_t total_of(const st_memory_sample *sample)
{
    int64_t sum = 0;
    for (int i = 0; i < ST_MEMORY_CATEGORIES; i++)
        sum += sample->bytes[i];
    return sum;
}

static void follow(keeper *k)
{
    st_memory_device *device = k->device;
    st_memory_sample now = {0};
    const st_trace_allocation *first = k->steps[0].event;
    int64_t from_ns = first->at_ns - k->start_ns;
    int64_t part_ns = (k->steps[k->count - 1].event->at_ns - first->at_ns) / (MOST_SAMPLES - 2) + 1;
    device->knows_start = first->allocated_bytes >= 0;
    if (device->knows_start)
        device->start_bytes = first->allocated_bytes - first->bytes;
    now.bytes[ST_MEMORY_BEFORE] = device->start_bytes;
    now.at_ns = from_ns;
    device->peak = now;
    device->peak_bytes = device->start_bytes;
    for (size_t i = 0; i < k->count; i++) {
        const st_trace_allocation *event = k->steps[i].event;
        now.at_ns = event->at_ns - k->start_ns;
        now.bytes[k->steps[i].category] += event->bytes;
        int64_t total = total_of(&now);
        int64_t off = event->allocated_bytes < 0 ? 0 : llabs(total - event->allocated_bytes);
        device->difference_bytes = off > device->difference_bytes ? off : device->difference_bytes;
        if (total > device->peak_bytes) {
            device->peak_bytes = total;
            device->peak = now;
        }
        /* Of each part of time the moment that has most. */
        st_memory_device *sample_device = k->device;
        st_memory_sample *samples = sample_device->samples;
        size_t count = sample_device->sample_count;
        bool is_next = count == 0 || now.at_ns / part_ns != samples[count - 1].at_ns / part_ns;
        if (is_next && count < MOST_SAMPLES)
            samples[sample_device->sample_count++] = now;
        else if (total_of(&now) > total_of(&samples[count - 1]))
            samples[count - 1] = now;
    }
}

ST_COMPARE(compare_blocks, st_memory_block, ST_FALLING(bytes) ST_RISING(at_ns));

/* What was taken by the peak and is given back after it. */
static void list_blocks(keeper *k)
{
    st_memory_device *device = k->device;
    int64_t peak_ns = device->peak.at_ns + k->start_ns;
    device->blocks = st_xalloc(k->arena, k->count + 1, sizeof *device->blocks);
    for (size_t i = 0; device->has_addresses && i < k->count; i++) {
        const step *one = &k->steps[i];
        const st_trace_allocation *event = one->event;
        bool goes = one->frees != ST_TRACE_NONE && k->steps[one->frees].event->at_ns <= peak_ns;
        if (event->bytes <= 0 || event->at_ns > peak_ns || goes)
            continue;
        uint32_t frame = st_sweep_at(&k->operators, event->track, event->at_ns);
        device->blocks[device->block_count++] = (st_memory_block){
            .bytes = event->bytes,
            .at_ns = event->at_ns - k->start_ns,
            .category = (st_memory_category)one->category,
            .name = frame == ST_TRACE_NONE ? NULL : k->trace->names[k->trace->frames[frame].name]};
    }
    st_sort(device->blocks, device->block_count, sizeof *device->blocks, compare_blocks);
}

/* ---- all devices ---- */

/* The next device of a trace above `after`, -1: none. */
static int64_t next_device(const st_trace *trace, int64_t after)
{
    int64_t next = -1;
    for (size_t i = 0; i < trace->allocation_count; i++) {
        int64_t device = trace->allocations[i].device;
        if (device > after && (next < 0 || device < next))
            next = device;
    }
    return next;
}

st_status st_view_memory(const st_trace_set *set, st_arena *arena, st_memory_view *view,
                         st_errors *errors)
{
    st_status status = ST_OK;
    *view = (st_memory_view){0};
    for (size_t i = 0; i < set->count; i++) {
        const st_trace *trace = set->ranks[i];
        for (int64_t d = next_device(trace, -1); d >= 0 && status == ST_OK;
             d = next_device(trace, d)) {
            st_memory_device device;
            st_trace_summary summary;
            keeper k = {.trace = trace, .arena = arena, .device = &device};
            device = (st_memory_device){.trace = trace, .device = d, .reserved_bytes = -1};
            device.samples = st_xalloc(arena, MOST_SAMPLES, sizeof *device.samples);
            st_trace_summarize(trace, arena, &summary);
            st_status device_status = ST_OK;
            k.start_ns = summary.window_start_ns;
            device_status = find_places(&k, errors);
            if (device_status == ST_OK)
                list_steps(&k);
            if (device_status == ST_OK && k.count > 0) {
                follow(&k);
                list_blocks(&k);
                device_status = ST_OK;
            }
            free(k.steps);
            st_sweep_free(&k.categories);
            st_sweep_free(&k.operators);
            status = device_status;
            if (status == ST_OK)
                ST_XAPPEND(arena, view->devices, view->count, device);
        }
    }
    if (status == ST_OK && view->count == 0)
        return st_fail(errors, ST_ERR_VALUE, (st_place){.file = set->ranks[0]->file},
                       "the trace has no memory events of GPUs" ST_HINT
                       "record with torch.profiler.profile(profile_memory=True)");
    return status;
}
