/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A space from a file: what a search varies, alone or jointly, what it holds, and which plans
 * count.
 *
 *   space: two kinds of node        a title
 *   gpus: 256..1024*2                  as --gpus
 *   set: {batch.global: 1536}          as --set
 *   vary:                              as --vary, "all" for all that can be
 *     parallel.tp: [1, 2, 4, 8]
 *     parallel.pp: all
 *     overlap.tp: 0..1+0.25
 *   zip:                               each group advances together
 *     - cluster.gpu: [a100-sxm-80gb, h100-sxm]
 *       cluster.nic_bandwidth: [25 GB/s, 50 GB/s]
 *   where: [memory <= 72[GiB]]         as --where
 *
 * All of it becomes options; messages about them point to the place
 * in the file.
 */
#ifndef STEPTIME_SEARCH_SPACE_FILE_H
#define STEPTIME_SEARCH_SPACE_FILE_H

#include "base/error_scope.h"
#include "base/yaml.h"
#include "search/search_state.h"

enum { ST_SPACE_FILE_MAX_ITEMS = 1000 };

/* Location in the file of what messages call an option. */
typedef struct st_space_place {
    const char *option; /* "--vary overlap.tp=0..1+0.25" */
    st_place place;
    const st_yaml_node *condition; /* columns of messages count within it; NULL: within nothing */
} st_space_place;

/* What an option of that kind would be given. */
typedef struct st_space_texts {
    const char **items;
    size_t count;
} st_space_texts;

typedef struct st_space_file {
    const char *title;
    const char *gpus; /* NULL: not said */
    st_place gpus_place;
    st_space_texts sets;
    st_space_texts only;
    st_space_texts varies;
    st_space_texts wheres;
    st_joined *joined;
    size_t joined_count;
    st_space_place *places;
    size_t place_count;
} st_space_file;

/* `file` names the text in messages. Everything lives in `arena`. All errors are reported. */
st_status st_space_file_parse(const char *file, const char *text, size_t length, st_arena *arena,
                              st_space_file *space, st_errors *errors) ST_NODISCARD;

/* The same from a path that the user gave. */
st_status st_space_file_read(const char *path, st_arena *arena, st_space_file *space,
                             st_errors *errors) ST_NODISCARD;

/* Adds the file to a request: what the request says already comes behind, and wins. */
st_status st_space_file_add(const st_space_file *space, st_arena *arena, st_search_request *request,
                            st_errors *errors) ST_NODISCARD;

/* The same for a sweep: what varies become axes, before those of the request; a key alone needs
 * values. */
st_status st_space_file_add_axes(const st_space_file *space, st_arena *arena,
                                 st_space_request *request, st_errors *errors) ST_NODISCARD;

/* Moves errors about options that came from the file (the context) to their place in it. */
st_error_edit st_space_file_place;

#endif
