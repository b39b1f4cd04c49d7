# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Results as the Test Anything Protocol, for scripts of bash. `explain`, a function of the script,
# prints what helps where a check fails.

count=0
failed=0

# verdict NAME: the status of the command before, which it returns.
verdict() {
    local status=$?
    count=$((count + 1))
    if ((status == 0)); then
        echo "ok $count - $1"
    else
        failed=$((failed + 1))
        echo "not ok $count - $1"
        explain | tail -n 25 | sed 's/^/# /'
    fi
    return "$status"
}

# skipped NAME REASON
skipped() {
    count=$((count + 1))
    echo "ok $count - $1 # SKIP $2"
}

# The plan, after all checks; fails where one did.
finish() {
    echo "1..$count"
    ((failed == 0))
}
