#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Records a program that nvcc built with the shared and with the static runtime:
# nvcc.sh STEPTIME SOURCE
set -eu
steptime=$1 source=$2
PATH=$PATH:/usr/local/cuda/bin
if ! command -v nvcc >/dev/null; then
    echo '1..0 # SKIP there is no nvcc here'
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number=0
failed=0

check() {
    if [ "$1" -eq 0 ]; then word=ok; else word='not ok' failed=1; fi
    number=$((number + 1))
    echo "$word $number - $2"
}

# The step that an import said, in milliseconds, is in this range.
step_is() {
    awk -v least="$1" -v most="$2" \
        '$1 == "step:" && $2 >= least && $2 <= most {found = 1} END {exit !found}' "$work/said"
}

for runtime in shared static; do
    nvcc -arch=sm_90 -cudart "$runtime" -o "$work/$runtime" "$source"
    "$steptime" record --device h100-sxm --json -o "$work/run.$runtime" -- "$work/$runtime" \
        >"$work/said" 2>"$work/errors" && code=0 || code=1
    grep -q '"launches": 2,' "$work/said" || code=1
    grep -q '"unsupported_calls": 0,' "$work/said" || code=1
    check "$code" "a program with the $runtime runtime"
    [ "$code" -eq 0 ] || cat "$work/said" "$work/errors"
done
# Kernels of templates in compressed binaries have the bytes of a plain one, also changed in place.
cat >"$work/bytes.cu" <<'END'
#include <cstdlib>
template <class T> __global__ void add_bias(T *y, const T *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] + T(1);
}
__global__ void gelu_inplace(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= 2;
}
int main(int count, char **words)
{
    int n = 23850 * 1024;
    float *x, *y;
    cudaMalloc(&x, 4L * n);
    cudaMalloc(&y, 4L * n);
    for (int i = 0; i < 4; i++) {
        if (count > 1 && atoi(words[1]) == 1)
            gelu_inplace<<<n / 256, 256>>>(x, n);
        else
            add_bias<float><<<n / 256, 256>>>(y, x, n);
        cudaDeviceSynchronize();
    }
}
END
for mode in none size speed; do
    nvcc -arch=sm_90 -cudart shared --compress-mode=$mode -Xfatbin -compress-all -o "$work/bytes" \
        "$work/bytes.cu" 2>"$work/errors" || { echo '# no --compress-mode here' && continue; }
    for kernel in 0 1; do
        rm -rf "$work/run.bytes"
        "$steptime" record --quiet --device a100-sxm-80gb -o "$work/run.bytes" -- \
            "$work/bytes" $kernel >"$work/said" 2>"$work/errors" && code=0 || code=1
        "$steptime" trace import "$work/run.bytes" >"$work/said" 2>"$work/errors" || code=1
        step_is 0.140 0.150 || code=1
        check "$code" "bytes of kernel $kernel, compressed for $mode"
        [ "$code" -eq 0 ] || cat "$work/said" "$work/errors"
    done
