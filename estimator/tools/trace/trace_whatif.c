/* SPDX-License-Identifier: Apache-2.0 */
/* What a change of a recorded step comes to. */
#include "base/number.h"
#include "trace/trace_replay.h"

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

void st_trace_whatif_result(const st_trace_graph *graph, const st_trace_outcome *outcome,
                            st_arena *arena, st_result *result)
{
    st_node *root = st_result_begin(result, arena);
    st_put_ns(root, "before_ns", outcome->before_ns);
    st_put_ns(root, "after_ns", outcome->after_ns);
    st_put_ns(root, "after_least_ns",
              outcome->after != NULL ? outcome->after_least_ns : outcome->after_ns);
    st_put_number(root, "bubble_frac", outcome->bubble_frac);
    st_put_count(root, "layers", outcome->layers);
    st_put_count(root, "tasks_changed", outcome->scaled);
    st_put_count(root, "tasks_added", outcome->added);
    st_put_count(root, "kernels_fused", outcome->fused);
    st_put_count(root, "kernels_inserted", outcome->inserted);
    st_node *notes = st_put_list(root, "assumed");
    for (size_t i = 0; i < outcome->note_count; i++)
        st_put_text(notes, NULL, outcome->notes[i]);
    char texts[3][TEXT];
    st_say(root, "before  %s\nafter   %s  (%s)\n", st_ms_text(outcome->before_ns, texts[0], TEXT),
           st_ms_text(outcome->after_ns, texts[1], TEXT),
           st_change_text(outcome->after_ns, outcome->before_ns, texts[2], TEXT));
    if (outcome->bubble_frac > 0)
        st_say(root, "bubble  %s %% of the step\n",
               st_number_print('f', 1, 100 * outcome->bubble_frac, texts[0], TEXT));
    if (outcome->layers > 0)
        st_say(root, "layers  %u on a rank, by the repetition of its kernels\n", outcome->layers);
    st_say(root, "tasks   %zu changed\n", outcome->scaled);
    if (outcome->added > 0)
        st_say(root, "copies  %zu tasks of further layers or micro-batches\n", outcome->added);
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
