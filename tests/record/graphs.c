/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs of cuDNN's backend, made as cudnn-frontend makes them: tensors, operations, heuristics, a
 * plan; one for each first argument. Numbers are those of cudnn_graph.h.
 */
#include "cuda_own.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HANDLE = 0, DATA_TYPE = 1, BOOLEAN = 2, INT64 = 3, POINTER = 6, DESCRIPTOR = 15 };
enum { CONFIG = 3, HEURISTICS = 4, PLAN = 5, GRAPH = 15, PACK = 16, TENSOR = 17, BFLOAT16 = 9 };
enum { MOST = 16 };

#define MUST(call) must((call), 0, #call, __LINE__)

static void must(int got, int expected, const char *what, int line)
{
    if (got == expected)
        return;
    fprintf(stderr, "line %d: %s gave %d, expected %d\n", line, what, got, expected);
    exit(9);
}

static backend_t kept[64];
static size_t kept_count;

static backend_t make(int type)
{
    backend_t made = NULL;
    MUST(cudnnBackendCreateDescriptor(type, &made));
    kept[kept_count++] = made;
    return made;
}

static void set(backend_t of, int name, int type, int64_t count, const void *elements)
{
    MUST(cudnnBackendSetAttribute(of, name, type, count, elements));
}

static backend_t tensor(int64_t name, int is_virtual, const int64_t dims[4])
{
    backend_t made = make(TENSOR);
    const int type = BFLOAT16;
    const char hidden = (char)is_virtual;
    int64_t count = dims[0] > 0 ? 4 : 3;
    set(made, 901, DATA_TYPE, 1, &type);
    set(made, 902, INT64, count, dims + 4 - count);
    set(made, 906, INT64, 1, &name);
    set(made, 907, BOOLEAN, 1, &hidden);
    MUST(cudnnBackendFinalize(made));
    return made;
}

static backend_t operation(int type, const int *names, const backend_t *tensors, size_t count)
{
    backend_t made = make(type);
    for (size_t i = 0; i < count; i++)
        set(made, names[i], DESCRIPTOR, 1, &tensors[i]);
    MUST(cudnnBackendFinalize(made));
    return made;
}

static backend_t plan_of(backend_t graph)
{
    backend_t heuristics = make(HEURISTICS);
    backend_t configs[MOST];
    int64_t count = 0;
    int64_t workspace = -1;
    set(heuristics, 201, DESCRIPTOR, 1, &graph);
    MUST(cudnnBackendFinalize(heuristics));
    MUST(cudnnBackendGetAttribute(heuristics, 202, DESCRIPTOR, 0, &count, NULL));
    must(count == 1, 1, "how many configurations there are", __LINE__);
    for (size_t i = 0; i < MOST; i++)
        configs[i] = make(CONFIG);
    MUST(cudnnBackendGetAttribute(heuristics, 202, DESCRIPTOR, MOST, &count, configs));
    must(count == 1, 1, "how many configurations were given", __LINE__);
    backend_t plan = make(PLAN);
    set(plan, 401, DESCRIPTOR, 1, &configs[0]);
    must(cudnnBackendGetAttribute(plan, 402, INT64, 1, &count, &workspace), 2004, "an open plan",
         __LINE__);
    MUST(cudnnBackendFinalize(plan));
    MUST(cudnnBackendGetAttribute(plan, 402, INT64, 1, &count, &workspace));
    must(workspace == 0 && count == 1, 1, "a workspace of no bytes", __LINE__);
    return plan;
}

