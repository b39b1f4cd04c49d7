#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Records a program that loads CUDA while it runs: late.sh STEPTIME PROGRAM RUNTIME PLUGIN LIBRARY
set -eu
steptime=$1 program=$2 runtime=$3 plugin=$4 library=$5
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

# A patched recorder would call itself without end.
cp "$library" "$work/other.so"
again=0
"$steptime" record --device h100-sxm --json --limit 20s -o "$work/renamed" -- \
    env LD_PRELOAD="$work/other.so" "$program" "$(realpath "$runtime")" "$(realpath "$plugin")" \
    >"$work/said" 2>"$work/errors" || again=1
grep -q '"launches": 2,' "$work/said" || again=1
[ "$again" -eq 0 ] || cat "$work/said" "$work/errors"
word=ok
[ "$again" -eq 0 ] || { word='not ok'; code=1; }
echo "$word 2 - the recorder is not patched, whatever its file is called"
echo 1..2
exit "$code"
