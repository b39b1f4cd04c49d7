/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A search as a picture: one cell of its plans over another, the step time over the memory unless a
 * Pareto front of others is asked for, both on logarithmic scales. Of very many plans some are
 * drawn, evenly from all; the front is always there.
 */
#include "search/worker.h"

#include "base/memory.h"
#include "base/svg.h"
#include "sheet/summary.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    WIDTH = 860,
    HEIGHT = 550,
    LEFT = 100,
    TOP = 70,
    RIGHT = 210, /* room for the legend */
    BOTTOM = 60,
    MOST_POINTS = 20000,
    GRAIN = 2 /* pixels; of several plans in such a square one is drawn */
};

enum { ACROSS = 1, UP = 0, SIDES = 2 }; /* cells of the picture's space; its limit follows */

typedef struct point {
    double at[SIDES]; /* values */
    bool too_large;
} point;

typedef struct picture {
    const st_search_view *view;
    st_search search; /* with the two cells, and the limit of what runs across */
    bool has_limit;
    double limit;
    point *points;
    size_t count;
    double least[SIDES];
    double most[SIDES];
    st_buffer *svg;
} picture;

/* ---- plans ---- */

/* The limit of a bar of the sheet's summary whose total is the cell; NULL: it has none. */
static const char *limit_of(const st_sheet *sheet, const char *cell)
{
    const st_summary *summary = st_sheet_summary(sheet);
    for (size_t i = 0; i < summary->bar_count; i++)
        if (summary->bars[i].limit != NULL && strcmp(summary->bars[i].total, cell) == 0)
            return summary->bars[i].limit;
    return NULL;
}

static void add_point(picture *self, const point *one)
{
    if (!isfinite(one->at[UP]) || !isfinite(one->at[ACROSS]) || !(one->at[UP] > 0) ||
        !(one->at[ACROSS] > 0))
        return;
    for (int side = 0; side < SIDES; side++) {
        bool first = self->count == 0;
        self->least[side] = first ? one->at[side] : fmin(self->least[side], one->at[side]);
        self->most[side] = first ? one->at[side] : fmax(self->most[side], one->at[side]);
    }
    self->points[self->count++] = *one;
}

static void take_block(void *context, const st_space_worker *space, const uint64_t *picks,
                       size_t rows)
{
    picture *self = context;
    (void)picks;
    for (size_t row = 0; row < rows; row++) {
        const point one = {.at = {space->outputs[UP][row], space->outputs[ACROSS][row]},
                           .too_large = st_search_is_over(self->search.space, space, row)};
        if (!one.too_large || st_search_exceeds(self->search.space, space, row))
            add_point(self, &one);
        if (self->has_limit)
            self->limit = space->outputs[SIDES][row];
    }
}

static void front_at(const picture *self, size_t index, double at[SIDES])
{
    const st_found *found = &self->view->result->found.front[index];
    at[UP] = found->front[UP] * self->search.front_signs[UP];
    at[ACROSS] = found->front[ACROSS] * self->search.front_signs[ACROSS];
}

/* ---- drawing ---- */

static double share_of(const picture *self, int side, double value)
{
    return log(value / self->least[side]) / log(self->most[side] / self->least[side]);
}

static st_svg_point place_of(const picture *self, const double at[SIDES])
{
    return (st_svg_point){LEFT + (WIDTH - LEFT - RIGHT) * share_of(self, ACROSS, at[ACROSS]),
                          TOP + (HEIGHT - TOP - BOTTOM) * (1 - share_of(self, UP, at[UP]))};
}

static void mark(const picture *self, st_svg_point at, double size, const char *color)
{
    const st_svg_box box = {at.x - size / 2, at.y - size / 2, size, size};
    st_svg_box_write(self->svg, box, color);
}

/* The shorter of a value in the cell's own unit and one of a magnitude that suits it: "10 M$". */
static const char *tick_text(const st_type *type, double value, char text[2][ST_QUANTITY_TEXT])
{
    const char *own = st_type_format(type, value, ST_STYLE_UNIT, text[0], ST_QUANTITY_TEXT);
    const char *scaled = st_type_format(type, value, ST_STYLE_SCALED, text[1], ST_QUANTITY_TEXT);
    return strlen(scaled) < strlen(own) ? scaled : own;
}

/* "memory: peak memory of a GPU", as the sheet says it. */
static const char *cell_title(const picture *self, int side)
{
    const st_space *space = self->search.space;
    const st_sheet_cell *cell = st_sheet_find_cell(space->sheet, space->cells[side]);
    const char *title = cell == NULL || cell->doc == NULL
                            ? space->cells[side]
                            : st_arena_printf(space->arena, "%s: %.*s", space->cells[side],
                                              (int)strcspn(cell->doc, ";"), cell->doc);
    return st_or_none(title);
}

