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

# A sheet without a layer list: buckets of equal size, of which the last one stays exposed.
cat >even.yaml <<'END'
sheet: even
inputs:
  d: {from: parallel.dp, doc: ranks}
  C: {from: constants.C, unit: GB/s, doc: bandwidth}
cells:
  T_forward: {unit: ms, is: "70[ms]", doc: d}
  T_backward: {unit: ms, is: "140[ms]", doc: d}
  T_update: {unit: ms, is: "3.5[ms]", doc: d}
  first: {unit: MB, is: "1[MB]", doc: d}
  cap: {unit: MB, is: "25[MB]", doc: d}
  width: {unit: B, is: "4[B]", doc: d}
  start: {unit: ms, is: "39.375[MB]/C", doc: d}
  ring: {is: 2*(d-1)/d, doc: d}
  slow: {is: "1.25", doc: d}
  messages: {is: "5", doc: d}
  message_bytes: {unit: MB, is: "500[MB]", doc: d}
  T_exposed: {unit: ms, is: "24.5[ms]", doc: d}
  T_hidden: {unit: ms, is: "98[ms]", doc: d}
  T_slowdown: {unit: ms, is: T_hidden*(1 - 1/slow), doc: d}
  T_step: {unit: ms, is: T_forward + T_backward + T_slowdown + T_exposed + T_update, doc: d}
  bucket: {unit: MB, is: message_bytes/messages, doc: d}
  t_bucket: {unit: ms, is: start + bucket*ring/C, doc: d}
  passes: {unit: ms, is: T_forward + T_backward, doc: d}
roles:
  step: T_step
  communication: {exposed: T_exposed, hidden: T_hidden, slowdown: T_slowdown}
  dp: d
  layer_forward: T_forward
  layer_backward: T_backward
  optimizer: T_update
  bucket_bytes: {first: first, others: cap, value: width, all: message_bytes}
  bucket_sizes: {k1: bucket}
  bucket_times: {k1: t_bucket}
  buckets: messages
  slowed: {forward: slow, backward: slow, inputs: slow, weights: slow, rest: slow}
  step_terms: {steady: passes, data: T_exposed, slowdown: T_slowdown, optimizer: T_update}
END
printf 'sheet: even.yaml\nparallel: {dp: 8}\nconstants: {C: 8.75 GB/s}\n' >even-job.yaml

# A sheet of one's own: a pipeline in other words than ours, then without a role that timelines
# need, with one filled twice and with one filled by a cell of another unit.
cat >pipe.yaml <<'END'
sheet: pipe
title: A pipeline of one's own
inputs:
  S: {from: parallel.pp, doc: stages}
  R: {from: parallel.dp, doc: replicas}
  U: {from: batch.micro, doc: micro-batch}
  B: {from: batch.global, doc: batch}
  F: {from: constants.F, unit: ms, default: 9.54 ms, doc: forward pass}
cells:
  M: {is: B/(U*R), doc: micro-batches}
  Ff: {unit: ms, is: F/S*U, doc: forward}
  Fb: {unit: ms, is: 2*F/S*U, doc: backward}
  Fe: {unit: ms, is: '0.31[ms]*U', doc: gradients of the embedding}
  duration: {unit: ms, is: (M + S - 1)*(Ff + Fb) + M*Fe, doc: step}
  room: {unit: GiB, is: '63[GiB]/S', doc: memory}
roles:
  step: duration
  memory: room
  pp: S
  dp: R
  micro_batches: M
  layer_forward: Ff
  layer_backward: Fb
  embedding_weights: Fe
END
printf 'sheet: pipe.yaml\nparallel: {pp: 4, dp: 2}\nbatch: {global: 16, micro: 1}\n' >pipe-job.yaml
grep -v 'layer_backward' pipe.yaml >pipe-without.yaml
{ cat pipe.yaml; echo '  step: room'; } >pipe-twice.yaml
sed 's/step: duration/step: room/' pipe.yaml >pipe-unit.yaml
for sheet in without twice unit; do
    sed "s/pipe.yaml/pipe-$sheet.yaml/" pipe-job.yaml >"pipe-$sheet-job.yaml"
done

# Two sheets that override one cell of a third; one that decides.
printf 'sheet: left\ninclude: [good.yaml]\ncells:\n' >left.yaml
sed 's/left/right/' left.yaml >right.yaml
printf '  T: {override: true, unit: us, is: 2*V/C, doc: time}\n' >>left.yaml
printf '  T: {override: true, unit: us, is: 3*V/C, doc: time}\n' >>right.yaml
printf 'sheet: both\ninclude: [left.yaml, right.yaml]\n' >both.yaml
sed 's/both/settled/' both.yaml >settled.yaml
printf 'cells:\n  T: {override: true, unit: us, is: 5*V/C, doc: time}\n' >>settled.yaml

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
cat >lone.yaml <<'END'
sheet: lone
inputs:
  lat: {from: constants.lat, default: 23 us, doc: a latency whose unit is given once}
  own: {from: constants.own, unit: us, default: 3.5 us, doc: one with both}
