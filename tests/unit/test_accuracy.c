/* SPDX-License-Identifier: Apache-2.0 */
/* Measured against estimated: rows whose errors are made by hand, counted and reported. */
#include "fit_support.h"
#include "report_support.h"

#include "fit/steps/accuracy.h"

enum { ROWS = 9, TEXT_PARTS = 12 };

/* Of rows held out: factors 1/0.88, 1/1.31 and 1/1.07, of which the last is the median. */
static const st_row made_rows[ROWS] = {
    {.id = "a", .measured = 2.4, .estimate = 2.52, .error = 0.0499, .fitted = true, .fits = true},
    {.id = "b", .measured = 3.5, .estimate = 3.08, .error = -0.12, .fits = true},
    {.id = "c", .measured = 1.7, .estimate = 2.227, .error = 0.31},
    {.id = "d", .measured = (double)NAN, .ran_out = true, .estimate = 5.25, .error = (double)NAN},
    {.id = "e", .measured = (double)NAN, .ran_out = true, .fits = true, .estimate = 4.75},
    {.id = "f", .measured = 6.5, .left_out = "no GPU", .estimate = 9.5, .error = 0.77},
    {.id = "g", .measured = 7.5, .left_out = "no GPU", .fits = true, .fitted = true},
    {.id = "h", .measured = 8.5, .left_out = "a small batch"},
    {.id = "i", .measured = 4.3, .estimate = 4.601, .error = 0.07, .fits = true},
};

typedef struct made_table {
    st_row rows[ROWS];
    st_measured measured;
    st_row_group groups[2];
    st_table_source source;
    st_accuracy accuracy;
    st_result result;
} made_table;

/* Rows of the sheet TOY; f and g could not be estimated. */
static st_measured *make_table(fixture *own, made_table *made)
{
    st_measured_request request = toy_request(own);
    *made = (made_table){
        .measured = *good_rows(own, &request,
                               "id,layers,global_batch,dp,target_iter_s\nx,3,8,2,1\n", NULL)};
    memcpy(made->rows, made_rows, sizeof made_rows);
    for (size_t i = 0; i < ROWS; i++)
        made->rows[i].estimated = i != 5 && i != 6;
    made->measured.name = "book";
    made->measured.csv = NULL;
    made->measured.source = NULL;
    made->measured.fits = "fits";
    made->measured.rows = made->rows;
    made->measured.row_count = ROWS;
    return &made->measured;
}

static void make_source(made_table *made)
{
    made->groups[0] = (st_row_group){.name = "", .when = {.formula = ST_NO_FORMULA}};
    made->groups[1] = (st_row_group){.name = "dense",
                                     .when = {.formula = ST_NO_FORMULA},
                                     .site_factor = true,
                                     .limit = 0.15,
                                     .site_limit = 0.14};
    made->source = (st_table_source){.name = "book",
                                     .title = "A book",
                                     .cite = "book2024",
                                     .groups = made->groups,
                                     .group_count = 2,
                                     .memory_limit = 0.7};
    made->measured.source = &made->source;
}

static void report(fixture *own, made_table *made, bool details)
{
    assert_int_equal(st_accuracy_of(&made->measured, own->arena, &made->accuracy), ST_OK);
    st_accuracy_put(&made->accuracy, details, st_result_begin(&made->result, own->arena));
}

/* What people read, where runs of blanks are one. */
static const char *text_of(fixture *own, const made_table *made)
{
    st_buffer text = {0};
    st_buffer short_text = {0};
    st_result_write(&made->result, ST_FORM_TEXT, &plain, &text);
    assert_false(text.failed);
    for (const char *c = st_buffer_read(&text); *c != '\0'; c++)
        if (c[0] != ' ' || (c[1] != ' ' && c[1] != '\n'))
            st_buffer_append(&short_text, c, 1);
    const char *kept = st_arena_copy(own->arena, short_text.data, short_text.length);
    st_buffer_free(&text);
    st_buffer_free(&short_text);
    assert_non_null(kept);
    return kept;
}

static void near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-6))
        fail_msg("%.9g is not %.9g", value, expected);
}

/* ---- numbers ---- */

