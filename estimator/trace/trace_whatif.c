/* SPDX-License-Identifier: Apache-2.0 */
/* What a change of a recorded step comes to. */
#include "base/number.h"
#include "trace/trace_replay.h"

enum { TEXT = 48 };

static void write_ranks(const st_trace_set *set, const st_trace_outcome *outcome, st_arena *arena,
                        st_buffer *buffer)
{
    st_paint paint = {0};
    st_table *table = st_trace_breakdown_table(arena);
    if (table == NULL) {
        buffer->failed = true;
        return;
    }
    for (size_t i = 0; i < set->count; i++) {
        char name[TEXT];
        long long number = (long long)set->ranks[i]->rank;
        (void)snprintf(name, sizeof name, "%lld", number < 0 ? (long long)i : number);
        st_trace_breakdown_row(table, name, "before", &outcome->before[i]);
        if (outcome->after != NULL)
            st_trace_breakdown_row(table, NULL, "after", &outcome->after[i]);
    }
    st_table_write(table, &paint, 2, buffer);
}

void st_trace_whatif_text(const st_trace_set *set, const st_trace_outcome *outcome, st_arena *arena,
                          st_buffer *buffer)
{
    char texts[3][TEXT];
    st_buffer_printf(buffer, "before  %s\nafter   %s  (%s)\n",
                     st_ms_text(outcome->before_ns, texts[0], TEXT),
                     st_ms_text(outcome->after_ns, texts[1], TEXT),
                     st_change_text(outcome->after_ns, outcome->before_ns, texts[2], TEXT));
    if (outcome->bubble_frac > 0)
        st_buffer_printf(buffer, "bubble  %s %% of the step\n",
                         st_number_print('f', 1, 100 * outcome->bubble_frac, texts[0], TEXT));
    if (outcome->layers > 0)
        st_buffer_printf(buffer, "layers  %u on a rank, by the repetition of its kernels\n",
                         outcome->layers);
    st_buffer_printf(buffer, "tasks   %zu changed\n", outcome->scaled);
    for (size_t i = 0; i < outcome->note_count; i++)
        st_buffer_printf(buffer, "assumed %s\n", outcome->notes[i]);
    st_buffer_text(buffer, "\n");
    write_ranks(set, outcome, arena, buffer);
}

static void write_breakdown(st_json *json, const char *key, const st_trace_breakdown *time)
{
    st_json_open_line(json, key, '{');
    st_trace_breakdown_json(json, time);
    st_json_close(json, '}');
}

void st_trace_whatif_json(const st_trace_set *set, const st_trace_outcome *outcome,
                          st_buffer *buffer)
{
    st_json json = {.buffer = buffer};
    st_json_open(&json, NULL, '{');
    st_json_count(&json, "schema_version", 1);
    st_json_text(&json, "steptime", STEPTIME_VERSION);
    st_json_number(&json, "before_ns", (double)outcome->before_ns);
    st_json_number(&json, "after_ns", (double)outcome->after_ns);
    st_json_number(&json, "bubble_frac", outcome->bubble_frac);
    st_json_count(&json, "layers", outcome->layers);
    st_json_count(&json, "tasks_changed", outcome->scaled);
    st_json_open(&json, "assumed", '[');
    for (size_t i = 0; i < outcome->note_count; i++)
        st_json_text(&json, NULL, outcome->notes[i]);
    st_json_close(&json, ']');
    st_json_open(&json, "ranks", '[');
    for (size_t i = 0; i < set->count; i++) {
        st_json_open(&json, NULL, '{');
        st_json_text(&json, "file", set->ranks[i]->file);
        write_breakdown(&json, "before", &outcome->before[i]);
        if (outcome->after != NULL)
            write_breakdown(&json, "after", &outcome->after[i]);
        else
            st_json_text(&json, "after", NULL);
        st_json_close(&json, '}');
    }
    st_json_close(&json, ']');
    st_json_close(&json, '}');
}

void st_trace_whatif_csv(const st_trace_set *set, const st_trace_outcome *outcome,
                         st_buffer *buffer)
{
    st_trace_breakdown_csv_head(buffer);
    for (size_t i = 0; i < set->count; i++) {
        st_trace_breakdown_csv(set->ranks[i], "before", &outcome->before[i], buffer);
        if (outcome->after != NULL)
            st_trace_breakdown_csv(set->ranks[i], "after", &outcome->after[i], buffer);
    }
    if (outcome->after == NULL) {
        st_trace schedule = {.file = "schedule", .rank = -1};
        st_trace_breakdown step = {.window_ns = outcome->after_ns};
        step.idle_ns = (int64_t)((double)outcome->after_ns * outcome->bubble_frac);
        step.exposed_compute_ns = step.window_ns - step.idle_ns;
        st_trace_breakdown_csv(&schedule, "after", &step, buffer);
    }
}
