#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# libraries.sh FOLDER: builds the C libraries that the engine links, for WebAssembly, from Debian's
# source packages: libyaml, yajl, zlib and, of GSL, the random numbers and the quantile that the
# jitter of a timeline needs. FOLDER gets lib/, include/ and their pkg-config files.
set -euo pipefail

root=$(realpath -m -- "$1")
export NODE_PATH=${NODE_PATH:-/usr/share/nodejs}
mkdir -p -- "$root/source" "$root/include" "$root/lib/pkgconfig"
cd -- "$root/source"

# Lists of source packages of their own, made of the machine's lists of packages.
apt_source() {
    local version
    local -a apt=(-qq -o Dir::Etc::SourceList="$root/apt/list" -o Dir::Etc::SourceParts=-
        -o Dir::State::Lists="$root/apt/lists" -o APT::Sandbox::User=root)
    if [[ ! -f $root/apt/list ]]; then
        mkdir -p -- "$root/apt/lists/partial"
        # shellcheck disable=SC2016 # names of apt-get
        apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' \
            'Created-By: Packages' | awk '!seen[$0]++' >"$root/apt/list"
        apt-get "${apt[@]}" update
    fi
    # A mirror may list a version that it no longer has.
    while read -r version; do
        ! apt-get "${apt[@]}" source "$1=$version" || return 0
    done < <(apt-cache "${apt[@]}" showsrc "$1" | sed -n 's/^Version: //p' | sort -rVu)
    return 1
}

# Unpacks a source package once.
source_of() {
    if ! compgen -G "$1-*/" >/dev/null; then apt_source "$1" >&2; fi
    compgen -G "$1-*/" | head -n 1
}

# archive LIBRARY PACKAGE VERSION "FLAGS" FILE...: a static library and its pkg-config file.
archive() {
    local library=$1 package=$2 version=$3 flags=$4 file
    shift 4
    rm -rf -- "$root/objects/$library" "$root/lib/lib$library.a"
    mkdir -p -- "$root/objects/$library"
    for file; do
        # shellcheck disable=SC2086 # several flags
        emcc -O2 -ffp-contract=off -w -I"$root/include" $flags -c "$file" \
            -o "$root/objects/$library/$(basename "$file" .c).o"
    done
    emar rcs "$root/lib/lib$library.a" "$root/objects/$library"/*.o
    printf '%s\n' "Name: $package" "Description: $package for WebAssembly" "Version: $version" \
        "Cflags: -I$root/include" "Libs: -L$root/lib -l$library" \
        >"$root/lib/pkgconfig/$package.pc"
}

yaml=$(source_of libyaml)
cp -- "$yaml/include/yaml.h" "$root/include"
archive yaml yaml-0.1 0.2.5 "-DYAML_VERSION_MAJOR=0 -DYAML_VERSION_MINOR=2 -DYAML_VERSION_PATCH=5
    -DYAML_VERSION_STRING=\"0.2.5\"" "$yaml"/src/*.c

yajl=$(source_of yajl)
mkdir -p -- "$root/include/yajl"
cp -- "$yajl"/src/api/*.h "$root/include/yajl"
# shellcheck disable=SC2016 # names of CMake
sed -e 's/\${YAJL_MAJOR}/2/; s/\${YAJL_MINOR}/1/; s/\${YAJL_MICRO}/0/' \
    "$yajl/src/api/yajl_version.h.cmake" >"$root/include/yajl/yajl_version.h"
archive yajl yajl 2.1.0 "" "$yajl"/src/*.c

zlib=$(source_of zlib)
cp -- "$zlib/zlib.h" "$zlib/zconf.h" "$root/include"
archive z zlib 1.2.13 "-DHAVE_UNISTD_H" "$zlib"/*.c

gsl=$(source_of gsl)
mkdir -p -- "$root/include/gsl"
find "$gsl" -name 'gsl_*.h' -not -path '*/gsl/*' -exec cp -- {} "$root/include/gsl" \;
: >"$root/include/config.h"
archive gsl gsl 2.7.1 "-I$gsl -DRETURN_IF_NULL(x)=if(!x)return" "$gsl"/rng/{rng,mt,inline}.c \
    "$gsl"/cdf/gaussinv.c "$gsl"/err/{error,stream}.c
