/* SPDX-License-Identifier: Apache-2.0 */
/* What the report of slowdowns says, of trials made by hand: as text, as data and as a picture. */
#include "forms_support.h"

#include "overlap-xgboost/fit/overlap_report.h"

enum { KERNELS = 3, FIRST_BASELINE = 2 };

/* Every number of a report, none like another. */
typedef struct made_report {
    st_kernel rows[KERNELS];
    st_kernels kernels;
    st_kernels test;
    const char *unused[2];
    st_recipe recipes[2];
    st_trials trials;
    st_pairs_tally pairs;
    st_overlap_report report;
} made_report;

/* Errors of which no two digits agree; the trial moves them all. */
static st_slowdown_errors errors_of(size_t count, double trial)
{
    if (count == 0)
        return (st_slowdown_errors){0};
    return (st_slowdown_errors){.count = count,
                                .within_5 = 0.512 + trial,
                                .within_10 = 0.673 + trial,
                                .within_15 = 0.834 + trial,
                                .rmse = 0.2387 + trial,
                                .rmse_10us = 0.1571 + trial,
                                .rmse_weighted = 0.0917 + trial,
                                .bias = trial - 0.0213};
}

static void make_kernels(made_report *own)
{
    for (size_t i = 0; i < KERNELS; i++)
        for (int k = 0; k < ST_FEATURES; k++)
            own->rows[i].features[k] = k == ST_FEATURE_DRAM || k == ST_FEATURE_GPU ? NAN : 2.385f;
    own->rows[1].features[ST_FEATURE_L1] = NAN; /* of one kernel alone: known */
    own->unused[0] = "Registers";
    own->unused[1] = "Stream";
    own->kernels = (st_kernels){.file = "kernels.csv",
                                .rows = own->rows,
                                .count = KERNELS,
                                .faster = 7,
                                .much_faster = 5,
                                .unused = own->unused,
                                .unused_count = 2};
    own->test = (st_kernels){.file = "others.csv", .rows = own->rows, .count = 23};
}

static void make_trials(made_report *own)
{
    own->recipes[0] = (st_recipe){.name = "bag", .doc = "many small trees"};
    own->recipes[1] = (st_recipe){.name = "deep", .doc = "one deep tree"};
    own->trials = (st_trials){.count = 3, .recipe_count = 2, .best = 1};
    for (size_t i = 0; i < 3; i++) {
        st_trial *trial = &own->trials.items[i];
        trial->recipe = i < FIRST_BASELINE ? &own->recipes[i] : NULL;
        trial->name = i < FIRST_BASELINE ? own->recipes[i].name : "constant";
        for (size_t split = 0; split < ST_SPLITS; split++) {
            double moved = 0.01 * (double)i + 0.001 * (double)split;
            trial->held_out[split][ST_SLOWDOWN_ALL] = errors_of(31 + split, moved);
            trial->held_out[split][ST_SLOWDOWN_ALONGSIDE] = errors_of(split == 0 ? 17 : 0, moved);
            trial->held_out[split][ST_SLOWDOWN_SLOWED] = errors_of(split == 0 ? 0 : 13, moved);
        }
    }
}

static st_overlap_report *make_report(made_report *own)
{
    *own = (made_report){0};
    make_kernels(own);
    make_trials(own);
    own->report = (st_overlap_report){.kernels = &own->kernels,
                                      .trials = &own->trials,
                                      .recipe = &own->recipes[1],
                                      .constant = 1.23854};
    own->report.importance[ST_FEATURE_MEMORY] = 0.238;
    own->report.importance[ST_FEATURE_L2] = 0.571;
    own->report.importance[ST_FEATURE_CLASS + ST_KERNEL_COPY] = 0.191;
    return &own->report;
}

static void make_pairs(made_report *own)
{
    own->pairs = (st_pairs_tally){.pairs = 2,
                                  .matched = 97,
                                  .rows = 83,
                                  .without = 11,
                                  .with = 8,
                                  .disturbed = 6,
                                  .concurrent = 59,
                                  .unusable = 4};
    own->report.pairs = &own->pairs;
}

