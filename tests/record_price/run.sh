#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Recorded runs of several ranks, from logs through `trace import` to the other verbs of trace.
#
#   run.sh STEPTIME MAKE_RUN PLUGINS
#
# shellcheck disable=SC2015
set -eu
steptime=$1
make_run=$2
plugins=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number=0
failed=0

# check NAME: the exit status before it says whether that is well
check() {
    if [ "$1" -eq 0 ]; then word=ok; else word='not ok' failed=1; fi
    number=$((number + 1))
    echo "$word $number - $2"
}

# field FILE NAME: the first number of that name in JSON
field() {
    sed -n "s/.*\"$2\": *\([0-9.e+-]*\).*/\1/p" "$1" | head -n 1
}

# same A B: within 0.1 %
same() {
    awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(a > 0 && d * d < a * a * 1e-6) }'
}

import() {
    "$steptime" trace import "$@" --cluster dgx-a100 --gap 5us --path "$plugins" 2>>"$work/messages"
}

mkdir "$work/each" "$work/few" "$work/large" "$work/traces"
"$make_run" "$work/each" 16 4 2 3 each >"$work/counts"
"$make_run" "$work/few" 16 4 2 3 >/dev/null

import "$work/each" --json >"$work/once.json"
import "$work/each" --each --json >"$work/all.json"
import "$work/few" --json >"$work/few.json"

products=$(sed -n 's/^products //p' "$work/counts")
test "$(field "$work/once.json" products)" = "$products" && code=0 || code=1
check "$code" 'products are counted to the last one'

once=$(field "$work/once.json" step_ns)
all=$(field "$work/all.json" step_ns)
few=$(field "$work/few.json" step_ns)
same "$once" "$all" && code=0 || code=1
check "$code" "each rank read or once: $once and $all ns, within 0.1 %"
same "$few" "$all" && code=0 || code=1
check "$code" "one rank of each stage or all: $few and $all ns, within 0.1 %"

import "$work/few" -o "$work/traces" >/dev/null && code=0 || code=1
test "$(find "$work/traces" -name '*.json' | wc -l)" -eq 4 || code=1
check "$code" 'a trace for each worker'
for verb in summary graph replay idle kernels 'whatif --set speed.gemm=2'; do
    # shellcheck disable=SC2086
    "$steptime" trace $verb "$work/traces" --partial >"$work/out" 2>&1 && code=0 || code=1
    check "$code" "trace $verb reads them"
    [ "$code" -eq 0 ] || cat "$work/out"
done

# Products by measured neighbours take what the sheet of operators has for them with the same table.
# The tables have rows, columns and width as those who call cuBLAS count them.
printf '%s\n' m,n,k,us 4096,2304,768,97.3 2053,3072,1031,83.7 4099,769,3079,117.7 \
    >"$work/products.csv"
refine="operator-times:times=$work/products.csv"
import "$work/few" --refine "$refine" --json >"$work/refined.json" && code=0 || code=1
import "$work/few" --refine "nccl-whitebox+$refine" --json >"$work/both.json" || code=1
cmp -s "$work/refined.json" "$work/both.json" || code=1
check "$code" 'products by neighbours beside collectives, which stay those of nccl-whitebox'
wanted=0
for shape in 'm: 4096, n: 2304, k: 768' 'm: 4096, n: 768, k: 768' 'm: 4096, n: 3072, k: 768' \
    'm: 4096, n: 768, k: 3072'; do
    {
        printf 'sheet: operators\noperator: {%s, precision: bf16}\n' "$shape"
        echo 'cluster: {gpu: a100-sxm-80gb, nodes: 1, gpus_per_node: 1}'
    } >"$work/operator.yaml"
    "$steptime" estimate "$work/operator.yaml" --path "$plugins" --refine "$refine" --json \
        >"$work/operator.json"
    time_us=$(sed -n 's/.*"name": "t", .*"value": *\([0-9.e+-]*\).*/\1/p' "$work/operator.json")
    wanted=$(awk -v sum="$wanted" -v us="$time_us" 'BEGIN { printf "%.6f", sum + 18 * us * 1000 }')
done
# of the first worker, whose list of operations begins with products
product_ns() {
    sed -n 's/.*"operation": "product",.*"time_ns": *\([0-9]*\).*/\1/p' "$1" | head -n 1
}
found=$(product_ns "$work/refined.json")
same "$found" "$wanted" && code=0 || code=1
check "$code" "products take $found ns, by neighbours $wanted"
same "$found" "$(product_ns "$work/few.json")" && code=1 || code=0
test "$(field "$work/refined.json" refined)" = 288 || code=1
test "$(field "$work/few.json" refined)" = 0 || code=1
import "$work/few" --refine "$refine" >"$work/out" || code=1
grep -q '^288 of 444 GPU tasks are priced by operator-times, ' "$work/out" || code=1
check "$code" 'which are other times than those of the formula, and are counted'
import "$work/few" --refine overlap-constant >/dev/null && code=1 || code=0
grep -q "plugin 'overlap-constant' cannot refine sheet kernels" "$work/messages" || code=1
import "$work/few" --refine operator-tmes >/dev/null && code=1
grep -q "no plugin 'operator-tmes' on the search path" "$work/messages" || code=1
check "$code" 'plugins that fit nothing and unknown ones are refused'

# Costs of calls from a recording are its medians; what waits does not count.
event() { # NAME BEGIN DURATION
    printf '{"ph": "X", "cat": "cuda_runtime", "pid": 1, "tid": 1, '
    printf '"name": "%s", "ts": %s, "dur": %s}\n' "$1" "$2" "$3"
}
{
    echo '{"traceEvents": ['
    event cudaLaunchKernel 10 3.5 && echo ,
    event cudaLaunchKernel 20 6.5 && echo ,
    event cudaLaunchKernel 30 90 && echo ,
    event cudaEventRecord 130 1.5 && echo ,
    event cudaStreamSynchronize 140 500
    echo ']}'
} >"$work/costs.json"
printf '%s\n' call,time_us cudaLaunchKernel,6.5 cudaEventRecord,1.5 'cublas*,6.5' 'nccl*,6.5' \
    >"$work/costs.csv"
import "$work/few" --costs "$work/costs.json" --json >"$work/learnt.json" && code=0 || code=1
import "$work/few" --costs "$work/costs.csv" --json >"$work/given.json" || code=1
cmp -s "$work/learnt.json" "$work/given.json" || code=1
cmp -s "$work/learnt.json" "$work/few.json" && code=1
check "$code" 'costs of calls are learnt from a recording'
printf '{"traceEvents": []}' >"$work/costs.json"
import "$work/few" --costs "$work/costs.json" >/dev/null && code=1 || code=0
check "$code" 'a recording without calls is refused'

# Room for calls is made by the length of a log, which a file with a hole has without its bytes.
cp -r "$work/few" "$work/sparse"
for log in "$work/sparse"/*.steplog; do truncate -s 4T "$log"; done
import "$work/sparse" --json >"$work/sparse.json" && code=0 || code=1
same "$(field "$work/sparse.json" step_ns)" "$few" || code=1
check "$code" 'logs with holes of terabytes are read as what they hold'

"$make_run" "$work/large" 16384 8 12 20 >/dev/null
begin=$(date +%s)
import "$work/large" --json >"$work/large.json"
end=$(date +%s)
world=$(field "$work/large.json" world)
test "$world" = 16384 && test "$((end - begin))" -lt 60 && code=0 || code=1
check "$code" '16384 ranks, eight of them recorded, in less than a minute'
echo "1..$number"
exit $failed
