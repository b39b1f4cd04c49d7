#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks of the tests whether they notice: changes one operator, constant or condition at a time.

    mutate.py SOURCE_ROOT FOLDER [N] [--seed S] [--jobs J] [--only TEXT] [--units] [--list]

Half of N mutants (50) are of formulas, defaults and checks of sheets, half of the core's C. They are drawn with
a seed, made in a copy of the tracked files below FOLDER and never in the tree. A mutant that does not
compile or load, or whose object code is the same, is dropped and another one drawn. Only tests that
execute the changed line, or read the changed sheet, are asked: unit, property and fuzz tests first, those
that name the changed file's functions, and those that noticed most so far, before others; then the cases
of the command line; last what compares whole texts. What no test notices is listed with its place; what
no test executes is counted apart.

Left out, because a survivor there says nothing: messages and printing, limits, sizes of arrays, checks of
allocations, bounds of loops (the sanitizers see those), first values of what the next lines have a function
fill, seeds of random numbers and constants of hashes, where a bisection cuts, whether a bound such as 0.15 is
itself inside, whether the larger of two equal ones is the first, and the floor of a whole number. Pages
that print a sheet's formulas are not asked about sheets: they notice any change of text.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

import mutate_measure

KINDS = ("first", "cli", "golden", "survived", "unexecuted")
FIRST_SUITES = {"unit", "property", "fuzz", "plugins"}
CLI_SUITES = {"cli", "workloads", "traces", "spreadsheet"}
GOLDEN_SUITES = {"golden", "docs"}
# Rooms of what is printed or asked, not of what is computed.
PLAIN_ROOMS = {"cli", "export", "include", "import"}
PLAIN_FILE = re.compile(r"(_text|_svg|_write|_json|_csv|_latex|_markdown|_show)\.c$"
                        r"|/(embed|status|table|svg|json|latex|perfetto|xlsx\w*|print|result\w*)\.c$")
PLAIN_LINE = re.compile(r'"|\bNULL\b|^\s*(?:#|/?\*|//|return ST_ERR)|ST_ERR_|ST_OK|assert|sizeof|alloc|_MAX\b|MAX_'
                        r"|LIMIT|capacity|failed|\bst_place\b|\bfor \(|errors?\b|'\\?.'|= \{0\}")
UNCHANGED_CALL = re.compile(r"\b(?:st_fail|\w*refuse|\w*printf|\w*alloc)\(|ST_(?:FOUND|EXPECTED|HINT)\b")
ARRAY = re.compile(r"\s+(?!return)(?:_Alignas\(\w+\) )?(?:static )?(?:const )?\w+ (?:const )?\**(?:const )?\w+(?:\[\w+\])+(?=;| = )")
C_SWAPS = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "),
           (" && ", " || "), (" || ", " && "), (" + ", " - "), (" - ", " + "), (" * ", " / "), (" / ", " * "),
           (" += ", " -= "), (" -= ", " += "), ("ceil(", "floor("), ("floor(", "ceil("), ("fmin(", "fmax("),
           ("fmax(", "fmin("), ("return true;", "return false;"), ("return false;", "return true;")]
SHEET_SWAPS = [(" + ", " - "), (" - ", " + "), ("*", "/"), ("/", "*"), ("ceil(", "floor("), ("floor(", "ceil("),
               ("max(", "min("), ("min(", "max("), (" < ", " <= "), (" <= ", " < "), (" > ", " >= "),
               (" >= ", " > "), (" == ", " != "), (" != ", " == "), (" and ", " or "), (" or ", " and ")]
# A hash or a random number is as good with another constant, a bisection with another cut.
AS_GOOD = re.compile(r"0x[0-9a-fA-F]{9,}|UINT64_C\(\d{12,}\)|\bst_dice_of\(|(\w+) \+ \(\w+ - \1\) / 2;")
# Of two equal ones, the smaller and the larger are the same: 'a > b ? a : b', and 'if (a > b)', 'b = a;'.
TERM = r"[\w.>\[\]()*&-]+"
CAST = r"(?:\(\w+\))?"
LARGER = re.compile(rf"(?:[(=,?:]|\breturn) ?({TERM})( [<>]=? )({TERM}) \? "
                    rf"(?:{CAST}\1 : {CAST}\3|{CAST}\3 : {CAST}\1)(?=[;,) ])")
