/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin looked at from a safe distance: loaded by a child process alone. */
#ifndef STEPTIME_PLUGIN_ASIDE_H
#define STEPTIME_PLUGIN_ASIDE_H

#include "steptime/plugins.h"

/* Writes what there is to say of a loaded plugin; runs in the child. */
typedef void (*st_plugin_show)(void *context, const st_plugin_module *module, st_buffer *text);

/*
 * Loads a plugin as st_plugin_load does, but in a child, and appends what `show` writes there to
 * `text`. Faults and warnings of loading come back with their places; a plugin that crashes or does
 * not end is one of them.
 */
st_status st_plugin_aside(const st_paths *paths, const char *name, st_plugin_show show,
                          void *context, st_arena *arena, st_buffer *text,
                          st_errors *errors) ST_NODISCARD;

#endif
