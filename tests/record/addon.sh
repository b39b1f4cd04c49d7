#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Records an addon of others for CUDA 12, llama.cpp in Node.js, which finds GPUs, and which loads a
# model and makes tokens: addon.sh STEPTIME MODEL. MODEL writes the model; STEPTIME_ADDON says where
# the addon's index.node is, which this brings:
#     npm install --ignore-scripts @fugood/node-llama-linux-x64-cuda@1.7.15
set -eu
steptime=$1 model=$2
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
cat >"$work/compute.js" <<'END'
const addon = require(process.argv[2]);
const options = {model: process.argv[3], n_gpu_layers: 99, n_ctx: 64, n_batch: 32, use_mmap: false};
const asked = {prompt: 'hello', n_predict: 7, temperature: 0, ignore_eos: true};
const context = new addon.LlamaContext(options, () => {});
context.completion(asked, () => {})
    .then(made => context.release().then(() => process.exit(made.tokens_predicted > 0 ? 0 : 1)))
    .catch(() => process.exit(1));
END
python3 -B "$model" "$work/model.gguf"
number=0
failed=0

check() {
    if [ "$1" -eq 0 ]; then word=ok; else word='not ok' failed=1; fi
    number=$((number + 1))
    echo "$word $number - $2"
    [ "$1" -eq 0 ] || cat "$work/said" "$work/errors"
}

# SCRIPT DEVICES: it ends well, and every call of it is known
record() {
    "$steptime" record --device h100-sxm --devices "$2" --limit 60s --json -o "$work/$1.run" -- \
        "$(command -v node)" "$work/$1.js" "$(realpath "$STEPTIME_ADDON")/index.node" \
        "$work/model.gguf" >"$work/said" 2>"$work/errors" || return 1
    grep -q '"unsupported_calls": 0,' "$work/said" && grep -q '"misuses": \[\]' "$work/said"
}

record ask 3 && code=0 || code=1
check "$code" 'the addon finds three GPUs'
record compute 2 && code=0 || code=1
check "$code" 'it loads a model and makes tokens'
"$steptime" trace import "$work/compute.run" --gap 5us --json >"$work/said" 2>"$work/errors" &&
    code=0 || code=1
grep -q '"tasks": [1-9]' "$work/said" || code=1
check "$code" 'its graphs have kernels'
echo "1..$number"
exit "$failed"
