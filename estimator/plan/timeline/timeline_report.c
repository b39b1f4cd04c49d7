/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of a job as a result. */
#include "base/number.h"
#include "base/text.h"
#include "timeline/timeline.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_ROWS = 64 };

/* Differences below are rounding: the agreement that closed form and replay are held to. */
#define AGREEMENT 1e-9

/* ---- rows ---- */

static void fill_rank(const void *context, size_t index, st_node *node)
{
    const st_timeline_row *row = &((const st_timeline *)context)->rows[index];
    st_put_count(node, "rank", row->rank);
    st_put_count(node, "stage", row->stage);
    st_put_seconds(node, "exposed_compute_s", st_ticks_s(row->time.exposed_compute_ns));
    st_put_seconds(node, "exposed_communication_s", st_ticks_s(row->time.exposed_communication_ns));
    st_put_seconds(node, "overlapped_s", st_ticks_s(row->time.overlapped_ns));
    st_put_seconds(node, "waiting_s", st_ticks_s(row->time.waiting_ns));
    st_put_seconds(node, "idle_s", st_ticks_s(row->time.idle_ns));
    st_put_seconds(node, "first_s", st_ticks_s(row->first));
    st_put_seconds(node, "last_s", st_ticks_s(row->last));
    st_put_seconds(node, "slowdown_s", st_ticks_s(row->slowdown));
}

static void fill_category(const void *context, size_t index, st_node *node)
{
    const st_timeline *timeline = context;
    const st_timeline_category *category = &timeline->categories[index];
    if (category->count == 0)
        return;
    st_put_text(node, "name", category->name);
    st_put_count(node, "tasks", category->count);
    st_put_seconds(node, "all_ranks_s", st_ticks_s(category->time));
    st_put_seconds(node, "critical_path_s", st_ticks_s(category->path));
    st_put_number(node, ".share",
                  timeline->end > 0 ? (double)category->path / (double)timeline->end : 0);
}

static void fill_step(const void *context, size_t index, st_node *node)
{
    const st_timeline *timeline = context;
    const st_path_step *step = &timeline->path[index];
    st_task_view view = st_graph_task(timeline->graph, step->task);
    st_task_time time = st_replay_task(timeline->replay, step->task);
    st_put_count(node, "rank", view.rank);
    st_put_text(node, "task", view.name);
    st_put_text(node, "category", view.category_name);
    st_put_text(node, "edge", index == 0 ? NULL : st_edge_kind_name(step->edge));
    st_put_seconds(node, "start_s", st_ticks_s(time.start_ns));
    st_put_seconds(node, "time_s", st_ticks_s(step->time_ns));
}

/* ---- closed form and replay ---- */

/* A time by both, and what keeps them apart. */
static const st_node *put_pair(const st_timeline *timeline, st_node *list, const char *name,
                               double closed_s, double replayed_s, const char *reason)
{
    bool same = fabs(replayed_s - closed_s) <= AGREEMENT * fabs(timeline->plan.closed_s);
    st_node *row = st_put_line_map(list, NULL);
    st_put_text(row, "name", name);
    st_put_seconds(row, "closed_form_s", closed_s);
    st_put_seconds(row, "replay_s", replayed_s);
    st_put_bool(row, "agrees", same);
    st_put_text(row, "why", same ? NULL : reason);
    if (same) {
        st_put_text(row, ".difference", "agrees");
        return row;
    }
    long hundredths = lround(100 * (replayed_s - closed_s) / timeline->plan.closed_s * 100);
    unsigned long all = (unsigned long)labs(hundredths);
    st_put_format(row, ".difference", "%c%lu.%02lu %%", hundredths < 0 ? '-' : '+', all / 100,
                  all % 100);
    return row;
}

static st_table *say_pairs(st_node *root)
{
    st_table *table = st_say_columns(root, "|>closed form|>replay|>of the step");
    return table;
}

static const char *const pair_keys = "name,closed_form_s,replay_s,.difference";

static void say_reasons(st_node *root, const st_node *list)
{
    st_row_walk walk = st_rows_begin(list);
    for (const st_node *row = st_rows_next(&walk); row != NULL; row = st_rows_next(&walk)) {
        const st_item *why = st_node_find(row, "why", 3);
        if (why->kind == ST_ITEM_TEXT)
            st_say(root, "  %s: %s\n", st_node_find(row, "name", 4)->text, why->text);
    }
    st_rows_end(&walk);
}

