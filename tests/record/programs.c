/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs to be recorded, one for each first argument: training steps as frameworks lay them out
 * over ranks, and programs that do wrong. They check what CUDA answers, and need no peers: the
 * identity of a communicator is a text that all its ranks know.
 */
#define _GNU_SOURCE
#include "cuda_own.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 3, LAYERS = 5, HIDDEN = 384, TOKENS = 96, PARAMETERS = HIDDEN * HIDDEN };
static const size_t all_bytes = (size_t)LAYERS * PARAMETERS * sizeof(float);
static const size_t token_count = (size_t)TOKENS * HIDDEN;

#define MUST(call)           must((call), 0, #call, __LINE__)
#define ANSWERS(error, call) must((call), (error), #call, __LINE__)

static void must(int got, int expected, const char *what, int line)
{
    if (got == expected)
        return;
    fprintf(stderr, "line %d: %s gave %d, expected %d\n", line, what, got, expected);
    exit(9);
}

typedef struct worker {
    int rank;
    int world;
    stream_t compute;
    stream_t network;
    event_t done;
    blas_t blas;
    comm_t comm;
    float *weights;
    float *gradients;
    float *tokens;
} worker;

/* Where nvcc has a function of the host for each kernel; only its address counts. */
static const char gelu[1];
static const char no_kernel[1];

static int number_of(const char *name, int none)
{
    const char *text = getenv(name);
    return text != NULL ? (int)strtol(text, NULL, 10) : none;
}

static comm_t communicator(const char *group, int ranks, int rank)
{
    comm_t comm = NULL;
    unique_id id = {{0}};
    snprintf(id.text, sizeof id.text, "%s", group);
    MUST(ncclCommInitRank(&comm, ranks, id, rank));
    return comm;
}

static void begin(worker *own)
{
    void **binary = register_binary(NULL);
    register_function(binary, gelu, NULL, "_Z4geluPfPKfi", -1, NULL, NULL, NULL, NULL, NULL);
    own->rank = number_of("RANK", 0);
    own->world = number_of("WORLD_SIZE", 1);
    MUST(cudaSetDevice(number_of("LOCAL_RANK", 0)));
    MUST(cudaStreamCreate(&own->compute));
    MUST(cudaStreamCreateWithFlags(&own->network, 1));
    MUST(cudaEventCreate(&own->done));
    MUST(cublasCreate_v2(&own->blas));
    MUST(cublasSetStream_v2(own->blas, own->compute));
    MUST(cudaMalloc((void **)&own->weights, all_bytes));
    MUST(cudaMalloc((void **)&own->gradients, all_bytes));
    MUST(cudaMalloc((void **)&own->tokens, token_count * sizeof(float)));
}

static void end(worker *own)
{
    MUST(cudaDeviceSynchronize());
    if (own->comm != NULL)
        MUST(ncclCommDestroy(own->comm));
    MUST(cudaFree(own->weights));
    MUST(cudaFree(own->gradients));
    MUST(cudaFree(own->tokens));
    MUST(cublasDestroy_v2(own->blas));
    MUST(cudaEventDestroy(own->done));
    MUST(cudaStreamDestroy(own->network));
    MUST(cudaStreamDestroy(own->compute));
}

static void gemm(const worker *own, int m, int n, int k)
{
    const float one = 1;
    MUST(cublasGemmEx(own->blas, 1, 0, m, n, k, &one, own->weights, BF16, k, own->tokens, BF16, k,
                      &one, own->tokens, BF16, m, COMPUTE_FP32, -1));
}

static void activate(worker *own)
{
    int count = TOKENS * HIDDEN;
    void *arguments[] = {&own->tokens, &own->tokens, &count};
    MUST(cudaLaunchKernel(gelu, (dim3){TOKENS * HIDDEN / 256, 1, 1}, (dim3){256, 1, 1}, arguments,
                          0, own->compute));
}

/* The network's stream goes on when the layer is through. */
static void hand_over(const worker *own)
{
    MUST(cudaEventRecord(own->done, own->compute));
    MUST(cudaStreamWaitEvent(own->network, own->done, 0));
}

static void data_parallel(worker *own)
{
    own->comm = communicator("dp", own->world, own->rank);
    for (int step = 0; step < STEPS; step++) {
        for (int layer = 0; layer < LAYERS; layer++) {
            gemm(own, HIDDEN, TOKENS, HIDDEN);
            activate(own);
        }
        for (int layer = 0; layer < LAYERS; layer++) {
            gemm(own, HIDDEN, HIDDEN, TOKENS);
            gemm(own, HIDDEN, TOKENS, HIDDEN);
            hand_over(own);
            MUST(ncclAllReduce(own->gradients, own->gradients, PARAMETERS, NCCL_FLOAT, NCCL_SUM,
                               own->comm, own->network));
        }
        MUST(cudaStreamSynchronize(own->network));
    }
}

