/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments and formulas of the cells; see cells.h. */
#include "cells.h"

#include <math.h>
#include <string.h>

#define ARGUMENT(of, text, base, words)                                                            \
    static const st_plugin_argument of = {.struct_size = sizeof(st_plugin_argument),               \
                                          .flags = ST_PLUGIN_OPTIONAL,                             \
                                          .name = text,                                            \
                                          .unit = base,                                            \
                                          .doc = words}

ARGUMENT(peak, "cluster.gpu.peak_fp16", "TFLOP/s", "peak rate, which tells the GPU");
ARGUMENT(bandwidth, "cluster.gpu.memory_bandwidth", "GB/s", "memory bandwidth, which tells it");
ARGUMENT(tokens, "n", "", "tokens of a micro-batch on one rank");
ARGUMENT(sequence, "s", "", "sequence length");
ARGUMENT(hidden, "h", "", "hidden size");
ARGUMENT(inner, "f", "", "inner width of the MLP");
ARGUMENT(heads, "a", "", "attention heads");
ARGUMENT(kv_heads, "kv", "", "key and value heads");
ARGUMENT(tensor, "t", "", "tensor-parallel size");
ARGUMENT(up, "up", "", "matrices into the MLP's inner width");
ARGUMENT(context, "cp", "", "context-parallel size");
ARGUMENT(passes, "passes", "", "forward passes of a micro-batch");
ARGUMENT(split, "norm_split", "", "ranks over which norms are split");
ARGUMENT(width, "w", "B", "bytes of a weight");

ARGUMENT(gpu_time, "t_gpu[dense]", "us", "dense layer on the GPU, all passes");
ARGUMENT(launch_time, "t_launch[dense]", "us", "host time of a dense layer, all passes");
ARGUMENT(launch_power, "launch_power", "", "sharpness of the corner between both");
ARGUMENT(products, "t_gemm[dense]", "us", "GEMMs, forward");
ARGUMENT(core_forward, "t_core_forward", "us", "attention between the projections, forward");
ARGUMENT(core_backward, "t_core_backward", "us", "attention between the projections, backward");
ARGUMENT(elementwise, "t_elementwise[dense]", "us", "element-wise kernels, forward");
ARGUMENT(cast, "t_cast[dense]", "us", "quantisation, in each pass");
ARGUMENT(adapters, "t_adapters[dense]", "us", "adapters, forward");
ARGUMENT(backward_products, "gemm_backward", "", "products of a GEMM's backward pass");
ARGUMENT(accumulate, "t_accumulate[dense]", "us", "gradient accumulation");
ARGUMENT(backward, "t_backward[dense]", "us", "dense layer, backward");
ARGUMENT(products_moe, "t_gemm[moe]", "us", "GEMMs of a MoE layer, forward");
ARGUMENT(elementwise_moe, "t_elementwise[moe]", "us", "its element-wise kernels, forward");
ARGUMENT(cast_moe, "t_cast[moe]", "us", "its quantisation, in each pass");
ARGUMENT(adapters_moe, "t_adapters[moe]", "us", "its adapters, forward");
ARGUMENT(accumulate_moe, "t_accumulate[moe]", "us", "its gradient accumulation");
ARGUMENT(expert_count, "E", "", "routed experts");
ARGUMENT(top, "K", "", "experts that a token goes to");
ARGUMENT(expert_inner, "fe", "", "inner width of a routed expert");
ARGUMENT(shared_inner, "fs", "", "inner width of the shared experts");
ARGUMENT(expert_size, "ep", "", "expert-parallel size");
ARGUMENT(expert_tensor, "etp", "", "tensor-parallel size inside an expert");
ARGUMENT(vocabulary, "V", "", "vocabulary after padding");
ARGUMENT(rate, "rate_16", "TFLOP/s", "rate of large products");
ARGUMENT(memory, "bw_gemm", "GB/s", "memory bandwidth of GEMMs");
ARGUMENT(parameters, "P_stage", "", "parameters of a rank");
ARGUMENT(ranks, "state_ranks", "", "ranks among which optimizer state is split");
ARGUMENT(experts, "P_stage_experts", "", "routed-expert parameters of a rank");
ARGUMENT(expert_ranks, "state_expert_ranks", "", "ranks among which their state is split");
ARGUMENT(traffic, "e_optimizer", "B", "memory traffic of the step per parameter");
ARGUMENT(stream, "bw_stream", "GB/s", "memory bandwidth of long streams");
ARGUMENT(trained, "trained", "", "share of the weights that are trained");

/* In the order of st_times_feature from the third on. */
#define COMMON                                                                                     \
    &peak, &bandwidth, &tokens, &sequence, &hidden, &inner, &heads, &kv_heads, &tensor, &up,       \
        &context, &passes, &split, &width

const st_plugin_argument *const st_cell_layer_arguments[] = {COMMON, &gpu_time, &launch_time,
                                                             &launch_power};
const st_plugin_argument *const st_cell_forward_arguments[] = {
    COMMON, &products, &core_forward, &elementwise, &cast, &adapters};
const st_plugin_argument *const st_cell_backward_arguments[] = {
    COMMON, &products, &core_backward, &elementwise,
    &cast,  &adapters, &accumulate,    &backward_products};
const st_plugin_argument *const st_cell_wgrad_arguments[] = {COMMON, &products, &backward,
                                                             &backward_products};
const st_plugin_argument *const st_cell_logits_arguments[] = {COMMON, &vocabulary, &rate, &memory};
const st_plugin_argument *const st_cell_optimizer_arguments[] = {
    COMMON, &parameters, &ranks, &experts, &expert_ranks, &traffic, &stream, &trained};

