#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recordings of several GPUs in one file: of one process, and of merged ranks; and why a GPU was idle.

    devices.py STEPTIME

Each GPU is a rank of its own in the views. Ranks whose files were merged are found by their processes, even
where they count correlation ids alike, and meet in their collectives.
"""
import json
import pathlib
import subprocess
import sys
import tempfile


def record(processes, name):
    """Four GEMMs of 90 and 95 us and an all-reduce on each of two GPUs, which arrive 30 us apart."""
    events = []
    for gpu in range(2):
        for i in range(5):
            correlation = i + 1 + (0 if processes == 2 else 10 * gpu)
            late = 3 * gpu
            stream, begin, length, kernel = ((7, 1010 + 100 * i + late, 90 + 5 * gpu, "ampere_sgemm") if i < 4 else
                                             (20, 1500 + 30 * gpu, 130 - 30 * gpu, "ncclDevKernel_AllReduce_Sum_f32_RING_LL"))
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel",
                           "pid": 100 + (gpu if processes == 2 else 0), "tid": 5, "ts": 1000 + 10 * i + late, "dur": 2,
                           "args": {"correlation": correlation}})
            events.append({"ph": "X", "cat": "kernel", "name": kernel, "pid": gpu, "tid": stream, "ts": begin,
                           "dur": length, "args": {"device": gpu, "stream": stream, "correlation": correlation}})
    name.write_text(json.dumps({"distributedInfo": {"rank": 0, "world_size": processes}, "traceEvents": events}))


def record_groups(name):
    """Four merged ranks whose all-reduces are of the groups [0, 1] and [2, 3]."""
    events = []
    for rank in range(4):
        pair = [rank // 2 * 2, rank // 2 * 2 + 1]
        args = {"Collective name": "allreduce", "Group size": 2, "Process Group Ranks": str(pair), "Seq": 3,
                "Process Group Name": str(pair), "In msg nelems": 512, "Out msg nelems": 512, "dtype": "BFloat16"}
        for i, (kernel, length, more) in enumerate([("ampere_sgemm", 90 + 5 * rank, {}),
                                                    ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 115 - 5 * rank, args)]):
            call = {"correlation": 2 * rank + i + 1}
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100 + rank, "tid": 5,
                           "ts": 1000 + 3 * i, "dur": 2, "args": call})
            events.append({"ph": "X", "cat": "kernel", "name": kernel, "pid": rank, "tid": 7,
                           "ts": 1010 + i * (90 + 5 * rank), "dur": length,
                           "args": {"device": rank, "stream": 7} | call | more})
    name.write_text(json.dumps({"traceEvents": events}))


def ask(steptime, *words):
    answer = subprocess.run([steptime, "trace", *map(str, words), "--json"], capture_output=True, text=True, timeout=60)
    if answer.returncode != 0:
        sys.exit(f"{words}: {answer.stderr}")
    return json.loads(answer.stdout)


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: found {found}, expected {wanted}")


def record_wait(name):
    """The host of two GPUs waits for a kernel of the second one before it launches the next one of the first."""
    lines = [("cudaLaunchKernel", 0, 5, 1), ("gemm", 10, 100, 1), ("cudaLaunchKernel", 6, 5, 2), ("gemm", 20, 900, 2),
             ("cudaStreamSynchronize", 12, 911, 4), ("cudaLaunchKernel", 925, 5, 3), ("gemm", 935, 100, 3)]
    name.write_text(json.dumps({"traceEvents": [
        {"ph": "X", "cat": "kernel", "name": what, "pid": id == 2, "tid": 7, "ts": ts, "dur": dur,
         "args": {"correlation": id, "device": int(id == 2), "stream": 7}} if what == "gemm" else
        {"ph": "X", "cat": "cuda_runtime", "name": what, "pid": 9, "tid": 1, "ts": ts, "dur": dur, "args": {"correlation": id}}
        for what, ts, dur, id in lines] + [
        {"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 1, "tid": 7, "ts": 12, "dur": 911,
         "args": {"correlation": 4, "device": 1, "stream": 7}}]}))


def main():
    steptime = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="devices-") as folder:
        file = pathlib.Path(folder) / "job.json"
        for processes in (1, 2):
            record(processes, file)
            ranks = ask(steptime, "summary", file)["ranks"]
            expect("ranks", len(ranks), 2)
            for gpu, rank in enumerate(ranks):
                busy = sum(c["total_ns"] for c in rank["classes"] if c["name"] == "gemm")
                expect("time of GEMMs", busy, 4000 * (90 + 5 * gpu))
                expect("tasks", rank["gpu_tasks"], 5)
            answer = ask(steptime, "whatif", file, "--set", "speed.gemm=2")
            expect("ranks of what-if", len(answer["ranks"]), processes)
            if processes == 1:
                expect("devices of what-if", [one["device"] for one in answer["ranks"][0]["devices"]], [0, 1])
                idle = [one["gpu"]["idle_ns"] for one in ask(steptime, "idle", file)["ranks"]]
                # GEMMs of a device take 4 x 90 or 95 us of its 630 us, its all-reduce 130 or 100.
                expect("idle time of devices", idle, [630_000 - 490_000, 630_000 - 480_000])
                replayed = ask(steptime, "replay", file)["ranks"][0]["devices"]
                expect("devices of the replay", [one["device"] for one in replayed], [0, 1])
                for what in ("recorded", "replayed"):
                    expect(f"idle time {what}", [one[what]["idle_ns"] for one in replayed], idle)
            else:
                expect("collectives that meet", ask(steptime, "graph", file)["edges"]["ranks"]["inferred"], 1)
        record_wait(file)
        first, second = (one["gpu"] for one in ask(steptime, "idle", file)["ranks"])
        # Without the wait the first GPU is done long before the second one, which ends the window 115 us sooner.
        expect("wait for the other device", 110_000 < first["synchronisation_ns"] < 120_000, True)
        expect("host during that wait", first["host_bound_ns"] < 30_000, True)
        expect("idle time of the other device", second["idle_ns"], 1035_000 - 900_000)
        record_groups(file)
        expect("merged ranks of two groups", len(ask(steptime, "summary", file)["ranks"]), 4)
        expect("their collectives that meet", ask(steptime, "graph", file)["edges"]["ranks"]["exact"], 2)
        # The host works 100 ms after a wait of 3 us: the wait is not the cause of the gap.
        lines = [("cuda_runtime", "cudaLaunchKernel", 0, 5, 1), ("kernel", "gemm", 10, 100, 1),
                 ("cuda_runtime", "cudaStreamSynchronize", 109, 3, 2), ("cuda_runtime", "cudaLaunchKernel", 100112, 5, 3),
                 ("kernel", "gemm", 100120, 100, 3)]
        file.write_text(json.dumps({"traceEvents": [
            {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": 7 if cat == "kernel" else 1, "ts": ts, "dur": dur,
             "args": {"correlation": id} | ({"device": 0, "stream": 7} if cat == "kernel" else {})}
            for cat, name, ts, dur, id in lines]}))
        gpu = ask(steptime, "idle", file)["ranks"][0]["gpu"]
        expect("wait", gpu["synchronisation_ns"] <= 3000, True)
        expect("host", gpu["host_bound_ns"] > 99_900_000, True)
        expect("rest", gpu["rest_ns"] + gpu["caused_ns"], gpu["idle_ns"])
        expect("wait of gaps", ask(steptime, "idle", "--simple", file)["ranks"][0]["gpu"]["synchronisation_ns"] > 99_900_000,
               True)


if __name__ == "__main__":
    main()
