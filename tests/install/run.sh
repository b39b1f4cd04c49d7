#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `meson install` into an empty folder, then what a user of it does: run.sh SOURCE_ROOT BUILD_ROOT
set -uo pipefail

root=$1
build=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf -- "$work"' EXIT
export XDG_CONFIG_HOME="$work/none" XDG_DATA_HOME="$work/none" STEPTIME_PATH=''
# shellcheck source=tests/support/tap.sh
source "$root/tests/support/tap.sh"

explain() {
    cat -- "$work/log"
}

find_one() {
    find "$work/at" -path "*/$1" | grep .
}

meson install -C "$build" --no-rebuild --destdir "$work/at" >"$work/log" 2>&1
verdict 'it installs'

for file in bin/steptime include/steptime/steptime.h man/man1/steptime.1 \
    man/man1/steptime-trace-roofline.1 \
    bash-completion/completions/steptime site-functions/_steptime \
    vendor_completions.d/steptime.fish steptime/formulas/li2024.yaml steptime/views/kernels.sql \
    steptime/configs/jobs/gpt-3b-32x3090.yaml; do
    find_one "$file" >"$work/log"
    verdict "$file is there"
done

pkg_config=$(dirname -- "$(find_one pkgconfig/steptime.pc)")
library=$(dirname -- "$(find_one libsteptime.so)")
program=$(find_one bin/steptime)
read -ra flags <<<"$(PKG_CONFIG_SYSROOT_DIR=$work/at PKG_CONFIG_PATH=$pkg_config \
    pkg-config --cflags --libs steptime 2>"$work/log")"
"${CC:-cc}" -std=c17 -Wall -Wextra -Werror "$root/tests/install/consumer.c" -o "$work/consumer" \
    "${flags[@]}" >>"$work/log" 2>&1
verdict 'a program builds with pkg-config alone'

LD_LIBRARY_PATH=$library "$work/consumer" gpt-3b-32x3090 tp_messages mu >"$work/log" 2>&1 &&
    [[ $(<"$work/log") == "tp_messages = 680 "*$'\n'"mu = 0.3 "* ]]
verdict 'that program computes'

"${CXX:-c++}" -std=c++17 -Wall -Wextra -Wpedantic -Werror "$root/tests/install/consumer.cpp" \
    -o "$work/consumer++" "${flags[@]}" >"$work/log" 2>&1
verdict 'a program in C++ builds'

LD_LIBRARY_PATH=$library "$work/consumer++" gpt-3b-32x3090 batch.micro 4 2 >"$work/log" 2>&1 &&
    [[ $(<"$work/log") == "batch.micro=4: 62.59 s"$'\n'"batch.micro=2: 61.19 s" ]]
verdict 'that program computes, too'

! LD_LIBRARY_PATH=$library "$work/consumer++" gpt-3b-32x3090 parallel.tq 2 >"$work/log" 2>&1 &&
    grep -q "parallel.tq" "$work/log"
verdict 'it tells what is wrong'

"$program" plugin list >"$work/log" 2>&1 &&
    grep -q "^nccl-whitebox .* ok  .*$library" "$work/log"
verdict 'manifests are those of the installed plugins'

include=$(dirname -- "$(dirname -- "$(find_one include/steptime/plugin.h)")")
"${CXX:-c++}" -std=c++17 -Wall -Wextra -Wpedantic -Werror -shared -fPIC -I"$include" \
    "$root/tests/install/plugin.cpp" -o "$work/tree.so" >"$work/log" 2>&1
verdict 'a plugin in C++ builds against the installed header'

"$program" plugin check "$work/tree.so" >"$work/log" 2>&1 &&
    [[ $(grep -c '^pass' "$work/log") -ge 11 ]]
verdict 'that plugin keeps to the rules'

"$program" estimate gpt-3b-32x3090 --refine "$work/tree.so" --json >"$work/log" 2>&1 &&
    grep -q '"provider": "tree for all_reduce"' "$work/log"
verdict 'an estimate uses it'

