/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that use CUDA as few do, one for each first argument; they check what it answers. */
#define _GNU_SOURCE
#include "cuda_own.h"
#include "must.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#define ANSWERS(error, call) must((call) - (error), #call, __LINE__)

int cudaEventCreateWithFlags(event_t *event, unsigned flags);
int cudaEventElapsedTime(float *ms, event_t begin, event_t end);
int cudaStreamIsCapturing(stream_t stream, int *state);

typedef int set_matrix_function(int rows, int columns, int bytes, const void *from, int lda,
                                void *to, int ldb);
set_matrix_function cublasSetMatrix;
int cublasGetVector(int count, int bytes, const void *from, int x, void *to, int y);
typedef int axpy_function(blas_t blas, int count, const float *scale, const float *x, int dx,
                          float *y, int dy);
axpy_function cublasSaxpy_v2;
typedef int gemv_function(blas_t blas, int transposed, int m, int n, const float *scale,
                          const float *matrix, int lda, const float *x, int dx, const float *more,
                          float *y, int dy);
gemv_function cublasSgemv_v2;
typedef int dot_function(blas_t blas, int count, const float *x, int dx, const float *y, int dy,
                         float *sum);
dot_function cublasSdot_v2;

static const char gelu[1];
static stream_t per_thread(void)
{
    const uintptr_t handle = 2;
    stream_t stream;
    memcpy(&stream, &handle, sizeof stream);
    return stream;
}

static int launch(unsigned grid_y, stream_t stream)
{
    return cudaLaunchKernel(gelu, (dim3){7, grid_y, 1}, (dim3){256, 1, 1}, NULL, 0, stream);
}

static void states(void)
{
    stream_t stream = NULL;
    graph_t graph = NULL;
    event_t untimed = NULL, timed = NULL;
    int state = 0;
    float ms = 0;
    MUST(cudaStreamCreate(&stream));
    ANSWERS(401, cudaStreamEndCapture(stream, &graph));
    MUST(cudaStreamBeginCapture(stream, 0));
    ANSWERS(401, cudaStreamBeginCapture(stream, 0));
    MUST(launch(1, stream));
    ANSWERS(900, cudaStreamSynchronize(stream));
    MUST(cudaStreamIsCapturing(stream, &state));
    ANSWERS(2, state);
    ANSWERS(901, cudaStreamEndCapture(stream, &graph));
    MUST(graph != NULL);
    /* A thread's default stream is captured as any other is. */
    MUST(cudaStreamBeginCapture(per_thread(), 0));
    MUST(launch(1, per_thread()));
    MUST(cudaStreamEndCapture(per_thread(), &graph));
    MUST(cudaStreamSynchronize(per_thread()));
    MUST(cudaEventCreateWithFlags(&untimed, 2));
    MUST(cudaEventCreate(&timed));
    MUST(cudaEventRecord(untimed, stream));
    MUST(cudaEventRecord(timed, stream));
    ANSWERS(400, cudaEventElapsedTime(&ms, untimed, timed));
    MUST(cudaEventElapsedTime(&ms, timed, timed));
    MUST(launch(65535, stream));
    ANSWERS(9, launch(65536, stream));
}

static graph_t instantiated(graph_t graph)
{
    graph_t executable = NULL;
    MUST(cudaGraphInstantiate(&executable, graph, 0));
    return executable;
}

/* Two kernels in a graph, which is launched within another behind a third kernel. */
static void nested(void)
{
    stream_t stream = NULL;
    graph_t inner = NULL, outer = NULL;
    MUST(cudaStreamCreate(&stream));
    MUST(cudaStreamBeginCapture(stream, 0));
    MUST(launch(2, stream));
    MUST(launch(3, stream));
    MUST(cudaStreamEndCapture(stream, &inner));
    inner = instantiated(inner);
    MUST(cudaStreamBeginCapture(stream, 0));
    MUST(launch(5, stream));
    MUST(cudaGraphLaunch(inner, stream));
    MUST(cudaStreamEndCapture(stream, &outer));
    outer = instantiated(outer);
    for (int i = 0; i < 4; i++)
        MUST(cudaGraphLaunch(outer, NULL));
    MUST(cudaDeviceSynchronize());
}