/* Lists for programs; people read them in st_say_terms, behind other things. */
typedef struct term_lists {
    st_node *terms;
    st_node *step; /* the sum of the terms, beside the step's time */
    st_node *communication;
} term_lists;

static term_lists put_terms(const st_timeline *timeline, st_node *root)
{
    const st_timeline_plan *plan = &timeline->plan;
    term_lists lists = {.terms = st_put_list(root, "terms"),
                        .step = st_put_list(root, ".step"),
                        .communication = st_put_list(root, "communication")};
    for (int i = 0; i < ST_TERMS; i++)
        (void)put_pair(timeline, lists.terms, st_term_name((st_term)i), plan->term_s[i],
                       st_ticks_s(timeline->term[i]), st_term_reason((st_term)i));
    (void)put_pair(timeline, lists.step, plan->step_cell, plan->closed_s,
                   st_ticks_s(timeline->step), NULL);
    for (int i = 0; i < ST_HIDINGS; i++)
        (void)put_pair(timeline, lists.communication, st_hiding_name((st_hiding)i),
                       plan->hiding_s[i], timeline->hiding_s[i], st_hiding_reason((st_hiding)i));
    return lists;
}

/* Terms that neither has are left out. Hidden communication slows computation down, and must not
 * look free. */
static void say_terms(const st_timeline *timeline, const term_lists *lists, st_node *root)
{
    const st_timeline_plan *plan = &timeline->plan;
    st_say(root, "\nBeside the closed form of %s\n", plan->sheet);
    st_table *table = say_pairs(root);
    st_row_walk walk = st_rows_begin(lists->terms);
    for (int i = 0; i < ST_TERMS; i++) {
        const st_node *row = st_rows_next(&walk);
        if (row != NULL && (timeline->term[i] != 0 || plan->term_s[i] != 0))
            st_table_show(table, row, pair_keys);
    }
    st_rows_end(&walk);
    st_table_show(table, lists->step, pair_keys);
    if (plan->own_stages != NULL)
        st_say(root,
               "  The sheet does not model stages that differ: its own stages stand there.\n");
    else if (!plan->closed_same_schedule)
        st_say(root, "  The sheet does not model %s: its own schedule stands there.\n",
               st_timeline_schedule(plan));
    say_reasons(root, lists->terms);
    st_say(root, "\nCommunication of the slowest stage\n");
    st_table_show(say_pairs(root), lists->communication, pair_keys);
    say_reasons(root, lists->communication);
}

/* ---- the whole ---- */

static void say_head(const st_timeline *timeline, st_node *root)
{
    const st_timeline_plan *plan = &timeline->plan;
    const st_schedule_shape *shape = &plan->schedule.shape;
    const st_schedule_groups *groups = &plan->schedule.groups;
    unsigned long pipelines = (unsigned long)groups->tp * groups->cp * groups->dp;
    char text[ST_QUANTITY_TEXT];
    st_say(root, "job        %s\nsheet      %s\nschedule   %s, %lu stage%s", plan->job, plan->sheet,
           st_timeline_schedule(plan), (unsigned long)shape->stages, shape->stages == 1 ? "" : "s");
    if (shape->chunks > 1)
        st_say(root, " of %lu chunks", (unsigned long)shape->chunks);
    st_say(root, ", %lu micro-batch%s\n", (unsigned long)shape->micros,
           shape->micros == 1 ? "" : "es");
    st_say(root, "ranks      %zu%s", timeline->row_count,
           plan->schedule.every_rank ? "" : ", one of each stage");
    if (!plan->schedule.every_rank && plan->own_stages != NULL)
        st_say(root, ", each stands for those of its stage");
    else if (!plan->schedule.every_rank && pipelines > 1)
        st_say(root, ", each stands for %lu", pipelines);
    st_say(root, "\ntasks      %zu\n\nstep time  %s\n", st_graph_task_count(timeline->graph),
           st_quantity_text(st_ticks_s(timeline->step), "s", text));
    st_say(root, "bubble     %s %% of the pipeline's time\n\n",
           st_number_print('f', 2, 100 * timeline->bubble, text, sizeof text));
}

