/* SPDX-License-Identifier: Apache-2.0 */
/* Trees against neighbours, on shapes that neither has seen: made-up tables, and published ones. */
#include "trees.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include <cmocka.h>

enum { LARGEST_TEXT = 128 * 1024 * 1024 };

typedef struct errors_seen {
    double neighbours;
    double trees;
    size_t count;
} errors_seen;

/* ---- halves of a table ---- */

/* Half of the shapes, told by these two sizes: all rows with both are in one half. */
static bool is_learnt(double a, double b)
{
    uint32_t mixed = (uint32_t)a * UINT32_C(2654435761) ^ ((uint32_t)b * 40503u + 0x9e3779b9u);
    mixed ^= mixed >> 15;
    mixed *= UINT32_C(0x85ebca6b);
    mixed ^= mixed >> 13;
    mixed *= UINT32_C(0xc2b2ae35);
    mixed ^= mixed >> 16;
    return mixed % 100 < 50;
}

static bool is_learnt_row(const st_shapes *shapes, size_t row)
{
    const double *sizes = shapes->table.rows[row].sizes;
    return shapes->of == ST_PRODUCT ? is_learnt(sizes[ST_N], sizes[ST_K])
                                    : is_learnt(sizes[ST_HEADS], sizes[ST_SEQUENCE]);
}

/* Products of a training step; attention in which arithmetic counts. */
static bool is_large(const st_shapes *shapes, size_t row)
{
    const double *sizes = shapes->table.rows[row].sizes;
    if (shapes->of == ST_PRODUCT)
        return sizes[ST_M] >= 1024 && sizes[ST_N] >= 512 && sizes[ST_K] >= 512;
    const st_rates work = {.rate = 1};
    return st_shapes_formula(ST_ATTENTION, sizes, &work) >= 1e11;
}

static void swap_rows(st_shapes *shapes, size_t a, size_t b)
{
    const st_measured row = shapes->table.rows[a];
    double places[ST_SHAPES_PLACES];
    memcpy(places, shapes->places[a], sizeof places);
    shapes->table.rows[a] = shapes->table.rows[b];
    memcpy(shapes->places[a], shapes->places[b], sizeof places);
    shapes->table.rows[b] = row;
    memcpy(shapes->places[b], places, sizeof places);
}

/* The formula has about what operators of these kinds reach, as in docs/operators.md. */
static errors_seen try_half(st_shapes *shapes, double rate, double bandwidth,
                            double multiprocessors)
{
    char reason[ST_TABLE_REASON] = "";
    errors_seen seen = {0};
    const st_rates rates = {.rate = rate, .bandwidth = bandwidth, .width = 2};
    st_shapes half = *shapes;
    st_shape_trees *trees = NULL;
    st_neighbours near;
    /* Small shapes go, the learnt half comes first. */
    size_t kept = 0;
    size_t learnt = 0;
    for (size_t i = 0; i < shapes->table.count; i++)
        if (is_large(shapes, i))
            swap_rows(shapes, kept++, i);
    shapes->table.count = kept;
    for (size_t i = 0; i < kept; i++)
        if (is_learnt_row(shapes, i))
            swap_rows(shapes, learnt++, i);
    half.table.count = learnt;
    assert_null(st_shape_trees_train(&half, 2, multiprocessors, &trees, reason));
    for (size_t i = learnt; i < shapes->table.count; i++) {
        const st_measured *row = &shapes->table.rows[i];
        double formula_s = st_shapes_formula(shapes->of, row->sizes, &rates);
        double near_s = formula_s * st_shapes_ratio(&half, row->sizes, &rates, 1, &near);
        double trees_s =
            near.share * st_shape_trees_time(trees, row->sizes) + (1 - near.share) * formula_s;
        seen.neighbours += fabs(near_s / row->time_s - 1);
        seen.trees += fabs(trees_s / row->time_s - 1);
        seen.count++;
    }
    assert_true(seen.count > 0 && learnt > 0);
    seen.neighbours /= (double)seen.count;
    seen.trees /= (double)seen.count;
    st_shape_trees_free(trees);
    return seen;
}

#ifdef STEPTIME_HAVE_XGBOOST

/* ---- made-up tables ---- */

