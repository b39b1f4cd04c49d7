#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What becomes of plugins with a fault: in `plugin check`, in `plugin list` and in an estimate.
#
#   run.sh STEPTIME FOLDER_OF_MODULES
set -uo pipefail

program=$(readlink -f -- "$1")
built=$(readlink -f -- "$2")
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
count=0
failed=0
cd -- "$work" || exit 1

for file in "$built"/bad-*.so; do
    name=$(basename -- "$file" .so)
    mkdir -p -- "tree/plugins/$name"
    cp -- "$file" "tree/plugins/$name/"
done
mkdir -p tree/plugins/bad-text tree/plugins/bad-folder/bad-folder.so tree/plugins/bad-name
printf 'this is no shared object\n' >tree/plugins/bad-text/bad-text.so
cp -- "$built/bad-good.so" tree/plugins/bad-name/bad-name.so

# expect STATUS TEXT COMMAND...: the exit status, and a part of what is printed.
expect() {
    local status=$1 text=$2 verdict=ok
    shift 2
    "$program" "$@" >out 2>&1 </dev/null
    local found=$?
    count=$((count + 1))
    if [[ $found != "$status" ]] || ! grep -qF -e "$text" out; then
        verdict='not ok'
        failed=$((failed + 1))
    fi
    printf '%s %d - %s: %s\n' "$verdict" "$count" "$*" "$text"
    [[ $verdict == ok ]] || sed "s/^/# [$found] /" out
}

check() {
    expect 3 "$2" plugin check "./tree/plugins/$1/$1.so" --limit 2
}

expect 0 'pass  a block equals its rows bit for bit' plugin check bad-good --path tree
check bad-abi 'it uses plugin ABI 2385; this steptime supports 1'
check bad-short 'its descriptor has 24 bytes; at least'
check bad-symbol 'it does not export st_plugin_describe'
check bad-text 'not a shared object (not ELF)'
check bad-folder 'not a regular file'
check bad-unit "provider 'all_reduce' has an unknown unit 'fortnights'"
check bad-open 'cannot be opened: the table of links is missing'
check bad-nan 'all_reduce: refuses every ordinary row'
check bad-negative 'returns a negative or infinite value: -2.38507 us where size = 1 B, ranks = 2'
check bad-falling 'less time: 2384900 us where size = 1 B, ranks = 2; 2384439 us where size = 48 B'
check bad-crash 'it crashed: signal 6'
check bad-loop 'it did not finish within 2 s'
check bad-exit 'it ended the process'
check bad-block \
    'all_reduce: a single row differs from the same row in a block: 0.001 us where size = 1 B'
check bad-evaluate 'all_reduce: evaluate fails on a block of ordinary rows'
check bad-sum \
    'all_reduce: the parts do not sum to the value: 2.38507 us where size = 1 B, ranks = 2'

for name in load describe; do
    check "bad-$name" 'it crashed: signal 6'
    expect 1 "plugin bad-$name cannot be used: it crashed: signal 6" \
        plugin info "bad-$name" --path tree
    expect 0 "\"bad-$name\", \"version\": null, \"state\": \"disabled\", \"reason\": \"it crashed" \
        plugin list --look --json --path tree
done
check bad-forge 'it forged its answer'
expect 1 'bad-forge cannot be used: it forged its answer' plugin info bad-forge --path tree
expect 0 '"reason": "it forged its answer"' plugin list --look --json --path tree
expect 0 'all-reduce with a fault' plugin info bad-crash --path tree
expect 1 "bad-unit/bad-unit.so cannot be used: provider 'all_reduce' has an unknown" \
    plugin info ./tree/plugins/bad-unit/bad-unit.so
expect 2 "did you mean 'bad-nan'?" plugin info bad-man --path tree
expect 0 '0 options, 0 providers, 1 schedule' plugin check bad-schedule-none --path tree
check bad-schedule-waits "schedule 'all_then_all' of plugin 'bad-schedule-waits' waits on itself"
check bad-schedule-lacks 'omits the weights pass of micro-batch 1'
check bad-schedule-doubles 'has the backward pass of micro-batch 1 twice'
check bad-schedule-early 'micro-batch 1 before the backward pass whose gradients it uses'
check bad-schedule-beyond 'returns a forward pass of micro-batch 8 and chunk 0 for stage 0'
check bad-schedule-stage 'returns a pass of stage 23; the pipeline has 1 stages, counted from 0'
check bad-schedule-kind 'returns a pass of unknown kind for stage 0: 2385'
check bad-schedule-flood 'returns more than 3 passes for stage 0'
check bad-schedule-moody 'all_then_all: returns two orders for the same pipeline'
check bad-schedule-mute 'a pipeline (stages 1, micro-batches 1, chunks 1): no reason given'
check bad-schedule-small 'has a schedule of 8 bytes; at least'
check bad-schedule-empty "schedule 'all_then_all' has no 'order' function"
check bad-schedule-same "has schedule 'all_then_all' twice"
check bad-schedule-nothing 'has 0 providers; 1 to 256 are supported'
check bad-schedule-many 'has 2385 schedules; at most 64 are supported'

