#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Packages of the last commit, built and tried: check.sh ROOT FOLDER [PART...], each of
# dist recipes rpm deb fresh wheel static aarch64
# As the Test Anything Protocol. What needs a program that is not there is skipped and says so.
set -uo pipefail

root=$(readlink -f -- "$1")
mkdir -p -- "$2"
work=$(readlink -f -- "$2")
shift 2
wanted=" ${*:-dist recipes rpm deb fresh wheel static aarch64} "
here=$root/packaging
log=$work/log
job=gpt3-175b-64xa100
# shellcheck source=tests/support/tap.sh
source "$root/tests/support/tap.sh"

explain() {
    cat -- "$log"
}

wants() {
    [[ $wanted == *" $1 "* ]]
}

# lacks WHAT PROGRAM...: true, and says which, where one of them is not there
lacks() {
    local what=$1 program
    shift
    for program; do
        command -v "$program" >/dev/null || {
            skipped "$what" "no $program"
            return 0
        }
    done
    return 1
}

# The commit is what is packaged; the folder need not be a clean checkout.
tarball=$(bash "$here/dist.sh" "$root" "$work/dist" 2>"$log")
verdict 'the tarball is written'
version=$(basename -- "$tarball" .tar.gz)
source=$work/source/$version
rm -rf -- "$source" && mkdir -p -- "$work/source" && tar -C "$work/source" -xzf "$tarball"

if wants dist; then
    (umask 077 && TZ=Asia/Tokyo bash "$here/dist.sh" "$root" "$work/again" >"$log" 2>&1) &&
        cmp -- "$tarball" "$work/again/${tarball##*/}" >"$log" 2>&1
    verdict 'and has the same bytes again'
    (cd -- "$work/dist" && sha256sum -c ./*.sha256) >"$log" 2>&1
    verdict 'and its checksum'
fi

if wants recipes; then
    python3 -B "$here/recipes.py" "$root" "${version#steptime-}" >"$log" 2>&1
    verdict 'recipes parse, are of this version and name options and libraries of the build'
fi

# What Fedora's macros of meson do, where they are not there.
if wants rpm && ! lacks 'an RPM' rpmbuild; then
    mkdir -p -- "$work/rpm"
    macros=()
    [[ $(rpm --eval '%meson') != '%meson' ]] || macros=(
        --define '_vpath_builddir _build' --define 'meson_build ninja -C _build'
        --define 'meson_install DESTDIR=%{buildroot} meson install -C _build --no-rebuild'
        --define 'meson meson setup --prefix=%{_prefix} --libdir=%{_libdir} --libexecdir=%{_libexecdir} _build')
    (PATH=/usr/lib/ccache:$PATH rpmbuild -bb --nodeps --define "_topdir $work/rpm" \
        --define "_sourcedir $work/dist" "${macros[@]}" "$here/steptime.spec") >"$log" 2>&1
    verdict 'the RPMs are built, and every file is in one of them'
    rpm -qp --provides "$work"/rpm/RPMS/*/*.rpm >"$log" 2>&1 && grep -q '^libsteptime.so.0()' "$log" &&
        ! grep -qE "^(libcu|libnccl|libnv)" "$log"
    verdict 'they provide the libraries of steptime and none of CUDA'
    rm -rf -- "$work/rpm/tree" && mkdir -p -- "$work/rpm/tree"
    (cd -- "$work/rpm/tree" && for package in ../RPMS/*/*.rpm; do
        rpm2cpio "$package" | cpio -idm --quiet || exit 1
    done && timeout 10 usr/bin/steptime estimate "$job" | grep 's per step') >"$log" 2>&1
    verdict 'they estimate'
fi

# The packages install nothing: they are unpacked below a folder.
if { wants deb || wants fresh; } && ! lacks "Debian packages" dpkg-buildpackage dh lintian; then
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

if wants wheel && ! lacks 'a wheel' pip3 patchelf; then
    if /usr/bin/python3 -c 'import mesonpy' 2>/dev/null; then
        /usr/bin/python3 -B "$root/tests/build/wheel.py" "$source" "$work/wheel" >"$log" 2>&1
        verdict 'a wheel of at most 8 MB is built, and works where nothing else is'
    else
        skipped 'a wheel' 'no python3-mesonpy'
    fi
fi

# A Debian of its own, as it comes, from the packages to an estimate.
try_fresh() {
    local base=$work/debian machine=$work/fresh
    [[ -f $base/whole ]] || {
        rm -rf -- "$base"
        debootstrap --variant=minbase bookworm "$base" http://deb.debian.org/debian >"$log" 2>&1 && : >"$base/whole"
    }
    verdict 'a fresh Debian is made' || return
    rm -rf -- "$machine" && cp -a -- "$base" "$machine" && mkdir -- "$machine/packages"
    find "$work/deb" -maxdepth 1 -name '*.deb' ! -name '*dbgsym*' -exec cp -t "$machine/packages" -- {} +
    # shellcheck disable=SC2016 # the inner shell expands
    unshare --mount bash -euo pipefail -c '
        mount -t proc proc "$0/proc"
        export DEBIAN_FRONTEND=noninteractive
        chroot "$0" apt-get -qq update
        begun=$(date +%s%N)
        chroot "$0" sh -c "apt-get -qq -y --no-install-recommends install /packages/*.deb"
        chroot "$0" steptime estimate "$1" | grep "s per step"
        echo "$((($(date +%s%N) - begun) / 1000000000))" >"$0/seconds"
        chroot "$0" steptime plugin list | grep "^nccl-whitebox .* ok "
        chroot "$0" steptime trace summary --help | grep usage
        chroot "$0" python3 -c "import steptime; print(steptime.Job(\"$1\").step_time)"
    ' "$machine" "$job" >"$log" 2>&1
    verdict "there, from packages to an estimate in $(cat -- "$machine/seconds" 2>>"$log") s"
}

if wants fresh && ((EUID != 0)); then
    skipped 'a fresh Debian' 'needs root'
elif wants fresh && ! lacks 'a fresh Debian' debootstrap unshare; then
    try_fresh
fi

# run SYSTEM PROGRAM...
try_static() {
    local machine=$1 tree program
    shift
    tree=$work/static/$version-linux-$machine
    program=$tree/bin/steptime
    JOBS=${JOBS:-} bash "$here/static/build.sh" "$source" "$machine" "$work/static" >"$log" 2>&1
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

if wants static && ! lacks "static programs" gcc ld objcopy; then
    try_static x86_64
    first=$(sha256sum <"$work/static/$version-linux-x86_64.tar.gz")
    bash "$here/static/build.sh" "$source" x86_64 "$work/static" >"$log" 2>&1 &&
        [[ $first == "$(sha256sum <"$work/static/$version-linux-x86_64.tar.gz")" ]]
    verdict 'the static tarball has the same bytes again'
fi
if wants aarch64 && ! lacks "static programs for AArch64" aarch64-linux-gnu-gcc qemu-aarch64-static apt-get; then
    try_static aarch64 qemu-aarch64-static
fi

finish
