/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TOML 1.0, read strictly: a file that another reader refuses is refused here, with its place. Only
 * dates are not checked against the calendar.
 */
#ifndef STEPTIME_LAUNCH_FRAMEWORKS_TOML_H
#define STEPTIME_LAUNCH_FRAMEWORKS_TOML_H

#include "steptime/arena.h"

#include <stdbool.h>

typedef struct st_toml_source {
    const char *file; /* for places */
    const char *text;
    size_t length;
} st_toml_source;

/* A value: its name with those of its tables, "training.steps", or "job.0.steps" in a list of
 * tables. Texts are decoded, numbers without '_', lists as "[1, \"a\"]". */
typedef struct st_toml_value {
    const char *name;
    const char *text;
    bool quoted; /* it is a text */
    int line;
} st_toml_value;

typedef void st_toml_take(void *context, const st_toml_value *value);

/* Calls `take` with every value in their order until the first error. Names and texts live in
 * `arena`. ST_ERR_SYNTAX: no TOML, or a name given twice. */
st_status st_toml_read(const st_toml_source *source, st_toml_take *take, void *context,
                       st_arena *arena, st_errors *errors) ST_NODISCARD;

#endif
