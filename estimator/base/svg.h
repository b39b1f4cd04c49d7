/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures as SVG. A picture has a light and a dark face, and the viewer chooses the one that
 * its user prefers: text, lines and grounds name a tone, and only what means something by its
 * colour (kinds of tasks, heights of a map) has one of its own, distinguishable on both.
 *
 * A tone is a class of the style sheet: "ink", "faint", "grid", "panel" (behind data, a little
 * apart from the page), "map" (behind a map, light in both faces). A colour is "#rrggbb". Numbers
 * are written without the locale's help.
 */
#ifndef STEPTIME_BASE_SVG_H
#define STEPTIME_BASE_SVG_H

#include "steptime/arena.h"

#include <stdbool.h>

typedef struct st_svg_box {
    double x;
    double y;
    double width;
    double height;
} st_svg_box;

typedef struct st_svg_point {
    double x;
    double y;
} st_svg_point;

/* Everything else goes between these two. */
void st_svg_begin(st_buffer *svg, int width, int height, const char *title);
void st_svg_end(st_buffer *svg);

void st_svg_box_write(st_buffer *svg, st_svg_box box, const char *color);
void st_svg_line(st_buffer *svg, st_svg_point from, st_svg_point to, const char *color);
/* A line through points, thick; where one is not finite, it is broken. */
void st_svg_curve(st_buffer *svg, const st_svg_point *points, size_t count, const char *color);
/* What lies inside a line through points that comes back to the first one. */
void st_svg_area(st_buffer *svg, const st_svg_point *points, size_t count, const char *color);
/* `style` has any of "middle", "end", "large", "faint", "upwards" and, inside a box, "inside". */
void st_svg_text(st_buffer *svg, st_svg_point at, const char *style, const char *text);

/* A box through which one sees what lies behind: of the same thing, but hidden. */
void st_svg_pale_box(st_buffer *svg, st_svg_box box, const char *color);
/* About as wide as the text is drawn. */
double st_svg_text_width(const char *text);
/* Text with the page behind it instead of what was drawn there, from its left end. */
void st_svg_text_over(st_buffer *svg, st_svg_point at, const char *text);

/* Labels of an axis that runs across, in their order; what is to be seen rather than others comes
 * first, and what would touch another one is left out. */
typedef struct st_svg_label {
    double x;
    const char *text;
    bool first;
} st_svg_label;
void st_svg_labels_across(st_buffer *svg, const st_svg_label *labels, size_t count, double y);

/* Squares with words in rows from a point on; returns how high they are. */
typedef struct st_svg_key {
    const char *color;
    const char *text;
} st_svg_key;
double st_svg_legend(st_buffer *svg, const st_svg_key *keys, size_t count, st_svg_box room);

/*
 * The palette of all pictures, distinguishable by most eyes and in print. The first eight are those
 * of Okabe and Ito 2008 but for black and yellow.
 */
typedef enum st_svg_hue {
    ST_SVG_BLUE,
    ST_SVG_VERMILION,
    ST_SVG_GREEN,
    ST_SVG_PINK,
    ST_SVG_ORANGE,
    ST_SVG_SKY,
    ST_SVG_VIOLET,
    ST_SVG_GREY,
    ST_SVG_GOLD,
    ST_SVG_BROWN,
    ST_SVG_YELLOW,
    ST_SVG_SLATE,
    ST_SVG_HUES
} st_svg_hue;
/* Colours of things that they distinguish, cyclic. */
const char *st_svg_color(size_t index);
/* The one scale of colours of all maps: from pale yellow over red to dark violet, so that dark is
 * much, also when printed in grey. What has the least is not as pale as what has none. */
const char *st_svg_heat(double share, char color[8]);
/* The scale as a bar, the greatest on top. */
void st_svg_heat_bar(st_buffer *svg, st_svg_box box);

enum { ST_SVG_TICKS = 12 };
/* Round numbers, 1, 2 or 5 times a power of ten, from `least` to `most`; how many. On a logarithmic
 * scale, of which `least` is above 0, they are powers of ten where it spans several, and those of a
 * linear scale where it is short. */
size_t st_svg_ticks(double least, double most, double ticks[ST_SVG_TICKS]);
size_t st_svg_log_ticks(double least, double most, double ticks[ST_SVG_TICKS]);

/* Whether a tick is a power of ten, which is labelled before others. */
bool st_svg_is_power(double tick);

#endif
