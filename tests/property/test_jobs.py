# SPDX-License-Identifier: Apache-2.0
"""Properties of random jobs over all sheets for trainings, shipped models and shipped clusters: parts of the step sum to the
step; communication of one kind, exposed and hidden, takes no longer than the step, nor is a resource busy for longer; the bytes
of `steptime traffic` fit into the step at the rates of data sheets; a faster or larger device never slows a step, or makes a
plan stop fitting; a small change of a real number moves the step little, unless the sheet's input says why (`steps`); and
the step is that of the replayed schedule.
STEPTIME_JOBS=N asks for so many jobs, `./dev properties N`.
"""
import math
import os
import pathlib
import re
import subprocess
import sys

from sheet import run_tests

JOBS = int(os.environ.get("STEPTIME_JOBS", 1000))
CHANGES, FASTER = 10, 3  # of a job
ALIKE = 5 if JOBS <= 10000 else 20  # jobs of one model, cluster and plan with other real numbers
FASTER_KEYS = re.compile(
    r"cluster\.(nic_bandwidth|host_bandwidth|bandwidth\.(tp|pp|dp)|gpu_utilization"
    r"|gpu\.(memory|link_bandwidth|memory_bandwidth|host_bandwidth|peak_\w+|gemm_efficiency\w*))$"
    r"|constants\.\w*_efficiency$")
ROUNDED = 1e-4  # of a step: what messages use of links and NICs is a mean over kinds and passes of layers
SEARCHED = re.compile(r"parallel\.schedule=(zero_bubble_2|zero_bubble_v|v_half|v_min)")  # their order, by the passes' times
REPLAYS, REPLAYED_CLOSELY, REPLAYED_AT_ALL = 350, 0.001, 0.02  # jobs, of which nine in ten; all of them
KNOWN = {  # jobs whose replay was 2 to 6 % off
    "a pass waits for its host a tenth of its time, and its messages fill the links":
        "cluster=jean-zay-a100 cluster.nodes=16 cluster.gpus_per_node=8 model=moye-mixtral-16x7b stack=megatron-core "
        "parallel.tp=8 parallel.pp=1 parallel.dp=8 parallel.cp=2 parallel.zero=3 parallel.ep=16 parallel.expert_tp=8 "
        "parallel.sequence_parallel=false parallel.dispatcher=allgather batch.micro=1 batch.global=184 "
        "batch.sequence=1024 recompute=full overlap.cp=1 overlap.ep=0.0455 constants.overlap_slowdown=1.4564",
    "the last stage has a large output layer, the first one hides the gradients":
        "cluster=dgx-a100 cluster.nodes=1024 cluster.gpus_per_node=8 model=nemotron4-15b stack=torchtitan "
        "parallel.tp=8 parallel.pp=8 parallel.dp=64 parallel.cp=2 parallel.zero=0 parallel.sequence_parallel=true "
        "batch.micro=2 batch.global=128 batch.sequence=2048 recompute=full overlap.tp=0 overlap.cp=0.3206",
    "weights are gathered while separate weight gradients are computed":
        "cluster=dgx-h100 cluster.nodes=64 cluster.gpus_per_node=8 model=deepseek-v2-lite stack=llm-foundry "
        "parallel.tp=8 parallel.pp=8 parallel.dp=2 parallel.cp=4 parallel.zero=3 parallel.ep=8 "
        "parallel.schedule=zero_bubble_2 parallel.sequence_parallel=false parallel.dispatcher=hybridep batch.micro=2 "
        "batch.global=64 batch.sequence=4096 recompute=none overlap.gradients=0 train.task=lora train.lora_rank=82"}
SHOWN = 40


def names(folder):
    return sorted(path.stem for path in pathlib.Path("configs", folder).glob("*.yaml"))


def first_number(path, key):
    found = re.search(rf"^{key}: *(\d+)", pathlib.Path(path).read_text(encoding="utf-8"), re.MULTILINE)
    return int(found.group(1)) if found else 0


CLUSTERS = [(name, first_number(f"configs/clusters/{name}.yaml", "gpus_per_node")) for name in names("clusters")]
MODELS = [(name, first_number(f"configs/models/{name}.yaml", "layers"),
           first_number(f"configs/models/{name}.yaml", "experts")) for name in names("models")]
STACKS = ["plain", *names("stacks")]