/* Columns, then rows, over all ranks; a sum over the ranks in each pass. */
static void tensor_parallel(worker *own)
{
    own->comm = communicator("tp", own->world, own->rank);
    for (int layer = 0; layer < LAYERS; layer++) {
        gemm(own, HIDDEN / own->world, TOKENS, HIDDEN);
        activate(own);
        gemm(own, HIDDEN, TOKENS, HIDDEN / own->world);
        MUST(ncclAllReduce(own->tokens, own->tokens, token_count, NCCL_BF16, NCCL_SUM, own->comm,
                           own->compute));
    }
}

static void pipeline(worker *own)
{
    own->comm = communicator("pp", own->world, own->rank);
    for (int micro = 0; micro < 4; micro++) {
        MUST(ncclGroupStart());
        if (own->rank > 0)
            MUST(ncclRecv(own->tokens, token_count, NCCL_BF16, own->rank - 1, own->comm,
                          own->compute));
        MUST(ncclGroupEnd());
        gemm(own, HIDDEN, TOKENS, HIDDEN);
        if (own->rank < own->world - 1)
            MUST(ncclSend(own->tokens, token_count, NCCL_BF16, own->rank + 1, own->comm,
                          own->compute));
    }
}

static void zero(worker *own)
{
    size_t shard = (size_t)LAYERS * PARAMETERS / (size_t)own->world;
    own->comm = communicator("zero", own->world, own->rank);
    MUST(ncclAllGather(own->weights, own->weights, shard, NCCL_FLOAT, own->comm, own->compute));
    for (int layer = 0; layer < LAYERS; layer++)
        gemm(own, HIDDEN, TOKENS, HIDDEN);
    MUST(ncclReduceScatter(own->gradients, own->gradients, shard, NCCL_FLOAT, NCCL_SUM, own->comm,
                           own->compute));
}

/* cuBLASLt: A is transposed, so that its rows are k; D has 7 products. */
static void blas_lt(worker *own)
{
    blas_t lt = NULL;
    description_t how = NULL;
    layout_t a = NULL;
    layout_t b = NULL;
    layout_t d = NULL;
    const int transposed = 1;
    const int batch = 7;
    const float one = 1;
    MUST(cublasLtCreate(&lt));
    MUST(cublasLtMatmulDescCreate(&how, COMPUTE_FP32, FP32));
    MUST(cublasLtMatmulDescSetAttribute(how, 3, &transposed, sizeof transposed));
    MUST(cublasLtMatrixLayoutCreate(&a, BF16, 238, 64, 238));
    MUST(cublasLtMatrixLayoutCreate(&b, BF16, 238, 96, 238));
    MUST(cublasLtMatrixLayoutCreate(&d, BF16, 64, 96, 64));
    MUST(cublasLtMatrixLayoutSetAttribute(d, 5, &batch, sizeof batch));
    MUST(cublasLtMatmul(lt, how, &one, own->weights, a, own->tokens, b, &one, own->tokens, d,
                        own->tokens, d, NULL, NULL, 0, own->compute));
    MUST(cublasLtMatrixLayoutDestroy(a));
    MUST(cublasLtMatrixLayoutDestroy(b));
    MUST(cublasLtMatrixLayoutDestroy(d));
    MUST(cublasLtMatmulDescDestroy(how));
    MUST(cublasLtDestroy(lt));
    ANSWERS(1, cublasLtDestroy(lt));
}

static void graph(worker *own)
{
    graph_t captured = NULL;
    graph_t executable = NULL;
    MUST(cudaStreamBeginCapture(own->compute, 0));
    for (int layer = 0; layer < LAYERS; layer++) {
        gemm(own, HIDDEN, TOKENS, HIDDEN);
        activate(own);
    }
    MUST(cudaStreamEndCapture(own->compute, &captured));
    MUST(cudaGraphInstantiate(&executable, captured, 0));
    for (int step = 0; step < STEPS; step++)
        MUST(cudaGraphLaunch(executable, own->compute));
    MUST(cudaGraphExecDestroy(executable));
    MUST(cudaGraphDestroy(captured));
}

