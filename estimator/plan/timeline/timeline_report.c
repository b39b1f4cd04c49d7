/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of a job as a result. */
#include "base/number.h"
#include "base/text.h"
#include "timeline/timeline.h"
#include "timeline/timeline_svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    st_node *step; /* the sum of the terms, next to the step's time */
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
    st_say(root, "\nDifferences from the closed form of %s\n", plan->sheet);
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
        st_say(root, "  The sheet does not model stages that differ; it assumes equal stages.\n");
    else if (!plan->closed_same_schedule)
        st_say(root, "  The sheet does not model %s; it assumes its own schedule.\n",
               st_timeline_schedule(plan));
    say_reasons(root, lists->terms);
    st_say(root, "\nCommunication of the slowest stage\n");
    st_table_show(say_pairs(root), lists->communication, pair_keys);
    say_reasons(root, lists->communication);
}

/* ---- the whole ---- */

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
        st_say(root, ", each represents its pipeline stage");
    else if (!plan->schedule.every_rank && pipelines > 1)
        st_say(root, ", each represents %lu", pipelines);
    st_say(root, "\ntasks      %zu\n\nstep time  %s\n", st_graph_task_count(timeline->graph),
           st_quantity_text(st_ticks_s(timeline->step), "s", text));
    st_say(root, "bubble     %s %% of the pipeline's time\n\n",
           st_number_print('f', 2, 100 * timeline->bubble, text, sizeof text));
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
    st_say(root, "\nBreakdown; the critical path has %zu tasks\n", timeline->path_count);
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

enum {
    MOST_BOXES = 200000,
    MOST_DRAWN_ROWS = 256,
    LEFT = 90, /* pixels */
    TOP = 70,
    WIDTH = 1400,
    GAP = 3, /* between rows */
    BOX = 22,
    STRIP = 5 /* of what overlaps */
};

typedef struct st_colour {
    const char *category;
    st_svg_hue hue;
    const char *words; /* in the legend */
} st_colour;

static const st_colour colours[] = {
    {"forward", ST_SVG_SKY, "forward"},
    {"backward", ST_SVG_GREEN, "backward"},
    {"weights", ST_SVG_ORANGE, "weights"},
    {"tp", ST_SVG_VERMILION, "tensor parallel"},
    {"cp", ST_SVG_GOLD, "context parallel"},
    {"ep", ST_SVG_PINK, "expert parallel"},
    {"pp", ST_SVG_BLUE, "transfers"},
    {"dp", ST_SVG_VIOLET, "gradients"},
    {"tied", ST_SVG_SLATE, "tied embedding"},
    {"launch", ST_SVG_GREY, "launches"},
    {"slowdown", ST_SVG_YELLOW, "slowdown"},
    {"optimizer", ST_SVG_BROWN, "optimizer"},
    {"overhead", ST_SVG_SLATE, "overhead of the step"},
};

static const char *words_of(const char *category)
{
    size_t i = ST_FIND(colours, ST_COUNT(colours), category, category);
    return i < ST_COUNT(colours) ? colours[i].words : category;
}

static const char *fill_of(const char *category)
{
    size_t i = ST_FIND(colours, ST_COUNT(colours), category, category);
    return st_svg_color(i < ST_COUNT(colours) ? colours[i].hue : ST_SVG_GREY);
}

static int strip_height(const st_timeline *timeline)
{
    return timeline->plan.schedule.pieces != NULL ? BOX : STRIP;
}

static int row_height(const st_timeline *timeline)
{
    return BOX + strip_height(timeline) + GAP;
}

void st_timeline_draw_axis(const st_timeline *timeline, st_svg_box room, st_buffer *svg)
{
    double ticks[ST_SVG_TICKS];
    char texts[ST_SVG_TICKS][ST_QUANTITY_TEXT];
    st_svg_label labels[ST_SVG_TICKS];
    double end_s = (double)timeline->end / ST_TICKS_PER_S;
    size_t count = st_svg_ticks(0, end_s, ticks);
    for (size_t i = 0; i < count; i++) {
        double x = room.x + room.width * ticks[i] / end_s;
        labels[i] = (st_svg_label){.x = x, .text = st_quantity_text(ticks[i], "s", texts[i])};
        st_svg_line(svg, (st_svg_point){x, room.y - GAP}, (st_svg_point){x, room.y + 3}, "ink");
    }
    st_svg_labels_across(svg, labels, count, room.y + 16);
}

static double draw_legend(const st_timeline *timeline, int bottom, st_buffer *svg)
{
    enum { MOST = 32 };
    st_svg_key keys[MOST];
    size_t count = 0;
    for (size_t i = 0; i < timeline->category_count && count < MOST; i++) {
        const st_timeline_category *category = &timeline->categories[i];
        if (category->time > 0)
            keys[count++] =
                (st_svg_key){.color = fill_of(category->name), .text = words_of(category->name)};
    }
    return st_svg_legend(svg, keys, count, (st_svg_box){LEFT, bottom + 34, WIDTH, 0});
}

