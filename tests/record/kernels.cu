// SPDX-License-Identifier: Apache-2.0
// What nvcc makes of a program: kernels, variables of the device and managed ones. Exits with the line of what is wrong.
#include <cuda_runtime.h>

#include <cstring>

__constant__ float table[64];
__managed__ int counter;

__global__ void scale(float *to, const float *from, int count, float factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        to[i] = factor * from[i] + table[i % 64];
}

template <typename T> struct pair {
    T *to;
    const T *from;
};

template <typename T> __global__ void add(pair<T> of, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        of.to[i] += of.from[i];
}

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return __LINE__;                                                                       \
    } while (false)

int main()
{
    const int count = 2385;
    const float written[4] = {1, 2, 3, 4};
    float back[4] = {};
    float *to = nullptr, *from = nullptr;
    void *address = nullptr;
    cudaDeviceProp device;
    cudaStream_t stream;
    size_t bytes = 0;
    REQUIRE(cudaGetDeviceProperties(&device, 0) == cudaSuccess && device.major == 9);
    REQUIRE(cudaMalloc(&to, count * sizeof *to) == cudaSuccess);
    REQUIRE(cudaMalloc(&from, count * sizeof *from) == cudaSuccess);
    REQUIRE(cudaMemcpy(from, written, sizeof written, cudaMemcpyHostToDevice) == cudaSuccess);
    REQUIRE(cudaMemcpyToSymbol(table, written, sizeof written, 16) == cudaSuccess);
    REQUIRE(cudaMemcpyFromSymbol(back, table, sizeof back, 16) == cudaSuccess);
    REQUIRE(memcmp(back, written, sizeof back) == 0);
    REQUIRE(cudaMemcpyToSymbol(table, written, sizeof written, 250) == cudaErrorInvalidValue);
    REQUIRE(cudaGetLastError() == cudaErrorInvalidValue);
    REQUIRE(cudaGetSymbolAddress(&address, table) == cudaSuccess && address != nullptr);
    REQUIRE(cudaGetSymbolSize(&bytes, table) == cudaSuccess && bytes == sizeof table);
    REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
    scale<<<(count + 255) / 256, 256, 0, stream>>>(to, from, count, 2.5f);
    REQUIRE(cudaGetLastError() == cudaSuccess);
    add<float><<<(count + 127) / 128, 128, 0, stream>>>(pair<float>{to, from}, count);
    REQUIRE(cudaGetLastError() == cudaSuccess);
    counter = 5;
    REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess && counter == 5);
    REQUIRE(cudaFree(to) == cudaSuccess && cudaFree(from) == cudaSuccess);
    return 0;
}
