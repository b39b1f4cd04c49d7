/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What property tests share: random numbers whose seed is printed. STEPTIME_SEED=N repeats a run.
 */
#ifndef STEPTIME_TESTS_PROPERTY_H
#define STEPTIME_TESTS_PROPERTY_H

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* So many random inputs, of which sanitizers, which take ten times as long, get a fifth. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DRAWS(count) (((count) + 4) / 5)
#endif
#endif
#ifndef DRAWS
#define DRAWS(count) (count)
#endif

/* The state of the generator is the state of a cmocka group. */
typedef struct property_random {
    uint64_t seed;
    uint64_t state;
} property_random;

static inline int property_setup(void **state)
{
    static property_random random;
    const char *given = getenv("STEPTIME_SEED");
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    random.seed = given != NULL ? strtoull(given, NULL, 10)
                                : (uint64_t)now.tv_sec * 1000003U + (uint64_t)now.tv_nsec;
    random.state = random.seed;
    printf("# STEPTIME_SEED=%" PRIu64 "\n", random.seed);
    *state = &random;
    return 0;
}

/* SplitMix64: every seed is a good one. */
static inline uint64_t random_bits(property_random *random)
{
    uint64_t z = random->state += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

/* From 0 to `count` - 1. */
static inline size_t random_below(property_random *random, size_t count)
{
    return (size_t)(random_bits(random) % count);
}

/* From `low` to `high`, both included. */
static inline int random_between(property_random *random, int low, int high)
{
    return low + (int)random_below(random, (size_t)(high - low) + 1);
}

static inline double random_unit_interval(property_random *random)
{
    return (double)(random_bits(random) >> 11) * 0x1p-53;
}

/* Any finite double, evenly over the bit patterns. */
static inline double random_double(property_random *random)
{
    double value;
    do {
        uint64_t bits = random_bits(random);
        memcpy(&value, &bits, sizeof value);
    } while (!isfinite(value));
    return value;
}

/* Either sign, magnitudes from 10^-reach to 10^reach. */
static inline double random_magnitude(property_random *random, double reach)
{
    double value = pow(10, reach * (2 * random_unit_interval(random) - 1));
    return random_bits(random) % 2 == 0 ? value : -value;
}

static inline bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

#endif
