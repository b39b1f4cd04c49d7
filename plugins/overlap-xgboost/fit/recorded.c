/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels and collectives out of a trace, distinguished by their names. */
#include "overlap-xgboost/fit/recorded.h"

#include "base/memory.h"
#include "steptime/tool/input_files.h"

#include <stdio.h>
#include <string.h>

/* ---- Kineto ---- */

static st_status from_trace(const st_trace *trace, st_arena *arena, st_recorded *recorded)
{
    size_t count = trace->kind_counts[ST_TRACE_KERNEL] + trace->kind_counts[ST_TRACE_MEMCPY] +
                   trace->kind_counts[ST_TRACE_MEMSET];
    recorded->kernels = st_arena_alloc(arena, count + 1, sizeof *recorded->kernels);
    if (recorded->kernels == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        bool is_task = event->kind == ST_TRACE_KERNEL || event->kind == ST_TRACE_MEMCPY ||
                       event->kind == ST_TRACE_MEMSET;
        if (is_task && recorded->count < count) {
            st_recorded_kernel *kernel = &recorded->kernels[recorded->count++];
            const st_trace_track *track = &trace->tracks[event->track];
            const char *name = trace->names[event->name];
            st_recorded_collective *found =
                event->kind == ST_TRACE_KERNEL ? st_recorded_collective_of(name, arena) : NULL;
            const st_trace_collective *given = st_trace_described(trace, event);
            if (found != NULL && given != NULL) {
                /* The metadata of a collective, where the profiler wrote it, over what its name
                 * says. */
                double elements =
                    (double)(given->in_elements > given->out_elements ? given->in_elements
                                                                      : given->out_elements);
                double width = given->dtype != ST_TRACE_NONE
                                   ? st_trace_element_bytes(trace->names[given->dtype])
                                   : 0;
                found->bytes = elements > 0 ? elements * width : 0;
                found->channels = given->channels > 0 ? given->channels : 0;
                if (given->name != ST_TRACE_NONE) {
                    const char *describe_name =
                        st_recorded_collective_word(trace->names[given->name]);
                    found->collective =
                        describe_name[0] != '\0' ? describe_name : found->collective;
                }
            }
            *kernel = (st_recorded_kernel){.name = st_arena_copy(arena, name, strlen(name)),
                                           .device = track->process,
                                           .stream = track->number,
                                           .start_ns = event->start_ns,
                                           .end_ns = event->start_ns + event->duration_ns,
                                           .collective = found};
        }
    }
    if (trace->gpu != ST_TRACE_NONE)
        recorded->gpu =
            st_arena_copy(arena, trace->names[trace->gpu], strlen(trace->names[trace->gpu]));
    return st_arena_failed(arena) ? ST_ERR_MEMORY : ST_OK;
}

/* ---- both ---- */

static bool is_database(const char *path)
{
    static const char magic[] = "SQLite format 3";
    char head[sizeof magic];
    FILE *file = fopen(path, "rb");
    bool is = file != NULL && fread(head, 1, sizeof head, file) == sizeof head &&
              memcmp(head, magic, sizeof head) == 0;
    if (file != NULL)
        (void)fclose(file);
    return is;
}

static st_status read_trace(const char *path, st_arena *arena, st_recorded *recorded,
                            st_errors *errors)
{
    st_trace *trace = NULL;
    st_status status = st_trace_read(path, NULL, &trace, errors);
    if (status == ST_OK) {
        status = from_trace(trace, arena, recorded);
        status = status == ST_OK ? ST_OK : st_out_of_memory(errors);
    }
    st_trace_destroy(trace);
    return status;
}

st_status st_recorded_read(const char *path, st_arena *arena, st_recorded *recorded,
                           st_errors *errors)
{
    *recorded = (st_recorded){.file = path, .gpu = ""};
    st_status status = is_database(path) ? st_recorded_read_nsys(path, arena, recorded, errors)
                                         : read_trace(path, arena, recorded, errors);
    if (status == ST_OK && recorded->count == 0)
        status = st_fail(errors, ST_ERR_VALUE, (st_place){.file = path},
                         "the recording has no kernels" ST_EXPECTED "a step on a GPU");
    return status;
}
