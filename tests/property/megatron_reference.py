# SPDX-License-Identifier: Apache-2.0
"""What the sheet megatron says, once more and without a sheet: parameters, memory, messages and the step of a plan,
from the papers and the tables of docs/megatron.md. Stages and kinds of layers are indices.
"""
from math import ceil, floor, fmod, log2

from megatron_plan import BF16, FP32, FP8, FULL, GPIPE, SELECTIVE, ZERO_BUBBLE, ZERO_BUBBLE_2
from sheet import Table

FIRST, MIDDLE, LAST, STAGES = range(4)
DENSE, MOE, KINDS = range(3)
ALL_REDUCE = 1
ALL_GATHER = ALL_REDUCE + 1
REDUCE_SCATTER = ALL_REDUCE + 2
ALL_TO_ALL = ALL_REDUCE + 3
SEND_RECV = ALL_REDUCE + 4
PARTS = 11


class Reference(Table):
    """In the letters of the plan; `provided`: collectives and slowdowns are those of the test."""
    lists = {"layers": KINDS, "stage": STAGES, "stage_kind": (STAGES, KINDS), "P_layer": KINDS, "P": STAGES,
             "in_flight": STAGES, "gemm": KINDS, "other": KINDS, "casts": KINDS, "casts_back": KINDS, "blocks": KINDS,
             "sums": KINDS, "forward": KINDS, "backward": KINDS, "again": KINDS, "again_hides": KINDS, "wgrad": KINDS,
             "gpu": KINDS, "layer": KINDS, "stage_time": STAGES, "work": KINDS, "part": PARTS, "hidden": 5, "A_whole": KINDS,
             "A_kept": KINDS, "A_dropped": KINDS, "A": KINDS, "M_state": STAGES, "M_layers": STAGES, "M_work": STAGES,
             "M": STAGES, "frees": 6}


# ---- the model: Korthikanti et al. table 1, Narayanan et al. eq. 2, DeepSeek-V2 sec. 2 ----


def refer_shapes(r):
    x = r.x
    latent = x.kv_rank > 0
    rows = x.multiple * x.t
    r.kv = x.kv if x.kv > 0 else x.a
    r.dh = x.dh if x.dh > 0 else x.h / x.a
    r.dv = x.dv if x.dv > 0 else r.dh
    r.dq = r.dh + (x.rope if latent else 0)
    r.f = x.f if x.f > 0 else 4 * x.h
    r.fe = x.fe if x.fe > 0 else r.f
    r.up = 1 + x.gated
    r.V = rows * ceil(x.V / rows)
    r.layers[MOE] = floor((x.L - x.dense_layers) / x.moe_every) if x.E > 0 else 0
    r.layers[DENSE] = x.L - r.layers[MOE]
    if latent:
        r.heads_out = x.a * r.dq
        r.whole = x.h * x.q_rank + x.h * (x.kv_rank + x.rope)
        r.split = (x.q_rank if x.q_rank > 0 else x.h) * r.heads_out + x.kv_rank * x.a * (r.dh + r.dv)
    else:
        r.heads_out = x.a * r.dh + r.kv * (r.dh + r.dv)
        r.whole = 0
        r.split = x.h * r.heads_out
    r.split += x.a * r.dv * x.h  # back from the heads


def refer_parameters(r):
    x = r.x
    r.mlp = (r.up + 1) * x.h * r.f
    r.expert = (r.up + 1) * x.h * r.fe
    r.shared = (r.up + 1) * x.h * x.fs
    r.router = x.h * x.E
    r.norm = (1 if x.rms_norm > 0 else 2) * x.h
    r.b_heads = x.bias * r.heads_out
    r.b_mlp = x.bias * r.up * r.f
    r.b_whole = x.bias * 2 * x.h + 2 * r.norm
    every = r.split + r.whole + r.b_heads + r.b_whole
    without = (r.layers[DENSE] * (every + r.mlp + r.b_mlp) + r.layers[MOE] * (every + r.shared + r.router)
               + (2 - x.tied) * r.V * x.h + x.positions * x.h + r.norm)
    r.parameters = without + r.layers[MOE] * x.E * r.expert
    r.active = without + r.layers[MOE] * x.K * r.expert
    r.visited = (x.L * (r.split + r.whole) + r.layers[DENSE] * r.mlp
                 + r.layers[MOE] * (x.K * r.expert + r.shared + r.router))


# ---- the plan ----


def refer_stages(r):
    x = r.x
    given = (1 if x.first_layers > 0 else 0) + (1 if x.last_layers > 0 else 0)
    # of interleaved stages, embedding and output layer count as a layer each where only that fills all chunks
    ends = 1 if (x.p > 1 and x.v > 1 and given == 0 and not x.hybrid and x.L % (x.p * x.v) != 0
                 and (x.L + 2) % (x.p * x.v) == 0) else 0
    even = ceil((x.L - x.first_layers - x.last_layers + 2 * ends) / max(x.p - given, 1))
    r.stage[FIRST] = x.first_layers if x.first_layers > 0 else even - ends
    lacks = (x.p - given) * even - (x.L - x.first_layers - x.last_layers + 2 * ends)
    r.stage[MIDDLE] = even - (1 if lacks >= x.p - 2 else 0) if x.p > 2 else 0
    r.stage[LAST] = (x.last_layers if x.last_layers > 0
                     else even - ends - (1 if x.p > 1 and lacks >= x.p - 1 else 0))
    for i in range(STAGES):
        moe = (max(floor((r.stage[i] - x.dense_layers) / x.moe_every), 0) if i == FIRST
               else ceil(r.stage[i] / x.moe_every))
        r.stage_kind[i][MOE] = min(moe, r.layers[MOE]) if x.p > 1 else r.layers[MOE]
        r.stage_kind[i][DENSE] = r.stage[i] - r.stage_kind[i][MOE]


