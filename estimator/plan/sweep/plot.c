/* SPDX-License-Identifier: Apache-2.0 */
/* What a picture of a sweep shows; see plot.h. */
#include "sweep/plot.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/svg.h"
#include "steptime/keys.h"
#include "steptime/tool/roles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 3 };

typedef struct reader {
    const st_space *space;
    st_errors *errors;
    const char *parts[PARTS]; /* x, y, z; NULL: not given */
} reader;

static st_status read_parts(reader *self, const char *text)
{
    static const char *const shape = "x=KEY,y=CELL or x=KEY,y=KEY,z=CELL";
    while (*text != '\0') {
        size_t length = strcspn(text, ",");
        size_t part = text[0] == 'x' ? 0 : text[0] == 'y' ? 1 : 2;
        bool known = length > 2 && strchr("xyz", text[0]) != NULL && text[1] == '=';
        if (!known || self->parts[part] != NULL)
            return st_fail(self->errors, ST_ERR_USAGE, (st_place){.file = "--plot"},
                           "cannot read a part of the plot" ST_EXPECTED "%s", shape);
        self->parts[part] = st_arena_copy(self->space->arena, text + 2, length - 2);
        if (self->parts[part] == NULL) {
            (void)st_out_of_memory(self->errors);
            return ST_ERR_MEMORY;
        }
        text += length + (text[length] == ',' ? 1 : 0);
    }
    return ST_OK;
}

const char *st_plot_cell(const char *text, st_arena *arena)
{
    const char *cell = NULL;
    char found = '\0';
    while (*text != '\0') {
        size_t length = strcspn(text, ",");
        bool named = length > 2 && text[1] == '=' && (text[0] == 'y' || text[0] == 'z');
        if (named && text[0] > found) {
            found = text[0];
            cell = st_arena_copy(arena, text + 2, length - 2);
        }
        text += length + (text[length] == ',' ? 1 : 0);
    }
    return cell;
}

static size_t find_cell(const st_space *space, const char *name)
{
    for (size_t i = 0; i < space->cell_count; i++)
        if (strcmp(space->cells[i], name) == 0 && space->types[i]->kind == ST_TYPE_NUMBER)
            return i;
    return SIZE_MAX;
}

static st_status find_all(const reader *self, st_plot *plot)
{
    bool map = self->parts[2] != NULL;
    const char *cell = self->parts[map ? 2 : 1];
    const char *x = self->parts[0];
    const char *y = self->parts[1];
    if (x == NULL || y == NULL || cell == NULL)
        return st_fail(self->errors, ST_ERR_USAGE, (st_place){.file = "--plot"},
                       "the plot lacks x or y" ST_EXPECTED "x=KEY,y=CELL or x=KEY,y=KEY,z=CELL");
    plot->x = st_space_axis_of(self->space, x);
    plot->y = map ? st_space_axis_of(self->space, y) : SIZE_MAX;
    plot->cell = find_cell(self->space, cell);
    if (plot->x == SIZE_MAX || (map && plot->y == SIZE_MAX) || plot->x == plot->y)
        return st_fail(self->errors, ST_ERR_USAGE, (st_place){.file = "--plot"},
                       "'%.60s' is not an axis of the sweep" ST_EXPECTED "a key of --over",
                       plot->x == SIZE_MAX ? x : y);
    if (plot->cell == SIZE_MAX)
        return st_fail(self->errors, ST_ERR_USAGE, (st_place){.file = "--plot"},
                       "'%.60s' is not a column of numbers" ST_EXPECTED
                       "a cell of the sweep, see --cells",
                       cell);
    return ST_OK;
}

