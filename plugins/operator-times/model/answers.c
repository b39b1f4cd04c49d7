/* SPDX-License-Identifier: Apache-2.0 */
/* Providers of products, attention and experts; see answers.h. */
#include "answers.h"

#include "describe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- arguments ---- */

enum { M, N, K, RATE, BANDWIDTH, WIDTH, CONSTANT, RESULT, PRODUCT_ARGUMENTS };

static const st_plugin_argument *const product_list[PRODUCT_ARGUMENTS] = {
    [M] = ARGUMENT("m", "", "rows"),
    [N] = ARGUMENT("n", "", "columns"),
    [K] = ARGUMENT("k", "", "inner width of the product"),
    [RATE] = ARGUMENT("rate", "TFLOP/s", "rate of large products"),
    [BANDWIDTH] = OPTIONAL("bandwidth", "GB/s", "memory bandwidth"),
    [WIDTH] = OPTIONAL("width", "B", "bytes of a number"),
    [CONSTANT] = OPTIONAL("constant", "us", "constant time of each product"),
    [RESULT] = OPTIONAL("result", "B", "bytes of a number of the result")};

enum {
    BATCH,
    SEQUENCE,
    HEADS,
    KV_HEADS,
    HEAD_DIM,
    ATTENTION_WIDTH,
    ATTENTION_WORK,
    ATTENTION_RATE,
    ATTENTION_HALF,
    ATTENTION_BYTES,
    ATTENTION_BANDWIDTH,
    ATTENTION_CONSTANT,
    ATTENTION_ARGUMENTS
};

static const st_plugin_argument *const attention_list[ATTENTION_ARGUMENTS] = {
    [BATCH] = ARGUMENT("batch", "", "sequences"),
    [SEQUENCE] = ARGUMENT("sequence", "", "tokens of a sequence"),
    [HEADS] = ARGUMENT("heads", "", "heads of queries on a rank"),
    [KV_HEADS] = ARGUMENT("kv_heads", "", "heads of keys and values on a rank"),
    [HEAD_DIM] = ARGUMENT("head_dim", "", "width of a head, mean of keys and values"),
    [ATTENTION_WIDTH] = ARGUMENT("width", "B", "bytes of a number"),
    [ATTENTION_WORK] = ARGUMENT("work", "GFLOP", "arithmetic as far as it is computed"),
    [ATTENTION_RATE] = ARGUMENT("rate", "TFLOP/s", "rate in long sequences"),
    [ATTENTION_HALF] = ARGUMENT("half", "", "tokens of a sequence at half of the rate"),
    [ATTENTION_BYTES] = ARGUMENT("bytes", "MB", "memory traffic"),
    [ATTENTION_BANDWIDTH] = ARGUMENT("bandwidth", "GB/s", "memory bandwidth"),
    [ATTENTION_CONSTANT] = OPTIONAL("constant", "us", "constant time of each attention")};

enum {
    MOVED_BYTES,
    MOVED_ROWS,
    MOVED_WIDTH,
    MOVED_REDUCTIONS,
    MOVED_BANDWIDTH,
    MOVED_CONSTANT,
    MOVED_ARGUMENTS
};

static const st_plugin_argument *const moved_list[MOVED_ARGUMENTS] = {
    [MOVED_BYTES] = ARGUMENT("bytes", "B", "bytes that are read and written"),
    [MOVED_ROWS] = ARGUMENT("rows", "", "rows of the largest operand; 0: unknown"),
    [MOVED_WIDTH] = ARGUMENT("width", "", "numbers of a row; 0: unknown"),
    [MOVED_REDUCTIONS] =
        ARGUMENT("reductions", "", "sums over each row: 1 for a norm, 0 element by element"),
    [MOVED_BANDWIDTH] = ARGUMENT("bandwidth", "GB/s", "memory bandwidth that is reached"),
    [MOVED_CONSTANT] = OPTIONAL("constant", "us", "fixed time, which tables contain")};

