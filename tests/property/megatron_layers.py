# SPDX-License-Identifier: Apache-2.0
"""A layer of every kind of the sheet megatron, once more and without a sheet: its linear layers as a list, of which
weights, products, quantised inputs and adapters follow, and the tensors that its backward pass needs, from the
papers (Korthikanti et al. sec. 4, DeepSeek-V2 sec. 2.1, Yang et al. 2024, Dao and Gu 2024).
"""
from math import floor

from megatron_plan import (AN_EXPERTS, AN_MLP, A_DELTA, A_DELTA_MOE, A_DENSE, A_MAMBA, A_WINDOW, A_WINDOW_MOE, BF16,
    FP32, FP8, FULL, KINDS_OF_LAYERS, LORA, SELECTIVE, has_attention, is_possible, is_routed)
from sheet import Table

NO_RECIPE, BF16_RECIPE, FP8_DELAYED, FP8_CURRENT, FP8_BLOCK, MXFP8, NVFP4 = range(7)
NO_GRAPHS, LAYER_GRAPHS, SCOPED_GRAPHS, FULL_GRAPH = range(4)


class Linear:
    """One matrix: its width in and out on a rank; narrow ones are multiplied in FP8 or FP4."""

    def __init__(self, tokens, ins, out, narrow):
        self.tokens, self.ins, self.out, self.narrow = tokens, ins, out, narrow


class Tensors(Table):
    """Of a layer that a backward pass needs, in bytes."""


class Layer(Table):
    """Of a micro-batch on a rank, in seconds; `accumulated` in numbers."""

    def __init__(self):
        super().__init__(linears=[], tensors=Tensors())


class LayersReference(Table):
    pass


# ---- shapes and rates ----


def size_model(r):
    x = r.x
    r.n = x.b * x.s / x.cp
    r.t = x.t
    r.latent = x.kv_rank > 0
    r.kv = x.kv if x.kv > 0 else x.a
    r.dh = x.dh if x.dh > 0 else x.h / x.a
    r.dv = x.dv if x.dv > 0 else r.dh
    r.dq = r.dh + (x.rope if r.latent else 0)
    r.f = x.f if x.f > 0 else 4 * x.h
    r.fe = x.fe if x.fe > 0 else r.f
    r.up = 1 + x.gated
    r.hl = x.moe_latent if x.moe_latent > 0 else x.h
    r.split = x.t if x.sequence_parallel > 0 else 1
    r.dk_all = x.delta_k_heads * x.delta_k_dim
    r.dv_all = x.delta_v_heads * x.delta_v_dim
    # queries, keys, values and gate, decay and step of a head: Yang et al. sec. 3
    r.delta_in = r.dk_all + r.dk_all + r.dv_all + r.dv_all + 2 * x.delta_v_heads
    r.inner = x.mamba_heads * x.mamba_dim
    # gate and input, B and C of each group, a step of each head: Dao and Gu sec. 7.2
    r.mamba_in = r.inner + r.inner + 2 * x.mamba_groups * x.mamba_state + x.mamba_heads
    r.seen = min(x.sample, x.s) if x.sample > 0 else x.s
    per_node = min(x.cp, max(floor(x.G / x.t), 1))
    r.rings = x.cp / (1 if x.cp_method == 0 else x.cp if x.cp_method == 1 else per_node)
    r.indexed = (x.index_layers if x.index_layers > 0 else x.L) if x.index_heads > 0 else 0


def bytes_of(type):
    return 4 if type == FP32 else 1 if type == FP8 else 2


def peak_of_weights(x):
    own = x.peak_fp32 if x.weights == FP32 else x.peak_bf16 if x.weights == BF16 else 0
    return own if own > 0 else x.peak_fp16


