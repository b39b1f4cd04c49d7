# SPDX-License-Identifier: Apache-2.0
"""Sheets of random formulas, in which everything that the language has may stand everywhere."""

ENUMS = {"mode": ["none", "part", "full"], "Case": ["low", "LOW", "high"]}
NUMBERS = {"b": 2.385, "B": 0.173, "T1": 17.21, "r": 5.93, "C": -3.71, "RC": 41.7, "zero": 0, "n": 8}
HEADER = """# SPDX-License-Identifier: Apache-2.0
sheet: random
enums:
  mode: [none, part, full]
  Case: [low, LOW, high]
inputs:
  on: {from: constants.on, unit: bool, default: true}
  off: {from: constants.off, unit: bool, default: false}
  how: {from: constants.how, unit: mode, default: part}
  kind: {from: constants.kind, unit: Case, default: LOW}
"""
FUNCTIONS = """functions:
  twice: {args: {x: 1}, is: x + x}
  square: {args: {x: 1}, is: x*x - 1}
  both: {args: {x: 1, y: 1}, is: 'if(x > y, square(x - y), twice(y)*x)'}
  pick: {args: {is_on: bool, how: mode, x: 1}, is: 'if(is_on and how != none, both(x, 1.25), -x^2)'}
"""


class Formulas:
    """Random formulas over the inputs and the cells that were kept."""

    def __init__(self, chance):
        self.chance = chance
        self.names = {"number": list(NUMBERS), "truth": ["on", "off"], "mode": ["how"], "Case": ["kind"]}

    def leaf(self, kind):
        one = self.chance.choice
        if self.chance.random() < 0.65:
            return one(self.names[kind])
        if kind == "number":
            return one(["2", "0.5", "3.25", "7", "0.1", "12.75", "1e-3", "1.5e2"])
        return one(["true", "false"]) if kind == "truth" else one(ENUMS[kind])

    def number(self, depth):
        pick, one = self.chance.random(), self.chance.choice
        a = lambda: self.formula("number", depth - 1)
        if pick < 0.5:
            return f"({a()}) {one('+-*/')} ({a()})" if pick < 0.35 else f"{a()} {one('+-*/')} {a()}"
        if pick < 0.58:
            return f"-{self.leaf('number')}" if pick < 0.54 else f"-({a()})"
        if pick < 0.64:
            return f"({a()})^{one(['2', '3', '-1', '-2', '0.5', '1.5', '(1/3)'])}"
        if pick < 0.74:
            name = one(["floor", "ceil", "round", "sqrt", "log2", "log", "lgamma", "exp", "abs"])
            return f"{name}({a()})"
        if pick < 0.82:
            return f"{one(['min', 'max'])}({a()}, {a()}, {a()})"
        if pick < 0.92:
            return f"if({self.formula('truth', depth - 1)}, {a()}, {a()})"
        if pick < 0.96:
            return f"both({a()}, {a()})"
        return f"pick({self.formula('truth', depth - 1)}, {self.leaf('mode')}, {a()})"

    def truth(self, depth):
        pick, one = self.chance.random(), self.chance.choice
        t = lambda: self.formula("truth", depth - 1)
        if pick < 0.35:
            sign = one(["<", "<=", ">", ">="])
            return f"({self.formula('number', depth - 1)} {sign} {self.formula('number', depth - 1)})"
        if pick < 0.45:
            kind = one(["mode", "Case"])
            return f"({one(self.names[kind])} {one(['==', '!='])} {self.formula(kind, depth - 1)})"
        if pick < 0.55:
            return f"({self.formula('truth', 0)} {one(['==', '!='])} ({t()}))"
        if pick < 0.65:
            return f"(not {t()})"
        sides = [t(), t()]
        if pick > 0.85: # an operand that has no value, which the other one may decide
            sides[one([0, 1])] = f"({self.leaf('number')}/zero > {self.leaf('number')})"
        return f"({sides[0]} {one(['and', 'or'])} {sides[1]})"

    def formula(self, kind, depth):
        if depth <= 0 or self.chance.random() < 0.15:
            return self.leaf(kind)
        if kind in ENUMS:
            return f"if({self.formula('truth', depth - 1)}, {one_name(self, kind)}, {self.leaf(kind)})"
        return self.number(depth) if kind == "number" else self.truth(depth)


def one_name(formulas, kind):
    return formulas.chance.choice(formulas.names[kind])


def write(path, cells):
    lines = [HEADER]
    lines += [f"  {name}: {{from: constants.{name}, default: {value}}}\n" for name, value in NUMBERS.items()]
    lines += [FUNCTIONS, "cells:\n"]
    units = {"number": "1", "truth": "bool", "mode": "mode", "Case": "Case"}
    lines += [f"  {name}:\n    unit: {units[kind]}\n    is: {text}\n" for name, kind, text in cells]
    path.write_text("".join(lines))


def make(chance, folder, count, is_good):
    """A sheet of `count` cells that have values, and a job for it; `is_good` asks steptime."""
    (folder / "formulas").mkdir(parents=True)
    (folder / "configs/jobs").mkdir(parents=True)
    (folder / "configs/jobs/random.yaml").write_text("name: random\nsheet: random\n")
    formulas = Formulas(chance)
    cells = []
    for number in range(20 * count):
        kind = chance.choice(["number"] * 6 + ["truth"] * 3 + ["mode", "Case"])
        name = f"{chance.choice(['T', 't', 'x_', 'R', 'c', 'AB', '_v'])}{number}"
        cell = (name, kind, formulas.formula(kind, chance.choice([1, 2, 3, 5])))
        write(folder / "formulas/random.yaml", cells + [cell])
        if is_good():
            cells.append(cell)
            if chance.random() < 0.3:
                formulas.names[kind].append(name)
        if len(cells) == count:
            break
    write(folder / "formulas/random.yaml", cells)