typedef struct kernel_node {
    const void *function;
    dim3 grid, block;
    unsigned shared;
    void **arguments, **extra;
} kernel_node;

typedef struct set_node {
    void *to;
    size_t pitch;
    unsigned value, width;
    size_t columns, rows;
} set_node;

int cudaGraphCreate(graph_t *graph, unsigned flags);
int cudaGraphGetNodes(graph_t graph, graph_t *nodes, size_t *count);
int cudaGraphAddKernelNode(graph_t *node, graph_t graph, const graph_t *after, size_t count,
                           const kernel_node *what);
int cudaGraphAddMemsetNode(graph_t *node, graph_t graph, const graph_t *after, size_t count,
                           const set_node *what);
typedef int add_copy_function(graph_t *node, graph_t graph, const graph_t *after, size_t count,
                              void *to, const void *from, size_t bytes, int kind);
add_copy_function cudaGraphAddMemcpyNode1D;
int cudaGraphKernelNodeSetParams(graph_t node, const kernel_node *what);
int cudaGraphExecKernelNodeSetParams(graph_t executable, graph_t node, const kernel_node *what);
int cudaGraphExecMemcpyNodeSetParams(graph_t executable, graph_t node, const void *what);
int cudaGraphExecNodeSetParams(graph_t executable, graph_t node, const void *what);
int cudaGraphNodeSetEnabled(graph_t executable, graph_t node, unsigned enabled);
int cudaGraphExecUpdate(graph_t executable, graph_t graph, void *result);

typedef int add_node_function(graph_t *node, graph_t graph, const graph_t *after, size_t count,
                              const void *what);
int cudaGraphAddNode(graph_t *node, graph_t graph, const graph_t *after, const void *edges,
                     size_t count, const void *what);
int cudaGraphKernelNodeGetParams(graph_t node, kernel_node *what);
int cudaGraphNodeGetType(graph_t node, int *type);
int cudaLaunchHostFunc(stream_t stream, void (*function)(void *data), void *data);
typedef int grouped_function(blas_t blas, const int *ta, const int *tb, const int *m, const int *n,
                             const int *k, const float *alphas, const float **a, const int *lda,
                             const float **b, const int *ldb, const float *betas, float **c,
                             const int *ldc, int groups, const int *members);
grouped_function cublasSgemmGroupedBatched;

static const char relu[1];
static const char scaled[1];

static void nothing(void *data)
{
    (void)data;
}

/* A group of NCCL and a call of cuBLAS are a node each: five of them, without the event. The last
 * becomes another kernel, and in one launch the three products, too. */
static void change_captured(const kernel_node *other)
{
    stream_t stream = NULL;
    event_t event = NULL;
    graph_t graph = NULL, nodes[8];
    comm_t comm = NULL;
    blas_t blas = NULL;
    unique_id id;
    size_t count = 8;
    int type = 0;
    float *numbers = NULL;
    const int none[] = {0, 0, 0}, sizes[] = {265, 900, 9}, members[] = {2, 3, 1};
    MUST(cudaMalloc((void **)&numbers, 238500 * sizeof *numbers));
    MUST(ncclGetUniqueId(&id));
    MUST(ncclCommInitRank(&comm, 1, id, 0));
    MUST(cublasCreate_v2(&blas));
    MUST(cudaStreamCreate(&stream));
    MUST(cublasSetStream_v2(blas, stream));
    MUST(cudaEventCreate(&event));
    MUST(cudaStreamBeginCapture(stream, 0));
    MUST(launch(1, stream));
    MUST(cudaEventRecord(event, stream));
    MUST(ncclGroupStart());
    MUST(ncclAllReduce(numbers, numbers, 2385, NCCL_FLOAT, NCCL_SUM, comm, stream));
    MUST(ncclAllReduce(numbers, numbers, 3852, NCCL_FLOAT, NCCL_SUM, comm, stream));
    MUST(ncclGroupEnd());
    MUST(cublasSgemmGroupedBatched(blas, none, none, sizes, sizes, sizes, NULL, NULL, sizes, NULL,
                                   sizes, NULL, NULL, sizes, 3, members));
    MUST(cudaLaunchHostFunc(stream, nothing, NULL));
    MUST(launch(1, stream));
    MUST(cudaStreamEndCapture(stream, &graph));
    MUST(cudaGraphGetNodes(graph, nodes, &count));
    ANSWERS(5, (int)count);
    MUST(cudaGraphNodeGetType(nodes[3], &type));
    ANSWERS(3, type);
    graph = instantiated(graph);
    MUST(cudaGraphExecKernelNodeSetParams(graph, nodes[4], other));
    MUST(cudaGraphLaunch(graph, stream));
    MUST(cudaGraphExecKernelNodeSetParams(graph, nodes[2], other));
    MUST(cudaGraphLaunch(graph, stream));
}

