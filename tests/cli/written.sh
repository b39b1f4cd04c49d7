#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# written.sh JOB [OPTION...]: a search of JOB writes its best plan, whose estimate has the bits of
# the ranking, and so has the estimate of JOB with the plan's settings. The words of the latter
# stand in JSON; names of cells are those of the ranking's CSV.
#
# Leaks are looked for elsewhere: the tracer of the sanitizer sometimes falls over threads that end
# with a plugin's data, and would be told as a search that failed.
export LSAN_OPTIONS=detect_leaks=0
job=$1
shift
steptime search "$job" "$@" --top 1 --write written.yaml --csv >ranking.csv 2>err || exit 1
steptime search "$job" "$@" --top 1 --json >ranking.json 2>err || exit 1
cell=$(sed -n '1s/.*,\(step_time\|T_iter\) \[s\].*/\1/p' ranking.csv)
place=$(sed 1q ranking.csv | tr , '\n' | grep -n "^$cell " | cut -d: -f1)
value=$(sed -n 2p ranking.csv | cut -d, -f"$place")
grep -o '"set": \[[^]]*\]' ranking.json | sed 's/.*\[//; s/\]//; s/", "/\n/g; s/"//g' >settings
refine=
while [ $# -gt 0 ]; do
    [ "$1" != --refine ] || refine="--refine $2"
    shift
done
while read -r setting || [ -n "$setting" ]; do
    [ -z "$setting" ] || set -- "$@" --set "$setting"
done <settings
if ! steptime explain written.yaml "$cell" --depth 0 --json |
    grep -q "\"value\": ${value}[,}]"; then
    echo "$job: the written plan is not $cell $value"
    exit 1
fi
# shellcheck disable=SC2086
if ! steptime explain "$job" "$cell" "$@" $refine --depth 0 --json 2>err |
    grep -q "\"value\": ${value}[,}]"; then
    echo "$job: with $* not $cell $value"
    exit 1
fi