/* Tiles of 128 by 128 in waves over 132 multiprocessors: a staircase that no roofline has. */
TEST(trees_learn_waves)
{
    enum { ROW = 64, ROWS = 1200 };
    char reason[ST_TABLE_REASON] = "";
    char *text = calloc(ROWS + 1, ROW);
    size_t used = (size_t)sprintf(text, "m,n,k,us\n");
    for (unsigned i = 0; i < ROWS; i++) {
        unsigned m = 1024 + 128 * (i * 7 % 61);
        unsigned n = 512 + 128 * (i * 11 % 47);
        unsigned k = 512 + 64 * (i * 13 % 53);
        double waves = ceil(m / 128.0 * (n / 128.0) / 132);
        used += (size_t)sprintf(text + used, "%u,%u,%u,%.6g\n", m, n, k,
                                3.85 + waves * 2.385e-2 * k / 1.7);
    }
    st_shapes shapes;
    const st_table_filter all = {"", "", ""};
    assert_null(st_shapes_read(&shapes, ST_PRODUCT, text, &all, reason));
    errors_seen told = try_half(&shapes, 380e12, 2e12, 132);
    errors_seen not_told = try_half(&shapes, 380e12, 2e12, 0);
    if (!(told.trees < 0.02 && told.trees < 0.5 * fmin(not_told.trees, told.neighbours)))
        fail_msg("errors of trees %.4f, of neighbours %.4f; not told of waves %.4f", told.trees,
                 told.neighbours, not_told.trees);
    st_shapes_free(&shapes);
    free(text);
}

/* Short rows leave threads idle, norms read their rows twice: what bytes alone do not tell. */
TEST(trees_learn_rows)
{
    enum { ROW = 64, ROWS = 900 };
    char reason[ST_TABLE_REASON] = "";
    char *text = calloc(ROWS + 1, ROW);
    size_t used = (size_t)sprintf(text, "bytes,rows,width,reductions,us\n");
    for (unsigned i = 0; i < ROWS; i++) {
        unsigned rows = 512 + 97 * (i * 7 % 61);
        unsigned width = 256U << (i % 7);
        unsigned norm = i / 7 % 2;
        double bytes = 4.0 * rows * width;
        used += (size_t)sprintf(text + used, "%.0f,%u,%u,%u,%.6g\n", bytes, rows, width, norm,
                                1.7 + bytes / 2.385e6 * (1 + norm) * (width < 1000 ? 1.53 : 1));
    }
    st_shapes shapes;
    st_shape_trees *trees = NULL;
    st_neighbours near;
    const st_table_filter all = {"", "", ""};
    const st_rates rates = {.bandwidth = 2e12, .width = 1};
    double errors[2] = {0};
    assert_null(st_shapes_read(&shapes, ST_MOVED, text, &all, reason));
    st_shapes half = shapes;
    half.table.count = ROWS / 2;
    assert_null(st_shape_trees_train(&half, 1, 0, &trees, reason));
    for (size_t i = ROWS / 2; i < ROWS; i++) {
        const st_measured *row = &shapes.table.rows[i];
        double near_s = st_shapes_formula(ST_MOVED, row->sizes, &rates) *
                        st_shapes_ratio(&half, row->sizes, &rates, 100, &near);
        errors[0] += fabs(near_s / row->time_s - 1) / (ROWS - ROWS / 2);
        errors[1] +=
            fabs(st_shape_trees_time(trees, row->sizes) / row->time_s - 1) / (ROWS - ROWS / 2);
    }
    if (!(errors[1] < 0.02 && errors[1] < 0.2 * errors[0]))
        fail_msg("errors of trees %.4f, of neighbours %.4f", errors[1], errors[0]);
    st_shape_trees_free(trees);
    st_shapes_free(&shapes);
    free(text);
}

TEST(few_shapes_are_refused)
{
    char reason[ST_TABLE_REASON] = "";
    st_shapes shapes;
    st_shape_trees *trees = NULL;
    const st_table_filter all = {"", "", ""};
    assert_null(
        st_shapes_read(&shapes, ST_PRODUCT, "m,n,k,us\n1031,2053,4099,33.7\n", &all, reason));
    assert_string_equal(st_shape_trees_train(&shapes, 2, 0, &trees, reason),
                        "trees need 50 rows, but the table has 1");
    assert_null(trees);
    st_shapes_free(&shapes);
}

/* ---- published tables ---- */

