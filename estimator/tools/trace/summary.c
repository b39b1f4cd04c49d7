/* SPDX-License-Identifier: Apache-2.0 */
/* What ran on one rank, added up. */
#include "trace/busy.h"
#include "trace/link.h"
#include "trace/trace_replay.h"
#include "trace/xalloc.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PERIODS = 1000000 };
static const int64_t PERIOD_NS = 1000000; /* Lumos, sec. 4.2.3 */

typedef struct summer {
    const st_trace *trace;
    st_trace_summary *summary;
    st_arena *arena;
    st_interval *intervals; /* of GPU tasks, by start */
    size_t interval_count;
    int64_t end_ns;
} summer;

ST_COMPARE(compare_tallies, st_trace_tally,
           ST_FALLING(total_ns) ST_FALLING(count) ST_BY_TEXT(name));

/* What is tallied by name. */
static bool is_kernel(const st_trace_event *event)
{
    return st_trace_is_gpu(event);
}

static bool is_sync_call(const st_trace_event *event)
{
    return event->kind == ST_TRACE_CALL && event->class_ >= ST_CALL_SYNC_STREAM &&
           event->class_ <= ST_CALL_SYNC_DEVICE;
}

static bool is_sync_record(const st_trace_event *event)
{
    return event->kind == ST_TRACE_SYNC;
}

static void tally(summer *s, bool (*wanted)(const st_trace_event *), st_trace_tally **tallies,
                  size_t *count)
{
    const st_trace *trace = s->trace;
    st_trace_tally *by_name = st_xcalloc((size_t)trace->name_count + 1, sizeof *by_name);
    size_t used = 0;
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        if (!wanted(event))
            continue;
        st_trace_tally *one = &by_name[event->name];
        used += one->count == 0;
        one->name = trace->names[event->name];
        one->class_ = event->class_;
        one->count++;
        one->total_ns = st_add_ns(one->total_ns, event->duration_ns);
    }
    *tallies = st_xalloc(s->arena, used + 1, sizeof **tallies);
    *count = 0;
    for (uint32_t i = 0; i < trace->name_count; i++)
        if (by_name[i].count > 0)
            (*tallies)[(*count)++] = by_name[i];
    free(by_name);
    qsort(*tallies, *count, sizeof **tallies, compare_tallies);
}

/* Different correlations with a call, and tasks without one. */
static void count_links(summer *s)
{
    st_links links;
    st_links_make(s->trace, ST_TRACE_CALL, &links);
    bool *seen = st_xcalloc(s->trace->event_count + 1, sizeof *seen);
    for (size_t i = 0; i < s->trace->event_count; i++) {
        const st_trace_event *event = &s->trace->events[i];
        if (!st_trace_is_gpu(event))
            continue;
        uint32_t call = st_links_call(&links, event);
        s->summary->unlaunched += call == ST_TRACE_NONE;
        s->summary->launches_linked += call != ST_TRACE_NONE && !seen[call];
        if (call != ST_TRACE_NONE)
            seen[call] = true;
    }
    st_links_free(&links);
    free(seen);
}

static void add_up(summer *s)
{
    st_trace_summary *summary = s->summary;
    for (int i = 0; i < ST_TRACE_CLASSES; i++) {
        summary->classes[i].class_ = (st_trace_class)i;
        summary->classes[i].name = st_trace_class_name((st_trace_class)i);
    }
    for (size_t i = 0; i < s->trace->event_count; i++) {
        const st_trace_event *event = &s->trace->events[i];
        if (!st_trace_is_gpu(event))
            continue;
        st_trace_tally *class_ = &summary->classes[event->class_];
        class_->count++;
        class_->total_ns = st_add_ns(class_->total_ns, event->duration_ns);
        summary->described_collectives += st_trace_described(s->trace, event) != NULL;
    }
    summary->collectives = (size_t)summary->classes[ST_TRACE_COMMUNICATION].count;
    const st_trace *trace = s->trace;
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        if (event->kind == ST_TRACE_CALL) {
            s->summary->records += event->class_ == ST_CALL_RECORD;
            s->summary->waits += event->class_ == ST_CALL_WAIT;
        }
    }
    for (size_t i = 0; i < trace->wait_count; i++)
        s->summary->exact_waits += trace->waits[i].record_correlation >= 0;
    tally(s, is_kernel, &summary->kernels, &summary->kernel_count);
    tally(s, is_sync_call, &summary->sync_calls, &summary->sync_call_count);
    tally(s, is_sync_record, &summary->sync_records, &summary->sync_record_count);
    /* Streams that ran something, and tasks that begin too early for a queue. */
    int64_t *reach = st_xalloc(s->arena, trace->track_count + 1, sizeof *reach);
    bool *used = st_xalloc(s->arena, trace->track_count + 1, sizeof *used);
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        if (!st_trace_is_gpu(event))
            continue;
        s->summary->streams += !used[event->track];
        s->summary->overlaps += used[event->track] && event->start_ns < reach[event->track];
        if (!used[event->track] || st_trace_end_ns(event) > reach[event->track])
            reach[event->track] = st_trace_end_ns(event);
        used[event->track] = true;
    }
    count_links(s);
    summary->steps =
        st_xalloc(s->arena, trace->kind_counts[ST_TRACE_STEP] + 1, sizeof *summary->steps);
    size_t over = 0; /* tasks that end before the step and all later ones begin */
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        if (event->kind != ST_TRACE_STEP)
            continue;
        while (over < s->interval_count && s->intervals[over].end_ns <= event->start_ns)
            over++;
        st_trace_step *step = &summary->steps[summary->step_count++];
        *step = (st_trace_step){.name = trace->names[event->name],
                                .start_ns = event->start_ns - summary->window_start_ns,
                                .duration_ns = event->duration_ns};
        st_busy_breakdown(s->intervals + over, s->interval_count - over, event->start_ns,
                          st_trace_end_ns(event), &step->time);
    }
}

