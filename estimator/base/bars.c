/* SPDX-License-Identifier: Apache-2.0 */
/* Bars of characters; see bars.h. */
#include "base/bars.h"

#include "base/utf8.h"

#include <math.h>
#include <string.h>

enum { INDENT = 2, GAP = 2, WIDTH = 100, LEAST = 6, MOST = 60 };

struct st_bars {
    st_arena *arena;
    double mark;
    st_bar *rows;
    size_t count;
};

st_bars *st_bars_create(st_arena *arena, double mark)
{
    st_bars *bars = st_arena_alloc(arena, 1, sizeof *bars);
    if (bars != NULL)
        *bars = (st_bars){.arena = arena, .mark = mark};
    return bars;
}

static const char *copy_text(st_bars *bars, const char *text)
{
    return st_or_none(st_arena_copy(bars->arena, text, strlen(text)));
}

void st_bars_add(st_bars *bars, const st_bar *bar)
{
    if (bars == NULL)
        return;
    st_bar row = *bar;
    row.label = copy_text(bars, bar->label);
    row.number = copy_text(bars, bar->number);
    row.share = copy_text(bars, bar->share);
    row.note = copy_text(bars, bar->note);
    (void)ST_APPEND(bars->arena, bars->rows, bars->count, row);
}

/* How wide each column is. */
typedef struct layout {
    size_t label;
    size_t number;
    size_t share;
    size_t bar;
} layout;

static void repeat(const char *text, size_t count, st_buffer *buffer)
{
    for (size_t i = 0; i < count; i++)
        st_buffer_text(buffer, text);
}

static size_t cells_of(double share, size_t width)
{
    double cells = round(share * (double)width);
    return !(cells > 0) ? 0 : cells > (double)width ? width : (size_t)cells;
}

static void write_row(const st_bars *bars, const layout *columns, const st_bar *row,
                      const st_paint *paint, st_buffer *buffer)
{
    st_buffer bar = {0};
    /* Ends of bars are rounded, not lengths, so that rows that add up meet. */
    const size_t width = columns->bar;
    const double mark = bars->mark;
    size_t start = cells_of(row->start, width);
    size_t full = cells_of(row->start + row->full, width);
    size_t end = cells_of(row->start + row->full + row->light, width);
    size_t at = isfinite(mark) ? cells_of(mark, width) : 0;
    bool tiny = end == start && row->full + row->light > 0;
    size_t written = end + (tiny ? 1 : 0);
    repeat(" ", start, &bar);
    repeat("█", full - start, &bar);
    repeat("░", end - full, &bar);
    st_buffer_text(&bar, tiny ? "▏" : "");
    if (at >= written && at > 0) {
        repeat(" ", at - written, &bar);
        st_buffer_text(&bar, "│");
    }
    size_t length = bar.length;
    while (row->note[0] == '\0' && length > 0 && bar.data[length - 1] == ' ')
        length--;
    st_buffer_printf(buffer, "%*s", INDENT, "");
    st_paint_text(paint, row->strong ? ST_INK_STRONG : ST_INK_PLAIN, row->label, buffer);
    st_buffer_printf(buffer, "%*s%*s%s", (int)(columns->label - st_shown_width(row->label)), "",
                     (int)(GAP + columns->number - st_shown_width(row->number)), "", row->number);
    if (length > 0 || row->share[0] != '\0' || row->note[0] != '\0')
        st_buffer_printf(buffer, "%*s%s", (int)(GAP + columns->share - st_shown_width(row->share)),
                         "", row->share);
    if (length > 0)
        st_buffer_printf(buffer, "%*s%.*s", GAP, "", (int)length, bar.data);
    if (row->note[0] != '\0')
        st_buffer_printf(buffer, "%*s%s", GAP, "", row->note);
    st_buffer_text(buffer, "\n");
    st_buffer_end(&bar, &buffer->failed);
}

void st_bars_write(const st_bars *bars, const st_paint *paint, st_buffer *buffer)
{
    layout columns = {0};
    size_t note = 0;
    for (size_t i = 0; i < bars->count; i++) {
        const st_bar *row = &bars->rows[i];
        const size_t widths[] = {st_shown_width(row->label), st_shown_width(row->number),
                                 st_shown_width(row->share), st_shown_width(row->note)};
        columns.label = widths[0] > columns.label ? widths[0] : columns.label;
        columns.number = widths[1] > columns.number ? widths[1] : columns.number;
        columns.share = widths[2] > columns.share ? widths[2] : columns.share;
        note = widths[3] > note ? widths[3] : note;
    }
    size_t width = paint->width > 0 ? paint->width : WIDTH;
    size_t used = INDENT + columns.label + GAP + columns.number + GAP + columns.share + GAP +
                  (note > 0 ? note + GAP : 0) + (isfinite(bars->mark) ? 1 : 0);
    columns.bar = used + LEAST < width ? width - used : LEAST;
    columns.bar = columns.bar > MOST ? MOST : columns.bar;
    buffer->failed = buffer->failed || st_arena_failed(bars->arena);
    for (size_t i = 0; i < bars->count; i++)
        write_row(bars, &columns, &bars->rows[i], paint, buffer);
}
