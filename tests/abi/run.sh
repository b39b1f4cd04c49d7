#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
#   run.sh STEPTIME PLUGIN_OF_OLD_HEADER LAYOUT_OF_OLD_HEADER LAYOUT_OF_NEW_HEADER
set -uo pipefail

log=$(mktemp) || exit 1
trap 'rm -f -- "$log"' EXIT
# shellcheck source=tests/support/tap.sh
source "${BASH_SOURCE%/*}/../support/tap.sh"

explain() {
    cat -- "$log"
}

diff <("$3") <("$4") >"$log"
verdict 'every member lies where it lay'
"$1" plugin check "$2" >"$log" 2>&1
verdict 'a plugin of the first ABI passes the check'
finish
