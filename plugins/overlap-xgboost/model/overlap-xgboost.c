/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much communication slows concurrent computation, from boosted trees that were trained on
 * kernels measured with and without communication (echo sec. 6).
 *
 * A sheet knows classes of kernels and the size of the message, no single kernels, so that the
 * trees are asked about the usual kernel of a class. They are asked when the plugin is opened, over
 * a grid of sizes where the training data had sizes at all; a block of rows only looks up.
 */
#include "model.h"

#define SLOWDOWN_CITE "echo sec. 6"
#include "slowdowns.h"
#include "text_file.h"

#include <math.h>
#include <string.h>

enum { MODEL, CHANNELS, OTHER_GPU, OPTIONS };
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
    bool other_gpu; /* a job may have one that the kernels did not run on */
    size_t gpus[MODEL_GPUS];
    size_t gpu_count; /* 0: nobody said */
    /* by GPU, the first where none is known, and by the logarithm of the size; NaN: the class was
     * not seen */
    double factors[MODEL_GPUS][KINDS][GRID];
} overlap;

static const st_plugin_option *const options[OPTIONS] = {
    [MODEL] = OPTION_TEXT(0, "model", "",
                          "file that 'steptime fit overlap -o FILE' wrote, or its contents",
                          "echo sec. 6"),
    [CHANNELS] =
        OPTION_NUMBER("channels", "", "0", 0, 1024,
                      "channels of the collective; 0: as in the training data", "echo table 4"),
    [OTHER_GPU] = OPTION_CHOICE("other_gpu", "refuse allow", "refuse",
                                "jobs on another GPU than that of the kernels", "echo table 4")};

/* ---- providers ---- */

/* The class whose usual kernel represents a provider. */
static const int rows_of[SLOWDOWN_KINDS] = {[SLOWDOWN_GEMM] = 0,
                                            [SLOWDOWN_ATTENTION] = 1,
                                            [SLOWDOWN_ELEMENTWISE] = 3,
                                            [SLOWDOWN_STEP] = STEP};

static double look_up(const overlap *plugin, const double factors[GRID], double size_bytes)
{
    if (!plugin->by_size)
        return factors[0];
    if (!(size_bytes > 0)) {
        return 1; /* no message, nothing alongside the computation */
    }
    if (size_bytes < plugin->least_bytes / 2 || size_bytes > plugin->most_bytes * 2)
        return (double)NAN;
    double clamped = fmin(fmax(size_bytes, plugin->least_bytes), plugin->most_bytes);
    double at = (log(clamped) - GRID_LEAST) / (GRID_MOST - GRID_LEAST) * (GRID - 1);
    at = fmin(fmax(at, 0), GRID - 1);
    size_t below = (size_t)at;
    size_t above = below + 1 < GRID ? below + 1 : below;
    double weight = at - (double)below;
    return (1 - weight) * factors[below] + weight * factors[above];
}

/* The place of a job's GPU among those of the kernels; SIZE_MAX: it is another one. */
static size_t place_of_gpu(const overlap *plugin, const double *const *columns, size_t row)
{
    int gpu = slowdown_gpu(columns, row);
    for (size_t i = 0; i < plugin->gpu_count; i++) {
        if (gpu != GPU_UNKNOWN && plugin->gpus[i] == (size_t)gpu) {
            return i;
        }
    }
    /* Or the job says nothing of its GPU. */
    bool unknown =
        plugin->gpu_count == 0 || columns[COLUMN_PEAK] == NULL || !(columns[COLUMN_PEAK][row] > 0);
    return unknown || plugin->other_gpu ? 0 : SIZE_MAX;
}

static double answer(const overlap *plugin, slowdown_kind kind, const double *const *columns,
                     size_t row)
{
    size_t gpu = place_of_gpu(plugin, columns, row);
    double size_bytes = columns[COLUMN_SIZE] != NULL ? columns[COLUMN_SIZE][row] : 25e6;
    return gpu == SIZE_MAX ? (double)NAN
                           : look_up(plugin, plugin->factors[gpu][rows_of[kind]], size_bytes);
}