/* Nodes of any type, whose parameters come back and go in again with another argument. */
static void added(void)
{
    struct {
        int type, reserved[3];
        kernel_node kernel;
        uintptr_t rest[25];
    } any = {.kernel = {gelu, {7, 1, 1}, {256, 1, 1}, 0, NULL, NULL}};
    add_node_function *driver = NULL;
    kernel_node given;
    graph_t graph = NULL, node = NULL, same = NULL;
    int length = 2385, type = 9;
    void *block = NULL;
    void *arguments[] = {&block, &length};
    void *found = dlsym(RTLD_DEFAULT, "cuGraphAddNode");
    memcpy(&driver, &found, sizeof driver);
    MUST(cudaMalloc(&block, 1 << 20));
    MUST(cudaGraphCreate(&graph, 0));
    MUST(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &any));
    MUST(driver(&same, graph, &node, 1, &any));
    any.kernel.function = scaled;
    any.kernel.arguments = arguments;
    MUST(cudaGraphAddNode(&node, graph, &same, NULL, 1, &any));
    any.type = 5;
    MUST(cudaGraphAddNode(&same, graph, &node, NULL, 1, &any));
    MUST(cudaGraphNodeGetType(same, &type));
    ANSWERS(5, type);
    any.type = 4;
    ANSWERS(1, cudaGraphAddNode(&same, graph, &node, NULL, 1, &any)); /* of no graph */
    for (int i = 0; i < 2; i++) {
        MUST(cudaGraphKernelNodeGetParams(node, &given));
        MUST(given.function != scaled || given.grid.x != 7 || given.block.x != 256);
        ANSWERS(length, *(int *)given.arguments[1]);
        length = *(int *)given.arguments[1] = 5238;
        MUST(cudaGraphKernelNodeSetParams(node, &given));
    }
    MUST(cudaGraphLaunch(instantiated(graph), NULL));
    MUST(cudaGraphDestroy(graph));
}

/* Nodes that change in what is launched, in the graph, or are off for a while. */
static void changes(void)
{
    const kernel_node first = {gelu, {7, 1, 1}, {256, 1, 1}, 0, NULL, NULL};
    kernel_node other = first;
    graph_t graph = NULL, nodes[4], found[8], one, two;
    size_t count = 8;
    void *block = NULL;
    static char host[3852];
    other.function = relu;
    MUST(cudaMalloc(&block, 1 << 20));
    const set_node set = {block, 0, 0, 1, 2385, 1};
    /* cudaMemcpy3DParms: from word 4, to word 12, three rows of 1,284 bytes */
    uintptr_t volume[20] = {[4] = (uintptr_t)host, [12] = (uintptr_t)block, [16] = 1284, 3, 1, 1};
    struct {
        int type, reserved[3];
        set_node set;
    } any = {.type = 2, .set = {block, 0, 0, 2, 2619, 1}};
    MUST(cudaGraphCreate(&graph, 0));
    MUST(cudaGraphAddKernelNode(&nodes[0], graph, NULL, 0, &first));
    MUST(cudaGraphAddMemcpyNode1D(&nodes[1], graph, nodes, 1, block, host, 2385, HOST_TO_DEVICE));
    MUST(cudaGraphAddMemsetNode(&nodes[2], graph, nodes, 2, &set));
    MUST(cudaGraphAddKernelNode(&nodes[3], graph, nodes, 3, &first));
    MUST(cudaGraphGetNodes(graph, found, &count));
    ANSWERS(4, (int)count);
    MUST(memcmp(nodes, found, sizeof nodes));
    one = instantiated(graph);
    MUST(cudaGraphLaunch(one, NULL));
    MUST(cudaGraphExecKernelNodeSetParams(one, nodes[0], &other));
    MUST(cudaGraphExecMemcpyNodeSetParams(one, nodes[1], volume));
    MUST(cudaGraphExecNodeSetParams(one, nodes[2], &any));
    MUST(cudaGraphLaunch(one, NULL));
    MUST(cudaGraphLaunch(one, NULL));
    MUST(cudaGraphKernelNodeSetParams(nodes[3], &other));
    two = instantiated(graph);
    MUST(cudaGraphLaunch(two, NULL));
    MUST(cudaGraphNodeSetEnabled(two, nodes[1], 0));
    MUST(cudaGraphLaunch(two, NULL));
    MUST(cudaGraphNodeSetEnabled(two, nodes[1], 1));
    MUST(cudaGraphLaunch(two, NULL));
    MUST(cudaGraphExecUpdate(one, graph, NULL));
    MUST(cudaGraphLaunch(one, NULL));
    ANSWERS(1, cudaGraphKernelNodeSetParams(one, &other));
    change_captured(&other);
    added();
    MUST(cudaDeviceSynchronize());
}

