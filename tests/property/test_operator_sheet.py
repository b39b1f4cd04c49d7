# SPDX-License-Identifier: Apache-2.0
"""The sheets operators, kernels and layer-kinds against their sources written out: a roofline with a smooth corner for
products, the square of causal attention halved, grouped products that many tokens speed up (docs/operators.md,
docs/record.md, docs/layers.md). Every input is drawn by its key.
"""
from math import exp, floor, prod

from sheet import Sheet, run_tests

ROWS = 3000
GEMM, ATTENTION, EXPERTS = range(3)
BF16, FP8, FP8_STATIC, FP8_BLOCK, MXFP8, NVFP4 = range(6)
# As the keys of their constants end; static scales are constants of FP8.
ENDINGS = ["bf16", "fp8", "fp8", "fp8_block", "mxfp8", "nvfp4"]
LIBRARIES = ["any", "sglang", "trtllm", "vllm", "flashinfer", "triton"]


def draw_input(random, one):
    key, at = one.key, random.random()
    if one.choices:
        return random.randrange(len(one.choices))
    if key == "cluster.gpu.compute_capability":
        return random.whole(7, 9)
    if key == "operator.head_dim":
        return 32 * random.whole(1, 6)
    if key.startswith("operator."):
        return floor(exp(8 * at))
    if "peak" in key:
        return 0 if random.randrange(6) == 0 and "fp16" not in key else 1e14 * exp(3 * at)
    if "memory_bandwidth" in key:
        return 1e12 * exp(2 * at)
    if "constant" in key:
        return 1e-6 * exp(3 * at)
    return 500 * at if "half" in key else 0.3 + 0.7 * at


def corner(arithmetic, memory):
    return (arithmetic**4 + memory**4)**0.25


