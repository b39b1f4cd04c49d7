/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of GPT-2 124M on one GPU, as a C program makes them: products by cuBLAS, attention by
 * cuDNN, kernels for the rest, all tensors in a few allocations. Nothing is computed; which calls
 * are made, with which sizes, is what counts. tests/record/gpt2.yaml is the same as a job.
 */
#include "cuda_own.h"
#include "must.h"

#include <stdio.h>
#include <stdlib.h>

enum { B = 16, T = 1024, C = 768, L = 12, HEADS = 12, V = 50257, VP = 50304, ROWS = B * T };
enum { STEPS = 4, BLOCK = 256, PACK = 8, WARPS = 8, BFLOAT16_OF_CUDNN = 9 };

typedef unsigned short bf16;

static stream_t stream;
static blas_t blas;
static blas_t dnn;
static backend_t attention, attention_backward, pack;

/* ---- tensors, in blocks ---- */

typedef struct block {
    char *start;
    size_t used;
    size_t bytes;
} block;

static void *take(block *from, size_t bytes)
{
    void *place = from->start + from->used;
    from->used += (bytes + 511) / 512 * 512;
    if (from->used > from->bytes)
        exit(5);
    return place;
}

static block allocate(size_t bytes)
{
    block made = {.bytes = bytes};
    MUST(cudaMalloc((void **)&made.start, bytes));
    return made;
}

typedef struct layer {
    bf16 *norm_weight, *norm_bias, *qkv, *projection, *norm2_weight, *norm2_bias, *up, *down;
    bf16 *qkv_bias, *projection_bias, *up_bias, *down_bias;
    bf16 *normed, *heads, *attended, *projected, *residual, *normed2, *hidden, *active, *out;
    float *mean, *rstd, *mean2, *rstd2;
} layer;

static layer layers[L];
static bf16 *tokens_table, *places_table, *encoded, *final, *logits, *grad, *grad_hidden, *scratch;
static float *losses, *mean, *rstd;
static int *inputs, *targets;
static block parameters, gradients;
static float *master, *first_moment, *second_moment;
static const size_t row_bytes = (size_t)ROWS * C * sizeof(bf16);
static const size_t parameter_count = (size_t)VP * C + (size_t)T * C +
                                      (size_t)L * (12 * (size_t)C * C + 13 * (size_t)C) +
                                      2 * (size_t)C;

static void place_layer(layer *own, block *weights, block *acts)
{
    const size_t matrix = (size_t)C * C * sizeof(bf16);
    const size_t vector = (size_t)C * sizeof(bf16);
    own->norm_weight = take(weights, vector);
    own->norm_bias = take(weights, vector);
    own->qkv = take(weights, 3 * matrix);
    own->qkv_bias = take(weights, 3 * vector);
    own->projection = take(weights, matrix);
    own->projection_bias = take(weights, vector);
    own->norm2_weight = take(weights, vector);
    own->norm2_bias = take(weights, vector);
    own->up = take(weights, 4 * matrix);
    own->up_bias = take(weights, 4 * vector);
    own->down = take(weights, 4 * matrix);
    own->down_bias = take(weights, vector);
    own->normed = take(acts, row_bytes);
    own->heads = take(acts, 3 * row_bytes);
    own->attended = take(acts, row_bytes);
    own->projected = take(acts, row_bytes);
    own->residual = take(acts, row_bytes);
    own->normed2 = take(acts, row_bytes);
    own->hidden = take(acts, 4 * row_bytes);
    own->active = take(acts, 4 * row_bytes);
    own->out = take(acts, row_bytes);
    own->mean = take(acts, ROWS * sizeof(float));
    own->rstd = take(acts, ROWS * sizeof(float));
    own->mean2 = take(acts, ROWS * sizeof(float));
    own->rstd2 = take(acts, ROWS * sizeof(float));
}