done
# A graph of three kernels and a fill, node by node, launched four times; what launchers ask.
cat >"$work/nodes.cu" <<'END'
#include <cuda.h>
#include <cstdio>
__global__ void gelu(float *y, const float *x, int n) { y[0] = x[n - 1]; }
int main()
{
    int n = 23850 * 1024;
    float *x, *y;
    void *found;
    cudaMalloc(&x, 4L * n);
    cudaMalloc(&y, 4L * n);
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaGraphNode_t node, last = nullptr;
    cudaGraphCreate(&graph, 0);
    void *arguments[] = {&y, &x, &n};
    cudaKernelNodeParams launch = {};
    launch.func = (void *)gelu;
    launch.gridDim = dim3(n / 256);
    launch.blockDim = dim3(256);
    launch.kernelParams = arguments;
    for (int i = 0; i < 3; i++) {
        cudaGraphAddKernelNode(&node, graph, &last, last != nullptr, &launch);
        last = node;
    }
    cudaMemsetParams fill = {};
    fill.dst = y, fill.elementSize = 4, fill.width = (size_t)n, fill.height = 1;
    cudaGraphAddMemsetNode(&node, graph, &last, 1, &fill);
    cudaGraphInstantiate(&executable, graph, 0);
    for (int i = 0; i < 4; i++) {
        cudaGraphLaunch(executable, 0);
        cudaDeviceSynchronize();
    }
    unsigned kind = 0;
    cudaGetDriverEntryPointByVersion("cuPointerGetAttribute", &found, 12000, 0, nullptr);
    auto attribute = (CUresult(*)(void *, CUpointer_attribute, CUdeviceptr))found;
    attribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)y);
    alignas(64) CUtensorMap map;
    cuuint64_t sizes[] = {64, 64}, strides[] = {128};
    cuuint32_t box[] = {64, 64}, steps[] = {1, 1};
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, 0, nullptr);
    auto encode = (decltype(&cuTensorMapEncodeTiled))found;
    int encoded = encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, y, sizes, strides, box, steps,
                         CUtensorMapInterleave(0), CUtensorMapSwizzle(0),
                         CUtensorMapL2promotion(0), CUtensorMapFloatOOBfill(0));
    cudaDeviceProp properties;
    cudaGetDeviceProperties(&properties, 0);
    bool fine = kind == CU_MEMORYTYPE_DEVICE && encoded == 0;
    return fine && properties.memoryBusWidth == 5120 ? 0 : 1;
}
END
nvcc -arch=sm_90 -cudart shared -o "$work/nodes" "$work/nodes.cu"
"$steptime" record --quiet --device a100-sxm-80gb -o "$work/run.nodes" -- "$work/nodes" \
    >"$work/said" 2>"$work/errors" && code=0 || code=1
grep -q '^unknown ' "$work/said" && code=1
"$steptime" trace import "$work/run.nodes" >"$work/said" 2>>"$work/errors" || code=1
grep -q '^0 of 16 GPU tasks are unknown' "$work/said" || code=1
step_is 0.44 0.53 || code=1
check "$code" 'a graph node by node, and questions of launchers'
[ "$code" -eq 0 ] || cat "$work/said" "$work/errors"
# Ranges of NVTX name the steps, and evaluations between them are none.
cat >"$work/ranges.cu" <<'END'
#include <nvtx3/nvToolsExt.h>
__global__ void gelu(float *y, const float *x, int n) { y[0] = x[n - 1]; }
int main()
{
    int n = 23850 * 1024;
    float *x, *y;
    cudaMalloc(&x, 4L * n);
    cudaMalloc(&y, 4L * n);
    for (int i = 0; i < 15; i++) {
        nvtxRangePushA(i % 3 == 0 ? "eval" : "train_step");
        for (int k = 0; k < (i % 3 == 0 ? 7 : 2); k++)
            gelu<<<n / 256, 256>>>(y, x, n);
        cudaDeviceSynchronize();
        nvtxRangePop();
    }
}
END
nvcc -arch=sm_90 -cudart shared -o "$work/ranges" "$work/ranges.cu" -ldl
"$steptime" record --quiet --device a100-sxm-80gb -o "$work/run.ranges" -- "$work/ranges" \
    >"$work/said" 2>"$work/errors" && code=0 || code=1
"$steptime" trace import "$work/run.ranges" >"$work/said" 2>>"$work/errors" || code=1
step_is 0.28 0.31 || code=1
"$steptime" trace import "$work/run.ranges" --step 'ev*' >"$work/said" 2>>"$work/errors" || code=1
step_is 0.95 1.10 || code=1
check "$code" 'steps by ranges of NVTX'
[ "$code" -eq 0 ] || cat "$work/said" "$work/errors"
strip "$work/static"
"$steptime" record -o "$work/run.stripped" -- "$work/static" 2>"$work/errors" && code=1 || code=0
grep -q 'static runtime: ' "$work/errors" || code=1
check "$code" 'a stripped one is refused'
echo "1..$number"
exit $failed
