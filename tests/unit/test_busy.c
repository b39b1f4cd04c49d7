/* SPDX-License-Identifier: Apache-2.0 */
/* Unions of intervals: what is exposed, what runs beside what, and how busy each period is. */
#include "base_support.h"
#include "trace/trace.h"

#include "trace/busy.h"
#include "trace/trace_replay.h"

static void assert_breakdown(const st_interval *intervals, size_t count, int64_t start_ns,
                             int64_t end_ns, st_trace_breakdown expected)
{
    st_trace_breakdown time;
    st_busy_breakdown(intervals, count, start_ns, end_ns, &time);
    assert_int_equal(time.exposed_compute_ns, expected.exposed_compute_ns);
    assert_int_equal(time.exposed_communication_ns, expected.exposed_communication_ns);
    assert_int_equal(time.overlapped_ns, expected.overlapped_ns);
    assert_int_equal(time.idle_ns, expected.idle_ns);
    assert_int_equal(time.window_ns, end_ns - start_ns);
}

/*
 *   compute        ..###########...######..      103-190, 230-297
 *                  ....#####                     110-150, inside of the first
 *   communication  .......########..####         160-211, 241-271
 */
static const st_interval mixed[] = {
    {103, 190, false}, {110, 150, false}, {160, 211, true}, {230, 297, false}, {241, 271, true}};

TEST(intervals_are_counted_once)
{
    assert_breakdown(mixed, COUNT(mixed), 100, 300,
                     (st_trace_breakdown){.exposed_compute_ns = 57 + 37,
                                          .exposed_communication_ns = 21,
                                          .overlapped_ns = 30 + 30,
                                          .idle_ns = 3 + 19 + 3});
    assert_breakdown(NULL, 0, 100, 300, (st_trace_breakdown){.idle_ns = 200});
}

/* The window begins and ends in the middle of computation and of communication. */
TEST(what_lies_outside_of_the_window_does_not_count)
{
    assert_breakdown(mixed, COUNT(mixed), 117, 253,
                     (st_trace_breakdown){.exposed_compute_ns = 43 + 11,
                                          .exposed_communication_ns = 21,
                                          .overlapped_ns = 30 + 12,
                                          .idle_ns = 19});
    assert_breakdown(mixed, COUNT(mixed), 170, 205,
                     (st_trace_breakdown){.exposed_communication_ns = 15, .overlapped_ns = 20});
    assert_breakdown(mixed, COUNT(mixed), 211, 230, (st_trace_breakdown){.idle_ns = 19});
}

TEST(order_is_by_start)
{
    st_interval given[COUNT(mixed) + 1];
    (void)state;
    given[COUNT(mixed)] = (st_interval){0, 1, false}; /* is not looked at */
    for (size_t i = 0; i < COUNT(mixed); i++)
        given[i] = mixed[COUNT(mixed) - 1 - i];
    st_intervals_sort(given, COUNT(mixed));
    for (size_t i = 0; i < COUNT(mixed); i++)
        assert_int_equal(given[i].start_ns, mixed[i].start_ns);
    assert_int_equal(given[COUNT(mixed)].start_ns, 0);
}

TEST(periods_share_what_crosses_them)
{
    double busy_ns[4] = {0.5, 0, 0, 0}; /* what is there already stays */
    (void)state;
    st_busy_periods(mixed, COUNT(mixed), 100, 50, busy_ns, COUNT(busy_ns));
    assert_same_double(busy_ns[0], 47.5);
    assert_same_double(busy_ns[1], 50);
    assert_same_double(busy_ns[2], 11 + 20);
    assert_same_double(busy_ns[3], 47);
}

/* What begins before the first period and ends behind the last counts inside of them only. */
TEST(periods_end_with_the_last)
{
    double busy_ns[2] = {0};
    (void)state;
    st_busy_periods(mixed, COUNT(mixed), 121, 70, busy_ns, COUNT(busy_ns));
    assert_same_double(busy_ns[0], 70);
    assert_same_double(busy_ns[1], 20 + 31);
}

/* Nothing is written behind the last period, not even of what begins exactly there. */
TEST(no_period_follows_the_last)
{
    static const st_interval behind[] = {{107, 300, false}, {310, 397, false}};
    double busy_ns[4] = {0, 0, 2.385, 2.385};
    (void)state;
    st_busy_periods(behind, COUNT(behind), 100, 70, busy_ns, 2);
    assert_same_double(busy_ns[0], 63);
    assert_same_double(busy_ns[1], 70);
    assert_same_double(busy_ns[2], 2.385);
    assert_same_double(busy_ns[3], 2.385);
}

static void assert_change(int64_t new_ns, int64_t old_ns, const char *expected)
{
    char text[64];
    assert_string_equal(st_change_text(new_ns, old_ns, text, sizeof text), expected);
}

TEST(changes_are_told_with_their_sign)
{
    assert_change(2385, 2385, "+0.00 %");
    assert_change(2385, 0, "+0.00 %");
    assert_change(3, 1, "+200.00 %");
    assert_change(1907, 2385, "-20.04 %");
    assert_change(2387, 2385, "+0.08 %");
}

TESTS(busy);
