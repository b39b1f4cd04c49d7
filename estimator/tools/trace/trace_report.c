/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of traces as a result; times are nanoseconds, as in the trace. */
#include "base/number.h"
#include "trace/link.h"
#include "trace/trace_replay.h"
#include "trace/view.h"
#include "trace/xalloc.h"

enum { TEXT = 48 };

void st_trace_report_make(const st_trace_set *set, size_t top, st_arena *arena,
                          st_trace_report *report, st_errors *errors)
{
    *report = (st_trace_report){.set = set, .top = top};
    report->ranks = st_xalloc(arena, set->count, sizeof *report->ranks);
    size_t idle = 0;
    for (size_t i = 0; i < set->count; i++) {
        st_trace_summarize(set->ranks[i], arena, &report->ranks[i]);
        idle += report->ranks[i].gpu_tasks == 0;
    }
    for (size_t i = 0; i < set->count && idle > 0; i++) {
        if (report->ranks[i].gpu_tasks == 0)
            (void)st_trace_no_work(set->ranks[i], ST_SEVERITY_WARNING, errors);
    }
}

/* ---- what reports of traces share ---- */

const char *st_ms_text(int64_t time_ns, char *text, size_t size)
{
    char number[TEXT];
    (void)snprintf(text, size, "%s ms",
                   st_number_print('f', 3, (double)time_ns / 1e6, number, sizeof number));
    return text;
}

void st_put_ns(st_node *node, const char *key, int64_t time_ns)
{
    st_put_number(node, key, (double)time_ns);
}

void st_put_ms(st_node *node, const char *key, int64_t time_ns)
{
    char text[TEXT];
    st_put_text(node, key, st_ms_text(time_ns, text, sizeof text));
}

void st_put_ms_known(st_node *node, const char *key, int64_t time_ns)
{
    if (time_ns < 0)
        st_put_text(node, key, "unknown");
    else
        st_put_ms(node, key, time_ns);
}

void st_put_ns_known(st_node *node, const char *key, int64_t time_ns)
{
    if (time_ns < 0)
        st_put_null(node, key);
    else
        st_put_ns(node, key, time_ns);
}

void st_put_share(st_node *node, const char *key, int64_t part_ns, int64_t whole_ns)
{
    char text[TEXT];
    double share = whole_ns > 0 ? 100 * (double)part_ns / (double)whole_ns : 0;
    st_put_format(node, key, "%s %%", st_number_print('f', 1, share, text, sizeof text));
}

void st_put_known(st_node *node, const char *key, int64_t value)
{
    if (value < 0)
        st_put_null(node, key);
    else
        st_put_count(node, key, (uint64_t)value);
}

void st_put_breakdown(st_node *node, const st_trace_breakdown *time)
{
    st_put_ns(node, "window_ns", time->window_ns);
    st_put_ns(node, "exposed_compute_ns", time->exposed_compute_ns);
    st_put_ns(node, "exposed_comm_ns", time->exposed_communication_ns);
    st_put_ns(node, "overlap_ns", time->overlapped_ns);
    st_put_ns(node, "idle_ns", time->idle_ns);
}

/* ---- data ---- */

static const char *name_of(const st_trace *trace, uint32_t name)
{
    return name != ST_TRACE_NONE ? trace->names[name] : NULL;
}

static void put_counts(st_node *node, const char *key, const st_trace_tally *tallies, size_t count)
{
    st_node *map = st_put_map(node, key);
    for (size_t i = 0; i < count; i++)
        st_put_count(map, tallies[i].name, tallies[i].count);
}

static st_node *put_tally(const st_trace_summary *rank, const st_trace_tally *tally, bool has_class,
                          st_node *list)
{
    st_node *node = st_put_line_map(list, NULL);
    st_put_text(node, "name", tally->name);
    if (has_class)
        st_put_text(node, "class", st_trace_class_name(tally->class_));
    st_put_count(node, "count", tally->count);
    st_put_ns(node, "total_ns", tally->total_ns);
    st_put_ms(node, ".time", tally->total_ns);
    st_put_share(node, ".share", tally->total_ns, rank->time.window_ns);
    st_put_format(node, ".count", "%llu x", (unsigned long long)tally->count);
    return node;
}

