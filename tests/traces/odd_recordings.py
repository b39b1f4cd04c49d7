#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Odd recordings end soon, with a graph or with a message: nothing runs away.

    odd_recordings.py STEPTIME

Kernels without calls, half a pair of messages, ranks whose clocks are hours apart, messages that wait for each other,
a launch queue of one, a hundred thousand streams.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

SECONDS = 20


def call(id, ts, dur=2, name="cudaLaunchKernel"):
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 1, "tid": 2, "ts": ts, "dur": dur,
            "args": {"correlation": id}}


def kernel(id, ts, dur, stream=7, name="ampere_sgemm", **args):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": ts, "dur": dur,
            "args": {"device": 0, "stream": stream, "correlation": id} | args}


def message(id, ts, dur, kind, seq, stream=7):
    return [call(id, ts - 20), kernel(id, ts, dur, stream, "ncclDevKernel_SendRecv", **{
        "Collective name": kind, "Process Group Ranks": "[0, 1]", "Process Group Name": "1", "Seq": seq, "Group size": 2})]


def orphans():
    step = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 2, "ts": 5, "dur": 40000}
    return [[step, *(kernel(100 + i, 10 + 30 * i, 25) for i in range(2000))]]


def half_a_pair():
    return [message(1, 100, 30, "send", 1) + message(2, 200, 30, "send", 2), message(1, 90, 40, "recv", 1)]


def clocks_apart():
    return [[e for i in range(1, 9) for e in message(i, 100 * i, 30, "send", i)],
            [e for i in range(1, 9) for e in message(i, 100 * i - 20_000_000, 30, "recv", i)]]


def crossed():
    """Each receives first what the other sends last."""
    return [[e for i in range(1, 5) for e in message(2 * i, 100 * i, 30, "recv", 2 * i) + message(2 * i + 1, 100 * i + 40, 30,
                                                                                              "send", 9 - 2 * i)],
            [e for i in range(1, 5) for e in message(2 * i, 100 * i, 30, "recv", 2 * i - 1) + message(2 * i + 1, 100 * i + 40,
                                                                                                  30, "send", 10 - 2 * i)]]


def queue_of_one():
    return [[e for i in range(500) for e in (call(i + 1, 50 * i, 48 if i else 3), kernel(i + 1, 5 + 50 * i, 50))]]


def waits_for_itself():
    """Each rank's launch of its send waits in a queue of one for its receive, which waits for the other's send."""
    def rank(mine, other):
        events = []
        for i in range(200):
            at = 400 * i
            events += [call(2 * i + 1, at, 3), kernel(2 * i + 1, at + 5, 190, 7, "ncclDevKernel_SendRecv", **{
                "Collective name": "recv", "Process Group Ranks": "[0, 1]", "Process Group Name": "1", "Seq": 2 * i + other,
                "Group size": 2})]
            events += [call(2 * i + 2, at + 3, 194), kernel(2 * i + 2, at + 198, 180, 8, "ncclDevKernel_SendRecv", **{
                "Collective name": "send", "Process Group Ranks": "[0, 1]", "Process Group Name": "1", "Seq": 2 * i + mine,
                "Group size": 2})]
        return events
    return [rank(0, 1), rank(1, 0)]


def streams():
    return [[e for i in range(100_000) for e in (call(i + 1, 3 * i), kernel(i + 1, 5 + 3 * i, 2, i))]]


CASES = [(orphans, "calls are missing for 2000 of 2000 GPU tasks", 0), (half_a_pair, "1 sends or receives have no partner", 0),
         (clocks_apart, "its clock is", 0), (crossed, "", None), (queue_of_one, "", 0),
         (waits_for_itself, "tasks wait for each other", 1), (streams, "too many streams", 1)]


def main():
    steptime = sys.argv[1]
    for make, text, code in CASES:
        with tempfile.TemporaryDirectory(prefix="odd-") as folder:
            ranks = make()
            for i, events in enumerate(ranks):
                (pathlib.Path(folder) / f"rank{i}.json").write_text(json.dumps(
                    {"distributedInfo": {"rank": i, "world_size": len(ranks)}, "traceEvents": events}))
            for verb in (["graph"], ["path"], ["whatif", "--set", "speed.gemm=2"], ["idle"]):
                began = time.time()
                answer = subprocess.run([steptime, "trace", verb[0], folder, *verb[1:]], capture_output=True, text=True,
                                        timeout=4 * SECONDS)
                if time.time() - began > SECONDS or answer.returncode not in ((0, 1) if code is None else (code,)) or (
                        text not in answer.stderr) or (answer.returncode != 0 and not answer.stderr):
                    sys.exit(f"{make.__name__} {verb}: {answer.returncode}\n{answer.stdout[-500:]}{answer.stderr[-500:]}")
                if make is orphans and answer.stdout.startswith("step"):
                    sys.exit(f"a step of tasks that no call places in it: {answer.stdout}")


if __name__ == "__main__":
    main()
