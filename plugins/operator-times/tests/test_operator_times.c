/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of measured operators, and what near shapes make of a formula. */
#include "shapes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const st_table_filter all = {"", "", ""};
static const st_rates rates = {
    .rate = 713e12, .bandwidth = 2.385e12, .width = 2, .half = 117, .moving = 7.3e-13};

static void assert_near(double value, double wanted, double tolerance)
{
    if (!(fabs(value - wanted) <= tolerance * fabs(wanted)))
        fail_msg("%.17g is not %.17g", value, wanted);
}

/* ---- formulas ---- */

TEST(the_formula_is_the_slower_of_two)
{
    const double large[] = {8192, 7168, 16384};
    const double thin[] = {1031, 7168, 7};
    const double bytes = 2 * (1031.0 * 7 + 7168 * 7 + 1031.0 * 7168);
    st_rates endless = rates;
    endless.bandwidth = 0;
    assert_near(st_shapes_formula(ST_PRODUCT, large, &rates), 2.0 * 8192 * 7168 * 16384 / 713e12,
                1e-12);
    assert_near(st_shapes_formula(ST_PRODUCT, thin, &rates), bytes / 2.385e12, 1e-12);
    assert_near(st_shapes_formula(ST_PRODUCT, thin, &endless), 2.0 * 1031 * 7168 * 7 / 713e12,
                1e-12);
}

/* As products alone are fitted: where both take as long, a fourth root of two more than each. */
TEST(a_product_with_a_constant_has_a_smooth_corner)
{
    const double sizes[] = {1021, 2039, 4093};
    const double bytes = 2 * (1021.0 * 4093 + 4093.0 * 2039 + 1021.0 * 2039);
    st_rates even = rates;
    even.constant_s = 7.3e-6;
    even.rate = 2.0 * 1021 * 2039 * 4093 / (bytes / even.bandwidth);
    assert_near(st_shapes_formula(ST_PRODUCT, sizes, &even),
                7.3e-6 + 1.189207115002721 * bytes / 2.385e12, 1e-12);
    even.bandwidth = 0;
    assert_near(st_shapes_formula(ST_PRODUCT, sizes, &even), 7.3e-6 + bytes / 2.385e12, 1e-12);
}

TEST(short_sequences_run_at_a_part_of_the_rate)
{
    const double sizes[] = {3, 2053, 31, 7, 128};
    const double thin[] = {3, 5, 31, 7, 128};
    double work = 2.0 * 3 * 2053 * 2053 * 31 * 128;
    assert_near(st_shapes_formula(ST_ATTENTION, sizes, &rates), work * (1 + 117.0 / 2053) / 713e12,
                1e-12);
    /* queries and context of 31 heads, keys and values of 7 */
    st_rates quick = rates;
    quick.half = 0.37;
    assert_near(st_shapes_formula(ST_ATTENTION, thin, &quick),
                2.0 * 2 * 3 * 5 * (31 + 7) * 128 / 2.385e12, 1e-12);
}

TEST(experts_are_products_with_what_lies_around)
{
    const double sizes[] = {4099, 7, 13, 3079, 1543};
    double copies = 4099.0 * 7;
    double around = 7.3e-13 * copies * (8.0 * 3079 + 3.0 * 1543);
    double products = 6 * copies * 3079 * 1543 * (1 + 117 * 13 / copies) / 713e12;
    assert_near(st_shapes_around(ST_EXPERTS, sizes, &rates), around, 1e-12);
    assert_near(st_shapes_formula(ST_EXPERTS, sizes, &rates), products + around, 1e-12);
    const double few[] = {31, 7, 129, 3079, 1543};
    double bytes = 2 * (3.0 * 129 * 3079 * 1543 + 31.0 * 7 * (2.0 * 3079 + 3.0 * 1543));
    assert_near(st_shapes_formula(ST_EXPERTS, few, &rates),
                bytes / 2.385e12 + st_shapes_around(ST_EXPERTS, few, &rates), 1e-12);
}

/* ---- neighbours ---- */

