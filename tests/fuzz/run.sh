#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fuzzes targets of a build made with -Dfuzzers=true: run.sh BUILD [TARGET [SECONDS]]. New inputs
# stay in the build folder; a finding is to be minimised and added to corpus/TARGET with its fix.
set -euo pipefail

build=$1
target=${2:-all}
seconds=${3:-60}
here=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
export STEPTIME_PATH='' XDG_CONFIG_HOME="$build/no-user-folder"
export UBSAN_OPTIONS=print_stacktrace=1

[[ $seconds =~ ^[0-9]+$ ]] || {
    echo "fuzz: '$seconds' is not a number of seconds" >&2
    exit 2
}
targets=()
for corpus in "$here"/corpus/*/; do
    targets+=("$(basename -- "$corpus")")
done
if [[ $target != all ]]; then
    [[ -d $here/corpus/$target ]] || {
        echo "fuzz: no target '$target'; there are: ${targets[*]}" >&2
        exit 2
    }
    targets=("$target")
fi

status=0
for name in "${targets[@]}"; do
    found=$build/corpus/$name
    mkdir -p -- "$found" "$build/findings"
    echo "fuzz: $name for $seconds s" >&2
    "$build/tests/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -max_len=16384 -print_final_stats=1 -dict="$here/words.dict" \
        -artifact_prefix="$build/findings/$name-" "$found" "$here/corpus/$name" </dev/null \
        >"$build/$name.log" 2>&1 || {
        status=1
        tail -n 60 -- "$build/$name.log"
        echo "fuzz: $name: a finding, kept in $build/findings"
        continue
    }
    grep -E '^stat::(number_of_executed_units|average_exec_per_sec|peak_rss_mb)' "$build/$name.log"
    echo "fuzz: $name: nothing found in $seconds s"
done
exit "$status"
