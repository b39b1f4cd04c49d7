# SPDX-License-Identifier: Apache-2.0
"""Random training plans for the sheet megatron: every input that its formulas read, by its key.

Ranges are wide rather than sensible, so that each side of every minimum, and every case, comes up. A plan of kinds
has layers of any kind: windows, delta nets, hybrids of single blocks, prediction; with recipes of precision,
dispatchers, graphs, modules that are computed again and adapters.
"""
from math import floor

from sheet import Sheet, Table

NONE, SELECTIVE, FULL = range(3)
FP32, BF16, FP16, FP8 = range(4)
KINDS_OF_LAYERS = 10
MOST_STAGES = 9
DIVISION = 10  # arguments in front of the weights of kinds
GPIPE, ONE_F_ONE_B, INTERLEAVED, ZERO_BUBBLE, ZERO_BUBBLE_2 = range(5)
A_DENSE, A_MOE, A_WINDOW, A_WINDOW_MOE, A_DELTA, A_DELTA_MOE, A_MAMBA, AN_ATTENTION, AN_MLP, AN_EXPERTS = range(10)
LAYER_NAMES = ["dense", "moe", "window", "window_moe", "delta", "delta_moe", "mamba_block", "attention_block",
               "mlp_block", "experts_block"]
PRETRAINING, SFT, LORA = range(3)
TYPES = ["fp32", "bf16", "fp16", "fp8"]
# Keys of a job, and what a plan names them; choices in the order of the constants.
KEYS = {
    "model.layers": "L", "model.hidden": "h", "model.heads": "a", "model.kv_heads": "kv", "model.head_dim": "dh",
    "model.ffn": "f", "model.gated": "gated", "model.bias": "bias", "model.norm": ("rms_norm", ["layer", "rms"]),
    "model.tied": "tied", "model.vocabulary": "V", "model.vocabulary_multiple": "multiple",
    "model.positions": "positions", "model.dropout": "dropout", "model.causal": "causal", "model.q_lora": "q_rank",
    "model.kv_lora": "kv_rank", "model.rope_dim": "rope", "model.v_dim": "dv", "model.experts": "E",
    "model.top_k": "K", "model.expert_ffn": "fe", "model.shared_ffn": "fs", "model.dense_layers": "dense_layers",
    "model.moe_every": "moe_every", "model.imbalance": "imbalance", "model.capacity_factor": "capacity",
    "batch.global": "B", "batch.micro": "b", "batch.sequence": "s", "parallel.tp": "t", "parallel.pp": "p",
    "parallel.virtual_stages": "v", "parallel.dp": "d", "parallel.cp": "cp", "parallel.ep": "ep",
    "parallel.expert_tp": "etp", "parallel.zero": "zero",
    "parallel.schedule": ("schedule", ["gpipe", "1f1b", "interleaved", "zero_bubble", "zero_bubble_2"]),
    "parallel.first_stage_layers": "first_layers", "parallel.last_stage_layers": "last_layers",
    "parallel.sequence_parallel": "sequence_parallel", "parallel.scatter_gather": "scatter_gather",
    "recompute": ("recompute", ["none", "selective", "full"]), "attention": ("unfused", ["flash", "unfused"]),
    "overlap.tp": "hide_tp", "overlap.cp": "hide_cp", "overlap.ep": "hide_ep", "overlap.pp": "hide_pp",
    "overlap.gradients": "hide_gradients", "overlap.parameters": "hide_weights", "overlap.prefetch": "prefetch",
    "precision.weights": ("weights", TYPES), "precision.gradients": ("gradients", TYPES),
    "precision.optimizer": ("moments", TYPES), "precision.communication": ("messages", TYPES), "precision.fp8": "fp8",
    "precision.fused_wgrad": "fused_wgrad", "cluster.nodes": "nodes", "cluster.gpus_per_node": "G",
    "cluster.gpu.peak_fp16": "peak_fp16", "cluster.gpu.peak_bf16": "peak_bf16", "cluster.gpu.peak_fp32": "peak_fp32",
    "cluster.gpu.peak_fp8": "peak_fp8", "cluster.gpu.memory_bandwidth": "bandwidth",
    "cluster.gpu.link_bandwidth": "link", "cluster.nic_bandwidth": "nics", "cluster.gpu.memory": "memory",
    "cluster.gpu.gemm_efficiency": "gemm", "cluster.gpu.power": "power", "cluster.price": "price",
    "cluster.pue": "pue", "train.tokens": "tokens", "constants.gemm_scale": "gemm_scale",
    "constants.fp8_efficiency": "fp8_efficiency", "constants.attention_efficiency": "scores",
    "constants.flash_efficiency": "flash", "constants.grouped_efficiency": "grouped",
    "constants.memory_efficiency": "eta", "constants.stream_efficiency": "stream",
    "constants.loss_traffic": "loss_bytes", "constants.early_stop": "early_stop",
    "constants.link_efficiency": "eta_link", "constants.network_efficiency": "eta_network",
    "constants.small_group_loss": "small_group", "constants.collective_latency": "alpha",
    "constants.rank_latency": "alpha_rank", "constants.node_latency": "alpha_node",
    "constants.transfer_latency": "alpha_transfer", "constants.overlap_slowdown": "slowdown",
    "constants.layer_launch": "launch", "constants.rank_launch": "launch_rank",
    "constants.launch_sharpness": "sharpness", "constants.moe_launch": "moe_launch", "constants.site_factor": "site",
    "constants.power_factor": "power_factor", "constants.framework_memory": "framework",
    "constants.fragmentation": "fragmentation", "constants.communication_buffers": "buffers",
    "constants.logit_memory": "logit_bytes", "constants.second_gradient": "second_gradient",
    "constants.selective_saving": "saving", "constants.weights_are_master": "master_weights",
    "constants.keep_gathered": "keep_gathered", "model.hybrid": "hybrid", "model.window": "window",
    "model.gated_attention": "gated_attention", "model.index_heads": "index_heads", "model.index_dim": "index_dim",
    "model.index_top_k": "index_top_k", "model.index_compression": "index_join", "model.index_layers": "index_layers",
    "model.hyper_connections": "streams", "model.mamba_heads": "mamba_heads", "model.mamba_head_dim": "mamba_dim",
    "model.mamba_state": "mamba_state", "model.mamba_groups": "mamba_groups", "model.delta_k_heads": "delta_k_heads",
    "model.delta_v_heads": "delta_v_heads", "model.delta_k_dim": "delta_k_dim", "model.delta_v_dim": "delta_v_dim",
    "model.moe_latent": "moe_latent", "model.mtp": "mtp", "model.mtp_shared": "mtp_shared",
    "precision.recipe": ("recipe", ["default", "bf16", "fp8_delayed", "fp8_current", "fp8_block", "mxfp8", "nvfp4"]),
    "precision.first_last_bf16": "first_last", "precision.attention_fp8": "attention_fp8",
    "precision.gather": ("gather", ["weights", "fp8", "fp4"]), "cluster.gpu.peak_fp4": "peak_fp4",
    "parallel.dispatcher": ("dispatcher", ["alltoall", "allgather", "deepep", "hybridep"]),
    "parallel.cp_method": ("cp_method", ["ring", "alltoall", "hierarchical"]), "parallel.shard": "shard",
    "parallel.outer_states": "outer", "graphs": ("graphs", ["none", "layer", "scoped", "full"]),
    "cluster.gpu.host": ("host", ["x86", "grace"]), "recomputed.attention": "again_attention",
    "recomputed.mlp": "again_mlp", "recomputed.moe": "again_moe", "recomputed.activation": "again_activation",
    "recomputed.norms": "again_norms", "recomputed.latent": "again_latent",
    "recomputed.shared_experts": "again_shared", "recomputed.layers": "again_layers",
    "train.task": ("task", ["pretraining", "sft", "lora"]), "train.lora_rank": "lora_rank", "train.sample": "sample",
    "constants.grouped_half": "grouped_half", "constants.flash_half_length": "half_length",
    "constants.expert_launch": "expert_launch", "constants.overlap_launch": "overlap_launch",
    "constants.moe_sync": "moe_sync", "constants.step_overhead": "overhead", "constants.selective_repeats": "repeats",
    "constants.flash_narrow": "flash_narrow", "constants.flash_sinks": "flash_sinks",
    "constants.flash_latent": "flash_latent", "constants.flash_sparse": "flash_sparse",
    "constants.fp4_efficiency": "fp4_efficiency", "constants.mxfp8_efficiency": "mxfp8_efficiency",
    "constants.cast_traffic": "cast_traffic", "constants.scan_traffic": "scan_traffic",
    "constants.scan_work": "scan_work", "constants.delta_traffic": "delta_traffic",
    "constants.permutation_traffic": "permutes", "constants.gemm_memory_efficiency": "gemm_memory",
    "model.sinks": "sinks", "cluster.gpu.mxfp8": "mxfp8",
    "precision.master": ("master", ["fp32", "fp16", "bf16", "none"]), "constants.grace_launch": "grace",
    "constants.graph_launch": "graph_launch", "constants.graph_launch_moe": "graph_moe",
    "constants.mamba_launch": "mamba_launch", "constants.graph_memory": "graph_memory",
    "constants.static_rows": "static_rows", "constants.dispatch_efficiency": "dispatch",
    "constants.dispatch_network_efficiency": "dispatch_network", "constants.alltoall_efficiency": "alltoall",
    "cluster.gpus_used_per_node": "used"
}


