#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
#   run.sh STEPTIME PLUGIN_OF_OLD_HEADER LAYOUT_OF_OLD_HEADER LAYOUT_OF_NEW_HEADER
set -uo pipefail

failed=0
verdict() {
    if [[ $2 == 0 ]]; then
        echo "ok $1 - $3"
    else
        echo "not ok $1 - $3"
        failed=1
    fi
}

diff <("$3") <("$4") | sed 's/^/# /'
verdict 1 "${PIPESTATUS[0]}" 'every member lies where it lay'
"$1" plugin check "$2" 2>&1 | sed 's/^/# /'
verdict 2 "${PIPESTATUS[0]}" 'a plugin of the first ABI passes the check'
echo "1..2"
exit "$failed"
