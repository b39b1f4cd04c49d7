#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What-if on recordings that are hard to read, against the same program run with the change.

    hard.py STEPTIME [--seeds N] [--first SEED] [--verbose]

A lone GPU with one to three layers; pipelines whose stages have different numbers of layers, one of them a single
one; one rank of such a pipeline alone; streams that share a queue of a few launches. An answer is right within a
bound, or a range that holds the truth, or a refusal that says what is missing: it is never wrong and silent. The
programs are run by equations, not by a queue of moments: each time is the latest of those that it waits for. This
file shares nothing with program.py, pipelines.py or steptime.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

LAG_US = 6.0
MOST_POINTS = 1.0


class Task:
    """A kernel; of a message, `peer` is the task of the other rank."""

    def __init__(self, name, lasts, stream, launched):
        self.name, self.lasts, self.stream, self.launched = name, lasts, stream, launched
        self.before = self.peer = self.start = self.end = None
        self.args = {}

    def find_start(self):
        if self.start is None and (self.before is None or self.before.find_end() is not None):
            self.start = max(self.launched + LAG_US, self.before.end + 1 if self.before else 0)
        return self.start

    def find_end(self):
        if self.end is None and self.find_start() is not None:
            if self.peer is None:
                self.end = self.start + self.lasts
            elif self.args["Collective name"] == "send":  # it leaves at once
                self.end = self.start + self.lasts
            elif self.peer != "unknown" and self.peer.find_start() is not None:
                self.end = max(self.start, self.peer.start) + self.lasts
        return self.end


class Rank:
    """Runs `ops` on one thread: ("run", name, us, stream), ("message", kind, peer, tag, us), ("host", us), ("sync",)."""

    def __init__(self, number, ops, depth, per_stream=False):
        self.number, self.ops, self.depth = number, list(ops), depth
        self.at, self.now, self.tasks, self.calls, self.last = 0, 50.0, [], [], {}
        self.per_stream = per_stream

    def ends(self, tasks):
        found = [t.find_end() for t in tasks]
        return None if None in found else found

    def advance(self, messages):
        """Goes on until a time is not known yet; whether it moved at all."""
        moved = False
        while self.at < len(self.ops):
            op = self.ops[self.at]
            if op[0] == "host":
                self.now += op[1]
            elif op[0] == "sync":
                ends = self.ends(self.last.values())
                if ends is None:
                    return moved
                end = max(ends + [self.now]) + 3
                self.calls.append(("cudaDeviceSynchronize", self.now, end - self.now, 0))
                self.now = end
            else:
                stream = op[3] if op[0] == "run" else 7
                # Of a full queue any task that ends makes room.
                mine = [t for t in self.tasks if not self.per_stream or t.stream == stream]
                room = self.now
                if self.depth and len(mine) >= self.depth:
                    ends = self.ends(mine)
                    if ends is None:
                        return moved
                    room = max(room, sorted(ends)[-self.depth])
                end = max(self.now + 2.5, room + 1.5 if room > self.now else 0)
                task = Task(op[1], op[2] if op[0] == "run" else op[4], stream, self.now if room == self.now else room)
                task.before = self.last.get(stream)
                if op[0] == "message":
                    task.name = "ncclDevKernel_SendRecv(ncclDevComm*)"
                    task.peer = "unknown"
                    pair = tuple(sorted((self.number, op[2])))
                    task.args = {"Collective name": op[1], "Process Group Name": f"p{pair[0]}{pair[1]}", "Group size": 2,
                                 "Process Group Ranks": f"[{pair[0]}, {pair[1]}]", "Seq": op[3],
                                 "In msg nelems": 65536, "Out msg nelems": 65536, "dtype": "BFloat16"}
                    other = messages.setdefault((pair, op[3]), task)
                    if other is not task:
                        task.peer, other.peer = other, task
                self.last[stream] = task
                self.tasks.append(task)
                self.calls.append(("cudaLaunchKernel", self.now, end - self.now, len(self.tasks)))
                self.now = end
            self.at += 1
            moved = True
        return moved


