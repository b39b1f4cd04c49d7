# SPDX-License-Identifier: Apache-2.0
"""The sheet ddp against Li et al. and docs/ddp.md written out, over random jobs. The test answers what the sheet asks of
a list of layers, with every argument in the answer.
"""
from copy import copy
from math import log, sqrt

from sheet import Sheet, Table, run_tests

JOBS, SIZES = 600, 24
MIB = 1048576

# Keys, what a job names them, how they are drawn, and their defaults in base units where the page has them.
KEYS = {
    "batch.micro": ("batch", lambda random, job: random.whole(1, 300), None),
    "batch.sequence": ("tokens", lambda random, job: random.whole(1, 500), 1),
    "parallel.dp": ("ranks", lambda random, job: random.whole(1, random.choice((2, 300))), None),
    "cluster.nodes": ("nodes", lambda random, job: random.whole(1, 40), None),
    "cluster.gpus_per_node": ("per_node", lambda random, job: random.whole(1, 8), None),
    "cluster.gpu.peak_fp16": ("peak", lambda random, job: random.wide(1e12, 1e15), None),
    "cluster.gpu_utilization": ("share", lambda random, job: random.wide(0.1, 1), None),
    "cluster.bandwidth.dp": ("rate", lambda random, job: random.wide(1e8, 1e11), None),
    "constants.all_reduce_start": ("start", lambda random, job: random.wide(1e-6, 1e-4), 20e-6),
    "constants.bucket_first": ("first", lambda random, job: random.wide(1e4, 1e8), MIB),
    "constants.bucket": ("cap", lambda random, job: random.wide(1e5, 1e9), 25 * MIB),
    "constants.gradient_width": ("width", lambda random, job: random.whole(1, 8), 4),
    "constants.overlap_slowdown": ("slow", lambda random, job: 1 + random.random(), 1),
    "constants.update_traffic": ("update", lambda random, job: random.whole(5, 50), 5 * 4),
    "cluster.gpu.memory_bandwidth": ("memory", lambda random, job: random.wide(1e11, 5e12), None),
    "parallel.pp": ("stages", lambda random, job: random.whole(2, 16) if random.randrange(3) == 0 else 1, 1),
    "batch.global": ("whole", lambda random, job: random.one_in(2) * job.batch * job.ranks * random.whole(1, 40), 0),
    "parallel.zero": ("zero", lambda random, job: random.randrange(2 if job.stages > 1 else 4), 0),
    "cluster.bandwidth.pp": ("stage_rate", lambda random, job: random.one_in(2) * random.wide(1e8, 1e11), 0),
    "constants.shard_unit": ("unit", lambda random, job: random.wide(1e5, 1e9), 1e8),
    "constants.gather_width": ("gather", lambda random, job: random.whole(1, 8), 4),
    "constants.weight_memory": ("weight", lambda random, job: random.whole(1, 8), 4),
    "constants.optimizer_memory": ("state", lambda random, job: random.whole(1, 16), 4),
    "constants.value_width": ("value", lambda random, job: random.whole(1, 4), 0),
    "constants.framework_memory": ("framework", lambda random, job: random.wide(1e8, 1e10), 2.5e9),
    "constants.fragmentation": ("fragments", lambda random, job: 1 + random.random(), 1.04),
    "constants.memory_efficiency": ("reached", lambda random, job: random.one_in(2) * random.uniform(0.3, 1), 0),
    "constants.kernel_launch": ("launch", lambda random, job: random.one_in(2) * random.wide(1e-6, 1e-3), 13.3e-6),
    "variance.slow": ("slowest", lambda random, job: random.one_in(2) * (1 + random.random()), None),
    "variance.jitter": ("jitter", lambda random, job: random.one_in(2) * random.wide(0.01, 0.2), None),
}


# ---- what a list of layers answers ----


PARAMETERS, LAYERS = 23850000, 54


def forward_flop(tokens):
    return 3.7e9 * tokens


def bucket_count(first, cap, width):
    return 2 + 1e8 / (cap + 0.3 * first) / width


def bucket_largest(first, cap, width):
    return 1.3 * cap + 0.7 * first + 9 * width


def buckets_between(first, cap, width, low, high):
    """Some in every range."""
    return 0.01 + (first + 2 * cap + 3 * width + 5 * low + 7 * high) / (2000 * MIB)