def refer_ranks(r):
    x = r.x
    r.m = x.B / (x.b * x.d)
    r.n = x.b * x.s / x.cp
    r.gpus = x.t * x.cp * x.p * x.d
    r.etp = x.etp if x.etp > 0 else x.t
    r.dp_ranks = x.d * x.cp
    r.expert_ranks = x.t * x.cp * x.d / (x.ep * r.etp)
    r.keeps_whole = x.keep_gathered > 0 and x.p > 1 and x.zero > 1
    r.zero_sent = min(x.zero, 1) if r.keeps_whole else x.zero
    r.ahead = x.prefetch if r.zero_sent > 2 else 0
    groups = max(floor(x.G / x.t), 1)
    r.tp_node = min(x.t, x.G)
    r.cp_node = min(x.cp, groups)
    r.dp_node = min(r.dp_ranks, groups)
    r.ep_node = min(x.ep, max(floor(x.G / r.etp), 1))
    r.expert_node = min(r.expert_ranks, max(floor(x.G / (r.etp * x.ep)), 1))
    r.crossing = 0
    if r.gpus > x.G:
        r.crossing = 1 if r.gpus / x.p >= x.G else (r.gpus / x.G - 1) / (x.p - 1)


def refer_held_parameters(r):
    x = r.x
    r.P_layer[DENSE] = (r.split + r.mlp + r.b_heads + r.b_mlp) / x.t + r.whole + r.b_whole
    r.P_layer[MOE] = (r.split + r.shared + r.b_heads) / x.t + r.whole + r.b_whole + r.router
    r.P_experts = x.E / x.ep * r.expert / r.etp
    r.P_rows = r.V * x.h / x.t
    for i in range(STAGES):
        r.P[i] = r.stage_kind[i][DENSE] * r.P_layer[DENSE] + r.stage_kind[i][MOE] * (r.P_layer[MOE] if x.E > 0 else 0)
    r.P[FIRST] += r.P_rows + x.positions * x.h
    if x.p > 1:
        r.P[LAST] += r.P_rows + r.norm
    else:
        r.P[FIRST] += (1 - x.tied) * r.P_rows + r.norm
        r.P[LAST] = r.P[FIRST]
    r.P_most = max(r.P[FIRST], max(r.P[MIDDLE] if x.p > 1 else 0, r.P[LAST]))
    layers = max(r.stage_kind[FIRST][MOE], max(r.stage_kind[MIDDLE][MOE], r.stage_kind[LAST][MOE]))
    r.P_most_experts = layers * r.P_experts
    r.P_updated = (r.P_most / r.dp_ranks + r.P_most_experts / r.expert_ranks if x.zero > 0 else r.P_most
                   + r.P_most_experts)


def refer_in_flight(r):
    """docs/megatron.md, "micro-batches in flight"."""
    x = r.x
    chunks = x.v > 1
    one_f_one_b = [x.p + ((x.p - 1) / x.v if chunks else 0), x.p + ((x.p - 3) / x.v if chunks else -1), x.p
                   - (x.p - 1) / x.v if chunks else 1]
    for i in range(STAGES):
        held = one_f_one_b[i]
        if x.schedule == GPIPE:
            held = r.m
        elif x.schedule == ZERO_BUBBLE:
            held = one_f_one_b[FIRST]
        elif x.schedule == ZERO_BUBBLE_2:
            held = 2 * x.p - 1
        r.in_flight[i] = min(r.m, held)


# ---- a layer: docs/megatron.md#compute ----


def width_of(type):
    return 4 if type == FP32 else 1 if type == FP8 else 2


def refer_rates(r):
    x = r.x
    r.w = width_of(x.weights)
    r.g = width_of(x.gradients)
    r.o = 2 * width_of(x.moments) + (0 if x.weights == FP32 else 4)
    r.w_gemm = (2 + r.w) / 3 if x.fp8 > 0 else r.w  # two operands in, a wide result out
    r.mask = x.dropout
    own = x.peak_fp32 if x.weights == FP32 else x.peak_bf16 if x.weights == BF16 else 0
    r.peak = own if own > 0 else x.peak_fp16
    r.rate_16 = x.gemm_scale * x.gemm * r.peak
    r.rate = x.fp8_efficiency * x.peak_fp8 if x.fp8 > 0 and x.peak_fp8 > 0 else r.rate_16
    r.slow_bytes = x.eta * x.bandwidth
    r.fast_bytes = x.stream * x.bandwidth
    r.norm_split = x.t if x.sequence_parallel > 0 else 1
    r.load = min(x.imbalance, x.capacity) if x.capacity > 0 else x.imbalance
    r.n_expert = r.n * x.K * r.load * r.etp / x.t
    r.passes = 2 if x.recompute == FULL else 1


def roofline(r, sizes, rate, width):
    """Roofline of an m x k by k x n product, in the type of the blocks or in that of the weights."""
    m = sizes[0]
    n = sizes[1]
    k = sizes[2]
    return max(2 * m * n * k / rate, width * (m * k + k * n + m * n) / r.slow_bytes)


def product(r, m, n, k):
    sizes = [m, n, k]
    return roofline(r, sizes, r.rate, r.w_gemm)


def product_16(r, m, n, k):
    sizes = [m, n, k]
    return roofline(r, sizes, r.rate_16, r.w)


def refer_attention(r):
    x = r.x
    a = x.a / x.t
    width = r.dq + r.dv
    r.scores = r.n * x.s * a
    r.e_flash = r.w * r.n * (a + r.kv / x.t) * width
    if x.unfused > 0:
        bytes = 2 * r.w + x.dropout * (2 * r.w + 1)
        products = max(2 * r.scores * width / (x.scores * r.peak),
                       2 * r.w * (r.scores + r.n * a * width) / r.slow_bytes)
        r.core_forward = products + bytes * r.scores / r.slow_bytes
        r.core_backward = 2 * products + (bytes + r.w) * r.scores / r.slow_bytes
    else:
        pairs = r.scores / 2 if x.causal > 0 else r.scores
        r.core_forward = max(2 * pairs * width / (x.flash * r.rate_16), r.e_flash / r.slow_bytes)
        r.core_backward = 2.5 * r.core_forward  # Dao 2023 sec. 3.1
        # a ring's blocks, all but its own half as large, summed: context in FP32
        later = 0.75 * (x.cp - 1)
        context = 2 * r.w + 8 + later * (r.w + 8)
        gradients = r.w * (a * r.dq * (2 + 3 * later) + 3 * r.kv / x.t * width * x.cp)
        r.core_forward += r.n * a * r.dv * context / r.slow_bytes if x.cp > 1 else 0
        r.core_backward += r.n * gradients / r.slow_bytes if x.cp > 1 else 0
    r.core_again = r.core_forward if x.unfused > 0 and x.recompute == SELECTIVE else 0


