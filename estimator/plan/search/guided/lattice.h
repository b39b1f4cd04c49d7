/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plans of a search as points of a cube: one coordinate for each choice (the number of GPUs,
 * tensor, pipeline and context ranks, every list of a shape, every axis), so that a search over
 * real numbers can walk through them. Every point is a plan: a coordinate picks among what the
 * coordinates before it have left.
 */
#ifndef STEPTIME_GUIDED_LATTICE_H
#define STEPTIME_GUIDED_LATTICE_H

#include "search/search_state.h"

enum { ST_LATTICE_SIZES = 6, ST_LATTICE_MOST = ST_LATTICE_SIZES + ST_SHAPE_LISTS + ST_AXES_MAX };

typedef struct st_lattice {
    const st_search *search;
    size_t choices[ST_LATTICE_MOST]; /* those that are choices at all, in their order */
    size_t dimension;
} st_lattice;

st_lattice st_lattice_make(const st_search *search);
/* The row of a point; every coordinate is from 0 to 1. */
uint64_t st_lattice_row(const st_lattice *lattice, const double *point);

#endif
