#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Packages of the last commit, built and tried: check.sh ROOT FOLDER [dist|deb|static|aarch64|recipes...]
# As the Test Anything Protocol. What needs a program that is not there is skipped and says so.
set -uo pipefail

root=$(readlink -f -- "$1")
mkdir -p -- "$2"
work=$(readlink -f -- "$2")
shift 2
wanted=" ${*:-dist recipes deb static aarch64} "
here=$root/packaging
log=$work/log
count=0
failed=0
job=gpt3-175b-64xa100

verdict() {
    local status=$?
    count=$((count + 1))
    if ((status == 0)); then
        echo "ok $count - $1"
    else
        failed=$((failed + 1))
        echo "not ok $count - $1"
        tail -n 25 -- "$log" | sed 's/^/# /'
    fi
}

skip() {
    count=$((count + 1))
    echo "ok $count # SKIP $1"
}

wants() {
    [[ $wanted == *" $1 "* ]]
}

# lacks PROGRAM...: true, and says which, where one of them is not there
lacks() {
    local program
    for program; do
        command -v "$program" >/dev/null || {
            skip "no $program"
            return 0
        }
    done
    return 1
}

# The commit is what is packaged; the folder need not be a clean checkout.
tarball=$(bash "$here/dist.sh" "$root" "$work/dist" 2>"$log")
verdict 'the tarball is written'
version=$(basename -- "$tarball" .tar.gz)

if wants dist; then
    (umask 077 && TZ=Asia/Tokyo bash "$here/dist.sh" "$root" "$work/again" >"$log" 2>&1) &&
        cmp -- "$tarball" "$work/again/${tarball##*/}" >"$log" 2>&1
    verdict 'and has the same bytes again'
    (cd -- "$work/dist" && sha256sum -c ./*.sha256) >"$log" 2>&1
    verdict 'and its checksum'
fi

if wants recipes; then
    lacks rpmspec || {
        rpmspec -P "$here/steptime.spec" >"$log" 2>&1
        verdict 'the RPM spec parses'
    }
    python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$here/spack/steptime/package.py" >"$log" 2>&1
    verdict 'the recipe of Spack parses'
    for file in "$here/steptime.spec" "$here/conda/meta.yaml" "$root/debian/changelog"; do
        grep -q "${version#steptime-}" "$file" 2>"$log"
        verdict "${file#"$root/"} is of this version"
    done
fi

# The packages install nothing: they are unpacked below a folder.
if wants deb && ! lacks dpkg-buildpackage dh lintian; then
    rm -rf -- "$work/deb" && mkdir -p -- "$work/deb/tree"
    tar -C "$work/deb" -xzf "$tarball"
    (cd -- "$work/deb/$version" && PATH=/usr/lib/ccache:$PATH dpkg-buildpackage -us -uc -b) >"$log" 2>&1
    verdict 'the Debian packages are built'
    lintian --fail-on error,warning --tag-display-limit 0 "$work"/deb/*.changes >"$log" 2>&1
    verdict 'lintian finds nothing'
    for package in "$work"/deb/*.deb; do
        [[ $package == *dbgsym* ]] || dpkg-deb -x "$package" "$work/deb/tree"
    done
    program=$work/deb/tree/usr/bin/steptime
    timeout 10 "$program" estimate "$job" >"$log" 2>&1 && grep -q 's per step' "$log"
    verdict 'they estimate'
    "$program" plugin list >"$log" 2>&1 && grep -q '^nccl-whitebox .* ok ' "$log" &&
        "$program" trace summary --help >>"$log" 2>&1
    verdict 'with their plugins and tools'
    (cd -- "$work/deb/tree/usr/share/man" && [[ -s man1/steptime-trace-summary.1.gz && -s man1/steptime.1.gz ]]) >"$log" 2>&1
    verdict 'with a man page of each verb'
    LD_LIBRARY_PATH=$(dirname -- "$work"/deb/tree/usr/lib/*/libsteptime.so.0) \
        PYTHONPATH=$work/deb/tree/usr/lib/python3/dist-packages /usr/bin/python3 -B -c "import steptime as st
job = st.Job('$job')
job['batch.micro'] = 2
assert '/deb/tree/' in st.__file__ and job.step_time.unit == 's' and float(job.step_time) > 0, job.step_time" >"$log" 2>&1
    verdict 'and from Python'
fi

# run SYSTEM PROGRAM...
try_static() {
    local machine=$1 tree program
    shift
    tree=$work/static/$version-linux-$machine
    program=$tree/bin/steptime
    JOBS=${JOBS:-} bash "$here/static/build.sh" "$root" "$machine" "$work/static" >"$log" 2>&1
    verdict "static programs for $machine are built"
    ! readelf -d "$program" 2>"$log" | grep -q NEEDED
    verdict 'they need no library'
    "$@" "$program" estimate "$job" --refine nccl-whitebox >"$work/$machine.out" 2>"$log" &&
        grep -q 's per step' "$work/$machine.out"
    verdict 'they estimate with a plugin inside'
    if [[ $machine != x86_64 && -f $work/x86_64.out ]]; then
        cmp -- "$work/x86_64.out" "$work/$machine.out" >"$log" 2>&1
        verdict 'as on x86-64, to the last digit shown'
    fi
    [[ $("$@" "$program" plugin list 2>"$log" | grep -c ' ok ') -ge 9 ]]
    verdict 'they list their plugins'
    printf '\177ELF' >"$work/other.so"
    ! "$@" "$program" estimate "$job" --refine "$work/other.so" >/dev/null 2>"$log" &&
        grep -q 'this program is static' "$log"
    verdict 'another plugin is refused, and why'
}

if wants static && ! lacks gcc ld objcopy; then
    try_static x86_64
    first=$(sha256sum <"$work/static/$version-linux-x86_64.tar.gz")
    bash "$here/static/build.sh" "$root" x86_64 "$work/static" >"$log" 2>&1 &&
        [[ $first == "$(sha256sum <"$work/static/$version-linux-x86_64.tar.gz")" ]]
    verdict 'the static tarball has the same bytes again'
fi
if wants aarch64 && ! lacks aarch64-linux-gnu-gcc qemu-aarch64-static apt-get; then
    try_static aarch64 qemu-aarch64-static
fi

echo "1..$count"
((failed == 0))
