/* SPDX-License-Identifier: Apache-2.0 */
/* Training of the members, and how their answers become one. */
#include "overlap-xgboost/fit/slowdown.h"

#include "base/hash.h"
#include "base/memory.h"
#include "fit/trees/shuffle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Slowdowns beyond these are noise of short overlaps and of kernels of a few us. */
#define LEAST_SLOWDOWN 0.2
#define MOST_SLOWDOWN  50.0

/* Medians of logarithms are below means; what would need more than this is an outlier. */
#define LEAST_SCALE 0.5
#define MOST_SCALE  2.5
enum { MAX_BAGS = 24, LEAST_HEARD = 3 };

#define BAGGED                                                                                     \
    {                                                                                              \
        .objective = "reg:pseudohubererror", .huber_slope = 0.1, .depth = 6, .rounds = 60,         \
        .learning_rate = 0.2, .min_child_weight = 2, .base_score = 0, .seed = 42                   \
    }

static const st_recipe recipes[] = {
    {"nearest", BAGGED, 0, true, 0.5, 0, true,
     "median of the three nearest kernels of the name; no slowdown for names that are new"},
    {"echo",
     {.objective = "reg:squarederror",
      .huber_slope = 1,
      .depth = 12,
      .rounds = 100,
      .learning_rate = 0.3,
      .min_child_weight = 1,
      .base_score = 0.5,
      .seed = 42},
     1,
     false,
     0.5,
     0,
     false,
     "one model of depth 12, squared error (echo table 5)"},
    {"bag-40", BAGGED, MAX_BAGS, true, 0.4, 1.5, false,
     "24 models of depth 6, pseudo-Huber error; their quantile 0.4, or mean where they disagree"},
    {"bag-25", BAGGED, MAX_BAGS, true, 0.25, 1.5, false,
     "24 models of depth 6, pseudo-Huber error; their quantile 0.25, or mean where they disagree"},
    {"near-3", BAGGED, MAX_BAGS, true, 0.25, 1.5, true,
     "median of the three nearest kernels of the name; bag-25 for names that are new"},
};

const st_recipe *st_recipes(size_t *count)
{
    *count = ST_COUNT(recipes);
    return recipes;
}

const st_recipe *st_recipe_find(const char *name)
{
    size_t i = ST_FIND(recipes, ST_COUNT(recipes), name, name);
    return i < ST_COUNT(recipes) ? &recipes[i] : NULL;
}

/* ---- answers ---- */

ST_COMPARE_NUMBERS(by_value, float);

/* The quantile between the two nearest of `count` values, which are sorted. */
static double quantile_of(float *values, size_t count, double quantile)
{
    qsort(values, count, sizeof *values, by_value);
    double at = quantile * (double)(count - 1);
    size_t below = (size_t)at;
    size_t above = below + 1 < count ? below + 1 : below;
    double weight = at - (double)below;
    return (1 - weight) * (double)values[below] + weight * (double)values[above];
}

/* What the members say of each row, member after member. */
static st_status ask(const st_slowdown_model *model, const st_kernel_rows *rows, st_arena *arena,
                     float **answers, st_errors *errors)
{
    float *features = st_arena_alloc(arena, rows->count * ST_FEATURES + 1, sizeof *features);
    *answers = st_arena_alloc(arena, rows->count * model->member_count + 1, sizeof **answers);
    if (features == NULL || *answers == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < rows->count; i++) {
        const float *given = rows->kernels->rows[rows->items[i]].features;
        for (size_t j = 0; j < ST_FEATURES; j++) {
            float value = given[j];
            features[i * ST_FEATURES + j] =
                isnan(value) ? value : fminf(fmaxf(value, model->least[j]), model->most[j]);
        }
    }
    for (size_t k = 0; k < model->member_count && rows->count > 0; k++) {
        st_status status = st_trees_predict(model->members[k], features, rows->count,
                                            *answers + k * rows->count, errors);
        if (status != ST_OK)
            return status;
    }
    return ST_OK;
}

