/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of traces for people. */
#include "trace/reports.h"

#include "base/number.h"

enum { TEXT = 48, LONGEST_NAME = 64 };

st_status st_trace_report_make(const st_trace_set *set, size_t top, st_arena *arena,
                               st_trace_report *report, st_errors *errors)
{
    *report = (st_trace_report){.set = set, .top = top};
    report->ranks = st_arena_alloc(arena, set->count, sizeof *report->ranks);
    if (report->ranks == NULL)
        return ST_ERR_MEMORY;
    st_status status = ST_OK;
    size_t idle = 0;
    for (size_t i = 0; i < set->count && status == ST_OK; i++) {
        status = st_trace_summarize(set->ranks[i], arena, &report->ranks[i], errors);
        idle += status == ST_OK && report->ranks[i].gpu_tasks == 0;
    }
    for (size_t i = 0; i < set->count && status == ST_OK && idle > 0; i++) {
        if (report->ranks[i].gpu_tasks == 0)
            st_report(errors, ST_SEVERITY_WARNING, ST_ERR_VALUE,
                      (st_place){.file = set->ranks[i]->file}, "the trace has no GPU work");
    }
    return status;
}

const char *st_ms_text(int64_t time_ns, char *text, size_t size)
{
    char number[TEXT];
    (void)snprintf(text, size, "%s ms",
                   st_number_print('f', 3, (double)time_ns / 1e6, number, sizeof number));
    return text;
}

const char *st_share_text(int64_t part_ns, int64_t whole_ns, char *text, size_t size)
{
    char number[TEXT];
    double share = whole_ns > 0 ? 100 * (double)part_ns / (double)whole_ns : 0;
    (void)snprintf(text, size, "%s %%", st_number_print('f', 1, share, number, sizeof number));
    return text;
}

static void add_time(st_table *table, const char *what, int64_t part_ns, int64_t whole_ns)
{
    char ms[TEXT];
    char share[TEXT];
    const char *fields[] = {what, st_ms_text(part_ns, ms, sizeof ms),
                            st_share_text(part_ns, whole_ns, share, sizeof share), NULL};
    st_table_row(table, fields);
}

static void add_breakdown(st_table *table, const st_trace_breakdown *time)
{
    add_time(table, "exposed compute", time->exposed_compute_ns, time->window_ns);
    add_time(table, "exposed communication", time->exposed_communication_ns, time->window_ns);
    add_time(table, "overlapped", time->overlapped_ns, time->window_ns);
    add_time(table, "idle", time->idle_ns, time->window_ns);
    add_time(table, "window", time->window_ns, time->window_ns);
}

static void add_tally(st_table *table, const char *name, const st_trace_tally *tally,
                      int64_t window_ns)
{
    char ms[TEXT];
    char share[TEXT];
    char count[TEXT];
    (void)snprintf(count, sizeof count, "%llu x", (unsigned long long)tally->count);
    const char *fields[] = {name, st_ms_text(tally->total_ns, ms, sizeof ms),
                            st_share_text(tally->total_ns, window_ns, share, sizeof share), count};
    st_table_row(table, fields);
}

static void add_kernels(st_table *table, const st_trace_summary *rank, size_t top)
{
    for (size_t i = 0; i < rank->kernel_count && i < top; i++) {
        char name[LONGEST_NAME + 1];
        (void)snprintf(name, sizeof name, "%s", rank->kernels[i].name);
        add_tally(table, name, &rank->kernels[i], rank->time.window_ns);
    }
}

static void add_steps(st_table *table, const st_trace_summary *rank)
{
    for (size_t i = 0; i < rank->step_count; i++) {
        const st_trace_step *step = &rank->steps[i];
        char ms[TEXT];
        char compute[TEXT];
        char text[2 * TEXT];
        const st_trace_breakdown *time = &step->time;
        (void)snprintf(text, sizeof text, "%s busy",
                       st_share_text(time->window_ns - time->idle_ns, time->window_ns, compute,
                                     sizeof compute));
        const char *fields[] = {step->name, st_ms_text(step->duration_ns, ms, sizeof ms), text,
                                NULL};
        st_table_row(table, fields);
    }
}

