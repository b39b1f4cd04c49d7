/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ncclCommSplit gives a rank: its place among those of its color, and how many these are. All
 * ranks of a communicator that split it leave a line in a file of the run; where some of them were
 * not run, how the known ranks were colored says how all were: in blocks of neighbours, by equal
 * distances, or both, as ranks of a grid are.
 *
 * Lives in other people's programs too, and uses nothing of steptime.
 */
#ifndef STEPTIME_RECORD_SPLIT_H
#define STEPTIME_RECORD_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct st_split_member {
    int32_t rank; /* in the communicator that is split */
    int32_t color;
    int32_t key;
    int32_t reserved;
} st_split_member;

typedef struct st_split {
    const st_split_member *members; /* those that are known, in any order */
    size_t count;
    int32_t ranks; /* of the communicator that is split */
    int32_t node;  /* ranks of a node, which decides where several answers fit */
} st_split;

typedef struct st_split_place {
    int32_t rank;
    int32_t ranks;
    bool certain; /* false: several answers fit, and this is the parent's place */
} st_split_place;

/* The place of one of the members. */
st_split_place st_split_find(const st_split *split, const st_split_member *asking);

/* Of a file's folder, the communicator and how often it was split before. */
void st_split_path(char *path, size_t bytes, const char *folder, uint64_t comm, uint32_t splits);
/* What such a file holds, for free(); NULL: nothing. */
st_split_member *st_split_read(const char *path, size_t *count);

#endif
