/* SPDX-License-Identifier: Apache-2.0 */
/* Training and asking of trees; see trees.h. */
#include "trees.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef STEPTIME_HAVE_XGBOOST

#include <dlfcn.h>
#include <stddef.h>

#include <xgboost/c_api.h>

enum { FEATURES = 14, GRID = 3, LEAST_SHAPES = 50 };

/* The functions of XGBoost that are used, as its header declares them. */
typedef struct xgboost {
    void *handle;
    __typeof__(XGBGetLastError) *XGBGetLastError;
    __typeof__(XGBRegisterLogCallback) *XGBRegisterLogCallback;
    __typeof__(XGDMatrixCreateFromMat) *XGDMatrixCreateFromMat;
    __typeof__(XGDMatrixSetFloatInfo) *XGDMatrixSetFloatInfo;
    __typeof__(XGDMatrixFree) *XGDMatrixFree;
    __typeof__(XGBoosterCreate) *XGBoosterCreate;
    __typeof__(XGBoosterFree) *XGBoosterFree;
    __typeof__(XGBoosterSetParam) *XGBoosterSetParam;
    __typeof__(XGBoosterUpdateOneIter) *XGBoosterUpdateOneIter;
    __typeof__(XGBoosterPredict) *XGBoosterPredict;
} xgboost;

#define FUNCTION(id)                                                                               \
    {                                                                                              \
#id, offsetof(xgboost, id)                                                                 \
    }
static const struct {
    const char *name;
    size_t offset;
} functions[] = {FUNCTION(XGBGetLastError),        FUNCTION(XGBRegisterLogCallback),
                 FUNCTION(XGDMatrixCreateFromMat), FUNCTION(XGDMatrixSetFloatInfo),
                 FUNCTION(XGDMatrixFree),          FUNCTION(XGBoosterCreate),
                 FUNCTION(XGBoosterFree),          FUNCTION(XGBoosterSetParam),
                 FUNCTION(XGBoosterUpdateOneIter), FUNCTION(XGBoosterPredict)};

struct st_shape_trees {
    xgboost library;
    BoosterHandle booster;
    st_operator of;
    st_rates rates;         /* of the roofline */
    double multiprocessors; /* 0: not known */
};

/* ---- features ---- */

/*
 * How much of tiles of this size is filled, and of the waves in which they run on all
 * multiprocessors: what a roofline does not know of.
 */
static void grid_features(double rows, double columns, double tile_rows, double tile_columns,
                          const st_shape_trees *trees, float *features)
{
    double tiles = ceil(rows / tile_rows) * ceil(columns / tile_columns);
    double waves = trees->multiprocessors > 0 ? tiles / trees->multiprocessors : (double)NAN;
    features[0] = (float)(rows * columns / (tiles * tile_rows * tile_columns));
    features[1] = (float)log(waves);
    features[2] = (float)(ceil(waves) / waves);
}

static void make_features(const st_shape_trees *trees, const double *sizes, float *features)
{
    /* of kernels of matrix products */
    static const double tiles[][2] = {{128, 128}, {128, 256}, {256, 128}};
    st_rates arithmetic = {.rate = trees->rates.rate};
    double work_s = st_shapes_formula(trees->of, sizes, &arithmetic);
    double time_s = st_shapes_formula(trees->of, sizes, &trees->rates);
    size_t used = 0;
    for (size_t i = 0; i < FEATURES; i++)
        features[i] = (float)NAN;
    size_t count = trees->of == ST_ATTENTION ? ST_TABLE_SIZES : ST_K + 1;
    features[used++] = (float)log(time_s);
    features[used++] = work_s > 0 ? (float)log(work_s) : (float)NAN;
    for (size_t i = 0; i < count; i++)
        features[used++] = sizes[i] > 0 ? (float)log(sizes[i]) : (float)NAN;
    if (trees->of == ST_PRODUCT) {
        for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++, used += GRID)
            grid_features(sizes[ST_M], sizes[ST_N], tiles[i][0], tiles[i][1], trees,
                          &features[used]);
    } else if (trees->of == ST_MOVED) { /* the bytes of a number give the number of operands */
        double numbers = sizes[ST_ROWS] * sizes[ST_ROW_WIDTH];
        features[used++] = numbers > 0 ? (float)log(sizes[ST_BYTES] / numbers) : (float)NAN;
        features[used] = (float)sizes[ST_REDUCTIONS];
    } else {
        grid_features(sizes[ST_SEQUENCE], sizes[ST_BATCH] * sizes[ST_HEADS], 128, 1, trees,
                      &features[used]);
    }
}

/* ---- XGBoost ---- */

/* XGBoost writes what it thinks of its parameters to standard output. */
static void keep_quiet(const char *message)
{
    (void)message;
}

/* True on success, else `reason` says why not. */
static bool load(xgboost *library, char *reason)
{
    library->handle = dlopen("libxgboost.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library->handle == NULL)
        library->handle = dlopen("libxgboost.so", RTLD_NOW | RTLD_LOCAL);
    if (library->handle == NULL) {
        (void)snprintf(reason, ST_TABLE_REASON, "XGBoost's library cannot be used: %.160s",
                       dlerror());
        return false;
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        /* POSIX lets a function's address travel as an object's; ISO C has no cast for it. */
        void *found = dlsym(library->handle, functions[i].name);
        if (found == NULL) {
            (void)snprintf(reason, ST_TABLE_REASON, "XGBoost's library has no %s",
                           functions[i].name);
            return false;
        }
        memcpy((char *)library + functions[i].offset, &found, sizeof found);
    }
    (void)library->XGBRegisterLogCallback(keep_quiet);
    return true;
}

/* ---- training ---- */

/* True on success. */
static bool set_parameters(const st_shape_trees *trees)
{
    static const char *const parameters[][2] = {
        {"objective", "reg:squarederror"},
        {"max_depth", "6"},
        {"eta", "0.1"},
        {"min_child_weight", "3"},
        {"base_score", "0"},
        {"seed", "1"},
        {"tree_method", "hist"},
        {"verbosity", "0"},
        {"nthread", "1"}, /* the same trees on every machine */
    };
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0]; i++)
        if (trees->library.XGBoosterSetParam(trees->booster, parameters[i][0], parameters[i][1]))
            return false;
    return true;
}

