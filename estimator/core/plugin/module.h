/* SPDX-License-Identifier: Apache-2.0 */
/* A loaded plugin and an open one, from the inside. */
#ifndef STEPTIME_PLUGIN_MODULE_H
#define STEPTIME_PLUGIN_MODULE_H

#include "base/guard.h"
#include "plugin/remote.h"
#include "plugin/plugins.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    ST_PLUGIN_MAX_OPTIONS = 1000,
    ST_PLUGIN_MAX_PROVIDERS = 256,
    ST_PLUGIN_MAX_SCHEDULES = 64,
    ST_PLUGIN_MAX_TEXT = 4096, /* bytes of any text that a plugin hands over */
    ST_PLUGIN_MAX_CHOICES = 64,
    ST_PLUGIN_MAX_TERMS = 1000,
    ST_PLUGIN_BLOCK_ROWS = 512 /* rows in which constants of a job are handed over */
};

/* An option, verified; what a plugin's own size does not cover is zero. */
typedef struct st_module_option {
    st_plugin_option shown;
    st_unit unit;         /* of a number */
    const char **choices; /* of a choice */
    size_t choice_count;
    double default_number;
} st_module_option;

typedef struct st_module_provider {
    st_plugin_provider shown;
    st_unit unit;
    st_plugin_argument *arguments;
    st_unit *argument_units;
} st_module_provider;

struct st_plugin_module {
    const char *file;
    const char *folder;
    const char *who;                /* "plugin 'NAME'", for messages of the guard */
    void *handle;                   /* NULL where it is not in this process */
    const st_paths *paths;          /* of one that is not */
    struct st_described *described; /* NULL: it was described before */
    /* Starts the process of an instance of one that is not; NULL: it is in this process. */
    st_status (*start)(st_plugin_instance *instance, const st_plugin_given *given, size_t count,
                       st_place place, st_errors *errors);
    st_plugin shown; /* with arrays of pointers to the copies below */
    st_module_option *options;
    st_module_provider *providers;
};

struct st_plugin_instance {
    const st_plugin_module *module;
    void *instance;
    bool is_open;
    st_remote *remote; /* NULL: it is in this process */
    atomic_uint calls; /* of evaluate */
    st_plugin_host host;
    st_plugin_setting *settings;
    const st_plugin_setting **setting_pointers;
    st_arena *arena;      /* of the instance's own */
    pthread_mutex_t lock; /* guards what is below */
    bool has_error;
    char error[512];    /* the first since it was last cleared */
    st_buffer warnings; /* lines, bounded */
};

/* Reads and verifies a descriptor. Errors are reported as "plugin FILE: ..." at `place`. */
st_status st_module_describe(st_plugin_module *module, const st_plugin *raw, st_place place,
                             st_arena *arena, st_errors *errors) ST_NODISCARD;

/* "plugin FILE: MESSAGE" */
st_status st_module_fail(const st_plugin_module *module, st_status status, st_place place,
                         const char *message, st_errors *errors);

/* Reads the text of an option into a number; errors at `place`. */
st_status st_module_parse(const st_module_option *option, const char *text, st_place place,
                          double *number, st_errors *errors) ST_NODISCARD;

/* The number of a setting must lie in the option's range. */
st_status st_module_check_range(const st_module_option *option, double number, st_place place,
                                st_errors *errors) ST_NODISCARD;

/* Clears the first error of the calls to come; then what it was, in `arena`, NULL for none. */
void st_instance_clear_error(const st_plugin_instance *instance);
const char *st_instance_error(const st_plugin_instance *instance, st_arena *arena);

/* Letters, digits and '_', not beginning with a digit; as sheets name functions and cells. */
bool st_plugin_is_name(const char *text);
/* Small letters, digits and '-', beginning with a letter. */
bool st_plugin_is_id(const char *text);

/* The file of a plugin by its id, NULL where no root has it. */
const char *st_plugin_find(const st_paths *paths, const char *id, st_arena *arena);

/* The file of a plugin by id, or by path where `name` has a '/'; an unknown id is reported. */
st_status st_plugin_locate(const st_paths *paths, const char *name, st_place place, st_arena *arena,
                           const char **file, st_errors *errors) ST_NODISCARD;

/* Warns where everyone may write the file, its folder, or may replace that folder. */
void st_plugin_warn_if_open(const char *file, st_place place, st_arena *arena, st_errors *errors);

#endif
