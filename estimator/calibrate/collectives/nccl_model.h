/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin as a model of measured collectives: its provider is called for the rows of tables, with
 * what the tables and a cluster say as arguments, and with other values of its calibrated options
 * as often as a fit wants.
 */
#ifndef STEPTIME_CALIBRATE_COLLECTIVES_NCCL_MODEL_H
#define STEPTIME_CALIBRATE_COLLECTIVES_NCCL_MODEL_H

#include "calibrate/collectives/nccl_table.h"
#include "plugin/plugins.h"

enum { ST_NCCL_MAX_VARIED = 30 };

/* An option that a fit varies. */
typedef struct st_nccl_varied {
    size_t option;
    const char *name;
    st_unit unit;
    double nominal; /* base units */
    double low;
    double high;
    double deviation; /* how far from nominal the plugin's author expects it */
    bool is_factor;   /* the deviation is that of the logarithm */
} st_nccl_varied;

typedef struct st_nccl_source {
    const st_paths *paths;
    const char *plugin;
    const st_plugin_given *given; /* options of the command line and of a profile */
    size_t given_count;
    const char *cluster; /* by name; NULL: what the tables say */
    const char *const *sets;
    size_t set_count;
} st_nccl_source;

/* One row of one table. */
typedef struct st_nccl_point {
    size_t table;
    const st_nccl_row *row;
    double measured_s;
} st_nccl_point;

typedef struct st_nccl_model {
    const st_plugin_module *module;
    size_t provider;
    st_plugin_given *given; /* those of the source, then one for each varied option */
    size_t given_count;     /* of the source */
    const double **columns; /* one for each argument of the provider; NULL: none */
    st_nccl_point *points;
    size_t point_count;
    st_nccl_varied *varied;
    size_t varied_count;
    const char *correction; /* the option that takes what the others leave over; NULL: none */
} st_nccl_model;

/*
 * Loads the plugin and gathers the arguments for the rows of tables of one collective. Reports a
 * plugin without a provider for it, and arguments that neither tables nor cluster give.
 */
st_status st_nccl_model_load(const st_nccl_source *source, const st_nccl_table *const *tables,
                             size_t count, st_arena *arena, st_nccl_model *model,
                             st_errors *errors) ST_NODISCARD;

/* The times of all points; `values` are those of the varied options, NULL: as given or nominal;
 * `correction` is the text of that option, NULL: as given. What the plugin refuses is NaN. */
st_status st_nccl_model_run(const st_nccl_model *model, const double *values,
                            const char *correction, double *times_s,
                            st_errors *errors) ST_NODISCARD;

#endif
