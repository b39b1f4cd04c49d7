/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sheets operators, kernels and layer-kinds against their sources written out in C: a roofline
 * with a smooth corner for products, the square of causal attention halved, grouped products that
 * many tokens speed up (docs/operators.md, docs/record.md, docs/layers.md). Every input is drawn by
 * its key.
 */
#include "sheet_bench.h"

#include <math.h>

enum { ROWS = 3000, MOST_CHECKS = 64, GEMM = 0, ATTENTION, EXPERTS, OPERATORS };
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

/* What tells the named library from the others; 1 where its kernels have no such factor. */
static double factor(const bench *b, const char *start, const char *const *of, size_t of_count)
{
    static const char *const libraries[] = {"any",  "sglang",     "trtllm",
                                            "vllm", "flashinfer", "triton"};
    size_t library = (size_t)given(b, "operator.library");
    char key[80];
    for (size_t i = 0; i < of_count; i++)
        if (strcmp(of[i], libraries[library]) == 0) {
            (void)snprintf(key, sizeof key, "cluster.gpu.%s_%s", start, of[i]);
            return given(b, key);
        }
    return 1;
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
    if (strcmp(key, "cluster.gpu.compute_capability") == 0)
        return (double)random_between(random, 7, 9);
    if (strncmp(key, "operator.", 9) == 0)
        return strcmp(key, "operator.head_dim") == 0 ? 32 * (double)random_between(random, 1, 6)
                                                     : floor(exp(8 * at));
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

/* Bytes that are read and written to make a product's numbers smaller. */
static double cast_bytes(const bench *b, const rates *r, size_t precision)
{
    bool trtllm = given(b, "operator.library") == 2;
    bool casts = precision != BF16 && (precision != FP8_STATIC || trtllm);
    return casts ? (2 + r->width) * given(b, "operator.m") * given(b, "operator.k") : 0;
}

/* Equal products of one kernel. */
static double product_time(const bench *b, const rates *r, size_t precision, double products)
{
    static const char *const measured[] = {"sglang", "trtllm", "vllm"};
    double m = given(b, "operator.m");
    double n = given(b, "operator.n");
    double k = given(b, "operator.k");
    double moved = r->width * m * k + r->width * k * n + 2 * m * n;
    char overhead[40];
    (void)snprintf(overhead, sizeof overhead, "gemm_overhead_%s", endings[precision]);
    bool timed = precision != BF16 && precision != MXFP8;
    return constant(b, "gemm_constant", precision) *
               (timed ? factor(b, overhead, measured, 3) : 1) +
           products * cast_bytes(b, r, precision) / r->bandwidth +
           corner(products * 2 * m * n * k / r->rate, products * moved / r->bandwidth);
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
    static const char *const measured[] = {"sglang", "trtllm", "vllm", "flashinfer", "triton"};
    half *= kv > 0 ? (1 + kv / given(b, "operator.heads")) / 2 : 1;
    half *= factor(b, "attention_overhead", measured, 5);
    share *= factor(b, "attention_rate", measured, 5);
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

TEST(operators_take_what_their_sources_say)
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
        const double times[OPERATORS] = {product_time(&b, &r, precision, 1), attention_time(&b, &r),
                                         experts_time(&b, &r, precision)};
        const double work[OPERATORS] = {product, attention_work(&b), experts_work(&b)};
        expect(&b, "t", times[kind]);
        expect(&b, "work", work[kind]);
        expect(&b, "reached", work[kind] / times[kind] / (kind == ATTENTION ? r.half : r.peak));
        expect(&b, "F_16", r.half);
    }
    close_bench(&b);
}

/* Products of numbers in 32 bits at the shares of their peak and of the memory that bf16 reaches.
 */
