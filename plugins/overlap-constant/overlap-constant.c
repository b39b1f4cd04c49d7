/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much communication slows concurrent computation: one factor for each GPU and class of
 * kernels, with the values that Echo published (tables 2 and 3). Proteus, with one factor for a GPU
 * and a model, is the idea; a plugin that knows more takes its place.
 */
#define SLOWDOWN_CITE "echo tables 2 and 3"
#include "slowdowns.h"

#include <stdio.h>
#include <string.h>

/* The options, in the order of the descriptor. */
enum { GPU, CUDA, NETWORK, GEMM, ATTENTION, ELEMENTWISE, STEP, OPTIONS };

/* Of the option, and of the factors but for the first one. */
typedef enum overlap_gpu { JOB, A100, A800, RTX3090, GPUS } overlap_gpu;

typedef struct overlap_factors {
    const st_plugin_host *host;
    overlap_gpu gpu;
    double factors[GPUS][SLOWDOWN_KINDS];
    int is_given[SLOWDOWN_KINDS]; /* by the user */
} overlap_factors;

static const char *const gpu_words[GPUS] = {"job", "a100", "a800", "rtx3090"};

/* CUDA 11.8 and 12.1; Table 2 does not print the version of A100. */
static const double gemm_factors[GPUS][2] = {
    [A100] = {1.269, 1.269}, [A800] = {1.134, 1.178}, [RTX3090] = {1.264, 1.393}};
/* Layer norm; of A100 the mean of the kernels that Table 2 calls Transform, Sum and Grad. */
static const double memory_factors[GPUS][2] = {
    [A100] = {1.421, 1.421}, [A800] = {1.091, 1.207}, [RTX3090] = {1.180, 1.938}};
/* Whole steps on A100: BERT-large, GPT-2, VGG-19, ResNet-152, and their mean. */
static const double step_factors[] = {1.391, 1.481, 1.377, 1.435, 1.421};

#define NUMBER_OPTION(id, words) OPTION_FITTED(id, "", "0", 0, 50, words, "echo sec. 2.3")

static const st_plugin_option *const options[OPTIONS] = {
    [GPU] = OPTION_CHOICE("gpu", "job a100 a800 rtx3090", "job",
                          "the GPU whose published factors are used; job: its own, or the A100's "
                          "if none are published",
                          "echo tables 2 and 3"),
    [CUDA] = OPTION_CHOICE("cuda", "11.8 12.1", "12.1",
                           "the version of CUDA used to measure them, for a800 and rtx3090",
                           "echo table 3"),
    [NETWORK] =
        OPTION_CHOICE("network", "bert-large gpt2 vgg19 resnet152 mean", "mean",
                      "the network whose whole step gives slowdown_step, for a100", "echo table 2"),
    [GEMM] = NUMBER_OPTION("gemm", "factor of GEMMs; 0: the published one"),
    [ATTENTION] = NUMBER_OPTION("attention", "factor of attention; 0: that of products"),
    [ELEMENTWISE] =
        NUMBER_OPTION("elementwise", "factor of memory-bound kernels; 0: the published one"),
    [STEP] = NUMBER_OPTION("step", "factor of the kernels of a step; 0: the published one")};

/* ---- providers ---- */

/* The job's own GPU as far as it is published, which `published` says. */
static overlap_gpu gpu_of_job(const double *const *columns, size_t row, int *published)
{
    int found = slowdown_gpu(columns, row);
    const char *name = found != GPU_UNKNOWN ? gpu_names[found] : "";
    *published = 1;
    for (size_t i = A100; i < GPUS; i++) {
        if (strcmp(gpu_words[i], name) == 0) {
            return (overlap_gpu)i;
        }
    }
    *published = 0;
    return A100;
}

static int slowdown_values(void *instance, slowdown_kind kind, size_t rows,
                           const double *const *columns, double *values)
{
    const overlap_factors *factors = instance;
    int published = 1;
    for (size_t i = 0; i < rows; i++) {
        overlap_gpu gpu = factors->gpu != JOB ? factors->gpu : gpu_of_job(columns, i, &published);
        values[i] = factors->factors[gpu][kind];
    }
    return ST_PLUGIN_OK;
}

static int slowdown_explain(void *instance, slowdown_kind kind, const double *const *columns,
                            const st_plugin_sink *sink)
{
    const overlap_factors *factors = instance;
    char origin[96];
    int published = 1;
    overlap_gpu gpu = factors->gpu != JOB ? factors->gpu : gpu_of_job(columns, 0, &published);
    (void)snprintf(origin, sizeof origin, "%s%s%s",
                   factors->is_given[kind] ? "an option" : "published for ",
                   factors->is_given[kind] ? "" : gpu_words[gpu],
                   factors->is_given[kind] || published ? "" : ", nothing is for this GPU");
    slowdown_tell(sink, factors->factors[gpu][kind], origin);
    return ST_PLUGIN_OK;
}

/* ---- the plugin ---- */

static int open_overlap(const st_plugin_host *host, void **instance)
{
    overlap_factors *opened = host->allocate(host->context, sizeof *opened);
    if (opened == NULL)
        return st_plugin_fail(host, "out of memory");
    double given[OPTIONS];
    for (size_t i = GEMM; i < OPTIONS; i++) {
        given[i] = host->settings[i]->number;
        if (given[i] != 0 && given[i] < 1) {
            host->error(host->context, "a factor below 1 would make computation faster");
            host->release(host->context, opened);
            return ST_PLUGIN_FAILED;
        }
    }
    *opened = (overlap_factors){.host = host, .gpu = (overlap_gpu)host->settings[GPU]->number};
    for (size_t gpu = A100; gpu < GPUS; gpu++) {
        /* The factors of one GPU, with the user's own in place of published ones. */
        const overlap_gpu factor_gpu = (overlap_gpu)gpu;
        size_t cuda = (size_t)opened->host->settings[CUDA]->number;
        size_t network = (size_t)opened->host->settings[NETWORK]->number;
        double *factors = opened->factors[factor_gpu];
        factors[SLOWDOWN_GEMM] = given[GEMM] > 0 ? given[GEMM] : gemm_factors[factor_gpu][cuda];
        factors[SLOWDOWN_ATTENTION] =
            given[ATTENTION] > 0 ? given[ATTENTION] : factors[SLOWDOWN_GEMM];
        factors[SLOWDOWN_ELEMENTWISE] =
            given[ELEMENTWISE] > 0 ? given[ELEMENTWISE] : memory_factors[factor_gpu][cuda];
        factors[SLOWDOWN_STEP] =
            given[STEP] > 0 ? given[STEP]
                            : (factor_gpu == A100
                                   ? step_factors[network]
                                   : (factors[SLOWDOWN_GEMM] + factors[SLOWDOWN_ELEMENTWISE]) / 2);
    }
    opened->is_given[SLOWDOWN_GEMM] = given[GEMM] > 0;
    opened->is_given[SLOWDOWN_ATTENTION] = given[ATTENTION] > 0 || given[GEMM] > 0;
    opened->is_given[SLOWDOWN_ELEMENTWISE] = given[ELEMENTWISE] > 0;
    opened->is_given[SLOWDOWN_STEP] = given[STEP] > 0;
    *instance = opened;
    return ST_PLUGIN_OK;
}

static void close_overlap(void *instance)
{
    overlap_factors *factors = instance;
    factors->host->release(factors->host->context, factors);
}

DESCRIBE("overlap-constant", "1.0.0",
         "slowdown alongside communication, one factor for each GPU and class of kernels",
         WITH_OPTIONS(options), WITH_PROVIDERS(providers), .open = open_overlap,
         .close = close_overlap);