static bool is_known(const st_slowdown_model *model, const char *name)
{
    uint64_t hash = st_hash_text(ST_HASH_BEGIN, name);
    for (size_t i = 0; i < model->known_count; i++)
        if (model->known[i] == hash)
            return true;
    return false;
}

/* What some answers of members make. */
typedef struct verdict {
    double slowdown; /* before the scale */
    bool is_wide;    /* the members disagree */
} verdict;

/*
 * Where the members agree, a low quantile hits most kernels. Where their quartiles are further
 * apart than the recipe allows, no single value hits many, and their mean is right about the sum.
 * What members that never met a kernel's name make up about it does not measure the spread.
 */
static verdict settle(const st_slowdown_model *model, float *said, size_t count, bool known)
{
    const st_recipe *recipe = model->recipe;
    if (count == 0) /* neighbours alone */
        return (verdict){.slowdown = 1};
    double value = quantile_of(said, count, recipe->quantile);
    if (!recipe->logarithm)
        return (verdict){.slowdown = fmax(value, model->least_slowdown)};
    double apart = quantile_of(said, count, 0.75) - quantile_of(said, count, 0.25);
    if (!known || apart <= log(recipe->spread))
        return (verdict){.slowdown = fmax(exp(value), model->least_slowdown)};
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += exp((double)said[i]);
    return (verdict){fmax(sum / (double)count, model->least_slowdown), true};
}

/* ---- learning ---- */

typedef struct training {
    bool *drawn; /* by member and row: the member has learnt from it */
    bool *kin;   /* by member and row: it was free to, and has from others of the name */
    float *features;
    float *targets;
    float *weights;
    size_t *usable; /* rows that ran concurrently with communication long enough */
    size_t usable_count;
} training;

static st_status make_training(const st_kernel_rows *rows, st_arena *arena, training *trained,
                               st_errors *errors)
{
    trained->features = st_arena_alloc(arena, rows->count * ST_FEATURES, sizeof *trained->features);
    trained->targets = st_arena_alloc(arena, rows->count, sizeof *trained->targets);
    trained->weights = st_arena_alloc(arena, rows->count, sizeof *trained->weights);
    trained->usable = st_arena_alloc(arena, rows->count, sizeof *trained->usable);
    trained->drawn = st_arena_alloc(arena, MAX_BAGS * rows->kernels->count, sizeof *trained->drawn);
    trained->kin = st_arena_alloc(arena, MAX_BAGS * rows->kernels->count, sizeof *trained->kin);
    if (!trained->drawn || !trained->kin || !trained->features || !trained->targets ||
        !trained->weights || !trained->usable)
        return st_out_of_memory(errors);
    trained->usable_count = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (rows->kernels->rows[rows->items[i]].share >= ST_LEAST_SHARE)
            trained->usable[trained->usable_count++] = rows->items[i];
    return ST_OK;
}

/* Five sixths of the names, drawn by a member's own dice; of those, rows with replacement. */
static size_t draw(const st_kernels *kernels, const training *trained, size_t member, size_t *drawn)
{
    size_t kept = 0;
    st_dice dice = st_dice_of(0x2385 + member);
    uint64_t salt = st_dice_next(&dice);
    for (size_t i = 0; i < trained->usable_count; i++) {
        st_dice name =
            st_dice_of(st_hash_text(ST_HASH_BEGIN, kernels->rows[trained->usable[i]].name) ^ salt);
        if (st_dice_next(&name) % 6 != 0) {
            trained->kin[member * kernels->count + trained->usable[i]] = true;
            drawn[kept++] = trained->usable[i];
        }
    }
    if (kept < ST_LEAST_KERNELS / 4) {
        memcpy(drawn, trained->usable, trained->usable_count * sizeof *drawn);
        kept = trained->usable_count;
    }
    size_t copy_count = kept;
    size_t *copy = drawn + trained->usable_count; /* room for both */
    memcpy(copy, drawn, kept * sizeof *drawn);
    for (size_t i = 0; i < kept; i++)
        drawn[i] = copy[st_dice_next(&dice) % copy_count];
    return kept;
}

