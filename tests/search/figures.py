#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Searches for current models on current clusters: do the best plans hold?

    figures.py STEPTIME [--searches N] [--config MODEL.json]...

For every search: the best plan's bytes over NICs against its replayed step, the largest difference of
closed form and replay of the listed plans, and whether 'steptime timeline' of the first plans gives the
order of the list. Exits with 1 where a best plan exceeds its NICs or an order does not hold.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

# model, GPUs, sequences of a step, tokens of a sequence
MODELS = [
    ("llama3-8b", 64, 512, 8192), ("qwen3-30b-a3b", 64, 512, 4096), ("llama3-70b", 256, 1024, 8192),
    ("qwen3-235b-a22b", 512, 2048, 4096), ("gpt-oss-120b", 128, 1024, 4096), ("deepseek-v3", 1024, 8192, 4096),
    ("kimi-k2", 2048, 8192, 4096), ("mixtral-8x22b", 256, 1024, 8192), ("llama3-405b", 1024, 1024, 8192),
    ("grok1-314b", 512, 1024, 8192), ("deepseek-v2", 512, 4096, 4096), ("qwen3-next-80b-a3b", 128, 1024, 4096),
    ("nemotron4-340b", 768, 2304, 4096), ("qwen2.5-32b", 128, 512, 8192), ("moonlight-16b-a3b", 64, 1024, 4096),
    ("nemotron-h-56b", 256, 768, 8192), ("gpt-oss-20b", 64, 512, 4096), ("deepseek-v4-flash", 1024, 4096, 4096),
    ("nemotron-3-super-120b-a12b", 512, 2048, 4096), ("kimi-k2", 4096, 16384, 4096),
]
# cluster, bytes a second of a GPU's share of the NICs
CLUSTERS = [("dgx-h100", 50e9), ("dgx-b200", 50e9), ("gb200-nvl72", 50e9)]
TIMELINES = 3


def run(program, *words):
    """Standard output of a run that may find nothing (3)."""
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def nic_bound(program, plan, rate):
    """Seconds that the NICs of a node need for the bytes of a step that leave it."""
    traffic = json.loads(run(program, "traffic", plan, "--json"))
    crossing = sum(group["crossing_bytes"] for group in traffic["groups"])
    return crossing / traffic["ranks"] / rate


def search(program, model, cluster, gpus, batch, sequence, folder):
    name, rate = cluster
    words = ["search", "--model", model, "--cluster", name, "--gpus", gpus, "--batch", batch, "--sequence", sequence]
    begin = time.process_time(), time.monotonic()
    found = json.loads(run(program, *words, "--json"))
    took = time.monotonic() - begin[1]
    plans = found["ranking"]
    if not plans:
        print(f"{model} on {gpus} of {name}: no plan fits")
        return None
    replays = []
    bound = 0
    for rank in range(1, min(TIMELINES, len(plans)) + 1):
        plan = pathlib.Path(folder) / f"plan{rank}.yaml"
        plan.write_text(job_of(plans[rank - 1]["set"]), encoding="utf-8")
        replays.append(json.loads(run(program, "timeline", plan, "--json"))["step_time_s"])
        if rank == 1:
            bound = nic_bound(program, plan, rate)
    gaps = [abs(plan["replay_s"] / plan["closed_form_s"] - 1) for plan in plans if plan.get("replay_s")]
    step = plans[0]["replay_s"]
    held = replays == sorted(replays) and abs(replays[0] / step - 1) < 1e-9
    print(f"{model} on {gpus} of {name}: {step:.3f} s, NICs {bound / step:.0%}, listed plans within "
          f"{max(gaps):.2%}, order {'holds' if held else 'DOES NOT HOLD'}, {found['plans']} plans, "
          f"{found['replayed']} replayed, {took:.1f} s", flush=True)
    return bound <= step, max(gaps), held


def job_of(settings):
    """A job file with these settings."""
    tree = {}
    for setting in settings:
        key, value = setting.split("=", 1)
        *sections, last = key.split(".")
        node = tree
        for section in sections:
            if isinstance(node.get(section), str):
                node[section] = {"base": node[section]}  # cluster=NAME, and then its keys
            node = node.setdefault(section, {})
        node[last] = value == "true" if value in ("true", "false") else value
    return json.dumps(tree)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--searches", type=int, default=len(MODELS))
    parser.add_argument("--config", action="append", default=[])
    given = parser.parse_args()
    models = [(path, 512, 2048, 4096) for path in given.config] + MODELS
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for number, model in enumerate(models[:given.searches]):
            name, gpus, batch, sequence = model
            results.append(search(given.program, name, CLUSTERS[number % len(CLUSTERS)], gpus, batch, sequence, folder))
    results = [one for one in results if one is not None]
    print(f"{len(results)} searches: {sum(not one[0] for one in results)} best plans above their NIC bound, listed plans "
          f"within {max(one[1] for one in results):.2%} of their replays, the order holds in {sum(one[2] for one in results)}")
    return not all(one[0] and one[2] for one in results)


if __name__ == "__main__":
    sys.exit(main())
