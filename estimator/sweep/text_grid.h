/* SPDX-License-Identifier: Apache-2.0 */
/* A table with any number of columns, each as wide as its widest text, aligned to the right. */
#ifndef STEPTIME_SWEEP_TEXT_GRID_H
#define STEPTIME_SWEEP_TEXT_GRID_H

#include "steptime/arena.h"

typedef struct st_text_grid {
    st_arena *arena;
    const char **texts;
    size_t count; /* of texts */
    size_t capacity;
    size_t columns; /* known once the first row has ended */
    bool failed;
} st_text_grid;

void st_text_grid_add(st_text_grid *grid, const char *text); /* copied */
void st_text_grid_end_row(st_text_grid *grid);
void st_text_grid_write(const st_text_grid *grid, size_t indent, st_buffer *buffer);

#endif
