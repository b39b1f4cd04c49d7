#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Records a binary of others as it is, the CUDA backend of ggml: ggml.sh STEPTIME PROGRAM.
# STEPTIME_GGML says where it is, which this brings:
#     npm install --ignore-scripts @node-llama-cpp/linux-x64-cuda@3.22.1
set -eu
steptime=$1 program=$2
if [ ! -r "${STEPTIME_GGML:-}/libggml-cuda.so" ]; then
    echo '1..0 # SKIP STEPTIME_GGML names no folder with libggml-cuda.so'
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH="$STEPTIME_GGML${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
number=0
failed=0

check() {
    if [ "$1" -eq 0 ]; then word=ok; else word='not ok' failed=1; fi
    number=$((number + 1))
    echo "$word $number - $2"
}

code=0
"$steptime" record --device h100-sxm --devices 2 --json -o "$work/run" -- "$program" \
    "$STEPTIME_GGML" >"$work/said" 2>"$work/errors" || code=1
grep -q '"unsupported_calls": 0,' "$work/said" || code=1
grep -q '"gemms": 2,' "$work/said" || code=1
check "$code" 'ggml computes a product, and captures it'
[ "$code" -eq 0 ] || cat "$work/said" "$work/errors"
code=0
"$steptime" trace import "$work/run" --gap 5us --json >"$work/priced" || code=1
# one as it is, one captured and launched three times
grep -q '"products": 4,' "$work/priced" || code=1
check "$code" 'its graphs are walked through'
echo "1..$number"
exit "$failed"
