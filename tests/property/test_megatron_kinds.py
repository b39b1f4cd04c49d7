# SPDX-License-Identifier: Apache-2.0
"""Identities of the sheet megatron that hold for layers of every kind: parts add up to the step, passes to the layer,
stages to the model, ranks to its parameters. The layers of each stage are the test's, given as a pattern or a
layout would.
"""
from math import log2, inf

from megatron_plan import (A_DELTA, A_DELTA_MOE, A_MAMBA, A_MOE, FULL, KINDS_OF_LAYERS, LAYER_NAMES, LaidOut,
    SELECTIVE, draw_plan_of_kinds, has_attention, is_possible)
from sheet import run_tests

PLANS = 900
RING, ALL_HEADS = range(2)


# ---- identities ----


def expect_layers_of_stages(b):
    x = b.plan
    numbers = {"first": 0, "middle": int(b.found("stage_number[middle]")), "last": int(x.p) - 1}
    for name, number in numbers.items():
        if name == "middle" and x.p <= 2:
            continue
        for kind in range(KINDS_OF_LAYERS):
            b.expect_of("L_stage_kind", f"{name},{LAYER_NAMES[kind]}", x.layers[number][kind])
        b.expect_of("L_stage", name, sum(x.layers[number][:KINDS_OF_LAYERS]))
    for kind in range(KINDS_OF_LAYERS):
        b.expect_kind("L_kind", kind, sum(stage[kind] for stage in x.layers[:int(x.p)]))


def expect_parameters(b):
    """One rank that holds all of the model holds its parameters; of a layer of prediction the norms are left out."""
    x = b.plan
    own = b.found("L_expert_stage[first]") * b.found("P_experts") if x.E > 0 else 0
    depths = 1 if x.mtp_shared > 0 else x.mtp
    norms = 3 * depths * b.found("P_norm") if x.mtp > 0 else 0
    b.expect("parameters", b.found("P[first]") + own + norms)


def expect_passes(b, kind):
    """What a pass takes on the GPU, together, and what of it waits for the host."""
    gpu = b.of_kind("t_gpu", kind)
    waits = b.of_kind("t_layer", kind) - gpu
    b.expect_kind("t_passes", kind, gpu)
    launches = b.of_kind("forward_launch", kind) + b.of_kind("backward_launch", kind)
    b.expect_kind("weights_launch", kind, waits - launches, b.of_kind("t_layer", kind))


def moved_in_layer(b, kind):
    """What of a layer is neither product nor attention nor message."""
    x = b.plan
    each = b.of_kind("t_elementwise", kind) + b.of_kind("t_adapters", kind)
    casts = b.of_kind("t_cast", kind)
    moved = 3 * each + casts + b.of_kind("t_cast_backward", kind) + b.of_kind("t_accumulate", kind)
    moved += b.found("e_streams_backward") / b.found("bw_memory")
    if x.recompute == FULL:
        moved += b.found("recompute_share") * (each + casts)
    if x.recompute == SELECTIVE:
        moved += b.of_kind("t_recompute", kind) - b.of_kind("t_recompute_products", kind)
    return moved


def expect_parts(b):
    parts = ["time_gemm", "time_launch", "time_tp", "time_cp", "time_ep", "time_pp", "time_dp", "time_slowdown",
             "time_bubble", "time_memory", "time_optimizer", "time_hidden", "time_overhead"]
    x = b.plan
    first = b.found("of_first")
    last = b.found("of_head")
    step = b.found("step_time")
    moved = (b.found("m")
             * (first * b.found("t_embedding")
                + (last + b.found("mtp_slowest")) * (b.found("t_head") - b.found("t_logits"))))
    for kind in range(KINDS_OF_LAYERS):
        if is_possible(x, kind):
            moved += b.of_kind("n_layers", kind) * moved_in_layer(b, kind)
    b.expect("time_memory", x.site * moved, step)
    b.expect("time_overhead", x.site * x.overhead)
    for part in parts:
        if not -1e-9 * step <= b.found(part) < inf:
            b.fail(f"{part} is {b.found(part)}")


