/* SPDX-License-Identifier: Apache-2.0 */
/* Times of layers: what is asked of a profile that was read; see times.h. */
#include "kernel-times/model/times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const st_times_cell_names[ST_TIMES_CELLS] = {
    ST_TIMES_CELL_layer,       ST_TIMES_CELL_forward,     ST_TIMES_CELL_backward,
    ST_TIMES_CELL_wgrad,       ST_TIMES_CELL_logits,      ST_TIMES_CELL_optimizer,
    ST_TIMES_CELL_forward_moe, ST_TIMES_CELL_backward_moe};

const char *const st_times_feature_names[ST_TIMES_FEATURES] = {
    "n", "s", "h", "f",      "a", "kv", "t",  "up", "cp", "passes", "norm_split",
    "w", "V", "P", "closed", "E", "K",  "fe", "fs", "ep", "etp"};

const char *const st_times_piece_names[ST_TIMES_PIECES] = {
    "whole",      "layer",  "logits", "optimizer",  "norm_1",   "qkv", "rope",
    "projection", "norm_2", "mlp_up", "activation", "mlp_down", "add", "moe_layer"};

const char *const st_times_form_names[ST_TIMES_FORMS] = {"roofline", "trees", "trees-on-roofline",
                                                         "trees-inside"};

#define UNKNOWN ((double)NAN) /* the macro is a float */

void st_times_free(st_times *times)
{
    for (size_t i = 0; i < ST_TIMES_PIECES; i++) {
        free(times->models[i].starts);
        free(times->models[i].nodes);
    }
    free(times->rows);
    memset(times, 0, sizeof *times);
}

/* ---- work ---- */

static double known(double value, double otherwise)
{
    return isnan(value) ? otherwise : value;
}

static void product(double m, double n, double k, double width, double *flop, double *bytes)
{
    *flop = 2 * m * n * k;
    *bytes = width * (m * k + k * n + m * n);
}

/* Of a piece that is all a cell is about. */
static void work_of_all(st_times_piece piece, const double *x, double *flop, double *bytes)
{
    double width = known(x[ST_TIMES_WIDTH], 2);
    if (piece == ST_TIMES_WHOLE) {
        *flop = x[ST_TIMES_CLOSED];
    } else if (piece == ST_TIMES_LAYER) {
        /* Products and attention of a layer, forward, and the traffic of its element-wise kernels.
         */
        double tokens = x[ST_TIMES_TOKENS];
        double hidden = x[ST_TIMES_HIDDEN];
        double inner = known(x[ST_TIMES_INNER], 4 * hidden);
        double up = known(x[ST_TIMES_UP], 1);
        double tensor = known(x[ST_TIMES_TENSOR], 1);
        double heads = known(x[ST_TIMES_HEADS], 1);
        double keys = known(x[ST_TIMES_KV_HEADS], heads) / heads;
        double weights = hidden * (hidden * (2 + 2 * keys) + (up + 1) * inner);
        double work_width = known(x[ST_TIMES_WIDTH], 2);
        *flop = 2 * tokens * (weights + 2 * known(x[ST_TIMES_SEQUENCE], 0) * hidden) / tensor;
        *bytes = work_width * (weights / tensor + tokens * (10 * hidden + 4 * hidden / tensor +
                                                            (up + 1) * inner / tensor));
    } else if (piece == ST_TIMES_MOE) {
        /* The same of a MoE layer with even routing: attention, router, shared and routed experts.
         */
        double tokens = x[ST_TIMES_TOKENS];
        double hidden = x[ST_TIMES_HIDDEN];
        double up = known(x[ST_TIMES_UP], 1);
        double tensor = known(x[ST_TIMES_TENSOR], 1);
        double heads = known(x[ST_TIMES_HEADS], 1);
        double keys = known(x[ST_TIMES_KV_HEADS], heads) / heads;
        double experts = x[ST_TIMES_EXPERTS];
        double shards = known(x[ST_TIMES_EXPERT_TENSOR], tensor);
        double inner = (up + 1) * x[ST_TIMES_EXPERT_INNER] / shards;
        double copies = tokens / tensor * x[ST_TIMES_TOP] * shards;
        double shared = (up + 1) * hidden * known(x[ST_TIMES_SHARED_INNER], 0);
        double attention = hidden * hidden * (2 + 2 * keys);
        double work_width = known(x[ST_TIMES_WIDTH], 2);
        *flop = 2 * tokens / tensor *
                    (attention + shared + experts * hidden +
                     2 * known(x[ST_TIMES_SEQUENCE], 0) * hidden) +
                2 * copies * hidden * inner;
        *bytes = work_width * ((attention + shared) / tensor +
                               experts / known(x[ST_TIMES_EXPERT_RANKS], 1) * hidden * inner +
                               tokens * (10 + 4 / tensor) * hidden + copies * (2 * hidden + inner));
    } else if (piece == ST_TIMES_LOGITS) {
        product(x[ST_TIMES_TOKENS], x[ST_TIMES_VOCABULARY] / x[ST_TIMES_TENSOR], x[ST_TIMES_HIDDEN],
                width, flop, bytes);
    } else if (piece == ST_TIMES_OPTIMIZER) {
        *bytes = width * x[ST_TIMES_PARAMETERS];
    }
}

