#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory of `trace path` by recorded event: 40 bytes are to reach.

    path_memory.py STEPTIME [LAUNCHES]

A launch has four operators inside of each other, five calls for two launches and a kernel; public recordings of training with
PyTorch have 2.7 to 6.9 operators and 2.3 to 5.5 calls a kernel.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile


def write(path, launches):
    events, gpu_us, chance = 0, 50.0, random.Random(2385)
    with path.open("w", encoding="ascii") as text:
        def add(category, name, lane, start_us, duration_us, arguments):
            nonlocal events
            text.write(",\n" if events else "[")
            text.write(f'{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": {lane[0]}, "tid": {lane[1]}, '
                       f'"ts": {start_us:.3f}, "dur": {duration_us:.3f}, "args": {{{arguments}}}}}')
            events += 1

        for i in range(launches):
            at_us, thread, number = 20 * i, (100, 100), f'"correlation": {4 * i + 2}'
            for depth in range(4):
                add("cpu_op", f"aten::op{(i + depth) % 37}", thread, at_us + depth, 12.385 - 2 * depth, "")
            add("cuda_runtime", "cudaStreamIsCapturing", thread, at_us + 5, 0.312, f'"correlation": {4 * i + 1}')
            add("cuda_runtime", "cudaLaunchKernel", thread, at_us + 6.5, 4.012, number)
            if i % 2:
                add("cuda_runtime", "cudaEventRecord", thread, at_us + 11, 0.312, f'"correlation": {4 * i + 3}')
            duration_us = chance.choice([6.071, 19.5, 28.25, 10.125])
            gpu_us = max(gpu_us + chance.choice([0.7, 1.1]), at_us + 11)
            add("kernel", f"kernel_{i % 23}", (0, 7), gpu_us, duration_us, f'"device": 0, "stream": 7, {number}')
            gpu_us += duration_us
        text.write("]\n")
    return events


def main():
    launches = int(sys.argv[2]) if len(sys.argv) > 2 else 400000
    with tempfile.TemporaryDirectory(prefix="path-memory-") as folder:
        path = pathlib.Path(folder) / "recording.json"
        events = write(path, launches)
        with subprocess.Popen([sys.argv[1], "trace", "path", str(path)], stdout=subprocess.DEVNULL) as child:
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit("trace path failed")
    each = used.ru_maxrss * 1024 / events
    print(f"trace path of {events} events\n  peak memory by event       {each:10.1f} B   (40 to reach)")
    return each > 40


if __name__ == "__main__":
    sys.exit(main())