int cudaGraphAddChildGraphNode(graph_t *node, graph_t graph, const graph_t *after, size_t count,
                               graph_t child);
int cudaGraphExecChildGraphNodeSetParams(graph_t executable, graph_t node, graph_t child);
int cudaGraphChildGraphNodeGetGraph(graph_t node, graph_t *graph);
int cudaGraphClone(graph_t *clone, graph_t graph);
int cudaGraphNodeFindInClone(graph_t *found, graph_t node, graph_t clone);
int cudaGraphDestroyNode(graph_t node);

/* Graphs as nodes are copies: of what is added or changed later they have nothing, but what changes
 * in the copy itself. */
static void children(void)
{
    const kernel_node first = {gelu, {7, 1, 1}, {256, 1, 1}, 0, NULL, NULL};
    kernel_node other = first;
    struct {
        int type, reserved[3];
        graph_t child;
        uintptr_t rest[30];
    } any = {.type = 4};
    graph_t parent = NULL, child = NULL, copy = NULL, clone = NULL, node = NULL, nodes[4], one;
    void *block = NULL;
    int type = 9;
    other.function = relu;
    MUST(cudaMalloc(&block, 1 << 20));
    const set_node set = {block, 0, 0, 1, 2385, 1};
    MUST(cudaGraphCreate(&parent, 0));
    MUST(cudaGraphCreate(&child, 0));
    MUST(cudaGraphAddKernelNode(&nodes[0], child, NULL, 0, &other));
    MUST(cudaGraphAddMemsetNode(&nodes[1], child, nodes, 1, &set));
    MUST(cudaGraphAddKernelNode(&node, parent, NULL, 0, &first));
    MUST(cudaGraphAddChildGraphNode(&nodes[2], parent, &node, 1, child));
    MUST(cudaGraphAddKernelNode(&node, child, nodes, 2, &first)); /* too late for the parent */
    any.child = child;
    MUST(cudaGraphAddNode(&nodes[3], parent, NULL, NULL, 0, &any)); /* which has it */
    MUST(cudaGraphNodeGetType(nodes[3], &type));
    ANSWERS(4, type);
    one = instantiated(parent); /* gelu, relu, set, relu, set, gelu */
    MUST(cudaGraphLaunch(one, NULL));
    MUST(cudaGraphChildGraphNodeGetGraph(nodes[2], &copy));
    MUST(cudaGraphNodeFindInClone(&node, nodes[0], copy));
    MUST(cudaGraphKernelNodeSetParams(node, &first)); /* gelu instead of relu */
    MUST(cudaGraphLaunch(instantiated(parent), NULL));
    MUST(cudaGraphClone(&clone, child));
    MUST(cudaGraphNodeFindInClone(&node, nodes[1], clone));
    MUST(cudaGraphDestroyNode(node)); /* relu, gelu */
    MUST(cudaGraphExecChildGraphNodeSetParams(one, nodes[3], clone));
    MUST(cudaGraphDestroy(clone));
    MUST(cudaGraphLaunch(one, NULL));
    ANSWERS(1, cudaGraphChildGraphNodeGetGraph(nodes[0], &copy));
    ANSWERS(400, cudaGraphAddChildGraphNode(&node, parent, NULL, 0, NULL));
    MUST(cudaDeviceSynchronize());
}