void st_trace_device_time(const st_trace *trace, int64_t device, const st_trace_summary *whole,
                          st_trace_breakdown *time)
{
    size_t count = 0;
    st_interval *intervals = st_xmalloc((whole->gpu_tasks + 1) * sizeof *intervals);
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        if (st_trace_is_gpu(event) && trace->tracks[event->track].process == device)
            intervals[count++] = (st_interval){event->start_ns, st_trace_end_ns(event),
                                               event->class_ == ST_TRACE_COMMUNICATION};
    }
    st_busy_breakdown(intervals, count, whole->window_start_ns,
                      whole->window_start_ns + whole->time.window_ns, time);
    free(intervals);
}

void st_trace_summarize(const st_trace *trace, st_arena *arena, st_trace_summary *summary)
{
    *summary = (st_trace_summary){.trace = trace};
    summer s = {.trace = trace, .summary = summary, .arena = arena};
    /* First to last call or GPU task. */
    bool any = false;
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        if (!st_trace_is_gpu(event) && event->kind != ST_TRACE_CALL)
            continue;
        if (!any)
            summary->window_start_ns = event->start_ns;
        if (!any || st_trace_end_ns(event) > s.end_ns)
            s.end_ns = st_trace_end_ns(event);
        any = true;
    }
    if (trace->is_cut) {
        summary->window_start_ns = trace->cut_start_ns;
        s.end_ns = trace->cut_end_ns;
    }
    size_t count = trace->kind_counts[ST_TRACE_KERNEL] + trace->kind_counts[ST_TRACE_MEMCPY] +
                   trace->kind_counts[ST_TRACE_MEMSET];
    s.intervals = st_xalloc(s.arena, count + 1, sizeof *s.intervals);
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        if (st_trace_is_gpu(event))
            s.intervals[s.interval_count++] = (st_interval){
                event->start_ns, st_trace_end_ns(event), event->class_ == ST_TRACE_COMMUNICATION};
    }
    summary->gpu_tasks = s.interval_count;
    st_busy_breakdown(s.intervals, s.interval_count, summary->window_start_ns, s.end_ns,
                      &summary->time);
    /* The same where kernels alone hide communication. */
    size_t kept = 0;
    st_interval *kernels = st_xmalloc((s.interval_count + 1) * sizeof *kernels);
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        if (event->kind == ST_TRACE_KERNEL)
            kernels[kept++] = (st_interval){event->start_ns, st_trace_end_ns(event),
                                            event->class_ == ST_TRACE_COMMUNICATION};
    }
    st_trace_breakdown alone;
    st_busy_breakdown(kernels, kept, summary->window_start_ns, s.end_ns, &alone);
    free(kernels);
    summary->hidden_by_copies_ns = summary->time.overlapped_ns - alone.overlapped_ns;
    add_up(&s);
    int64_t window_ns = s.end_ns - summary->window_start_ns;
    summary->period_ns = PERIOD_NS;
    while (window_ns / summary->period_ns >= MOST_PERIODS)
        summary->period_ns *= 10;
    summary->period_count = (size_t)((window_ns + summary->period_ns - 1) / summary->period_ns);
    summary->utilization_frac =
        st_xalloc(s.arena, summary->period_count + 1, sizeof *summary->utilization_frac);
    st_busy_periods(s.intervals, s.interval_count, summary->window_start_ns, summary->period_ns,
                    summary->utilization_frac, summary->period_count);
    for (size_t i = 0; i < summary->period_count; i++) {
        int64_t left = window_ns - (int64_t)i * summary->period_ns;
        summary->utilization_frac[i] /=
            (double)(left < summary->period_ns ? left : summary->period_ns);
    }
}

st_status st_trace_no_work(const st_trace *trace, st_severity severity, st_errors *errors)
{
    enum { LISTED = 5 };
    const char *text = "";
    for (size_t i = 0; i < trace->category_count && i < LISTED; i++)
        text = st_errors_text(errors, "%s%s%.60s (%llu)", text, i > 0 ? ", " : "",
                              trace->names[trace->categories[i].name],
                              (unsigned long long)trace->categories[i].count);
    if (text[0] == '\0')
        text = st_errors_text(errors, "%llu events without a category",
                              (unsigned long long)trace->file_events);
    (void)st_report(errors, severity, ST_ERR_VALUE, (st_place){.file = trace->file},
                    "the trace has no GPU work" ST_FOUND "%s%s" ST_EXPECTED
                    "events of category kernel, gpu_memcpy or gpu_memset" ST_HINT
                    "record the GPU: ProfilerActivity.CUDA of torch.profiler, nsys --trace=cuda, "
                    "rocprofv3 --kernel-trace%s",
                    text, trace->category_count > LISTED ? ", ..." : "",
                    trace->category_count > 0 ? "" : "; of JAX and TensorFlow give HOST.xplane.pb");
    return ST_ERR_VALUE;
}

st_status st_trace_need_work(const st_trace_set *set, st_errors *errors)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < set->count; i++) {
        const size_t *kinds = set->ranks[i]->kind_counts;
        if (kinds[ST_TRACE_KERNEL] + kinds[ST_TRACE_MEMCPY] + kinds[ST_TRACE_MEMSET] == 0)
            status = st_trace_no_work(set->ranks[i], ST_SEVERITY_ERROR, errors);
    }
    return status;
}
