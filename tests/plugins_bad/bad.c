/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins as they should not be; each is this file with one fault. */
#include "steptime/plugin.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static const st_plugin_argument size = {
    .struct_size = sizeof(st_plugin_argument), .name = "size", .unit = "B"};
static const st_plugin_argument ranks = {
    .struct_size = sizeof(st_plugin_argument), .name = "ranks", .unit = ""};
static const st_plugin_argument *const arguments[] = {&size, &ranks};

static int evaluate(void *instance, size_t rows, const double *const *columns, double *values)
{
    (void)instance;
    for (size_t row = 0; row < rows; row++) {
        values[row] = columns[1][row] > 1 ? 2.385e-6 + columns[0][row] * 7.25e-11 : 0;
        if (!(columns[0][row] >= 0 && columns[0][row] < 1e20 && columns[1][row] >= 1)) {
            values[row] = (double)NAN;
        }
#if defined(BAD_NAN)
        values[row] = (double)NAN;
#elif defined(BAD_NEGATIVE)
        values[row] = -values[row];
#elif defined(BAD_FALLING)
        values[row] =
            columns[1][row] > 1 ? 2.385 - 1e-4 * log2(1 + columns[0][row]) : 0; /* a bit */
#elif defined(BAD_CRASH)
        abort();
#elif defined(BAD_LOOP)
        for (volatile double turn = 0; turn >= 0; turn = turn < 1e9 ? turn + 1 : 0) {
            continue;
        }
#elif defined(BAD_BLOCK)
        values[row] += rows > 1 ? 1e-9 : 0;
#endif
    }
#if defined(BAD_EXIT)
    exit(0);
#endif
#if defined(BAD_EVALUATE)
    return ST_PLUGIN_FAILED;
#else
    return ST_PLUGIN_OK;
#endif
}

static void tell(const st_plugin_sink *sink, double value)
{
    const st_plugin_term term = {.struct_size = sizeof(st_plugin_term),
                                 .flags = ST_PLUGIN_PART,
                                 .name = "all",
                                 .unit = "us",
                                 .value = value};
    sink->term(sink->context, &term);
}

static int explain(void *instance, const double *const *columns, const st_plugin_sink *sink)
{
    double value = 0;
    (void)evaluate(instance, 1, columns, &value);
#if defined(BAD_SUM)
    value *= 1.001;
#endif
    tell(sink, value);
    return ST_PLUGIN_OK;
}

static const st_plugin_provider all_reduce = {
    .struct_size = sizeof(st_plugin_provider),
    .flags = ST_PLUGIN_COLLECTIVE,
    .name = "all_reduce",
#if defined(BAD_UNIT)
    .unit = "fortnights",
#else
    .unit = "us",
#endif
    .doc = "an all-reduce with a fault",
    .arguments = arguments,
    .argument_count = 2,
    .evaluate = evaluate,
    .explain = explain,
};
static const st_plugin_provider *const providers[] = {&all_reduce};

static int open_plugin(const st_plugin_host *host, void **instance)
{
    *instance = NULL;
#if defined(BAD_OPEN)
    host->error(host->context, "the table of links is missing");
    return ST_PLUGIN_FAILED;
#else
    (void)host;
    return ST_PLUGIN_OK;
#endif
}

static const st_plugin plugin = {
#if defined(BAD_SHORT)
    .struct_size = 24,
#else
    .struct_size = sizeof(st_plugin),
#endif
#if defined(BAD_ABI)
    .abi = 2385,
#else
    .abi = ST_PLUGIN_ABI,
#endif
    .id = BAD_ID,
    .version = "0.1.0",
    .licence = "Apache-2.0",
    .summary = "a plugin with a fault",
    .providers = providers,
    .provider_count = 1,
    .open = open_plugin,
};

#if defined(BAD_FORGE)
/* Answers in the place of steptime, wherever that listens, with 23 faults that are none. */
__attribute__((constructor)) static void forge(void)
{
    static const char answer[] = "+23\0+what\0+0\0\x04";
    for (int file = 3; file < 64; file++) {
        if (write(file, answer, sizeof(answer) - 1) > 0) {
            _exit(0);
        }
    }
}
#endif

#if defined(BAD_LOAD)
__attribute__((constructor)) static void load(void)
{
    abort();
}
#endif

#if defined(BAD_SYMBOL)
ST_PLUGIN_EXPORT const st_plugin *st_plugin_descripe(void);
const st_plugin *st_plugin_descripe(void)
#else
const st_plugin *st_plugin_describe(void)
#endif
{
#if defined(BAD_DESCRIBE)
    abort();
#endif
    return &plugin;
}