class Kernels(Sheet):
    """A sheet of kernels with what its sources say of the inputs at hand."""
    relative = 1e-11

    def draw(self):
        self.run([draw_input(self.random, one) for one in self.inputs])
        self.of_key = {one.key: value for one, value in zip(self.inputs, self.given)}
        self.precision = int(self.of("precision"))
        self.half = self.gpu("peak_bf16") or self.gpu("peak_fp16")  # FLOP/s in 16 bits
        self.peak = {BF16: self.half, NVFP4: self.gpu("peak_fp4")}.get(self.precision, self.gpu("peak_fp8"))
        self.rate = self.constant("gemm_efficiency") * self.peak
        if self.of("burst") > 0:
            self.rate *= self.gpu("gemm_burst")
        self.bandwidth = self.constant("gemm_memory") * self.gpu("memory_bandwidth")
        self.width = [2, 1, 1, 1, 1 + 1 / 32, 0.5 + 1 / 16][self.precision]

    def gpu(self, name):
        return self.of_key["cluster.gpu." + name]

    def of(self, name):
        return self.of_key["operator." + name]

    def constant(self, start, precision=None):
        return self.gpu(f"{start}_{ENDINGS[self.precision if precision is None else precision]}")

    def factor(self, start, measured):
        """The factor of the named library over the others; 1 if its kernels lack one."""
        library = LIBRARIES[int(self.of("library"))]
        return self.gpu(f"{start}_{library}") if library in measured else 1

    def sizes(self):
        return self.of("m"), self.of("n"), self.of("k")

    def cast_bytes(self):
        """Read and written to make a product's numbers smaller."""
        trtllm = self.of("library") == 2
        casts = self.precision != BF16 and (self.precision != FP8_STATIC or trtllm)
        return (2 + self.width) * self.of("m") * self.of("k") if casts else 0

    def product_time(self, products):
        """Equal products of one kernel."""
        m, n, k = self.sizes()
        moved = self.width * m * k + self.width * k * n + 2 * m * n
        timed = self.precision not in (BF16, MXFP8)
        overhead = self.factor("gemm_overhead_" + ENDINGS[self.precision], LIBRARIES[1:4]) if timed else 1
        return (self.constant("gemm_constant") * overhead + products * self.cast_bytes() / self.bandwidth
                + corner(products * 2 * m * n * k / self.rate, products * moved / self.bandwidth))

    def attention_work(self):
        """Two products of s x s x d for each head, of which causal ones need half."""
        s = self.of("sequence")
        return self.of("batch") * self.of("heads") * 2 * (2 * s * s * self.of("head_dim")) / 2

    def attention_time(self, begin="attention_constant"):
        wide = 128 if self.of("head_dim") >= 96 else 64
        share = self.gpu(f"attention_efficiency_{wide}") * self.factor("attention_rate", LIBRARIES[1:])
        half = self.gpu(f"attention_half_{wide}") * self.factor("attention_overhead", LIBRARIES[1:])
        kv = self.of("kv_heads")
        half *= (1 + kv / self.of("heads")) / 2 if kv > 0 else 1
        return (self.gpu(begin)
                + self.attention_work() * (1 + half / self.of("sequence")) / (share * self.half))

    def experts_work(self):
        return 3 * 2 * self.of("tokens") * self.of("top_k") * self.of("hidden") * self.of("ffn")

    def experts_time(self):
        h, f = self.of("hidden"), self.of("ffn")
        copies = self.of("tokens") * self.of("top_k")
        each = max(copies / self.of("experts"), 1)
        bandwidth = self.gpu("grouped_memory") * self.gpu("memory_bandwidth")
        rate = self.constant("grouped_efficiency") * self.rate / (1 + self.gpu("grouped_half") / each)
        weights = self.of("experts") * 3 * h * f * self.width
        return (self.gpu("grouped_constant") + 2 * copies * (4 * h + 3 * f) / bandwidth
                + corner(self.experts_work() / rate, weights / bandwidth))

    def wide_time(self, peak):
        """Products of numbers in 32 bits at the shares of their peak and of the memory that bf16 reaches."""
        m, n, k = self.sizes()
        products = self.of("products")
        bandwidth = self.constant("gemm_memory", BF16) * self.gpu("memory_bandwidth")
        return (self.constant("gemm_constant", BF16)
                + corner(products * 2 * m * n * k / (self.constant("gemm_efficiency", BF16) * peak),
                         products * 4 * (m * k + k * n + m * n) / bandwidth))


def test_operators_take_what_their_sources_say(random):
    b = Kernels("operators", random)
    for _ in range(ROWS):
        b.draw()
        if b.peak <= 0:
            continue  # a check fails
        kind = int(b.of("kind"))
        time = (b.product_time(1), b.attention_time(), b.experts_time())[kind]
        work = (2 * prod(b.sizes()), b.attention_work(), b.experts_work())[kind]
        b.expect("t", time)
        b.expect("work", work)
        b.expect("reached", work / time / (b.half if kind == ATTENTION else b.peak))
        b.expect("F_16", b.half)


def test_kernels_take_what_their_sources_say(random):
    b = Kernels("kernels", random)
    for _ in range(ROWS):
        b.draw()
        if b.peak <= 0:
            continue  # a check fails
        products, size = b.of("products"), b.of("bytes")
        single = b.gpu("peak_fp32")
        begin, backward = b.gpu("attention_kernel_constant"), b.of_key["constants.attention_backward"]
        constant = b.gpu("kernel_constant")
        streams = b.of_key["constants.stream_efficiency"] * b.gpu("memory_bandwidth")
        has_tf32 = b.gpu("compute_capability") >= 8
        b.expect("t_product", b.product_time(products))
        b.expect("W_product", 2 * products * prod(b.sizes()))
        if has_tf32 or single > 0:
            b.expect("t_product_tf32", b.wide_time(b.half / 2 if has_tf32 else single))
        b.expect("t_product_fp32", b.wide_time(single or 1e12))
        attention = b.attention_time("attention_kernel_constant")
        b.expect("t_attention_kernel", attention)
        b.expect("t_attention_backward", begin + backward * (attention - begin))
        b.expect("W_attention_backward", backward * b.attention_work())
        sums = b.gpu("reduction_constant") if b.of("reductions") > 0 else 0
        b.expect("t_moved", constant + sums
                 + size / (b.of_key["constants.memory_efficiency"] * b.gpu("memory_bandwidth")))
        b.expect("t_streamed", constant + size / streams)
        b.expect("t_filled", constant + size / streams)
        b.expect("t_copied", constant + (size + size) / streams)  # read and written
        b.expect("t_host_copy", size / (b.of_key["constants.host_efficiency"] * b.gpu("host_bandwidth")))
        b.expect("no_work", 0)
        b.expect("no_time", 0)