def run(ranks):
    messages = {}
    while any([rank.advance(messages) for rank in ranks]):
        pass
    assert all(r.at == len(r.ops) for r in ranks), "the program waits for itself"
    return max(max(r.now for r in ranks), max(t.find_end() for r in ranks for t in r.tasks)) - 50


def write(ranks, only, folder):
    sizes = len(ranks)
    for r in ranks:
        if only is not None and r.number not in only:
            continue
        events = [{"ph": "X", "cat": "cuda_runtime", "name": n, "pid": 1, "tid": 2, "ts": round(at, 3), "dur": round(dur, 3),
                   "args": {"correlation": c}} for n, at, dur, c in r.calls]
        events += [{"ph": "X", "cat": "kernel", "name": t.name, "pid": 0, "tid": t.stream, "ts": round(t.start, 3),
                    "dur": round(t.end - t.start, 3), "args": {"device": 0, "stream": t.stream, "correlation": i + 1} | t.args}
                   for i, t in enumerate(r.tasks)]
        (folder / f"rank{r.number}.json").write_text(json.dumps(
            {"distributedInfo": {"rank": r.number, "world_size": sizes}, "traceEvents": events}))


FORWARD = [("layer_norm_kernel", 12.4), ("ampere_gemm_qkv", 61.7), ("flash_fwd_kernel", 40.3), ("ampere_gemm_fc", 93.1)]
BACKWARD = [("ampere_gemm_fc_dgrad", 90.2), ("ampere_gemm_fc_wgrad", 84.9), ("flash_bwd_kernel", 110.6),
            ("ampere_gemm_qkv_dgrad", 64.5), ("layer_norm_bwd_kernel", 23.8)]


def layers(kernels, count, gemm, host):
    for _ in range(count):
        yield ("host", 4 * host)
        for name, us in kernels:
            yield ("host", 3.1 * host)
            yield ("run", name, us / (gemm if "gemm" in name else 1), 7)


def stage_ops(split, stage, micros, gemm=1, host=1, steps=2):
    """1F1B; the first stage has an embedding, the last one a loss."""
    stages, tag = len(split), 0
    ahead = min(stages - 1 - stage, micros)
    order = [("F", i) for i in range(ahead)]
    for i in range(micros - ahead):
        order += [("F", ahead + i), ("B", i)]
    order += [("B", i) for i in range(micros - ahead, micros)]
    for step in range(steps):
        for kind, i in order:
            before, after = (stage - 1, stage + 1) if kind == "F" else (stage + 1, stage - 1)
            tag = 2 * (step * micros + i) + (kind == "B")
            if 0 <= before < stages:
                yield ("message", "recv", before, tag, 18.2)
            if kind == "F" and stage == 0:
                yield ("run", "embedding_kernel", 9.7, 7)
            if kind == "B" and stage == stages - 1:
                yield ("run", "cross_entropy_kernel", 31.4, 7)
            yield from layers(FORWARD if kind == "F" else BACKWARD, split[stage], gemm, host)
            if 0 <= after < stages:
                yield ("message", "send", after, tag, 18.2)
        for _ in range(split[stage]):
            yield ("run", "multi_tensor_apply_kernel_adam", 37.3, 7)
        yield ("sync",)


def pipeline(split, micros, depth, **change):
    ranks = []
    for stage in range(len(split)):
        ranks.append(Rank(stage, stage_ops(split, stage, micros, **change), depth))
    return ranks


def queue_ops(seed, gemm=1, host=1):
    r = random.Random(seed)
    for _ in range(160):
        yield ("host", r.uniform(0.5, 3) * host)
        name, us = r.choice(FORWARD + BACKWARD)
        yield ("run", name, us * r.uniform(0.7, 1.3) / (gemm if "gemm" in name else 1), r.choice([7, 7, 7, 13]))
    yield ("sync",)


