#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Writes the files that tests/cli/cases.txt reads into the working folder: good ones, and bad ones
# of every kind that a user or a stranger may give.
set -eu

job() {
    cat <<'END'
model: gpt-3b
cluster: rtx3090-pcie-32
parallel: {tp: 2, pp: 4, dp: 4}
batch: {global: 1024, micro: 32, sequence: 1024}
recompute: full
sheet: li2024
END
}

# A sheet of one input and the cells on standard input.
sheet() {
    printf 'sheet: %s\ninputs:\n  C: {from: constants.C, unit: GB/s, doc: bandwidth}\n' "$1"
    printf '  V: {from: constants.V, unit: MB, doc: message}\ncells:\n'
    cat
}

# ---- good ones
job >job.yaml
printf 'sheet: mine\ninclude: [li2024]\ncells:\n' >mine.yaml
printf '  T_DP: {override: true, unit: s, is: "0[s]", doc: all hidden, cite: ours}\n' >>mine.yaml
sheet good >good.yaml <<'END'
  T: {unit: us, is: V/C, doc: time}
END
printf 'sheet: good.yaml\nconstants: {C: 2.385 GB/s, V: 3 MB}\n' >good-job.yaml
cp good-job.yaml -- --odd.yaml
mkdir folder folder.yaml
mkdir -p tree/formulas tree/configs/jobs
cp good.yaml tree/formulas/good.yaml
printf 'sheet: good\nconstants: {C: 2.385 GB/s, V: 3 MB}\n' >tree/configs/jobs/in-tree.yaml

# ---- bad jobs
: >empty.yaml
printf '# only a comment\n' >comment.yaml
job | sed 's/^model:/modeel:/' >misspelt.yaml
job | sed 's/tp: 2/tpp: 2/' >misspelt-inside.yaml
{ job && echo 'model: gpt-1.5b'; } >twice.yaml
{ job && echo 'cluster:' && echo '  nic_bandwidth: 12 GiB'; } | sed '/^cluster: rtx/d' >unit.yaml
{ job && printf 'a: &a [1, 2, 3]\nb: [*a, *a]\n'; } >alias.yaml
{
    printf 'a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n'
    for i in 1 2 3 4 5 6 7 8 9; do
        p=$((i - 1))
        printf 'a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n' \
            "$i" "$i" "$p" "$p" "$p" "$p" "$p" "$p" "$p" "$p" "$p" "$p"
    done
} >bomb.yaml
{ job && printf 'name: \377\376\n'; } >latin.yaml
{ job && printf 'name: "\\e[31mred"\n'; } >escape.yaml
printf '\000\001\002' >binary.yaml
{ job && printf 'x: {y: [1, 2\n'; } >broken.yaml
job | tr ' ' '\t' >tabs.yaml
job | sed 's/global: 1024/global: 1000/' >multiple.yaml
job | sed 's/tp: 2/tp: 3.5/; s/pp: 4/pp: nan/; s/dp: 4/dp: 0x4/; s/1024, micro/1_024, micro/' \
    >numbers.yaml
printf 'sheet: li2024\n' >bare.yaml
head -c 100000000 /dev/zero | tr '\000' 'x' >huge.yaml
{ printf 'a: ' && head -c 100000 /dev/zero | tr '\000' '['; } >nested.yaml
ln -s loop-b.yaml loop-a.yaml
ln -s loop-a.yaml loop-b.yaml

# ---- bad sheets
sheet add >add.yaml <<'END'
  T: {unit: us, is: V + C, doc: nonsense}
END
sheet dimension >dimension.yaml <<'END'
  T: {unit: us, is: V*C, doc: nonsense}
END
sheet literal >literal.yaml <<'END'
  T: {unit: us, is: V/C + 1, doc: a bare number is no time}
END
sheet cycle >cycle.yaml <<'END'
  a: {is: b+1, doc: d}
  b: {is: c+1, doc: d}
  c: {is: d+1, doc: d}
  d: {is: e+1, doc: d}
  e: {is: a+1, doc: d}
  T: {unit: us, is: V/C, doc: time}
