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

for runtime in shared static; do
    nvcc -arch=sm_90 -cudart "$runtime" -o "$work/$runtime" "$source"
    "$steptime" record --device h100-sxm --json -o "$work/run.$runtime" -- "$work/$runtime" \
        >"$work/said" 2>"$work/errors" && code=0 || code=1
    grep -q '"launches": 2,' "$work/said" || code=1
    grep -q '"unsupported_calls": 0,' "$work/said" || code=1
    check "$code" "a program with the $runtime runtime"
    [ "$code" -eq 0 ] || cat "$work/said" "$work/errors"
done
strip "$work/static"
"$steptime" record -o "$work/run.stripped" -- "$work/static" 2>"$work/errors" && code=1 || code=0
grep -q 'static runtime: ' "$work/errors" || code=1
check "$code" 'a stripped one is refused'
echo "1..$number"
exit $failed