cells:
  T: {unit: us, is: own + 2.5us, doc: a unit without brackets}
END
sheet no-value >no-value.yaml <<'END'
  D: {unit: MB, is: '7.3[MB]/(2.385 - 2.385)', doc: whatever the inputs are}
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

# ---- files of frameworks
printf '[training]\nseq_len = 4096 # tokens\n[parallelism]\n' >titan.toml
printf 'tensor_parallel_degree = 2\nodd_knob = "x # y"\n' >>titan.toml
{ cat titan.toml; echo 'data_parallel_shard_degree = 4'; } >shards.toml
{ cat shards.toml; echo 'data_parallel_replicate_degree = 2'; } >hsdp.toml
sed 's/\[training\]/[training/' titan.toml >section.toml
sed 's/seq_len = 4096/seq_len/' titan.toml >pair.toml
echo '<system version="1"><cpu numaid="0">' >system.toml
sed 's/4096/many/' titan.toml >word.toml
printf '# a comment\n' >none.toml
printf '# steptime: batch.micro=no\n' | cat - titan.toml >carried.toml
printf 'model:\n  num_layers: 4\n  hidden_size: 64\n  num_attention_heads: 4\n' >bridge.yaml
printf '  position_embedding_type: rope\n  seq_length: 128\n' >>bridge.yaml
printf 'train: {micro_batch_size: 3}\nmixed_precision: bf16_mixed\n' >>bridge.yaml
printf -- '- model\n' >bridge-list.yaml
printf '{"train_batch_size": 96, "train_micro_batch_size_per_gpu": 3,\n' >ds.json
printf ' "zero_optimization": {"stage": 2}, "bf16": {"enabled": true}}\n' >>ds.json

# ---- spaces of searches
cat >open.yaml <<'END'
model: llama3-8b
cluster: dgx-h100
batch: {global: 128, sequence: 8192}
END
sed 's/sequence: 8192/micro: 2, sequence: 8192/' open.yaml >closed.yaml
echo 'recompute: full' >>closed.yaml
cat >space.yaml <<'END'
space: two kinds of machine
gpus: [64, 128]
set: {batch.global: 768}
only:
  parallel.pp: all
  batch.micro: 1..4*2
zip:
  - cluster.gpu: [a100-sxm-80gb, h100-sxm]
    cluster.nic_bandwidth: [25 GB/s, 50 GB/s]
where:
  - memory <= 72[GiB]
END
sed 's/GiB/s/; s/a100-sxm-80gb, //' space.yaml >space-axes.yaml
sed 's/GiB/s/' space.yaml >space-where.yaml
sed '/^gpus/d; s/pp: all/pp: [8, 16]/' space.yaml >space-sweep.yaml
printf 'space: x\ngpu: 64\nvary: {batch.micro: {a: 1}}\n' >space-form.yaml

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
cat >bamba.json <<'END'
{"model_type": "bamba", "num_hidden_layers": 23, "hidden_size": 1536, "num_attention_heads": 12,
"num_key_value_heads": 4, "intermediate_size": 4608, "vocab_size": 49160, "mamba_n_heads": 48,
"mamba_d_head": 64, "mamba_d_state": 128, "attn_layer_indices": [9, 18]}
END
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
{
    echo 'tables: [{file: rows.csv}]'
    echo 'set: [cluster=dgx-a100, cluster.nodes=6]'
    echo 'leave_out: [id]'
    echo 'mfu: [gpu]'
    echo 'constants: [{key: constants.site_factor, prior: 1.1, sd: 0.4, source: a guess}]'
} >spec.yaml
sed 's/site_factor/site_fctor/' spec.yaml >slip.yaml
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
trace 0 64 5 | sed "s/\"stream\":20,/&$described,/" >trace-many.json
h100='"deviceProperties":[{"id":0,"name":"NVIDIA H100 80GB HBM3"}],'
trace 0 64 5 | sed "1s/^{/{$h100/" >trace-h100.json
step='{"ph":"X","cat":"user_annotation","name":"ProfilerStep#7",'
step=$step'"pid":1,"tid":2,"ts":5000002,"dur":98.5},'
trace 0 2 5 | sed "s/^{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ampere/$step\n&/" >trace-step.json
module='{"ph":"X","cat":"python_function","name":"nn.Module: Linear_0","pid":1,"tid":2,'
module=$module'"ts":5000009,"dur":9},'
gemm='^{"ph":"X","cat":"kernel","name":"ampere'
trace 0 2 5 | sed "s/$gemm/$module\n&/" >trace-module.json
memory='{"ph":"i","name":"[memory]","pid":1,"tid":2,"ts":5000012,"args":{"Addr":71,"Bytes":238500,'
memory=$memory'"Total Allocated":1238500,"Device Type":1,"Device Id":0}},'
trace 0 2 5 | sed "s/$gemm/$memory\n&/" >trace-memory.json
trace 7 4 5 >trace-rank.json
trace 0 2 5 >jobs/r0.json
trace 1 2 500 >jobs/r1.json
trace 1 8 5 >jobs/other.json
# two files that say they are of one job, and are not
mkdir mixed
group='"Process Group Name":"0","Process Group Ranks":"[0, 1]","Seq":'
for i in 0 1; do
    trace "$i" 2 5 | sed "s/\"stream\":20,/&$described,${group}7,/" >"mixed/same$i.json"
