#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs written as Chakra traces and read back by chakra.py: against the timeline they are made of,
and against the traffic of the sheet."""
import json
import sys
import tempfile
from pathlib import Path

from chakra import Job
from traffic import run, traffic_of

SMALL = "gpt3-175b-64xa100"
LIST_STAGES = ["--set", "model=vgg19", "--set", "parallel.dp=8", "--set", "parallel.pp=4", "--set", "batch.global=1024"]
# Job, what is set, and the largest share by which a replay may differ: microseconds are whole, and a
# stage at an end of the model, which only receives, spends no time on exchanging.
CASES = [
    (SMALL, ["--set", "batch.global=24"], 5e-3),
    ("gpt-3b-32x3090", [], 5e-3),
    ("llama3-8b-8xh100", ["--detail", "layers", "--set", "parallel.zero=1"], 5e-3),
    ("bert-large-128xa100", [], 5e-3),
    ("mixtral-8x7b-64xh100", ["--check", "none"], 5e-3),
    (SMALL, ["--set", "batch.global=16", "--set", "parallel.virtual_stages=1", "--schedule", "zero_bubble"], 5e-3),
    (SMALL, ["--set", "batch.global=16", "--set", "parallel.virtual_stages=1", "--schedule", "dualpipe", "--check", "none"], 5e-3),
    # Layer lists in buckets, in stages (with ZeRO-1) and in units; context parallelism; FSDP.
    ("vgg16-32x3090", LIST_STAGES, 5e-3),
    ("vgg16-32x3090", LIST_STAGES + ["--set", "parallel.zero=1"], 5e-3),
    ("vgg16-32x3090", ["--set", "model=resnet152", "--set", "parallel.zero=3"], 5e-3),
    ("vgg16-32x3090", ["--set", "model=resnet50", "--set", "parallel.zero=2", "--set", "batch.global=3072"], 5e-3),
    ("vgg16-32x3090", ["--set", "parallel.zero=1"], 5e-3),
    (SMALL, ["--set", "batch.global=16", "--set", "parallel.virtual_stages=1", "--set", "parallel.cp=2", "--set",
             "parallel.pp=4", "--set", "parallel.dp=1", "--check", "none"], 5e-3),
    ("llama3-8b-8xh100", ["--set", "batch.global=16"], 5e-3),
    # Nothing hides the gathers that sequence parallelism repeats.
    (SMALL, ["--set", "batch.global=16", "--set", "constants.regather_hidden=0"], 5e-3),
]


KINDS = ["tp", "cp", "ep", "dp", "pp", "emb", "expert_dp"]


def common(options):
    """Options that other verbs have, too."""
    kept = []
    for name, value in zip(options[::2], options[1::2]):
        if name == "--schedule":
            name, value = "--set", "parallel.schedule=" + value
        if name in ("--set", "--check"):
            kept += [name, value]
    return kept


def check(program, folder, case):
    name, options, tolerance = case
    _, warnings = run(program, "export", "chakra", name, "-o", str(folder), *options)
    job = Job(folder)
    job.check_partners()
    timeline = json.loads(run(program, "timeline", name, "--json", *options)[0])
    step = job.step_us() / 1e6
    end = max(row["last_s"] for row in timeline["ranks"])
    assert abs(step - end) <= tolerance * end, f"step {step} s, timeline {end} s"
    replayed = json.loads(run(program, "trace", "chakra", str(folder), "--json")[0])
    assert abs(replayed["step_time_s"] - step) <= 1e-9, f"{replayed['step_time_s']} s replayed"
    for row in timeline["ranks"]:
        alone = row["exposed_compute_s"] + row["overlapped_s"]
        computed = job.computed_us(row["rank"]) / 1e6
        assert abs(computed - alone) <= tolerance * end, f"{computed} s computed, {alone} s"
    traffic = traffic_of(program, name, common(options))
    for row in timeline["ranks"]:
        sent = job.sent_bytes(row["rank"], lambda group: KINDS[(group - 1) // traffic["ranks"]])
        for kind in traffic["groups"]:
            told = kind["sent_bytes_by_stage"][row["stage"]] if kind["ranks"] > 1 else 0
            if kind["kind"] not in sent and f"'{kind['kind']}'" in warnings:
                continue
            found = sent.get(kind["kind"], 0)
            assert abs(found - told) <= 1e-6 * told + len(job.ranks), f"{kind}: {found} B"
    print("ok -", name, *options, f"{len(job.ranks)} ranks, {step:.6f} s")


def main():
    program = sys.argv[1]
    for case in CASES:
        with tempfile.TemporaryDirectory() as place:
            check(program, Path(place) / "et", case)


main()