static double wide_time(const bench *b, double peak)
{
    double products = given(b, "operator.products");
    double m = given(b, "operator.m");
    double n = given(b, "operator.n");
    double k = given(b, "operator.k");
    double bandwidth = constant(b, "gemm_memory", BF16) * given(b, "cluster.gpu.memory_bandwidth");
    return constant(b, "gemm_constant", BF16) +
           corner(products * 2 * m * n * k / (constant(b, "gemm_efficiency", BF16) * peak),
                  products * 4 * (m * k + k * n + m * n) / bandwidth);
}

static void expect_copies(const bench *b)
{
    double bytes = given(b, "operator.bytes");
    double bandwidth = given(b, "cluster.gpu.memory_bandwidth");
    double streams = given(b, "constants.stream_efficiency") * bandwidth;
    expect(b, "t_moved", bytes / (given(b, "constants.memory_efficiency") * bandwidth));
    expect(b, "t_streamed", bytes / streams);
    expect(b, "t_filled", bytes / streams);
    expect(b, "t_copied", (bytes + bytes) / streams); /* read and written */
    expect(b, "t_host_copy",
           bytes /
               (given(b, "constants.host_efficiency") * given(b, "cluster.gpu.host_bandwidth")));
    expect(b, "no_work", 0);
    expect(b, "no_time", 0);
}

TEST(kernels_take_what_their_sources_say)
{
    bench b;
    open_bench(&b, "kernels", *state);
    compile_with(&b, NULL, 0);
    for (int i = 0; i < ROWS; i++) {
        draw_inputs(&b);
        size_t precision = (size_t)given(&b, "operator.precision");
        rates r = rates_of(&b, precision);
        double products = given(&b, "operator.products");
        double single = given(&b, "cluster.gpu.peak_fp32");
        double backward = given(&b, "constants.attention_backward");
        double begin = given(&b, "cluster.gpu.attention_constant");
        if (r.peak <= 0)
            continue; /* a check fails */
        expect(&b, "t_product", product_time(&b, &r, precision, products));
        expect(&b, "W_product",
               2 * products * given(&b, "operator.m") * given(&b, "operator.n") *
                   given(&b, "operator.k"));
        if (given(&b, "cluster.gpu.compute_capability") >= 8 || single > 0)
            expect(&b, "t_product_tf32",
                   wide_time(&b, given(&b, "cluster.gpu.compute_capability") >= 8 ? r.half / 2
                                                                                  : single));
        expect(&b, "t_product_fp32", wide_time(&b, single > 0 ? single : 1e12));
        expect(&b, "t_attention_backward", begin + backward * (attention_time(&b, &r) - begin));
        expect(&b, "W_attention_backward", backward * attention_work(&b));
        expect_copies(&b);
    }
    close_bench(&b);
}

/* ---- layers by their kind ---- */

typedef enum layer_kind {
    GIVEN,
    CONV,
    UPCONV,
    LINEAR,
    ATTEND,
    EMBEDDING,
    NORM,
    ACTIVATION,
    ADD,
    POOL,
    CONCAT
} layer_kind;

typedef struct layer_counts {
    double weights, biases, work, kept, output, moved, moved_compiled, kernels, kernels_compiled;
} layer_counts;

static double of_layer(const bench *b, const char *name)
{
    char key[40];
    (void)snprintf(key, sizeof key, "constants.%s", name);
    return given(b, key);
}

/* What goes in and out of the layer, in values; docs/layers.md. */
static void sides_of(const bench *b, layer_kind kind, double *in, double *out)
{
    double places = of_layer(b, "rows") * of_layer(b, "columns");
    double stride = of_layer(b, "stride");
    double places_in = places;
    bool as_wide = kind == NORM || kind >= ACTIVATION;
    if (kind == CONV || kind == POOL)
        places_in = places * stride * stride;
    else if (kind == UPCONV)
        places_in = places / (stride * stride);
    *in = of_layer(b, "in") * places_in;
    *out = of_layer(b, as_wide ? "in" : "out") * places;
    if (kind == GIVEN) {
        *in = of_layer(b, "keeps");
        *out = of_layer(b, "values");
    }
}