done
sed 's/allreduce"/reduce_scatter"/' mixed/same1.json >mixed/name.json
sed 's/238500/2385/' mixed/same1.json >mixed/elements.json
sed 's/\[0, 1\]/[4, 5]/' mixed/same1.json >mixed/group.json
sed 's/"Group size":2/"Group size":8/' mixed/same1.json >mixed/size.json
sed 's/"Seq":7/"Seq":77/' mixed/same1.json >mixed/later.json
for i in 0 1; do
    sed "s/\"traceEvents\"/\"deviceProperties\":[{\"id\":0,\"name\":\"GPU $i\"}],&/" \
        "mixed/same$i.json" >"mixed/gpu$i.json"
done
sed 's/,"world_size":2//' mixed/same1.json >mixed/sizeless.json
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
    factor=1.75 # busbw / algbw on 8 ranks
    case $1 in *gather) factor=0.875 ;; reduce) factor=1 ;; esac
    awk -v factor=$factor 'BEGIN {
        for (k = 10; k <= 28; k++) {
            size = 2 ^ k
            time = 23.85 + size / 20e3
            if (41.7 + size / 80e3 < time) time = 41.7 + size / 80e3
            if (88.3 + size / 130e3 < time) time = 88.3 + size / 130e3
            rate = size / time / 1e3
            row = sprintf("  %.2f  %.2f  %.2f  0", time, rate, rate * factor)
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
# Tables of steps and networks that are none
{
    printf '# gpus: H100 80GB HBM3\n# nodes: 2\n# ranks: 16\n# interconnect: EFAv2 32x100Gb/s\n'
    printf '# collective: all_reduce_perf\nsize_bytes,time_us\n1048576,125.7\n16777216,286.1\n'
} >efa.csv
printf 'collective all_reduce\nranks any\nchunks 1\n' >head.steps
{ cat head.steps; printf '\nreduce 0 from (r+1) mod n\nsend 0 to (r-1) mod n\n'; } >stuck.steps
printf 'collective all_gather\nranks any\nchunks n\n' >lacks.steps
echo 'send (r+1) mod n to (r+1) mod n' >>lacks.steps
{ cat head.steps; printf 'send 0 to (r+1) mod n\nreduce 0 from (r-1) mod n\n'; } >short.steps
{ cat head.steps; printf 'send 0 to 1-r\n'; } >left.steps
{ cat head.steps; printf 'send 0 too r\n'; } >words.steps
{ cat head.steps; printf 'ranks 4\n'; } >again.steps
{ cat head.steps; printf 'send log2(r) to 1-r\n'; } >log.steps
: >none.steps
{ cat head.steps; printf 'for %s = 0 to 999999999\n' a b; printf 'end\nend\n'; } >empty.steps
network() { # ranks link...
    printf 'topology: t\nstart: 1 us\nranks: %s\nlinks:\n' "$1"
    shift
    for link; do
        # shellcheck disable=SC2086 # three words
        printf '  - {from: %s, to: %s, bandwidth: %s GB/s, latency: 1 us}\n' $link
    done
}
network 2 'r0 r1 0' >net-zero.yaml
network 2 'r0 r0 2' >net-self.yaml
network 2 'r0 r1 2' | sed 's/latency: 1 us/latency: -1 us/' >net-late.yaml
network 3 'r0 r1 2' >net-apart.yaml
{ echo 'reduces: true'; network 3 'r0 r1 2' 'r1 r2 2' 'r2 r0 2'; } >net-loop.yaml
# Rings by hand: 254 rounds of 3 hops and 1/128 of the message, over links that carry one each
printf 'topology: torus-4x4x8\ndoc: a torus\nsource: by hand\nstart: 0 us\n' >torus.yaml
printf 'torus: {size: [4, 4, 8], bandwidth: 45 GB/s, latency: 1 us}\n' >>torus.yaml
{
    printf 'topology: over\ndoc: two tiers\nsource: by hand\nstart: 0 us\nlevels:\n'
    printf '  - {name: node, holds: 4, bandwidth: 450 GB/s, latency: 1 us}\n'
    printf '  - {name: leaf, holds: 4, bandwidth: 50 GB/s, oversubscription: 2, latency: 1 us}\n'
} >over.yaml
# The same measured by others: a folder with a look-up table and one of OSU, halves of a run
mkdir -p measured
awk 'BEGIN {
    print "size(B),count,type,time(ns),busbw(GB/s),time(ns),busbw(GB/s)"
    for (k = 20; k <= 28; k++) {
        time = 38.85 + 2 ^ k / 130e3
        printf "%d,%d,float,%.0f,%.2f,%.0f,1\n", 2 ^ k, 2 ^ k / 4, 1e3 * time, 1, 998 * time
    }
}' >measured/look-up.csv
printf '# OSU NCCL-CUDA Allreduce Latency Test v7.5\n' >measured/osu.txt
printf '# Size       Avg Latency(us)\n' >>measured/osu.txt
printf '1048576             47.30\n4194304             70.30\n' >>measured/osu.txt
echo 'not a table' >measured/remark.txt
echo_table() { # beta
    printf '16,8\n4194304,18000,11.5,57.43,54.3,50.14\n'
    printf '16777216,72000,11.5,%s,106.73,102.46\n' "$1"
}
echo_table 73.62 >echo-mine.csv
echo_table 0 >echo-bad.csv
half() { # placement nodes
    printf '# ranks: 8\n# nodes: %s\n# collective: all_reduce_perf\n# placement: %s\n' "$2" "$1"
    printf 'size_bytes,time_us\n1048576,58.35\n4194304,91.35\n'
}
half out-of-place 1 >half.csv
half in-place 1 >half.inplace.csv
half out-of-place 1 >torn.csv
half in-place 2 >torn.inplace.csv
half in-place 1 >loose.csv
{
    printf '# gpus: NVIDIA A100-SXM4-80GB\n# nodes: 1\n# ranks: 8\n# nccl: 2.22.3\n'
    printf '# collective: all_reduce_perf\n# placement: in-place\n'
    printf 'size_bytes,time_us\n1048576,57.11\n'
} >inside.csv
sed 's/^# ranks: 8/&\n# ranks: 16/' inside.csv >rates.csv
half beside 1 >placed.csv
half '' 1 | grep -v placement >bare.csv
cp bare.csv bare.inplace.csv

