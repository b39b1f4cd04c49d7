/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of traces for programs. */
#include "base/csv_write.h"
#include "trace/trace_replay.h"

/* Times stay whole: a double holds those of a window exactly, not those since 1970. */
static void write_ns(st_json *json, const char *key, int64_t time_ns)
{
    st_json_number(json, key, (double)time_ns);
}

static void write_known(st_json *json, const char *key, int64_t value)
{
    if (value < 0)
        st_json_text(json, key, NULL);
    else
        st_json_count(json, key, (size_t)value);
}

static const char *name_of(const st_trace *trace, uint32_t name)
{
    return name != ST_TRACE_NONE ? trace->names[name] : NULL;
}

static void write_tallies(st_json *json, const char *key, const st_trace_tally *tallies,
                          size_t count, bool with_class)
{
    st_json_open(json, key, '[');
    for (size_t i = 0; i < count; i++) {
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "name", tallies[i].name);
        if (with_class)
            st_json_text(json, "class", st_trace_class_name(tallies[i].class_));
        st_json_count(json, "count", (size_t)tallies[i].count);
        write_ns(json, "total_ns", tallies[i].total_ns);
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
}

static void write_counts(st_json *json, const char *key, const st_trace_tally *tallies,
                         size_t count)
{
    st_json_open(json, key, '{');
    for (size_t i = 0; i < count; i++)
        st_json_count(json, tallies[i].name, (size_t)tallies[i].count);
    st_json_close(json, '}');
}

static void write_file(st_json *json, const st_trace *trace)
{
    st_json_text(json, "file", trace->file);
    write_known(json, "rank", trace->rank);
    write_known(json, "world", trace->world_size);
    st_json_text(json, "gpu", name_of(trace, trace->gpu));
    st_json_text(json, "toplevel", trace->is_array ? "array" : "object");
    st_json_bool(json, "ts_float", trace->has_decimals);
    write_known(json, "base_ns", trace->base_ns);
    st_json_text(json, "unit", name_of(trace, trace->unit));
    st_json_bool(json, "partial", trace->partial);
    st_json_count(json, "events", (size_t)trace->file_events);
    st_json_count(json, "X", (size_t)trace->complete_events);
    st_json_open(json, "cats", '{');
    for (size_t i = 0; i < trace->category_count; i++)
        st_json_count(json, trace->names[trace->categories[i].name],
                      (size_t)trace->categories[i].count);
    st_json_close(json, '}');
}

static void write_numbers(st_json *json, const st_trace_summary *rank)
{
    st_json_count(json, "gpu_tasks", rank->gpu_tasks);
    st_json_count(json, "streams", rank->streams);
    st_json_count(json, "launches_linked", rank->launches_linked);
    st_json_count(json, "without_launch", rank->unlaunched);
    st_json_count(json, "stream_overlaps", rank->overlaps);
    st_json_count(json, "eventrecord", rank->records);
    st_json_count(json, "waitevent", rank->waits);
    st_json_count(json, "wait_corr_ge0", rank->exact_waits);
    st_json_count(json, "comm_kernels", rank->collectives);
    st_json_count(json, "coll_meta_kernels", rank->described_collectives);
    write_counts(json, "sync", rank->sync_calls, rank->sync_call_count);
    write_counts(json, "cuda_sync", rank->sync_records, rank->sync_record_count);
}

static void write_steps(st_json *json, const st_trace_summary *rank)
{
    st_json_open(json, "steps", '[');
    for (size_t i = 0; i < rank->step_count; i++) {
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "name", rank->steps[i].name);
        write_ns(json, "start_ns", rank->steps[i].start_ns);
        write_ns(json, "duration_ns", rank->steps[i].duration_ns);
        st_trace_breakdown_json(json, &rank->steps[i].time);
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
}

static void write_rank(st_json *json, const st_trace_report *report, const st_trace_summary *rank)
{
    st_json_open(json, NULL, '{');
    write_file(json, rank->trace);
    write_numbers(json, rank);
    st_trace_breakdown_json(json, &rank->time);
    write_tallies(json, "classes", rank->classes, ST_TRACE_CLASSES, false);
    write_steps(json, rank);
    write_tallies(json, "top_kernels", rank->kernels,
                  rank->kernel_count < report->top ? rank->kernel_count : report->top, true);
    write_ns(json, "period_ns", rank->period_ns);
    st_json_open_line(json, "sm_utilization", '[');
    for (size_t i = 0; i < rank->period_count; i++)
        st_json_number(json, NULL, rank->utilization_frac[i]);
    st_json_close(json, ']');
    st_json_close(json, '}');
}

void st_trace_report_json(const st_trace_report *report, st_buffer *buffer)
{
    st_json json = {.buffer = buffer};
    st_json_open(&json, NULL, '{');
    st_json_count(&json, "schema_version", 1);
    st_json_text(&json, "steptime", STEPTIME_VERSION);
    st_json_open(&json, "ranks", '[');
    for (size_t i = 0; i < report->set->count; i++)
        write_rank(&json, report, &report->ranks[i]);
    st_json_close(&json, ']');
    st_json_close(&json, '}');
}

static void write_line(const st_trace_summary *rank, const char *what, uint64_t count,
                       int64_t time_ns, st_buffer *buffer)
{
    char texts[3][32];
    (void)snprintf(texts[0], sizeof texts[0], "%lld", (long long)rank->trace->rank);
    (void)snprintf(texts[1], sizeof texts[1], "%llu", (unsigned long long)count);
    (void)snprintf(texts[2], sizeof texts[2], "%lld", (long long)time_ns);
    const char *fields[] = {rank->trace->file, rank->trace->rank >= 0 ? texts[0] : NULL, what,
                            count > 0 ? texts[1] : NULL, texts[2]};
    st_csv_row(fields, 5, buffer);
}

void st_trace_report_csv(const st_trace_report *report, st_buffer *buffer)
{
    static const char *const head[] = {"file", "rank", "what", "count", "time_ns"};
    st_csv_row(head, 5, buffer);
    for (size_t i = 0; i < report->set->count; i++) {
        const st_trace_summary *rank = &report->ranks[i];
        write_line(rank, "window", 0, rank->time.window_ns, buffer);
        write_line(rank, "exposed compute", 0, rank->time.exposed_compute_ns, buffer);
        write_line(rank, "exposed communication", 0, rank->time.exposed_communication_ns, buffer);
        write_line(rank, "overlapped", 0, rank->time.overlapped_ns, buffer);
        write_line(rank, "idle", 0, rank->time.idle_ns, buffer);
        for (int k = 0; k < ST_TRACE_CLASSES; k++)
            write_line(rank, rank->classes[k].name, rank->classes[k].count,
                       rank->classes[k].total_ns, buffer);
        for (size_t k = 0; k < rank->step_count; k++)
            write_line(rank, rank->steps[k].name, 0, rank->steps[k].duration_ns, buffer);
    }
}
