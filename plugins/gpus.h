/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which GPU a job has. Sheets know a GPU by its rates, so that they identify it: the dense peak
 * of FP16, the memory bandwidth and, for the A800 and H800, the links, as configs/gpus has them
 * from data sheets. The order is that of stored models of slowdowns: add at the end.
 */
#ifndef STEPTIME_PLUGINS_GPUS_H
#define STEPTIME_PLUGINS_GPUS_H

#include <math.h>
#include <stddef.h>

#define GPU_NAMES                                                                                  \
    "v100", "a100", "a800", "h100", "h800", "h200", "b200", "rtx3090", "rtx4090", "l40s", "a10",   \
        "a40", "l40", "h20", "gh200", "gb200", "mi250x", "mi300x"

enum { GPU_COUNT = 18, GPU_UNKNOWN = -1 };

static const char *const gpu_names[GPU_COUNT] = {GPU_NAMES};

typedef struct gpu_rates {
    int gpu; /* of gpu_names */
    double peak_tflop_per_s;
    double memory_gb_per_s;
    double link_gb_per_s; /* 0: any */
} gpu_rates;

/* One that differs only by its links precedes the one that it resembles. */
static const gpu_rates gpu_table[] = {
    {0, 125, 900, 0},     {0, 112, 900, 0},    {2, 312, 2039, 200},   {1, 312, 1555, 0},
    {1, 312, 1935, 0},    {1, 312, 2039, 0},   {4, 989.4, 3350, 200}, {3, 989.4, 3350, 0},
    {3, 756, 2000, 0},    {5, 989.4, 4800, 0}, {6, 2250, 8000, 0},    {7, 71, 936, 0},
    {8, 165.2, 1008, 0},  {9, 362.05, 864, 0}, {10, 125, 600, 0},     {11, 149.7, 696, 0},
    {12, 181.05, 864, 0}, {13, 148, 4000, 0},  {14, 989.4, 4000, 0},  {15, 2500, 8000, 0},
};

static int gpu_is_near(double left, double right)
{
    return fabs(left - right) <= 0.02 * right;
}

/* In base units; what is not known is NaN. GPU_UNKNOWN where no GPU has such rates. */
static int gpu_of_rates(double peak_flop_per_s, double memory_bytes_per_s, double link_bytes_per_s)
{
    for (size_t i = 0; i < sizeof gpu_table / sizeof *gpu_table; i++) {
        const gpu_rates *rates = &gpu_table[i];
        if (gpu_is_near(peak_flop_per_s, rates->peak_tflop_per_s * 1e12) &&
            (isnan(memory_bytes_per_s) ||
             gpu_is_near(memory_bytes_per_s, rates->memory_gb_per_s * 1e9)) &&
            (rates->link_gb_per_s <= 0 ||
             gpu_is_near(link_bytes_per_s, rates->link_gb_per_s * 1e9))) {
            return rates->gpu;
        }
    }
    return GPU_UNKNOWN;
}

#endif