static void place_all(void)
{
    const size_t logit_bytes = (size_t)ROWS * VP * sizeof(bf16);
    block acts = allocate((size_t)L * 19 * row_bytes + logit_bytes + 16 * row_bytes);
    block states = allocate(3 * (parameter_count + 4096) * sizeof(float));
    block data = allocate((size_t)4 << 20);
    parameters = allocate((parameter_count + (size_t)L * 4096) * sizeof(bf16));
    gradients = allocate(parameters.bytes);
    tokens_table = take(&parameters, (size_t)VP * C * sizeof(bf16));
    places_table = take(&parameters, (size_t)T * C * sizeof(bf16));
    encoded = take(&acts, row_bytes);
    for (int i = 0; i < L; i++)
        place_layer(&layers[i], &parameters, &acts);
    final = take(&acts, row_bytes);
    mean = take(&acts, ROWS * sizeof(float));
    rstd = take(&acts, ROWS * sizeof(float));
    losses = take(&acts, ROWS * sizeof(float));
    grad = take(&acts, row_bytes);
    grad_hidden = take(&acts, 4 * row_bytes);
    scratch = take(&acts, 3 * row_bytes);
    logits = take(&acts, logit_bytes);
    inputs = take(&data, ROWS * sizeof(int));
    targets = take(&data, ROWS * sizeof(int));
    master = take(&states, parameter_count * sizeof(float));
    first_moment = take(&states, parameter_count * sizeof(float));
    second_moment = take(&states, parameter_count * sizeof(float));
}

static bf16 *gradient_of(const void *weight)
{
    size_t offset = (size_t)((const char *)weight - parameters.start);
    return (bf16 *)(void *)(gradients.start + offset);
}

/* ---- kernels ---- */

static const char kernels[12];
enum { ENCODE, NORM, RESIDUAL, GELU, LOSS, NORM_BACK, GELU_BACK, BIAS_BACK, ENCODE_BACK, ADAM };

static void register_kernels(void)
{
    static const char *const names[] = {
        [ENCODE] = "_Z23encoder_forward_kernel3P13__nv_bfloat16PKiPKS_S3_iii",
        [NORM] = "_Z25layernorm_forward_kernel6P13__nv_bfloat16PfS1_PKS_S3_S3_ii",
        [RESIDUAL] = "_Z30fused_residual_forward_kernel5P13__nv_bfloat16S0_PfS1_PKS_S3_S3_S3_ii",
        [GELU] = "_Z20gelu_forward_kernel2P13__nv_bfloat16PKS_i",
        [LOSS] = "_Z24fused_classifier_kernel5P13__nv_bfloat16PfPKiiiii",
        [NORM_BACK] = "_Z27layernorm_backward_kernel10P13__nv_bfloat16S0_S0_PfPKS_S3_S3_PKfS5_ii",
        [GELU_BACK] = "_Z28gelu_backward_inplace_kernelP13__nv_bfloat16PKS_i",
        [BIAS_BACK] = "_Z28matmul_backward_bias_kernel9P13__nv_bfloat16PKS_ii",
        [ENCODE_BACK] = "_Z19wte_backward_kernelP13__nv_bfloat16PKS_PKiii",
        [ADAM] = "_Z13adamw_kernel3P13__nv_bfloat16PfS0_S1_S1_m",
    };
    void **binary = register_binary(NULL);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        register_function(binary, &kernels[i], NULL, names[i], -1, NULL, NULL, NULL, NULL, NULL);
}

static void launch(int kernel, size_t blocks, void **arguments)
{
    MUST(cudaLaunchKernel(&kernels[kernel], (dim3){(unsigned)blocks, 1, 1}, (dim3){BLOCK, 1, 1},
                          arguments, 0, stream));
}

static size_t blocks_for(size_t elements)
{
    return (elements + (size_t)BLOCK * PACK - 1) / ((size_t)BLOCK * PACK);
}

/* D (m by n) of inner length k; all of 16 bits. */
static void product(int m, int n, int k, void *a, void *b, void *d)
{
    const float one = 1;
    MUST(cublasGemmEx(blas, 1, 0, m, n, k, &one, a, BF16, k, b, BF16, k, &one, d, BF16, m,
                      COMPUTE_FP32, -1));
}

