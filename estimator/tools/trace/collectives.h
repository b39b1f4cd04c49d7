/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of collectives from plugins without a sheet: what a provider reads is the message,
 * the group, and keys of a job.
 */
#ifndef STEPTIME_TRACE_COLLECTIVES_H
#define STEPTIME_TRACE_COLLECTIVES_H

#include "steptime/tool/plugin_calls.h"
#include "trace/trace.h"

typedef struct st_plugin_collectives st_plugin_collectives;

/* Which plugins, in order of preference, and what they read. */
typedef struct st_plugin_collectives_request {
    const st_paths *paths;
    const st_job *job; /* what the cluster is, and options of plugins that have none here */
    const st_refinement *refinements;
    size_t count;
    bool passes_over; /* plugins without any collective, which are of something else */
    st_place place;   /* of errors, also later ones */
} st_plugin_collectives_request;

/*
 * Opens plugins with their options, or where they have none with those that the job's `refine` has
 * for them. Profiles and fallbacks are refused. Lives in `arena`, with which
 * the plugins are closed. A plugin without any collective is refused or passed over: NULL where
 * all are.
 */
st_status st_plugin_collectives_open(const st_plugin_collectives_request *request, st_arena *arena,
                                     st_plugin_collectives **opened,
                                     st_errors *errors) ST_NODISCARD;

/* Whether a plugin has a collective, by the names that sheets have for them. */
bool st_plugin_has_collective(const st_plugin_module *module);

/* The model for st_trace_whatif. */
st_trace_collective_model st_plugin_collectives_model(st_plugin_collectives *opened);

#endif
