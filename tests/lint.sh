#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The rules of the source that a machine can check: lint.sh BUILD, where BUILD was made with clang;
# lint.sh --quick, those that need no build; lint.sh --tidy BUILD SOURCE..., clang-tidy alone; or
# lint.sh --format, which rewrites the sources in the project's format.
set -euo pipefail

readonly max_function_lines=100 max_complexity=25 max_parameters=6
readonly max_source_lines=1200 max_header_lines=600 max_columns=100

root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
cd -- "$root"
export LC_ALL=C.UTF-8
failures=0

mapfile -t c_files < <(find estimator tests plugins -name '*.[ch]' 2>/dev/null | sort)
mapfile -t sources < <(printf '%s\n' "${c_files[@]}" | grep '\.c$')
# Those that are installed: headers of steptime/tool are for tools of the same release.
mapfile -t headers < <(find estimator/include -name '*.h' -not -path '*/tool/*' | sort)
mapfile -t library_headers < <(printf '%s\n' "${headers[@]}" |
    grep -vE '/(plugin|trace|launch|fit)\.h$')
mapfile -t scripts < <({
    printf '%s\n' dev .ci/run
    find tests estimator -name '*.sh'
} | sort)

# The front end; ./dev page checks its types and its format.
mapfile -t page_files < <(find estimator/page tests/page -name '*.ts' -o -name '*.tsx' \
    -o -name '*.css' -o -name '*.mjs' | sort)

# Runs one rule; whatever it prints is a violation.
rule() {
    local name=$1 output
    shift
    output=$("$@" 2>&1) || output+=$'\n'"(status $?)"
    if [[ -n $output ]]; then
        printf 'lint: %s:\n%s\n' "$name" "$output"
        failures=$((failures + 1))
    fi
}

format() {
    clang-format --dry-run -Werror "${c_files[@]}"
}

# Every function over a limit, as "FUNCTION RULE VALUE PLACE".
large_functions() {
    pmccabe "${sources[@]}" | awk -F '\t' -v lines=$max_function_lines -v paths=$max_complexity '
        { split($6, at, ": "); place = at[1]; name = at[2] }
        $5 > lines { print name, "lines", $5, place }
        $2 > paths { print name, "complexity", $2, place }'
    ctags -x --_xformat='%N %F:%n %S' --kinds-C=fp "${c_files[@]}" |
        awk -F, -v most=$max_parameters '
            NF > most { split($0, at, " "); print at[1], "parameters", NF, at[2] }'
}