def rate_model(r):
    x = r.x
    is_narrow = x.fp8 > 0 if x.recipe == NO_RECIPE else x.recipe != BF16_RECIPE
    wide = min(2 * x.first_last / x.L, 1)
    peak = x.peak_fp4 if x.recipe == NVFP4 else x.peak_fp8
    reached = x.fp4_efficiency if x.recipe == NVFP4 else x.mxfp8_efficiency if x.recipe == MXFP8 else x.fp8_efficiency
    r.w = bytes_of(x.weights)
    r.g = bytes_of(x.gradients)
    r.mask = x.dropout
    r.narrow = is_narrow
    r.keeps_copies = is_narrow and x.task != LORA
    r.rate_16 = x.gemm_scale * x.gemm * peak_of_weights(x)
    rate = reached * peak if is_narrow and peak > 0 else r.rate_16
    r.rate = 1 / (wide / r.rate_16 + (1 - wide) / rate) if wide > 0 else rate
    r.w_q = r.w
    if is_narrow:  # one scale for 32 numbers, or for 16 of half a byte
        r.w_q = 1 + 1 / 32.0 if x.recipe == MXFP8 else 0.5 + 1 / 16.0 if x.recipe == NVFP4 else 1
    r.w_gemm = (r.w_q + r.w_q + r.w) / 3
    r.w_saved = wide * r.w + (1 - wide) * r.w_q if r.keeps_copies else r.w
    r.slow = x.eta * x.bandwidth
    r.slow_gemm = x.gemm_memory * x.bandwidth if x.gemm_memory > 0 else r.slow
    r.stream = x.stream * x.bandwidth
    r.share = 1 if x.recompute == FULL else 0
    if x.recompute == FULL and x.again_layers > 0:
        r.share = min(x.again_layers * x.p * x.v / x.L, 1)


def etp_of(x):
    return x.etp if x.etp > 0 else x.t


def count_tokens_of_experts(r):
    x = r.x
    r.load = min(x.imbalance, x.capacity) if x.capacity > 0 else x.imbalance
    most = x.capacity if x.capacity > 0 else x.static_rows
    even = r.n / r.t * x.K * etp_of(x)
    r.copies = even * r.load
    r.rows = even * (max(most, r.load) if x.graphs == FULL_GRAPH else r.load)


def time_of(r, one):
    """Williams et al.: the slower of arithmetic and memory."""
    rate = r.rate if one.narrow else r.rate_16
    width = r.w_gemm if one.narrow else r.w
    numbers = one.tokens * one.ins + one.ins * one.out + one.tokens * one.out
    return max(2 * one.tokens * one.ins * one.out / rate, width * numbers / r.slow_gemm)


# ---- attention and its kin ----


def flash_rate(r):
    x = r.x
    rate = x.flash * r.rate_16
    if x.attention_fp8 > 0:
        rate *= 1.6
    if r.indexed > 0:
        rate *= x.flash_sparse
    elif r.latent:
        rate *= x.flash_latent
    elif r.dh <= 64:
        rate *= x.flash_narrow
    return rate * x.flash_sinks if x.sinks > 0 else rate


def attention_arguments(r, keys, width, rows):
    """Of fused attention in which a token sees so many keys, queries and values together so wide, and which takes so
    many times what its rows need besides, in the order of the sheet's function: shape, bytes of a number, work, rate,
    half length, bytes, bandwidth."""
    x = r.x
    return [r.n / r.seen, r.seen, x.a / r.t, r.kv / r.t, (r.dq + r.dv) / 2, 1 if x.attention_fp8 > 0 else r.w,
            2 * r.n * x.a / r.t * keys * width, flash_rate(r), x.half_length * rows,
            r.w * r.n * (x.a + r.kv) * (r.dq + r.dv) / r.t, r.slow]


def times_rows(r):
    """Each block that comes after a rank's own lacks half of its rows or half of its keys."""
    return 1 + 0.75 * (r.rings - 1)


def flash_time(r, keys, width, rows):
    a = attention_arguments(r, keys, width, rows)
    return max(a[6] * (1 + a[8] / a[1]) / a[7], a[9] / a[10])


def bytes_merged(r):
    """Blocks of context in 16 bits or more, their sum in FP32 in and out, and out once more."""
    later = times_rows(r) - 1
    numbers = r.n * r.x.a * r.dv / r.t
    return numbers * (r.w + 4 + later * (r.w + 4 + 4) + 4 + r.w) if r.rings > 1 else 0


def bytes_merged_back(r):
    """Gradients of queries: the first block copied, each other one added; of keys and values, all."""
    later = times_rows(r) - 1
    queries = r.n * r.x.a * r.dq / r.t
    others = r.n * r.kv * (r.dq + r.dv) / r.t
    return r.w * (queries * (2 + 3 * later) + others * 3 * r.rings) if r.rings > 1 else 0


