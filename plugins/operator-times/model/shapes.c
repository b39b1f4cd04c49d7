/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas of operators and their nearest measured shapes; see shapes.h. */
#include "shapes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is measured ---- */

/* Prefixes whose keys and values lie in a cache, windows, parts of experts and tokens that are
 * spread unevenly are other operators. */
static const st_table_only only_whole[] = {{"window", "0"}, {"past", "0"}};
static const st_table_only only_even[] = {{"tp", "1"}, {"ep", "1"}, {"distribution", "balanced"}};

static const st_table_form forms[ST_OPERATORS] = {
    [ST_PRODUCT] = {.sizes = {"m", "n", "k"}, .options = ""},
    [ST_ATTENTION] = {.sizes = {"batch", "seq", "heads", "kv_heads", "head_dim"},
                      .options = "attention_",
                      .as_dtype = "kv_dtype",
                      .only = only_whole,
                      .only_count = sizeof only_whole / sizeof only_whole[0]},
    [ST_MOVED] = {.sizes = {"bytes", "rows", "width", "reductions"}, .may_be_zero = "reductions"},
    [ST_EXPERTS] = {.sizes = {"tokens", "topk", "experts", "hidden", "inter"},
                    .options = "experts_",
                    .only = only_even,
                    .only_count = sizeof only_even / sizeof only_even[0],
                    .not_source = "nongated"},
};

/* A place is the logarithm of one of these, times how much it counts in a distance. */
typedef struct place_form {
    const char *name; /* in a refusal; NULL: any value is answered */
    double scale;
    bool exact; /* only values that were measured are answered */
} place_form;

static const place_form place_forms[ST_OPERATORS][ST_SHAPES_PLACES] = {
    [ST_PRODUCT] = {{NULL, 1, false}, {NULL, 1, false}, {NULL, 1, false}},
    [ST_ATTENTION] = {{"heads of all sequences", 1, false},
                      {"tokens of a sequence", 1, false},
                      {"width of a head", 3, true},
                      {NULL, 0.5, false},
                      {NULL, 0.25, false}},
    [ST_MOVED] = {{NULL, 1, false}, {NULL, 3, false}}, /* rows and widths are for trees */
    [ST_EXPERTS] = {{"tokens of an expert", 1, false},
                    {"hidden size", 0.5, false},
                    {"inner width of an expert", 0.5, false},
                    {NULL, 0.25, false}},
};

static void place_shape(st_operator of, const double *sizes, double *places)
{
    double values[ST_SHAPES_PLACES] = {sizes[ST_M], sizes[ST_N], sizes[ST_K], 1, 1};
    if (of == ST_ATTENTION) {
        values[0] = sizes[ST_BATCH] * sizes[ST_HEADS];
        values[1] = sizes[ST_SEQUENCE];
        values[2] = sizes[ST_HEAD_DIM];
        values[3] = sizes[ST_KV_HEADS];
        values[4] = sizes[ST_BATCH];
    } else if (of == ST_MOVED) {
        values[1] = 1 + sizes[ST_REDUCTIONS];
        values[2] = 1;
    } else if (of == ST_EXPERTS) {
        values[0] = sizes[ST_TOKENS] * sizes[ST_TOP_K] / sizes[ST_EXPERT_COUNT];
        values[1] = sizes[ST_HIDDEN];
        values[2] = sizes[ST_FFN];
        values[3] = sizes[ST_EXPERT_COUNT];
    }
    for (size_t i = 0; i < ST_SHAPES_PLACES; i++)
        places[i] = place_forms[of][i].scale * log(values[i]);
}

