#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records the test programs and compares what `steptime record` says: run.py STEPTIME PROGRAM.

Every count is known from the source of the program.
"""
import collections
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

STEPTIME, PROGRAM, STATIC, ODD = sys.argv[1:5]
LAYERS, STEPS = 5, 3
failures = []


def record(folder, options, arguments, program=PROGRAM):
    run = os.path.join(folder, 'run')
    done = subprocess.run([STEPTIME, 'record', '--json', '-o', run, *options, '--', program, *arguments],
                          capture_output=True, text=True, check=False)
    said = json.loads(done.stdout) if done.stdout else {}
    logs = [name for name in os.listdir(run) if name.endswith('.steplog')] if os.path.isdir(run) else []
    kept = json.load(open(os.path.join(run, 'run.json'), encoding='utf-8')) if said else {}
    if any(said.get(key) != value for key, value in kept.items()):
        failures.append(f'{arguments}: run.json is not what --json says')
    return done.returncode, said, done.stderr, logs


def case(name, options, code, expected, message='', program=PROGRAM):
    with tempfile.TemporaryDirectory() as folder:
        got, said, errors, logs = record(folder, options, [name], program)
        wrong = [f'{key} {said.get(key)!r}, expected {value!r}'
                 for key, value in expected.items() if said.get(key) != value]
        if got != code:
            wrong.append(f'exit code {got}, expected {code}')
        if message not in errors:
            wrong.append(f'expected {message!r} in the messages')
        if expected and not logs:
            wrong.append('no log was kept')
        if wrong:
            failures.append(f'{name} {options}: ' + '; '.join(wrong) + '\n' + errors)
        return said


def stack_is_executable(path):
    """Whether glibc 2.41 refuses to load a library: it has no PT_GNU_STACK, or an executable one."""
    head = open(path, 'rb').read(4096)
    first, count = struct.unpack_from('<Q', head, 32)[0], struct.unpack_from('<H', head, 56)[0]
    segments = [struct.unpack_from('<II', head, first + 56 * i) for i in range(count)]
    flags = [flag for kind, flag in segments if kind == 0x6474e551]
    return not flags or flags[0] & 1 != 0


LIBRARY = os.path.join(os.path.dirname(os.path.realpath(STEPTIME)), '../tools/record/library')
for directory, _, files in os.walk(LIBRARY):
    failures += [f'{name} needs an executable stack' for name in files
                 if '.so' in name and not name.endswith(('.map', '.p'))
                 and stack_is_executable(os.path.join(directory, name))]

CLEAN = {'verdict': 'recorded', 'unsupported_calls': 0, 'misuses': [], 'cut_logs': 0, 'out_of_memory': None}

small = subprocess.run(['sh', '-c', 'ulimit -v 4000000; exec "$@"', 'sh', os.path.abspath(STEPTIME), 'record', '--',
                        os.path.abspath(PROGRAM), 'zero'],
                       capture_output=True, text=True, check=False, cwd=tempfile.gettempdir())
if small.returncode == 0 or 'address space is too small' not in small.stderr:
    failures.append('a limit of the address space: ' + small.stderr)
# A script that needs what kernels would have computed: the message says why.
LOSS = """
import ctypes
runtime, block, loss = ctypes.CDLL('libcudart.so.12'), ctypes.c_void_p(), ctypes.c_float(2.385)
runtime.cudaMalloc(ctypes.byref(block), ctypes.c_size_t(4096))
runtime.cudaMemset(block, 0, ctypes.c_size_t(4096))
runtime.cudaMemcpy(ctypes.byref(loss), block, ctypes.c_size_t(4), 2)
raise SystemExit(0 if 1 < loss.value < 12 else 'the loss is out of range')
"""
with tempfile.TemporaryDirectory() as scratch:
    code, _, said, _ = record(scratch, [], ['-c', LOSS], sys.executable)
    if code == 0 or 'kept; it read results of kernels, which are zero' not in said:
        failures.append(f'a loss: {code} {said}')
# A first request that does not fit: no block is live, and the result says so.
FIRST_BLOCK = """
import ctypes
block = ctypes.c_void_p()
raise SystemExit(ctypes.CDLL('libcudart.so.12').cudaMalloc(ctypes.byref(block), ctypes.c_size_t(200 << 30)))
"""
with tempfile.TemporaryDirectory() as scratch:
    large = subprocess.run([STEPTIME, 'record', '--device', 'h100-sxm', '-o', os.path.join(scratch, 'run'), '--', sys.executable, '-c',
                            FIRST_BLOCK], capture_output=True, text=True, check=False)
    if large.returncode != 3 or not re.search(r'200.000 GiB did not fit with [0-9.]+ GiB in use, and the log has no live block\n(\n|$)', large.stdout):
        failures.append(f'a first request: {large.returncode} {large.stdout} {large.stderr}')
# What the table of functions checks before a handler runs, and products with square factors.
TABLE = """
import ctypes
runtime, blas, lt = map(ctypes.CDLL, ('libcudart.so.12', 'libcublas.so.12', 'libcublasLt.so.12'))
block, handle, event, layout, number, real = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_float(1)
bad = ctypes.c_void_p(0x2385)
fine = runtime.cudaMalloc(ctypes.byref(block), ctypes.c_size_t(64 << 20)) == 0 and blas.cublasCreate_v2(ctypes.byref(handle)) == 0
fine = fine and runtime.cudaEventCreate(ctypes.byref(event)) == 0
fine = fine and [runtime.cudaEventRecord(event, bad), runtime.cudaEventRecord(bad, None), runtime.cudaSetDevice(9),
                 runtime.cudaLaunchKernelExC(None, None, None), blas.cublasSetStream_v2(bad, None),
                 runtime.cudaStreamDestroy(None)] == [400, 400, 101, 1, 1, 400]