static void draw_axis(const picture *self, int side)
{
    const st_type *type = self->search.space->types[side];
    double one = st_unit_from_base(&type->unit, 1);
    double ticks[ST_SVG_TICKS];
    char texts[ST_SVG_TICKS][2][ST_QUANTITY_TEXT];
    st_svg_label labels[ST_SVG_TICKS];
    size_t count = st_svg_log_ticks(self->least[side] * one, self->most[side] * one, ticks);
    for (size_t i = 0; i < count; i++) {
        double low[SIDES] = {self->least[UP], self->least[ACROSS]};
        double high[SIDES] = {self->most[UP], self->most[ACROSS]};
        low[side] = high[side] = ticks[i] / one;
        st_svg_point from = place_of(self, low);
        labels[i] = (st_svg_label){.x = from.x,
                                   .text = tick_text(type, ticks[i] / one, texts[i]),
                                   .first = st_svg_is_power(ticks[i])};
        st_svg_line(self->svg, from, place_of(self, high), "grid");
        if (side == UP)
            st_svg_text(self->svg, (st_svg_point){LEFT - 8, from.y + 4}, "end", labels[i].text);
    }
    const double middle_x = LEFT + (WIDTH - LEFT - RIGHT) / 2.0;
    const double middle_y = TOP + (HEIGHT - TOP - BOTTOM) / 2.0;
    if (side == ACROSS)
        st_svg_labels_across(self->svg, labels, count, HEIGHT - BOTTOM + 18);
    st_svg_text(self->svg,
                side == UP ? (st_svg_point){20, middle_y} : (st_svg_point){middle_x, HEIGHT - 16},
                side == UP ? "middle upwards" : "middle", cell_title(self, side));
}

/* Plans of one kind, one in each little square; `taken` has a byte for each. */
static size_t draw_plans(const picture *self, bool too_large, unsigned char *taken)
{
    enum { ACROSS_SQUARES = WIDTH / GRAIN + 1 };
    size_t plans = 0;
    for (size_t i = 0; i < self->count; i++) {
        if (self->points[i].too_large != too_large)
            continue;
        st_svg_point at = place_of(self, self->points[i].at);
        size_t square = (size_t)(at.y / GRAIN) * ACROSS_SQUARES + (size_t)(at.x / GRAIN);
        unsigned char bit = too_large ? 1 : 2;
        if ((taken[square] & bit) == 0)
            mark(self, at, 3, too_large ? st_svg_color(ST_SVG_GREY) : st_svg_color(ST_SVG_BLUE));
        taken[square] |= bit;
        plans++;
    }
    return plans;
}

static void draw_legend(const picture *self, size_t fitting, size_t too_large)
{
    const st_results *found = &self->view->result->found;
    bool all = self->search.rows <= MOST_POINTS;
    const struct {
        const char *color;
        const char *what;
        size_t count;
        bool shown;
    } rows[] = {{st_svg_color(ST_SVG_BLUE), "plans that fit", fitting, true},
                {st_svg_color(ST_SVG_GREY), "too large", too_large, too_large > 0},
                {st_svg_color(ST_SVG_VERMILION), "Pareto front", found->front_count,
                 found->front_count > 0}};
    double y = TOP + 8;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        st_buffer text = {0};
        if (!rows[i].shown)
            continue;
        mark(self, (st_svg_point){WIDTH - RIGHT + 24, y}, 8, rows[i].color);
        st_buffer_printf(&text, "%s, %zu", rows[i].what, rows[i].count);
        st_svg_text(self->svg, (st_svg_point){WIDTH - RIGHT + 36, y + 4}, "",
                    st_buffer_read(&text));
        st_buffer_end(&text, &self->svg->failed);
        y += 20;
    }
    if (!all) {
        st_buffer text = {0};
        st_buffer_printf(&text, "of %" PRIu64 ", drawn uniformly", self->search.rows);
        st_svg_text(self->svg, (st_svg_point){WIDTH - RIGHT + 36, y + 4}, "faint",
                    st_buffer_read(&text));
        st_buffer_end(&text, &self->svg->failed);
    }
}

