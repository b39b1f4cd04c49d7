#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What-if on recordings of a host that launches operator by operator, against the same program run with the change.

    event_loop.py STEPTIME [--seeds N] [--first SEED] [--verbose]

A lone GPU or one of two tensor-parallel ranks, 1 to 12 layers, 1 to 4 micro-batches, launch queues of 8 to 1,022
launches, products that a layer repeats, optimizers by layer or at once, known by their kernels or by a range around
them, gradients that two ranks reduce, weights cast once a step. Questions are of GEMMs, the host, layers and
micro-batches, whose numbers are given or not. An answer is right within 1 point, near within 2 points or 3 % of the
true change, or a range that holds the truth; else it is wrong and the test fails. Prints what each question gave. The
programs are run by one loop over what the host does. This file shares nothing with program.py, hard.py or steptime.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

RIGHT_POINTS, NEAR_POINTS, NEAR_SHARE = 1.0, 2.0, 0.03
MOST_REFUSED = 0.05  # of the questions of micro-batches
COMPUTE, MESSAGES = 0, 1  # streams
STEPS = 2


class Model:
    """Durations in microseconds."""

    def __init__(self, seed):
        r = self.random = random.Random(seed)
        self.layers, self.micros = r.choice([1, 1, 2, 2, 3, 4, 6, 8, 12]), r.choice([1, 1, 2, 3, 4])
        self.parallel = r.choice([False, False, True])
        self.forward = self.kernels(("layer_norm_fwd", 5, 15), ("sm90_gemm_qkv", 30, 90), ("flash_fwd_kernel", 20, 60),
                                    ("sm90_gemm_proj", 15, 50))
        self.backward = self.kernels(("sm90_gemm_dproj", 15, 50), ("sm90_gemm_wproj", 15, 50),
                                     ("flash_bwd_kernel", 40, 120), ("sm90_gemm_dqkv", 30, 90),
                                     ("sm90_gemm_wqkv", 30, 90), ("layer_norm_bwd", 8, 25))
        self.embedding_us, self.loss_us, self.optimizer_us = r.uniform(5, 20), r.uniform(10, 40), r.uniform(10, 40)
        self.message_us, self.gap_us = r.uniform(20, 80), r.choice([1.2, 2.5, 5.0, 14.0])
        if r.random() < 0.5:
            self.forward += self.kernels(("sm90_gemm_fc1", 50, 120), ("gelu_kernel", 5, 20), ("sm90_gemm_fc2", 50, 120))
            self.backward = self.kernels(("sm90_gemm_dfc2", 50, 120), ("sm90_gemm_wfc2", 50, 120), ("gelu_bwd", 6, 20),
                                         ("sm90_gemm_dfc1", 50, 120), ("sm90_gemm_wfc1", 50, 120)) + self.backward
        if r.random() < 0.3:  # queries, keys and values as three equal products
            self.forward[1:2] = [("sm90_gemm_x", 22.0)] * 3
        self.embeds, self.by_layer = r.random() < 0.6, r.random() < 0.5
        self.lag_us, self.depth = r.uniform(4, 9), r.choice([0, 0, 1022, 30, 8])  # 0: a queue that never fills
        # By the names of its kernels, or by a range of the framework around kernels that say nothing.
        self.named = r.random() < 0.6 or not self.by_layer  # with more layers one kernel of unknown use would not grow
        self.casts = r.random() < 0.3 and self.micros > 1  # weights, once a step, which a single micro-batch hides
        self.reduces = not self.parallel and r.random() < 0.3  # gradients over two ranks, behind the last pass of a layer

    def kernels(self, *bounds):
        return [(name, self.random.uniform(least, most)) for name, least, most in bounds]

    def pass_of(self, layers, first_us, kernels, reduces=False):
        for _ in range(layers):
            yield "host", first_us
            for name, lasts in kernels:
                yield "host", self.gap_us
                yield "kernel", name, lasts, COMPUTE
            if reduces:
                yield "host", 3
                yield ("join",)
                yield "kernel", "ncclDevKernel_AllReduce_Sum_bf16", self.message_us, MESSAGES
            if self.parallel:
                yield "host", 3
                yield "kernel", "ncclDevKernel_AllReduce_Sum_bf16", self.message_us, MESSAGES
                yield ("wait",)

    def work(self, layers, micros):
        """What the host does: ("host", us), ("kernel", name, us, stream), ("wait",) for messages, ("end",) of a step."""
        for _ in range(STEPS):
            for micro in range(micros):
                if self.casts and micro == 0:
                    yield "kernel", "cast_transpose_kernel", 1.3 * self.loss_us, COMPUTE
                if self.embeds:
                    yield "host", 9
                    yield "kernel", "indexSelectLargeIndex", self.embedding_us, COMPUTE
                yield from self.pass_of(layers, 6, self.forward)
                yield "host", 5
                yield "kernel", "nll_loss_forward_reduce", self.loss_us, COMPUTE
                yield from self.pass_of(layers, 7, self.backward, self.reduces and micro == micros - 1)
                if self.embeds:
                    yield "host", 5
                    yield "kernel", "embedding_backward_kernel", 1.4 * self.embedding_us, COMPUTE
            if self.reduces:
                yield ("wait",)
            yield ("begin",)
            kernel = "multi_tensor_apply_kernel_adam" if self.named else "vectorized_elementwise_kernel"
            for _ in range(layers if self.by_layer else 1):
                yield "host", 8
                yield "kernel", kernel, self.optimizer_us * (1 if self.by_layer else layers), COMPUTE
            yield ("over",)
            yield ("end",)


