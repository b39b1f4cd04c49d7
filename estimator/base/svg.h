/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures as SVG. A picture has a light and a dark face, of which the viewer takes the one that
 * its user prefers: text, lines and grounds name a tone, and only what means something by its
 * colour (kinds of tasks, heights of a map) has one of its own, which can be told apart on both.
 *
 * A tone is a class of the style sheet: "ink", "faint", "grid", "panel" (behind data, a little
 * apart from the page), "map" (behind a map, light in both faces). A colour is "#rrggbb". Numbers
 * are written without the locale's help.
 */
#ifndef STEPTIME_BASE_SVG_H
#define STEPTIME_BASE_SVG_H

#include "steptime/arena.h"

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

/* Everything else stands between these two. */
void st_svg_begin(st_buffer *svg, int width, int height, const char *title);
void st_svg_end(st_buffer *svg);

void st_svg_box_write(st_buffer *svg, st_svg_box box, const char *color);
void st_svg_line(st_buffer *svg, st_svg_point from, st_svg_point to, const char *color);
/* A line through points, thick; where one is not finite, it is broken. */
void st_svg_curve(st_buffer *svg, const st_svg_point *points, size_t count, const char *color);
/* `style` has any of "middle", "end", "large", "faint", "upwards" and, inside a box, "inside". */
void st_svg_text(st_buffer *svg, st_svg_point at, const char *style, const char *text);

/* Colours of things that are told apart by them, over and over (Okabe and Ito 2008). */
const char *st_svg_color(size_t index);

enum { ST_SVG_TICKS = 12 };
/* Round numbers, 1, 2 or 5 times a power of ten, from `least` to `most`; how many. On a logarithmic
 * scale, of which `least` is above 0, they are powers of ten where it spans several, and those of a
 * linear scale where it is short. */
size_t st_svg_ticks(double least, double most, double ticks[ST_SVG_TICKS]);
size_t st_svg_log_ticks(double least, double most, double ticks[ST_SVG_TICKS]);

/* The colour at a share of a scale of colours that begins with the first and ends with the last. */
const char *st_svg_mix(const double (*stops)[3], size_t count, double share, char color[8]);

#endif