static void count_products(const bench *b, layer_kind kind, layer_counts *layer)
{
    double in = of_layer(b, "in");
    double out = of_layer(b, "out");
    double places = of_layer(b, "rows") * of_layer(b, "columns");
    double window = of_layer(b, "kernel") * of_layer(b, "kernel") * in / of_layer(b, "groups");
    switch (kind) {
    case GIVEN:
        layer->weights = of_layer(b, "parameters");
        layer->work = of_layer(b, "flop");
        break;
    case CONV:
    case UPCONV:
        layer->weights = window * out;
        layer->work = 2 * window * out * places;
        if (kind == UPCONV)
            layer->work /= of_layer(b, "stride") * of_layer(b, "stride");
        break;
    case LINEAR:
        layer->weights = in * out;
        layer->work = 2 * in * out * places;
        break;
    case ATTEND: /* scores and their product with the values; half of them where causal */
        layer->work = (of_layer(b, "causal") > 0 ? 2 : 4) * in * places * of_layer(b, "keys");
        break;
    case EMBEDDING:
        layer->weights = of_layer(b, "entries") * out;
        break;
    default:
        layer->weights = kind == NORM ? in : 0;
    }
}

/* What kernels without products read and write; a norm reads twice, a sum reads two. */
static double moved_by(layer_kind kind, double in, double out)
{
    static const double times[CONCAT + 1] = {
        [EMBEDDING] = 2, [NORM] = 3, [ACTIVATION] = 2, [ADD] = 3, [CONCAT] = 2};
    return kind == POOL ? in + out : times[kind] * out;
}

static double kept_by(const bench *b, layer_kind kind, double in)
{
    bool by_others = of_layer(b, "inplace") > 0 || of_layer(b, "shared") > 0;
    if (kind == EMBEDDING || kind == ADD || kind == CONCAT || by_others)
        return 0;
    return kind == ATTEND ? in + 2 * of_layer(b, "in") * of_layer(b, "keys") : in;
}

static layer_counts counts_of(const bench *b, layer_kind kind)
{
    double in = 0;
    double out = 0;
    bool is_conv = kind == CONV || kind == UPCONV;
    bool bias = of_layer(b, "bias") > 0;
    layer_counts layer = {0};
    sides_of(b, kind, &in, &out);
    count_products(b, kind, &layer);
    layer.biases = bias ? of_layer(b, kind == NORM ? "in" : "out") : 0;
    layer.output = out;
    layer.kept = kept_by(b, kind, in);
    layer.moved = moved_by(kind, in, out);
    layer.moved_compiled = kind == ACTIVATION ? 0 : kind == ADD ? out : layer.moved;
    layer.kernels = bias && is_conv ? 2 : 1;
    if (kind == GIVEN && layer.work == 0 && out == 0)
        layer.kernels = 0;
    layer.kernels_compiled = kind == ACTIVATION || kind == ADD ? 0 : 1;
    return layer;
}

static double draw_size(property_random *random, const st_sheet_input *input)
{
    if (input->type.kind == ST_TYPE_ENUM)
        return (double)random_below(random, input->type.enumeration->count);
    if (input->type.kind == ST_TYPE_BOOL)
        return (double)random_below(random, 2);
    return strcmp(input->from, "constants.values") == 0 ||
                   strcmp(input->from, "constants.flop") == 0
               ? (double)random_below(random, 3)
               : (double)random_between(random, 1, 40);
}

