/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance kit: what every plugin has to keep to, tried one by one in child processes. */
#ifndef STEPTIME_PLUGIN_KIT_KIT_H
#define STEPTIME_PLUGIN_KIT_KIT_H

#include "plugin/call_filter.h"
#include "plugin/plugins.h"

typedef enum st_finding_kind { ST_FINDING_PASS, ST_FINDING_FAIL, ST_FINDING_SKIP } st_finding_kind;

typedef struct st_finding {
    const char *check; /* what was tried */
    st_finding_kind kind;
    const char *text; /* what was found; "" where it passed and there is nothing to say */
} st_finding;

typedef struct st_findings {
    st_finding *items;
    size_t count;
} st_findings;

typedef struct st_check_request {
    const st_paths *paths;
    const char *name;          /* or a path with a '/' */
    unsigned limit_ms;         /* of each check */
    st_refused_calls *refused; /* counts calls that were refused, in shared memory; may be NULL */
} st_check_request;

/* Runs all checks. Stops after the first one if the plugin cannot be loaded. */
st_status st_plugin_check(const st_check_request *request, st_arena *arena, st_findings *findings,
                          st_errors *errors) ST_NODISCARD;

#endif