st_status st_plot_create(const st_space *space, const char *text, st_plot **plot, st_errors *errors)
{
    reader self = {.space = space, .errors = errors};
    st_plot *made = st_arena_alloc(space->arena, 1, sizeof *made);
    st_status status = made != NULL ? read_parts(&self, text) : ST_ERR_MEMORY;
    if (status != ST_OK || made == NULL)
        return status;
    made->space = space;
    status = find_all(&self, made);
    if (status != ST_OK)
        return status;
    made->columns = space->axes[made->x].axis.count;
    made->rows = made->y != SIZE_MAX  ? space->axes[made->y].axis.count
                 : space->request.zip ? 1
                                      : (size_t)(space->total / made->columns);
    size_t most = made->y != SIZE_MAX ? ST_PLOT_MAX_POINTS : ST_PLOT_MAX_LINES;
    if (made->rows > most || made->columns > ST_PLOT_MAX_POINTS / made->rows)
        return st_fail(self.errors, ST_ERR_USAGE, (st_place){.file = "--plot"},
                       "the plot is too large" ST_EXPECTED "at most 24 lines and 100000 points");
    size_t count = made->columns * made->rows;
    made->values = st_arena_alloc(space->arena, count, sizeof *made->values);
    for (size_t i = 0; made->values != NULL && i < count; i++)
        made->values[i] = (double)NAN;
    *plot = made;
    return made->values != NULL ? ST_OK : ST_ERR_MEMORY;
}

static bool has_lines(const st_plot *plot, size_t axis)
{
    const st_space_axis *axes = plot->space->axes;
    size_t leader = axes[plot->x].follows != 0 ? axes[plot->x].follows - 1 : plot->x;
    return !plot->space->request.zip && axis != leader && axes[axis].follows == 0;
}

/* The line of a row: its number among the combinations of the other axes. */
static size_t line_of(const st_plot *plot, const st_space_worker *worker, size_t row)
{
    uint64_t line = 0;
    if (plot->y != SIZE_MAX)
        return (size_t)worker->digits[plot->y][row];
    for (size_t i = 0; i < plot->space->axis_count && !plot->space->request.zip; i++)
        if (has_lines(plot, i))
            line = line * plot->space->axes[i].axis.count + worker->digits[i][row];
    return (size_t)line;
}

void st_plot_take(st_plot *plot, const st_space_worker *worker)
{
    for (size_t row = 0; row < worker->rows; row++) {
        if (worker->reasons[row] != ST_REASON_NONE)
            continue;
        size_t column = (size_t)worker->digits[plot->x][row];
        double *value = &plot->values[line_of(plot, worker, row) * plot->columns + column];
        double found = worker->outputs[plot->cell][row];
        *value = isnan(*value) || found < *value ? found : *value;
    }
}

enum {
    WIDTH = 720,
    HEIGHT = 470,
    LEFT = 90,
    TOP = 60,
    RIGHT = 190, /* room for the legend */
    BOTTOM = 60,
    MOST_LABELS = 12
};

typedef struct drawing {
    const st_plot *plot;
    st_buffer *buffer;
    double least;
    double most;
    double width;
    double height;
    bool logarithmic; /* colours of a map */
    double *places;   /* of the values of the axis across, shares of the width */
    bool x_log;
    double x_least; /* of numbers across; both NaN: not numbers, spaced evenly */
    double x_most;
} drawing;

static void label(const drawing *self, double x, double y, const char *style, const char *text)
{
    st_svg_text(self->buffer, (st_svg_point){x, y}, style, text);
}

static double x_of(const drawing *self, size_t column)
{
    return LEFT + self->width * self->places[column];
}

static double y_of(const drawing *self, double value)
{
    return TOP + self->height * (1 - (value - self->least) / (self->most - self->least));
}

/* --- across ---------------------------------------------------------------------------------- */

/* The number that a value of the axis across is written as; NaN: it is a word. */
static double x_number(const drawing *self, size_t column)
{
    char text[512];
    double number = 0;
    (void)st_space_value_text(self->plot->space, self->plot->x, column, text, sizeof text);
    bool whole = text[0] != '\0' && st_number_scan(text, strlen(text)) == strlen(text);
    bool read = whole && st_number_parse(text, strlen(text), (st_place){0}, &number, NULL) == ST_OK;
    return read ? number : (double)NAN;
}

static double x_share(const drawing *self, double number)
{
    double share = self->x_log ? log(number / self->x_least) / log(self->x_most / self->x_least)
                               : (number - self->x_least) / (self->x_most - self->x_least);
    return 0.03 + 0.94 * share;
}

/* Lines go over rising numbers to scale, logarithmic where they span a power of ten; everything
 * else is spaced evenly. */
