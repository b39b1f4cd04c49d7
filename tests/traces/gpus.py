#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels of a recording on another GPU: by the shapes of their operators, and by measured tables.

    gpus.py STEPTIME

A made-up recording first, whose kernels have prices that are known. Then, where $STEPTIME_DATA has them, the
layers that Vidur measured on A100 are made into recordings, moved to H100 by `trace whatif --set cluster.gpu`,
and compared with what the same layers took there; tables come from another model's layers.
"""
import collections
import csv
import gzip
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

A100, H100 = "a100-sxm-80gb", "h100-sxm"
OPERATORS = {"gemm": ("aten::mm", "ampere_bf16_gemm"), "norm": ("rms_norm", "rms_norm_kernel"),
             "activation": ("aten::silu", "elementwise_silu"), "add": ("aten::add", "elementwise_add"),
             "rope": ("rope", "elementwise_rotary")}


def inputs_of(kernel):
    kind, rows, columns, width = kernel
    shapes = {"gemm": [[rows, width], [width, columns]], "add": 2 * [[rows, columns]],
              "activation": [[rows, 2 * columns]]}
    return shapes.get(kind, [[rows, columns]])


def recording(kernels, device="NVIDIA A100-SXM4-80GB", shapes=True):
    """A call, an operator with shapes and a kernel each, one after the other on one stream."""
    events, host, gpu = [], 1000.0, 2000.0
    for number, (kernel, us) in enumerate(kernels, 1):
        operator, name = OPERATORS[kernel[0]]
        dims = inputs_of(kernel)
        args = {"Input Dims": dims, "Input type": ["c10::BFloat16"] * len(dims)} if shapes else {}
        events.append({"ph": "X", "cat": "cpu_op", "name": operator, "pid": 1, "tid": 1, "ts": host, "dur": 8,
                       "args": args})
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                       "ts": host + 1, "dur": 5, "args": {"correlation": number}})
        gpu = max(gpu, host + 20)
        events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": round(gpu, 3),
                       "dur": round(us, 3), "args": {"device": 0, "stream": 7, "correlation": number}})
        gpu += us + 1
        host += 10
    return {"deviceProperties": [{"id": 0, "name": device}], "traceEvents": events}


class Program:
    def __init__(self, steptime, folder):
        self.steptime = steptime
        self.folder = folder

    def ask(self, *arguments):
        return subprocess.run([self.steptime, *arguments], capture_output=True, text=True, timeout=300)

    def write(self, trace, name="trace.json"):
        (self.folder / name).write_text(json.dumps(trace))
        return str(self.folder / name)

    def move(self, trace, *options):
        """What the kernels take on an H100, in microseconds, and the notes."""
        moved = str(self.folder / "moved.json")
        answer = self.ask("trace", "whatif", self.write(trace), "--set", "cluster.gpu=" + H100, "--trace", moved,
                          *options)
        assert answer.returncode == 0, answer.stderr
        events = [e for e in json.loads(pathlib.Path(moved).read_text())["traceEvents"]
                  if e.get("cat") == "kernel" and "correlation" in e["args"]]
        events.sort(key=lambda event: event["args"]["correlation"])
        return [event["dur"] for event in events], answer

    def refused(self, trace, words, *options):
        answer = self.ask("trace", "whatif", self.write(trace), *options)
        assert answer.returncode in (1, 2) and words in answer.stderr, (words, answer.stderr)

    def price(self, gpu, cell, *sets):
        options = [word for text in sets for word in ("--set", text)]
        job = self.folder / "job.yaml"
        job.write_text("cluster: {base: dgx-h100}\nsheet: kernels\n")
        answer = self.ask("explain", str(job), cell, "--set", "cluster.gpu=" + gpu, *options, "--json")
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout)["explanation"]["value"]


# ---- a made-up recording

def check_prices(program):
    product = ("gemm", 2053, 4099, 1031)
    kernels = [(product, 238.5), (("norm", 2053, 4099, 0), 38.5), (("add", 1031, 517, 0), 11.7), (product, 477.0)]
    trace = recording(kernels)
    del trace["traceEvents"][9]["args"]["Input Dims"]  # of the last product
    moved, answer = program.move(trace)
    sets = [f"operator.{name}={size}" for name, size in (("m", 2053), ("n", 4099), ("k", 1031))]
    gain = program.price(H100, "t_product", *sets) / program.price(A100, "t_product", *sets)
    def memory_gain(numbers, *more):
        size = (*sets, f"operator.bytes={2 * numbers} B", *more)
        return program.price(H100, "t_moved", *size) / program.price(A100, "t_moved", *size)
    memory = memory_gain(2 * 2053 * 4099, "operator.reductions=1")
    for found, wanted in zip(moved, (238.5 * gain, 38.5 * memory, 11.7 * memory_gain(3 * 1031 * 517), 477.0 * gain)):
        assert abs(found - wanted) <= 0.002 * wanted, (found, wanted)
    for words in ("1 kernels by shape, 1 without shapes by the mean", "copies, launches, the host and collectives",
                  f"norm: {memory:.3f} of the recorded time"):
        assert words in answer.stdout, answer.stdout
    faster = program.ask("trace", "whatif", program.write(trace), "--json", "--set",
                         "cluster.gpu.memory_bandwidth=4078 GB/s")
    bandwidth = "cluster.gpu.memory_bandwidth=4078 GB/s"
    size = (*sets, f"operator.bytes={4 * 2053 * 4099} B", "operator.reductions=1")
    faster_gain = program.price(A100, "t_moved", *size, bandwidth) / program.price(A100, "t_moved", *size)
    assert f"norm: {faster_gain:.3f} of the recorded time" in faster.stdout, faster.stdout + faster.stderr


def check_lacking(program):
    """Products of a type that the other GPU lacks are priced as the next wider one, and that is said."""
    for type_, gpu, words, most in (("c10::Float8_e4m3fn", A100, "does not multiply FP8", 12),
                                    ("c10::BFloat16", "t4", "does not multiply BF16", 30)):
        trace = recording([(("gemm", 2053, 4099, 1031), 238.5)], device="NVIDIA H100 80GB HBM3")
        trace["traceEvents"][0]["args"]["Input type"] = 2 * [type_]
        answer = program.ask("trace", "whatif", program.write(trace), "--set", "cluster.gpu=" + gpu, "--json")
        assert answer.returncode == 0 and words in answer.stdout, answer.stdout + answer.stderr
        found = json.loads(answer.stdout)
        assert found["after_ns"] < most * found["before_ns"], found


def check_refusals(program):
    trace = recording([(("gemm", 2053, 4099, 1031), 238.5)])
    other = ("--set", "cluster.gpu=" + H100)
    program.refused(recording([(("norm", 2053, 4099, 0), 38.5)], shapes=False), "record_shapes=True", *other)
    program.refused(trace, "cannot find GPU 'h1000'", "--set", "cluster.gpu=h1000")
    program.refused(recording([], device=None) | {"traceEvents": trace["traceEvents"], "deviceProperties": []},
                    "name it with --have cluster.gpu=NAME", *other)
    program.refused(trace, "NVIDIA A100-SXM4-80GB, a100-sxm-80gb, expected h100-sxm of --have", *other, "--have",
                    "cluster.gpu=" + H100)
    program.refused(trace, "refine= of --have is of kernels on another GPU", "--set", "speed.gemm=2", "--have",
                    "refine=operator-times")
    torn = json.loads(json.dumps(trace))
    torn["traceEvents"][0]["args"]["Input Dims"] = [[2053, 1031], [1033, 4099]]
    program.refused(torn, "the shapes of 'aten::mm' do not fit each other", *other)
    for dims in ([[[[[2053]]]]], "none", [[-3, 0]], [], [[1e30, 1e30], [1e30, 7]]):
        torn["traceEvents"][0]["args"]["Input Dims"] = dims
        program.refused(torn, "", *other)


# ---- measured layers

def layers_of(file):
    """Kernels of each layer, with their times in microseconds."""
    layers = []
    with gzip.open(file, "rt") as text:
        for row in csv.DictReader(text):
            hidden, ffn = int(row["n_embd"]), int(row["n_expanded_embd"])
            heads, shared = int(row["n_head"]), int(row["n_kv_head"])
            tokens, tp = int(row["num_tokens"]), int(row["num_tensor_parallel_workers"])
            gates = 2 if row["use_gated_mlp"] == "True" else 1
            pieces = [(("gemm", tokens, hidden * (heads + 2 * shared) // heads // tp, hidden), "attn_pre_proj"),
                      (("gemm", tokens, hidden, hidden // tp), "attn_post_proj"),
                      (("gemm", tokens, gates * ffn // tp, hidden), "mlp_up_proj"),
                      (("gemm", tokens, hidden, ffn // tp), "mlp_down_proj"),
                      (("norm", tokens, hidden, 0), "input_layernorm"),
                      (("norm", tokens, hidden, 0), "post_attention_layernorm"),
                      (("activation", tokens, ffn // tp, 0), "mlp_act"),
                      (("add", tokens, hidden, 0), "add"), (("add", tokens, hidden, 0), "add"),
                      (("rope", tokens, hidden * (heads + shared) // heads // tp, 0), "attn_rope")]
            times = [(kernel, row[f"time_stats.{piece}.median"]) for kernel, piece in pieces]
            layers.append([(kernel, 1e3 * float(us)) for kernel, us in times if us])
    return layers


def means(layers):
    times = collections.defaultdict(list)
    for kernel, us in (item for layer in layers for item in layer):
        times[kernel].append(us)
    return {kernel: statistics.mean(us) for kernel, us in times.items()}


def write_tables(folder, name, layers):
    products, moved = ["m,n,k,us"], ["bytes,rows,width,reductions,us"]
    for kernel, us in means(layers).items():
        if kernel[0] == "gemm":
            products.append(",".join(map(str, kernel[1:])) + f",{us:.3f}")
            continue
        sizes = [rows * columns * 2 for rows, columns in inputs_of(kernel)]
        rows, columns = inputs_of(kernel)[0]
        moved.append(f"{sum(sizes) + max(sizes)},{rows},{columns},{int(kernel[0] == 'norm')},{us:.3f}")
    for kind, lines in (("products", products), ("moved", moved)):
        (folder / f"{name}-{kind}.csv").write_text("\n".join(lines) + "\n")


def errors_of(program, layers, truth, options):
    """Mean errors of kernels and of layers' sums, percent."""
    moved, _ = program.move(recording([item for layer in layers for item in layer]), *options)
    each, sums, at = [], [], 0
    for layer in layers:
        found = moved[at:at + len(layer)]
        wanted = [truth[kernel] for kernel, _ in layer]
        each += [abs(a / b - 1) for a, b in zip(found, wanted)]
        sums.append(abs(sum(found) / sum(wanted) - 1))
        at += len(layer)
    return each, sums