st_status st_timeline_write_svg(const st_timeline *timeline, st_buffer *buffer, st_errors *errors)
{
    size_t tasks = st_graph_task_count(timeline->graph);
    if (tasks > MOST_BOXES || timeline->row_count > MOST_DRAWN_ROWS)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){0},
                       "%zu tasks on %zu ranks are too many for a picture" ST_EXPECTED
                       "at most 200000 tasks on 256 ranks" ST_HINT
                       "use fewer micro-batches, or one rank of each stage",
                       tasks, timeline->row_count);
    int bottom = TOP + row_height(timeline) * (int)timeline->row_count;
    st_buffer title = {0};
    st_buffer_printf(&title, "One step of %s", timeline->plan.job);
    st_svg_begin(buffer, LEFT + WIDTH + 40, bottom + 64, st_buffer_read(&title));
    st_svg_text(buffer, (st_svg_point){LEFT, 26}, "large", st_buffer_read(&title));
    /* "1F1B, 4 stages, 8 micro-batches, bubble 12.50 %", and where buckets hide, how well they
     * do. */
    const st_schedule_shape *shape = &timeline->plan.schedule.shape;
    char number[ST_QUANTITY_TEXT];
    st_buffer fact_text = {0};
    st_buffer_printf(&fact_text, "%s, ",
                     st_quantity_text((double)timeline->end / ST_TICKS_PER_S, "s", number));
    st_buffer_printf(&fact_text, "%s, %lu stage%s, %lu micro-batch%s, bubble %s %%",
                     st_timeline_schedule(&timeline->plan), (unsigned long)shape->stages,
                     shape->stages == 1 ? "" : "s", (unsigned long)shape->micros,
                     shape->micros == 1 ? "" : "es",
                     st_number_print('f', 2, 100 * timeline->bubble, number, sizeof number));
    for (int i = 0; i < ST_HIDINGS && timeline->plan.schedule.pieces != NULL; i++)
        st_buffer_printf(&fact_text, ", %s %s", st_hiding_name((st_hiding)i),
                         st_quantity_text(timeline->hiding_s[i], "s", number));
    st_svg_text(buffer, (st_svg_point){LEFT, 48}, "faint", st_buffer_read(&fact_text));
    st_buffer_end(&fact_text, &buffer->failed);
    bool every_rank = timeline->plan.schedule.every_rank;
    for (size_t i = 0; i < timeline->row_count; i++) {
        const st_timeline_row *row = &timeline->rows[i];
        char text[48];
        int y = TOP + row_height(timeline) * (int)i;
        (void)snprintf(text, sizeof text, "%s %lu", every_rank ? "rank" : "stage",
                       (unsigned long)(every_rank ? row->rank : row->stage + 1));
        st_svg_box_write(buffer, (st_svg_box){LEFT, y, WIDTH, BOX}, "panel");
        st_svg_text(buffer, (st_svg_point){LEFT - 8, y + BOX / 2.0 + 4}, "end", text);
    }
    for (size_t i = 0; i < st_graph_task_count(timeline->graph); i++) {
        st_task_view view = st_graph_task(timeline->graph, (st_task_id)i);
        st_task_time time = st_replay_task(timeline->replay, (st_task_id)i);
        double scale = timeline->end > 0 ? WIDTH / (double)timeline->end : 0;
        const char *stream = st_graph_resource_name(timeline->graph, view.resource);
        bool overlaps = strcmp(stream, "compute") != 0 && strcmp(stream, "communication") != 0;
        size_t row = 0;
        while (row + 1 < timeline->row_count && timeline->rows[row].rank != view.rank)
            row++;
        st_svg_box box = (st_svg_box){.x = LEFT + scale * (double)time.start_ns,
                                      .width = scale * (double)(time.end_ns - time.start_ns),
                                      .y = TOP + (double)row_height(timeline) * (double)row +
                                           (overlaps ? BOX : 0),
                                      .height = overlaps ? strip_height(timeline) : BOX};
        if (box.width >= 0.01) {
            st_svg_box_write(buffer, box, fill_of(view.category_name));
            /* The micro-batch of a pass, "3" of "F 3", where its box has room for it. */
            const char *task_number = strchr(view.name, ' ');
            if (!st_is_pass(view.category_name) || task_number == NULL ||
                box.width < 7 * (double)strlen(task_number + 1) + 2)
                continue;
            st_svg_text(buffer, (st_svg_point){box.x + box.width / 2, box.y + BOX / 2.0 + 4},
                        "middle inside", task_number + 1);
        }
    }
    st_timeline_draw_axis(timeline, (st_svg_box){LEFT, bottom, WIDTH, 0}, buffer);
    (void)draw_legend(timeline, bottom, buffer);
    st_svg_end(buffer);
    st_buffer_end(&title, &buffer->failed);
    return ST_OK;
}
