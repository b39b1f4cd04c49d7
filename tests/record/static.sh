#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A runtime to link into a program, as nvcc does with libcudart_static.a: static.sh CALLS OUTPUT. Its functions
# answer 999; what holds them has the text by which a real one is known.
set -eu
{
    echo 'extern const char kept[]; const char kept[] = "cudaErrorCudartUnloading";'
    awk '$1 == "cudart" {
        print "long " $2 "(void);\n__attribute__((used, noinline)) long " $2 \
            "(void) { volatile long answer[3] = {900, 90, 9}; return answer[0] + answer[1] + answer[2]; }"
    }' "$1"
} >"$2"