# ---- layers by their kind: docs/layers.md ----

(GIVEN, CONV, UPCONV, LINEAR, ATTEND, EMBEDDING, NORM, ACTIVATION, ADD, POOL, CONCAT) = range(11)


class Layers(Sheet):
    relative = 1e-11

    def __init__(self, random):
        super().__init__("layer-kinds", random)
        self.names = [one.key.removeprefix("constants.") for one in self.inputs]

    def layer(self):
        return dict(zip(self.names, self.given))


def products_of(kind, of):
    """Weights and work."""
    places = of["rows"] * of["columns"]
    window = of["kernel"] * of["kernel"] * of["in"] / of["groups"]
    if kind == GIVEN:
        return of["parameters"], of["flop"]
    if kind in (CONV, UPCONV):
        return window * of["out"], 2 * window * of["out"] * places / (of["stride"] ** 2 if kind == UPCONV else 1)
    if kind == LINEAR:
        return of["in"] * of["out"], 2 * of["in"] * of["out"] * places
    if kind == ATTEND:  # scores and their product with the values; half of them where causal
        return 0, (2 if of["causal"] > 0 else 4) * of["in"] * places * of["keys"]
    return {EMBEDDING: of["entries"] * of["out"], NORM: of["in"]}.get(kind, 0), 0


def expect_layer(b):
    of = b.layer()
    kind = int(of["kind"])
    places = of["rows"] * of["columns"]
    places_in = places * {CONV: of["stride"] ** 2, POOL: of["stride"] ** 2, UPCONV: of["stride"] ** -2}.get(kind, 1)
    as_wide = kind == NORM or kind >= ACTIVATION
    ins, out = of["in"] * places_in, of["in" if as_wide else "out"] * places
    if kind == GIVEN:
        ins, out = of["keeps"], of["values"]
    weights, work = products_of(kind, of)
    # what kernels without products read and write; a norm reads twice, a sum reads two
    moved = {EMBEDDING: 2 * out, NORM: 3 * out, ACTIVATION: 2 * out, ADD: 3 * out, CONCAT: 2 * out, POOL: ins + out}
    kept = ins + 2 * of["in"] * of["keys"] if kind == ATTEND else ins
    if kind in (EMBEDDING, ADD, CONCAT) or of["inplace"] > 0 or of["shared"] > 0:
        kept = 0
    kernels = 2 if of["bias"] > 0 and kind in (CONV, UPCONV) else 1
    if kind == GIVEN and work == 0 and out == 0:
        kernels = 0
    b.expect("passed_on", out)
    for cell, value in {
        "weights": weights, "biases": of["in" if kind == NORM else "out"] if of["bias"] > 0 else 0, "work": work,
        "kept": kept, "moved": moved.get(kind, 0), "kernels": kernels,
        "moved_compiled": {ACTIVATION: 0, ADD: out}.get(kind, moved.get(kind, 0)),
        "kernels_compiled": 0 if kind in (ACTIVATION, ADD) else 1,
    }.items():
        b.expect(cell, of["repeats"] * value)


def draw_size(random, one):
    if one.choices:
        return random.randrange(len(one.choices))
    return random.randrange(3) if one.key in ("constants.values", "constants.flop") else random.whole(1, 40)


def test_layers_have_what_their_sources_say(random):
    b = Layers(random)
    for _ in range(ROWS):
        b.run([draw_size(random, one) for one in b.inputs])
        expect_layer(b)


