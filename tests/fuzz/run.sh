#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fuzzes targets of a build made with -Dfuzzers=true: run.sh BUILD [TARGET [SECONDS]]. New inputs
# stay in the build folder; a finding is to be minimised and added to corpus/TARGET with its fix.
#
# The seconds are those that a target has a processor for, user's and system's, as /proc tells them:
# by the clock, a target on a machine with other work got a tenth of what it was said to have.
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

ticks=$(getconf CLK_TCK)
running=''
trap '[[ -z $running ]] || kill -- "$running" 2>/dev/null || true' EXIT

# Hundredths of a second that a process had a processor for; fails once it has ended.
used_cs() {
    local line fields
    { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
    read -r -a fields <<<"${line##*) }"
    [[ ${fields[0]} != Z ]] || return 1
    echo $(((fields[11] + fields[12]) * 100 / ticks))
}

# Starts a target and asks it to end (SIGUSR1) once it has had its time; its status. -timeout, of
# one input, is of the clock and hence long.
fuzz() {
    local name=$1 found=$build/corpus/$1 now asked=false
    mkdir -p -- "$found" "$build/findings"
    "$build/tests/fuzz/fuzz_$name" -timeout=60 -rss_limit_mb=2048 -max_len=16384 \
        -print_final_stats=1 -dict="$here/words.dict" -artifact_prefix="$build/findings/$name-" \
        "$found" "$here/corpus/$name" </dev/null >"$build/$name.log" 2>&1 &
    running=$!
    spent_cs=0
    while now=$(used_cs "$running"); do
        spent_cs=$now
        if ! $asked && ((spent_cs >= seconds * 100)); then
            kill -USR1 -- "$running"
            asked=true
        fi
        sleep 0.1
    done
    local ended=0
    wait "$running" || ended=$?
    running=''
    return "$ended"
}

status=0
for name in "${targets[@]}"; do
    echo "fuzz: $name for $seconds s of a processor" >&2
    begun=$SECONDS
    fuzz "$name" || {
        status=1
        tail -n 60 -- "$build/$name.log"
        echo "fuzz: $name: a finding, kept in $build/findings"
        continue
    }
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$name.log")
    grep -E '^stat::(number_of_executed_units|peak_rss_mb)' "$build/$name.log"
    printf 'fuzz: %s: nothing found in %d.%02d s of a processor (%d s by the clock)' "$name" \
        $((spent_cs / 100)) $((spent_cs % 100)) $((SECONDS - begun))
    printf ', %d executions a second\n' $((spent_cs > 0 ? runs * 100 / spent_cs : runs))
done
exit "$status"