TEST_WITH(rows_are_counted, set_up, tear_down)
{
    made_table made;
    make_table(*state, &made);
    report(*state, &made, false);
    const st_accuracy *accuracy = &made.accuracy;
    assert_int_equal(accuracy->estimated, 7);
    assert_int_equal(accuracy->compared, 4);
    assert_int_equal(accuracy->fitted, 1);
    assert_int_equal(accuracy->verdicts, 6);
    assert_int_equal(accuracy->verdicts_right, 4); /* a, b, d, i */
    assert_int_equal(accuracy->failed, 0);
    near(st_memory_share(accuracy), 4.0 / 6);
    assert_int_equal(accuracy->reason_count, 2);
    assert_string_equal(accuracy->reasons[0].text, "no GPU");
    assert_int_equal(accuracy->reasons[0].rows, 2);
    assert_string_equal(accuracy->reasons[1].text, "a small batch");
    assert_int_equal(accuracy->reasons[1].rows, 1);
}

TEST_WITH(no_verdict_is_no_wrong_one, set_up, tear_down)
{
    made_table made;
    make_table(*state, &made)->fits = NULL;
    report(*state, &made, false);
    assert_int_equal(made.accuracy.verdicts, 0);
    assert_int_equal(made.accuracy.fitted, 1);
    near(st_memory_share(&made.accuracy), 1);
    assert_lacks(text_of(*state, &made), "judged rightly");
}

/* Errors of b, c and i: after 1/1.07, and each after the mean of the factors of the other two. */
TEST_WITH(parts_have_errors_and_factors_of_their_own, set_up, tear_down)
{
    made_table made;
    make_table(*state, &made);
    report(*state, &made, false);
    assert_int_equal(made.accuracy.group_count, 2);
    const st_group_errors *fitted = &made.accuracy.groups[0];
    const st_group_errors *held_out = &made.accuracy.groups[1];
    assert_int_equal(fitted->part, ST_ROWS_FITTED);
    assert_int_equal(fitted->summary.count, 1);
    near(fitted->summary.bias, 0.0499);
    assert_false(fitted->has_site_factor);
    assert_int_equal(held_out->part, ST_ROWS_HELD_OUT);
    assert_int_equal(held_out->summary.count, 3);
    near(held_out->summary.mean_absolute, (0.12 + 0.31 + 0.07) / 3);
    assert_true(held_out->has_site_factor);
    near(held_out->site_factor, 1 / 1.07);
    near(held_out->site.mean_absolute, ((1 - 0.88 / 1.07) + (1.31 / 1.07 - 1)) / 3);
    double b = 0.88 * (1 / 1.31 + 1 / 1.07) / 2 - 1;
    double c = 1.31 * (1 / 0.88 + 1 / 1.07) / 2 - 1;
    double i = 1.07 * (1 / 0.88 + 1 / 1.31) / 2 - 1;
    near(held_out->site_left_out.bias, (b + c + i) / 3);
}

/* Two rows have no median that one of them does not make. */
TEST_WITH(two_rows_without_a_source_have_no_factor, set_up, tear_down)
{
    made_table made;
    make_table(*state, &made);
    made.rows[8].ran_out = true;
    report(*state, &made, false);
    assert_int_equal(made.accuracy.groups[1].summary.count, 2);
    assert_false(made.accuracy.groups[1].has_site_factor);
}

TEST_WITH(one_row_has_no_factor_of_others, set_up, tear_down)
{
    made_table made;
    make_table(*state, &made);
    make_source(&made);
    made.rows[1].ran_out = made.rows[2].ran_out = true;
    report(*state, &made, false);
    const st_group_errors *dense = &made.accuracy.groups[3];
    assert_int_equal(dense->summary.count, 1);
    near(dense->site_factor, 1 / 1.07);
    assert_int_equal(dense->site_left_out.count, 0);
    assert_lacks(text_of(*state, &made), "factor of the other rows");
}