bool st_times_dimensions(st_times_piece piece, const st_times_shape *shape, double dimensions[3])
{
    const double *x = shape->features;
    double hidden = x[ST_TIMES_HIDDEN];
    double inner = x[ST_TIMES_INNER] / x[ST_TIMES_TENSOR];
    double head = hidden / x[ST_TIMES_HEADS] / x[ST_TIMES_TENSOR]; /* its share of a rank */
    double queries = x[ST_TIMES_HEADS] * head;
    double keys = x[ST_TIMES_KV_HEADS] * head;
    double split = known(x[ST_TIMES_SPLIT], 1);
    const struct {
        double rows;
        double columns;
        double inner;
    } all[ST_TIMES_PIECES] = {
        [ST_TIMES_NORM_1] = {1 / split, hidden, 0},
        [ST_TIMES_NORM_2] = {1 / split, hidden, 0},
        [ST_TIMES_QKV] = {1, queries + 2 * keys, hidden},
        [ST_TIMES_ROPE] = {1, queries + keys, 0},
        [ST_TIMES_PROJECTION] = {1, hidden, queries},
        [ST_TIMES_MLP_UP] = {1, x[ST_TIMES_UP] * inner, hidden},
        [ST_TIMES_ACTIVATION] = {1, inner, 0},
        [ST_TIMES_MLP_DOWN] = {1, hidden, inner},
        [ST_TIMES_ADD] = {1 / split, hidden, 0},
    };
    dimensions[0] = x[ST_TIMES_TOKENS] * all[piece].rows;
    dimensions[1] = all[piece].columns;
    dimensions[2] = all[piece].inner;
    return all[piece].rows > 0;
}

void st_times_work(st_times_piece piece, const st_times_shape *shape, double *flop, double *bytes)
{
    const double *x = shape->features;
    double width = known(x[ST_TIMES_WIDTH], 2);
    double d[3];
    *flop = 0;
    *bytes = 0;
    if (!st_times_dimensions(piece, shape, d)) {
        work_of_all(piece, x, flop, bytes);
        return;
    }
    switch (piece) {
    case ST_TIMES_ACTIVATION:
        *bytes = (x[ST_TIMES_UP] + 1) * width * d[0] * d[1];
        break;
    case ST_TIMES_ADD:
        *bytes = 3 * width * d[0] * d[1];
        break;
    case ST_TIMES_NORM_1:
    case ST_TIMES_NORM_2:
    case ST_TIMES_ROPE:
        *bytes = 2 * width * d[0] * d[1];
        break;
    default:
        product(d[0], d[1], d[2], width, flop, bytes);
        break;
    }
}

double st_times_roofline_time(const st_times_roofline *line, double flop, double bytes)
{
    double compute = line->per_flop * flop;
    double memory = line->per_byte * bytes;
    double larger = fmax(compute, memory);
    double share = larger > 0 ? fmin(compute, memory) / larger : 0;
    return line->floor + larger * sqrt(sqrt(1 + share * share * share * share));
}

static float logarithm(double value)
{
    return value > 0 ? (float)log(value) : ST_TIMES_NO_INPUT;
}

