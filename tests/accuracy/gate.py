#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Accuracy as a gate: the errors of today's estimates against validation/accuracy.csv.

    gate.py STEPTIME SOURCE_ROOT [--update]

Estimates every table at hand: those in validation/, and those below $STEPTIME_DATA. A row of accuracy.csv is a
slice of a source; shares are in percent. A figure that is worse than its row by more than its slack fails, and so
do a row that no table fills and a slice without a row. --update writes the rows of the tables at hand, keeps the
others and their slacks, and draws docs/accuracy.svg with their history, which is that of the file in git.
"""
import csv
import html
import io
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

COLUMNS = ["source", "slice", "rows", "mean", "median", "bias", "inside_band", "verdicts", "slack"]
SHARES = ["mean", "median", "bias", "inside_band"]
SLACK = "0.1"
# How much worse a value is than its row, in percentage points.
WORSE = {"mean": lambda now, then: now - then, "median": lambda now, then: now - then,
         "bias": lambda now, then: abs(now) - abs(then), "inside_band": lambda now, then: then - now}
UPDATE = "'./dev accuracy --update' writes the row; commit it with what changed it, and say why"


def percent(share):
    return "" if share is None else f"{100 * share:.2f}"


def slice_name(group, part):
    names = [name for name in (group, part if part != "all rows" or not group else None) if name]
    return ", ".join(names)


def rows_of_table(table):
    for index, group in enumerate(table["groups"]):
        errors = group["errors"]
        checks = table["memory_checks"] if index == 0 else 0
        yield {"slice": slice_name(group["group"], group["part"]), "rows": str(errors["rows"]),
               "mean": percent(errors["mean_absolute"]), "median": percent(errors["median_absolute"]),
               "bias": percent(errors["bias"]), "inside_band": percent(group["inside_band"]),
               "verdicts": f"{table['memory_checks_right']}/{checks}" if checks else ""}


def row_of_cases(source):
    values = [value for case in source["cases"] for value in case["values"]]
    off = [value["difference"] for value in values if isinstance(value["difference"], (int, float))]
    right = sum(value["ok"] for value in values)
    return {"slice": "cases", "rows": str(len(values)), "inside_band": "",
            "mean": percent(statistics.fmean(map(abs, off)) if off else None),
            "median": percent(statistics.median(map(abs, off)) if off else None),
            "bias": percent(statistics.fmean(off) if off else None), "verdicts": f"{right}/{len(values)}"}


def estimate(program, root):
    """Rows by source and slice. validate fails where a limit of a source is passed: its own test says so."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, XDG_CONFIG_HOME=folder, XDG_DATA_HOME=folder, STEPTIME_PATH="",
                           LC_ALL="C.UTF-8")
        run = subprocess.run([program, "validate", "--json", "--path", root], env=environment,
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if not run.stdout.startswith("{"):
        sys.exit(f"steptime validate ends with {run.returncode}: {run.stderr.strip()}")
    result = json.loads(run.stdout)
    rows = {}
    for source in result["sources"]:
        row = row_of_cases(source)
        rows[source["source"], row["slice"]] = dict(row, source=source["source"])
    for table in result["tables"]:
        for row in rows_of_table(table):
            rows[table["source"], row["slice"]] = dict(row, source=table["source"])
    return rows


def read(text, name):
    """Rows by source and slice, with their lines; faults of the file end the program."""
    reader = csv.DictReader(io.StringIO(text))
    if reader.fieldnames != COLUMNS:
        sys.exit(f"{name}:1: found the columns {reader.fieldnames}, expected {COLUMNS}")
    rows = {}
    for row in reader:
        place = f"{name}:{reader.line_num}"
        try:
            if None in row or None in row.values():
                raise ValueError(f"found {len([v for v in row.values() if v is not None])} fields")
            int(row["rows"])
            for column in [*SHARES, "slack"]:
                if row[column] or column == "slack":
                    finite(column, row[column])
            if row["verdicts"]:
                verdict(row["verdicts"])
        except ValueError as error:
            sys.exit(f"{place}: {error}, expected {', '.join(COLUMNS)}")
        key = row["source"], row["slice"]
        if key in rows:
            sys.exit(f"{place}: '{', '.join(key)}' is also in line {rows[key]['line']}")
        rows[key] = dict(row, line=reader.line_num)
    return rows


def finite(column, text):
    number = float(text)
    if not math.isfinite(number) or (number < 0 and column != "bias"):
        raise ValueError(f"found {column} {text}")
    return number


def verdict(text):
    right, _, all_of_them = text.partition("/")
    if not 0 <= int(right) <= int(all_of_them) or int(all_of_them) == 0:
        raise ValueError(f"found verdicts {text}")
    return int(right), int(all_of_them)


def worsened(row, now):
    """What is worse than the row says, in words."""
    slack = float(row["slack"])
    if int(now["rows"]) < int(row["rows"]):
        yield f"{now['rows']} rows are compared, {row['rows']} were"
    for column, worse in WORSE.items():
        if row[column] and not now[column]:
            yield f"{column} was {row[column]} % and is not known"
        elif now[column] and not row[column]:
            yield f"{column} is {now[column]} % and the row has none"
        elif row[column] and worse(float(now[column]), float(row[column])) > slack + 1e-9:
            yield f"{column} was {row[column]} % and is {now[column]} %"
    if row["verdicts"]:
        (right, count), (right_now, count_now) = verdict(row["verdicts"]), verdict(now["verdicts"] or "0/1")
        if right_now * count < right * count_now:
            yield f"verdicts were {row['verdicts']} and are {now['verdicts'] or 'none'}"
    elif now["verdicts"]:
        yield f"verdicts are {now['verdicts']} and the row has none"


def improved(row, now):
    return any(row[column] and now[column] and worse(float(now[column]), float(row[column])) < -float(row["slack"])
               for column, worse in WORSE.items())


def is_absent(root, key, now):
    """A slice of a table that is not in validation/, and of which no slice was estimated."""
    source, slice_ = key
    table = root / "validation" / source / "table.yaml"
    return (slice_ != "cases" and not any(other == source and name != "cases" for other, name in now)
            and table.is_file() and any(line.startswith("data:") for line in table.read_text().splitlines()))


def check(rows, now, root, name):
    failed = 0
    absent, better = {}, []
    for key, row in rows.items():
        place, label = f"{name}:{row['line']}", ", ".join(key)
        if key in now:
            for words in worsened(row, now[key]):
                failed += 1
                print(f"{place}: {label}: {words} (slack {row['slack']})")
            if improved(row, now[key]):
                better.append(label)
        elif is_absent(root, key, now):
            absent.setdefault(key[0], []).append(key[1])
        else:
            failed += 1
            print(f"{place}: {label}: no table fills this row; './dev accuracy --update' takes it out")
    for key in now:
        if key not in rows:
            failed += 1
            print(f"{name}: {', '.join(key)}: has no row; './dev accuracy --update' adds it")
    print(f"{len(set(rows) & set(now))} rows checked, {failed} fault{'' if failed == 1 else 's'}")
    if absent:
        print("not checked, for their tables are not at hand ($STEPTIME_DATA): "
              + ", ".join(f"{source} ({len(slices)})" for source, slices in sorted(absent.items())))
    if better:
        print(f"better than their rows, './dev accuracy --update' keeps it: {'; '.join(better)}")
    if failed:
        print(UPDATE)
    return failed > 0


def write(path, rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    part = path.with_name(path.name + ".part")
    part.write_text(text.getvalue(), encoding="utf-8")
    part.replace(path)


def update(rows, now, root, path):
    """Rows whose tables are absent stay as they are, unless their source is gone."""
    kept = {key: row for key, row in rows.items() if is_absent(root, key, now)}
    made = {key: dict(row, slack=rows.get(key, {}).get("slack", SLACK)) for key, row in now.items()}
    for key, row in sorted(rows.items()):
        for words in worsened(row, now[key]) if key in now else []:
            print(f"worse: {', '.join(key)}: {words}")
    # Slices of a source keep the order of its table.
    merged = sorted({**kept, **made}.values(), key=lambda row: row["source"])
    write(path, merged)
    return merged


# ---- the picture ----

def git(root, *words):
    run = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=False)
    return run.stdout if run.returncode == 0 else ""


def history(root, name):
    """[(date, rows)] of the file's commits, the oldest first."""
    for line in git(root, "log", "--reverse", "--format=%H %cs", "--", name).splitlines():
        commit, date = line.split()
        text = git(root, "show", f"{commit}:{name}")
        if text:
            yield date, read(text, f"{commit}:{name}")


ROW, TOP, SPARK, WIDTH = 18, 62, 150, 900
PLACES = {"rows": 428, "mean": 490, "median": 555, "bias": 620, "inside_band": 690, "verdicts": 755}


def spark(values, middle):
    """The means of a row over the commits, from 0 to the largest; its last value is a dot."""
    most = max(values) or 1.0
    step = SPARK - 28
    points = [(778 + step * index / max(len(values) - 1, 1), middle + 4 - 12 * value / most)
              for index, value in enumerate(values)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    return (f'<polyline points="{line}" fill="none" stroke="#2f6f9f" stroke-width="1.3"/>'
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="#2f6f9f"/>')


def picture(rows, versions):
    """Whole sources, a line each; the file has their slices, too."""
    whole = [row for row in rows if row["slice"] in ("all rows", "used in the fit", "held out", "cases")]
    dates = f"{versions[0][0]} to {versions[-1][0]}" if len(versions) > 1 else "from here on"
    height = TOP + ROW * len(whole) + 10
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
             f'height="{height}" font-family="sans-serif" font-size="12">',
             "<title>Errors of estimates by source of measured steps</title>",
             f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
             '<text x="10" y="22" font-size="15" fill="#1b1b1b">Errors of estimates, by source</text>',
             '<g fill="#555555"><text x="10" y="48">source</text><text x="190" y="48">slice</text>']
    heads = {"rows": "rows", "mean": "mean %", "median": "median %", "bias": "bias %", "inside_band": "in band %",
             "verdicts": "verdicts"}
    parts += [f'<text x="{PLACES[column]}" y="48" text-anchor="end">{head}</text>' for column, head in heads.items()]
    parts.append(f'<text x="778" y="48">mean, {"history" if len(versions) > 1 else "today"}</text></g>')
    parts.append(f"<desc>Mean over commits: {dates}</desc>")
    for index, row in enumerate(whole):
        base = TOP + ROW * index + 9
        if index % 2 == 0:
            parts.append(f'<rect x="5" y="{base - 13}" width="{WIDTH - 10}" height="{ROW}" fill="#f3f5f7"/>')
        parts.append(f'<text x="10" y="{base}" fill="#1b1b1b">{html.escape(row["source"])}</text>'
                     f'<text x="190" y="{base}" fill="#555555">{html.escape(row["slice"])}</text>')
        parts += [f'<text x="{x}" y="{base}" text-anchor="end" fill="#1b1b1b">{row[column] or "-"}</text>'
                  for column, x in PLACES.items()]
        key = row["source"], row["slice"]
        means = [float(version[key]["mean"]) for _, version in versions if key in version and version[key]["mean"]]
        parts += [spark([*means, float(row["mean"])], base - 4)] if row["mean"] else []
    return "\n".join([*parts, "</svg>", ""])


def main():
    program, root, *options = sys.argv[1:]
    if options not in ([], ["--update"]):
        sys.exit(f"found {' '.join(options)}, expected --update or nothing")
    root = pathlib.Path(root)
    name = "validation/accuracy.csv"
    path = root / name
    rows = read(path.read_text(encoding="utf-8"), name) if path.is_file() else {}
    now = estimate(os.path.realpath(program), root)
    if not options:
        return check(rows, now, root, name)
    merged = update(rows, now, root, path)
    (root / "docs" / "accuracy.svg").write_text(picture(merged, list(history(root, name))), encoding="utf-8")
    print(f"wrote {len(now)} rows of {name} and docs/accuracy.svg; {len(merged) - len(now)} rows are kept as they were")
    return False


if __name__ == "__main__":
    sys.exit(main())
