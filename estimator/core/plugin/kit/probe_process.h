/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that only a child process loads. */
#ifndef STEPTIME_PLUGIN_KIT_PROBE_PROCESS_H
#define STEPTIME_PLUGIN_KIT_PROBE_PROCESS_H

#include "plugin/plugins.h"

typedef struct st_plugin_viewer {
    /* Describes a loaded plugin; runs in the child. */
    void (*show)(void *context, const st_plugin_module *module, st_buffer *text);
    void *context;
} st_plugin_viewer;

/*
 * Loads a plugin as st_plugin_load does, but in a child, and appends what `viewer` writes there to
 * `text`. Errors and warnings of loading come back with their places; a plugin that crashes or does
 * not end is one of them.
 */
st_status st_plugin_probe(const st_paths *paths, const char *name, const st_plugin_viewer *viewer,
                          st_arena *arena, st_buffer *text, st_errors *errors) ST_NODISCARD;

/* The parts of isolation that this system lacks, in words; "": none. Runs no plugin. */
st_status st_plugin_isolation_lacks(st_arena *arena, const char **lacking,
                                    st_errors *errors) ST_NODISCARD;

#endif