static st_node *put_step(const st_trace_step *step, st_node *list)
{
    const st_trace_breakdown *time = &step->time;
    char text[TEXT];
    st_node *node = st_put_line_map(list, NULL);
    st_put_text(node, "name", step->name);
    st_put_ns(node, "start_ns", step->start_ns);
    st_put_ns(node, "duration_ns", step->duration_ns);
    st_put_breakdown(node, time);
    st_put_ms(node, ".time", step->duration_ns);
    double busy = time->window_ns > 0
                      ? 100 * (double)(time->window_ns - time->idle_ns) / (double)time->window_ns
                      : 0;
    st_put_format(node, ".busy", "%s %% busy", st_number_print('f', 1, busy, text, sizeof text));
    return node;
}

/* ---- text ---- */

static void say_utilization(const st_trace_summary *rank, st_node *node)
{
    double sum = 0;
    double least = 1;
    double most = 0;
    char texts[3][TEXT];
    for (size_t i = 0; i < rank->period_count; i++) {
        double share = rank->utilization_frac[i];
        sum += share;
        least = share < least ? share : least;
        most = share > most ? share : most;
    }
    if (rank->period_count > 0)
        st_say(node, "  SM utilization over %lld ms: mean %s %%, least %s %%, most %s %%\n",
               (long long)(rank->period_ns / 1000000),
               st_number_print('f', 1, 100 * (sum / (double)rank->period_count), texts[0], TEXT),
               st_number_print('f', 1, 100 * least, texts[1], TEXT),
               st_number_print('f', 1, 100 * most, texts[2], TEXT));
}

/* The parts of the window, the window last. */
static void put_parts(const st_trace_summary *rank, st_table *table, st_node *node)
{
    const st_trace_breakdown *time = &rank->time;
    const struct {
        const char *what;
        int64_t time_ns;
    } parts[] = {{"exposed compute", time->exposed_compute_ns},
                 {"exposed communication", time->exposed_communication_ns},
                 {"overlapped", time->overlapped_ns},
                 {"idle", time->idle_ns},
                 {"window", time->window_ns}};
    st_node *list = st_put_list(node, ".parts");
    for (size_t i = 0; i < ST_COUNT(parts); i++) {
        st_node *part = st_put_map(list, NULL);
        st_put_text(part, "name", parts[i].what);
        st_put_ms(part, ".time", parts[i].time_ns);
        st_put_share(part, ".share", parts[i].time_ns, time->window_ns);
    }
    st_table_show(table, list, "name,.time,.share,");
}

static void put_line(st_node *list, const char *what, uint64_t count, int64_t time_ns)
{
    st_node *line = st_put_map(list, NULL);
    st_put_text(line, "what", what);
    if (count > 0)
        st_put_count(line, "count", count);
    st_put_ns(line, "time_ns", time_ns);
}