LARGER_TAKEN = re.compile(rf"\s+if \(({TERM})( [<>]=? )({TERM})\)\n\s+(?:\1 = \3|\3 = \1);\n")
DECIMAL_BOUND = re.compile(r" [<>]=? -?\d*\.\d*[1-9]")
FILLED = re.compile(r"\s+[\w ]+\b(\w+) = (?:0|false);$")
ABOVE_NOTHING = re.compile(r"[<>]=? 0(?=\[)")
FORMULA_PAGES = {"generated pages", "generated documents"}
PLUGIN_TESTS = {"bad plugins", "hostile plugins"}  # long, and of the host of plugins alone
# What happens to a program that is stopped or runs out of something; nothing is computed.
NOT_ASKED = {"interrupts", "failures", "power cuts", "failures of workbooks", "failures of strategies", "stopped plugins"}
LIBRARY = re.compile(r"/libsteptime-(?:core|command|trace|record|fit|launch|workload)\.a\.p/")
READS_SHEETS = "estimator/core/sheet/image.c"  # executed by whatever opens one
NUMBER = re.compile(r"(?<![\w.])(\d+\.\d+(?:e-?\d+)?|\d+(?:e-?\d+)?)(?![\w.])")


@dataclasses.dataclass
class Mutant:
    path: str  # below the root
    line: int  # from 0
    column: int
    old: str
    new: str

    def apply(self, text):
        lines = text.split("\n")
        line = lines[self.line]
        assert line.startswith(self.old, self.column)
        lines[self.line] = line[:self.column] + self.new + line[self.column + len(self.old):]
        return "\n".join(lines)

    def describe(self, text):
        line = text.split("\n")[self.line].strip()
        return f"{self.path}:{self.line + 1}:{self.column + 1}: '{self.old.strip()}' -> '{self.new.strip()}' in: {line[:110]}"


@dataclasses.dataclass
class Test:
    name: str
    suites: set
    command: list
    env: dict
    folder: str
    target: str  # to be built; empty where the command is a script
    meson: str  # its name there; sections of the command line share one
    source: str = ""  # below the tree; empty where it has no one file
    text: str = ""  # of its source
    seconds: float = 1.0
    sheets: frozenset = frozenset()  # that it opens


def changed_numbers(line, row, path, start=0):
    thresholds = {match.end() - 1 for match in ABOVE_NOTHING.finditer(line, start)}
    for match in NUMBER.finditer(line, start):
        number = match.group(1)
        if match.start(1) in thresholds:
            # One of the smallest unit is as good as nothing: no GPU computes 1 FLOP/s.
            yield Mutant(path, row, match.start(1), number, "1e30")
            continue
        new = repr(float(number) * 1.01) if "." in number or "e" in number else str(int(number) + 1)
        yield Mutant(path, row, match.start(1), number, new)


def swaps_in(line, row, path, swaps, start=0):
    for old, new in swaps:
        at = line.find(old, start)
        while at >= 0:
            if not (old[0].isalpha() and at > 0 and (line[at - 1].isalnum() or line[at - 1] == "_")):
                yield Mutant(path, row, at, old, new)
            at = line.find(old, at + 1)


def checks_an_allocation(lines, row):
    """Whether a line is what is done where memory has run out."""
    return bool(re.search(r"if \(.*== NULL", lines[row - 1])
                and re.search(r"alloc\(|st_arena_\w+\(", "\n".join(lines[max(row - 8, 0):row])))


def is_filled(lines, row):
    """Whether the next lines hand the address of what a line declares to a function."""
    declared = FILLED.match(lines[row])
    return bool(declared and re.search(rf"\(.*&{declared.group(1)}\b", " ".join(lines[row + 1:row + 4])))


