/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture of a schedule, as Figure 9 of Li et al. 2024 has it: a row a stage, a box a task,
 * time from left to right. What runs beside the passes is a thin strip below them, or as high as
 * they are where the picture is about it: buckets of gradients, weights gathered ahead.
 */
#include "timeline/timeline.h"

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
    STRIP = 5, /* of what runs beside */
    LEGEND = 110
};

typedef struct st_colour {
    const char *category;
    const char *fill;
} st_colour;

/* Told apart in print and with the common kinds of colour blindness (Wong 2011). */
static const st_colour colours[] = {
    {"forward", "#56b4e9"}, {"backward", "#009e73"}, {"weights", "#e69f00"},
    {"tp", "#d55e00"},      {"cp", "#b8860b"},       {"ep", "#cc79a7"},
    {"pp", "#0072b2"},      {"dp", "#7f5aa2"},       {"tied", "#4d4d4d"},
    {"launch", "#c8c8c8"},  {"slowdown", "#f0e442"}, {"optimizer", "#8c564b"},
};

static const char *fill_of(const char *category)
{
    for (size_t i = 0; i < sizeof(colours) / sizeof(colours[0]); i++) {
        if (strcmp(colours[i].category, category) == 0) {
            return colours[i].fill;
        }
    }
    return "#999999";
}

/* Hundredths of a pixel, so that no number depends on the locale. */
static void write_pixels(double pixels, st_buffer *buffer)
{
    long hundredths = (long)(pixels * 100 + 0.5);
    st_buffer_printf(buffer, "%ld.%02ld", hundredths / 100, hundredths % 100);
}

static int strip_height(const st_timeline *timeline)
{
    return timeline->plan.schedule.pieces != NULL ? BOX : STRIP;
}

static int row_height(const st_timeline *timeline)
{
    return BOX + strip_height(timeline) + GAP;
}

/* Where a task stands in the picture. */
typedef struct st_box {
    double x;
    double width;
    double y;
    double height;
} st_box;

static st_box place_task(const st_timeline *timeline, st_task_id task, const st_task_view *view)
{
    st_task_time time = st_replay_task(timeline->replay, task);
    double scale = timeline->end > 0 ? WIDTH / (double)timeline->end : 0;
    const char *stream = st_graph_resource_name(timeline->graph, view->resource);
    bool beside = strcmp(stream, "compute") != 0 && strcmp(stream, "communication") != 0;
    size_t row = 0;
    while (row + 1 < timeline->row_count && timeline->rows[row].rank != view->rank) {
        row++;
    }
    return (st_box){.x = LEFT + scale * (double)time.start_ns,
                    .width = scale * (double)(time.end_ns - time.start_ns),
                    .y = TOP + (double)row_height(timeline) * (double)row + (beside ? BOX : 0),
                    .height = beside ? strip_height(timeline) : BOX};
}

static void write_box(const st_box *box, const char *fill, st_buffer *buffer)
{
    st_buffer_text(buffer, "<rect x=\"");
    write_pixels(box->x, buffer);
    st_buffer_text(buffer, "\" y=\"");
    write_pixels(box->y, buffer);
    st_buffer_text(buffer, "\" width=\"");
    write_pixels(box->width, buffer);
    st_buffer_text(buffer, "\" height=\"");
    write_pixels(box->height, buffer);
    st_buffer_printf(buffer, "\" fill=\"%s\"/>\n", fill);
}

/* The micro-batch of a pass, "3" of "F 3", where its box has room for it. */
static void write_number(const st_box *box, const st_task_view *view, st_buffer *buffer)
{
    const char *number = strchr(view->name, ' ');
    bool pass = strcmp(view->category_name, "forward") == 0 ||
                strcmp(view->category_name, "backward") == 0 ||
                strcmp(view->category_name, "weights") == 0;
    if (!pass || number == NULL || box->width < 7 * (double)strlen(number + 1) + 2) {
        return;
    }
    st_buffer_text(buffer, "<text x=\"");
    write_pixels(box->x + box->width / 2, buffer);
    st_buffer_text(buffer, "\" y=\"");
    write_pixels(box->y + BOX / 2.0 + 4, buffer);
    st_buffer_printf(buffer, "\" text-anchor=\"middle\">%s</text>\n", number + 1);
}

static void write_tasks(const st_timeline *timeline, st_buffer *buffer)
{
    for (size_t i = 0; i < st_graph_task_count(timeline->graph); i++) {
        st_task_view view = st_graph_task(timeline->graph, (st_task_id)i);
        st_box box = place_task(timeline, (st_task_id)i, &view);
        if (box.width >= 0.01) {
            write_box(&box, fill_of(view.category_name), buffer);
            write_number(&box, &view, buffer);
        }
    }
}

