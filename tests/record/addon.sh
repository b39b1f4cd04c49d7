#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Records an addon of others for CUDA 12, llama.cpp in Node.js: addon.sh STEPTIME. STEPTIME_ADDON
# says where its index.node is, which this brings:
#     npm install --ignore-scripts @fugood/node-llama-linux-x64-cuda@1.7.15
set -eu
steptime=$1
if [ ! -r "${STEPTIME_ADDON:-}/index.node" ] || ! command -v node >/dev/null; then
    echo '1..0 # SKIP STEPTIME_ADDON names no folder with index.node, or there is no node'
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/ask.js" <<'END'
const addon = require(process.argv[2]);
const found = JSON.parse(addon.LlamaContext.getBackendDevicesInfo());
process.exit(found.filter(device => device.backend === 'CUDA').length === 3 ? 0 : 1);
END
code=0
"$steptime" record --device h100-sxm --devices 3 --limit 60s --json -o "$work/run" -- \
    "$(command -v node)" "$work/ask.js" "$(realpath "$STEPTIME_ADDON")/index.node" \
    >"$work/said" 2>"$work/errors" || code=1
grep -q '"unsupported_calls": 0,' "$work/said" || code=1
[ "$code" -eq 0 ] && word=ok || word='not ok'
echo "$word 1 - the addon finds three GPUs, with no call that is not known"
[ "$code" -eq 0 ] || cat "$work/said" "$work/errors"
echo 1..1
exit "$code"
