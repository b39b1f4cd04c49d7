/* SPDX-License-Identifier: Apache-2.0 */
/* What a change of a recorded step comes to. */
#include "base/lists.h"
#include "base/number.h"
#include "trace/link.h"
#include "trace/trace_replay.h"
#include "trace/view.h"
#include "trace/xalloc.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT = 48 };

/* Steps before and after, each a row in the columns of breakdowns. */
static void put_steps(const st_trace_rank *rank, size_t index, const st_trace_outcome *outcome,
                      st_node *node, st_node *rows)
{
    st_node *steps = st_put_list(node, "steps");
    for (size_t i = 0; i < rank->step_count; i++) {
        int64_t before_ns = outcome->steps_before_ns[index][i];
        int64_t after_ns = outcome->after != NULL ? outcome->steps_after_ns[index][i] : before_ns;
        st_node *step = st_put_line_map(steps, NULL);
        st_put_text(step, "name", rank->steps[i].name);
        st_put_ns(step, "before_ns", before_ns);
        if (outcome->after == NULL) {
            st_put_null(step, "after_ns");
            continue;
        }
        char text[TEXT];
        st_put_ns(step, "after_ns", after_ns);
        st_node *row = st_put_map(rows, NULL);
        st_put_text(row, "which", rank->steps[i].name);
        st_put_ms(row, ".window", before_ns);
        st_put_text(row, ".compute", "after");
        st_put_ms(row, ".communication", after_ns);
        st_put_format(row, ".overlapped", "%s", st_change_text(after_ns, before_ns, text, TEXT));
    }
}

/* Devices of a rank (an index of `ranks`) that has several, each with rows in the columns of
 * breakdowns. */
static void put_lanes(size_t ranks, size_t rank, const st_trace_outcome *outcome, st_node *node,
                      st_node *rows)
{
    st_node *lanes = NULL;
    for (size_t k = 0; k < outcome->lane_count; k++) {
        if (outcome->lanes[k].rank != rank)
            continue;
        char which[TEXT];
        size_t at = ranks + k;
        int64_t device = outcome->lanes[k].device;
        lanes = lanes != NULL ? lanes : st_put_list(node, "devices");
        st_node *lane = st_put_line_map(lanes, NULL);
        st_put_number(lane, "device", (double)device);
        st_put_breakdown(st_put_line_map(lane, "before"), &outcome->before[at]);
        (void)snprintf(which, sizeof which, "GPU %lld before", (long long)device);
        (void)st_put_breakdown_row(rows, which, &outcome->before[at]);
        if (outcome->after == NULL)
            continue;
        st_put_breakdown(st_put_line_map(lane, "after"), &outcome->after[at]);
        (void)snprintf(which, sizeof which, "GPU %lld after", (long long)device);
        (void)st_put_breakdown_row(rows, which, &outcome->after[at]);
    }
}