def refer_products(r):
    x = r.x
    latent = x.kv_rank > 0
    ins = x.q_rank if latent and x.q_rank > 0 else x.h
    attention = product(r, r.n, r.heads_out / x.t, ins) + product(r, r.n, x.h, x.a * r.dv / x.t)
    if latent:
        attention += (product(r, r.n, x.q_rank + x.kv_rank + x.rope, x.h)
                      + product(r, r.n, x.a * (r.dh + r.dv) / x.t, x.kv_rank))
    r.down = product(r, r.n, x.h, r.f / x.t)
    r.gemm[DENSE] = attention + product(r, r.n, r.up * r.f / x.t, x.h) + r.down
    bytes = r.w_gemm * (r.P_experts + r.n_expert * (2 * x.h + (r.up + 1) * r.fe / r.etp))
    experts = max(2 * r.n_expert * r.expert / r.etp / (x.grouped * r.rate), bytes / r.slow_bytes)
    r.gemm[MOE] = (attention + experts + product_16(r, r.n / x.t, x.E, x.h)
                   + product(r, r.n, (r.up + 1) * x.fs / x.t, x.h))


def refer_traffic_in_memory(r):
    x = r.x
    shared = (10 * r.w + 2 * r.mask) * r.n * x.h / r.norm_split + 2 * r.w * r.n * r.heads_out / x.t
    activation = (r.up + 1) * r.w * r.n
    moved = 8 * r.w * r.n_expert / r.etp * x.h
    r.other[DENSE] = (shared + activation * r.f / x.t) / r.slow_bytes
    r.other[MOE] = ((shared + moved + activation * x.fs / x.t + (r.up + 1) * r.w * r.n_expert * r.fe / r.etp)
                    / r.slow_bytes)
    added = 2 * r.g + (0 if x.fused_wgrad > 0 else r.w)
    r.sums[DENSE] = added * ((r.split + r.mlp) / x.t + r.whole) / r.fast_bytes
    r.sums[MOE] = added * ((r.split + r.shared) / x.t + r.whole + r.P_experts) / r.fast_bytes
    r.logits = 3 * product_16(r, r.n, r.V / x.t, x.h)
    r.head = r.logits + x.loss_bytes * r.n * r.V / x.t / r.slow_bytes + added * r.P_rows / r.fast_bytes
    r.embedding = 6 * r.w * r.n * x.h / r.slow_bytes


def refer_layers(r):
    x = r.x
    attention = r.n * (x.h + x.a * r.dv / x.t)
    shared = r.n * (x.h + x.fs / x.t) if x.fs > 0 else 0
    bytes = x.fp8 * (r.w + 2) / r.slow_bytes  # read once, written by rows and columns
    r.casts[DENSE] = bytes * (attention + r.n * (x.h + r.f / x.t))
    r.casts[MOE] = bytes * (attention + r.n_expert * (x.h + r.fe / r.etp) + shared)
    outputs = r.n * (x.h + r.heads_out / x.t)
    shared_out = r.n * (x.h + r.up * x.fs / x.t) if x.fs > 0 else 0
    r.casts_back[DENSE] = bytes * (outputs + r.n * (x.h + r.up * r.f / x.t))
    r.casts_back[MOE] = bytes * (outputs + r.n_expert * (x.h + r.up * r.fe / r.etp) + shared_out)
    for k in range(KINDS):
        r.forward[k] = r.gemm[k] + r.core_forward + r.other[k] + r.casts[k]
        r.backward[k] = 2 * (r.gemm[k] + r.other[k]) + r.core_backward + r.sums[k] + r.casts_back[k]
        r.again[k] = r.forward[k] if x.recompute == FULL else r.core_again
    if x.recompute == FULL and x.early_stop > 0:
        r.again[DENSE] -= r.down
    r.wgrad[DENSE] = min(r.gemm[DENSE], r.backward[DENSE] / 2)
    r.wgrad[MOE] = r.gemm[MOE] if x.E > 0 else 0


# ---- messages: rings, docs/megatron.md#communication ----


def provided_collective(kind, *a):
    """What the test's providers answer: every argument is in it, so that each of them is seen."""
    return a[4] + a[0] / a[3] * (0.31 * kind + 0.17 * a[1] + 0.053 * a[2])


def provided_slowdown(kind, size, intensity, otherwise):
    return otherwise + kind * 0.1 * size / (size + 3e7) + 0.2 * intensity / (intensity + 100)


def collective(r, kind, a):
    share = (a[1] - 1) / a[1]
    if r.provided:
        return provided_collective(kind, *a)
    if kind == SEND_RECV:
        return a[4] + a[0] / a[3]
    return a[4] + (2 if kind == ALL_REDUCE else 1) * share * a[0] / a[3] if a[1] > 1 else 0


def ring(r, ranks, per_node, once=False):
    """Small groups lose twice as much where bytes go around once."""
    lost = (2 if once else 1) * r.x.small_group / max(ranks, 2)
    return min(r.nic * per_node, r.link) if ranks > per_node else r.link * (1 - lost)


def start(r, ranks, per_node):
    return r.x.alpha + r.x.alpha_rank * per_node + r.x.alpha_node * log2(ranks / per_node)


def grouped(r, kind, size, ranks, node, once=False):
    """A collective of a group whose bandwidth is that of its ring."""
    a = [size, ranks, node, ring(r, ranks, node, once), start(r, ranks, node)]
    return collective(r, kind, a)