/* In the order of st_times_feature behind the closed form. */
#define MOE &expert_count, &top, &expert_inner, &shared_inner, &expert_size, &expert_tensor

const st_plugin_argument *const st_cell_forward_moe_arguments[] = {
    COMMON, MOE, &products_moe, &core_forward, &elementwise_moe, &cast_moe, &adapters_moe};
const st_plugin_argument *const st_cell_backward_moe_arguments[] = {
    COMMON,    MOE,           &products_moe,   &core_backward,    &elementwise_moe,
    &cast_moe, &adapters_moe, &accumulate_moe, &backward_products};

/* ---- formulas, as the sheet has them ---- */

/* Two times with a rounded corner; of a sharpness that is none the later one. */
static void close_layer(const double *own, cell_row *row)
{
    double later = fmax(own[0], own[1]);
    double share = fmin(own[0], own[1]) / later;
    row->shape.features[ST_TIMES_CLOSED] = later * pow(1 + pow(share, own[2]), 1 / own[2]);
}

/* own: products, attention, element-wise kernels, casts, adapters */
static void close_forward(const double *own, cell_row *row)
{
    row->shape.features[ST_TIMES_CLOSED] = own[0] + own[1] + own[2] + own[3] + own[4];
    row->rest = own[1] + own[3] + own[4];
}

/* own: those, accumulation, products backward of one forward */
static void close_backward(const double *own, cell_row *row)
{
    row->shape.features[ST_TIMES_CLOSED] =
        own[6] * own[0] + own[1] + 2 * own[2] + own[3] + 2 * own[4] + own[5];
    row->rest = own[1] + own[3] + 2 * own[4] + own[5];
}

static const double *read_experts(const double *own, cell_row *row)
{
    for (size_t i = ST_TIMES_EXPERTS; i <= ST_TIMES_EXPERT_TENSOR; i++) {
        row->shape.features[i] = *own++;
    }
    return own;
}

static void close_forward_moe(const double *own, cell_row *row)
{
    close_forward(read_experts(own, row), row);
}

static void close_backward_moe(const double *own, cell_row *row)
{
    close_backward(read_experts(own, row), row);
}

static void close_wgrad(const double *own, cell_row *row)
{
    /* Frozen weights, whose products have one backward, have no gradients. */
    row->shape.features[ST_TIMES_CLOSED] = own[2] > 1 ? fmin(own[0], own[1] / 2) : 0;
}

static void close_logits(const double *own, cell_row *row)
{
    const double *x = row->shape.features;
    double outputs = own[0] / x[ST_TIMES_TENSOR];
    double flop = 2 * x[ST_TIMES_TOKENS] * outputs * x[ST_TIMES_HIDDEN];
    double bytes =
        x[ST_TIMES_WIDTH] * (x[ST_TIMES_TOKENS] * x[ST_TIMES_HIDDEN] +
                             x[ST_TIMES_HIDDEN] * outputs + x[ST_TIMES_TOKENS] * outputs);
    row->shape.features[ST_TIMES_VOCABULARY] = own[0];
    row->shape.features[ST_TIMES_CLOSED] = 3 * fmax(flop / own[1], bytes / own[2]);
}

static void close_optimizer(const double *own, cell_row *row)
{
    row->shape.features[ST_TIMES_PARAMETERS] = own[0] / own[1] + own[2] / own[3];
    row->shape.features[ST_TIMES_CLOSED] =
        own[6] * own[4] * row->shape.features[ST_TIMES_PARAMETERS] / own[5];
}

#define CELL(which, from, products)                                                                \
    const st_cell st_cell_##which = {.name = ST_TIMES_CELL_##which,                                \
                                     .backward_of = (from),                                        \
                                     .products_only = (products),                                  \
                                     .argument_count = ST_CELL_COUNT_##which,                      \
                                     .close = close_##which}

CELL(layer, NULL, false);
CELL(forward, NULL, false);
CELL(backward, ST_TIMES_CELL_forward, false);
CELL(wgrad, ST_TIMES_CELL_forward, true);
CELL(logits, NULL, false);
CELL(optimizer, NULL, false);
CELL(forward_moe, NULL, false);
CELL(backward_moe, ST_TIMES_CELL_forward_moe, false);

bool st_cell_is_known(const char *name)
{
    int cell = 0;
    while (cell < ST_TIMES_CELLS && strcmp(st_times_cell_names[cell], name) != 0) {
        cell++;
    }
    return cell < ST_TIMES_CELLS;
}

static double value_of(const double *const *columns, size_t column, size_t row)
{
    return columns[column] != NULL ? columns[column][row] : (double)NAN;
}

void st_cell_read(const st_cell *cell, const double *const *columns, size_t row, cell_row *result)
{
    double own[ST_CELL_COUNT_backward_moe - ST_CELL_COMMON]; /* the most of all */
    result->peak = value_of(columns, 0, row);
    result->bandwidth = value_of(columns, 1, row);
    result->rest = 0;
    for (size_t i = 0; i < ST_TIMES_FEATURES; i++) {
        result->shape.features[i] =
            i + 2 < ST_CELL_COMMON ? value_of(columns, i + 2, row) : (double)NAN;
    }
    for (size_t i = ST_CELL_COMMON; i < cell->argument_count; i++) {
        own[i - ST_CELL_COMMON] = value_of(columns, i, row);
    }
    cell->close(own, result);
}
