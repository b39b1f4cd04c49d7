/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture of an estimate: the bars of the sheet's summary. Parts of a total are rows with what
 * hides behind them in a pale tone; parts up to a limit are stacked, a bar for each member of their
 * families, with a line at the limit.
 */
#include "estimate/report.h"

#include "base/svg.h"
#include "estimate/summary_values.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 860, LEFT = 230, SIDE = 460, TOP = 64, ROW = 26, BAR = 18, AXIS = 40, GAP = 36 };

typedef struct picture {
    const st_estimate *estimate;
    const st_summary_values *values;
    st_arena *arena;
    st_buffer *svg;
    double top; /* of the bar that is drawn */
} picture;

static double part_value(const picture *chart, const char *name, size_t member)
{
    return fmax(st_summary_part_value(chart->estimate, chart->values, name, member, chart->arena),
                0);
}

static void label(const picture *chart, double x, double y, const char *style, const char *text)
{
    st_svg_text(chart->svg, (st_svg_point){x, y}, style, text);
}

static const char *value_text(const picture *chart, const st_summary_bar *bar, double value,
                              char *text)
{
    const st_type *type = st_summary_type(chart->estimate, bar->total);
    return st_type_format(type, value, ST_STYLE_SCALED, text, ST_QUANTITY_TEXT);
}

/* A part is drawn where it takes time or hides. */
static bool is_drawn(const picture *chart, const st_summary_bar *bar, size_t part, size_t member)
{
    double least = 0.0005 * st_summary_value(chart->values, bar->total);
    return part_value(chart, bar->parts[part].cell, member) > least ||
           part_value(chart, bar->parts[part].hidden, member) > least;
}

/* Lines at round numbers of the unit, over `height` pixels. */
static void draw_axis(const picture *chart, const st_summary_bar *bar, double most, double height)
{
    double ticks[ST_SVG_TICKS];
    char text[ST_QUANTITY_TEXT];
    const st_unit *unit = &st_summary_type(chart->estimate, bar->total)->unit;
    double one = st_unit_from_base(unit, 1);
    size_t count = st_svg_ticks(0, most * one, ticks);
    for (size_t i = 0; i < count; i++) {
        double value = ticks[i] / one;
        double x = LEFT + SIDE * value / most;
        st_svg_line(chart->svg, (st_svg_point){x, chart->top},
                    (st_svg_point){x, chart->top + height}, "grid");
        label(chart, x, chart->top + height + 16, "middle faint",
              value_text(chart, bar, value, text));
    }
}

/* ---- parts of a total ---- */

static double draw_rows(const picture *chart, const st_summary_bar *bar)
{
    char text[ST_QUANTITY_TEXT];
    double most = 0;
    size_t rows = 0;
    for (size_t i = 0; i < bar->count; i++) {
        const st_summary_part *part = &bar->parts[i];
        rows += is_drawn(chart, bar, i, 0) ? 1 : 0;
        most = fmax(most, part_value(chart, part->cell, 0) + part_value(chart, part->hidden, 0));
    }
    if (!(most > 0))
        return 0;
    draw_axis(chart, bar, most, (double)rows * ROW);
    double y = chart->top;
    for (size_t i = 0; i < bar->count; i++) {
        const st_summary_part *part = &bar->parts[i];
        if (!is_drawn(chart, bar, i, 0))
            continue;
        double full = part_value(chart, part->cell, 0) / most * SIDE;
        double hidden = part_value(chart, part->hidden, 0);
        double light = hidden / most * SIDE;
        st_svg_box_write(chart->svg, (st_svg_box){LEFT, y + 4, full, BAR}, st_svg_color(0));
        if (light > 0)
            st_svg_pale_box(chart->svg, (st_svg_box){LEFT + full, y + 4, light, BAR},
                            st_svg_color(0));
        label(chart, LEFT - 8, y + 17, "end", part->label);
        st_buffer note = {0};
        if (full > 0)
            st_buffer_text(&note, value_text(chart, bar, part_value(chart, part->cell, 0), text));
        if (light > 0)
            st_buffer_printf(&note, "%s%s hidden", full > 0 ? ", " : "",
                             value_text(chart, bar, hidden, text));
        st_svg_text_over(chart->svg, (st_svg_point){LEFT + full + light + 6, y + 17},
                         st_buffer_read(&note));
        st_buffer_end(&note, &chart->svg->failed);
        y += ROW;
    }
    return (double)rows * ROW + AXIS;
}

/* ---- parts up to a limit ---- */

static double member_total(const picture *chart, const st_summary_bar *bar, size_t member)
{
    double total = 0;
    for (size_t i = 0; i < bar->count; i++)
        total += part_value(chart, bar->parts[i].cell, member);
    return total;
}

/* A member of families that do not exist there has nothing but what all members share. */
static bool has_member(const picture *chart, const st_summary_bar *bar, size_t member)
{
    const st_sheet *sheet = chart->estimate->sheet;
    bool has_family = false;
    bool exists = false;
    for (size_t i = 0; i < bar->count; i++) {
        const char *cell = st_summary_cell(sheet, bar->parts[i].cell, member, chart->arena);
        if (cell == NULL || strcmp(cell, bar->parts[i].cell) == 0)
            continue;
        has_family = true;
        exists = exists || part_value(chart, bar->parts[i].cell, member) > 0;
    }
    return !has_family || exists;
}

