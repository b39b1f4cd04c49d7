/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a calibration other groups take, and what neighbours foretell without a model. */
#include "base_support.h"

#include "nccl-whitebox/fit/nccl_transfer.h"

enum { TABLES = 6, MOST = 16, MIB = 1 << 20 };

/* A fit of one collective: tables, rows of them, and nominal times. */
typedef struct made_fit {
    st_nccl_table tables[TABLES];
    const st_nccl_table *of[TABLES];
    st_nccl_group_rates group_rates[TABLES];
    st_nccl_row rows[MOST];
    st_nccl_point points[MOST];
    double nominal_s[MOST];
    st_nccl_fit fit;
} made_fit;

static void begin(made_fit *own)
{
    /* one node, a pair on it, three groups across, and one more of which no nominal time is known
     */
    static const size_t ranks[TABLES] = {8, 2, 16, 32, 64, 128};
    *own = (made_fit){.fit = {.table_count = TABLES}};
    for (size_t i = 0; i < TABLES; i++) {
        own->tables[i] = (st_nccl_table){.ranks = ranks[i], .nodes = i < 2 ? 1 : ranks[i] / 8};
        own->of[i] = &own->tables[i];
        own->group_rates[i].links.rate = own->group_rates[i].nics.rate = NOT_A_NUMBER;
    }
    own->fit.tables = own->of;
    own->fit.model.points = own->points;
    own->fit.model.group_rates = own->group_rates;
    own->fit.times_s[ST_NCCL_NOMINAL] = own->nominal_s;
}

/* A row, whose nominal time is off by that logarithm. */
static void add_point(made_fit *own, size_t table, double size_bytes, double measured_s, double off)
{
    size_t i = own->fit.model.point_count++;
    own->rows[i].size_bytes = size_bytes;
    own->points[i] =
        (st_nccl_point){.table = table, .row = &own->rows[i], .measured_s = measured_s};
    own->nominal_s[i] = measured_s * exp(off);
}

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-6 * fabs(expected)))
        fail_msg("%.9g is not %.9g", value, expected);
}

/* ---- neighbours ---- */

/* In an order that is none. */
TEST(lines_go_through_the_nearest_two_sizes)
{
    const double expected[] = {
        14 * cbrt(50.0 / 14),       /* a third of the way from 2 to 16 KiB */
        14 * 14 / 30.0,             /* beyond 2 and 4 KiB */
        30 * 30.0 * 30 / (14 * 14), /* two octaves beyond 4 and 2 KiB */
        17.3205081,                 /* of 1 and 4 KiB: sqrt(10*30) */
        25,
        20, /* one other size says no more than its time */
    };
    st_arena *arena = st_arena_create();
    made_fit made;
    (void)state;
    begin(&made);
    add_point(&made, 0, 4096, 30, 0);
    add_point(&made, 0, 1024, 10, 0);
    add_point(&made, 0, 16384, 50, 0);
    add_point(&made, 0, 2048, 14, 0);
    add_point(&made, 3, 1024, 20, 0);
    add_point(&made, 3, 2048, 25, 0);
    add_point(&made, 2, 1024, 18, 0); /* alone in its table */
    assert_int_equal(st_nccl_baselines(&made.fit, arena), ST_OK);
    const double *times_s = made.fit.times_s[ST_NCCL_BETWEEN_SIZES];
    assert_non_null(times_s);
    for (size_t i = 0; i < COUNT(expected); i++)
        assert_near(times_s[i], expected[i]);
    assert_true(isnan(times_s[6]));
    st_arena_destroy(arena);
}

