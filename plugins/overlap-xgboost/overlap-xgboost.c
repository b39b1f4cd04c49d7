/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much communication slows the computation beside it, from boosted trees that were trained on
 * kernels measured with and without communication (echo sec. 6).
 *
 * A sheet knows classes of kernels and the size of the message, no single kernels, so that the
 * trees are asked about the usual kernel of a class. They are asked when the plugin is opened, over
 * a grid of sizes where the training data had sizes at all; a block of rows only looks up.
 */
#include "model.h"

#define SLOWDOWN_CITE "echo sec. 6"
#define SLOWDOWN_BY_SIZE
#include "../slowdowns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODEL, CHANNELS, OPTIONS };
enum { STEP = MODEL_CLASSES, KINDS }; /* of the table of factors: classes, and a step */
enum { GRID = 65, CHANNELS_FEATURE = 11, LARGEST_MODEL = 256 * 1024 * 1024 };

#define LN_2       0.69314718055994530942
#define GRID_LEAST (10 * LN_2) /* 1 KiB */
#define GRID_MOST  (34 * LN_2) /* 16 GiB */

typedef struct overlap {
    const st_plugin_host *host;
    bool by_size; /* the trees know message sizes */
    double least_bytes;
    double most_bytes;
    double factors[KINDS][GRID]; /* by the logarithm of the size; NaN: the class was not seen */
} overlap;

static const st_plugin_option options[OPTIONS] = {
    [MODEL] = {.struct_size = sizeof(st_plugin_option),
               .kind = ST_PLUGIN_TEXT,
               .name = "model",
               .unit = "",
               .default_text = "",
               .doc = "file that 'steptime fit overlap -o FILE' wrote, or its contents",
               .cite = "echo sec. 6"},
    [CHANNELS] = {.struct_size = sizeof(st_plugin_option),
                  .kind = ST_PLUGIN_NUMBER,
                  .name = "channels",
                  .unit = "",
                  .default_text = "0",
                  .minimum = 0,
                  .maximum = 1024,
                  .doc = "channels of the collective; 0: as in the training data",
                  .cite = "echo table 4"},
};

static const st_plugin_option *const option_list[OPTIONS] = {&options[MODEL], &options[CHANNELS]};

/* ---- providers ---- */

/* The class whose usual kernel stands for a provider. */
static const int rows_of[SLOWDOWN_KINDS] = {[SLOWDOWN_GEMM] = 0,
                                            [SLOWDOWN_ATTENTION] = 1,
                                            [SLOWDOWN_ELEMENTWISE] = 3,
                                            [SLOWDOWN_STEP] = STEP};

static double look_up(const overlap *own, const double factors[GRID], double size_bytes)
{
    if (!own->by_size) {
        return factors[0];
    }
    if (!(size_bytes > 0)) {
        return 1; /* no message, nothing beside the computation */
    }
    if (size_bytes < own->least_bytes / 2 || size_bytes > own->most_bytes * 2) {
        return (double)NAN;
    }
    double clamped = fmin(fmax(size_bytes, own->least_bytes), own->most_bytes);
    double at = (log(clamped) - GRID_LEAST) / (GRID_MOST - GRID_LEAST) * (GRID - 1);
    at = fmin(fmax(at, 0), GRID - 1);
    size_t below = (size_t)at;
    size_t above = below + 1 < GRID ? below + 1 : below;
    double weight = at - (double)below;
    return (1 - weight) * factors[below] + weight * factors[above];
}

static int slowdown_values(void *instance, slowdown_kind kind, size_t rows,
                           const double *const *columns, double *values)
{
    const overlap *own = instance;
    for (size_t i = 0; i < rows; i++) {
        double size_bytes = columns[0] != NULL ? columns[0][i] : 25e6;
        values[i] = look_up(own, own->factors[rows_of[kind]], size_bytes);
    }
    return ST_PLUGIN_OK;
}

static int slowdown_explain(void *instance, slowdown_kind kind, const double *const *columns,
                            const st_plugin_sink *sink)
{
    const overlap *own = instance;
    double size_bytes = columns[0] != NULL ? columns[0][0] : 25e6;
    double factor = look_up(own, own->factors[rows_of[kind]], size_bytes);
    if (isnan(factor)) {
        own->host->error(own->host->context,
                         own->by_size ? "the class of kernels or the size of the message lies "
                                        "outside of what the model was trained on"
                                      : "the model was trained on no kernel of this class");
        return ST_PLUGIN_FAILED;
    }
    st_plugin_term undisturbed = {.struct_size = sizeof undisturbed,
                                  .flags = ST_PLUGIN_PART,
                                  .name = "undisturbed",
                                  .unit = "",
                                  .value = 1,
                                  .doc = "the computation alone"};
    st_plugin_term disturbed = {.struct_size = sizeof disturbed,
                                .flags = ST_PLUGIN_PART,
                                .name = "disturbed",
                                .unit = "",
                                .value = factor - 1,
                                .doc = "what the message beside it adds"};
    sink->term(sink->context, &undisturbed);
    sink->term(sink->context, &disturbed);
    return ST_PLUGIN_OK;
}

/* ---- opening ---- */