END
cat >zero.yaml <<'END'
sheet: zero
inputs:
  V: {from: constants.V, unit: MB, doc: message}
  n: {from: constants.n, doc: a divisor}
cells:
  T: {unit: MB, is: V/n, doc: share}
END
printf 'sheet: zero.yaml\nconstants: {V: 3 MB, n: 0}\n' >zero-job.yaml
{ echo 'include: [self.yaml]' && sheet self <good.yaml; } >self.yaml
sed -i '/^sheet: good/,$d' self.yaml
printf '  T: {unit: us, is: V/C, doc: time}\n' >>self.yaml
printf 'include: [two-b.yaml]\nsheet: a\n' >two-a.yaml
printf 'include: [two-a.yaml]\nsheet: b\n' >two-b.yaml
{
    printf '  T: {doc: deep, is: "'
    head -c 10000 /dev/zero | tr '\000' '('
    printf 1
    head -c 10000 /dev/zero | tr '\000' ')'
    printf '"}\n'
} | sheet deep >deep.yaml
sheet faults >faults.yaml <<'END'
  a: {is: V +, doc: d}
  b: {is: unknown*2, doc: d}
  c: {unit: parsec, is: "1", doc: d}
  T: {unitt: us, is: V/C, doc: d}
END
sheet unused >unused.yaml <<'END'
  T: {unit: MB, is: 2*V, doc: time}
END
# shellcheck disable=SC2016 # LaTeX's dollars
sheet latex >latex.yaml <<'END'
  T_a: {unit: us, is: V/C, doc: "100% of $x & #1 {a} \\input{/etc/passwd} ~ ^ _ < > | \" ` é 中 α"}
END

printf 'sheet: li2024\nsheet: li2024\nparallell: {tp: 2}\n' >pair.yaml
sheet double >double.yaml <<'END'
  a: {is: 2*V, unit: MB, doc: d}
  a: {is: 3*V, unit: MB, doc: d}
  c: {unit: parsec, is: "1", doc: d}
END

# ---- bad validation sources
mkdir -p cases/validation/strict cases/validation/name
cat >cases/validation/strict/cases.yaml <<'END'
source: strict
title: t
cite: c
cases:
  - name: a
    job: gpt-3b-32x3090
    valuezz:
      - {cell: T_iter, published: "1 s", tolerance: "0"}
  - name: b
    job: gpt-3b-32x3090
    values:
      - {cell: T_iter, publishedd: "1 s", tolerance: "-1 %"}
      - {cell: T_iter, published: "1 s", tolerance: "2 s"}
  - name: b
    job: gpt-3b-32x3090
    values: 7
END
printf 'source: other\ntitle: t\ncite: c\ncases: []\n' >cases/validation/name/cases.yaml

# ---- files of other programs
llama='"model_type": "llama", "hidden_size": 2304, "intermediate_size": 6912, "vocab_size": 32064,
"num_hidden_layers": 22, "num_attention_heads": 18'
echo "{$llama}" >llama.json
echo "[{$llama}]" >list.json
echo "{$llama, \"num_key_value_heads\": 5}" >uneven.json
echo "{$llama, \"hidden_size\": 1152}" >twice.json
echo "{$llama, \"tie_word_embeddings\": \"yes\"}" >tie.json
echo "{$llama, \"layer_types\": [\"full_attention\"]}" >layers.json
sed 's/"hidden_size": 2304,//' llama.json >missing.json
sed 's/"model_type": "llama"/"architectures": ["LlamaForCausalLM"]/' llama.json >class.json
sed 's/2304/2305/' llama.json >odd.json
echo "{$llama" >cut.json
echo '{"model_type": "vit", "hidden_size": 768}' >vit.json
echo '{"architectures": ["NewForImages"], "image_size": 224, "num_channels": 3}' >images.json
echo '{"model_type": "llamma", "odd_gate": 3}' >slip.json
cat >run.log <<'END'
------------------------ arguments ------------------------
  bf16 ............................................ True
  data_parallel_size .............................. 2
  global_batch_size ............................... 48
  hidden_size ..................................... 2304
  max_position_embeddings ......................... 2048
  micro_batch_size ................................ 3
  num_attention_heads ............................. 24
  num_layers ...................................... 28
  seq_length ...................................... 2048
  tensor_model_parallel_size ...................... 4
  tokenizer_type .................................. GPT2BPETokenizer
