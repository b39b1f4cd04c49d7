/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a row has from elsewhere than its table: the files of its GPU and cluster, constants, --set,
 * defaults. Rows that name the same files share it.
 */
#ifndef STEPTIME_CALIBRATE_STEPS_BASE_H
#define STEPTIME_CALIBRATE_STEPS_BASE_H

#include "fit/steps/source.h"
#include "steptime/tool/estimates.h"
#include "steptime/tool/gpus.h"

/* What distinguishes bases; "" if absent. */
typedef struct st_base_name {
    const char *gpu;      /* as the table calls it */
    const char *sections; /* files that assumptions name, "cluster=selene" and such by line */
    const char *texts;    /* of a row, and what they must agree with, in the same way */
    const char *order;    /* of ranks, that a row asks for */
} st_base_name;

typedef struct st_base {
    st_base_name name;
    const char *order; /* the order that holds, "" none: --set wins over the row */
    bool order_is_set; /* by --set */
    size_t variant;    /* index of its providers */
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
    st_provider_list *variants; /* the first one: of jobs without texts that providers read */
    size_t variant_count;
    size_t variant_capacity;
} st_bases;

enum { ST_BASES_MAX = 1000 };

/* The base of that name. NULL when out of memory or when something is wrong, which has been
 * reported; texts that are wrong, or do not agree with their numbers, are a fault of the base. */
const st_base *st_base_of(st_bases *bases, const st_base_name *name);

/* The number of a text for an input, as its key or its type reads it. */
st_status st_input_parse(const st_sheet_input *input, const st_value_text *text, double *number,
                         st_errors *errors) ST_NODISCARD;

#endif
