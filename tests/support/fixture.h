/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fixture that most tests need: an arena, a list of errors, and more members, which `release`
 * gives back.
 */
#ifndef STEPTIME_TESTS_FIXTURE_H
#define STEPTIME_TESTS_FIXTURE_H

#include "steptime/arena.h"
#include "steptime/status.h"

#include <stdlib.h>

#define FIXTURE(members, release)                                                                  \
    typedef struct fixture {                                                                       \
        st_arena *arena;                                                                           \
        st_errors *errors;                                                                         \
        members                                                                                    \
    } fixture;                                                                                     \
    static int set_up(void **state)                                                                \
    {                                                                                              \
        fixture *own = calloc(1, sizeof *own);                                                     \
        if (own == NULL)                                                                           \
            return -1;                                                                             \
        own->arena = st_arena_create();                                                            \
        own->errors = st_errors_create();                                                          \
        *state = own;                                                                              \
        return own->arena == NULL || own->errors == NULL ? -1 : 0;                                 \
    }                                                                                              \
    static int tear_down(void **state)                                                             \
    {                                                                                              \
        fixture *own = *state;                                                                     \
        release;                                                                                   \
        st_arena_destroy(own->arena);                                                              \
        st_errors_destroy(own->errors);                                                            \
        free(own);                                                                                 \
        return 0;                                                                                  \
    }                                                                                              \
    _Static_assert(sizeof(fixture) > 0, "tools that do not know the macro expect a semicolon")

#endif