one = ctypes.byref(real)
fine = fine and blas.cublasSsyrk_v2(handle, 0, 0, 238, 512, one, block, 238, one, block, 238) == 0
fine = fine and blas.cublasStrsm_v2(handle, 0, 0, 0, 0, 385, 256, one, block, 385, block, 385) == 0
fine = fine and blas.cublasSgemvStridedBatched(handle, 0, 1024, 1024, one, block, 1024, ctypes.c_int64(1 << 20), block, 1,
                                               ctypes.c_int64(1024), one, block, 1, ctypes.c_int64(1024), 14) == 0
fine = fine and lt.cublasLtMatrixLayoutCreate(ctypes.byref(layout), 14, ctypes.c_uint64(2385), ctypes.c_uint64(17), ctypes.c_int64(2400)) == 0
fine = fine and lt.cublasLtMatrixLayoutGetAttribute(layout, 4, ctypes.byref(number), ctypes.c_size_t(8), None) == 0 and number.value == 2400
said = []
status = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(lambda stream, status, data: said.append((status, data)))
fine = fine and runtime.cudaStreamAddCallback(None, status, ctypes.c_void_p(2385), 0) == 0 and said == [(0, 2385)]
driver, module, function, rows = ctypes.CDLL('libcuda.so.1'), ctypes.c_void_p(), ctypes.c_void_p(), (ctypes.c_uint64 * 16)()
fine = fine and driver.cuModuleLoad(ctypes.byref(module), b'unknown') == 0
fine = fine and driver.cuModuleGetFunction(ctypes.byref(function), module, b'_Z4geluPfPKf') == 0
fine = fine and [driver.cuFuncSetBlockShape(function, 128, 2, 1), driver.cuParamSetv(function, 0, ctypes.byref(block), 8),
                 driver.cuParamSeti(function, 8, 14), driver.cuParamSetv(function, 4090, ctypes.byref(block), 8),
                 driver.cuLaunchGrid(function, 17, 3)] == [0, 0, 0, 1, 0]
