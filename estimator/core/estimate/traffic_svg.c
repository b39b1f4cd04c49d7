/* SPDX-License-Identifier: Apache-2.0 */
/* The heat map of a job's traffic: senders down, receivers across, one colour per volume. */
#include "estimate/traffic.h"

#include "base/memory.h"
#include "base/svg.h"

#include <math.h>

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
    double least_bytes; /* above 0 */
    bool linear;
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

/* Kinds of traffic differ by orders of magnitude: on a linear scale one would hide all others. */
static double share_of(const st_heat_map *map, double bytes)
{
    if (map->linear)
        return bytes / map->most_bytes;
    double span = log(map->most_bytes / map->least_bytes);
    return span > 0 ? log(bytes / map->least_bytes) / span : 1;
}

static void draw_scale(const st_heat_map *map, st_buffer *svg)
{
    enum { X = LEFT + SIDE + 24 };
    st_svg_heat_bar(svg, (st_svg_box){X, TOP, BAR, SIDE});
    st_unit gigabyte = st_unit_one();
    if (st_unit_parse("GB", 2, (st_place){0}, &gigabyte, NULL) != ST_OK)
        return;
    double ticks[ST_SVG_TICKS];
    size_t count = map->linear ? st_svg_ticks(0, map->most_bytes, ticks)
                               : st_svg_log_ticks(map->least_bytes, map->most_bytes, ticks);
    if (count == 0 && map->most_bytes > 0)
        ticks[count++] = map->most_bytes; /* every pair sends as much */
    for (size_t i = 0; i < count; i++) {
        char text[ST_QUANTITY_TEXT];
        double y = TOP + SIDE * (1 - share_of(map, ticks[i]));
        st_svg_text(svg, (st_svg_point){X + BAR + 6, y + 4}, "",
                    st_quantity_format(ticks[i], &gigabyte, ST_STYLE_SCALED, text, sizeof text));
    }
}

static void draw_titles(const st_heat_map *map, const char *title, st_buffer *svg)
{
    static const char *const words[ST_GROUPS] = {[ST_GROUP_TP] = "tensor parallel",
                                                 [ST_GROUP_CP] = "context parallel",
                                                 [ST_GROUP_EP] = "expert parallel",
                                                 [ST_GROUP_DP] = "gradients and weights",
                                                 [ST_GROUP_PP] = "transfers",
                                                 [ST_GROUP_EMBEDDING] = "embedding",
                                                 [ST_GROUP_EXPERT_DP] = "gradients of experts"};
    const st_traffic_report *report = map->report;
    st_buffer text = {0};
    const char *comma = "";
    st_buffer_printf(&text, "order %s; ", report->order);
    for (st_group group = ST_GROUP_TP; group < ST_GROUPS; group++) {
        if (report->wanted[group] &&
            st_traffic_total_bytes(&report->placement, &report->traffic, group) > 0) {
            st_buffer_printf(&text, "%s%s", comma, words[group]);
            comma = ", ";
        }
    }
    if (map->ranks_per_block > 1)
        st_buffer_printf(&text, ", blocks of %zu ranks", map->ranks_per_block);
    st_svg_text(svg, (st_svg_point){LEFT, 24}, "large", title);
    st_svg_text(svg, (st_svg_point){LEFT, 44}, "faint", st_buffer_read(&text));
    st_svg_text(svg, (st_svg_point){LEFT + SIDE / 2.0, TOP + SIDE + 40}, "middle",
                "receiving rank");
    st_svg_text(svg, (st_svg_point){24, TOP + SIDE / 2.0}, "middle upwards", "sending rank");
    st_buffer_end(&text, &svg->failed);
}

st_status st_traffic_report_svg(const st_traffic_report *report, bool linear, st_arena *arena,
                                st_buffer *buffer, st_errors *errors)
{
    /* Ranks of a block: one, a node, or as many nodes as make the map fit. */
    size_t per_block =
        report->placement.ranks > MOST_RANKS_DRAWN ? report->placement.gpus_per_node : 1;
    while ((report->placement.ranks + per_block - 1) / per_block > MOST_BLOCKS)
        per_block *= 2;
    st_heat_map map = {.report = report, .linear = linear, .ranks_per_block = per_block};
    map.blocks = (report->placement.ranks + map.ranks_per_block - 1) / map.ranks_per_block;
    map.bytes = st_arena_alloc(arena, map.blocks * map.blocks, sizeof(double));
    const char *title =
        st_arena_printf(arena, "Traffic of %s in one step", st_job_name(report->estimate->job));
    if (map.bytes == NULL || title == NULL)
        return st_out_of_memory(errors);
    st_traffic_visit(&report->placement, &report->traffic, add_flow, &map);
    map.least_bytes = map.most_bytes;
    for (size_t i = 0; i < map.blocks * map.blocks; i++)
        if (map.bytes[i] > 0 && map.bytes[i] < map.least_bytes)
            map.least_bytes = map.bytes[i];
    st_svg_begin(buffer, LEFT + SIDE + 150, TOP + SIDE + 60, title);
    draw_titles(&map, title, buffer);
    char color[8];
    double side = (double)SIDE / (double)map.blocks;
    st_svg_box_write(buffer, (st_svg_box){LEFT, TOP, SIDE, SIDE}, "map");
    for (size_t row = 0; row < map.blocks; row++) {
        for (size_t column = 0; column < map.blocks; column++) {
            double bytes = map.bytes[row * map.blocks + column];
            const st_svg_box box = {LEFT + side * (double)column, TOP + side * (double)row, side,
                                    side};
            if (bytes > 0)
                st_svg_box_write(buffer, box, st_svg_heat(share_of(&map, bytes), color));
        }
    }
    /* Lines between nodes, where a node is wide enough to be seen, and some rank numbers. */
    const st_placement *placement = &map.report->placement;
    double axe_side = (double)SIDE / (double)map.blocks / (double)map.ranks_per_block;
    double node = axe_side * (double)placement->gpus_per_node;
    size_t lines = node >= 4 ? (size_t)(SIDE / node) + 1 : 0;
    for (size_t i = 0; i < lines; i++) {
        double at = node * (double)i;
        st_svg_line(buffer, (st_svg_point){LEFT + at, TOP}, (st_svg_point){LEFT + at, TOP + SIDE},
                    "grid");
        st_svg_line(buffer, (st_svg_point){LEFT, TOP + at}, (st_svg_point){LEFT + SIDE, TOP + at},
                    "grid");
    }
    size_t step = (placement->ranks + 7) / 8;
    for (size_t rank = 0; rank < placement->ranks; rank += step) {
        char text[32];
        double middle = axe_side * ((double)rank + 0.5);
        (void)snprintf(text, sizeof text, "%zu", rank);
        st_svg_text(buffer, (st_svg_point){LEFT - 8, TOP + middle + 4}, "end", text);
        st_svg_text(buffer, (st_svg_point){LEFT + middle, TOP + SIDE + 16}, "middle", text);
    }
    draw_scale(&map, buffer);
    st_svg_end(buffer);
    return ST_OK;
}
