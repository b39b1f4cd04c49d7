/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin's provider tied to a sheet: what it reads from which column or from the job, and, where
 * a profile has several entries for a collective, which of them a row means.
 */
#ifndef STEPTIME_PLUGIN_PROVIDER_BINDING_H
#define STEPTIME_PLUGIN_PROVIDER_BINDING_H

#include "plugin/module.h"
#include "steptime/tool/profiles.h"

/* Where an argument of a plugin's provider comes from. */
typedef struct st_tie {
    size_t column;          /* of what the sheet hands over; SIZE_MAX: none */
    const double *constant; /* ST_PLUGIN_BLOCK_ROWS times the job's number; NULL: none */
} st_tie;

/* What determines the group of ranks of a row, which selects an entry of a profile. */
typedef struct st_group_ties {
    st_tie ranks;    /* of the group; where nobody has them, all of the cluster's */
    st_tie per_node; /* ranks of the group in a node, or GPUs of a node */
    st_tie nodes;    /* of the cluster */
} st_group_ties;

typedef struct st_provider_binding {
    size_t provider;
    st_tie *ties; /* one per argument of the plugin's provider */
    size_t argument_count;
    const st_plugin_instance *const *instances; /* one, or one for each entry */
    size_t count;
    const char *profile;             /* NULL: none */
    const st_profile_found *entries; /* `count` of them, with a profile */
    st_group_ties group;             /* where there are several */
} st_provider_binding;

/*
 * The group that communicates in a row: its ranks, and the nodes over which these are spread. An
 * entry of a profile is measured on such a group, whatever cluster there was around it.
 */
st_profile_filter st_binding_group(const st_provider_binding *binding,
                                   const double *const *arguments, size_t row);

/* The functions of an st_provider; `context` is an st_provider_binding. */
st_status st_binding_evaluate(void *context, size_t rows, const double *const *arguments,
                              double *values);
bool st_binding_put_off(void *context, size_t rows, const double *const *arguments);
st_status st_binding_explain(void *context, const double *const *arguments, st_arena *arena,
                             st_provider_account *account);

#endif
