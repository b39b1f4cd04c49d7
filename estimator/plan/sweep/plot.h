/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sweep as a picture: lines of a cell over an axis, one for each combination of the other axes,
 * or a heat map of a cell over two axes.
 */
#ifndef STEPTIME_SWEEP_PLOT_H
#define STEPTIME_SWEEP_PLOT_H

#include "sweep/fit_map.h"
#include "sweep/space.h"

enum { ST_PLOT_MAX_POINTS = 100000, ST_PLOT_MAX_LINES = 24 };

typedef struct st_plot {
    const st_space *space;
    size_t x;    /* an axis */
    size_t y;    /* of a heat map: an axis; SIZE_MAX: lines */
    size_t cell; /* what is drawn */
    bool linear; /* colours of a map, which are logarithmic otherwise */
    size_t columns;
    size_t rows;    /* lines, or values of the second axis */
    double *values; /* per row and column; NaN: none; of several the least */
} st_plot;

/* The cell that such a text draws; NULL: none, or out of memory. */
const char *st_plot_cell(const char *text, st_arena *arena);
/* Reads "x=KEY,y=CELL" or "x=KEY,y=KEY,z=CELL"; everything lives in the space's arena. */
st_status st_plot_create(const st_space *space, const char *text, st_plot **plot,
                         st_errors *errors) ST_NODISCARD;
/* Takes the rows that a worker holds. */
void st_plot_take(st_plot *plot, const st_space_worker *worker);
void st_plot_write(const st_plot *plot, st_buffer *buffer);

/* What fits over two axes: step time, memory and what it lacks. */
typedef struct st_sweep_map {
    st_fit_map map;
    st_space *space; /* to be run: the sweep's with the cells of the map */
    size_t axes[2];
} st_sweep_map;

/* An unknown axis, or the same twice, is an error at --map. */
st_status st_sweep_map_create(const st_paths *paths, const st_space *space,
                              const char *const keys[2], st_sweep_map *map,
                              st_errors *errors) ST_NODISCARD;
/* Takes the rows that a worker holds. */
void st_sweep_map_take(st_sweep_map *map, const st_space_worker *worker);

#endif