-------------------- end of arguments ---------------------
 iteration        1/     500 | elapsed time per iteration (ms): 9385.1 | learning rate: 1.0E-05 |
 iteration        2/     500 | elapsed time per iteration (ms): 2675.2 | learning rate: 1.0E-05 |
 iteration        3/     500 | elapsed time per iteration (ms): 2664.8 | learning rate: 1.0E-05 |
END
grep iteration run.log >times.log
sed 's/ 24$/ twenty/; s/ 48$/ 2.5/' run.log >words.log

# ---- measured rows
head='id,layers,hidden,heads,ffn,vocab,seq,micro_batch,global_batch,recompute,dtype,tp,pp,dp'
head="$head,gpu,gpus,gpus_per_node,target_iter_s"
plan='22,3072,24,12288,50257,2048,1,384,selective,bf16,4,2,6,A100-80GB-SXM,48,8'
rows() {
    echo "$head"
    for time in "$@"; do echo "row$time,$plan,$time"; done
}
rows 3.1 2.9 3.3 >rows.csv
rows 3.1 -2.9 >negative.csv
rows 3.1 fast >fast.csv
rows '3.1 GB' >unit.csv
rows 3.1 | sed 's/layers/hidden/' >columns.csv
rows 3.1 | sed '1s/^/\xef\xbb\xbf/' >mark.csv
rows 3.1 | sed 's/A100-80GB-SXM/A1000/' >gpu.csv
rows 3.1 | sed 's/,target_iter_s/,time/' >untimed.csv
rows 3.1 2.9 | sed '3s/,selective//' >ragged.csv
rows 3.1 | sed 's/ffn/ffnn/' >ffnn.csv
rows >rowless.csv
: >empty.csv
rows 3.1 2.9 | sed '1s/$/,order/; 2s/$/,dp-tp-pp/; 3s/$/,dp-tp/' >order.csv
# ---- traces: a call, a kernel and a collective of a rank
# trace RANK RANKS SECOND
trace() {
    printf '{"distributedInfo":{"backend":"nccl","rank":%d,"world_size":%d},"traceEvents":[\n' \
        "$1" "$2"
    call='"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2'
    printf '{%s,"ts":%d000010.125,"dur":5,"args":{"correlation":31}},\n' "$call" "$3"
    printf '{%s,"ts":%d000018.5,"dur":5,"args":{"correlation":32}},\n' "$call" "$3"
    printf '{"ph":"X","cat":"kernel","name":"ampere_sgemm_32x32_nn","pid":0,"tid":7,'
    printf '"ts":%d000020.25,"dur":23.85,"args":{"device":0,"stream":7,"correlation":31}},\n' "$3"
    printf '{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f16_RING_LL","pid":0,'
    printf '"tid":20,"ts":%d%06d,"dur":%d,' "$3" "$((30 + $1 * 3))" "$((40 - $1 * 3))"
    printf '"args":{"device":0,"stream":20,"correlation":32}}\n]}\n'
}
trace 0 2 5 >trace.json
trace 0 2 5 | gzip >trace.json.gz
head -c 100 trace.json.gz >trace-cut.json.gz
head -c 560 trace.json >trace-cut.json
trace 0 2 5 | sed 's/"dur":23/"dur":-23/' >trace-negative.json
trace 0 2 5 | sed 's/"correlation":32/"correlation":31/' >trace-twice.json
trace 0 2 5 | sed 's/"ts":5000018/"ts":4000018/' >trace-jump.json
echo '{"traceEvents":[]}' >trace-empty.json
echo '{"schema":"1.0.1","nodes":[]}' >execution.json
{
    echo '{"traceEvents":['
    seq 5000 | sed 's/.*/{"ph":"X","cat":"kernel","name":"k","ts":&,"dur":1,"args":{"stream":&}},/'
    echo '{}]}'
} >trace-streams.json
{ head -c 9000 trace-streams.json && tail -c 20 trace-streams.json; } | gzip >trace-broken.json.gz
printf 'broken' | dd of=trace-broken.json.gz bs=1 seek=200 conv=notrunc 2>/dev/null
mkdir ranks jobs four two none
for i in 0 1; do trace "$i" 2 5 >"ranks/r$i.json"; done
cp execution.json ranks
described='"Collective name":"allreduce","dtype":"Half","In msg nelems":238500,"Group size":2'
trace 0 2 5 | sed "s/\"stream\":20,/&$described,/" >trace-described.json
trace 0 2 5 >jobs/r0.json
trace 1 2 500 >jobs/r1.json
trace 1 8 5 >jobs/other.json
trace 3 4 5 >four/r3.json
trace 0 4 5 >four/r0.json
cp trace.json trace-jump.json two