def keys_in_window(r):
    """The mean of min(i, w) over a sample's tokens i, and half a tile of 128 keys on each side."""
    wide = min(r.x.window, r.seen)
    mean = wide - wide * (wide - 1) / (2 * r.seen)
    return min(mean + 128, r.seen / 2)


def keys_chosen(r):
    """The mean over i of min(i/join, top_k), of the layers with an indexer."""
    x = r.x
    most = min(x.index_top_k, r.seen / x.index_join)
    return (most - most * most * x.index_join / (2 * r.seen)) * r.indexed / x.L


def time_of_scores(r):
    """Scores of all joined keys by every rank in FP8 if there is any; sums over heads out and in."""
    x = r.x
    pairs = r.n * r.seen / x.index_join * (0.5 if x.causal > 0 else 1) * r.indexed / x.L
    rate = 0.4 * (x.peak_fp8 if x.peak_fp8 > 0 else peak_of_weights(x))
    return 2 * pairs * x.index_heads * x.index_dim / rate + (4 + 4) * pairs / r.slow


def time_of_index_loss(r):
    """Over the chosen keys: all heads' queries times keys, and two gradients of the indexer's scores."""
    x = r.x
    if r.indexed <= 0 or x.lora_rank > 0:
        return 0
    wide = x.kv_rank + x.rope if r.latent else r.dq
    rate = flash_rate(r)
    return r.n * keys_chosen(r) * (2 * x.a / r.t * wide + 2 * 2 * x.index_heads * x.index_dim) / rate


def keys_in_full(r):
    if r.indexed > 0:
        return min(r.x.window, r.seen) + keys_chosen(r)
    return r.seen / 2 if r.x.causal > 0 else r.seen


def width_in_full(r):
    """Chosen keys are those of all heads, which latent attention has at its rank's width."""
    if r.indexed > 0 and r.latent:
        return 2 * r.x.kv_rank + r.x.rope
    return r.dq + r.dv


def masked_time(r):
    """All keys computed, and those masked that were not chosen: not at the rate of gathered keys."""
    a = attention_arguments(r, r.seen / 2 if r.x.causal > 0 else r.seen, r.dq + r.dv, times_rows(r))
    rate = a[7] / r.x.flash_sparse * (r.x.flash_latent if r.latent else 1)
    return max(a[6] * (1 + a[8] / a[1]) / rate, a[9] / a[10])


def time_attention(r):
    x = r.x
    scores = r.n * r.seen * x.a / r.t
    numbers = r.n * x.a * (r.dq + r.dv) / r.t
    width = r.dq + r.dv
    r.t_window = flash_time(r, keys_in_window(r), width, 1)
    scoring = time_of_scores(r)
    if x.unfused > 0:
        products = max(2 * scores * (r.dq + r.dv) / (x.scores * peak_of_weights(x)),
                       2 * r.w * (scores + numbers) / r.slow)
        passed = 2 * r.w + (2 * r.w + 1 if x.dropout > 0 else 0)
        r.t_full = products + passed * scores / r.slow + scoring
        r.t_full_back = 2 * products + (passed + r.w) * scores / r.slow + time_of_index_loss(r)
        r.scores_kept = (r.w + (r.w + 1 if x.dropout > 0 else 0)) * scores
        return
    flash = back = flash_time(r, keys_in_full(r), width_in_full(r), times_rows(r))
    if r.indexed > 0:
        flash, back = min(flash, masked_time(r)), min(1.42 * flash, masked_time(r))
    r.t_full = flash + bytes_merged(r) / r.slow + scoring
    r.t_full_back = 2.5 * back + bytes_merged_back(r) / r.slow + time_of_index_loss(r)
    r.scores_kept = 4 * r.n * x.a / r.t


def add(one, tokens, ins, out, narrow):
    one.linears.append(Linear(tokens, ins, out, narrow))


def is_windowed(kind):
    return kind == A_WINDOW or kind == A_WINDOW_MOE


def is_delta(kind):
    return kind == A_DELTA or kind == A_DELTA_MOE


def has_mlp(kind):
    return kind == A_DENSE or kind == A_WINDOW or kind == A_DELTA or kind == AN_MLP


