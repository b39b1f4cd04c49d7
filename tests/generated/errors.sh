#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Every published and measured step that steptime knows is within its limits, and the errors that
# estimates show are those of today; as the Test Anything Protocol.
#
#   errors.sh STEPTIME SOURCE_ROOT            compare configs/errors
#   errors.sh STEPTIME SOURCE_ROOT --update   write it anew
set -u

program=$(readlink -f "$1")
root=$2
data=${STEPTIME_DATA:-$root/../shared/data}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export XDG_CONFIG_HOME="$work/none" XDG_DATA_HOME="$work/none" STEPTIME_PATH='' LC_ALL=C.UTF-8
export STEPTIME_DATA="$data"

if [ ! -d "$data/step_times" ]; then
    echo "1..0 # SKIP no measured steps: STEPTIME_DATA names no folder with them"
    exit 0
fi
failed=0
if "$program" validate --path "$root" --write-errors "$work/errors" -o "$work/report" \
    2>"$work/log"; then
    echo "ok 1 - all sources are within their limits"
else
    echo "not ok 1 - all sources are within their limits"
    sed 's/^/# /' "$work/log"
    failed=1
fi
"$program" validate dlperf --path "$root" --write-errors "$work/ddp" -o "$work/report" || failed=1
if [ "${3:-}" = --update ]; then
    cp "$work/errors" "$root/configs/errors/megatron.yaml" || exit 1
    cp "$work/ddp" "$root/configs/errors/ddp.yaml" || exit 1
elif diff -u "$root/configs/errors/megatron.yaml" "$work/errors" >"$work/difference"; then
    echo "ok 2 - configs/errors/megatron.yaml"
else
    echo "not ok 2 - configs/errors/megatron.yaml: './dev docs' writes it anew"
    sed 's/^/# /' "$work/difference"
    failed=1
fi
if diff -u "$root/configs/errors/ddp.yaml" "$work/ddp" >"$work/difference"; then
    echo "ok 3 - configs/errors/ddp.yaml"
else
    echo "not ok 3 - configs/errors/ddp.yaml: './dev docs' writes it anew"
    sed 's/^/# /' "$work/difference"
    failed=1
fi
echo "1..3"
[ "$failed" -eq 0 ]