def bucket_size(first, cap, width, number):
    """Seventeen of them."""
    return number * (first + 0.01 * cap + width) if number <= 17 else 0


def weigh(times):
    """Each time counts differently, so that none is taken for another."""
    return sum((i + 1) * time for i, time in enumerate(times))


def bucket_run(alone, of_times):
    def run(first, cap, width, backward, slow, *times):
        return alone * backward + 1e-6 * (first / cap + 1e-3 * width) * slow + of_times * weigh(times)
    return run


bucket_total, bucket_exposed, bucket_price = bucket_run(0.03, 1), bucket_run(0.03, 0.3), bucket_run(0.11, 0.3)


def slowdown_step(size, slow):
    return 0.6 * slow + size / (size + 1e7)


def moved_values(tokens, fused):
    return 7e5 * tokens * (1 - 0.4 * fused)


def kernel_count(fused):
    return 174 - 75 * fused


def kept_values(tokens):
    return 3e5 * tokens


def shard_exposed(cap, width, forward, backward, twice, scatter, *times):
    return 0.2 * forward + 0.1 * backward + (0.3 + twice + scatter) * weigh(times) + 1e-12 * cap / width


def of_stages(answer):
    """Of what all functions over stages begin with, and more."""
    def function(fused, kernels, moved, stages, micros, schedule, tokens, *more):
        every = 1 + 0.1 * fused + 0.01 * kernels + 0.7 * moved + 0.01 * schedule + 0.02 * tokens
        return every * answer(stages, micros, *more)
    return function


def stages_run(fused, kernels, moved, stages, micros, schedule, tokens, sending, forward, backward, byte, start):
    return (run_stages(fused, kernels, moved, stages, micros, schedule, tokens, forward, backward)
            + sending * (1e6 * byte + stages * start))


run_stages = of_stages(lambda p, m, forward, backward: (m + p - 1) / p * (forward + 1.3 * backward))
stage_peak = of_stages(lambda p, m, held, value: 1e7 * held / p + 1e6 * value * m)
stage_share = of_stages(lambda p, m, stage: 0.9 / p * (1 + stage))
parameters_of = of_stages(lambda p, m, stage: 1.9e7 / p * (1 + stage))
stage_largest = of_stages(lambda p, m: 1.1 / p)
kept_by = of_stages(lambda p, m, stage: 2.9e5 / p * (1 + stage))
kept_micros = of_stages(lambda p, m, stage: (m + p) * (2.385 + stage))
stage_output = of_stages(lambda p, m, stage: 1e5 / (1 + stage))


def stage_parameters(*stage):
    every = of_stages(lambda p, m: 1)(*stage)
    return 2.4e7 / stage[3] * (1 + 0.1 * every)


TIMES, STAGE, ONE, RUN = ["s"] * SIZES, ["1"] * 7, ["1"], ["B", "B", "B", "s", "1"]
OPEN = {
    "parameter_count": ("1", [], lambda: PARAMETERS), "forward_flop": ("FLOP", ONE, forward_flop),
    "bucket_count": ("1", ["B"] * 3, bucket_count), "bucket_largest": ("B", ["B"] * 3, bucket_largest),
    "buckets_between": ("1", ["B"] * 5, buckets_between), "bucket_size": ("B", ["B", "B", "B", "1"], bucket_size),
    "bucket_total": ("s", RUN + TIMES, bucket_total), "bucket_exposed": ("s", RUN + TIMES, bucket_exposed),
    "bucket_price": ("s", RUN + TIMES, bucket_price), "slowdown_step": ("1", ["B", "1"], slowdown_step),
    "moved_values": ("1", ["1", "1"], moved_values), "kernel_count": ("1", ONE, kernel_count),
    "kept_values": ("1", ONE, kept_values),
    "shard_exposed": ("s", ["B", "B", "s", "s", "1", "1"] + TIMES, shard_exposed),
    "stages_run": ("s", STAGE + ["1", "s", "s", "s", "s"], stages_run),
    "stage_peak": ("B", STAGE + ["B", "B"], stage_peak), "stage_parameters": ("1", STAGE, stage_parameters),
    "stage_output": ("1", STAGE + ONE, stage_output), "stage_share": ("1", STAGE + ONE, stage_share),
    "stage_largest": ("1", STAGE, stage_largest), "parameters_of": ("1", STAGE + ONE, parameters_of),
    "layer_count": ("1", [], lambda: LAYERS), "kept_by": ("1", STAGE + ONE, kept_by),
    "kept_micros": ("1", STAGE + ONE, kept_micros),
}