# What is a whole number is its own floor and ceiling, of a quotient as well; descriptor 0 is taken.
NO_CHANGE = re.compile(r"\b(?:floor|ceil)\(([\w.]+)\) == \1\b|\b([\w.]+) == (?:floor|ceil)\(\2\)"
                       r"|\b(?:file|fd|descriptor)( >= 0| < 0)"
                       r"|\b(?:floor|ceil)\(([\w.]+)/([\w.]+)\)\*\5 == \4\b")


def changes_nothing(line, mutant):
    return any(match.start() <= mutant.column < match.end() and (match.group(3) or mutant.old in ("floor(", "ceil("))
               for match in NO_CHANGE.finditer(line))


def same_where_equal(lines, row):
    """Columns of comparisons of which only the case of two equal sides would change, and with it nothing."""
    matches = [*LARGER.finditer(lines[row]), LARGER_TAKEN.match("\n".join([*lines[row:row + 2], ""]))]
    return {match.start(2) for match in matches if match}


def c_mutants(path, text):
    in_comment = in_enum = in_message = False
    lines = text.split("\n")
    for row, line in enumerate(lines):
        code = line.split("/*")[0]
        was_message = in_message
        in_message = (in_message or bool(UNCHANGED_CALL.search(code))) and not code.rstrip().endswith((";", "{", "}"))
        if was_message or re.match(r"\s*return (?:true|false);", code) and checks_an_allocation(lines, row):
            continue
        was_comment, in_comment = in_comment, ("/*" in line or in_comment) and "*/" not in line
        in_enum = (in_enum or line.startswith(("enum", "typedef enum"))) and "}" not in line
        if was_comment or in_enum or line.startswith("enum") or PLAIN_LINE.search(code):
            continue
        if is_filled(lines, row) or AS_GOOD.search(code):
            continue
        equal_there = same_where_equal(lines, row)
        for swap in swaps_in(code, row, path, C_SWAPS):
            if swap.column in equal_there and swap.old.strip()[0] == swap.new.strip()[0]:
                continue
            if not (DECIMAL_BOUND.match(code, swap.column) and swap.new.strip("= ") == swap.old.strip("= ")):
                yield swap
        if code.startswith("    "):
            array = ARRAY.match(code)
            yield from changed_numbers(code, row, path, array.end() if array else 0)
        condition = re.match(r"\s*(?:\} else )?if \((.*)\)(?: \{)?$", code)
        if condition and code.count("(") == code.count(")"):
            yield Mutant(path, row, condition.start(1), condition.group(1), f"!({condition.group(1)})")


def formula_lines(text):
    """Rows with the column where a formula, a default or what a check demands begins."""
    indent = None
    for row, line in enumerate(text.split("\n")):
        here = len(line) - len(line.lstrip())
        if indent is not None and line.strip() and here > indent:
            yield row, 0
            continue
        indent = None
        key = re.match(r"(\s*(?:- )?)(is|default|that):\s*", line)
        if key:
            if key.group(2) != "default":
                indent = len(key.group(1))
            yield row, key.end()
        else:
            for inside in re.finditer(r"\b(?:is|default|that): ", line):
                yield row, inside.end()


def sheet_mutants(path, text):
    lines = text.split("\n")
    for row, start in formula_lines(text):
        code = lines[row]
        ends = [at for at in (code.find(key, start) for key in (", doc:", ", cite:", ", else:")) if at >= 0]
        code = code[:min(ends)] if ends else code
        yield from swaps_in(code, row, path, SHEET_SWAPS, start)
        yield from changed_numbers(code, row, path, start)
        for branch in re.finditer(r"\bif\(([^(),]+), ([^(),]+), ([^(),]+)\)", code[start:]):
            swapped = f"if({branch.group(1)}, {branch.group(3)}, {branch.group(2)})"
            yield Mutant(path, row, start + branch.start(), branch.group(0), swapped)


