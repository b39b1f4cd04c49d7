/* SPDX-License-Identifier: Apache-2.0 */
/* See devices.h. */
#include "trace/devices.h"

#include "trace/xalloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 256 };

/* A device of a recording, and how many of its tasks a process has launched. */
typedef struct device {
    int64_t number;
    int64_t process; /* that launches most of them; -1: none does */
    size_t tasks;
    size_t launched; /* by that process */
} device;

ST_COMPARE(compare_devices, device, ST_RISING(number));

static void add_device(device *devices, size_t *count, int64_t number)
{
    for (size_t i = 0; i < *count; i++)
        if (devices[i].number == number) {
            devices[i].tasks++;
            return;
        }
    if (*count < MOST_DEVICES)
        devices[(*count)++] = (device){.number = number, .process = -1, .tasks = 1};
}

/* How many tasks of a device have a call of a process before them. */
static size_t count_launches(const st_trace *trace, const st_links *links, int64_t number,
                             int64_t process)
{
    size_t count = 0;
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        if (!st_trace_is_gpu(event) || trace->tracks[event->track].process != number)
            continue;
        int64_t correlation = st_trace_correlation(trace, event);
        for (size_t low = st_links_first(links, correlation);
             low < links->count && st_links_number(links, low) == correlation; low++)
            if (trace->tracks[trace->events[links->calls[low]].track].process == process) {
                count++;
                break;
            }
    }
    return count;
}

/*
 * Whether a process launches for each device, and for no other one: then the file is one of several
 * ranks. Where ids of ranks are alike every process seems to launch for all: they are taken in
 * their order, as those who merge files keep it.
 */
static bool find_processes(const st_trace *trace, device *devices, size_t count)
{
    int64_t processes[MOST_DEVICES];
    size_t process_count = 0;
    st_links links;
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        int64_t process = trace->tracks[event->track].process;
        bool known = event->kind != ST_TRACE_CALL || event->class_ != ST_CALL_LAUNCH;
        for (size_t k = 0; k < process_count && !known; k++)
            known = processes[k] == process;
        if (!known && process_count == MOST_DEVICES)
            return false;
        if (!known)
            processes[process_count++] = process;
    }
    if (process_count != count)
        return false;
    st_sort(processes, count, sizeof *processes, st_order_times);
    st_links_make(trace, ST_TRACE_CALL, &links);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            size_t launched = count_launches(trace, &links, devices[i].number, processes[k]);
            bool in_place = k == i && launched == devices[i].launched;
            if (launched < devices[i].launched || (launched == devices[i].launched && !in_place))
                continue;
            devices[i].process = processes[k];
            devices[i].launched = launched;
        }
    st_links_free(&links);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (devices[i].process == devices[k].process || devices[i].launched == 0)
                return false;
    return devices[0].launched > 0;
}

size_t st_trace_devices(const st_trace *trace, st_arena *arena, st_trace_device **found,
                        bool *are_ranks)
{
    device devices[MOST_DEVICES];
    size_t count = 0;
    *are_ranks = false;
    for (size_t i = 0; i < trace->event_count; i++)
        if (st_trace_is_gpu(&trace->events[i]))
            add_device(devices, &count, trace->tracks[trace->events[i].track].process);
    st_sort(devices, count, sizeof *devices, compare_devices);
    if (count > 1)
        *are_ranks = find_processes(trace, devices, count);
    *found = st_xalloc(arena, count + 1, sizeof **found);
    for (size_t i = 0; i < count; i++)
        (*found)[i] = (st_trace_device){devices[i].number, *are_ranks ? devices[i].process : -1};
    return count;
}

/* Whether something on a thread or stream stays. */
static bool stays(const st_trace *trace, uint32_t track, const st_trace_device *one)
{
    const st_trace_track *t = &trace->tracks[track];
    if (t->is_stream)
        return t->process == one->number;
    return one->process < 0 || t->process == one->process;
}

/* What the profiler wrote of the collectives of other ranks goes with their kernels. */
static void keep_collectives(st_trace *trace)
{
    uint32_t *moved = st_xmalloc((trace->collective_count + 1) * sizeof *moved);
    memset(moved, 0xff, (trace->collective_count + 1) * sizeof *moved); /* ST_TRACE_NONE */
    for (size_t i = 0; i < trace->event_count; i++)
        if (st_trace_described(trace, &trace->events[i]) != NULL)
            moved[st_trace_detail(&trace->events[i])] = 0;
    uint32_t kept = 0;
    for (size_t i = 0; i < trace->collective_count; i++)
        if (moved[i] == 0) {
            trace->collectives[kept] = trace->collectives[i];
            moved[i] = kept++;
        }
    trace->collective_count = kept;
    for (size_t i = 0; i < trace->event_count; i++)
        if (st_trace_described(trace, &trace->events[i]) != NULL)
            st_trace_set_detail(&trace->events[i], moved[st_trace_detail(&trace->events[i])]);
    free(moved);
}

void st_trace_keep_device(st_trace *trace, const st_trace_device *one)
{
    size_t kept = 0;
    memset(trace->kind_counts, 0, sizeof trace->kind_counts);
    for (size_t i = 0; i < trace->event_count; i++) {
        if (!stays(trace, trace->events[i].track, one))
            continue;
        trace->events[kept] = trace->events[i];
        trace->kind_counts[trace->events[kept++].kind]++;
    }
    trace->event_count = kept;
    keep_collectives(trace);
    kept = 0;
    for (size_t i = 0; i < trace->frame_count; i++)
        if (stays(trace, trace->frames[i].track, one))
            trace->frames[kept++] = trace->frames[i];
    trace->frame_count = kept;
    kept = 0;
    for (size_t i = 0; i < trace->allocation_count; i++)
        if (trace->allocations[i].device < 0 || trace->allocations[i].device == one->number)
            trace->allocations[kept++] = trace->allocations[i];
    trace->allocation_count = kept;
}
