/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes a product with the CUDA backend of ggml, a binary of others that is loaded as it is:
 * ggml FOLDER, which has libggml-base.so and libggml-cuda.so. Prototypes are those of ggml.h.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FP32 = 0, ROWS = 64, COLUMNS = 96, INNER = 238, STEPS = 4 };

typedef struct opaque *ggml_t;

typedef struct init_params {
    size_t bytes;
    void *memory;
    bool no_alloc;
} init_params;

static void *base, *cuda;

static void find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(3);
    }
    memcpy(function, &found, sizeof found);
}

static void *load(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(3);
    }
    return library;
}

int main(int argc, char **argv)
{
    ggml_t (*init)(init_params params);
    ggml_t (*new_tensor)(ggml_t context, int type, int64_t a, int64_t b);
    ggml_t (*product)(ggml_t context, ggml_t a, ggml_t b);
    ggml_t (*activate)(ggml_t context, ggml_t a);
    ggml_t (*new_graph)(ggml_t context);
    void (*expand)(ggml_t graph, ggml_t tensor);
    ggml_t (*cuda_init)(int device);
    int (*device_count)(void);
    ggml_t (*allocate)(ggml_t context, ggml_t backend);
    void (*set)(ggml_t tensor, const void *from, size_t offset, size_t bytes);
    void (*get)(ggml_t tensor, void *to, size_t offset, size_t bytes);
    int (*compute)(ggml_t backend, ggml_t graph);
    static float numbers[INNER * COLUMNS];
    if (argc != 2)
        return 2;
    base = load(argv[1], "libggml-base.so");
    cuda = load(argv[1], "libggml-cuda.so");
    find(base, "ggml_init", &init);
    find(base, "ggml_new_tensor_2d", &new_tensor);
    find(base, "ggml_mul_mat", &product);
    find(base, "ggml_gelu", &activate);
    find(base, "ggml_new_graph", &new_graph);
    find(base, "ggml_build_forward_expand", &expand);
    find(cuda, "ggml_backend_cuda_init", &cuda_init);
    find(cuda, "ggml_backend_cuda_get_device_count", &device_count);
    find(base, "ggml_backend_alloc_ctx_tensors", &allocate);
    find(base, "ggml_backend_tensor_set", &set);
    find(base, "ggml_backend_tensor_get", &get);
    find(base, "ggml_backend_graph_compute", &compute);
    ggml_t context = init((init_params){.bytes = (size_t)16 << 20, .no_alloc = true});
    ggml_t backend = device_count() > 0 ? cuda_init(0) : NULL;
    if (context == NULL || backend == NULL)
        return 4;
    ggml_t a = new_tensor(context, FP32, INNER, ROWS);
    ggml_t b = new_tensor(context, FP32, INNER, COLUMNS);
    ggml_t c = activate(context, product(context, a, b));
    ggml_t graph = new_graph(context);
    expand(graph, c);
    if (allocate(context, backend) == NULL)
        return 5;
    set(a, numbers, 0, sizeof(float) * INNER * ROWS);
    set(b, numbers, 0, sizeof numbers);
    for (int i = 0; i < STEPS; i++)
        if (compute(backend, graph) != 0)
            return 6;
    get(c, numbers, 0, sizeof(float) * ROWS * COLUMNS);
    return 0;
}