TEST(layers_have_what_their_sources_say)
{
    bench b;
    size_t count = 0;
    open_bench(&b, "layer-kinds", *state);
    compile_with(&b, NULL, 0);
    const st_sheet_input *inputs = st_sheet_inputs(b.sheet, &count);
    for (int i = 0; i < ROWS; i++) {
        for (size_t k = 0; k < count; k++)
            b.inputs[k] = draw_size(b.random, &inputs[k]);
        assert_int_equal(st_program_run_one(b.program, b.workspace, b.inputs, b.outputs, NULL),
                         ST_OK);
        layer_counts layer = counts_of(&b, (layer_kind)of_layer(&b, "kind"));
        double repeats = of_layer(&b, "repeats");
        expect(&b, "weights", repeats * layer.weights);
        expect(&b, "biases", repeats * layer.biases);
        expect(&b, "work", repeats * layer.work);
        expect(&b, "kept", repeats * layer.kept);
        expect(&b, "passed_on", layer.output);
        expect(&b, "moved", repeats * layer.moved);
        expect(&b, "moved_compiled", repeats * layer.moved_compiled);
        expect(&b, "kernels", repeats * layer.kernels);
        expect(&b, "kernels_compiled", repeats * layer.kernels_compiled);
    }
    close_bench(&b);
}

/* ---- which sizes a layer of a kind has; the table of docs/layers.md ---- */

static const char *const needs[CONCAT + 1] = {
    [GIVEN] = "",           [CONV] = " in out kernel ", [UPCONV] = " in out kernel ",
    [LINEAR] = " in out ",  [ATTEND] = " in keys ",     [EMBEDDING] = " entries out ",
    [NORM] = " in ",        [ACTIVATION] = " in ",      [ADD] = " in ",
    [POOL] = " in kernel ", [CONCAT] = " in "};

static const char *const may_have[CONCAT + 1] = {[GIVEN] = " parameters flop values keeps ",
                                                 [CONV] = " rows columns stride groups bias ",
                                                 [UPCONV] = " rows columns stride groups bias ",
                                                 [LINEAR] = " rows columns bias ",
                                                 [ATTEND] = " rows columns causal ",
                                                 [EMBEDDING] = " rows columns ",
                                                 [NORM] = " rows columns bias ",
                                                 [ACTIVATION] = " rows columns inplace ",
                                                 [ADD] = " rows columns ",
                                                 [POOL] = " rows columns stride ",
                                                 [CONCAT] = " rows columns "};

/* " kernel " of "constants.kernel". */
static bool has_word(const char *words, const char *key)
{
    char word[40];
    (void)snprintf(word, sizeof word, " %s ", strchr(key, '.') + 1);
    return strstr(words, word) != NULL;
}

static bool has_its_sizes(const bench *b, layer_kind kind)
{
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(b->sheet, &count);
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        bool of_all = has_word(" kind repeats shared ", inputs[i].from);
        bool needed = has_word(needs[kind], inputs[i].from);
        bool allowed = of_all || needed || has_word(may_have[kind], inputs[i].from);
        if ((needed && b->inputs[i] <= 0) || (!allowed && b->inputs[i] != inputs[i].default_value))
            return false;
        any = any || (!of_all && b->inputs[i] > 0 && allowed);
    }
    return kind != GIVEN || any;
}

static bool divides(double number, double whole)
{
    return fmod(whole, number) == 0;
}

static bool is_a_layer(const bench *b)
{
    static const char *const counts[] = {"groups", "stride", "rows", "columns", "repeats"};
    layer_kind kind = (layer_kind)of_layer(b, "kind");
    double groups = of_layer(b, "groups");
    double stride = of_layer(b, "stride");
    if (!has_its_sizes(b, kind))
        return false;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (of_layer(b, counts[i]) < 1)
            return false;
    return divides(groups, of_layer(b, "in")) && divides(groups, of_layer(b, "out")) &&
           (kind != UPCONV ||
            divides(stride * stride, of_layer(b, "rows") * of_layer(b, "columns")));
}

