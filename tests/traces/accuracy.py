#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of what-if's errors in docs/traces.md, on programs of queues.py and pipelines.py.

    accuracy.py STEPTIME [--seeds N] [--first SEED]

Errors in percent of the recorded time, of changes that are over 2 %, by change; these programs share nothing with
program.py, and no constant is fitted to them.
"""
import argparse
import collections
import dataclasses
import json
import pathlib
import tempfile

import pipelines
import queues

LEAST_PERCENT = 2


def questions(plan):
    """Words of what-if and the changed plan, by what the table calls them."""
    more = dataclasses.replace(plan, layers=2 * plan.layers)
    layers = ["--set", f"model.layers={2 * plan.layers}"]
    asked = {f"pipelines: GEMM x {gemm:g}": (["--set", f"speed.gemm={gemm}"], dataclasses.replace(plan, gemm=gemm))
             for gemm in (2, 0.5)}
    asked |= {"pipelines: layers x 2": (layers, more),
              "pipelines: layers x 2, given": (["--have", f"model.layers={plan.layers}", *layers], more),
              "pipelines: micro-batches + 5": (["--set", f"batch.micro_batches={plan.micros + 5}"],
                                               dataclasses.replace(plan, micros=plan.micros + 5))}
    if plan.layers % (2 * plan.stages) == 0:
        asked["pipelines: stages x 2"] = (["--set", f"parallel.pp={2 * plan.stages}"],
                                          dataclasses.replace(plan, stages=2 * plan.stages))
    return asked


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("steptime")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=300)
    options = parser.parse_args()
    rows, refused = collections.defaultdict(list), collections.Counter()
    for seed in range(options.first, options.first + options.seeds):
        with tempfile.TemporaryDirectory(prefix="accuracy-") as folder:
            file = pathlib.Path(folder) / "rank0.json"
            for draw, name in ((queues.draw, "queues"), (queues.draw_shallow, "shared shallow queues")):
                for error, _, text, true, _ in queues.measure(options.steptime, file, draw(seed), False):
                    rows[f"{name}: {text}"].append((error, abs(true)))
        plan = pipelines.draw(seed)
        with tempfile.TemporaryDirectory(prefix="accuracy-") as folder:
            pipelines.write(plan, pathlib.Path(folder))
            before = pipelines.run(plan)[1]
            for name, (words, changed) in questions(plan).items():
                answer = pipelines.ask(options.steptime, folder, *words)
                refused[name] += answer.returncode != 0
                if answer.returncode != 0:
                    continue
                answer = json.loads(answer.stdout)
                true = pipelines.run(changed)[1] / before
                rows[name].append((100 * abs(answer["after_ns"] / answer["before_ns"] - true), 100 * abs(true - 1)))
    for name, found in rows.items():
        kept = [one for one in found if one[1] > LEAST_PERCENT]
        errors = sorted(error for error, _ in kept)
        if errors:
            print("| %s | %d | %d | %.2f | %.2f | %.1f | %.0f |" % (
                name, len(errors), refused[name], errors[len(errors) // 2], errors[9 * len(errors) // 10], errors[-1],
                sorted(true for _, true in kept)[len(kept) // 2]))


if __name__ == "__main__":
    main()