def qkv_width(r):
    x = r.x
    gate = x.a * r.dv if x.gated_attention > 0 else 0
    return gate + (x.a * r.dq if r.latent else x.a * r.dh + r.kv * (r.dh + r.dv))


def list_attention(r, one):
    """Heads are split over ranks; what leads down to a rank is not, and no indexer."""
    x = r.x
    if r.latent:
        add(one, r.n, x.h, x.q_rank + x.kv_rank + x.rope, True)
        add(one, r.n, x.q_rank if x.q_rank > 0 else x.h, qkv_width(r) / r.t, True)
        add(one, r.n, x.kv_rank, x.a * (r.dh + r.dv) / r.t, True)
    else:
        add(one, r.n, x.h, qkv_width(r) / r.t, True)
    add(one, r.n, x.a * r.dv / r.t, x.h, True)
    if r.indexed > 0:
        queries = (x.q_rank if x.q_rank > 0 else x.h) * x.index_heads * x.index_dim
        whole = queries + x.h * x.index_heads + x.h * x.index_dim
        add(one, r.n, x.h, r.indexed * whole / x.L / x.h, False)


def list_mixer(r, kind, one):
    x = r.x
    if has_attention(kind):
        list_attention(r, one)
        one.core = r.t_window if is_windowed(kind) else r.t_full
        one.core_back = 2.5 * r.t_window if is_windowed(kind) else r.t_full_back
    elif is_delta(kind):
        add(one, r.n, x.h, r.delta_in / r.t, True)
        add(one, r.n, r.dv_all / r.t, x.h, True)
        one.core = (r.w * r.n * x.delta_traffic * (r.dk_all + r.dv_all) / r.t / r.slow
                    + 8 * r.n * r.dv_all * x.delta_v_dim / r.t / (x.scores * r.rate_16))
        one.core_back = 2 * one.core
    elif kind == A_MAMBA:
        add(one, r.n, x.h, r.mamba_in / r.t, True)
        add(one, r.n, r.inner / r.t, x.h, True)
        one.core = (r.w * r.n * x.scan_traffic * r.inner / r.t / r.slow
                    + 2 * r.n * r.inner / r.t * (2 * x.mamba_state + 128) / (x.scores * r.rate_16)
                    + (r.n * r.inner / r.t * x.scan_work / x.peak_fp32 if x.peak_fp32 > 0 else 0))
        one.core_back = 2 * one.core


def shared_experts(r):
    return Linear(r.n, r.x.h, (r.up + 1) * r.x.fs / r.t, True)


def passed_by_experts(r, activation_alone):
    x = r.x
    activation = (r.up + 1) * r.copies * r.fe / etp_of(x)
    # a read and a write there and back, around an all-to-all by rank and by expert
    passes = 4 if x.dispatcher > 0 else 8
    permuted = 0 if activation_alone else passes * r.copies / etp_of(x) * r.hl
    return r.w * x.permutes * (permuted + activation)


def experts_arguments(r):
    """Of the grouped products of the experts on a rank, in the order of the sheet's function."""
    x = r.x
    alike = x.E / x.ep
    inner = (r.up + 1) * r.fe / etp_of(x)
    half = x.grouped_half * r.rate / r.rate_16
    return [r.copies, alike, r.hl, r.fe / etp_of(x), r.up + 1, r.w_gemm, 2 * r.copies * r.hl * inner,
            x.grouped * r.rate / (1 + half / max(r.copies / alike, 1)), half,
            r.w_gemm * (alike * r.hl * inner + r.copies * (2 * r.hl + inner)), r.slow_gemm,
            passed_by_experts(r, False) / r.slow]


def time_of_experts(r):
    a = experts_arguments(r)
    return max(a[6] / a[7], a[9] / a[10])


def adapters_of(r, kind):
    """Hu et al. sec. 4.2, at all matrices: from their inputs down to the rank and up to their outputs."""
    x = r.x
    mixer = (2 * x.h + qkv_width(r) + x.a * r.dv if has_attention(kind) else 2 * x.h + r.delta_in + r.dv_all
             if is_delta(kind) else 2 * x.h + r.mamba_in + r.inner if kind == A_MAMBA else 0)
    inner = r.f if has_mlp(kind) else x.fs if is_routed(kind) else 0
    widths = [mixer, 2 * x.h + (r.up + 1) * inner if inner > 0 else 0]
    thin = [Linear(r.n, width / x.t, x.lora_rank, False) for width in widths if width > 0]
    if is_routed(kind):
        thin.append(Linear(r.copies, 2 * r.hl + (r.up + 1) * r.fe / etp_of(x), x.lora_rank, False))
    return thin