/* A layer that has what its kind needs, or all but one size of it, or one more. */
static void draw_layer(bench *b)
{
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(b->sheet, &count);
    layer_kind kind = (layer_kind)random_below(b->random, CONCAT + 1);
    for (size_t i = 0; i < count; i++) {
        bool drawn = has_word(needs[kind], inputs[i].from) ||
                     (has_word(may_have[kind], inputs[i].from) && random_below(b->random, 2) == 1);
        b->inputs[i] = !drawn ? inputs[i].default_value
                       : inputs[i].type.kind == ST_TYPE_BOOL
                           ? 1
                           : (double)random_between(b->random, 1, 8);
        if (strcmp(inputs[i].from, "constants.kind") == 0)
            b->inputs[i] = (double)kind;
    }
    size_t other = (size_t)random_below(b->random, count);
    if (random_below(b->random, 3) > 0 && strcmp(inputs[other].from, "constants.kind") != 0)
        b->inputs[other] = (double)random_below(b->random, 2);
}

TEST(layers_have_the_sizes_of_their_kind)
{
    bench b;
    double checks[MOST_CHECKS];
    size_t count = 0;
    size_t refused = 0;
    open_bench(&b, "layer-kinds", *state);
    compile_with(&b, NULL, 0);
    (void)st_sheet_checks(b.sheet, &count);
    assert_in_range(count, 1, MOST_CHECKS);
    for (int i = 0; i < 10 * ROWS; i++) {
        bool holds = true;
        draw_layer(&b);
        assert_int_equal(st_program_run_one(b.program, b.workspace, b.inputs, b.outputs, checks),
                         ST_OK);
        for (size_t c = 0; c < count; c++)
            holds = holds && checks[c] == 1;
        if (holds != is_a_layer(&b))
            fail_msg("a layer of kind %g %s (STEPTIME_SEED=%" PRIu64 ")", of_layer(&b, "kind"),
                     holds ? "is not refused" : "is refused", b.random->seed);
        refused += !holds;
    }
    assert_in_range(refused, 2 * ROWS, 8 * ROWS);
    close_bench(&b);
}

/* What a key is worth that nothing gives; NAN: a value of its own, by its source. */
static double left_out(const char *key)
{
    static const struct {
        const char *key;
        double value;
    } known[] = {
        {"constants.memory_efficiency", 0.67},
        {"constants.stream_efficiency", 0.85},
        {"constants.host_efficiency", 0.8},
        {"constants.attention_backward", 2.5},
        {"cluster.gpu.compute_capability", 8},
        {"cluster.gpu.host_bandwidth", 31.5e9},
        {"cluster.gpu.gemm_burst", 1},
        {"operator.products", 1},
        {"constants.stride", 1},
        {"constants.groups", 1},
        {"constants.rows", 1},
        {"constants.columns", 1},
        {"constants.repeats", 1},
    };
    static const char *const nothing[] = {"operator.", "cluster.gpu.peak", "constants."};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(key, known[i].key) == 0)
            return known[i].value;
    for (size_t i = 0; i < sizeof nothing / sizeof nothing[0]; i++)
        if (strncmp(key, nothing[i], strlen(nothing[i])) == 0)
            return 0;
    return (double)NAN;
}

/* Sizes that a row does not give are none, and neither is a rate that no GPU's file has. */
TEST(what_is_left_out_is_nothing)
{
    static const char *const sheets[] = {"operators", "kernels", "layer-kinds"};
    for (size_t s = 0; s < sizeof sheets / sizeof sheets[0]; s++) {
        bench b;
        size_t count = 0;
        open_bench(&b, sheets[s], *state);
        const st_sheet_input *inputs = st_sheet_inputs(b.sheet, &count);
        for (size_t i = 0; i < count; i++) {
            double expected = left_out(inputs[i].from);
            bool has_default = inputs[i].has_default;
            if (isnan(expected) || (!has_default && strncmp(inputs[i].from, "operator.", 9) != 0))
                continue;
            if (!has_default || inputs[i].default_value != expected)
                fail_msg("%s is %g where nothing gives it", inputs[i].from,
                         inputs[i].default_value);
        }
        st_errors_destroy(b.errors);
        st_arena_destroy(b.arena);
        st_paths_destroy(b.paths);
    }
}

TESTS_WITH(operator_sheet, property_setup, NULL);
