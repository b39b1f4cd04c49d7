/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Axes: KEY=VALUES, where VALUES is a list of values and ranges.
 *
 *   parallel.tp=1,2,4         a list
 *   parallel.pp=1..8          every whole number
 *   cluster.nodes=1..64*2     each the double of the one before
 *   batch.micro=1..9+2        each two more than the one before
 *   cluster.nic_bandwidth=100..400*2 Gbit/s
 *   cluster.gpu=h100-sxm,h200-sxm    files
 *
 * A value of an axis is a text, exactly what --set would take; only ranges of whole numbers keep no
 * texts, since they may be long.
 */
#ifndef STEPTIME_SWEEP_AXIS_H
#define STEPTIME_SWEEP_AXIS_H

#include "steptime/job.h"
#include "job/sections.h"

enum {
    ST_AXIS_MAX_VALUES = 1000000, /* with texts */
    ST_AXIS_MAX_BYTES = 1 << 25,  /* ST_AXIS_MAX_VALUES of them */
    ST_AXIS_TEXT = 64,            /* enough for a value of a range */
    ST_AXES_MAX = 32
};

typedef struct st_axis {
    const char *path;
    const st_key *key;             /* NULL: a section, a constant or an option of a plugin */
    const st_key_section *section; /* NULL: none */
    size_t count;                  /* at least 1 */
    const char **texts;            /* NULL: start, start + step, ... */
    double start;
    double step;
    st_place place; /* file "--over KEY=VALUES" */
} st_axis;

/*
 * Reads `text`, which came with the option named `option` ("--over"); everything lives in `arena`.
 * Values are not looked at yet: their key does that.
 */
st_status st_axis_parse(const char *option, const char *text, st_arena *arena, st_axis *axis,
                        st_errors *errors) ST_NODISCARD;
/* The values alone, for an axis whose path, key, section and place are set. */
st_status st_axis_parse_values(const char *values, st_arena *arena, st_axis *axis,
                               st_errors *errors) ST_NODISCARD;

/* A value as text; into `storage` (ST_AXIS_TEXT bytes) where the axis keeps none. */
const char *st_axis_text(const st_axis *axis, size_t index, char *storage);

/* Two axes over one key are one too many; reports every pair. */
st_status st_axes_check(const st_axis *axes, size_t count, st_errors *errors) ST_NODISCARD;

/* A value of an axis' list, or of its range if it has no list. */
static inline double st_axis_value(const st_axis *axis, const double *values, uint64_t index)
{
    return values != NULL ? values[index] : axis->start + (double)index * axis->step;
}

#endif
