#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
#   run.sh STEPTIME PLUGIN_OF_OLD_HEADER LAYOUT_OF_OLD_HEADER LAYOUT_OF_NEW_HEADER
set -uo pipefail

failed=0
step() {
    if "${@:3}"; then
        echo "ok $1 - $2"
    else
        echo "not ok $1 - $2"
        failed=1
    fi
}

same_layout() {
    diff <("$1") <("$2") | sed 's/^/# /'
    [[ ${PIPESTATUS[0]} == 0 ]]
}

passes() {
    "$1" plugin check "$2" 2>&1 | sed 's/^/# /'
    [[ ${PIPESTATUS[0]} == 0 ]]
}

step 1 'every member lies where it lay' same_layout "$3" "$4"
step 2 'a plugin of the first ABI passes the check' passes "$1" "$2"
echo "1..2"
exit "$failed"
