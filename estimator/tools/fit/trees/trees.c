/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of XGBoost are looked up by name when the library is opened; see trees.h. */
#include "fit/trees/trees.h"

#include "base/memory.h"

#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef STEPTIME_HAVE_XGBOOST
#include <xgboost/c_api.h>
#else /* what is used of it: nothing can be opened, so that nothing of it is called */
typedef uint64_t bst_ulong;
typedef void *DMatrixHandle;
typedef void *BoosterHandle;
const char *XGBGetLastError(void);
int XGBRegisterLogCallback(void (*)(const char *));
int XGDMatrixCreateFromMat(const float *, bst_ulong, bst_ulong, float, DMatrixHandle *);
int XGDMatrixSetFloatInfo(DMatrixHandle, const char *, const float *, bst_ulong);
int XGDMatrixFree(DMatrixHandle);
int XGBoosterCreate(const DMatrixHandle *, bst_ulong, BoosterHandle *);
int XGBoosterFree(BoosterHandle);
int XGBoosterSetParam(BoosterHandle, const char *, const char *);
int XGBoosterUpdateOneIter(BoosterHandle, int, DMatrixHandle);
typedef int predict(BoosterHandle, DMatrixHandle, int, unsigned, int, const bst_ulong *,
                    const float **);
typedef int score(BoosterHandle, const char *, bst_ulong *, const char ***, bst_ulong *,
                  const bst_ulong **, const float **);
predict XGBoosterPredict;
score XGBoosterFeatureScore;
int XGBoosterDumpModel(BoosterHandle, const char *, int, bst_ulong *, const char ***);
int XGBoosterSaveModelToBuffer(BoosterHandle, const char *, bst_ulong *, const char **);
#endif

/* The functions that are used, each as the header declares it. */
#define FUNCTIONS(each)                                                                            \
    each(XGBGetLastError) each(XGBRegisterLogCallback) each(XGDMatrixCreateFromMat)                \
        each(XGDMatrixSetFloatInfo) each(XGDMatrixFree) each(XGBoosterCreate) each(XGBoosterFree)  \
            each(XGBoosterSetParam) each(XGBoosterUpdateOneIter) each(XGBoosterPredict)            \
                each(XGBoosterFeatureScore) each(XGBoosterDumpModel)                               \
                    each(XGBoosterSaveModelToBuffer)
#define MEMBER(function) __typeof__(function) *function;
#define SYMBOL(function) {#function, offsetof(st_trees_library, function)},

struct st_trees_library {
    FUNCTIONS(MEMBER)
    void *handle;
};

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {FUNCTIONS(SYMBOL)};

struct st_trees {
    const st_trees_library *library;
    BoosterHandle booster;
    size_t feature_count;
};

/* XGBoost writes what it thinks of its parameters to standard output. */
static void keep_quiet(const char *message)
{
    (void)message;
}

static st_status absent(const char *reason, st_errors *errors)
{
    return st_fail(errors, ST_ERR_IO, (st_place){0},
                   "cannot load XGBoost's library" ST_FOUND "%s" ST_HINT "install libxgboost0",
                   reason);
}

static st_status failed(const st_trees_library *library, const char *what, st_errors *errors)
{
    const char *reason = library->XGBGetLastError();
    size_t length = strcspn(reason, "\n");
    return st_fail(errors, ST_ERR_VALUE, (st_place){0}, "XGBoost cannot %s" ST_FOUND "%.*s", what,
                   (int)length, reason);
}

st_status st_trees_open(st_trees_library **library, st_errors *errors)
{
#ifndef STEPTIME_HAVE_XGBOOST
    return st_fail(errors, ST_ERR_IO, (st_place){0},
                   "this build lacks XGBoost" ST_HINT
                   "install libxgboost-dev and rebuild with -Dxgboost=enabled");
#endif
    st_trees_library *opened = calloc(1, sizeof *opened);
    const char *missing = NULL;
    if (opened == NULL)
        return st_out_of_memory(errors);
    opened->handle = dlopen("libxgboost.so.0", RTLD_NOW | RTLD_LOCAL);
    if (opened->handle == NULL)
        opened->handle = dlopen("libxgboost.so", RTLD_NOW | RTLD_LOCAL);
    if (opened->handle == NULL) {
        free(opened);
        return absent(st_errors_text(errors, "%s", dlerror()), errors);
    }
    for (size_t i = 0; i < ST_COUNT(symbols); i++) {
        /* POSIX lets a function's address travel as an object's; ISO C has no cast for it. */
        void *found = dlsym(opened->handle, symbols[i].name);
        memcpy((char *)opened + symbols[i].offset, &found, sizeof found);
        missing = found == NULL ? symbols[i].name : missing;
    }
    if (missing != NULL) {
        (void)dlclose(opened->handle);
        free(opened);
        return absent(st_errors_text(errors, "it has no %s", missing), errors);
    }
    (void)opened->XGBRegisterLogCallback(keep_quiet);
    *library = opened;
    return ST_OK;
}

void st_trees_close(st_trees_library *library)
{
    if (library != NULL) {
        (void)dlclose(library->handle);
        free(library);
    }
}

void st_trees_destroy(st_trees *trees)
{
    if (trees != NULL) {
        if (trees->booster != NULL)
            (void)trees->library->XGBoosterFree(trees->booster);
        free(trees);
    }
}

