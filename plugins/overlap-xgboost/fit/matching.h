/* SPDX-License-Identifier: Apache-2.0 */
/* Two sequences of numbers, matched in order: items of both, and of only one. */
#ifndef STEPTIME_CALIBRATE_SLOWDOWN_MATCHING_H
#define STEPTIME_CALIBRATE_SLOWDOWN_MATCHING_H

#include "steptime/status.h"

enum { ST_MATCHING_MAX_APART = 2000 }; /* items of only one of the two */

typedef struct st_sequence {
    const uint32_t *items;
    size_t count;
} st_sequence;

/*
 * The longest common subsequence [myers1986]. matches[i] becomes the place in `right` of left item
 * i, SIZE_MAX where it has none. ST_ERR_LIMIT, not reported, where the two differ in more than
 * ST_MATCHING_MAX_APART items.
 */
st_status st_matching(st_sequence left, st_sequence right, size_t *matches) ST_NODISCARD;

#endif
