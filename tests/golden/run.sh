#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What the program prints, byte for byte.
#
#   run.sh STEPTIME SOURCE_ROOT            compare, as the Test Anything Protocol
#   run.sh STEPTIME SOURCE_ROOT --update   write the expected outputs anew
set -u

program=$(readlink -f "$1")
root=$2
update=${3:-}
here=$root/tests/golden
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export XDG_CONFIG_HOME="$work/none" XDG_DATA_HOME="$work/none"
export STEPTIME_PATH='' LC_ALL=C.UTF-8 TERM=dumb
export SOURCE_DATE_EPOCH=1795219200
unset NO_COLOR
count=0
failed=0
cd "$root" || exit 1

# A file that is empty stands for one that is not there.
same() {
    if [ -s "$1" ]; then cmp -s "$1" "$2"; else [ ! -s "$2" ]; fi
}

keep() {
    if [ -s "$1" ]; then cmp -s "$1" "$2" || cp "$1" "$2"; else rm -f "$2"; fi
}

# compare NAME EXIT STATUS
compare() {
    if [ "$3" -eq "$2" ] && same "$work/out" "$here/expected/$1.out" &&
        same "$work/err" "$here/expected/$1.err"; then
        echo "ok $count - $1"
        return
    fi
    failed=$((failed + 1))
    echo "not ok $count - $1: exit $3, expected $2"
    for kind in out err; do
        touch "$work/empty"
        expected=$here/expected/$1.$kind
        [ -e "$expected" ] || expected=$work/empty
        diff -u --label "expected/$1.$kind" --label program "$expected" "$work/$kind" |
            sed 's/^/# /'
    done
}

grep -v '^#' "$here/cases.txt" | grep . | sed 's|ROOT|tests/golden/tree|g' >"$work/cases"
while read -r name exit arguments; do
    count=$((count + 1))
    # shellcheck disable=SC2086 # the arguments are words without blanks
    "$program" $arguments >"$work/out" 2>"$work/err" </dev/null
    status=$?
    if [ "$update" != --update ] && {
        grep -q 'steptime was built without steptime-' "$work/err" ||
            { [ "$name" = help ] && "$program" trace summary 2>&1 | grep -q 'built without'; }
    }; then
        echo "ok $count - $name # SKIP its tool is left out of this build"
    elif [ "$update" = --update ]; then
        [ "$status" -eq "$exit" ] || echo "$name: exit $status, expected $exit" >&2
        mkdir -p "$here/expected"
        keep "$work/out" "$here/expected/$name.out"
        keep "$work/err" "$here/expected/$name.err"
    else
        compare "$name" "$exit" "$status"
    fi
done <"$work/cases"

if [ "$update" = --update ]; then
    for file in "$here"/expected/*; do
        name=${file##*/}
        grep -q "^${name%.*} " "$work/cases" || rm -f "$file"
    done
else
    echo "1..$count"
fi
[ "$failed" -eq 0 ]
