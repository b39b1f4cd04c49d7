#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plans that tie are listed once, and all of them are counted.

    ties.py STEPTIME                              as the Test Anything Protocol

A ranking without ties merged, of all plans up to somewhat above the last one listed, is merged anew here.
"""
import json
import subprocess
import sys

COLUMNS = ("step_time", "mfu", "memory", "cost", "energy")
CASES = [  # job, options, percent, whether something ties
    ("llama3-8b-8xh100", ["--gpus", "64"], 2.385, True),
    ("gpt3-175b-64xa100", ["--gpus", "48"], 0.25, False),
    ("mixtral-8x7b-64xh100", ["--gpus", "64"], 1.5, True),
    ("llama3-8b-8xh100", ["--gpus", "8,16", "--cells", "tokens_per_s"], 2.385, True),
]


def search(program, job, options, percent, top):
    words = [program, "search", job, *options, "--tie", str(percent), "--top", str(top), "--json",
             "--by", "closed-form"]
    return json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def gpus(plan):
    count = 1
    for size in ("tp", "cp", "pp", "dp"):
        count *= int(plan["plan"][f"parallel.{size}"])
    return count


def near(one, other, share, columns):
    pairs = [(one["cells"][name], other["cells"][name]) for name in columns]
    return gpus(one) == gpus(other) and all(
        a == b or None not in (a, b) and abs(a - b) <= share * max(abs(a), abs(b)) for a, b in pairs)


def merge(plans, share, columns, top):
    kept = []
    for plan in plans:
        first = next((one for one in kept if near(one[0], plan, share, columns)), None)
        if first is not None:
            first[1] += 1
        elif len(kept) < top:
            kept.append([plan, 0])
    return kept


def main():
    program = sys.argv[1]
    failed = False
    print(f"1..{len(CASES)}")
    for number, (job, options, percent, ties) in enumerate(CASES, 1):
        columns = [name for name in COLUMNS if "--cells" not in options or name in ("step_time", "memory")]
        plans = search(program, job, [word for word in options if word not in ("--cells", "tokens_per_s")],
                       0, 1000)["ranking"]
        listed = search(program, job, options, percent, 7)
        expected = merge(plans, percent / 100, columns, 7)
        sets = [[plan["set"], plan["equal"]] for plan in listed["ranking"]]
        good = (sets == [[plan["set"], count] for plan, count in expected]
                and listed["merged"] == sum(count for _, count in expected)
                and (listed["merged"] > 0) == ties and listed["tie"] == percent / 100)
        failed = failed or not good
        print(f"{'ok' if good else 'not ok'} {number} - {job} {' '.join(options)} at {percent} %: {sets}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
