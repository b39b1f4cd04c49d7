/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of many columns; see text_grid.h. */
#include "sweep/text_grid.h"

#include "base/utf8.h"

#include <string.h>

void st_text_grid_add(st_text_grid *grid, const char *text)
{
    const char **texts =
        st_arena_grow(grid->arena, grid->texts, sizeof *texts, grid->count + 1, &grid->capacity);
    const char *copy = st_arena_copy(grid->arena, text, strlen(text));
    if (texts == NULL || copy == NULL) {
        grid->failed = true;
        return;
    }
    texts[grid->count++] = copy;
    grid->texts = texts;
}

void st_text_grid_end_row(st_text_grid *grid)
{
    if (grid->columns == 0) {
        grid->columns = grid->count;
    }
    while (!grid->failed && grid->columns > 0 && grid->count % grid->columns != 0) {
        st_text_grid_add(grid, "");
    }
}

static size_t shown_width(const char *text)
{
    return st_utf8_count(text, strlen(text));
}

void st_text_grid_write(const st_text_grid *grid, size_t indent, st_buffer *buffer)
{
    size_t *widths = st_arena_alloc(grid->arena, grid->columns + 1, sizeof *widths);
    if (grid->failed || widths == NULL) {
        buffer->failed = true;
        return;
    }
    for (size_t i = 0; i < grid->count; i++) {
        size_t width = shown_width(grid->texts[i]);
        size_t *widest = &widths[i % grid->columns];
        *widest = width > *widest ? width : *widest;
    }
    for (size_t i = 0; i < grid->count; i++) {
        size_t column = i % grid->columns;
        size_t blanks = widths[column] - shown_width(grid->texts[i]);
        blanks += column == 0 ? indent : 2;
        st_buffer_printf(buffer, "%*s%s%s", (int)blanks, "", grid->texts[i],
                         column + 1 == grid->columns ? "\n" : "");
    }
}