void st_times_inputs(const st_times *times, size_t piece, const st_times_shape *shape,
                     float inputs[ST_TIMES_INPUTS])
{
    const st_times_roofline *line = &times->models[piece].roofline;
    double dimensions[3];
    double flop = 0;
    double bytes = 0;
    st_times_work(times->pieces[piece], shape, &flop, &bytes);
    for (size_t i = 0; i < ST_TIMES_INPUTS; i++)
        inputs[i] = logarithm(0);
    for (size_t i = 0; i < times->shape_count; i++) {
        size_t place = times->shape[i] <= ST_TIMES_CLOSED ? times->shape[i] : times->shape[i] + 3;
        inputs[place] = logarithm(shape->features[times->shape[i]]);
    }
    inputs[ST_TIMES_INPUT_FLOP] = logarithm(flop);
    inputs[ST_TIMES_INPUT_BYTES] = logarithm(bytes);
    inputs[ST_TIMES_INPUT_LINE] = logarithm(st_times_roofline_time(line, flop, bytes));
    if (st_times_dimensions(times->pieces[piece], shape, dimensions))
        for (size_t i = 0; i < 3; i++)
            inputs[ST_TIMES_INPUT_ROWS + i] = logarithm(dimensions[i]);
}

bool st_times_is_all(st_times_piece piece)
{
    return piece <= ST_TIMES_OPTIMIZER || piece == ST_TIMES_MOE;
}

bool st_times_is_whole(const st_times *times)
{
    return st_times_is_all(times->pieces[0]);
}

bool st_times_is_product(st_times_piece piece)
{
    return piece == ST_TIMES_QKV || piece == ST_TIMES_PROJECTION || piece == ST_TIMES_MLP_UP ||
           piece == ST_TIMES_MLP_DOWN;
}

double st_times_repeats(st_times_piece piece)
{
    return piece == ST_TIMES_ADD ? 2 : 1; /* behind attention and behind the MLP */
}

static size_t stride_of(const st_times *times)
{
    return times->shape_count + times->piece_count;
}

void st_times_shape_of(const st_times *times, const double *row, st_times_shape *shape)
{
    for (size_t i = 0; i < ST_TIMES_FEATURES; i++)
        shape->features[i] = UNKNOWN;
    for (size_t i = 0; i < times->shape_count; i++)
        shape->features[times->shape[i]] = row[i];
}

/* ---- predictions ---- */

void st_times_note_ranges(st_times *times)
{
    for (size_t i = 0; i < times->row_count; i++) {
        const double *row = times->rows + i * stride_of(times);
        st_times_shape shape;
        double own[3];
        for (size_t k = 0; k < times->shape_count; k++) {
            times->least[k] = i == 0 ? row[k] : fmin(times->least[k], row[k]);
            times->most[k] = i == 0 ? row[k] : fmax(times->most[k], row[k]);
        }
        st_times_shape_of(times, row, &shape);
        for (size_t piece = 0; piece < times->piece_count; piece++) {
            (void)st_times_dimensions(times->pieces[piece], &shape, own);
            for (size_t k = 0; k < 3; k++) {
                double *least = &times->least_own[piece][k];
                double *most = &times->most_own[piece][k];
                *least = i == 0 ? own[k] : fmin(*least, own[k]);
                *most = i == 0 ? own[k] : fmax(*most, own[k]);
            }
        }
    }
}

static bool is_inside(double value, double least, double most)
{
    return !(value < least * (1 - 1e-9) || value > most * (1 + 1e-9));
}

/* Whether the piece's own dimensions, or for want of them the shape, are within those measured. */
static bool is_within(const st_times *times, size_t piece, const st_times_shape *shape)
{
    double own[3];
    bool inside = true;
    if (st_times_dimensions(times->pieces[piece], shape, own)) {
        for (size_t k = 0; k < 3; k++)
            inside =
                inside && is_inside(own[k], times->least_own[piece][k], times->most_own[piece][k]);
        return inside;
    }
    for (size_t i = 0; i < times->shape_count; i++)
        inside =
            inside && is_inside(shape->features[times->shape[i]], times->least[i], times->most[i]);
    return inside;
}