static bool place_columns(drawing *self)
{
    size_t count = self->plot->columns;
    bool scaled = self->plot->y == SIZE_MAX && count > 1;
    self->places = calloc(count + 1, sizeof *self->places);
    self->x_least = self->x_most = (double)NAN;
    if (self->places == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        self->places[i] = x_number(self, i);
        scaled = scaled && isfinite(self->places[i]) &&
                 (i == 0 || self->places[i] > self->places[i - 1]);
    }
    if (scaled) {
        self->x_least = self->places[0];
        self->x_most = self->places[count - 1];
        self->x_log = self->x_least > 0 && self->x_most >= 10 * self->x_least;
    }
    for (size_t i = 0; i < count; i++)
        self->places[i] =
            scaled ? x_share(self, self->places[i]) : ((double)i + 0.5) / (double)count;
    return true;
}

/* Values of an axis in a row, as many as there is room for. */
static void label_values(const drawing *self, size_t axis, bool across)
{
    size_t count = self->plot->space->axes[axis].axis.count;
    size_t step = (count + MOST_LABELS - 1) / MOST_LABELS;
    char texts[MOST_LABELS][128];
    st_svg_label labels[MOST_LABELS];
    size_t made = 0;
    for (size_t i = 0; i < count; i += step) {
        char *text = texts[made];
        (void)st_space_value_text(self->plot->space, axis, i, text, sizeof texts[0]);
        if (across) {
            labels[made] = (st_svg_label){.x = x_of(self, i), .text = text, .first = i == 0};
            made++;
        } else {
            double y = TOP + self->height * (1 - ((double)i + 0.5) / (double)count);
            label(self, LEFT - 8, y + 4, "end", text);
        }
    }
    st_svg_labels_across(self->buffer, labels, made, TOP + self->height + 18);
}

static void label_across(const drawing *self)
{
    /* Whole numbers label themselves, where they are few; between others round ones are. */
    bool own = self->plot->columns <= ST_SVG_TICKS;
    for (size_t i = 0; own && i < self->plot->columns; i++) {
        double number = x_number(self, i);
        own = number == floor(number);
    }
    if (own || isnan(self->x_least)) {
        label_values(self, self->plot->x, true);
        return;
    }
    double ticks[ST_SVG_TICKS];
    char texts[ST_SVG_TICKS][ST_QUANTITY_TEXT];
    st_svg_label labels[ST_SVG_TICKS];
    size_t count = self->x_log ? st_svg_log_ticks(self->x_least, self->x_most, ticks)
                               : st_svg_ticks(self->x_least, self->x_most, ticks);
    for (size_t i = 0; i < count; i++)
        labels[i] = (st_svg_label){.x = LEFT + self->width * x_share(self, ticks[i]),
                                   .text = st_number_format(ticks[i], texts[i], sizeof texts[i]),
                                   .first = st_svg_is_power(ticks[i])};
    st_svg_labels_across(self->buffer, labels, count, TOP + self->height + 18);
}

/* --- frame ----------------------------------------------------------------------------------- */

static const char *axis_title(const drawing *self, size_t axis, char *text, size_t size)
{
    const char *unit = st_space_axis_unit(self->plot->space, axis);
    (void)snprintf(text, size, unit[0] != '\0' ? "%s [%s]" : "%s",
                   self->plot->space->axes[axis].axis.path, unit);
    return text;
}

static const char *value_text(const drawing *self, double value, char *text, size_t size)
{
    return st_type_format(self->plot->space->types[self->plot->cell], value, ST_STYLE_SCALED, text,
                          size);
}

/* Round in the unit of the cell. */
static size_t round_numbers(const drawing *self, double ticks[ST_SVG_TICKS])
{
    double one = st_unit_from_base(&self->plot->space->types[self->plot->cell]->unit, 1);
    size_t count = self->logarithmic ? st_svg_log_ticks(self->least * one, self->most * one, ticks)
                                     : st_svg_ticks(self->least * one, self->most * one, ticks);
    for (size_t i = 0; i < count; i++)
        ticks[i] /= one;
    return count;
}

static double share_of(const drawing *self, double value)
{
    if (!(self->most > self->least))
        return 1; /* all are as great */
    return self->logarithmic ? log(value / self->least) / log(self->most / self->least)
                             : (value - self->least) / (self->most - self->least);
}

