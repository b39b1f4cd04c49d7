/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins in processes of their own: what both sides of the border know. */
#ifndef STEPTIME_PLUGIN_ISOLATE_H
#define STEPTIME_PLUGIN_ISOLATE_H

#include "plugin/module.h"

/* Writes a verified descriptor, and reads one that was written as foreign data: what is made of it
 * still has to be verified (st_module_describe). NULL where it makes no sense or memory is out. */
void st_isolate_put(const st_plugin *shown, st_buffer *to);
const st_plugin *st_isolate_take(const char *text, size_t length, st_arena *arena);

/* The kinds of calls. */
enum {
    ST_ISOLATE_DESCRIBE,
    ST_ISOLATE_OPEN,
    ST_ISOLATE_EVALUATE,
    ST_ISOLATE_SEVERAL,
    ST_ISOLATE_EXPLAIN
};

/* As st_provider has them; false for a plugin in this process. */
bool st_plugin_put_off(const st_plugin_instance *instance, size_t provider, size_t rows,
                       const double *const *columns);
bool st_plugin_catch_up(void *unused);

/* Serves the request in a lane with an instance of this process. */
void st_isolate_serve(const st_plugin_instance *instance, struct st_remote_lane *lane);

/* Loads and opens as the functions without "here" do, but in this process whatever the search path
 * says; for the process of the plugin's own. */
st_status st_plugin_load_here(const st_paths *paths, const char *name, st_place place,
                              st_arena *arena, const st_plugin_module **module,
                              st_errors *errors) ST_NODISCARD;

#endif
