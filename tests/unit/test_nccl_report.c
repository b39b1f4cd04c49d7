/* SPDX-License-Identifier: Apache-2.0 */
/* What reports of fits to collectives say, of fits made by hand. */
#include "forms_support.h"

#include "nccl-whitebox/fit/nccl_report.h"

#include <math.h>

enum { TABLES = 2, POINTS = 4, OPTIONS = 4 };

/* A node of 8 GPUs, and two of 4 without NVLink; two sizes each, nominal 10 % off one way and 30 %
 * the other, fitted 5 % and 1 %. */
typedef struct made_fit {
    st_nccl_row rows[POINTS];
    st_nccl_table tables[TABLES];
    const st_nccl_table *of[TABLES];
    st_nccl_point points[POINTS];
    st_nccl_group_rates group_rates[TABLES];
    st_nccl_varied varied[OPTIONS];
    double nominal_s[POINTS];
    double fitted_s[POINTS];
    st_nccl_fit fit;
} made_fit;

static void make_tables(made_fit *own)
{
    own->tables[0] = (st_nccl_table){.file = "h100.txt",
                                     .line = 7,
                                     .collective = "all_reduce",
                                     .ranks = 8,
                                     .nodes = 1,
                                     .gpu = "H100",
                                     .version = "2.22.3",
                                     .row_count = 2,
                                     .buffers = ST_NCCL_IN_PLACE,
                                     .left_out = 1};
    own->tables[1] = (st_nccl_table){.file = "l40.txt",
                                     .line = 9,
                                     .collective = "all_reduce",
                                     .ranks = 8,
                                     .nodes = 2,
                                     .trays = 36,
                                     .gpu = "",
                                     .version = "",
                                     .row_count = 2,
                                     .left_out = 3};
    own->group_rates[0] = (st_nccl_group_rates){.links = {450e9, "the heading"}};
    own->group_rates[1] =
        (st_nccl_group_rates){.links = {23.85e9, "a data sheet"}, .nics = {(double)NAN, NULL}};
}

static void make_points(made_fit *own)
{
    static const double sizes[POINTS] = {2385, 4194304, 1048576, 1048575};
    static const double measured_s[POINTS] = {10e-6, 40e-6, 30e-6, 20e-6};
    static const double nominal[POINTS] = {1.1, 0.7, 1.1, 1.1};
    static const double fitted[POINTS] = {1.05, 0.99, 1.05, 1.05};
    for (size_t i = 0; i < POINTS; i++) {
        own->rows[i] = (st_nccl_row){.size_bytes = sizes[i], .line = 10 + (int)i};
        own->points[i] = (st_nccl_point){i / 2, &own->rows[i], measured_s[i]};
        own->nominal_s[i] = nominal[i] * measured_s[i];
        own->fitted_s[i] = fitted[i] * measured_s[i];
    }
}

static void make_options(made_fit *own)
{
    const st_unit one = st_unit_one();
    own->varied[0] = (st_nccl_varied){
        .name = "lat", .unit = one, .nominal = 5, .low = 2, .high = 9, .deviation = 2};
    own->varied[1] = own->varied[2] = own->varied[3] = own->varied[0];
    own->varied[1].name = "slow";
    own->varied[2].name = "fast";
    own->varied[3].name = "odd";
    own->varied[3].deviation = 0.5;
    const double values[OPTIONS] = {6.5, 2.0004, 8.9996, 7.385};
    const double errors[OPTIONS] = {0.2389, (double)NAN, 0.1, 0.1};
    memcpy(own->fit.values, values, sizeof values);
    memcpy(own->fit.errors, errors, sizeof errors);
}

