/* SPDX-License-Identifier: Apache-2.0 */
/* Bars of characters: rows with a label, a number, a share and a bar, as wide as the terminal. */
#ifndef STEPTIME_BASE_BARS_H
#define STEPTIME_BASE_BARS_H

#include "base/text.h"

/* Lengths are shares of the whole width; full characters, then light ones. */
typedef struct st_bar {
    const char *label;
    const char *number; /* "20.2 s" */
    const char *share;  /* "69 %"; "" for none */
    const char *note;   /* behind the bar; "" for none */
    double start;
    double full;
    double light;
    bool strong; /* a row that the others add up to */
} st_bar;

typedef struct st_bars st_bars;

/* NULL when out of memory, which the functions below take for bars that nobody sees. `mark` is
 * where every row has a line, as a share of the width; NaN for none. */
st_bars *st_bars_create(st_arena *arena, double mark);
void st_bars_add(st_bars *bars, const st_bar *bar); /* texts are copied */
void st_bars_write(const st_bars *bars, const st_paint *paint, st_buffer *buffer);

#endif
