#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which tests a change may break: affected.py ROOT BUILD MUTANTS [--passed]

Prints the tests that execute a line that was changed since the last passing run, one name per line, by the map
that `./dev mutate` keeps in its folder MUTANTS; all of them as long as they take SECONDS together, and the
quickest first. Prints nothing where the map or the state of the last run is missing, or says nothing about a
changed file: then `./dev check` runs its whole set. --passed keeps the state of the sources as good.
"""
import argparse
import difflib
import hashlib
import json
import pathlib
import subprocess
import sys

import mutate
import mutate_measure

SECONDS = 90  # of one core; two of them and the build take a minute


def state_of(root):
    """{file of the tree: digest}, of what git tracks or would."""
    listing = subprocess.run(["git", "-C", root, "ls-files", "-coz", "--exclude-standard"], capture_output=True, check=True)
    names = [name for name in listing.stdout.decode().split("\0") if name and (root / name).is_file()]
    return {name: hashlib.sha256((root / name).read_bytes()).hexdigest() for name in names}


def changed_rows(old, new):
    """Rows of the old text, from 0, that were changed, or between which something was added."""
    for kind, start, end, _, _ in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "insert":
            yield from range(max(start - 1, 0), min(start + 1, len(old)))
        elif kind != "equal":
            yield from range(start, end)


def tests_of_source(shop, known, path):
    """Names of the tests that execute a changed line; of the whole file where the map is of another text."""
    measured = shop.tree / path
    text = measured.read_text() if measured.exists() else ""
    if mutate_measure.digest_of(text) != known.all["code"][path]["of"]:
        return shop.lines[path][0]
    rows = changed_rows(text.split("\n"), (shop.root / path).read_text().split("\n"))
    names = set()
    for row in rows:
        names |= shop.tests_of(mutate.Mutant(path, row, 0, "", ""), text)
    return names


def affected(shop, known, changed):
    """Tests, or None where the map does not know."""
    recorded = [test for test in shop.tests if known.of(test)]
    shop.lines = known.lines(recorded)
    names = {test.name for test in shop.tests if not known.of(test)}
    for path in changed:
        if path in shop.lines and (shop.root / path).exists():
            names |= tests_of_source(shop, known, path)
        elif reading := {test.name for test in shop.tests if path == test.source or path.startswith("tests/unit/cases/") and path in test.text}:
            names |= reading  # a test's source, or cases that it names
        else:
            return None
    return [test for test in shop.tests if test.name in names]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("mutants", type=pathlib.Path)
    parser.add_argument("--passed", action="store_true")
    given = parser.parse_args()
    root = given.root.resolve()
    kept, measured = given.build / "dev-passed.json", given.mutants / "measured.json"
    now = state_of(root)
    if given.passed:
        kept.write_text(json.dumps(now))
        return
    if not kept.exists() or not measured.exists():
        return
    before = json.loads(kept.read_text())
    changed = sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))
    shop = mutate.Workshop(root, given.mutants.resolve(), False, 1)
    known = mutate_measure.Measurements(measured, shop.tree)
    shop.tests = shop.find_tests(given.build.resolve(), root)
    tests = affected(shop, known, changed)
    if not tests:
        return
    seconds = {}
    for test in tests:
        record = known.of(test)
        seconds[test.meson] = seconds.get(test.meson, 0) + (record and record["seconds"] or 1)
    total, names = 0, []
    for name in sorted(seconds, key=seconds.get):
        total += seconds[name]
        if total <= SECONDS or not names:
            names.append(name)
    left = f"; {len(seconds) - len(names)} slow ones are left to ./dev test" if len(names) < len(seconds) else ""
    print(f"affected: {len(changed)} changed files, {len(names)} tests execute what changed{left}", file=sys.stderr)
    print(*names, sep="\n")


main()
