#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What-if on recordings of full launch queues, against the same program with the change.

    queues.py STEPTIME [--seeds N] [--first SEED] [--verbose]

A thread launches kernels to one or more streams. A driver holds a number of launches whose kernels have not
begun, or not ended, for each stream or for the device; a call that finds the queue full returns when there is a place,
of a ring of places when the oldest is free. This program shares nothing with program.py, nor with steptime.
"""
import argparse
import dataclasses
import json
import pathlib
import random
import subprocess
import sys
import tempfile

CHANGES = {"speed.gemm=2": {"gemm": 2}, "speed.gemm=10": {"gemm": 10}, "speed.gemm=0.5": {"gemm": 0.5},
           "speed.elementwise=4": {"elementwise": 4}, "speed.host=2": {"host": 2}, "speed.launch=4": {"launch": 4}}
NAMES = {"gemm": "ampere_sgemm_128x64_nn", "elementwise": "vectorized_elementwise_kernel"}
MEDIAN_PERCENT, MOST_PERCENT = 0.3, 5.0
# Of shallow queues that several streams share.
SHALLOW_MEDIAN_PERCENT, SHALLOW_NINE_OF_TEN_PERCENT, SHALLOW_MOST_PERCENT = 0.3, 2.0, 5.0


@dataclasses.dataclass
class Plan:
    seed: int
    depth: int = 1024  # 0: a call returns when its own kernel has ended (CUDA_LAUNCH_BLOCKING)
    by_device: bool = False
    streams: int = 1
    launches: int = 4000
    kernel_us: float = 40
    call_us: float = 5
    host_us: float = 3
    steps: int = 0  # that the host marks, without waiting for the GPU
    at_end: bool = False  # a kernel holds its place until it ends
    ring: bool = False  # places are free in the order of launches


def draw(seed):
    r = random.Random(seed)
    depth = r.choice([0, 1, 2, 16, 300, 512, 1000, 1024, 1024])
    return Plan(seed, depth, r.random() < 0.5, r.choice([1, 1, 2]) if depth > 16 else 1,
                r.choice([2500, 4000]), r.choice([20, 40, 90]), r.choice([4, 6]), r.choice([1, 3, 6]),
                r.choice([0, 4]))


def draw_shallow(seed):
    r = random.Random(seed)
    return Plan(seed, r.choice([2, 4, 8, 16, 32, 60]), r.random() < 0.5, r.choice([2, 3, 4]), r.choice([1000, 2000]),
                r.choice([20, 40, 90]), r.choice([4, 6]), r.choice([1, 3, 6]), r.choice([0, 4]), r.random() < 0.5,
                r.random() < 0.5)


def room(plan, queue):
    """When a full queue has a place."""
    if plan.ring:
        return max(queue[:len(queue) - plan.depth + 1])
    return sorted(queue)[-plan.depth]


def run(plan, change):
    """(calls, kernels, marks, end): times in microseconds."""
    r = random.Random(plan.seed)
    begins = {}  # of kernels, or their ends, by queue
    free = [0.0] * plan.streams
    now, calls, kernels, marks, mark = 0.0, [], [], [], 0.0
    for i in range(plan.launches):
        stream = i % plan.streams
        kind = "gemm" if r.random() < 0.6 else "elementwise"
        length = plan.kernel_us * r.uniform(0.6, 1.4) / change.get(kind, 1)
        now += plan.host_us * r.uniform(0.5, 1.5) / change.get("host", 1)
        start = now
        now += plan.call_us * r.uniform(0.9, 1.1) / change.get("launch", 1) / change.get("host", 1)
        queue = begins.setdefault(0 if plan.by_device else stream, [])
        if plan.depth and len(queue) >= plan.depth:
            now = max(now, room(plan, queue[-8 * plan.depth - 8:]) + 0.4)
        begin = max(free[stream] + 0.8, now + 4)
        free[stream] = begin + length
        now = now if plan.depth else begin + length + 3
        queue.append(free[stream] if plan.at_end else begin)
        calls.append((start, now - start))
        kernels.append((begin, length, stream, kind))
        if plan.steps and (i + 1) % (plan.launches // plan.steps) == 0:
            marks.append((mark, now))
            mark = now
    start, now = now + 2, max([now + 4] + [f + 3 for f in free])
    return calls, kernels, marks, (start, now)


def write(plan, path):
    calls, kernels, marks, sync = run(plan, {})
    events = []

    def add(cat, name, tid, ts, dur, **args):
        events.append({"ph": "X", "cat": cat, "name": name, "pid": 0 if cat == "kernel" else 1, "tid": tid,
                       "ts": round(1000 + ts, 3), "dur": round(dur, 3), "args": args})
    for i, ((start, length), (begin, lasts, stream, kind)) in enumerate(zip(calls, kernels)):
        add("cuda_runtime", "cudaLaunchKernel", 2, start, length, correlation=i + 1)
        add("kernel", NAMES[kind], 7 + stream, begin, lasts, device=0, stream=7 + stream, correlation=i + 1)
    for i, (begin, end) in enumerate(marks):
        add("user_annotation", f"ProfilerStep#{i + 1}", 2, begin, end - begin)
    add("cuda_runtime", "cudaDeviceSynchronize", 2, sync[0], sync[1] - sync[0], correlation=len(calls) + 1)
    path.write_text(json.dumps({"traceEvents": events}))


def measure(steptime, path, plan, verbose):
    """Errors of all changes of a plan, with what they are of."""
    errors = []
    write(plan, path)
    before = run(plan, {})[3][1]
    for text, change in CHANGES.items():
        answer = subprocess.run([steptime, "trace", "whatif", str(path), "--set", text, "--json"],
                                capture_output=True, text=True, timeout=60)
        if answer.returncode != 0:
            sys.exit(f"{plan} {text}: {answer.stderr}")
        answer = json.loads(answer.stdout)
        true = run(plan, change)[3][1] / before - 1
        said = answer["after_ns"] / answer["before_ns"] - 1
        errors.append((100 * abs(said - true), plan.seed, text, 100 * true, 100 * said))
        if verbose:
            print(plan, "%s: true %+.2f %%, said %+.2f %%" % (text, 100 * true, 100 * said))
    return errors


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("steptime")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    code = 0
    limits = {draw: (MEDIAN_PERCENT, MOST_PERCENT, MOST_PERCENT),
              draw_shallow: (SHALLOW_MEDIAN_PERCENT, SHALLOW_NINE_OF_TEN_PERCENT, SHALLOW_MOST_PERCENT)}
    with tempfile.TemporaryDirectory(prefix="queues-") as folder:
        path = pathlib.Path(folder) / "rank0.json"
        for make, limit in limits.items():
            errors = sorted(error for seed in range(options.first, options.first + options.seeds)
                            for error in measure(options.steptime, path, make(seed), options.verbose))
            figures = [errors[len(errors) // 2][0], errors[9 * len(errors) // 10][0], errors[-1][0]]
            print("%s: %d changes, errors in percent of the recorded time: median %.2f, 9 of 10 %.2f, most %.2f "
                  "(seed %d, %s: true %+.2f %%, said %+.2f %%)" % ((make.__name__, len(errors), *figures) + errors[-1][1:]))
            code |= any(figure > most for figure, most in zip(figures, limit))
    return code


if __name__ == "__main__":
    sys.exit(main())
