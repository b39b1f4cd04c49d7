#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The same sources give the same bytes, wherever they are built: two copies of the tree in folders
# of other names and lengths, built with other habits (umask, locale, time zone, number of jobs),
# and every program, library and plugin compared.
#
#   reproducible.sh ROOT [OPTION_OF_MESON...]
set -euo pipefail

root=$(readlink -f -- "$1")
shift
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
first=$work/one/tree
second=$work/another/place/with/a/longer/name
mkdir -p -- "$first" "$second"
git -C "$root" ls-files -z | tar -C "$root" --null -T - -cf - | tar -C "$first" -xf -
cp -R -- "$first/." "$second/"
export CCACHE_DISABLE=1

fail() {
    cat -- "$work/log"
    echo 'Bail out! it does not build'
    exit 1
}

build() {
    local folder=$1 jobs=$2
    shift 2
    meson setup -Dtests=disabled "$@" "$folder/build" "$folder" >"$work/log" 2>&1 || fail
    ninja -C "$folder/build" -j "$jobs" estimator/cli/steptime estimator/libsteptime.so.0.1.0 \
        shipped-plugins >"$work/log" 2>&1 || fail
}

(umask 022 && LC_ALL=C TZ=UTC build "$first" 4 "$@")
(umask 077 && LC_ALL=C.UTF-8 TZ=Asia/Tokyo build "$second" 1 "$@")

number=0
failed=0
while IFS= read -r file; do
    number=$((number + 1))
    verdict=ok
    cmp -s -- "$first/build/$file" "$second/build/$file" || verdict='not ok'
    [[ $verdict == ok ]] || failed=1
    printf '%s %d - %s\n' "$verdict" "$number" "$file"
    if grep -qaF -e "$work" -- "$first/build/$file"; then
        echo "not ok - $file names the folder that it was built in"
        failed=1
    fi
done < <(cd -- "$first/build" &&
    find estimator plugins -type f \( -name 'steptime' -o -name '*.so' -o -name '*.so.*' \) | sort)
echo "1..$number"
exit "$failed"
