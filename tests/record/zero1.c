/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPT-2 124M over several GPUs as a C program without a framework trains it: products by cuBLASLt
 * with biases, GELU and their gradients as epilogues, own kernels, attention by products of a
 * batch, a stream for NCCL, gradients spread over ranks by layer, and parameters gathered after the
 * update of each rank's own part (ZeRO-1). Nothing is computed; which calls are made is what
 * counts.
 */
#include "cuda_own.h"
#include "must.h"

#include <stdio.h>
#include <stdlib.h>

enum { B = 4, T = 1024, C = 768, L = 12, HEADS = 12, VP = 50304, ROWS = B * T, STEPS = 3 };
enum { NONE = 1, BIAS = 4, GELU_AUX_BIAS = 164, DGELU_BGRAD = 208, BGRADB = 512 };
enum { EPILOGUE = 7, BIAS_POINTER = 8, AUX_POINTER = 9, AUX_LEADING = 10, WORKSPACE_BYTES = 1 };

typedef unsigned short bf16;

int cublasLtMatmulPreferenceCreate(layout_t *made);
int cublasLtMatmulPreferenceSetAttribute(layout_t of, int name, const void *value, size_t bytes);
int cublasLtMatmulPreferenceDestroy(layout_t of);
typedef int heuristic_function(blas_t handle, description_t how, layout_t a, layout_t b, layout_t c,
                               layout_t d, layout_t preference, int wanted, void *results,
                               int *found);
heuristic_function cublasLtMatmulAlgoGetHeuristic;

static int rank, world;
static stream_t compute, network;
static event_t ready;
static comm_t comm;
static blas_t blas;
static void *workspace;
static char *weights, *gradients, *activations;
static float *states;
static const size_t layer_weights = 12 * (size_t)C * C + 13 * (size_t)C;
static size_t all_weights;

static const char kernels[6];
enum { ENCODE, NORM, SOFTMAX, LOSS, NORM_BACK, ADAM };

static void register_kernels(void)
{
    static const char *const names[] = {
        [ENCODE] = "_Z23encoder_forward_kernel3P13__nv_bfloat16PKiPKS_S3_iii",
        [NORM] = "_Z25layernorm_forward_kernel6P13__nv_bfloat16PfS1_PKS_S3_S3_ii",
        [SOFTMAX] = "_Z23softmax_forward_kernel5P13__nv_bfloat16fPKS_ii",
        [LOSS] = "_Z24fused_classifier_kernel5P13__nv_bfloat16PfPKiiiii",
        [NORM_BACK] = "_Z27layernorm_backward_kernel10P13__nv_bfloat16S0_S0_PfPKS_S3_S3_PKfS5_ii",
        [ADAM] = "_Z13adamw_kernel3P13__nv_bfloat16PfS0_S1_S1_m",
    };
    void **binary = register_binary(NULL);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        register_function(binary, &kernels[i], NULL, names[i], -1, NULL, NULL, NULL, NULL, NULL);
}

/* Each kernel has at most eleven arguments, pointers first. */
static void launch(int kernel, unsigned blocks)
{
    int rows = ROWS, width = C;
    size_t count = all_weights / (size_t)world;
    float scale = 0.125F;
    void *some[] = {&activations, &activations, &activations, &weights, &gradients, &activations,
                    &activations, &activations, &activations, &rows,    &width};
    void *softmax[] = {&activations, &scale, &activations, &rows, &width};
    void *adam[] = {&weights, &states, &gradients, &states, &states, &count};
    void **arguments = kernel == ADAM ? adam : kernel == SOFTMAX ? softmax : some;
    MUST(cudaLaunchKernel(&kernels[kernel], (dim3){blocks, 1, 1}, (dim3){256, 1, 1}, arguments, 0,
                          compute));
}

typedef struct product {
    int m, n, k;
    int transposed; /* A */
    int epilogue;
    int batch;
} product;

static layout_t layout(int rows, int columns, int batch)
{
    layout_t made = NULL;
    const int64_t stride = (int64_t)rows * columns;
    MUST(
        cublasLtMatrixLayoutCreate(&made, BF16, (unsigned long)rows, (unsigned long)columns, rows));
    if (batch > 1) {
        MUST(cublasLtMatrixLayoutSetAttribute(made, 5, &batch, sizeof batch));
        MUST(cublasLtMatrixLayoutSetAttribute(made, 6, &stride, sizeof stride));
    }
    return made;
}

static description_t describe(const product *of)
{
    description_t how = NULL;
    const int64_t leading = of->m;
    MUST(cublasLtMatmulDescCreate(&how, COMPUTE_FP32, FP32));
    MUST(cublasLtMatmulDescSetAttribute(how, 3, &of->transposed, sizeof of->transposed));
    MUST(cublasLtMatmulDescSetAttribute(how, EPILOGUE, &of->epilogue, sizeof of->epilogue));
    if (of->epilogue != NONE)
        MUST(cublasLtMatmulDescSetAttribute(how, BIAS_POINTER, &weights, sizeof weights));
    if (of->epilogue == GELU_AUX_BIAS || of->epilogue == DGELU_BGRAD) {
        MUST(cublasLtMatmulDescSetAttribute(how, AUX_POINTER, &activations, sizeof activations));
        MUST(cublasLtMatmulDescSetAttribute(how, AUX_LEADING, &leading, sizeof leading));
    }
    return how;
}

