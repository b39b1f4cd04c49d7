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
    imported = run('trace', 'import', trace, '--gap', '5us', '--job', os.path.join(ROOT, 'tests/record/gpt2.yaml'), '--json')
    # keys of the job and figures of the recording in one command
    halved = run('trace', 'import', trace, '--gap', '5us', '--job', os.path.join(ROOT, 'tests/record/gpt2.yaml'),
                 '--set', 'batch.micro=8', '--set', 'constants.host_efficiency=0.7', '--json')
    bad = {}
    rules = os.path.join(folder, 'rules.yaml')
    with open(os.path.join(ROOT, 'configs/kernels/rules.yaml'), encoding='utf-8') as usual, open(rules, 'w', encoding='utf-8') as own:
        own.write(usual.read().replace('part: products', 'part: prodcts'))
    for words in (('--job', 'gpt2-of-nobody'), ('--job', os.path.join(ROOT, 'tests/record/gpt2.yaml'), '--set', 'batch.mikro=8'),
                  ('--job', os.path.join(ROOT, 'tests/record/gpt2.yaml'), '--rules', rules)):
        bad[words[-1]] = subprocess.run([STEPTIME, 'trace', 'import', trace, *words], capture_output=True, text=True, check=False)
worker = imported['workers'][0]
for words, of in (('gpt2-of-nobody', 'cannot find job'), ('batch.mikro=8', "did you mean 'batch.micro'"),
                  (rules, "unknown part of an estimate: found prodcts")):
    if bad[words].returncode == 0 or bad[words].stdout or of not in bad[words].stderr:
        failures.append(f'{words}: {bad[words]}')

rows, width, layers, vocabulary, steps = 16 * 1024, 768, 12, 50304, 4
flop = {'product': 6 * rows * (12 * layers * width * width + vocabulary * width),
        'attention': layers * 2 * rows * 1024 * width, 'attention_backward': 2.5 * layers * 2 * rows * 1024 * width}
for operation in worker['operations']:
    if operation['flop'] != steps * flop.get(operation['operation'], 0):
        failures.append(f'{operation}: expected {steps * flop.get(operation["operation"], 0)} FLOP')
if worker['unknown'] != 0 or worker['at_most_ns'] > 0.05 * worker['busy_ns']:
    failures.append(f'{worker["unknown"]} unknown, {worker["at_most_ns"]} of {worker["busy_ns"]} ns are at most so long')

if (imported['comparison']['gap'], imported['comparison']['call_costs']) != (5e-6, False):
    failures.append(f"hosts: {imported['comparison']}")
rows_of = {row['part']: row for row in imported['comparison']['parts']}
table = {part: (1000 * row['recorded'], 1000 * row['estimated']) for part, row in rows_of.items()
         if row['unit'] == 's' and row['estimated'] is not None}
cells = run('estimate', os.path.join(ROOT, 'tests/record/gpt2.yaml'), '--all', '--json')['cells']
cell = {row['name']: row['value'] for row in cells}
for part, name in (('matrix products', 'time_products'), ('attention', 'time_attention'), ('bound by memory', 'time_memory'),
                   ('optimizer', 'time_optimizer'), ('step', 'step_time'), ('memory', 'memory')):
    own = cell[name] * (2**30 if part == 'memory' else 1)
    if abs(rows_of[part]['estimated'] - own) > 1e-9 * own:
        failures.append(f'{part}: {rows_of[part]}, but the estimate has {own}')
if abs(cell['time_attention'] - layers * cell['t_core'] / 1e6) > 1e-9:
    failures.append(f'attention: {cell["time_attention"]} s of {layers} layers with {cell["t_core"]} us')
if rows_of['memory']['recorded'] != worker['peak_bytes'] or rows_of['step']['recorded'] != worker['step_ns'] / 1e9:
    failures.append(f'{rows_of}: not those of {worker}')
if {row['part']: row for row in halved['comparison']['parts']}['memory']['estimated'] > 0.8 * rows_of['memory']['estimated']:
    failures.append(f'half the micro-batch: {halved["comparison"]}')
page = open(os.path.join(ROOT, 'docs/record.md'), encoding='utf-8').read()
for term, found in table.items():
    row = re.search(rf'\| {re.escape(term)} \| ([0-9.]+) \| ([0-9.]+) \|', page)
    print(f'{term}: {found[0]:.2f} and {found[1]:.2f} ms')
    if row is None or any(abs(float(told) - value) > 0.051 for told, value in zip(row.groups(), found)):
        failures.append(f'{term}: {found}, docs/record.md says {row and row.groups()}')

print('\n'.join(failures) if failures else 'all as expected')
sys.exit(len(failures) > 0)
