#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The tarball of a commit and its checksum, the same bytes wherever and whenever: dist.sh ROOT FOLDER [COMMIT]
set -euo pipefail

root=$1
folder=$2
commit=${3:-HEAD}
git -C "$root" rev-parse --verify -q "$commit^{commit}" >/dev/null || {
    echo "dist: $root is not a checkout that has the commit $commit" >&2
    exit 1
}
version=$(git -C "$root" show "$commit:meson.build" | sed -n "s/^  version: '\(.*\)',/\1/p")
name=steptime-$version
mkdir -p -- "$folder"
# The names of folders and the time of the commit, and nothing of this machine: no user, no umask.
git -C "$root" -c tar.umask=0022 archive --format=tar --prefix="$name/" "$commit" | gzip -9n >"$folder/$name.tar.gz.part"
mv -- "$folder/$name.tar.gz.part" "$folder/$name.tar.gz"
(cd -- "$folder" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
printf '%s\n' "$folder/$name.tar.gz"
