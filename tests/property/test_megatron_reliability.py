# SPDX-License-Identifier: Apache-2.0
"""The sheet megatron-reliability against its sources written out, over random plans: largest of many random numbers
(Blom, Gumbel), what a slow rank costs and what pipelines hide of it (Moye section 5.2, docs/reliability.md),
checkpoints and failures (Daly 2006). What the passes of the plan take is read from the sheet.
"""
from math import ceil, exp, expm1, log, sinh, sqrt

from megatron_plan import GPIPE, Megatron, draw_plan
from sheet import Table, run_tests

ROWS = 1500
NORMAL, LOGNORMAL, UNIFORM, EXPONENTIAL, DISTRIBUTIONS = range(5)
FIRST, MIDDLE, LAST, STAGES = range(4)
STAGE_NAMES = ["first", "middle", "last"]


OTHERS = ["zero_bubble_v", "v_half", "v_min", "dualpipe"]  # schedules whose steps hide in their own way


class Reliability(Megatron):
    def input(self, key):
        return self.given[self.number_of(key)]

    def has_schedule(self, name):
        number = self.number_of("parallel.schedule")
        return self.given[number] == self.inputs[number].value_of(name)

    def run_with(self, x, others):
        """A plan with other inputs by their keys, choices by name."""
        self.plan = x
        values = [read(x) for read in self.readers]
        for key, value in others.items():
            number = self.number_of(key)
            values[number] = self.inputs[number].value_of(value) if isinstance(value, str) else value
        self.run(values)


# ---- random numbers ----


def normal_tail(share):
    """Abramowitz and Stegun 26.2.23."""
    t = sqrt(-2 * log(share))
    return t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)))


def largest_of(kind, spread, count):
    euler = 0.5772157
    score = normal_tail(0.625 / (count + 0.25))  # Blom: 1 - (n - 3/8)/(n + 1/4)
    variance = log(1 + spread * spread)
    harmonic = log(count) + euler + 1 / (2 * count) - 1 / (12 * count * count) + 1 / (120 * count**4)
    if kind == NORMAL:
        return 1 + spread * score
    elif kind == LOGNORMAL:
        return exp(sqrt(variance) * score - variance / 2 * (1 - 0.8225 / max(log(count), 0.8225)))
    elif kind == UNIFORM:
        return 1 + spread * sqrt(3) * (count - 1) / (count + 1)
    else:
        return 1 + spread * (harmonic - 1)


def spread_of(kind, spread, count):
    if kind == EXPONENTIAL:
        return spread
    return 2 * spread * sqrt(3) / (count + 1) if kind == UNIFORM else spread / sqrt(2 * log(max(count, 2)))


class Uneven(Table):
    """Ranks that are not alike. `at_once`: no backward pass before the last forward pass; `circle`: a micro-batch takes
    as long as passes of so many stages, 0: as its slowest."""
    lists = {"excess": STAGES, "hidden": STAGES, "time": STAGES}


def has_stage(x, stage):
    return stage == FIRST or x.p > (2 if stage == MIDDLE else 1)


def ahead_of(b, u, stage, behind):
    """Forward passes before the first backward one."""
    if u.at_once:
        return 0
    if u.folded or u.two_ways:
        return (u.x.p - 1) / 2 if stage == MIDDLE else u.x.p - 1
    v = u.x.v
    many = 2 * behind / v + (v - 1) * u.x.p / v if v > 1 else behind
    return min(many, b.found("m"))


