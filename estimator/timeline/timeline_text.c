/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of a job as text, JSON and CSV. */
#include "base/number.h"
#include "base/csv_write.h"
#include "base/json_write.h"
#include "timeline/timeline.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_ROWS = 64 };

/* Differences below are rounding: the agreement that closed form and replay are held to. */
#define AGREEMENT 1e-9

static double seconds(int64_t ticks)
{
    return (double)ticks / ST_TICKS_PER_S;
}

static const char *time_text(double value_s, char *text)
{
    static const st_unit none = {.text = ""};
    st_unit unit = none;
    if (st_unit_parse("s", 1, (st_place){0}, &unit, NULL) != ST_OK) {
        return "";
    }
    return st_quantity_format(value_s, &unit, ST_STYLE_SCALED, text, ST_QUANTITY_TEXT);
}

static bool agrees(const st_timeline *timeline, double replayed_s, double closed_s)
{
    return fabs(replayed_s - closed_s) <= AGREEMENT * fabs(timeline->plan.closed_s);
}

/* "+2.31 %", "-", or "agrees". */
static const char *difference_text(const st_timeline *timeline, double replayed_s, double closed_s,
                                   char *text, size_t size)
{
    if (agrees(timeline, replayed_s, closed_s)) {
        return "agrees";
    }
    double percent = 100 * (replayed_s - closed_s) / timeline->plan.closed_s;
    long hundredths = lround(percent * 100);
    unsigned long all = (unsigned long)labs(hundredths);
    (void)snprintf(text, size, "%c%lu.%02lu %%", hundredths < 0 ? '-' : '+', all / 100, all % 100);
    return text;
}

/* --- text ---------------------------------------------------------------------------------------
 */

static void write_head(const st_timeline *timeline, st_buffer *buffer)
{
    const st_timeline_plan *plan = &timeline->plan;
    const st_schedule_shape *shape = &plan->schedule.shape;
    const st_schedule_groups *groups = &plan->schedule.groups;
    unsigned long pipelines = (unsigned long)groups->tp * groups->cp * groups->dp;
    char text[ST_QUANTITY_TEXT];
    st_buffer_printf(buffer, "job        %s\nsheet      %s\nschedule   %s, %lu stage%s", plan->job,
                     plan->sheet, st_timeline_schedule(plan), (unsigned long)shape->stages,
                     shape->stages == 1 ? "" : "s");
    if (shape->chunks > 1) {
        st_buffer_printf(buffer, " of %lu chunks", (unsigned long)shape->chunks);
    }
    st_buffer_printf(buffer, ", %lu micro-batch%s\n", (unsigned long)shape->micros,
                     shape->micros == 1 ? "" : "es");
    st_buffer_printf(buffer, "ranks      %zu%s", timeline->row_count,
                     plan->schedule.every_rank ? "" : ", one of each stage");
    if (!plan->schedule.every_rank && pipelines > 1) {
        st_buffer_printf(buffer, ", each stands for %lu", pipelines);
    }
    st_buffer_printf(buffer, "\ntasks      %zu\n\nstep time  %s\n",
                     st_graph_task_count(timeline->graph),
                     time_text(seconds(timeline->step), text));
    st_buffer_printf(buffer, "bubble     %s %% of the pipeline's time\n\n",
                     st_number_print('f', 2, 100 * timeline->bubble, text, sizeof(text)));
}