static bool fill_class(overlap *own, const model *trees, size_t class)
{
    float features[MODEL_FEATURES];
    memcpy(features, trees->classes[class].features, sizeof features);
    double channels = own->host->settings[CHANNELS]->number;
    if (channels > 0 && !isnan(trees->least[CHANNELS_FEATURE])) {
        features[CHANNELS_FEATURE] = fminf(fmaxf((float)channels, trees->least[CHANNELS_FEATURE]),
                                           trees->most[CHANNELS_FEATURE]);
    }
    for (size_t i = 0; i < GRID; i++) {
        if (own->by_size) {
            double size = GRID_LEAST + (GRID_MOST - GRID_LEAST) * (double)i / (GRID - 1);
            features[MODEL_BYTES_FEATURE] =
                fminf(fmaxf((float)size, trees->least[MODEL_BYTES_FEATURE]),
                      trees->most[MODEL_BYTES_FEATURE]);
        }
        own->factors[class][i] = trees->classes[class].count == 0
                                     ? (double)NAN
                                     : (own->by_size || i == 0 ? model_slowdown(trees, features)
                                                               : own->factors[class][0]);
        if (trees->classes[class].count > 0 && isnan(own->factors[class][i])) {
            return false;
        }
    }
    return true;
}

/* The kernels of a step: all classes, weighted by their time beside communication. */
static void fill_step(overlap *own, const model *trees)
{
    for (size_t i = 0; i < GRID; i++) {
        double sum = 0;
        double weights = 0;
        for (size_t k = 0; k < MODEL_CLASSES; k++) {
            if (trees->classes[k].count > 0) {
                sum += trees->classes[k].weight * own->factors[k][i];
                weights += trees->classes[k].weight;
            }
        }
        own->factors[STEP][i] = sum / weights;
    }
}

/* The text of a file; NULL with the reason where it cannot be read. */
static char *read_file(const char *path, size_t *length, char *reason, size_t reason_bytes)
{
    char *text = NULL;
    long size = 0;
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0 ||
        size > LARGEST_MODEL || fseek(file, 0, SEEK_SET) != 0) {
        (void)snprintf(reason, reason_bytes, "the model '%.200s' cannot be read", path);
    } else {
        text = malloc((size_t)size + 1);
        *length = text != NULL ? fread(text, 1, (size_t)size, file) : 0;
        if (text == NULL || *length != (size_t)size) {
            (void)snprintf(reason, reason_bytes, "the model '%.200s' cannot be read", path);
            free(text);
            text = NULL;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return text;
}

static const char *read_model(const char *given, model *trees, char *reason, size_t reason_bytes)
{
    if (given[0] == '\0') {
        return "the option 'model' is missing; 'steptime fit overlap TABLE -o FILE' writes one";
    }
    if (strncmp(given, "steptime-slowdown ", 18) == 0) {
        return model_read(trees, given, strlen(given), reason, reason_bytes);
    }
    size_t length = 0;
    char *text = read_file(given, &length, reason, reason_bytes);
    if (text == NULL) {
        return reason;
    }
    const char *fault = model_read(trees, text, length, reason, reason_bytes);
    free(text);
    return fault;
}

static void keep_quiet(const char *message)
{
    (void)message;
}

static int open_overlap(const st_plugin_host *host, void **instance)
{
    char reason[256];
    model trees;
    (void)XGBRegisterLogCallback(keep_quiet);
    const char *fault = read_model(host->settings[MODEL]->text, &trees, reason, sizeof reason);
    if (fault != NULL) {
        host->error(host->context, fault);
        return ST_PLUGIN_FAILED;
    }
    overlap *own = host->allocate(host->context, sizeof *own);
    bool filled = own != NULL;
    if (own != NULL) {
        *own = (overlap){.host = host, .by_size = !isnan(trees.least[MODEL_BYTES_FEATURE])};
        own->least_bytes = exp((double)trees.least[MODEL_BYTES_FEATURE]);
        own->most_bytes = exp((double)trees.most[MODEL_BYTES_FEATURE]);
        for (size_t k = 0; k < MODEL_CLASSES && filled; k++) {
            filled = fill_class(own, &trees, k);
        }
        fill_step(own, &trees);
    }
    model_free(&trees);
    if (!filled) {
        host->error(host->context, own == NULL ? "out of memory" : "XGBoost cannot predict");
        if (own != NULL) {
            host->release(host->context, own);
        }
        return ST_PLUGIN_FAILED;
    }
    *instance = own;
    return ST_PLUGIN_OK;
}

static void close_overlap(void *instance)
{
    overlap *own = instance;
    own->host->release(own->host->context, own);
}

static const st_plugin plugin = {
    .struct_size = sizeof(st_plugin),
    .abi = ST_PLUGIN_ABI,
    .id = "overlap-xgboost",
    .version = "1.0.0",
    .licence = "Apache-2.0",
    .summary = "slowdown beside communication, from boosted trees over measured kernels",
    .options = option_list,
    .option_count = OPTIONS,
    .providers = provider_list,
    .provider_count = SLOWDOWN_KINDS,
    .open = open_overlap,
    .close = close_overlap,
};

const st_plugin *st_plugin_describe(void)
{
    return &plugin;
}
