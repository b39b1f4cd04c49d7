/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See whatif_edit.h. Tasks of a graph stay what they are: the first of two kernels that become one
 * lasts as long as both and the second no time, without its launch; a kernel with a further one
 * behind it lasts as long as both and what is between them.
 */
#include "trace/whatif_edit.h"

#include "steptime/quantity.h"
#include "trace/depend.h"
#include "trace/xalloc.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

/* --- options ---------------------------------------------------------------------------------- */

/* The last `sign` without a backslash before it; *count is how many there are. */
static const char *find_sign(const char *text, const char *end, char sign, size_t *count)
{
    const char *found = NULL;
    *count = 0;
    for (const char *at = text; at < end; at++) {
        if (*at == '\\' && at + 1 < end) {
            at++;
        } else if (*at == sign) {
            found = at;
            (*count)++;
        }
    }
    return found;
}

static st_status parse_time(const char *option, const char *text, double *time_ns,
                            st_errors *errors)
{
    st_unit second;
    double time_s = 0;
    st_place place = {.file = option};
    st_status status = st_unit_parse("s", 1, place, &second, errors);
    if (status == ST_OK)
        status = st_quantity_parse(text, strlen(text), &second, place, &time_s, errors);
    if (st_xstatus(status) != ST_OK)
        return ST_ERR_USAGE;
    if (!(time_s > 0) || time_s > 1e6)
        return st_fail(errors, ST_ERR_USAGE, place,
                       "a kernel cannot take this time" ST_FOUND "'%s'" ST_EXPECTED
                       "more than 0 and at most 1e6 s",
                       text);
    *time_ns = 1e9 * time_s;
    return ST_OK;
}

static st_status add_edit(st_whatif_values *values, const st_whatif_edit_rule *edit,
                          const char *option, st_errors *errors)
{
    if (values->edit_count == ST_WHATIF_PATTERNS)
        return st_fail(errors, ST_ERR_USAGE, (st_place){.file = option},
                       "too many patterns" ST_EXPECTED "at most %d of --fuse and --insert",
                       ST_WHATIF_PATTERNS);
    values->edits[values->edit_count++] = *edit;
    return ST_OK;
}

static st_status parse_fuse(const char *text, st_arena *arena, st_whatif_values *values,
                            st_errors *errors)
{
    static const char option[] = "--fuse";
    size_t signs = 0;
    size_t commas = 0;
    double time_ns = 0;
    const char *equals = find_sign(text, text + strlen(text), '=', &signs);
    const char *end = equals != NULL ? equals : text + strlen(text);
    const char *comma = find_sign(text, end, ',', &commas);
    st_status status = ST_OK;
    if (commas != 1 || comma == text || comma + 1 == end)
        return st_fail(errors, ST_ERR_USAGE, (st_place){.file = option},
                       "not two patterns" ST_FOUND "'%s'" ST_EXPECTED "A,B or A,B=385us; commas "
                       "and equals signs of names are written \\, and \\=",
                       text);
    if (equals != NULL)
        status = parse_time(option, equals + 1, &time_ns, errors);
    const char *first = st_xcopy(arena, text, (size_t)(comma - text));
    const char *second = st_xcopy(arena, comma + 1, (size_t)(end - comma - 1));
    return status == ST_OK
               ? add_edit(values, &(st_whatif_edit_rule){first, second, time_ns, 0}, option, errors)
               : status;
}

static st_status parse_insert(const char *text, st_arena *arena, st_whatif_values *values,
                              st_errors *errors)
{
    static const char option[] = "--insert";
    size_t signs = 0;
    double time_ns = 0;
    const char *equals = find_sign(text, text + strlen(text), '=', &signs);
    if (equals == NULL || equals == text)
        return st_fail(errors, ST_ERR_USAGE, (st_place){.file = option},
                       "%s" ST_FOUND "'%s'" ST_EXPECTED "PATTERN=238.5us",
                       equals == NULL ? "no time" : "an empty pattern", text);
    st_status status = parse_time(option, equals + 1, &time_ns, errors);
    const char *pattern = st_xcopy(arena, text, (size_t)(equals - text));
    return status == ST_OK
               ? add_edit(values, &(st_whatif_edit_rule){pattern, NULL, time_ns, 0}, option, errors)
               : status;
}

