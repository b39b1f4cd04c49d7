/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `plugin list` shows of a plugin: NAME.manifest, next to NAME.so.
 *
 * A manifest is written when a plugin is built, from its descriptor, and bears length and check sum
 * of the shared object, so that a list needs to run no code of anybody. It says nothing that is
 * trusted: whoever uses a plugin reads the descriptor itself.
 */
#ifndef STEPTIME_PLUGIN_KIT_MANIFEST_H
#define STEPTIME_PLUGIN_KIT_MANIFEST_H

#include "plugin/plugins.h"

typedef enum st_plugin_use {
    ST_PLUGIN_UNKNOWN, /* it has no manifest, or that of another build */
    ST_PLUGIN_UNUSABLE,
    ST_PLUGIN_USABLE
} st_plugin_use;

/* Texts are never NULL. */
typedef struct st_plugin_state {
    st_plugin_use use;
    const char *reason; /* why it is not usable; "" where it is */
    const char *version;
    const char *summary;
    const char *providers; /* names, separated by ", " */
    const char *schedules; /* likewise */
} st_plugin_state;

/* Reads the manifest of a plugin and nothing else. */
st_status st_plugin_read_manifest(const st_plugin_entry *entry, st_arena *arena,
                                  st_plugin_state *state) ST_NODISCARD;

/* The same from the plugin, which a process of its own loads. */
st_status st_plugin_look(const st_paths *paths, const st_plugin_entry *entry, st_arena *arena,
                         st_plugin_state *state) ST_NODISCARD;

/* Whether a plugin's manifest file is what st_plugin_write_manifest gives; absent where there
 * is none. */
typedef enum st_manifest_match {
    ST_MANIFEST_ABSENT,
    ST_MANIFEST_SAME,
    ST_MANIFEST_OTHER
} st_manifest_match;
st_status st_plugin_match_manifest(const st_paths *paths, const char *name, st_arena *arena,
                                   st_manifest_match *match, st_errors *errors) ST_NODISCARD;

/* Appends the manifest of a plugin, by name or file, which a process of its own loads. */
st_status st_plugin_write_manifest(const st_paths *paths, const char *name, st_arena *arena,
                                   st_buffer *text, st_errors *errors) ST_NODISCARD;

#endif
