/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments and formulas of the cells; see cells.h. */
#include "cells.h"

#include "describe.h"

#include <math.h>
#include <string.h>

#define COLUMN(id, of, in, words)                                                                  \
    static const st_plugin_argument id = {.struct_size = sizeof(st_plugin_argument),               \
                                          .flags = ST_PLUGIN_OPTIONAL,                             \
                                          .name = of,                                              \
                                          .unit = in,                                              \
                                          .doc = words}

COLUMN(peak, "cluster.gpu.peak_fp16", "TFLOP/s", "peak rate; identifies the GPU");
COLUMN(bandwidth, "cluster.gpu.memory_bandwidth", "GB/s", "memory bandwidth; identifies the GPU");
COLUMN(tokens, "n", "", "tokens of a micro-batch on one rank");
COLUMN(sequence, "s", "", "sequence length");
COLUMN(hidden, "h", "", "hidden size");
COLUMN(inner, "f", "", "inner width of the MLP");
COLUMN(heads, "a", "", "attention heads");
COLUMN(kv_heads, "kv", "", "key and value heads");
COLUMN(tensor, "t", "", "tensor-parallel size");
COLUMN(up, "up", "", "matrices into the MLP's inner width");
COLUMN(context, "cp", "", "context-parallel size");
COLUMN(passes, "passes", "", "forward passes of a micro-batch");
COLUMN(split, "norm_split", "", "ranks over which norms are split");
COLUMN(width, "w", "B", "bytes of a weight");

COLUMN(gpu_time, "t_gpu[dense]", "us", "dense layer on the GPU, all passes");
COLUMN(launch_time, "t_launch[dense]", "us", "host time of a dense layer, all passes");
COLUMN(launch_power, "launch_power", "", "sharpness of the corner between both");
COLUMN(products, "t_gemm[dense]", "us", "GEMMs, forward");
COLUMN(core_forward, "t_core_forward", "us", "attention between the projections, forward");
COLUMN(core_backward, "t_core_backward", "us", "attention between the projections, backward");
COLUMN(elementwise, "t_elementwise[dense]", "us", "element-wise kernels, forward");
COLUMN(cast, "t_cast[dense]", "us", "quantisation, in each pass");
COLUMN(adapters, "t_adapters[dense]", "us", "adapters, forward");
COLUMN(backward_products, "gemm_backward", "", "products of a GEMM's backward pass");
COLUMN(accumulate, "t_accumulate[dense]", "us", "gradient accumulation");
COLUMN(backward, "t_backward[dense]", "us", "dense layer, backward");
COLUMN(products_moe, "t_gemm[moe]", "us", "GEMMs of a MoE layer, forward");
COLUMN(elementwise_moe, "t_elementwise[moe]", "us", "its element-wise kernels, forward");
COLUMN(cast_moe, "t_cast[moe]", "us", "its quantisation, in each pass");
COLUMN(adapters_moe, "t_adapters[moe]", "us", "its adapters, forward");
COLUMN(accumulate_moe, "t_accumulate[moe]", "us", "its gradient accumulation");
COLUMN(expert_count, "E", "", "routed experts");
COLUMN(top, "K", "", "experts that a token goes to");
COLUMN(expert_inner, "fe", "", "inner width of a routed expert");
COLUMN(shared_inner, "fs", "", "inner width of the shared experts");
COLUMN(expert_size, "ep", "", "expert-parallel size");
COLUMN(expert_tensor, "etp", "", "tensor-parallel size inside an expert");
COLUMN(vocabulary, "V", "", "vocabulary after padding");
COLUMN(rate, "rate_16", "TFLOP/s", "rate of large products");
COLUMN(memory, "bw_gemm", "GB/s", "memory bandwidth of GEMMs");
COLUMN(parameters, "P_stage", "", "parameters of a rank");
COLUMN(ranks, "state_ranks", "", "ranks that shard optimizer state");
COLUMN(experts, "P_stage_experts", "", "routed-expert parameters of a rank");
COLUMN(expert_ranks, "state_expert_ranks", "", "ranks among which their state is split");
COLUMN(traffic, "e_optimizer", "B", "memory traffic of the step per parameter");
COLUMN(stream, "bw_stream", "GB/s", "memory bandwidth of long streams");
COLUMN(trained, "trained", "", "share of the weights that are trained");