def refer_messages(r):
    x = r.x
    r.wc = width_of(x.messages)
    r.nic = x.eta_network * (x.nics if x.nics > 0 else 1e9) / x.G
    r.link = x.eta_link * x.link if x.G > 1 and x.link > 0 else r.nic
    r.intensity = 2 * r.n * x.h * r.f / x.t / (r.w * (r.n * x.h + (x.h + r.n) * r.f / x.t))
    r.intensity_core = 2 * r.scores * (r.dq + r.dv) * (0.5 if x.causal > 0 else 1) / r.e_flash
    r.tp_message = r.wc * r.n * x.h
    r.cp_message = r.wc * r.n * r.kv * (r.dq + r.dv) / x.t
    r.ep_message = r.wc * r.n / x.t * x.K * x.h * r.load
    r.pp_message = r.tp_message / (x.t if x.scatter_gather > 0 or x.sequence_parallel > 0 else 1)
    r.n_tp = 6 - x.early_stop if x.recompute == FULL else 4
    # Tokens of experts that tensor parallelism does not split are split already.
    r.blocks[DENSE] = 2
    r.blocks[MOE] = 2 if r.etp == x.t or x.fs > 0 else 1


def transfer(r, size, per_node, bandwidth):
    a = [size, 2, per_node, bandwidth, r.x.alpha_transfer]
    return collective(r, SEND_RECV, a)


def refer_layer_messages(r):
    x = r.x
    r.all_reduce_tp = grouped(r, ALL_REDUCE, r.tp_message, x.t, r.tp_node)
    r.gather_tp = 0
    if x.sequence_parallel > 0:
        r.gather_tp = grouped(r, ALL_GATHER, r.tp_message, x.t, r.tp_node, True)
        r.all_reduce_tp = r.gather_tp + grouped(r, REDUCE_SCATTER, r.tp_message, x.t, r.tp_node, True)
    r.t_tp = (1 - x.hide_tp) * r.all_reduce_tp
    r.ring_cp = ((x.cp - 1) * transfer(r, r.cp_message, 1 if x.cp > r.cp_node else 2, ring(r, x.cp, r.cp_node))
                 if x.cp > 1 else 0)
    crosses = x.ep > r.ep_node
    moved = [r.ep_message, x.ep, r.ep_node,
             r.nic * (x.ep - 1) / (x.ep - r.ep_node) if crosses else ring(r, x.ep, r.ep_node),
             start(r, x.ep, r.ep_node)]
    r.all_to_all = collective(r, ALL_TO_ALL, moved)
    inside = [r.etp * r.ep_message, r.etp, min(r.etp, r.tp_node), ring(r, x.t, r.tp_node), start(r, x.t, r.tp_node)]
    r.t_ep = 2 * (r.passes + 1) * ((1 - x.hide_ep) * r.all_to_all + collective(r, ALL_GATHER, inside))


def refer_step_messages(r):
    x = r.x
    moe = x.E > 0
    kind = REDUCE_SCATTER if x.zero > 0 else ALL_REDUCE
    r.transfer = 0
    if x.p > 1:
        r.transfer = (r.crossing * transfer(r, r.pp_message, 1, r.nic)
                      + (1 - r.crossing) * transfer(r, r.pp_message, 2, r.link))
    once = x.zero > 0
    r.reduce = grouped(r, kind, r.g * r.P_most, r.dp_ranks, r.dp_node, once)
    r.gather = grouped(r, ALL_GATHER, r.w * r.P_most, r.dp_ranks, r.dp_node, once)
    if moe:
        r.reduce += grouped(r, kind, r.g * r.P_most_experts, r.expert_ranks, r.expert_node, once)
        r.gather += grouped(r, ALL_GATHER, r.w * r.P_most_experts, r.expert_ranks, r.expert_node, once)
    r.gather = r.gather if x.zero > 0 else 0
    pair = [r.g * r.P_rows, 2, 1 if r.crossing > 0 else 2, r.nic if r.crossing > 0 else r.link, x.alpha_transfer]
    r.tied = collective(r, ALL_REDUCE, pair) if x.p > 1 and x.tied > 0 else 0


# ---- slowdowns: docs/megatron.md#overlap ----


def slowdown(r, kind, size):
    """GEMM, ATTENTION, ELEMENTWISE."""
    intensities = [0, r.intensity, r.intensity_core, 0]
    otherwise = r.x.slowdown
    return provided_slowdown(kind, size, intensities[kind], otherwise) if r.provided else otherwise


def mixed(r, size, gemm, core, rest):
    """Of kernels that take so long, by their times."""
    return ((gemm * slowdown(r, 1, size) + core * slowdown(r, 2, size) + rest * slowdown(r, 3, size))
            / (gemm + core + rest))


def cost(hidden, factor):
    return hidden - hidden / factor


def refer_slowdowns(r):
    x = r.x
    bytes = r.g * min(r.P_most, max(4e7, 1e6 * r.dp_ranks))  # a bucket of Megatron-Core, or a layer's sharded weights
    if x.zero > 2:
        bytes = r.g * r.P_most / max(r.stage[FIRST], r.stage[MIDDLE], r.stage[LAST])
    core = r.core_backward + (r.core_forward if x.recompute == FULL else r.core_again)
    gemm = r.gemm[DENSE]
    rest = r.other[DENSE]
    again = r.passes
    r.slow_tp = slowdown(r, 1, r.tp_message)
    r.slow_cp = slowdown(r, 2, r.cp_message)
    r.slow_ep = mixed(r, r.ep_message, r.gemm[MOE], r.core_forward, r.other[MOE]) if x.E > 0 else 1
    r.slow_pp = mixed(r, r.pp_message, gemm, r.core_forward, rest)
    r.slow_gemm = slowdown(r, 1, bytes)
    r.slow_forward = mixed(r, bytes, gemm, r.core_forward, rest)
    r.slow_backward = mixed(r, bytes, (again + 1) * gemm, core, (again + 1) * rest + r.sums[DENSE])
    r.slow_inputs = mixed(r, bytes, again * gemm, core, (again + 1) * rest)
    r.forward_share = 1 / (again + 2)
    r.slow_dp = r.slow_backward + (r.slow_forward - r.slow_backward) * r.forward_share
    behind_forward = r.slow_cp * x.hide_cp * r.core_forward
    behind_backward = r.slow_cp * x.hide_cp * r.core_backward
    cp_hidden = again * min(r.ring_cp, behind_forward) + min(2 * r.ring_cp, behind_backward)
    r.t_cp = (again + 2) * r.ring_cp - cp_hidden
    r.cost_tp = cost(x.hide_tp * r.all_reduce_tp, r.slow_tp)
    for k in range(KINDS):
        # The gather that a backward pass repeats hides behind the products of a block, and what its collective hides
        # behind is used; products of weights hide, too, unless they are late.
        own = r.slow_tp * r.gemm[k] / r.blocks[k]
        late = x.schedule == ZERO_BUBBLE or x.schedule == ZERO_BUBBLE_2
        left = (1 if late else 2) * own - min(x.hide_tp * r.all_reduce_tp, own)
        r.again_hides[k] = min(r.gather_tp, own, max(left, 0))
    r.cost_cp = cost(cp_hidden, r.slow_cp)
    r.cost_ep = cost(2 * (again + 1) * x.hide_ep * r.all_to_all, r.slow_ep)


