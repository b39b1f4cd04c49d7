/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin looked at from a safe distance: loaded by a child process alone. */
#ifndef STEPTIME_PLUGIN_KIT_ASIDE_H
#define STEPTIME_PLUGIN_KIT_ASIDE_H

#include "plugin/plugins.h"

typedef struct st_plugin_viewer {
    /* Writes what there is to say of a loaded plugin; runs in the child. */
    void (*show)(void *context, const st_plugin_module *module, st_buffer *text);
    void *context;
} st_plugin_viewer;

/*
 * Loads a plugin as st_plugin_load does, but in a child, and appends what `viewer` writes there to
 * `text`. Errors and warnings of loading come back with their places; a plugin that crashes or does
 * not end is one of them.
 */
st_status st_plugin_aside(const st_paths *paths, const char *name, const st_plugin_viewer *viewer,
                          st_arena *arena, st_buffer *text, st_errors *errors) ST_NODISCARD;

#endif