st_status st_whatif_edits_parse(const st_trace_change *change, st_arena *arena,
                                st_whatif_values *values, st_errors *errors)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < change->fused_count; i++)
        st_note(&status, parse_fuse(change->fused[i], arena, values, errors));
    for (size_t i = 0; i < change->inserted_count; i++)
        st_note(&status, parse_insert(change->inserted[i], arena, values, errors));
    return status;
}

/* --- GPU tasks -------------------------------------------------------------------------------- */

typedef struct editor {
    st_whatif *w;
    const st_trace *trace;
    const st_trace_rank *rank;
    const double *factors;
    st_whatif_launches *launches;
    st_order order;
    bool *waits; /* by event: for a task of another stream */
    bool *done;  /* by event: part of a pair */
} editor;

static int64_t duration_ns(const editor *e, uint32_t event)
{
    return st_graph_task(e->w->graph->graph, e->rank->tasks[event]).duration_ns;
}

static void set_duration(const editor *e, uint32_t event, double new_ns)
{
    e->w->outcome->scaled++;
    st_whatif_set_time(e->w, e->rank->tasks[event], new_ns);
}

/* Kernels that compute; those of collectives end where ranks meet. */
static bool matches(const editor *e, uint32_t event, const char *pattern)
{
    const st_trace_event *one = &e->trace->events[event];
    return one->kind == ST_TRACE_KERNEL && one->class_ != ST_TRACE_COMMUNICATION &&
           e->rank->tasks[event] != ST_TASK_NONE &&
           fnmatch(pattern, e->trace->names[one->name], 0) == 0;
}

static void fuse(editor *e, st_whatif_edit_rule *rule)
{
    const st_lists *streams = &e->order.by_start;
    for (size_t track = 0; track < e->trace->track_count; track++)
        for (uint32_t i = streams->starts[track]; i + 1 < streams->starts[track + 1]; i++) {
            uint32_t first = streams->items[i];
            uint32_t second = streams->items[i + 1];
            if (e->done[first] || e->done[second] || !matches(e, first, rule->pattern) ||
                !matches(e, second, rule->second))
                continue;
            if (e->waits[second]) {
                e->w->apart++;
            } else {
                double sum_ns = (double)duration_ns(e, first) + (double)duration_ns(e, second);
                double given_ns = rule->time_ns * e->factors[first];
                st_task_id delay = st_whatif_delay_of(e->w, e->rank->tasks[second]);
                set_duration(e, first, rule->time_ns > 0 ? given_ns : sum_ns);
                set_duration(e, second, 0);
                if (delay != ST_TASK_NONE)
                    st_whatif_set_ns(e->w, delay, 0);
                e->launches->gone[second] = true;
                e->done[first] = e->done[second] = true;
                rule->count++;
            }
        }
}

/* How long after a task the next one of its stream could begin that is launched right behind it. */
static double pause_ns(const editor *e, uint32_t event)
{
    const st_trace_event *task = &e->trace->events[event];
    uint32_t call = e->order.call_of[event];
    double gap_ns = (double)e->rank->queue_gap_ns;
    if (call == ST_TRACE_NONE)
        return gap_ns;
    const st_trace_event *launch = &e->trace->events[call];
    double calls_ns = (1.0 + e->launches->further[event]) * (double)launch->duration_ns;
    double end_ns = (double)(task->start_ns - launch->start_ns - e->rank->gpu_late_ns) +
                    (double)duration_ns(e, event);
    return fmax(gap_ns, calls_ns + (double)e->rank->launch_lag_ns - end_ns);
}