# ---- the step ----


def rounded_max(x, y, power):
    """docs/megatron.md#launch: a p-norm of the host's and the GPU's time."""
    longer = max(x, y)
    return longer * (1 + (min(x, y) / longer)**power)**(1 / power) if longer > 0 else 0


def passes_of(r, k):
    """Forward pass, backward pass and weight gradients of a layer on the GPU, and whether the last are late."""
    late = r.x.schedule == ZERO_BUBBLE or r.x.schedule == ZERO_BUBBLE_2
    weights = min(r.wgrad[k], r.backward[k])
    work = (r.forward[k] + r.backward[k] - weights) / 2 if late else r.forward[k]
    ring = r.t_cp / 2 if late else max(r.ring_cp - r.slow_cp * r.x.hide_cp * r.core_forward, 0)
    slow = r.cost_cp / 2 if late else cost(min(r.ring_cp, r.slow_cp * r.x.hide_cp * r.core_forward), r.slow_cp)
    forward = work + r.blocks[k] * (r.t_tp + r.cost_tp) + ring + slow
    if k == MOE:
        forward += r.t_ep / (r.passes + 1) + r.cost_ep / (r.passes + 1)
    return forward, r.gpu[k] - forward - weights, weights, late


def layer_with_launches(r, k, launches):
    """Each pass waits for its own launches, which are those of a forward pass several times."""
    forward, backward, weights, late = passes_of(r, k)
    times = [forward, backward, weights] if late else [forward, backward + weights]
    shares = [1, r.passes, 1] if late else [1, r.passes + 1]
    return sum(rounded_max(time, share * r.forward_share * launches, r.x.sharpness)
               for time, share in zip(times, shares))


def refer_stage_times(r):
    x = r.x
    launches = [0.75, 0.8, 1]  # none, selective, full
    host = (x.launch + x.launch_rank * (x.t - 1)) * launches[int(x.recompute)]
    message = r.all_reduce_tp  # of the embedding and of the output layer, which hide nothing
    for k in range(KINDS):
        r.gpu[k] = (r.forward[k] + r.backward[k] + r.again[k] + r.blocks[k] / 2 * r.n_tp * (r.t_tp + r.cost_tp) + r.t_cp
                    + r.blocks[k] * (r.gather_tp - r.again_hides[k] + cost(r.again_hides[k], r.slow_tp)) + r.cost_cp
                    + (r.t_ep + r.cost_ep if k == MOE else 0))
        r.layer[k] = layer_with_launches(r, k, x.moe_launch * host if k == MOE else host)
        r.gpu[k] = 0 if k == MOE and x.E <= 0 else r.gpu[k]
        r.layer[k] = 0 if k == MOE and x.E <= 0 else r.layer[k]
    r.slowest = 0
    for i in range(STAGES):
        has_first = i == FIRST or x.p <= 1
        has_last = i == LAST or x.p <= 1
        r.stage_time[i] = (r.stage_kind[i][DENSE] * r.layer[DENSE] + r.stage_kind[i][MOE] * r.layer[MOE]
                           + (r.embedding + message if has_first else 0) + (r.head + message if has_last else 0))
        if x.p > 1 or i != MIDDLE:
            r.slowest = max(r.slowest, r.stage_time[i])
    r.model_time = (r.layers[DENSE] * r.layer[DENSE] + r.layers[MOE] * r.layer[MOE] + r.embedding + r.head
                    + 2 * message)


def part_of_passes(r, which):
    """A pass of all layers, 0 forward and 2 weight gradients, with its waits over all passes of them."""
    host = (r.x.launch + r.x.launch_rank * (r.x.t - 1)) * [0.75, 0.8, 1][int(r.x.recompute)]
    part = whole = 0
    for k in range(KINDS if r.x.E > 0 else 1):
        forward, _, weights, late = passes_of(r, k)
        launches = r.forward_share * (r.x.moe_launch * host if k == MOE else host)
        time = [forward, 0, weights][which]
        waits = which == 0 or late
        part += r.layers[k] * (rounded_max(time, launches, r.x.sharpness) if waits else time)
        whole += r.layers[k] * r.layer[k]
    return part / whole


class StagePasses(Table):
    pass


def refer_passes(r, stages):
    """The passes of the stages, and of the chunks that have an end of the model."""
    x = r.x
    widest = 0
    for i in range(STAGES):
        blocks = r.stage_kind[i][DENSE] * r.layer[DENSE] + r.stage_kind[i][MOE] * r.layer[MOE]
        stages[i].blocks = 0 if i == MIDDLE and x.p <= 2 else blocks
        stages[i].forward = part_of_passes(r, 0) * stages[i].blocks
        stages[i].weights = part_of_passes(r, 2) * stages[i].blocks
        widest = max(widest, stages[i].blocks)
    stages[FIRST].forward += r.embedding / 2 + r.all_reduce_tp
    stages[LAST].forward += r.head / 3
    stages[LAST].weights += r.logits / 3
    for i in range(STAGES):
        time = 0 if i == MIDDLE and x.p <= 2 else r.stage_time[i]
        stages[i].backward = max(time - stages[i].forward - stages[i].weights, 0)
        stages[i].chunk = time - widest * (x.v - 1) / x.v


