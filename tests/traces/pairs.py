#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Events of a begin and an end (phases B and E, b and e) are what complete ones (X) are.

    pairs.py STEPTIME [--seeds N] [--first N]

Random recordings are written with complete events and with pairs of random order and nesting; every view gives
the same. Begins and ends alone are left out with a warning.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

VIEWS = (["summary", "--json"], ["path", "--json"], ["idle", "--json"], ["breakdown", "--by", "operator", "--json"],
         ["whatif", "--set", "speed.gemm=2", "--json"], ["sql", "SELECT name, stream, start_ns, duration_ns, correlation, call_id "
                                                                "IS NULL AS lone FROM kernels ORDER BY start_ns, stream", "--csv"])


def recording(random_):
    """Operators around calls, which launch kernels on some streams."""
    events, host, ends, correlation = [], 100.0, {}, 17
    for _ in range(random_.randint(3, 40)):
        start = host
        for _ in range(random_.randint(1, 3)):
            correlation += random_.randint(1, 3)
            stream = random_.choice((7, 7, 20))
            call = round(random_.uniform(1, 9), 3)
            begin = round(max(host + call, ends.get(stream, 0)) + random_.uniform(0, 4), 3)
            duration = round(random_.uniform(1, 60), 3)
            ends[stream] = begin + duration
            events.append({"cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": round(host, 3),
                           "dur": call, "args": {"correlation": correlation}})
            events.append({"cat": "kernel", "name": random_.choice(("ampere_sgemm", "vectorized_elementwise")), "pid": 0,
                           "tid": stream, "ts": begin, "dur": duration,
                           "args": {"device": 0, "stream": stream, "correlation": correlation}})
            host += call + round(random_.uniform(0.5, 3), 3)
        events.append({"cat": "cpu_op", "name": random_.choice(("aten::mm", "aten::add")), "pid": 1, "tid": 2,
                       "ts": round(start - 0.25, 3), "dur": round(host - start, 3), "args": {"Sequence number": correlation}})
        host += round(random_.uniform(0.5, 30), 3)
    return sorted(events, key=lambda event: event["ts"])


def in_pairs(events, random_):
    """Ends name what they end, or leave out all but their thread; some kernels are asynchronous, by an id."""
    moments = []
    for number, event in enumerate(events):
        rest = {key: event[key] for key in ("cat", "name", "pid", "tid")}
        asynchronous = event["cat"] == "kernel" and random_.random() < 0.3
        own = {"id": random_.choice((number, f"0x{number:x}"))} if asynchronous else {}
        end = {"pid": event["pid"], "tid": event["tid"]} if not asynchronous and random_.random() < 0.5 else dict(rest)
        begin, end_at = event["ts"], round(event["ts"] + event["dur"], 3)
        moments.append((begin, 1, -end_at, {"ph": "b" if asynchronous else "B", **rest, **own, "ts": begin, "args": event["args"]}))
        moments.append((end_at, 0, -begin, {"ph": "e" if asynchronous else "E", **end, **own, "ts": end_at}))
    return [event for *_, event in sorted(moments, key=lambda item: item[:3])]


def ask(steptime, file, words):
    return subprocess.run([steptime, "trace", words[0], str(file), *words[1:]], capture_output=True, text=True, timeout=60)


def facts(text):
    """All that does not count phases."""
    try:
        made = json.loads(text)
    except ValueError:
        return text
    ranks = made.get("ranks")
    for rank in ranks if isinstance(ranks, list) else []:
        for key in ("events", "X", "cats", "file"):
            rank.pop(key, None)
    return made


def check(steptime, folder, seed):
    random_ = random.Random(seed)
    events = recording(random_)
    whole, pairs = folder / "trace.json", folder / "pairs" / "trace.json"
    whole.write_text(json.dumps({"traceEvents": [{"ph": "X", **event} for event in events]}))
    pairs.write_text(json.dumps({"traceEvents": in_pairs(events, random_)}))
    for view in VIEWS:
        answers = [ask(steptime, file, view) for file in (whole, pairs)]
        if answers[1].returncode != 0 or answers[1].stderr != answers[0].stderr.replace(str(whole), str(pairs)) or (
                facts(answers[0].stdout) != facts(answers[1].stdout)):
            sys.exit(f"seed {seed}, {view}: {answers[0].stdout[:1500]}\n{answers[1].stdout[:1500]}{answers[1].stderr}")
    written = ask(steptime, pairs, ["export", "--set", "speed.gemm=2", "-o", str(folder / "faster.json")])
    faster = json.loads((folder / "faster.json").read_text())["traceEvents"]
    if written.returncode != 0 or len(faster) != len(events) or {event["ph"] for event in faster} != {"X"}:
        sys.exit(f"seed {seed}: export {written.stderr} {faster[:3]}")


def check_lone(steptime, folder):
    events = in_pairs(recording(random.Random(23)), random.Random(23))
    kernels = sum(event["ph"] in "Bb" and event["cat"] == "kernel" for event in events)
    place = next(i for i, event in enumerate(events) if event["ph"] == "B" and event["cat"] == "kernel")
    end = next(i for i, event in enumerate(events) if i > place and event["ph"] == "E" and event["tid"] == events[place]["tid"])
    begins = [event for i, event in enumerate(events) if i != end]
    ends = [event for i, event in enumerate(events) if i != place]
    for left, text in ((begins, "1 events that begin (phase B) have no end"), (ends, "1 ends of events (phase E) have no begin")):
        file = folder / "lone.json"
        file.write_text(json.dumps({"traceEvents": left}))
        answer = ask(steptime, file, ["summary", "--json"])
        if answer.returncode != 0 or text not in answer.stderr or json.loads(answer.stdout)["ranks"][0]["gpu_tasks"] != kernels - 1:
            sys.exit(f"{text}: {answer.stderr} {answer.stdout[:300]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("steptime")
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pairs-") as name:
        folder = pathlib.Path(name)
        (folder / "pairs").mkdir()
        print(f"seeds {asked.first} to {asked.first + asked.seeds - 1}")
        for seed in range(asked.first, asked.first + asked.seeds):
            check(asked.steptime, folder, seed)
        check_lone(asked.steptime, folder)


if __name__ == "__main__":
    main()