# block LANGUAGE NUMBER: that block of code of the page
block() {
    awk -v fence="\`\`\`$1" -v wanted="$2" '
        $0 == fence { count++; inside = 1; next }
        /^```$/ { inside = 0 }
        inside && count == wanted' "$root/docs/library.md"
}

for page in 'consumer.c c 1' 'consumer.cpp cpp 1' 'plan.c c 2'; do
    read -r file language number <<<"$page"
    block "$language" "$number" | diff - "$root/tests/install/$file" >"$work/log"
    verdict "docs/library.md shows $file as it is"
done

if find_one pkgconfig/steptime-launch.pc >"$work/log"; then
    read -ra flags <<<"$(PKG_CONFIG_SYSROOT_DIR=$work/at PKG_CONFIG_PATH=$pkg_config \
        pkg-config --cflags --libs steptime-launch 2>"$work/log")"
    "${CC:-cc}" -std=c17 -Wall -Wextra -Werror "$root/tests/install/plan.c" -o "$work/plan" \
        "${flags[@]}" >>"$work/log" 2>&1
    verdict 'a program of imports and exports builds'
    python3 -c 'import json, sys
json.dump(json.loads(open(sys.argv[1]).readline())["config"], sys.stdout)' \
        "$root/tests/models/configs.jsonl" >"$work/config.json"
    (cd "$work" && LD_LIBRARY_PATH=$library ./plan config.json dgx-h100 cluster.nodes=1 \
        parallel.dp=8 batch.sequence=4096 batch.global=64 batch.micro=1) >"$work/log" 2>&1 &&
        grep -q -- '--num-layers 36' "$work/log" && grep -q '^0,1,dp,' "$work/log"
    verdict 'it reads a config.json, writes a script and counts bytes'
fi

if module=$(find_one '*-packages/steptime/__init__.py'); then
    (cd / && PYTHONPATH=$(dirname -- "$(dirname -- "$module")") STEPTIME_LIBRARY=$library \
        /usr/bin/python3 -B -c 'import steptime as st
print(st.Job("gpt-3b-32x3090", {"batch.micro": 4}).step_time)') >"$work/log" 2>&1 &&
        [[ $(<"$work/log") == '62.59 s' ]]
    verdict 'the Python package estimates'
fi

readelf -d "$library/libsteptime.so" | grep SONAME >"$work/log" &&
    grep -q 'libsteptime\.so\.0\]' "$work/log"
verdict 'the library carries its ABI number'

(cd / && "$program" estimate gpt-3b-32x3090) >"$work/log" 2>&1
verdict 'the installed program estimates'

if command -v cmake >/dev/null; then
    mkdir -p "$work/cmake"
    printf '%s\n' 'cmake_minimum_required(VERSION 3.16)' 'project(consumer C)' \
        'find_package(steptime 0.1 REQUIRED)' \
        "add_executable(consumer $root/tests/install/consumer.c)" \
        'target_link_libraries(consumer PRIVATE steptime::steptime)' >"$work/cmake/CMakeLists.txt"
    cmake -S "$work/cmake" -B "$work/cmake/build" \
        -DCMAKE_PREFIX_PATH="${program%/bin/steptime}" >"$work/log" 2>&1 &&
        cmake --build "$work/cmake/build" >>"$work/log" 2>&1 &&
        "$work/cmake/build/consumer" gpt-3b-32x3090 mu >>"$work/log" 2>&1 &&
        grep -q '^mu = 0.3 ' "$work/log"
    verdict 'a program builds with CMake and finds the library'
fi

# A tree that is moved finds what is in it, and so does a program of another name.
mv -- "$work/at" "$work/moved tree"
moved=$(find "$work/moved tree" -path '*/bin/steptime')
mv -- "$moved" "${moved%/steptime}/st-0.1"
moved=${moved%/steptime}/st-0.1
"$moved" plugin list >"$work/log" 2>&1 && grep -q "^nccl-whitebox .* ok  .*moved tree" "$work/log"
verdict 'a moved tree finds its plugins'

"$moved" estimate gpt3-175b-64xa100 --refine nccl-whitebox >"$work/log" 2>&1
verdict 'and uses them'

"$moved" trace summary --help >"$work/log" 2>&1 && "$moved" validate li2024 >>"$work/log" 2>&1
verdict 'and its tools'

echo 'name: moved' >>"$(find "$work/moved tree" -path '*/configs/jobs/gpt-3b-32x3090.yaml')"
! "$moved" estimate gpt-3b-32x3090 >"$work/log" 2>&1 &&
    grep -q 'moved tree.*gpt-3b-32x3090.yaml' "$work/log"
verdict 'and its data'

! (cd -- "$(dirname -- "$(find "$work/moved tree" -name libsteptime.so.0)")" &&
    LD_LIBRARY_PATH=. "$work/consumer" gpt-3b-32x3090 mu) >"$work/log" 2>&1 &&
    grep -q 'moved tree.*gpt-3b-32x3090.yaml' "$work/log"
verdict 'so does a library that is loaded by a relative path'

finish
