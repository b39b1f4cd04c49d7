#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the test cases of finished `meson test` runs, one by one, and closes with their sum.

Meson judges a program by its exit status. This reads its log, takes the cases of a program that
prints TAP (cmocka skips with "not ok N # SKIP", which other counters take for a failure), shows the
output of what failed and why cases were skipped, and ends with "N passed, N failed".

    tally.py [--since SECONDS] LABEL=BUILD...

A log that was written before SECONDS of the epoch is that of an earlier run and does not count: what
was not run has failed.
"""
import json
import pathlib
import re
import sys

CASE = re.compile(r"^(not )?ok\b[ \t]*\d*[ \t]*(?:-[ \t]*)?(.*?)(?:#[ \t]*(SKIP|TODO)\b[ \t]*(.*))?$", re.I)
PLAN = re.compile(r"^1\.\.(\d+)", re.M)


class Count:
    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.skipped = []

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self):
        text = f"{self.passed} passed, {self.failed} failed"
        return text + (f", {len(self.skipped)} skipped" if self.skipped else "")


def count_program(test):
    """The cases of one program; what died before its plan was done counts as failed."""
    count = Count()
    output = test.get("stdout") or ""
    plans = [int(number) for number in PLAN.findall(output)]
    seen = 0
    if plans:
        for line in output.splitlines():
            case = CASE.match(line)
            if not case:
                continue
            seen += 1
            if (case[3] or "").upper() == "SKIP":
                name = " ".join(part.strip() for part in (case[2], case[4]) if part and part.strip())
                count.skipped.append(f"{test['name']}: {name or 'no reason given'}")
            elif case[1]:
                count.failed += 1
            else:
                count.passed += 1
    elif test["result"] == "SKIP":
        count.skipped.append(test["name"])
    elif test["result"] == "OK":
        count.passed += 1
    count.failed += max(0, sum(plans) - seen)
    if test["result"] not in ("OK", "SKIP") and count.failed == 0:
        count.failed += 1
    return count


def read_run(label, folder, since):
    """Counts one build's run and prints what is worth a look."""
    log = pathlib.Path(folder) / "meson-logs" / "dev.json"
    total = Count()
    if not log.is_file() or log.stat().st_mtime < since:
        print(f"{label}: no test was run")
        total.failed += 1
        return total
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        test = json.loads(line)
        count = count_program(test)
        total.add(count)
        if count.failed:
            print(f"--- {label}: {test['name']}: {test['result']}, {count}")
            print((test.get("stdout") or "").rstrip())
            print((test.get("stderr") or "").rstrip())
    for reason in total.skipped:
        print(f"skipped with {label}: {reason}")
    print(f"{label}: {total}")
    return total


def main(arguments):
    total = Count()
    since = 0.0
    if arguments[:1] == ["--since"]:
        since = float(arguments[1])
        arguments = arguments[2:]
    for argument in arguments:
        label, _, folder = argument.partition("=")
        total.add(read_run(label, folder, since))
    if total.passed == 0 and total.failed == 0:
        total.failed = 1
        print("no test was run")
    print(total)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