static double draw_legend(const picture *chart, const st_summary_bar *bar, double y, size_t members)
{
    st_svg_key *keys = st_arena_alloc(chart->arena, bar->count + 1, sizeof *keys);
    size_t drawn = 0;
    for (size_t i = 0; keys != NULL && i < bar->count; i++) {
        bool seen = false;
        for (size_t k = 0; k < members; k++)
            seen = seen || (has_member(chart, bar, k) && is_drawn(chart, bar, i, k));
        if (seen)
            keys[drawn++] = (st_svg_key){.color = st_svg_color(i), .text = bar->parts[i].label};
    }
    chart->svg->failed = chart->svg->failed || keys == NULL;
    return st_svg_legend(chart->svg, keys, drawn, (st_svg_box){LEFT, y, WIDTH - LEFT - 24, 0});
}

static double draw_stacks(const picture *chart, const st_summary_bar *bar)
{
    const st_enum *members = st_summary_members(chart->estimate->sheet, bar);
    size_t count = members != NULL ? members->count : 1;
    double limit = st_summary_value(chart->values, bar->limit);
    double most = limit;
    size_t rows = 0;
    for (size_t i = 0; i < count; i++) {
        rows += has_member(chart, bar, i) ? 1 : 0;
        most = has_member(chart, bar, i) ? fmax(most, member_total(chart, bar, i)) : most;
    }
    if (!(most > 0))
        return 0;
    double height = (double)rows * ROW;
    draw_axis(chart, bar, most, height);
    double y = chart->top;
    for (size_t i = 0; i < count; i++) {
        char name[128];
        if (!has_member(chart, bar, i))
            continue;
        (void)snprintf(name, sizeof name, "%s %s", members != NULL ? members->values[i] : "",
                       members != NULL ? members->name : "");
        label(chart, LEFT - 8, y + 17, "end", name);
        double x = LEFT;
        char text[ST_QUANTITY_TEXT];
        for (size_t j = 0; j < bar->count; j++) {
            double width = part_value(chart, bar->parts[j].cell, i) / most * SIDE;
            if (width > 0)
                st_svg_box_write(chart->svg, (st_svg_box){x, y + 4, width, BAR}, st_svg_color(j));
            x += width;
        }
        label(chart, LEFT + SIDE + 10, y + 17, "",
              value_text(chart, bar, member_total(chart, bar, i), text));
        y += ROW;
    }
    double at = LEFT + SIDE * limit / most;
    st_svg_line(chart->svg, (st_svg_point){at, chart->top - 6}, (st_svg_point){at, y}, "ink");
    return height + AXIS + draw_legend(chart, bar, y + AXIS - 6, count);
}

/* ---- the picture ---- */

static double draw_bar(picture *chart, const st_summary_bar *bar)
{
    char texts[2][ST_QUANTITY_TEXT];
    st_buffer title = {0};
    double total = st_summary_value(chart->values, bar->total);
    if (!(total > 0)) /* the job has nothing of it */
        return 0;
    st_buffer_printf(&title, "%s: %s", bar->title, value_text(chart, bar, total, texts[0]));
    if (bar->limit != NULL)
        st_buffer_printf(
            &title, " of %s",
            value_text(chart, bar, st_summary_value(chart->values, bar->limit), texts[1]));
    label(chart, LEFT, chart->top, "large", st_buffer_read(&title));
    st_buffer_end(&title, &chart->svg->failed);
    chart->top += 16;
    double height = bar->limit != NULL ? draw_stacks(chart, bar) : draw_rows(chart, bar);
    return height + GAP;
}

st_status st_summary_svg(const st_estimate *estimate, st_arena *arena, st_buffer *buffer,
                         st_errors *errors)
{
    st_summary_values values;
    const st_summary *summary = st_sheet_summary(estimate->sheet);
    if (summary->bar_count == 0)
        return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                       "sheet '%s' has nothing to draw" ST_EXPECTED
                       "bars in a summary; see docs/sheet-language.md",
                       st_sheet_name(estimate->sheet));
    st_status status = st_summary_compute(estimate, arena, &values, errors);
    if (status != ST_OK)
        return status;
    st_buffer body = {0};
    picture chart = {
        .estimate = estimate, .values = &values, .arena = arena, .svg = &body, .top = TOP};
    for (size_t i = 0; i < summary->bar_count; i++)
        chart.top += draw_bar(&chart, &summary->bars[i]);
    st_svg_begin(buffer, WIDTH, (int)chart.top, st_job_name(estimate->job));
    st_svg_text(buffer, (st_svg_point){24, 30}, "large", st_job_name(estimate->job));
    st_buffer_text(buffer, st_buffer_read(&body));
    st_svg_end(buffer);
    st_buffer_end(&body, &buffer->failed);
    return ST_OK;
}
