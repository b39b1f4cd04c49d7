/* SPDX-License-Identifier: Apache-2.0 */
/* A text with repeats, `d*3` and `(..)*3`, spelled out letter by letter. */
#ifndef STEPTIME_JOB_PATTERN_EXPAND_H
#define STEPTIME_JOB_PATTERN_EXPAND_H

#include "steptime/arena.h"

typedef struct st_expanded {
    const char *noun;    /* what messages call the text */
    const char *ignored; /* characters that may be anywhere */
    bool star_is_letter; /* a `*` that no digit follows is a letter */

    size_t count;
    const char *letters;
    const uint32_t *at; /* of each letter, its character in the source, from 1 */
} st_expanded;

/* Fills the last three fields; nothing at all is an error too. */
st_status st_pattern_expand(const char *text, st_place place, st_arena *arena, st_expanded *spelled,
                            st_errors *errors) ST_NODISCARD;

/* Adds that letter `index` is none of those `expected`. */
st_status st_expanded_fail(const st_expanded *spelled, size_t index, st_place place,
                           const char *expected, st_errors *errors);

#endif
