#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workbooks that LibreOffice computes anew must say what steptime says, for every cell.

Inputs are changed inside of the workbook and on the command line of steptime alike. Results that
stand in the workbook are spoiled first. Prints TAP; skips where there is no LibreOffice.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import random_sheet
import workbook

NEAR = 1e-9
NOTHING = 1e-15  # what is left of a difference of equals, which spreadsheets make zero
JOBS = ["gpt-3b-32x3090", "vgg16-32x3090", "megatron-530b-280xa100", "mixtral-8x7b-64xh100",
        "deepseek-v3-2048xh800"]
# What no draw would find: changes that leave a provider's value as it is, other branches.
FIXED = {
    "vgg16-32x3090": [{"cluster.gpu.memory_bandwidth": "731.25 GB/s"}],
    "gpt-3b-32x3090": [{"recompute": "none"}],
    "given": [{"constants.C": "9.317 GB/s"}, {"constants.cap": "7.31 MiB"}, {"parallel.tp": "2"}],
    "mixtral-8x7b-64xh100": [{"recompute": "full", "parallel.virtual_stages": "1"}],
}
CELLS = 80  # of random formulas
DRAWS = 3  # random sets of inputs for every job


def run(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def shown(value):
    """A value of steptime's JSON as the workbook shows it."""
    return {True: "yes", False: "no"}.get(value, value) if isinstance(value, bool) else value


def agrees(found, expected):
    if expected is None:  # not known, which the workbook's formulas have as 0
        return found in (None, 0)
    if isinstance(expected, str) or isinstance(found, str) or found is None:
        return found == expected
    return abs(found - expected) <= max(NEAR * max(abs(found), abs(expected)), NOTHING)


def estimate(program, job, sets, where):
    words = ["estimate", job, "--json", *where]
    for key, text in sets.items():
        words += ["--set", f"{key}={text}"]
    code, out, _ = run(program, *words)
    return json.loads(out) if code == 0 else None


def draw(chance, base):
    """Another value for some inputs: numbers times a factor, counts doubled or halved."""
    sets = {}
    for entry in base["inputs"]:
        value, key, unit = entry["value"], entry["key"], entry["unit"]
        if chance.random() < 0.6:
            continue
        if isinstance(value, bool):
            if key.startswith("constants."):
                sets[key] = "false" if value else "true"
        elif isinstance(value, str):
            if unit in random_sheet.ENUMS and key.startswith("constants."):
                sets[key] = chance.choice(random_sheet.ENUMS[unit])
        elif key.startswith(("cluster.gpu", "cluster.nic", "constants.", "cluster.bandwidth")):
            if float(value).is_integer() and unit == "1":
                continue
            number = value * chance.uniform(0.6, 1.0 if unit in ("1", "%") else 1.7)
            sets[key] = f"{number!r} {unit}" if unit != "1" else repr(number)
        elif key in ("batch.global", "batch.sequence", "model.layers", "model.hidden"):
            sets[key] = str(int(value * chance.choice([2, 3, 4])))
    return sets


class Case:
    """A workbook with the inputs of `base`, None where they are to be filled in, and of `changed`."""

    def __init__(self, name, path, base, changed):
        self.name, self.path, self.base, self.changed = name, path, base, changed

    def prepare(self):
        book = workbook.Workbook(self.path)
        rows = book.rows("Inputs")
        place = {row["A"]: f"B{number}" for number, row in rows.items() if "B" in row}
        old = {entry["name"]: entry["value"] for entry in self.base["inputs"]} if self.base else {}
        for entry in self.changed["inputs"]:
            if entry["value"] != old.get(entry["name"]):
                book.change("Inputs", place[entry["name"]], shown(entry["value"]))
        book.forget_results()
        book.write(self.path)

    def faults(self, computed):
        """What differs, unless the workbook itself says that it cannot know."""
        values = computed.table("Estimate", "B")
        if str(values.get("Provided values")).startswith("stale"):
            return [] if self.base["inputs"] != self.changed["inputs"] else ["stale as it is"]
        wrong = [f"{cell['name']}: {values.get(cell['name'])!r} instead of {shown(cell['value'])!r}"
                 for cell in self.changed["cells"]
                 if not agrees(values.get(cell["name"]), shown(cell["value"]))]
        verdicts = [row for row in computed.rows("Checks").values() if row.get("C") != "Level"]
        for check, row in zip(self.changed["checks"], verdicts):
            failure = "warns" if check["level"] == "warning" else "FAILS"
            expected = "holds" if check["holds"] else failure
            if row.get("B") != expected:
                wrong.append(f"check {check['that']}: {row.get('B')!r} instead of {expected!r}")
        return wrong


def cases_of_job(program, job, chance, folder, where):
    base = estimate(program, job, {}, ["--all", *where])
    sets = [{}] + FIXED.get(job, [])
    tries = 0
    while len(sets) <= DRAWS + len(FIXED.get(job, [])) and tries < 60:
        tries += 1
        drawn = draw(chance, base)
        if drawn and estimate(program, job, drawn, ["--all", *where]):
            sets.append(drawn)
    for number, drawn in enumerate(sets):
        path = folder / f"{job}-{number}.xlsx"
        code, _, messages = run(program, "estimate", job, "--xlsx", str(path), *where)
        if code != 0:
            raise RuntimeError(messages)
        said = " ".join(f"{key}={text}" for key, text in drawn.items())
        yield Case(f"{job} {said or 'as it is'}", path, base,
                   estimate(program, job, drawn, ["--all", *where]))


def filled_in(program, sheet, job, folder):
    """The workbook of a sheet alone, which gets all inputs of a job."""
    path = folder / f"{sheet}-alone.xlsx"
    code, _, messages = run(program, "sheet", "export", sheet, "--format", "xlsx", "-o", str(path))
    if code != 0:
        raise RuntimeError(messages)
    return Case(f"{sheet} alone, filled in", path, None, estimate(program, job, {}, ["--all"]))


def main():
    program, source = sys.argv[1], pathlib.Path(sys.argv[2])
    if workbook.find_office() is None:
        print("1..1\nok 1 - workbooks computed anew # SKIP there is no LibreOffice (soffice)")
        return 0
    seed = int(os.environ.get("STEPTIME_SEED", "2385"))
    print(f"# seed {seed}")
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        chance = random.Random(seed)
        cases = [case for job in JOBS for case in cases_of_job(program, job, chance, folder, [])]
        cases.append(filled_in(program, "li2024", "gpt-3b-32x3090", folder))
        root = ["--path", str(source / "tests/spreadsheet/tree")]
        cases += cases_of_job(program, "corners", chance, folder, root)
        cases += cases_of_job(program, "given", chance, folder, root)
        drawn = ["--path", str(folder / "drawn")]
        chance = random.Random(seed)  # of its own: the same sheet whatever inputs jobs have
        random_sheet.make(chance, folder / "drawn", CELLS,
                          lambda: run(program, "estimate", "random", "--all", *drawn)[0] == 0)
        cases += cases_of_job(program, "random", chance, folder, drawn)
        for case in cases:
            case.prepare()
        print(f"1..{len(cases)}", flush=True)
        books = workbook.compute_anew([case.path for case in cases], folder)
        for number, (case, book) in enumerate(zip(cases, books), 1):
            wrong = case.faults(book)
            failed += bool(wrong)
            print(f"{'not ' if wrong else ''}ok {number} - {case.name}")
            for line in wrong[:20]:
                print(f"# {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
