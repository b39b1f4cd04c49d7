/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugins that are part of the program, since a static one cannot load any: the list is empty
 * (no_linked.c) but in the programs of packaging/static.
 */
#ifndef STEPTIME_PLUGIN_LINKED_H
#define STEPTIME_PLUGIN_LINKED_H

#include "steptime/plugin.h"

#define ST_LINKED_ROOT "<linked>"

typedef struct st_linked_plugin {
    const char *id;
    st_plugin_describe_function describe;
} st_linked_plugin;

extern const st_linked_plugin st_linked_plugins[];
extern const size_t st_linked_plugin_count;

/* By id, or by "<linked>/ID"; NULL: it is none of them. */
const st_linked_plugin *st_linked_plugin_find(const char *name);

#endif