static void make_test(made_report *own)
{
    own->report.test = &own->test;
    own->report.test_clamped = 9;
    for (size_t i = 0; i <= ST_BASELINES; i++) {
        own->report.test_errors[i][ST_SLOWDOWN_ALL] = errors_of(23, 0.01 * (double)i);
        own->report.test_errors[i][ST_SLOWDOWN_SLOWED] = errors_of(19, 0.01 * (double)i + 0.005);
    }
}

static void report(fixture *own, const st_overlap_report *made)
{
    st_overlap_report_make(made, own->arena, &own->result);
    write_forms(own);
}

/* The text without its runs of blanks. */
TEST_WITH(kernels_and_the_recipe_are_told, set_up, tear_down)
{
    made_report made;
    report(*state, make_report(&made));
    SAYS(*state,
         "kernels.csv: 3 kernels, 7 of them faster alongside communication than alone, 5 at most "
         "0.95 times as long\n"
         "columns not used: Registers, Stream\n"
         "unknown features: DRAM throughput, gpu\n"
         "recipe deep: one deep tree\n"
         "one slowdown for all kernels: 1.239\n");
    HAS(*state, "\"file\": \"kernels.csv\"", "\"kernels\": 3,", "\"faster_with_communication\": 7",
        "\"much_faster_with_communication\": 5", "\"recipe\": \"deep\"", "\"constant\": 1.23854");
    assert_silent(*state, "pair");
    assert_silent(*state, "outside of the trained range");
}

TEST_WITH(what_is_all_there_is_not_listed, set_up, tear_down)
{
    made_report made;
    st_overlap_report *all = make_report(&made);
    made.kernels.unused_count = 0;
    for (size_t i = 0; i < KERNELS; i++)
        made.rows[i].features[ST_FEATURE_DRAM] = made.rows[i].features[ST_FEATURE_GPU] = 2.385f;
    report(*state, all);
    SAYS(*state, "0.95 times as long\nrecipe deep");
    assert_silent(*state, "not used");
    assert_silent(*state, "not known");
}

/* Parts of which no kernel was held out have no table. */
TEST_WITH(trials_stand_by_split_and_part, set_up, tear_down)
{
    made_report made;
    report(*state, make_report(&made));
    SAYS(*state,
         "Held out by random rows, 5 folds\n in 5 % in 10 % in 15 % RMSE >= 10 us by time bias\n"
         " bag 51.2 % 67.3 % 83.4 % 0.239 0.157 0.092 -2.13 %\n"
         " deep 52.2 % 68.3 % 84.4 % 0.249 0.167 0.102 -1.13 % taken\n"
         " constant 53.2 % 69.3 % 85.4 % 0.259 0.177 0.112 -0.13 %\n"
         "\n 17 kernels alongside communication\n in 5 %",
         "\nHeld out by kernel name, 5 folds\n in 5 %",
         " deep 52.3 % 68.4 % 84.5 % 0.250 0.168 0.103 -1.03 % taken\n",
         "\n 13 kernels more than 1.2 times as long\n in 5 %",
         " constant 53.3 % 69.4 % 85.5 % 0.260 0.178 0.113 -0.03 %\n"
         "\nImportance of the features (share of the gain)\n");
    HAS(*state, "\"recipe\": \"constant\"", "\"alongside\": {", "\"slowed\": {", "\"kernels\": 31",
        "\"kernels\": 13", "\"by_kernel_name\": {");
}

/* No kernel of 10 us has no error of such kernels, which is no error of zero. */
TEST_WITH(short_kernels_alone_have_a_dash, set_up, tear_down)
{
    made_report made;
    st_overlap_report *short_ones = make_report(&made);
    made.trials.items[0].held_out[ST_SPLIT_ROWS][ST_SLOWDOWN_ALL].rmse_10us = NOT_A_NUMBER;
    report(*state, short_ones);
    SAYS(*state, " bag 51.2 % 67.3 % 83.4 % 0.239 - 0.092 -2.13 %\n");
    HAS(*state, "\"rmse_10us\": null");
}