class Ddp(Sheet):
    relative = 1e-11
    scale = 1.0

    def __init__(self, random):
        super().__init__("ddp", random, OPEN)


# ---- what is expected ----


def expect_messages(b, job):
    ends = [0, 1, 10, 25, 50, 100]
    buckets = (job.first, job.cap, job.width)
    count = rest = bucket_count(*buckets)
    for low, high in zip(ends, ends[1:]):
        between = buckets_between(*buckets, low * MIB, high * MIB)
        b.expect(f"messages_to_{high}MiB", between)
        rest -= between
    b.expect("messages", count)
    b.expect("messages_above_100MiB", rest)
    b.expect("message_largest", bucket_largest(*buckets))
    return count


def expect_buckets(b, job):
    """Of every size of buckets the all-reduce on a ring, equation 4 of Li et al. with a start."""
    d = job.ranks
    times = []
    for number in range(1, SIZES + 1):
        size = bucket_size(job.first, job.cap, job.width, number)
        times.append(job.start + 2 * (d - 1) / d * size / job.rate if size > 0 and d > 1 else 0)
        b.expect(f"bucket_bytes[k{number}]", size)
        b.expect(f"t_bucket[k{number}]", times[-1])
    return times


class Passes(Table):
    """What a plan comes to: passes of all micro-batches of a GPU, and of one through all stages; parameters of the
    fullest stage."""


def expect_passes(b, job):
    plan = Passes(micros=job.whole / (job.batch * job.ranks) if job.whole > 0 else 1,
                  sharded=job.zero >= 2 and job.ranks > 1)
    share = plan.micros / job.stages
    products = share * job.batch * forward_flop(job.tokens) / (job.share * job.peak)
    moved = 0
    if job.reached > 0:
        moved = share * job.batch * 7e5 * job.tokens * job.value / (job.reached * job.memory)
    plan.forward = max(products + moved, share * job.launch * 174)
    plan.backward = 2 * plan.forward
    plan.one_forward = plan.forward / share
    plan.one_backward = plan.backward / share
    # what all functions over stages begin with
    plan.stage = [0, 0, moved / (products + moved), job.stages, plan.micros, 0, job.tokens]
    b.expect("m", plan.micros)
    b.expect("T_forward", plan.forward)
    b.expect("T_passes", 3 * plan.forward)
    return plan


def expect_stage(b, job, plan):
    """The timeline of the first stage, and the passes of the slowest one with their messages."""
    stages = job.stages > 1
    every = plan.forward + plan.backward
    share = stage_share(*plan.stage, 0) if stages else 1
    size = job.batch * job.value * stage_output(*plan.stage, 0)
    slowest = job.stages * stage_largest(*plan.stage) * every if stages else every
    b.expect("placed", 1 if stages else -1)
    b.expect("t_stage_forward", share * plan.one_forward)
    b.expect("t_stage_backward", share * plan.one_backward)
    b.expect("t_transfer", job.start + size / (job.stage_rate or job.rate) if stages else 0)
    b.expect("T_slowest", slowest)
    b.expect("T_others", every + b.found("T_bubble") - slowest, 1 + slowest)


def expect_pipeline(b, job, plan):
    every = plan.forward + plan.backward
    byte = job.batch * job.value / (job.stage_rate or job.rate)
    alone, sending = (stages_run(*plan.stage, sends, plan.one_forward, plan.one_backward, byte, job.start)
                      if job.stages > 1 else every for sends in (0, 1))
    plan.parameters = stage_parameters(*plan.stage) if job.stages > 1 else PARAMETERS
    sent = job.batch * plan.micros * job.value * stage_output(*plan.stage, 0)
    b.expect("N_stage", plan.parameters)
    b.expect("T_bubble", max(alone - every, 0), 1 + every)
    b.expect("T_transfers", max(sending - alone, 0), 1 + alone)
    b.expect("pp_sent", sent if job.stages > 1 else 0)
    expect_stage(b, job, plan)
    return max(alone, every) + max(sending - alone, 0)