def way_waits(r, way, one_pass, ahead):
    """A way to the last stage and back, for a first and a last micro-batch, less passes done ahead."""
    forward = r.forward_share * one_pass
    if r.m - 1 <= ahead:
        return max(way - (r.m - 1) * min(forward, one_pass - forward), 0)
    return max(way - ahead * forward, 0) + max(way - ahead * (one_pass - forward), 0)


def last_group_waits(r, lacks):
    """Rounds of a last group of interleaved micro-batches that is smaller than the others."""
    x = r.x
    rest = fmod(r.m, x.p)
    odd = fmod(lacks, 2)
    early = max((x.v - 2) * x.p - (x.v - 1) * rest - odd * (x.v + 1) / 2, 0)
    around = x.p + rest + 3 * odd
    if r.m <= x.p:
        return (x.v - 1) * lacks
    return rest * floor(early / around) + min(rest, fmod(early, around))


def refer_1f1b(r, stages, lacks):
    x = r.x
    widest = max(stages[FIRST].blocks, max(stages[MIDDLE].blocks, stages[LAST].blocks))
    through = r.model_time - x.p * widest * (x.v - 1) / x.v
    each = 2 if x.v > 1 else 1
    first = stages[FIRST].chunk
    middle = stages[MIDDLE].chunk
    layers = r.stage[FIRST] + (x.p - 2) * r.stage[MIDDLE] + r.stage[LAST]
    shorter = max(layers - x.L, 0) if x.p > 2 else 0
    before = first + (x.p - 3 - shorter) * middle
    last = r.m * r.stage_time[LAST] + through - stages[LAST].chunk
    time = max(last, r.m * r.stage_time[FIRST] + way_waits(r, through - first, first, each * (x.p - 1)))
    if x.p > 2:
        time = max(time, r.m * r.stage_time[MIDDLE] + before
                   + way_waits(r, through - before - middle, middle, each * (shorter + 1)))
    entry = (x.p - 1) * max(first - widest / x.v, 0)
    entry *= 0 if x.v <= 1 else 1 if lacks == 0 else 0.5 if r.m > x.p else 0
    forward = part_of_passes(r, 0)
    idle = (x.v - 1) * lacks * (1 - forward) + last_group_waits(r, lacks) * forward
    return time + entry + idle * widest / x.v


def refer_zero_bubble(r, stages):
    """Qi et al. table 2, used where nothing replays the schedule."""
    x = r.x
    waits = (stages[MIDDLE].forward + stages[MIDDLE].backward
             - (1 if x.schedule == ZERO_BUBBLE else 2) * stages[MIDDLE].weights)
    return r.m * r.slowest + (x.p - 1) * max(waits, 0)


def has_late_weights(x):
    """Weight gradients of their own passes, which the library replays where it is asked."""
    return x.schedule == ZERO_BUBBLE or x.schedule == ZERO_BUBBLE_2


def refer_bubble(r):
    """docs/megatron.md#schedule: Narayanan et al. sec. 2.2, Qi et al. for late weight gradients."""
    x = r.x
    stages = [StagePasses() for _ in range(STAGES)]
    refer_passes(r, stages)
    rest = fmod(r.m, x.p)
    lacks = x.p - rest if rest > 0 else 0
    late = has_late_weights(x)
    forward = max(stages[FIRST].forward, max(stages[MIDDLE].forward, stages[LAST].forward))
    backward = 0
    for i in range(STAGES):
        backward = max(backward, stages[i].backward + stages[i].weights)
    time = (refer_zero_bubble(r, stages) if late else r.model_time
            + (r.m - 1) * (forward + backward) if x.schedule == GPIPE else refer_1f1b(r, stages, lacks))
    r.middle_forward = stages[MIDDLE].forward
    r.middle_backward = stages[MIDDLE].backward + stages[MIDDLE].weights
    sent = 2 * (r.m * x.v + x.p - 1)
    r.bubble = 0 if x.p <= 1 else max(time - r.m * r.slowest, 0)
    r.n_transfers = sent + (x.v - 1) * lacks + last_group_waits(r, lacks)
    r.transfers = (1 - x.hide_pp) * (sent if late else r.n_transfers) * r.transfer


def refer_data(r):
    """Gradients and weights that nothing hides: compare_plans asks for that."""
    x = r.x
    r.n_reduce = r.m if r.zero_sent > 1 else 1
    r.n_gather = 2 * r.m if r.zero_sent > 2 else 1 if x.zero > 0 else 0
    r.data = r.n_reduce * r.reduce + r.n_gather * r.gather
    r.data_hidden = r.slowdown_data = r.slowdown = 0
    r.optimizer = (5 * r.g + 2 * r.o + r.w) * r.P_updated / r.fast_bytes
    r.step = (x.site
              * (r.m * r.slowest + r.bubble + r.transfers + r.data - r.data_hidden + r.tied + r.optimizer
                 + r.slowdown))
MEMORY, LAUNCH, TP, BUBBLE, DP, PP, EP, SLOWDOWN, CP, OPTIMIZER, GEMMS = range(11)


def slowest_stage(r):
    if r.x.p <= 1 or r.stage_time[LAST] >= r.slowest:
        return LAST
    return FIRST if r.stage_time[FIRST] >= r.stage_time[MIDDLE] else MIDDLE


def refer_gemms(r, layers):
    x = r.x
    core = r.passes * r.core_forward + r.core_backward + r.core_again
    kernels = r.forward[DENSE] + r.backward[DENSE] + r.again[DENSE]
    skipped = r.down if x.recompute == FULL and x.early_stop > 0 else 0
    dense = min((2 + r.passes) * r.gemm[DENSE] - skipped + core, kernels)
    moe = (2 + r.passes) * r.gemm[MOE] + core
    has_head = slowest_stage(r) == LAST
    r.part[GEMMS] = (layers[DENSE] * dense + (layers[MOE] * moe if x.E > 0 else 0)
                     + (r.m * r.logits if has_head else 0))


