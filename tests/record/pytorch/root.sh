#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes a Debian 13 with PyTorch for CUDA, unless it is there: root.sh FOLDER
#
# Debian has PyTorch 2.6 for CUDA 12.4 in contrib and non-free, 9 GB. cuDNN's package downloads
# NVIDIA's library and may fail to: the recorder stands in for it.
set -euo pipefail
folder=$1
# Public scripts, as their authors left them; without the network their cases are skipped.
while read -r name commit; do
    if [[ -d $folder/opt/$name ]]; then continue; fi
    mkdir -p -- "$folder/opt"
    if ! { git clone --quiet "https://github.com/karpathy/$name" "$folder/opt/$name" &&
        git -C "$folder/opt/$name" checkout --quiet "$commit"; }; then
        rm -rf -- "$folder/opt/$name"
    fi
done <<'END'
nanoGPT 3adf61e154c3fe3fca428ad6bc3818b27a3b8291
minGPT 37baab71b9abea1b76ab957409a1cc2fbfba8a26
END
if [[ -f $folder/installed ]]; then exit 0; fi
mkdir -p -- "$folder"
if [[ ! -x $folder/usr/bin/dpkg ]]; then
    debootstrap --variant=minbase trixie "$folder" http://deb.debian.org/debian
fi
echo 'deb http://deb.debian.org/debian trixie main contrib non-free' >"$folder/etc/apt/sources.list"
# shellcheck disable=SC2016 # the inner shell expands it
unshare --mount bash -euo pipefail -c '
    mount -t proc proc "$0/proc"
    mount --rbind /dev "$0/dev"
    export DEBIAN_FRONTEND=noninteractive
    chroot "$0" apt-get -q update
    chroot "$0" apt-get -q -y --no-install-recommends install python3-torch-cuda python3-numpy ||
        chroot "$0" dpkg --force-depends --configure -a || true
    chroot "$0" apt-get clean
' "$folder"
chroot "$folder" dpkg -s python3-torch-cuda | grep -q '^Status: install ok installed'
: >"$folder/installed"
