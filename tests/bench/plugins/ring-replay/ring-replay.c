/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A provider that takes long: rings replayed slice by slice and rank by rank, each step with a
 * delay of its own that is always the same. Searches on slow providers are compared with it.
 */
#include "steptime/plugin.h"

#include <math.h>
#include <stdint.h>

enum { SIZE, RANKS, BANDWIDTH, ARGUMENTS, MOST_RANKS = 1024, MOST_SLICES = 4096 };

#define SLICE_BYTES 65536.0
#define STEP_S      3e-6

#define ARGUMENT(of, in, text)                                                                     \
    static const st_plugin_argument of = {                                                         \
        .struct_size = sizeof(st_plugin_argument), .name = #of, .unit = (in), .doc = (text)}

ARGUMENT(size, "MB", "message");
ARGUMENT(ranks, "", "ranks in the group");
ARGUMENT(bandwidth, "GB/s", "of a rank");

static const st_plugin_argument *const arguments[ARGUMENTS] = {&size, &ranks, &bandwidth};

/* From 0 up to a tenth. */
static double delay(uint64_t step, uint64_t rank)
{
    uint64_t mixed = (step * 2654435761U + rank) * UINT64_C(6364136223846793005);
    return (double)(mixed >> 40) / (double)(1 << 24) * 0.1;
}

static double replay(double bytes, double count, double rate, int rounds)
{
    double clocks[MOST_RANKS] = {0};
    size_t n = (size_t)count;
    double slices = fmin(fmax(ceil(bytes / count / SLICE_BYTES), 1), MOST_SLICES);
    double slice = bytes / count / slices / rate;
    double end = 0;
    for (uint64_t step = 0; step < (uint64_t)slices * (uint64_t)rounds * (n - 1); step++) {
        double before = clocks[n - 1];
        double latency = step % (uint64_t)slices == 0 ? STEP_S : 0;
        for (size_t rank = 0; rank < n; rank++) {
            double own = clocks[rank];
            clocks[rank] = fmax(own, before) + slice * (1 + delay(step, rank)) + latency;
            before = own;
        }
    }
    for (size_t rank = 0; rank < n; rank++)
        end = fmax(end, clocks[rank]);
    return end;
}

static int run(size_t rows, const double *const *columns, double *values, int rounds)
{
    for (size_t row = 0; row < rows; row++) {
        double count = columns[RANKS][row];
        double bytes = columns[SIZE][row];
        double rate = columns[BANDWIDTH][row];
        int known = count >= 1 && count <= MOST_RANKS && bytes >= 0 && isfinite(bytes) &&
                    (count == 1 || rate > 0);
        if (known)
            values[row] = count == 1 ? 0 : replay(bytes, count, rate, rounds);
        else
            values[row] = (double)NAN;
    }
    return ST_PLUGIN_OK;
}

static int twice(void *instance, size_t rows, const double *const *columns, double *values)
{
    (void)instance;
    return run(rows, columns, values, 2);
}

static int once(void *instance, size_t rows, const double *const *columns, double *values)
{
    (void)instance;
    return run(rows, columns, values, 1);
}

#define PROVIDER(of, by, text)                                                                     \
    static const st_plugin_provider of = {.struct_size = sizeof(st_plugin_provider),               \
                                          .flags = ST_PLUGIN_COLLECTIVE,                           \
                                          .name = #of,                                             \
                                          .unit = "us",                                            \
                                          .doc = (text),                                           \
                                          .cite = "nccl-tests PERFORMANCE.md",                     \
                                          .arguments = arguments,                                  \
                                          .argument_count = ARGUMENTS,                             \
                                          .evaluate = (by)}

PROVIDER(all_reduce, twice, "all-reduce on a ring, replayed");
PROVIDER(all_gather, once, "all-gather on a ring, replayed");
PROVIDER(reduce_scatter, once, "reduce-scatter on a ring, replayed");

static const st_plugin_provider *const providers[] = {&all_reduce, &all_gather, &reduce_scatter};

static const st_plugin plugin = {
    .struct_size = sizeof(st_plugin),
    .abi = ST_PLUGIN_ABI,
    .id = "ring-replay",
    .version = "0.1.0",
    .licence = "Apache-2.0",
    .summary = "rings replayed slice by slice, which takes long",
    .providers = providers,
    .provider_count = sizeof providers / sizeof providers[0],
};

const st_plugin *st_plugin_describe(void)
{
    return &plugin;
}