def refer_stage(b, u, stage):
    x = u.x
    behind = x.p - 1 if stage == FIRST else (x.p - 1) / 2 if stage == MIDDLE else 0
    ahead = ahead_of(b, u, stage, behind)
    one_pass = b.of("t_stage", STAGE_NAMES[stage])
    forward = b.of("t_stage_forward", STAGE_NAMES[stage])
    alike = x.p - 2 if stage == MIDDLE and x.p > 3 else 1
    slowest = largest_of(u.kind, u.jitter, x.t * x.cp * x.d * alike)
    waits_half = u.folded or u.two_ways
    wait_forward = u.bubble / 2 if waits_half else u.site * behind / x.v * (one_pass - forward)
    wait_backward = u.bubble / 2 if waits_half else u.site * behind / x.v * forward
    u.excess[stage] = u.share * (slowest - 1)
    later = u.site * u.excess[stage] * ahead
    u.hidden[stage] = min(later * forward, wait_forward) + min(later * (one_pass - forward), wait_backward)
    b.expect_of("stages_behind", STAGE_NAMES[stage], behind)
    b.expect_of("passes_ahead", STAGE_NAMES[stage], ahead)
    b.expect_of("slowest_of_stage", STAGE_NAMES[stage], slowest)
    b.expect_of("excess", STAGE_NAMES[stage], u.excess[stage])
    b.expect_of("hidden_excess", STAGE_NAMES[stage], u.hidden[stage], u.steady)


def spread_out(u):
    """Where middle stages hide from less to more than their mean, the mean of e to that power."""
    wide = (u.x.p - 3) / (u.x.p - 1) * u.hidden[MIDDLE] / u.later if u.x.p > 3 else 0
    most = min(wide, 50)
    return u.later * log(sinh(most) / most) if wide > 0 else 0


def paired_time(b, u):
    """Two stages of V-Half and three of V-Min wait for each other in every micro-batch, until one alone takes longer.
    Passes that last alike leave a half and two thirds of 1F1B's bubble."""
    passes = u.site * u.steady
    once = 2.0 / 3 if u.circle == 3 else 1.0 / 2
    part = (2.0 if u.circle == 3 and u.x.p == 2 else 1.0) / u.circle
    repeated = max(u.bubble - once * u.x.p * passes / b.found("m"), 0)
    alone = passes + u.share * (u.slowest - 1) * passes - repeated
    pair = passes + u.share * ((u.together - 1) * passes + (u.slowest - u.together) * (passes + repeated) * part)
    b.expect("waits_repeated", repeated, passes)
    return max(alone, pair)


def slowest_time(b, u):
    if u.circle > 0:
        return paired_time(b, u)
    ends = (b.of("t_stage", STAGE_NAMES[FIRST]) + b.of("t_stage", STAGE_NAMES[LAST])) / 2
    longest = 0
    total = 0
    for i in range(FIRST, STAGES):
        if not has_stage(u.x, i):
            continue
        one_pass = ends if u.two_ways and i != MIDDLE else b.of("t_stage", STAGE_NAMES[i])
        u.time[i] = (u.site * b.found("m") * one_pass * (1 + u.excess[i]) - u.hidden[i]
                     + (spread_out(u) if i == MIDDLE else 0))
        longest = max(longest, u.time[i])
    for i in range(FIRST, STAGES):
        total += exp((u.time[i] - longest) / u.later) if has_stage(u.x, i) and u.time[i] > 0 else 0
    return max(longest + u.later * log(max(total, 1)), u.site * u.steady * (1 + u.share * (u.slow - 1)))


def uneven_of(b, x):
    computing = b.found("time_gemm") + b.found("time_memory") + b.found("time_slowdown")
    rest = b.found("time_launch") + b.found("time_tp") + b.found("time_cp") + b.found("time_ep")
    return Uneven(x=x, kind=int(b.input("variance.distribution")), jitter=b.input("variance.jitter"),
                  slow=max(b.input("variance.slow"), 1), folded=b.found("folded") > 0,
                  two_ways=b.found("two_ways") > 0, site=b.input("constants.site_factor"),
                  steady=b.found("T_steady"), share=computing / (computing + rest), bubble=b.found("time_bubble"),
                  circle=3 if b.has_schedule("v_min") else 2 if b.has_schedule("v_half") else 0)