# ---- places to write to
echo old >existing.txt

# ---- kernels beside communication
kernels='kernel,isolated_ns,overlapped_ns,overlap_ratio,Compute throughput,Memory throughput'
kernels="$kernels,DRAM throughput,Achieved occupancy,L1 hit rate,L2 hit rate"
{
    echo "$kernels"
    echo 'ampere_sgemm_128x32_tn,2385,2911,0.75,81.5,17.4,12.1,44.2,3.5,70.9'
    echo 'layer_norm_grad,7385,8911,0.65,21.5,67.4,62.1,64.2,33.5,50.9'
    echo 'ampere_sgemm_128x32_nt,1385,1911,0.55,80.5,16.4,11.1,43.2,4.5,71.9'
} >kernels-few.csv
sed 's/overlap_ratio,//; s/,0\.[0-9]*5,/,/' kernels-few.csv >kernels-short.csv
sed 's/,2385,/,nan,/' kernels-few.csv >kernels-nan.csv
# ---- profiles and topologies
profile() {
    printf '{"format": "steptime profiles", "schema": %s, "profiles": [' "$1"
    printf '{"name": "site", "kind": "options", "plugin": "alpha-beta", "cluster": "site-a", '
    printf '"collective": "all_reduce", "ranks": 16, "nodes": 2, "provenance": "{\\"rows\\": 26}", '
    printf '"payload": "{\\"latency\\": \\"4.385 us\\"}"}]}\n'
}
profile 1 >profile.json
profile 2 >profile-newer.json
profile 1 | head -c 200 >profile-cut.json
printf 'a text file\n' >text.db
cat >topology.xml <<'END'
<?xml version="1.0"?>
<system version="1">
  <cpu numaid="0" arch="x86_64">
    <pci busid="0000:07:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="90" rank="0" gdr="1"><nvlink target="x" count="18" tclass="0x068000"/></gpu>
    </pci>
    <pci busid="0000:0b:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
      <gpu dev="1" sm="90" rank="1" gdr="1"><nvlink target="x" count="18" tclass="0x068000"/></gpu>
    </pci>
    <pci busid="0000:0c:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
      <nic><net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x1"/></nic>
    </pci>
  </cpu>
</system>
END
grep -v '<gpu' topology.xml | sed 's/0x0302/0x0604/' >topology-bare.xml
{ printf '<!DOCTYPE system [<!ENTITY a "b">]>' && sed 1d topology.xml; } >topology-doctype.xml

# ---- output of nccl-tests: 8 GPUs of one node, latency and bandwidth of three protocols
nccl_log() {
    echo "# nccl-tests version 2.13.9 nccl-headers=22203 nccl-library=22203"
    echo "# Collective test starting: $1_perf"
    echo "# Using devices"
    for rank in 0 1 2 3 4 5 6 7; do
        printf '#  Rank  %s Group  0 Pid  91711 on node-a device  %s ' "$rank" "$rank"
        printf '[0x0%s] NVIDIA A100-SXM4-80GB\n' "$rank"
    done
    echo "# out-of-place in-place"
    echo "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong"
    awk 'BEGIN {
        for (k = 10; k <= 28; k++) {
            size = 2 ^ k
            time = 23.85 + size / 20e3
            if (41.7 + size / 80e3 < time) time = 41.7 + size / 80e3
            if (88.3 + size / 130e3 < time) time = 88.3 + size / 130e3
            rate = size / time / 1e3
            row = sprintf("  %.2f  %.2f  %.2f  0", time, rate, rate * 1.75)
            printf "  %d  %d  float  sum  -1%s%s\n", size, size / 4, row, row
        }
    }'
}
nccl_log all_reduce >all_reduce.log
nccl_log all_gather >all_gather.log
cat all_reduce.log all_gather.log >two.log
head -n 25 all_reduce.log | sed '$s/sum.*/sum  -1  23.9/' >cut.log
sed 's/  [0-9.]*  [0-9.]*  [0-9.]*  0$/  0.00  0.00  0.00  0/' all_reduce.log >zero.log
sed 's/^  1024 /  4611686018427387904 /' all_reduce.log >huge.log
grep '^#' all_reduce.log >bare.log

