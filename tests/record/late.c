/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that loads CUDA while it runs: libraries by their names and by paths, which lead to
 * ones that answer 999, functions by dlsym and by what CUDA itself has for that, and a plugin with
 * the runtime linked into it. The arguments are the path of a runtime and that of the plugin.
 */
#define _GNU_SOURCE
#include "cuda_own.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void function(void);

static void fail(const char *what, int got)
{
    fprintf(stderr, "%s: %d\n", what, got);
    exit(9);
}

static void find(void *library, const char *name, void *into)
{
    void *found = library != NULL ? dlsym(library, name) : NULL;
    if (found == NULL)
        fail(name, -1);
    memcpy(into, &found, sizeof found);
}

static void *open_library(const char *path, int how)
{
    void *library = dlopen(path, RTLD_NOW | how);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(8);
    }
    return library;
}

static void must(const char *what, int got)
{
    if (got != 0)
        fail(what, got);
}

static void by_path(const char *path, int how)
{
    int (*allocate)(void **pointer, size_t bytes) = NULL;
    int (*entry)(const char *name, function **into, uint64_t flags, int *result) = NULL;
    int (*driver_free)(uint64_t pointer) = NULL;
    function *found = NULL;
    void *pointer = NULL;
    int result = -1;
    void *runtime = open_library(path, how);
    find(runtime, "cudaMalloc", &allocate);
    must("cudaMalloc by path", allocate(&pointer, 2385));
    find(runtime, "cudaGetDriverEntryPoint", &entry);
    must("cudaGetDriverEntryPoint", entry("cuMemFree", &found, 0, &result));
    memcpy(&driver_free, &found, sizeof found);
    must("its result", result);
    must("cuMemFree", driver_free((uint64_t)(uintptr_t)pointer));
    dlclose(runtime);
}

static void by_name(void)
{
    int (*create)(blas_t * handle) = NULL;
    int (*version)(int *version) = NULL;
    int (*address)(const char *name, function **into, int version, uint64_t flags, int *result);
    int (*count)(int *count) = NULL;
    blas_t handle = NULL;
    function *found = NULL;
    int number = 0;
    find(open_library("libcublas.so.12", RTLD_LOCAL), "cublasCreate_v2", &create);
    must("cublasCreate", create(&handle));
    find(open_library("libnccl.so.2", RTLD_GLOBAL), "ncclGetVersion", &version);
    must("ncclGetVersion", version(&number));
    find(open_library("libcuda.so.1", RTLD_DEEPBIND), "cuGetProcAddress_v2", &address);
    must("cuGetProcAddress", address("cuDeviceGetCount", &found, 12000, 0, NULL));
    memcpy(&count, &found, sizeof found);
    must("cuDeviceGetCount", count(&number));
    if (number != 8)
        fail("devices", number);
}

int main(int argc, char **argv)
{
    int (*run)(void) = NULL;
    if (argc != 3)
        return 2;
    by_name();
    by_path(argv[1], RTLD_LOCAL);
    by_path(argv[1], RTLD_DEEPBIND); /* closed before, and mapped anew */
    for (int i = 0; i < 2; i++) {
        void *plugin = open_library(argv[2], RTLD_LOCAL | RTLD_DEEPBIND);
        find(plugin, "plugin_run", &run);
        must("the plugin", run());
        dlclose(plugin);
    }
    return 0;
}