/* Products that take 1.3 times as long as the formula has. */
static const char *table_of(char *text, size_t size, double factor)
{
    size_t used = (size_t)snprintf(text, size, "# measured\ngpu,dtype,m,n,k,us\n");
    for (int m = 1024; m <= 8192; m *= 2)
        for (int n = 1024; n <= 8192; n *= 2) {
            const double own[] = {m, n, 4096};
            used += (size_t)snprintf(text + used, size - used, "h100_sxm,bf16,%d,%d,4096,%.9g\n", m,
                                     n, 1e6 * factor * st_shapes_formula(ST_PRODUCT, own, &rates));
        }
    return text;
}

TEST(near_shapes_correct_the_formula)
{
    char text[4096];
    char reason[ST_TABLE_REASON] = "";
    st_shapes shapes;
    st_neighbours near;
    assert_null(
        st_shapes_read(&shapes, ST_PRODUCT, table_of(text, sizeof text, 1.3), &all, reason));
    assert_int_equal(shapes.table.count, 16);
    const double known[] = {2048, 4096, 4096};
    const double between[] = {3072, 3072, 4096};
    const double far[] = {3, 5, 7};
    assert_near(st_shapes_ratio(&shapes, known, &rates, 1, &near), 1.3, 0.003);
    assert_near(near.distances[0] + 1, 1, 1e-12);
    assert_int_equal(near.count, ST_SHAPES_NEAREST);
    assert_memory_equal(near.rows[0]->sizes, known, sizeof known);
    assert_near(near.ratios[0], 1.3, 1e-6);
    assert_near(st_shapes_ratio(&shapes, between, &rates, 1, &near), 1.3, 0.02);
    assert_near(near.distances[0], hypot(log(1.5), log(4.0 / 3)), 0.3);
    /* far away the formula counts, and more so the less the reach is */
    double wide = st_shapes_ratio(&shapes, far, &rates, 100, &near);
    assert_true(near.share > 0.99);
    double narrow = st_shapes_ratio(&shapes, far, &rates, 0.1, &near);
    assert_true(near.share < 0.05);
    assert_near(wide, 1.3, 0.01);
    assert_near(narrow, 1.0, 0.01);
    assert_true(near.distances[0] > 5);
    /* products are answered everywhere */
    assert_null(st_shapes_outside(&shapes, far, reason));
    st_shapes_free(&shapes);
}

TEST(a_measured_shape_counts_among_its_neighbours)
{
    char reason[ST_TABLE_REASON] = "";
    char text[256];
    st_shapes shapes;
    st_neighbours near;
    const double slow[] = {2048, 2048, 2048};
    const double fast[] = {4096, 2048, 2048};
    (void)snprintf(text, sizeof text, "m,n,k,us\n2048,2048,2048,%.9g\n4096,2048,2048,%.9g\n",
                   1.7e6 * st_shapes_formula(ST_PRODUCT, slow, &rates),
                   0.9e6 * st_shapes_formula(ST_PRODUCT, fast, &rates));
    assert_null(st_shapes_read(&shapes, ST_PRODUCT, text, &all, reason));
    /* weights 1/0.01, 1/(log(2)^2 + 0.01) and 1/1.01 for the formula */
    double other = 1 / (log(2) * log(2) + 0.01);
    double wanted = (1.7 * 100 + 0.9 * other + 1 / 1.01) / (100 + other + 1 / 1.01);
    assert_near(st_shapes_ratio(&shapes, slow, &rates, 1, &near), wanted, 1e-7);
    st_shapes_free(&shapes);
}

