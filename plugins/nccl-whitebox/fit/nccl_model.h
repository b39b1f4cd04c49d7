/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin as a model of measured collectives: its provider is called for the rows of tables, with
 * what the tables and a cluster say as arguments, and with other values of its calibrated options
 * as often as a fit wants.
 */
#ifndef STEPTIME_CALIBRATE_COLLECTIVES_NCCL_MODEL_H
#define STEPTIME_CALIBRATE_COLLECTIVES_NCCL_MODEL_H

#include "nccl-whitebox/fit/nccl_table.h"
#include "steptime/tool/plugin_calls.h"

enum { ST_NCCL_MAX_VARIED = 40, ST_NCCL_SHARE_SLOTS = 4 };

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
    bool is_rate;     /* one that nobody knows: nominal is what the rows reach */
} st_nccl_varied;

typedef struct st_nccl_source {
    const st_paths *paths;
    const char *plugin;
    const st_plugin_given *given; /* options of the command line and of a profile */
    size_t given_count;
    const char *cluster; /* by name; NULL: what the tables say */
    const char *const *sets;
    size_t set_count;
    bool rate_from_peak; /* where nobody says a rate, the rows' own peak, for which a user asks */
} st_nccl_source;

/* A rate of a table's machine, and who said it. */
typedef struct st_nccl_sourced_rate {
    double rate;      /* byte/s; NaN: not known, or fitted */
    const char *from; /* NULL: nobody */
} st_nccl_sourced_rate;

typedef struct st_nccl_group_rates {
    st_nccl_sourced_rate links;
    st_nccl_sourced_rate nics;
} st_nccl_group_rates;

/* Whether GPUs of a table's nodes reach each other over PCIe; false where nobody says the rate. */
bool st_nccl_is_over_pcie(const st_nccl_group_rates *group_rates);

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
    st_nccl_group_rates *group_rates; /* of each table */
    const char *gpu;                  /* of the cluster of the first table; NULL: unknown */
    /* Options that say how much of a calibration groups take which were not measured, by
     * st_nccl_share_slot; NULL: the plugin has none, or they are given. */
    const char *shares[ST_NCCL_SHARE_SLOTS];
    const char *correction; /* the option that takes what the others leave over; NULL: none */
} st_nccl_model;

/* Whether the plugin of a source has a provider for a collective; reports one that does not load.
 */
st_status st_nccl_model_serves(const st_nccl_source *source, const char *collective,
                               st_arena *arena, bool *serves, st_errors *errors) ST_NODISCARD;

/*
 * Loads the plugin and gathers the arguments for the rows of tables of one collective. Reports a
 * plugin without a provider for it, and arguments that neither tables nor cluster give.
 */
st_status st_nccl_model_load(const st_nccl_source *source, const st_nccl_table *const *tables,
                             size_t count, st_arena *arena, st_nccl_model *model,
                             st_errors *errors) ST_NODISCARD;

/* Where in the shares of a calibration those of one node or of several lie, below 1 MiB or from
 * there: latencies and rates transfer apart. */
static inline size_t st_nccl_share_slot(bool across, bool large)
{
    return (across ? 2U : 0U) + (large ? 1U : 0U);
}

/* What a plugin is tried with. */
typedef struct st_nccl_trial {
    const double *values;   /* of the varied options; NULL: as given or nominal */
    const char *correction; /* text of that option; NULL: as given */
    const double *shares;   /* of model->shares; NULL: as given */
} st_nccl_trial;

/* The times of all points. What the plugin refuses is NaN. */
st_status st_nccl_model_run(const st_nccl_model *model, const st_nccl_trial *trial, double *times_s,
                            st_errors *errors) ST_NODISCARD;

/* Why the plugin refuses the first row, in its own words; NULL where it does not say. */
const char *st_nccl_model_refusal(const st_nccl_model *model, st_arena *arena);

#endif
