/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing a sweep as SVG; see plot.h. */
#include "sweep/plot.h"

#include "base/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 720,
    HEIGHT = 440,
    LEFT = 90,
    TOP = 30,
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
} drawing;

static void label(const drawing *self, double x, double y, const char *style, const char *text)
{
    st_svg_text(self->buffer, (st_svg_point){x, y}, style, text);
}

static void find_range(drawing *self)
{
    size_t count = self->plot->columns * self->plot->rows;
    self->least = HUGE_VAL;
    self->most = -HUGE_VAL;
    for (size_t i = 0; i < count; i++) {
        double value = self->plot->values[i];
        if (isfinite(value)) {
            self->least = fmin(self->least, value);
            self->most = fmax(self->most, value);
        }
    }
    bool lines = self->plot->y == SIZE_MAX;
    if (lines && self->least > 0) {
        self->least = 0; /* a line's height is compared with nothing */
    }
    self->logarithmic = !lines && !self->plot->linear && self->least > 0;
    if (!(self->most > self->least)) {
        self->most = self->least + 1;
    }
}

static double x_of(const drawing *self, size_t column)
{
    double count = (double)self->plot->columns;
    return LEFT + self->width * ((double)column + 0.5) / count;
}

static double y_of(const drawing *self, double value)
{
    return TOP + self->height * (1 - (value - self->least) / (self->most - self->least));
}

/* Values of an axis, as many as there is room for. */
static void label_axis(const drawing *self, size_t axis, bool across)
{
    size_t count = self->plot->space->axes[axis].axis.count;
    size_t step = (count + MOST_LABELS - 1) / MOST_LABELS;
    char text[512];
    for (size_t i = 0; i < count; i += step) {
        (void)st_space_value_text(self->plot->space, axis, i, text, sizeof text);
        if (across) {
            label(self, x_of(self, i), TOP + self->height + 18, "middle", text);
        } else {
            double y = TOP + self->height * (1 - ((double)i + 0.5) / (double)count);
            label(self, LEFT - 8, y + 4, "end", text);
        }
    }
}

static const char *axis_title(const drawing *self, size_t axis, char *text, size_t size)
{
    const char *unit = st_space_axis_unit(self->plot->space, axis);
    (void)snprintf(text, size, unit[0] != '\0' ? "%s [%s]" : "%s",
                   self->plot->space->axes[axis].axis.path, unit);
    return text;
}

static void draw_frame(const drawing *self)
{
    char text[512];
    const st_svg_point corners[4] = {{LEFT, TOP},
                                     {LEFT, TOP + self->height},
                                     {LEFT + self->width, TOP + self->height},
                                     {LEFT + self->width, TOP}};
    for (size_t i = 0; i < 4; i++) {
        st_svg_line(self->buffer, corners[i], corners[(i + 1) % 4], "#888888");
    }
    label_axis(self, self->plot->x, true);
    label(self, LEFT + self->width / 2, HEIGHT - 14, "middle",
          axis_title(self, self->plot->x, text, sizeof text));
    label(self, LEFT, TOP - 12, "middle",
          self->plot->y == SIZE_MAX ? self->plot->space->cells[self->plot->cell]
                                    : axis_title(self, self->plot->y, text, sizeof text));
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
    for (size_t i = 0; i < count; i++) {
        ticks[i] /= one;
    }
    return count;
}

static double share_of(const drawing *self, double value)
{
    return self->logarithmic ? log(value / self->least) / log(self->most / self->least)
                             : (value - self->least) / (self->most - self->least);
}

/* --- lines ----------------------------------------------------------------------------------- */

/* The values of the other axes that a line stands for. */
static void line_name(const drawing *self, size_t number_of_line, char *text, size_t size)
{
    const st_space *space = self->plot->space;
    size_t rest = number_of_line;
    size_t used = size;
    char value[512];
    text[--used] = '\0';
    for (size_t i = space->axis_count; i-- > 0;) {
        if (!st_plot_has_lines(self->plot, i)) {
            continue;
        }
        size_t count = space->axes[i].axis.count;
        (void)st_space_value_text(space, i, rest % count, value, sizeof value);
        rest /= count;
        size_t length = strlen(value);
        if (length + 1 >= used) {
            break;
        }
        if (text[used] != '\0') {
            text[--used] = ' ';
        }
        used -= length;
        memcpy(text + used, value, length);
    }
    memmove(text, text + used, size - used);
}

/* "batch.micro recompute": what the names of lines are values of. */
static void draw_legend_title(const drawing *self)
{
    const st_space *space = self->plot->space;
    st_buffer text = {0};
    for (size_t i = 0; i < space->axis_count; i++) {
        if (st_plot_has_lines(self->plot, i)) {
            st_buffer_printf(&text, "%s%s", text.length > 0 ? " " : "", space->axes[i].axis.path);
        }
    }
    if (text.length > 0) {
        label(self, LEFT + self->width + 12, TOP - 12, "", text.data);
    }
    self->buffer->failed = self->buffer->failed || text.failed;
    st_buffer_free(&text);
}

static void draw_line(const drawing *self, size_t row, st_svg_point *points)
{
    const st_plot *plot = self->plot;
    char text[128];
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
        line_name(self, row, text, sizeof text);
        label(self, to.x + 6, y + 4, "", text);
    }
}

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
        draw_legend_title(self);
    }
    st_svg_point *points = calloc(self->plot->columns, sizeof *points);
    for (size_t row = 0; points != NULL && row < self->plot->rows; row++) {
        draw_line(self, row, points);
    }
    self->buffer->failed = self->buffer->failed || points == NULL;
    free(points);
}

/* --- heat map -------------------------------------------------------------------------------- */

/* From dark blue over green to yellow, brighter all the way. */
static const char *color_of(double share, char color[8])
{
    static const double stops[][3] = {{43, 35, 104}, {33, 145, 140}, {253, 231, 37}};
    return st_svg_mix(stops, sizeof stops / sizeof stops[0], share, color);
}

static void draw_scale(const drawing *self)
{
    char text[ST_QUANTITY_TEXT];
    char color[8];
    double x = LEFT + self->width + 16;
    label(self, x, TOP - 12, "", self->plot->space->cells[self->plot->cell]);
    enum { STEPS = 48 };
    double height = self->height - 20;
    double step = height / STEPS;
    for (int i = 0; i < STEPS; i++) {
        const st_svg_box box = {x, TOP + height - step * (i + 1), 18, step + 0.5};
        st_svg_box_write(self->buffer, box, color_of(i / (STEPS - 1.0), color));
    }
    double ticks[ST_SVG_TICKS];
    size_t count = round_numbers(self, ticks);
    for (size_t i = 0; i < count; i++) {
        double y = TOP + (1 - share_of(self, ticks[i])) * height;
        label(self, x + 26, y + 4, "", value_text(self, ticks[i], text, sizeof text));
    }
}

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
            if (!isfinite(value)) {
                continue;
            }
            const st_svg_box box = {LEFT + width * (double)i,
                                    TOP + self->height - height * (double)(row + 1), width, height};
            st_svg_box_write(self->buffer, box, color_of(share_of(self, value), color));
        }
    }
    label_axis(self, plot->y, false);
    draw_scale(self);
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
    st_svg_begin(buffer, WIDTH, HEIGHT, title.data != NULL ? title.data : "");
    buffer->failed = buffer->failed || title.failed;
    st_buffer_free(&title);
    find_range(&self);
    if (plot->y == SIZE_MAX) {
        draw_lines(&self);
    } else {
        draw_map(&self);
    }
    draw_frame(&self);
    st_svg_end(buffer);
}
