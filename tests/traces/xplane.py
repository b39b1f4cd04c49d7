#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same programs recorded by XLA's profiler and by Kineto: what steptime finds in an XSpace (xplane.proto
of tsl/profiler) has to be what it finds in Kineto's files without records of synchronisation.

    xplane.py STEPTIME [--seeds N]

Names and values are referred to by number, in an order drawn at random, and lines that the profiler derives
stand beside those of the device, as they do in profiles of JAX.
"""
import argparse
import json
import pathlib
import random
import sys
import tempfile

import nsys
import program

CORRELATION, STEP, NAME = 11, 23, 35


def varint(value):
    text = b""
    while value > 0x7F:
        text += bytes([value & 0x7F | 0x80])
        value >>= 7
    return text + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, *parts):
    text = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(text)) + text


def text(field, value):
    return message(field, value.encode())


class Plane:
    def __init__(self, name, seed):
        self.name, self.draw, self.names, self.lines = name, random.Random(seed), {}, {}

    def metadata(self, name):
        if name not in self.names:
            self.names[name] = self.draw.randrange(1 << 40) << 10 | len(self.names)
        return self.names[name]

    def add(self, line, name, start_ns, end_ns, stats=()):
        """An event on a line, which is a number and a name; starts are relative to the line's."""
        values = b"".join(message(4, number(1, stat), number(4, value)) for stat, value in stats)
        self.lines.setdefault(line, []).append(
            message(4, number(1, self.metadata(name)), number(2, start_ns * 1000),
                    number(3, (end_ns - start_ns) * 1000), values))

    def encode(self):
        lines = [message(3, number(1, place), text(2, name), number(3, program.BASE_NS), number(10, place), *events)
                 for (place, name), events in self.lines.items()]
        events = [message(4, number(1, key), message(2, number(1, key), text(2, name), text(4, name[:9])))
                  for name, key in self.names.items()]
        stats = [message(5, number(1, key), message(2, number(1, key), text(2, name)))
                 for key, name in ((CORRELATION, "correlation_id"), (STEP, "step_num"), (NAME, "hlo_op"))]
        parts = [text(2, self.name), *lines, *events, *stats]
        self.draw.shuffle(parts)
        return message(1, *parts)


def space_of(rank):
    device, host = Plane("/device:GPU:0", rank.plan.seed), Plane("/host:CPU", rank.number)
    late = round(rank.plan.clock_us * program.US)
    for stream, kernel, start, end in rank.tasks:
        stats = [(NAME, 5), (CORRELATION, kernel.correlation)]
        device.add((stream, f"Stream #{stream}(Compute)"), kernel.name, start + late, end + late, stats)
        device.add((10000, "XLA Ops"), "fusion.3", start + late, end + late)
    for thread, name, start, end, correlation in rank.calls:
        host.add((thread, f"thread {thread}"), name, start, end, [(CORRELATION, correlation)])
    for thread, name, start, end in rank.operators:
        host.add((thread, f"thread {thread}"), name, start, end)
    for place, start, end in rank.step_marks:
        host.add((rank.main, f"thread {rank.main}"), "ProfilerStep", start, end, [(STEP, place)])
    others = Plane("/host:metadata", 7)
    return others.encode() + device.encode() + host.encode() + text(4, "localhost")


def compare(steptime, seed):
    with tempfile.TemporaryDirectory() as name:
        kineto_folder, xla_folder = pathlib.Path(name) / "kineto", pathlib.Path(name) / "xla"
        kineto_folder.mkdir()
        xla_folder.mkdir()
        made = program.Program(program.draw_plan(seed)).run()
        for rank in made.ranks:
            rank.syncs = []
            (xla_folder / f"rank{rank.number:02}.xplane.pb").write_bytes(space_of(rank))
        nsys.write_kineto(made, kineto_folder)
        for words in (["summary"], ["graph"], ["replay"], ["whatif", "--set", "speed.gemm=2"]):
            kineto = shorn(nsys.ask(steptime, words[0], str(kineto_folder), *words[1:]))
            xla = shorn(nsys.ask(steptime, words[0], str(xla_folder), *words[1:]))
            assert not isinstance(kineto, str), kineto
            assert kineto == xla, f"seed {seed}, {words[0]}: {nsys.difference(kineto, xla)}"


def shorn(tree):
    """A profile of XLA has no name of the GPU but its number."""
    tree = nsys.without_names(tree)
    for rank in tree.get("ranks", []) if isinstance(tree, dict) else []:
        for key in ("gpu", "sms"):
            rank.pop(key, None)
    return json.loads(json.dumps(tree))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("steptime")
    parser.add_argument("--seeds", type=int, default=40)
    options = parser.parse_args()
    for seed in range(1, options.seeds + 1):
        compare(options.steptime, seed)
    print(f"{options.seeds} programs, the same by Kineto and by XLA's profiler")


if __name__ == "__main__":
    sys.exit(main())