def ask(steptime, folder, words):
    done = subprocess.run([steptime, "trace", "whatif", folder, *words, "--json"], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[0] if done.stderr.strip() else "nothing said"
    return json.loads(done.stdout), ""


def cases(seed):
    """What a program is called, its ranks by changes, who records, its questions with the change that each means (None:
    a number that the job does not have), and whether all are to be answered."""
    r = random.Random(seed)
    micros, depth = r.choice([2, 3, 5]), r.choice([0, 0, 40])
    alone = [r.choice([1, 1, 2, 3])]
    split = r.choice([(1, 3), (3, 1), (2, 1, 4), (1, 1, 2), (4, 2)])
    half = tuple(2 * n for n in split)
    total = sum(split)
    fast = [(["--set", "speed.gemm=2"], {"gemm": 2}), (["--set", "speed.host=2"], {"host": 0.5})]

    def lone(**change):
        return pipeline(change.pop("split", alone), micros, depth, **change)

    def staged(**change):
        return pipeline(change.pop("split", split), micros, depth, **change)

    def queued(**change):
        return [Rank(0, queue_ops(seed, **change), queue, per_stream=False)]

    queue = r.choice([1, 2, 4, 8, 16])
    more = [3 * alone[0]]
    yield f"lone GPU, layers {alone[0]}, {micros} micro-batches", lone, None, fast + [
        (["--set", f"model.layers={more[0]}"], {"split": more}),
        (["--have", f"model.layers={alone[0]}", "--set", f"model.layers={more[0]}"], {"split": more})], False
    stages = f"{split}, {micros} micro-batches"
    yield f"stages {stages}", staged, None, fast + [
        (["--have", f"model.layers={total}", "--set", f"model.layers={2 * total}"], {"split": half}),
        (["--have", f"model.layers={total + 1}", "--set", f"model.layers={2 * total + 2}"], None)], True
    yield f"layers not given of stages {stages}", staged, None, [
        (["--set", f"model.layers={2 * total}"], {"split": half})], False
    yield f"first stage alone of {stages}", staged, [0], fast + [
        (["--have", f"model.layers={total}", "--set", f"model.layers={2 * total}"], {"split": half})], False
    yield f"last stage alone of {stages}", staged, [len(split) - 1], fast, False
    yield f"two streams share {queue} launches", queued, None, fast, True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("steptime")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    bad = 0
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        for name, program, only, questions, answered in cases(seed):
            with tempfile.TemporaryDirectory() as folder:
                recorded = program()
                before = run(recorded)
                write(recorded, only, pathlib.Path(folder))
                for words, change in questions:
                    truth = run(program(**change)) if change is not None else before
                    result, refusal = ask(arguments.steptime, folder, words)
                    true = 100 * (truth / before - 1)
                    if result is None:
                        verdict, text = "refused" if change is None or not answered else "WRONG", refusal
                    elif change is None:
                        verdict, text = "WRONG", "an answer to a question that has none"
                    else:
                        got = 100 * (result["after_ns"] / result["before_ns"] - 1)
                        ends = [100 * (result[k] / result["before_ns"] - 1) for k in result if k in
                                ("after_least_ns", "after_ns", "after_waiting_ns")]
                        off = got - true
                        text = f"{got:+.2f} %, {off:+.2f} off, range {min(ends):+.2f} to {max(ends):+.2f}"
                        verdict = "right" if abs(off) <= MOST_POINTS else "range" if (
                            min(ends) - MOST_POINTS <= true <= max(ends) + MOST_POINTS) else "WRONG"
                    bad += verdict == "WRONG"
                    if arguments.verbose or verdict == "WRONG":
                        print(f"{seed} {name}: {' '.join(words)}: truth {true:+.2f} %: {verdict}: {text}")
    print(f"{bad} wrong")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