def list_ffn(r, kind, one):
    """Tokens of the router lie split; those of the shared experts do not."""
    x = r.x
    if has_mlp(kind):
        add(one, r.n, x.h, r.up * r.f / r.t, True)
        add(one, r.n, r.f / r.t, x.h, True)
    if not is_routed(kind):
        return
    one.routed = time_of_experts(r)
    one.router = Linear(r.n / r.t, x.h, x.E, False)
    shared = shared_experts(r)
    add(one, shared.tokens, shared.ins, shared.out, True)
    if x.moe_latent > 0:  # to the experts' width, and back
        add(one, r.n / r.t, x.h, r.hl, False)
        add(one, r.n / r.t, x.h, r.hl, False)


# ---- what moves through memory: docs/megatron.md#compute ----


def passes_of_streams(streams):
    """Of a block: coefficients, aggregation and mixing read the streams, which mixing writes; else an addition."""
    return streams + (streams + 1) + (streams + 1 + streams) if streams > 1 else 3


def bytes_of_streams_back(r):
    """Each of the three writes a gradient and reads what it had; their sum reads three. Norms read and write thrice."""
    x = r.x
    n = x.streams
    block = (2 * n) + (2 * n + 1) + (3 * n + 2) + (3 * n + n)
    more = 2 * (block + 3) - 2 * 2 * (2 + passes_of_streams(n))
    return r.w * more * r.n * x.h / r.split / (2 if x.hybrid > 0 else 1) if n > 1 else 0


def bytes_passed(r, kind):
    x = r.x
    tokens = r.n * x.h / r.split
    bytes = (4 * r.w + 2 * r.mask + 2 * r.w * passes_of_streams(x.streams)) * tokens / (2 if x.hybrid > 0 else 1)
    wide = (qkv_width(r) if has_attention(kind) else r.delta_in if is_delta(kind) else r.mamba_in if kind == A_MAMBA
            else 0)
    bytes += 2 * r.w * r.n * wide / r.t
    if has_mlp(kind):
        bytes += r.w * (r.up + 1) * r.n * r.f / r.t
    if is_routed(kind):
        bytes += passed_by_experts(r, False) + r.w * (r.up + 1) * r.n * x.fs / r.t
    return bytes


def quantised_bytes(r, numbers):
    """Read and written by rows and columns, with a pass more for the largest."""
    x = r.x
    looks_first = x.recipe == FP8_CURRENT or x.recipe == NVFP4
    each = (2 if looks_first else 1) * r.w + 2 * r.w_q
    return x.cast_traffic * each * numbers if r.narrow else 0


def bytes_cast(r, kind):
    """Of numbers in front of linear layers."""
    x = r.x
    has_mixer = kind != AN_MLP and kind != AN_EXPERTS
    numbers = r.n * x.h if has_mixer else 0
    if has_attention(kind):
        numbers += r.n * x.a * r.dv / r.t
    elif is_delta(kind):
        numbers += r.n * r.dv_all / r.t
    elif kind == A_MAMBA:
        numbers += r.n * r.inner / r.t
    if has_mlp(kind):
        numbers += r.n * (x.h + r.f / r.t)
    if is_routed(kind):
        numbers += r.copies * (r.hl + r.fe / etp_of(x))
        numbers += r.n * (x.h + x.fs / r.t) if x.fs > 0 else 0
    return quantised_bytes(r, numbers)


def bytes_cast_back(r, kind):
    """Of gradients: at the outputs, where gate and value are apart."""
    x = r.x
    has_mixer = kind != AN_MLP and kind != AN_EXPERTS
    numbers = r.n * x.h if has_mixer else 0
    if has_attention(kind):
        numbers += r.n * qkv_width(r) / r.t
    elif is_delta(kind):
        numbers += r.n * r.delta_in / r.t
    elif kind == A_MAMBA:
        numbers += r.n * r.mamba_in / r.t
    if has_mlp(kind):
        numbers += r.n * (x.h + r.up * r.f / r.t)
    if is_routed(kind):
        numbers += r.copies * (r.hl + r.up * r.fe / etp_of(x))
        numbers += r.n * (x.h + r.up * x.fs / r.t) if x.fs > 0 else 0
    return quantised_bytes(r, numbers)