/* NULL where the table is absent. */
static char *unpack_table(const char *name)
{
    char path[1024];
    const char *folder = getenv("STEPTIME_DATA");
    (void)snprintf(path, sizeof path, "%s/operators/%s", folder != NULL ? folder : "../shared/data",
                   name);
    gzFile file = gzopen(path, "rb");
    if (file == NULL) {
        print_message("no table %s: set STEPTIME_DATA\n", path);
        return NULL;
    }
    char *text = malloc(LARGEST_TEXT);
    int length = gzread(file, text, LARGEST_TEXT - 1);
    (void)gzclose(file);
    assert_true(length > 0 && length < LARGEST_TEXT - 1);
    text[length] = '\0';
    return text;
}

typedef struct measured_half {
    st_table_filter filter;
    double rate; /* of the data sheet */
    double bandwidth;
    double multiprocessors;
    double most; /* mean error allowed */
} measured_half;

static void try_halves(const char *file, st_operator of, const measured_half *halves, size_t count)
{
    char *text = unpack_table(file);
    if (text == NULL)
        skip();
    for (size_t i = 0; i < count; i++) {
        const measured_half *half = &halves[i];
        char reason[ST_TABLE_REASON] = "";
        st_shapes shapes;
        assert_null(st_shapes_read(&shapes, of, text, &half->filter, reason));
        errors_seen seen = try_half(&shapes, (of == ST_PRODUCT ? 0.7 : 0.42) * half->rate,
                                    0.67 * half->bandwidth, half->multiprocessors);
        print_message("%s %s: %zu shapes left out, neighbours %.2f %%, trees %.2f %%\n",
                      half->filter.gpu, half->filter.source, seen.count, 100 * seen.neighbours,
                      100 * seen.trees);
        assert_true(seen.trees < seen.neighbours && seen.trees <= half->most);
        st_shapes_free(&shapes);
    }
    free(text);
}

TEST(trees_are_nearer_for_products)
{
    static const measured_half halves[] = {{{"a100_sxm", "", ""}, 312e12, 2039e9, 108, 0.032},
                                           {{"h100_sxm", "", ""}, 989.4e12, 3350e9, 132, 0.024},
                                           {{"b200_sxm", "", ""}, 2250e12, 8000e9, 148, 0.027}};
    try_halves("gemm_bf16.csv.gz", ST_PRODUCT, halves, sizeof halves / sizeof halves[0]);
}

/* Products of a recorded step, which no table has: Megatron on 8 A100, tp 8, forward, in fp16;
 * medians over layers and ranks. */
TEST(trees_meet_a_recorded_step)
{
    static const struct {
        double sizes[3];
        double time_us;
    } products[] = {{{8192, 1536, 4096}, 403},
                    {{8192, 2048, 4096}, 527},
                    {{8192, 4096, 512}, 161},
                    {{8192, 4096, 2048}, 573},
                    {{8192, 6400, 4096}, 1700}};
    enum { PRODUCTS = sizeof products / sizeof products[0] };
    char reason[ST_TABLE_REASON] = "";
    const st_table_filter a100 = {"a100_sxm", "", ""};
    st_shapes shapes;
    st_shape_trees *trees = NULL;
    double error = 0;
    char *text = unpack_table("gemm_bf16.csv.gz");
    if (text == NULL)
        skip();
    assert_null(st_shapes_read(&shapes, ST_PRODUCT, text, &a100, reason));
    assert_null(st_shape_trees_train(&shapes, 2, 108, &trees, reason));
    for (size_t i = 0; i < PRODUCTS; i++) {
        double time_us = 1e6 * st_shape_trees_time(trees, products[i].sizes);
        error += fabs(time_us / products[i].time_us - 1) / PRODUCTS;
    }
    print_message("products of a recorded step: trees %.2f %%\n", 100 * error);
    assert_true(error < 0.03);
    st_shape_trees_free(trees);
    st_shapes_free(&shapes);
    free(text);
}

TEST(trees_are_nearer_for_attention)
{
    static const measured_half halves[] = {
        {{"a100_sxm", "bfloat16", "vllm 0.14.0 vllm_flash_attn"}, 312e12, 2039e9, 108, 0.026},
        {{"h100_sxm", "bfloat16", "trtllm 1.3.0rc20 torch_flow"}, 989.4e12, 3350e9, 132, 0.033},
        {{"b200_sxm", "bfloat16", "trtllm 1.3.0rc20 torch_flow"}, 2250e12, 8000e9, 148, 0.034}};
    try_halves("attention_forward.csv.gz", ST_ATTENTION, halves, sizeof halves / sizeof halves[0]);
}

#endif

TESTS(operator_trees);