TEST(lines_go_through_the_nearest_two_numbers_of_ranks)
{
    static const double expected[] = {
        23.2379001,     /* of 16 and 64: sqrt(18*30) */
        20 * 20 / 30.0, /* beyond 32 and 64 */
        20 * 20 / 18.0, /* beyond 32 and 16 */
    };
    st_arena *arena = st_arena_create();
    made_fit made;
    (void)state;
    begin(&made);
    add_point(&made, 3, 1024, 20, 0);
    add_point(&made, 2, 1024, 18, 0);
    add_point(&made, 4, 1024, 30, 0);
    add_point(&made, 0, 1024, 10, 0); /* on one node: no neighbour of groups across */
    add_point(&made, 3, 2048, 25, 0); /* of another size */
    assert_int_equal(st_nccl_baselines(&made.fit, arena), ST_OK);
    const double *times_s = made.fit.times_s[ST_NCCL_BETWEEN_RANKS];
    assert_non_null(times_s);
    for (size_t i = 0; i < COUNT(expected); i++)
        assert_near(times_s[i], expected[i]);
    assert_true(isnan(times_s[3]));
    assert_true(isnan(times_s[4]));
    st_arena_destroy(arena);
}

TEST(what_has_no_neighbour_is_not_made)
{
    st_arena *arena = st_arena_create();
    made_fit made;
    (void)state;
    begin(&made);
    add_point(&made, 3, 1024, 20, 0);
    add_point(&made, 0, 2048, 14, 0);
    assert_int_equal(st_nccl_baselines(&made.fit, arena), ST_OK);
    assert_null(made.fit.times_s[ST_NCCL_BETWEEN_SIZES]);
    assert_null(made.fit.times_s[ST_NCCL_BETWEEN_RANKS]);
    st_arena_destroy(arena);
}

/* ---- shares beforehand ---- */

static const st_nccl_kind_of_group across = {.across = true, .large = true};

/* 16 ranks are off by 0.3 and 0.5, 32 by 0.2 twice. */
static void make_groups(made_fit *own)
{
    begin(own);
    add_point(own, 2, MIB, 3.1, 0.3);
    add_point(own, 3, 4.0 * MIB, 5.7, 0.2);
    add_point(own, 2, 4.0 * MIB, 7.3, 0.5);
    add_point(own, 3, MIB, 2.9, 0.2);
}

/*
 * Of the groups' means 0.4 and 0.2, 0.3 is common. Between groups the variance is 0.02, more than
 * 0.08^2; within them the mean of 0.01 and 0 comes on top. 0.09/(0.09 + 0.025*1.5/2) = 0.828 is
 * rounded up to a step of a twentieth.
 */
TEST(what_is_common_to_groups_is_taken)
{
    made_fit made;
    st_nccl_transfer transfer;
    (void)state;
    make_groups(&made);
    assert_int_equal(st_nccl_choose_transfer(&made.fit, &(st_nccl_unseen){0}, across, &transfer),
                     3);
    assert_near(transfer.share, 0.85);
    assert_int_equal(transfer.groups, 2);
    assert_near(transfer.common, 0.3);
    assert_near(transfer.apart, sqrt(0.025));
    assert_true(isnan(transfer.gain) && isnan(transfer.least_gain));
    assert_string_equal(st_nccl_transfer_reason(&transfer), "prior");
}

/* Of one group nothing is known of the variance between groups: 0.16/(0.16 + 0.0064 + 0.01). */
TEST(one_group_counts_with_what_is_usual)
{
    made_fit made;
    st_nccl_transfer transfer;
    st_nccl_kind_of_group but = across;
    (void)state;
    make_groups(&made);
    but.but = 32;
    assert_int_equal(st_nccl_choose_transfer(&made.fit, &(st_nccl_unseen){0}, but, &transfer), 2);
    assert_near(transfer.share, 0.9);
    assert_int_equal(transfer.groups, 1);
    assert_near(transfer.common, 0.4);
    assert_near(transfer.apart, sqrt(0.0164));
}