# ---- which sizes a layer of a kind has; the table of docs/layers.md ----

NEEDS = {GIVEN: "", CONV: "in out kernel", UPCONV: "in out kernel", LINEAR: "in out", ATTEND: "in keys",
         EMBEDDING: "entries out", NORM: "in", ACTIVATION: "in", ADD: "in", POOL: "in kernel", CONCAT: "in"}
MAY_HAVE = {GIVEN: "parameters flop values keeps", CONV: "rows columns stride groups bias",
            UPCONV: "rows columns stride groups bias", LINEAR: "rows columns bias", ATTEND: "rows columns causal",
            EMBEDDING: "rows columns", NORM: "rows columns bias", ACTIVATION: "rows columns inplace",
            ADD: "rows columns", POOL: "rows columns stride", CONCAT: "rows columns"}
OF_ALL = ("kind", "repeats", "shared")


def is_a_layer(b):
    of = b.layer()
    kind = int(of["kind"])
    needs, may = NEEDS[kind].split(), MAY_HAVE[kind].split()
    foreign = [one for name, one in zip(b.names, b.inputs) if name not in (*OF_ALL, *needs, *may)]
    if any(of[name] <= 0 for name in needs) or any(of[one.key.removeprefix("constants.")] != one.value_left_out()
                                                   for one in foreign):
        return False
    if kind == GIVEN and not any(of[name] > 0 for name in may):
        return False
    if any(of[name] < 1 for name in ("groups", "stride", "rows", "columns", "repeats")):
        return False
    return (of["in"] % of["groups"] == 0 and of["out"] % of["groups"] == 0
            and (kind != UPCONV or of["rows"] * of["columns"] % of["stride"] ** 2 == 0))


def draw_layer(random, b):
    """A layer that has what its kind needs, or all but one size of it, or one more."""
    kind = random.randrange(CONCAT + 1)
    drawn = NEEDS[kind].split() + [name for name in MAY_HAVE[kind].split() if random.randrange(2) == 1]
    values = [(1 if one.choices else random.whole(1, 8)) if name in drawn else one.value_left_out()
              for name, one in zip(b.names, b.inputs)]
    other = random.randrange(len(values))
    if random.randrange(3) > 0:
        values[other] = random.randrange(2)
    values[b.names.index("kind")] = kind
    return values


def test_layers_have_the_sizes_of_their_kind(random):
    b = Layers(random)
    refused = 0
    for _ in range(10 * ROWS):
        b.run(draw_layer(random, b))
        if b.checks_hold() != is_a_layer(b):
            b.fail(f"a layer is {'not ' if b.checks_hold() else ''}refused")
        refused += not b.checks_hold()
    assert 2 * ROWS <= refused <= 8 * ROWS, refused


# ---- what nothing gives ----

LEFT_OUT = {"constants.memory_efficiency": 0.67, "constants.stream_efficiency": 0.85, "constants.host_efficiency": 0.8,
            "constants.attention_backward": 2.5, "cluster.gpu.compute_capability": 8,
            "cluster.gpu.host_bandwidth": 31.5e9, "cluster.gpu.gemm_burst": 1, "operator.products": 1,
            "constants.stride": 1, "constants.groups": 1, "constants.rows": 1, "constants.columns": 1,
            "constants.repeats": 1}


def test_what_is_left_out_is_nothing(random):
    """Sizes that a row does not give are none, and neither is a rate that no GPU's file has. Others have a value of
    their own, by its source."""
    for name in ("operators", "kernels", "layer-kinds"):
        for one in Sheet(name, random).inputs:
            nothing = one.key.startswith(("operator.", "cluster.gpu.peak", "constants."))
            expected = LEFT_OUT.get(one.key, 0 if nothing else None)
            if expected is None or (one.default is None and not one.key.startswith("operator.")):
                continue
            assert one.default == expected, f"{name}: {one.key} is {one.default} where nothing gives it"


run_tests(globals())
