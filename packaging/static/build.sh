#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Static programs as a tree that runs wherever it is unpacked, and its tarball: build.sh ROOT MACHINE FOLDER
#
# MACHINE is x86_64 or aarch64. For aarch64 Debian's cross compiler is used, with the libraries of its arm64
# packages, which are unpacked below FOLDER and installed nowhere; programs of the build run under qemu.
set -euo pipefail

root=$(readlink -f -- "$1")
machine=$2
mkdir -p -- "$3"
folder=$(readlink -f -- "$3")
build=$folder/build-$machine
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" "$root/meson.build")
tree=steptime-$version-linux-$machine
options=(-Dprefer_static=true -Db_pie=false -Dtests=disabled -Drecord=disabled -Dmpi=disabled -Dxgboost=disabled
    -Dxlsxwriter=disabled -Dwerror=false -Dlibexecdir=libexec -Dlibdir=lib)

# The arm64 packages of the libraries, by a state of apt's own.
unpack_libraries() {
    local apt=$folder/apt package
    [[ ! -f $folder/sysroot/usr/lib/aarch64-linux-gnu/libgsl.a ]] || return 0
    mkdir -p -- "$apt"/state/lists/partial "$apt"/cache/archives/partial "$apt/packages" "$folder/sysroot"
    : >"$apt/state/status"
    printf '%s\n' 'APT::Architecture "arm64";' 'APT::Architectures {"arm64";};' "Dir::State \"$apt/state\";" \
        "Dir::State::status \"$apt/state/status\";" "Dir::Cache \"$apt/cache\";" >"$apt/apt.conf"
    export APT_CONFIG=$apt/apt.conf
    apt-get -qq update
    (cd -- "$apt/packages" && apt-get -qq download libyaml-dev:arm64 libyajl-dev:arm64 libgsl-dev:arm64 \
        zlib1g-dev:arm64 libsqlite3-dev:arm64 libexpat1-dev:arm64) 2>/dev/null
    unset APT_CONFIG
    for package in "$apt"/packages/*.deb; do dpkg-deb -x "$package" "$folder/sysroot"; done
}

write_cross_file() {
    local libraries=$folder/sysroot/usr/lib/aarch64-linux-gnu headers=$folder/sysroot/usr/include
    printf '%s\n' '[binaries]' "c = 'aarch64-linux-gnu-gcc'" "ar = 'aarch64-linux-gnu-ar'" \
        "strip = 'aarch64-linux-gnu-strip'" "ld = 'aarch64-linux-gnu-ld'" "objcopy = 'aarch64-linux-gnu-objcopy'" \
        "pkgconfig = 'pkg-config'" "exe_wrapper = ['qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu']" '[properties]' \
        "sys_root = '$folder/sysroot'" "pkg_config_libdir = '$libraries/pkgconfig'" "library_dirs = ['$libraries']" '[built-in options]' \
        "c_args = ['-I$headers', '-I$headers/aarch64-linux-gnu']" "c_link_args = ['-L$libraries']" \
        '[host_machine]' "system = 'linux'" "cpu_family = 'aarch64'" "cpu = 'aarch64'" "endian = 'little'"
}

if [[ $machine == aarch64 ]]; then
    unpack_libraries
    write_cross_file >"$folder/aarch64.ini"
    options+=(--cross-file "$folder/aarch64.ini")
    strip=aarch64-linux-gnu-strip
else
    strip="strip"
fi
[[ -f $build/build.ninja ]] || meson setup "${options[@]}" "$build" "$root" >"$folder/setup.log" 2>&1 || {
    tail -n 20 -- "$folder/setup.log" >&2
    exit 1
}
ninja -C "$build" ${JOBS:+-j "$JOBS"} static >"$folder/build.log" 2>&1 || {
    tail -n 20 -- "$folder/build.log" >&2
    exit 1
}

rm -rf -- "${folder:?}/$tree"
mkdir -p -- "$folder/$tree"/{bin,libexec/steptime,share/man/man1,share/steptime}
for program in "$build"/packaging/static/steptime*; do
    [[ -f $program && -x $program ]] || continue
    name=${program##*/}
    place=libexec/steptime
    [[ $name != steptime ]] || place=bin
    "$strip" -o "$folder/$tree/$place/$name" "$program"
done
cp -- "$root/docs/man/steptime.1" "$folder/$tree/share/man/man1"
python3 -B "$root/docs/man/verbs.py" "$root" "$folder/$tree/share/man/man1"
cp -- "$root/LICENSE" "$root/README.md" "$folder/$tree"
find "$folder/$tree" -type d -exec chmod 755 {} + -o -type f -exec chmod u=rwX,go=rX {} +
(cd -- "$folder" && tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@${SOURCE_DATE_EPOCH:-0}" --format=ustar \
    -cf - "$tree" | gzip -9n >"$tree.tar.gz" && sha256sum "$tree.tar.gz" >"$tree.tar.gz.sha256")
printf '%s\n' "$folder/$tree.tar.gz"
