#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels of CUDA graphs have the operators of their capture, or of the same kernels before it, where these are recorded.

    captures.py STEPTIME [--seeds N] [--first N]

Random graphs of products, captured and launched several times. The work of their operators is compared with what the
program knows; where two captures may be meant, or none is recorded, kernels of graphs have no operator.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

KERNELS = ("ampere_bf16_gemm_64x64", "ampere_bf16_gemm_128x64", "nvjet_tst_128x256")


class Recording:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.events, self.host, self.gpu, self.correlation = [], 1000.0, 1500.0, 31

    def add(self, **event):
        self.events.append({"ph": "X", "pid": 1, "tid": 1, **event})

    def call(self, name, dur=3.0):
        self.correlation += 1
        self.add(cat="cuda_runtime", name=name, ts=round(self.host, 3), dur=dur, args={"correlation": self.correlation})
        self.host += dur + 1
        return self.correlation

    def kernel(self, name, us, correlation, stream=7):
        self.gpu = max(self.gpu, self.host) + 1
        self.add(cat="kernel", name=name, pid=0, tid=stream, ts=round(self.gpu, 3), dur=us,
                 args={"device": 0, "stream": stream, "correlation": correlation})
        self.gpu += us

    def operators(self, graph, runs):
        for name, shapes, us in graph:
            self.add(cat="cpu_op", name="aten::mm", ts=round(self.host - 0.5, 3), dur=6,
                     args={"Input Dims": shapes, "Input type": ["c10::BFloat16"] * 2})
            correlation = self.call("cudaLaunchKernel")
            if runs:
                self.kernel(name, us, correlation)
            self.host += 5

    def capture(self, graph):
        self.call("cudaStreamBeginCapture")
        self.operators(graph, False)
        self.call("cudaStreamEndCapture")
        self.call("cudaGraphInstantiate")

    def launch(self, graph, streams=(7,)):
        correlation = self.call("cudaGraphLaunch")
        for i, (name, _, us) in enumerate(graph):
            self.kernel(name, us, correlation, streams[i % len(streams)])

    def graph(self, count):
        sizes = [64 * self.random.randint(1, 40) for _ in range(3)]
        return [(self.random.choice(KERNELS), [[sizes[0] + i, sizes[1]], [sizes[1], sizes[2]]],
                 round(self.random.uniform(20, 60), 3)) for i in range(count)]


def captured_only(seed):
    made = Recording(seed)
    graphs = [made.graph(count) for count in made.random.sample(range(1, 12), 2)]
    for graph in graphs:
        made.capture(graph)
    wanted = [made.random.choice(graphs) for _ in range(4)]
    for graph in wanted:
        made.launch(graph)
    return made, [item for graph in wanted for item in graph]


def warmed_up_only(seed):
    """Other kernels run before and after; those of other sizes take three times as long."""
    made = Recording(seed)
    graph = made.graph(made.random.randint(3, 9))
    other = [("cutlass_gemm", shapes, us) for _, shapes, us in made.graph(5)]
    larger = [(name, [[4 * shapes[0][0], shapes[0][1]], shapes[1]], round(3 * us, 3)) for name, shapes, us in graph]
    for some in (larger, other, graph, other, graph):
        made.operators(some, True)
    for _ in range(3):
        made.launch(graph)
    return made, 3 * graph


def several_captures(seed):
    """Batches of two sizes have as many kernels: no capture is the one."""
    made = Recording(seed)
    graph = made.graph(4)
    for some in (graph, made.graph(4)):
        made.capture(some)
    made.launch(graph)
    return made, []


def two_streams(seed):
    made = Recording(seed)
    graph = made.graph(4)
    made.capture(graph)
    made.launch(graph, (7, 20))
    return made, []


def not_recorded(seed):
    made = Recording(seed)
    for _ in range(2):
        made.launch(made.graph(5))
    return made, []


def check(steptime, folder, make, seed):
    made, wanted = make(seed)
    made.operators(made.graph(2), True)
    file = folder / "trace.json"
    file.write_text(json.dumps({"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}],
                                "traceEvents": made.events}))

    def ask(*words):
        answer = subprocess.run([steptime, "trace", *words], capture_output=True, text=True, timeout=60)
        if answer.returncode != 0:
            sys.exit(f"{make.__name__} {seed}: {answer.stderr}")
        return answer.stdout

    listing = ask("roofline", str(file))
    seconds = json.loads(ask("roofline", str(file), "--top", "1000", "--json"))
    graphs = sum(round(1000 * us) for _, _, us in wanted)
    total = sum(round(1000 * e["dur"]) for e in made.events if e["cat"] == "kernel")
    if seconds["time_ns"] + seconds["graphs_ns"] != total or (graphs > 0) != ("have the operators of their capture" in listing):
        sys.exit(f"{make.__name__} {seed}: {total} {graphs} {seconds}\n{listing}")
    if wanted and seconds["graphs_ns"] != 0 or not wanted and seconds["graphs_ns"] == 0:
        sys.exit(f"{make.__name__} {seed}: {listing}")
    by_shape = {}
    for _, shapes, us in wanted:
        by_shape[json.dumps(shapes)] = by_shape.get(json.dumps(shapes), 0) + round(1000 * us)
    rows = {row["shapes"]: row["time_ns"] for row in seconds["rows"]}
    if any(rows.get(shapes, 0) < time_ns for shapes, time_ns in by_shape.items()):
        sys.exit(f"{make.__name__} {seed}: {by_shape} {rows}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("steptime")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    print(f"seeds {asked.first} to {asked.first + asked.seeds - 1}")
    with tempfile.TemporaryDirectory(prefix="captures-") as folder:
        for seed in range(asked.first, asked.first + asked.seeds):
            for make in (captured_only, warmed_up_only, several_captures, two_streams, not_recorded):
                check(asked.steptime, pathlib.Path(folder), make, seed)


if __name__ == "__main__":
    main()
