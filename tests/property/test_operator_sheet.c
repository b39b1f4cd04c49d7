/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sheet operators against its sources written out in C: a roofline with a smooth corner for
 * products, the square of causal attention halved, grouped products that many tokens speed up
 * (docs/operators.md). Every input is drawn by its key.
 */
#include "sheet_bench.h"

#include <math.h>

enum { ROWS = 3000, GEMM = 0, ATTENTION, EXPERTS, OPERATORS };
enum { BF16, FP8, FP8_STATIC, FP8_BLOCK, MXFP8, NVFP4, PRECISIONS };

/* As the keys of their constants end; static scales are constants of FP8. */
static const char *const endings[PRECISIONS] = {"bf16",      "fp8",   "fp8",
                                                "fp8_block", "mxfp8", "nvfp4"};

static double given(const bench *b, const char *key)
{
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(b->sheet, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(inputs[i].from, key) == 0)
            return b->inputs[i];
    fail_msg("no input reads %s", key);
    return 0;
}

static double constant(const bench *b, const char *start, size_t precision)
{
    char key[80];
    (void)snprintf(key, sizeof key, "cluster.gpu.%s_%s", start, endings[precision]);
    return given(b, key);
}

static double draw_input(property_random *random, const st_sheet_input *input)
{
    const char *key = input->from;
    const st_enum *names = input->type.enumeration;
    double at = random_unit_interval(random);
    if (input->type.kind == ST_TYPE_ENUM)
        return (double)random_below(random, names->count);
    if (input->type.kind == ST_TYPE_BOOL)
        return (double)random_below(random, 2);
    if (strncmp(key, "operator.", 9) == 0)
        return strcmp(key, "operator.head_dim") == 0 ? 32 * (double)random_between(random, 1, 6)
                                                     : floor(exp(1 + 7 * at));
    if (strstr(key, "peak") != NULL)
        return random_below(random, 6) == 0 && strstr(key, "fp16") == NULL ? 0 : 1e14 * exp(3 * at);
    if (strstr(key, "memory_bandwidth") != NULL)
        return 1e12 * exp(2 * at);
    if (strstr(key, "constant") != NULL)
        return 1e-6 * exp(3 * at);
    return strstr(key, "half") != NULL ? 500 * at : 0.3 + 0.7 * at;
}

static void draw_inputs(bench *b)
{
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(b->sheet, &count);
    for (size_t i = 0; i < count; i++)
        b->inputs[i] = draw_input(b->random, &inputs[i]);
    assert_int_equal(st_program_run_one(b->program, b->workspace, b->inputs, b->outputs, NULL),
                     ST_OK);
}

static void expect(const bench *b, const char *cell, double expected)
{
    double value = found(b, cell);
    if (!(fabs(value - expected) <= 1e-11 * fabs(expected)))
        fail_msg("%s is %.17g, not %.17g (STEPTIME_SEED=%" PRIu64 ")", cell, value, expected,
                 b->random->seed);
}

static double corner(double arithmetic, double memory)
{
    return pow(pow(arithmetic, 4) + pow(memory, 4), 0.25);
}

typedef struct rates {
    double half; /* FLOP/s in 16 bits */
    double peak, rate, bandwidth, width;
} rates;

static rates rates_of(const bench *b, size_t precision)
{
    static const double widths[PRECISIONS] = {2, 1, 1, 1, 1 + 1 / 32.0, 0.5 + 1 / 16.0};
    rates r = {.half = given(b, "cluster.gpu.peak_bf16"), .width = widths[precision]};
    if (r.half <= 0)
        r.half = given(b, "cluster.gpu.peak_fp16");
    r.peak = precision == BF16    ? r.half
             : precision == NVFP4 ? given(b, "cluster.gpu.peak_fp4")
                                  : given(b, "cluster.gpu.peak_fp8");
    r.rate = constant(b, "gemm_efficiency", precision) * r.peak;
    if (given(b, "operator.burst") > 0)
        r.rate *= given(b, "cluster.gpu.gemm_burst");
    r.bandwidth = constant(b, "gemm_memory", precision) * given(b, "cluster.gpu.memory_bandwidth");
    return r;
}

static double product_time(const bench *b, const rates *r, size_t precision)
{
    double m = given(b, "operator.m");
    double n = given(b, "operator.n");
    double k = given(b, "operator.k");
    bool casts = precision != BF16 && precision != FP8_STATIC;
    double cast = casts ? (2 + r->width) * m * k / r->bandwidth : 0;
    double moved = r->width * m * k + r->width * k * n + 2 * m * n;
    return constant(b, "gemm_constant", precision) + cast +
           corner(2 * m * n * k / r->rate, moved / r->bandwidth);
}