nccl_log reduce >reduce.log
nccl_log gather >gather.log
# A job of one such node whose plugin takes a profile, in both forms
profiled() {
    printf 'model: llama3-8b\ncluster: dgx-a100\nparallel: {tp: 2, dp: 4, zero: 1}\n'
    printf 'batch: {global: 64, micro: 1, sequence: 2048}\nrecompute: full\nrefine:\n  - %s\n' "$1"
}
profiled 'nccl-whitebox: {profile: node}' >profiled.yaml
profiled '{plugin: nccl-whitebox, profile: node}' >profiled-long.yaml
profiled 'nccl-whitebox: {profile: nod}' >profiled-wrong.yaml
profiled 'nccl-whitebix: {profile: node}' >profiled-other.yaml
profiled 'nccl-whitebox: {profil: node}' >profiled-key.yaml
profiled 'nccl-whitebox: {options: {correction: 8/1 1024=x}}' >corrected-wrong.yaml

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

# ---- pairs of recordings: forty products that nothing slows and forty sums that are slowed by a
# half, on stream 7, without and with an all-reduce on stream 20 beside every second kernel
# recorded BESIDE SUM_US [SKIP]: the sum number SKIP is missing
recorded() {
    printf '{"deviceProperties":[{"id":0,"name":"NVIDIA A100-SXM4-80GB"}],"traceEvents":[\n'
    awk -v beside="$1" -v sum="$2" -v skip="${3:-0}" '
    function kernel(name, stream, start, length_us, more) {
        printf "%s{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",", first, name
        printf "\"pid\":0,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,", stream, start, length_us
        printf "\"args\":{\"device\":0,\"stream\":%d,", stream
        printf "\"correlation\":%d%s}}", ++correlation, more
        first = ",\n"
    }
    BEGIN {
        at = 5000000.125
        for (i = 1; i <= 40; i++) {
            product = 120.385 + 0.391 * i
            kernel("ampere_sgemm_" 32 * (i % 4) "_tn", 7, at, product, "")
            at += product + 3
            length_us = 30.17 + 0.17 * i
            if (beside) length_us *= sum
            if (i != skip) kernel("vectorized_elementwise_kernel", 7, at, length_us, "")
            if (beside) kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", 20,
                               at - 1, length_us + 2, ",\"grid\":[24,1,1],\"dtype\":\"Float\"," \
                               "\"Collective name\":\"allreduce\",\"In msg nelems\":6553600")
            at += length_us + 3
        }
    }'
    printf ']}\n'
}
recorded 0 1 >alone.json
recorded 1 1.5 >beside.json
recorded 1 1.5 17 >beside-less.json
recorded 1 0.9 >beside-faster.json
sed 's/sgemm/dgemm/' beside.json >beside-other.json
sed 's/A100-SXM4-80GB/H100 80GB HBM3/' beside.json >beside-h100.json

