# SPDX-License-Identifier: Apache-2.0
"""Layers of every kind against megatron_layers.py, over random plans: times of their passes, what they keep for the
backward pass, and what stages and mean layers are made of.
"""
from math import ceil, log1p

from megatron_layers import (FP8_BLOCK, FULL_GRAPH, LAYER_GRAPHS, NO_GRAPHS, SCOPED_GRAPHS, attention_arguments,
    bytes_of, etp_of, experts_arguments, has_mlp, is_delta, keys_in_full, keys_in_window, qkv_width, refer_layers_of,
    stream_bytes, times_rows, width_in_full)
from megatron_plan import (AN_ATTENTION, AN_EXPERTS, AN_MLP, A_DENSE, A_MAMBA, A_MOE, FP32, FULL, KINDS_OF_LAYERS,
    LORA, LaidOut, SELECTIVE, ZERO_BUBBLE, ZERO_BUBBLE_2, draw_plan_of_kinds, has_attention, is_possible, is_routed)
from sheet import Table, run_tests

PLANS = 900


def over_plans(random, expect_cells):
    b = LaidOut(random)
    for _ in range(PLANS):
        x = draw_plan_of_kinds(random)
        r = refer_layers_of(x)
        b.run_plan(x)
        expect_cells(b, r)


def seen_by_provider(*arguments):
    """Every argument is used, also those that only distinguish shapes."""
    return 1e-3 + sum(1e-5 * (i + 2) * log1p(a) for i, a in enumerate(arguments))