class Plan(Table):
    """In base units; flags are 0 or 1, choices indices of the constants."""
    lists = {"layers": (MOST_STAGES, KINDS_OF_LAYERS + 1)}


def draw_model(random, x):
    x.L = random.whole(27, 97)
    x.a = random.whole(2, 96)
    x.h = floor(random.wide(300, 17000))
    x.kv = random.or_zero(random.whole(1, int(x.a)))
    x.dh = random.or_zero(random.whole(32, 200))
    x.f = random.or_zero(floor(x.h * random.uniform(1.5, 6)))
    x.gated = random.one_in(2)
    x.bias = random.one_in(2)
    x.rms_norm = random.one_in(2)
    x.tied = random.one_in(2)
    x.V = random.whole(1000, 260000)
    x.multiple = random.whole(1, 200)
    x.positions = random.or_zero(random.whole(1000, 9000))
    x.dropout = random.one_in(2)
    x.causal = random.one_in(2)
    latent = random.randrange(4) == 0
    x.kv_rank = max(random.or_zero(random.whole(50, 700)), 1) if latent else 0
    x.q_rank = random.or_zero(random.whole(50, 1700)) if latent else 0
    x.rope = random.whole(8, 90) if latent else 0
    x.dv = random.or_zero(random.whole(30, 200))