# ---- the same as Nsight Systems and Nsight Compute write it
python3 - <<'END'
import json, sqlite3

def database(trace, name, drop=""):
    base = sqlite3.connect(name)
    base.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)")
    base.execute("CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT)")
    base.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA A100-SXM4-80GB')")
    base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT "
                 "NULL, deviceId INTEGER, streamId INTEGER, demangledName INTEGER, shortName "
                 "INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY "
                 "INTEGER, blockZ INTEGER)")
    ids = {}
    for event in json.load(open(trace))["traceEvents"]:
        plain = event["name"].split("(")[0]
        full = "void at::native::(anonymous namespace)::" + plain + "<float, 4>(int)"
        if "nccl" in plain:
            full = event["name"]
        start = round(event["ts"] * 1000) - 5000000000
        number = ids.setdefault(full, len(ids) + 1)
        grid = event["args"].get("grid", [108, 2, 1])
        base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,0,?,?,0,?,?,?,128,1,1)",
                     (start, start + round(event["dur"] * 1000), event["tid"], number, *grid))
    base.executemany("INSERT INTO StringIds VALUES (?, ?)", [(ids[n], n) for n in ids])
    if drop:
        base.execute(drop)
    base.commit()
    base.close()

database("alone.json", "alone.sqlite")
database("beside.json", "beside.sqlite")

def two_processes(first, second, number, name):
    """Two ranks of a machine, each of which calls its device 0."""
    base = sqlite3.connect(name)
    base.execute("ATTACH ? AS one", (first,))
    base.execute("ATTACH ? AS two", (second,))
    base.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)")
    base.execute("INSERT INTO StringIds SELECT id, value FROM one.StringIds")
    base.execute("INSERT INTO StringIds SELECT id + 100, value FROM two.StringIds")
    base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL AS SELECT *, ? AS globalPid "
                 "FROM one.CUPTI_ACTIVITY_KIND_KERNEL", (number,))
    base.execute("UPDATE two.CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = demangledName + 100")
    base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT *, ? "
                 "FROM two.CUPTI_ACTIVITY_KIND_KERNEL", (number + 2385,))
    base.execute("UPDATE two.CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = demangledName - 100")
    base.commit()
    base.close()

database("alone.json", "alone-too.sqlite")
two_processes("alone.sqlite", "alone-too.sqlite", 1 << 48, "alone-two.sqlite")
two_processes("beside.sqlite", "alone-too.sqlite", 3 << 48, "beside-two.sqlite")
database("beside.json", "beside-tableless.sqlite", "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL")
database("beside.json", "beside-nameless.sqlite", "DELETE FROM StringIds WHERE id = 1")
database("beside.json", "beside-streamless.sqlite",
         "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN streamId")
END
head -c 9000 beside.sqlite >beside-cut.sqlite
python3 - <<'PYTHON'
import sqlite3

