/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What fits, over two keys, as Figure 13 of Moye: in every cell the best of the plans with these
 * two values, or, where none fits, how much memory the one lacks that lacks least.
 */
#ifndef STEPTIME_SWEEP_FIT_MAP_H
#define STEPTIME_SWEEP_FIT_MAP_H

#include "base/result.h"
#include "steptime/sheet.h"

typedef struct st_map_cell {
    bool tried; /* there is a plan */
    bool fits;
    double goal; /* in base units */
    double memory_bytes;
    double missing_bytes; /* 0 where it fits */
} st_map_cell;

typedef struct st_fit_map {
    const char *job;
    const char *goal; /* a cell of the sheet */
    const st_type *goal_type;
    double sign;         /* -1 where the goal is to be great */
    const char *keys[2]; /* down and across */
    const char **texts[2];
    size_t count[2];
    st_map_cell *cells; /* row by row */
    uint64_t plans;
    st_arena *arena;
} st_fit_map;

/* Keeps the better one. */
void st_fit_map_take(st_fit_map *map, size_t row, size_t column, const st_map_cell *own);
/* Leaves rows and columns out that have no plan. */
void st_fit_map_pack(st_fit_map *map);
/* Whether any plan fits. */
bool st_fit_map_fits(const st_fit_map *map);

void st_fit_map_put(const st_fit_map *map, st_result *result);
void st_fit_map_svg(const st_fit_map *map, st_buffer *svg);

#endif
