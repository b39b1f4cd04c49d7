/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture of a schedule, as Figure 9 of Li et al. 2024 has it: a row a stage, a box a task,
 * time from left to right. What runs beside the passes is a thin strip below them, or as high as
 * they are where the picture is about it: buckets of gradients, weights gathered ahead.
 */
#include "timeline/timeline_svg.h"

#include "base/text.h"
#include "base/number.h"

#include <string.h>

enum {
    MOST_BOXES = 200000,
    MOST_DRAWN_ROWS = 256,
    LEFT = 90, /* pixels */
    TOP = 70,
    WIDTH = 1400,
    GAP = 3, /* between rows */
    BOX = 22,
    STRIP = 5 /* of what runs beside */
};

typedef struct st_colour {
    const char *category;
    st_svg_hue hue;
    const char *words; /* in the legend */
} st_colour;

static const st_colour colours[] = {
    {"forward", ST_SVG_SKY, "forward"},       {"backward", ST_SVG_GREEN, "backward"},
    {"weights", ST_SVG_ORANGE, "weights"},    {"tp", ST_SVG_VERMILION, "tensor parallel"},
    {"cp", ST_SVG_GOLD, "context parallel"},  {"ep", ST_SVG_PINK, "expert parallel"},
    {"pp", ST_SVG_BLUE, "transfers"},         {"dp", ST_SVG_VIOLET, "gradients"},
    {"tied", ST_SVG_SLATE, "tied embedding"}, {"launch", ST_SVG_GREY, "launches"},
    {"slowdown", ST_SVG_YELLOW, "slowdown"},  {"optimizer", ST_SVG_BROWN, "optimizer"},
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

static void draw_tasks(const st_timeline *timeline, st_buffer *svg)
{
    for (size_t i = 0; i < st_graph_task_count(timeline->graph); i++) {
        st_task_view view = st_graph_task(timeline->graph, (st_task_id)i);
        st_task_time time = st_replay_task(timeline->replay, (st_task_id)i);
        double scale = timeline->end > 0 ? WIDTH / (double)timeline->end : 0;
        const char *stream = st_graph_resource_name(timeline->graph, view.resource);
        bool beside = strcmp(stream, "compute") != 0 && strcmp(stream, "communication") != 0;
        size_t row = 0;
        while (row + 1 < timeline->row_count && timeline->rows[row].rank != view.rank)
            row++;
        st_svg_box box =
            (st_svg_box){.x = LEFT + scale * (double)time.start_ns,
                         .width = scale * (double)(time.end_ns - time.start_ns),
                         .y = TOP + (double)row_height(timeline) * (double)row + (beside ? BOX : 0),
                         .height = beside ? strip_height(timeline) : BOX};
        if (box.width >= 0.01) {
            st_svg_box_write(svg, box, fill_of(view.category_name));
            /* The micro-batch of a pass, "3" of "F 3", where its box has room for it. */
            const char *number = strchr(view.name, ' ');
            if (!st_is_pass(view.category_name) || number == NULL ||
                box.width < 7 * (double)strlen(number + 1) + 2)
                continue;
            st_svg_text(svg, (st_svg_point){box.x + box.width / 2, box.y + BOX / 2.0 + 4},
                        "middle inside", number + 1);
        }
    }
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
                       "take fewer micro-batches, or one rank of each stage",
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
    draw_tasks(timeline, buffer);
    st_timeline_draw_axis(timeline, (st_svg_box){LEFT, bottom, WIDTH, 0}, buffer);
    (void)draw_legend(timeline, bottom, buffer);
    st_svg_end(buffer);
    st_buffer_end(&title, &buffer->failed);
    return ST_OK;
}