class Run:
    """The program with a change: tasks (name, stream, start, end), calls (name, start, duration, arguments), steps."""

    def __init__(self, model, layers=None, micros=None, gemm=1, host=1):
        self.model, self.now, self.ends, self.begins = model, 100.0, {}, {}
        self.tasks, self.calls, self.steps, self.ranges = [], [], [], []
        begun = self.now
        for what, *of in model.work(layers or model.layers, micros or model.micros):
            if what == "host":
                self.now += of[0] * host
            elif what == "kernel":
                self.launch(of[0], of[1] / (gemm if "gemm" in of[0] else 1), of[2])
            elif what == "wait":
                self.begins[COMPUTE] = self.ends[MESSAGES] + 1.3
                self.call("cudaStreamWaitEvent", self.now, 0.9)
                self.now += 1
            elif what == "join":  # the stream of messages waits for what is computed
                self.call("cudaEventRecord", self.now, 0.6)
                self.call("cudaStreamWaitEvent", self.now + 0.8, 0.6)
                self.now += 1.5
            elif what in ("begin", "over"):
                self.ranges.append(self.now)
            else:
                end = max([self.now, *self.ends.values()]) + 3
                self.call("cudaDeviceSynchronize", self.now, end - self.now)
                self.now = end
                self.steps.append((begun, end))
                begun = end
        self.lasts = self.now - 100

    def call(self, name, start, lasts, task=None):
        self.calls.append((name, start, lasts, task))

    def launch(self, name, lasts, stream):
        called = room = self.now
        if self.model.depth and len(self.tasks) >= self.model.depth:
            room = max(called, sorted(task[3] for task in self.tasks)[-self.model.depth])
        returned = max(called + 2.6, room + 1.4 if room > called else 0)
        start = max(room + self.model.lag_us, self.begins.pop(stream, 0))
        if stream in self.ends:
            start = max(start, self.ends[stream] + 0.8)
        if stream == MESSAGES:
            start = max(start, self.ends[COMPUTE] + 1.1)
        self.ends[stream] = start + lasts
        self.call("cudaLaunchKernel", called, returned - called, len(self.tasks))
        self.tasks.append((name, stream, start, start + lasts))
        self.now = returned

    def write(self, path):
        events, launched_by = [], {}

        def add(category, name, thread, start, lasts, **arguments):
            events.append({"ph": "X", "cat": category, "name": name, "pid": 0 if category == "kernel" else 5,
                           "tid": thread, "ts": round(start, 3), "dur": round(lasts, 3), "args": arguments})

        for number, (begin, end) in enumerate(self.steps):
            add("user_annotation", f"ProfilerStep#{number + 3}", 9, begin, end - begin)
        for begin, over in zip(self.ranges[::2], self.ranges[1::2]):
            if not self.model.named:
                add("user_annotation", "Optimizer.step#AdamW.step", 9, begin, over - begin)
        for number, (name, start, lasts, task) in enumerate(self.calls, 1):
            add("cuda_runtime", name, 9, start, lasts, correlation=number)
            launched_by[task] = number
        ranks = 2 if self.model.parallel or self.model.reduces else 1
        for number, (name, stream, start, end) in enumerate(self.tasks):
            message = {"Collective name": "allreduce", "dtype": "BFloat16", "Group size": ranks,
                       "In msg nelems": 1 << 20, "Out msg nelems": 1 << 20} if stream == MESSAGES else {}
            add("kernel", name, 7 + 13 * stream, start, end - start, device=0, stream=7 + 13 * stream,
                correlation=launched_by[number], **message)
        path.write_text(json.dumps({"traceEvents": events, "distributedInfo": {"rank": 0, "world_size": ranks}}))


