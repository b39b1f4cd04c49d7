/* SPDX-License-Identifier: Apache-2.0 */
/* Streams over time as a picture: a row for each, a column of pixels for each part of the window.
 */
#include "base/svg.h"
#include "trace/view.h"
#include "trace/xalloc.h"

#include <stdlib.h>

enum { LEFT = 150, TOP = 90, WIDTH = 1200, ROW = 20, GAP = 14, MOST_RANKS = 16, TEXT = 48 };

/* What counts as running, of a column. */
static const double LEAST_BUSY = 0.1;

static const st_svg_hue hues[ST_TRACE_CLASSES] = {ST_SVG_BLUE,      ST_SVG_VIOLET, ST_SVG_GREEN,
                                                  ST_SVG_SKY,       ST_SVG_BROWN,  ST_SVG_GOLD,
                                                  ST_SVG_VERMILION, ST_SVG_GREY};

typedef struct painter {
    const st_order *order;
    st_buffer *svg;
    int64_t start_ns;
    int64_t end_ns;
    double (*busy)[ST_TRACE_CLASSES]; /* by column: the share of it that a class runs */
} painter;

/* The class that runs most, ST_TRACE_CLASSES where hardly anything does. */
static int class_of(const double busy[ST_TRACE_CLASSES])
{
    int most = 0;
    double sum = 0;
    for (int i = 0; i < ST_TRACE_CLASSES; i++) {
        most = busy[i] > busy[most] ? i : most;
        sum += busy[i];
    }
    return sum >= LEAST_BUSY ? most : ST_TRACE_CLASSES;
}

static double draw_rank(painter *p, size_t index, double y)
{
    const st_lists *tasks = &p->order->by_start;
    const st_trace *trace = p->order->trace;
    st_view_window(p->order, &p->start_ns, &p->end_ns);
    for (uint32_t t = 0; t < trace->track_count && p->end_ns > p->start_ns; t++) {
        char name[TEXT];
        if (tasks->starts[t + 1] == tasks->starts[t])
            continue;
        for (int column = 0; column < WIDTH; column++)
            for (int i = 0; i < ST_TRACE_CLASSES; i++)
                p->busy[column][i] = 0;
        for (uint32_t i = tasks->starts[t]; i < tasks->starts[t + 1]; i++) {
            /* Adds a task to the columns that it touches. */
            const st_trace_event *task = &trace->events[tasks->items[i]];
            double scale = WIDTH / (double)(p->end_ns - p->start_ns);
            double from = scale * (double)(task->start_ns - p->start_ns);
            double to = scale * (double)(st_trace_end_ns(task) - p->start_ns);
            from = from < 0 ? 0 : from;
            to = to > WIDTH ? WIDTH : to;
            for (int column = (int)from; column < WIDTH && (double)column < to; column++) {
                double begin = from > column ? from : column;
                double end = to < column + 1 ? to : column + 1;
                p->busy[column][task->class_] += end - begin;
            }
        }
        (void)snprintf(name, sizeof name, "rank %lld stream %lld",
                       (long long)(trace->rank < 0 ? (int64_t)index : trace->rank),
                       (long long)trace->tracks[t].number);
        st_svg_box_write(p->svg, (st_svg_box){LEFT, y, WIDTH, ROW - 3}, "panel");
        /* Adjacent equal columns are one box. */
        int begin = 0;
        for (int column = 1; column <= WIDTH; column++) {
            int class_ = class_of(p->busy[begin]);
            if (column < WIDTH && class_of(p->busy[column]) == class_)
                continue;
            if (class_ < ST_TRACE_CLASSES)
                st_svg_box_write(p->svg,
                                 (st_svg_box){.x = LEFT + (double)begin,
                                              .y = y,
                                              .width = (double)(column - begin),
                                              .height = ROW - 3},
                                 st_svg_color(hues[class_]));
            begin = column;
        }
        st_svg_text(p->svg, (st_svg_point){LEFT - 6, y + ROW - 7}, "end", name);
        y += ROW;
    }
    return y;
}

void st_view_streams_svg(const st_trace_set *set, st_buffer *svg)
{
    st_view_orders orders = {0};
    st_arena *arena = st_xarena();
    painter p = {.svg = svg, .busy = st_xmalloc(WIDTH * sizeof *p.busy)};
    st_view_orders_make(set, arena, &orders);
    static const char title[] = "GPU tasks by stream";
    size_t ranks = orders.count < MOST_RANKS ? orders.count : MOST_RANKS;
    st_svg_key keys[ST_TRACE_CLASSES];
    double y = TOP;
    char text[TEXT];
    size_t rows = 0;
    for (size_t i = 0; i < ranks; i++) {
        const uint32_t *starts = orders.orders[i].by_start.starts;
        for (size_t t = 0; t < orders.orders[i].trace->track_count; t++)
            rows += starts[t + 1] > starts[t];
    }
    int height = TOP + 30 + ROW * (int)rows + GAP * (int)ranks;
    for (int i = 0; i < ST_TRACE_CLASSES; i++)
        keys[i] = (st_svg_key){st_svg_color(hues[i]), st_trace_class_name((st_trace_class)i)};
    st_svg_begin(p.svg, LEFT + WIDTH + 20, height, title);
    st_svg_text(p.svg, (st_svg_point){LEFT, 28}, "large", title);
    (void)st_svg_legend(p.svg, keys, ST_TRACE_CLASSES, (st_svg_box){LEFT, 42, WIDTH, 20});
    for (size_t i = 0; i < ranks; i++) {
        p.order = &orders.orders[i];
        y = draw_rank(&p, i, y);
        st_svg_text(p.svg, (st_svg_point){LEFT + WIDTH, y + 8}, "end",
                    st_ms_text(p.end_ns - p.start_ns, text, sizeof text));
        y += GAP;
    }
    st_svg_end(p.svg);
    st_view_orders_free(&orders);
    st_arena_destroy(arena);
    free(p.busy);
}
