#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks of the tests whether they notice: changes one operator, constant or condition at a time.

    mutate.py SOURCE_ROOT FOLDER [N] [--seed S] [--jobs J] [--only TEXT] [--units] [--list]

Half of N mutants (50) are of formulas and defaults of sheets, half of the core's C. They are drawn with
a seed, made in a copy of the tracked files below FOLDER and never in the tree. A mutant that does not
compile or load, or whose object code is the same, is dropped and another one drawn. Unit, property and
fuzz tests run first, those that name the changed file's functions, and those that noticed most so far,
before others; then the cases of the command line; last what compares whole texts. What no test notices is
listed with its place.

Left out, because a survivor there says nothing: messages and printing, limits, sizes of arrays, checks of
allocations, bounds of loops (the sanitizers see those), first values of what the next lines have a function
fill, seeds of random numbers and constants of hashes, where a bisection cuts, and whether a bound such as 0.15
is itself inside. Pages that print a sheet's formulas are not asked about sheets: they notice any change of text.
"""
import argparse
import concurrent.futures
import dataclasses
import hashlib
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

FIRST_SUITES = {"unit", "property", "fuzz"}
CLI_SUITES = {"cli", "workloads"}
GOLDEN_SUITES = {"golden", "docs"}
# Rooms of what is printed or asked, not of what is computed.
PLAIN_ROOMS = {"cli", "export", "include", "import"}
PLAIN_FILE = re.compile(r"(_text|_svg|_write|_json|_csv|_latex|_markdown|_show)\.c$"
                        r"|/(embed|status|table|svg|json|latex|perfetto|xlsx\w*|print|result\w*)\.c$")
PLAIN_LINE = re.compile(r'"|\bNULL\b|^\s*(?:#|/?\*|//|return ST_ERR)|ST_ERR_|ST_OK|assert|sizeof|alloc|_MAX\b|MAX_'
                        r"|LIMIT|capacity|failed|\bfor \(|errors?\b|'.'|= \{0\}")
MESSAGE = re.compile(r"\b(?:st_fail|\w*refuse|\w*printf)\(|ST_(?:FOUND|EXPECTED|HINT)\b")
ARRAY = re.compile(r"\s+(?!return)(?:static )?(?:const )?\w+ (?:const )?\**(?:const )?\w+(?:\[\w+\])+(?=;| = )")
C_SWAPS = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "),
           (" && ", " || "), (" || ", " && "), (" + ", " - "), (" - ", " + "), (" * ", " / "), (" / ", " * "),
           (" += ", " -= "), (" -= ", " += "), ("ceil(", "floor("), ("floor(", "ceil("), ("fmin(", "fmax("),
           ("fmax(", "fmin("), ("return true;", "return false;"), ("return false;", "return true;")]
SHEET_SWAPS = [(" + ", " - "), (" - ", " + "), ("*", "/"), ("/", "*"), ("ceil(", "floor("), ("floor(", "ceil("),
               ("max(", "min("), ("min(", "max("), (" < ", " <= "), (" <= ", " < "), (" > ", " >= "),
               (" >= ", " > "), (" == ", " != "), (" != ", " == "), (" and ", " or "), (" or ", " and ")]
# A hash or a random number is as good with another constant, a bisection with another cut.
AS_GOOD = re.compile(r"0x[0-9a-fA-F]{9,}|\bst_dice_of\(|(\w+) \+ \(\w+ - \1\) / 2;")
DECIMAL_BOUND = re.compile(r" [<>]=? -?\d*\.\d*[1-9]")
FILLED = re.compile(r"\s+[\w ]+\b(\w+) = (?:0|false);$")
ABOVE_NOTHING = re.compile(r"[<>]=? 0(?=\[)")
FORMULA_PAGES = {"generated pages", "generated documents"}
PLUGIN_TESTS = {"bad plugins"}  # long, and of the host of plugins alone
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
    text: str = ""  # of its source
    symbols: frozenset = frozenset()
    seconds: float = 1.0


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


def c_mutants(path, text):
    in_comment = in_enum = in_message = False
    lines = text.split("\n")
    for row, line in enumerate(lines):
        code = line.split("/*")[0]
        was_message = in_message
        in_message = (in_message or bool(MESSAGE.search(code))) and not code.rstrip().endswith((";", "{", "}"))
        if was_message or re.match(r"\s*return (?:true|false);", code) and checks_an_allocation(lines, row):
            continue
        was_comment, in_comment = in_comment, ("/*" in line or in_comment) and "*/" not in line
        in_enum = (in_enum or line.startswith(("enum", "typedef enum"))) and "}" not in line
        if was_comment or in_enum or line.startswith("enum") or PLAIN_LINE.search(code):
            continue
        if is_filled(lines, row) or AS_GOOD.search(code):
            continue
        for swap in swaps_in(code, row, path, C_SWAPS):
            if not (DECIMAL_BOUND.match(code, swap.column) and swap.new.strip("= ") == swap.old.strip("= ")):
                yield swap
        if code.startswith("    "):
            array = ARRAY.match(code)
            yield from changed_numbers(code, row, path, array.end() if array else 0)
        condition = re.match(r"\s*(?:\} else )?if \((.*)\)(?: \{)?$", code)
        if condition and code.count("(") == code.count(")"):
            yield Mutant(path, row, condition.start(1), condition.group(1), f"!({condition.group(1)})")


def formula_lines(text):
    """Rows with the column where a formula or a default begins."""
    indent = None
    for row, line in enumerate(text.split("\n")):
        here = len(line) - len(line.lstrip())
        if indent is not None and line.strip() and here > indent:
            yield row, 0
            continue
        indent = None
        key = re.match(r"(\s*(?:- )?)(is|default):\s*", line)
        if key:
            if key.group(2) == "is":
                indent = len(key.group(1))
            yield row, key.end()
        else:
            for inside in re.finditer(r"\b(?:is|default): ", line):
                yield row, inside.end()


def sheet_mutants(path, text):
    lines = text.split("\n")
    for row, start in formula_lines(text):
        code = lines[row]
        ends = [at for at in (code.find(", doc:", start), code.find(", cite:", start)) if at >= 0]
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
        self.override = folder / "sheets"
        self.program = self.build / "estimator/cli/steptime"

    def tracked(self):
        listing = subprocess.run(["git", "-C", self.root, "ls-files", "-coz", "--exclude-standard"], capture_output=True, check=True)
        return [name for name in listing.stdout.decode().split("\0") if name and (self.root / name).is_file()]

    def copy(self):
        wanted = self.names = self.tracked()
        for name in wanted:
            target = self.tree / name
            data = (self.root / name).read_bytes()
            if not target.exists() or target.read_bytes() != data:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(self.root / name, target)
        known = {self.tree / name for name in wanted}
        for path in list(self.tree.rglob("*")):
            if path.is_file() and path not in known and self.build not in path.parents:
                path.unlink()
        shared = self.tree.parent / "shared"
        if (self.root.parent / "shared").exists() and not shared.exists():
            shared.symlink_to((self.root.parent / "shared").resolve())

    def ninja(self, *targets):
        done = subprocess.run(["ninja", "-C", self.build, f"-j{self.jobs}", *targets], capture_output=True, text=True)
        return done.returncode == 0, done.stdout[-3000:]

    def prepare(self):
        self.copy()
        if not (self.build / "build.ninja").exists():
            subprocess.run(["meson", "setup", "-Dtests=enabled", self.build, self.tree], check=True,
                           stdout=subprocess.DEVNULL, env={**os.environ, "CC": "gcc"})
        good, said = self.ninja()
        if not good:
            sys.exit(f"mutate: the copy does not build:\n{said}")
        commands = json.loads((self.build / "compile_commands.json").read_text())
        self.compiles = {}
        for entry in commands:
            source = (self.build / entry["file"]).resolve()
            if "libsteptime-core" in entry["output"]:
                self.compiles.setdefault(str(source.relative_to(self.tree.resolve())), entry)
        self.find_tests()
        self.measure()

    def find_tests(self):
        listing = subprocess.run(["meson", "introspect", "--tests", self.build], capture_output=True, text=True,
                                 check=True)
        self.tests = []
        for one in json.loads(listing.stdout):
            suites = {suite.split(":")[-1] for suite in one["suite"]}
            if self.units_alone and not suites & FIRST_SUITES:
                continue
            if not suites & (FIRST_SUITES | CLI_SUITES | GOLDEN_SUITES) and one["name"] != "workbooks":
                continue
            if one["name"] == "workbooks":
                suites.add("golden")
            target = pathlib.Path(one["cmd"][0])
            is_built = self.build.resolve() in target.resolve().parents
            test = Test(one["name"], suites, one["cmd"], one["env"], one["workdir"] or str(self.tree),
                        str(target.resolve().relative_to(self.build.resolve())) if is_built else "")
            if is_built:
                self.read_symbols(test)
            self.tests.append(test)

    def read_symbols(self, test):
        source = self.tree / "tests" / (test.target.replace("property/property_", "property/test_") + ".c")
        test.text = source.read_text() if source.exists() else ""
        listing = subprocess.run(["nm", self.build / test.target], capture_output=True, text=True)
        test.symbols = frozenset(line.split()[-1] for line in listing.stdout.splitlines() if line)

    def measure(self):
        """Which tests pass as things stand, how long they take, and which of them read sheets."""
        (self.override / "formulas").mkdir(parents=True, exist_ok=True)
        self.sheets = {path.name: path.read_text() for path in (self.tree / "formulas").glob("*.yaml")}
        self.set_sheets({})
        kept = self.tree.parent / "measured.json"
        digest = hashlib.sha256(b"units" if self.units_alone else b"all")
        for name in sorted(self.names):
            digest.update(name.encode() + b"\0" + (self.tree / name).read_bytes())
        if kept.exists() and (measured := json.loads(kept.read_text()))["of"] == digest.hexdigest():
            self.tests = [test for test in self.tests if test.name in measured["seconds"]]
            for test in self.tests:
                test.seconds = measured["seconds"][test.name]
        else:
            measured = {"of": digest.hexdigest(), "readers": self.measure_anew(),
                        "seconds": {test.name: test.seconds for test in self.tests}}
            kept.write_text(json.dumps(measured))
        self.readers = [test for test in self.tests if test.name in measured["readers"]]

    def measure_anew(self):
        first = [test for test in self.tests if test.suites & FIRST_SUITES]
        broken = []
        for test, failed in self.run_each(self.tests, {}, 300):
            if failed:
                broken.append(test.name)
        self.tests = [test for test in self.tests if test.name not in broken]
        if broken:
            print(f"mutate: not used, they fail as things stand: {', '.join(broken)}")
        overridden = self.changed_sheets()
        self.set_sheets({name: text + "# changed\n" for name, text in self.sheets.items()})
        steady = {test.name for test, failed in self.run_each(first, overridden, 60) if not failed}
        self.set_sheets({name: "sheet: [\n" for name in self.sheets})
        readers = {test.name for test, failed in self.run_each(first, overridden, 60) if failed}
        self.set_sheets({})
        return sorted(steady & readers)

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

    def run_each(self, tests, env, limit):
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for test, (failed, seconds) in zip(tests, pool.map(lambda one: self.run(one, env, limit), tests)):
                if not env:
                    test.seconds = seconds
                yield test, failed

    def run(self, test, env, limit, stop=None):
        """Whether it fails, stopped at the first case that does, and seconds."""
        start = time.monotonic()
        surroundings = {**os.environ, "STEPTIME_SEED": "2385", **test.env, **env}
        process = subprocess.Popen(test.command, cwd=test.folder, env=surroundings, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        os.set_blocking(process.stdout.fileno(), False)
        failed = False
        rest = b""
        while True:
            piece = process.stdout.read()
            rest += piece or b""
            *lines, rest = rest.split(b"\n")
            failed = failed or any(line.startswith(b"not ok") and b"# SKIP" not in line for line in lines)
            late = time.monotonic() - start > limit
            if failed or late or (stop and stop()):
                failed = failed or late
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                break
            if process.poll() is not None:
                failed = process.returncode not in (0, 77)
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

    def texts_killer(self, unasked=frozenset()):
        """With the program built anew: a case of the command line, else a text; and which of both."""
        if self.units_alone:
            return None, "survived"
        if not self.ninja("estimator/cli/steptime", "shipped-plugins")[0]:
            return "the build", "first"
        for kind, suites in (("cli", CLI_SUITES), ("golden", GOLDEN_SUITES | {"golden"})):
            tests = [test for test in self.tests if test.suites & suites and test.name not in unasked]
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
        first = [test for test in shop.tests if test.suites & FIRST_SUITES and test.symbols & names]
        stem = pathlib.Path(mutant.path).stem.split("_")[0]
        likely = {test.name: len([name for name in names if name in test.text]) + 3 * (stem in test.name)
                  for test in first}
        first.sort(key=lambda test: (-min(likely[test.name], 6) - shop.rate(test), test.seconds))
        killer = shop.in_batches(first, {}) if first else None
        about_plugins = mutant.path.startswith("estimator/plugin/")
        return (killer, "first") if killer else shop.texts_killer(set() if about_plugins else PLUGIN_TESTS)
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
        order = sorted(shop.readers, key=lambda test: (stem not in test.name, -shop.rate(test), test.seconds))
        killer = shop.in_batches(order, env)
        return (killer, "first") if killer else shop.texts_killer(FORMULA_PAGES | PLUGIN_TESTS)
    finally:
        shop.set_sheets({})


def all_mutants(shop, only):
    c, sheets = [], []
    for name in sorted(shop.tracked()):
        if only not in name:
            continue
        parts = name.split("/")
        if parts[0] == "formulas" and name.endswith(".yaml"):
            sheets += sheet_mutants(name, (shop.root / name).read_text())
        elif (parts[0] == "estimator" and name.endswith(".c") and parts[1] not in PLAIN_ROOMS
              and not PLAIN_FILE.search(name)):
            c += c_mutants(name, (shop.root / name).read_text())
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
    """Of each mutant as described; sheets and C in turn, so that a run may be cut short."""
    plans = [[attempt, iter(mutants), count] for attempt, mutants, count in plans]
    while any(count > 0 for _, _, count in plans):
        for plan in plans:
            attempt, mutants, count = plan
            mutant = next(mutants, None) if count > 0 else None
            if mutant is None:
                plan[2] = 0
                continue
            if attempt is try_c and mutant.path not in shop.compiles:
                continue
            shown = mutant.describe((shop.tree / mutant.path).read_text())
            start = time.monotonic()
            shop.at = str(pathlib.Path(mutant.path).parent)
            killer, kind = attempt(shop, mutant)
            shop.kills[shop.at, killer] = shop.kills.get((shop.at, killer), 0) + 1
            if kind in ("first", "cli", "golden", "survived"):
                plan[2] -= 1
                yield shown, killer, kind, time.monotonic() - start
            else:
                dropped[kind] = dropped.get(kind, 0) + 1


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
    shop.prepare()
    shop.original = shop.build / "steptime-as-it-stands"
    shutil.copy(shop.program, shop.original)
    tally = {"first": 0, "cli": 0, "golden": 0, "survived": 0}
    dropped = {}
    survivors, by_text = [], []
    try:
        for shown, killer, kind, seconds in outcomes(shop, plans, dropped):
            tally[kind] += 1
            if kind == "survived":
                survivors.append(shown)
            elif kind == "golden":
                by_text.append(shown)
            print(f"{kind:9}{seconds:5.0f} s  {shown}  {'by ' + killer if killer else ''}", flush=True)
    except KeyboardInterrupt:
        print("mutate: interrupted; what follows is of the mutants so far")
    total = sum(tally.values())
    killed = total - tally["survived"]
    for title, lines in (("survivors", survivors), ("seen by golden texts alone", by_text)):
        print(f"\n{title}: {len(lines)}")
        for line in lines:
            print(f"  {line}")
    print(f"\ndropped: {', '.join(f'{count} {why}' for why, count in dropped.items()) or 'none'}")
    share = 100 / max(total, 1)
    print(f"{total} mutants: {killed} killed ({killed * share:.0f} %), {killed - tally['golden']} by tests other than "
          f"golden text ({(killed - tally['golden']) * share:.0f} %: {tally['first']} by unit and property tests, "
          f"{tally['cli']} by the command line's cases), {tally['survived']} survived")
    return 0


if __name__ == "__main__":
    sys.exit(main())