void st_whatif_edit(st_whatif *w, size_t rank, const double *factors, st_whatif_launches *launches)
{
    const st_trace *trace = w->graph->set->ranks[rank];
    size_t events = trace->event_count + 1;
    editor e = {.w = w,
                .trace = trace,
                .rank = &w->graph->ranks[rank],
                .factors = factors,
                .launches = launches,
                .waits = st_xalloc(w->arena, events, sizeof *e.waits),
                .done = st_xalloc(w->arena, events, sizeof *e.done)};
    *launches = (st_whatif_launches){st_xalloc(w->arena, events, sizeof *launches->gone),
                                     st_xalloc(w->arena, events, sizeof *launches->further)};
    if (w->values.edit_count == 0 || w->status != ST_OK)
        return;
    st_order_make(trace, w->arena, &e.order);
    /* Which kernels wait for other streams. */
    st_dependencies found;
    st_depend_find(&e.order, e.w->arena, &found);
    for (size_t i = 0; i < found.count; i++)
        if (found.items[i].kind == ST_DEPEND_STREAM)
            e.waits[found.items[i].after] = true;
    for (size_t i = 0; i < w->values.edit_count && w->status == ST_OK; i++) {
        st_whatif_edit_rule *rule = &w->values.edits[i];
        if (rule->second != NULL) {
            fuse(&e, rule);
        } else {
            for (uint32_t j = 0; j < e.trace->event_count; j++) {
                if (!matches(&e, j, rule->pattern))
                    continue;
                double time_ns = rule->time_ns * e.factors[j];
                set_duration(&e, j, (double)duration_ns(&e, j) + pause_ns(&e, j) + time_ns);
                e.w->unlaunched += e.order.call_of[j] == ST_TRACE_NONE;
                e.launches->further[j]++;
                rule->count++;
            }
        }
    }
    st_order_free(&e.order);
}

/* --- what was changed ------------------------------------------------------------------------- */

void st_whatif_note_edits(st_whatif *w)
{
    for (size_t i = 0; i < w->values.edit_count; i++) {
        const st_whatif_edit_rule *rule = &w->values.edits[i];
        if (rule->count == 0 && rule->second != NULL)
            st_whatif_refuse(w,
                             "no kernel called '%s' is directly followed on its stream by one "
                             "called '%s'%s" ST_HINT "--fuse joins kernels that compute, in the "
                             "order in which they run; * matches any text",
                             rule->pattern, rule->second,
                             w->apart > 0 ? " without waiting for another stream" : "");
        else if (rule->count == 0)
            st_whatif_refuse(w,
                             "no kernel that computes is called '%s'" ST_HINT
                             "'steptime trace summary --top 20' lists kernels; * matches any text",
                             rule->pattern);
        else if (rule->second == NULL)
            st_whatif_note(w, "%zu kernels of %.3f us are launched right behind '%s'", rule->count,
                           rule->time_ns / 1e3, rule->pattern);
        else if (rule->time_ns > 0)
            st_whatif_note(w, "%zu times '%s' and '%s' are one kernel of %.3f us", rule->count,
                           rule->pattern, rule->second, rule->time_ns / 1e3);
        else
            st_whatif_note(w, "%zu times '%s' and '%s' are one kernel that takes as long as both",
                           rule->count, rule->pattern, rule->second);
        *(rule->second == NULL ? &w->outcome->inserted : &w->outcome->fused) += rule->count;
    }
    if (w->apart > 0)
        st_whatif_note(w,
                       "%zu pairs of --fuse stay two kernels: the second one waits for "
                       "another stream",
                       w->apart);
    if (w->unlaunched > 0)
        st_whatif_note(w,
                       "%zu kernels of --insert have no launch: that of the one before "
                       "them is not recorded",
                       w->unlaunched);
}