def questions(layers, micros):
    """A name, the words of the question, and the change."""
    have_layers, have_micros = ["--have", f"model.layers={layers}"], ["--have", f"batch.micro_batches={micros}"]
    yield "GEMM", ["--set", "speed.gemm=2"], {"gemm": 2}
    yield "host", ["--set", "speed.host=2"], {"host": 0.5}
    twice = ["--set", f"model.layers={2 * layers}"]
    yield "layers", twice, {"layers": 2 * layers}
    yield "layers, given", have_layers + twice, {"layers": 2 * layers}
    half = max(1, layers // 2)
    yield "fewer layers, given", have_layers + ["--set", f"model.layers={half}"], {"layers": half}
    twice = ["--set", f"batch.micro_batches={2 * micros}"]
    yield "micro-batches", twice, {"micros": 2 * micros}
    yield "micro-batches, given", have_layers + have_micros + twice, {"micros": 2 * micros}
    yield "both, given", have_layers + have_micros + [
        "--set", f"batch.micro_batches={micros + 1}", "--set", f"model.layers={layers + 1}"], {
        "micros": micros + 1, "layers": layers + 1}


def ask(steptime, file, words):
    done = subprocess.run([steptime, "trace", "whatif", str(file), *words, "--json"], capture_output=True, text=True,
                          check=False, timeout=60)
    if done.returncode == 0:
        return json.loads(done.stdout), ""
    if not done.stderr.strip():
        raise SystemExit(f"{words}: ended with {done.returncode} and no message")
    return None, done.stderr.strip().splitlines()[0]


def judge(result, true):
    """The verdict, and the points that the answer is off."""
    changes = {key: 100 * (result[key] / result["before_ns"] - 1) for key in
               ("after_least_ns", "after_ns", "after_waiting_ns") if key in result}
    off = abs(changes["after_ns"] - true)
    if off <= RIGHT_POINTS:
        return "right", off
    if off <= max(NEAR_POINTS, NEAR_SHARE * abs(true)):
        return "near", off
    holds = min(changes.values()) - RIGHT_POINTS <= true <= max(changes.values()) + RIGHT_POINTS
    return "range" if holds else "WRONG", off


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("steptime")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    verdicts, points = {}, {}
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        model = Model(seed)
        recorded = Run(model)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "rank0.json"
            recorded.write(file)
            for name, words, change in questions(model.layers, model.micros):
                true = 100 * (Run(model, **change).lasts / recorded.lasts - 1)
                words = words + (["--have", "parallel.tp=2"] if model.parallel else ["--have", "parallel.dp=2"] if model.reduces else [])
                result, text = ask(arguments.steptime, file, words)
                verdict = "refused"
                if result is not None:
                    verdict, off = judge(result, true)
                    points.setdefault(name, []).append(off)
                    text = f"{off:.2f} points off"
                verdicts.setdefault(name, []).append(verdict)
                if arguments.verbose or verdict == "WRONG":
                    print(f"{seed} layers {model.layers}, micro-batches {model.micros}: {name}: truth {true:+.2f} %: "
                          f"{verdict}: {text}")
    wrong = sum(found.count("WRONG") for found in verdicts.values())
    for name, found in verdicts.items():
        off = sorted(points.get(name, []))
        of = f", points off: median {off[len(off) // 2]:.2f}, 9 of 10 {off[int(0.9 * (len(off) - 1))]:.2f}, " \
             f"most {off[-1]:.2f}" if off else ""
        print(f"{name}: {len(off)} of {len(found)} answered{of}")
    print(f"{wrong} wrong")
    # A program that refuses everything would be right, too.
    refused = sum(verdicts[name].count("refused") for name in ("micro-batches", "micro-batches, given"))
    return wrong > 0 or any(name not in points for name in verdicts) or refused > 2 * arguments.seeds * MOST_REFUSED


if __name__ == "__main__":
    sys.exit(main())