/* Two products of s x s x d for each head, of which causal ones need half. */
static double attention_work(const bench *b)
{
    double s = given(b, "operator.sequence");
    return given(b, "operator.batch") * given(b, "operator.heads") * 2 *
           (2 * s * s * given(b, "operator.head_dim")) / 2;
}

static double attention_time(const bench *b, const rates *r)
{
    bool wide = given(b, "operator.head_dim") >= 96;
    double share = given(b, wide ? "cluster.gpu.attention_efficiency_128"
                                 : "cluster.gpu.attention_efficiency_64");
    double half =
        given(b, wide ? "cluster.gpu.attention_half_128" : "cluster.gpu.attention_half_64");
    double s = given(b, "operator.sequence");
    double kv = given(b, "operator.kv_heads");
    half *= kv > 0 ? (1 + kv / given(b, "operator.heads")) / 2 : 1;
    return given(b, "cluster.gpu.attention_constant") +
           attention_work(b) * (1 + half / s) / (share * r->half);
}

static double experts_work(const bench *b)
{
    return 3 * 2 * given(b, "operator.tokens") * given(b, "operator.top_k") *
           given(b, "operator.hidden") * given(b, "operator.ffn");
}

static double experts_time(const bench *b, const rates *r, size_t precision)
{
    double h = given(b, "operator.hidden");
    double f = given(b, "operator.ffn");
    double copies = given(b, "operator.tokens") * given(b, "operator.top_k");
    double each = fmax(copies / given(b, "operator.experts"), 1);
    double bandwidth =
        given(b, "cluster.gpu.grouped_memory") * given(b, "cluster.gpu.memory_bandwidth");
    double rate = constant(b, "grouped_efficiency", precision) * r->rate /
                  (1 + given(b, "cluster.gpu.grouped_half") / each);
    double weights = given(b, "operator.experts") * 3 * h * f * r->width;
    return given(b, "cluster.gpu.grouped_constant") + 2 * copies * (4 * h + 3 * f) / bandwidth +
           corner(experts_work(b) / rate, weights / bandwidth);
}

static void operators_take_what_their_sources_say(void **state)
{
    bench b;
    open_bench(&b, "operators", *state);
    compile_with(&b, NULL, 0);
    for (int i = 0; i < ROWS; i++) {
        draw_inputs(&b);
        size_t precision = (size_t)given(&b, "operator.precision");
        size_t kind = (size_t)given(&b, "operator.kind");
        rates r = rates_of(&b, precision);
        if (r.peak <= 0)
            continue; /* a check fails */
        double product =
            2 * given(&b, "operator.m") * given(&b, "operator.n") * given(&b, "operator.k");
        const double times[OPERATORS] = {product_time(&b, &r, precision), attention_time(&b, &r),
                                         experts_time(&b, &r, precision)};
        const double work[OPERATORS] = {product, attention_work(&b), experts_work(&b)};
        expect(&b, "t", times[kind]);
        expect(&b, "work", work[kind]);
        expect(&b, "reached", work[kind] / times[kind] / (kind == ATTENTION ? r.half : r.peak));
        expect(&b, "F_16", r.half);
    }
    close_bench(&b);
}

/* Sizes that a row does not give are none, and neither is a rate that no GPU's file has. */
static void what_is_left_out_is_nothing(void **state)
{
    bench b;
    size_t count = 0;
    open_bench(&b, "operators", *state);
    const st_sheet_input *inputs = st_sheet_inputs(b.sheet, &count);
    for (size_t i = 0; i < count; i++) {
        bool is_size = strncmp(inputs[i].from, "operator.", 9) == 0;
        bool is_peak = strncmp(inputs[i].from, "cluster.gpu.peak", 16) == 0;
        bool is_one = strcmp(inputs[i].from, "cluster.gpu.gemm_burst") == 0;
        if ((is_size || (is_peak && inputs[i].has_default) || is_one) &&
            !(inputs[i].has_default && inputs[i].default_value == (is_one ? 1 : 0)))
            fail_msg("%s is %g where nothing gives it", inputs[i].from, inputs[i].default_value);
    }
    st_errors_destroy(b.errors);
    st_arena_destroy(b.arena);
    st_paths_destroy(b.paths);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_take_what_their_sources_say),
        cmocka_unit_test(what_is_left_out_is_nothing),
    };
    return cmocka_run_group_tests(tests, property_setup, NULL);
}