enum {
    COPIES,
    EXPERT_COUNT,
    HIDDEN,
    FFN,
    MATRICES,
    EXPERTS_WIDTH,
    EXPERTS_WORK,
    EXPERTS_RATE,
    EXPERTS_HALF,
    EXPERTS_BYTES,
    EXPERTS_BANDWIDTH,
    MOVING,
    EXPERTS_ARGUMENTS
};

static const st_plugin_argument *const experts_list[EXPERTS_ARGUMENTS] = {
    [COPIES] = ARGUMENT("copies", "", "copies of tokens on a rank"),
    [EXPERT_COUNT] = ARGUMENT("experts", "", "experts of a rank"),
    [HIDDEN] = ARGUMENT("hidden", "", "width of a token"),
    [FFN] = ARGUMENT("ffn", "", "inner width of an expert on a rank"),
    [MATRICES] = ARGUMENT("matrices", "", "matrices of an expert, 3 with a gate"),
    [EXPERTS_WIDTH] = ARGUMENT("width", "B", "bytes of a number"),
    [EXPERTS_WORK] = ARGUMENT("work", "GFLOP", "arithmetic"),
    [EXPERTS_RATE] = ARGUMENT("rate", "TFLOP/s", "rate at these tokens of an expert"),
    [EXPERTS_HALF] = ARGUMENT("half", "", "tokens of an expert at half of the rate"),
    [EXPERTS_BYTES] = ARGUMENT("bytes", "MB", "memory traffic"),
    [EXPERTS_BANDWIDTH] = ARGUMENT("bandwidth", "GB/s", "memory bandwidth"),
    [MOVING] = ARGUMENT("moving", "us", "permutation and activation, which tables contain")};

/* ---- requests ---- */

/* One row: its shape, and the sheet's own time of it. */
typedef struct shape_request {
    double sizes[ST_TABLE_SIZES];
    st_rates rates;
    double formula_s;
    double around_s;  /* what a table has besides */
    const char *kept; /* why no table can correct it; NULL: one may */
} shape_request;

static double slower(double arithmetic_s, double memory_s)
{
    return arithmetic_s > memory_s ? arithmetic_s : memory_s;
}

static double column_of(const double *const *columns, size_t column, size_t row, double otherwise)
{
    return columns[column] != NULL ? columns[column][row] : otherwise;
}

static void read_experts(const double *const *columns, size_t row, shape_request *request)
{
    double copies = columns[COPIES][row];
    double each = copies / columns[EXPERT_COUNT][row];
    double *sizes = request->sizes;
    sizes[ST_TOKENS] = copies;
    sizes[ST_TOP_K] = 1;
    sizes[ST_EXPERT_COUNT] = columns[EXPERT_COUNT][row];
    sizes[ST_HIDDEN] = columns[HIDDEN][row];
    sizes[ST_FFN] = columns[FFN][row];
    request->rates = (st_rates){.bandwidth = columns[EXPERTS_BANDWIDTH][row],
                                .width = columns[EXPERTS_WIDTH][row],
                                .half = columns[EXPERTS_HALF][row],
                                .moving = 1};
    request->rates.rate =
        columns[EXPERTS_RATE][row] * (1.0 + request->rates.half / (each > 1 ? each : 1));
    request->around_s = columns[MOVING][row];
    request->rates.moving =
        request->around_s / st_shapes_around(ST_EXPERTS, sizes, &request->rates);
    request->formula_s = slower(columns[EXPERTS_WORK][row] / columns[EXPERTS_RATE][row],
                                columns[EXPERTS_BYTES][row] / request->rates.bandwidth);
    if (!(copies > 0 && sizes[ST_EXPERT_COUNT] > 0))
        request->kept = "this sheet has none";
    else if (fabs(columns[MATRICES][row] - 3.0) > 0.5)
        request->kept = "tables have experts with a gate, these experts have none";
}