/* What a change comes to, in lines. */
static void say_outcome(const st_trace_outcome *outcome, st_node *root)
{
    char texts[3][TEXT];
    if (outcome->step_before_ns > 0)
        st_say(root, "step    %s, now %s  (%s), to the end of its work; below, the window\n",
               st_ms_text(outcome->step_before_ns, texts[0], TEXT),
               st_ms_text(outcome->step_after_ns, texts[1], TEXT),
               st_change_text(outcome->step_after_ns, outcome->step_before_ns, texts[2], TEXT));
    st_say(root, "before  %s\nafter   %s  (%s)\n", st_ms_text(outcome->before_ns, texts[0], TEXT),
           st_ms_text(outcome->after_ns, texts[1], TEXT),
           st_change_text(outcome->after_ns, outcome->before_ns, texts[2], TEXT));
    if (outcome->band_ns[1] > 0) {
        st_put_ns(root, "band_low_ns", outcome->band_ns[0]);
        st_put_ns(root, "band_high_ns", outcome->band_ns[1]);
        st_say(root, "band    %s to %s in nine of ten programs\n",
               st_ms_text(outcome->band_ns[0], texts[0], TEXT),
               st_ms_text(outcome->band_ns[1], texts[1], TEXT));
    }
    if (outcome->after_waiting_ns != outcome->after_ns)
        st_say(root, "or      %s  (%s), as other ranks are not recorded\n",
               st_ms_text(outcome->after_waiting_ns, texts[0], TEXT),
               st_change_text(outcome->after_waiting_ns, outcome->before_ns, texts[1], TEXT));
    if (outcome->bubble_frac > 0)
        st_say(root, "bubble  %s %% of the step\n",
               st_number_print('f', 1, 100 * outcome->bubble_frac, texts[0], TEXT));
    if (outcome->layers > 0 && outcome->stages > 1 &&
        outcome->job_layers != (double)outcome->layers * outcome->stages)
        st_say(
            root,
            "layers  %.0f of the job, not as many on each of %u stages, by the repetition of its "
            "kernels and its messages\n",
            outcome->job_layers, outcome->stages);
    else if (outcome->layers > 0 && outcome->stages > 1)
        st_say(root,
               "layers  %u of the job: %u on each of %u stages, by the repetition of its kernels, "
               "%.0f %% of the time of those that compute, and its messages\n",
               outcome->layers * outcome->stages, outcome->layers, outcome->stages,
               100 * outcome->layers_frac);
    else if (outcome->layers > 0)
        st_say(
            root,
            "layers  %u on a rank, by the repetition of its kernels, %.0f %% of the time of those "
            "that compute\n",
            outcome->layers, 100 * outcome->layers_frac);
    st_say(root, "tasks   %zu changed\n", outcome->scaled);
    if (outcome->added > 0)
        st_say(root, "copies  %zu tasks of further layers or micro-batches\n", outcome->added);
}

void st_trace_whatif_result(const st_trace_graph *graph, const st_trace_outcome *outcome,
                            st_arena *arena, st_result *result)
{
    st_node *root = st_result_begin(result, arena);
    st_put_ns(root, "before_ns", outcome->before_ns);
    st_put_ns(root, "after_ns", outcome->after_ns);
    st_put_ns(root, "after_least_ns",
              outcome->after != NULL ? outcome->after_least_ns : outcome->after_ns);
    st_put_ns_known(root, "step_before_ns",
                    outcome->step_before_ns > 0 ? outcome->step_before_ns : -1);
    st_put_ns_known(root, "step_after_ns",
                    outcome->step_before_ns > 0 ? outcome->step_after_ns : -1);
    st_put_ns(root, "after_waiting_ns", outcome->after_waiting_ns);
    st_put_number(root, "bubble_frac", outcome->bubble_frac);
    st_put_count(root, "layers", outcome->layers);
    st_put_count(root, "stages", outcome->stages);
    st_put_count(root, "tasks_changed", outcome->scaled);
    st_put_count(root, "tasks_added", outcome->added);
    st_put_count(root, "kernels_fused", outcome->fused);
    st_put_count(root, "kernels_inserted", outcome->inserted);
    st_node *notes = st_put_list(root, "assumed");
    for (size_t i = 0; i < outcome->note_count; i++)
        st_put_text(notes, NULL, outcome->notes[i]);
    say_outcome(outcome, root);
    for (size_t i = 0; i < outcome->note_count; i++)
        st_say(root, "assumed %s\n", outcome->notes[i]);
    st_say(root, "\n");
    st_table *table = st_trace_breakdown_table(root);
    st_node *ranks = st_put_list(root, "ranks");
    for (size_t i = 0; i < graph->set->count; i++) {
        const st_trace_rank *rank = &graph->ranks[i];
        st_node *node = st_put_map(ranks, NULL);
        const st_trace *trace = rank->trace;
        st_put_text(node, "file", trace->file);
        st_put_known(node, ".rank", trace->rank);
        st_put_breakdown(st_put_line_map(node, "before"), &outcome->before[i]);
        if (outcome->after != NULL)
            st_put_breakdown(st_put_line_map(node, "after"), &outcome->after[i]);
        else
            st_put_null(node, "after");
        st_node *rows = st_put_list(node, ".rows");
        st_node *first = st_put_breakdown_row(rows, "before", &outcome->before[i]);
        st_put_format(first, ".name", "%lld",
                      trace->rank < 0 ? (long long)i : (long long)trace->rank);
        if (outcome->after != NULL)
            (void)st_put_breakdown_row(rows, "after", &outcome->after[i]);
        put_lanes(graph->set->count, i, outcome, node, rows);
        st_node *steps = st_put_list(node, ".steps");
        put_steps(rank, i, outcome, node, steps);
        st_trace_show_breakdowns(table, rows);
        st_trace_show_breakdowns(table, steps);
    }
    st_result_csv(result, "ranks/.rows", "file,.rank=rank," ST_BREAKDOWN_COLUMNS);
    if (outcome->after != NULL)
        return;
    /* A schedule that was laid out anew has no ranks. */
    st_trace_breakdown step = {.window_ns = outcome->after_ns};
    step.idle_ns = (int64_t)((double)outcome->after_ns * outcome->bubble_frac);
    step.exposed_compute_ns = step.window_ns - step.idle_ns;
    st_node *row = st_put_breakdown_row(st_put_list(root, ".schedule"), "after", &step);
    st_put_text(row, "file", "schedule");
    st_result_csv(result, ".schedule", "file,.rank," ST_BREAKDOWN_COLUMNS);
}