TEST(attention_is_answered_inside_of_its_table)
{
    static const char text[] =
        "gpu,dtype,kv_dtype,batch,seq,heads,kv_heads,head_dim,window,past,us\n"
        "h100_sxm,bf16,bf16,2,2048,32,8,128,0,0,733.1\n"
        "h100_sxm,bf16,bf16,4,8192,16,8,64,0,0,1733.1\n"
        "h100_sxm,bf16,fp8,64,8192,16,8,96,0,0,1733.1\n"
        "h100_sxm,bf16,bf16,64,8192,16,8,96,512,0,1733.1\n"
        "h100_sxm,bf16,bf16,64,8192,16,8,96,0,512,1733.1\n";
    static const struct {
        double sizes[ST_TABLE_SIZES];
        const char *reason; /* NULL: answered */
    } cases[] = {
        {{2, 2048, 32, 8, 128}, NULL},
        {{8, 3079, 8, 1, 64}, NULL}, /* as many heads in other sequences, fewer of keys */
        {{2, 16384, 32, 8, 128},
         "tokens of a sequence: 16384, and the table has them from 2048 to 8192"},
        {{7, 2053, 32, 8, 128},
         "heads of all sequences: 224, and the table has them from 64 to 64"},
        {{2, 2053, 32, 8, 96}, "width of a head: 96, and others were measured from 64 to 128"},
        {{2, 2053, 32, 8, 256}, "width of a head: 256, and the table has them from 64 to 128"},
    };
    char reason[ST_TABLE_REASON] = "";
    char shape[ST_SHAPES_TEXT];
    st_shapes shapes;
    st_neighbours near;
    assert_null(st_shapes_read(&shapes, ST_ATTENTION, text, &all, reason));
    assert_int_equal(shapes.table.count, 2);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *found = st_shapes_outside(&shapes, cases[i].sizes, reason);
        if (cases[i].reason == NULL)
            assert_null(found);
        else
            assert_string_equal(found, cases[i].reason);
    }
    double ratio = st_shapes_ratio(&shapes, cases[0].sizes, &rates, 1, &near);
    assert_int_equal(near.count, 2);
    assert_int_equal(near.rows[0]->line, 2);
    assert_near(near.ratios[0], 733.1e-6 / st_shapes_formula(ST_ATTENTION, cases[0].sizes, &rates),
                1e-12);
    assert_near(ratio, near.ratios[0], 0.02);
    assert_string_equal(st_shapes_text(ST_ATTENTION, cases[0].sizes, shape),
                        "2 sequences of 2048, 32 heads of 128, 8 of keys");
    st_shapes_free(&shapes);
}

TEST(whole_gated_experts_with_even_tokens_count)
{
    static const char text[] = "gpu,source,tokens,topk,experts,hidden,inter,tp,ep,distribution,us\n"
                               "h100_sxm,cutlass,2048,8,128,2048,768,1,1,balanced,733.1\n"
                               "h100_sxm,cutlass,8192,2,8,4096,14336,1,1,balanced,9733.1\n"
                               "h100_sxm,nongated,65536,2,8,8192,3072,1,1,balanced,733.1\n"
                               "h100_sxm,cutlass,65536,2,8,8192,3072,2,1,balanced,733.1\n"
                               "h100_sxm,cutlass,65536,2,8,8192,3072,1,2,balanced,733.1\n"
                               "h100_sxm,cutlass,65536,2,8,8192,3072,1,1,power_law_1.2,733.1\n";
    char reason[ST_TABLE_REASON] = "";
    char shape[ST_SHAPES_TEXT];
    const double inside[] = {7000, 1, 7, 3079, 1543};
    const double crowded[] = {65536, 2, 8, 4096, 1543};
    const double wide[] = {7000, 1, 7, 8192, 1543};
    const double deep[] = {7000, 1, 7, 3079, 16384};
    st_shapes shapes;
    assert_null(st_shapes_read(&shapes, ST_EXPERTS, text, &all, reason));
    assert_int_equal(shapes.table.count, 2);
    assert_null(st_shapes_outside(&shapes, inside, reason));
    assert_string_equal(st_shapes_outside(&shapes, crowded, reason),
                        "tokens of an expert: 16384, and the table has them from 128 to 2048");
    assert_string_equal(st_shapes_outside(&shapes, wide, reason),
                        "hidden size: 8192, and the table has them from 2048 to 4096");
    assert_string_equal(
        st_shapes_outside(&shapes, deep, reason),
        "inner width of an expert: 16384, and the table has them from 768 to 14336");
    assert_string_equal(st_shapes_text(ST_EXPERTS, inside, shape),
                        "1000 tokens of each of 7 experts, 3079 x 1543");
    st_shapes_free(&shapes);
}

/* ---- tables ---- */