def draw_experts(random, x):
    moe = random.randrange(2) == 0
    x.ep = random.power(5) if moe else 1
    x.etp = random.or_zero(random.power(3)) if moe else 0
    x.E = x.ep * random.whole(1, 20) if moe else 0
    x.K = random.whole(1, 9) if moe else 0
    x.fe = random.or_zero(random.whole(300, 9000)) if moe else 0
    x.fs = random.or_zero(random.whole(300, 9000)) if moe else 0
    x.dense_layers = random.whole(0, 5) if moe else 0
    x.moe_every = random.whole(1, 4)
    x.imbalance = random.uniform(1, 2.5)
    x.capacity = random.or_zero(random.uniform(1, 2.5))


def draw_parallel(random, x):
    x.b = random.whole(1, 9)
    x.s = random.wide(200, 40000)
    x.t = random.power(4)
    x.p = 1 if random.one_in(3) > 0 else random.whole(2, 9)
    x.v = random.whole(2, 5) if x.p > 1 and random.randrange(2) == 0 else 1
    x.cp = 1 if random.one_in(2) > 0 else random.power(3)
    x.d = 1 if random.one_in(5) > 0 else random.power(7)
    while x.t * x.cp * x.d < x.ep * (x.etp if x.etp > 0 else x.t):
        x.d *= 2  # whole groups of experts
    x.B = x.b * x.d * random.whole(1, 40)
    x.zero = random.whole(0, 3)
    x.schedule = random.whole(GPIPE, ZERO_BUBBLE_2)
    x.first_layers = random.or_zero(random.whole(1, 9)) if x.p > 1 else 0
    x.last_layers = random.or_zero(random.whole(1, 9)) if x.p > 1 else 0
    x.sequence_parallel = random.one_in(2)
    x.scatter_gather = random.one_in(2)
    x.recompute = random.whole(NONE, FULL)
    x.unfused = random.one_in(2)
    x.hide_tp = random.or_zero(random.uniform(0, 1))
    x.hide_cp = random.uniform(0, 1)
    x.hide_ep = random.uniform(0, 1)
    x.hide_pp = random.uniform(0, 1)
    x.hide_gradients = random.uniform(0, 1)
    x.hide_weights = random.uniform(0, 1)
    x.prefetch = random.whole(0, 4)
    x.weights = random.whole(FP32, FP16)
    x.gradients = random.whole(FP32, FP16)
    x.moments = random.whole(FP32, FP8)
    x.messages = random.whole(FP32, FP8)
    x.fp8 = random.one_in(4)
    x.fused_wgrad = random.one_in(2)


