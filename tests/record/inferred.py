#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Transformers whose sizes are known, and the job that their recordings show.

inferred.py STEPTIME runs the test; inferred.py --program SIZES is the program that it records.
"""
import concurrent.futures
import ctypes
import json
import os
import subprocess
import sys
import tempfile

BF16, FP32, COMPUTE, NCCL_BF16, NCCL_FLOAT, STEPS = 14, 0, 68, 9, 7, 4


class Unique(ctypes.Structure):
    _fields_ = [('text', ctypes.c_char * 128)]


class Dim3(ctypes.Structure):
    _fields_ = [('x', ctypes.c_uint), ('y', ctypes.c_uint), ('z', ctypes.c_uint)]


class Program:
    """Steps of training, of which only the calls count."""

    def __init__(self, o):
        self.o = o
        self.cudart, self.blas, self.nccl, self.dnn = (
            ctypes.CDLL(name) for name in ('libcudart.so.12', 'libcublas.so.12', 'libnccl.so.2', 'libcudnn.so.9'))
        self.rank, self.world = int(os.environ.get('RANK', 0)), int(os.environ.get('WORLD_SIZE', 1))
        tp, pp = o['tp'], o['pp']
        self.stage = self.rank // (self.world // pp)
        self.block = self.new(self.cudart.cudaMalloc, 1 << 30, out_first=True)
        self.handle = self.new(self.blas.cublasCreate_v2)
        self.cudnn = self.new(self.dnn.cudnnCreate)
        self.side = self.new(self.cudart.cudaStreamCreateWithFlags, 1, out_first=True)
        self.one = ctypes.c_float(1)
        self.register()
        rows = self.world // pp // tp  # ranks that share weights
        place = self.rank % (self.world // pp)
        self.tensor = self.comm('tp', tp, place % tp, f'{self.stage} {place // tp}')
        self.data = self.comm('dp', rows, place // tp, f'{self.stage} {place % tp}')
        self.line = self.comm('pp', pp, self.stage, str(place))
        self.heads, self.kv = o['heads'] // tp, o['kv'] // tp
        self.plans = [self.plan(*of) for of in ((41, 2800, 4), (43, 2851, 4))] if o['attention'] == 'flash' else None
        self.pack = self.descriptor(16)

    @staticmethod
    def must(got, what):
        if got != 0:
            sys.exit(f'{what} gave {got}')

    def new(self, function, *arguments, out_first=True):
        made = ctypes.c_void_p()
        self.must(function(ctypes.byref(made), *[ctypes.c_size_t(a) if isinstance(a, int) else a for a in arguments]),
                  function.__name__)
        return made

    def comm(self, kind, ranks, rank, which):
        if ranks < 2:
            return None
        made = ctypes.c_void_p()
        name = Unique((kind + which).encode())
        self.must(self.nccl.ncclCommInitRank(ctypes.byref(made), ranks, name, rank), 'ncclCommInitRank')
        return made

    def register(self):
        self.key = ctypes.create_string_buffer(8)
        self.cudart.__getattr__('__cudaRegisterFatBinary').restype = ctypes.c_void_p
        binary = ctypes.c_void_p(getattr(self.cudart, '__cudaRegisterFatBinary')(None))
        getattr(self.cudart, '__cudaRegisterFunction')(binary, self.key, None, b'_Z12adamw_kernelPfS_S_S_m', -1, *[None] * 5)

    def descriptor(self, kind):
        made = ctypes.c_void_p()
        self.must(self.dnn.cudnnBackendCreateDescriptor(kind, ctypes.byref(made)), 'cudnnBackendCreateDescriptor')
        return made

    def set(self, descriptor, name, kind, values):
        self.must(self.dnn.cudnnBackendSetAttribute(descriptor, name, kind, ctypes.c_int64(len(values)), values),
                  'cudnnBackendSetAttribute')

    def plan(self, kind, first, count):
        o = self.o
        operation, graph, heuristics, config, made = map(self.descriptor, (kind, 15, 4, 3, 5))
        for i in range(count):
            tensor = self.descriptor(17)
            heads = self.kv if i in (1, 2) else self.heads
            self.set(tensor, 901, 1, (ctypes.c_int * 1)(9))
            self.set(tensor, 902, 3, (ctypes.c_int64 * 4)(o['batch'], heads, o['sequence'], o['head_dim']))
            self.set(tensor, 906, 3, (ctypes.c_int64 * 1)(i + 1))
            self.must(self.dnn.cudnnBackendFinalize(tensor), 'a tensor')
            self.set(operation, first + i, 15, (ctypes.c_void_p * 1)(tensor))
        for outer, name, inner in ((graph, 801, operation), (heuristics, 201, graph), (made, 401, config)):
            self.must(self.dnn.cudnnBackendFinalize(inner), 'a part') if inner is not config else None
            if inner is config:
                found = ctypes.c_int64()
                self.must(self.dnn.cudnnBackendFinalize(heuristics), 'heuristics')
                self.dnn.cudnnBackendGetAttribute(heuristics, 202, 15, ctypes.c_int64(1), ctypes.byref(found),
                                                  (ctypes.c_void_p * 1)(config))
            self.set(outer, name, 15, (ctypes.c_void_p * 1)(inner))
        self.must(self.dnn.cudnnBackendFinalize(made), 'a plan')
        return made

    def product(self, m, n, k, kind=None):
        """D of m rows (of the tokens, or of a weight) and n columns, row-major as frameworks have it."""
        kind = {'fp32': FP32, 'fp16': 2, 'bf16': BF16}[self.o['type']] if kind is None else kind
        self.must(self.blas.cublasGemmEx(self.handle, 1, 0, n, m, k, ctypes.byref(self.one), self.block, kind, k, self.block,
                                         kind, k, ctypes.byref(self.one), self.block, kind, n, COMPUTE, -1), 'cublasGemmEx')

    def batch(self, m, n, k):
        o = self.o
        strides = [ctypes.c_longlong(size) for size in (m * k, n * k, m * n)]
        self.must(self.blas.cublasGemmStridedBatchedEx(
            self.handle, 1, 0, n, m, k, ctypes.byref(self.one), self.block, BF16, k, strides[0], self.block, BF16, k,
            strides[1], ctypes.byref(self.one), self.block, BF16, n, strides[2], o['batch'] * self.heads, COMPUTE, -1), 'batch')

    def sum(self, comm, count, kind=NCCL_BF16, stream=None):
        if comm:
            self.must(self.nccl.ncclAllReduce(self.block, self.block, ctypes.c_size_t(count), kind, 0, comm, stream), 'sum')

    def halves(self, comm, count, ranks, gather, stream=None, kind=NCCL_BF16):
        part = ctypes.c_size_t(count // ranks)
        if gather:
            self.must(self.nccl.ncclAllGather(self.block, self.block, part, kind, comm, stream), 'gather')
        else:
            self.must(self.nccl.ncclReduceScatter(self.block, self.block, part, kind, 0, comm, stream), 'scatter')

    def widths(self):
        """In and out of each linear layer of a block."""
        o, tp = self.o, self.o['tp']
        h, inner, key, ffn = o['hidden'], self.heads * o['head_dim'], self.kv * o['head_dim'], o['ffn'] // tp
        first = [(h, inner + 2 * key)] if o['fused'] else [(h, inner), (h, key), (h, key)]
        up = ([(h, 2 * ffn)] if o['fused'] else [(h, ffn)] * 2) if o['gated'] else [(h, ffn)]
        return first + [(inner, h)], up + [(ffn, h)]

    def activations(self):
        """What tensor-parallel ranks exchange behind, or before, each half of a block."""
        o, count = self.o, self.o['batch'] * self.o['sequence'] * self.o['hidden']
        if o['tp'] > 1 and o['halves']:
            self.halves(self.tensor, count, o['tp'], True)
            self.halves(self.tensor, count, o['tp'], False)
        elif o['tp'] > 1:
            self.sum(self.tensor, count)

    def gather(self, parameters):
        if self.o['zero'] == 3 and self.data:
            self.halves(self.data, parameters, self.data_ranks(), True, self.side)

    def scatter(self, parameters):
        if not self.data or not self.last:
            return
        kind = NCCL_FLOAT if self.o['gradients'] == 'fp32' else NCCL_BF16
        if self.o['zero'] > 0:
            self.halves(self.data, parameters, self.data_ranks(), False, self.side, kind)
        else:
            self.sum(self.data, parameters, kind, self.side)

    def data_ranks(self):
        return self.world // self.o['pp'] // self.o['tp']

    def block_forward(self, again=False):
        o, rows = self.o, self.o['batch'] * self.o['sequence']
        for number, half in enumerate(self.widths()):
            for i, (width, out) in enumerate(half):
                if number == 0 and i == len(half) - 1:
                    self.attend()
                if not (again and number == 1 and i == len(half) - 1):
                    self.product(rows, out, width)
            self.activations()

    def attend(self, back=False):
        o = self.o
        if self.plans:
            self.must(self.dnn.cudnnBackendExecute(self.cudnn, self.plans[back], self.pack), 'attention')
        elif o['attention'] == 'unfused':
            for _ in range(1 + back):
                self.batch(o['sequence'], o['sequence'], o['head_dim'])
                self.batch(o['sequence'], o['head_dim'], o['sequence'])

    def block_backward(self):
        o, rows = self.o, self.o['batch'] * self.o['sequence']
        for number, half in enumerate(reversed(self.widths())):
            for i, (width, out) in enumerate(reversed(half)):
                self.product(rows, width, out)
                self.product(out, width, rows)
                if number == 1 and i == 0:
                    self.attend(True)
            self.activations()

    def message(self, peer, send):
        count = ctypes.c_size_t(self.o['batch'] * self.o['sequence'] * self.o['hidden'])
        function = self.nccl.ncclSend if send else self.nccl.ncclRecv
        self.must(function(self.block, count, NCCL_BF16, peer, self.line, None), 'a message')

    def exchange(self):
        """What ranks exchange in a layer beyond activations."""
        o, half = self.o, self.o['batch'] * self.o['sequence'] * self.kv * self.o['head_dim']
        if o['exchange'] == 'keys':
            self.halves(self.data, 2 * half * self.data_ranks(), self.data_ranks(), True)
        elif o['exchange'] == 'ring':
            self.must(self.nccl.ncclSend(self.block, ctypes.c_size_t(2 * half), NCCL_BF16, 1, self.data, None), 'a message')
        elif o['exchange'] == 'experts':
            self.must(self.nccl.ncclGroupStart(), 'a group')
            for peer in range(self.data_ranks()):
                self.must(self.nccl.ncclSend(self.block, ctypes.c_size_t(half), NCCL_BF16, peer, self.data, None), 'a message')
                self.must(self.nccl.ncclRecv(self.block, ctypes.c_size_t(half), NCCL_BF16, peer, self.data, None), 'a message')
            self.must(self.nccl.ncclGroupEnd(), 'a group')

    def micro_batch(self):
        o, rows = self.o, self.o['batch'] * self.o['sequence']
        layers, chunks = o['layers'] // o['pp'] // o['chunks'], range(o['chunks'])
        block = sum(a * b for half in self.widths() for a, b in half)
        before, behind = (self.stage - 1) % o['pp'], (self.stage + 1) % o['pp']
        for chunk in chunks:
            head = self.stage == o['pp'] - 1 and chunk == chunks[-1]
            if self.stage + chunk > 0:
                self.message(before, False)
            for _ in range(layers):
                self.gather(block)
                self.block_forward()
                self.exchange()
            if o['pp'] > 1 and not head:
                self.message(behind, True)
        if head:
            pieces, local = o['pieces'], o['vocabulary'] // (o['tp'] if o['halves'] else 1)
            for _ in range(pieces):
                self.product(rows // pieces, local, o['hidden'])
                if o['halves']:
                    self.sum(self.tensor, rows, NCCL_FLOAT)
                self.product(rows // pieces, o['hidden'], local)
                self.product(local, o['hidden'], rows // pieces)
            self.scatter(local * o['hidden'])
        for chunk in reversed(chunks):
            if o['pp'] > 1 and not (self.stage == o['pp'] - 1 and chunk == chunks[-1]):
                self.message(behind, False)
            self.threads.submit(self.backward, block, layers).result() if o['thread'] else self.backward(block, layers)
            if self.stage + chunk > 0:
                self.message(before, True)

    def backward(self, block, layers):
        for _ in range(layers):
            self.gather(block)
            if self.o['recompute'] == 'full':
                self.block_forward(True)
            if not self.o['forward_only']:
                self.block_backward()
            self.scatter(block)

    def run(self):
        self.threads = concurrent.futures.ThreadPoolExecutor(1)
        for _ in range(STEPS):
            for i in range(self.o['micro_batches']):
                self.last = i == self.o['micro_batches'] - 1
                self.micro_batch()
            values = [ctypes.c_void_p(self.block.value)] * 4 + [ctypes.c_ulong(1 << 20)]
            packed = (ctypes.c_void_p * 5)(*[ctypes.addressof(value) for value in values])
            self.must(self.cudart.cudaLaunchKernel(self.key, Dim3(4096, 1, 1), Dim3(256, 1, 1), packed,
                                                   ctypes.c_size_t(0), None), 'cudaLaunchKernel')
            if self.o['zero'] == 1 and self.data:
                self.halves(self.data, self.o['layers'] // self.o['pp'] * sum(a * b for half in self.widths() for a, b in half),
                            self.data_ranks(), True, self.side)
            self.must(self.cudart.cudaDeviceSynchronize(), 'cudaDeviceSynchronize')


SIZES = {'layers': 7, 'hidden': 1536, 'heads': 12, 'kv': 12, 'head_dim': 128, 'ffn': 6144, 'gated': False, 'fused': True,
         'vocabulary': 50304, 'batch': 3, 'sequence': 640, 'micro_batches': 1, 'tp': 1, 'pp': 1, 'halves': False, 'zero': 0,
         'attention': 'flash', 'recompute': 'none', 'type': 'bf16', 'gradients': 'fp32', 'pieces': 1, 'forward_only': False,
         'thread': False, 'silent': False, 'chunks': 1, 'exchange': None}
ALONE = []
# name: options of record, sizes that differ, options of import, keys that the recording does not show
CASES = {
    'one GPU': (ALONE, {}, []),
    'heads in groups, gated, accumulation': (ALONE, {
        'layers': 5, 'hidden': 2560, 'heads': 20, 'kv': 4, 'ffn': 6912, 'gated': True, 'fused': False, 'micro_batches': 3,
        'vocabulary': 151936}, []),
    'gate and up in one, one layer': (ALONE, {'layers': 1, 'ffn': 4032, 'gated': True, 'kv': 3}, []),
    'heads wider than the model': (ALONE, {'head_dim': 192, 'kv': 4, 'fused': False, 'ffn': 2385 * 4, 'gated': True}, []),
    'attention of products, as many rows as the model is wide': (ALONE, {
        'hidden': 1280, 'heads': 20, 'kv': 20, 'head_dim': 64, 'batch': 2, 'attention': 'unfused', 'ffn': 5120, 'type': 'fp16'}, []),
    'recomputed': (ALONE, {'recompute': 'full', 'batch': 5}, []),
    'recomputed attention of products': (ALONE, {'recompute': 'full', 'attention': 'unfused', 'type': 'fp32'}, []),
    'the backward pass on a thread of its own': (ALONE, {'thread': True, 'micro_batches': 2}, []),
    'a loss in pieces': (ALONE, {'pieces': 4, 'micro_batches': 2}, []),
    'gradients summed': (['--rank', '5', '--world', '8'], {'gradients': 'bf16'}, ['--cluster', 'dgx-h100']),
    'optimizer sharded': (['--rank', '17', '--world', '64'], {'zero': 1}, ['--cluster', 'dgx-h100']),
    'weights sharded': (['--rank', '17', '--world', '64'], {'zero': 3, 'gradients': 'bf16', 'micro_batches': 2},
                        ['--cluster', 'dgx-h100']),
    'tensor parallel': (['--rank', '5', '--world', '8'], {'tp': 4, 'layers': 6, 'kv': 4}, ['--cluster', 'dgx-h100']),
    'tensor parallel along the sequence': (['--rank', '5', '--world', '16'], {'tp': 2, 'halves': True, 'zero': 1, 'micro_batches': 4},
                                           ['--cluster', 'dgx-h100']),
    'pipeline, both stages': (['--ranks', '8', '--selective', '0,4'], {'pp': 2, 'layers': 10, 'micro_batches': 6},
                              ['--cluster', 'dgx-h100']),
    'pipeline, the last of four stages': (['--rank', '7', '--world', '8'], {'pp': 4, 'layers': 12, 'micro_batches': 5},
                                          ['--cluster', 'dgx-h100']),
    'pipeline, chunks of the last of four stages': (['--rank', '7', '--world', '8'], {
        'pp': 4, 'layers': 24, 'micro_batches': 4, 'chunks': 3}, ['--cluster', 'dgx-h100']),
    'pipeline, a stage between': (['--rank', '3', '--world', '8'], {'pp': 4, 'layers': 12, 'micro_batches': 5},
                                  ['--cluster', 'dgx-h100', '--set', 'model.vocabulary=50304', '--set', 'model.vocabulary_multiple=1']),
}
# name: options of record, sizes, options of import, what is missing, the key that gives it
MISSING = {
    'no attention': (ALONE, {'attention': 'none'}, [], 'attention', None),
    'no backward pass': (ALONE, {'forward_only': True}, [], 'backward pass', None),
    'a stage without the output layer': (['--rank', '3', '--world', '8'], {'pp': 4, 'layers': 12, 'micro_batches': 5},
                                         ['--cluster', 'dgx-h100'], 'output layer', 'model.vocabulary'),
    'no network': (['--rank', '5', '--world', '8'], {}, [], 'network', 'cluster'),
    'a group that sums nothing': (['--rank', '5', '--world', '8'], {'silent': True}, ['--cluster', 'dgx-h100'], 'sum gradients',
                                  'parallel.dp'),
    'experts': (['--rank', '5', '--world', '8'], {'exchange': 'experts'}, ['--cluster', 'dgx-h100'], 'all-to-alls', None),
    'keys gathered': (['--rank', '5', '--world', '8'], {'exchange': 'keys'}, ['--cluster', 'dgx-h100'], 'keys and values', None),
    'keys in a ring': (['--rank', '5', '--world', '8'], {'exchange': 'ring'}, ['--cluster', 'dgx-h100'], 'messages in each layer', None),
}


def imported(steptime, options, sizes, words):
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, 'run')
        done = subprocess.run([steptime, 'record', '--quiet', '--device', 'h100-sxm', '-o', run, *options, '--', sys.executable,
                               os.path.abspath(__file__), '--program', json.dumps(sizes)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return {}, done.stderr
        done = subprocess.run([steptime, 'trace', 'import', run, '--gap', '1us', '--json', *words], capture_output=True, text=True,
                              check=False)
        return (json.loads(done.stdout).get('comparison', {}) if done.returncode == 0 else {}), done.stderr


def expected(sizes, options):
    world = int(options[options.index('--world' if '--world' in options else '--ranks') + 1]) if options else 1
    dp = world // sizes['tp'] // sizes['pp']
    keys = {'model.layers': sizes['layers'], 'model.hidden': sizes['hidden'], 'model.heads': sizes['heads'],
            'model.ffn': sizes['ffn'], 'model.gated': str(sizes['gated']).lower(), 'model.vocabulary': sizes['vocabulary'],
            'batch.sequence': sizes['sequence'], 'batch.micro': sizes['batch'],
            'batch.global': sizes['batch'] * sizes['micro_batches'] * dp, 'parallel.tp': sizes['tp'], 'parallel.pp': sizes['pp'],
            'parallel.virtual_stages': sizes['chunks'] if sizes['chunks'] > 1 else None,
            'parallel.dp': dp, 'parallel.zero': sizes['zero'], 'attention': sizes['attention'], 'recompute': sizes['recompute'],
            'precision.weights': sizes['type'], 'model.kv_heads': sizes['kv'] if sizes['kv'] < sizes['heads'] else None,
            'model.head_dim': sizes['head_dim'] if sizes['head_dim'] * sizes['heads'] != sizes['hidden'] else None,
            'precision.gradients': sizes['gradients'] if dp > 1 else None,
            'overlap.gradients': 1 if dp > 1 and sizes['tp'] == 1 else None,
            'parallel.sequence_parallel': str(sizes['halves']).lower() if sizes['tp'] > 1 else None}
    return {key: None if value is None else str(value) for key, value in keys.items()}


def main():
    steptime, failures = sys.argv[1], []
    for name, (options, changed, words) in CASES.items():
        sizes = {**SIZES, **changed}
        found, said = imported(steptime, options, sizes, words)
        keys = found.get('inferred', {})
        given = dict(word.split('=') for word in words if '=' in word)
        wrong = [f'{key}: {keys.get(key)}, expected {value}' for key, value in expected(sizes, options).items()
                 if key not in given and keys.get(key) != value and key != 'overlap.gradients' and
                 (key, keys.get(key), value) != ('parallel.virtual_stages', '1', None)]  # assumed of a lone stage between
        rows = {row['part']: row for row in found.get('parts', [])}
        if not rows or not (rows['step']['estimated'] or 0) > 0 or 'matrix products' not in rows:
            wrong.append(f'no comparison: {found} {said}')
        elif not given and not 0.5 < rows['matrix products']['estimated'] / rows['matrix products']['recorded'] < 2 and sizes['type'] != 'fp32':
            wrong.append(f'{rows["matrix products"]}: not the same products')
        failures += [f'{name}: {line}' for line in wrong]
    for name, (options, changed, words, missing, key) in MISSING.items():
        found, said = imported(steptime, options, {**SIZES, **changed}, words)
        if missing not in str(found.get('missing')) or found.get('key') != key or 'parts' in found:
            failures.append(f'{name}: {found} {said}')
    print('\n'.join(failures) if failures else 'all as expected')
    sys.exit(len(failures) > 0)


if sys.argv[1] == '--program':
    own = {**SIZES, **json.loads(sys.argv[2])}
    made = Program(own)
    if own['silent']:
        made.data = None
    made.run()
else:
    main()