static void write_rows(const st_timeline *timeline, st_arena *arena, st_buffer *buffer)
{
    static const st_table_column columns[] = {
        {.right = true}, {.right = true}, {.right = true}, {.right = true},
        {.right = true}, {.right = true}, {.right = true}, {.right = true},
    };
    static const char *const names[] = {
        "rank",    "stage", "exposed compute", "exposed communication", "overlapped",
        "waiting", "idle",  "price of hiding"};
    static const st_paint paint = {0};
    st_table *table = st_table_create(arena, columns, 8);
    size_t shown = timeline->row_count > MOST_ROWS ? MOST_ROWS : timeline->row_count;
    if (table == NULL) {
        buffer->failed = true;
        return;
    }
    st_table_row(table, names);
    for (size_t i = 0; i < shown; i++) {
        const st_timeline_row *row = &timeline->rows[i];
        const int64_t parts[] = {row->time.exposed_compute_ns,
                                 row->time.exposed_communication_ns,
                                 row->time.overlapped_ns,
                                 row->time.waiting_ns,
                                 row->time.idle_ns,
                                 row->price};
        char texts[8][ST_QUANTITY_TEXT];
        const char *fields[8];
        (void)snprintf(texts[0], ST_QUANTITY_TEXT, "%lu", (unsigned long)row->rank);
        (void)snprintf(texts[1], ST_QUANTITY_TEXT, "%lu", (unsigned long)row->stage);
        for (int j = 0; j < 6; j++) {
            (void)time_text(seconds(parts[j]), texts[j + 2]);
        }
        for (int j = 0; j < 8; j++) {
            fields[j] = texts[j];
        }
        st_table_row(table, fields);
    }
    st_buffer_text(buffer, "Where the time goes\n");
    st_table_write(table, &paint, 2, buffer);
    if (shown < timeline->row_count) {
        st_buffer_printf(buffer, "  ... and %zu ranks more (--csv shows all)\n",
                         timeline->row_count - shown);
    }
}

static void write_categories(const st_timeline *timeline, st_arena *arena, st_buffer *buffer)
{
    static const st_table_column columns[] = {
        {0}, {.right = true}, {.right = true}, {.right = true}, {.right = true}};
    static const char *const names[] = {"", "tasks", "all ranks", "critical path", "of the step"};
    static const st_paint paint = {0};
    st_table *table = st_table_create(arena, columns, 5);
    if (table == NULL) {
        buffer->failed = true;
        return;
    }
    st_table_row(table, names);
    for (size_t i = 0; i < timeline->category_count; i++) {
        const st_timeline_category *category = &timeline->categories[i];
        char texts[4][ST_QUANTITY_TEXT];
        if (category->count == 0) {
            continue;
        }
        (void)snprintf(texts[0], ST_QUANTITY_TEXT, "%llu", (unsigned long long)category->count);
        (void)time_text(seconds(category->time), texts[1]);
        (void)time_text(seconds(category->path), texts[2]);
        double percent =
            timeline->end > 0 ? 100 * (double)category->path / (double)timeline->end : 0;
        char share[ST_QUANTITY_TEXT - 2];
        (void)snprintf(texts[3], ST_QUANTITY_TEXT, "%s %%",
                       st_number_print('f', 2, percent, share, sizeof(share)));
        st_table_row(table,
                     (const char *const[]){category->name, texts[0], texts[1], texts[2], texts[3]});
    }
    st_buffer_printf(buffer, "\nWhat it is made of; the critical path has %zu tasks\n",
                     timeline->path_count);
    st_table_write(table, &paint, 2, buffer);
}

/* Exposed, hidden and the price: what hides is not free, and must not look it. */
static void write_hiding(const st_timeline *timeline, st_arena *arena, st_buffer *buffer)
{
    static const st_table_column columns[] = {
        {0}, {.right = true}, {.right = true}, {.right = true}};
    static const st_paint paint = {0};
    const st_timeline_plan *plan = &timeline->plan;
    st_table *table = st_table_create(arena, columns, 4);
    char texts[3][ST_QUANTITY_TEXT];
    if (table == NULL) {
        buffer->failed = true;
        return;
    }
    st_table_row(table, (const char *const[]){"", "closed form", "replay", "of the step"});
    for (int i = 0; i < ST_HIDINGS; i++) {
        double own = timeline->hiding_s[i];
        st_table_row(table, (const char *const[]){st_hiding_name((st_hiding)i),
                                                  time_text(plan->hiding_s[i], texts[0]),
                                                  time_text(own, texts[1]),
                                                  difference_text(timeline, own, plan->hiding_s[i],
                                                                  texts[2], ST_QUANTITY_TEXT)});
    }
    st_buffer_text(buffer, "\nCommunication of the slowest stage\n");
    st_table_write(table, &paint, 2, buffer);
    for (int i = 0; i < ST_HIDINGS; i++) {
        if (!agrees(timeline, timeline->hiding_s[i], plan->hiding_s[i])) {
            st_buffer_printf(buffer, "  %s: %s\n", st_hiding_name((st_hiding)i),
                             st_hiding_reason((st_hiding)i));
        }
    }
}

