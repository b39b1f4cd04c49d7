#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The traces of four ranks read on one core and on two, and the memory that a large one takes:
# byte-identical answers, and how much sooner two cores are done. Rounds alternate, since machines
# have moods. Usage: bench_trace_ranks.sh STEPTIME [MB OF EACH RANK]
set -euo pipefail

steptime=$1
size_mb=${2:-100}
rounds=3

if ! command -v taskset >/dev/null || [ "$(nproc)" -lt 2 ]; then
    echo "traces of four ranks: skipped, no taskset or one core"
    exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT

# A rank's step as Kineto writes it: an operator, its call and its kernel, about 1,150 bytes.
write_rank() { # RANK MB
    LC_ALL=C awk -v rank="$1" -v launches="$(($2 * 870))" 'BEGIN {
        printf "{\"distributedInfo\":{\"rank\":%d,\"world_size\":4},\"traceEvents\":[", rank
        text = "\"Concrete Inputs\":[\"\",\"\",\"1\"],\"Input type\":[\"float\",\"float\","
        text = text "\"Scalar\"],"
        text = text "\"Input Strides\":[[65536,1024,32,1],[65536,1024,32,1],[]],"
        text = text "\"Input Dims\":[[32,64,32,32],[32,64,32,32],[]]"
        name = "void at::native::vectorized_elementwise_kernel<4, "
        name = name "at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >("
        name = name "int, at::native::CUDAFunctor_add<float>)"
        for (i = 0; i < launches; i++) {
            at = 10*i
            printf "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::add_\",", i ? ",\n" : "\n"
            printf "\"pid\":31,\"tid\":32,"
            printf "\"ts\":%d.125,\"dur\":6.385,\"args\":{\"External id\":%d,", at, i
            printf "\"Ev Idx\":%d,%s}},\n", i, text
            printf "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\","
            printf "\"pid\":31,\"tid\":32,\"ts\":%d.5,\"dur\":4.012,\"args\":{", at + 1
            printf "\"External id\":%d,\"cbid\":211,\"correlation\":%d}},\n", i, i + 1
            printf "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,", name
            printf "\"ts\":%d.25,\"dur\":3.071,\"args\":{\"External id\":%d,", at + 8, i
            printf "\"device\":0,"
            printf "\"context\":1,\"stream\":7,\"correlation\":%d,", i + 1
            printf "\"registers per thread\":18,\"grid\":[5120,1,1],\"block\":[128,1,1]}}"
        }
        printf "\n]}\n"
    }'
}

mkdir "$folder/ranks"
for rank in 0 1 2 3; do
    write_rank "$rank" "$size_mb" >"$folder/ranks/rank$rank.json"
done

timed() { # CORES NAME
    local TIMEFORMAT=%R
    { time taskset -c "$1" "$steptime" trace summary "$folder/ranks" >"$folder/$2.txt" \
        2>/dev/null; } 2>>"$folder/$2.times"
}

for ((round = 0; round < rounds; round++)); do
    timed 0 one
    timed 0,1 two
    if ! cmp "$folder/one.txt" "$folder/two.txt"; then
        echo "traces of four ranks: another answer on two cores than on one"
        exit 1
    fi
done
paste "$folder/one.times" "$folder/two.times" |
    LC_ALL=C awk '{ print $1/$2, $1, $2 }' | sort -g >"$folder/sorted"
bytes=$(cat "$folder"/ranks/*.json | wc -c)
LC_ALL=C awk -v middle=$(((rounds + 1) / 2)) -v bytes="$bytes" '
    NR == middle {
        print "traces of four ranks, on one core and on two; the same bytes"
        printf "  one core                   %10.3f s   %.0f MB/s\n", $2, bytes/1e6/$2
        printf "  two cores                  %10.3f s\n", $3
        printf "  one / two                  %10.2f x   (1.8 to reach)\n", $1
    }' "$folder/sorted"