typedef struct ranker {
    const st_trace_set *set;
    st_arena *arena;
    st_errors *errors;
    st_trace_ranking *made;
} ranker;

ST_COMPARE(compare_names, st_trace_tally, ST_BY_TEXT(name));

ST_COMPARE(compare_times, st_trace_tally, ST_FALLING(total_ns) ST_BY_TEXT(name));

ST_COMPARE(compare_gains, st_trace_gain, ST_FALLING(saved_ns) ST_BY_TEXT(what));

static void add(ranker *k, const char *what, const char *change, int64_t time_ns)
{
    ST_XAPPEND(k->arena, k->made->gains, k->made->count,
               (st_trace_gain){.what = what, .change = change, .time_ns = time_ns});
}

/* Kernels of all ranks by name; communication counts as a class alone, as ranks wait in it. */
static void tally_kernels(ranker *k, st_trace_tally **kernels, size_t *count, int64_t *classes_ns)
{
    size_t listed = 0;
    for (size_t r = 0; r < k->set->count; r++) {
        st_trace_summary summary;
        st_trace_summarize(k->set->ranks[r], k->arena, &summary);
        for (size_t i = 0; i < ST_TRACE_CLASSES; i++)
            classes_ns[i] = st_add_ns(classes_ns[i], summary.classes[i].total_ns);
        for (size_t i = 0; i < summary.kernel_count; i++)
            ST_XAPPEND(k->arena, *kernels, listed, summary.kernels[i]);
    }
    if (listed > 0)
        qsort(*kernels, listed, sizeof **kernels, compare_names);
    for (size_t i = 0; i < listed; i++) {
        st_trace_tally *last = *count > 0 ? &(*kernels)[*count - 1] : NULL;
        if (last != NULL && strcmp(last->name, (*kernels)[i].name) == 0)
            last->total_ns = st_add_ns(last->total_ns, (*kernels)[i].total_ns);
        else
            (*kernels)[(*count)++] = (*kernels)[i];
    }
}