class Workshop:
    """The copy of the sources, its build, and its tests."""

    def __init__(self, root, folder, units_alone, jobs):
        self.root = root
        self.units_alone = units_alone
        self.jobs = jobs
        self.kills = {}  # by folder of the mutant and name of the test
        self.at = ""  # the folder of the mutant in hand
        self.tree = folder / "tree"
        self.build = self.tree / "build"
        self.covered = self.tree / "build-covered"
        self.override = folder / "sheets"
        self.program = self.build / "estimator/cli/steptime"

    def tracked(self):
        listing = subprocess.run(["git", "-C", self.root, "ls-files", "-coz", "--exclude-standard"], capture_output=True, check=True)
        return [name for name in listing.stdout.decode().split("\0") if name and (self.root / name).is_file()]

    def copy(self):
        wanted = self.tracked()
        for name in wanted:
            target = self.tree / name
            data = (self.root / name).read_bytes()
            if not target.exists() or target.read_bytes() != data:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(self.root / name, target)
        known = {self.tree / name for name in wanted}
        for path in list(self.tree.rglob("*")):
            if path.is_file() and path not in known and not {self.build, self.covered} & set(path.parents):
                path.unlink()
        shared = self.tree.parent / "shared"
        if (self.root.parent / "shared").exists() and not shared.exists():
            shared.symlink_to((self.root.parent / "shared").resolve())

    def ninja(self, *targets, build=None):
        done = subprocess.run(["ninja", "-C", build or self.build, f"-j{self.jobs}", *targets],
                              capture_output=True, text=True)
        return done.returncode == 0, done.stdout[-3000:]

    def make(self, build, *options):
        if not (build / "build.ninja").exists():
            subprocess.run(["meson", "setup", "-Dtests=enabled", *options, build, self.tree], check=True,
                           stdout=subprocess.DEVNULL, env={**os.environ, "CC": "gcc"})
        good, said = self.ninja(build=build)
        if not good:
            sys.exit(f"mutate: the copy does not build:\n{said}")

    def prepare(self, changes_sheets):
        self.copy()
        self.make(self.build)
        commands = json.loads((self.build / "compile_commands.json").read_text())
        self.compiles = {}
        for entry in commands:
            source = (self.build / entry["file"]).resolve()
            if LIBRARY.search(entry["output"]):
                self.compiles.setdefault(str(source.relative_to(self.tree.resolve())), entry)
        self.tests = self.find_tests(self.build)
        (self.override / "formulas").mkdir(parents=True, exist_ok=True)
        self.sheets = {path.name: path.read_text() for path in (self.tree / "formulas").glob("*.yaml")}
        self.set_sheets({})
        self.measure(changes_sheets)

    def find_tests(self, build, tree=None):
        tree = tree or self.tree
        listing = subprocess.run(["meson", "introspect", "--tests", build], capture_output=True, text=True, check=True)
        tests = []
        for one in json.loads(listing.stdout):
            suites = {suite.split(":")[-1] for suite in one["suite"]}
            if self.units_alone and not suites & FIRST_SUITES or one["name"] in NOT_ASKED:
                continue
            if not suites & (FIRST_SUITES | CLI_SUITES | GOLDEN_SUITES):
                continue
            if one["name"] == "workbooks":
                suites = {"golden"}
            target = pathlib.Path(one["cmd"][0])
            is_built = build.resolve() in target.resolve().parents
            is_group = is_built and one["cmd"][1:] == [one["name"]]  # of a program with several
            name = target.name if is_built else one["name"]  # a unit and a property test may have one name
            name = f"test_{one['name']}" if is_group else name
            script = ""
            if "property" in suites and not is_built and len(one["cmd"]) == 4:  # python3 -B SCRIPT PROGRAM
                script, program = one["cmd"][2:]
                name, target = f"property_{one['name']}", tree / program
                is_built = build.resolve() in target.resolve().parents
            test = Test(name, suites, one["cmd"], one["env"], one["workdir"] or str(tree),
                        str(target.resolve().relative_to(build.resolve())) if is_built else "", one["name"])
            source = test.target.replace("property/property_", "property/test_") + ".c"
            if script:
                source = str(pathlib.Path("tests/property") / pathlib.Path(script).name)
            if is_group:
                source = str(pathlib.Path(test.target).with_name(f"test_{one['name']}.c"))
            if (tree / source).exists():
                test.source, test.text = source, (tree / source).read_text()
            tests += self.sections(test, tree) if test.name.startswith("command line") else [test]
        return tests

    def sections(self, test, tree):
        """Sections of the command line's cases stand alone."""
        how = next(at for at, word in enumerate(test.command) if word in ("only", "without"))
        named = test.command[how + 1:]
        cases = (tree / "tests/cli/cases.txt").read_text()
        for section in re.findall(r"^# ---- (.*)$", cases, re.M):
            if (section in named) == (test.command[how] == "only"):
                text = cases.split(f"# ---- {section}\n")[1].split("\n# ---- ")[0]
                yield dataclasses.replace(test, name=f"command line: {section}", text=text,
                                          command=[*test.command[:how], "only", section])

    def measure(self, changes_sheets):
        """What each test takes, executes and reads; tests that fail as things stand are not used."""
        known = mutate_measure.Measurements(self.tree.parent / "measured.json", self.tree)
        lacking = {test.name for test in self.tests if known.of(test) is None}
        if lacking:
            print(f"mutate: measuring {len(lacking)} of {len(self.tests)} tests", flush=True)
            self.make(self.covered, "-Db_coverage=true")
            tests = [test for test in self.find_tests(self.covered) if test.name in lacking]
            known.take(tests, self.covered, self.jobs)
            known.leave_out(test for test in self.tests if test.name in lacking - {test.name for test in tests})
        self.run_as_things_stand(known, lacking)
        broken = [test.name for test in self.tests if known.of(test)["seconds"] is None]
        if broken:
            print(f"mutate: not used, they fail as things stand: {', '.join(broken)}")
        self.tests = [test for test in self.tests if test.name not in broken]
        self.lines = known.lines(self.tests)
        for test in self.tests:
            test.seconds = known.of(test)["seconds"]
        if changes_sheets:
            self.measure_readers(known)

    def run_as_things_stand(self, known, measured):
        """Of another program than this one it is not known whether tests pass; with coverage some run out of time."""
        program = mutate_measure.digest_of(*((self.tree / name).read_text() for name in sorted(self.tracked())
                                             if name.startswith(("estimator/", "formulas/", "plugins/", "configs/"))
                                             and name.endswith((".c", ".h", ".yaml"))))
        for test in self.tests:
            if test.name in measured and known.of(test)["seconds"] is not None:
                known.of(test)["program"] = program
        again = [test for test in self.tests if known.of(test).get("program") != program]
        if again:
            print(f"mutate: running {len(again)} tests as things stand", flush=True)
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for test, (failed, seconds) in zip(again, pool.map(lambda one: self.run(one, {}, 600), again)):
                known.of(test).update(program=program, seconds=None if failed else seconds)
        known.save()

    def measure_readers(self, known):
        """Which sheets unit tests open, by the time of last access, one test at a time."""
        self.set_sheets({name: text + "# changed\n" for name, text in self.sheets.items()})
        files = [folder / "formulas" / name for name in self.sheets for folder in (self.override, self.tree)]
        for test in self.tests:
            record = known.of(test)
            if test.suites & FIRST_SUITES and "sheets" not in record:
                for path in files:
                    os.utime(path, (0, path.stat().st_mtime))
                failed, _ = self.run(test, self.changed_sheets(), 10 + 5 * test.seconds)
                record["sheets"] = [] if failed else sorted({path.name for path in files if path.stat().st_atime > 0})
            test.sheets = frozenset(record.get("sheets", ()))
        self.set_sheets({})
        known.save()

    def tests_of(self, mutant, text):
        """Names of the tests that execute the mutant's line; of the whole file for tables outside functions."""
        by_line = self.lines.get(mutant.path, {0: set()})
        lines = text.split("\n")
        for row in range(mutant.line, max(mutant.line - 12, 0), -1):
            if row + 1 in by_line:
                return by_line[row + 1]
            if lines[row] and not lines[row].startswith(" "):
                break
        return by_line[0]

    def changed_sheets(self):
        return {"STEPTIME_PATH": str(self.override), "STEPTIME_TEST_PATH": str(self.override)}

    def set_sheets(self, texts):
        """Changed ones are found before the embedded copies, and by tests that read the sources."""
        for name, text in self.sheets.items():
            source = self.tree / "formulas" / name
            if source.read_text() != texts.get(name, text):
                source.write_text(texts.get(name, text))
            if name in texts:
                (self.override / "formulas" / name).write_text(texts[name])
            else:
                (self.override / "formulas" / name).unlink(missing_ok=True)

    def run(self, test, env, limit, stop=None):
        """Whether it fails, stopped at the first case that does, and seconds. A case that runs out of time
        on a loaded machine (exit 124) tells nothing."""
        start = time.monotonic()
        surroundings = {**os.environ, "STEPTIME_SEED": "2385", **test.env, **env}
        process = subprocess.Popen(test.command, cwd=test.folder, env=surroundings, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        os.set_blocking(process.stdout.fileno(), False)
        failed = fails = slow = False
        rest = b""
        while True:
            piece = process.stdout.read()
            rest += piece or b""
            *lines, rest = rest.split(b"\n")
            for line in lines:
                failed = failed or (fails and not line.startswith(b"# exit 124"))
                slow = slow or (fails and line.startswith(b"# exit 124"))
                fails = line.startswith(b"not ok") and b"# SKIP" not in line
            late = time.monotonic() - start > limit
            if failed or late or (stop and stop()):
                failed = failed or late
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                break
            if process.poll() is not None:
                failed = process.returncode not in (0, 77) and (fails or not slow)
                break
            time.sleep(0.01)
        process.stdout.close()
        return failed, time.monotonic() - start

    def first_killer(self, tests, env):
        """Name of a test that fails, or None."""
        found = []
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            def try_one(test):
                if not found and self.run(test, env, 10 + 5 * test.seconds, lambda: bool(found))[0] and not found:
                    found.append(test.name)
            list(pool.map(try_one, tests))
        return found[0] if found else None

    def rate(self, test):
        """What a second of it killed so far of mutants of the folder."""
        return self.kills.get((self.at, test.name), 0) / (test.seconds + 0.1)

    def longest_beside_likeliest(self, tests):
        """No test runs on alone at the end, and most mutants do not wait for the longest."""
        longest, *others = sorted(tests, key=lambda test: -test.seconds)
        return [longest, *sorted(others, key=lambda test: (-self.rate(test), -test.seconds))]

    def in_batches(self, tests, env):
        """First the likeliest few, so that most mutants cost few links."""
        for size in (4, 12, len(tests)):
            batch, tests = tests[:size], tests[size:]
            targets = [test.target for test in batch if test.target]
            if targets and not env and not self.ninja(*targets)[0]:
                return "the build"
            killer = self.first_killer(batch, env)
            if killer or not tests:
                return killer
        return None

    def texts_killer(self, is_asked):
        """With the program built anew: a case of the command line, else a text; and which of both."""
        if self.units_alone:
            return None, "survived"
        if not self.ninja("estimator/cli/steptime", "shipped-plugins")[0]:
            return "the build", "first"
        for kind, suites in (("cli", CLI_SUITES), ("golden", GOLDEN_SUITES)):
            tests = [test for test in self.tests if test.suites & suites and is_asked(test.name)]
            if not tests:
                continue
            killer = self.first_killer(self.longest_beside_likeliest(tests), {})
            if killer:
                return killer, kind
        return None, "survived"


def names_in(text):
    return set(re.findall(r"\bst_\w+", "\n".join(re.findall(r"^\w[^;{]*\bst_\w+\(", text, re.M))))


def try_c(shop, mutant):
    path = shop.tree / mutant.path
    text = path.read_text()
    entry = shop.compiles[mutant.path]
    before = (shop.build / entry["output"]).read_bytes()
    words = shlex.split(entry["command"])
    words = [word for at, word in enumerate(words)
             if word not in ("-MD", "-MQ", "-MF") and (at == 0 or words[at - 1] not in ("-MQ", "-MF"))]
    words[words.index("-o") + 1] = str(shop.build / "mutant.o")
    try:
        path.write_text(mutant.apply(text))
        if subprocess.run(words, cwd=shop.build, capture_output=True).returncode != 0:
            return None, "does not compile"
        if (shop.build / "mutant.o").read_bytes() == before:
            return None, "same code"
        names = names_in(text)
        asked = shop.tests_of(mutant, text)
        if not mutant.path.startswith("estimator/core/plugin/"):
            asked = asked - PLUGIN_TESTS
        if not asked:
            return None, "unexecuted"
        first = [test for test in shop.tests if test.suites & FIRST_SUITES and test.name in asked]
        stem = pathlib.Path(mutant.path).stem.split("_")[0]
        likely = {test.name: len([name for name in names if name in test.text]) + 3 * (stem in test.name)
                  for test in first}
        first.sort(key=lambda test: (-min(likely[test.name], 6) - shop.rate(test), test.seconds))
        killer = shop.in_batches(first, {}) if first else None
        return (killer, "first") if killer else shop.texts_killer(lambda name: name in asked)
    finally:
        path.write_text(text)


def try_sheet(shop, mutant):
    name = pathlib.Path(mutant.path).name
    env = shop.changed_sheets()
    try:
        shop.set_sheets({name: mutant.apply(shop.sheets[name])})
        check = subprocess.run([shop.original, "sheet", "check", name.removesuffix(".yaml")],
                               env={**os.environ, **env}, capture_output=True)
        if check.returncode != 0:
            return None, "does not load"
        stem = name.split(".")[0].split("-")[0]
        order = [test for test in shop.tests if name in test.sheets]
        order.sort(key=lambda test: (stem not in test.name, -shop.rate(test), test.seconds))
        killer = shop.in_batches(order, env) if order else None
        asked = shop.lines[READS_SHEETS][0] - FORMULA_PAGES - PLUGIN_TESTS
        return (killer, "first") if killer else shop.texts_killer(lambda test: test in asked)
    finally:
        shop.set_sheets({})


def all_mutants(shop, only):
    c, sheets = [], []
    for name in sorted(shop.tracked()):
        if only not in name:
            continue
        text = (shop.root / name).read_text() if name.endswith((".c", ".yaml")) else ""
        lines = text.split("\n")
        parts = name.split("/")
        if parts[0] == "formulas" and name.endswith(".yaml"):
            sheets += (mutant for mutant in sheet_mutants(name, text) if not changes_nothing(lines[mutant.line], mutant))
        elif (name.endswith(".c") and (parts[0] == "estimator" or "fit" in parts) and not PLAIN_ROOMS & set(parts)
              and not PLAIN_FILE.search(name)):
            c += (mutant for mutant in c_mutants(name, text) if not changes_nothing(lines[mutant.line], mutant))
    return c, sheets


def pick(draw, mutants, count):
    """In turn from files drawn at random, so that long files do not take all."""
    by_path = {}
    for mutant in draw.sample(mutants, len(mutants)):
        by_path.setdefault(mutant.path, []).append(mutant)
    order = []
    while by_path:
        for path in draw.sample(sorted(by_path), len(by_path)):
            order.append(by_path[path].pop())
            if not by_path[path]:
                del by_path[path]
    return order, count


def outcomes(shop, plans, dropped):
    """Path, description, killer, kind and seconds of each mutant. Sheets come first: their tests are not linked anew."""
    for attempt, mutants, count in plans:
        for mutant in mutants:
            if count == 0:
                break
            if attempt is try_c and mutant.path not in shop.compiles:
                continue
            shown = mutant.describe((shop.tree / mutant.path).read_text())
            start = time.monotonic()
            shop.at = str(pathlib.Path(mutant.path).parent)
            killer, kind = attempt(shop, mutant)
            shop.kills[shop.at, killer] = shop.kills.get((shop.at, killer), 0) + 1
            if kind in KINDS:
                count -= kind != "unexecuted"
                yield mutant.path, shown, killer, kind, time.monotonic() - start
            else:
                dropped[kind] = dropped.get(kind, 0) + 1


def room_of(path):
    return "formulas" if path.startswith("formulas/") else "/".join(path.split("/")[:-1])


def share(part, whole):
    return f"{100 * part / max(whole, 1):.0f} %"


def summary(name, kinds):
    """One line: of mutants that some test executes, how many were noticed, and by what."""
    total = sum(kinds[kind] for kind in KINDS) - kinds["unexecuted"]
    killed = total - kinds["survived"]
    plain = killed - kinds["golden"]
    unexecuted = f"; {kinds['unexecuted']} more on lines that no test executes" if kinds["unexecuted"] else ""
    return (f"{name}: {total} mutants, {killed} killed ({share(killed, total)}), {plain} by tests other than golden text "
            f"({share(plain, total)}: {kinds['first']} by units, {kinds['cli']} by the command line's cases), "
            f"{kinds['survived']} survived{unexecuted}")


def report(seen, dropped):
    for kind, title in (("survived", "survivors"), ("golden", "seen by golden texts alone"),
                        ("unexecuted", "on lines that no test executes")):
        lines = [shown for _, shown, its in seen if its == kind]
        print(f"\n{title}: {len(lines)}")
        for line in lines:
            print(f"  {line}")
    print(f"\ndropped: {', '.join(f'{count} {why}' for why, count in dropped.items()) or 'none'}\n")
    of_c = [room_of(path) for path, _, _ in seen if not path.startswith("formulas/")]
    for room in sorted({room_of(path) for path, _, _ in seen}):
        print(summary(room, collections.Counter(kind for path, _, kind in seen if room_of(path) == room)))
    if of_c and len(of_c) < len(seen):
        print(summary("C", collections.Counter(kind for path, _, kind in seen if not path.startswith("formulas/"))))
    print(summary("all", collections.Counter(kind for _, _, kind in seen)))


def print_executed_share(shop, c):
    texts = {path: (shop.tree / path).read_text() for path in {mutant.path for mutant in c}}
    built = [mutant for mutant in c if mutant.path in shop.compiles]
    executed = sum(bool(shop.tests_of(mutant, texts[mutant.path])) for mutant in built)
    if built:
        print(f"mutate: tests execute the lines of {share(executed, len(built))} of the {len(built)} places in C")


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # no mutant stays in the copy
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("count", type=int, nargs="?", default=50)
    parser.add_argument("--seed", type=int, default=2385)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="tests and compilers at a time")
    parser.add_argument("--only", default="", help="files whose path contains this")
    parser.add_argument("--units", action="store_true", help="unit, property and fuzz tests alone")
    parser.add_argument("--list", action="store_true", help="show what would be tried")
    wanted = parser.parse_args()
    shop = Workshop(wanted.root.resolve(), wanted.folder.resolve(), wanted.units, wanted.jobs)
    draw = random.Random(wanted.seed)
    c, sheets = all_mutants(shop, wanted.only)
    of_sheets = wanted.count // 2 if c and sheets else wanted.count if sheets else 0
    plans = [(try_sheet, *pick(draw, sheets, of_sheets)), (try_c, *pick(draw, c, wanted.count - of_sheets))]
    print(f"mutate: {len(c)} places in C, {len(sheets)} in sheets; seed {wanted.seed}")
    if wanted.list:
        for _, mutants, count in plans:
            for mutant in mutants[:count]:
                print(mutant.describe((shop.root / mutant.path).read_text()))
        return 0
    shop.prepare(bool(sheets))
    shop.original = shop.build / "steptime-as-it-stands"
    shutil.copy(shop.program, shop.original)
    print_executed_share(shop, c)
    seen, dropped = [], {}
    try:
        for path, shown, killer, kind, seconds in outcomes(shop, plans, dropped):
            seen.append((path, shown, kind))
            print(f"{kind:11}{seconds:5.0f} s  {shown}  {'by ' + killer if killer else ''}", flush=True)
    except KeyboardInterrupt:
        print("mutate: interrupted; what follows is of the mutants so far")
    report(seen, dropped)
    return 0


if __name__ == "__main__":
    sys.exit(main())