def expect_units(b, job, plan):
    """Zhao et al. sections 3.2 and 3.3: an all-gather each way, a reduce-scatter, ring by ring."""
    ring = (job.ranks - 1) / job.ranks / job.rate
    cap = job.unit * job.gather
    sizes = [bucket_size(cap, cap, job.gather, number) * plan.sharded for number in range(1, SIZES + 1)]
    largest = max(sizes)
    plan.gather = [job.start + ring * size if size > 0 else 0 for size in sizes]
    scatter = job.start + ring * largest * job.width / job.gather
    plan.scatter = scatter / max(plan.gather) if plan.sharded else 0
    gathered = 2 * largest if job.zero >= 3 else PARAMETERS * job.gather
    b.expect("unit_largest", largest)
    b.expect("scatter_share", plan.scatter)
    b.expect("M_gathered", gathered if plan.sharded else 0)


def shards_exposed(job, plan):
    cap = job.unit * job.gather
    passes = plan.slowed * plan.one_forward, plan.slowed * plan.one_backward
    exposed = shard_exposed(cap, job.gather, *passes, job.zero >= 3, plan.scatter,
                            *plan.gather)
    return plan.micros * exposed if plan.sharded else 0


def shards_all(job, plan):
    cap = job.unit * job.gather
    total = bucket_total(cap, cap, job.gather, plan.one_backward, 1, *plan.gather)
    return plan.micros * ((2 if job.zero >= 3 else 1) + plan.scatter) * total if plan.sharded else 0


def shards_price(job, plan, late):
    """Hidden units lengthen the passes by what these then lack."""
    return (shards_all(job, plan) - shards_exposed(job, late)) * (1 - 1 / plan.slowed)


def expect_held(b, job, plan):
    """What a GPU of the first stage holds through the step."""
    d = job.ranks
    split = d if plan.sharded else 1
    buckets = d > 1 and not plan.sharded
    parameters = parameters_of(*plan.stage, 0) if job.stages > 1 else PARAMETERS
    kept = job.batch * job.value * kept_by(*plan.stage, 0)
    gathered = b.found("M_gathered")
    gathers = plan.micros * (2 if job.zero >= 3 else 1) if plan.sharded else job.zero == 1 and d > 1
    held = ((job.weight + job.width) / split + job.state / (d if job.zero >= 1 else 1) + (job.width if buckets else 0))
    peak = stage_peak(*plan.stage, held, job.batch * job.value)
    b.expect("held_parameter", held)
    b.expect("held_weights", parameters * job.weight / split)
    b.expect("held_gradients", parameters * job.width / split)
    b.expect("held_optimizer", parameters * job.state / (d if job.zero >= 1 else 1))
    b.expect("held_buckets", parameters * job.width if buckets else 0)
    b.expect("gathered_in_passes", gathered if job.zero >= 3 else 0)
    b.expect("gathered_in_step", 0 if job.zero >= 3 else gathered)
    b.expect("summed_gradients", parameters * job.width if buckets else 0)
    b.expect("split_gradients", plan.micros * parameters * job.width if plan.sharded else 0)
    b.expect("gathered_share", gathers * parameters * job.gather / d)
    b.expect("kept_by_pass", kept)
    b.expect("kept_at_once", kept_micros(*plan.stage, 0))
    b.expect("M_asked", parameters * held + kept_micros(*plan.stage, 0) * kept + gathered)
    b.expect("memory", job.fragments * (peak + gathered) + job.framework)


def expect_ends(b, job, plan):
    """What gradients and weights take that goes through rings after the passes."""
    d = job.ranks
    ring = (d - 1) / d / job.rate * plan.parameters
    reduce = job.start + 2 * ring * job.width if job.stages > 1 and d > 1 else 0
    weights = job.start + ring * job.gather if job.zero == 1 and d > 1 else 0
    b.expect("T_stage_reduce", reduce)
    b.expect("T_weights", weights)
    return reduce + weights


def bytes_sent(job, plan):
    share = (job.ranks - 1) / job.ranks
    if plan.sharded:
        return plan.micros * share * PARAMETERS * ((2 if job.zero >= 3 else 1) * job.gather + job.width)
    parameters = parameters_of(*plan.stage, 0) if job.stages > 1 else PARAMETERS
    return share * parameters * (2 * job.width + (job.gather if job.zero == 1 else 0))