# ---- a model of slowdowns that can be learnt: memory-bound kernels are slowed by a half
{
    head -n 1 kernels-few.csv
    i=1
    while [ "$i" -le 40 ]; do
        product=$((20000 + 391 * i))
        sum=$((30000 + 170 * i))
        slowed=$((45000 + 255 * i))
        echo "ampere_sgemm_${i}_tn,$product,$product,0.9,85.5,12.5,10.1,44.2,3.5,70.9"
        echo "vectorized_elementwise_$i,$sum,$slowed,1,6.5,71.5,70.1,87.2,3.5,40.9"
        i=$((i + 1))
    done
} >kernels.csv
priced() {
    printf 'model: llama3-8b\ncluster: dgx-h100\nparallel: {dp: 8, zero: 1}\n'
    printf 'batch: {global: 64, micro: 1, sequence: 2048}\nrecompute: full\n'
    printf 'overlap: {gradients: 0.9}\n'
    printf 'refine:\n  - plugin: %s\n    fallback: %s\n    options: {%s}\n' "$1" "$2" "$3"
}
priced overlap-constant error 'gpu: rtx3090' >priced-constant.yaml
priced overlap-constant error 'step: 0.5' >priced-wrong.yaml
priced overlap-xgboost formula 'model: slow.model' >priced-trees.yaml
priced overlap-xgboost error 'model: cut.model' >priced-cut.yaml
priced overlap-xgboost error '' >priced-none.yaml

# ---- layer times
cat >layers.csv <<'END'
gpu,tokens,hidden,heads,ffn,tp,forward_us,backward_us
A100-80GB-SXM,2048,5120,40,20480,4,1161.5,2093.5
A100-80GB-SXM,4096,5120,40,20480,4,2187.25,3901.75
A100-80GB-SXM,8192,5120,40,20480,4,4260.75,7611.5
A100-80GB-SXM,4096,5120,40,20480,8,1193.5,2217.25
END
gzip -k layers.csv
head -c 90 layers.csv.gz >layers-cut.csv.gz
sed 's/2187.25/NaN/' layers.csv >layers-nan.csv
sed 's/2187.25/-2187.25/' layers.csv >layers-negative.csv
sed 's/hidden/hiden/' layers.csv >layers-column.csv
sed '3s/A100-80GB-SXM/H100-80GB-SXM/' layers.csv >layers-two.csv
sed 's/,ffn/,width/' layers.csv >layers-other.csv
head -n 1 layers.csv >layers-none.csv
cut -d, -f2-7 layers.csv >layers-one.csv
cat >layers-job.yaml <<'END'
name: a part of 13B
model: {layers: 12, hidden: 5120, heads: 40, vocabulary: 50257, positions: 2048}
cluster: {base: dgx-a100, nodes: 4}
parallel: {tp: 4, dp: 8}
batch: {global: 512, micro: 2, sequence: 2048}
recompute: none
refine: {plugin: kernel-times, options: {times: forward.times}}
END
sed 's/forward.times}/forward.times, shapes: inside}/' layers-job.yaml >layers-inside.yaml
sed 's/}}$/}, fallback: formula}/' layers-inside.yaml >layers-fallback.yaml
sed 's/forward.times}/forward.times, other_gpu: allow}/; s/dgx-a100/dgx-h100/' \
    layers-job.yaml >layers-allow.yaml
