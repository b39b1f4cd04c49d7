#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the gate of accuracy lets through and what it refuses, with made-up rows: test_gate.py SOURCE_ROOT"""
import contextlib
import io
import pathlib
import sys
import tempfile

import gate

ROW = {"source": "lab", "slice": "all rows", "rows": "31", "mean": "8.12", "median": "6.40", "bias": "-3.85",
       "inside_band": "93.55", "verdicts": "30/31", "slack": "0.1"}
KEY = ("lab", "all rows")
# What changes against the row, and what the gate says; nothing: it passes.
CASES = [
    ({}, ""), ({"mean": "8.22"}, ""), ({"mean": "8.23"}, "mean was 8.12 % and is 8.23 %"),
    ({"median": "6.61"}, "median was 6.40 % and is 6.61 %"), ({"bias": "3.90"}, ""), ({"bias": "0.02"}, ""),
    ({"bias": "-4.06"}, "bias was -3.85 % and is -4.06 %"), ({"bias": "4.06"}, "bias was -3.85 % and is 4.06 %"),
    ({"inside_band": "90.32"}, "inside_band was 93.55 % and is 90.32 %"), ({"inside_band": "96.77"}, ""),
    ({"verdicts": "29/31"}, "verdicts were 30/31 and are 29/31"), ({"verdicts": "31/32"}, ""),
    ({"verdicts": ""}, "verdicts were 30/31 and are none"), ({"inside_band": ""}, "is not known"),
    ({"rows": "30"}, "30 rows are compared, 31 were"), ({"rows": "32"}, ""),
    ({"mean": "7.12"}, ""), ({"mean": ""}, "mean was 8.12 % and is not known"),
]
FILES = [
    ("source,mean\nlab,2\n", "found the columns"), (",".join(gate.COLUMNS) + "\nlab,all rows,31\n", "found 3 fields"),
    (",".join(gate.COLUMNS) + "\nlab,all rows,31,abc,1,1,,,0.1\n", "'abc'"),
    (",".join(gate.COLUMNS) + "\nlab,all rows,31,2,1,1,,3of4,0.1\n", "'3of4'"),
    (",".join(gate.COLUMNS) + "\nlab,all rows,31,2,1,1,,,\n", "could not convert"),
    (",".join(gate.COLUMNS) + "\nlab,all rows,31,nan,1,1,,,0.1\n", "accuracy.csv:2: found mean nan"),
    (",".join(gate.COLUMNS) + "\nlab,all rows,31,2,1,1,,,inf\n", "found slack inf"),
    (",".join(gate.COLUMNS) + "\nlab,all rows,31,2,1,1,,,-0.1\n", "found slack -0.1"),
    (",".join(gate.COLUMNS) + "\nlab,all rows,31,2,1,1,,0/0,0.1\n", "found verdicts 0/0"),
    (",".join(gate.COLUMNS) + "\nlab,all rows,31,2,1,1,,,0.1\nlab,all rows,31,2,1,1,,,0.1\n", "is also in line 2"),
]


def checked(rows, now, root):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        failed = gate.check(rows, now, root, "accuracy.csv")
    return failed, out.getvalue()


def refusal(text):
    try:
        gate.read(text, "accuracy.csv")
    except SystemExit as error:
        return str(error)
    return ""


def results(root):
    rows = {KEY: dict(ROW, line=2)}
    for change, words in CASES:
        failed, text = checked(rows, {KEY: dict(ROW, **change)}, root)
        yield f"{change} gives '{words}'", failed == bool(words) and (not words or (words in text and "--update" in text))
    failed, text = checked(rows, {}, root)
    yield "a row that no table fills", failed and "accuracy.csv:2: lab, all rows: no table fills this row" in text
    failed, text = checked({KEY: dict(ROW, mean="", line=2)}, {KEY: ROW}, root)
    yield "a figure that was taken out of its row", failed and "mean is 8.12 % and the row has none" in text
    failed, text = checked({}, {KEY: ROW}, root)
    yield "a slice without a row", failed and "lab, all rows: has no row" in text
    failed, text = checked({("torchtitan", "FP7"): dict(ROW, line=2)}, {("torchtitan", "FP8"): ROW}, root)
    yield "a slice that its table does not have", failed and "no table fills this row" in text
    absent = {("torchtitan", "FP8"): dict(ROW, line=2), ("torchtitan", "bf16"): dict(ROW, line=3)}
    failed, text = checked(absent, {}, root)
    yield "tables that are not at hand are named", not failed and "torchtitan (2)" in text
    failed, text = checked({("qi2024", "1F1B"): dict(ROW, line=2)}, {}, root)
    yield "tables in validation/ must be there", failed
    failed, text = checked(rows, {KEY: dict(ROW, mean="7.9")}, root)
    yield "what is better is named", not failed and "better than their rows" in text
    for text, words in FILES:
        yield f"a file is refused with '{words}'", words in refusal(text)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "accuracy.csv"
        kept = {("torchtitan", "FP8"): dict(ROW, source="torchtitan", slice="FP8", slack="2.385")}
        gone = {("nothing", "all rows"): dict(ROW, source="nothing")}
        with contextlib.redirect_stdout(io.StringIO()) as out:
            gate.update({KEY: dict(ROW, slack="0.7"), **kept, **gone}, {KEY: dict(ROW, mean="9.25", slack="")}, root, path)
        made = gate.read(path.read_text(), "accuracy.csv")
        yield "an update keeps slacks and absent rows, and says what is worse", (
            set(made) == {KEY, ("torchtitan", "FP8")} and made[KEY]["slack"] == "0.7" and made[KEY]["mean"] == "9.25"
            and made["torchtitan", "FP8"]["slack"] == "2.385" and "worse: lab, all rows: mean" in out.getvalue())
    drawn = gate.picture([ROW, dict(ROW, slice="a <slice>")], [("2026-11-02", rows), ("2026-11-29", rows)])
    yield "the picture has the source and three means", 'lab</text>' in drawn and drawn.count(",") > 2 and "<slice>" not in drawn


def main():
    count = failed = 0
    for name, ok in results(pathlib.Path(sys.argv[1])):
        count += 1
        failed += not ok
        print(f"{'ok' if ok else 'not ok'} {count} - {name}")
    print(f"1..{count}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