/* --- lines ----------------------------------------------------------------------------------- */

static void draw_lines(const drawing *self)
{
    char text[ST_QUANTITY_TEXT];
    double ticks[ST_SVG_TICKS];
    size_t count = round_numbers(self, ticks);
    for (size_t i = 0; i < count; i++) {
        double y = y_of(self, ticks[i]);
        st_svg_line(self->buffer, (st_svg_point){LEFT, y}, (st_svg_point){LEFT + self->width, y},
                    "grid");
        label(self, LEFT - 8, y + 4, "end", value_text(self, ticks[i], text, sizeof text));
    }
    if (self->plot->rows > 1) {
        /* "batch.micro recompute": what the names of lines are values of. */
        const st_space *space = self->plot->space;
        st_buffer title_text = {0};
        for (size_t i = 0; i < space->axis_count; i++)
            if (has_lines(self->plot, i))
                st_buffer_printf(&title_text, "%s%s", title_text.length > 0 ? " " : "",
                                 space->axes[i].axis.path);
        if (title_text.length > 0)
            label(self, LEFT + self->width + 12, TOP - 16, "", title_text.data);
        st_buffer_end(&title_text, &self->buffer->failed);
    }
    st_svg_point *points = calloc(self->plot->columns, sizeof *points);
    for (size_t row = 0; points != NULL && row < self->plot->rows; row++) {
        const st_plot *plot = self->plot;
        char line_text[128];
        const char *color = st_svg_color(row);
        for (size_t i = 0; i < plot->columns; i++) { /* a rejected row breaks the line */
            points[i] =
                (st_svg_point){x_of(self, i), y_of(self, plot->values[row * plot->columns + i])};
        }
        st_svg_curve(self->buffer, points, plot->columns, color);
        if (plot->rows > 1) {
            double y = TOP + 16.0 * (double)row + 8;
            const st_svg_point from = {LEFT + self->width + 12, y};
            const st_svg_point to = {LEFT + self->width + 32, y};
            st_svg_line(self->buffer, from, to, color);
            /* The values of the other axes of a line. */
            const size_t size = sizeof line_text;
            const st_space *space = self->plot->space;
            size_t rest = row;
            size_t used = size;
            char value[512];
            line_text[--used] = '\0';
            for (size_t i = space->axis_count; i-- > 0;) {
                if (!has_lines(self->plot, i))
                    continue;
                size_t name_count = space->axes[i].axis.count;
                (void)st_space_value_text(space, i, rest % name_count, value, sizeof value);
                rest /= name_count;
                size_t length = strlen(value);
                if (length + 1 >= used)
                    break;
                if (line_text[used] != '\0')
                    line_text[--used] = ' ';
                used -= length;
                memcpy(line_text + used, value, length);
            }
            memmove(line_text, line_text + used, size - used);
            label(self, to.x + 6, y + 4, "", line_text);
        }
    }
    self->buffer->failed = self->buffer->failed || points == NULL;
    free(points);
}

/* --- heat map -------------------------------------------------------------------------------- */

static void draw_map(const drawing *self)
{
    const st_plot *plot = self->plot;
    double width = self->width / (double)plot->columns;
    double height = self->height / (double)plot->rows;
    char color[8];
    st_svg_box_write(self->buffer, (st_svg_box){LEFT, TOP, self->width, self->height}, "map");
    for (size_t row = 0; row < plot->rows; row++) {
        for (size_t i = 0; i < plot->columns; i++) {
            double value = plot->values[row * plot->columns + i];
            if (!isfinite(value))
                continue;
            const st_svg_box box = {LEFT + width * (double)i,
                                    TOP + self->height - height * (double)(row + 1), width, height};
            st_svg_box_write(self->buffer, box, st_svg_heat(share_of(self, value), color));
        }
    }
    label_values(self, plot->y, false);
    char text[ST_QUANTITY_TEXT];
    double x = LEFT + self->width + 16;
    double scale_height = self->height;
    if (!isfinite(self->least))
        return; /* all rows were rejected */
    label(self, x, TOP - 16, "", self->plot->space->cells[self->plot->cell]);
    st_svg_heat_bar(self->buffer, (st_svg_box){x, TOP, 18, scale_height});
    double ticks[ST_SVG_TICKS];
    size_t count = round_numbers(self, ticks);
    if (count == 0)
        ticks[count++] = self->most; /* all are as great */
    for (size_t i = 0; i < count; i++) {
        double y = TOP + (1 - share_of(self, ticks[i])) * scale_height;
        label(self, x + 26, y + 4, "", value_text(self, ticks[i], text, sizeof text));
    }
}