static st_nccl_fit *make_fit(made_fit *own)
{
    *own = (made_fit){0};
    make_tables(own);
    make_points(own);
    make_options(own);
    for (size_t i = 0; i < TABLES; i++)
        own->of[i] = &own->tables[i];
    own->fit.tables = own->of;
    own->fit.table_count = TABLES;
    own->fit.plugin = "whitebox";
    own->fit.wants_fit = true;
    own->fit.times_s[ST_NCCL_NOMINAL] = own->nominal_s;
    own->fit.times_s[ST_NCCL_FITTED] = own->fitted_s;
    own->fit.model = (st_nccl_model){.points = own->points,
                                     .point_count = POINTS,
                                     .varied = own->varied,
                                     .varied_count = OPTIONS,
                                     .group_rates = own->group_rates};
    return &own->fit;
}

static void report(fixture *own, const st_nccl_fit *fits, size_t count, bool details)
{
    st_nccl_report_make(&(st_nccl_report){fits, count, details}, own->arena, &own->result);
    write_forms(own);
}

TEST_WITH(tables_are_told_with_their_machines, set_up, tear_down)
{
    made_fit made;
    st_nccl_fit *fit = make_fit(&made);
    fit->refused = 2;
    report(*state, fit, 1, false);
    SAYS(
        *state, "whitebox fitted to all_reduce\n",
        "h100.txt:7 2 rows in place, 8 ranks on 1 node, H100, NCCL 2.22.3, links 450 GB/s (the "
        "heading); 1 row left out\n",
        "l40.txt:9 2 rows out of place, 8 ranks on 2 nodes of 18 trays that NVLink connects, links "
        "23.85 GB/s (a data sheet), NICs of a node unknown; over PCIe",
        "3 rows left out\n", "the plugin rejects 2 rows");
    HAS(*state, "\"byte_per_s\": 450000000000", "\"byte_per_s\": null", "\"buffers\": \"in-place\"",
        "\"buffers\": \"out-of-place\"", "\"left_out\": 3", "\"refused\": 2");
}

/* With two GPUs on a node there is no cliff; a rate that is fitted has no number. */
TEST_WITH(rates_are_told_where_they_count, set_up, tear_down)
{
    made_fit made;
    st_nccl_fit *fit = make_fit(&made);
    made.tables[1].ranks = 4;
    made.group_rates[1].nics = (st_nccl_sourced_rate){(double)NAN, "the rows"};
    made.tables[0].ranks = made.tables[0].nodes;
    made.tables[0].left_out = 0;
    fit->wants_fit = false;
    fit->profile = "mine";
    report(*state, fit, 1, false);
    SAYS(*state, "whitebox compared with all_reduce, with profile mine",
         "NICs of a node of the rows");
    assert_silent(*state, "over PCIe");
    assert_silent(*state, "450 GB/s");
    assert_silent(*state, "1 row left out");
    assert_silent(*state, "refuses");
    assert_silent(*state, "std error");
}

/* 6.5 is 0.75 deviations away, 7.385 is 4.77. */
TEST_WITH(options_at_their_bounds_are_marked, set_up, tear_down)
{
    made_fit made;
    report(*state, make_fit(&made), 1, false);
    SAYS(*state, "lat 6.5 5 23.9 %", "slow 2.0004 5 - at its lower bound",
         "fast 8.9996 5 10.0 % at its upper bound", "odd 7.385 5 10.0 % farther than expected");
    fixture *own = *state;
    const char *lat = strstr(st_buffer_read(&own->text), "lat 6.5");
    assert_ptr_not_equal(strchr(lat, '\n'), strstr(lat, " at its"));
    HAS(own,
        "\"fitted\": 6.5, \"nominal\": 5, \"standard_error\": 0.2389, \"low\": 2, \"high\": 9");
}

/* Of factors the logarithm counts: twice as much is 3.47 deviations of 0.2. A rate that nobody
 * knows is never farther than expected, and a bound of 0 is none. */
TEST_WITH(notes_follow_the_kind_of_an_option, set_up, tear_down)
{
    made_fit made;
    st_nccl_fit *fit = make_fit(&made);
    made.varied[0].is_factor = made.varied[3].is_rate = true;
    made.varied[0].nominal = 3.25;
    made.varied[0].deviation = 0.2;
    made.varied[1].low = 0;
    fit->values[1] = 0.0002;
    report(*state, fit, 1, false);
    SAYS(*state, "lat 6.5 3.25 23.9 % farther than expected", "odd 7.385 5 10.0 %\n");
    assert_silent(*state, "lower bound");
}

