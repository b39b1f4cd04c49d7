/* SPDX-License-Identifier: Apache-2.0 */
/* The search path's inside, shared by what reads from it and what lists it. */
#ifndef STEPTIME_JOB_ROOTS_H
#define STEPTIME_JOB_ROOTS_H

#include "steptime/tool/input_files.h"

struct st_paths {
    st_arena *arena;
    const char **roots; /* folders; NULL: the copies inside the library */
    size_t count;
    void *self;                   /* what a sheet reader passes back */
    bool isolates;                /* plugins run in processes of their own */
    const char *profiles;         /* the database of profiles; NULL: the user's own */
    const st_edited_file *edited; /* files whose texts count in place of the disk's */
    size_t edited_count;
};

/* How the files of an st_folder are found below a root: root/path/NAME + ending. */
typedef struct st_folder_shape {
    const char *path;
    const char *noun;   /* for messages */
    const char *ending; /* ".yaml", or "/cases.yaml" where a name is a folder */
} st_folder_shape;

const st_folder_shape *st_folder_shape_of(st_folder folder);

#endif