def draw_cluster(random, x):
    x.G = random.whole(1, 13)
    x.nodes = random.whole(1, 400)
    x.peak_fp16 = random.wide(5e13, 3e15)
    x.peak_bf16 = 0 if random.one_in(5) > 0 else x.peak_fp16 * random.uniform(0.5, 1.5)
    x.peak_fp32 = 0 if random.one_in(5) > 0 else x.peak_fp16 * random.uniform(0.05, 0.5)
    x.peak_fp8 = 0 if random.one_in(5) > 0 else x.peak_fp16 * random.uniform(1.2, 2)
    x.bandwidth = random.wide(3e11, 8e12)
    x.link = 0 if random.one_in(8) > 0 else random.wide(1e10, 9e11)
    x.nics = 0 if random.one_in(8) > 0 else random.wide(1e9, 4e11)
    x.memory = random.wide(1e10, 4e12)
    x.gemm = random.uniform(0.3, 0.9)
    x.power = random.uniform(200, 1200)
    x.price = random.uniform(0.3, 9) / 3600
    x.pue = random.uniform(1, 2)
    x.tokens = random.or_zero(random.wide(1e9, 1e13))


def draw_constants(random, x):
    x.gemm_scale = random.uniform(0.5, 1.1)
    x.fp8_efficiency = random.uniform(0.3, 0.9)
    x.scores = random.uniform(0.2, 0.9)
    x.flash = random.uniform(0.3, 1)
    x.grouped = random.uniform(0.3, 1)
    x.eta = random.uniform(0.3, 1)
    x.stream = random.uniform(0.3, 1)
    x.loss_bytes = random.uniform(10, 70)
    x.early_stop = random.one_in(2)
    x.eta_link = random.uniform(0.3, 1)
    x.eta_network = random.uniform(0.3, 1)
    x.small_group = random.uniform(0, 0.7)
    x.alpha = random.wide(1e-6, 1e-3)
    x.alpha_rank = random.wide(1e-7, 1e-4)
    x.alpha_node = random.wide(1e-6, 1e-4)
    x.alpha_transfer = random.wide(1e-6, 1e-3)
    x.slowdown = random.or_zero(random.uniform(0, 1)) + 1
    x.launch = random.wide(1e-5, 1e-1)
    x.launch_rank = random.wide(1e-6, 1e-3)
    x.sharpness = random.uniform(1, 9)
    x.moe_launch = random.uniform(0.5, 3)
    x.site = random.uniform(0.5, 2)
    x.power_factor = random.uniform(0.5, 2)
    x.framework = random.uniform(0, 9e9)
    x.fragmentation = random.uniform(1, 1.4)
    x.buffers = random.uniform(0, 9e9)
    x.logit_bytes = random.uniform(2, 20)
    x.second_gradient = random.or_zero(random.uniform(1, 5))
    x.saving = random.uniform(0, 0.9)
    x.master_weights = random.one_in(2)
    x.keep_gathered = random.one_in(2)


def draw_plan(random):
    x = Plan(index_join=1, streams=1, mamba_groups=1, flash_narrow=1, flash_sinks=1, overlap_launch=1, flash_latent=1,
             cast_traffic=1, permutes=1, alltoall=1)
    draw_model(random, x)
    draw_experts(random, x)
    draw_parallel(random, x)
    draw_cluster(random, x)
    draw_constants(random, x)
    return x


def is_routed(kind):
    return kind == A_MOE or kind == A_WINDOW_MOE or kind == A_DELTA_MOE or kind == AN_EXPERTS