static void multiply(const product *of)
{
    const float one = 1, zero = 0;
    const size_t bytes = (size_t)32 << 20;
    unsigned char results[96] = {0};
    int found = 0;
    layout_t preference = NULL;
    layout_t a = of->transposed ? layout(of->k, of->m, of->batch) : layout(of->m, of->k, of->batch);
    layout_t b = layout(of->k, of->n, of->batch), d = layout(of->m, of->n, of->batch);
    description_t how = describe(of);
    MUST(cublasLtMatmulPreferenceCreate(&preference));
    MUST(cublasLtMatmulPreferenceSetAttribute(preference, WORKSPACE_BYTES, &bytes, sizeof bytes));
    MUST(cublasLtMatmulAlgoGetHeuristic(blas, how, a, b, d, d, preference, 1, results, &found));
    must(found != 1, "how many algorithms there are", __LINE__);
    MUST(cublasLtMatmul(blas, how, &one, weights, a, activations, b, &zero, activations, d,
                        activations, d, results, workspace, bytes, compute));
    MUST(cublasLtMatmulPreferenceDestroy(preference));
    MUST(cublasLtMatmulDescDestroy(how));
    MUST(cublasLtMatrixLayoutDestroy(a));
    MUST(cublasLtMatrixLayoutDestroy(b));
    MUST(cublasLtMatrixLayoutDestroy(d));
}

/* Out, in: forward with an epilogue, or both gradients. */
static void forward_product(int out, int in, int epilogue)
{
    multiply(&(product){out, ROWS, in, 1, epilogue, 1});
}

static void backward_product(int out, int in, int epilogue)
{
    multiply(&(product){in, ROWS, out, 0, epilogue, 1});
    multiply(&(product){in, out, ROWS, 0, BGRADB, 1});
}

static void forward(void)
{
    launch(ENCODE, ROWS * C / 2048);
    for (int i = 0; i < L; i++) {
        launch(NORM, ROWS / 8);
        forward_product(3 * C, C, BIAS);
        multiply(&(product){T, T, C / HEADS, 1, NONE, B * HEADS});
        launch(SOFTMAX, B * HEADS * T / 8);
        multiply(&(product){C / HEADS, T, T, 0, NONE, B * HEADS});
        forward_product(C, C, BIAS);
        launch(NORM, ROWS / 8);
        forward_product(4 * C, C, GELU_AUX_BIAS);
        forward_product(C, 4 * C, BIAS);
    }
    launch(NORM, ROWS / 8);
    forward_product(VP, C, NONE);
    launch(LOSS, ROWS);
}

/* A layer's gradients, once the compute stream has them. */
static void spread(void)
{
    size_t part = layer_weights / (size_t)world;
    MUST(cudaEventRecord(ready, compute));
    MUST(cudaStreamWaitEvent(network, ready, 0));
    MUST(ncclGroupStart());
    MUST(ncclReduceScatter(gradients, gradients, part, NCCL_BF16, NCCL_SUM, comm, network));
    MUST(ncclGroupEnd());
}

static void backward(void)
{
    backward_product(VP, C, NONE);
    for (int i = L - 1; i >= 0; i--) {
        backward_product(C, 4 * C, DGELU_BGRAD);
        backward_product(4 * C, C, NONE);
        launch(NORM_BACK, ROWS / 8);
        backward_product(C, C, NONE);
        multiply(&(product){T, C / HEADS, T, 0, NONE, B * HEADS});
        multiply(&(product){T, T, C / HEADS, 1, NONE, B * HEADS});
        launch(SOFTMAX, B * HEADS * T / 8);
        multiply(&(product){C / HEADS, T, T, 0, NONE, B * HEADS});
        multiply(&(product){C / HEADS, T, T, 0, NONE, B * HEADS});
        backward_product(3 * C, C, NONE);
        launch(NORM_BACK, ROWS / 8);
        spread();
    }
}

static void update(void)
{
    size_t part = all_weights / (size_t)world;
    MUST(cudaEventRecord(ready, network));
    MUST(cudaStreamWaitEvent(compute, ready, 0));
    launch(ADAM, (unsigned)((part + 255) / 256));
    MUST(ncclAllGather(weights, weights, part, NCCL_BF16, comm, compute));
}

static int number_of(const char *name, int none)
{
    const char *text = getenv(name);
    return text != NULL ? (int)strtol(text, NULL, 10) : none;
}

int main(void)
{
    static int tokens[ROWS];
    const unique_id id = {"zero 1"};
    all_weights = (size_t)VP * C + (size_t)T * C + L * layer_weights + 2 * (size_t)C;
    rank = number_of("RANK", 0);
    world = number_of("WORLD_SIZE", 1);
    register_kernels();
    MUST(cudaSetDevice(number_of("LOCAL_RANK", 0)));
    MUST(cudaStreamCreate(&compute));
    MUST(cudaStreamCreateWithFlags(&network, 1));
    MUST(cudaEventCreate(&ready));
    MUST(cublasLtCreate(&blas));
    MUST(ncclCommInitRank(&comm, world, id, rank));
    MUST(cudaMalloc(&workspace, (size_t)32 << 20));
    MUST(cudaMalloc((void **)&weights, all_weights * sizeof(bf16)));
    MUST(cudaMalloc((void **)&gradients, all_weights * sizeof(bf16)));
    MUST(cudaMalloc((void **)&activations, (size_t)4 << 30));
    MUST(cudaMalloc((void **)&states, 3 * (all_weights / (size_t)world) * sizeof(float)));
    for (int step = 0; step < STEPS; step++) {
        MUST(cudaMemcpyAsync(activations, tokens, sizeof tokens, HOST_TO_DEVICE, compute));
        MUST(cudaMemset(gradients, 0, all_weights * sizeof(bf16)));
        forward();
        backward();
        update();
        MUST(cudaMemcpy(tokens, activations, sizeof(float), DEVICE_TO_HOST));
        MUST(cudaDeviceSynchronize());
    }
    MUST(ncclCommDestroy(comm));
    MUST(cublasLtDestroy(blas));
    return 0;
}
