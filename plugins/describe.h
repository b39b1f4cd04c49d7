/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a descriptor as the pointers that plugin.h asks for: a list of options, arguments or
 * providers is all that a plugin says of them.
 *
 *     static const st_plugin_option *const options[] = {
 *         OPTION_FITTED("latency", "us", "4.5 us", 0, 1, "of a step", "SOURCE")};
 *
 * The host calls without a provider's name, so that each has a pair of functions of its own: CALLS
 * makes them of one pair for all, which receives its row.
 */
#ifndef STEPTIME_PLUGINS_DESCRIBE_H
#define STEPTIME_PLUGINS_DESCRIBE_H

#include "steptime/plugin.h"

#define OPTION_NUMBER_AS(how, of, in, initial, least, most, words, source)                         \
    &(const st_plugin_option)                                                                      \
    {                                                                                              \
        .struct_size = sizeof(st_plugin_option), .kind = ST_PLUGIN_NUMBER, .flags = how,           \
        .name = of, .unit = in, .default_text = initial, .minimum = least, .maximum = most,        \
        .doc = words, .cite = source                                                               \
    }
#define OPTION_NUMBER(...) OPTION_NUMBER_AS(0, __VA_ARGS__)
/* A number that `steptime fit` may adjust. */
#define OPTION_FITTED(...) OPTION_NUMBER_AS(ST_PLUGIN_CALIBRATED, __VA_ARGS__)
#define OPTION_CHOICE(of, list, initial, words, source)                                            \
    &(const st_plugin_option)                                                                      \
    {                                                                                              \
        .struct_size = sizeof(st_plugin_option), .kind = ST_PLUGIN_CHOICE, .name = of, .unit = "", \
        .choices = list, .default_text = initial, .doc = words, .cite = source                     \
    }
#define OPTION_TEXT(how, of, initial, words, source)                                               \
    &(const st_plugin_option)                                                                      \
    {                                                                                              \
        .struct_size = sizeof(st_plugin_option), .kind = ST_PLUGIN_TEXT, .flags = how, .name = of, \
        .unit = "", .default_text = initial, .doc = words, .cite = source                          \
    }

#define ARGUMENT_AS(how, of, in, words)                                                            \
    &(const st_plugin_argument)                                                                    \
    {                                                                                              \
        .struct_size = sizeof(st_plugin_argument), .flags = how, .name = of, .unit = in,           \
        .doc = words                                                                               \
    }
#define ARGUMENT(...) ARGUMENT_AS(0, __VA_ARGS__)
#define OPTIONAL(...) ARGUMENT_AS(ST_PLUGIN_OPTIONAL, __VA_ARGS__)

/* evaluate_ID and explain_ID, which call these functions with `which`. */
#define CALLS(id, which, evaluate, explain)                                                        \
    static int evaluate_##id(void *instance, size_t rows, const double *const *columns,            \
                             double *values)                                                       \
    {                                                                                              \
        return evaluate(instance, which, rows, columns, values);                                   \
    }                                                                                              \
    static int explain_##id(void *instance, const double *const *columns,                          \
                            const st_plugin_sink *sink)                                            \
    {                                                                                              \
        return explain(instance, which, columns, sink);                                            \
    }
#define PROVIDER(how, of, in, id, list, words, source)                                             \
    &(const st_plugin_provider)                                                                    \
    {                                                                                              \
        .struct_size = sizeof(st_plugin_provider), .flags = how, .name = of, .unit = in,           \
        .doc = words, .cite = source, .arguments = list,                                           \
        .argument_count = sizeof(list) / sizeof *(list), .evaluate = evaluate_##id,                \
        .explain = explain_##id                                                                    \
    }

/* The plugin: st_plugin_describe, with lists of options, providers and schedules, and .open and
 * .close where it has them. */
#define WITH_OPTIONS(list)   .options = list, .option_count = sizeof(list) / sizeof *(list)
#define WITH_PROVIDERS(list) .providers = list, .provider_count = sizeof(list) / sizeof *(list)
#define WITH_SCHEDULES(list) .schedules = list, .schedule_count = sizeof(list) / sizeof *(list)
#define DESCRIBE(of, number, words, ...)                                                           \
    const st_plugin *st_plugin_describe(void)                                                      \
    {                                                                                              \
        static const st_plugin plugin = {.struct_size = sizeof(plugin),                            \
                                         .abi = ST_PLUGIN_ABI,                                     \
                                         .id = of,                                                 \
                                         .version = number,                                        \
                                         .licence = "Apache-2.0",                                  \
                                         .summary = words,                                         \
                                         __VA_ARGS__};                                             \
        return &plugin;                                                                            \
    }                                                                                              \
    _Static_assert(ST_PLUGIN_ABI > 0, "a plugin")

#endif