/* In the order of st_times_feature from the third on. */
#define COMMON                                                                                     \
    &peak, &bandwidth, &tokens, &sequence, &hidden, &inner, &heads, &kv_heads, &tensor, &up,       \
        &context, &passes, &split, &width

static const st_plugin_argument *const layer_arguments[] = {COMMON, &gpu_time, &launch_time,
                                                            &launch_power};
static const st_plugin_argument *const forward_arguments[] = {
    COMMON, &products, &core_forward, &elementwise, &cast, &adapters};
static const st_plugin_argument *const backward_arguments[] = {
    COMMON, &products, &core_backward, &elementwise,
    &cast,  &adapters, &accumulate,    &backward_products};
static const st_plugin_argument *const wgrad_arguments[] = {COMMON, &products, &backward,
                                                            &backward_products};
static const st_plugin_argument *const logits_arguments[] = {COMMON, &vocabulary, &rate, &memory};
static const st_plugin_argument *const optimizer_arguments[] = {
    COMMON, &parameters, &ranks, &experts, &expert_ranks, &traffic, &stream, &trained};

/* In the order of st_times_feature behind the closed form. */
#define MOE &expert_count, &top, &expert_inner, &shared_inner, &expert_size, &expert_tensor

static const st_plugin_argument *const forward_moe_arguments[] = {
    COMMON, MOE, &products_moe, &core_forward, &elementwise_moe, &cast_moe, &adapters_moe};
static const st_plugin_argument *const backward_moe_arguments[] = {
    COMMON,    MOE,           &products_moe,   &core_backward,    &elementwise_moe,
    &cast_moe, &adapters_moe, &accumulate_moe, &backward_products};

/* ---- formulas, as the sheet has them ---- */

/* Two times with a rounded corner; of a sharpness that is none the later one. */
static void close_layer(const double *given, cell_row *row)
{
    double later = fmax(given[0], given[1]);
    double share = fmin(given[0], given[1]) / later;
    row->shape.features[ST_TIMES_CLOSED] = later * pow(1 + pow(share, given[2]), 1 / given[2]);
}

/* given: products, attention, element-wise kernels, casts, adapters */
static void close_forward(const double *given, cell_row *row)
{
    row->shape.features[ST_TIMES_CLOSED] = given[0] + given[1] + given[2] + given[3] + given[4];
    row->rest = given[1] + given[3] + given[4];
}

/* given: those, accumulation, products backward of one forward */
static void close_backward(const double *given, cell_row *row)
{
    row->shape.features[ST_TIMES_CLOSED] =
        given[6] * given[0] + given[1] + 2 * given[2] + given[3] + 2 * given[4] + given[5];
    row->rest = given[1] + given[3] + 2 * given[4] + given[5];
}

static const double *read_experts(const double *given, cell_row *row)
{
    for (size_t i = ST_TIMES_EXPERTS; i <= ST_TIMES_EXPERT_TENSOR; i++)
        row->shape.features[i] = *given++;
    return given;
}

static void close_forward_moe(const double *given, cell_row *row)
{
    close_forward(read_experts(given, row), row);
}

static void close_backward_moe(const double *given, cell_row *row)
{
    close_backward(read_experts(given, row), row);
}

static void close_wgrad(const double *given, cell_row *row)
{
    /* Frozen weights, whose products have one backward, have no gradients. */
    row->shape.features[ST_TIMES_CLOSED] = given[2] > 1 ? fmin(given[0], given[1] / 2) : 0;
}

