/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures as SVG; see svg.h. */
#include "base/svg.h"

#include "base/text.h"
#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char style_sheet[] =
    "<style>\n"
    "text{fill:#1a1a1a}.faint{fill:#555}.inside{fill:#111}.large{font-size:16px}\n"
    ".middle{text-anchor:middle}.end{text-anchor:end}\n"
    ".page{fill:#fff}.panel{fill:#f2f2f2}.map{fill:#fff}\n"
    "path{fill:none}.ink{stroke:#000}.grid{stroke:#bbb}\n"
    "@media (prefers-color-scheme:dark){text{fill:#e6e6e6}.faint{fill:#a8a8a8}.inside{fill:#111}\n"
    ".page{fill:#16181c}.panel{fill:#24272d}.map{fill:#f4f4f4}.ink{stroke:#fff}.grid{stroke:#555}}"
    "\n"
    "@media print{text{fill:#000}.faint{fill:#555}.page,.map{fill:#fff}.panel{fill:#f2f2f2}"
    ".ink{stroke:#000}.grid{stroke:#bbb}}\n"
    "</style>\n";

/* Hundredths of a pixel, as few digits as they need. */
static void write_pixels(double pixels, st_buffer *svg)
{
    long hundredths = lround(pixels * 100);
    unsigned long size = (unsigned long)labs(hundredths);
    st_buffer_printf(svg, "%s%lu", hundredths < 0 ? "-" : "", size / 100);
    if (size % 100 > 0)
        st_buffer_printf(svg, size % 10 > 0 ? ".%02lu" : ".%lu",
                         size % 10 > 0 ? size % 100 : size % 100 / 10);
}

static void write_number(const char *name, double pixels, st_buffer *svg)
{
    st_buffer_printf(svg, " %s=\"", name);
    write_pixels(pixels, svg);
    st_buffer_text(svg, "\"");
}

static void write_color(const char *attribute, const char *color, st_buffer *svg)
{
    st_buffer_printf(svg, " %s=\"%s\"", color[0] == '#' ? attribute : "class", color);
}

void st_svg_begin(st_buffer *svg, int width, int height, const char *title)
{
    st_buffer_printf(svg,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                     "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n<title>",
                     width, height, width, height);
    st_text_xml(title, svg);
    st_buffer_printf(svg, "</title>\n%s", style_sheet);
    st_svg_box_write(svg, (st_svg_box){0, 0, width, height}, "page");
}

void st_svg_end(st_buffer *svg)
{
    st_buffer_text(svg, "</svg>\n");
}

void st_svg_box_write(st_buffer *svg, st_svg_box box, const char *color)
{
    st_buffer_text(svg, "<rect");
    write_number("x", box.x, svg);
    write_number("y", box.y, svg);
    write_number("width", box.width, svg);
    write_number("height", box.height, svg);
    write_color("fill", color, svg);
    st_buffer_text(svg, "/>\n");
}

void st_svg_pale_box(st_buffer *svg, st_svg_box box, const char *color)
{
    st_buffer_text(svg, "<g fill-opacity=\"0.35\">");
    st_svg_box_write(svg, box, color);
    st_buffer_text(svg, "</g>\n");
}

static void write_point(const char *command, st_svg_point point, st_buffer *svg)
{
    st_buffer_text(svg, command);
    write_pixels(point.x, svg);
    st_buffer_text(svg, " ");
    write_pixels(point.y, svg);
}

void st_svg_line(st_buffer *svg, st_svg_point from, st_svg_point to, const char *color)
{
    st_buffer_text(svg, "<path d=\"");
    write_point("M", from, svg);
    write_point("L", to, svg);
    st_buffer_text(svg, "\"");
    write_color("stroke", color, svg);
    st_buffer_text(svg, "/>\n");
}