static void write_terms(const st_timeline *timeline, st_arena *arena, st_buffer *buffer)
{
    static const st_table_column columns[] = {
        {0}, {.right = true}, {.right = true}, {.right = true}};
    static const st_paint paint = {0};
    const st_timeline_plan *plan = &timeline->plan;
    st_table *table = st_table_create(arena, columns, 4);
    char texts[3][ST_QUANTITY_TEXT];
    double replayed = seconds(timeline->step);
    if (table == NULL) {
        buffer->failed = true;
        return;
    }
    st_table_row(table, (const char *const[]){"", "closed form", "replay", "of the step"});
    for (int i = 0; i < ST_TERMS; i++) {
        double own = seconds(timeline->term[i]);
        if (own != 0 || plan->term_s[i] != 0) {
            st_table_row(table, (const char *const[]){
                                    st_term_name((st_term)i), time_text(plan->term_s[i], texts[0]),
                                    time_text(own, texts[1]),
                                    difference_text(timeline, own, plan->term_s[i], texts[2],
                                                    ST_QUANTITY_TEXT)});
        }
    }
    st_table_row(table, (const char *const[]){plan->step_cell, time_text(plan->closed_s, texts[0]),
                                              time_text(replayed, texts[1]),
                                              difference_text(timeline, replayed, plan->closed_s,
                                                              texts[2], ST_QUANTITY_TEXT)});
    st_buffer_printf(buffer, "\nBeside the closed form of %s\n", plan->sheet);
    st_table_write(table, &paint, 2, buffer);
    if (!plan->closed_same_schedule) {
        st_buffer_printf(buffer, "  The sheet does not model %s: its own schedule stands there.\n",
                         st_timeline_schedule(plan));
    }
    for (int i = 0; i < ST_TERMS; i++) {
        if (!agrees(timeline, seconds(timeline->term[i]), plan->term_s[i])) {
            st_buffer_printf(buffer, "  %s: %s\n", st_term_name((st_term)i),
                             st_term_reason((st_term)i));
        }
    }
    write_hiding(timeline, arena, buffer);
}

void st_timeline_write_text(const st_timeline *timeline, st_arena *arena, st_buffer *buffer)
{
    write_head(timeline, buffer);
    write_rows(timeline, arena, buffer);
    write_categories(timeline, arena, buffer);
    write_terms(timeline, arena, buffer);
}

/* --- JSON and CSV -------------------------------------------------------------------------------
 */

static void write_row_json(const st_timeline_row *row, st_json *json)
{
    st_json_open_line(json, NULL, '{');
    st_json_count(json, "rank", row->rank);
    st_json_count(json, "stage", row->stage);
    st_json_number(json, "exposed_compute_s", seconds(row->time.exposed_compute_ns));
    st_json_number(json, "exposed_communication_s", seconds(row->time.exposed_communication_ns));
    st_json_number(json, "overlapped_s", seconds(row->time.overlapped_ns));
    st_json_number(json, "waiting_s", seconds(row->time.waiting_ns));
    st_json_number(json, "idle_s", seconds(row->time.idle_ns));
    st_json_number(json, "first_s", seconds(row->first));
    st_json_number(json, "last_s", seconds(row->last));
    st_json_number(json, "price_s", seconds(row->price));
    st_json_close(json, '}');
}