static void read_request(const operator_times *times, st_operator of, const double *const *columns,
                         size_t row, shape_request *request)
{
    memset(request, 0, sizeof *request);
    if (of == ST_PRODUCT) {
        request->sizes[ST_M] = columns[M][row];
        request->sizes[ST_N] = columns[N][row];
        request->sizes[ST_K] = columns[K][row];
        request->rates =
            (st_rates){.rate = columns[RATE][row],
                       .bandwidth = column_of(columns, BANDWIDTH, row, 0),
                       .width = column_of(columns, WIDTH, row, times->widths[ST_PRODUCT]),
                       .constant_s = column_of(columns, CONSTANT, row, 0),
                       .result = column_of(columns, RESULT, row, 0)};
        request->formula_s = st_shapes_formula(ST_PRODUCT, request->sizes, &request->rates);
        if (!(request->sizes[ST_M] > 0 && request->sizes[ST_N] > 0 && request->sizes[ST_K] > 0))
            request->kept = "this sheet has none";
    } else if (of == ST_ATTENTION) {
        double *sizes = request->sizes;
        for (size_t i = BATCH; i <= HEAD_DIM; i++) /* in the order of a table's columns */
            sizes[i] = columns[i][row];
        request->rates = (st_rates){.rate = columns[ATTENTION_RATE][row],
                                    .bandwidth = columns[ATTENTION_BANDWIDTH][row],
                                    .width = columns[ATTENTION_WIDTH][row],
                                    .half = columns[ATTENTION_HALF][row],
                                    .constant_s = column_of(columns, ATTENTION_CONSTANT, row, 0)};
        double work = columns[ATTENTION_WORK][row];
        double causal = 2.0 * sizes[ST_BATCH] * sizes[ST_HEADS] * sizes[ST_HEAD_DIM] *
                        sizes[ST_SEQUENCE] * sizes[ST_SEQUENCE];
        request->formula_s =
            request->rates.constant_s +
            slower(work * (1.0 + request->rates.half / sizes[ST_SEQUENCE]) / request->rates.rate,
                   columns[ATTENTION_BYTES][row] / request->rates.bandwidth);
        if (!(causal > 0))
            request->kept = "this sheet has none";
        else if (!(fabs(work / causal - 1.0) < 0.01))
            request->kept = "tables have causal attention to all tokens, this attention differs";
    } else if (of == ST_MOVED) {
        for (size_t i = MOVED_BYTES; i <= MOVED_REDUCTIONS;
             i++) /* in the order of a table's columns */
            request->sizes[i] = columns[i][row];
        request->rates = (st_rates){.bandwidth = columns[MOVED_BANDWIDTH][row],
                                    .width = times->widths[ST_MOVED],
                                    .constant_s = column_of(columns, MOVED_CONSTANT, row, 0)};
        request->formula_s = st_shapes_formula(ST_MOVED, request->sizes, &request->rates);
        if (!(request->sizes[ST_BYTES] > 0))
            request->kept = "nothing is moved";
    } else {
        read_experts(columns, row, request);
    }
    if (times->shapes[of].table.count == 0)
        request->kept = "no times are given";
    else if (request->kept == NULL &&
             !(fabs(request->rates.width - times->widths[of]) <= 0.1 * times->widths[of]))
        request->kept = "the table's numbers have another width";
}

/* ---- answers ---- */

/* NULL, or why the row is refused, in `reason`. */
static const char *answer_request(const operator_times *times, st_operator of,
                                  const shape_request *request, double *value_s,
                                  st_neighbours *neighbours, char *reason)
{
    neighbours->count = 0;
    *value_s = request->formula_s;
    if (!(request->formula_s >= 0 && isfinite(request->formula_s)))
        return "the formula's own time is not finite";
    if (request->kept != NULL)
        return NULL;
    const char *outside = st_shapes_outside(&times->shapes[of], request->sizes, reason);
    if (outside != NULL)
        return outside;
    double ratio = st_shapes_ratio(&times->shapes[of], request->sizes, &request->rates,
                                   times->reach, neighbours);
    *value_s = (request->formula_s + request->around_s) * ratio - request->around_s;
    if (times->trees[of] != NULL)
        *value_s = neighbours->share * st_shape_trees_time(times->trees[of], request->sizes) +
                   (1.0 - neighbours->share) * request->formula_s;
    if (*value_s > 0 && isfinite(*value_s))
        return NULL;
    if (times->trees[of] == NULL)
        return "the nearest measured shapes take less time than the sheet has for permutation "
               "alone";
    (void)snprintf(reason, ST_TABLE_REASON, "XGBoost fails: %.160s",
                   st_shape_trees_error(times->trees[of]));
    return reason;
}

