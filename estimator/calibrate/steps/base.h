/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a row has from elsewhere than its table: the files of its GPU and cluster, constants, --set,
 * defaults. Rows that name the same files share it.
 */
#ifndef STEPTIME_CALIBRATE_STEPS_BASE_H
#define STEPTIME_CALIBRATE_STEPS_BASE_H

#include "calibrate/steps/source.h"
#include "estimate/builtin.h"
#include "job/gpus.h"

typedef struct st_base {
    const char *gpu;      /* as the table calls it */
    const char *sections; /* what assumptions and texts name, "cluster=selene" and such by line */
    const char *asked;    /* the order of ranks that a row asks for, "" none */
    const char *order;    /* the order that holds, "" none: --set wins over the row */
    bool order_is_set;    /* by --set */
    size_t variant;       /* index of its providers */
    const st_job *job;
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
    const char *const *refine; /* plugins, as in st_request */
    size_t refine_count;
    st_arena *arena;
    st_errors *errors;
    st_gpus gpus;
    st_base *first;
    size_t count;
    bool failed;                /* a base could not be made; what is wrong has been reported */
    st_provider_list *variants; /* the first one has none */
    size_t variant_count;
    size_t variant_capacity;
} st_bases;

enum { ST_BASES_MAX = 1000 };

/* The base for a GPU, for the sections that assumptions name and for an order of ranks ("" for none
 * of them). NULL when out of memory or when something is wrong, which has been reported. */
const st_base *st_base_of(st_bases *bases, const char *gpu, const char *sections,
                          const char *order);

/* The number of a text for an input, as its key or its type reads it. */
st_status st_input_parse(const st_sheet_input *input, const st_value_text *text, double *number,
                         st_errors *errors) ST_NODISCARD;

#endif
