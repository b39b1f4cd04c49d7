/* SPDX-License-Identifier: Apache-2.0 */
/* Timing in rounds and the table of figures; see bench.h. */
#include "bench.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Long against the clock's resolution, short against the machine's moods. */
static const double round_s = 0.02;

static double now_s(bench_clock clock)
{
    struct timespec now;
    clockid_t id = clock == BENCH_CPU ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    if (clock_gettime(id, &now) != 0) {
        perror("bench: no clock");
        exit(1);
    }
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double time_s(const bench_case *one, size_t repeats)
{
    double start_s = now_s(one->clock);
    one->run(one->context, repeats);
    return now_s(one->clock) - start_s;
}

/* Warms up on the way. */
static size_t choose_repeats(const bench_case *one)
{
    size_t repeats = 1;
    while (time_s(one, repeats) < round_s && repeats < SIZE_MAX / 2) {
        repeats *= 2;
    }
    return repeats;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

void bench_measure(bench_case *cases, size_t count)
{
    size_t *repeats = calloc(count, sizeof *repeats);
    double(*samples_s)[BENCH_ROUNDS] = calloc(count, sizeof *samples_s);
    if (!repeats || !samples_s) {
        fprintf(stderr, "bench: out of memory\n");
        exit(1);
    }
    for (size_t i = 0; i < count; i++) {
        repeats[i] = choose_repeats(&cases[i]);
    }
    for (size_t round = 0; round < BENCH_ROUNDS; round++) {
        for (size_t i = 0; i < count; i++) {
            samples_s[i][round] = time_s(&cases[i], repeats[i]) / (double)repeats[i];
        }
    }
    for (size_t i = 0; i < count; i++) {
        qsort(samples_s[i], BENCH_ROUNDS, sizeof samples_s[i][0], compare);
        cases[i].least_s = samples_s[i][0];
        cases[i].median_s = samples_s[i][BENCH_ROUNDS / 2];
        cases[i].most_s = samples_s[i][BENCH_ROUNDS - 1];
    }
    free(samples_s);
    free(repeats);
}

bool bench_print(const bench_figure *figures, size_t count)
{
    bool all = true;
    printf("%-52s %12s    %s\n", "what", "measured", "to reach");
    for (size_t i = 0; i < count; i++) {
        const bench_figure *f = &figures[i];
        printf("%-52s %9.3f %-5s", f->what, f->value, f->unit);
        if (f->reach > 0) {
            bool reached = f->at_least ? f->value >= f->reach : f->value <= f->reach;
            printf(" %s %g %s%s", f->at_least ? ">=" : "<=", f->reach, f->unit,
                   reached ? "" : "  MISSED");
            all = all && reached;
        }
        printf("\n");
    }
    return all;
}
