#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# How far off the model of collectives is on what it has not seen, and what stands beside it.
#
#   collectives.py STEPTIME DATA
#
# DATA holds nccl_tests/ with tables of nccl-tests. Every figure is the median over tables of the mean
# error of a table at 1 MiB and more, in per cent, with the number of tables. Whole blocks are left out: a
# number of ranks, a number of nodes, the groups of one rank per node, a cluster. Clusters are the files
# that share a name but for ranks, nodes and collective.
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

MIB = 1 << 20
KINDS = ["nominal", "profile", "leave_one_size_out", "leave_one_rank_count_out", "three_lines",
         "between_sizes", "between_ranks"]
COLLECTIVES = "all_gather|all_reduce|alltoall|reduce_scatter|allgather|allreduce|reducescatter|broadcast"
SLINGSHOT = re.compile("alps|cscs|polaris")


def clusters(folder):
    """{(cluster, collective): [file]} of the tables out of place."""
    found = {}
    for where, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if not name.endswith(".csv") or ".inplace" in name:
                continue
            parts = re.match(rf"(.*?)_(?:\d+n)?\d+g_({COLLECTIVES})(.*)\.csv$", name)
            if parts:
                collective = parts[2].replace("_", "")
                found.setdefault((parts[1] + parts[3], collective), []).append(
                    os.path.join(where, name))
    return found


def run(program, arguments):
    done = subprocess.run([program, *arguments, "--json"], capture_output=True, text=True)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        return {"fits": []}


def errors(answer):
    """[(table, {kind: (from 1 MiB, below)})] of an answer of fit or validate."""
    out = []
    for fit in answer["fits"]:
        for index, table in enumerate(fit["tables"]):
            rows = [row for row in fit["rows"] if row["table"] == index]
            own = {}
            for kind in KINDS:
                known = [(row["size_bytes"], abs(row[kind] / row["measured_s"] - 1))
                         for row in rows if row.get(kind) is not None]
                large = [error for size, error in known if size >= MIB]
                small = [error for size, error in known if size < MIB]
                own[kind] = (100 * statistics.mean(large) if large else None,
                             100 * statistics.mean(small) if small else None)
            out.append((table, own))
    return out


def show(title, cases, kinds, place=0, asked=None):
    cells = [f"{asked:.1f}" if asked else "-"]
    for kind in kinds:
        known = [own[kind][place] for _, _, _, own in cases
                 if own[kind][place] is not None and own[kinds[0]][place] is not None]
        cells.append(f"{statistics.median(known):6.1f} ({len(known)})" if known else "      -")
    print(f"{title:56s}" + "".join(f"{cell:>14s}" for cell in cells))


def transfer(program, sources, targets, folder):
    """Errors of tables with a profile that others have made, beside nominal ones."""
    base = os.path.join(folder, f"{abs(hash((tuple(sources), tuple(targets))))}.db")
    run(program, ["fit", "nccl", *sources, "--save", "p", "--db", base])
    out = []
    for target in targets:
        fitted = errors(run(program, ["validate", "--nccl", target, "--profile", "p", "--db", base,
                                      "--all"]))
        if fitted:
            own = dict(fitted[0][1])
            own["transferred"] = own["profile"]
            out.append(("", "", fitted[0][0], own))
    return out


def main():
    program, data = os.path.abspath(sys.argv[1]), sys.argv[2]
    tables = clusters(os.path.join(data, "nccl_tests"))
    with ThreadPoolExecutor(2) as pool:
        answers = pool.map(lambda item: (item[0], run(program, ["fit", "nccl", "--all", *item[1]])),
                           tables.items())
        cases = [(cluster, collective, table, own) for (cluster, collective), answer in answers
                 for table, own in errors(answer)]

    def those(test):
        return [case for case in cases if test(*case[:3])]

    def is_trio(cluster, _, table):
        return "nccl2" in cluster and "rtx" not in cluster and "gb200" not in cluster

    ranks = ["leave_one_rank_count_out", "nominal", "between_ranks"]
    print(f"{'from 1 MiB':56s}{'asked':>14s}{'model':>14s}{'nominal':>14s}{'interpolated':>14s}")
    show("ranks from two others, NVLink", those(is_trio), ranks, asked=4.5)
    show("  all-reduce to 8 GPUs", those(
        lambda c, k, t: is_trio(c, k, t) and k == "allreduce" and t["ranks"] == 8), ranks, asked=9)
    show("2 and 4 GB200, one from the other", those(lambda c, k, t: "gb200_nccl" in c), ranks,
         asked=6)
    show("PCIe (RTX PRO 6000)", those(lambda c, k, t: "rtx_pro" in c), ranks)
    show("several nodes, Azure, InfiniBand", those(
        lambda c, k, t: "azure" in c and t["nodes"] > 1), ranks, asked=5)
    show("several nodes, Slingshot", those(
        lambda c, k, t: SLINGSHOT.search(c) and t["nodes"] > 1), ranks)
    print(f"{'':70s}{'model':>14s}{'nominal':>14s}{'three lines':>14s}{'interpolated':>14s}")
    sizes = ["leave_one_size_out", "nominal", "three_lines", "between_sizes"]
    show("sizes left out, one node", those(lambda c, k, t: t["nodes"] == 1), sizes)
    several = those(lambda c, k, t: t["nodes"] > 1 and not SLINGSHOT.search(c))
    show("  several nodes but Slingshot", several, sizes)
    show("  all-reduce of these", [case for case in several if case[1] == "allreduce"], sizes,
         asked=3)
    print("nominal")
    show("  one node", those(lambda c, k, t: t["nodes"] == 1), ["nominal"], asked=9)
    show("  several nodes but Slingshot, rate known", several, ["nominal"], asked=15)
    print("below 1 MiB")
    show("  ranks from two others, NVLink", those(is_trio), ranks, 1, asked=15)
    worse = [own for *_, own in cases
             if own["leave_one_rank_count_out"][0] and own["nominal"][0]
             and own["leave_one_rank_count_out"][0] > 1.1 * own["nominal"][0]]
    tried = [own for *_, own in cases
             if own["leave_one_rank_count_out"][0] and own["nominal"][0]]
    print(f"worse than nominal by a tenth, ranks left out: {len(worse)} of {len(tried)}, asked 0")
    with tempfile.TemporaryDirectory() as folder:
        def files(cluster, collective):
            return [name for (known, kind), names in tables.items()
                    if known.startswith(cluster) and kind == collective for name in names]

        moves = [
            ("one rank per node from full nodes, B200", ["dranet_b200"], ["dranet_b200_1nic"], 12),
            ("one rank per node from full nodes, H200", ["gcp_dwsflex"], ["dranet_h200"], 12),
            ("A100 of another lab (SuperBench)", ["a100_sxm"], ["superbench"], None),
            ("H100 of another lab (Snellius)", ["h100_sxm_nccl2.29"], ["snellius"], None),
            ("GH200 from H100 (Alps, one node)", ["h100_sxm_nccl2.29"], ["alps_gh200"], 8),
        ]
        print(f"{'from another cluster':70s}{'model':>14s}{'nominal':>14s}")
        for title, sources, targets, asked in moves:
            found = []
            for kind in ("allreduce", "allgather", "reducescatter"):
                own = [name for target in targets for name in files(target, kind)]
                known = [name for source in sources for name in files(source, kind)
                         if name not in own]
                if "Alps" in title:
                    own = [name for name in own if "_1n" in name]
                if known and own:
                    found += transfer(program, known, own, folder)
            show(title, found, ["transferred", "nominal"], asked=asked)


main()
