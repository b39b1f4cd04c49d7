#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The same search by one process and by two that mpirun starts: byte-identical answers, and how much
# sooner the two are done. Rounds alternate, since machines have moods; starting MPI is not counted.
# Usage: bench_ranks.sh STEPTIME
set -euo pipefail

steptime=$1
rounds=3
search=(search gpt3-175b-64xa100 --gpus 4096 --set batch.global=12288 --verbose --threads 1)
for key in parallel.tp parallel.pp parallel.cp parallel.virtual_stages batch.micro recompute \
    parallel.zero parallel.sequence_parallel 'cluster.nic_bandwidth=100..400+50 Gbit/s'; do
    search+=(--only "$key")
done

if ! command -v mpirun >/dev/null; then
    echo "search by two processes: skipped, no mpirun"
    exit 0
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT

# The seconds of the slowest process.
slowest() {
    sed -n 's/^process .* plans in \([0-9.]*\) s.*/\1/p' "$1" | sort -g | tail -n 1
}

for ((round = 0; round < rounds; round++)); do
    "$steptime" "${search[@]}" >"$folder/one.txt" 2>"$folder/one.log"
    mpirun --oversubscribe -n 2 "$steptime" "${search[@]}" >"$folder/two.txt" 2>"$folder/two.log"
    if ! cmp "$folder/one.txt" "$folder/two.txt"; then
        echo "search by two processes: another answer than by one"
        exit 1
    fi
    echo "$(slowest "$folder/one.log") $(slowest "$folder/two.log")" >>"$folder/times.txt"
done
LC_ALL=C awk '{ print $1 / $2, $1, $2 }' "$folder/times.txt" | sort -g >"$folder/sorted.txt"
LC_ALL=C awk -v middle=$(((rounds + 1) / 2)) '
    NR == middle {
        print "search by one process, and by two that mpirun starts; the same bytes"
        printf "  one process                %10.3f s\n", $2
        printf "  two processes              %10.3f s\n", $3
        printf "  one / two                  %10.2f x   (1.8 to reach)\n", $1
        missed = $1 < 1.8
    }
    END { exit missed }' "$folder/sorted.txt"
