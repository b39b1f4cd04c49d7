#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fuzzes targets of a build made with -Dfuzzers=true: run.sh BUILD [TARGET [SECONDS]]. New inputs
# stay in the build folder; a finding is to be minimised and added to corpus/TARGET with its fix.
# run.sh BUILD --resume [SECONDS [TARGET...]] gives each target, or those, what it lacks of them
# (600), those with the least first, and notes in spent.csv what each has had and of which commit,
# also when interrupted.
#
# The seconds are those that a target has a processor for, user's and system's, as /proc tells them:
# by the clock, a target on a machine with other work got a tenth of what it was said to have.
set -euo pipefail

build=$1
resume=false
if [[ ${2:-} == --resume ]]; then
    resume=true
    named=("${@:4}")
    set -- "$1" all "${3:-600}"
fi
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

spent=$here/spent.csv
# Seconds of a processor that a target has had.
had() { awk -F, -v name="$1" '$1 == name { s = $2 } END { print s + 0 }' "$spent"; }
if $resume; then
    ((${#named[@]} == 0)) || targets=("${named[@]}")
    for name in "${targets[@]}"; do
        [[ -d $here/corpus/$name ]] || {
            echo "fuzz: no target '$name'" >&2
            exit 2
        }
    done
    mapfile -t targets < <(for name in "${targets[@]}"; do
        echo "$(had "$name") $name"
    done | sort -n | cut -d' ' -f2)
fi

ticks=$(getconf CLK_TCK)
running=''
spent_cs=0
current=''
# Adds what the running target has had to its row.
note_spent() {
    local runs commit added=$((spent_cs / 100))
    [[ -n $current ]] || return 0
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$current.log")
    commit=$(git -C "$here" rev-parse --short=12 HEAD)
    awk -F, -v OFS=, -v name="$current" -v s="$added" -v n="${runs:-0}" -v commit="$commit" '
        NR == 1 { print; fflush(); next }
        $1 == name { $2 += s; $3 += n; $4 = commit; seen = 1 }
        { print | "sort" }
        END { if (!seen) print name, s, n, commit | "sort" }' "$spent" >"$spent.new"
    mv -- "$spent.new" "$spent"
    current=''
}
# shellcheck disable=SC2317 # a trap calls it
stop() {
    [[ -z $running ]] || kill -USR1 -- "$running" 2>/dev/null || true
    wait 2>/dev/null || true
    ! $resume || note_spent
}
trap stop EXIT
trap 'exit 130' INT TERM

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
    local name=$1 limit=$2 found=$build/corpus/$1 now asked=false
    mkdir -p -- "$found" "$build/findings"
    "$build/tests/fuzz/fuzz_$name" -timeout=60 -rss_limit_mb=2048 -max_len=16384 \
        -print_final_stats=1 -dict="$here/words.dict" -artifact_prefix="$build/findings/$name-" \
        "$found" "$here/corpus/$name" </dev/null >"$build/$name.log" 2>&1 &
    running=$!
    current=$name
    spent_cs=0
    while now=$(used_cs "$running"); do
        spent_cs=$now
        if ! $asked && ((spent_cs >= limit * 100)); then
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
    limit=$seconds
    if $resume; then
        limit=$((seconds - $(had "$name")))
        ((limit > 0)) || continue
    fi
    echo "fuzz: $name for $limit s of a processor" >&2
    begun=$SECONDS
    ended=0
    fuzz "$name" "$limit" || ended=$?
    ! $resume || note_spent
    ((ended == 0)) || {
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