static void write_terms_json(const st_timeline *timeline, st_json *json)
{
    st_json_open(json, "terms", '[');
    for (int i = 0; i < ST_TERMS; i++) {
        double own = seconds(timeline->term[i]);
        bool same = agrees(timeline, own, timeline->plan.term_s[i]);
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "name", st_term_name((st_term)i));
        st_json_number(json, "closed_form_s", timeline->plan.term_s[i]);
        st_json_number(json, "replay_s", own);
        st_json_bool(json, "agrees", same);
        st_json_text(json, "why", same ? NULL : st_term_reason((st_term)i));
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
    st_json_open(json, "communication", '[');
    for (int i = 0; i < ST_HIDINGS; i++) {
        double own = timeline->hiding_s[i];
        bool same = agrees(timeline, own, timeline->plan.hiding_s[i]);
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "name", st_hiding_name((st_hiding)i));
        st_json_number(json, "closed_form_s", timeline->plan.hiding_s[i]);
        st_json_number(json, "replay_s", own);
        st_json_bool(json, "agrees", same);
        st_json_text(json, "why", same ? NULL : st_hiding_reason((st_hiding)i));
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
}

static void write_path_json(const st_timeline *timeline, st_json *json)
{
    st_json_open(json, "critical_path", '[');
    for (size_t i = 0; i < timeline->path_count; i++) {
        const st_path_step *step = &timeline->path[i];
        st_task_view view = st_graph_task(timeline->graph, step->task);
        st_task_time time = st_replay_task(timeline->replay, step->task);
        st_json_open_line(json, NULL, '{');
        st_json_count(json, "rank", view.rank);
        st_json_text(json, "task", view.name);
        st_json_text(json, "category", view.category_name);
        st_json_text(json, "edge", i == 0 ? NULL : st_edge_kind_name(step->edge));
        st_json_number(json, "start_s", seconds(time.start_ns));
        st_json_number(json, "time_s", seconds(step->time_ns));
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
}

void st_timeline_write_json(const st_timeline *timeline, st_buffer *buffer)
{
    const st_timeline_plan *plan = &timeline->plan;
    const st_schedule_shape *shape = &plan->schedule.shape;
    st_json json = {.buffer = buffer};
    st_json_open(&json, NULL, '{');
    st_json_count(&json, "schema_version", ST_SCHEMA_VERSION);
    st_json_text(&json, "job", plan->job);
    st_json_text(&json, "sheet", plan->sheet);
    st_json_text(&json, "schedule", st_timeline_schedule(plan));
    st_json_count(&json, "stages", shape->stages);
    st_json_count(&json, "micro_batches", shape->micros);
    st_json_count(&json, "chunks", shape->chunks);
    st_json_bool(&json, "every_rank", plan->schedule.every_rank);
    st_json_count(&json, "tasks", st_graph_task_count(timeline->graph));
    st_json_number(&json, "step_time_s", seconds(timeline->step));
    st_json_number(&json, "closed_form_s", plan->closed_s);
    st_json_bool(&json, "closed_form_same_schedule", plan->closed_same_schedule);
    st_json_number(&json, "difference",
                   plan->closed_s > 0 ? seconds(timeline->step) / plan->closed_s - 1 : 0);
    st_json_number(&json, "bubble", timeline->bubble);
    write_terms_json(timeline, &json);
    st_json_open(&json, "categories", '[');
    for (size_t i = 0; i < timeline->category_count; i++) {
        const st_timeline_category *category = &timeline->categories[i];
        if (category->count > 0) {
            st_json_open_line(&json, NULL, '{');
            st_json_text(&json, "name", category->name);
            st_json_count(&json, "tasks", (size_t)category->count);
            st_json_number(&json, "all_ranks_s", seconds(category->time));
            st_json_number(&json, "critical_path_s", seconds(category->path));
            st_json_close(&json, '}');
        }
    }
    st_json_close(&json, ']');
    write_path_json(timeline, &json);
    st_json_open(&json, "ranks", '[');
    for (size_t i = 0; i < timeline->row_count; i++) {
        write_row_json(&timeline->rows[i], &json);
    }
    st_json_close(&json, ']');
    st_json_close(&json, '}');
}

void st_timeline_write_terms(const st_timeline *timeline, st_arena *arena, st_buffer *buffer)
{
    const st_timeline_plan *plan = &timeline->plan;
    st_buffer_printf(buffer, "job        %s\nschedule   %s\n", plan->job,
                     st_timeline_schedule(plan));
    write_terms(timeline, arena, buffer);
}

void st_timeline_write_terms_json(const st_timeline *timeline, st_buffer *buffer)
{
    st_json json = {.buffer = buffer};
    st_json_open(&json, NULL, '{');
    st_json_count(&json, "schema_version", ST_SCHEMA_VERSION);
    st_json_text(&json, "job", timeline->plan.job);
    st_json_text(&json, "sheet", timeline->plan.sheet);
    st_json_text(&json, "schedule", st_timeline_schedule(&timeline->plan));
    st_json_number(&json, "step_time_s", seconds(timeline->step));
    st_json_number(&json, "closed_form_s", timeline->plan.closed_s);
    write_terms_json(timeline, &json);
    st_json_close(&json, '}');
}

void st_timeline_write_terms_csv(const st_timeline *timeline, st_buffer *buffer)
{
    st_buffer_text(buffer, "term,closed_form_s,replay_s,agrees,why\n");
    for (int i = 0; i <= ST_TERMS; i++) {
        double own = seconds(i < ST_TERMS ? timeline->term[i] : timeline->step);
        double closed = i < ST_TERMS ? timeline->plan.term_s[i] : timeline->plan.closed_s;
        bool same = agrees(timeline, own, closed);
        char texts[2][ST_QUANTITY_TEXT];
        const char *const fields[] = {
            i < ST_TERMS ? st_term_name((st_term)i) : timeline->plan.step_cell,
            st_number_format(closed, texts[0], ST_QUANTITY_TEXT),
            st_number_format(own, texts[1], ST_QUANTITY_TEXT), same ? "true" : "false",
            same || i == ST_TERMS ? NULL : st_term_reason((st_term)i)};
        st_csv_row(fields, 5, buffer);
    }
    for (int i = 0; i < ST_HIDINGS; i++) {
        char texts[2][ST_QUANTITY_TEXT];
        double own = timeline->hiding_s[i];
        double closed = timeline->plan.hiding_s[i];
        bool same = agrees(timeline, own, closed);
        const char *const fields[] = {
            st_hiding_name((st_hiding)i), st_number_format(closed, texts[0], ST_QUANTITY_TEXT),
            st_number_format(own, texts[1], ST_QUANTITY_TEXT), same ? "true" : "false",
            same ? NULL : st_hiding_reason((st_hiding)i)};
        st_csv_row(fields, 5, buffer);
    }
}

void st_timeline_write_csv(const st_timeline *timeline, st_buffer *buffer)
{
    st_buffer_text(buffer, "rank,stage,exposed_compute_s,exposed_communication_s,overlapped_s,"
                           "waiting_s,idle_s,first_s,last_s,price_s\n");
    for (size_t i = 0; i < timeline->row_count; i++) {
        const st_timeline_row *row = &timeline->rows[i];
        const int64_t times[] = {row->time.exposed_compute_ns,
                                 row->time.exposed_communication_ns,
                                 row->time.overlapped_ns,
                                 row->time.waiting_ns,
                                 row->time.idle_ns,
                                 row->first,
                                 row->last,
                                 row->price};
        st_buffer_printf(buffer, "%lu,%lu", (unsigned long)row->rank, (unsigned long)row->stage);
        for (size_t j = 0; j < sizeof(times) / sizeof(times[0]); j++) {
            char text[ST_QUANTITY_TEXT];
            st_buffer_printf(buffer, ",%s",
                             st_number_format(seconds(times[j]), text, sizeof(text)));
        }
        st_buffer_text(buffer, "\n");
    }
}
