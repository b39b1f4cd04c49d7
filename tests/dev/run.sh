#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The script ./dev and the tally, against stand-ins for dpkg, apt, meson, ninja and the program that
# write down how they were called: run.sh SOURCE_ROOT
set -uo pipefail

root=$(readlink -f -- "$1")
work=$(mktemp -d) || exit 1
trap 'rm -rf -- "$work"' EXIT
# shellcheck source=tests/support/tap.sh
source "$root/tests/support/tap.sh"

explain() {
    cat -- "$work"/*.txt 2>/dev/null
}

stand_in() {
    cat >"$work/stand-ins/$1"
    chmod 755 "$work/stand-ins/$1"
}

# A tree with a blank in its name that holds nothing but ./dev.
new_tree() {
    rm -rf -- "$work/a tree" "$work/stand-ins" "$work"/*.txt
    mkdir -m 777 -- "$work/a tree" "$work/stand-ins"
    cp -- "$root/dev" "$work/a tree/dev"
    : >"$work/calls.txt"
    : >"$work/installed.txt"
    chmod 777 "$work" "$work"/*.txt
    stand_in dpkg-query <<END
#!/bin/sh
shift 2 # -W -f
shift
for package; do grep -qx "\$package" '$work/installed.txt' && echo "\$package installed"; done
exit 1
END
    stand_in apt-get <<END
#!/bin/sh
echo "apt-get \$*" >>'$work/calls.txt'
case "\$*" in *install*) ;; *) exit 0 ;; esac
if [ -e '$work/apt-fails.txt' ]; then rm '$work/apt-fails.txt'; exit 100; fi
for word; do case \$word in -*) ;; *) echo "\$word" >>'$work/installed.txt' ;; esac; done
END
    stand_in meson <<END
#!/bin/sh
echo "meson \$*" >>'$work/calls.txt'
echo noise
mkdir -p '$work/a tree/build/meson-private' '$work/a tree/build/estimator/cli'
: >'$work/a tree/build/build.ninja'
printf '#!/bin/sh\\necho "ran \$*"; exit 3\\n' >'$work/a tree/build/estimator/cli/steptime'
chmod 755 '$work/a tree/build/estimator/cli/steptime'
END
    stand_in ninja <<END
#!/bin/sh
echo "ninja \$*" >>'$work/calls.txt'
echo noise
case "\$*" in *' -n '*) echo 'ninja: no work to do.' ;; esac
[ ! -e '$work/build-fails.txt' ]
END
}

# dev ARGUMENT...: with the stand-ins, and the user of this test unless $as is set.
dev() {
    ${as:-} env -i PATH="$work/stand-ins:/usr/bin:/bin" "$work/a tree/dev" "$@" \
        >"$work/out.txt" 2>"$work/err.txt"
}

calls() {
    grep -c "$1" "$work/calls.txt"
}

# As ./dev lists them; what it does with them is what is tested.
program_names=$(sed -n '/^program_packages=(/,/)/p' "$root/dev" | tr -d '()' |
    sed 's/.*=//' | xargs)

install_all() {
    tr ' ' '\n' <<<"$program_names" >"$work/installed.txt"
}

# --- without the packages ------------------------------------------------------------------------

new_tree
dev help && grep -q './dev test' "$work/out.txt"
verdict 'help needs no package'

new_tree
: >"$work/a tree/.dev"
dev help && grep -q './dev test' "$work/out.txt"
verdict 'help needs no folder to write to'
install_all
dev estimate job
[[ $? -eq 1 && $(<"$work/err.txt") == "dev: cannot write in $work/a tree: building needs"* ]]
verdict 'a checkout that cannot be written is told'
new_tree

if ((EUID == 0)); then
    as='setpriv --reuid=65534 --regid=65534 --clear-groups'
    chmod 755 "$work/a tree/dev"
    dev estimate job
    [[ $? == 1 && ! -s $work/out.txt && $(calls .) == 0 ]] &&
        grep -qF "missing Debian packages: $program_names" "$work/err.txt" &&
        grep -qF "apt-get install -y --no-install-recommends $program_names" "$work/err.txt"
    verdict 'without root the missing packages and their command are named'
    as=

    new_tree
    install_all
    dev estimate job
    chmod -R go-w "$work/a tree"
    as='setpriv --reuid=65534 --regid=65534 --clear-groups'
    dev estimate job
    [[ $? == 3 && $(<"$work/out.txt") == 'ran estimate job' ]]
    verdict 'another user runs a build that is up to date'
    as=

    new_tree
    grep -vx 'meson' <(tr ' ' '\n' <<<"$program_names") >"$work/installed.txt"
    dev estimate job
    [[ $? == 3 && $(calls 'install meson$') == 1 && $(calls 'update') == 1 ]]
    verdict 'root gets what is missing and nothing else'

    new_tree
    : >"$work/apt-fails.txt"
    dev estimate job
    [[ $? == 3 && $(calls ' install ') == 2 ]] && grep -q 'once more' "$work/err.txt"
    verdict 'a failed installation is tried once more'
else
    skipped 'what needs root' 'not root'
fi

# --- building and running ------------------------------------------------------------------------

new_tree
install_all
dev estimate 'a job' --set x=1
[[ $? == 3 && $(<"$work/out.txt") == 'ran estimate a job --set x=1' && $(calls meson) == 1 ]]
verdict 'a verb is passed on; its output and its status are all that comes back'

dev estimate job
[[ $? == 3 && $(calls meson) == 1 && $(calls apt-get) == 0 && ! -s $work/err.txt ]]
verdict 'a second call configures, installs and says nothing'

(cd / && dev estimate job <&-)
[[ $? == 3 ]]
verdict 'from another folder, with standard input closed'

: >"$work/build-fails.txt"
dev estimate job
[[ $? == 1 && ! -s $work/out.txt ]] && grep -q noise "$work/err.txt"
verdict 'a failed build shows its output on standard error'

new_tree
install_all
dev estimate job
sed -i "s|a tree|elsewhere|" "$work/a tree/build/dev-stamp"
dev estimate job
[[ $? == 3 && $(calls meson) == 2 ]]
verdict 'a tree that was copied builds anew'

new_tree
install_all
mkdir "$work/a tree/build"
: >"$work/a tree/build/thesis"
dev estimate job
[[ $? == 1 && -e "$work/a tree/build/thesis" ]] && grep -q 'in the way' "$work/err.txt"
verdict 'a folder that is no build folder is left alone'

new_tree
install_all
for _ in 1 2 3 4; do
    env -i PATH="$work/stand-ins:/usr/bin:/bin" "$work/a tree/dev" estimate job &
done >"$work/out.txt" 2>"$work/err.txt"
wait
[[ $(grep -c '^ran estimate job$' "$work/out.txt") == 4 && $(calls meson) == 1 ]]
verdict 'calls side by side build once'

# --- counting ------------------------------------------------------------------------------------

# tally RESULT STDOUT...: of one program for each pair; stdout as JSON text.
tally() {
    mkdir -p "$work/run/meson-logs"
    local n=0
    : >"$work/run/meson-logs/dev.json"
    while (($# > 0)); do
        n=$((n + 1))
        printf '{"name": "t%d", "result": "%s", "stdout": "%s", "stderr": ""}\n' "$n" "$1" "$2" \
            >>"$work/run/meson-logs/dev.json"
        shift 2
    done
    python3 -B "$root/tests/tally.py" "here=$work/run" >"$work/out.txt" 2>&1
}

last() {
    [[ $(tail -n 1 "$work/out.txt") == "$1" ]]
}

tally OK '1..2\nok 1 - a\nok 2 - b\n' OK 'no plan at all' && last '3 passed, 0 failed'
verdict 'cases are counted one by one, a program without a plan as one'

tally OK '1..3\nok 1 - a\nnot ok 2 # SKIP no data\nok 3 # skip other\n' &&
    last '1 passed, 0 failed, 2 skipped' && grep -q 'skipped with here: t1: no data' "$work/out.txt"
verdict 'skipped cases are named, in either form'

! tally FAIL '1..2\nok 1 - a\nnot ok 2 - b\n' && last '1 passed, 1 failed' &&
    grep -q 'not ok 2 - b' "$work/out.txt"
verdict 'a failed case fails the run and shows its output'

! tally ERROR '1..5\nok 1 - a\nok 2 - b\n' && last '2 passed, 3 failed'
verdict 'what a program that died did not reach has failed'

! tally FAIL '1..1\nok 1 - a\n' && last '1 passed, 1 failed' &&
    ! tally TIMEOUT '' && last '0 passed, 1 failed'
verdict 'a bad exit status fails even where all cases passed'

! tally && last '0 passed, 1 failed'
verdict 'a run without a test has failed'

tally OK '1..1\nok 1 - a\n' && touch -d '2 hours ago' "$work/run/meson-logs/dev.json" &&
    ! python3 -B "$root/tests/tally.py" --since "$(($(date +%s) - 60))" "here=$work/run" \
        >"$work/out.txt" 2>&1 &&
    last '0 passed, 1 failed' && grep -q 'here: no test was run' "$work/out.txt" &&
    touch "$work/run/meson-logs/dev.json" &&
    python3 -B "$root/tests/tally.py" --since "$(($(date +%s) - 60))" "here=$work/run" \
        >"$work/out.txt" 2>&1 && last '1 passed, 0 failed'
verdict 'the log of an earlier run does not count'

finish