const char *st_shapes_text(st_operator of, const double *sizes, char *text)
{
    if (of == ST_PRODUCT)
        (void)snprintf(text, ST_SHAPES_TEXT, "%.10g x %.10g x %.10g", sizes[ST_M], sizes[ST_N],
                       sizes[ST_K]);
    else if (of == ST_ATTENTION)
        (void)snprintf(text, ST_SHAPES_TEXT,
                       "%.10g sequences of %.10g, %.10g heads of %.10g, %.10g of keys",
                       sizes[ST_BATCH], sizes[ST_SEQUENCE], sizes[ST_HEADS], sizes[ST_HEAD_DIM],
                       sizes[ST_KV_HEADS]);
    else if (of == ST_MOVED)
        (void)snprintf(text, ST_SHAPES_TEXT, "%.10g bytes, %.10g rows of %.10g%s", sizes[ST_BYTES],
                       sizes[ST_ROWS], sizes[ST_ROW_WIDTH],
                       sizes[ST_REDUCTIONS] > 0 ? ", summed" : "");
    else
        (void)snprintf(text, ST_SHAPES_TEXT, "%.10g tokens of each of %.10g experts, %.10g x %.10g",
                       sizes[ST_TOKENS] * sizes[ST_TOP_K] / sizes[ST_EXPERT_COUNT],
                       sizes[ST_EXPERT_COUNT], sizes[ST_HIDDEN], sizes[ST_FFN]);
    return text;
}

/* ---- tables ---- */

const char *st_shapes_read(st_shapes *shapes, st_operator of, const char *text,
                           const st_table_filter *filter, char *reason)
{
    *shapes = (st_shapes){.of = of};
    const char *fault = st_table_read(&shapes->table, text, &forms[of], filter, reason);
    if (fault != NULL)
        return fault;
    shapes->places = calloc(shapes->table.count, sizeof *shapes->places);
    if (shapes->places == NULL) {
        st_shapes_free(shapes);
        return "out of memory";
    }
    for (size_t i = 0; i < shapes->table.count; i++) {
        double *places = shapes->places[i];
        place_shape(of, shapes->table.rows[i].sizes, places);
        for (size_t k = 0; k < ST_SHAPES_PLACES; k++) {
            shapes->least[k] = i == 0 ? places[k] : fmin(shapes->least[k], places[k]);
            shapes->most[k] = i == 0 ? places[k] : fmax(shapes->most[k], places[k]);
        }
    }
    return NULL;
}

void st_shapes_free(st_shapes *shapes)
{
    st_table_free(&shapes->table);
    free(shapes->places);
    *shapes = (st_shapes){.of = shapes->of};
}

/* ---- formulas ---- */

static double slower(double arithmetic_s, double bytes, const st_rates *rates)
{
    double memory = rates->bandwidth > 0 ? bytes / rates->bandwidth : 0;
    return arithmetic_s > memory ? arithmetic_s : memory;
}

static double experts_formula(const double *sizes, const st_rates *rates)
{
    double copies = sizes[ST_TOKENS] * sizes[ST_TOP_K];
    double weights = 3.0 * sizes[ST_HIDDEN] * sizes[ST_FFN];
    double each = copies / sizes[ST_EXPERT_COUNT];
    double numbers =
        sizes[ST_EXPERT_COUNT] * weights + copies * (2.0 * sizes[ST_HIDDEN] + 3.0 * sizes[ST_FFN]);
    return slower(2.0 * copies * weights * (1.0 + rates->half / (each > 1 ? each : 1)) /
                      rates->rate,
                  rates->width * numbers, rates);
}

double st_shapes_around(st_operator of, const double *sizes, const st_rates *rates)
{
    if (of != ST_EXPERTS)
        return 0;
    return rates->moving * sizes[ST_TOKENS] * sizes[ST_TOP_K] *
           (8.0 * sizes[ST_HIDDEN] + 3.0 * sizes[ST_FFN]);
}