static int evaluate(void *instance, st_operator of, size_t rows, const double *const *columns,
                    double *values)
{
    char reason[ST_TABLE_REASON];
    for (size_t i = 0; i < rows; i++) {
        shape_request request;
        st_neighbours neighbours;
        read_request(instance, of, columns, i, &request);
        if (answer_request(instance, of, &request, &values[i], &neighbours, reason) != NULL)
            values[i] = (double)NAN;
    }
    return ST_PLUGIN_OK;
}

/* ---- explanations ---- */

static int explain(void *instance, st_operator of, const double *const *columns,
                   const st_plugin_sink *sink)
{
    const operator_times *times = instance;
    char reason[ST_TABLE_REASON];
    char text[ST_TABLE_REASON];
    double value_s = 0;
    shape_request request;
    st_neighbours neighbours;
    read_request(times, of, columns, 0, &request);
    const char *refusal = answer_request(times, of, &request, &value_s, &neighbours, reason);
    if (refusal != NULL)
        return st_plugin_fail(times->host, refusal);
    st_plugin_tell_part(sink, "formula", "us", request.formula_s,
                        "the slower of arithmetic and memory");
    if (request.kept != NULL) {
        (void)snprintf(text, sizeof text, "formula: %s", request.kept);
    } else {
        bool trees = times->trees[of] != NULL;
        st_plugin_tell_part(sink, trees ? "trees" : "neighbours", "us", value_s - request.formula_s,
                            trees ? "correction of the formula by trees over all measured shapes"
                                  : "correction of the formula at the nearest measured shapes");
        for (size_t i = 0; i < neighbours.count; i++) {
            const st_measured *row = neighbours.rows[i];
            char name[40];
            char shape[ST_SHAPES_TEXT];
            char neighbour_text[ST_SHAPES_TEXT + 80];
            (void)snprintf(name, sizeof name, "line %zu", row->line);
            (void)snprintf(neighbour_text, sizeof neighbour_text,
                           "%s: %.4g us, %.3f of the formula, %.2f away",
                           st_shapes_text(of, row->sizes, shape), 1e6 * row->time_s,
                           neighbours.ratios[i], neighbours.distances[i]);
            st_plugin_tell_text(sink, name, neighbour_text, "of the table");
        }
        (void)snprintf(text, sizeof text,
                       "corrected, nearest measured shape %.2f away (logarithms)",
                       neighbours.distances[0]);
    }
    st_plugin_tell_text(sink, "origin", text, "of the time of this shape");
    return ST_PLUGIN_OK;
}

/* ---- providers ---- */

#define SOURCE "steptime docs/operators.md"

CALLS(product, ST_PRODUCT, evaluate, explain)
CALLS(attention, ST_ATTENTION, evaluate, explain)
CALLS(moved, ST_MOVED, evaluate, explain)
CALLS(experts, ST_EXPERTS, evaluate, explain)

const st_plugin_provider *const st_operator_providers[ST_OPERATORS] = {
    [ST_PRODUCT] = PROVIDER(0, "gemm", "us", product, product_list,
                            "matrix product, from measured neighbours", SOURCE),
    [ST_ATTENTION] = PROVIDER(0, "fused_attention", "us", attention, attention_list,
                              "fused causal attention, from measured neighbours", SOURCE),
    [ST_MOVED] = PROVIDER(0, "moving", "us", moved, moved_list,
                          "memory-bound kernels, from measured neighbours", SOURCE),
    [ST_EXPERTS] = PROVIDER(0, "grouped_experts", "us", experts, experts_list,
                            "products of routed experts, from measured neighbours", SOURCE)};
