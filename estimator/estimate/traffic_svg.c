/* SPDX-License-Identifier: Apache-2.0 */
/* The heat map of a job's traffic: senders down, receivers across, one colour per volume. */
#include "estimate/traffic.h"

#include "base/memory.h"

enum {
    MOST_RANKS_DRAWN = 256,
    MOST_BLOCKS = 256,
    LEFT = 80, /* pixels around the map */
    TOP = 60,
    SIDE = 640, /* of the map */
    BAR = 24
};

typedef struct st_heat_map {
    const st_traffic_report *report;
    size_t ranks_per_block;
    size_t blocks;
    double *bytes; /* blocks x blocks */
    double most_bytes;
} st_heat_map;

static bool add_flow(void *context, const st_flow *flow)
{
    st_heat_map *map = context;
    if (map->report->wanted[flow->group]) {
        size_t row = flow->source / map->ranks_per_block;
        size_t column = flow->target / map->ranks_per_block;
        double *cell = &map->bytes[row * map->blocks + column];
        *cell += (double)flow->bytes;
        map->most_bytes = *cell > map->most_bytes ? *cell : map->most_bytes;
    }
    return true;
}

/* Ranks of a block: one, a node, or as many nodes as make the map fit. */
static size_t choose_block(const st_placement *placement)
{
    size_t per_block = placement->ranks > MOST_RANKS_DRAWN ? placement->gpus_per_node : 1;
    while ((placement->ranks + per_block - 1) / per_block > MOST_BLOCKS) {
        per_block *= 2;
    }
    return per_block;
}

/* From pale yellow over red to dark violet: dark is much, also when printed in grey. */
static void write_color(double share, st_buffer *buffer)
{
    static const double stops[][3] = {
        {255, 245, 200}, {253, 180, 90}, {230, 80, 60}, {150, 30, 100}, {50, 10, 80}};
    double position = share * 4;
    int stop = position >= 4 ? 3 : (int)position;
    double rest = position - stop;
    int color[3];
    for (int i = 0; i < 3; i++) {
        color[i] = (int)(stops[stop][i] + rest * (stops[stop + 1][i] - stops[stop][i]) + 0.5);
    }
    st_buffer_printf(buffer, "#%02x%02x%02x", (unsigned)color[0], (unsigned)color[1],
                     (unsigned)color[2]);
}

/* Tenths of a pixel, so that no number depends on the locale. */
static void write_tenths(double pixels, st_buffer *buffer)
{
    long tenths = (long)(pixels * 10 + 0.5);
    st_buffer_printf(buffer, "%ld.%ld", tenths / 10, tenths % 10);
}

static void write_rectangles(const st_heat_map *map, st_buffer *buffer)
{
    double side = (double)SIDE / (double)map->blocks;
    for (size_t row = 0; row < map->blocks; row++) {
        for (size_t column = 0; column < map->blocks; column++) {
            double bytes = map->bytes[row * map->blocks + column];
            if (bytes <= 0) {
                continue;
            }
            st_buffer_text(buffer, "<rect x=\"");
            write_tenths(LEFT + side * (double)column, buffer);
            st_buffer_text(buffer, "\" y=\"");
            write_tenths(TOP + side * (double)row, buffer);
            st_buffer_text(buffer, "\" width=\"");
            write_tenths(side, buffer);
            st_buffer_text(buffer, "\" height=\"");
            write_tenths(side, buffer);
            st_buffer_text(buffer, "\" fill=\"");
            write_color(bytes / map->most_bytes, buffer);
            st_buffer_text(buffer, "\"/>\n");
        }
    }
}

static void write_line(double x1, double y1, double x2, double y2, st_buffer *buffer)
{
    st_buffer_text(buffer, "<path d=\"M");
    write_tenths(x1, buffer);
    st_buffer_text(buffer, " ");
    write_tenths(y1, buffer);
    st_buffer_text(buffer, "L");
    write_tenths(x2, buffer);
    st_buffer_text(buffer, " ");
    write_tenths(y2, buffer);
    st_buffer_text(buffer, "\" stroke=\"#888\" stroke-width=\"0.5\"/>\n");
}

