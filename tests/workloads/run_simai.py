#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs written as workload files of SimAI and read back by the rules of its Workload.cc: against the
timeline that they are made of, and against the traffic of the sheet."""
import json
import sys
from collections import Counter

from traffic import run, traffic_of

SMALL = "gpt3-175b-64xa100"
LIST_STAGES = ["--set", "model=vgg19", "--set", "parallel.dp=8", "--set", "parallel.pp=4", "--set", "batch.global=1024"]
CASES = [
    (SMALL, []),
    (SMALL, ["--detail", "layers", "--set", "batch.global=24"]),
    ("gpt-3b-32x3090", []),
    ("llama3-8b-8xh100", ["--set", "parallel.zero=1"]),
    ("bert-large-128xa100", []),
    ("mixtral-8x7b-64xh100", ["--check", "none"]),
    (SMALL, ["--set", "batch.global=16", "--set", "parallel.virtual_stages=1", "--set", "parallel.schedule=zero_bubble"]),
    # Layer lists in buckets, in stages (with ZeRO-1) and in units; FSDP.
    ("vgg16-32x3090", LIST_STAGES),
    ("vgg16-32x3090", LIST_STAGES + ["--set", "parallel.zero=1"]),
    ("vgg16-32x3090", ["--set", "model=resnet152", "--set", "parallel.zero=3"]),
    ("vgg16-32x3090", ["--set", "model=resnet50", "--set", "parallel.zero=2", "--set", "batch.global=3072"]),
    ("vgg16-32x3090", ["--set", "parallel.zero=1"]),
    ("llama3-8b-8xh100", ["--set", "batch.global=16"]),
]
COLLECTIVES = ("ALLREDUCE", "ALLGATHER", "REDUCESCATTER", "ALLTOALL")
GROUPS = ({"": "tp", "_EP": "ep"}, {"": "tp", "_EP": "ep"}, {"": "dp", "_DP_EP": "expert_dp"})


def read(text):
    """The sizes of the first line, nanoseconds of each column, bytes by (group, collective)."""
    first, second, *rows = text.splitlines()
    words = first.split()
    assert words[0] == "HYBRID_TRANSFORMER_FWD_IN_BCKWD"
    sizes = {key.rstrip(":"): int(value) for key, value in zip(words[1::2], words[2::2])}
    assert int(second) == len(rows)
    computed, sent = [0, 0, 0], Counter()
    for row in rows:
        fields = row.split()
        assert len(fields) == 12 and fields[1] == "-1"
        for column in range(3):
            time, kind, size = fields[2 + 3 * column : 5 + 3 * column]
            computed[column] += int(time)
            if kind == "NONE":
                assert int(size) == 0
                continue
            name = kind.split("_")[0]
            assert name in COLLECTIVES and int(size) > 0
            sent[GROUPS[column][kind[len(name) :]], name] += int(size)
    return sizes, computed, sent


def check(program, case):
    name, options = case
    timeline = json.loads(run(program, "timeline", name, "--json", *options)[0])
    plain = [w for i, w in enumerate(options) if "--detail" not in options[i - i % 2]]
    traffic = traffic_of(program, name, plain)
    ranks = {kind["kind"]: kind["ranks"] for kind in traffic["groups"]}
    for row in timeline["ranks"]:
        text, warnings = run(program, "export", "simai", name, "--stage", str(row["stage"]), *options)
        sizes, computed, handed = read(text)
        assert sizes["all_gpus"] == traffic["ranks"] and sizes["pp"] == ranks["pp"]
        assert sizes["model_parallel_NPU_group"] == ranks["tp"] and sizes["ep"] == ranks["ep"]
        assert (sizes["pp_comm"] > 0) == (ranks["pp"] > 1)
        alone = row["exposed_compute_s"] + row["overlapped_s"]
        launches = sum(k["all_ranks_s"] for k in timeline["categories"] if k["name"] == "launch")
        assert alone - 1e-6 <= sum(computed) / 1e9 <= alone + launches + 1e-6, f"{computed} ns, {alone} s"
        sent = Counter()
        for (group, kind), size in handed.items():
            sent[group] += (2 if kind == "ALLREDUCE" else 1) * size * (ranks[group] - 1) / ranks[group]
        for kind in traffic["groups"]:
            group, told = kind["kind"], kind["sent_bytes_by_stage"][row["stage"]]
            if group in ("pp", "emb") or kind["ranks"] == 1 or f"'{group}'" in warnings:
                continue
            assert abs(sent[group] - told) <= 1e-6 * told + 1, f"{group}: {sent[group]} B, not {told} B"
    print("ok -", name, *options)


for one in CASES:
    check(sys.argv[1], one)
