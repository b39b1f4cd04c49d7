/* SPDX-License-Identifier: Apache-2.0 */
/* What a picture of a sweep shows; see plot.h. */
#include "sweep/plot.h"

#include "base/memory.h"

#include <math.h>
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
                           "a part of the picture cannot be read" ST_EXPECTED "%s", shape);
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
                       "the picture lacks x or y" ST_EXPECTED "x=KEY,y=CELL or x=KEY,y=KEY,z=CELL");
    plot->x = st_space_axis_of(self->space, x);
    plot->y = map ? st_space_axis_of(self->space, y) : SIZE_MAX;
    plot->cell = find_cell(self->space, cell);
    if (plot->x == SIZE_MAX || (map && plot->y == SIZE_MAX) || plot->x == plot->y)
        return st_fail(self->errors, ST_ERR_USAGE, (st_place){.file = "--plot"},
                       "'%.60s' is no axis of the sweep" ST_EXPECTED "a key that --over names",
                       plot->x == SIZE_MAX ? x : y);
    if (plot->cell == SIZE_MAX)
        return st_fail(self->errors, ST_ERR_USAGE, (st_place){.file = "--plot"},
                       "'%.60s' is no column of numbers" ST_EXPECTED
                       "a cell that the sweep shows; --cells names them",
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
                       "the picture would show too much" ST_EXPECTED
                       "at most 24 lines and 100000 points");
    size_t count = made->columns * made->rows;
    made->values = st_arena_alloc(space->arena, count, sizeof *made->values);
    for (size_t i = 0; made->values != NULL && i < count; i++)
        made->values[i] = (double)NAN;
    *plot = made;
    return made->values != NULL ? ST_OK : ST_ERR_MEMORY;
}

bool st_plot_has_lines(const st_plot *plot, size_t axis)
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
        if (st_plot_has_lines(plot, i))
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