static void norm(bf16 *to, float *mean_of, float *rstd_of, bf16 *from, bf16 *weight, bf16 *bias)
{
    int rows = ROWS, width = C;
    launch(NORM, ROWS / WARPS,
           (void *[]){&to, &mean_of, &rstd_of, &from, &weight, &bias, &rows, &width});
}

static void residual(const layer *own, bf16 *sum, bf16 *normed, bf16 *from, bf16 *add,
                     float *const of[2])
{
    int rows = ROWS, width = C;
    bf16 *weight = own->norm2_weight, *bias = own->norm2_bias;
    float *mean_of = of[0], *rstd_of = of[1];
    launch(
        RESIDUAL, ROWS / WARPS,
        (void *[]){&sum, &normed, &mean_of, &rstd_of, &from, &add, &weight, &bias, &rows, &width});
}

static void norm_back(bf16 *to, bf16 *from, bf16 *weight, float *mean_of, float *rstd_of)
{
    int rows = ROWS, width = C;
    bf16 *gradient = gradient_of(weight), *bias = gradient + C;
    float *partial = (float *)(void *)scratch;
    launch(NORM_BACK, ROWS / WARPS,
           (void *[]){&to, &gradient, &bias, &partial, &grad, &from, &weight, &mean_of, &rstd_of,
                      &rows, &width});
}

static void bias_back(const bf16 *bias, bf16 *from, int width)
{
    int rows = ROWS;
    bf16 *gradient = gradient_of(bias);
    launch(BIAS_BACK, (size_t)(width / 64), (void *[]){&gradient, &from, &rows, &width});
}

/* Both gradients of a product, and of what is added to it. */
static void product_back(const int sizes[2], bf16 *const weights[2], bf16 *from, bf16 *gradient_out)
{
    int out = sizes[0], in = sizes[1];
    bias_back(weights[1], gradient_out, out);
    product(in, ROWS, out, weights[0], gradient_out, grad);
    product(in, out, ROWS, from, gradient_out, gradient_of(weights[0]));
}

/* ---- cuDNN ---- */

static backend_t make(int type)
{
    backend_t made = NULL;
    MUST(cudnnBackendCreateDescriptor(type, &made));
    return made;
}

static backend_t tensor(int64_t name)
{
    const int64_t dims[] = {B, HEADS, T, C / HEADS};
    const int type = BFLOAT16_OF_CUDNN;
    backend_t made = make(17);
    MUST(cudnnBackendSetAttribute(made, 901, 1, 1, &type));
    MUST(cudnnBackendSetAttribute(made, 902, 3, 4, dims));
    MUST(cudnnBackendSetAttribute(made, 906, 3, 1, &name));
    MUST(cudnnBackendFinalize(made));
    return made;
}

/* Queries, keys and so on are attributes from `first` on. */
static backend_t plan(int type, int first, int count)
{
    backend_t operation = make(type), graph = make(15), heuristics = make(4), config = make(3);
    backend_t made = make(5);
    int64_t found = 0;
    for (int i = 0; i < count; i++) {
        backend_t own = tensor(i + 1);
        MUST(cudnnBackendSetAttribute(operation, first + i, 15, 1, &own));
    }
    MUST(cudnnBackendFinalize(operation));
    MUST(cudnnBackendSetAttribute(graph, 801, 15, 1, &operation));
    MUST(cudnnBackendFinalize(graph));
    MUST(cudnnBackendSetAttribute(heuristics, 201, 15, 1, &graph));
    MUST(cudnnBackendFinalize(heuristics));
    MUST(cudnnBackendGetAttribute(heuristics, 202, 15, 1, &found, &config));
    MUST(cudnnBackendSetAttribute(made, 401, 15, 1, &config));
    MUST(cudnnBackendFinalize(made));
    return made;
}

/* ---- a step ---- */

