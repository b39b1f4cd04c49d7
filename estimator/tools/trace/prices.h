/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recorded GPU tasks take on a GPU: kernels and copies by the cells that rules name, whose
 * open functions plugins may give, or by a table of measured kernels; collectives by the providers
 * of a plugin.
 */
#ifndef STEPTIME_TRACE_PRICES_H
#define STEPTIME_TRACE_PRICES_H

#include "trace/rules.h"
#include "steptime/job.h"
#include "trace/trace.h"

typedef struct st_prices st_prices;

typedef struct st_prices_request {
    const char *gpu;     /* file of configs/gpus; NULL: the cluster's */
    const char *cluster; /* NULL: none, so that collectives have no price */
    const char *const *sets;
    size_t set_count;
    const char *rules; /* NULL: "rules" */
    const char *times; /* table of measured kernels; NULL: none */
    /* Plugins of collectives, where none of them is one nccl-whitebox, and of the sheet's open
     * functions; "none" for neither. */
    const char *const *refine;
    size_t refine_count;
} st_prices_request;

/* A task whose price is asked for. */
typedef struct st_task_shape {
    st_task_form form;
    const char *name;           /* of the kernel, as people read it */
    const char *type;           /* of its numbers: "bf16"; NULL: not known */
    double sizes[ST_SIZE_KEYS]; /* 0: not known */
    bool at_most;               /* its bytes may be fewer */
    bool measured;              /* what it took is known, and not asked for */
} st_task_shape;

/* No task takes longer; one that does is an error. */
#define ST_PRICE_MOST_S 100.0

typedef struct st_price {
    double time_s;
    double work_flop;
    const char *operation; /* of the rules; "measured" */
    bool unknown;          /* a guess, or nothing at all */
    bool refined;          /* plugins give another time than the formulas alone */
} st_price;

/* A table of two columns: names, which may be globs, and times in us or ms. */
typedef struct st_named_times {
    const char *file;
    const char *option; /* that names it, for messages */
    const char *column; /* of the names */
    double least_s;
    double most_s;
} st_named_times;

typedef struct st_named_time {
    const char *name;
    double time_s;
} st_named_time;

st_status st_named_times_read(const st_named_times *asked, st_arena *arena, st_named_time **times,
                              size_t *count, st_errors *errors) ST_NODISCARD;

/* Everything lives in `arena`. Unknown names and cells are reported. */
st_status st_prices_open(const st_paths *paths, const st_prices_request *request, st_arena *arena,
                         st_prices **prices, st_errors *errors) ST_NODISCARD;

st_status st_prices_of_task(st_prices *prices, const st_task_shape *shape, st_price *price,
                            st_errors *errors) ST_NODISCARD;

/* `collective` as st_trace_transfer has it; time 0 and unknown where no provider knows it. */
st_status st_prices_of_transfer(st_prices *prices, const st_trace_transfer *transfer,
                                st_price *price, st_errors *errors) ST_NODISCARD;

const st_job *st_prices_job(const st_prices *prices);
const char *st_prices_rules_file(const st_prices *prices);
/* The plugins that give open functions of the sheet, "operator-times"; NULL: none. */
const char *st_prices_plugins(const st_prices *prices);

#endif
