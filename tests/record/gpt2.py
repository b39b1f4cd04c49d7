#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A GPT-2 as a program and as a job: gpt2.py STEPTIME PROGRAM ROOT.

FLOP are exact, and the table of docs/record.md says what is found.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

STEPTIME, PROGRAM, ROOT = sys.argv[1:4]
failures = []


def run(*words):
    done = subprocess.run([STEPTIME, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f'{words}: {done.stderr}')
    return json.loads(done.stdout)


with tempfile.TemporaryDirectory() as folder:
    trace = os.path.join(folder, 'run')
    said = run('record', '--device', 'a100-sxm-80gb', '--json', '-o', trace, '--', PROGRAM)
    if said['unsupported_calls'] != 0 or said['misuses']:
        failures.append(f'{said}')
    worker = run('trace', 'import', trace, '--gap', '5us', '--json')['workers'][0]

rows, width, layers, vocabulary, steps = 16 * 1024, 768, 12, 50304, 4
flop = {'product': 6 * rows * (12 * layers * width * width + vocabulary * width),
        'attention': layers * 2 * rows * 1024 * width, 'attention_backward': 2.5 * layers * 2 * rows * 1024 * width}
times = {}
for operation in worker['operations']:
    times[operation['operation']] = operation['time_ns'] / steps / 1e6
    if operation['flop'] != steps * flop.get(operation['operation'], 0):
        failures.append(f'{operation}: expected {steps * flop.get(operation["operation"], 0)} FLOP')
if worker['unknown'] != 0 or worker['at_most_ns'] > 0.05 * worker['busy_ns']:
    failures.append(f'{worker["unknown"]} unknown, {worker["at_most_ns"]} of {worker["busy_ns"]} ns are at most so long')

cells = run('estimate', os.path.join(ROOT, 'tests/record/gpt2.yaml'), '--all', '--json')['cells']
cell = {row['name']: row['value'] for row in cells}
attention = layers * cell['t_core'] / 1000
table = {'products': (times['product'], 1000 * cell['time_gemm'] - attention),
         'attention': (times['attention'] + times['attention_backward'], attention),
         'bound by memory': (times['memory'] + times['fill'], 1000 * cell['time_memory']),
         'optimizer': (times['stream'], 1000 * cell['time_optimizer']),
         'launches': (0, 1000 * cell['time_launch']),
         'step': (worker['step_ns'] / 1e6, 1000 * sum(cell[f'time_{name}'] for name in ('gemm', 'memory', 'launch', 'optimizer')))}
page = open(os.path.join(ROOT, 'docs/record.md'), encoding='utf-8').read()
for term, found in table.items():
    row = re.search(rf'\| {term} \| ([0-9.]+) \| ([0-9.]+) \|', page)
    print(f'{term}: {found[0]:.2f} and {found[1]:.2f} ms')
    if row is None or any(abs(float(told) - value) > 0.051 for told, value in zip(row.groups(), found)):
        failures.append(f'{term}: {found}, docs/record.md says {row and row.groups()}')

print('\n'.join(failures) if failures else 'all as expected')
sys.exit(len(failures) > 0)