static void forward(void)
{
    int b = B, t = T, c = C, v = V, p = VP, hidden = ROWS * 4 * C;
    launch(ENCODE, blocks_for((size_t)ROWS * C),
           (void *[]){&encoded, &inputs, &tokens_table, &places_table, &b, &t, &c});
    bf16 *from = encoded;
    for (int i = 0; i < L; i++) {
        layer *own = &layers[i];
        norm(own->normed, own->mean, own->rstd, from, own->norm_weight, own->norm_bias);
        product(3 * C, ROWS, C, own->qkv, own->normed, own->heads);
        MUST(cudnnBackendExecute(dnn, attention, pack));
        product(C, ROWS, C, own->projection, own->attended, own->projected);
        residual(own, own->residual, own->normed2, from, own->projected,
                 (float *[]){own->mean2, own->rstd2});
        product(4 * C, ROWS, C, own->up, own->normed2, own->hidden);
        launch(GELU, blocks_for((size_t)hidden), (void *[]){&own->active, &own->hidden, &hidden});
        product(C, ROWS, 4 * C, own->down, own->active, own->projected);
        residual(own, own->out, final, own->residual, own->projected, (float *[]){mean, rstd});
        from = own->out;
    }
    product(VP, ROWS, C, tokens_table, final, logits);
    launch(LOSS, ROWS, (void *[]){&logits, &losses, &targets, &b, &t, &v, &p});
}

static void backward(void)
{
    int t = T, c = C, hidden = ROWS * 4 * C;
    product(C, ROWS, VP, tokens_table, logits, grad);
    product(C, VP, ROWS, final, logits, gradient_of(tokens_table));
    norm_back(scratch, layers[L - 1].out, layers[L - 1].norm_weight, mean, rstd);
    for (int i = L - 1; i >= 0; i--) {
        layer *own = &layers[i];
        product_back((int[]){C, 4 * C}, (bf16 *[]){own->down, own->down_bias}, own->active, grad);
        launch(GELU_BACK, blocks_for((size_t)hidden),
               (void *[]){&grad_hidden, &own->hidden, &hidden});
        product_back((int[]){4 * C, C}, (bf16 *[]){own->up, own->up_bias}, own->normed2,
                     grad_hidden);
        norm_back(scratch, own->residual, own->norm2_weight, own->mean2, own->rstd2);
        product_back((int[]){C, C}, (bf16 *[]){own->projection, own->projection_bias},
                     own->attended, grad);
        MUST(cudnnBackendExecute(dnn, attention_backward, pack));
        product_back((int[]){3 * C, C}, (bf16 *[]){own->qkv, own->qkv_bias}, own->normed, scratch);
        norm_back(scratch, i > 0 ? layers[i - 1].out : encoded, own->norm_weight, own->mean,
                  own->rstd);
    }
    bf16 *gradient = gradient_of(tokens_table);
    launch(ENCODE_BACK, blocks_for((size_t)ROWS * C),
           (void *[]){&gradient, &grad, &inputs, &t, &c});
}

static void update(void)
{
    size_t count = parameter_count;
    bf16 *weights = (bf16 *)(void *)parameters.start, *gradient = (bf16 *)(void *)gradients.start;
    launch(ADAM, (count + BLOCK - 1) / BLOCK,
           (void *[]){&weights, &master, &gradient, &first_moment, &second_moment, &count});
}

int main(void)
{
    static int host[2 * ROWS];
    register_kernels();
    MUST(cudaStreamCreate(&stream));
    MUST(cublasCreate_v2(&blas));
    MUST(cublasSetStream_v2(blas, stream));
    MUST(cudnnCreate(&dnn));
    MUST(cudnnSetStream(dnn, stream));
    place_all();
    attention = plan(41, 2800, 4);
    attention_backward = plan(43, 2851, 4);
    pack = make(16);
    for (int step = 0; step < STEPS; step++) {
        MUST(cudaMemcpyAsync(inputs, host, ROWS * sizeof(int), HOST_TO_DEVICE, stream));
        MUST(cudaMemcpyAsync(targets, host + ROWS, ROWS * sizeof(int), HOST_TO_DEVICE, stream));
        forward();
        MUST(cudaMemset(gradients.start, 0, gradients.bytes));
        backward();
        update();
        MUST(cudaMemcpyAsync(host, losses, ROWS * sizeof(float), DEVICE_TO_HOST, stream));
        MUST(cudaStreamSynchronize(stream));
    }
    return 0;
}