/* Small messages, groups on one node and rows without a nominal time have no say in it. */
TEST(other_rows_have_no_say)
{
    made_fit made;
    st_nccl_transfer transfer;
    (void)state;
    make_groups(&made);
    add_point(&made, 2, MIB - 1, 4.1, 2.5);
    add_point(&made, 0, MIB, 4.3, -1.5);
    add_point(&made, 5, MIB, 4.7, (double)NAN);
    (void)st_nccl_choose_transfer(&made.fit, &(st_nccl_unseen){0}, across, &transfer);
    assert_int_equal(transfer.groups, 2);
    assert_near(transfer.common, 0.3);
    const struct {
        st_nccl_kind_of_group kind;
        double common;
    } others[] = {{{.across = true, .large = false}, 2.5},
                  {{.across = false, .large = true}, -1.5}};
    for (size_t i = 0; i < COUNT(others); i++) {
        (void)st_nccl_choose_transfer(&made.fit, &(st_nccl_unseen){0}, others[i].kind, &transfer);
        assert_int_equal(transfer.groups, 1);
        assert_near(transfer.common, others[i].common);
    }
    const st_nccl_kind_of_group none = {.across = false, .large = false};
    assert_int_equal(st_nccl_choose_transfer(&made.fit, &(st_nccl_unseen){0}, none, &transfer), 0);
    assert_int_equal(transfer.groups, 0);
    assert_near(transfer.share, 1);
    assert_true(isnan(transfer.common));
    assert_string_equal(st_nccl_transfer_reason(&transfer), "no nominal");
}

/* Two GPUs reach each other over PCIe as more of them do not. */
TEST(pairs_over_pcie_say_nothing)
{
    static const st_nccl_kind_of_group inside = {.across = false, .large = true};
    made_fit made;
    st_nccl_transfer transfer;
    (void)state;
    begin(&made);
    add_point(&made, 1, MIB, 4.1, 0.7);
    (void)st_nccl_choose_transfer(&made.fit, &(st_nccl_unseen){0}, inside, &transfer);
    assert_int_equal(transfer.groups, 1);
    made.group_rates[1].links.rate = 23.85e9;
    (void)st_nccl_choose_transfer(&made.fit, &(st_nccl_unseen){0}, inside, &transfer);
    assert_int_equal(transfer.groups, 0);
    made.group_rates[1].links.rate = 450e9;
    (void)st_nccl_choose_transfer(&made.fit, &(st_nccl_unseen){0}, inside, &transfer);
    assert_int_equal(transfer.groups, 1);
    made.group_rates[1].links.rate = 23.85e9;
    made.tables[1].ranks = 3;
    (void)st_nccl_choose_transfer(&made.fit, &(st_nccl_unseen){0}, inside, &transfer);
    assert_int_equal(transfer.groups, 1);
}

/* ---- groups that were left out ---- */

/* Times with which each group gains such a share of nominal's error. */
static void gain(const made_fit *own, double first, double second, double *times_s)
{
    double errors[] = {(exp(0.3) - 1 + exp(0.5) - 1) / 2, exp(0.2) - 1};
    for (size_t i = 0; i < own->fit.model.point_count; i++) {
        bool is_first = own->points[i].table == 2;
        double error = is_first ? (1 - first) * errors[0] : (1 - second) * errors[1];
        times_s[i] = own->points[i].measured_s * (1 + error);
    }
}

/*
 * Two groups of the same gain: the variance is 2*0.2^2/3, a further group lies within 1.637744
 * (Student's t of three degrees, 90 %) times sqrt(0.04) = 0.327549 below. Of gains 0.5 and 0.1 it
 * is (0.08 + 0.08)/3, and 0.3 - 1.637744*sqrt(0.08) = -0.163224.
 */
