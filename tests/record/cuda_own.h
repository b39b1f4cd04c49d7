/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA as the test programs declare it for themselves: no header of NVIDIA's is needed. */
#ifndef STEPTIME_TESTS_CUDA_OWN_H
#define STEPTIME_TESTS_CUDA_OWN_H

#include <stddef.h>
#include <stdint.h>

typedef struct dim3 {
    unsigned x, y, z;
} dim3;

typedef struct opaque *stream_t;
typedef struct opaque *event_t;
typedef struct opaque *graph_t;
typedef struct opaque *blas_t;
typedef struct opaque *comm_t;
typedef struct opaque *layout_t;
typedef struct opaque *description_t;

typedef struct unique_id {
    char text[128];
} unique_id;

enum { HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2, FP32 = 0, BF16 = 14, COMPUTE_FP32 = 68 };
enum { NCCL_FLOAT = 7, NCCL_BF16 = 9, NCCL_SUM = 0 };

int cudaGetDeviceCount(int *count);
int cudaSetDevice(int device);
int cudaMalloc(void **pointer, size_t bytes);
int cudaMallocAsync(void **pointer, size_t bytes, stream_t stream);
int cudaFree(void *pointer);
int cudaFreeAsync(void *pointer, stream_t stream);
int cudaMemGetInfo(size_t *free, size_t *total);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, stream_t stream);
int cudaMemset(void *to, int value, size_t bytes);
int cudaStreamCreate(stream_t *stream);
int cudaStreamCreateWithFlags(stream_t *stream, unsigned flags);
int cudaStreamDestroy(stream_t stream);
int cudaStreamSynchronize(stream_t stream);
int cudaStreamWaitEvent(stream_t stream, event_t event, unsigned flags);
int cudaStreamBeginCapture(stream_t stream, int mode);
int cudaStreamEndCapture(stream_t stream, graph_t *graph);
int cudaGraphInstantiate(graph_t *executable, graph_t graph, unsigned long long flags);
int cudaGraphLaunch(graph_t executable, stream_t stream);
int cudaGraphExecDestroy(graph_t executable);
int cudaGraphDestroy(graph_t graph);
int cudaEventCreate(event_t *event);
int cudaEventRecord(event_t event, stream_t stream);
int cudaEventDestroy(event_t event);
int cudaDeviceSynchronize(void);
int cudaGetLastError(void);
int cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                     stream_t stream);
int cudaMipmappedArrayGetSparseProperties(void *properties, void *array);
/* What nvcc calls before main. */
void **register_binary(void *binary) __asm__("__cudaRegisterFatBinary");
typedef void register_function_type(void **binary, const char *host, char *device, const char *name,
                                    int threads, void *a, void *b, void *c, void *d, int *e);
register_function_type register_function __asm__("__cudaRegisterFunction");
int cublasCreate_v2(blas_t *handle);
int cublasDestroy_v2(blas_t handle);
int cublasSetStream_v2(blas_t handle, stream_t stream);
typedef int cublasGemmEx_function(blas_t handle, int ta, int tb, int m, int n, int k,
                                  const void *alpha, const void *a, int type_a, int lda,
                                  const void *b, int type_b, int ldb, const void *beta, void *c,
                                  int type_c, int ldc, int compute, int algorithm);
cublasGemmEx_function cublasGemmEx;
int cublasLtCreate(blas_t *handle);
int cublasLtDestroy(blas_t handle);
int cublasLtMatrixLayoutCreate(layout_t *layout, int type, unsigned long rows,
                               unsigned long columns, long leading);
int cublasLtMatrixLayoutSetAttribute(layout_t layout, int attribute, const void *value,
                                     size_t bytes);
int cublasLtMatrixLayoutDestroy(layout_t layout);
int cublasLtMatmulDescCreate(description_t *description, int compute, int scale);
int cublasLtMatmulDescSetAttribute(description_t description, int attribute, const void *value,
                                   size_t bytes);
int cublasLtMatmulDescDestroy(description_t description);
typedef int matmul_function(blas_t handle, description_t how, const void *alpha, const void *a,
                            layout_t of_a, const void *b, layout_t of_b, const void *beta,
                            const void *c, layout_t of_c, void *d, layout_t of_d,
                            const void *algorithm, void *workspace, size_t bytes, stream_t stream);
matmul_function cublasLtMatmul;
int ncclCommInitRank(comm_t *comm, int ranks, unique_id id, int rank);
int ncclGetUniqueId(unique_id *id);
int ncclCommSplit(comm_t comm, int color, int key, comm_t *part, void *configuration);
int ncclCommCount(comm_t comm, int *ranks);
int ncclCommUserRank(comm_t comm, int *rank);
int ncclCommDestroy(comm_t comm);
int ncclGroupStart(void);
int ncclGroupEnd(void);
typedef int ncclAllReduce_function(const void *from, void *to, size_t count, int type, int op,
                                   comm_t comm, stream_t stream);
ncclAllReduce_function ncclAllReduce;
typedef int ncclReduceScatter_function(const void *from, void *to, size_t count, int type, int op,
                                       comm_t comm, stream_t stream);
ncclReduceScatter_function ncclReduceScatter;
int ncclAllGather(const void *from, void *to, size_t count, int type, comm_t comm, stream_t stream);
int ncclSend(const void *from, size_t count, int type, int peer, comm_t comm, stream_t stream);
int ncclRecv(void *to, size_t count, int type, int peer, comm_t comm, stream_t stream);

typedef struct opaque *backend_t;

int cudnnCreate(blas_t *handle);
int cudnnDestroy(blas_t handle);
int cudnnSetStream(blas_t handle, stream_t stream);
int cudnnBackendCreateDescriptor(int type, backend_t *made);
int cudnnBackendDestroyDescriptor(backend_t descriptor);
int cudnnBackendFinalize(backend_t descriptor);
int cudnnBackendSetAttribute(backend_t descriptor, int name, int type, int64_t count,
                             const void *elements);
int cudnnBackendGetAttribute(backend_t descriptor, int name, int type, int64_t most, int64_t *count,
                             void *elements);
int cudnnBackendExecute(blas_t handle, backend_t plan, backend_t pack);

#endif