rows[0], rows[1], rows[2], rows[4], rows[6] = 5, 2, 2, block.value, 4096
rows[9], rows[10], rows[13], rows[14], rows[15] = 1, ctypes.addressof(rows), 8, 8, 3
rows[7] = 0
fine = fine and driver.cuMemcpy2D_v2(rows) == 0
raise SystemExit(not fine)
"""
with tempfile.TemporaryDirectory() as scratch:
    code, said, errors, _ = record(scratch, [], ['-c', TABLE], sys.executable)
    trace = os.path.join(scratch, 'trace.json')
    subprocess.run([STEPTIME, 'trace', 'import', os.path.join(scratch, 'run'), '-o', trace], capture_output=True, check=False)
    events = json.load(open(trace, encoding='utf-8'))['traceEvents'] if os.path.exists(trace) else []
    sizes = [event['args'].get('MNK', event['args'].get('grid', event['args'].get('bytes'))) for event in events
             if event.get('cat') in ('kernel', 'gpu_memcpy')]
    what = sorted(item['what'] for item in said.get('misuses', []))
    if code != 0 or sizes != [[238, 238, 512], [256, 385, 385], 14 * 4 << 20, [17, 3, 1], 24] or what != [
            'invalid cuBLAS or cuDNN handle', 'invalid device', 'invalid event handle', 'invalid stream handle', 'invalid stream handle']:
        failures.append(f'the table of functions: {code} {sizes} {what} {errors}')
# Wrong arguments: sizes beyond a block, what is freed twice, handles of another kind or of another device.
WRONG = """
import ctypes
runtime, driver, blas, lt, cudnn, nccl = map(ctypes.CDLL, ('libcudart.so.12', 'libcuda.so.1', 'libcublas.so.12', 'libcublasLt.so.12',
                                                           'libcudnn.so.9', 'libnccl.so.2'))
def word(number):
    return ctypes.c_uint64(number & 2**64 - 1)
block, pinned, handle, layout, comm, stream, other = (ctypes.c_void_p() for _ in range(7))
host, number, real = ctypes.create_string_buffer(4096), ctypes.c_int(1), ctypes.c_float(1)
runtime.cudaMalloc(ctypes.byref(block), word(2385))
runtime.cudaMallocHost(ctypes.byref(pinned), word(2385))
runtime.cudaStreamCreate(ctypes.byref(stream))
blas.cublasCreate_v2(ctypes.byref(handle))
nccl.ncclCommInitAll(ctypes.byref(comm), 1, None)
lt.cublasLtMatrixLayoutCreate(ctypes.byref(layout), 0, word(5), word(5), word(5))
found = [runtime.cudaMemcpy(block, host, word(2385), 1), runtime.cudaMemcpy(block, host, word(-1), 1), runtime.cudaMemset(block, 1, word(2561)),
         runtime.cudaMemcpy2D(block, word(512), host, word(512), word(16), word(5), 1),
         runtime.cudaMemcpy2D(block, word(512), host, word(512), word(16), word(-1), 1),
         runtime.cudaMemset2D(block, word(512), 0, word(16), word(6)), runtime.cudaMemset2D(block, word(8), 0, word(16), word(2)),
         runtime.cudaMallocPitch(ctypes.byref(other), ctypes.byref(word(0)), word(1 << 62), word(8)),
         runtime.cudaFree(pinned), runtime.cudaFreeHost(block), blas.cublasSaxpy_v2(handle, -1, ctypes.byref(real), block, 1, block, 1),
         lt.cublasLtMatrixLayoutDestroy(layout), lt.cublasLtMatrixLayoutDestroy(layout), lt.cublasLtMatrixLayoutDestroy(handle),
         cudnn.cudnnBackendFinalize(handle), driver.cuPointerGetAttributes(-1, ctypes.byref(number), ctypes.byref(other), block),
         nccl.ncclSend(block, word(16), 7, 1, comm, stream), nccl.ncclAllReduce(block, block, word(-1), 7, 0, comm, stream),
         runtime.cudaSetDevice(1), runtime.cudaEventCreate(ctypes.byref(other)), runtime.cudaEventRecord(other, stream)]
raise SystemExit(0 if found == [0, 1, 1, 0, 1, 1, 12, 2, 1, 1, 0, 0, 7, 7, 2000, 1, 4, 4, 0, 0, 400] else str(found))
"""
with tempfile.TemporaryDirectory() as scratch:
    code, said, errors, _ = record(scratch, [], ['-c', WRONG], sys.executable)
    if code != 3 or said.get('failed') or sum(item['times'] for item in said['misuses']) != 13:  # 3: a pitch that does not fit
        failures.append(f'wrong arguments: {code} {said} {errors}')
# CUDA 11, and two GPUs in one process: products and sums are on their own ones.
TWO = """
import ctypes
runtime, blas, nccl = map(ctypes.CDLL, ('libcudart.so.11.0', 'libcublas.so.11', 'libnccl.so.2'))
version, comms, one = ctypes.c_int(), (ctypes.c_void_p * 2)(), ctypes.c_float(1)
runtime.cudaRuntimeGetVersion(ctypes.byref(version))
fine = version.value // 1000 == 11 and nccl.ncclCommInitAll(comms, 2, (ctypes.c_int * 2)(0, 1)) == 0
blocks, handles, streams = ([ctypes.c_void_p() for _ in range(2)] for _ in range(3))
for device in 0, 1:
    fine = fine and runtime.cudaSetDevice(device) == 0
    fine = fine and runtime.cudaMalloc(ctypes.byref(blocks[device]), ctypes.c_size_t(2385 << 20)) == 0
    fine = fine and blas.cublasCreate_v2(ctypes.byref(handles[device])) == 0
    fine = fine and runtime.cudaStreamCreate(ctypes.byref(streams[device])) == 0
    blas.cublasSetStream_v2(handles[device], streams[device])