/* Everything but the plan goes before it runs. */
static void run(const backend_t *operations, int64_t count)
{
    blas_t handle = NULL;
    stream_t stream = NULL;
    MUST(cudaStreamCreate(&stream));
    MUST(cudnnCreate(&handle));
    MUST(cudnnSetStream(handle, stream));
    backend_t graph = make(GRAPH);
    set(graph, 801, DESCRIPTOR, count, operations);
    MUST(cudnnBackendFinalize(graph));
    backend_t plan = plan_of(graph);
    backend_t pack = make(PACK);
    void *pointers[1] = {NULL};
    set(pack, 1001, POINTER, 1, pointers);
    MUST(cudnnBackendFinalize(pack));
    for (size_t i = 0; i < kept_count; i++)
        if (kept[i] != plan && kept[i] != pack)
            MUST(cudnnBackendDestroyDescriptor(kept[i]));
    for (int step = 0; step < 3; step++)
        MUST(cudnnBackendExecute(handle, plan, pack));
    MUST(cudnnBackendDestroyDescriptor(plan));
    MUST(cudnnBackendDestroyDescriptor(pack));
    MUST(cudaStreamSynchronize(stream));
    MUST(cudnnDestroy(handle));
}

static void convolution(void)
{
    const int names[] = {704, 703, 705};
    const backend_t tensors[] = {tensor(1, 0, (int64_t[]){8, 64, 56, 56}),
                                 tensor(2, 0, (int64_t[]){128, 64, 3, 3}),
                                 tensor(3, 0, (int64_t[]){8, 128, 28, 28})};
    const backend_t all[] = {operation(10, names, tensors, 3)};
    run(all, 1);
}

static void product(void)
{
    const int names[] = {1520, 1521, 1522};
    const int pointwise[] = {751, 753};
    const backend_t tensors[] = {tensor(1, 0, (int64_t[]){0, 5, 238, 96}),
                                 tensor(2, 0, (int64_t[]){0, 5, 96, 385}),
                                 tensor(3, 1, (int64_t[]){0, 5, 238, 385})};
    const backend_t activated[] = {tensors[2], tensor(4, 0, (int64_t[]){0, 5, 238, 385})};
    const backend_t all[] = {operation(19, names, tensors, 3),
                             operation(13, pointwise, activated, 2)};
    run(all, 2);
}

static void attention(void)
{
    const int names[] = {1520, 1521, 1522};
    const int pointwise[] = {751, 753};
    backend_t q = tensor(1, 0, (int64_t[]){2, 12, 1024, 64});
    backend_t k = tensor(2, 0, (int64_t[]){2, 12, 64, 512});
    backend_t v = tensor(3, 0, (int64_t[]){2, 12, 512, 64});
    backend_t o = tensor(4, 0, (int64_t[]){2, 12, 1024, 64});
    backend_t s = tensor(5, 1, (int64_t[]){2, 12, 1024, 512});
    backend_t p = tensor(6, 1, (int64_t[]){2, 12, 1024, 512});
    const backend_t all[] = {operation(19, names, (backend_t[]){q, k, s}, 3),
                             operation(13, pointwise, (backend_t[]){s, p}, 2),
                             operation(19, names, (backend_t[]){p, v, o}, 3)};
    run(all, 3);
}

static void attention_backward(void)
{
    const int names[] = {2851, 2852, 2853, 2854};
    const backend_t tensors[] = {
        tensor(1, 0, (int64_t[]){2, 12, 1024, 64}), tensor(2, 0, (int64_t[]){2, 12, 1024, 64}),
        tensor(3, 0, (int64_t[]){2, 12, 1024, 64}), tensor(4, 0, (int64_t[]){2, 12, 1024, 64})};
    const backend_t all[] = {operation(43, names, tensors, 4)};
    run(all, 1);
}

/* Four heads of queries to one of keys. */
static void grouped_attention(void)
{
    const int names[] = {2851, 2852, 2853, 2854};
    const backend_t tensors[] = {
        tensor(1, 0, (int64_t[]){2, 12, 1024, 64}), tensor(2, 0, (int64_t[]){2, 3, 1024, 64}),
        tensor(3, 0, (int64_t[]){2, 3, 1024, 64}), tensor(4, 0, (int64_t[]){2, 12, 1024, 64})};
    const backend_t all[] = {operation(43, names, tensors, 4)};
    run(all, 1);
}

