/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of kernels by parts of their names, from a table that users extend. */
#ifndef STEPTIME_TRACE_CLASSES_H
#define STEPTIME_TRACE_CLASSES_H

#include "steptime/paths.h"
#include "trace/trace.h"

typedef struct st_trace_class_parts {
    const struct st_trace_class_part *items; /* in their order: the first that fits decides */
    size_t count;
} st_trace_class_parts;

struct st_trace_classes {
    st_trace_class_parts kernels;
    st_trace_class_parts lookups; /* of operators, of no class */
};

/*
 * The table of configs/kernels/classes.yaml. A file of that name elsewhere on the search path comes
 * before it. `paths` may be NULL: the library's table alone. Lives in `arena`.
 */
st_status st_trace_classes_load(const st_paths *paths, st_arena *arena,
                                const st_trace_classes **classes, st_errors *errors) ST_NODISCARD;

/* The class of a kernel by its name; NULL is the library's table. */
st_trace_class st_trace_class_of(const st_trace_classes *classes, const char *name);

/* Whether what an operator of this name moves follows the values of its tensors. */
bool st_trace_looks_up(const st_trace_classes *classes, const char *name);

#endif
