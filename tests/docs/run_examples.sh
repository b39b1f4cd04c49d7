#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the examples of a Markdown page: the page cannot promise what the program does not do.
#
#   run_examples.sh STEPTIME SOURCE_ROOT PAGE
#
# A block opened with "```console" holds commands ("$ command") and what they print, on standard
# output and standard error together; "..." stands for any text, also over lines. Of a command with
# a pipe, standard error comes first: the system does not order the two. A block opened
# with "```yaml file=NAME" (or json, text) is written to NAME. Everything runs in one new folder in
# which `formulas` and `configs` are the checkout's; "$?" is the status of the command before.
set -uo pipefail

if (($# != 3)); then
    echo "usage: run_examples.sh STEPTIME SOURCE_ROOT PAGE" >&2
    exit 2
fi
program=$(readlink -f -- "$1")
root=$(readlink -f -- "$2")
page=$(readlink -f -- "$3")
if [[ ! -x $program || ! -d $root || ! -r $page ]]; then
    echo "run_examples.sh: no program $1, folder $2 or page $3" >&2
    exit 2
fi

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
mkdir -- "$work/bin" "$work/lesson" "$work/python"
ln -s -- "$program" "$work/bin/steptime"
for name in formulas configs; do ln -s -- "$root/$name" "$work/lesson/$name"; done
export PATH="$work/bin:$PATH" NO_COLOR=1 COLUMNS=100
export XDG_DATA_HOME="$work/data"
unset STEPTIME_PATH
# Where it is installed, meson draws a bar on standard error: here it always does.
cat >"$work/python/tqdm.py" <<'END'
import sys


class tqdm:
    def __init__(self, iterable=(), *args, disable=False, **kwargs):
        self.iterable = iterable
        if not disable:
            print('0% | a progress bar', file=sys.stderr)

    def __iter__(self):
        return iter(self.iterable)
END
export PYTHONPATH="$work/python${PYTHONPATH:+:$PYTHONPATH}"
cd -- "$work/lesson" || exit 1

ran=0
failed=0
status=0
left_out=false
command=
command_line=0
expected=$work/expected
actual=$work/actual

# A pattern for [[ == ]] in which every character stands for itself and "..." for anything.
pattern() {
    sed -e 's/[^[:alnum:]]/\\&/g' -e 's/\\\.\\\.\\\./*/g' -- "$1"
}

# Prints a case of the Test Anything Protocol.
finish_command() {
    [[ -n $command ]] || return 0
    local verdict='' shown=${command//#/ }
    if [[ $command == *' | '* ]]; then
        bash -c "(exit $status); $command" >"$actual.output" 2>"$actual" </dev/null
        status=$?
        cat -- "$actual.output" >>"$actual"
    else
        bash -c "(exit $status); $command" >"$actual" 2>&1 </dev/null
        status=$?
    fi
    ran=$((ran + 1))
    # Later commands of the page may read what the tool would have written.
    if grep -q 'steptime was built without ' "$actual"; then left_out=true; fi
    # shellcheck disable=SC2053 # the right side is a pattern on purpose
    if [[ $(<"$actual") == $(pattern "$expected") ]]; then
        verdict=ok
    elif $left_out; then
        verdict=ok shown='# SKIP a tool is left out of this build'
    else
        verdict='not ok'
        failed=$((failed + 1))
    fi
    printf '%s %d - %s:%d: %s\n' "$verdict" "$ran" "${page##*/}" "$command_line" "$shown"
    if [[ $verdict != ok ]]; then
        diff -u --label page --label program -- "$expected" "$actual" | sed 's/^/# /'
    fi
    command=
}

inside=
number=0
while IFS= read -r line || [[ -n $line ]]; do
    number=$((number + 1))
    case $inside in
    '')
        if [[ $line == '```console' ]]; then
            inside='console'
        elif [[ $line =~ ^\`\`\`[a-z]+' file='([^ /]+)$ ]]; then
            inside='file'
            file=${BASH_REMATCH[1]}
            : >"$file"
        fi
        ;;
    file)
        if [[ $line == '```' ]]; then inside=; else printf '%s\n' "$line" >>"$file"; fi
        ;;
    console)
        if [[ $line == '```' ]]; then
            finish_command
            inside=
        elif [[ $line == '$ '* ]]; then
            finish_command
            command=${line#'$ '}
            command_line=$number
            : >"$expected"
        else
            printf '%s\n' "$line" >>"$expected"
        fi
        ;;
    esac
done <"$page"

if [[ -n $inside ]]; then
    echo "run_examples.sh: $3: a block is not closed" >&2
    exit 1
fi
if ((ran == 0)); then
    echo "run_examples.sh: $3: no example found" >&2
    exit 1
fi
echo "1..$ran"
((failed == 0))
