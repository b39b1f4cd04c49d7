# SPDX-License-Identifier: Apache-2.0
"""How long tests take, and which lines they execute: every test run once in a build with coverage.

A test writes its counts into a folder of its own (GCOV_PREFIX). Files in which nothing was executed
are put aside by their bytes, so that gcov reads a tenth of them.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shutil
import struct
import subprocess
import time

SKIPPED = 77
COUNTERS = 0x01A10000  # tag of a function's arcs; a negative length says that all are 0


def counts_anything(data):
    """Whether a .gcda has an arc that was taken."""
    at = 16  # magic, version, stamp, checksum
    while at + 8 <= len(data):
        tag, length = struct.unpack_from("<Ii", data, at)
        at += 8
        if tag == COUNTERS and length > 0 and any(data[at:at + length]):
            return True
        at += max(length, 0)
    return False


def lines_of(counts, build):
    """{source: {line: whether it is executed}} of a folder of .gcda, by gcov."""
    objects = []
    for path in counts.rglob("*.gcda"):
        notes = pathlib.Path("/") / path.relative_to(counts).with_suffix(".gcno")
        if notes.exists() and counts_anything(path.read_bytes()):
            path.with_suffix(".gcno").symlink_to(notes)
            objects.append(path)
    executed = {}
    if not objects:
        return executed
    listing = subprocess.run(["gcov", "--json-format", "--stdout", *objects], cwd=build, capture_output=True, check=False)
    for document in listing.stdout.splitlines():
        for one in json.loads(document)["files"]:
            lines = executed.setdefault(os.path.normpath(build / one["file"]), {})
            for line in one["lines"]:
                lines[line["line_number"]] = lines.get(line["line_number"], False) or line["count"] > 0
    return executed


def of_one(test, build, scratch):
    """Seconds of a test, or None where it fails, and {source: lines that it executes}."""
    counts = scratch / test.name.replace("/", "-").replace(" ", "-")
    shutil.rmtree(counts, ignore_errors=True)
    counts.mkdir(parents=True)
    surroundings = {**os.environ, "STEPTIME_SEED": "2385", **test.env, "GCOV_PREFIX": str(counts)}
    start = time.monotonic()
    try:
        status = subprocess.run(test.command, cwd=test.folder, env=surroundings, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600, check=False).returncode
    except subprocess.TimeoutExpired:
        status = 1
    seconds = time.monotonic() - start
    lines = lines_of(counts, build)
    shutil.rmtree(counts)
    return (seconds if status in (0, SKIPPED) else None), lines


def digest_of(*texts):
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()


class Measurements:
    """
    What is known of tests, in a file. A test is measured anew when its source changes; of a source of the
    program that has changed since, only the tests that execute anything of it are known, not the lines.
    """

    def __init__(self, kept, tree):
        self.kept, self.tree = kept, tree
        self.all = json.loads(kept.read_text()) if kept.exists() else {"code": {}, "tests": {}}

    def save(self):
        self.kept.write_text(json.dumps(self.all))

    def digest(self, test):
        return digest_of(test.text)

    def of(self, test):
        record = self.all["tests"].get(test.name)
        return record if record and record["of"] == self.digest(test) else None

    def take(self, tests, build, jobs):
        """Runs tests in the build with coverage."""
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            longest_first = sorted(tests, key=lambda test: "command line" not in test.name)
            of_each = pool.map(lambda test: of_one(test, build, build / "counts"), longest_first)
            for test, (seconds, lines_by_source) in zip(longest_first, of_each):
                executed = {}
                for source, lines in lines_by_source.items():
                    path = pathlib.Path(source)
                    if path.is_relative_to(self.tree / "estimator") or path.parent.name == "fit":
                        name = str(path.relative_to(self.tree))
                        executed[name] = sorted(line for line, is_executed in lines.items() if is_executed)
                        self.note_code(name, lines)
                self.all["tests"][test.name] = {"of": self.digest(test), "seconds": seconds, "lines": executed}
        self.save()

    def leave_out(self, tests):
        """Those that a build with coverage has not: of no line is it known that they execute it."""
        for test in tests:
            self.all["tests"][test.name] = {"of": self.digest(test), "seconds": None, "lines": {}}
        self.save()

    def note_code(self, name, lines):
        """Lines with code; those of an older text of the source are forgotten."""
        digest = digest_of((self.tree / name).read_text())
        known = self.all["code"].get(name, {})
        before = known["lines"] if known.get("of") == digest else ()
        self.all["code"][name] = {"of": digest, "lines": sorted({*before, *lines})}

    def lines(self, tests):
        """{source below the tree: {line with code: names of the tests that execute it}}; line 0: any of them."""
        found = {}
        for name, code in self.all["code"].items():
            path = self.tree / name
            is_known = path.exists() and digest_of(path.read_text()) == code["of"]
            found[name] = {0: set(), **({line: set() for line in code["lines"]} if is_known else {})}
        for test in tests:
            for name, lines in self.all["tests"][test.name]["lines"].items():
                for line in {0, *lines} & set(found[name]) if lines else ():
                    found[name][line].add(test.name)
        return found