static st_status set_parameters(const st_trees *trees, const st_trees_options *options,
                                st_errors *errors)
{
    const struct {
        const char *name;
        double value;
        const char *text;
    } parameters[] = {
        {"objective", 0, options->objective},
        {"huber_slope", options->huber_slope, NULL},
        {"max_depth", options->depth, NULL},
        {"eta", options->learning_rate, NULL},
        {"min_child_weight", options->min_child_weight, NULL},
        {"base_score", options->base_score, NULL},
        {"seed", options->seed, NULL},
        /* One thread: the same trees on every machine. */
        {"nthread", 1, NULL},
        {"tree_method", 0, "exact"},
        {"verbosity", 0, NULL},
    };
    for (size_t i = 0; i < ST_COUNT(parameters); i++) {
        char number[32];
        (void)snprintf(number, sizeof number, "%.9g", parameters[i].value);
        const char *text = parameters[i].text != NULL ? parameters[i].text : number;
        if (trees->library->XGBoosterSetParam(trees->booster, parameters[i].name, text) != 0)
            return failed(trees->library, "take a parameter", errors);
    }
    return ST_OK;
}

/* A matrix of the library's own; `matrix` is set only on success. */
static st_status make_matrix(const st_trees_library *library, const st_samples *samples,
                             DMatrixHandle *matrix, st_errors *errors)
{
    DMatrixHandle made = NULL;
    if (library->XGDMatrixCreateFromMat(samples->features, samples->count, samples->feature_count,
                                        NAN, &made) != 0)
        return failed(library, "take the features", errors);
    int result = 0;
    if (samples->targets != NULL)
        result = library->XGDMatrixSetFloatInfo(made, "label", samples->targets, samples->count);
    if (result == 0 && samples->weights != NULL)
        result = library->XGDMatrixSetFloatInfo(made, "weight", samples->weights, samples->count);
    if (result != 0) {
        (void)library->XGDMatrixFree(made);
        return failed(library, "take the targets", errors);
    }
    *matrix = made;
    return ST_OK;
}

st_status st_trees_train(st_trees_library *library, const st_samples *samples,
                         const st_trees_options *options, st_trees **trees, st_errors *errors)
{
    DMatrixHandle matrix = NULL;
    st_trees *made = calloc(1, sizeof *made);
    if (made == NULL)
        return st_out_of_memory(errors);
    *made = (st_trees){.library = library, .feature_count = samples->feature_count};
    st_status status = make_matrix(library, samples, &matrix, errors);
    if (status != ST_OK)
        goto cleanup;
    if (library->XGBoosterCreate(&matrix, 1, &made->booster) != 0) {
        status = failed(library, "begin", errors);
        goto cleanup;
    }
    status = set_parameters(made, options, errors);
    for (int i = 0; i < options->rounds && status == ST_OK; i++)
        if (library->XGBoosterUpdateOneIter(made->booster, i, matrix) != 0)
            status = failed(library, "learn", errors);
cleanup:
    if (matrix != NULL)
        (void)library->XGDMatrixFree(matrix);
    if (status == ST_OK)
        *trees = made;
    else
        st_trees_destroy(made);
    return status;
}

st_status st_trees_predict(const st_trees *trees, const float *features, size_t count,
                           float *predictions, st_errors *errors)
{
    const st_trees_library *library = trees->library;
    st_samples samples = {
        .features = features, .count = count, .feature_count = trees->feature_count};
    DMatrixHandle matrix = NULL;
    const float *values = NULL;
    bst_ulong length = 0;
    st_status status = make_matrix(library, &samples, &matrix, errors);
    if (status != ST_OK)
        return status;
    if (library->XGBoosterPredict(trees->booster, matrix, 0, 0, 0, &length, &values) != 0 ||
        length != count)
        status = failed(library, "predict", errors);
    else
        memcpy(predictions, values, count * sizeof *predictions);
    (void)library->XGDMatrixFree(matrix);
    return status;
}

st_status st_trees_gains(const st_trees *trees, double *gains, st_errors *errors)
{
    bst_ulong count = 0;
    bst_ulong dimensions = 0;
    const char **names = NULL;
    const bst_ulong *shape = NULL;
    const float *scores = NULL;
    if (trees->library->XGBoosterFeatureScore(trees->booster,
                                              "{\"importance_type\": \"total_gain\"}", &count,
                                              &names, &dimensions, &shape, &scores) != 0)
        return failed(trees->library, "weigh the features", errors);
    for (bst_ulong i = 0; i < count; i++) {
        unsigned long index = names[i][0] == 'f' ? strtoul(names[i] + 1, NULL, 10) : SIZE_MAX;
        if (index < trees->feature_count)
            gains[index] += (double)scores[i];
    }
    return ST_OK;
}

st_status st_trees_dump(const st_trees *trees, const char *const **texts, size_t *count,
                        st_errors *errors)
{
    bst_ulong length = 0;
    const char **dump = NULL;
    if (trees->library->XGBoosterDumpModel(trees->booster, "", 0, &length, &dump) != 0)
        return failed(trees->library, "write its trees", errors);
    *texts = (const char *const *)dump;
    *count = length;
    return ST_OK;
}

st_status st_trees_save(const st_trees *trees, const char **bytes, size_t *size_bytes,
                        st_errors *errors)
{
    bst_ulong length = 0;
    if (trees->library->XGBoosterSaveModelToBuffer(trees->booster, "{\"format\": \"ubj\"}", &length,
                                                   bytes) != 0)
        return failed(trees->library, "write its model", errors);
    *size_bytes = length;
    return ST_OK;
}
