#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The way from a published config.json to a launch, for published models: import, search, write, estimate, export.

    first_hour.py STEPTIME SOURCE_ROOT            as the Test Anything Protocol
    first_hour.py STEPTIME SOURCE_ROOT --table    as a table in Markdown

Each model of tests/unit/test_import_published.c on 64 and on 1,024 H100, at 4,096 and at 131,072 tokens (as a test, one
number of GPUs at each length, the other way round for every second model): the number of plans is that of a count by trying every number, the written plan is estimated to the step time that
the search found, and it is exported and read back as a plan with that step time, unless Megatron-LM has no
option for something that the model is made of. The search leaves out what Megatron-LM cannot run: gradients or
weights split over data-parallel ranks under pipeline stages.
"""
import ast
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import count_plans

CLUSTER = "dgx-h100"
ZEROS = (4, 2)  # stages of ZeRO that Megatron-Core runs, without and with pipeline stages
TOKENS = {64: 4 << 20, 1024: 16 << 20}  # of a step
SEQUENCES = (4096, 131072)
NOT_ON_MEGATRON = re.compile(r"Megatron-LM cannot run model\.hyper_connections=|"
                             r"Megatron-LM has no option for what defines this model: found ")
LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"')


def published(root):
    """{model: text of its config.json}, out of the table in C."""
    source = (pathlib.Path(root) / "tests/unit/test_import_published.c").read_text(encoding="utf-8")
    common = re.search(r"#define COMMON[\s\\]*((?:\s*\"(?:[^\"\\]|\\.)*\")+)", source)
    table = source[source.index("published models[] = {"):]
    table = table[:table.index("\n};")].replace("COMMON", common[1])
    models = {}
    for entry in table.split("\n    {")[1:]:
        name, rest = entry.split(",", 1)
        text = rest[:rest.rindex(",\n")]
        models[ast.literal_eval(name).split("/")[0]] = "".join(
            ast.literal_eval(literal) for literal in LITERAL.findall(text))
    return models


class Walk:
    """One model on so many GPUs at so many tokens; ends at the first command that fails."""

    def __init__(self, program, folder, gpus, sequence):
        self.program = program
        self.folder = folder
        self.gpus = gpus
        self.sequence = sequence
        self.batch = TOKENS[gpus] // sequence
        self.plans = self.step = None
        self.fits = False
        self.plan = self.export = ""
        self.faults = []

    def run(self, *words, may_refuse=None):
        done = subprocess.run([self.program, *words], cwd=self.folder, capture_output=True, text=True,
                              check=False)
        refused = may_refuse is not None and may_refuse.search(done.stderr)
        if done.returncode not in (0, 3) and not refused:
            self.faults.append(f"{' '.join(words[:2])}: {done.stderr.strip().splitlines()[-1]}")
        return done

    def count(self, config):
        text = config.get("text_config", config)
        layers = text["num_hidden_layers"]
        experts = next((text[key] for key in ("num_experts", "num_local_experts", "n_routed_experts")
                        if key in text), 0)
        return [count_plans.count(self.gpus, ZEROS, layers, self.batch, experts, expert_tp)
                for expert_tp in ((0, 1) if experts else (0,))]

    def search(self, config):
        found = json.loads(self.run("search", "job.yaml", "--gpus", str(self.gpus), "--top", "1", "--json",
                                    "--write", "best.yaml").stdout)
        self.plans = found["plans"]
        # Further keys that the stack's searches try, such as recomputed norms, multiply them.
        expected = self.count(config)
        if not found["exhaustive"] or not any(count > 0 and self.plans % count == 0 for count in expected):
            self.faults.append(f"{self.plans} plans, by trying every number {expected}")
        self.fits = bool(found["ranking"])
        best = found["ranking"][0] if self.fits else found["nearest"]
        if "cells" in best:
            self.step = best["cells"]["step_time"]
        self.plan = " ".join(f"{key.split('.')[-1]}={value}" for key, value in best.get("plan", {}).items()
                             if value not in ("0", "1", "none") and key != "cluster.nodes")

    def check_step(self, job):
        done = self.run("estimate", job, "--json")
        if done.returncode != 0:
            return
        cells = {cell["name"]: cell["value"] for cell in json.loads(done.stdout)["cells"]}
        if abs(cells["step_time"] / self.step - 1) > 1e-9:
            self.faults.append(f"{job} takes {cells['step_time']} s, the search found {self.step} s")

    def walk(self, config):
        (self.folder / "config.json").write_text(json.dumps(config))
        sets = [word for one in (f"batch.sequence={self.sequence}", f"batch.global={self.batch}")
                for word in ("--set", one)]
        if self.run("import", "hf", "config.json", "--cluster", CLUSTER, *sets, "-o", "job.yaml").returncode != 0:
            return
        self.search(config)
        if self.faults or not self.fits:
            return
        self.check_step("best.yaml")
        done = self.run("export", "megatron", "best.yaml", "-o", "launch.sh", may_refuse=NOT_ON_MEGATRON)
        if done.returncode != 0:
            self.export = "no"
            return
        self.export = "yes"
        if self.run("import", "megatron", "launch.sh", "-o", "again.yaml").returncode == 0:
            self.check_step("again.yaml")


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    models = published(sys.argv[2])
    as_table = "--table" in sys.argv
    assert len(models) >= 19, sorted(models)
    failed = number = 0
    print("| model | GPUs | tokens | plans | best plan | step | fits | exported |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- |" if as_table else f"1..{len(models) * 2}")
    for place, (name, text) in enumerate(models.items()):
        for i, gpus in enumerate(TOKENS):
            for j, sequence in enumerate(SEQUENCES):
                if not as_table and (place + i + j) % 2:
                    continue
                number += 1
                with tempfile.TemporaryDirectory() as folder:
                    walk = Walk(program, pathlib.Path(folder), gpus, sequence)
                    walk.walk(json.loads(text))
                failed += bool(walk.faults)
                step = f"{walk.step:.4g} s" if walk.step is not None else "-"
                if as_table:
                    print(f"| {name} | {gpus} | {sequence} | {walk.plans} | {walk.plan} | {step} | "
                          f"{'yes' if walk.fits else 'no'} | {walk.export or '-'} |", flush=True)
                else:
                    print(f"{'not ok' if walk.faults else 'ok'} {number} - {name} on {gpus} GPUs at {sequence} "
                          f"tokens: {walk.plans} plans, {step}", flush=True)
                for fault in walk.faults:
                    print(f"# {fault}", flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
