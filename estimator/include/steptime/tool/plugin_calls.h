/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins: loaded, opened with settings, called. */
#ifndef STEPTIME_TOOL_PLUGIN_CALLS_H
#define STEPTIME_TOOL_PLUGIN_CALLS_H

#include "steptime/job.h"
#include "steptime/plugin.h"
#include "steptime/tool/providers.h"

/* A plugin that is loaded and whose descriptor makes sense. Lives in its arena. */
typedef struct st_plugin_module st_plugin_module;
/* One opened with settings. */
typedef struct st_plugin_instance st_plugin_instance;

/* What an option is to be. */
typedef struct st_plugin_given {
    const char *name;
    const char *text; /* with its unit; NULL: `number` counts */
    double number;    /* base units */
    st_place name_place;
    st_place place; /* of the value */
} st_plugin_given;

/* What --option NAME=VALUE gives, into `given`, which has room for all. */
st_status st_plugin_read_options(const char *const *texts, size_t count, st_arena *arena,
                                 st_plugin_given *given, st_errors *errors) ST_NODISCARD;

/*
 * Loads a plugin by id, or by path where `name` has a '/'. An unknown name is reported with the
 * nearest one, a plugin that cannot be used with the reason; a file or folder that everyone may
 * write is warned about. It is unloaded when `arena` is destroyed.
 */
st_status st_plugin_load(const st_paths *paths, const char *name, st_place place, st_arena *arena,
                         const st_plugin_module **module, st_errors *errors) ST_NODISCARD;

/* The verified descriptor, with all that lies behind its own size as zero. */
const st_plugin *st_plugin_descriptor(const st_plugin_module *module);
/* The plugin that an instance is of. */
const st_plugin_module *st_instance_module(const st_plugin_instance *instance);
/* Index of the provider (option) of that name, SIZE_MAX where there is none. */
size_t st_plugin_find_provider(const st_plugin_module *module, const char *name);
/* The default of an option in base units (a choice: its index; a text: 0). */
double st_plugin_default(const st_plugin_module *module, size_t option);

/*
 * Opens an instance; later ones of `given` win. Unknown options are reported with the nearest one,
 * values of another dimension or out of range with what is expected, all at once. The module must
 * outlive the instance.
 */
st_status st_plugin_open(const st_plugin_module *module, const st_plugin_given *given, size_t count,
                         st_place place, st_plugin_instance **instance,
                         st_errors *errors) ST_NODISCARD;
void st_plugin_close(st_plugin_instance *instance); /* NULL is fine */

/*
 * Evaluates a block of rows. columns[i] is argument i in base units, NULL for an optional one.
 * values[row] is not finite or negative where the plugin refuses. ST_ERR_PROVIDER where the whole
 * block failed. May be called by several threads at once.
 */
st_status st_plugin_evaluate(const st_plugin_instance *instance, size_t provider, size_t rows,
                             const double *const *columns, double *values) ST_NODISCARD;

/* What the plugin says about one row; see st_provider_account. ST_ERR_MEMORY or ST_OK. */
st_status st_plugin_explain(const st_plugin_instance *instance, size_t provider,
                            const double *const *columns, st_arena *arena,
                            st_provider_account *account) ST_NODISCARD;

#endif