double st_times_predict(const st_times *times, size_t piece, const st_times_shape *shape)
{
    const st_times_model *model = &times->models[piece];
    float inputs[ST_TIMES_INPUTS];
    double flop = 0;
    double bytes = 0;
    if (!model->given)
        return UNKNOWN;
    st_times_work(times->pieces[piece], shape, &flop, &bytes);
    if (isnan(flop) || isnan(bytes))
        return UNKNOWN;
    double line = st_times_roofline_time(&model->roofline, flop, bytes);
    bool asks_trees = model->form != ST_TIMES_ROOFLINE &&
                      (model->form != ST_TIMES_WITHIN || is_within(times, piece, shape));
    if (asks_trees) {
        st_times_inputs(times, piece, shape, inputs);
        double sum = model->base;
        for (size_t i = 0; i < model->tree_count; i++) {
            const st_times_node *node = &model->nodes[model->starts[i]];
            while (node->feature >= 0) {
                bool below = inputs[node->feature] < node->threshold;
                node = &model->nodes[model->starts[i] + (below ? node->left : node->right)];
            }
            sum += (double)node->threshold;
        }
        double factor = exp(sum);
        line = model->form == ST_TIMES_TREES ? factor : line * factor;
    }
    return line > 0 && isfinite(line) ? line : UNKNOWN;
}

/* ---- what was measured ---- */

static bool is_equal(double left, double right)
{
    return fabs(left - right) <= 1e-12 * fabs(right);
}

/* The rows of the shape with the nearest numbers of tokens below and above; NULL where none is. */
static void find_rows(const st_times *times, const st_times_shape *shape, const double **below,
                      const double **above)
{
    double wanted = shape->features[ST_TIMES_TOKENS];
    size_t tokens = 0;
    *below = NULL;
    *above = NULL;
    for (size_t i = 0; i < times->row_count; i++) {
        const double *row = times->rows + i * stride_of(times);
        bool is_alike = true;
        tokens = 0;
        for (size_t j = 0; j < times->shape_count; j++)
            if (times->shape[j] == ST_TIMES_TOKENS) {
                tokens = j;
            } else if (times->shape[j] != ST_TIMES_CLOSED &&
                       !is_equal(shape->features[times->shape[j]], row[j])) {
                is_alike = false;
                break;
            }
        if (!is_alike)
            continue;
        bool same = times->shape[tokens] != ST_TIMES_TOKENS || is_equal(wanted, row[tokens]);
        if ((same || row[tokens] < wanted) && (*below == NULL || (*below)[tokens] < row[tokens]))
            *below = row;
        if ((same || row[tokens] > wanted) && (*above == NULL || (*above)[tokens] > row[tokens]))
            *above = row;
    }
}

/* Interpolates over tokens, as far as a doubling lies between them. */
static bool look_up(const st_times *times, const st_times_shape *shape, st_times_answer *answer)
{
    const double *below = NULL;
    const double *above = NULL;
    double weight = 0;
    find_rows(times, shape, &below, &above);
    if (below == NULL || above == NULL)
        return false;
    answer->origin = ST_TIMES_MEASURED;
    for (size_t i = 0; below != above && i < times->shape_count; i++) {
        if (times->shape[i] == ST_TIMES_TOKENS && below[i] < above[i]) {
            if (above[i] > 2 * below[i] * (1 + 1e-9))
                return false;
            weight = (shape->features[ST_TIMES_TOKENS] - below[i]) / (above[i] - below[i]);
            answer->origin = ST_TIMES_BETWEEN;
        }
    }
    for (size_t i = 0; i < times->piece_count; i++) {
        size_t at = times->shape_count + i;
        answer->pieces[i] = (1 - weight) * below[at] + weight * above[at];
    }
    return true;
}

void st_times_ask(const st_times *times, const st_times_shape *shape, st_times_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    answer->outside = ST_TIMES_FEATURES;
    if (!look_up(times, shape, answer)) {
        answer->origin = ST_TIMES_PREDICTED;
        for (size_t i = times->shape_count; i-- > 0;) {
            double value = shape->features[times->shape[i]];
            if (times->shape[i] == ST_TIMES_CLOSED)
                continue;
            if (!is_inside(value, times->least[i], times->most[i])) {
                answer->origin = ST_TIMES_OUTSIDE;
                answer->outside = times->shape[i];
            }
        }
        for (size_t i = 0; i < times->piece_count; i++)
            answer->pieces[i] = st_times_predict(times, i, shape);
    }
    for (size_t i = 0; i < times->piece_count; i++) {
        answer->pieces[i] *= st_times_repeats(times->pieces[i]);
        answer->sum += answer->pieces[i];
    }
}