def check_measured(program, data):
    before = [layers_of(file) for file in sorted(data.glob("a100_*.csv.gz"))]
    after = {file.name: layers_of(file) for file in sorted(data.glob("h100_*.csv.gz"))}
    write_tables(program.folder, "a100", [layer for layers in before for layer in layers])
    for name, layers in after.items():
        truth = means(layers)
        write_tables(program.folder, "h100", [layer for other in after if other != name for layer in after[other]])

        def plugin(gpu, multiprocessors, tables):
            files = ",".join(f"{option}={program.folder}/{gpu}-{kind}.csv" for option, kind in tables)
            return f"operator-times:{files},model=trees,multiprocessors={multiprocessors}"

        def tables(*kinds):
            return ("--refine", plugin("h100", 132, kinds), "--have", "refine=" + plugin("a100", 108, kinds))
        ways = {"sheet": ((), 15), "trees of products": (tables(("times", "products")), 8),
                "trees of all": (tables(("times", "products"), ("moved", "moved")), 8.5)}
        for way, (options, most) in ways.items():
            each, sums = [], []
            for layers_before in before:
                both = [[item for item in layer if item[0] in truth] for layer in layers_before]
                both = [layer for layer in both if len(layer) > 2]
                found = errors_of(program, both, truth, options) if both else ([], [])
                each += found[0]
                sums += found[1]
            error = 100 * statistics.mean(sums)
            print(f"{name} left out, {way}: {len(sums)} layers {error:.1f} %, {len(each)} kernels "
                  f"{100 * statistics.mean(each):.1f} %", flush=True)
            assert error <= most, error


def main():
    with tempfile.TemporaryDirectory() as folder:
        program = Program(sys.argv[1], pathlib.Path(folder))
        check_prices(program)
        check_lacking(program)
        check_refusals(program)
        data = pathlib.Path(os.environ.get("STEPTIME_DATA", "")) / "layer_profiles"
        trees = program.ask("plugin", "list").stdout
        if os.environ.get("STEPTIME_DATA") and data.is_dir() and "operator-times" in trees:
            check_measured(program, data)
        else:
            print("measured layers skipped: set STEPTIME_DATA")


main()
