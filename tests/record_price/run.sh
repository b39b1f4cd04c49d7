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

"$make_run" "$work/large" 16384 8 12 20 >/dev/null
begin=$(date +%s)
import "$work/large" --json >"$work/large.json"
end=$(date +%s)
world=$(field "$work/large.json" world)
test "$world" = 16384 && test "$((end - begin))" -lt 60 && code=0 || code=1
check "$code" '16384 ranks, eight of them recorded, in less than a minute'
echo "1..$number"
exit $failed