static st_status draw(picture *self)
{
    enum { SQUARES = (WIDTH / GRAIN + 1) * (HEIGHT / GRAIN + 1) };
    st_arena *arena = self->search.space->arena;
    size_t front = self->view->result->found.front_count;
    unsigned char *taken = st_arena_alloc(arena, SQUARES, 1);
    st_svg_point *places = st_arena_alloc(arena, front + 1, sizeof *places);
    const char *title = st_arena_printf(
        arena, "%s over %s of %zu plans of %s", self->search.space->cells[UP],
        self->search.space->cells[ACROSS], self->count, st_job_name(self->search.space->base.job));
    if (taken == NULL || places == NULL || title == NULL)
        return ST_ERR_MEMORY;
    /* A little room around the plans, and the limit in sight. */
    if (self->has_limit && isfinite(self->limit) && self->limit > 0) {
        self->least[ACROSS] = fmin(self->least[ACROSS], self->limit);
        self->most[ACROSS] = fmax(self->most[ACROSS], self->limit);
    }
    for (int side = 0; side < SIDES; side++) {
        double room = fmax(pow(self->most[side] / self->least[side], 0.04), 1.02);
        self->least[side] /= room;
        self->most[side] *= room;
    }
    st_svg_begin(self->svg, WIDTH, HEIGHT, title);
    st_svg_text(self->svg, (st_svg_point){LEFT, 26}, "large", title);
    const st_svg_box ground = {LEFT, TOP, WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM};
    st_svg_box_write(self->svg, ground, "panel");
    draw_axis(self, ACROSS);
    draw_axis(self, UP);
    size_t too_large = draw_plans(self, true, taken);
    size_t fitting = draw_plans(self, false, taken);
    const st_results *found = &self->view->result->found;
    for (size_t i = 0; i < found->front_count; i++) {
        double at[SIDES];
        front_at(self, i, at);
        places[i] = place_of(self, at);
    }
    st_svg_curve(self->svg, places, found->front_count, st_svg_color(ST_SVG_VERMILION));
    for (size_t i = 0; i < found->front_count; i++)
        mark(self, places[i], 6, st_svg_color(ST_SVG_VERMILION));
    char value[ST_QUANTITY_TEXT];
    const st_space *space = self->search.space;
    if (self->has_limit && self->limit > 0 && isfinite(self->limit)) {
        const double low[SIDES] = {self->least[UP], self->limit};
        const double high[SIDES] = {self->most[UP], self->limit};
        st_svg_point top = place_of(self, high);
        st_svg_line(self->svg, place_of(self, low), top, "ink");
        st_buffer text = {0};
        st_buffer_printf(
            &text, "%s %s", space->cells[SIDES],
            st_type_format(space->types[SIDES], self->limit, ST_STYLE_SCALED, value, sizeof value));
        st_svg_text(self->svg, (st_svg_point){top.x, top.y - 6}, "middle", st_buffer_read(&text));
        st_buffer_end(&text, &self->svg->failed);
    }
    draw_legend(self, fitting, too_large);
    st_svg_end(self->svg);
    return self->svg->failed ? ST_ERR_MEMORY : ST_OK;
}

st_status st_search_svg(const st_paths *paths, const st_search_view *view, st_buffer *svg,
                        st_errors *errors)
{
    picture self = {.view = view, .svg = svg};
    st_status status;
    const st_search *space_search = self.view->search;
    const st_sheet *sheet = space_search->space->sheet;
    const char **cells = st_arena_alloc(space_search->space->arena, SIDES + 1, sizeof *cells);
    if (cells == NULL) {
        status = st_out_of_memory(errors);
    } else {
        cells[UP] = space_search->request.front[UP];
        cells[ACROSS] = space_search->request.front[ACROSS];
        cells[SIDES] = limit_of(sheet, cells[ACROSS]);
        self.has_limit = cells[SIDES] != NULL;
        status = st_search_with_cells(paths, space_search, cells, SIDES + (self.has_limit ? 1 : 0),
                                      &self.search, errors);
    }
    if (status != ST_OK)
        return status;
    /* Of all plans of the space, or as many as the picture takes. */
    const st_search *search = &self.search;
    uint64_t drawn = search->rows < MOST_POINTS ? search->rows : MOST_POINTS;
    size_t extra = self.view->result->found.front_count;
    self.points =
        st_arena_alloc(search->space->arena, (size_t)drawn + extra + 1, sizeof *self.points);
    status = self.points != NULL ? st_search_each_block(search, MOST_POINTS, take_block, &self)
                                 : ST_ERR_MEMORY;
    for (size_t i = 0; status == ST_OK && i < view->result->found.front_count; i++) {
        point one = {.too_large = false};
        front_at(&self, i, one.at);
        if (self.search.rows > MOST_POINTS) /* else it is there already */
            add_point(&self, &one);
    }
    if (status == ST_OK && self.count == 0)
        return st_fail(errors, ST_ERR_CHECK, (st_place){0},
                       "no plan to draw: none has positive values of %s and %s",
                       self.search.space->cells[UP], self.search.space->cells[ACROSS]);
    status = status == ST_OK ? draw(&self) : status;
    return status == ST_OK ? ST_OK : st_out_of_memory(errors);
}