for step in range(3):
    for device in 0, 1:
        runtime.cudaSetDevice(device)
        block = blocks[device]
        for _ in range(device + 1):
            fine = fine and blas.cublasGemmEx(handles[device], 1, 0, 238, 512, 256, ctypes.byref(one), block, 14, 256, block, 14,
                                              256, ctypes.byref(one), block, 14, 238, 68, -1) == 0
    nccl.ncclGroupStart()
    for device in 0, 1:
        fine = fine and nccl.ncclAllReduce(blocks[device], blocks[device], ctypes.c_size_t(1 << 20), 7, 0,
                                           ctypes.c_void_p(comms[device]), streams[device]) == 0
    nccl.ncclGroupEnd()
    for device in 0, 1:
        runtime.cudaSetDevice(device)
        runtime.cudaStreamSynchronize(streams[device])
raise SystemExit(not fine)
"""
with tempfile.TemporaryDirectory() as scratch:
    code, said, errors, _ = record(scratch, [], ['-c', TWO], sys.executable)
    trace = os.path.join(scratch, 'trace.json')
    subprocess.run([STEPTIME, 'trace', 'import', os.path.join(scratch, 'run'), '--cluster', 'dgx-h100', '-o', trace],
                   capture_output=True, check=False)
    found = {}
    for event in json.load(open(trace, encoding='utf-8'))['traceEvents'] if os.path.exists(trace) else []:
        if event.get('cat') == 'kernel':
            key = event['args']['device'], 'AllReduce' in event['name']
            found[key] = found.get(key, 0) + 1
    if code != 0 or found != {(0, False): 3, (1, False): 6, (0, True): 3, (1, True): 3} or 'step_ns' in said:
        failures.append(f'two GPUs: {code} {found} {said} {errors}')
# Logs that cannot grow: a limit of files, a full disk.
with tempfile.TemporaryDirectory() as scratch:
    for limit, message in (('ulimit -f 200', 'cannot write the log, calls are missing: File too large'),
                           ('mount -t tmpfs -o size=100k tmpfs .', 'logs could not grow and miss calls: No space left on device')):
        mounts = 'mount' in limit
        if mounts and subprocess.run(['unshare', '--mount', 'true'], capture_output=True, check=False).returncode != 0:
            continue
        done = subprocess.run([*(['unshare', '--mount'] if mounts else []), 'sh', '-c', f'cd "$0" && {limit} && cd "$0" && exec "$@"',
                               scratch, os.path.abspath(STEPTIME), 'record', '-o', 'run', '--', os.path.abspath(PROGRAM), 'threads'],
                              capture_output=True, text=True, check=False)
        if done.returncode == 0 or message not in done.stderr:
            failures.append(f'{limit}: {done.returncode} {done.stderr}')
case('data-parallel', ['--ranks', '4'], 0,
     {**CLEAN, 'launches': 4 * STEPS * LAYERS, 'gemms': 4 * STEPS * 3 * LAYERS,
      'collectives': 4 * STEPS * LAYERS, 'processes': 4, 'unique_processes': 1})
case('data-parallel', ['--ranks', '4', '--together'], 0, {**CLEAN, 'processes': 4, 'unique_processes': 1})
case('data-parallel', ['--rank', '17', '--world', '64'], 0, {**CLEAN, 'processes': 1, 'world': 64})
case('data-parallel', ['--ranks', '16384', '--selective', '0,2385,16383'], 0,
     {**CLEAN, 'processes': 3, 'unique_processes': 1, 'world': 16384})
case('tensor-parallel', ['--ranks', '2'], 0,
     {**CLEAN, 'gemms': 2 * 2 * LAYERS, 'collectives': 2 * LAYERS, 'unique_processes': 1})
case('pipeline', ['--ranks', '4'], 0,
     {**CLEAN, 'gemms': 16, 'collectives': 4 * 6, 'unique_processes': 3})
case('zero', ['--ranks', '8'], 0, {**CLEAN, 'collectives': 16, 'unique_processes': 1})
case('graph', [], 0, {'gemms': LAYERS, 'launches': LAYERS, 'unsupported_calls': 0, 'verdict': 'recorded'})


def gemms(folder):
    """m, n, k, batch, types and transposes of the GEMM records, read as log.h lays them out."""
    for name in sorted(os.listdir(folder)):
        data = open(os.path.join(folder, name), 'rb').read() if name.endswith('.steplog') else b''
        for at in range(512, len(data), 64):
            if data[at] == 19:
                yield struct.unpack_from('<4I', data, at + 24) + struct.unpack_from('<6B', data, at + 44)


def times(folder):
    """When the records' calls began and how long they took, in nanoseconds."""
    for name in sorted(os.listdir(folder)):
        data = open(os.path.join(folder, name), 'rb').read() if name.endswith('.steplog') else b''
        for at in range(512, len(data), 64):
            if data[at] > 1:
                yield struct.unpack_from('<QI', data, at + 8)


