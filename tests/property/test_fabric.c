/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of steps laid over networks: the text of a ring costs what the ring's closed form says,
 * for any number of ranks, rate, latency and message, and what is taken out of a table is noticed.
 */
#include "property.h"

#include "fabric/price.h"
#include "job/files.h"

enum { CASES = 60 };

static const char ring[] = "collective all_reduce\nranks any\nchunks n\n"
                           "for k = 0 to n-2\n  send (r-k) mod n to (r+1) mod n\n"
                           "  reduce (r-k-1) mod n from (r-1) mod n\nend\n"
                           "for k = 0 to n-2\n  send (r+1-k) mod n to (r+1) mod n\n"
                           "  copy (r-k) mod n from (r-1) mod n\nend\n";

static const char gather[] = "collective all_gather\nranks any\nchunks n\n"
                             "for k = 0 to n-2\n  send (r-k) mod n to (r+1) mod n\n"
                             "  copy (r-k-1) mod n from (r-1) mod n\nend\n";

static const char exchange[] = "collective all_to_all\nranks any\nchunks n*n\n"
                               "for k = 1 to n-1\n  send r*n + (r+k) mod n to (r+k) mod n\nend\n"
                               "for k = 1 to n-1\n"
                               "  copy (r-k) mod n*n + r from (r-k) mod n\nend\n";

static const char doubling[] = "collective all_reduce\nranks power of 2\nchunks 1\n"
                               "for k = 0 to log2(n)-1\n  send 0 to r xor 2^k\n"
                               "  reduce 0 from r xor 2^k\nend\n";

typedef struct bench {
    property_random *random;
    st_arena *arena;
    st_errors *errors;
} bench;

static bench open_bench(void *random)
{
    bench own = {random, st_arena_create(), st_errors_create()};
    assert_non_null(own.arena);
    assert_non_null(own.errors);
    return own;
}

static void close_bench(bench *own)
{
    st_errors_destroy(own->errors);
    st_arena_destroy(own->arena);
}

static const st_steps *read_steps(bench *own, const char *text)
{
    const st_steps *steps = NULL;
    const st_source source = {.file = "t.steps", .text = text, .length = strlen(text)};
    assert_int_equal(st_steps_read(&source, own->arena, &steps, own->errors), ST_OK);
    return steps;
}

/* One switch with `ranks` ranks. */
typedef struct star {
    const st_topology *topology;
    double rate;
    double latency_s;
    double start_s;
} star;

static star make_star(bench *own, uint32_t ranks)
{
    char text[400];
    star made = {.rate = 1e9 * random_between(own->random, 3, 900),
                 .latency_s = 1e-9 * random_between(own->random, 1, 5000),
                 .start_s = 1e-9 * random_between(own->random, 0, 30000)};
    snprintf(text, sizeof text,
             "topology: star\nstart: %.17g us\nlevels:\n"
             "  - {name: node, holds: %u, bandwidth: %.17g GB/s, latency: %.17g us}\n",
             1e6 * made.start_s, ranks, 1e-9 * made.rate, 1e6 * made.latency_s);
    const st_source source = {.file = "star", .text = text, .length = strlen(text)};
    assert_int_equal(st_topology_read(&source, own->arena, &made.topology, own->errors), ST_OK);
    return made;
}

static void expect_price(bench *own, const char *text, uint32_t ranks, double rounds, double share)
{
    star at = make_star(own, ranks);
    const st_steps_group group = {ranks, ranks};
    const st_site site = {ranks, ranks, ranks, ranks};
    st_transfers transfers;
    st_price price;
    assert_int_equal(st_steps_follow(read_steps(own, text), &group, &transfers, own->errors),
                     ST_OK);
    assert_int_equal(st_price_transfers(at.topology, &site, &transfers, own->arena, &price), ST_OK);
    for (int i = 0; i < 8; i++) {
        double bytes = pow(10, 9 * random_unit_interval(own->random));
        double expected = at.start_s + rounds * 2 * at.latency_s + share * bytes / at.rate;
        double found = st_price_at(&price, bytes);
        if (fabs(found - expected) > 1e-9 * expected)
            fail_msg("%u ranks: %.12g, not %.12g (STEPTIME_SEED=%" PRIu64 ")", ranks, found,
                     expected, own->random->seed);
    }
    free(transfers.items);
}

/* Patarasuk and Yuan 2009: 2 (n-1)/n of the message over a link, in 2 (n-1) rounds. */
TEST(a_ring_costs_its_closed_form)
{
    bench own = open_bench(*state);
    for (int i = 0; i < CASES; i++) {
        uint32_t n = (uint32_t)random_between(*state, 2, 40);
        expect_price(&own, ring, n, 2.0 * (n - 1), 2.0 * (n - 1) / n);
        expect_price(&own, gather, n, n - 1, (double)(n - 1) / n);
        expect_price(&own, exchange, n, 1, (double)(n - 1) / n);
        expect_price(&own, doubling, 1u << (1 + n % 5), 1 + n % 5, 1 + n % 5);
    }
    close_bench(&own);
}