/* The mean is 16.67 %, after the factor 13.40 %; 66.7 % of the verdicts are right. */
TEST_WITH(passed_limits_are_counted, set_up, tear_down)
{
    static const struct {
        double limit, site_limit, memory_limit;
        size_t failed;
    } cases[] = {{0.15, 0.14, 0.7, 2},  {0.15, 0.13, 0.7, 3}, {0.17, 0.14, 0.7, 1},
                 {0.17, 0.14, 0.66, 0}, {0, 0, 0, 0},         {0.17, 0.13, 0.66, 1},
                 {0.15, 0, 0, 1}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        made_table made;
        make_table(*state, &made);
        make_source(&made);
        made.groups[1].limit = cases[i].limit;
        made.groups[1].site_limit = cases[i].site_limit;
        made.source.memory_limit = cases[i].memory_limit;
        report(*state, &made, false);
        if (made.accuracy.failed != cases[i].failed)
            fail_msg("case %zu: %zu limits are passed", i, made.accuracy.failed);
    }
}

/* ---- the report ---- */

TEST_WITH(errors_are_shown_by_part, set_up, tear_down)
{
    made_table made;
    make_table(*state, &made);
    report(*state, &made, false);
    const char *text = text_of(*state, &made);
    assert_contains(text, "book\n step_time rows mean median bias max in 5 % in 10 % in 20 %\n"
                          " used in the fit 1 5.0 % 5.0 % +5.0 % 5.0 % 100 % 100 % 100 %\n"
                          " held out 3 16.7 % 12.0 % +8.7 % 31.0 % 0 % 33 % 67 %\n"
                          " with site factor 0.935 3 13.4 % 17.8 % +1.6 % 22.4 % 33 % 33 % 67 %\n"
                          " factor of the other rows 3 20.9 % 25.3 % +4.0 % 35.6 % 33 % 33 % 33 %\n"
                          " judged rightly whether it fits in memory: 4 of 6, 66.7 %\n"
                          " 7 of 9 rows can be estimated; not compared:\n"
                          " 2 rows: no GPU\n 1 row: a small batch\n");
    assert_lacks(text, "assumed");
    const char *const parts[TEXT_PARTS] = {
        "\"title\": null",      "\"estimated\": 7",       "\"compared\": 4",
        "\"memory_checks\": 6", "\"fitted\": 1,",         "\"memory_checks_right\": 4",
        "\"limit\": null",      "\"memory_limit\": null", "\"part\": \"held out\""};
    assert_form_has(&made.result, ST_FORM_JSON, parts, TEXT_PARTS);
}

TEST_WITH(limits_stand_beside_the_errors, set_up, tear_down)
{
    made_table made;
    make_table(*state, &made);
    make_source(&made);
    report(*state, &made, false);
    const char *text = text_of(*state, &made);
    assert_contains(text, "book: A book [book2024]\n");
    assert_contains(text, " dense, used in the fit 1 5.0 %");
    assert_contains(text, " dense, held out 3 16.7 % 12.0 % +8.7 % 31.0 % 0 % 33 % 67 % FAIL, more "
                          "than 15 %\n");
    assert_contains(text, " +1.6 % 22.4 % 33 % 33 % 67 % at most 14 %\n");
    assert_contains(text, "4 of 6, 66.7 % FAIL, less than 70.0 %\n");
    const char *const parts[TEXT_PARTS] = {"\"title\": \"A book\"", "\"cite\": \"book2024\"",
                                           "\"group\": null",       "\"group\": \"dense\"",
                                           "\"limit\": 0.15",       "\"site_limit\": 0.14",
                                           "\"memory_limit\": 0.7"};
    assert_form_has(&made.result, ST_FORM_JSON, parts, TEXT_PARTS);
    made.source.memory_limit = 0.65;
    report(*state, &made, false);
    assert_contains(text_of(*state, &made), "4 of 6, 66.7 % at least 65.0 %\n");
}

/* Names of groups of which no row was fitted stand alone. */
TEST_WITH(rows_that_no_fit_has_seen_are_no_part, set_up, tear_down)
{
    made_table made;
    make_table(*state, &made);
    make_source(&made);
    made.rows[0].fitted = false;
    made.groups[1].name = "d";
    report(*state, &made, false);
    const char *text = text_of(*state, &made);
    assert_contains(text, "\n all rows 4 ");
    assert_contains(text, "\n d 4 ");
    assert_lacks(text, "held out");
}