/* True on success. `features` and `targets` have room for all shapes. */
static bool train(st_shape_trees *trees, const st_shapes *shapes, float *features, float *targets)
{
    enum { ROUNDS = 300 };
    DMatrixHandle matrix = NULL;
    size_t count = shapes->table.count;
    for (size_t i = 0; i < count; i++) {
        const st_measured *row = &shapes->table.rows[i];
        make_features(trees, row->sizes, &features[i * FEATURES]);
        targets[i] =
            (float)log(row->time_s / st_shapes_formula(shapes->of, row->sizes, &trees->rates));
    }
    if (trees->library.XGDMatrixCreateFromMat(features, count, FEATURES, NAN, &matrix) != 0)
        return false;
    bool works = trees->library.XGDMatrixSetFloatInfo(matrix, "label", targets, count) == 0 &&
                 trees->library.XGBoosterCreate(&matrix, 1, &trees->booster) == 0 &&
                 set_parameters(trees);
    for (int i = 0; i < ROUNDS && works; i++)
        works = trees->library.XGBoosterUpdateOneIter(trees->booster, i, matrix) == 0;
    (void)trees->library.XGDMatrixFree(matrix);
    return works;
}

const char *st_shape_trees_train(const st_shapes *shapes, double width, double multiprocessors,
                                 st_shape_trees **trees, char *reason)
{
    size_t count = shapes->table.count;
    st_shape_trees *made = calloc(1, sizeof *made);
    float *features = calloc(count + 1, FEATURES * sizeof *features);
    float *targets = calloc(count + 1, sizeof *targets);
    const char *fault = NULL;
    if (made == NULL || features == NULL || targets == NULL) {
        fault = "out of memory";
        goto cleanup;
    }
    *made = (st_shape_trees){.of = shapes->of, .multiprocessors = multiprocessors};
    /* The roofline has the best rates of the table. */
    st_rates *rates = &made->rates;
    static const double endless = 1e300;
    *rates = (st_rates){.width = width};
    for (size_t i = 0; i < shapes->table.count; i++) {
        const st_measured *row = &shapes->table.rows[i];
        const st_rates work = {.rate = 1};
        const st_rates bytes = {.rate = endless, .bandwidth = 1, .width = width};
        double rate = st_shapes_formula(shapes->of, row->sizes, &work) / row->time_s;
        double bandwidth = st_shapes_formula(shapes->of, row->sizes, &bytes) / row->time_s;
        rates->rate = fmax(rates->rate, rate);
        rates->bandwidth = fmax(rates->bandwidth, bandwidth);
    }
    if (count < LEAST_SHAPES) {
        (void)snprintf(reason, ST_TABLE_REASON, "trees need %d rows, but the table has %zu",
                       LEAST_SHAPES, count);
        fault = reason;
    }
    bool loaded = fault == NULL && load(&made->library, reason);
    if (fault == NULL && !loaded)
        fault = reason;
    if (loaded && !train(made, shapes, features, targets)) {
        (void)snprintf(reason, ST_TABLE_REASON, "XGBoost cannot learn from the table: %.160s",
                       st_shape_trees_error(made));
        fault = reason;
    }
    if (fault == NULL)
        *trees = made;
cleanup:
    if (fault != NULL)
        st_shape_trees_free(made);
    free(features);
    free(targets);
    return fault;
}

void st_shape_trees_free(st_shape_trees *trees)
{
    if (trees == NULL)
        return;
    if (trees->booster != NULL)
        (void)trees->library.XGBoosterFree(trees->booster);
    if (trees->library.handle != NULL)
        (void)dlclose(trees->library.handle);
    free(trees);
}

const char *st_shape_trees_error(const st_shape_trees *trees)
{
    return trees->library.XGBGetLastError();
}

double st_shape_trees_time(const st_shape_trees *trees, const double *sizes)
{
    float features[FEATURES];
    const float *values = NULL;
    bst_ulong length = 0;
    DMatrixHandle matrix = NULL;
    double time_s = (double)NAN;
    make_features(trees, sizes, features);
    if (trees->library.XGDMatrixCreateFromMat(features, 1, FEATURES, NAN, &matrix) != 0)
        return time_s;
    if (trees->library.XGBoosterPredict(trees->booster, matrix, 0, 0, 0, &length, &values) == 0 &&
        length == 1)
        time_s = exp((double)values[0]) * st_shapes_formula(trees->of, sizes, &trees->rates);
    (void)trees->library.XGDMatrixFree(matrix);
    return time_s;
}

#else

const char *st_shape_trees_train(const st_shapes *shapes, double width, double multiprocessors,
                                 st_shape_trees **trees, char *reason)
{
    (void)shapes;
    (void)width;
    (void)multiprocessors;
    (void)trees;
    (void)reason;
    return "this build lacks XGBoost, which the model trees requires";
}

void st_shape_trees_free(st_shape_trees *trees)
{
    (void)trees;
}

const char *st_shape_trees_error(const st_shape_trees *trees)
{
    (void)trees;
    return "";
}

double st_shape_trees_time(const st_shape_trees *trees, const double *sizes)
{
    (void)trees;
    (void)sizes;
    return (double)NAN;
}

#endif