class Jobs:
    def __init__(self, random):
        self.random = random
        self.server = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.faults, self.counts = {}, {"jobs": 0, "changes": 0, "faster devices": 0, "slower by another order": 0,
                                    "bytes": 0, "replays": 0, "replays further off": 0}

    def ask(self, line):
        self.server.stdin.write(line + "\n")
        self.server.stdin.flush()

    def read_values(self):
        words = self.server.stdout.readline().rstrip("\n").split("\t")
        assert words[0] == "values", words
        return words[1] == "1", words[2] == "1", [float(word) for word in words[3:]]

    def load(self, sets):
        """False where the job is none."""
        self.sets, self.inputs, self.cells = sets, [], []
        self.ask("job\t" + "\t".join(sets))
        while True:
            words = self.server.stdout.readline().rstrip("\n").split("\t")
            if words[0] == "cell":
                self.cells.append((words[1], words[2]))
            elif words[0] == "input":
                self.inputs.append((int(words[1]), words[2], words[3], *map(float, words[4:7]), words[7]))
            elif words[0] == "error":
                return False
            else:
                self.base = words[1] == "1", words[2] == "1", [float(word) for word in words[3:]]
                return self.base[0] and bool(self.cells) and self.cells[0][0] == "step"

    def vary(self):
        """Other real numbers for some inputs; a value that makes the job none is taken back."""
        for place in self.random.sample(range(len(self.inputs)), min(6, len(self.inputs))):
            number, key, kind, value, least, most, steps = self.inputs[place]
            if kind == "whole" or value == 0 or not math.isfinite(value):
                continue
            new = min(max(value * self.random.wide(0.5, 2), least), 1.0 if 0 < value <= 1 else most)
            self.ask(f"set\t{number}\t{new!r}")
            found = self.read_values()
            if found[0]:
                self.base = found
                self.inputs[place] = number, key, kind, new, least, most, steps
                self.sets.append(f"{key}={new!r} in base units")
            else:
                self.ask(f"set\t{number}\t{value!r}")
                self.read_values()

    def row(self, number, value):
        self.ask(f"row\t{number}\t{value!r}")
        return self.read_values()

    def moved(self, kind, what, values):
        """A step that changes too much, with the part that changes most."""
        parts = {name: abs(after - before) for (use, name), before, after
                 in zip(self.cells, self.base[2], values) if use == "part"}
        change = abs(values[0] - self.base[2][0])
        part = max(parts, key=parts.get, default="")
        what = f"{what}: {self.base[2][0]!r} to {values[0]!r}, most of it {part}"
        self.fault(kind, what)

    def words(self):
        return " ".join(f"'--set={one}'" for one in self.sets)

    def fault(self, kind, what):
        """The first of each kind is kept with its job, the others are counted."""
        count, first = self.faults.get(kind, (0, f"{what}: {self.words()}"))
        self.faults[kind] = count + 1, first

    def end(self):
        self.server.stdin.close()
        self.server.wait()
        print("# " + ", ".join(f"{count} {name}" for name, count in self.counts.items()))
        for kind, (count, first) in sorted(self.faults.items())[:SHOWN]:
            print(f"# {kind}: {count} times, such as {first}")
        assert not self.faults, f"{len(self.faults)} kinds of violations (STEPTIME_SEED={self.random.seed_given})"


def draw_layer_list(random, name, gpus):
    dp = 2 ** random.randint(0, 7)
    return [f"model={name}", f"parallel.dp={dp}", f"batch.micro={random.choice([4, 16, 64])}",
            f"parallel.zero={random.randint(0, 3)}", f"cluster.gpu_utilization={random.uniform(0.2, 0.7)!r}",
            f"cluster.bandwidth.dp={random.wide(1, 200)!r} GB/s", f"constants.bucket={random.wide(4, 100)!r} MB",
            f"constants.overlap_slowdown={random.choice([1, random.uniform(1, 1.6)])!r}"], dp


def draw_li2024(random, name, gpus):
    tp, pp, dp = (2 ** random.randint(0, most) for most in (2, 3, 4))
    micro = 2 ** random.randint(0, 3)
    bandwidths = [f"cluster.bandwidth.{kind}={random.wide(1, 200)!r} GB/s" for kind in ("tp", "pp", "dp")]
    return [f"model={name}", "sheet=li2024", f"parallel.tp={tp}", f"parallel.pp={pp}", f"parallel.dp={dp}",
            f"batch.micro={micro}", f"batch.global={micro * dp * random.randint(1, 32)}", "batch.sequence=1024",
            f"recompute={random.choice(['none', 'full'])}", *bandwidths,
            f"cluster.gpu_utilization={random.uniform(0.2, 0.7)!r}"], tp * pp * dp