static int slowdown_values(void *instance, slowdown_kind kind, size_t rows,
                           const double *const *columns, double *values)
{
    const overlap *plugin = instance;
    for (size_t i = 0; i < rows; i++)
        values[i] = answer(plugin, kind, columns, i);
    return ST_PLUGIN_OK;
}

static const char *name_of_gpu(int gpu)
{
    return gpu >= 0 && gpu < GPU_COUNT ? gpu_names[gpu] : "another";
}

static int slowdown_explain(void *instance, slowdown_kind kind, const double *const *columns,
                            const st_plugin_sink *sink)
{
    const overlap *plugin = instance;
    char origin[96];
    double factor = answer(plugin, kind, columns, 0);
    if (isnan(factor)) {
        /* Why a row is refused. */
        char reason[200];
        size_t row_gpu = place_of_gpu(plugin, columns, 0);
        double size_bytes = columns[COLUMN_SIZE] != NULL ? columns[COLUMN_SIZE][0] : 25e6;
        if (row_gpu == SIZE_MAX) {
            (void)snprintf(reason, sizeof reason,
                           "the model was trained on kernels of %s%s, but this GPU is %s; option "
                           "other_gpu=allow uses it anyway",
                           name_of_gpu((int)plugin->gpus[0]),
                           plugin->gpu_count > 1 ? " and others" : "",
                           name_of_gpu(slowdown_gpu(columns, 0)));
        } else if (isnan(plugin->factors[row_gpu][rows_of[kind]][0])) {
            (void)snprintf(reason, sizeof reason,
                           "the model was trained on no kernel of this class");
        } else {
            (void)snprintf(
                reason, sizeof reason,
                "a message of %.4g bytes is outside the training data, %.4g to %.4g bytes",
                size_bytes, plugin->least_bytes, plugin->most_bytes);
        }
        plugin->host->error(plugin->host->context, reason);
        return ST_PLUGIN_FAILED;
    }
    size_t gpu = place_of_gpu(plugin, columns, 0);
    int found = slowdown_gpu(columns, 0);
    bool same = plugin->gpu_count > 0 && found != GPU_UNKNOWN && plugin->gpus[gpu] == (size_t)found;
    (void)snprintf(origin, sizeof origin, "trained on %s%s",
                   plugin->gpu_count > 0 ? name_of_gpu((int)plugin->gpus[gpu])
                                         : "a GPU without a name",
                   plugin->gpu_count == 0 || same ? "" : ", which this GPU is not");
    slowdown_tell(sink, factor, origin);
    return ST_PLUGIN_OK;
}

/* ---- opening ---- */

/* What the trees are asked about a class on a GPU: its usual kernel. */
static void usual_kernel(const overlap *plugin, const model *trees, size_t slot, size_t class,
                         float features[MODEL_FEATURES])
{
    memcpy(features, trees->classes[class].features, sizeof trees->classes[class].features);
    double channels = plugin->host->settings[CHANNELS]->number;
    if (channels > 0 && !isnan(trees->least[CHANNELS_FEATURE]))
        features[CHANNELS_FEATURE] = fminf(fmaxf((float)channels, trees->least[CHANNELS_FEATURE]),
                                           trees->most[CHANNELS_FEATURE]);
    if (slot < plugin->gpu_count)
        features[MODEL_GPU_FEATURE] = (float)plugin->gpus[slot];
}

static bool fill_class(overlap *plugin, const model *trees, size_t slot, size_t class)
{
    float features[MODEL_FEATURES];
    double *factors = plugin->factors[slot][class];
    usual_kernel(plugin, trees, slot, class, features);
    for (size_t i = 0; i < GRID; i++) {
        if (plugin->by_size) {
            double size = GRID_LEAST + (GRID_MOST - GRID_LEAST) * (double)i / (GRID - 1);
            features[MODEL_BYTES_FEATURE] =
                fminf(fmaxf((float)size, trees->least[MODEL_BYTES_FEATURE]),
                      trees->most[MODEL_BYTES_FEATURE]);
        }
        if (trees->classes[class].count == 0) {
            factors[i] = (double)NAN;
        } else {
            factors[i] = plugin->by_size || i == 0 ? model_slowdown(trees, features) : factors[0];
            if (isnan(factors[i])) {
                return false;
            }
        }
    }
    return true;
}