void st_svg_curve(st_buffer *svg, const st_svg_point *points, size_t count, const char *color)
{
    bool open = false;
    st_buffer_text(svg, "<path d=\"");
    for (size_t i = 0; i < count; i++) {
        bool finite = isfinite(points[i].x) && isfinite(points[i].y);
        if (finite && !open)
            write_point("M", points[i], svg); /* and a line to itself: a point without neighbours */
        if (finite)
            write_point("L", points[i], svg);
        open = finite;
    }
    st_buffer_text(svg, "\" stroke-width=\"2\" stroke-linecap=\"round\"");
    write_color("stroke", color, svg);
    st_buffer_text(svg, "/>\n");
}

void st_svg_area(st_buffer *svg, const st_svg_point *points, size_t count, const char *color)
{
    st_buffer_text(svg, "<polygon points=\"");
    for (size_t i = 0; i < count; i++)
        write_point(i == 0 ? "" : " ", points[i], svg);
    st_buffer_text(svg, "\"");
    write_color("fill", color, svg);
    st_buffer_text(svg, "/>\n");
}

void st_svg_text(st_buffer *svg, st_svg_point at, const char *style, const char *text)
{
    st_buffer_text(svg, "<text");
    if (strstr(style, "upwards") != NULL) {
        st_buffer_text(svg, " transform=\"translate(");
        write_pixels(at.x, svg);
        st_buffer_text(svg, " ");
        write_pixels(at.y, svg);
        st_buffer_text(svg, ") rotate(-90)\"");
    } else {
        write_number("x", at.x, svg);
        write_number("y", at.y, svg);
    }
    if (style[0] != '\0')
        st_buffer_printf(svg, " class=\"%s\"", style);
    st_buffer_text(svg, ">");
    st_text_xml(text, svg);
    st_buffer_text(svg, "</text>\n");
}

double st_svg_text_width(const char *text)
{
    enum { PIXELS = 7 }; /* of a letter, sans-serif, 12 pixels */
    return PIXELS * (double)st_utf8_count(text, strlen(text));
}

void st_svg_text_over(st_buffer *svg, st_svg_point at, const char *text)
{
    st_svg_box_write(svg, (st_svg_box){at.x - 2, at.y - 11, st_svg_text_width(text) + 4, 14},
                     "page");
    st_svg_text(svg, at, "", text);
}

/* --- labels and legends ---------------------------------------------------------------------- */

static bool touches(const st_svg_label *one, const st_svg_label *other)
{
    enum { APART = 8 };
    double room = (st_svg_text_width(one->text) + st_svg_text_width(other->text)) / 2 + APART;
    return fabs(one->x - other->x) < room;
}

/* Labels are few. */
static bool has_room(const st_svg_label *labels, size_t count, size_t index)
{
    for (size_t i = 0; i < count; i++) {
        const bool is_earlier =
            labels[i].first == labels[index].first ? i < index : labels[i].first;
        if (i != index && is_earlier && touches(&labels[i], &labels[index]) &&
            has_room(labels, count, i))
            return false; /* it is drawn before and would be touched */
    }
    return true;
}

void st_svg_labels_across(st_buffer *svg, const st_svg_label *labels, size_t count, double y)
{
    for (size_t i = 0; i < count; i++)
        if (has_room(labels, count, i))
            st_svg_text(svg, (st_svg_point){labels[i].x, y}, "middle", labels[i].text);
}

double st_svg_legend(st_buffer *svg, const st_svg_key *keys, size_t count, st_svg_box room)
{
    enum { LINE = 20, SQUARE = 12, GAP = 22 };
    double x = room.x;
    double y = room.y;
    for (size_t i = 0; i < count; i++) {
        double width = SQUARE + 6 + st_svg_text_width(keys[i].text) + GAP;
        if (x > room.x && x + width > room.x + room.width + GAP) {
            x = room.x;
            y += LINE;
        }
        st_svg_box_write(svg, (st_svg_box){x, y, SQUARE, SQUARE}, keys[i].color);
        st_svg_text(svg, (st_svg_point){x + SQUARE + 6, y + SQUARE - 1}, "", keys[i].text);
        x += width;
    }
    return count > 0 ? y + LINE - room.y : 0;
}

/* --- colours --------------------------------------------------------------------------------- */

