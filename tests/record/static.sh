#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A runtime to link into a program, as nvcc does with libcudart_static.a: static.sh CALLS OUTPUT.
# Its functions answer 999; what holds them has the text by which a real one is known.
set -eu
{
    echo 'extern const char kept[]; const char kept[] = "cudaErrorCudartUnloading";'
    echo '#define ANSWER { volatile long a[3] = {900, 90, 9}; return a[0] + a[1] + a[2]; }'
    awk '$1 == "cudart" {
        print "long " $2 "(void);\n__attribute__((used, noinline)) long " $2 "(void) ANSWER"
    }' "$1"
} >"$2"