def refer_parts(r):
    x = r.x
    at = slowest_stage(r)
    share = r.m
    layers = [share * r.stage_kind[at][DENSE], share * r.stage_kind[at][MOE]]
    whole = layers[DENSE] + layers[MOE]
    messages = (layers[DENSE] + layers[MOE] * r.blocks[MOE] / 2) * r.n_tp
    ends = r.m * (2 if x.p <= 1 else 0 if at == MIDDLE else 1)
    waits = layers[DENSE] * (r.layer[DENSE] - r.gpu[DENSE]) + layers[MOE] * (r.layer[MOE] - r.gpu[MOE])
    refer_gemms(r, layers)
    r.part[LAUNCH] = waits
    repeated = sum(layers[k] * r.blocks[k] * r.again_hides[k] for k in range(KINDS))
    r.part[TP] = (messages * r.t_tp + ends * r.all_reduce_tp - repeated
                  + sum(layers[k] * r.blocks[k] for k in range(KINDS)) * r.gather_tp)
    r.part[CP] = whole * r.t_cp
    r.part[EP] = layers[MOE] * r.t_ep
    r.part[PP] = r.transfers
    r.part[DP] = r.data - r.data_hidden + r.tied
    r.part[BUBBLE] = r.bubble
    r.part[OPTIMIZER] = r.optimizer
    r.part[SLOWDOWN] = messages * r.cost_tp + cost(repeated, r.slow_tp) + whole * r.cost_cp + layers[MOE] * r.cost_ep + r.slowdown
    r.part[MEMORY] = r.step / x.site
    for i in range(LAUNCH, PARTS):
        r.part[MEMORY] -= r.part[i]
        r.part[i] *= x.site
    r.part[MEMORY] *= x.site
    r.exposed = r.part[TP] + r.part[CP] + r.part[EP] + r.part[PP] + r.part[DP]
    r.hidden[0] = x.site * (messages * x.hide_tp * r.all_reduce_tp + repeated)
    r.hidden[1] = x.site * whole * ((r.passes + 2) * r.ring_cp - r.t_cp)
    r.hidden[2] = x.site * layers[MOE] * 2 * (r.passes + 1) * x.hide_ep * r.all_to_all
    r.hidden[3] = x.site * x.hide_pp * r.n_transfers * r.transfer
    r.hidden[4] = x.site * r.data_hidden
    r.all_hidden = 0
    for i in range(5):
        r.all_hidden += r.hidden[i]


# ---- memory: Korthikanti et al. sec. 4, Rajbhandari et al. sec. 3 and 5 ----


def state_bytes(r, stored, ranks):
    """What a parameter takes in states, of so many bytes as a weight with its quantised copies."""
    x = r.x
    weights = stored if x.zero < 3 else 0 if x.master_weights > 0 else r.w / ranks
    gradients = (r.g + x.second_gradient) / (1 if x.zero < 2 else ranks)
    return weights + gradients + r.o / (1 if x.zero < 1 else ranks)


def most_of_kinds(r, values):
    return max(values[DENSE] if r.layers[DENSE] > 0 else 0, values[MOE] if r.layers[MOE] > 0 else 0)


def refer_activations(r):
    """Transformer Engine keeps inputs of linear layers as it multiplies them, others as they are."""
    x = r.x
    t = x.t
    tokens = r.n * x.h / r.norm_split
    saved = 1 if x.fp8 > 0 else r.w
    norms = (2 * r.w + 2 * r.mask + saved) * tokens
    heads = x.a * r.dh + r.kv * (r.dh + r.dv)
    if x.kv_rank > 0:
        heads = x.a * (2 * r.dq + r.dv) + t * ((1 + saved / r.w) * (x.q_rank + x.kv_rank) + x.rope)
    context = (r.w + (saved if x.fp8 > 0 else 0)) * x.a * r.dv
    r.A_input = r.w * tokens
    r.A_whole[DENSE] = norms + saved * tokens
    r.A_whole[MOE] = norms + (r.w + (saved if x.fp8 > 0 and x.fs > 0 else 0)) * tokens
    r.A_scores = (r.w + x.dropout * (r.w + 1)) * r.scores if x.unfused > 0 else 4 * r.n * x.a / t
    inner = r.w * r.up + saved
    both = r.n * (r.w * heads + context) / t + r.A_scores
    r.A_kept[DENSE] = r.A_whole[DENSE] + both + r.n * inner * r.f / t
    r.A_kept[MOE] = (r.A_whole[MOE] + both + r.n * inner * x.fs / t + 4 * r.n / t * x.E
                     + r.n_expert * (saved * x.h + inner * r.fe / r.etp))
    for k in range(KINDS):
        r.A_dropped[k] = r.A_scores if x.unfused > 0 else x.saving * r.A_kept[k]
        r.A[k] = r.A_kept[k]
        if x.recompute == FULL:
            r.A[k] = r.A_input
        elif x.recompute == SELECTIVE:
            r.A[k] = max(r.A_kept[k] - r.A_dropped[k], r.A_input)


def all_layers(r):
    return r.layers[DENSE] * r.P_layer[DENSE] + r.layers[MOE] * (r.P_layer[MOE] + r.P_experts)


def again_on(r, stage):
    """What is computed again of the largest layer of a stage; kept inputs count already."""
    again = 0
    for k in range(KINDS):
        there = r.stage_kind[stage][k] > 0
        if there and r.x.recompute == FULL:
            again = max(again, r.A_kept[k] - r.A_input)
        elif there and r.x.recompute == SELECTIVE:
            again = max(again, r.A_dropped[k])
    return again


