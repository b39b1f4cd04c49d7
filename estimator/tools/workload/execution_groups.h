/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of ranks from the file next to Chakra's files. */
#ifndef STEPTIME_WORKLOAD_EXECUTION_GROUPS_H
#define STEPTIME_WORKLOAD_EXECUTION_GROUPS_H

#include "workload/execution.h"

#define ST_EXECUTION_GROUPS_FILE "comm_group.json"

typedef struct st_execution_group {
    const char *name;
    int64_t size;   /* ranks */
    int64_t stride; /* between the first two */
    bool is_uneven; /* others are not as far apart */
    st_place place; /* where its ranks begin */
} st_execution_group;

typedef struct st_execution_groups {
    st_execution_group *items;
    size_t count;
} st_execution_groups;

/* Reads a file into `arena`; a missing file means no groups. Refused: a group given twice;
 * a warning names groups whose ranks are not evenly spaced. */
st_status st_execution_groups_read(const char *path, st_arena *arena, st_execution_groups *groups,
                                   st_errors *errors) ST_NODISCARD;
/* Tells the collectives of a rank how large their groups are. */
void st_execution_groups_give(const st_execution_groups *groups, st_execution *rank);

#endif
