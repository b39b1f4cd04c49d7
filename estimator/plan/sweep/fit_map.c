/* SPDX-License-Identifier: Apache-2.0 */
/* A map of what fits; see fit_map.h. */
#include "sweep/fit_map.h"

#include "base/text.h"
#include "base/svg.h"

#include <math.h>
#include <string.h>

void st_fit_map_take(st_fit_map *map, size_t row, size_t column, const st_map_cell *own)
{
    st_map_cell *cell = &map->cells[row * map->count[1] + column];
    bool better = own->fits ? !cell->fits || map->sign * (own->goal - cell->goal) < 0
                            : !cell->fits && own->missing_bytes < cell->missing_bytes;
    if (!cell->tried || better)
        *cell = *own;
}

/* Whether a row (side 0) or a column has any entry. */
static bool is_used(const st_fit_map *map, int side, size_t index)
{
    for (size_t i = 0; i < map->count[1 - side]; i++) {
        size_t row = side == 0 ? index : i;
        size_t column = side == 0 ? i : index;
        if (map->cells[row * map->count[1] + column].tried)
            return true;
    }
    return false;
}

static void drop(st_fit_map *map, int side, size_t index)
{
    size_t kept = 0;
    for (size_t i = 0; i < map->count[0] * map->count[1]; i++)
        if ((side == 0 ? i / map->count[1] : i % map->count[1]) != index)
            map->cells[kept++] = map->cells[i];
    map->count[side]--;
    for (size_t i = index; i < map->count[side]; i++)
        map->texts[side][i] = map->texts[side][i + 1];
}

void st_fit_map_pack(st_fit_map *map)
{
    for (int side = 0; side < 2; side++)
        for (size_t i = map->count[side]; i-- > 0;)
            if (!is_used(map, side, i))
                drop(map, side, i);
}

bool st_fit_map_fits(const st_fit_map *map)
{
    bool fits = false;
    for (size_t i = 0; i < map->count[0] * map->count[1]; i++)
        fits = fits || map->cells[i].fits;
    return fits;
}

/* --- showing ---------------------------------------------------------------------------------- */

/* "29.13 s", or "lacks 12.3 GiB"; "" without a plan. */
static const char *cell_text(const st_fit_map *map, const st_map_cell *cell, char *text,
                             size_t size)
{
    char number[ST_QUANTITY_TEXT];
    if (!cell->tried)
        text[0] = '\0';
    else if (cell->fits)
        (void)st_type_format(map->goal_type, cell->goal, ST_STYLE_SCALED, text, size);
    else
        (void)snprintf(text, size, "lacks %s",
                       st_quantity_text(cell->missing_bytes, "GiB", number));
    return text;
}

static void fill_cell(const void *context, size_t index, st_node *node)
{
    const st_fit_map *map = context;
    const st_map_cell *cell = &map->cells[index];
    st_unit gib = st_unit_one();
    if (!cell->tried || st_unit_parse("GiB", 3, (st_place){0}, &gib, NULL) != ST_OK)
        return;
    double one = st_unit_from_base(&gib, 1);
    st_put_text(node, "row", map->texts[0][index / map->count[1]]);
    st_put_text(node, "column", map->texts[1][index % map->count[1]]);
    st_put_bool(node, "fits", cell->fits);
    st_put_quantity(node, "value", cell->goal, &map->goal_type->unit);
    st_put_number(node, "memory_gib", cell->memory_bytes * one);
    st_put_number(node, "missing_gib", cell->missing_bytes * one);
}