def refer_work(r):
    x = r.x
    gradients = [r.n * (r.up + 1) * r.f / x.t, r.n_expert * (2 * x.h + (r.up + 1) * r.fe / r.etp)]
    for i in range(STAGES):
        r.M_work[i] = (again_on(r, i) + r.w * (2 * r.n * x.h + most_of_kinds(r, gradients))
                       + (0 if x.fused_wgrad > 0 else r.w * x.h * r.up * r.f / x.t))
    r.M_logits = max(x.logit_bytes * r.n * r.V / x.t,
                     min(x.logit_bytes, r.w) * r.n * r.V / x.t + 2 * r.w * r.n * x.h + r.w * x.h * r.V / x.t)
    r.M_gathered = 0
    if r.keeps_whole and x.zero > 2:
        r.M_gathered = (r.w + 4) * (r.P_most + r.P_most_experts)
    elif x.zero > 2:
        r.M_gathered = (r.ahead + 2) * r.w / x.L * all_layers(r)


def refer_states(r):
    x = r.x
    copies = 2 * x.fp8  # by rows and by columns, a byte each
    layers = state_bytes(r, r.w + copies, r.dp_ranks)
    ends = state_bytes(r, r.w, r.dp_ranks)
    experts = state_bytes(r, r.w + copies, r.expert_ranks)
    for i in range(STAGES):
        blocks = r.stage_kind[i][DENSE] * r.P_layer[DENSE] + (r.stage_kind[i][MOE] * r.P_layer[MOE] if x.E > 0 else 0)
        r.M_state[i] = layers * blocks + ends * (r.P[i] - blocks) + experts * r.stage_kind[i][MOE] * r.P_experts


def refer_memory(r):
    x = r.x
    refer_activations(r)
    refer_work(r)
    refer_states(r)
    r.M_embedding = (r.w + r.mask) * r.n * x.h / r.norm_split * r.in_flight[FIRST]
    for i in range(STAGES):
        loss = i == LAST or i == FIRST and x.p <= 1
        r.M_layers[i] = (r.in_flight[i]
                         * (r.stage_kind[i][DENSE] * r.A[DENSE]
                            + (r.stage_kind[i][MOE] * r.A[MOE] if x.E > 0 else 0)))
        r.M[i] = (r.M_state[i] + r.M_layers[i] + (r.M_embedding if i == FIRST else 0)
                  + (max(r.M_work[i], r.M_logits) if loss else r.M_work[i]) + r.M_gathered
                  + (x.buffers if r.gpus > 1 else 0))
    if x.p <= 1:
        r.M[LAST] = r.M[FIRST]
    if x.p <= 2:
        r.M[MIDDLE] = 0
    r.worst = MIDDLE if r.M[MIDDLE] > r.M[FIRST] else FIRST
    if r.M[LAST] > r.M[r.worst]:
        r.worst = LAST
    r.allocated = r.M[r.worst]
    r.memory = x.fragmentation * r.allocated + x.framework


BY_RECOMPUTE, BY_ZERO_1, BY_SEQUENCE, BY_MICRO_BATCH, BY_ZERO_3, BY_EXPERTS = range(6)


def refer_split_states(r):
    """What freeing states by splitting them leaves, of the layers and of the experts."""
    x = r.x
    whole = r.w + r.g + x.second_gradient + r.o
    layers = r.P[r.worst]
    experts = r.stage_kind[r.worst][MOE] * r.P_experts
    held = r.w + 2 * x.fp8 + (r.g + x.second_gradient) / (1 if x.zero < 2 else r.expert_ranks)
    most = max(min(x.E, floor(x.t * x.cp * x.d / r.etp)), x.ep)
    if x.zero < 1:
        r.frees[BY_ZERO_1] = r.o * (layers * (1 - 1 / r.dp_ranks) + experts * (1 - 1 / r.expert_ranks))
    if x.zero < 3:
        r.frees[BY_ZERO_3] = max(r.M_state[r.worst] - whole * (layers / r.dp_ranks + experts / r.expert_ranks)
                                 - 3 * r.w * all_layers(r) / x.L, 0)
    if x.zero < 3 and x.E > 0:
        r.frees[BY_EXPERTS] = (1 - x.ep / most) * experts * held


def grows_with_sequences(r):
    """Working set of the worst stage without the gradient of a weight."""
    x = r.x
    loss = r.worst == LAST or r.worst == FIRST and x.p <= 1
    active = max(r.M_work[r.worst], r.M_logits) if loss else r.M_work[r.worst]
    if active > r.M_logits:
        return active - (0 if x.fused_wgrad > 0 else r.w * x.h * r.up * r.f / x.t)
    return active - (r.w * x.h * r.V / x.t if r.M_logits > x.logit_bytes * r.n * r.V / x.t else 0)


def refer_remedies(r):
    x = r.x
    kept = r.stage[r.worst] * r.in_flight[r.worst]
    layers = r.M_layers[r.worst]
    refer_split_states(r)
    if x.recompute != FULL:
        r.frees[BY_RECOMPUTE] = max(layers - kept * r.A_input - (most_of_kinds(r, r.A_kept) - r.A_input), 0)
    if r.norm_split < x.t:
        r.frees[BY_SEQUENCE] = (kept * (r.A_input if x.recompute == FULL else most_of_kinds(r, r.A_whole))
                                * (1 - 1 / x.t))
    r.frees[BY_MICRO_BATCH] = grows_with_sequences(r) * (1 - 1 / x.b)
    if x.schedule != GPIPE:
        r.frees[BY_MICRO_BATCH] += layers * max(1 - min(r.m * x.b, x.p) / (x.b * r.in_flight[FIRST]), 0)


def refer(x, provided):
    r = Reference(x=x, provided=provided)
    refer_shapes(r)
    refer_parameters(r)
    refer_stages(r)
    refer_ranks(r)
    refer_held_parameters(r)
    refer_in_flight(r)
    refer_rates(r)
    refer_attention(r)
    refer_products(r)
    refer_traffic_in_memory(r)
    refer_layers(r)
    refer_messages(r)
    refer_layer_messages(r)
    refer_step_messages(r)
    refer_slowdowns(r)
    refer_stage_times(r)
    refer_bubble(r)
    refer_data(r)
    refer_parts(r)
    refer_memory(r)
    refer_remedies(r)
    return r