# The recorder's clock begins within a program's first call, which is kept in the log here: it registers no kernels.
FIRST = """
import ctypes
ctypes.CDLL('libcudart.so.12').cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(2385))
"""
with tempfile.TemporaryDirectory() as scratch:
    record(scratch, [], ['-c', FIRST], sys.executable)
    found = list(times(os.path.join(scratch, 'run')))
    if len(found) < 2 or any(begin > 60e9 or length > 4e9 for begin, length in found):
        failures.append(f'a first call that is kept: {found}')

with tempfile.TemporaryDirectory() as scratch:
    record(scratch, [], ['cublaslt'])
    found = list(gemms(os.path.join(scratch, 'run')))
    if found != [(64, 96, 238, 7, 14, 14, 14, 68, 1, 0)]:
        failures.append(f'cublaslt: {found}')
with tempfile.TemporaryDirectory() as scratch:
    record(scratch, ['--rank', '1', '--world', '2'], ['tensor-parallel'])
    found = list(gemms(os.path.join(scratch, 'run')))
    if found != LAYERS * [(192, 96, 384, 1, 14, 14, 14, 68, 1, 0), (384, 96, 192, 1, 14, 14, 14, 68, 1, 0)]:
        failures.append(f'tensor-parallel: {found}')

case('threads', [], 0, {**CLEAN, 'launches': 2000, 'logs': 5, 'processes': 1})
case('contents', [], 0, CLEAN)

said = case('out-of-memory', ['--memory', '16GiB', '--context', '0 GB'], 3, {'verdict': 'out of memory'},
            'exceeds GPU memory')
