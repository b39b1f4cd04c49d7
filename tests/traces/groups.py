#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Groups of ranks that recordings do not name: told by collectives that end together, or not at all.

    groups.py STEPTIME

Four ranks, in two tensor-parallel and two data-parallel groups, on clocks of their own; ends of one collective
differ a little, as machines see them. Without names of groups all is as with them. Four ranks in one group, of
which pairs happen to end together more evenly, stay in one.
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

KERNEL = "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevComm*, unsigned long)"


class Ranks:
    def __init__(self, seed, jitter_us, named):
        self.draw = random.Random(seed)
        self.jitter_us = jitter_us
        self.named = named
        self.events = [[] for _ in range(4)]
        self.ready = [1000 + self.draw.uniform(0, 300) for _ in range(4)]
        self.clocks = [0] + [self.draw.uniform(-800, 800) for _ in range(3)]

    def kernel(self, rank, name, stream, start, end, more=None):
        events = self.events[rank]
        correlation = len(events) // 2 + 1
        begin = 900 + 4 * correlation + self.clocks[rank]
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                       "ts": round(begin, 3), "dur": 3, "args": {"correlation": correlation}})
        events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream,
                       "ts": round(start + self.clocks[rank], 3), "dur": round(end - start, 3),
                       "args": {"device": 0, "stream": stream, "correlation": correlation} | (more or {})})

    def compute(self, rank):
        start = self.ready[rank] + 1
        self.ready[rank] = start + self.draw.uniform(80, 200)
        self.kernel(rank, "ampere_gemm", 7, start, self.ready[rank])

    def meet(self, members, stream, least_us, most_us):
        starts = {rank: self.ready[rank] + 1 for rank in members}
        over = max(starts.values()) + self.draw.uniform(least_us, most_us)
        for rank in members:
            end = over + self.draw.uniform(0, self.jitter_us)
            more = {"Collective name": "allreduce", "Group size": len(members), "dtype": "Half",
                    "Process Group Name": f"{stream} {members[0]}", "Process Group Ranks": str(members),
                    "In msg nelems": 2385, "Out msg nelems": 2385} if self.named else None
            self.kernel(rank, KERNEL, stream, starts[rank], end, more)
            self.ready[rank] = end

    def write(self, folder):
        for rank, events in enumerate(self.events):
            (folder / f"r{rank}.json").write_text(json.dumps(
                {"distributedInfo": {"rank": rank, "world_size": 4}, "traceEvents": events}))


def hybrid(seed, jitter_us, named):
    ranks = Ranks(seed, jitter_us, named)
    for _ in range(6):
        for _ in range(5):
            for rank in range(4):
                ranks.compute(rank)
            for group in ([0, 1], [2, 3]):
                ranks.meet(group, 20, 20, 40)
        for group in ([0, 2], [1, 3]):
            ranks.meet(group, 24, 60, 90)
    return ranks


def together(seed, jitter_us):
    ranks = Ranks(seed, jitter_us, False)
    for _ in range(30):
        for rank in range(4):
            ranks.compute(rank)
        ranks.meet([0, 1, 2, 3], 20, 20, 40)
    return ranks


def ask(steptime, verb, ranks, *options):
    with tempfile.TemporaryDirectory() as folder:
        ranks.write(pathlib.Path(folder))
        answer = subprocess.run([steptime, "trace", verb, folder, "--json", *options], capture_output=True, text=True,
                                timeout=60)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def main():
    steptime = sys.argv[1]
    unclear = 0
    for seed in range(1, 11):
        for jitter_us in (0, 3):
            ranks = hybrid(seed, jitter_us, False)
            graph = ask(steptime, "graph", ranks)
            if jitter_us > 0 and graph["inferred_groups"] == 0:
                unclear += 1
                continue
            assert graph["inferred_groups"] == 4, (seed, jitter_us, graph["inferred_groups"])
            assert graph["most_apart_ns"] <= 2000 * jitter_us + 20, graph["most_apart_ns"]
            named = ask(steptime, "whatif", hybrid(seed, jitter_us, True), "--set", "speed.gemm=2")
            inferred = ask(steptime, "whatif", ranks, "--set", "speed.gemm=2")
            assert abs(named["after_ns"] - inferred["after_ns"]) <= 2, (named["after_ns"], inferred["after_ns"])
            collectives = ask(steptime, "collectives", ranks)["collectives"]
            assert {row["ranks"] for row in collectives} == {2}, collectives
        for jitter_us in (0, 3, 30):
            assert ask(steptime, "graph", together(seed, jitter_us))["inferred_groups"] == 0
    assert unclear <= 3, unclear


main()
