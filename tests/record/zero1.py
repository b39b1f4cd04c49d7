#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A GPT-2 with ZeRO-1 by cuBLASLt and NCCL: zero1.py STEPTIME PROGRAM. All counts and FLOP are exact."""
import json
import os
import subprocess
import sys
import tempfile

STEPTIME, PROGRAM = sys.argv[1:3]
B, T, C, L, HEADS, VP, STEPS = 4, 1024, 768, 12, 12, 50304, 3
ROWS = B * T
WEIGHTS = VP * C + T * C + L * (12 * C * C + 13 * C) + 2 * C
failures = []


def run(*words):
    done = subprocess.run([STEPTIME, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f'{words}: {done.stderr}')
    return json.loads(done.stdout)


def expect(what, found, expected):
    if found != expected:
        failures.append(f'{what}: {found!r}, expected {expected!r}')


# products of attention: two forward and four backward, not causal here
flop = 6 * ROWS * (L * 12 * C * C + VP * C) + L * 6 * 2 * B * T * T * C
memory = {}
for ranks in (8, 64):
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, 'run')
        said = run('record', '--device', 'a100-sxm-80gb', '--context', '0 GB', '--json', '--ranks',
                   str(ranks), '-o', trace, '--', PROGRAM)
        ran = said['processes']
        expect('record', (said['verdict'], said['unsupported_calls'], said['misuses'], said['unique_processes']),
               ('recorded', 0, [], 1))
        expect('collectives', said['collectives'], ran * STEPS * (L + 1))
        expect('products', said['gemms'], ran * STEPS * (3 + L * (4 + 2 + 8 + 4)))
        memory[ranks] = said['peak_bytes']
        priced = run('trace', 'import', trace, '--cluster', 'dgx-a100', '--gap', '5us', '--json')
        worker = priced['workers'][0]
        expect('FLOP', worker['flop'], STEPS * flop)
        expect('ranks', (priced['world'], priced['unmatched'], worker['unknown']), (ranks, 0, 0))
# What fewer ranks hold of the optimizer's states, in the driver's pieces of 2 MiB.
states = [-(-12 * (WEIGHTS // ranks) // (2 << 20)) * (2 << 20) for ranks in (8, 64)]
expect('states', memory[8] - memory[64], states[0] - states[1])

print('\n'.join(failures) if failures else 'all as expected')
sys.exit(len(failures) > 0)