def expect_uneven(b, x, at_once):
    u = uneven_of(b, x)
    gpus = x.t * x.cp * x.p * x.d
    tokens = x.ep * (x.etp if x.etp > 0 else x.t) if x.E > 0 else 1
    replicas = x.d if x.zero == 3 else min(ceil(tokens / (x.t * x.cp)), x.d)
    slowest = max(u.slow, largest_of(u.kind, u.jitter, gpus))
    together = largest_of(u.kind, u.jitter, x.t * x.cp * replicas)
    spread = spread_of(u.kind, u.jitter, gpus) * (slowest if u.kind == LOGNORMAL else 1)
    u.at_once = at_once
    u.slowest = slowest
    u.together = together
    u.later = max(spread * u.share, 1e-9) * u.site * u.steady
    b.expect("slow", u.slow)
    b.expect("replicas_together", replicas)
    b.expect("slowest_together", together)
    b.expect("slowest_rank", slowest)
    b.expect("slowest_spread", spread)
    b.expect("computing_share", u.share)
    b.expect("time_later", u.later)
    for i in range(FIRST, STAGES):
        if has_stage(x, i):
            refer_stage(b, u, i)
    if u.slow == 1 and u.jitter == 0:
        b.expect("step_expected", b.found("step_time"))
        return
    varied = (slowest_time(b, u) - u.site * u.steady + (slowest - 1) * b.found("time_optimizer")
              + (together - 1) * u.bubble * u.share)
    b.expect("time_varied[uneven]", varied, b.found("step_time"))
    b.expect("step_expected", b.found("step_time") + varied)


# ---- failures ----


def expect_failures(b, x):
    gpus = x.t * x.cp * x.p * x.d
    of_gpu = b.input("failures.gpu_mtbf")
    of_node = b.input("failures.node_mtbf")
    restart = b.input("failures.restart")
    save = b.input("failures.checkpoint")
    interval = b.input("failures.interval")
    rate = gpus / of_gpu if of_gpu > 0 else 0
    if of_node > 0:
        rate += ceil(gpus / b.found("G")) / of_node
    if not rate > 0 or not save > 0:
        b.expect("goodput", 1)
        b.expect("mtbf", 0)
        b.expect("interval_taken", 0)
        return
    mean = 1 / rate
    part = save / (2 * mean)
    best = sqrt(2 * save * mean) * (1 + sqrt(part) / 3 + part / 9) - save if part < 1 else mean
    interval = interval if interval > 0 else best
    taken = mean * exp(restart / mean) * expm1((interval + save) / mean)
    b.expect("mtbf", mean)
    b.expect("interval_best", best, save)
    b.expect("interval", interval)
    b.expect("interval_taken", taken)
    b.expect("goodput", interval / taken)


def draw_reliability(random, x):
    gpus = x.t * x.cp * x.p * x.d
    mean = 600 * exp(6 * random.random())  # of the whole job

    def sometimes(value):
        return 0 if random.randrange(4) == 0 else value

    return {"variance.slow": sometimes(1 + random.random()), "variance.jitter": sometimes(0.3 * random.random()),
            "variance.distribution": random.randrange(DISTRIBUTIONS), "failures.gpu_mtbf": sometimes(gpus * mean),
            "failures.node_mtbf": sometimes(gpus * mean / 3), "failures.restart": 900 * random.random(),
            "failures.checkpoint": sometimes(exp(8 * random.random())),
            "failures.interval": sometimes(7200 * random.random())}


def test_reliability_is_that_of_the_sources(random):
    b = Reliability(random)
    b.run_plan(draw_plan(random))
    b.expect("step_expected", b.found("step_time"))  # nothing fails or varies by itself
    b.expect("goodput", 1)
    assert b.input("failures.restart") == b.input("failures.checkpoint") == b.input("failures.interval") == 0
    for _ in range(ROWS):
        x = draw_plan(random)
        others = draw_reliability(random, x)
        drawn = random.randrange(8)
        if drawn < 4:
            others["parallel.schedule"] = OTHERS[drawn]
        b.run_with(x, others)
        expect_uneven(b, x, drawn == 0 or (drawn >= 4 and x.schedule == GPIPE))
        expect_failures(b, x)


run_tests(globals())
