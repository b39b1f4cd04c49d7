#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# call_names.sh OUTPUT COMPILER...: a row for each system call that the compiler's headers name.
set -eu
output=$1
shift
echo '#include <sys/syscall.h>' | "$@" -x c -E -dM - |
    sed -n 's/^#define SYS_\([a-z0-9_]*\) .*/{"\1", SYS_\1},/p' | LC_ALL=C sort >"$output"
[ -s "$output" ]