/* The library's own ring is that of the text, on any place of ranks in a tree. */
TEST(patterns_cost_what_their_tables_do)
{
    bench own = open_bench(*state);
    for (int i = 0; i < CASES; i++) {
        char text[400];
        uint32_t per_node = 1u << random_below(*state, 4);
        uint32_t nodes = (uint32_t)random_between(*state, 2, 8);
        uint32_t n = per_node * nodes;
        const st_topology *topology = NULL;
        snprintf(text, sizeof text,
                 "topology: t\nstart: 9 us\nlevels:\n"
                 "  - {name: node, holds: 8, bandwidth: 450 GB/s, latency: 0.6 us}\n"
                 "  - {name: rail, holds: %u, %s bandwidth: 50 GB/s, latency: 1.7 us}\n",
                 nodes, random_below(*state, 2) == 0 ? "rails: 8," : "");
        const st_source source = {.file = "t", .text = text, .length = strlen(text)};
        assert_int_equal(st_topology_read(&source, own.arena, &topology, own.errors), ST_OK);
        const st_steps_group group = {n, per_node};
        const st_site site = {n, per_node, 8, 8};
        const st_pattern pattern = {ST_WAY_RING, 2.0 * (n - 1), 1.0 / n};
        st_transfers transfers;
        st_price by_table;
        st_price by_pattern;
        assert_int_equal(st_steps_follow(read_steps(&own, ring), &group, &transfers, own.errors),
                         ST_OK);
        assert_int_equal(st_price_transfers(topology, &site, &transfers, own.arena, &by_table),
                         ST_OK);
        assert_int_equal(st_price_pattern(topology, &site, &pattern, own.arena, &by_pattern),
                         ST_OK);
        double bytes = 1e8 * random_unit_interval(*state);
        double expected = st_price_at(&by_pattern, bytes);
        assert_true(fabs(st_price_at(&by_table, bytes) - expected) <= 1e-9 * expected);
        free(transfers.items);
    }
    close_bench(&own);
}

/* A ring without one of its steps, or with one more, never passes. */
TEST(a_table_without_a_step_is_refused)
{
    bench own = open_bench(*state);
    for (int i = 0; i < CASES; i++) {
        char text[1000];
        size_t used = 0;
        size_t line = 0;
        uint32_t n = (uint32_t)random_between(*state, 2, 12);
        bool doubles = random_below(*state, 2) == 0;
        static const size_t steps[] = {4, 5, 8, 9}; /* lines of sends and receives */
        size_t chosen = steps[random_below(*state, 4)];
        for (const char *at = ring; *at != '\0'; line++) {
            size_t length = strcspn(at, "\n") + 1;
            size_t times = line != chosen ? 1 : doubles ? 2 : 0;
            for (size_t k = 0; k < times; k++, used += length)
                memcpy(text + used, at, length);
            at += length;
        }
        text[used] = '\0';
        const st_steps_group group = {n, n};
        st_transfers transfers;
        st_status status = st_steps_follow(read_steps(&own, text), &group, &transfers, own.errors);
        if (status != ST_ERR_VALUE)
            fail_msg("%u ranks, line %zu: accepted (STEPTIME_SEED=%" PRIu64 ")", n, chosen + 1,
                     own.random->seed);
        st_errors_clear(own.errors);
    }
    close_bench(&own);
}

/* Shipped tables hold for what they say, on every division into nodes. */
TEST(shipped_tables_hold)
{
    static const char *const files[] = {"configs/steps/ring.steps",
                                        "configs/steps/recursive-doubling.steps",
                                        "configs/steps/two-level.steps"};
    bench own = open_bench(*state);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        st_source source = {0};
        const st_steps *steps = NULL;
        assert_true(st_file_embedded(files[i], own.arena, &source));
        assert_int_equal(st_steps_read(&source, own.arena, &steps, own.errors), ST_OK);
        for (uint32_t n = 2; n <= 24; n++)
            for (uint32_t per_node = 1; per_node <= n; per_node++) {
                const st_steps_group group = {n, per_node};
                st_transfers transfers;
                if (n % per_node != 0 || !st_steps_fit(steps, &group))
                    continue;
                assert_int_equal(st_steps_follow(steps, &group, &transfers, own.errors), ST_OK);
                free(transfers.items);
            }
    }
    close_bench(&own);
}

TESTS_WITH(fabric, property_setup, NULL);