static float median_of(float *values, size_t count)
{
    return count > 0 ? (float)quantile_of(values, count, 0.5) : NAN;
}

/* `values` has room for one of each row. */
static void note_usual(const st_kernels *kernels, const training *trained, float *values,
                       st_slowdown_model *model)
{
    double concurrent_ns = 0;
    for (size_t i = 0; i < trained->usable_count; i++) {
        const st_kernel *kernel = &kernels->rows[trained->usable[i]];
        st_usual_kernel *usual = &model->usual[kernel->class];
        double own_ns = kernel->share * kernel->isolated_ns;
        usual->count++;
        usual->weight += own_ns;
        usual->slowdown += own_ns * fmin(kernel->slowdown, MOST_SLOWDOWN);
        concurrent_ns += own_ns;
    }
    for (size_t k = 0; k < ST_KERNEL_CLASSES; k++) {
        st_usual_kernel *usual = &model->usual[k];
        usual->slowdown = model->recipe->neighbours && usual->weight > 0
                              ? fmax(usual->slowdown / usual->weight, model->least_slowdown)
                              : (double)NAN;
        usual->weight /= concurrent_ns;
        for (size_t j = 0; j < ST_FEATURES; j++) {
            size_t known = 0;
            for (size_t i = 0; i < trained->usable_count; i++) {
                const st_kernel *kernel = &kernels->rows[trained->usable[i]];
                if ((size_t)kernel->class == k && !isnan(kernel->features[j]))
                    values[known++] = kernel->features[j];
            }
            model->usual[k].features[j] = median_of(values, known);
        }
    }
}

/* Sums over kernels, of time concurrently with communication times what slowdowns exceed 1. */
typedef struct balance_sums {
    double measured_ns;
    double narrow_ns; /* predicted, of kernels about which the members agree */
    double wide_ns;
} balance_sums;

/*
 * The sum of all times is mended where the members disagree, which costs no hits elsewhere. The
 * scale comes from members that have not learnt from the kernel that they are asked about, but may
 * have from others of its name.
 */
static st_status balance(const st_kernels *kernels, const training *trained, st_arena *arena,
                         st_slowdown_model *model, st_errors *errors)
{
    float *answers = NULL;
    balance_sums sums = {0};
    size_t count = trained->usable_count;
    st_kernel_rows usable = {kernels, trained->usable, count};
    st_status status = ask(model, &usable, arena, &answers, errors);
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        float said[MAX_BAGS];
        size_t heard = 0;
        for (size_t k = 0; k < model->member_count; k++) {
            size_t at = k * kernels->count + trained->usable[i];
            if (trained->kin[at] && !trained->drawn[at])
                said[heard++] = answers[k * count + i];
        }
        if (heard >= LEAST_HEARD) {
            const st_kernel *kernel = &kernels->rows[trained->usable[i]];
            double concurrent_ns = kernel->share * kernel->isolated_ns;
            verdict found = settle(model, said, heard, true);
            sums.measured_ns += concurrent_ns * (fmin(kernel->slowdown, MOST_SLOWDOWN) - 1);
            *(found.is_wide ? &sums.wide_ns : &sums.narrow_ns) +=
                concurrent_ns * (found.slowdown - 1);
        }
    }
    if (status == ST_OK && sums.wide_ns > 0) {
        double scale = (sums.measured_ns - sums.narrow_ns) / sums.wide_ns;
        model->scale = fmin(fmax(scale, LEAST_SCALE), MOST_SCALE);
    }
    return status;
}

/* The names that the model will know, and the usual slowdown, from which the trees begin. */
static st_status note_known(const st_kernels *kernels, const training *trained, st_arena *arena,
                            st_slowdown_model *model)
{
    model->known = st_arena_alloc(arena, trained->usable_count + 1, sizeof *model->known);
    if (model->known == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < trained->usable_count; i++) {
        const st_kernel *kernel = &kernels->rows[trained->usable[i]];
        if (!is_known(model, kernel->name))
            model->known[model->known_count++] = st_hash_text(ST_HASH_BEGIN, kernel->name);
        trained->targets[i] =
            (float)log(fmin(fmax(kernel->slowdown, LEAST_SLOWDOWN), MOST_SLOWDOWN));
    }
    model->base =
        trained->usable_count > 0 ? (double)median_of(trained->targets, trained->usable_count) : 0;
    return ST_OK;
}