int cudnnCreateTensorDescriptor(backend_t *made);
int cudnnDestroyTensorDescriptor(backend_t of);
int cudnnSetTensorNdDescriptorEx(backend_t of, int format, int type, int count, const int *dims);
int cudnnSetTensorNdDescriptor(backend_t of, int type, int count, const int *dims,
                               const int *strides);
int cudnnCreatePoolingDescriptor(backend_t *made);
int cudnnDestroyPoolingDescriptor(backend_t of);
/* Their further arguments are not looked at. */
typedef int normalize_function(blas_t handle, int mode, int operations, const float *one,
                               const float *zero, backend_t x);
normalize_function cudnnBatchNormalizationForwardTrainingEx;
int cudnnBatchNormalizationForwardInference(blas_t handle, int mode, const float *one,
                                            const float *zero, backend_t x);
int cudnnPoolingForward(blas_t handle, backend_t pooling, const float *one, backend_t x);

/* Functions that were there before graphs. */
static void normalization(void)
{
    static const int dims[] = {17, 238, 5};
    blas_t handle = NULL;
    backend_t x = NULL, flat = NULL, pooling = NULL;
    MUST(cudnnCreate(&handle));
    MUST(cudnnCreateTensorDescriptor(&x));
    MUST(cudnnCreateTensorDescriptor(&flat));
    MUST(cudnnCreatePoolingDescriptor(&pooling));
    must(cudnnPoolingForward(handle, pooling, NULL, pooling), 2000, "no tensor", __LINE__);
    must(cudnnSetTensorNdDescriptor(flat, BFLOAT16, 9, dims, dims), 2000, "many sides", __LINE__);
    MUST(cudnnSetTensorNdDescriptorEx(x, 0, BFLOAT16, 4, (const int[]){8, 64, 56, 56}));
    MUST(cudnnSetTensorNdDescriptor(flat, 0, 3, dims, dims));
    MUST(cudnnBatchNormalizationForwardTrainingEx(handle, 1, 0, NULL, NULL, x));
    MUST(cudnnBatchNormalizationForwardInference(handle, 1, NULL, NULL, flat));
    MUST(cudnnPoolingForward(handle, pooling, NULL, x));
    MUST(cudnnDestroyTensorDescriptor(x));
    MUST(cudnnDestroyTensorDescriptor(flat));
    MUST(cudnnDestroyPoolingDescriptor(pooling));
    MUST(cudnnDestroy(handle));
}

static void misuse(void)
{
    backend_t made = make(TENSOR);
    int64_t count = 0;
    must(cudnnBackendGetAttribute(made, 902, INT64, 1, &count, NULL), 2004, "not final", __LINE__);
    MUST(cudnnBackendDestroyDescriptor(made));
    must(cudnnBackendCreateDescriptor(4321, &made), 2000, "no such type", __LINE__);
    must(cudnnBackendExecute(NULL, made, made), 2000, "no handle", __LINE__);
    backend_t graph = make(GRAPH);
    backend_t none = NULL;
    backend_t into = make(TENSOR);
    set(graph, 801, DESCRIPTOR, 1, &none);
    MUST(cudnnBackendFinalize(graph));
    must(cudnnBackendGetAttribute(graph, 801, DESCRIPTOR, 1, &count, &into), 2000, "none to copy",
         __LINE__);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } programs[] = {
        {"convolution", convolution},
        {"product", product},
        {"attention", attention},
        {"attention-backward", attention_backward},
        {"grouped-attention", grouped_attention},
        {"normalization", normalization},
        {"misuse", misuse},
    };
    for (size_t i = 0; argc == 2 && i < sizeof programs / sizeof programs[0]; i++)
        if (strcmp(argv[1], programs[i].name) == 0) {
            programs[i].run();
            return 0;
        }
    return 2;
}