printf 'id,layers,hidden,heads,seq,vocab,gpu,gpus,gpus_per_node,tp,pp,dp,micro_batch,' >steps.csv
cat >>steps.csv <<'END'
global_batch,recompute,dtype,step_time_s
a,16,2048,16,1024,50257,A100-80GB-SXM,2,8,2,1,1,4,16,full,fp16,0.4813
b,20,2048,16,1024,50257,A100-80GB-SXM,2,8,2,1,1,4,32,full,fp16,1.1715
c,16,2048,16,1024,50257,A100-80GB-SXM,4,8,4,1,1,4,16,full,fp16,0.3891
d,24,2048,16,1024,50257,A100-80GB-SXM,4,8,2,1,2,4,32,full,fp16,0.7087
e,24,2048,16,1024,50257,A100-80GB-SXM,4,8,2,2,1,4,32,full,fp16,0.8133
END
# two steps of six layers: three kernels forward, four backward, then the optimizer
{
    printf '{"distributedInfo": {"rank": 0, "world_size": 1}, "deviceProperties": [{"name": '
    printf '"NVIDIA A100-SXM4-80GB"}], "traceEvents": ['
    i=0
    at=100
    kernel() {
        printf '{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,'
        printf '"ts":%d,"dur":1,"args":{"correlation":%d}},' "$at" "$i"
        printf '{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":7,"ts":%d,"dur":%d,' \
            "$1" "$at" "$2"
        printf '"args":{"correlation":%d,"device":0,"stream":7}},' "$i"
        i=$((i + 1))
        at=$((at + $2 + 1))
    }
    for step in 1 2; do
        printf '{"ph":"X","cat":"user_annotation","name":"ProfilerStep#%d","pid":1,"tid":1,' "$step"
        printf '"ts":%d,"dur":1000},' "$((at - 1))"
        for _ in 1 2 3 4 5 6; do
            kernel gemm_first 21
            kernel layer_norm 5
            kernel ncclDevKernel_AllReduce 9
            kernel "gemm_last" 17
        done
        for _ in 1 2 3 4 5 6; do
            kernel gemm_last_wgrad 19
            kernel gemm_last_dgrad 18
            kernel layer_norm_grad 7
            kernel gemm_first_wgrad 23
            kernel ncclDevKernel_AllReduce 9
            kernel gemm_first_dgrad 22
        done
        kernel multi_tensor_apply_adam 31
    done
    printf '{"ph":"X","cat":"cpu_op","name":"end","pid":1,"tid":1,"ts":%d,"dur":1}]}\n' "$at"
} >repeats.json
# ---- one collective, for plugins to refine
collective() {
    printf 'sheet: coll\ntitle: One collective\ninputs:\n  n: {from: constants.ranks}\n'
    printf '  k: {from: constants.per_node}\n  V: {from: constants.volume, unit: B}\nfunctions:\n'
    printf '  %s: {open: true, args: {size: B, ranks: 1, per_node: 1}, unit: us,\n' "$1"
    printf '    is: "7.25[us]*ranks + size/31[GB/s]"}\ncells:\n'
    printf '  T: {unit: us, is: "%s(V, n, k)"}\n' "$1"
}
refined() {
    printf 'cluster: {nodes: 2, gpus_per_node: 8, nic_bandwidth: 100 GB/s,\n'
    printf '  gpu: {link_bandwidth: 300 GB/s, compute_capability: 8.0}}\n'
    printf 'constants: {ranks: 16, per_node: 8, volume: 8388608 B}\nsheet: ./%s\nrefine: %s\n' "$1" "$2"
}
collective all_reduce >coll.yaml
collective all_gather >coll-gather.yaml
refined coll.yaml nccl-whitebox >coll-job.yaml
refined coll-gather.yaml 'nccl-whitebox' >gather-job.yaml
refined coll.yaml '[nccl-whitebox, alpha-beta, nccl-whitebox]' >twice-job.yaml
refined coll.yaml '[{plugin: alpha-beta, options: {alpha: 4 us}}, {plugin: alpha-beta}]' >twice-map.yaml
refined coll.yaml '{plugin: alpha-beta, optoins: {}, fallback: maybe}' >wrong-map.yaml