void st_fit_map_put(const st_fit_map *map, st_result *result)
{
    st_arena *arena = map->arena;
    st_node *root = st_result_begin(result, arena);
    st_put_text(root, "job", map->job);
    st_put_text(root, "goal", map->goal);
    st_put_text(root, "rows", map->keys[0]);
    st_put_text(root, "columns", map->keys[1]);
    st_put_count(root, "plans", map->plans);
    (void)st_put_rows(root, "map", fill_cell, map, map->count[0] * map->count[1]);
    st_say(root,
           "job   %s\ngoal  %s of the best plan that fits, or the missing memory of the nearest\n",
           map->job, map->goal);
    size_t columns = map->count[1] + 1;
    st_table_column *heads = st_arena_alloc(arena, columns, sizeof *heads);
    st_buffer keys = {0};
    st_node *list = st_put_list(root, ".rows");
    if (heads != NULL) {
        heads[0].title = map->keys[0];
        st_buffer_text(&keys, "name");
        for (size_t i = 1; i < columns; i++) {
            heads[i].title = map->texts[1][i - 1];
            heads[i].right = true;
            st_buffer_printf(&keys, ",.c%zu", i);
        }
        for (size_t row = 0; row < map->count[0]; row++) {
            st_node *node = st_put_line_map(list, NULL);
            st_put_text(node, "name", map->texts[0][row]);
            for (size_t i = 1; i < columns; i++) {
                char text[ST_QUANTITY_TEXT + 16];
                const st_map_cell *cell = &map->cells[row * map->count[1] + i - 1];
                st_put_text(node, st_arena_printf(arena, ".c%zu", i),
                            cell_text(map, cell, text, sizeof text));
            }
        }
        st_say(root, "\n%s down, %s across\n", map->keys[0], map->keys[1]);
        const char *names = keys.data != NULL ? st_arena_copy(arena, keys.data, keys.length) : NULL;
        if (names != NULL)
            st_table_show(st_say_table(root, heads, columns, 2), list, names);
        st_buffer_free(&keys);
    }
    st_result_csv(result, "map", "row,column,fits,value,memory_gib,missing_gib");
}

/* --- drawing ---------------------------------------------------------------------------------- */

enum { LEFT = 110, TOP = 70, WIDE = 110, HIGH = 44, BOTTOM = 50 };

/* Where a value lies between the best and the worst, by the ratio. */
static double share_of(const st_fit_map *map, double value)
{
    double least = (double)INFINITY;
    double most = 0;
    for (size_t i = 0; i < map->count[0] * map->count[1]; i++) {
        if (map->cells[i].fits) {
            least = fmin(least, map->cells[i].goal);
            most = fmax(most, map->cells[i].goal);
        }
    }
    return most > least && least > 0 ? log(value / least) / log(most / least) : 0;
}

void st_fit_map_svg(const st_fit_map *map, st_buffer *svg)
{
    char text[128];
    st_buffer title = {0};
    int width = LEFT + WIDE * (int)map->count[1] + 40;
    int height = TOP + HIGH * (int)map->count[0] + BOTTOM;
    st_buffer_printf(&title, "What fits: %s", map->job);
    const char *words = st_buffer_read(&title);
    st_svg_begin(svg, width > 480 ? width : 480, height, words);
    st_svg_text(svg, (st_svg_point){20, 26}, "large", words);
    st_svg_text(svg, (st_svg_point){20, 48}, "faint",
                "goal and memory of the best plan; grey: missing memory of the nearest plan");
    for (size_t row = 0; row < map->count[0]; row++) {
        (void)snprintf(text, sizeof text, "%.10s", map->texts[0][row]);
        st_svg_text(svg, (st_svg_point){LEFT - 8, TOP + HIGH * ((double)row + 0.5) + 4}, "end",
                    text);
        for (size_t column = 0; column < map->count[1]; column++) {
            const st_map_cell *cell = &map->cells[row * map->count[1] + column];
            const st_svg_box box = {LEFT + (double)column * WIDE, TOP + (double)row * HIGH,
                                    WIDE - 2, HIGH - 2};
            char color[8];
            char draw_text[ST_QUANTITY_TEXT + 16];
            char number[ST_QUANTITY_TEXT];
            if (!cell->tried)
                continue;
            const char *ground = cell->fits ? st_svg_heat(0.6 * share_of(map, cell->goal), color)
                                            : st_svg_color(ST_SVG_GREY);
            st_svg_box_write(svg, box, ground);
            st_svg_text(svg, (st_svg_point){box.x + box.width / 2, box.y + 18}, "middle inside",
                        cell_text(map, cell, draw_text, sizeof draw_text));
            st_svg_text(svg, (st_svg_point){box.x + box.width / 2, box.y + 34}, "middle inside",
                        st_quantity_text(cell->memory_bytes, "GiB", number));
        }
    }
    for (size_t column = 0; column < map->count[1]; column++) {
        (void)snprintf(text, sizeof text, "%.14s", map->texts[1][column]);
        st_svg_text(svg,
                    (st_svg_point){LEFT + WIDE * ((double)column + 0.5),
                                   TOP + HIGH * (double)map->count[0] + 18},
                    "middle", text);
    }
    st_svg_text(svg, (st_svg_point){20, TOP - 8}, "", map->keys[0]);
    st_svg_text(svg, (st_svg_point){LEFT, TOP + HIGH * (double)map->count[0] + 36}, "",
                map->keys[1]);
    st_svg_end(svg);
    st_buffer_end(&title, &svg->failed);
}
