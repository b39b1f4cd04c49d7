#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the command-line cases of cases.txt: exit code, standard output, standard error.

    run.py STEPTIME SOURCE_ROOT [--jobs N] [only|without SECTION...]

A case is a line `EXIT | OUTPUT | MESSAGES | COMMAND`. OUTPUT and MESSAGES are "-" (nothing), "*" (anything)
or a text that must occur. A section begins at a line `# ---- SECTION` and runs in a folder of its own with the
files of inputs.sh, so that sections can run alone and in parallel (N at a time, by default one per core).
$ROOT is the source folder. A sanitizer's report fails a case whatever it expects.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

LIMIT_S = 60
TIMED_OUT = 124
LEFT_OUT = re.compile(rb"steptime was built without [a-z ]*")
SANITIZER = re.compile(rb"Sanitizer|runtime error:")
JSON_START = b'{"schema_version"'
MOST_COPIED_BYTES = 1 << 20


def read_sections(path, is_wanted):
    """[(section, [(exit, output, messages, command)])] in the order of the file."""
    sections = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("# ---- "):
            sections.append((line.removeprefix("# ---- "), []))
        elif line and not line.startswith("#"):
            fields = line.split("|", 3)
            if len(fields) != 4 or not sections:
                sys.exit(f"{path}:{number}: expected EXIT | OUTPUT | MESSAGES | COMMAND in a section")
            output, messages = (field.removeprefix(" ").removesuffix(" ") for field in fields[1:3])
            if not output or not messages:
                sys.exit(f"{path}:{number}: an empty text occurs everywhere; write '-' or '*'")
            sections[-1][1].append((int(fields[0]), output, messages, fields[3].removeprefix(" ")))
    return [(name, cases) for name, cases in sections if is_wanted(name)]


def matches(pattern, data):
    return pattern == "*" or (not data if pattern == "-" else pattern.encode() in data)


def excerpt(label, data, columns):
    for line in data.decode("utf-8", "replace").splitlines()[:20]:
        yield f"# {label}: {line[:columns]}"


def copy_or_link(source, target):
    """The huge file is shared: no case writes to it."""
    if os.lstat(source).st_size > MOST_COPIED_BYTES:
        os.link(source, target)
    else:
        shutil.copy2(source, target, follow_symlinks=False)


def remove(folder):
    """Also what cases made unwritable."""
    subprocess.run(["chmod", "-R", "u+w", folder], check=False)
    shutil.rmtree(folder)


class Runner:
    def __init__(self, program, root, work):
        self.root = root
        self.work = work
        self.count = self.failed = 0
        self.lock = threading.Lock()
        self.without_tool = set()  # folders
        (work / "bin").mkdir()
        (work / "json").mkdir()
        (work / "home").mkdir()
        (work / "bin/steptime").symlink_to(program.resolve())
        self.environment = {name: value for name, value in os.environ.items()
                            if name not in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "NO_COLOR")}
        self.environment.update(ROOT=str(root), PATH=f"{work}/bin:{os.environ['PATH']}", HOME=f"{work}/home",
                                LC_ALL="C.UTF-8", TERM="dumb", STEPTIME_PATH="")
        self.has_terminal = self.run("script -qec true /dev/null", work)[0] == 0  # some containers lack one

    def run(self, command, folder):
        """Status as a shell reports it, standard output and standard error."""
        with subprocess.Popen(["sh", "-c", command], cwd=folder, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
            try:
                output, messages = process.communicate(timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, messages = process.communicate()
                return TIMED_OUT, output, messages
        status = process.returncode
        return (status if status >= 0 else 128 - status), output, messages

    def report(self, verdict, text, details=()):
        """Prints a case, with a number, whole."""
        with self.lock:
            self.count += 1
            self.failed += verdict == "not ok"
            print(f"{verdict} {self.count} {text}", *details, sep="\n", flush=True)
            return self.count

    def check(self, case, folder):
        expected, output, messages, command = case
        if not self.has_terminal and "script -qec" in command:
            self.report("ok", f"# SKIP no pseudo-terminal for: {command}")
            return
        status, out, err = self.run(command, folder)
        left_out = LEFT_OUT.search(err)
        if left_out:
            self.without_tool.add(folder)
            self.report("ok", f"# SKIP {left_out.group().decode()}: {command}")
            return
        good = (status == expected and matches(output, out) and matches(messages, err)
                and not SANITIZER.search(err))
        if not good and folder in self.without_tool:  # it may read what a tool would have written
            self.report("ok", f"# SKIP a case before it was left out: {command}")
            return
        details = () if good else (
            f"# exit {status}, expected {expected}; output '{output}', messages '{messages}' expected",
            *excerpt("out", out, 200), *excerpt("err", err, 400))
        number = self.report("ok" if good else "not ok", f"- {command}", details)
        if re.sub(rb"[ \n]", b"", out[:24]).startswith(JSON_START):
            (self.work / "json" / str(number)).write_bytes(out)
            (self.work / "json" / f"{number}.command").write_text(command + "\n", encoding="utf-8")

    def run_section(self, cases, folder):
        shutil.copytree(self.work / "inputs", folder, symlinks=True, copy_function=copy_or_link)
        for case in cases:
            self.check(case, folder)
        remove(folder)

    def run_sections(self, sections, jobs):
        (self.work / "inputs").mkdir()
        subprocess.run(["sh", self.root / "tests/cli/inputs.sh"], cwd=self.work / "inputs", env=self.environment, check=True)
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            longest_first = sorted(sections, key=lambda section: -len(section[1]))
            for number, (name, cases) in enumerate(longest_first):
                future = pool.submit(self.run_section, cases, self.work / f"files{number}")
                future.add_done_callback(lambda done, name=name: done.exception() and self.report(
                    "not ok", f"- the runner, in section {name}: {done.exception()!r}"))

    def check_schemas(self):
        """What was written as JSON is what docs/schema promises."""
        if any((self.work / "json").iterdir()):
            done = subprocess.run([sys.executable, "-B", self.root / "tests/schema/check.py", self.root / "docs/schema",
                                   self.work / "json"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            said = done.stdout.decode("utf-8", "replace").splitlines()
            self.report("ok" if done.returncode == 0 else "not ok", "- schemas of JSON", [f"# {line}" for line in said])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("which", nargs="?", choices=("only", "without"), default="without")
    parser.add_argument("section", nargs="*")
    given = parser.parse_intermixed_args()
    named = set(given.section)
    sections = read_sections(given.root / "tests/cli/cases.txt", lambda name: (name in named) == (given.which == "only"))
    missing = named - {name for name, _ in read_sections(given.root / "tests/cli/cases.txt", lambda name: True)}
    if missing or not sections:
        sys.exit(f"run.py: no section {', '.join(sorted(missing)) or 'is left'}")
    work = pathlib.Path(tempfile.mkdtemp())
    try:
        runner = Runner(given.program, given.root.resolve(), work)
        runner.run_sections(sections, given.jobs)
        runner.check_schemas()
    finally:
        remove(work)
    print(f"1..{runner.count}")
    return 1 if runner.failed else 0


sys.exit(main())