def expect_copies(b):
    """A copy goes to one rank at least, and to no more than there are experts of a token or ranks."""
    x = b.plan
    ranks = b.found("copies_ranks")
    groups = b.found("copies_groups")
    if x.E <= 0:
        return
    assert 1 - 1e-9 <= ranks <= min(x.ep, x.K) + 1e-9
    assert 1 - 1e-9 <= groups <= ranks + 1e-9
    assert b.found("sent_links") <= ranks + groups


def exchange(b, bytes, ranks):
    """An all-to-all of so many bytes among the ranks of a context-parallel group, or some of them."""
    x = b.plan
    node = min(ranks, b.found("cp_per_node"))
    nic = b.found("bw_nic")
    start = x.alpha + node * x.alpha_rank + x.alpha_node * log2(ranks / node)
    inside = b.found("bw_link") * (1 - x.small_group / ranks)
    # what leaves a machine takes a rank's own share of the NICs
    time = bytes * (ranks - node) / ranks / nic if ranks > node else bytes * (ranks - 1) / ranks / inside
    return start + time


def expect_exchanges(b):
    """Queries, keys, values and context of attention, or what goes into a scan and comes out of it."""
    x = b.plan
    bytes = b.found("wc") * b.found("n") / x.t
    passes = b.found("passes") + 1
    inner = 1 if x.cp_method == RING else x.cp if x.cp_method == ALL_HEADS else b.found("cp_per_node")
    heads = x.a * (b.found("dq") + b.found("dv"))
    heads += b.found("kv") * (b.found("dq") + b.found("dv"))
    start = exchange(b, 0, inner) if inner > 1 else 0
    b.expect("t_heads_cp", 3 * start + exchange(b, heads * bytes, inner) if inner > 1 else 0)
    if inner >= x.cp:
        for kind in range(KINDS_OF_LAYERS):
            if is_possible(x, kind) and has_attention(kind):
                b.expect_kind("t_cp", kind, passes * b.found("t_heads_cp"))
    for kind in range(KINDS_OF_LAYERS):
        if not is_possible(x, kind) or has_attention(kind):
            continue
        width = 0
        if kind == A_DELTA or kind == A_DELTA_MOE:
            width = 2 * x.delta_k_heads * x.delta_k_dim + 3 * x.delta_v_heads * x.delta_v_dim + 2 * x.delta_v_heads
        if kind == A_MAMBA:
            width = 3 * x.mamba_heads * x.mamba_dim + 2 * x.mamba_groups * x.mamba_state + x.mamba_heads
        time = exchange(b, 0, x.cp) + exchange(b, width * bytes, x.cp) if x.cp > 1 and width > 0 else 0
        b.expect_kind("t_cp_kind", kind, passes * time)


def test_layers_of_every_kind_add_up(random):
    b = LaidOut(random)
    for _ in range(PLANS):
        x = draw_plan_of_kinds(random)
        b.run_plan(x)
        expect_layers_of_stages(b)
        for kind in range(KINDS_OF_LAYERS):
            if is_possible(x, kind):
                expect_passes(b, kind)
        expect_parts(b)
        expect_copies(b)
        expect_exchanges(b)


def test_one_rank_holds_all_parameters(random):
    b = LaidOut(random)
    for _ in range(PLANS):
        x = draw_plan_of_kinds(random)
        x.layers[0] = [sum(counts) for counts in zip(*x.layers[:int(x.p)])]
        x.t = x.p = x.v = x.ep = x.etp = 1
        x.multiple = 1
        b.run_plan(x)
        expect_parameters(b)


def test_impossible_kinds_are_nothing(random):
    """A kind that a model cannot have takes no time and no layers."""
    b = LaidOut(random)
    for _ in range(PLANS // 9):
        x = draw_plan_of_kinds(random)
        b.run_plan(x)
        for kind in range(A_MOE, KINDS_OF_LAYERS):
            for cell in ("L_kind", "t_gemm", "t_layer", "t_gpu", "n_layers", "A"):
                if not is_possible(x, kind) and b.of_kind(cell, kind) != 0:
                    b.fail(f"{cell}[{LAYER_NAMES[kind]}] is {b.of_kind(cell, kind)}")


run_tests(globals())