TEST_WITH(features_stand_by_importance, set_up, tear_down)
{
    made_report made;
    report(*state, make_report(&made));
    SAYS(*state, "(share of the gain)\n L2 hit rate 57.1 %\n memory throughput 23.8 %\n"
                 " copy 19.1 %\n");
    assert_silent(*state, "L1 hit rate");
    HAS(*state, "\"L2 hit rate\": 0.571", "\"gemm\": 0,", "\"copy\": 0.191");
}

TEST_WITH(pairs_of_recordings_are_counted, set_up, tear_down)
{
    made_report made;
    st_overlap_report *with = make_report(&made);
    make_pairs(&made);
    report(*state, with);
    SAYS(*state, "2 pairs of recordings: 97 kernels matched, 11 without and 8 with overlap have no "
                 "counterpart\n"
                 " 83 used, 59 of them alongside a collective; left out: 6 alongside one in both, "
                 "4 without duration or counters\n"
                 "kernels.csv: 3 kernels");
    HAS(*state, "\"pairs\": 2", "\"matched\": 97", "\"without_counterpart\": 19", "\"used\": 83",
        "\"with_communication\": 59", "\"disturbed\": 6", "\"unusable\": 4");
}

TEST_WITH(a_pair_alone_is_no_plural, set_up, tear_down)
{
    made_report made;
    st_overlap_report *with = make_report(&made);
    make_pairs(&made);
    made.pairs.pairs = 1;
    report(*state, with);
    SAYS(*state, "1 pair of recordings: 97");
}

TEST_WITH(kernels_to_test_stand_beside_the_baselines, set_up, tear_down)
{
    made_report made;
    st_overlap_report *with = make_report(&made);
    make_test(&made);
    report(*state, with);
    SAYS(*state,
         "\nothers.csv\n in 5 %"
         " in 10 % in 15 % RMSE >= 10 us by time bias\n"
         " this model 51.2 % 67.3 % 83.4 % 0.239 0.157 0.092 -2.13 %\n"
         " constant 52.2 % 68.3 % 84.4 % 0.249 0.167 0.102 -1.13 %\n"
         " none 53.2 %",
         " name median 54.2 %", " neighbours 55.2 %", "\n 19 kernels more than 1.2 times as long\n",
         " this model 51.7 %", " neighbours 55.7 %",
         " 9 of 23 kernels are outside the trained range in some feature\n");
    assert_silent(*state, "23 kernels alongside");
    HAS(*state, "\"test\": {", "\"file\": \"others.csv\"", "\"outside_trained_range\": 9",
        "\"model\": {", "\"name_median\": {", "\"neighbours\": {", "\"within_5\": 0.557");
}

/* The widest bar has 400 pixels: 400*0.238/0.571 = 166.7 and 400*0.191/0.571 = 133.8. */
TEST(a_picture_has_a_bar_for_each_feature_that_counts)
{
    made_report made;
    st_buffer svg = {0};
    const char *const parts[] = {"width=\"640\" height=\"114\"", /* 3*22 + 48 */
                                 "share of the gain (deep, 3 kernels)",
                                 "<text x=\"150\" y=\"54\" class=\"end\">L2 hit rate</text>",
                                 "<rect x=\"160\" y=\"41\" width=\"400\" height=\"16\"",
                                 "<text x=\"566\" y=\"54\">57.1 %</text>",
                                 "<text x=\"150\" y=\"76\" class=\"end\">memory throughput</text>",
                                 "<rect x=\"160\" y=\"63\" width=\"166.73\" height=\"16\"",
                                 "<text x=\"332.73\" y=\"76\">23.8 %</text>",
                                 "<text x=\"150\" y=\"98\" class=\"end\">copy</text>",
                                 "width=\"133.8\" height=\"16\"",
                                 ">19.1 %</text>"};
    (void)state;
    st_overlap_write_svg(make_report(&made), &svg);
    const char *at = st_buffer_read(&svg);
    for (size_t i = 0; i < COUNT(parts); i++) {
        const char *found = strstr(at, parts[i]);
        if (found == NULL)
            fail_msg("'%s' is not in '%s'", parts[i], at);
        at = found;
    }
    assert_null(strstr(st_buffer_read(&svg), "L1 hit rate"));
    st_buffer_free(&svg);
}

TESTS(overlap_report);