static void list_candidates(ranker *k, size_t top)
{
    st_trace_tally *kernels = NULL;
    size_t count = 0;
    int64_t classes_ns[ST_TRACE_CLASSES] = {0};
    double speed = k->made->speed;
    tally_kernels(k, &kernels, &count, classes_ns);
    for (int i = 0; i < ST_TRACE_CLASSES; i++) {
        const char *name = st_trace_class_name((st_trace_class)i);
        const char *change = i == ST_TRACE_COMMUNICATION
                                 ? st_xprintf(k->arena, "bandwidth=%g", speed)
                                 : st_xprintf(k->arena, "speed.%s=%g", name, speed);
        if (classes_ns[i] > 0)
            add(k, name, change, classes_ns[i]);
    }
    add(k, "host", st_xprintf(k->arena, "speed.host=%g", speed), 0);
    add(k, "launch", st_xprintf(k->arena, "speed.launch=%g", speed), 0);
    if (count > 0)
        qsort(kernels, count, sizeof *kernels, compare_times);
    for (size_t i = 0, taken = 0; i < count && taken < top; i++) {
        /* A kernel's name as a pattern that only it has. */
        const char *name = kernels[i].name;
        char *pattern = st_xalloc(k->arena, 2 * strlen(name) + 1, 1);
        size_t length = 0;
        for (size_t j = 0; name[j] != '\0'; j++) {
            if (strchr("*?[\\", name[j]) != NULL)
                pattern[length++] = '\\';
            pattern[length++] = name[j];
        }
        if (kernels[i].class_ == ST_TRACE_COMMUNICATION || pattern == NULL)
            continue;
        add(k, kernels[i].name, st_xprintf(k->arena, "speed.kernel:%s=%g", pattern, speed),
            kernels[i].total_ns);
        taken++;
    }
}

st_status st_trace_rank_gains(const st_trace_set *set, double speed, size_t top, st_arena *arena,
                              st_trace_ranking *ranking, st_errors *errors)
{
    *ranking = (st_trace_ranking){.speed = speed};
    ranker k = {.set = set, .arena = arena, .errors = errors, .made = ranking};
    list_candidates(&k, top);
    st_status status = ST_OK;
    for (size_t i = 0; i < ranking->count && status == ST_OK; i++) {
        st_trace_gain *gain = &ranking->gains[i];
        st_trace_graph *graph = NULL;
        st_trace_outcome outcome;
        st_arena *one_arena = st_xarena();
        st_trace_change change = {.sets = &gain->change, .set_count = 1, .skips_layers = true};
        status = st_trace_graph_make(k.set, &graph, k.errors);
        if (status == ST_OK)
            status = st_trace_whatif(graph, &change, one_arena, &outcome, k.errors);
        if (status == ST_OK) {
            k.made->before_ns = outcome.before_ns;
            gain->after_ns = outcome.after_ns;
            gain->saved_ns = outcome.before_ns - outcome.after_ns;
        }
        st_trace_graph_destroy(graph);
        st_arena_destroy(one_arena);
    }
    if (status == ST_OK && ranking->count > 0)
        qsort(ranking->gains, ranking->count, sizeof *ranking->gains, compare_gains);
    return status;
}

void st_trace_ranking_result(const st_trace_ranking *ranking, st_arena *arena, st_result *result)
{
    char text[TEXT];
    st_node *root = st_result_begin(result, arena);
    st_put_number(root, "speed", ranking->speed);
    st_put_ns(root, "before_ns", ranking->before_ns);
    st_say(root, "%s as recorded; window with each part %s times as fast\n\n",
           st_ms_text(ranking->before_ns, text, TEXT),
           st_number_print('g', 4, ranking->speed, (char[TEXT]){0}, TEXT));
    st_table *table = st_say_columns(root, "*faster|>its time|>after|>change");
    st_node *rows = st_put_list(root, "gains");
    for (size_t i = 0; i < ranking->count; i++) {
        const st_trace_gain *gain = &ranking->gains[i];
        st_node *row = st_put_line_map(rows, NULL);
        st_put_text(row, "what", gain->what);
        st_put_text(row, "change", gain->change);
        st_put_ns(row, "time_ns", gain->time_ns);
        st_put_ns(row, "after_ns", gain->after_ns);
        st_put_ns(row, "saved_ns", gain->saved_ns);
        st_put_short(row, ".what", gain->what, false);
        if (gain->time_ns > 0)
            st_put_ms(row, ".time", gain->time_ns);
        st_put_ms(row, ".after", gain->after_ns);
        st_put_format(row, ".saved", "%s",
                      st_change_text(gain->after_ns, ranking->before_ns, text, TEXT));
    }
    st_table_show(table, rows, ".what,.time,.after,.saved");
    st_result_csv(result, "gains", "what,change,time_ns,after_ns,saved_ns");
}