static void write_rows(const st_timeline *timeline, st_buffer *buffer)
{
    for (size_t i = 0; i < timeline->row_count; i++) {
        int y = TOP + row_height(timeline) * (int)i;
        st_buffer_printf(buffer,
                         "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#f2f2f2\"/>\n"
                         "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s %lu</text>\n",
                         LEFT, y, WIDTH, BOX, LEFT - 8, y + BOX / 2 + 4,
                         timeline->plan.schedule.every_rank ? "rank" : "stage",
                         (unsigned long)(timeline->plan.schedule.every_rank
                                             ? timeline->rows[i].rank
                                             : timeline->rows[i].stage + 1));
    }
}

static void write_axis(const st_timeline *timeline, int bottom, st_buffer *buffer)
{
    st_unit second = st_unit_one();
    if (st_unit_parse("s", 1, (st_place){0}, &second, NULL) != ST_OK) {
        return;
    }
    for (int i = 0; i <= 4; i++) {
        char text[ST_QUANTITY_TEXT];
        double time_s = (double)timeline->end / ST_TICKS_PER_S * i / 4;
        st_buffer_printf(buffer, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                         LEFT + WIDTH * i / 4, bottom + 16,
                         st_quantity_format(time_s, &second, ST_STYLE_SCALED, text, sizeof(text)));
    }
}

static void write_legend(const st_timeline *timeline, int bottom, st_buffer *buffer)
{
    int x = LEFT;
    for (size_t i = 0; i < timeline->category_count; i++) {
        const st_timeline_category *category = &timeline->categories[i];
        if (category->time == 0) {
            continue;
        }
        st_buffer_printf(buffer,
                         "<rect x=\"%d\" y=\"%d\" width=\"14\" height=\"14\" fill=\"%s\"/>\n"
                         "<text x=\"%d\" y=\"%d\">%s</text>\n",
                         x, bottom + 34, fill_of(category->name), x + 20, bottom + 46,
                         category->name);
        x += LEGEND;
    }
}

/* "exposed communication 1.9 ms, hidden communication 3.7 ms, price of hiding 1.2 ms" */
static void write_hiding(const st_timeline *timeline, st_buffer *buffer)
{
    st_unit second = st_unit_one();
    if (st_unit_parse("s", 1, (st_place){0}, &second, NULL) != ST_OK) {
        return;
    }
    for (int i = 0; i < ST_HIDINGS; i++) {
        char text[ST_QUANTITY_TEXT];
        st_buffer_printf(buffer, ", %s %s", st_hiding_name((st_hiding)i),
                         st_quantity_format(timeline->hiding_s[i], &second, ST_STYLE_SCALED, text,
                                            sizeof(text)));
    }
}

static void write_titles(const st_timeline *timeline, st_buffer *buffer)
{
    const st_schedule_shape *shape = &timeline->plan.schedule.shape;
    char bubble[ST_QUANTITY_TEXT];
    st_buffer_printf(buffer, "<text x=\"%d\" y=\"26\" font-size=\"16\">One step of ", LEFT);
    st_text_xml(timeline->plan.job, buffer);
    st_buffer_printf(buffer,
                     "</text>\n<text x=\"%d\" y=\"48\" fill=\"#555\">%s, %lu stage%s, %lu "
                     "micro-batch%s, bubble %s %%",
                     LEFT, st_timeline_schedule(&timeline->plan), (unsigned long)shape->stages,
                     shape->stages == 1 ? "" : "s", (unsigned long)shape->micros,
                     shape->micros == 1 ? "" : "es",
                     st_number_print('f', 2, 100 * timeline->bubble, bubble, sizeof(bubble)));
    if (timeline->plan.schedule.pieces != NULL) {
        write_hiding(timeline, buffer);
    }
    st_buffer_text(buffer, "</text>\n");
}

st_status st_timeline_write_svg(const st_timeline *timeline, st_buffer *buffer, st_errors *errors)
{
    size_t tasks = st_graph_task_count(timeline->graph);
    if (tasks > MOST_BOXES || timeline->row_count > MOST_DRAWN_ROWS) {
        return st_fail(errors, ST_ERR_LIMIT, (st_place){0},
                       "%zu tasks on %zu ranks are too many for a picture" ST_EXPECTED
                       "at most 200000 tasks on 256 ranks" ST_HINT
                       "take fewer micro-batches, or one rank of each stage",
                       tasks, timeline->row_count);
    }
    int bottom = TOP + row_height(timeline) * (int)timeline->row_count;
    st_buffer_printf(buffer,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                     "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
                     "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                     LEFT + WIDTH + 40, bottom + 64, LEFT + WIDTH + 40, bottom + 64);
    write_titles(timeline, buffer);
    write_rows(timeline, buffer);
    write_tasks(timeline, buffer);
    write_axis(timeline, bottom, buffer);
    write_legend(timeline, bottom, buffer);
    st_buffer_text(buffer, "</svg>\n");
    return ST_OK;
}