def draw_megatron(random, name, layers, experts):
    tp, pp, dp, cp = (2 ** random.randint(0, most) for most in (3, 3, 6, random.choice([0, 0, 2])))
    micro, ep = 2 ** random.randint(0, 2), 2 ** random.randint(0, 5) if experts else 1
    sets = [f"model={name}", "sheet=megatron", f"stack={random.choice(STACKS)}", f"parallel.tp={tp}", f"parallel.pp={pp}",
            f"parallel.dp={dp}", f"parallel.cp={cp}", f"batch.micro={micro}", f"parallel.zero={random.randint(0, 3)}",
            f"batch.global={micro * dp * random.randint(1, 24)}", f"batch.sequence={2 ** random.randint(10, 13)}",
            f"recompute={random.choice(['none', 'selective', 'full'])}",
            f"parallel.sequence_parallel={random.choice(['true', 'false']) if tp > 1 else 'false'}"]
    if experts:
        sets += [f"parallel.ep={ep}", f"parallel.expert_tp={random.choice([1, tp])}",
                 f"parallel.dispatcher={random.choice(['alltoall', 'allgather', 'deepep', 'hybridep'])}",
                 f"model.imbalance={random.choice([1, random.uniform(1, 2)])!r}"]
    if pp > 1 and random.one_in(3) and layers % (2 * pp) == 0:
        sets += ["parallel.schedule=interleaved", "parallel.virtual_stages=2"]
    elif pp > 1 and random.one_in(3):
        sets += [f"parallel.schedule={random.choice(['gpipe', 'zero_bubble', 'zero_bubble_2'])}"]
    for key in ("tp", "cp", "ep", "pp", "gradients", "parameters"):
        if random.one_in(3):
            sets.append(f"overlap.{key}={random.choice([0, 1, random.random()])!r}")
    for key in ("activations", "states"):
        if random.one_in(6):
            sets += [f"offload.{key}={random.choice([1, random.random()])!r}", "cluster.gpu.host_bandwidth=55 GB/s"]
    if random.one_in(8):
        sets += ["train.task=lora", f"train.lora_rank={random.randint(4, 256)}"]
    if random.one_in(4):
        sets.append(f"constants.overlap_slowdown={random.uniform(1, 1.6)!r}")
    if random.one_in(4):
        sets.append(f"precision.recipe={random.choice(['fp8_current', 'fp8_block', 'mxfp8'])}")
    if random.one_in(6):
        sets += [f"variance.slow={random.uniform(1, 1.3)!r}", f"variance.jitter={random.uniform(0, 0.1)!r}"]
    return sets, tp * pp * dp * cp