TEST(a_share_is_taken_that_loses_nothing)
{
    static const struct {
        double gains[3][2];
        size_t index;
        double gain, least; /* of the last share that was too large; NaN: none was */
    } cases[] = {
        {{{0.33, 0.33}, {9, 9}, {9, 9}}, 0, (double)NAN, (double)NAN},
        {{{0.32, 0.32}, {0.33, 0.33}, {9, 9}}, 1, 0.32, 0.32 - 0.32754887},
        {{{-1, -1}, {0.32, 0.32}, {0.33, 0.33}}, 2, 0.32, 0.32 - 0.32754887},
        {{{-1, -1}, {-2, -2}, {-3, -3}}, 2, -2, -2.3275488}, /* the last share is nominal */
        {{{0.5, 0.1}, {0.33, 0.33}, {9, 9}}, 1, 0.3, -0.16322405},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        double times_s[3][MOST];
        double *all[3] = {times_s[0], times_s[1], times_s[2]};
        made_fit made;
        st_nccl_transfer transfer;
        make_groups(&made);
        for (size_t k = 0; k < 3; k++)
            gain(&made, cases[i].gains[k][0], cases[i].gains[k][1], times_s[k]);
        size_t index =
            st_nccl_choose_transfer(&made.fit, &(st_nccl_unseen){all, 3}, across, &transfer);
        assert_int_equal(index, cases[i].index);
        assert_near(transfer.share, 1 - 0.05 * (double)index);
        assert_int_equal(isnan(transfer.gain), isnan(cases[i].gain));
        if (!isnan(cases[i].gain)) {
            assert_near(transfer.gain, cases[i].gain);
            assert_near(transfer.least_gain, cases[i].least);
            assert_string_equal(st_nccl_transfer_reason(&transfer), "left out");
        }
    }
}

/* One group alone tells nothing of a further one. */
TEST(one_group_left_out_decides_nothing)
{
    double times_s[2][MOST];
    double *all[2] = {times_s[0], times_s[1]};
    made_fit made;
    st_nccl_transfer transfer;
    st_nccl_kind_of_group but = across;
    (void)state;
    make_groups(&made);
    gain(&made, -1, -1, times_s[0]);
    gain(&made, -1, -1, times_s[1]);
    but.but = 32;
    assert_int_equal(st_nccl_choose_transfer(&made.fit, &(st_nccl_unseen){all, 2}, but, &transfer),
                     2);
    assert_string_equal(st_nccl_transfer_reason(&transfer), "prior");
}

/* ---- intervals ---- */

/* A straight line over the ranks is right for 32 and 64 ranks, nominal times for 16: behind 32 it
 * counts, behind 16 it does not. */
TEST(lines_count_where_both_ends_say_so)
{
    static const struct {
        double off_32;
        double off_64;
        const char *behind_16;
        const char *behind_32;
        const char *behind_64;
    } cases[] = {
        {0.37, 0.29, "~large", "~large", "~large"},
        {0.37, 0.0, "~large", "", ""},
        {0.0, 0.29, "", "", "~large"},
        {0.0, 0.0, "", "", ""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        made_fit made;
        bool counts[MOST];
        begin(&made);
        add_point(&made, 2, 4 * MIB, 2.385e-3, 0.4);
        add_point(&made, 3, 4 * MIB, 2.385e-3 * 1.31, cases[i].off_32);
        add_point(&made, 4, 4 * MIB, 2.385e-3 * 1.31 * 1.27, cases[i].off_64);
        add_point(&made, 5, 4 * MIB, 2.385e-3 * 1.31 * 1.27 * 1.33, 0.2);
        add_point(&made, 0, 4 * MIB, 1e-3, 0.4); /* on one node: of another kind */
        for (size_t k = 0; k < MOST; k++)
            counts[k] = true;
        assert_string_equal(st_nccl_between_mark(&made.fit, counts, 2), cases[i].behind_16);
        assert_string_equal(st_nccl_between_mark(&made.fit, counts, 3), cases[i].behind_32);
        assert_string_equal(st_nccl_between_mark(&made.fit, counts, 4), cases[i].behind_64);
        assert_string_equal(st_nccl_between_mark(&made.fit, counts, 5), "");
        /* Without 64 ranks nothing lies between 32 and 128 but the ends themselves. */
        counts[2] = false;
        assert_string_equal(st_nccl_between_mark(&made.fit, counts, 3),
                            cases[i].off_32 > 0 ? "~large" : "");
    }
}

TESTS(nccl_transfer);