weights = LAYERS * 384 * 384 * 4
if said:
    blocks = [block['bytes'] for block in said['out_of_memory']['largest_blocks']]
    if blocks != [5 << 30, 3 << 30, weights, weights, 96 * 384 * 4]:
        failures.append(f'largest blocks: {blocks}')
    live = said['out_of_memory']['live_bytes']
    rounded = -(-weights // (2 << 20)) * (2 << 20)
    if live != (8 << 30) + 2 * rounded + (2 << 20):
        failures.append(f'live bytes: {live}')
    if said['out_of_memory']['request_bytes'] != (16 << 30) - live + 1:
        failures.append(f"request: {said['out_of_memory']}")

said = case('misuse', [], 0, {'unsupported_calls': 1, 'verdict': 'recorded'}, 'unsupported functions')
if said:
    answers = sorted(item['answer'] for item in said['misuses'])
    if answers != [1, 1, 9, 98, 101, 400]:
        failures.append(f'misuses: {answers}')
    if [item['call'] for item in said['unsupported']] != ['cudaMipmappedArrayGetSparseProperties']:
        failures.append(f"unsupported: {said['unsupported']}")

case('forks', [], 0, {'forks': 1, 'launches': 1}, 'forked')
case('descriptors', [], 0, {**CLEAN, 'launches': 20000})
case('dies', [], 1, {'launches': 1, 'cut_logs': 1, 'calls': 10, 'verdict': 'failed'}, 'killed by signal 6')
case('hangs', ['--limit', '0.5s'], 1, {'launches': 1, 'cut_logs': 1}, 'exceeded --limit')
case('no-such-program', [], 1, {}, 'failed with exit code 2')
# Children that end by _exit have whole logs, of which two are alike.
CHILDREN = """
import ctypes, multiprocessing
def child(bytes):
    ctypes.CDLL('libcudart.so.12').cudaMalloc(ctypes.byref(ctypes.c_void_p()), bytes)
children = [multiprocessing.get_context('fork').Process(target=child, args=(bytes,)) for bytes in (2385, 2385, 3852000)]
for process in children:
    process.start()
    process.join()
"""
with tempfile.TemporaryDirectory() as scratch:
    said = record(scratch, [], ['-c', CHILDREN], sys.executable)[1]
    if [said.get(key) for key in ('processes', 'unique_processes', 'cut_logs')] != [3, 2, 0]:
        failures.append(f'children: {said}')
# Programs that need the values that kernels compute, and say so as they can.
LOSS = """
import ctypes, os, sys
loss, runtime, block = ctypes.c_float(2.385), ctypes.CDLL('libcudart.so.12'), ctypes.c_void_p()
runtime.cudaMalloc(ctypes.byref(block), 2385)
while not loss.value > 0.385 or loss.value > 1:
    runtime.cudaMemcpy(ctypes.byref(loss), block, 4, 2)
    if sys.argv[1:] == ['aborts'] and loss.value == 0:
        os.abort()
    assert sys.argv[1:] != ['asserts'] or loss.value > 0
"""
for name, message in (('asserts', 'exit code 1; its logs are kept; it read results of kernels, which are zero'),
                      ('aborts', '(Aborted); its logs are kept; it read results of kernels, which are zero'),
                      ('loops', 'was ended; its logs are kept; it read results of kernels, which are zero without a GPU; a loop')):
    with tempfile.TemporaryDirectory() as scratch:
        ended = record(scratch, ['--limit', '4s' if name == 'loops' else '60s'], ['-c', LOSS, name], sys.executable)
        if ended[0] != 1 or message not in ended[2]:
            failures.append(f'{name}: {ended[2]}')

# What few programs do.
said = case('states', [], 0, {'verdict': 'recorded', 'launches': 3, 'unsupported_calls': 0}, '', ODD)
answers = sorted(item['answer'] for item in said.get('misuses', []))
if answers != [9, 400, 401, 401, 900, 901]:
    failures.append(f"states: {said.get('misuses')}")
case('pci-info', [], 0, {'verdict': 'recorded', 'unsupported_calls': 0}, '', ODD)
said = case('versions', [], 0, {'verdict': 'recorded'}, '', ODD)
if [item['what'] for item in said.get('misuses', [])] != ["two CUDA runtime versions in one process"]:
    failures.append(f"versions: {said.get('misuses')}")


def priced(folder, arguments, program):
    record(folder, [], arguments, program)
    done = subprocess.run([STEPTIME, 'trace', 'import', os.path.join(folder, 'run'), '--gap', '5us', '--json'],
                          capture_output=True, text=True, check=False)
    return (json.loads(done.stdout) if done.stdout else {}), done.stderr


# A graph within a graph is launched with it: three kernels each time.
with tempfile.TemporaryDirectory() as scratch:
    said, _ = priced(scratch, ['nested'], ODD)
    if said.get('tasks') != 12:
        failures.append(f"nested: {said.get('tasks')} tasks")
# A process with a GPU for each rank of a communicator: all of them meet in each sum.
GPUS = """
import ctypes
pointer, runtime, nccl = ctypes.c_void_p, ctypes.CDLL('libcudart.so.12'), ctypes.CDLL('libnccl.so.2')
nccl.ncclAllReduce.argtypes = [pointer, pointer, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, pointer, pointer]
communicators, blocks = (pointer * 3)(), (pointer * 3)()
nccl.ncclCommInitAll(communicators, 3, (ctypes.c_int * 3)(2, 0, 1))
for place, device in enumerate((2, 0, 1)):
    runtime.cudaSetDevice(device)
    runtime.cudaMalloc(ctypes.byref(blocks, 8 * place), 238500)
for _ in range(5):
    nccl.ncclGroupStart()
    for block, communicator in zip(blocks, communicators):
        nccl.ncclAllReduce(block, block, 38500, 7, 0, communicator, None)
    nccl.ncclGroupEnd()
"""
with tempfile.TemporaryDirectory() as scratch:
    said, errors = priced(scratch, ['-c', GPUS], sys.executable)
    if (said.get('unmatched'), said.get('tasks')) != (0, 15):
        failures.append(f'a GPU for each rank: {said} {errors}')
# Nodes of graphs that change: of what is launched alone, of the graph, and off for one launch.
with tempfile.TemporaryDirectory() as scratch:
    said = record(scratch, [], ['changes'], ODD)[1]
    if (said['launches'], said['unsupported_calls'], [item['answer'] for item in said['misuses']]) != (7, 0, [1, 1]):
        failures.append(f'changes: {said}')
    trace = os.path.join(scratch, 'trace.json')
    subprocess.run([STEPTIME, 'trace', 'import', os.path.join(scratch, 'run'), '--gap', '5us', '-o', trace], check=False,
                   capture_output=True)
    done = collections.Counter((event['name'], event['args'].get('bytes')) for event in json.load(open(trace, encoding='utf-8'))
                               ['traceEvents'] if event.get('cat') in ('kernel', 'gpu_memcpy', 'gpu_memset'))
    if done != {('gelu', None): 12, ('relu', None): 9, ('scale', 2097152): 1, ('cublasSgemmGroupedBatched gemm', None): 3,
                ('ncclDevKernel_AllReduce', None): 2, ('Memcpy HtoD', 2385): 4, ('Memcpy HtoD', 3852): 2,
                ('Memset (Device)', 2385): 5, ('Memset (Device)', 5238): 2}:
        failures.append(f'changes: {done}')
# Graphs within graphs, three launches: gelu relu fill relu fill gelu, gelu gelu fill relu fill gelu, gelu gelu fill relu gelu.
with tempfile.TemporaryDirectory() as scratch:
    said = record(scratch, [], ['children'], ODD)[1]
    trace = os.path.join(scratch, 'trace.json')
    subprocess.run([STEPTIME, 'trace', 'import', os.path.join(scratch, 'run'), '--gap', '5us', '-o', trace], check=False,
                   capture_output=True)
    done = [event['name'][:4] for event in json.load(open(trace, encoding='utf-8'))['traceEvents']
            if event.get('cat') in ('kernel', 'gpu_memset')]
    if (done, said['unsupported_calls'], [item['answer'] for item in said['misuses']]) != (
            'gelu relu Mems relu Mems gelu gelu gelu Mems relu Mems gelu gelu gelu Mems relu gelu'.split(), 0, [1, 400]):
        failures.append(f'children: {done} {said}')
# Three, one and two times over 79,500 or 238,500 numbers.
with tempfile.TemporaryDirectory() as scratch:
    said, _ = priced(scratch, ['vectors'], ODD)
    tasks = {row['operation']: (row['count'], row['known']) for row in said['workers'][0]['operations']}
    if tasks != {'host_copy': (2, True), 'memory': (3, True)}:
        failures.append(f'vectors: {tasks}')
    found = [struct.unpack_from('<4I', data, at + 24) + struct.unpack_from('<H', data, at + 50)
             for data in (open(os.path.join(scratch, 'run', name), 'rb').read()
                          for name in os.listdir(os.path.join(scratch, 'run')) if name.endswith('.steplog'))
             for at in range(512, len(data), 64) if data[at] == 20]
    if found != [(0, 79500, 0, 1, 3), (265, 900, 0, 1, 1), (0, 79500, 0, 1, 2)]:
        failures.append(f'vectors: {found}')
# A process that only counted GPUs and became, or started, another program is not a rank.
STARTER = f"""
import ctypes, subprocess
ctypes.CDLL('libcudart.so.12').cudaGetDeviceCount(ctypes.byref(ctypes.c_int()))
raise SystemExit(subprocess.call([{ODD!r}, 'works']))
"""
for program, arguments in (ODD, ['becomes']), (sys.executable, ['-c', STARTER]):
    with tempfile.TemporaryDirectory() as scratch:
        said, errors = priced(scratch, arguments, program)
        if (said.get('world'), said.get('tasks')) != (1, 1) or 'without GPU activity' not in errors:
            failures.append(f'{arguments}: {said} {errors}')

# A GPU of one's own, whose file does not say how many multiprocessors it has; its name is the device's.
with tempfile.TemporaryDirectory() as scratch:
    os.makedirs(os.path.join(scratch, 'configs/gpus'))
    own = open(os.path.join(scratch, 'configs/gpus/h23-sxm.yaml'), 'w', encoding='utf-8')
    own.write('name: H23 SXM 23 GB\ncompute_capability: 9.0\nmemory: 23 GiB\n')
    own.close()
    os.environ['STEPTIME_PATH'] = scratch
    case('contents', ['--device', 'h23-sxm'], 0, CLEAN, 'multiprocessors')
    ASK = """
import ctypes
text = ctypes.create_string_buffer(2385)
ctypes.CDLL('libcudart.so.12').cudaGetDeviceProperties_v2(text, 0)
raise SystemExit(0 if text.value == b'NVIDIA H23 SXM 23 GB' else 9)
"""
    if record(scratch, ['--device', 'h23-sxm'], ['-c', ASK], sys.executable)[0] != 0:
        failures.append('the name of a device')
    os.environ['STEPTIME_PATH'] = ''

# The runtime is linked into the program: its functions are written over.
case('data-parallel', ['--ranks', '4'], 0,
     {**CLEAN, 'launches': 4 * STEPS * LAYERS, 'gemms': 4 * STEPS * 3 * LAYERS,
      'collectives': 4 * STEPS * LAYERS, 'processes': 4, 'unique_processes': 1}, '', STATIC)
case('graph', [], 0, {'gemms': LAYERS, 'launches': LAYERS, 'unsupported_calls': 0, 'verdict': 'recorded'}, '', STATIC)
case('threads', [], 0, {**CLEAN, 'launches': 2000, 'logs': 5, 'processes': 1}, '', STATIC)
case('contents', [], 0, CLEAN, '', STATIC)
case('out-of-memory', ['--memory', '16GiB', '--context', '0 GB'], 3, {'verdict': 'out of memory'}, 'exceeds GPU memory', STATIC)

# Refused before anything runs.
case('x', [], 1, {}, 'program not found', '/no/program')
case('x', ['--device', 'h100-sxn'], 2, {}, 'h100-sxm')
case('x', ['--device', 'mi300x'], 2, {}, 'not a CUDA GPU')
case('x', ['--ranks', '0'], 2, {}, '--ranks')
case('x', ['--rank', '3'], 2, {}, '--world')
case('x', ['--rank', '4', '--world', '4'], 2, {}, 'less than --world')
case('x', ['--ranks', '4', '--selective', '4'], 2, {}, 'rank is out of range')
case('x', ['--memory', '1 GB'], 2, {}, 'GPU memory is too small')
case('x', ['--limit', '5 GB'], 2, {}, '--limit')
case('x', [], 1, {}, 'called no CUDA function', '/bin/true')
with tempfile.NamedTemporaryFile('w', suffix='.sh') as script:  # leaves a log that is none
    script.write('printf log >"$STEPTIME_RECORD/9-9.steplog"\n')
    script.flush()
    case(script.name, [], 1, {'unreadable_logs': 1}, '1 of 1 logs are unreadable', '/bin/sh')


def refused_file(change, message):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'program')
        data = bytearray(open('/bin/true', 'rb').read())
        mode = change(data)
        with open(path, 'wb') as file:
            file.write(data)
        os.chmod(path, mode)
        case('x', [], 1, {}, message, path)


def bits32(data):
    data[4] = 1
    return 0o755


def other_processor(data):
    data[18:20] = b'\xb7\x00'
    return 0o755


def text(data):
    data[:] = b'no program'
    return 0o755


def static_runtime(data):
    data += b'cudaErrorCudartUnloading\0'
    return 0o755


def stripped(data):
    data[:] = open(STATIC, 'rb').read()
    data[40:48] = bytes(8)
    data[60:62] = bytes(2)
    return 0o755


def cut(data):
    del data[20:]
    return 0o755


refused_file(bits32, '32-bit')
refused_file(other_processor, 'x86-64')
refused_file(text, 'not an executable')
refused_file(cut, 'x86-64')
refused_file(static_runtime, 'static runtime: ')
refused_file(stripped, '-cudart shared')
refused_file(lambda data: 0o4755, 'setuid')
refused_file(lambda data: 0o644, 'permission denied')

print('\n'.join(failures) if failures else 'all as expected')
sys.exit(len(failures) > 0)