static void *run_thread(void *context)
{
    worker *own = context;
    MUST(cudaSetDevice(0));
    for (int i = 0; i < 500; i++)
        activate(own);
    return NULL;
}

static void threads(worker *own)
{
    pthread_t started[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&started[i], NULL, run_thread, own);
    for (int i = 0; i < 4; i++)
        pthread_join(started[i], NULL);
}

static void out_of_memory(worker *own)
{
    void *blocks[64] = {NULL};
    size_t left = 0;
    size_t total = 0;
    (void)own;
    MUST(cudaMalloc(&blocks[0], (size_t)3 << 30));
    MUST(cudaMalloc(&blocks[1], (size_t)5 << 30));
    MUST(cudaMemGetInfo(&left, &total));
    ANSWERS(2, cudaMalloc(&blocks[2], left + 1));
    ANSWERS(2, cudaGetLastError());
    ANSWERS(0, cudaGetLastError());
    fprintf(stderr, "out of memory\n");
    exit(1);
}

static void misuse(worker *own)
{
    void *block = NULL;
    stream_t stream = own->network;
    MUST(cudaMalloc(&block, 2385));
    MUST(cudaFree(block));
    ANSWERS(1, cudaFree(block));
    ANSWERS(1, cudaMemcpy(block, &stream, sizeof stream, HOST_TO_DEVICE));
    MUST(cudaStreamCreate(&stream));
    MUST(cudaStreamDestroy(stream));
    ANSWERS(400, cudaStreamSynchronize(stream));
    ANSWERS(101, cudaSetDevice(999));
    ANSWERS(98, cudaLaunchKernel(no_kernel, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL));
    ANSWERS(9, cudaLaunchKernel(gelu, (dim3){1, 1, 1}, (dim3){2048, 1, 1}, NULL, 0, NULL));
    ANSWERS(801, cudaMipmappedArrayGetSparseProperties(NULL, NULL));
}

/* What was copied reads back; what was not is zero, also in memory that was used before. */
static void contents(worker *own)
{
    int written[64];
    int back[64];
    for (int i = 0; i < 64; i++)
        written[i] = 2385 * i;
    MUST(cudaMemcpy(own->tokens, written, sizeof written, HOST_TO_DEVICE));
    MUST(cudaMemcpyAsync(back, own->tokens, sizeof back, DEVICE_TO_HOST, own->compute));
    if (memcmp(back, written, sizeof back) != 0)
        exit(8);
    MUST(cudaMemset((char *)own->tokens + 4, 0x5a, 4));
    MUST(cudaMemcpy(back, own->tokens, sizeof back, DEVICE_TO_HOST));
    if (back[0] != 0 || back[1] != 0x5a5a5a5a || back[2] != 4770)
        exit(8);
    MUST(cudaMemcpy(back, own->weights, sizeof back, DEVICE_TO_HOST));
    for (int i = 0; i < 64; i++)
        if (back[i] != 0)
            exit(8);
}

static void forks(worker *own)
{
    pid_t child = fork();
    int state = 0;
    if (child == 0) {
        void *block;
        _exit(cudaMalloc(&block, 16) == 3 ? 7 : 1);
    }
    if (waitpid(child, &state, 0) != child || WEXITSTATUS(state) != 7)
        exit(8);
    activate(own);
}

static void descriptors(worker *own)
{
    for (int i = 3; i < 1024; i++)
        close(i);
    for (int i = 0; i < 20000; i++)
        activate(own);
}

static void dies(worker *own)
{
    activate(own);
    abort();
}

static void hangs(worker *own)
{
    activate(own);
    signal(SIGTERM, SIG_IGN);
    for (;;)
        pause();
}

typedef struct program {
    const char *name;
    void (*run)(worker *own);
} program;

static const program programs[] = {
    {"data-parallel", data_parallel},
    {"tensor-parallel", tensor_parallel},
    {"pipeline", pipeline},
    {"zero", zero},
    {"cublaslt", blas_lt},
    {"graph", graph},
    {"threads", threads},
    {"out-of-memory", out_of_memory},
    {"misuse", misuse},
    {"contents", contents},
    {"forks", forks},
    {"descriptors", descriptors},
    {"dies", dies},
    {"hangs", hangs},
};

int main(int argc, char **argv)
{
    worker own = {0};
    for (size_t i = 0; argc == 2 && i < sizeof programs / sizeof programs[0]; i++)
        if (strcmp(argv[1], programs[i].name) == 0) {
            begin(&own);
            programs[i].run(&own);
            end(&own);
            return 0;
        }
    fprintf(stderr, "no such program\n");
    return 2;
}
