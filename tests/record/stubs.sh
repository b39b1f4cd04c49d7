#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An empty library to link against, as a machine with CUDA has the real one, with its version of
# names: stubs.sh CALLS LIBRARY SONAME OUTPUT COMPILER...
set -eu
calls=$1 library=$2 soname=$3 output=$4
shift 4
awk -v library="$library" '$1 == library { print "void " $2 "(void);\nvoid " $2 "(void) {}" }' \
    "$calls" >"$output.c"
version=$soname
if [ "$library" = nccl ]; then version=; fi # whose names have none
printf '%s { global: *; };\n' "$version" >"$output.map"
"$@" -w -fno-builtin -shared -fPIC -o "$output" "$output.c" "-Wl,-soname,$soname" \
    "-Wl,--version-script=$output.map"
rm -f "$output.c" "$output.map"