TEST_WITH(assumptions_are_details, set_up, tear_down)
{
    static const st_assigned set = {
        .path = "cluster.nic_bandwidth", .value = {.text = "23.85 GB/s"}, .formula = ST_NO_FORMULA};
    static const st_assigned fill = {
        .path = "model.vocab", .value = {.text = "from the table"}, .formula = 0};
    static const st_assumption assumption = {
        .set = &set, .set_count = 1, .fill = &fill, .fill_count = 1, .why = "as the page says"};
    const char *notes[] = {"bf16 of precision"};
    size_t note_rows[] = {4};
    made_table made;
    make_table(*state, &made);
    make_source(&made);
    made.source.assumptions = &assumption;
    made.source.assumption_count = 1;
    made.measured.notes = notes;
    made.measured.note_rows = note_rows;
    made.measured.note_count = 1;
    report(*state, &made, false);
    assert_lacks(text_of(*state, &made), "assumed");
    const char *const parts[TEXT_PARTS] = {"\"set\": {\"cluster.nic_bandwidth\": \"23.85 GB/s\"}",
                                           "\"fill\": {\"model.vocab\": \"from the table\"}",
                                           "\"why\": \"as the page says\"",
                                           "\"default\": \"bf16 of precision\"", "\"rows\": 4"};
    assert_form_has(&made.result, ST_FORM_JSON, parts, TEXT_PARTS);
    report(*state, &made, true);
    assert_contains(text_of(*state, &made),
                    " assumed:\n cluster.nic_bandwidth = 23.85 GB/s\n model.vocab from the table\n"
                    " as the page says\n 4 rows: bf16 of precision\n");
}

/* ---- rows ---- */

TEST_WITH(rows_of_a_job_and_on_request_are_shown, set_up, tear_down)
{
    const st_csv *csv = NULL;
    fixture *own = *state;
    made_table made;
    make_table(own, &made);
    report(own, &made, false);
    assert_contains(text_of(own, &made), " row measured estimated error\n"
                                         " a 2.4 s 2.52 s +5.0 % used in the fit\n"
                                         " b 3.5 s 3.08 s -12.0 %\n"
                                         " c 1.7 s 2.227 s +31.0 %\n"
                                         " d ran out 5.25 s -\n"
                                         " e ran out 4.75 s +0.0 %\n"
                                         " f 6.5 s - - no GPU\n");
    assert_int_equal(st_csv_parse("t", "id\nx\n", 5, own->arena, &csv, own->errors), ST_OK);
    made.measured.csv = csv;
    report(own, &made, false);
    assert_lacks(text_of(own, &made), "measured estimated");
    report(own, &made, true);
    assert_contains(text_of(own, &made), " row measured estimated error\n a 2.4 s");
}

TEST_WITH(rows_tell_programs_what_became_of_them, set_up, tear_down)
{
    const char *const lines[TEXT_PARTS] = {
        "id,ran_out,estimated,error,fits,left_out,.verdict,.why,.difference\n",
        "\na,false,2.52,0.0499,true,,used in the fit,,0.0499\n",
        "\nb,false,3.08,-0.12,true,,held out,,-0.12\n",
        "\nc,false,2.227,0.31,false,,held out,,0.31\n",
        "\nd,true,5.25,,false,,ok,ran out of memory,\n",
        "\ne,true,4.75,0,true,,FAIL,ran out of memory,\n",
        "\nf,false,,,,no GPU,left out,no GPU,\n"};
    made_table made;
    make_table(*state, &made);
    report(*state, &made, false);
    st_result_csv(&made.result, "rows",
                  "id,ran_out,estimated,error,fits,left_out,.verdict,.why,.difference");
    assert_form_has(&made.result, ST_FORM_CSV, lines, TEXT_PARTS);
    made.measured.fits = NULL;
    report(*state, &made, false);
    st_result_csv(&made.result, "rows", "id,fits,error");
    assert_form_has(&made.result, ST_FORM_CSV,
                    (const char *const[]){"\na,,0.0499\n", "\nb,,-0.12\n"}, 2);
}

TEST(shares_are_percent)
{
    static const struct {
        double share;
        const char *text;
    } cases[] = {{0.05637, "5.6 %"},
                 {-0.12385, "-12.4 %"},
                 {2.385, "238.5 %"},
                 {(double)NAN, "-"},
                 {(double)INFINITY, "-"}};
    char text[ST_PERCENT_TEXT];
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(st_percent_text(cases[i].share, text), cases[i].text);
}

TESTS(accuracy);