/* Counts GPUs, and becomes another program of the same number. */
static void becomes(char **argv)
{
    int count = 0;
    MUST(cudaGetDeviceCount(&count));
    (void)execl(argv[0], argv[0], "works", (char *)NULL);
    exit(8);
}

static void works(void)
{
    void *block = NULL;
    MUST(cudaMalloc(&block, 2385));
    MUST(launch(1, NULL));
    MUST(cudaDeviceSynchronize());
}

/* Vectors and matrices of cuBLAS, host memory first. */
static void vectors(void)
{
    blas_t blas = NULL;
    float *numbers = NULL;
    float host[12];
    const float scale = 2.385F;
    float sum = scale;
    for (int i = 0; i < 12; i++)
        host[i] = (float)i;
    MUST(cublasCreate_v2(&blas));
    MUST(cudaMalloc((void **)&numbers, 238500 * sizeof *numbers));
    MUST(cublasSetMatrix(3, 2, 4, host, 4, numbers, 3));
    host[0] = scale;
    MUST(cublasGetVector(6, 4, numbers, 1, host, 1));
    MUST(host[0] > 0 || host[3] < 4 || host[3] > 4);
    MUST(cublasSaxpy_v2(blas, 79500, &scale, numbers, 1, numbers, 1));
    MUST(cublasSgemv_v2(blas, 0, 265, 900, &scale, numbers, 265, numbers, 1, &scale, numbers, 1));
    MUST(cublasSdot_v2(blas, 79500, numbers, 1, numbers, 1, &sum));
    MUST(sum > 0);
    MUST(cublasDestroy_v2(blas));
    ANSWERS(1, cublasSdot_v2(blas, 79500, numbers, 1, numbers, 1, &sum));
}

static void versions(void)
{
    int count = 0;
    MUST(dlopen("libcudart.so.12", RTLD_NOW) == NULL);
    MUST(cudaGetDeviceCount(&count));
}

/* The structure grew with the function's versions; programs have what theirs knows. */
static void pci_info(void)
{
    enum { ROOM = 128, UNTOUCHED = 0xa5 };
    static const struct {
        const char *name;
        size_t bytes;
    } versions_of_it[] = {{"nvmlDeviceGetPciInfo", 32},
                          {"nvmlDeviceGetPciInfo_v2", 36},
                          {"nvmlDeviceGetPciInfo_v3", 68}};
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    MUST(library == NULL);
    for (size_t i = 0; i < sizeof versions_of_it / sizeof versions_of_it[0]; i++) {
        unsigned char info[ROOM];
        int (*function)(void *device, void *info) = NULL;
        void *found = dlsym(library, versions_of_it[i].name);
        memcpy(&function, &found, sizeof function);
        memset(info, UNTOUCHED, sizeof info);
        void *device = NULL;
        memcpy(&device, &(uintptr_t){1}, sizeof device);
        MUST(function(device, info));
        for (size_t k = 0; k < ROOM; k++)
            MUST((info[k] != UNTOUCHED) != (k < versions_of_it[i].bytes));
    }
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";
    if (strcmp(what, "becomes") == 0)
        becomes(argv);
    register_function(register_binary(NULL), gelu, NULL, "_Z4geluv", -1, NULL, NULL, NULL, NULL,
                      NULL);
    register_function(register_binary(NULL), relu, NULL, "_Z4reluv", -1, NULL, NULL, NULL, NULL,
                      NULL);
    register_function(register_binary(NULL), scaled, NULL, "_Z5scalePfi", -1, NULL, NULL, NULL,
                      NULL, NULL);
    if (strcmp(what, "changes") == 0)
        changes();
    if (strcmp(what, "children") == 0)
        children();
    if (strcmp(what, "states") == 0)
        states();
    if (strcmp(what, "nested") == 0)
        nested();
    if (strcmp(what, "works") == 0)
        works();
    if (strcmp(what, "vectors") == 0)
        vectors();
    if (strcmp(what, "versions") == 0)
        versions();
    if (strcmp(what, "pci-info") == 0)
        pci_info();
    return 0;
}
