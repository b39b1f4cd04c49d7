/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a row has from elsewhere than its table: the files of its GPU and cluster, constants, --set,
 * defaults. Rows that name the same files share it.
 */
#ifndef STEPTIME_FIT_BASE_H
#define STEPTIME_FIT_BASE_H

#include "fit/source.h"

typedef struct st_base {
    const char *gpu;      /* as the table calls it */
    const char *sections; /* "cluster=selene model=gpt3-175b", what assumptions name */
    const char *fault;    /* why no row can use it; NULL: none */
    const double *values; /* one per input of the sheet */
    const st_origin *origins;
    struct st_base *next;
} st_base;

typedef struct st_bases {
    const st_paths *paths;
    const st_sheet *sheet;
    const st_table_source *source; /* NULL: none */
    const char *constants;
    const char *const *sets;
    size_t set_count;
    st_arena *arena;
    st_errors *errors;
    const st_path_entry *gpus;
    size_t gpu_count;
    st_base *first;
    size_t count;
} st_bases;

enum { ST_BASES_MAX = 1000 };

/* The base for a GPU and for the sections that assumptions name ("" for none of either). NULL when
 * out of memory or when something is wrong, which has been reported. */
const st_base *st_base_of(st_bases *bases, const char *gpu, const char *sections);

/* The number of a text for an input, as its key or its type reads it. */
st_status st_input_parse(const st_sheet_input *input, const st_value_text *text, double *number,
                         st_errors *errors) ST_NODISCARD;

#endif
