#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Every folder of plugins/ is built with the program and keeps the rules of plugins.
#
#   shipped.sh STEPTIME SOURCE_ROOT LEFT_OUT MODULE...
#
# LEFT_OUT is a plugin whose library is not installed, or -; MODULE are those that ./dev builds.
set -u

program=$(readlink -f "$1")
root=$2
left_out=$3
shift 3
count=0
failed=0

result() {
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $count - $2"
    else
        failed=$((failed + 1))
        echo "not ok $count - $2"
    fi
}

module_of() {
    name=$1
    shift
    for module; do
        [ "${module##*/}" = "$name.so" ] && readlink -f "$module" && return
    done
    return 1
}

for folder in "$root"/plugins/*/; do
    name=$(basename "$folder")
    [ "$name" != template ] || continue
    if [ "$name" = "$left_out" ]; then
        count=$((count + 1))
        echo "ok $count - $name # SKIP its library is not installed"
        continue
    fi
    module=$(module_of "$name" "$@")
    result $? "$name is built"
    [ -n "$module" ] || continue
    # One that cannot do without an option says so; what it does with it is tested elsewhere.
    found=$("$program" plugin check "$module" 2>&1)
    case $?$found in
    0*) result 0 "$name keeps the rules" ;;
    3*"cannot be opened: the option '"*"' is missing"*) result 0 "$name names its option" ;;
    *)
        result 1 "$name keeps the rules"
        echo "$found" | sed 's/^/# /'
        ;;
    esac
done

echo "1..$count"
[ "$failed" -eq 0 ] && [ "$count" -gt 0 ]
