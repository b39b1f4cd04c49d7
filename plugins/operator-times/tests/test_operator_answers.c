/* SPDX-License-Identifier: Apache-2.0 */
/* What the providers answer for a row: corrected, the formula as it is, or refused. */
#include "answers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void assert_near(double value, double wanted, double tolerance)
{
    if (!(fabs(value - wanted) <= tolerance * fabs(wanted)))
        fail_msg("%.17g is not %.17g", value, wanted);
}

/* ---- a host that keeps what it is told ---- */

static char told_error[ST_TABLE_REASON];
static char told_origin[ST_TABLE_REASON];
static double told_sum;
static size_t told_lines;

static void take_error(void *context, const char *message)
{
    (void)context;
    (void)snprintf(told_error, sizeof told_error, "%s", message);
}

static void take_term(void *context, const st_plugin_term *term)
{
    (void)context;
    if (term->flags & ST_PLUGIN_PART)
        told_sum += term->value;
    else if (strcmp(term->name, "origin") == 0)
        (void)snprintf(told_origin, sizeof told_origin, "%s", term->text);
    else if (strncmp(term->name, "line ", 5) == 0)
        told_lines++;
}

static const st_plugin_host host = {.struct_size = sizeof host, .error = take_error};
static const st_plugin_sink sink = {.struct_size = sizeof sink, .term = take_term};

/* ---- rows ---- */

enum { COLUMNS = 12 };

static double value_of(operator_times *own, st_operator of, const double *row)
{
    const double *columns[COLUMNS];
    double value = -7;
    const st_plugin_provider *provider = st_operator_providers[of];
    for (size_t i = 0; i < COLUMNS; i++)
        columns[i] = &row[i];
    assert_int_equal(provider->evaluate(own, 1, columns, &value), ST_PLUGIN_OK);
    told_error[0] = told_origin[0] = '\0';
    told_sum = 0;
    told_lines = 0;
    int result = provider->explain(own, columns, &sink);
    assert_int_equal(result, isnan(value) ? ST_PLUGIN_FAILED : ST_PLUGIN_OK);
    if (!isnan(value))
        assert_near(told_sum, value, 1e-12);
    return value;
}

static operator_times times_of(st_operator of, const char *text, double width)
{
    static const st_table_filter all = {"", "", ""};
    char reason[ST_TABLE_REASON];
    operator_times own = {.host = &host, .reach = 100};
    own.widths[of] = width;
    assert_null(st_shapes_read(&own.shapes[of], of, text, &all, reason));
    return own;
}

/* 3 sequences of 2053, 31 heads of 128 with 7 of keys, at 500 TFLOP/s with half of it at 117 */
static const double causal = 2.0 * 3 * 31 * 128 * 2053 * 2053;
#define ATTENTION_ROW(width, work)                                                                 \
    {                                                                                              \
        3, 2053, 31, 7, 128, width, work, 500e12, 117, 13e6, 2.385e12                              \
    }

TEST(attention_is_corrected_where_it_is_whole)
{
    char text[240];
    const double formula = causal * (1 + 117.0 / 2053) / 500e12;
    (void)snprintf(
        text, sizeof text,
        "batch,seq,heads,kv_heads,head_dim,us\n3,2053,31,7,128,%.9g\n3,4099,31,7,128,9\n",
        1.37e6 * formula);
    operator_times own = times_of(ST_ATTENTION, text, 2);
    const double whole[COLUMNS] = ATTENTION_ROW(2, causal);
    const double window[COLUMNS] = ATTENTION_ROW(2, 0.37 * causal);
    const double narrow[COLUMNS] = ATTENTION_ROW(1, causal);
    double long_row[COLUMNS] = ATTENTION_ROW(2, 9 * causal);
    long_row[1] *= 3;
    assert_near(value_of(&own, ST_ATTENTION, whole), 1.37 * formula, 0.03);
    assert_int_equal(told_lines, 2);
    assert_string_equal(told_origin, "corrected, nearest measured shape 0.00 away (logarithms)");
    assert_near(value_of(&own, ST_ATTENTION, window), 0.37 * formula, 1e-12);
    assert_string_equal(
        told_origin, "formula: tables have causal attention to all tokens, this attention differs");
    assert_near(value_of(&own, ST_ATTENTION, narrow), formula, 1e-12);
    assert_string_equal(told_origin, "formula: the table's numbers have another width");
    assert_true(isnan(value_of(&own, ST_ATTENTION, long_row)));
    assert_string_equal(told_error,
                        "tokens of a sequence: 6159, and the table has them from 2053 to 4099");
    st_shapes_free(&own.shapes[ST_ATTENTION]);
}

/* A table's times contain what each attention takes besides, and so does the formula at its rows.
 */
TEST(attention_has_a_time_besides)
{
    char text[240];
    const double constant = 67.3e-6;
    const double formula = constant + causal * (1 + 117.0 / 2053) / 500e12;
    (void)snprintf(text, sizeof text,
                   "batch,seq,heads,kv_heads,head_dim,us\n3,2053,31,7,128,%.9g\n",
                   1.37e6 * formula);
    operator_times own = times_of(ST_ATTENTION, text, 2);
    double row[COLUMNS] = ATTENTION_ROW(2, causal);
    row[11] = constant;
    assert_near(value_of(&own, ST_ATTENTION, row), 1.37 * formula, 1e-5);
    st_shapes_free(&own.shapes[ST_ATTENTION]);
}