st_status st_slowdown_train(st_trees_library *library, const st_kernel_rows *rows,
                            const st_recipe *recipe, st_arena *arena, st_slowdown_model *model,
                            st_errors *errors)
{
    training trained = {0};
    size_t *drawn = st_arena_alloc(arena, 2 * rows->count + 1, sizeof *drawn);
    *model =
        (st_slowdown_model){.recipe = recipe, .scale = 1, .least_slowdown = rows->kernels->least};
    model->members = st_arena_alloc(arena, recipe->bags + 1, sizeof *model->members);
    if (drawn == NULL || model->members == NULL)
        return st_out_of_memory(errors);
    st_status status = make_training(rows, arena, &trained, errors);
    if (status != ST_OK)
        return status;
    model->trained_on = trained.usable_count;
    if (note_known(rows->kernels, &trained, arena, model) != ST_OK)
        return st_out_of_memory(errors);
    if (recipe->neighbours && st_neighbours_learn(rows, arena, &model->nearest) != ST_OK)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < rows->count; i++) {
        float gpu = rows->kernels->rows[rows->items[i]].features[ST_FEATURE_GPU];
        if (gpu >= 0 && gpu < ST_MOST_GPUS)
            model->has_gpu[(size_t)gpu] = true;
    }
    for (size_t j = 0; j < ST_FEATURES; j++) {
        model->least[j] = model->most[j] = NAN;
        for (size_t i = 0; i < rows->count; i++) {
            float value = rows->kernels->rows[rows->items[i]].features[j];
            model->least[j] = fminf(model->least[j], value);
            model->most[j] = fmaxf(model->most[j], value);
        }
    }
    note_usual(rows->kernels, &trained, trained.targets, model);
    for (size_t i = 0; i < recipe->bags && status == ST_OK; i++) {
        st_kernel_rows part = {rows->kernels, trained.usable, trained.usable_count};
        if (recipe->bags > 1) {
            part.count = draw(rows->kernels, &trained, i, drawn);
            part.items = drawn;
        }
        const st_recipe *member_recipe = model->recipe;
        for (size_t k = 0; k < part.count; k++) {
            const st_kernel *kernel = &part.kernels->rows[part.items[k]];
            trained.drawn[model->member_count * part.kernels->count + part.items[k]] = true;
            double slowdown = fmin(fmax(kernel->slowdown, LEAST_SLOWDOWN), MOST_SLOWDOWN);
            memcpy(trained.features + k * ST_FEATURES, kernel->features, sizeof kernel->features);
            trained.targets[k] = (float)(member_recipe->logarithm ? log(slowdown) : slowdown);
            trained.weights[k] = (float)kernel->share;
        }
        st_samples samples = {trained.features, trained.targets, trained.weights, part.count,
                              ST_FEATURES};
        st_trees_options options = member_recipe->trees;
        options.base_score = member_recipe->logarithm ? model->base : options.base_score;
        options.seed += (unsigned)model->member_count;
        status = st_trees_train(library, &samples, &options, &model->members[model->member_count],
                                errors);
        model->member_count += status == ST_OK ? 1 : 0;
    }
    if (status == ST_OK && recipe->bags > 1)
        status = balance(rows->kernels, &trained, arena, model, errors);
    if (status != ST_OK)
        st_slowdown_destroy(model);
    return status;
}

void st_slowdown_destroy(st_slowdown_model *model)
{
    for (size_t i = 0; i < model->member_count; i++)
        st_trees_destroy(model->members[i]);
    model->member_count = 0;
}

/* ---- predicting ---- */

