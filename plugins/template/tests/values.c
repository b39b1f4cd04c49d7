/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the plugin against numbers worked out by hand, without steptime. */
#include "steptime/plugin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void *allocate(void *context, size_t size_bytes)
{
    (void)context;
    return malloc(size_bytes);
}

static void release(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static void ignore(void *context, const char *message)
{
    (void)context;
    (void)message;
}

static void ignore_log(void *context, int level, const char *message)
{
    (void)level;
    ignore(context, message);
}

int main(void)
{
    const st_plugin_setting latency = {"latency", 2.385e-6, "2.385 us", 1};
    const st_plugin_setting efficiency = {"efficiency", 0.75, "0.75", 1};
    const st_plugin_setting *const settings[] = {&latency, &efficiency};
    const st_plugin_host host = {
        .struct_size = sizeof host,
        .abi = ST_PLUGIN_ABI,
        .log = ignore_log,
        .error = ignore,
        .allocate = allocate,
        .release = release,
        .directory = ".",
        .settings = settings,
        .setting_count = 2,
    };
    const double size[] = {1.25e6, 7.5e7, 3e3};
    const double ranks[] = {7, 1, 24};
    const double bandwidth[] = {3.1e9, 3.1e9, 0};
    const double *const columns[] = {size, ranks, bandwidth};
    const double expected = 12 * 2.385e-6 + 12.0 / 7 * 1.25e6 / (3.1e9 * 0.75);
    const st_plugin *plugin = st_plugin_describe();
    void *instance = NULL;
    double values[3] = {-1, -1, -1};
    if (plugin->open(&host, &instance) != ST_PLUGIN_OK ||
        plugin->providers[0]->evaluate(instance, 3, columns, values) != ST_PLUGIN_OK) {
        return EXIT_FAILURE;
    }
    plugin->close(instance);
    printf("%g s, %g s, %g\n", values[0], values[1], values[2]);
    return fabs(values[0] - expected) < 1e-12 && values[1] == 0 && isnan(values[2]) ? EXIT_SUCCESS
                                                                                    : EXIT_FAILURE;
}