static void close_logits(const double *given, cell_row *row)
{
    const double *x = row->shape.features;
    double outputs = given[0] / x[ST_TIMES_TENSOR];
    double flop = 2 * x[ST_TIMES_TOKENS] * outputs * x[ST_TIMES_HIDDEN];
    double bytes =
        x[ST_TIMES_WIDTH] * (x[ST_TIMES_TOKENS] * x[ST_TIMES_HIDDEN] +
                             x[ST_TIMES_HIDDEN] * outputs + x[ST_TIMES_TOKENS] * outputs);
    row->shape.features[ST_TIMES_VOCABULARY] = given[0];
    row->shape.features[ST_TIMES_CLOSED] = 3 * fmax(flop / given[1], bytes / given[2]);
}

static void close_optimizer(const double *given, cell_row *row)
{
    row->shape.features[ST_TIMES_PARAMETERS] = given[0] / given[1] + given[2] / given[3];
    row->shape.features[ST_TIMES_CLOSED] =
        given[6] * given[4] * row->shape.features[ST_TIMES_PARAMETERS] / given[5];
}

#define CELL(which, from, products)                                                                \
    static const st_cell cell_##which = {.name = ST_TIMES_CELL_##which,                            \
                                         .backward_of = from,                                      \
                                         .products_only = products,                                \
                                         .argument_count = sizeof(which##_arguments) /             \
                                                           sizeof *(which##_arguments),            \
                                         .close = close_##which};                                  \
    CALLS(which, &cell_##which, st_cells_evaluate, st_cells_explain)

CELL(layer, NULL, false)
CELL(forward, NULL, false)
CELL(backward, ST_TIMES_CELL_forward, false)
CELL(wgrad, ST_TIMES_CELL_forward, true)
CELL(logits, NULL, false)
CELL(optimizer, NULL, false)
CELL(forward_moe, NULL, false)
CELL(backward_moe, ST_TIMES_CELL_forward_moe, false)

#define CELL_PROVIDER(which, words)                                                                \
    PROVIDER(0, ST_TIMES_CELL_##which, "us", which, which##_arguments, words,                      \
             "steptime docs/kernel-times.md")

const st_plugin_provider *const st_cell_providers[ST_TIMES_CELLS] = {
    CELL_PROVIDER(layer, "dense layer, all passes with communication and launches"),
    CELL_PROVIDER(forward, "dense layer, forward"),
    CELL_PROVIDER(backward, "dense layer, backward"),
    CELL_PROVIDER(wgrad, "weight gradients of a dense layer"),
    CELL_PROVIDER(logits, "output layer, forward and backward"),
    CELL_PROVIDER(optimizer, "optimizer step"),
    CELL_PROVIDER(forward_moe, "MoE layer, forward"),
    CELL_PROVIDER(backward_moe, "MoE layer, backward"),
};

bool st_cell_is_known(const char *name)
{
    int cell = 0;
    while (cell < ST_TIMES_CELLS && strcmp(st_times_cell_names[cell], name) != 0)
        cell++;
    return cell < ST_TIMES_CELLS;
}

static double value_of(const double *const *columns, size_t column, size_t row)
{
    return columns[column] != NULL ? columns[column][row] : (double)NAN;
}

void st_cell_read(const st_cell *cell, const double *const *columns, size_t row, cell_row *result)
{
    double given[ST_CELL_MOST_OWN];
    result->peak = value_of(columns, 0, row);
    result->bandwidth = value_of(columns, 1, row);
    result->rest = 0;
    for (size_t i = 0; i < ST_TIMES_FEATURES; i++)
        result->shape.features[i] =
            i + 2 < ST_CELL_COMMON ? value_of(columns, i + 2, row) : (double)NAN;
    for (size_t i = ST_CELL_COMMON; i < cell->argument_count; i++)
        given[i - ST_CELL_COMMON] = value_of(columns, i, row);
    cell->close(given, result);
}