st_status st_slowdown_predict(const st_slowdown_model *model, const st_kernel_rows *rows,
                              st_arena *arena, double *factors, st_errors *errors)
{
    float *answers = NULL;
    st_status status = ask(model, rows, arena, &answers, errors);
    for (size_t i = 0; i < rows->count && status == ST_OK; i++) {
        float said[MAX_BAGS];
        for (size_t k = 0; k < model->member_count; k++)
            said[k] = answers[k * rows->count + i];
        const st_kernel *kernel = &rows->kernels->rows[rows->items[i]];
        bool known = is_known(model, kernel->name);
        verdict found = settle(model, said, model->member_count, known);
        /* Agreement about kernels that are known is right as it is; all else is scaled to meet
         * the sum. */
        double slowdown = known && model->recipe->neighbours
                              ? st_neighbours_ask(&model->nearest, kernel)
                              : (found.is_wide || !known ? 1 + model->scale * (found.slowdown - 1)
                                                         : found.slowdown);
        factors[i] = st_slowdown_of_share(kernel, slowdown);
    }
    return status;
}

st_status st_slowdown_importance(const st_slowdown_model *model, double shares[ST_FEATURES],
                                 st_errors *errors)
{
    double sum = 0;
    memset(shares, 0, ST_FEATURES * sizeof *shares);
    for (size_t k = 0; k < model->member_count; k++) {
        st_status status = st_trees_gains(model->members[k], shares, errors);
        if (status != ST_OK)
            return status;
    }
    for (size_t i = 0; i < ST_FEATURES; i++)
        sum += shares[i];
    for (size_t i = 0; i < ST_FEATURES; i++)
        shares[i] = sum > 0 ? shares[i] / sum : 0;
    return ST_OK;
}

/* ---- how good it is ---- */

static bool counts(const st_kernel *kernel, st_slowdown_part part)
{
    return part == ST_SLOWDOWN_ALL ||
           (part == ST_SLOWDOWN_ALONGSIDE && kernel->share >= ST_LEAST_SHARE) ||
           (part == ST_SLOWDOWN_SLOWED && kernel->overlapped_ns > 1.2 * kernel->isolated_ns);
}

/* Sums that become errors. */
typedef struct error_sums {
    double isolated_ns;
    double measured_ns;
    double predicted_ns;
    size_t long_ones;
} error_sums;

st_slowdown_errors st_slowdown_compare(const st_kernel_rows *rows, const double *factors,
                                       st_slowdown_part part)
{
    st_slowdown_errors found = {.count = 0};
    error_sums sums = {.long_ones = 0};
    for (size_t i = 0; i < rows->count; i++) {
        const st_kernel *kernel = &rows->kernels->rows[rows->items[i]];
        if (counts(kernel, part)) {
            const double predicted = factors[i];
            double factor = kernel->overlapped_ns / kernel->isolated_ns;
            double square = (predicted - factor) * (predicted - factor);
            double relative = fabs(predicted / factor - 1);
            found.count++;
            found.within_5 += relative <= 0.05 ? 1 : 0;
            found.within_10 += relative <= 0.10 ? 1 : 0;
            found.within_15 += relative <= 0.15 ? 1 : 0;
            found.rmse += square;
            found.rmse_weighted += square * kernel->isolated_ns;
            if (kernel->isolated_ns >= 1e4) {
                found.rmse_10us += square;
                sums.long_ones++;
            }
            sums.isolated_ns += kernel->isolated_ns;
            sums.measured_ns += kernel->overlapped_ns;
            sums.predicted_ns += predicted * kernel->isolated_ns;
        }
    }
    double count = (double)found.count;
    found.within_5 /= count;
    found.within_10 /= count;
    found.within_15 /= count;
    found.rmse = sqrt(found.rmse / count);
    found.rmse_10us = sqrt(found.rmse_10us / (double)sums.long_ones);
    found.rmse_weighted = sqrt(found.rmse_weighted / sums.isolated_ns);
    found.bias = sums.predicted_ns / sums.measured_ns - 1;
    return found;
}
