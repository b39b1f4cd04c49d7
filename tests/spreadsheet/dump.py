#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What stands in workbooks, line by line: every cell with its formula, names, rules and colours.

  dump.py STEPTIME SOURCE_ROOT            compare with expected/, as the Test Anything Protocol
  dump.py STEPTIME SOURCE_ROOT --update   write expected/ anew
"""
import difflib
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

import workbook

ROOT = "tests/spreadsheet/tree"
CASES = {
    "corners": ["estimate", "corners", "--path", ROOT],
    "given": ["estimate", "given", "--path", ROOT],
}


def lines_of_rules(root):
    for rules in root.iter(workbook.MAIN + "conditionalFormatting"):
        for rule in rules.iter(workbook.MAIN + "cfRule"):
            formula = rule.find(workbook.MAIN + "formula").text
            yield f"  color {rules.get('sqref')} {rule.get('type')} {formula}"
    for rule in root.iter(workbook.MAIN + "dataValidation"):
        limits = [rule.find(workbook.MAIN + name) for name in ("formula1", "formula2")]
        texts = " ".join(limit.text for limit in limits if limit is not None)
        yield f"  rule {rule.get('sqref')} {rule.get('type')} {rule.get('operator', '')} {texts}"


def dump(path):
    book = workbook.Workbook(path)
    for name, place in book.names.items():
        yield f"name {name} {place}"
    for sheet, file in book.files.items():
        yield f"sheet {sheet}"
        for place, (value, formula) in book.cells(sheet).items():
            yield f"  {place} {value!r}" + (f" = {formula}" if formula is not None else "")
        yield from lines_of_rules(ET.fromstring(book.parts[file]))


def main():
    program, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    update = sys.argv[3:] == ["--update"]
    expected = source / "tests/spreadsheet/expected"
    failed = 0
    if not update:
        print(f"1..{len(CASES)}")
    for number, (name, words) in enumerate(CASES.items(), 1):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "workbook.xlsx"
            subprocess.run([program, *words, "--xlsx", path], cwd=source, check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            text = "".join(line + "\n" for line in dump(path))
        file = expected / f"{name}.txt"
        if update:
            expected.mkdir(exist_ok=True)
            file.write_text(text)
            continue
        same = file.exists() and file.read_text() == text
        failed += not same
        print(f"{'' if same else 'not '}ok {number} - {name}")
        if not same:
            old = file.read_text().splitlines() if file.exists() else []
            for line in difflib.unified_diff(old, text.splitlines(), "expected", "program", lineterm=""):
                print(f"# {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