static double mean_utilization(const st_trace_summary *rank, double *least, double *most)
{
    double sum = 0;
    *least = 1;
    *most = 0;
    for (size_t i = 0; i < rank->period_count; i++) {
        double share = rank->utilization_frac[i];
        sum += share;
        *least = share < *least ? share : *least;
        *most = share > *most ? share : *most;
    }
    return rank->period_count > 0 ? sum / (double)rank->period_count : 0;
}

static void write_head(const st_trace_summary *rank, st_buffer *buffer)
{
    const st_trace *trace = rank->trace;
    st_buffer_printf(buffer, "%s\n", trace->file);
    if (trace->rank >= 0 && trace->world_size >= 0)
        st_buffer_printf(buffer, "  rank %lld of %lld", (long long)trace->rank,
                         (long long)trace->world_size);
    else if (trace->rank >= 0)
        st_buffer_printf(buffer, "  rank %lld", (long long)trace->rank);
    else
        st_buffer_text(buffer, "  rank unknown");
    st_buffer_printf(buffer, ", %s; %llu events, %zu GPU tasks on %zu streams%s\n",
                     trace->gpu != ST_TRACE_NONE ? trace->names[trace->gpu] : "GPU unknown",
                     (unsigned long long)trace->file_events, rank->gpu_tasks, rank->streams,
                     trace->partial ? "; read in part" : "");
}

static void write_tail(const st_trace_summary *rank, st_buffer *buffer)
{
    double least = 0;
    double most = 0;
    double mean = mean_utilization(rank, &least, &most);
    char texts[3][TEXT];
    st_buffer_printf(
        buffer,
        "  launches %zu linked, %zu tasks without one; events %zu recorded, %zu waited "
        "for, %zu with ids; %zu tasks overlap on a stream\n",
        rank->launches_linked, rank->unlaunched, rank->records, rank->waits, rank->exact_waits,
        rank->overlaps);
    if (rank->period_count > 0)
        st_buffer_printf(buffer,
                         "  SM utilization over %lld ms: mean %s %%, least %s %%, most %s %%\n",
                         (long long)(rank->period_ns / 1000000),
                         st_number_print('f', 1, 100 * mean, texts[0], TEXT),
                         st_number_print('f', 1, 100 * least, texts[1], TEXT),
                         st_number_print('f', 1, 100 * most, texts[2], TEXT));
}

static void write_rank(const st_trace_report *report, const st_trace_summary *rank, st_arena *arena,
                       st_buffer *buffer)
{
    static const st_table_column columns[] = {
        {.ink = ST_INK_NAME, .elastic = true}, {.right = true}, {.right = true}, {.right = true}};
    st_paint paint = {0};
    st_table *table = st_table_create(arena, columns, 4);
    if (table == NULL) {
        buffer->failed = true;
        return;
    }
    write_head(rank, buffer);
    add_breakdown(table, &rank->time);
    st_table_title(table, "GPU tasks by class, time over all streams");
    for (int i = 0; i < ST_TRACE_CLASSES; i++) {
        if (rank->classes[i].count > 0)
            add_tally(table, rank->classes[i].name, &rank->classes[i], rank->time.window_ns);
    }
    if (rank->step_count > 0)
        st_table_title(table, "Steps");
    add_steps(table, rank);
    if (rank->kernel_count > 0 && report->top > 0)
        st_table_title(table, "Longest kernels");
    add_kernels(table, rank, report->top);
    st_table_write(table, &paint, 2, buffer);
    write_tail(rank, buffer);
}

void st_trace_report_text(const st_trace_report *report, st_arena *arena, st_buffer *buffer)
{
    for (size_t i = 0; i < report->set->count; i++) {
        st_buffer_text(buffer, i > 0 ? "\n" : "");
        write_rank(report, &report->ranks[i], arena, buffer);
    }
}
