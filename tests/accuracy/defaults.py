#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user gets who gives a model, a plan and GPUs alone, next to what validation knows of the same rows.

    defaults.py STEPTIME SOURCE_ROOT DATA

DATA holds step_times/. Fields that say how the software ran (stack, dispatcher, graphs, overlaps, recomputed
modules, types of gradients and optimizer) are blank in the second run, so that the stack and the recipe of the sheet
count, by the release or the date that the source names; in the third those of today. The first is `steptime
validate`, which a job with the same keys equals (test_one_door.c).
"""
import csv
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

# Rows with which other estimators were compared.
PEERS = """dgxc-001 dgxc-005 dgxc-006 dgxc-046 dgxc-093 moe_modelzoo-001 moe_modelzoo-015 card-028 nemo_perf-002
nemo_perf-005 nemo_perf-007 nemo_perf-140 nemo_perf-280 nemo_perf-277 korthikanti22-001 korthikanti22-002
korthikanti22-003 korthikanti22-004 korthikanti22-007 korthikanti22-008 megatron_sc21-001 megatron_sc21-004
llm_foundry-084 llm_foundry-100""".split()
FILES = ["modern_nemo", "modern_other", "modern_new", "korthikanti22", "megatron_sc21", "llm_foundry"]
SOFTWARE = """dispatcher ep_overlap tp_comm_overlap overlap_grad_reduce overlap_param_gather cuda_graph
recompute_modules recompute_layers grad_reduce_dtype param_gather opt_exp_avg opt_main_params optimizer fp8_attention
pp_layout capacity_factor act_offload_modules""".split()
MODERN = FILES[:3]


def rows_of(data, name):
    with open(data / "step_times" / f"{name}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def copy_tables(root, folder, is_dated):
    """Tables of validation without what they fill in where a source names none: stack, overlaps; or without dates."""
    for name in ("modern-nemo", "modern-other", "modern-2026"):
        table = pathlib.Path("validation", name, "table.yaml")
        (folder / table.parent).mkdir(parents=True)
        text = pathlib.Path(root, table).read_text(encoding="utf-8")
        text = re.sub(r"  - fill: \{(overlap\.|stack:).*\n(    .*\n)*", "", text)
        if not is_dated:
            text = re.sub(r"stack\.release: '?\d[\d.-]*'?", "stack.release: none", text)
        (folder / table).write_text(text, encoding="utf-8")


def errors_of(program, root, rows, sets):
    """{id: (error, whether it fits)} of rows of one table."""
    environment = dict(os.environ, LC_ALL="C.UTF-8", STEPTIME_PATH="", XDG_CONFIG_HOME="/nonexistent")
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder) / "rows.csv"
        with table.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
        run = subprocess.run([program, "validate", "--table", table, "--json", *sets, "--path", root],
                             env=environment, capture_output=True, text=True, check=False)
    if not run.stdout.startswith("{"):
        sys.exit(f"steptime validate ends with {run.returncode}: {run.stderr.strip()}")
    return {row["id"]: (row["error"], row["fits"]) for table in json.loads(run.stdout)["tables"]
            for row in table["rows"] if row["error"] is not None}


def show(name, ids, runs):
    """Lines of the rows that all runs have; those that one of them lacks are counted."""
    both = [row for row in ids if all(row in errors for errors in runs)]
    if not both:
        return
    cells = []
    for errors in runs:
        sizes = [100 * abs(errors[row][0]) for row in both]
        cells.append(f"{statistics.mean(sizes):7.1f}{statistics.median(sizes):7.1f}"
                     f"{100 * statistics.mean(errors[row][0] for row in both):+7.1f}"
                     f"{sum(errors[row][1] is False for row in both):5d}")
    print(f"{name:44s}{len(both):5d}  {'  '.join(cells)}{len(ids) - len(both):7d}")


def main():
    program, root, data = os.path.abspath(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    known, dated, newest, all_rows = {}, {}, {}, {}
    tables = [tempfile.TemporaryDirectory(), tempfile.TemporaryDirectory()]
    for folder, is_dated in zip(tables, (True, False)):
        copy_tables(root, pathlib.Path(folder.name), is_dated)
    for name in FILES:
        rows = rows_of(data, name)
        rows = rows if name in MODERN else [row for row in rows if row["id"] in PEERS]
        all_rows.update((row["id"], row) for row in rows)
        known.update(errors_of(program, root, rows, []))
        bare = [dict(row, **{key: "" for key in SOFTWARE if key in row}) for row in rows]
        if name in MODERN:
            bare = [dict(row, recompute="") for row in bare]
        for errors, folder, is_dated in zip((dated, newest), tables, (True, False)):
            # The default of the sheet and the GPU, instead of the software that the source names.
            default = ["--path", folder.name] if name in MODERN else ["--set", "stack=megatron-bridge"]
            cut = [row if is_dated or "release" not in row else dict(row, release="") for row in bare]
            errors.update(errors_of(program, root, cut, default))
    runs = (known, dated, newest)
    print(f"{'':49s}  {'as validation knows it':26s}{'model, plan, GPUs and date':26s}  {'model, plan and GPUs alone':26s}")
    print(f"{'':44s}{'rows':>5s}" + f"  {'mean':>7s}{'median':>7s}{'bias':>7s}{'big':>5s}" * 3 + f"{'lack':>7s}")
    show("compared with other estimators", PEERS, runs)
    h100 = [key for key, row in all_rows.items() if key.startswith(("nemo_perf", "card")) and row["gpu"] == "H100"
            and row.get("task") == "pretrain"]
    show("H100, pretraining, dense", [key for key in h100 if not all_rows[key]["experts"]], runs)
    show("H100, pretraining, experts", [key for key in h100 if all_rows[key]["experts"]], runs)
    for name, title in zip(MODERN, ("modern-nemo", "modern-other", "modern-2026")):
        show(title, [key for key, row in all_rows.items() if row in rows_of(data, name)], runs)
    for key in PEERS:
        if all(key in errors for errors in runs):
            cells = [f"{100 * errors[key][0]:+7.1f}" for errors in runs]
            print(f"  {key:42s}       {(21 * ' ').join(cells)}"
                  f"{'  called too large' if newest[key][1] is False else ''}")


main()
