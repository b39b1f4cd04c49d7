#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of docs/stacks.md of rows that no fit has seen, as 'steptime fit' of docs/fits/modern.yaml has it.

    left_out.py STEPTIME SOURCE_ROOT [--update] [--fit FILE]

Compares, or with --update writes, what is between the two marks; --fit reads an earlier result ('--json') instead of
fitting, which takes two minutes of one core. Without $STEPTIME_DATA there is nothing to fit: exit code 77.
"""
import json
import os
import pathlib
import subprocess
import sys

BEGIN, END = "<!-- left out: tests/accuracy/left_out.py --update -->\n", "<!-- end -->\n"
NAMES = {"block": "each model on each GPU (a block)", "gpu": "each GPU", "model": "each model"}
KINDS = ["dense", "MoE", "bf16", "FP8 by tensor", "MXFP8", "NVFP4", "H100", "B200", "GB200", "B300", "GB300"]


def percent(share, sign=""):
    return f"{100 * share:{sign}.1f}"


def naive(part):
    return " | ".join(percent(part[key]["mean_absolute"]) for key in ("constant_mfu", "nearest_row"))


def line(name, errors, others):
    cells = [percent(errors["mean_absolute"]), percent(errors["median_absolute"]), percent(errors["bias"], "+"),
             percent(errors["largest"]), percent(errors["within_15"]) + " %"]
    return f"| {name} | {errors['rows']} | {' | '.join(cells)} | {others} |\n"


def table(fit):
    text = ("| left out | rows | mean | median | bias | largest | within 15 % | constant MFU | nearest row |\n"
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
    text += line("nothing: the rows of the fit", fit["errors"], "- | -")
    parts = {}
    for held in fit["left_out"]:
        parts[held["column"]] = {part["value"]: part for part in held["parts"]}
        whole = parts[held["column"]][""]
        text += line(NAMES[held["column"]], whole["errors"], naive(whole))
    whole = next(part for part in fit["tests"] if part["value"] == "")
    text += line("all of it: rows of other sources", whole["errors"], naive(whole))
    text += ("\nThe mean error by kind, with a block, a GPU or a model left out:\n\n"
             "| rows | | block | GPU | model | constant MFU, block | nearest row, block |\n"
             "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
    for kind in KINDS:
        means = [percent(parts[column][kind]["errors"]["mean_absolute"]) for column in NAMES]
        block = parts["block"][kind]
        text += f"| {kind} | {block['errors']['rows']} | {' | '.join(means)} | {naive(block)} |\n"
    return text


def fitted(program, root):
    if not os.environ.get("STEPTIME_DATA"):
        print("skipped: STEPTIME_DATA is not set")
        sys.exit(77)
    environment = dict(os.environ, LC_ALL="C.UTF-8", STEPTIME_PATH="", XDG_CONFIG_HOME="/nonexistent")
    run = subprocess.run([os.path.realpath(program), "fit", "--spec", "docs/fits/modern.yaml", "--json"], cwd=root,
                         env=environment, capture_output=True, text=True, check=False)
    if not run.stdout.startswith("{"):
        sys.exit(f"steptime fit ends with {run.returncode}: {run.stderr.strip()}")
    return run.stdout


def main():
    program, root, *options = sys.argv[1:]
    earlier = options[options.index("--fit") + 1] if "--fit" in options else None
    page = pathlib.Path(root, "docs", "stacks.md")
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    kept, _, after = rest.partition(END)
    if not after:
        sys.exit(f"{page}: has no marks '{BEGIN.strip()}' and '{END.strip()}'")
    made = "\n" + table(json.loads(pathlib.Path(earlier).read_text() if earlier else fitted(program, root))) + "\n"
    if "--update" in options:
        page.write_text(before + BEGIN + made + END + after, encoding="utf-8")
        return
    different = [(old, new) for old, new in zip(kept.splitlines(), made.splitlines()) if old != new]
    for old, new in different:
        print(f"docs/stacks.md: {old}\n  the fit says: {new}")
    if different or len(kept.splitlines()) != len(made.splitlines()):
        sys.exit("tests/accuracy/left_out.py --update writes the table")
    print("the table is that of the fit")


main()