static void put_rank(const st_trace_report *report, const st_trace_summary *rank, st_node *node)
{
    static const st_table_column columns[] = {
        {.ink = ST_INK_NAME, .elastic = true}, {.right = true}, {.right = true}, {.right = true}};
    st_put_text(node, "file", rank->trace->file);
    st_put_known(node, "rank", rank->trace->rank);
    st_put_known(node, "world", rank->trace->world_size);
    st_put_text(node, "gpu", name_of(rank->trace, rank->trace->gpu));
    st_put_text(node, "toplevel", rank->trace->is_array ? "array" : "object");
    st_put_bool(node, "ts_float", rank->trace->has_decimals);
    st_put_known(node, "base_ns", rank->trace->base_ns);
    st_put_text(node, "unit", name_of(rank->trace, rank->trace->unit));
    st_put_bool(node, "partial", rank->trace->partial);
    st_put_count(node, "events", rank->trace->file_events);
    st_put_count(node, "X", rank->trace->complete_events);
    st_node *categories = st_put_map(node, "cats");
    for (size_t i = 0; i < rank->trace->category_count; i++)
        st_put_count(categories, rank->trace->names[rank->trace->categories[i].name],
                     rank->trace->categories[i].count);
    st_put_count(node, "gpu_tasks", rank->gpu_tasks);
    st_put_count(node, "streams", rank->streams);
    st_put_count(node, "launches_linked", rank->launches_linked);
    st_put_count(node, "without_launch", rank->unlaunched);
    st_put_count(node, "stream_overlaps", rank->overlaps);
    st_put_count(node, "eventrecord", rank->records);
    st_put_count(node, "waitevent", rank->waits);
    st_put_count(node, "wait_corr_ge0", rank->exact_waits);
    st_put_count(node, "comm_kernels", rank->collectives);
    st_put_count(node, "coll_meta_kernels", rank->described_collectives);
    put_counts(node, "sync", rank->sync_calls, rank->sync_call_count);
    put_counts(node, "cuda_sync", rank->sync_records, rank->sync_record_count);
    st_put_breakdown(node, &rank->time);
    st_put_ns(node, "hidden_by_copies_ns", rank->hidden_by_copies_ns);
    st_node *list = st_put_list(node, ".lines");
    put_line(list, "window", 0, rank->time.window_ns);
    put_line(list, "exposed compute", 0, rank->time.exposed_compute_ns);
    put_line(list, "exposed communication", 0, rank->time.exposed_communication_ns);
    put_line(list, "overlapped", 0, rank->time.overlapped_ns);
    put_line(list, "idle", 0, rank->time.idle_ns);
    for (int i = 0; i < ST_TRACE_CLASSES; i++)
        put_line(list, rank->classes[i].name, rank->classes[i].count, rank->classes[i].total_ns);
    for (size_t i = 0; i < rank->step_count; i++)
        put_line(list, rank->steps[i].name, 0, rank->steps[i].duration_ns);
    const st_trace *trace = rank->trace;
    st_say(node, "%s\n", trace->file);
    if (trace->rank >= 0 && trace->world_size >= 0)
        st_say(node, "  rank %lld of %lld", (long long)trace->rank, (long long)trace->world_size);
    else if (trace->rank >= 0)
        st_say(node, "  rank %lld", (long long)trace->rank);
    else
        st_say(node, "  rank unknown");
    if (trace->is_apart)
        st_say(node, ", device %lld", (long long)trace->device);
    st_say(node, ", %s; %llu events, %zu GPU tasks on %zu streams%s\n",
           trace->gpu != ST_TRACE_NONE ? trace->names[trace->gpu] : "GPU unknown",
           (unsigned long long)trace->file_events, rank->gpu_tasks, rank->streams,
           trace->partial ? "; read in part" : "");
    st_table *table = st_say_table(node, columns, 4, 2);
    put_parts(rank, table, node);
    st_table_title(table, "GPU tasks by class, time over all streams");
    st_node *classes = st_put_list(node, "classes");
    for (int i = 0; i < ST_TRACE_CLASSES; i++) {
        st_node *tally = put_tally(rank, &rank->classes[i], false, classes);
        if (rank->classes[i].count > 0)
            st_table_show(table, tally, "name,.time,.share,.count");
    }
    if (rank->step_count > 0)
        st_table_title(table, "Steps");
    st_node *steps = st_put_list(node, "steps");
    for (size_t i = 0; i < rank->step_count; i++)
        st_table_show(table, put_step(&rank->steps[i], steps), "name,.time,.busy,");
    if (rank->kernel_count > 0 && report->top > 0)
        st_table_title(table, "Longest kernels");
    st_node *kernels = st_put_list(node, "top_kernels");
    for (size_t i = 0; i < rank->kernel_count && i < report->top; i++)
        st_put_short(put_tally(rank, &rank->kernels[i], true, kernels), ".name",
                     rank->kernels[i].name, report->full_names);
    st_table_show(table, kernels, ".name,.time,.share,.count");
    st_put_ns(node, "period_ns", rank->period_ns);
    st_node *shares = st_put_line_list(node, "sm_utilization");
    for (size_t i = 0; i < rank->period_count; i++)
        st_put_number(shares, NULL, rank->utilization_frac[i]);
    st_say(node,
           "  launches %zu linked, %zu tasks without one; events %zu recorded, %zu waited for, %zu "
           "with ids; %zu tasks overlap on a stream\n",
           rank->launches_linked, rank->unlaunched, rank->records, rank->waits, rank->exact_waits,
           rank->overlaps);
    say_utilization(rank, node);
    char text[TEXT];
    if (rank->hidden_by_copies_ns > 0)
        st_say(
            node,
            "  copies and fills alone hide %s of communication; where kernels alone count, it is "
            "exposed\n",
            st_ms_text(rank->hidden_by_copies_ns, text, TEXT));
}

void st_trace_summary_result(const st_trace_report *report, st_arena *arena, st_result *result)
{
    st_node *root = st_result_begin(result, arena);
    st_node *ranks = st_put_list(root, "ranks");
    for (size_t i = 0; i < report->set->count; i++) {
        st_node *rank = st_put_map(ranks, NULL);
        if (i > 0)
            st_say(rank, "\n");
        put_rank(report, &report->ranks[i], rank);
    }
    st_result_csv(result, "ranks/.lines", "file,rank,what,count,time_ns");
}
