#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `steptime trace whatif` says against what is true, on programs whose truth is known.

    truth.py STEPTIME [--seeds N] [--first SEED] [--changes TEXT] [--verbose] [--keep FOLDER]

For each seed a random program is run and recorded (program.py); for each change it is run again with the
change, and steptime is asked about the recording. The error is the difference of the predicted and the
true change of a time, in percent of the recorded time: of each recorded step on the host, and of the whole.
Speeds of kernels and of links have one bound, other numbers of layers and micro-batches a wider one. Exits
with 1 where the median or the ninth of ten misses it, or a valid trace is refused.
"""
import argparse
import concurrent.futures
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import program

CHANGES = {
    "gemm": program.Change(("speed.gemm=2",), {"gemm": 2}),
    "slow-gemm": program.Change(("speed.gemm=0.8",), {"gemm": 0.8}),
    "attention": program.Change(("speed.attention=3",), {"attention": 3}),
    "elementwise": program.Change(("speed.elementwise=1.7",), {"elementwise": 1.7}),
    "communication": program.Change(("bandwidth=2",), {"communication": 2}),
    "all": program.Change(tuple(f"speed.{c}=1.5" for c in ("gemm", "attention", "norm", "elementwise", "optimizer",
                                                           "memory", "communication")),
                          {c: 1.5 for c in ("gemm", "attention", "norm", "elementwise", "optimizer", "memory",
                                            "communication")}),
}
NAMES = {
    "kernel": program.Change(("speed.kernel:*gemm_up*=2",), names={"ampere_gemm_up": 2}),
    "remove": program.Change(remove="vectorized_elementwise_gelu", removed=("vectorized_elementwise_gelu",)),
    "fuse": program.Change(fuse="vectorized_elementwise_add,*gemm_up",
                           fused=("vectorized_elementwise_add", "ampere_gemm_up", 0)),
    "fuse-time": program.Change(fuse="*gemm_proj,*_add=38.5us",
                                fused=("ampere_gemm_proj", "vectorized_elementwise_add", 38.5)),
    "insert": program.Change(insert="*gemm_qkv=23.85us", inserted=("ampere_gemm_qkv", 23.85)),
}
HOST = {
    "host": program.Change(("speed.host=2",), host=2),
    "launch": program.Change(("speed.launch=4",), launch=4),
}
CHANGES |= NAMES | HOST
SHAPES = {
    "layers": lambda plan: program.Change(
        (f"model.layers={2 * plan.layers}",), layers=2 * plan.layers, have=(f"model.layers={plan.layers}",)),
    "micros": lambda plan: program.Change(
        (f"batch.micro_batches={plan.micros + 2}",), micros=plan.micros + 2,
        have=(f"batch.micro_batches={plan.micros}", f"model.layers={plan.layers}")),
}
SPEED_PERCENT = (0.5, 5.0)  # median, nine of ten
SHAPE_PERCENT = (1.0, 6.0)


def ask(steptime, folder, change):
    command = [steptime, "trace", "whatif", str(folder), "--json"]
    for text in change.text:
        command += ["--set", text]
    if change.remove:
        command += ["--remove", change.remove]
    if change.fuse:
        command += ["--fuse", change.fuse]
    if change.insert:
        command += ["--insert", change.insert]
    for text in change.have:
        command += ["--have", text]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if answer.returncode != 0:
        return None, answer.stderr.strip()
    return json.loads(answer.stdout), ""


def errors_of(answer, before, after):
    """Errors in percent: of the whole, and of each step."""
    def error(predicted, was, now, recorded):
        return 100 * abs(predicted - (now - was) / recorded)
    found = {}
    was, now = before.total_ns(), after.total_ns()
    found["whole"] = error((answer["after_ns"] - answer["before_ns"]) / answer["before_ns"], was, now, was)
    if answer["ranks"][0]["steps"] and answer["ranks"][0]["steps"][0]["after_ns"] is None:
        return {"step": error(answer["after_ns"] / answer["before_ns"] - 1, was, now, was)}
    for i, step in enumerate(answer["ranks"][0]["steps"][:len(before.steps_ns())]):
        was, now = before.steps_ns()[i], after.steps_ns()[i]
        found[f"step{i}"] = error((step["after_ns"] - step["before_ns"]) / step["before_ns"], was, now, was)
    return found


def try_seed(steptime, seed, names, keep):
    rows = []
    plan = program.draw_plan(seed)
    before = program.Program(plan).run()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="truth-"))
    try:
        program.write_traces(before, folder)
        for name in names:
            change = CHANGES[name] if name in CHANGES else SHAPES[name](plan)
            if name == "communication" and plan.ranks == 1 or name in NAMES and plan.fused:
                continue
            after = program.Program(plan, change).run()
            answer, refusal = ask(steptime, folder, change)
            if answer is None:
                rows.append((seed, name, None, refusal))
            else:
                true_change = 100 * (after.total_ns() / before.total_ns() - 1)
                rows.append((seed, name, errors_of(answer, before, after), f"{true_change:+.1f} %"))
        if keep:
            shutil.copytree(folder, pathlib.Path(keep) / str(seed), dirs_exist_ok=True)
    finally:
        shutil.rmtree(folder)
    return rows


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0.0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("steptime")
    parser.add_argument("--seeds", type=int, default=60)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--changes", default=",".join(list(CHANGES) + list(SHAPES)))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--keep", default="")
    options = parser.parse_args()
    names = options.changes.split(",")
    rows = []
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(try_seed, options.steptime, seed, names, options.keep)
                   for seed in range(options.first, options.first + options.seeds)]
        for future in futures:
            rows += future.result()
    refused = [row for row in rows if row[2] is None]
    for name in names:
        errors = [e for row in rows if row[1] == name and row[2] for e in row[2].values()]
        print(f"{name:14} {len(errors):5} times: median {quantile(errors, 0.5):6.2f} %, 9 of 10 "
              f"{quantile(errors, 0.9):6.2f} %, most {max(errors, default=0):6.2f} %")
    worst = sorted((row for row in rows if row[2]), key=lambda row: -max(row[2].values()))
    for row in worst[:400 if options.verbose else 10]:
        print(f"  seed {row[0]} {row[1]}: {max(row[2].values()):.2f} % of {row[3]}", program.draw_plan(row[0])
              if options.verbose else "")
    for row in refused:
        print(f"  seed {row[0]} {row[1]} refused: {row[3]}")
    good = not refused
    for kind, known, bounds in (("speeds", CHANGES, SPEED_PERCENT), ("shapes", SHAPES, SHAPE_PERCENT)):
        errors = [e for row in rows if row[2] and row[1] in known for e in row[2].values()]
        median, most = quantile(errors, 0.5), quantile(errors, 0.9)
        good = good and median <= bounds[0] and most <= bounds[1]
        print(f"{kind}: {len(errors)} times of {options.seeds} programs from seed {options.first} on: median "
              f"{median:.2f} %, 9 of 10 within {most:.2f} %")
    print(f"{len(refused)} of {len(rows)} refused")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