TEST(rows_are_chosen_by_words)
{
    static const char text[] = "gpu,dtype,source,m,n,k,us\n"
                               "h100_sxm,bf16,cublas 12,1031,2053,4099,33.7\n"
                               "h100_sxm,fp8,cublas 12,1031,2053,4099,19.3\n"
                               "b200_sxm,bf16,cutlass 3,1031,2053,4099,17.1\n";
    char reason[ST_TABLE_REASON] = "";
    st_shapes shapes;
    const st_table_filter one = {"h100_sxm", "fp8", ""};
    const st_table_filter library = {"", "", "cutlass 3"};
    const st_table_filter none = {"gb300", "", ""};
    const st_table_filter types = {"h100_sxm", "", ""};
    const st_table_filter gpus = {"", "bf16", ""};
    assert_null(st_shapes_read(&shapes, ST_PRODUCT, text, &one, reason));
    assert_int_equal(shapes.table.count, 1);
    assert_near(shapes.table.rows[0].time_s, 19.3e-6, 1e-12);
    st_shapes_free(&shapes);
    assert_null(st_shapes_read(&shapes, ST_PRODUCT, text, &library, reason));
    assert_near(shapes.table.rows[0].time_s, 17.1e-6, 1e-12);
    st_shapes_free(&shapes);
    assert_non_null(st_shapes_read(&shapes, ST_PRODUCT, text, &none, reason));
    assert_string_equal(reason, "no rows of the table are left");
    assert_non_null(st_shapes_read(&shapes, ST_PRODUCT, text, &types, reason));
    assert_string_equal(
        reason, "the table has rows of both bf16 and fp8; select one with the option dtype");
    assert_non_null(st_shapes_read(&shapes, ST_PRODUCT, text, &gpus, reason));
    assert_string_equal(
        reason, "the table has rows of both h100_sxm and b200_sxm; select one with the option gpu");
    static const char attention[] = "dtype,batch,seq,heads,kv_heads,head_dim,us\n"
                                    "bf16,3,2053,31,7,128,33.7\nfp8,3,2053,31,7,128,19.3\n";
    assert_non_null(st_shapes_read(&shapes, ST_ATTENTION, attention, &all, reason));
    assert_string_equal(
        reason,
        "the table has rows of both bf16 and fp8; select one with the option attention_dtype");
}

TEST(wrong_tables_are_refused)
{
    static const struct {
        st_operator of;
        const char *text;
        const char *reason;
    } cases[] = {
        {ST_PRODUCT, "", "the table has no heading"},
        {ST_PRODUCT, "m,n,us\n3,5,7\n", "the table has no column 'k'"},
        {ST_PRODUCT, "m,n,k\n3,5,7\n", "the table has no column 'us'"},
        {ST_PRODUCT, "m,n,k,us\n3,5,7\n", "line 2 of the table has 3 fields and the heading 4"},
        {ST_PRODUCT, "# c\nm,n,k,us\n3,5,7,9\n3,-5,7,9\n",
         "line 4 of the table: column n: found '-5', expected a number above 0"},
        {ST_PRODUCT, "m,n,k,us\n3,5,7,nan\n",
         "line 2 of the table: column us: found 'nan', expected a number above 0"},
        {ST_PRODUCT, "m,n,k,us\n", "no rows of the table are left"},
        {ST_ATTENTION, "m,n,k,us\n3,5,7,9\n", "the table has no column 'batch'"},
        {ST_ATTENTION, "batch,seq,heads,kv_heads,head_dim,us\n3,2053,31,7,wide,9\n",
         "line 2 of the table: column head_dim: found 'wide', expected a number above 0"},
        {ST_ATTENTION, "batch,seq,heads,kv_heads,head_dim,window,us\n3,2053,31,7,128,512,9\n",
         "no rows of the table are left"},
        {ST_EXPERTS, "tokens,topk,experts,hidden,us\n3,5,7,9,11\n",
         "the table has no column 'inter'"},
        {ST_EXPERTS, "tokens,topk,experts,hidden,inter,us\n3,5,7,9,11,0\n",
         "line 2 of the table: column us: found '0', expected a number above 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char reason[ST_TABLE_REASON] = "";
        st_shapes shapes;
        const char *fault = st_shapes_read(&shapes, cases[i].of, cases[i].text, &all, reason);
        assert_non_null(fault);
        assert_string_equal(fault, cases[i].reason);
        assert_int_equal(shapes.table.count, 0);
    }
}

TESTS(operator_times);