def largest_normal(spread, count):
    """Blom's place of the largest of so many normal numbers, by Abramowitz and Stegun 26.2.23."""
    t = sqrt(-2 * log(0.625 / (count + 0.25)))
    return 1 + spread * (t - (2.515517 + t * (0.802853 + t * 0.010328))
                         / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))))


def expect_late(b, job, plan, compute, run):
    """The step whose passes all last as long as those of the slowest GPU."""
    slowest = max(job.slowest, largest_normal(job.jitter, job.ranks))
    varies = (job.slowest > 1 or job.jitter > 0) and job.stages == 1
    late = copy(plan)
    late.one_forward *= slowest
    late.one_backward *= slowest
    step = slowest * compute + b.found("T_weights") + shards_exposed(job, late) + shards_price(job, plan, late)
    if job.ranks > 1 and not plan.sharded:
        run = [*run[:3], run[3] * slowest, *run[4:]]
        step += bucket_exposed(*run) + bucket_price(*run)
    b.expect("slowest_rank", slowest)
    b.expect("ranks_together", job.ranks if plan.sharded else 1)
    b.expect("step_time_of[uneven]", step if varies else 0)
    b.expect("step_expected", 0 if job.stages > 1 else step if varies else b.found("T_step"))
    if varies:
        b.expect("time_varied[uneven]", step - b.found("T_step"), 1e2 * step)


def expect_step(b, job):
    """Equations 4 and 9 and appendix B of Li et al., and what surrounds them in other plans."""
    d = job.ranks
    plan = expect_passes(b, job)
    pipeline = expect_pipeline(b, job, plan)
    expect_units(b, job, plan)
    expect_held(b, job, plan)
    ends = expect_ends(b, job, plan)
    update = plan.parameters / (d if job.zero >= 1 else 1) * job.update / job.memory
    size = PARAMETERS * job.width
    units = PARAMETERS * job.gather / bucket_count(job.unit * job.gather, job.unit * job.gather, job.gather)
    buckets_mean = size / expect_messages(b, job)
    slow = slowdown_step(units if plan.sharded else buckets_mean, job.slow)
    plan.slowed = max(slow, 1)
    times = expect_buckets(b, job)
    buckets = d > 1 and job.stages == 1 and not plan.sharded
    alone = [job.first, job.cap, job.width, plan.one_backward, 1, *times]
    run = [*alone[:4], max(slow, 1), *times]
    transfers = b.found("T_transfers")
    comm = transfers + ends + shards_all(job, plan) + (bucket_total(*alone) if buckets else 0)
    exposed = ends + shards_exposed(job, plan) + (bucket_exposed(*run) if buckets else 0)
    price = bucket_price(*run) if buckets else shards_price(job, plan, plan)
    compute = plan.forward + plan.backward + update
    step = pipeline + update + price + exposed
    b.expect("dp_sent", bytes_sent(job, plan))
    b.expect("message_bytes", size)
    b.expect("slow", slow)
    b.expect("slowed", max(slow, 1))
    b.expect("T_update", update)
    b.expect("T_comm", comm)
    b.expect("T_exposed", exposed)
    b.expect("T_hidden", comm - transfers - exposed, 1 + comm)
    b.expect("T_slowdown", price)
    b.expect("step_time", step)
    b.expect("R_comm", comm / step)
    b.expect("R_exposed", (exposed + transfers) / step)
    b.expect("overlap", (comm - transfers - exposed) / comm if comm > 0 else 0)
    b.expect("scaling", compute / step)
    b.expect("samples_per_s", job.batch * plan.micros * d / step)
    expect_late(b, job, plan, compute, run)


def test_steps_are_those_of_the_equations(random):
    b = Ddp(random)
    for _ in range(JOBS):
        job = Table()
        for member, draw, _ in KEYS.values():
            setattr(job, member, draw(random, job))
        b.run({key: getattr(job, member) for key, (member, _, _) in KEYS.items()} | {"variance.distribution": "normal"})
        expect_step(b, job)


def test_defaults_are_those_of_the_page(random):
    """docs/ddp.md: buckets of PyTorch; gradients in fp32; weight, gradient and momentum of SGD moved."""
    Ddp(random).expect_defaults({key: value for key, (_, _, value) in KEYS.items() if value is not None})


run_tests(globals())