sizes() {
    awk '
        FNR == NR { if ($0 !~ /^#/ && NF) allowed[$1 " " $2] = $3; next }
        { used[$1 " " $2] = 1 }
        $3 != allowed[$1 " " $2] { print $4 ": " $1 ": " $3 " " $2 }
        END { for (entry in allowed) if (!used[entry]) print "no longer needed: " entry }
    ' tests/lint-exceptions.txt <(large_functions)
    wc -l -- "${c_files[@]}" | awk -v source=$max_source_lines -v header=$max_header_lines '
        $2 ~ /\.c$/ && $1 > source { print $2 ": " $1 " lines, at most " source }
        $2 ~ /\.h$/ && $1 > header { print $2 ": " $1 " lines, at most " header }'
    grep -nE "^.{$((max_columns + 1)),}" -- "${c_files[@]}" "${scripts[@]}" |
        sed "s/:\([0-9]*\):.*/:\1: over $max_columns columns/" || true
}

# Every source names its licence on its first line (scripts: their second) and leaves nothing open.
texts() {
    local file
    for file in "${c_files[@]}" "${scripts[@]}" "${page_files[@]}"; do
        [[ $(head -n 2 -- "$file") == *'SPDX-License-Identifier: Apache-2.0'* ]] ||
            echo "$file: no SPDX line at the top"
    done
    grep -nwE 'TODO|FIXME|XXX' -- "${c_files[@]}" "${page_files[@]}" || true
    grep -nP '[ \t]+$' -- "${c_files[@]}" "${scripts[@]}" "${page_files[@]}" || true
}

exports_of() {
    local library=$1
    shift
    diff <(ctags -x --_xformat='%N' --kinds-C=p "$@" | sort) \
        <(nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sort) |
        sed -n 's/^< \(.*\)/\1: declared in a public header, not exported/p
                s/^> \(.*\)/\1: exported, not declared in a public header/p'
}

# What the library exports is what its headers declare, no less and no more; plugin.h declares what
# plugins export.
exports() {
    local tool
    exports_of "$1/estimator/libsteptime.so" "${library_headers[@]}"
    for tool in trace launch fit; do
        exports_of "$1/estimator/libsteptime-$tool.so" \
            "estimator/include/steptime/$tool.h"
    done
}

headers_alone() {
    local header language
    for header in "${headers[@]}"; do
        for language in c c++; do
            clang -x "$language" "-std=${language}17" -Wall -Wextra -Wpedantic -Werror \
                -Iestimator/include -fsyntax-only - <<<"#include \"$root/$header\""
        done
    done
}

# A module knows the modules before it in estimator/meson.build, and none behind it.
includes() {
    python3 -B tests/includes.py "$root" "$1"
}

# What C asks a sheet for are roles, and never cells by their names.
names() {
    python3 -B tests/names.py "$root"
}

# A misspelt key of jobs does not compile.
keys() {
    python3 -B tests/keys.py "$root"
}

# Size is a budget: tests/size.csv has the lines of code that each module may have.
budget() {
    python3 -B tests/size.py "$root"
}

# Every source belongs to some target, or it is dead; tests build two projects of their own, and
# builds with sanitizers lack the libraries that count and fail calls of others.
unbuilt() {
    local file
    for file in "${sources[@]}"; do
        case $file in
        tests/install/consumer.c | tests/install/plan.c) continue ;;
        tests/reliability/faults.c | tests/plugins_bad/questions.c) continue ;;
        plugins/template/*) continue ;;
        esac
        grep -qF -- "$file\"" "$1/compile_commands.json" || echo "$file: built into nothing"
    done
}

# The shipped code; a slow check that has little to say about tests. Each run is filtered before the
# next one's output can come between its words. Walking the paths of all functions takes three
# quarters of the time: ./dev check does it for what changed, ./dev analyze for everything, and more
# than 100,000 states a function reach no more code.
tidy() {
    local checks=$1 build=$2
    shift 2
    # shellcheck disable=SC2016 # the inner shell expands
    printf '%s\0' "$@" |
        xargs -0 -n 4 -P "$(nproc)" sh -c '
            set_option="--extra-arg=-Xclang --extra-arg"
            checks=$1
            shift
            said=$(clang-tidy --quiet --checks="$checks" --extra-arg=-Wno-unknown-warning-option \
                $set_option=-analyzer-config $set_option=max-nodes=100000 -p "$@" 2>&1 |
                grep -vE "^([0-9]+ warnings? generated|Suppressed |Use -header-filter)")
            [ -z "$said" ] || printf "%s\n" "$said"' sh "$checks" "$build" || true
}

cpp_check() {
    cppcheck --quiet --inline-suppr --std=c11 --error-exitcode=1 -j "$(nproc)" \
        --suppress=readdirCalled --suppress=internalAstError --library=posix \
        --enable=warning,portability,performance \
        -DST_API= -DST_NODISCARD= -Iestimator/include "-I$1/estimator/include" \
        -Iestimator -Iestimator/core \
        -Iestimator/plan -Iestimator/tools -Iplugins \
        estimator plugins/*/fit
}

# Tests misspell on purpose.
spelling() {
    codespell --quiet-level=3 --skip=package-lock.json --ignore-words-list=mape -- \
        *.md docs estimator formulas configs validation
}

# Phrases that make sentences hard to read, and how often each may occur; the counts only shrink.
english() {
    local -a folders=(estimator plugins formulas configs docs)
    local most phrase count
    while read -r most phrase; do
        count=$({ grep -rIioE -- "$phrase" "${folders[@]}" || true; } | wc -l)
        ((count <= most)) || echo "$phrase: $count times, at most $most"
    done <<'END'
30 \b(told|tells?)\b
20 \bbeside\b
20 \b(is|are) no [a-z]
40 \bstands?\b
END
}

if [[ ${1:-} == --tidy ]]; then
    shift
    rule clang-tidy tidy '' "$@"
    exit "$failures"
fi
if [[ ${1:-} == --format ]]; then
    clang-format -i "${c_files[@]}"
    exit 0
fi
build=${1:?the folder of a build with clang}
rule format format
rule sizes sizes
rule texts texts
rule scripts shellcheck "${scripts[@]}"
rule spelling spelling
rule english english
rule 'cells by name' names
rule 'keys by identifier' keys
rule 'lines of code' budget
if [[ $build != --quick ]]; then
    rule exports exports "$build"
    rule 'public headers' headers_alone
    rule includes includes "$build"
    rule 'files in use' unbuilt "$build"
    rule cppcheck cpp_check "$build"
    mapfile -t shipped < <(printf '%s\n' "${sources[@]}" | grep '^estimator/')
    rule clang-tidy tidy '-clang-analyzer-*' "$build" "${shipped[@]}"
fi
if ((failures > 0)); then
    echo "lint: $failures rules broken"
    exit 1
fi
echo "lint: nothing to report"