def time_layer(r, kind, one):
    x = r.x
    adapts = x.task == LORA
    for each in one.linears:
        one.products += time_of(r, each)
        one.accumulated += each.ins * each.out
    if is_routed(kind):
        one.products += one.routed + time_of(r, one.router)
        one.accumulated += x.E / x.ep * (r.up + 1) * r.hl * r.fe / etp_of(x)
    one.adapters = sum(time_of(r, thin) for thin in adapters_of(r, kind)) if adapts else 0
    one.passed = bytes_passed(r, kind) / r.slow
    one.casts = bytes_cast(r, kind) / r.slow
    casts_back = bytes_cast_back(r, kind) / r.slow
    each = 2 * r.g + (0 if x.fused_wgrad > 0 else r.w)
    sums = 0 if adapts else each * one.accumulated / r.stream
    one.forward = one.products + one.core + one.passed + one.casts + one.adapters
    one.backward = ((1 if adapts else 2) * one.products + one.core_back + 2 * one.passed + bytes_of_streams_back(r) / r.slow + sums + casts_back
                    + 2 * one.adapters)
    one.weights = 0 if adapts else one.products
    if kind == A_DENSE:
        one.weights = min(one.weights, one.backward / 2)


# ---- recomputation: options of Megatron-LM ----


def again_in_mixer(r, kind, one):
    x = r.x
    again = 0
    if has_attention(kind) and (x.again_attention > 0 or x.unfused > 0 and not is_windowed(kind)):
        again += one.core
    if has_attention(kind) and x.again_latent > 0 and r.latent:
        again += time_of(r, one.linears[0]) + time_of(r, one.linears[2])
    return again


def again_in_ffn(r, kind, one):
    """Products, and what moves besides."""
    x = r.x
    again = 0
    if has_mlp(kind) and x.again_mlp > 0:
        again += time_of(r, one.linears[-2]) + (r.up + 1) * r.w * r.n * r.f / r.t / r.slow
    if not is_routed(kind):
        return again
    shared = shared_experts(r)
    if x.again_moe > 0:
        return (one.routed + time_of(r, one.router)
                + (passed_by_experts(r, False) + r.w * (r.up + 1) * r.n * x.fs / r.t) / r.slow)
    if x.again_activation > 0:
        again += passed_by_experts(r, True) / r.slow
    if x.again_shared > 0:  # two of three matrices, or of two one and a third
        again += time_of(r, shared) * 2 / 3
    return again


def recompute_layer(r, kind, one):
    x = r.x
    one.again = 0
    if x.recompute == FULL:
        skipped = time_of(r, one.linears[-1]) if kind == A_DENSE and x.early_stop > 0 else 0
        one.again = r.share * (one.forward - skipped)
    if x.recompute != SELECTIVE:
        return
    one.again = again_in_mixer(r, kind, one) + again_in_ffn(r, kind, one)
    if x.again_norms > 0:  # each is read and written
        one.again += (2 if x.hybrid > 0 else 4) * r.w * r.n * x.h / r.split / r.slow
    if x.unfused <= 0:
        one.again += x.repeats * (one.products + one.passed)


# ---- activations ----


def keep_attention(r, kept):
    x = r.x
    core = 1 if x.attention_fp8 > 0 else r.w
    out = r.n * x.a * r.dv / r.t
    kept.context = core * out
    kept.heads = core * r.n / r.t * (x.a * (r.dq + r.dq + r.dv) if r.latent else x.a * r.dh + r.kv * (r.dh + r.dv))
    kept.mixer = kept.context + kept.heads + r.scores_kept
    if r.keeps_copies:
        kept.mixer += r.w_saved * out
    if x.gated_attention > 0:  # the gate, and the gated output where no copy of it is kept
        kept.mixer += r.w * out * (1 if r.keeps_copies else 2)
    if r.latent:  # before and behind their norms
        kept.mixer += r.n * (r.w + r.w_saved) * (x.q_rank + x.kv_rank) + r.n * r.w * x.rope


