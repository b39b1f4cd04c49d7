#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records a program of others as it is, llm.c's training of GPT-2: llmc.py STEPTIME FORWARDERS.

STEPTIME_LLMC names a folder with its sources, https://github.com/karpathy/llm.c, and there is nvcc. The model
and its tokens are made here; every count follows from llm.c's loops.
"""
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

STEPTIME, FORWARDERS = (os.path.abspath(path) for path in sys.argv[1:3])
SOURCES = os.environ.get('STEPTIME_LLMC', '')
NVCC = shutil.which('nvcc', path=os.environ['PATH'] + ':/usr/local/cuda/bin')
LAYERS, HEADS, WIDTH, LENGTH, VOCABULARY, PADDED = 3, 4, 128, 64, 50257, 50304  # as its tokens are
BATCH, STEPS, EVALUATIONS, GENERATED = 4, 5, 2, 8
failures = []

if not os.path.exists(os.path.join(SOURCES, 'train_gpt2_fp32.cu')) or NVCC is None:
    print('1..0 # SKIP STEPTIME_LLMC names no folder with llm.c, or there is no nvcc')
    sys.exit(77)

# CUDA 13 gives cudaMemAdvise a place where llm.c has a number.
ADVISE = """
#include <cuda_runtime.h>
#if CUDART_VERSION >= 13000
static inline cudaError_t advise(const void *of, size_t bytes, cudaMemoryAdvise advice, int device)
{
    cudaMemLocation place;
    place.type = device < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    place.id = device < 0 ? 0 : device;
    return cudaMemAdvise(of, bytes, advice, place);
}
#define cudaMemAdvise advise
#endif
"""


def write(path, form, *values, zeros=0):
    with open(path, 'wb') as file:
        file.write(struct.pack(form, *values))
        file.truncate(file.tell() + zeros)


def make_inputs(folder):
    random.seed(2385)
    for name, tokens in (('train.bin', BATCH * LENGTH * STEPS + 1), ('val.bin', BATCH * LENGTH * EVALUATIONS + 1)):
        write(os.path.join(folder, name), f'<256i{tokens}H', 20240520, 1, tokens, *[0] * 253,
              *[random.randrange(VOCABULARY) for _ in range(tokens)])
    layer = 12 * WIDTH * WIDTH + 13 * WIDTH
    parameters = (PADDED + LENGTH) * WIDTH + LAYERS * layer + 2 * WIDTH
    write(os.path.join(folder, 'gpt2_124M.bin'), '<256i', 20240326, 3, LENGTH, VOCABULARY, LAYERS, HEADS, WIDTH,
          PADDED, *[0] * 248, zeros=4 * parameters)


def build(folder, source, options):
    program = os.path.join(folder, source.split('.')[0])
    subprocess.run([NVCC, '-O1', '-arch=sm_90', '-include', os.path.join(folder, 'advise.h'), *options, '-o', program,
                    os.path.join(SOURCES, source), '-lcublas', '-lcublasLt'], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return program


def record(folder, options, command):
    run = os.path.join(folder, 'run')
    shutil.rmtree(run, ignore_errors=True)
    done = subprocess.run([STEPTIME, 'record', '--device', 'h100-sxm', '--json', '-o', run, *options, '--', *command],
                          capture_output=True, text=True, check=False, cwd=folder)
    # The program speaks first.
    said = json.loads(done.stdout[done.stdout.find('{\n'):]) if '{\n' in done.stdout else {}
    if done.returncode != 0 or said.get('unsupported_calls') != 0 or said.get('misuses') != []:
        failures.append(f'{command}: exit code {done.returncode}\n{said}\n{done.stderr}')
    priced = subprocess.run([STEPTIME, 'trace', 'import', run, '--cluster', 'dgx-h100', '--gap', '5us', '--json'],
                            capture_output=True, text=True, check=False)
    return said, json.loads(priced.stdout) if priced.returncode == 0 else {'workers': [{}]}


def expect(what, found, expected):
    if found != expected:
        failures.append(f'{what}: {found}, expected {expected}')


def try_fp32(folder):
    """Forward, attention alone is of cuBLAS; backward, all products are."""
    for runtime in 'shared', 'static':
        program = build(folder, 'train_gpt2_fp32.cu', ['-cudart', runtime])
        said, priced = record(folder, [], [program, '-i', 'train.bin', '-j', 'val.bin', '-b', str(BATCH), '-t',
                                           str(LENGTH), '-v', '1000', '-s', '1000', '-m', str(EVALUATIONS), '-g',
                                           str(GENERATED)])
        forwards = STEPS + 2 * EVALUATIONS + GENERATED - 1
        attention = 2 * BATCH * LENGTH * LENGTH * WIDTH
        weights = LAYERS * 12 * WIDTH * WIDTH + WIDTH * PADDED
        expect(f'{runtime}: products', said.get('gemms'), forwards * LAYERS * 2 + STEPS * (LAYERS * (4 + 8) + 2))
        expect(f'{runtime}: FLOP', priced['workers'][0].get('flop'),
               forwards * LAYERS * 2 * attention + STEPS * (LAYERS * 4 * attention + 4 * BATCH * LENGTH * weights))


def try_ranks(folder):
    """ZeRO-1 in BF16 by NCCL: rank 0 alone generates."""
    forwarder = ['-L', FORWARDERS, '-l:libnvidia-ml.so.1', '-lnccl', '-Xlinker', '--allow-shlib-undefined']
    program = build(folder, 'train_gpt2.cu', ['-std=c++17', '-cudart', 'shared', '-DENABLE_BF16', '-DMULTI_GPU',
                                              *forwarder])
    said, priced = record(folder, ['--ranks', '4'], [
        'sh', '-c', f'exec {program} -e d12 -i train.bin -j val.bin -b 2 -t {LENGTH} -x 2 -v 1000 -s 1000 -m 1 -g 4 '
        '-pn $WORLD_SIZE -pr $RANK -pi fs -pf . -pg 4 -z 1'])
    expect('ranks', (said.get('processes'), priced.get('recorded'), priced.get('unmatched')), (4, 4, 0))
    # A layer has four linear ones and two products of attention; the head comes behind them.
    forward, backward = 12 * 6 + 1, 12 * 12 + 2
    expect('products of ranks', said.get('gemms'), 4 * (2 * (forward + backward) + 2 * forward) + 3 * forward)


with tempfile.TemporaryDirectory() as scratch:
    make_inputs(scratch)
    with open(os.path.join(scratch, 'advise.h'), 'w', encoding='utf-8') as header:
        header.write(ADVISE)
    try_fp32(scratch)
    try_ranks(scratch)

print('\n'.join(failures) if failures else 'all as expected')
sys.exit(len(failures) > 0)