/*
 * Where the class's own slowdown was measured, what the trees say of sizes is brought to its level:
 * at the usual size of the messages it is the measured one.
 */
static bool scale_class(overlap *plugin, const model *trees, size_t slot, size_t class)
{
    float features[MODEL_FEATURES];
    double measured = trees->classes[class].slowdown;
    if (isnan(measured))
        return true;
    usual_kernel(plugin, trees, slot, class, features);
    double usual = model_slowdown(trees, features);
    for (size_t i = 0; i < GRID; i++)
        plugin->factors[slot][class][i] = fmax(plugin->factors[slot][class][i] * measured / usual,
                                               fmin(measured, trees->least_slowdown));
    return usual > 0;
}

static const char *read_model(const char *given, model *trees, char *reason, size_t reason_bytes)
{
    if (given[0] == '\0')
        return "the option 'model' is missing; create one with 'steptime fit overlap TABLE -o "
               "FILE'";
    if (strncmp(given, "steptime-slowdown ", 18) == 0)
        return model_read(trees, given, strlen(given), reason, reason_bytes);
    size_t length = 0;
    char *text = read_file(given, LARGEST_MODEL, &length);
    if (text == NULL) {
        (void)snprintf(reason, reason_bytes, "the model '%.200s' cannot be read", given);
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
    if (fault != NULL)
        return st_plugin_fail(host, fault);
    overlap *plugin = host->allocate(host->context, sizeof *plugin);
    bool filled = plugin != NULL;
    if (plugin != NULL) {
        *plugin = (overlap){.host = host,
                            .by_size = !isnan(trees.least[MODEL_BYTES_FEATURE]),
                            .other_gpu = host->settings[OTHER_GPU]->number > 0,
                            .gpu_count = trees.gpu_count};
        memcpy(plugin->gpus, trees.gpus, sizeof plugin->gpus);
        plugin->least_bytes = exp((double)trees.least[MODEL_BYTES_FEATURE]);
        plugin->most_bytes = exp((double)trees.most[MODEL_BYTES_FEATURE]);
        size_t slots = plugin->gpu_count > 0 ? plugin->gpu_count : 1;
        bool factor_filled = true;
        for (size_t slot = 0; slot < slots && factor_filled; slot++) {
            for (size_t k = 0; k < MODEL_CLASSES && factor_filled; k++) {
                factor_filled =
                    fill_class(plugin, &trees, slot, k) && scale_class(plugin, &trees, slot, k);
            }
            /* The kernels of a step: all classes, weighted by their time concurrently with
             * communication. */
            for (size_t i = 0; i < GRID; i++) {
                double sum = 0;
                double weights = 0;
                for (size_t k = 0; k < MODEL_CLASSES; k++) {
                    if (trees.classes[k].count > 0) {
                        sum += trees.classes[k].weight * plugin->factors[slot][k][i];
                        weights += trees.classes[k].weight;
                    }
                }
                plugin->factors[slot][STEP][i] = sum / weights;
            }
        }
        filled = factor_filled;
    }
    model_free(&trees);
    if (!filled) {
        host->error(host->context, plugin == NULL ? "out of memory" : "XGBoost cannot predict");
        if (plugin != NULL) {
            host->release(host->context, plugin);
        }
        return ST_PLUGIN_FAILED;
    }
    *instance = plugin;
    return ST_PLUGIN_OK;
}

static void close_overlap(void *instance)
{
    overlap *plugin = instance;
    plugin->host->release(plugin->host->context, plugin);
}

DESCRIBE("overlap-xgboost", "1.0.0",
         "slowdown alongside communication, by boosted trees over measured kernels",
         WITH_OPTIONS(options), WITH_PROVIDERS(providers), .open = open_overlap,
         .close = close_overlap);