TEST_WITH(errors_are_summed_up_by_sizes, set_up, tear_down)
{
    made_fit made;
    report(*state, make_fit(&made), 1, false);
    SAYS(*state, "all sizes nominal 4 15.0 % 10.0 % +0.0 % 30.0 %",
         "fitted 4 4.0 % 5.0 % +3.5 % 5.0 %", "below 1 MiB nominal 2 10.0 % 10.0 % +10.0 % 10.0 %",
         "from 1 MiB nominal 2 20.0 % 20.0 % -10.0 % 30.0 %",
         "4 to 256 MiB nominal 1 30.0 % 30.0 % -30.0 % 30.0 %");
    assert_silent(*state, "median of mean errors");
    assert_silent(*state, "three lines");
    assert_silent(*state, "h100.txt:10");
}

/* One fit to a node at 10 % and one to several at 15 %: the median of all is between them. */
TEST_WITH(medians_are_over_fits_of_a_kind, set_up, tear_down)
{
    made_fit made[2];
    st_nccl_fit fits[2] = {*make_fit(&made[0]), *make_fit(&made[1])};
    made[1].of[0] = &made[1].tables[1];
    for (size_t i = 0; i < POINTS; i++)
        made[0].nominal_s[i] = 1.1 * made[0].points[i].measured_s;
    report(*state, fits, 2, false);
    SAYS(*state, "median of mean errors all tables one node tables several tables",
         "all sizes nominal 12.5 % 2 10.0 % 1 15.0 % 1",
         "4 to 256 MiB nominal 20.0 % 2 10.0 % 1 30.0 % 1");
    assert_silent(*state, "size left out");
}

TEST_WITH(rows_are_shown_on_request, set_up, tear_down)
{
    made_fit made;
    report(*state, make_fit(&made), 1, true);
    SAYS(*state, "h100.txt:10 2385 10 us 11 us 10.5 us", "l40.txt:13 1048575 20 us 22 us 21 us");
    HAS(*state, "\"table\": 1, \"line\": 13, \"size_bytes\": 1048575");
}

/* Of what is left out, of a prior, all of it: each kind of groups and sizes has a share. */
TEST_WITH(shares_of_a_calibration_are_explained, set_up, tear_down)
{
    made_fit made;
    st_nccl_fit *fit = make_fit(&made);
    for (size_t i = 0; i < ST_NCCL_SHARE_SLOTS; i++)
        fit->model.shares[i] = "share";
    fit->transfers[0] = (st_nccl_transfer){0, 3, 0.1, 0.2, 0.2385, -0.05};
    fit->transfers[1] = (st_nccl_transfer){0.35, 1, log(1.5), 0.25, (double)NAN, (double)NAN};
    fit->transfers[2] = (st_nccl_transfer){1, 2, 0, 0, (double)NAN, (double)NAN};
    fit->transfers[3] = (st_nccl_transfer){0.6, 2, 0, 0, 0.5, -0.1};
    fit->correction = "8:1;16:2";
    fit->model.correction = "rest";
    report(*state, fit, 1, false);
    SAYS(*state, "rest by size, of 2 groups of ranks",
         "unmeasured groups of one node are nominal below 1 MiB: with more, 3 numbers "
         "of ranks, left out one by one, gain +24 % of nominal's error, and a further one may lose "
         "5 %",
         "unmeasured groups of one node take 35 % of it from 1 MiB: nominal is +50.0 % "
         "off on 1 number of ranks, and 25.0 % besides",
         "unmeasured groups of several nodes take 60 % of it from 1 MiB");
    HAS(*state, "\"used\": \"nominal\"", "\"used\": \"shrunk\"", "\"used\": \"calibrated\"",
        "\"reason\": \"prior\"", "\"mean_gain\": 0.2385");
    assert_silent(*state, "several nodes that were not measured take 100 %");
}

TESTS(nccl_report);
