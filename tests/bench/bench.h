/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small bench: cases that are compared run in turn, round by round, so that a slow moment of the
 * machine hits all of them, and the median over the rounds is what counts.
 */
#ifndef STEPTIME_TESTS_BENCH_H
#define STEPTIME_TESTS_BENCH_H

#include <stdbool.h>
#include <stddef.h>

enum { BENCH_ROUNDS = 25 };

typedef enum bench_clock {
    BENCH_CPU,  /* CPU time of this process */
    BENCH_WALL, /* for what other processes do */
} bench_clock;

typedef struct bench_case {
    const char *name;
    bench_clock clock;
    /* Does the work `repeats` times; the number is chosen so that a round can be timed. */
    void (*run)(void *context, size_t repeats);
    void *context;
    double least_s;  /* of one repeat over all rounds */
    double median_s; /* of one repeat */
    double most_s;
} bench_case;

void bench_measure(bench_case *cases, size_t count);

/* One line of the table: a figure and the figure to reach. */
typedef struct bench_figure {
    const char *what;
    double value;
    const char *unit;
    double reach; /* 0: shown for comparison only */
    bool at_least;
} bench_figure;

/* Prints the table; true when every figure is reached. */
bool bench_print(const bench_figure *figures, size_t count);

#endif