const char *st_svg_color(size_t index)
{
    static const char *const colors[ST_SVG_HUES] = {
        [ST_SVG_BLUE] = "#0072b2",   [ST_SVG_VERMILION] = "#d55e00", [ST_SVG_GREEN] = "#009e73",
        [ST_SVG_PINK] = "#cc79a7",   [ST_SVG_ORANGE] = "#e69f00",    [ST_SVG_SKY] = "#56b4e9",
        [ST_SVG_VIOLET] = "#7f5aa2", [ST_SVG_GREY] = "#999999",      [ST_SVG_GOLD] = "#b8860b",
        [ST_SVG_BROWN] = "#8c564b",  [ST_SVG_YELLOW] = "#f0e442",    [ST_SVG_SLATE] = "#6d7480"};
    return colors[index % ST_SVG_HUES];
}

const char *st_svg_heat(double share, char color[8])
{
    static const double stops[][3] = {
        {254, 230, 165}, {253, 180, 90}, {230, 80, 60}, {150, 30, 100}, {50, 10, 80}};
    enum { LAST = sizeof stops / sizeof stops[0] - 1 };
    double position = fmin(fmax(share, 0), 1) * LAST;
    size_t stop = position >= LAST ? LAST - 1 : (size_t)position;
    unsigned mixed[3];
    for (int i = 0; i < 3; i++)
        mixed[i] = (unsigned)lround(stops[stop][i] + (position - (double)stop) *
                                                         (stops[stop + 1][i] - stops[stop][i]));
    (void)snprintf(color, 8, "#%02x%02x%02x", mixed[0] & 255U, mixed[1] & 255U, mixed[2] & 255U);
    return color;
}

void st_svg_heat_bar(st_buffer *svg, st_svg_box box)
{
    enum { STEPS = 64 };
    char color[8];
    double step = box.height / STEPS;
    for (int i = 0; i < STEPS; i++) {
        double overlap = i + 1 < STEPS ? 0.5 : 0; /* else lines shine through between the steps */
        const st_svg_box part = {box.x, box.y + box.height - step * (i + 1) - overlap, box.width,
                                 step + overlap};
        st_svg_box_write(svg, part, st_svg_heat((i + 0.5) / STEPS, color));
    }
}

/* --- ticks ----------------------------------------------------------------------------------- */

bool st_svg_is_power(double tick)
{
    double power = log10(fabs(tick));
    return fabs(power - round(power)) < 1e-9;
}

size_t st_svg_ticks(double least, double most, double ticks[ST_SVG_TICKS])
{
    size_t count = 0;
    if (!(most > least) || !isfinite(most - least))
        return 0;
    /* The least of 1, 2 and 5 times a power of ten that is not below `size`. */
    const double size = (most - least) / 6;
    double power = pow(10, floor(log10(size)));
    double share = size / power;
    double step = power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
    double slack = step * 1e-9;
    const double first = ceil((least - slack) / step);
    while (count < ST_SVG_TICKS && (first + (double)count) * step <= most + slack) {
        ticks[count] = (first + (double)count) * step;
        count++;
    }
    return count;
}

size_t st_svg_log_ticks(double least, double most, double ticks[ST_SVG_TICKS])
{
    static const double steps[] = {1, 2, 5};
    size_t count = 0;
    if (!(least > 0) || !(most > least) || !isfinite(most))
        return 0;
    double decades = log10(most / least);
    double stride = fmax(ceil(decades / 8), 1);
    bool wide = decades > 3.5;
    const double first = floor(log10(least));
    const size_t powers = (size_t)((log10(most) - first) / stride) + 1;
    for (size_t n = 0; n < powers; n++) {
        double power = first + (double)n * stride;
        for (size_t i = 0; i < (wide ? 1 : 3); i++) {
            double tick = steps[i] * pow(10, power);
            if (tick >= least * (1 - 1e-9) && tick <= most * (1 + 1e-9) && count < ST_SVG_TICKS)
                ticks[count++] = tick;
        }
    }
    return count >= 3 ? count : st_svg_ticks(least, most, ticks);
}
