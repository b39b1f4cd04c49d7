#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The command line, one case a line: exit code, what stands on standard output, what on standard
# error, and the command.
#
#   run.sh STEPTIME SOURCE_ROOT [only|without SECTION...]
#
# Sections begin at a line `# ---- SECTION` and stand alone: none uses what another one leaves, so
# that they can run side by side.
#
# Cases are `EXIT | OUTPUT | MESSAGES | COMMAND`. "-" means that nothing stands there, "*" anything,
# any other text must be part of it. Commands run in one new folder with the files of inputs.sh;
# $ROOT is the source folder. What a sanitizer stops fails whatever is expected.
set -u

program=$(readlink -f "$1")
root=$2
here=$root/tests/cli
work=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/files" "$work/home" "$work/json"
ln -s "$program" "$work/bin/steptime"
ROOT=$root PATH=$work/bin:$PATH HOME=$work/home LC_ALL=C.UTF-8 TERM=dumb STEPTIME_PATH=''
export ROOT PATH HOME LC_ALL TERM STEPTIME_PATH
unset XDG_CONFIG_HOME XDG_DATA_HOME NO_COLOR
count=0
failed=0
cd "$work/files" || exit 1
sh "$here/inputs.sh" || exit 1

# matches PATTERN FILE
matches() {
    case $1 in
    '*') return 0 ;;
    -) [ ! -s "$2" ] ;;
    *) grep -qF -e "$1" "$2" ;;
    esac
}

# Some containers have no pseudo-terminals.
terminal=true
script -qec true /dev/null >"$work/out" 2>&1 </dev/null || terminal=false

which=${3:-without}
[ "$#" -lt 3 ] || shift 3
printf '%s\n' "$@" >"$work/sections"
awk -v which="$which" '
    FNR == NR { named[$0] = 1; next }
    /^# ---- / { section = substr($0, 8) }
    !/^#/ && NF && (section in named) == (which == "only")
' "$work/sections" "$here/cases.txt" >"$work/cases"
while IFS='|' read -r exit output messages command; do
    exit=${exit%% *}
    output=${output# }
    output=${output% }
    messages=${messages# }
    messages=${messages% }
    command=${command# }
    count=$((count + 1))
    case $terminal$command in
    false*'script -qec'*)
        echo "ok $count # SKIP no pseudo-terminal for: $command"
        continue
        ;;
    esac
    timeout 60 sh -c "$command" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    if grep -q 'steptime was built without' "$work/err"; then
        why=$(grep -o 'steptime was built without [a-z ]*' "$work/err" | head -n 1)
        echo "ok $count # SKIP $why: $command"
        continue
    fi
    case $(head -c 24 "$work/out" | tr -d ' \n') in
    '{"schema_version"'*)
        cp "$work/out" "$work/json/$count"
        printf '%s\n' "$command" >"$work/json/$count.command"
        ;;
    esac
    if [ "$status" -eq "$exit" ] && matches "$output" "$work/out" &&
        matches "$messages" "$work/err" && ! grep -q 'Sanitizer\|runtime error:' "$work/err"; then
        echo "ok $count - $command"
    else
        failed=$((failed + 1))
        echo "not ok $count - $command"
        echo "# exit $status, expected $exit; output '$output', messages '$messages' expected"
        head -n 20 "$work/out" | cut -c1-200 | sed 's/^/# out: /'
        head -n 20 "$work/err" | cut -c1-400 | sed 's/^/# err: /'
    fi
done <"$work/cases"

# What was written as JSON is what docs/schema promises.
if [ -n "$(ls "$work/json")" ] && command -v python3 >/dev/null; then
    count=$((count + 1))
    if python3 "$root/tests/schema/check.py" "$root/docs/schema" "$work/json"; then
        echo "ok $count - schemas of JSON"
    else
        failed=$((failed + 1))
        echo "not ok $count - schemas of JSON"
    fi
fi

echo "1..$count"
[ "$failed" -eq 0 ] && [ "$count" -gt 0 ]