def keep_mixer(r, kind, kept):
    x = r.x
    last = r.w_saved if r.keeps_copies else r.w
    if has_attention(kind):
        keep_attention(r, kept)
    elif is_delta(kind):
        kept.mixer = (r.n / r.t
                      * (r.w * (r.delta_in + r.dk_all + r.dk_all + r.dv_all + r.dv_all + 64 * x.delta_v_heads)
                         + last * r.dv_all))
    elif kind == A_MAMBA:
        kept.mixer = r.n / r.t * (r.w * (r.mamba_in + r.inner) + last * r.inner)


def keep_ffn(r, kind, kept):
    x = r.x
    inner = r.w * r.up + r.w_saved
    if has_mlp(kind):
        kept.mlp = r.n * inner * r.f / r.t
    if not is_routed(kind):
        return
    kept.activated = r.w_saved * r.rows * r.fe / etp_of(x)
    kept.experts = r.rows * (r.w_saved * r.hl + r.w * r.up * r.fe / etp_of(x)) + kept.activated + 4 * r.n / r.t * x.E
    if x.moe_latent > 0:
        kept.experts += 2 * r.w * r.n * r.hl / r.t
    kept.shared = r.n * inner * x.fs / r.t


def stream_bytes(r):
    return r.w * r.x.streams * r.n * r.x.h / r.split


def keep_norms(r, kind, kept):
    x = r.x
    tokens = r.n * x.h / r.split
    joined = 2 * r.w * tokens if x.streams > 1 else 0
    kept.residual = (2 * stream_bytes(r) + 2 * r.mask * tokens + joined) / (2 if x.hybrid > 0 else 1)
    kept.normed_mixer = 0 if kind == AN_MLP or kind == AN_EXPERTS else r.w_saved * tokens
    if has_mlp(kind):
        kept.normed_ffn = r.w_saved * tokens
    if is_routed(kind):
        kept.normed_ffn = (r.w + (r.w_saved if r.keeps_copies and x.fs > 0 else 0)) * tokens


def dropped_by_selection(r, kind, one):
    x = r.x
    kept = one.tensors
    dropped = 0
    if has_attention(kind):
        dropped += r.scores_kept if x.unfused > 0 or x.again_attention > 0 else 0
        dropped += kept.context if x.again_attention > 0 and r.keeps_copies else 0
        dropped += kept.heads if x.again_latent > 0 and r.latent else 0
    if has_mlp(kind) and x.again_mlp > 0:
        dropped += kept.mlp + (0 if x.again_norms > 0 else kept.normed_ffn)
    if x.again_moe > 0:
        dropped += kept.experts + kept.shared
    else:
        dropped += (kept.activated if x.again_activation > 0 else 0) + (kept.shared if x.again_shared > 0 else 0)
    if x.again_norms > 0:
        dropped += kept.normed_mixer + kept.normed_ffn
    return dropped + (0 if x.unfused > 0 else x.saving * one.kept)


def keep_layer(r, kind, one):
    kept = one.tensors
    keep_norms(r, kind, kept)
    keep_mixer(r, kind, kept)
    keep_ffn(r, kind, kept)
    one.kept = (kept.residual + kept.normed_mixer + kept.normed_ffn + kept.mixer + kept.mlp + kept.experts
                + kept.shared)
    one.dropped = dropped_by_selection(r, kind, one)
    one.stays = r.share * stream_bytes(r) + (1 - r.share) * one.kept
    if r.x.recompute == SELECTIVE:
        one.stays = max(one.kept - one.dropped, stream_bytes(r))


def refer_layers_of(x):
    r = LayersReference(x=x, layers=[Layer() for _ in range(KINDS_OF_LAYERS)])
    size_model(r)
    rate_model(r)
    count_tokens_of_experts(r)
    time_attention(r)
    for kind in range(KINDS_OF_LAYERS):
        one = r.layers[kind]
        if not is_possible(x, kind):
            continue
        list_mixer(r, kind, one)
        list_ffn(r, kind, one)
        time_layer(r, kind, one)
        recompute_layer(r, kind, one)
        keep_layer(r, kind, one)
    return r