def has_attention(kind):
    return kind <= A_WINDOW_MOE or kind == AN_ATTENTION


def is_possible(x, kind):
    if (kind >= A_MAMBA) != (x.hybrid > 0) or is_routed(kind) and x.E <= 0:
        return False
    return ((kind != A_WINDOW and kind != A_WINDOW_MOE or x.window > 0)
            and (kind != A_DELTA and kind != A_DELTA_MOE or x.delta_v_heads > 0))


def draw_shapes_of_kinds(random, x):
    x.hybrid = random.one_in(3)
    x.window = 0 if x.hybrid > 0 else random.or_zero(random.whole(30, 190))
    x.gated_attention = random.one_in(3)
    indexed = x.hybrid <= 0 and random.randrange(5) == 0
    x.index_heads = random.whole(3, 70) if indexed else 0
    x.index_dim = random.whole(30, 130) if indexed else 0
    x.index_top_k = random.whole(30, 900) if indexed else 0
    x.index_join = random.whole(1, 5)
    x.streams = random.whole(2, 5) if random.randrange(5) == 0 else 1
    x.mamba_heads = random.whole(3, 130) if x.hybrid > 0 else 0
    x.mamba_dim = random.whole(30, 130)
    x.mamba_state = random.whole(30, 260)
    x.mamba_groups = random.whole(1, 9)
    deltas = x.hybrid <= 0 and random.randrange(3) == 0
    x.delta_k_heads = random.whole(3, 40)
    x.delta_v_heads = random.whole(3, 70) if deltas else 0
    x.delta_k_dim = random.whole(30, 140)
    x.delta_v_dim = random.whole(30, 140)
    x.moe_latent = random.or_zero(random.whole(300, 2100)) if x.E > 0 else 0
    x.mtp = random.or_zero(random.whole(1, 3))
    x.mtp_shared = random.one_in(2)


def draw_layers_of_stages(random, x):
    """Each stage has its own layers, all of them at least one."""
    x.L = 0
    for stage in range(int(x.p)):
        count = random.randint(1, 13)
        while sum(x.layers[stage]) < count:
            kind = random.randrange(KINDS_OF_LAYERS)
            x.layers[stage][kind] += is_possible(x, kind)
        x.L += count
    x.layers[int(x.p) - 1][KINDS_OF_LAYERS] = x.mtp
    x.first_layers = 0
    x.last_layers = 0
    x.index_layers = random.whole(0, int(x.L)) if x.index_heads > 0 else 0


def draw_ways_of_kinds(random, x):
    x.recipe = random.whole(0, 6)
    x.first_last = random.or_zero(random.whole(1, 2))
    x.attention_fp8 = random.one_in(4)
    x.gather = random.whole(0, 2)
    x.peak_fp4 = 0 if random.one_in(3) > 0 else x.peak_fp16 * random.uniform(2.2, 6)
    x.dispatcher = random.whole(0, 3)
    x.cp_method = random.whole(0, 2)
    x.shard = random.or_zero(2) if x.zero > 2 and x.d > 1 else 0
    x.outer = random.whole(0, 1) if x.shard > 0 else 0
    x.graphs = random.whole(0, 3)
    x.host = random.one_in(2)
    x.again_attention = random.one_in(2)
    x.again_mlp = random.one_in(3)
    x.again_moe = random.one_in(3) if x.E > 0 else 0
    x.again_activation = random.one_in(3) if x.E > 0 else 0
    x.again_norms = random.one_in(3)
    x.again_latent = random.one_in(3) if x.kv_rank > 0 else 0
    x.again_shared = random.one_in(3) if x.fs > 0 else 0
    x.again_layers = random.or_zero(random.whole(1, 5)) if x.recompute == FULL else 0
    x.task = random.whole(PRETRAINING, LORA)
    x.lora_rank = random.whole(3, 65) if x.task == LORA else 0
    x.sample = random.or_zero(random.uniform(90, 3000))
    x.grouped_half = random.uniform(0, 300)
    x.half_length = random.uniform(0, 900)
    x.expert_launch = random.wide(1e-6, 1e-4)
    x.overlap_launch = random.uniform(0.5, 2.5)
    x.moe_sync = random.wide(1e-6, 1e-3)
    x.overhead = random.wide(1e-5, 1e-1)
    x.repeats = random.uniform(0, 1)


