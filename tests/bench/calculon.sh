#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Plans per second of a search, beside Calculon's on the same machine in the same run: GPT-3 175B on
# 64 A100, batch 64, one core. CALCULON names a checkout of Calculon; it is called and never copied.
#
#   calculon.sh STEPTIME SOURCE_ROOT
set -eu

program=$1
root=$2
if [ -z "${CALCULON:-}" ]; then
    echo "plans per second beside Calculon's: skipped, CALCULON names no checkout of it"
    exit 0
fi
python=
for each in python3 /usr/bin/python3; do
    if [ -z "$python" ] && "$each" -c 'import numpy, psutil' 2>/dev/null; then python=$each; fi
done
if [ -z "$python" ] || [ ! -d "$CALCULON/calculon" ]; then
    echo "plans per second beside Calculon's: skipped, it needs CALCULON/calculon, numpy and psutil"
    exit 0
fi
theirs=$("$python" "$root/tests/bench/calculon_rate.py" "$CALCULON" 5)
ours=$("$program" search gpt3-175b-64xa100 --gpus 64 --threads 1 --verbose 2>&1 >/dev/null |
    sed -n 's/^process 1 of 1: \([0-9]*\) plans in \([0-9.]*\) s.*/\1 \2/p')
echo "$theirs $ours" | awk '{
    print "search of GPT-3 175B on 64 A100, one core"
    printf "  Calculon, plans per second %10.3g  (%d in %.2f s)\n", $1/$2, $1, $2
    printf "  steptime, plans per second %10.3g  (%d in %.3f s)\n", $3/$4, $3, $4
    printf "  steptime / Calculon        %10.3g x\n", ($3/$4)/($1/$2)
}'