/* Lines between nodes, where a node is wide enough to be seen, and some rank numbers. */
static void write_axes(const st_heat_map *map, st_buffer *buffer)
{
    const st_placement *placement = &map->report->placement;
    double side = (double)SIDE / (double)map->blocks / (double)map->ranks_per_block;
    double node = side * (double)placement->gpus_per_node;
    size_t lines = node >= 4 ? (size_t)(SIDE / node) + 1 : 0;
    for (size_t i = 0; i < lines; i++) {
        double at = node * (double)i;
        write_line(LEFT + at, TOP, LEFT + at, TOP + SIDE, buffer);
        write_line(LEFT, TOP + at, LEFT + SIDE, TOP + at, buffer);
    }
    size_t step = (placement->ranks + 7) / 8;
    for (size_t rank = 0; rank < placement->ranks; rank += step) {
        st_buffer_printf(buffer, "<text x=\"%d\" y=\"", LEFT - 8);
        write_tenths(TOP + side * ((double)rank + 0.5) + 4, buffer);
        st_buffer_printf(buffer, "\" text-anchor=\"end\">%zu</text>\n<text x=\"", rank);
        write_tenths(LEFT + side * ((double)rank + 0.5), buffer);
        st_buffer_printf(buffer, "\" y=\"%d\" text-anchor=\"middle\">%zu</text>\n", TOP + SIDE + 16,
                         rank);
    }
}

static void write_bar(const st_heat_map *map, st_buffer *buffer)
{
    enum { STEPS = 64, X = LEFT + SIDE + 24 };
    double step = (double)SIDE / STEPS;
    for (int i = 0; i < STEPS; i++) {
        st_buffer_printf(buffer, "<rect x=\"%d\" y=\"", X);
        write_tenths(TOP + SIDE - step * (i + 1), buffer);
        st_buffer_printf(buffer, "\" width=\"%d\" height=\"", BAR);
        write_tenths(step + 0.5, buffer);
        st_buffer_text(buffer, "\" fill=\"");
        write_color((i + 0.5) / STEPS, buffer);
        st_buffer_text(buffer, "\"/>\n");
    }
    st_unit gigabyte = st_unit_one();
    if (st_unit_parse("GB", 2, (st_place){0}, &gigabyte, NULL) != ST_OK) {
        return;
    }
    for (int i = 0; i <= 4; i++) {
        char text[ST_QUANTITY_TEXT];
        double bytes = map->most_bytes * i / 4;
        st_buffer_printf(buffer, "<text x=\"%d\" y=\"", X + BAR + 6);
        write_tenths(TOP + SIDE - (double)SIDE * i / 4 + 4, buffer);
        st_buffer_printf(buffer, "\">%s</text>\n",
                         st_quantity_format(bytes, &gigabyte, ST_STYLE_SCALED, text, sizeof(text)));
    }
}

static void write_titles(const st_heat_map *map, st_buffer *buffer)
{
    const st_traffic_report *report = map->report;
    st_buffer_printf(buffer, "<text x=\"%d\" y=\"24\" font-size=\"16\">Traffic of ", LEFT);
    st_text_xml(st_job_name(report->estimate->job), buffer);
    st_buffer_printf(buffer, " in one step</text>\n<text x=\"%d\" y=\"44\" fill=\"#555\">order ",
                     LEFT);
    st_text_xml(report->order, buffer);
    st_buffer_text(buffer, ", kinds");
    for (st_group group = ST_GROUP_TP; group < ST_GROUPS; group++) {
        if (report->wanted[group] && report->traffic.sent_bytes[group] > 0) {
            st_buffer_printf(buffer, " %s", st_group_name(group));
        }
    }
    if (map->ranks_per_block > 1) {
        st_buffer_printf(buffer, ", blocks of %zu ranks", map->ranks_per_block);
    }
    st_buffer_printf(
        buffer,
        "</text>\n<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">receiving rank</text>\n"
        "<text transform=\"translate(24 %d) rotate(-90)\" text-anchor=\"middle\">"
        "sending rank</text>\n",
        LEFT + SIDE / 2, TOP + SIDE + 40, TOP + SIDE / 2);
}

st_status st_traffic_report_svg(const st_traffic_report *report, st_arena *arena, st_buffer *buffer,
                                st_errors *errors)
{
    st_heat_map map = {.report = report, .ranks_per_block = choose_block(&report->placement)};
    map.blocks = (report->placement.ranks + map.ranks_per_block - 1) / map.ranks_per_block;
    map.bytes = st_arena_alloc(arena, map.blocks * map.blocks, sizeof(double));
    if (map.bytes == NULL) {
        return st_out_of_memory(errors);
    }
    st_traffic_visit(&report->placement, &report->traffic, add_flow, &map);
    st_buffer_printf(buffer,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                     "font-family=\"sans-serif\" font-size=\"12\">\n"
                     "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                     LEFT + SIDE + 150, TOP + SIDE + 60);
    write_titles(&map, buffer);
    write_rectangles(&map, buffer);
    write_axes(&map, buffer);
    write_bar(&map, buffer);
    st_buffer_text(buffer, "</svg>\n");
    return ST_OK;
}
