#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The checked-in pages that the program writes itself are what it writes now.
#
#   run.sh STEPTIME SOURCE_ROOT            compare, as the Test Anything Protocol
#   run.sh STEPTIME SOURCE_ROOT --update   write them anew
set -u

program=$(readlink -f "$1")
root=$2
update=${3:-}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export XDG_CONFIG_HOME="$work/none" XDG_DATA_HOME="$work/none" STEPTIME_PATH='' LC_ALL=C.UTF-8
count=0
failed=0

# page FILE ARGUMENT...
page() {
    file=$1
    shift
    count=$((count + 1))
    # --path: the sheets of this tree, whatever is installed
    if ! "$program" "$@" >"$work/page"; then
        echo "not ok $count - $file: 'steptime $*' fails"
        failed=$((failed + 1))
    elif [ "$update" = --update ]; then
        cmp -s "$work/page" "$root/$file" || cp "$work/page" "$root/$file" || exit 1
    elif diff -u --label "$file" --label 'as the program writes it' "$root/$file" "$work/page" \
        >"$work/difference"; then
        echo "ok $count - $file"
    else
        echo "not ok $count - $file: './dev docs' writes it anew"
        sed 's/^/# /' "$work/difference"
        failed=$((failed + 1))
    fi
}

page docs/configuration.md docs configuration
page docs/commands.md docs commands
page docs/formulas.md docs formulas --path "$root"
page docs/man/steptime.1 docs man
for kind in job model cluster gpu; do
    page docs/schema/editors/$kind.json docs $kind-schema
done
page docs/completion/steptime.bash completion bash
page docs/completion/_steptime completion zsh
page docs/completion/steptime.fish completion fish
[ "$update" = --update ] || echo "1..$count"
[ "$failed" -eq 0 ]
