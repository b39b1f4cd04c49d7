/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open estimate that follows its inputs: one setting and one reading of the step, against a new
 * estimate, and the memory that stays. bench_settings [JOB]
 */
#include "bench.h"
#include "steptime/steptime.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

enum { CASES = 4, MEMORY_SETTINGS = 100000 };

typedef struct setting {
    const char *job;
    const char *key;
    double low;
    const char *unit;
    st_estimate *estimate;
    st_errors *errors;
    size_t turn;
    double sum; /* of what was read, so that it is read */
} setting;

static void demand(bool holds, const setting *s)
{
    if (!holds) {
        st_errors_write(s->errors, stderr);
        fprintf(stderr, "bench: no estimate\n");
        exit(1);
    }
}

static void open_estimate(setting *s)
{
    st_estimate_request request = ST_ESTIMATE_REQUEST_INIT;
    request.job = s->job;
    demand(st_estimate_create(&request, &s->estimate, s->errors) == ST_OK, s);
}

static void read_step(setting *s)
{
    st_estimate_cell cell = ST_ESTIMATE_CELL_INIT;
    demand(st_estimate_read_role(s->estimate, "step", &cell, s->errors) == ST_OK, s);
    s->sum += cell.value;
}

static void run_new(void *context, size_t repeats)
{
    setting *s = context;
    for (size_t i = 0; i < repeats; i++) {
        open_estimate(s);
        read_step(s);
        st_estimate_destroy(s->estimate);
    }
}

static void run_set(void *context, size_t repeats)
{
    setting *s = context;
    for (size_t i = 0; i < repeats; i++) {
        char text[80];
        (void)snprintf(text, sizeof text, "%s=%.3f%s", s->key,
                       s->low + 0.125 * (double)(s->turn % 8), s->unit);
        s->turn++;
        demand(st_estimate_set(s->estimate, text, s->errors) == ST_OK, s);
        read_step(s);
    }
}

/* Bytes of the heap that a setting leaves behind. */
static double kept_bytes(setting *s)
{
    run_set(s, 100);
    const struct mallinfo2 before = mallinfo2();
    run_set(s, MEMORY_SETTINGS);
    const struct mallinfo2 after = mallinfo2();
    return ((double)(after.uordblks + after.hblkhd) - (double)(before.uordblks + before.hblkhd)) /
           MEMORY_SETTINGS;
}

int main(int argc, char **argv)
{
    const char *job = argc > 1 ? argv[1] : "gpt3-175b-1024xa100";
    setting settings[CASES] = {
        {.job = job},
        {.job = job, .key = "cluster.nic_bandwidth", .low = 187.5, .unit = " Gbit/s"},
        {.job = job, .key = "cluster.gpu.memory_bandwidth", .low = 1.91, .unit = " TB/s"},
        {.job = job, .key = "overlap.tp", .low = 0.0, .unit = ""},
    };
    bench_case cases[CASES] = {{.name = "new", .run = run_new, .context = &settings[0]},
                               {.name = "NIC", .run = run_set, .context = &settings[1]},
                               {.name = "memory", .run = run_set, .context = &settings[2]},
                               {.name = "overlap", .run = run_set, .context = &settings[3]}};
    for (size_t i = 0; i < CASES; i++) {
        settings[i].errors = st_errors_create();
        if (i > 0)
            open_estimate(&settings[i]);
    }
    bench_measure(cases, CASES);
    double set_us = 1e6 * cases[1].median_s;
    double bytes = kept_bytes(&settings[1]);
    const bench_figure figures[] = {
        {"a new estimate, its step read", 1e6 * cases[0].median_s, "us", 0, false},
        {"a setting of NICs, the step read", set_us, "us", 10, false},
        {"a setting of memory bandwidth, the step read", 1e6 * cases[2].median_s, "us", 10, false},
        {"a setting of overlap, the step read", 1e6 * cases[3].median_s, "us", 10, false},
        {"new estimates in the time of one setting", 1e6 * cases[0].median_s / set_us, "", 100,
         true},
        {"memory that a setting keeps", bytes, "B", 0.01, false},
    };
    bool all = bench_print(figures, sizeof figures / sizeof figures[0]);
    for (size_t i = 0; i < CASES; i++) {
        if (i > 0)
            st_estimate_destroy(settings[i].estimate);
        st_errors_destroy(settings[i].errors);
    }
    return all ? 0 : 1;
}