void st_timeline_report(const st_timeline *timeline, st_arena *arena, st_result *result)
{
    st_node *root = st_result_begin(result, arena);
    size_t shown = timeline->row_count > MOST_ROWS ? MOST_ROWS : timeline->row_count;
    const st_timeline_plan *plan = &timeline->plan;
    const st_schedule_shape *shape = &plan->schedule.shape;
    st_put_text(root, "job", plan->job);
    st_put_text(root, "sheet", plan->sheet);
    st_refine_put(&plan->refinements, root);
    st_put_text(root, "schedule", st_timeline_schedule(plan));
    st_put_count(root, "stages", shape->stages);
    st_put_count(root, "micro_batches", shape->micros);
    st_put_count(root, "chunks", shape->chunks);
    st_put_bool(root, "every_rank", plan->schedule.every_rank);
    st_put_count(root, "tasks", st_graph_task_count(timeline->graph));
    st_put_seconds(root, "step_time_s", st_ticks_s(timeline->step));
    st_put_seconds(root, "closed_form_s", plan->closed_s);
    st_put_bool(root, "closed_form_same_schedule", plan->closed_same_schedule);
    st_put_number(root, "difference",
                  plan->closed_s > 0 ? st_ticks_s(timeline->step) / plan->closed_s - 1 : 0);
    st_put_number(root, "bubble", timeline->bubble);
    term_lists lists = put_terms(timeline, root);
    st_node *categories =
        st_put_rows(root, "categories", fill_category, timeline, timeline->category_count);
    (void)st_put_rows(root, "critical_path", fill_step, timeline, timeline->path_count);
    (void)st_put_rows(root, "ranks", fill_rank, timeline, timeline->row_count);
    st_node *ranks = st_put_rows(root, ".ranks", fill_rank, timeline, shown);
    say_head(timeline, root);
    st_say(root, "Where the time goes\n");
    st_table_show(st_say_columns(root,
                                 ">rank|>stage|>exposed compute|>exposed "
                                 "communication|>overlapped|>waiting|>idle|>overlap slowdown"),
                  ranks,
                  "rank,stage,exposed_compute_s,exposed_communication_s,overlapped_s,waiting_s,"
                  "idle_s,slowdown_s");
    if (timeline->row_count > MOST_ROWS)
        st_say(root, "  ... and %zu ranks more (--csv shows all)\n",
               timeline->row_count - MOST_ROWS);
    static const st_table_column columns[] = {
        {0},
        {.title = "tasks", .right = true},
        {.title = "all ranks", .right = true},
        {.title = "critical path", .right = true},
        {.title = "of the step", .look = ST_LOOK_PERCENT, .digits = 2, .right = true}};
    st_say(root, "\nWhat it is made of; the critical path has %zu tasks\n", timeline->path_count);
    st_table_show(st_say_table(root, columns, 5, 2), categories,
                  "name,tasks,all_ranks_s,critical_path_s,.share");
    say_terms(timeline, &lists, root);
    st_result_csv(result, "ranks",
                  "rank,stage,exposed_compute_s,exposed_communication_s,overlapped_s,waiting_s,"
                  "idle_s,first_s,last_s,slowdown_s");
}

void st_timeline_terms_report(const st_timeline *timeline, st_arena *arena, st_result *result)
{
    const st_timeline_plan *plan = &timeline->plan;
    st_node *root = st_result_begin(result, arena);
    st_put_text(root, "job", plan->job);
    st_put_text(root, "sheet", plan->sheet);
    st_refine_put(&plan->refinements, root);
    st_put_text(root, "schedule", st_timeline_schedule(plan));
    st_put_seconds(root, "step_time_s", st_ticks_s(timeline->step));
    st_put_seconds(root, "closed_form_s", plan->closed_s);
    term_lists lists = put_terms(timeline, root);
    st_say(root, "job        %s\nschedule   %s\n", plan->job, st_timeline_schedule(plan));
    say_terms(timeline, &lists, root);
    st_result_csv(result, "terms", "name=term,closed_form_s,replay_s,agrees,why");
    st_result_csv(result, ".step", "name,closed_form_s,replay_s,agrees,why");
    st_result_csv(result, "communication", "name,closed_form_s,replay_s,agrees,why");
}
