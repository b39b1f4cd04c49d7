/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin with the runtime linked into it, as nvcc makes it: its kernel is registered before
 * dlopen is over. */
#include "cuda_own.h"

static const char gelu[1];

__attribute__((constructor)) static void begin(void)
{
    void **binary = register_binary(NULL);
    register_function(binary, gelu, NULL, "_Z4geluPfPKfi", -1, NULL, NULL, NULL, NULL, NULL);
}

__attribute__((visibility("default"))) int plugin_run(void);
int plugin_run(void)
{
    void *block = NULL;
    int count = 2385;
    void *arguments[] = {&block, &block, &count};
    int error = cudaMalloc(&block, (size_t)count * sizeof(float));
    if (error == 0)
        error = cudaLaunchKernel(gelu, (dim3){10, 1, 1}, (dim3){256, 1, 1}, arguments, 0, NULL);
    return error != 0 ? error : cudaFree(block);
}
