#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Views of a recording with twice the threads, streams, names or steps take about twice the instructions.

    growth.py STEPTIME

A thread launches a kernel each, on one stream or on one of its own; or one thread launches all, each with a name of its
own or in a step of its own. Instructions are counted by valgrind; those of a
recording of one thread are taken off. Prints TAP.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SMALL, MOST_RATIO = 1000, 2.5
CASES = {"threads": ("idle", "replay", "path", "rank"), "streams": ("idle", "path"), "names": ("rank",), "steps": ("summary", "whatif")}
CHANGE = {"whatif": ["--set", "speed.gemm=2"]}


def write(path, count, kind):
    events = []
    for i in range(count):
        at = 100 + 4 * i
        thread = 10 + (i if kind in ("threads", "streams") else 0)
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1,
                       "tid": thread, "ts": at, "dur": 2, "args": {"correlation": i + 1}})
        stream = 7 + (i if kind == "streams" else 0)
        name = f"ampere_sgemm_{i}" if kind == "names" else "ampere_sgemm"
        events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": at + 5, "dur": 3,
                       "args": {"device": 0, "stream": stream, "correlation": i + 1}})
        if kind == "steps":
            events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 10, "ts": at,
                           "dur": 3})
    path.write_text(json.dumps({"traceEvents": events}))


def instructions(steptime, verb, path):
    done = subprocess.run(["valgrind", "--trace-children=yes", "--tool=cachegrind", "--cache-sim=no",
                           "--cachegrind-out-file=/dev/null", steptime, "trace", verb, str(path),
                           *CHANGE.get(verb, ())],
                          capture_output=True, text=True, check=False)
    counts = re.findall(r"I +refs: +([\d,]+)", done.stderr)
    if done.returncode != 0 or not counts:
        sys.exit(f"{verb} {path}: {done.stderr}")
    return int(counts[-1].replace(",", ""))


def main():
    if shutil.which("valgrind") is None:
        print("1..0 # SKIP needs valgrind")
        return 0
    number, failed = 0, False
    with tempfile.TemporaryDirectory(prefix="growth-") as folder:
        for kind, verbs in CASES.items():
            paths = {}
            for count in (1, SMALL, 2 * SMALL):
                paths[count] = pathlib.Path(folder) / f"{count}.json"
                write(paths[count], count, kind)
            for verb in verbs:
                number += 1
                base, small, large = (instructions(sys.argv[1], verb, paths[count]) for count in paths)
                ratio = (large - base) / (small - base)
                failed = failed or ratio > MOST_RATIO
                print(f"{'not ok' if ratio > MOST_RATIO else 'ok'} {number} - trace {verb} of twice the {kind}: "
                      f"{ratio:.2f} times the instructions")
    print(f"1..{number}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
