#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same programs recorded by Nsight Systems and by Kineto: what steptime finds in a database as
'nsys export --type sqlite' writes it has to be what it finds in Kineto's files.

    nsys.py STEPTIME [--seeds N]

All ranks of a program are processes of one database. CUDA events are used again once nobody waits
for them any more, as programs do, so that who waits for what follows from the order of calls alone.
"""
import argparse
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

import program

SYNC_TYPES = {"Event Sync": 1, "Stream Wait Event": 2, "Stream Sync": 3, "Context Sync": 4}
SCHEMA = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, smCount INTEGER);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER,
    srcKind INTEGER, dstKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER,
    contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER,
    eventId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId INTEGER, contextId INTEGER, streamId INTEGER,
    correlationId INTEGER, globalPid INTEGER, eventId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER,
    globalTid INTEGER);
"""


class Database:
    def __init__(self, path):
        self.connection = sqlite3.connect(path)
        self.connection.executescript(SCHEMA)
        self.names = {}

    def name(self, text):
        if text not in self.names:
            self.names[text] = len(self.names) + 100
            self.add("StringIds", self.names[text], text)
        return self.names[text]

    def add(self, table, *values):
        marks = ",".join("?" * len(values))
        self.connection.execute(f"INSERT INTO {table} VALUES ({marks})", values)


def copy_kinds(name):
    """'Memcpy HtoD (Pageable -> Device)' as copyKind, srcKind and dstKind of CUPTI."""
    way, source, target = name[len("Memcpy ") :].replace("(", "").replace(")", "").replace("-> ", "").split()
    memory = {"Pageable": 0, "Pinned": 1, "Device": 2}
    return {"HtoD": 1, "DtoH": 2, "DtoD": 8}[way], memory[source], memory[target]


def event_ids(rank):
    """Ids of recorded events by the correlation of the record: one is taken again once its waits are over."""
    starts = {call[4]: call[2] for call in rank.calls}
    waits = {}
    for _, correlation, _, moment, _, _ in rank.syncs:
        if moment is not None and moment.record in starts:
            waits[moment.record] = max(waits.get(moment.record, 0), starts.get(correlation, 0))
    found, free, busy = {}, [], []
    for record in sorted(waits, key=lambda r: starts[r]):
        free += [number for until, number in busy if until < starts[record]]
        busy = [item for item in busy if item[0] >= starts[record]]
        found[record] = free.pop() if free else len(found) + 1
        busy.append((waits[record], found[record]))
    return found


def write_rank(database, rank):
    process = (4000 + rank.number) << 24
    late = round(rank.plan.clock_us * program.US)
    for thread, name, start, end, correlation in rank.calls:
        database.add("CUPTI_ACTIVITY_KIND_RUNTIME", start, end, 0, process | thread, correlation,
                     database.name(name + "_v7000"), 0)
    for stream, kernel, start, end in rank.tasks:
        place = (start + late, end + late, rank.number, 1, stream, kernel.correlation, process)
        if kernel.name.startswith("Memcpy"):
            database.add("CUPTI_ACTIVITY_KIND_MEMCPY", *place, 4096, *copy_kinds(kernel.name))
        else:
            database.add("CUPTI_ACTIVITY_KIND_KERNEL", *place, database.name(kernel.name),
                         database.name(kernel.name[:5]))
    for thread, name, start, end in rank.operators:
        database.add("NVTX_EVENTS", start, end, 59, None, database.name(name), process | thread)
    for number, start, end in rank.step_marks:
        database.add("NVTX_EVENTS", start, end, 60, f"ProfilerStep#{number}", None, process | rank.main)
    events = event_ids(rank)
    streams = {moment.record: moment.stream for _, _, _, moment, _, _ in rank.syncs if moment is not None}
    for record, number in events.items():
        database.add("CUPTI_ACTIVITY_KIND_CUDA_EVENT", rank.number, 1, streams[record], record, process, number)
    for kind, correlation, stream, moment, start, end in rank.syncs:
        number = events.get(moment.record) if moment is not None else None
        database.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start, end, rank.number, 1, stream, correlation,
                     process, SYNC_TYPES[kind], number)


def write_database(made, path):
    database = Database(path)
    database.add("TARGET_INFO_GPU", 0, "NVIDIA A100-SXM4-80GB", 108)
    database.add("TARGET_INFO_SESSION_START_TIME", program.BASE_NS)
    for rank in made.ranks:
        write_rank(database, rank)
    database.connection.commit()
    database.connection.close()


def write_kineto(made, folder):
    """Without what Nsight Systems does not know: the ranks of a job and what a collective carries."""
    for rank in made.ranks:
        trace = program.trace_of(rank)
        del trace["distributedInfo"]
        calls = {call[4] for call in rank.calls}
        for event in trace["traceEvents"]:
            known = event.get("args", {})
            event["args"] = {key: known[key] for key in known if key[0].islower()}
            if known.get("wait_on_cuda_event_record_corr_id", None) not in calls | {None}:
                for key in ("wait_on_stream", "wait_on_cuda_event_record_corr_id"):
                    event["args"][key] = -1
        (folder / f"rank{rank.number:02}.json").write_text(json.dumps(trace))


def ask(steptime, *words):
    done = subprocess.run([steptime, "trace", *words, "--json"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr


def without_names(tree):
    """All that does not say which file it came from."""
    if isinstance(tree, dict):
        return {key: without_names(tree[key]) for key in tree
                if key not in ("file", "categories", "file_events", "complete_events", "events", "unit", "warnings", "cats")}
    return [without_names(item) for item in tree] if isinstance(tree, list) else tree


def compare(steptime, seed):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "kineto"
        database = str(pathlib.Path(name) / "report.sqlite")
        folder.mkdir()
        made = program.Program(program.draw_plan(seed)).run()
        write_kineto(made, folder)
        write_database(made, database)
        for words in (["summary"], ["graph"], ["replay"], ["whatif", "--set", "speed.gemm=2"]):
            kineto = without_names(ask(steptime, words[0], str(folder), *words[1:]))
            nsys = without_names(ask(steptime, words[0], database, *words[1:]))
            assert not isinstance(kineto, str), kineto
            assert kineto == nsys, f"seed {seed}, {words[0]}: {difference(kineto, nsys)}"


def difference(first, second, path=""):
    if isinstance(first, dict) and isinstance(second, dict):
        for key in first:
            if first[key] != second.get(key):
                return difference(first[key], second.get(key), f"{path}.{key}")
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for place, pair in enumerate(zip(first, second)):
            if pair[0] != pair[1]:
                return difference(*pair, f"{path}[{place}]")
    return f"{path}: {str(first)[:300]} is not {str(second)[:300]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("steptime")
    parser.add_argument("--seeds", type=int, default=40)
    options = parser.parse_args()
    for seed in range(1, options.seeds + 1):
        compare(options.steptime, seed)
    print(f"{options.seeds} programs, the same by Kineto and by Nsight Systems")


if __name__ == "__main__":
    sys.exit(main())
