/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugins from the host's side: found, loaded, verified, opened with settings, called.
 *
 * A plugin lies in ROOT/plugins/NAME/NAME.so, next to its data, and its id is NAME. Roots
 * are tried in this order, first hit wins: those of the search path (--path folders, STEPTIME_PATH,
 * the user's folder, see paths.h), the folder of plugins next to the running program, the installed
 * one. The working folder is never searched, and only a plugin requested by name is loaded.
 */
#ifndef STEPTIME_PLUGIN_PLUGINS_H
#define STEPTIME_PLUGIN_PLUGINS_H

#include "steptime/job.h"
#include "steptime/plugin.h"
#include "program/program.h"
#include "schedule/schedule.h"
#include "steptime/tool/plugin_calls.h"

typedef struct st_plugin_entry {
    const char *id; /* the name of its folder */
    const char *file;
    const char *root; /* the folder of plugins that it lies in */
    bool shadowed;    /* another root has one of the same name, and comes first */
} st_plugin_entry;

/* Every plugin of every root, by root and then by name. Loads none. */
st_status st_plugins_list(const st_paths *paths, st_arena *arena, const st_plugin_entry **entries,
                          size_t *count, st_errors *errors) ST_NODISCARD;

/* As st_plugin_load, in a process of its own whatever the search path says (st_job_isolates). */
st_status st_plugin_load_apart(const st_paths *paths, const char *name, st_place place,
                               st_arena *arena, const st_plugin_module **module,
                               st_errors *errors) ST_NODISCARD;
/* The path that it was loaded from. */
const char *st_plugin_file(const st_plugin_module *module);
size_t st_plugin_find_option(const st_plugin_module *module, const char *name);
/* Index of the schedule of that name; of the only one for "". SIZE_MAX where there is none. */
size_t st_plugin_find_schedule(const st_plugin_module *module, const char *name);

/* A request for an order. */
typedef struct st_plugin_order_request {
    const st_plugin_instance *instance;
    size_t schedule; /* index */
    /* Its kind is 1F1B, or interleaved where there are several chunks; with times, in ticks. */
    const st_schedule_shape *shape;
    double ticks_per_s;
    st_place place; /* of errors */
} st_plugin_order_request;

/*
 * The order of a plugin's schedule for a shape; lives in `arena`. Reported with the plugin and the
 * schedule before it: a shape that the plugin refuses, several chunks where it knows one, passes
 * that are missing, doubled or on a wrong stage, and an order that waits on itself, as the cycle of
 * tasks and ranks.
 */
st_status st_plugin_order_make(const st_plugin_order_request *request, st_arena *arena,
                               st_schedule_order *order, st_errors *errors) ST_NODISCARD;

/* What the plugin logged as warnings since it was last asked becomes warnings at `place`. */
void st_plugin_take_warnings(const st_plugin_instance *instance, st_place place, st_errors *errors);

/* Keys read once from the job; a sweep cannot vary them. */
typedef struct st_refine_keys {
    const char *const *paths; /* keys whose one value in the job the providers count on */
    size_t count;
} st_refine_keys;

/* A job's wish to refine a sheet. */
typedef struct st_refine_request {
    const st_paths *paths;
    const st_job *job;
    const st_sheet *sheet;
    const st_refinement *refinements; /* in order of preference */
    size_t count;
    st_refine_keys *keys; /* where to put them; NULL: nobody asks */
} st_refine_request;

/*
 * The providers of plugins for the open functions and cells of a sheet; the first plugin that has
 * one counts. Reports plugins that cannot be used, faulty options, units that do not agree, and
 * plugins that fit nothing in the sheet, each at its place. Lives in `arena`, with which the
 * instances are closed.
 */
st_status st_plugins_refine(const st_refine_request *request, st_arena *arena,
                            const st_provider *const **providers, size_t *count,
                            st_errors *errors) ST_NODISCARD;

#endif