line=(timeline gpt-3b-32x3090 --path tree --schedule)
expect 0 'schedule   all_then_all, ' "${line[@]}" bad-schedule-none
expect 2 "plugin 'bad-schedule-waits' waits on itself: tasks wait for each other: task " \
    "${line[@]}" bad-schedule-waits
expect 2 "'B 1' of rank 1 (compute)" "${line[@]}" bad-schedule-waits:all_then_all
expect 2 "has no schedule 'all_than_all': expected bad-schedule-none:all_then_all" "${line[@]}" \
    bad-schedule-none:all_than_all
expect 2 "plugin 'bad-good' has no schedules" "${line[@]}" bad-good
expect 2 "unknown schedule 'bad-schedule-nine'" "${line[@]}" bad-schedule-nine
expect 1 'cannot be used: it uses plugin ABI 2385' "${line[@]}" bad-abi
expect 2 "schedule 'all_then_all' of plugin 'bad-schedule-none' supports one chunk per stage" \
    timeline gpt3-175b-64xa100 --path tree --schedule bad-schedule-none
expect 0 '"schedules": "all_then_all"' plugin list --look --json --path tree
expect 0 'all_then_all' plugin info bad-schedule-none --path tree

for line in "bad-abi it uses plugin ABI 2385" 'bad-text not a shared object' \
    "bad-name its id is 'bad-good'" 'bad-symbol it does not export'; do
    expect 0 "\"${line%% *}\", \"version\": " plugin list --look --json --path tree
    expect 0 "${line#* }" plugin list --look --json --path tree
done
expect 0 'bad-good' plugin list --look --path tree