def draw_constants_of_kinds(random, x):
    x.flash_narrow = random.uniform(0.3, 1)
    x.flash_sinks = random.uniform(0.3, 1)
    x.flash_latent = random.uniform(0.3, 1)
    x.flash_sparse = random.uniform(0.3, 1)
    x.fp4_efficiency = random.uniform(0.2, 0.8)
    x.mxfp8_efficiency = random.uniform(0.3, 0.9)
    x.cast_traffic = random.uniform(0.5, 2)
    x.scan_traffic = random.uniform(10, 60)
    x.scan_work = random.uniform(500, 3000)
    x.delta_traffic = random.uniform(10, 60)
    x.permutes = random.uniform(0.5, 2)
    x.gemm_memory = random.or_zero(random.uniform(0.3, 0.9))
    x.sinks = random.one_in(4)
    x.mxfp8 = random.one_in(2)
    x.master = random.whole(0, 3)
    x.grace = random.uniform(0.5, 2)
    x.graph_launch = random.uniform(0.1, 0.9)
    x.graph_moe = random.uniform(0.1, 0.9)
    x.mamba_launch = random.uniform(0.3, 0.9)
    x.graph_memory = random.uniform(1e8, 5e9)
    x.static_rows = random.uniform(1, 3)
    x.dispatch = random.uniform(0.3, 1)
    x.dispatch_network = random.uniform(0.3, 1)
    x.alltoall = random.uniform(0.3, 1)


def draw_plan_of_kinds(random):
    x = draw_plan(random)
    draw_shapes_of_kinds(random, x)
    draw_layers_of_stages(random, x)
    draw_ways_of_kinds(random, x)
    draw_constants_of_kinds(random, x)
    return x


class Megatron(Sheet):
    """The sheet, run over plans."""

    def __init__(self, random, functions=None):
        super().__init__("megatron", random, functions)
        self.readers = [self.reader_of(one) for one in self.inputs]

    @staticmethod
    def reader_of(one):
        """What a plan has of an input; inputs that no plan has keep their defaults."""
        member = KEYS.get(one.key)
        if isinstance(member, str):
            return lambda x: getattr(x, member)
        if member is not None:
            values = [one.value_of(name) for name in member[1]]
            return lambda x: values[int(getattr(x, member[0]))]
        assert one.default is not None or one.key_default or one.key == "stack", f"no plan has {one.key}"
        value = one.value_of("plain") if one.key == "stack" else one.value_left_out()
        return lambda x: value

    def run_plan(self, x):
        self.plan = x
        self.run([read(x) for read in self.readers])

    def of(self, cell, member):
        return self.found(f"{cell}[{member}]")

    def expect_of(self, cell, member, expected, scale=0.0):
        self.expect(f"{cell}[{member}]", expected, scale)

    def of_kind(self, cell, kind):
        return self.found(f"{cell}[{LAYER_NAMES[kind]}]")

    def expect_kind(self, cell, kind, expected, scale=0.0):
        self.expect(f"{cell}[{LAYER_NAMES[kind]}]", expected, scale)


class LaidOut(Megatron):
    """The layers of each stage are those of the plan, given as a pattern or a layout would."""

    def __init__(self, random, functions=None):
        ones = ["1"] * 22
        super().__init__(random, {
            "layers_of": ("1", ones[:2], self.layers_of),
            "layers_on": ("1", ones[:13], self.layers_on),
            "layers_asked": ("1", ones[:14], self.layers_on),
            "fullest_stage": ("1", ones, self.fullest_stage), **(functions or {})})

    def layers_of(self, kind, _):
        return sum(stage[int(kind)] for stage in self.plan.layers[:int(self.plan.p)])

    def layers_on(self, kind, stage, *_):
        """Asked also for the branch that is not taken, of the stages of a folded schedule."""
        return self.plan.layers[int(stage)][int(kind)] if stage < MOST_STAGES else 0

    def fullest_stage(self, *arguments):
        """Of those between the ends, by the weights of their layers."""
        weights = arguments[DIVISION:]
        stages = range(1, int(self.plan.p) - 1)
        return max(stages, default=1, key=lambda at: sum(a * b for a, b in zip(self.plan.layers[at], weights)))