void st_plot_write(const st_plot *plot, st_buffer *buffer)
{
    drawing self = {.plot = plot,
                    .buffer = buffer,
                    .width = WIDTH - LEFT - RIGHT,
                    .height = HEIGHT - TOP - BOTTOM};
    st_buffer title = {0};
    st_buffer_printf(&title, "%s of %s", plot->space->cells[plot->cell],
                     st_job_name(plot->space->base.job));
    st_svg_begin(buffer, WIDTH, HEIGHT, st_buffer_read(&title));
    st_buffer_end(&title, &buffer->failed);
    size_t count = self.plot->columns * self.plot->rows;
    self.least = HUGE_VAL;
    self.most = -HUGE_VAL;
    for (size_t i = 0; i < count; i++) {
        double value = self.plot->values[i];
        if (isfinite(value)) {
            self.least = fmin(self.least, value);
            self.most = fmax(self.most, value);
        }
    }
    bool lines = self.plot->y == SIZE_MAX;
    if (lines && self.least > 0)
        self.least = 0; /* a line's height is compared with nothing */
    self.logarithmic = !lines && !self.plot->linear && self.least > 0;
    if (lines && !(self.most > self.least))
        self.most = self.least + 1;
    /* "step_time: time of one training step" */
    const st_space *space = self.plot->space;
    const char *name = space->cells[self.plot->cell];
    const st_sheet_cell *cell = st_sheet_find_cell(space->sheet, name);
    st_buffer text = {0};
    bool has_doc = cell != NULL && cell->doc != NULL;
    st_buffer_printf(&text, "%s of %s", name, st_job_name(space->base.job));
    label(&self, LEFT, 24, "large", st_buffer_read(&text));
    st_buffer_end(&text, &self.buffer->failed);
    label(&self, LEFT, 42, "faint", has_doc ? cell->doc : "");
    if (!place_columns(&self))
        buffer->failed = true;
    else if (plot->y == SIZE_MAX)
        draw_lines(&self);
    else
        draw_map(&self);
    if (self.places != NULL) {
        char frame_text[512];
        const st_svg_point corners[4] = {{LEFT, TOP},
                                         {LEFT, TOP + self.height},
                                         {LEFT + self.width, TOP + self.height},
                                         {LEFT + self.width, TOP}};
        for (size_t i = 0; i < 4; i++)
            st_svg_line(self.buffer, corners[i], corners[(i + 1) % 4], "grid");
        label_across(&self);
        label(&self, LEFT + self.width / 2, HEIGHT - 14, "middle",
              axis_title(&self, self.plot->x, frame_text, sizeof frame_text));
        label(&self, 20, TOP + self.height / 2, "middle upwards",
              self.plot->y == SIZE_MAX
                  ? self.plot->space->cells[self.plot->cell]
                  : axis_title(&self, self.plot->y, frame_text, sizeof frame_text));
    }
    free(self.places);
    st_svg_end(buffer);
}

enum { GOAL, MEMORY, LIMIT, CELLS };

static st_status find_axes(const st_space *space, const char *const keys[2], st_sweep_map *map,
                           st_errors *errors)
{
    const st_place place = {.file = "--map"};
    for (int side = 0; side < 2; side++) {
        /* "tp" is "parallel.tp". */
        const char *name = keys[side];
        const char *whole = st_arena_printf(space->arena, ST_KEY_PARALLEL ".%s", name);
        size_t own = st_space_axis_of(space, name);
        size_t short_for = whole != NULL ? st_space_axis_of(space, whole) : SIZE_MAX;
        map->axes[side] = own < short_for ? own : short_for;
        if (map->axes[side] == SIZE_MAX)
            return st_fail(errors, ST_ERR_USAGE, place,
                           "'%.80s' is not an axis of the sweep" ST_EXPECTED "a key of --over",
                           keys[side]);
    }
    if (map->axes[0] == map->axes[1])
        return st_fail(errors, ST_ERR_USAGE, place, "both keys are %s" ST_EXPECTED "two keys",
                       space->axes[map->axes[0]].axis.path);
    return ST_OK;
}