# What stands around a plugin is reported, and namespaces that are forbidden are not claimed.
expect 0 'the system isolates it from the machine' plugin check bad-good --path tree
if unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces' 2>/dev/null; then
    own=$program
    program=unshare
    # shellcheck disable=SC2016 # the inner shell expands
    bare=(-Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"' sh "$own")
    apart=(estimate llama3-8b-8xh100 --isolate --path tree --set parallel.tp=2 --set parallel.dp=4
        --set parallel.sequence_parallel=false)
    lacks='read-only files, no access to other processes'
    expect 0 "; not available here: $lacks" "${bare[@]}" \
        plugin check bad-good --path tree
    expect 0 "The isolation of plugins lacks here: $lacks" "${bare[@]}" \
        plugin list --path tree
    expect 1 "this system cannot isolate plugins in full: it lacks $lacks" \
        "${bare[@]}" estimate llama3-8b-8xh100 --isolate=strict --path tree
    expect 0 'bad-good' "${bare[@]}" "${apart[@]}" --refine bad-good
    expect 1 "'bad-crash' refuses: it crashed: signal 6" "${bare[@]}" "${apart[@]}" \
        --refine bad-crash
    program=$own
else
    echo '# no namespaces here: their absence is what the other cases see'
fi

# A list runs no code: it reads what lies beside the plugins.
expect 0 '"bad-good", "version": null, "state": "unknown", "reason": "it has no manifest"' \
    plugin list --json --path tree
expect 0 '-     its manifest matches this build' plugin check bad-good --path tree
"$program" plugin info --manifest bad-good --path tree -o tree/plugins/bad-good/bad-good.manifest
expect 0 '0.1.0  ok       a plugin with a fault' plugin list --path tree
expect 0 'pass  its manifest matches this build' plugin check bad-good --path tree
sed -i 's/with a fault/with none/' tree/plugins/bad-good/bad-good.manifest
expect 3 'FAIL  its manifest matches this build' plugin check bad-good --path tree
sed -i 's/^bytes: ./&7/' tree/plugins/bad-good/bad-good.manifest
expect 0 '"state": "unknown", "reason": "its manifest belongs to another build"' \
    plugin list --json --path tree
printf 'plugin: [bad-good\n' >tree/plugins/bad-good/bad-good.manifest
expect 0 '"state": "unknown", "reason": "its manifest cannot be read"' \
    plugin list --json --path tree
rm tree/plugins/bad-good/bad-good.manifest
mkfifo tree/plugins/bad-good/bad-good.manifest # nobody writes to it
expect 0 '"state": "unknown", "reason": "its manifest cannot be read"' \
    plugin list --json --path tree
expect 1 'bad-load.so cannot be used: it crashed: signal 6' \
    plugin info --manifest bad-load --path tree
expect 2 "did you mean 'bad-nan'?" plugin info --manifest bad-man --path tree
rm tree/plugins/bad-good/bad-good.manifest

job=(estimate --all llama3-8b-8xh100 --path tree --set parallel.tp=2 --set parallel.dp=4
    --set parallel.sequence_parallel=false)
expect 0 'bad-good for all_reduce' "${job[@]}" --refine bad-good
expect 1 'cannot be used: it uses plugin ABI 2385' "${job[@]}" --refine bad-abi
expect 1 'cannot be used: not a shared object (not ELF)' "${job[@]}" --refine bad-text
expect 1 'cannot be opened: the table of links is missing' "${job[@]}" --refine bad-open
expect 1 "cell 't_all_reduce_tp' has no value" "${job[@]}" --refine bad-nan
expect 1 "cell 't_all_reduce_tp' has no value" "${job[@]}" --refine bad-negative
expect 2 "did you mean 'bad-nan'?" "${job[@]}" --refine bad-man
expect 2 "plugin 'bad-good' is given twice" "${job[@]}" --refine bad-good --refine bad-good
expect 0 'sum to' explain llama3-8b-8xh100 t_all_reduce_tp --path tree --set parallel.tp=2 \
    --set parallel.sequence_parallel=false --set parallel.dp=4 --refine bad-sum

cat >job.yaml <<'END'
cluster: {nic_bandwidth: 3.1 GB/s}
constants: {ranks: 7, volume: 2.5 MB}
sheet: ./ring.yaml
refine: [{plugin: bad-nan, fallback: formula}]
END
cat >ring.yaml <<'END'
sheet: ring
inputs:
  n: {from: constants.ranks}
  V: {from: constants.volume, unit: MB}
functions:
  all_reduce: {open: true, args: {size: B, ranks: 1}, unit: us, is: '7.25[us]*ranks'}
cells:
  T: {unit: us, is: 'all_reduce(V, n)'}
END
expect 0 "cell 'T' keeps its formula for 'all_reduce': provider 'bad-nan' fails" \
    estimate ./job.yaml --path tree

chmod o+w tree/plugins/bad-good
expect 0 'everyone can write to the folder' "${job[@]}" --refine bad-good
chmod o-w tree/plugins/bad-good
chmod o+w tree/plugins/bad-good/bad-good.so
expect 0 'everyone can write to the file' "${job[@]}" --refine bad-good
for verb in list 'info bad-good' 'check bad-good'; do
    # shellcheck disable=SC2086
    expect 0 'warning: everyone can write to the file tree/plugins/bad-good/bad-good.so' \
        plugin $verb --path tree
done
chmod o-w tree/plugins/bad-good/bad-good.so
if chgrp 12345 tree/plugins/bad-good 2>/dev/null; then
    chmod g+w tree/plugins/bad-good
    expect 0 'warning: group 12345 can write to the folder tree/plugins/bad-good' \
        "${job[@]}" --refine bad-good
    chmod g-w tree/plugins/bad-good
fi
chmod o+w tree/plugins
expect 0 'everyone can write to the folder tree/plugins of a plugin' "${job[@]}" --refine bad-good
expect 0 'everyone can write to the folder tree/plugins of a plugin' plugin list --path tree
"$program" plugin list --path tree 2>&1 | grep -c 'everyone' >told
[[ $(<told) == 1 ]] || { echo 'not ok - a folder of several plugins is reported once' && failed=1; }
chmod o+wt tree/plugins # others may not replace what lies in it
"$program" "${job[@]}" --refine bad-good 2>&1 | grep -q 'everybody' &&
    echo 'not ok - a sticky folder is safe' && failed=1

echo "1..$count"
((failed == 0))
