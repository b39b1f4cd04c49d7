/* SPDX-License-Identifier: Apache-2.0 */
/* From the values of axes to inputs and programs; used by the rest of this module. */
#ifndef STEPTIME_SWEEP_SPACE_BIND_H
#define STEPTIME_SWEEP_SPACE_BIND_H

#include "sweep/space.h"

/*
 * The job with every axis at its first value, without providers. An error of an axis is one of the
 * command line.
 */
st_status st_space_load_base(st_space *space, st_errors *errors) ST_NODISCARD;
/*
 * The values of an axis over a key, or over a constant that `input` reads, in base units; an
 * enumeration's as `input` numbers them (NULL: as the key does). All wrong values are reported.
 * *values is NULL for a range that needs no list.
 */
st_status st_axis_numbers(const st_axis *axis, const st_sheet_input *input, st_arena *arena,
                          const double **values, st_errors *errors) ST_NODISCARD;
/* The values of all axes over keys: wrong ones are reported before anything is loaded. */
st_status st_space_check_values(st_space *space, st_errors *errors) ST_NODISCARD;
/* Fills space->axes[].numbers and space->driven. */
st_status st_space_bind_axes(st_space *space, st_errors *errors) ST_NODISCARD;
/* Fills space->variants; space->cells are known. */
st_status st_space_make_variants(st_space *space, st_errors *errors) ST_NODISCARD;

#endif
