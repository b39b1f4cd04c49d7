/* SPDX-License-Identifier: Apache-2.0 */
/* Topologies that are shipped, against times worked out by hand. */
#include "base_support.h"

#include "fabric/price.h"

#include <math.h>

typedef struct file_case {
    st_arena *arena;
    st_errors *errors;
    const st_topology *topology;
} file_case;

/* The tests run in the source folder. */
static file_case begin(const char *file)
{
    char text[4096];
    file_case with = {.arena = st_arena_create(), .errors = st_errors_create()};
    FILE *stream = fopen(file, "rb");
    assert_non_null(stream);
    st_source source = {.file = file, .text = text};
    source.length = fread(text, 1, sizeof text, stream);
    (void)fclose(stream);
    assert_int_equal(st_topology_read(&source, with.arena, &with.topology, with.errors), ST_OK);
    return with;
}

static void end(file_case *with)
{
    st_errors_destroy(with->errors);
    st_arena_destroy(with->arena);
}

static void expect_us(file_case *with, const st_site *site, const st_pattern *pattern, double bytes,
                      double expected_us)
{
    st_price price;
    assert_null(st_site_error(with->topology, site, with->arena));
    assert_int_equal(st_price_pattern(with->topology, site, pattern, with->arena, &price), ST_OK);
    double found_us = 1e6 * st_price_at(&price, bytes);
    if (fabs(found_us - expected_us) > 0.01)
        fail_msg("%s: %.6g us, not %.6g us", with->topology->name, found_us, expected_us);
}

/*
 * A ring of one rack: 142 rounds of two links, 0.6 us each, behind 9 us, are 179.4 us; in each
 * round 1/72 of the message goes at 900 GB/s: 142 / 72 * 8,589,934,592 B / 900 GB/s = 18,823.6 us.
 * A measured rack takes 20,299 us for them (CoreWeave, GB200, NCCL 2.26.2): the links alone, 6 %
 * less.
 */
TEST(a_ring_of_a_rack)
{
    file_case with = begin("configs/topologies/nvl72-gb200-576.yaml");
    const st_site site = {72, 72, 72, 72};
    const st_pattern ring = {ST_WAY_RING, 142, 1.0 / 72};
    assert_int_equal(with.topology->node_gpus, 0); /* a rack of 18 nodes */
    expect_us(&with, &site, &ring, 0, 179.4);
    expect_us(&with, &site, &ring, 8589934592.0, 179.4 + 18823.622);
    end(&with);
}

/*
 * Sums in the network of 16 nodes of 8 (Graham et al. 2016): the message goes up a tree of two
 * levels and down again, 0.6 + 1.6 us each way, behind 9 us; a rank sends it once at 450 GB/s, a
 * node once at 400: 268,435,456 B / 400 GB/s = 671.1 us. A ring of the 128 ranks has 254 rounds of
 * 2 * (0.6 + 1.6) us, and sends 254/128 of it.
 */
TEST(sums_in_the_network)
{
    file_case with = begin("configs/topologies/sharp-h100-128.yaml");
    const st_site all = {128, 8, 8, 8};
    const st_site one_each = {16, 1, 8, 8};
    const st_pattern summed = {.way = ST_WAY_SUMMED};
    const st_pattern ring = {ST_WAY_RING, 254, 1.0 / 128};
    assert_true(with.topology->reduces);
    assert_int_equal(with.topology->node_gpus, 8);
    expect_us(&with, &all, &summed, 0, 13.4);
    expect_us(&with, &all, &summed, 268435456.0, 13.4 + 671.089);
    expect_us(&with, &all, &ring, 268435456.0, 9 + 254 * 4.4 + 1331.692);
    /* eight groups of one rank per node share the 400 GB/s of a node */
    expect_us(&with, &one_each, &summed, 268435456.0, 13.4 + 8 * 671.089);
    end(&with);
}

TESTS(topology_files);
