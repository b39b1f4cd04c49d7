#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exported launches against what releases accept: launches.py PROGRAM ROOT.

Every shipped transformer, on each framework and each release that configs/launches knows, and random plans: an
export is refused with a reason, or each of its options is one that the release accepts. Prints TAP.
"""
import json
import os
import random
import re
import shlex
import subprocess
import sys

import tables

PLANS = 24
SEED = 20385


def export(program, framework, release, sets):
    words = [word for key, value in sets.items() for word in ('--set', f'{key}={value}')]
    return subprocess.run([program, 'export', framework, 'llama3-8b-8xh100', '--target-version', release, *words],
                          capture_output=True, text=True, check=False)


def options_of(framework, text):
    """(option, value) of an exported file."""
    if framework == 'megatron':
        words = shlex.split(text.replace('\\\n', ' ').split('torchrun', 1)[1].split('.py', 1)[1])
        starts = [i for i, word in enumerate(words) if word.startswith('--')] + [len(words)]
        return [(words[i][2:], [word for word in words[i + 1:end] if word != '$@'])
                for i, end in zip(starts, starts[1:])]
    found = []
    if framework == 'deepspeed':
        for name, value in json.loads(text).items():
            if isinstance(value, dict) and name != '_steptime':
                found += [(f'{name}.{key}', [str(inner)]) for key, inner in value.items()]
            elif name != '_steptime':
                found.append((name, [str(value)]))
        return found
    section = ''
    for line in text.splitlines():
        head = re.fullmatch(r'\[([\w.]+)\]|([\w.]+):', line)
        body = re.fullmatch(r'\s*([\w]+)(?: =|:) (.*)', line)
        if head:
            section = (head[1] or head[2]) + '.'
        elif body and not line.startswith('#'):
            name = body[1] if framework == 'megatron-bridge' and line[0] != ' ' else section + body[1]
            found.append((name, [body[2].strip('"')]))
    return found


def plans(models):
    """Each model once, and random plans."""
    draw = random.Random(SEED)
    both = [{'model': model, 'parallel.zero': 1} for model in models]
    for _ in range(PLANS):
        tp, pp, dp, micro = draw.choice([1, 2, 4]), draw.choice([1, 2, 3, 4]), draw.choice([1, 2, 8]), draw.choice([1, 2])
        both.append({'model': draw.choice(models), 'parallel.tp': tp, 'parallel.pp': pp, 'parallel.dp': dp,
                     'batch.micro': micro, 'batch.global': dp * micro * pp * 2, 'cluster.nodes': -(-tp * pp * dp // 8),
                     'parallel.zero': draw.choice([0, 1, 2]), 'parallel.virtual_stages': draw.choice([1, 1, 2]),
                     'recompute': draw.choice(['none', 'full']), 'graphs': draw.choice(['none', 'none', 'layer']),
                     'parallel.dispatcher': draw.choice(['alltoall', 'deepep', 'hybridep']),
                     'optimizer': draw.choice(['adam', 'muon']), 'precision.fp8': draw.choice(['true', 'false'])})
    return both


def main():
    program, root = os.path.abspath(sys.argv[1]), sys.argv[2]
    folder = os.path.join(root, 'configs/models')
    models = [name[:-5] for name in sorted(os.listdir(folder))
              if 'heads:' in open(os.path.join(folder, name), encoding='utf-8').read()]
    bad = count = written = 0
    print(f'# seed {SEED}, {len(models)} models, {PLANS} random plans')
    for framework in ('megatron', 'megatron-bridge', 'torchtitan', 'deepspeed'):
        table = tables.read(os.path.join(root, 'configs/launches', framework + '.yaml'))
        for release in table.releases:
            faults = []
            for sets in plans(models):
                done = export(program, framework, release, sets)
                if done.returncode == 0:
                    written += 1
                    faults += [f'{sets}: --{option} {" ".join(value)}' for option, value in options_of(framework, done.stdout)
                               if not table.accepts(option, value, release)]
                elif done.returncode != 1 or 'error: ' not in done.stderr:
                    faults.append(f'{sets}: exit {done.returncode}: {done.stderr}')
            count += 1
            bad += bool(faults)
            print(f"{'not ok' if faults else 'ok'} {count} - {framework} {release}")
            for fault in faults[:5]:
                print('# ' + fault.replace('\n', '\n# '))
    print(f"{'ok' if written > 60 else 'not ok'} {count + 1} - {written} launches are written")
    print(f'1..{count + 1}')
    return 1 if bad or written <= 60 else 0


sys.exit(main())