double st_shapes_formula(st_operator of, const double *sizes, const st_rates *rates)
{
    if (of == ST_PRODUCT) {
        double m = sizes[ST_M];
        double n = sizes[ST_N];
        double k = sizes[ST_K];
        double arithmetic_s = 2.0 * m * n * k / rates->rate;
        double result = rates->result > 0 ? rates->result : rates->width;
        double bytes = rates->width * (m * k + k * n) + result * m * n;
        if (!(rates->constant_s > 0 && rates->bandwidth > 0))
            return rates->constant_s + slower(arithmetic_s, bytes, rates);
        double memory_s = bytes / rates->bandwidth;
        return rates->constant_s + pow(pow(arithmetic_s, 4) + pow(memory_s, 4), 0.25);
    }
    if (of == ST_ATTENTION) {
        /* Of causal attention, half of the square. */
        double tokens = sizes[ST_BATCH] * sizes[ST_SEQUENCE];
        double row = sizes[ST_HEADS] * sizes[ST_HEAD_DIM];
        double work = 2.0 * tokens * sizes[ST_SEQUENCE] * row;
        double heads = sizes[ST_HEADS] + sizes[ST_KV_HEADS];
        return rates->constant_s +
               slower(work * (1.0 + rates->half / sizes[ST_SEQUENCE]) / rates->rate,
                      2.0 * rates->width * tokens * heads * sizes[ST_HEAD_DIM], rates);
    }
    if (of == ST_MOVED)
        return rates->bandwidth > 0 ? rates->constant_s + sizes[ST_BYTES] / rates->bandwidth : 0;
    return experts_formula(sizes, rates) + st_shapes_around(of, sizes, rates);
}

/* ---- neighbours ---- */

static const double almost = 1e-6; /* of a logarithm */

static bool is_measured(const st_shapes *shapes, size_t place, double value)
{
    for (size_t i = 0; i < shapes->table.count; i++)
        if (fabs(shapes->places[i][place] - value) <= almost)
            return true;
    return false;
}

const char *st_shapes_outside(const st_shapes *shapes, const double *sizes, char *reason)
{
    double places[ST_SHAPES_PLACES];
    place_shape(shapes->of, sizes, places);
    for (size_t i = 0; i < ST_SHAPES_PLACES; i++) {
        const place_form *form = &place_forms[shapes->of][i];
        bool inside =
            places[i] >= shapes->least[i] - almost && places[i] <= shapes->most[i] + almost;
        if (form->name == NULL || (inside && !form->exact))
            continue;
        if (inside && is_measured(shapes, i, places[i]))
            continue;
        (void)snprintf(reason, ST_TABLE_REASON, "%s: %.10g, and %s from %.10g to %.10g", form->name,
                       exp(places[i] / form->scale),
                       inside ? "others were measured" : "the table has them",
                       exp(shapes->least[i] / form->scale), exp(shapes->most[i] / form->scale));
        return reason;
    }
    return NULL;
}

double st_shapes_ratio(const st_shapes *shapes, const double *sizes, const st_rates *rates,
                       double reach, st_neighbours *neighbours)
{
    static const double softening = 0.01; /* of a square: an equal shape does not rule alone */
    double weights = 1.0 / (reach * reach + softening);
    double sum = weights; /* the formula as it is */
    double places[ST_SHAPES_PLACES];
    place_shape(shapes->of, sizes, places);
    neighbours->count = 0;
    for (size_t i = 0; i < shapes->table.count; i++) {
        double nearest_sum = 0;
        for (size_t k = 0; k < ST_SHAPES_PLACES; k++) {
            double step = shapes->places[i][k] - places[k];
            nearest_sum += step * step;
        }
        if (isfinite(nearest_sum)) {
            /* Distances are squares here. */
            const st_measured *row = &shapes->table.rows[i];
            size_t at = neighbours->count;
            if (at == ST_SHAPES_NEAREST && nearest_sum >= neighbours->distances[at - 1])
                continue;
            if (at == ST_SHAPES_NEAREST)
                at--;
            else
                neighbours->count++;
            for (; at > 0 && neighbours->distances[at - 1] > nearest_sum; at--) {
                neighbours->distances[at] = neighbours->distances[at - 1];
                neighbours->rows[at] = neighbours->rows[at - 1];
            }
            neighbours->distances[at] = nearest_sum;
            neighbours->rows[at] = row;
        }
    }
    for (size_t i = 0; i < neighbours->count; i++) {
        const st_measured *known = neighbours->rows[i];
        double weight = 1.0 / (neighbours->distances[i] + softening);
        neighbours->ratios[i] = known->time_s / st_shapes_formula(shapes->of, known->sizes, rates);
        neighbours->distances[i] = sqrt(neighbours->distances[i]);
        weights += weight;
        sum += weight * neighbours->ratios[i];
    }
    neighbours->share = 1.0 - 1.0 / ((reach * reach + softening) * weights);
    return sum / weights;
}
