#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Graphs of cuDNN as they are recorded and priced: cudnn.py STEPTIME PROGRAM."""
import json
import os
import struct
import subprocess
import sys
import tempfile

STEPTIME, PROGRAM = sys.argv[1:3]
CUDNN = 21  # st_log_kind
failures = []


def records(folder):
    """dims, other, type, matmuls, tensors, heads of queries to one of keys and KiB of each plan, as log.h lays them out."""
    for name in sorted(os.listdir(folder)):
        data = open(os.path.join(folder, name), 'rb').read() if name.endswith('.steplog') else b''
        for at in range(512, len(data), 64):
            if data[at] == CUDNN:
                yield struct.unpack_from('<4I', data, at + 32) + struct.unpack_from('<2I4BI', data, at + 48)


def case(name, expected, operation, flop, misuses=1):
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, 'run')
        done = subprocess.run([STEPTIME, 'record', '--json', '--device', 'h100-sxm', '-o', run, '--', PROGRAM, name],
                              capture_output=True, text=True, check=False)
        said = json.loads(done.stdout)
        if done.returncode != 0 or said['unsupported_calls'] != 0 or len(said['misuses']) != misuses:
            failures.append(f'{name}: {said}\n{done.stderr}')
        found = list(records(run))
        if found != expected:
            failures.append(f'{name}: {found}, expected {expected}')
        if not expected:
            return 0
        priced = subprocess.run([STEPTIME, 'trace', 'import', run, '--json', '--gap', '5us'],
                                capture_output=True, text=True, check=True)
        worker = json.loads(priced.stdout)['workers'][0]
        operations = {row['operation']: row['count'] for row in worker['operations']}
        if operations != {operation: 3} or abs(worker['flop'] - 3 * flop) > 1e-9 * flop or worker['unknown'] != 0:
            failures.append(f'{name}: priced as {operations}, {worker["flop"]} FLOP, {worker["unknown"]} unknown')
        return worker['busy_ns']


BF16 = 14
x, w, y = 8 * 64 * 56 * 56, 128 * 64 * 9, 8 * 128 * 28 * 28
case('convolution', 3 * [(8 * 28 * 28, 128, 576, 1, 0, 0, BF16, 1, 3, 0, -(-2 * (x + w + y) // 1024))],
     'product', 2 * 8 * 28 * 28 * 128 * 576)
a, b, c = 5 * 238 * 96, 5 * 96 * 385, 5 * 238 * 385
case('product', 3 * [(238, 385, 96, 5, 0, 0, BF16, 1, 3, 0, -(-2 * (a + b + c) // 1024))],
     'product', 2 * 5 * 238 * 385 * 96)
tensors = 2 * 2 * 12 * 64 * (1024 + 512 + 512 + 1024) // 1024
case('attention', 3 * [(2, 12, 1024, 64, 64, 512, BF16, 2, 4, 1, tensors)], 'attention', 2 * 2 * 2 * 12 * 1024 * 1024 * 64 / 2)
tensors = 2 * 2 * 12 * 64 * 4096 // 1024
whole = case('attention-backward', 3 * [(2, 12, 1024, 64, 1024, 64, BF16, 5, 4, 1, tensors)], 'attention_backward',
     2.5 * 2 * 2 * 2 * 12 * 1024 * 1024 * 64 / 2)
# A quarter of the heads of keys and values: as much arithmetic, and less to read.
tensors = 2 * 2 * 64 * 1024 * (12 + 3 + 3 + 12) // 1024
grouped = case('grouped-attention', 3 * [(2, 12, 1024, 64, 1024, 64, BF16, 5, 4, 4, tensors)], 'attention_backward',
               2.5 * 2 * 2 * 2 * 12 * 1024 * 1024 * 64 / 2)
if not 0.5 * whole < grouped < whole:
    failures.append(f'attention takes {whole} ns, with fewer heads of keys {grouped} ns')
passes = ((BF16, 3, 3 * 2 * 8 * 64 * 56 * 56 // 1024 + 1), (0, 2, 2 * 4 * 17 * 238 * 5 // 1024 + 1), (BF16, 2, 2 * 2 * 8 * 64 * 56 * 56 // 1024 + 1))
case('normalization', [6 * (0,) + (kind, 0, count, 0, kib) for kind, count, kib in passes], 'memory', 0, misuses=2)
case('misuse', [], '', 0, misuses=4)

print('\n'.join(failures) if failures else 'all as expected')
sys.exit(len(failures) > 0)