def draw_job(random):
    name, layers, experts = random.choice(MODELS)
    cluster, per_node = random.choice(CLUSTERS)
    if layers == 0:
        sets, ranks = draw_layer_list(random, name, per_node)
    elif random.one_in(12):
        sets, ranks = draw_li2024(random, name, per_node)
    else:
        sets, ranks = draw_megatron(random, name, layers, experts)
    nodes = max(ranks // max(per_node, 1), 1)
    if per_node == 0 or ranks % per_node:
        nodes, per_node = 1, ranks
    return [f"cluster={cluster}", f"cluster.nodes={nodes}", f"cluster.gpus_per_node={per_node}", *sets]


def expect_sums(jobs):
    """Of the step's bar: parts, and what of them is exposed and hidden."""
    _, _, values = jobs.base
    step = values[0]
    total, part = 0.0, 0.0
    for (use, name), value in zip(jobs.cells[1:], values[1:]):
        if value < -1e-9 * step:
            jobs.fault(f"{name} below 0", f"{value!r} of {step!r}")
        if use == "part":
            total, part = total + value, value
        elif use == "hidden" and part + value > step * (1 + 1e-9):
            jobs.fault(f"{name} hidden and exposed longer than the step", f"{part!r} + {value!r} of {step!r}")
        elif use == "share" and value > 1 + 1e-9:
            jobs.fault(f"{name} longer than the step", f"{value!r} of it")
    if abs(total - step) > 1e-9 * step:
        jobs.fault("parts do not sum to the step", f"{total!r} of {step!r}")


def expect_bytes(jobs):
    """At the rates of data sheets, of the busiest node and GPU; layer lists and li2024 have rates of their own."""
    rates = {key: value for _, key, _, value, *_ in jobs.inputs}
    jobs.ask("traffic")
    crossing, inside = map(float, jobs.server.stdout.readline().split("\t")[1:])
    for name, sent, key in (("NICs", crossing, "cluster.nic_bandwidth"), ("links", inside, "cluster.gpu.link_bandwidth")):
        if sent > 0 and rates.get(key, 0) > 0 and "constants.network_efficiency" in rates:
            jobs.counts["bytes"] += 1
            if sent / rates[key] > jobs.base[2][0]:
                jobs.fault(f"{name} send more bytes than they can", f"{sent / rates[key]!r} s of {jobs.base[2][0]!r}")


def expect_replay(jobs):
    """Of the estimate's own step, which a replay of every message confirms."""
    jobs.ask("replay")
    closed, step = map(float, jobs.server.stdout.readline().split("\t")[1:])
    if step == 0:
        return
    off = abs(step / closed - 1)
    jobs.counts["replays"] += 1
    jobs.counts["replays further off"] += off > REPLAYED_CLOSELY
    if off > REPLAYED_AT_ALL:
        jobs.fault("replay and estimate differ", f"{step!r} s replayed, {closed!r}")


def expect_faster(jobs, number, key, value, most):
    more = min(value * jobs.random.wide(1.01, 3), most)
    if key.endswith(("efficiency", "utilization")):
        more = min(more, 1.0)
    valid, fits, values = jobs.row(number, more)
    if not valid or more <= value:
        return
    _, fitted, before = jobs.base
    jobs.counts["faster devices"] += 1
    if fitted and not fits:
        jobs.fault(f"more {key} makes a plan stop fitting", f"{value!r} to {more!r}")
    if any(SEARCHED.match(one) for one in jobs.sets):
        jobs.counts["slower by another order"] += values[0] > before[0] * (1 + ROUNDED)
    elif values[0] > before[0] * (1 + ROUNDED):
        jobs.moved(f"more {key} slows the step", f"{value!r} to {more!r}", values)


def expect_continuity(jobs, number, key, value, least, most):
    changed = value * 1.001 if value else 0.001
    if not least <= changed <= most:
        changed = value * 0.999
    valid, _, values = jobs.row(number, changed)
    jobs.counts["changes"] += 1
    before = jobs.base[2][0]
    if not valid or abs(values[0] - before) <= 0.01 * before:
        return
    _, _, nearer = jobs.row(number, value + (changed - value) / 10)
    if abs(nearer[0] - before) > 0.15 * abs(values[0] - before):  # steep otherwise, as offloading to a slow host is
        jobs.moved(f"{key} is a cliff", f"{value!r} to {changed!r}", values)


def is_free(one):
    """A real number whose value means no more than its size; 0 marks an unknown quantity."""
    _, _, kind, value, _, _, steps = one
    declared = steps and (value == 0 or not steps.startswith("0 "))
    return (kind == "real" or kind == "quantity" and value != 0) and not declared and math.isfinite(value)


def expect_job(jobs, random):
    jobs.counts["jobs"] += 1
    expect_sums(jobs)
    free = [one for one in jobs.inputs if is_free(one)]
    for number, key, _, value, least, most, _ in random.sample(free, min(CHANGES, len(free))):
        expect_continuity(jobs, number, key, value, least, most)
    rates = [one for one in jobs.inputs if FASTER_KEYS.match(one[1]) and one[3] > 0]
    for number, key, _, value, _, most, _ in random.sample(rates, min(FASTER, len(rates))):
        expect_faster(jobs, number, key, value, most)


def test_properties_of_jobs(random):
    jobs = Jobs(random)
    for _ in range(20 * JOBS):
        if jobs.counts["jobs"] >= JOBS:
            break
        if not jobs.load(draw_job(random)):
            continue
        expect_bytes(jobs)
        if jobs.counts["replays"] < REPLAYS:
            expect_replay(jobs)
        expect_job(jobs, random)
        for _ in range(ALIKE - 1):
            jobs.vary()
            expect_job(jobs, random)
    assert jobs.counts["jobs"] >= JOBS, f"{jobs.counts['jobs']} jobs of {JOBS}"
    while jobs.counts["replays"] < min(REPLAYS, JOBS):
        if jobs.load(draw_job(random)):
            expect_replay(jobs)
    jobs.end()
    assert jobs.counts["replays further off"] <= max(0.1 * jobs.counts["replays"], 5), jobs.counts


def test_known_jobs(random):
    jobs = Jobs(random)
    for what, sets in KNOWN.items():
        assert jobs.load(["sheet=megatron", *sets.split()]), what
        expect_replay(jobs)
        assert jobs.counts["replays further off"] == 0, what
    jobs.end()


if __name__ == "__main__":
    run_tests(globals())
