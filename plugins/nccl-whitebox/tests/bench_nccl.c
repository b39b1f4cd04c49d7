/* SPDX-License-Identifier: Apache-2.0 */
/* Nanoseconds per collective in a block of 512 rows: one group, and groups that
 * change. */
#include "settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROWS   512
#define ROUNDS 500

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

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

/* The quickest of many blocks: other work of the machine does not count. */
static double seconds_of(const st_plugin_provider *provider, void *instance, double groups)
{
    static double cells[ST_NCCL_COLUMNS][ROWS];
    static double values[ROWS];
    static const double row[ST_NCCL_COLUMNS] = {1e6, 16, 8, 1e11, 8, 450e9, 400e9, 9.0};
    const double *columns[ST_NCCL_COLUMNS];
    for (size_t i = 0; i < ST_NCCL_COLUMNS; i++) {
        for (size_t k = 0; k < ROWS; k++) {
            cells[i][k] = row[i];
        }
        columns[i] = cells[i];
    }
    for (size_t k = 0; k < ROWS; k++) {
        cells[ST_NCCL_SIZE][k] = 1e3 * exp2((double)(k % 20)) + (double)k;
        cells[ST_NCCL_RANKS][k] = 8.0 * (1.0 + fmod((double)k, groups));
    }
    double best = HUGE_VAL;
    for (size_t i = 0; i < ROUNDS; i++) {
        double before = now();
        provider->evaluate(instance, ROWS, columns, values);
        best = fmin(best, now() - before);
    }
    return best;
}

static int measure(const char *correction)
{
    st_plugin_setting settings[ST_NCCL_OPTION_COUNT] = {0};
    const st_plugin_setting *pointers[ST_NCCL_OPTION_COUNT];
    for (size_t i = 0; i < ST_NCCL_OPTION_COUNT; i++) {
        settings[i].name = st_nccl_options[i]->name;
        settings[i].text = st_nccl_options[i]->default_text;
        if (st_nccl_options[i]->kind == ST_PLUGIN_NUMBER) {
            settings[i].number = strtod(settings[i].text, NULL);
        }
        pointers[i] = &settings[i];
    }
    st_plugin_host host = {.struct_size = sizeof(host),
                           .abi = ST_PLUGIN_ABI,
                           .allocate = allocate,
                           .release = release,
                           .directory = ".",
                           .settings = pointers,
                           .setting_count = ST_NCCL_OPTION_COUNT};
    settings[ST_NCCL_OPTION_COUNT - 1].text = correction;
    const st_plugin *plugin = st_plugin_describe();
    void *instance = NULL;
    if (plugin->open(&host, &instance) != ST_PLUGIN_OK)
        return 1;
    static const double groups[] = {1.0, 4.0, 64.0};
    for (size_t i = 0; i < plugin->provider_count; i++) {
        for (size_t k = 0; k < sizeof(groups) / sizeof(groups[0]); k++) {
            double seconds = seconds_of(plugin->providers[i], instance, groups[k]);
            printf("%-15s %3.0f groups in a block: %6.1f ns a call\n", plugin->providers[i]->name,
                   groups[k], 1e9 * seconds / ROWS);
        }
    }
    plugin->close(instance);
    return 0;
}

int main(void)
{
    int failed = measure("");
    puts("with a correction:");
    return failed + measure("8/1 1024=1.08 1048576=0.93; 64/8 4096=1.12 67108864=0.97");
}
