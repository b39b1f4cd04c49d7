#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The runner of examples must fail where a page is wrong: test_run_examples.sh SOURCE_ROOT
set -uo pipefail

root=$(readlink -f -- "$1")
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
count=0
failed=0

# A page with one console block, the exit status and a line that the runner should give.
expect() {
    local name=$1 wanted=$2 line=$3 block=$4 output status verdict=ok
    printf '%s\n' '# A page' '' "$block" >"$work/page.md"
    output=$(bash "$root/tests/docs/run_examples.sh" /bin/true "$root" "$work/page.md" 2>&1)
    status=$?
    count=$((count + 1))
    if ((status != wanted)) || [[ $'\n'$output$'\n' != *"$line"* ]]; then
        verdict='not ok'
        failed=$((failed + 1))
    fi
    echo "$verdict $count - $name"
    [[ $verdict == ok ]] || printf '# status %d\n%s\n' "$status" "${output//$'\n'/$'\n'# }"
}

expect 'equal output passes' 0 'ok 1 - page.md:4: echo one' \
    $'```console\n$ echo one\none\n```'
expect 'other output fails and is shown' 1 $'\n# +one [1] *\n' \
    $'```console\n$ echo "one [1] *"\none [2] *\n```'
expect 'special characters stand for themselves' 1 'not ok 1' \
    $'```console\n$ echo "one two"\none *\n```'
expect 'missing output fails' 1 'not ok 1' $'```console\n$ true\none\n```'
expect 'output that the page leaves out fails' 1 'not ok 1' $'```console\n$ echo one\n```'
expect 'three dots stand for anything' 0 $'\n1..2\n' \
    $'```console\n$ seq 9\n1\n...\n9\n$ echo one two three\none ... three\n```'
expect 'three dots do not hide what follows' 1 'not ok 1' $'```console\n$ seq 9\n1\n...\n8\n```'
expect 'the status goes to the next command' 0 $'\n1..2\n' \
    $'```console\n$ (exit 3)\n$ echo $?\n3\n```'
expect 'standard error counts' 0 'ok 1' $'```console\n$ echo one >&2\none\n```'
expect 'standard error comes before the output of a pipe' 0 'ok 1' \
    $'```console\n$ { echo two; sleep 0.2; echo one >&2; } | cat\none\ntwo\n```'
expect 'a file is written' 0 'ok 1' \
    $'```yaml file=a.yaml\na: 1\n```\n\n```console\n$ cat a.yaml\na: 1\n```'
expect 'other blocks are not run' 1 'no example found' $'```sh\n$ false\n```'
expect 'an open block is refused' 1 'not closed' $'```console\n$ true\n'

echo "1..$count"
((failed == 0))
