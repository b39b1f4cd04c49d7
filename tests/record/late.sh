#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Records a program that loads CUDA while it runs: late.sh STEPTIME PROGRAM RUNTIME PLUGIN
set -eu
steptime=$1 program=$2 runtime=$3 plugin=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
code=0
"$steptime" record --device h100-sxm --json -o "$work/run" -- \
    "$program" "$(realpath "$runtime")" "$(realpath "$plugin")" \
    >"$work/said" 2>"$work/errors" || code=1
for expected in '"launches": 2,' '"unsupported_calls": 0,' '"verdict": "recorded"'; do
    grep -q "$expected" "$work/said" || { echo "# no $expected"; code=1; }
done
grep -q '"misuses": \[\]' "$work/said" || code=1
[ "$code" -eq 0 ] && word=ok || word='not ok'
echo "$word 1 - libraries, and a runtime in a plugin, that are loaded late"
[ "$code" -eq 0 ] || cat "$work/said" "$work/errors"
echo 1..1
exit "$code"