/* Of products in 8 bits into 16, where memory is slower: without a table the formula as it is. */
TEST(products_have_results_of_their_own_width)
{
    operator_times own = {.host = &host, .reach = 1, .widths = {2, 2, 2}};
    const double product[COLUMNS] = {1031, 2053, 17, 1e30, 2.385e12, 1, 3.7e-6, 2};
    const double bytes = 17.0 * (1031 + 2053) + 2.0 * 1031 * 2053;
    assert_near(value_of(&own, ST_PRODUCT, product), 3.7e-6 + bytes / 2.385e12, 1e-12);
}

/* 28693 copies for 13 experts of 3079 x 1543, at 500 TFLOP/s for these many tokens */
enum { COPIES = 28693 };
static const double work = 6.0 * COPIES * 3079 * 1543;
#define EXPERTS_ROW(matrices, moving)                                                              \
    {                                                                                              \
        COPIES, 13, 3079, 1543, matrices, 2, work, 500e12, 117, 13e6, 2.385e12, moving             \
    }

TEST(experts_are_corrected_with_what_lies_around)
{
    char text[240];
    const double moving = 317e-6;
    const double formula = work / 500e12;
    (void)snprintf(text, sizeof text,
                   "tokens,topk,experts,hidden,inter,us\n4099,7,13,3079,1543,%.9g\n",
                   1.37e6 * (formula + moving));
    operator_times own = times_of(ST_EXPERTS, text, 2);
    const double gated[COLUMNS] = EXPERTS_ROW(3, moving);
    const double plain[COLUMNS] = EXPERTS_ROW(2, moving);
    double crowded[COLUMNS] = EXPERTS_ROW(3, moving);
    crowded[0] *= 3;
    /* with permutation and activation the sheet comes to what was measured */
    assert_near(value_of(&own, ST_EXPERTS, gated) + moving, 1.37 * (formula + moving), 1e-5);
    assert_int_equal(told_lines, 1);
    assert_near(value_of(&own, ST_EXPERTS, plain), formula, 1e-12);
    assert_string_equal(told_origin,
                        "formula: tables have experts with a gate, these experts have none");
    assert_true(isnan(value_of(&own, ST_EXPERTS, crowded)));
    own.shapes[ST_EXPERTS].table.rows[0].time_s = 0.37 * moving;
    assert_true(isnan(value_of(&own, ST_EXPERTS, gated)));
    assert_string_equal(
        told_error,
        "the nearest measured shapes take less time than the sheet has for permutation alone");
    st_shapes_free(&own.shapes[ST_EXPERTS]);
}

/* Norms and element-wise kernels of equal bytes are distinguished by what is summed over rows. */
TEST(moved_bytes_are_corrected_by_their_kind)
{
    char text[240];
    const double formula = 38.5e6 / 2.385e12;
    (void)snprintf(text, sizeof text,
                   "bytes,rows,width,reductions,dtype,us\n38500000,2053,4099,0,fp32,%.9g\n"
                   "38500000,2053,4099,1,bf16,%.9g\n",
                   1.37e6 * formula, 2.53e6 * formula);
    operator_times own = times_of(ST_MOVED, text, 1);
    own.reach = 1;
    const double plain[COLUMNS] = {38.5e6, 2053, 4099, 0, 2.385e12};
    const double norm[COLUMNS] = {38.5e6, 2053, 4099, 1, 2.385e12};
    const double unknown_rows[COLUMNS] = {38.5e6, 0, 0, 1, 2.385e12};
    const double nothing[COLUMNS] = {0, 0, 0, 0, 2.385e12};
    assert_near(value_of(&own, ST_MOVED, plain), 1.37 * formula, 0.02);
    assert_near(value_of(&own, ST_MOVED, norm), 2.53 * formula, 0.02);
    assert_int_equal(told_lines, 2);
    assert_near(value_of(&own, ST_MOVED, unknown_rows), value_of(&own, ST_MOVED, norm), 1e-12);
    assert_near(1 + value_of(&own, ST_MOVED, nothing), 1, 1e-12);
    assert_string_equal(told_origin, "formula: nothing is moved");
    st_shapes_free(&own.shapes[ST_MOVED]);
}

TEST(without_a_table_the_formula_stays)
{
    operator_times own = {.host = &host, .reach = 1, .widths = {2, 2, 2}};
    const double product[COLUMNS] = {1031, 2053, 4099, 500e12, 2.385e12, 2};
    const double attention[COLUMNS] = ATTENTION_ROW(2, causal);
    const double experts[COLUMNS] = EXPERTS_ROW(3, 317e-6);
    const double none[COLUMNS] = {0, 0, 3079, 1543, 3, 2, 0, 500e12, 117, 0, 2.385e12, 0};
    assert_near(value_of(&own, ST_PRODUCT, product), 2.0 * 1031 * 2053 * 4099 / 500e12, 1e-12);
    assert_string_equal(told_origin, "formula: no times are given");
    assert_near(value_of(&own, ST_ATTENTION, attention), causal * (1 + 117.0 / 2053) / 500e12,
                1e-12);
    assert_near(value_of(&own, ST_EXPERTS, experts), work / 500e12, 1e-12);
    assert_near(1 + value_of(&own, ST_EXPERTS, none), 1, 1e-12);
}

TESTS(operator_answers);