st_status st_sweep_map_create(const st_paths *paths, const st_space *space,
                              const char *const keys[2], st_sweep_map *map, st_errors *errors)
{
    st_fit_map *made = &map->map;
    *map = (st_sweep_map){0};
    st_status status = find_axes(space, keys, map, errors);
    if (status == ST_OK) {
        /* The same space with the cells of a map, whose rows no check rejects. */
        static const st_role_part wanted[CELLS] = {[GOAL] = {ST_ROLE_STEP, 0},
                                                   [MEMORY] = {ST_ROLE_MEMORY, 0},
                                                   [LIMIT] = {ST_ROLE_GPU_MEMORY, 0}};
        const st_role_list list = {wanted, CELLS, "a map of the plans that fit needs"};
        const char **cells = st_arena_alloc(space->arena, CELLS, sizeof *cells);
        st_space_request request = space->request;
        st_status space_status = cells == NULL
                                     ? st_out_of_memory(errors)
                                     : st_sheet_need_roles(space->sheet, &list, cells, errors);
        request.cells = cells;
        request.cell_count = CELLS;
        request.checks_warn = true;
        status = space_status == ST_OK
                     ? st_space_create_again(paths, &request, space->arena, &map->space, errors)
                     : space_status;
    }
    if (status != ST_OK)
        return status;
    *made = (st_fit_map){.job = st_job_name(space->base.job),
                         .goal = map->space->cells[GOAL],
                         .goal_type = map->space->types[GOAL],
                         .sign = 1,
                         .plans = map->space->rows,
                         .arena = space->arena};
    for (int side = 0; side < 2; side++) {
        char text[512];
        const st_space_axis *axis = &map->space->axes[map->axes[side]];
        made->keys[side] = axis->axis.path;
        made->count[side] = axis->axis.count;
        made->texts[side] =
            st_arena_alloc(made->arena, made->count[side] + 1, sizeof *made->texts[side]);
        for (size_t i = 0; made->texts[side] != NULL && i < made->count[side]; i++)
            made->texts[side][i] = st_arena_printf(
                made->arena, "%s",
                st_space_value_text(map->space, map->axes[side], i, text, sizeof text));
    }
    if (made->count[0] > ST_PLOT_MAX_POINTS || made->count[1] > ST_PLOT_MAX_POINTS ||
        made->count[0] * made->count[1] > ST_PLOT_MAX_POINTS)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){.file = "--map"},
                       "the map is too large" ST_EXPECTED "at most 100000 pairs");
    made->cells =
        st_arena_alloc(made->arena, made->count[0] * made->count[1] + 1, sizeof *made->cells);
    return st_arena_failed(made->arena) ? st_out_of_memory(errors) : ST_OK;
}

void st_sweep_map_take(st_sweep_map *map, const st_space_worker *worker)
{
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(map->space->sheet, &count);
    for (size_t row = 0; row < worker->rows; row++) {
        bool valid = worker->reasons[row] == ST_REASON_NONE;
        bool fits = true;
        for (size_t i = 0; i < count && valid; i++) {
            bool holds = checks[i].warning || worker->checks[i][row] == 1.0;
            valid = holds || checks[i].limit;
            fits = fits && holds;
        }
        const double missing_bytes = worker->outputs[MEMORY][row] - worker->outputs[LIMIT][row];
        if (valid)
            st_fit_map_take(&map->map, (size_t)worker->digits[map->axes[0]][row],
                            (size_t)worker->digits[map->axes[1]][row],
                            &(st_map_cell){.tried = true,
                                           .fits = fits,
                                           .goal = worker->outputs[GOAL][row],
                                           .memory_bytes = worker->outputs[MEMORY][row],
                                           .missing_bytes = fits ? 0 : missing_bytes});
    }
}
