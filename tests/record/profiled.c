/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program for `steptime record --profile`: three steps of two kernels, a copy, a graph of two
 * kernels, and a sum over all ranks on a stream of its own, which waits for the compute stream.
 * With PRODUCTS in its environment, a product of cuBLAS and one of cuBLASLt.
 */
#include "cuda_own.h"
#include "must.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 3, COUNT = 2385 };

static const char gelu[1];
static const char norm[1];

static int number_of(const char *name)
{
    const char *text = getenv(name);
    return text != NULL ? (int)strtol(text, NULL, 10) : 0;
}

/* A child that ends as programs do, while CUPTI measures its parent. */
static void fork_a_child(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        exit(3);
    MUST(waitpid(child, &status, 0) != child);
    MUST(!WIFEXITED(status) || WEXITSTATUS(status) != 3);
}

/* Transposed, and five in a batch. */
static void multiply(void)
{
    blas_t blas = NULL, lt = NULL;
    layout_t left = NULL, right = NULL, result = NULL;
    description_t how = NULL;
    const int transposed = 1, batch = 5;
    MUST(cublasCreate_v2(&blas));
    MUST(cublasLtCreate(&lt));
    MUST(cublasGemmEx(blas, 1, 0, 96, 64, 238, NULL, NULL, BF16, 238, NULL, BF16, 238, NULL, NULL,
                      BF16, 96, COMPUTE_FP32, 0));
    MUST(cublasLtMatmulDescCreate(&how, COMPUTE_FP32, FP32));
    MUST(cublasLtMatmulDescSetAttribute(how, 3, &transposed, sizeof transposed));
    MUST(cublasLtMatrixLayoutCreate(&left, FP32, 119, 33, 119));
    MUST(cublasLtMatrixLayoutCreate(&right, FP32, 119, 21, 119));
    MUST(cublasLtMatrixLayoutCreate(&result, FP32, 33, 21, 33));
    MUST(cublasLtMatrixLayoutSetAttribute(result, 5, &batch, sizeof batch));
    MUST(cublasLtMatmul(lt, how, NULL, NULL, left, NULL, right, NULL, NULL, result, NULL, result,
                        NULL, NULL, 2385, NULL));
}

int main(void)
{
    stream_t network = NULL;
    event_t done = NULL;
    comm_t comm = NULL;
    float *gradients = NULL;
    unique_id id = {"profiled"};
    void **binary = register_binary(NULL);
    register_function(binary, gelu, NULL, "_Z4geluPfPKfi", -1, NULL, NULL, NULL, NULL, NULL);
    register_function(binary, norm, NULL, "_Z4normPfPKfi", -1, NULL, NULL, NULL, NULL, NULL);
    MUST(cudaSetDevice(number_of("LOCAL_RANK")));
    MUST(cudaMalloc((void **)&gradients, COUNT * sizeof(float)));
    MUST(cudaStreamCreateWithFlags(&network, 1));
    MUST(cudaEventCreate(&done));
    MUST(ncclCommInitRank(&comm, number_of("WORLD_SIZE"), id, number_of("RANK")));
    for (int step = 0; step < STEPS; step++) {
        MUST(cudaMemcpyAsync(gradients, gradients, 40000, HOST_TO_DEVICE, NULL));
        MUST(cudaLaunchKernel(gelu, (dim3){7, 1, 1}, (dim3){256, 1, 1}, NULL, 0, NULL));
        MUST(cudaLaunchKernel(norm, (dim3){9, 1, 1}, (dim3){256, 1, 1}, NULL, 0, NULL));
        MUST(cudaGraphLaunch(NULL, NULL));
        MUST(cudaEventRecord(done, NULL));
        MUST(cudaStreamWaitEvent(network, done, 0));
        MUST(ncclAllReduce(gradients, gradients, COUNT, NCCL_FLOAT, NCCL_SUM, comm, network));
        MUST(cudaDeviceSynchronize());
    }
    if (getenv("PRODUCTS") != NULL)
        multiply();
    if (getenv("FORK") != NULL)
        fork_a_child();
    MUST(ncclCommDestroy(comm));
    return 0;
}
