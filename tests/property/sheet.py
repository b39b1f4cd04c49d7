# SPDX-License-Identifier: Apache-2.0
"""What tests of sheets in Python share: a sheet run over random inputs by sheet_server, random numbers whose seed is
printed (STEPTIME_SEED=N repeats a run), and tests that print TAP.

A test is a function `test_NAME(random)` of the file that calls `run_tests(globals())`; it fails where it raises.
"""
import array
import atexit
import os
import random
import subprocess
import sys
import time
import traceback

CELLS, DESCRIPTION = -1, -2


class Input:
    def __init__(self, key, choices, default, key_default):
        self.key = key
        self.choices = choices.split(",") if choices else []
        self.default = float(default) if default else None
        self.key_default = key_default

    def value_of(self, text):
        return float(self.choices.index(text)) if self.choices else float(text)

    def value_left_out(self):
        """What a job has that does not give the key; 0 where it has to."""
        if self.default is not None:
            return self.default
        return self.value_of(self.key_default) if self.key_default else 0.0


class Sheet:
    """A sheet by its name; functions: {open function: (unit, units of arguments, what answers)}."""

    relative = 1e-9  # of what is expected
    scale = 0.0

    def __init__(self, name, random, functions=None):
        functions = functions or {}
        words = [word for function, (unit, units, _) in functions.items() for word in (function, unit, ",".join(units))]
        self.server = subprocess.Popen([sys.argv[1], name, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        atexit.register(self.close)
        self.functions = [(len(units), answer) for _, units, answer in functions.values()]
        self.random = random
        self.inputs, self.at, self.checks = [], {}, 0
        self.given = []
        self.read_to(DESCRIPTION)
        for line in self.server.stdout.read(int(self.doubles(1)[0])).decode().splitlines():
            kind, *words = line.split("\t")
            if kind == "input":
                self.inputs.append(Input(*words))
            elif kind == "cell":
                self.at[words[0]] = len(self.at)
            else:
                self.checks += 1
        self.values = []

    def close(self):
        self.server.stdin.close()
        if self.server.wait():
            sys.exit("sheet_server failed")

    def doubles(self, count):
        read = array.array("d", self.server.stdout.read(8 * count))
        if len(read) != count:
            raise AssertionError("the sheet's server has ended")
        return read

    def read_to(self, what):
        """Answers calls of functions until that comes."""
        while (number := int(self.doubles(1)[0])) != what:
            count, answer = self.functions[number]
            self.send([answer(*self.doubles(count))])

    def send(self, values):
        self.server.stdin.write(array.array("d", values).tobytes())
        self.server.stdin.flush()

    def run(self, given):
        """With values of all inputs, or by key of those that are not left out; choices by name or number."""
        if isinstance(given, dict):
            assert given.keys() <= {one.key for one in self.inputs}, given
            values = [given.get(one.key) for one in self.inputs]
            given = [one.value_left_out() if value is None else one.value_of(value) if isinstance(value, str) else value
                     for one, value in zip(self.inputs, values)]
        self.given = given
        self.send(given)
        self.read_to(CELLS)
        self.values = self.doubles(len(self.at) + self.checks)

    def number_of(self, key):
        return next(number for number, one in enumerate(self.inputs) if one.key == key)

    def found(self, cell):
        return self.values[self.at[cell]]

    def checks_hold(self):
        return all(value == 1 for value in self.values[len(self.at):])

    def expect(self, cell, expected, scale=0.0):
        """`scale` is the size of the operands of a difference; rounding of them is not an error."""
        value = self.values[self.at[cell]]
        if not abs(value - expected) <= self.relative * (abs(expected) + 1e-2 * abs(scale or self.scale)):
            self.fail(f"{cell} is {value!r}, not {expected!r}")

    def expect_defaults(self, expected):
        """What keys are worth that nothing gives."""
        defaults = {one.key: one.default for one in self.inputs}
        for key, value in expected.items():
            if abs(defaults[key] - value) > 1e-12 * value:
                self.fail(f"{key} is {defaults[key]} where nothing gives it, not {value}")

    def fail(self, message):
        for one, value in zip(self.inputs, self.given):
            print(f"# {one.key}={value!r}")
        raise AssertionError(f"{message} (STEPTIME_SEED={self.random.seed_given})")


class Random(random.Random):
    """With the draws of these tests; whole numbers include both ends."""

    def __init__(self, seed):
        super().__init__(seed)
        self.seed_given = seed

    def one_in(self, odds):
        return float(self.randrange(odds) == 0)

    def whole(self, low, high):
        return float(self.randint(int(low), int(high)))

    def wide(self, low, high):
        """Evenly over the powers."""
        return low * (high / low) ** self.random()

    def power(self, most):
        return float(1 << self.randint(0, most))

    def or_zero(self, value):
        """Sometimes zero, which means "derived from the rest", and sometimes one, the least other value."""
        pick = self.randrange(8)
        return 0.0 if pick < 4 else 1.0 if pick < 5 else value


class Table:
    """Named numbers; a name that was not set yet is 0, or a list of zeros where `lists` has its size."""

    lists = {}

    def __init__(self, **values):
        for name, size in self.lists.items():
            table = [[0.0] * size[1] for _ in range(size[0])] if isinstance(size, tuple) else [0.0] * size
            setattr(self, name, table)
        self.__dict__.update(values)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return 0.0


def run_tests(names):
    tests = [(name[len("test_"):], one) for name, one in names.items() if name.startswith("test_")]
    seed = int(os.environ.get("STEPTIME_SEED") or time.time_ns() % 2 ** 53)
    drawn = Random(seed)
    print(f"# STEPTIME_SEED={seed}\n1..{len(tests)}", flush=True)
    failed = 0
    for number, (name, test) in enumerate(tests, 1):
        try:
            test(drawn)
            print(f"ok {number} - {name}", flush=True)
        except Exception:  # of the test's own arithmetic, too
            failed += 1
            print(f"not ok {number} - {name}", flush=True)
            traceback.print_exc()
    sys.exit(failed > 0)