SCHEMA = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, shortName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER);
INSERT INTO StringIds VALUES (3, 'ampere_sgemm_128x64_nn'), (5, 'cudaLaunchKernel_v7000');
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (110750, 350875, 0, 7, 31, 83886080, 3);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (120750, 323600, 0, 7, 31, 100663296, 3);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100500, 105500, 83886089, 31, 5);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (101500, 106700, 100663303, 31, 5);
"""
for name, change in {
    "nsys": "",
    "nsys-backward": "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 110749 "
                     "WHERE globalPid = 83886080",
    "nsys-nameless": "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET nameId = 4",
    "nsys-tableless": "DROP TABLE StringIds",
    "nsys-streamless": "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN streamId",
}.items():
    base = sqlite3.connect(name + ".sqlite")
    base.executescript(SCHEMA + change)
    base.close()
PYTHON
head -c 6000 nsys.sqlite >nsys-cut.sqlite
counters() {
    echo '==PROF== Connected to process 2385 (python3)'
    printf '"ID","Kernel Name","Block Size","Grid Size"'
    printf ',"sm__throughput.avg.pct_of_peak_sustained_elapsed"'
    printf ',"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"'
    printf ',"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"'
    printf ',"sm__warps_active.avg.pct_of_peak_sustained_active"'
    printf ',"l1tex__t_sector_hit_rate.pct","lts__t_sector_hit_rate.pct"\n'
    echo '"","","","","%","%","%","%","%","%"'
    for i in 0 1 2 3; do
        printf '"%d","ampere_sgemm_%d_tn","(128, 1, 1)","(108, 2, 1)"' "$i" "$((i * 32))"
        echo ',"81.25","17.4","12.1","44.2","3.5","70.9"'
    done
    printf '"4","vectorized_elementwise_kernel","(128, 1, 1)","(108, 2, 1)"'
    echo ',"7.25","67.4","62.1","84.2","13.5","40.9"'
    echo '==PROF== Disconnected from process 2385'
}
counters >counters.csv
{
    printf '\357\273\277'
    sed '6i ==WARNING== No source correlation, memory is short, the rest takes longer' counters.csv
} >counters-warned.csv
sed 's/"%","%","%"/"%","byte","%"/' counters.csv >counters-unit.csv
sed 's/,"67.4"/,"fast"/' counters.csv >counters-word.csv
sed 's/l1tex__t_sector_hit_rate.pct/l1tex__t_sectors.sum/' counters.csv >counters-less.csv
sed 's/,"40.9"//' counters.csv >counters-cut.csv
head -n 6 counters.csv | sed '$s/"44.2.*/"44/' >counters-quote.csv
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

# ---- operators: products whose times follow the sheet's formula, 0.713, 0.577 and 2.385 us
products() { # GPU FLOP/s B/s EFFICIENCY
    awk -v gpu="$1" -v peak="$2" -v bytes="$3" -v e="$4" 'BEGIN {
        for (n = 1031; n < 9000; n *= 2) for (k = 1543; k < 13000; k *= 2)
            for (m = 1093; m < 18000; m *= 2) {
                a = 2*m*n*k/(e*peak); b = 2*(m*k + n*k + m*n)/(0.577*bytes)
                printf "%s,%d,%d,%d,%.9g\n", gpu, m, n, k, 2.385 + 1e6*sqrt(sqrt(a^4 + b^4))
            }
    }'
}
{
    printf '# measured\ngpu,m,n,k,us\n'
    products h100_sxm 989.4e12 3.35e12 0.713
} >products.csv
{
    cat products.csv
    products h200_sxm 989.4e12 4.8e12 0.691
} >products-two.csv
# attention and experts in the columns of validation/operators-*, with sizes that jobs have
{
    printf '# measured\ngpu,dtype,kv_dtype,batch,seq,heads,kv_heads,head_dim,window,past,us\n'
    awk 'BEGIN {
        for (s = 1024; s <= 16384; s *= 2) for (a = 8; a <= 64; a *= 2)
            printf "h100_sxm,bf16,bf16,1,%d,%d,8,128,0,0,%.9g\n", s, a, 2e6*s*s*a*128/613e12
        print "h100_sxm,fp8,fp8,1,4096,32,8,128,0,0,277.3"
    }'
} >attentions.csv
{
    printf '# measured\ngpu,dtype,tokens,topk,experts,hidden,inter,tp,ep,distribution,us\n'
    awk 'BEGIN {
        for (t = 1024; t <= 65536; t *= 2) for (f = 7168; f <= 28672; f *= 2)
            printf "h100_sxm,bf16,%d,2,8,4096,%d,1,1,balanced,%.9g\n", t, f, 12e6*t*4096*f/433e12
    }'
} >experts.csv
sed '5s/,[^,]*$/,-3.7/' experts.csv >experts-negative.csv
sed '2s/head_dim/width/' attentions.csv >attentions-lacking.csv
gzip -k products.csv
head -c 300 products.csv.gz >products-cut.csv.gz
sed '2s/us/us,wats/; 3,$s/$/,613/' products.csv >products-column.csv
sed '2s/,k,/,kk,/' products.csv >products-lacking.csv
sed '9s/h100_sxm/h101_sxm/' products.csv >products-gpu.csv
sed '9s/,[^,]*$/,-3.7/' products.csv >products-negative.csv
head -n 2 products.csv >products-none.csv
sed '2s/us/us,dtype/; 3,$s/$/,fp8/; s/h100/a100/' products.csv >products-fp8.csv
head -n 20 products.csv >products-few.csv
cat >operator.yaml <<'END'
sheet: operators
operator: {m: 4099, n: 2053, k: 1031}
cluster: {gpu: h100-sxm, nodes: 1, gpus_per_node: 1}
END

# ---- layer times
cat >layers.csv <<'END'
gpu,tokens,hidden,heads,ffn,tp,forward_us,backward_us
A100-80GB-SXM,2048,5120,40,20480,4,1161.5,2093.5
A100-80GB-SXM,4096,5120,40,20480,4,2187.25,3901.75
A100-80GB-SXM,8192,5120,40,20480,4,4260.75,7611.5
A100-80GB-SXM,4096,5120,40,20480,8,1193.5,2217.25
END
# pieces on two GPUs: products take 0.377 of the time on the second one, norms 0.611
pieces() { # GPU PRODUCT NORM
    echo gpu,model,tokens,hidden,heads,kv_heads,ffn,gated,tp,norm_1_us,projection_us
    for hidden in 2048 5120; do
        for n in 1 2 3 4 5 6 7 8 9; do
            awk -v gpu="$1" -v h="$hidden" -v n="$n" -v product="$2" -v norm="$3" 'BEGIN {
                printf "%s,m%d,%d,%d,32,32,8192,1,2,%.6g,%.6g\n", gpu, h, 385*n, h,
                    norm*(31 + n*h/700), product*(57 + n*h*h/90000)
            }'
        done
    done
}
pieces A100-80GB-SXM 1 1 >pieces-a.csv
pieces H100-80GB-SXM 0.377 0.611 >pieces-h.csv
gzip -k layers.csv
head -c 90 layers.csv.gz >layers-cut.csv.gz
sed 's/2187.25/NaN/' layers.csv >layers-nan.csv
sed 's/2187.25/-2187.25/' layers.csv >layers-negative.csv
sed 's/hidden/hiden/' layers.csv >layers-column.csv
sed '3s/A100-80GB-SXM/H100-80GB-SXM/' layers.csv >layers-two.csv
sed 's/,ffn/,width/' layers.csv >layers-other.csv
head -n 1 layers.csv >layers-none.csv
sed 's/backward_us/forward_ms/' layers.csv >layers-units.csv
sed 's/heads/hedas/' layers.csv >layers-slip.csv
cat >layers-moe.csv <<'END'
gpu,n,h,heads,kv_heads,experts,top_k,expert_ffn,fs,tp,ep,etp,forward_moe_us,backward_moe_us
H100-80GB-SXM,2048,4096,32,8,8,2,14336,0,1,8,1,4385.5,8771.5
H100-80GB-SXM,4096,4096,32,8,8,2,14336,0,1,8,1,8485.25,16971.5
H100-80GB-SXM,8192,4096,32,8,8,2,14336,0,1,8,1,16685.5,33371.5
END
cut -d, -f1-13 layers-moe.csv >layers-moe-forward.csv
sed 's/top_k/topk_/' layers-moe.csv >layers-moe-column.csv
sed 's/14336,0/14336,-1/' layers-moe.csv >layers-moe-shared.csv
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
sed 's/"deviceProperties": \[[^]]*\], //' repeats.json >repeats-anywhere.json
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
    printf 'constants: {ranks: 16, per_node: 8, volume: 8388608 B}\n'
    printf 'sheet: ./%s\nrefine: %s\n' "$1" "$2"
}
collective all_reduce >coll.yaml
collective all_gather >coll-gather.yaml
# A sheet that calls what a plugin alone brings, beside what it refines and what it has no part in.
cat >brought.yaml <<'END'
sheet: brought
inputs:
  n: {from: constants.ranks}
  k: {from: constants.per_node}
  V: {from: constants.volume, unit: B}
functions:
  all_reduce: {open: true, args: {size: B, ranks: 1, per_node: 1}, unit: us}
  all_gather: {open: true, args: {size: B, ranks: 1, per_node: 1}, unit: us,
    is: "7.25[us]*ranks + size/31[GB/s]"}
cells:
  T_brought: {unit: us, is: "all_reduce(V, n, k)"}
  T_refined: {unit: us, is: "all_gather(V, n, k)"}
  T_alone: {unit: us, is: "V/31[GB/s]"}
END
refined brought.yaml alpha-beta >brought-job.yaml
# A profile of three groups, told apart by their start-up times.
group() {
    printf '  {"name": "groups", "kind": "options", "plugin": "alpha-beta", "nccl": "%s",\n' "$4"
    printf '   "collective": "all_reduce", "ranks": %s, "nodes": %s,\n' "$1" "$2"
    printf '   "provenance": "{}",\n'
    printf '   "payload": "{\\"alpha\\": \\"%s us\\"}"}' "$3"
}
{
    printf '{"format": "steptime profiles", "schema": 1, "profiles": [\n'
    group 8 1 11.5 2.22.3
    printf ',\n'
    group 16 2 222.5 2.22.3
    printf ',\n'
    group 64 8 4444.5 2.22.3
    printf ']}\n'
} >groups.json
sed 's/2.22.3/2.30.7/; s/222.5/777.5/' groups.json >groups-newer.json
{
    echo 'collective,ranks,nodes,size_bytes,time_us'
    for size in 1024 65536 1048576 16777216 268435456; do
        echo "all_reduce,8,1,$size,$((23 + size / 131000)).85"
    done
    for size in 1024 65536 1048576 16777216 268435456; do
        echo "all_reduce,16,2,$size,$((71 + size / 43000)).35"
    done
} >groups.csv
refined coll.yaml nccl-whitebox >coll-job.yaml
refined coll-gather.yaml 'nccl-whitebox' >gather-job.yaml
refined coll.yaml '[nccl-whitebox, alpha-beta, nccl-whitebox]' >twice-job.yaml
refined coll.yaml '[{plugin: alpha-beta, options: {alpha: 4 us}}, alpha-beta]' >twice-map.yaml
refined coll.yaml '{plugin: alpha-beta, optoins: {}, fallback: maybe}' >wrong-map.yaml
sed 's/options:.*/profile: echo/' priced-none.yaml | sed 's/fallback: error/fallback: formula/' \
    >priced-profile.yaml

# DeepSeek-V3 on 16 virtual stages, which its layout spells out.
cat >modern.yaml <<'END'
name: DeepSeek-V3 on 256 H100
stack: megatron-core
model: deepseek-v3
cluster: {base: dgx-h100, nodes: 32}
parallel: {pp: 4, virtual_stages: 4, dp: 64, ep: 64, expert_tp: 1, zero: 3}
batch: {global: 1024, micro: 1, sequence: 4096}
recompute: full
END

# ---- a hybrid on four stages by a layout, and strategies of it
cat >hybrid.yaml <<'END'
stack: megatron-core
model: nemotron-h-56b
cluster: {base: dgx-h100, nodes: 8}
sheet: megatron
batch: {global: 64, micro: 1, sequence: 8192}
parallel: {tp: 8, pp: 4, dp: 2, layout: "Et*30|t*30|t*30|t*28L"}
END
cat >hybrid-own.yaml <<'END'
strategy: own
schedule: 1f1b
stages:
  - {devices: 0-15, layers: 0-29}
  - {devices: 16-31, layers: 30-59}
  - {devices: 32-47, layers: 60-89}
  - {devices: 48-63, layers: 90-117}
END
sed '4s/}/, recompute: full}/' hybrid-own.yaml >hybrid-full.yaml
printf 'strategy: one\nstages:\n  - {devices: 0-15, layers: 0-117}\n' >hybrid-one.yaml
printf 'strategy: two\nschedule: interleaved\nstages:\n%s\n%s\n' \
    '  - {devices: 0-31, layers: "0-20, 50-70"}' \
    '  - {devices: 32-63, layers: "21-49, 71-117"}' >hybrid-chunks.yaml

# ---- strategies: two stages of gpt3-175b-64xa100
strategy() {
    printf 'strategy: %s\nstages:\n  - {devices: %s, layers: %s}\n' "$1" "$2" "$3"
    printf '  - {devices: %s, layers: %s%s}\n' "$4" "$5" "$6"
}
strategy light 0-31 0-20 32-63 21-95 '' >strategy-light.yaml
strategy twice 0-31 0-20 32-63 20-95 '' >strategy-twice.yaml
strategy missing 0-31 0-20 32-63 22-95 '' >strategy-missing.yaml
strategy short 0-31 0-20 32-63 21-94 '' >strategy-short.yaml
strategy long 0-31 0-20 32-63 21-96 '' >strategy-long.yaml
strategy both 0-31 0-20 31-62 21-95 '' >strategy-both.yaml
strategy many 0-7999 0-20 8000-15999 21-95 '' >strategy-many.yaml
strategy swapped 32-63 0-20 0-31 21-95 '' >strategy-swapped.yaml
strategy split 0-12 0-20 13-25 21-95 '' >strategy-split.yaml
strategy few 0-31 0-20 32-39 21-95 '' >strategy-few.yaml
strategy chunks 0-31 0-20 32-63 '"21-40, 41-95"' '' >strategy-chunks.yaml
strategy range 0-31 0-20 32-63 95-21 '' >strategy-range.yaml
strategy lone 0-31 0-20 32-63 21-95 ', order: [F0, B0]' >strategy-lone.yaml
strategy key 0-31 0-20 32-63 21-95 ', divices: 3' >strategy-key.yaml
printf 'strategy: none\nstages:\n  - {layers: 0-95}\n' >strategy-none.yaml
printf 'strategy: other\nschedule: dualpipe\nstages:\n  - {devices: 0-63, layers: 0-95}\n' \
    >strategy-other.yaml
orders() {
    printf 'strategy: orders\nstages:\n  - {devices: 0-31, layers: 0-47, order: [%s]}\n' "$1"
    printf '  - {devices: 32-63, layers: 48-95, order: [%s]}\n' "$2"
}
orders 'F0, F1, B0, B1' 'F0, B0, F1, I1, W1' >strategy-orders.yaml
orders 'F0, B0, F1, B1' 'F1, F0, B0, B1' >strategy-cycle.yaml
orders 'F0, F1, B0' 'F0, B0, F1, B1' >strategy-lost.yaml
orders 'F0, F2, B0, B1' 'F0, B0, F1, B1' >strategy-micro.yaml
orders 'F0, F1, B0, F0, B1' 'F0, B0, F1, B1' >strategy-again.yaml
orders 'F0, F1, B0, I0, B1' 'F0, B0, F1, B1' >strategy-half.yaml
orders 'F0, F1, B0, B1' 'F0, F1, B0, W1, I1' >strategy-early.yaml
orders 'F0, F1, B0, I1' 'F0, B0, F1, B1' >strategy-rest.yaml
orders 'F0, F1, B0, X1' 'F0, B0, F1, B1' >strategy-pass.yaml
