#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the plans of searches by trying every number, as docs/search.md says what a plan is.

    count_plans.py STEPTIME
"""
import json
import subprocess
import sys

# job, GPUs, sets, layers, sequences of a step, experts, ranks inside an expert (0: as many as tp)
CASES = [
    ("gpt3-175b-64xa100", 64, [], 96, 64, 0, 0),
    ("gpt3-175b-64xa100", 1024, [], 96, 64, 0, 0),
    ("gpt3-175b-64xa100", 48, ["model.layers=61", "batch.global=90"], 61, 90, 0, 0),
    ("llama3-8b-8xh100", 64, [], 32, 128, 0, 0),
    ("llama3-8b-8xh100", 1024, ["batch.global=1536"], 32, 1536, 0, 0),
    ("llama3-405b-16384xh100", 64, ["batch.global=96"], 126, 96, 0, 0),
    ("llama3-405b-16384xh100", 1024, [], 126, 2048, 0, 0),
    ("mixtral-8x7b-64xh100", 64, ["parallel.expert_tp=1", "batch.global=1024"], 32, 1024, 8, 1),
    ("mixtral-8x7b-64xh100", 1024, ["parallel.expert_tp=2", "batch.global=1024"], 32, 1024, 8, 2),
    ("deepseek-v3-2048xh800", 64, ["batch.global=480"], 61, 480, 256, 1),
    ("deepseek-v3-2048xh800", 1024, ["parallel.expert_tp=0", "batch.global=240"], 61, 240, 256, 0),
]
RECOMPUTATIONS = 3
# stages of ZeRO that a stack's software runs: of plans without and with pipeline stages
# one whose own plan is none that the stack runs, and is counted all the same
OWN = {("mixtral-8x7b-64xh100", "torchtitan", 64): 1}
STACKS = [("plain", 4, 4), ("megatron-core", 4, 2), ("torchtitan", 2, 2)]


def up_to(most):
    return range(1, most + 1)


def ends(stages, layers):
    """Layers of the first and the last stage; 0 and 0: as many as the others."""
    if layers % stages == 0:
        return [(0, 0)]
    middle = -(-layers // stages)
    return [(first, last) for first in up_to(middle) for last in up_to(middle)
            if first + last + (stages - 2) * middle == layers] or [(0, 0)]


def chunks(stages, layers, first, last):
    """How many numbers of chunks cut a stage into equal ones."""
    if stages == 1:
        return 1
    if first > 0:
        stage = max(first, last) if stages == 2 else -(-layers // stages)
    else:
        stage = layers // stages if layers % stages == 0 else 1
    # of the ends the chunk beside the embedding and that beside the output may go without layers
    most = min(first, last) + 1 if first > 0 else stage
    return sum(stage % count == 0 and count <= most for count in up_to(stage))


def expert_ranks(experts, inner, ranks):
    return sum(count == 1 or (experts % count == 0 and ranks % (count * inner) == 0)
               for count in up_to(max(experts, 1)))


def count(gpus, zeros, layers, batch, experts, expert_tp):
    plans = 0
    for tp in up_to(gpus):
        for pp in up_to(gpus // tp if gpus % tp == 0 else 0):
            if gpus % (tp * pp) != 0 or pp > layers:
                continue
            left = gpus // (tp * pp)
            for cp in up_to(left):
                if left % cp != 0:
                    continue
                dp = left // cp
                micro = sum(batch % (size * dp) == 0 for size in up_to(batch))
                rest = (micro * RECOMPUTATIONS * (2 if tp > 1 else 1)
                        * (zeros[pp > 1] if dp * cp > 1 else 1)
                        * expert_ranks(experts, expert_tp or tp, tp * cp * dp))
                plans += rest * sum(chunks(pp, layers, first, last)
                                    for first, last in ends(pp, layers))
    return plans


def main():
    failed = 0
    print(f"1..{len(CASES)}")
    for number, (job, gpus, sets, *sizes) in enumerate(CASES, 1):
        stack, *zeros = STACKS[number % len(STACKS)]
        words = [sys.argv[1], "search", job, "--gpus", str(gpus), "--stack", stack, "--top", "1",
                 "--json"]
        # what a stack tries besides plans is counted elsewhere
        inner = [] if any("expert_tp" in one for one in sets) else [f"parallel.expert_tp={sizes[3]}"]
        for one in sets + inner + ["parallel.dispatcher=alltoall", "recomputed.norms=false"]:
            words += ["--set", one]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        found = json.loads(done.stdout) if done.returncode in (0, 3) else {"plans": done.stderr}
        expected = count(gpus, zeros, *sizes) + OWN.get((job, stack, gpus), 0)
        good = found["plans"] == expected and found["exhaustive"]
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} - {job} with {stack} on {gpus} GPUs: {expected} plans")
        if not good:
            print(f"# found {found['plans']}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