def test_providers_are_told_shapes(random):
    units = ["1", "1", "1", "1", "1", "B", "FLOP", "FLOP/s", "1", "B", "B/s", "s"]
    b = LaidOut(random, {"fused_attention": ("s", units[:11], seen_by_provider),
                         "grouped_experts": ("s", units, seen_by_provider)})
    for _ in range(PLANS // 3):
        x = draw_plan_of_kinds(random)
        r = refer_layers_of(x)
        b.run_plan(x)
        full = attention_arguments(r, keys_in_full(r), width_in_full(r), times_rows(r))
        window = attention_arguments(r, keys_in_window(r), r.dq + r.dv, 1)
        b.expect("t_chosen", seen_by_provider(*full))
        b.expect("t_window", seen_by_provider(*window))
        if x.E > 0:
            b.expect("t_experts", seen_by_provider(*experts_arguments(r)))


def expect_times(b, kind, one):
    b.expect_kind("t_gemm", kind, one.products)
    b.expect_kind("core_forward", kind, one.core)
    b.expect_kind("t_forward", kind, one.forward)
    b.expect_kind("t_backward", kind, one.backward)
    b.expect_kind("t_recompute", kind, one.again)
    b.expect_kind("t_wgrad", kind, one.weights)


def expect_all_times(b, r):
    for kind in range(KINDS_OF_LAYERS):
        if is_possible(r.x, kind):
            expect_times(b, kind, r.layers[kind])


def test_times_of_every_kind_are_those_of_its_matrices(random):
    over_plans(random, expect_all_times)


def expect_activations(b, r):
    for kind in range(KINDS_OF_LAYERS):
        if not is_possible(r.x, kind):
            continue
        b.expect_kind("A_kept", kind, r.layers[kind].kept)
        b.expect_kind("A", kind, r.layers[kind].stays)


def test_activations_of_every_kind_are_its_tensors(random):
    over_plans(random, expect_activations)


# ---- the host, messages and passes: docs/megatron.md#launch ----


def launches_of(x, kind):
    if kind == A_MAMBA:
        return x.mamba_launch
    if kind == AN_ATTENTION or kind == AN_MLP:
        return 0.5
    if kind == AN_EXPERTS:
        return max(x.moe_launch - 0.5, 0.5)
    return x.moe_launch if is_routed(kind) else 1


def host_time(r, kind):
    x = r.x
    passes = 0.75 + 0.25 * r.share if x.recompute == FULL else 0.8 if x.recompute == SELECTIVE else 0.75
    host = launches_of(x, kind) * passes * (x.launch + x.launch_rank * (x.t - 1))
    if x.graphs == FULL_GRAPH:
        return 0
    if x.graphs != NO_GRAPHS:
        host *= x.graph_moe if is_routed(kind) else x.graph_launch
    if is_routed(kind) and (r.narrow or x.bias > 0):  # outside of graphs
        host += x.expert_launch * x.E / x.ep
    if is_routed(kind) and x.dispatcher < 3:  # not with HybridEP
        host *= 1 + (x.overlap_launch - 1) * x.hide_ep
    return host * x.grace if x.host > 0 else host


def blocks_of(r, kind):
    """Blocks whose tokens tensor parallelism splits; experts may have theirs split already."""
    experts = etp_of(r.x) == r.x.t or r.x.fs > 0
    if r.x.hybrid > 0:
        return 0 if kind == AN_EXPERTS and not experts else 1
    return 1 if is_routed(kind) and not experts else 2


class Messages(Table):
    pass


def messages_of(b, r, kind):
    x = r.x
    passes = 1 + r.share
    forward = blocks_of(r, kind)
    whole = forward * (2 + r.share * (1 - x.early_stop / 2))
    slow, exposed = b.of_kind("t_slowdown_tp", kind), b.of_kind("t_tp", kind)
    again = b.of_kind("again_hides", kind)
    sent = Messages(forward=forward * exposed, whole=whole * exposed + forward * b.of_kind("t_tp_again", kind),
                    slow_forward=forward * slow,
                    slow_all=whole * slow + forward * again * (1 - 1 / b.found("slow_tp")))
    if has_attention(kind):
        ring, slow = b.found("t_ring_cp"), b.found("slow_cp")
        hidden = min(ring, slow * x.hide_cp * b.of_kind("core_forward", kind))
        whole, slow_whole = b.of_kind("t_cp", kind), b.of_kind("t_slowdown_cp", kind)
        sent.forward += whole / 2 if weights_wait(x) else b.found("t_heads_cp") + ring - hidden
        sent.whole += whole
        sent.slow_forward += slow_whole / 2 if weights_wait(x) else hidden * (1 - 1 / slow)
        sent.slow_all += slow_whole
    if not has_attention(kind):  # exchanges of heads, which test_megatron_kinds.py works out
        exchanged = b.of_kind("t_cp_kind", kind)
        sent.forward += exchanged / (2 if weights_wait(x) else passes + 1)
        sent.whole += exchanged
    if is_routed(kind):
        sent.forward += b.of_kind("forward_ep", kind)
        sent.whole += b.of_kind("t_ep", kind)
        sent.slow_forward += b.of_kind("forward_ep_hides", kind) * (1 - 1 / b.found("slow_ep"))
        sent.slow_all += b.of_kind("t_slowdown_ep", kind)
    return sent


def later_of(x, y, power):
    longer = max(x, y)
    return longer * (1 + (min(x, y) / longer)**power)**(1 / power) if longer > 0 else 0


def weights_wait(x):
    return x.schedule == ZERO_BUBBLE or x.schedule == ZERO_BUBBLE_2


def expect_layer(b, r, kind):
    x = r.x
    one = r.layers[kind]
    sent = messages_of(b, r, kind)
    weights = min(one.weights, one.backward)
    work = one.forward + one.backward + one.again
    first = (one.forward + one.backward - weights) / 2 if weights_wait(x) else one.forward
    gpu = work + sent.whole + sent.slow_all
    sync = x.moe_sync * (1 if x.ep > 1 else 0.3) if is_routed(kind) and x.graphs != FULL_GRAPH else 0
    b.expect_kind("t_gpu", kind, gpu)
    launches = host_time(r, kind) / (r.share + 3)  # of a forward pass; others have those of several
    forward = first + sent.forward + sent.slow_forward
    times = [(forward, 1), (gpu - forward - weights, r.share + 1), (weights, 1)]
    if not weights_wait(x):
        times = [(forward, 1), (gpu - forward, r.share + 2)]
    b.expect_kind("t_layer", kind, sum(later_of(time, count * launches, x.sharpness) for time, count in times) + sync)
    b.expect_kind("t_forward_pass", kind, first + sent.forward + sent.slow_forward)
    b.expect_kind("t_backward_pass", kind, work - first - weights + sent.whole - sent.forward + sent.slow_all
                - sent.slow_forward)
    b.expect_kind("forward_sent", kind, sent.forward)
    b.expect_kind("forward_slowdown", kind, sent.slow_forward)
    b.expect_kind("forward_pass", kind, first + sent.forward + sent.slow_forward
                + b.of_kind("forward_launch", kind) + b.of_kind("forward_host", kind))
    b.expect_kind("weights_pass", kind, weights + b.of_kind("weights_launch", kind))


def expect_all_layers(b, r):
    for kind in range(KINDS_OF_LAYERS):
        if is_possible(r.x, kind):
            expect_layer(b, r, kind)


def test_layers_are_their_passes_messages_and_launches(random):
    over_plans(random, expect_all_layers)


def layers_of_kind(x, kind):
    count = 0
    for stage in range(int(x.p)):
        count += x.layers[stage][kind]
    return count


def expect_mean(b, mean, routed, value_of, of_a_chunk):
    """Of the layers with or without experts, by how many there are of each kind in the model or on the chunk that is
    asked for."""
    kinds = [kind for kind in range(KINDS_OF_LAYERS) if is_routed(kind) == routed and is_possible(b.plan, kind)]
    counts = [b.of_kind("L_asked", kind) if of_a_chunk else layers_of_kind(b.plan, kind) for kind in kinds]
    total = sum(count * value_of(kind) for kind, count in zip(kinds, counts))
    member = "with_experts" if routed else "without_experts"
    if sum(counts) > 0:
        b.expect_of(mean, member, total / sum(counts), b.found("t_stage[first]") * 1e-6)
    elif routed:
        b.expect_of(mean, member, 0)


# Cells of a kind and what lays out their means.
MEANS = {"forward_mean": "t_forward_work", "forward_mean_slowdown": "forward_slowdown",
         "backward_mean": "backward_work", "backward_mean_slowdown": "backward_slowdown",
         "weights_mean": "weights_work", "weights_mean_launch": "weights_launch"}


def expect_means(b, r, of_a_chunk):
    x = b.plan
    def tp_of(kind):
        return blocks_of(r, kind) * b.of_kind("t_tp", kind)

    def backward_cp(kind):
        return b.of_kind("t_cp", kind) - b.of_kind("cp_forward", kind)

    for routed in (False, True):
        for mean, cell in MEANS.items():
            expect_mean(b, mean, routed, lambda kind, cell=cell: b.of_kind(cell, kind), of_a_chunk)
        for one in ("forward", "backward"):
            expect_mean(b, f"{one}_mean_launch", routed,
                        lambda kind, one=one: b.of_kind(f"{one}_launch", kind) + b.of_kind(f"{one}_host", kind), of_a_chunk)
        expect_mean(b, "forward_mean_tp", routed, tp_of, of_a_chunk)
        expect_mean(b, "backward_mean_tp", routed,
                    lambda kind: (tp_of(kind) * (1 + r.share * (1 - x.early_stop / 2))
                                  + blocks_of(r, kind) * b.of_kind("t_tp_again", kind)), of_a_chunk)
        expect_mean(b, "forward_mean_cp", routed, lambda kind: b.of_kind("cp_forward", kind), of_a_chunk)
        expect_mean(b, "backward_mean_cp", routed, backward_cp, of_a_chunk)


def expect_means_of_both(b, r):
    expect_means(b, r, False)
    b.given[b.number_of("parallel.chunk")] = 1
    b.run(b.given)
    expect_means(b, r, True)


def test_mean_layers_are_means_of_their_kinds(random):
    over_plans(random, expect_means_of_both)


# ---- parameters and memory of stages ----


def parameters_of(r, kind):
    x = r.x
    one = r.layers[kind]
    norm = (1 if x.rms_norm > 0 else 2) * x.h
    count = norm if x.hybrid > 0 else 2 * norm + x.bias * 2 * x.h
    for each in one.linears:
        count += each.ins * each.out
    if has_attention(kind):
        count += x.bias * qkv_width(r) / r.t
    if has_mlp(kind):
        count += x.bias * r.up * r.f / r.t
    return count + (x.h * x.E if is_routed(kind) else 0)


def state_bytes(r, stored, shards, ranks):
    """Bytes of a weight, its gradient and its states, split over so many ranks of each."""
    x = r.x
    adapts = x.task == LORA
    bytes = stored
    if x.zero > 2:
        bytes = 0 if x.master_weights > 0 else stored / shards
    gradients = 0 if adapts else r.g + x.second_gradient
    master = 0 if x.weights == FP32 or x.master == 3 else 2 if x.master > 0 else 4
    moments = 0 if adapts else 2 * bytes_of(x.moments) + master
    bytes += gradients / (shards if x.zero > 2 else ranks if x.zero > 1 else 1)
    return bytes + moments / (shards if x.zero > 2 and x.outer <= 0 else ranks if x.zero > 0 else 1)


def copies_of_weights(r):
    x = r.x
    one_scale = x.recipe < FP8_BLOCK
    if not r.narrow or x.zero > 2:
        return 0
    return (1 if x.mxfp8 > 0 and one_scale else 2) * r.w_q


def stored_weight(r):
    if not r.narrow or r.x.gather == 0:
        return r.w
    return r.w_q if r.x.zero > 2 else 0


def kept_predicting(r):
    """A layer, two norms and the two inputs of their projection: DeepSeek-V3 sec. 2.2."""
    x = r.x
    kept = (r.layers[AN_ATTENTION].stays
            + r.layers[AN_EXPERTS].stays if x.hybrid > 0 else r.layers[A_MOE if x.E > 0 else A_DENSE].stays)
    return kept + 2 * (r.w + r.w_saved) * r.n * x.h / r.split


def expect_stage(b, r, name, layers, flight):
    x = r.x
    kept = layers[KINDS_OF_LAYERS] * kept_predicting(r)
    again = 0
    blocks = layers[KINDS_OF_LAYERS] * b.found("P_prediction")
    for kind in range(KINDS_OF_LAYERS):
        one = r.layers[kind]
        if layers[kind] <= 0:
            continue
        kept += layers[kind] * one.stays
        blocks += layers[kind] * parameters_of(r, kind)
        if x.recompute == FULL:
            again = max(again, one.kept - stream_bytes(r))
        elif x.recompute == SELECTIVE:
            again = max(again, one.dropped)
    b.expect_of("A_stage", name, kept)
    b.expect_of("M_layers", name, kept * flight)
    b.expect_of("M_recompute", name, again)
    b.expect_of("P_blocks", name, blocks)


def expect_states(b, r, name, layers):
    x = r.x
    ranks = x.d * x.cp
    shards = x.shard if x.shard > 0 else ranks
    expert_ranks = x.t * x.cp * x.d / (x.ep * etp_of(x))
    stored = stored_weight(r)
    copies = copies_of_weights(r)
    blocks = b.of("P_blocks", name)
    ends = b.of("P", name) - blocks
    experts = b.of("L_expert_stage", name) * b.found("P_experts")
    states = ((copies + state_bytes(r, stored, shards, ranks)) * blocks + state_bytes(r, r.w, shards, ranks) * ends
              + (copies + state_bytes(r, stored, expert_ranks * shards / ranks, expert_ranks)) * experts)
    b.expect_of("M_state", name, states + b.of("m_adapters", name))


def gradients_of(r, kind):
    x = r.x
    mixer = r.n * r.delta_in / r.t if is_delta(kind) else 2 * r.n * r.mamba_in / r.t if kind == A_MAMBA else 0
    ffn = (r.n * (r.up + 1) * r.f / r.t if has_mlp(kind) else r.rows * (2 * r.hl + (r.up + 1) * r.fe / etp_of(x))
           if is_routed(kind) else 0)
    return r.w * (2 * r.n * x.h + max(mixer, ffn))


def expect_work(b, r):
    x = r.x
    widest = 0
    whole = 0
    rows = x.multiple * x.t
    V = rows * ceil(x.V / rows)
    keeps = x.graphs == LAYER_GRAPHS or x.graphs == SCOPED_GRAPHS
    for kind in range(KINDS_OF_LAYERS):
        count = layers_of_kind(x, kind)
        experts = b.found("P_experts") if is_routed(kind) else 0
        widest = max(widest, gradients_of(r, kind)) if count > 0 else widest
        whole += count * (parameters_of(r, kind) + experts)
    if x.fused_wgrad <= 0 and x.task != LORA:
        widest += r.w * x.h * r.up * r.f / r.t
    waiting = x.mtp * min(x.logit_bytes, 4)
    gathered = 0
    if x.keep_gathered > 0 and x.p > 1 and x.zero > 2:
        gathered = (4 * (b.found("P_trained") + b.found("P_trained_experts"))
                    + r.w * (b.found("P_stage") + b.found("P_stage_experts")))
    elif x.zero > 2:
        gathered = (x.prefetch + 2) * r.w * whole / x.L
    b.expect("M_gradients", widest)
    output = 2 * r.w * r.n * x.h + (r.w * x.h * V / r.t if x.task != LORA else 0)
    behind = min(x.logit_bytes, r.w) * r.n * V / r.t + output
    b.expect("M_logits", max(x.logit_bytes * r.n * V / r.t, behind) + waiting * r.n * V / r.t)
    b.expect("M_gathered", gathered)
    b.expect("M_buffers", (x.buffers if x.t * x.cp * x.p * x.d > 1 else 0) + (x.graph_memory if keeps else 0))


def expect_stages(b, r):
    x = r.x
    numbers = {"first": 0, "last": int(x.p) - 1, "middle": int(b.found("stage_number[middle]"))}
    for name, number in numbers.items():
        if name != "middle" or x.p > 2:
            expect_stage(b, r, name, x.layers[number], b.of("in_flight", name))
            expect_states(b, r, name, x.layers[number])
    expect_work(b, r)


def test_stages_hold_their_layers(random):
    over_plans(random, expect_stages)


run_tests(globals())
