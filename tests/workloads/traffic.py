# SPDX-License-Identifier: Apache-2.0
"""The program's verbs, and the bytes that the sheet says a workload file has."""
import json
import subprocess


def run(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, " ".join(words) + "\n" + done.stderr
    return done.stdout, done.stderr


def traffic_of(program, name, options):
    """The sheet's traffic without the gathers that sequence parallelism repeats, which GEMMs hide."""
    words = ["traffic", name, "--json", *options]
    traffic = json.loads(run(program, *words)[0])
    if "constants.regather_hidden=0" in options or not any(kind["kind"] == "tp" for kind in traffic["groups"]):
        return traffic
    if "--check" not in words:
        words += ["--check", "none"]
    plain = json.loads(run(program, *words, "--set", "parallel.sequence_parallel=false")[0])
    for i, kind in enumerate(plain["groups"]):
        if kind["kind"] == "tp":
            traffic["groups"][i] = kind
    return traffic
