#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""FLOPs of a token of every shipped model against published ones: flops.py PROGRAM.

The tables step_times/modern_nemo.csv and modern_other.csv under $STEPTIME_DATA name a model, the length of a
sequence, the FLOPs of a token by the architecture of the row, and the ratio to what the source prints. Rows
whose ratio is far from 1 (another convention, a misprint) are left out, as are adapters beside frozen
weights. Prints TAP; skips with a word where the tables are not there.
"""
import csv
import json
import os
import subprocess
import sys

NAMES = {'DeepSeek-V3': 'deepseek-v3', 'DeepSeek-V4-Flash': 'deepseek-v4-flash', 'GPT-OSS-120B': 'gpt-oss-120b',
         'GPT-OSS-20B': 'gpt-oss-20b', 'GPT3-175B': 'gpt3-175b', 'GPT3-20B': 'gpt3-20b', 'GPT3-5B': 'gpt3-5b',
         'Grok1-314B': 'grok1-314b', 'Kimi-K2': 'kimi-k2', 'Llama2-13B': 'llama2-13b', 'Llama2-70B': 'llama2-70b',
         'Llama2-7B': 'llama2-7b', 'Llama3-70B': 'llama3-70b', 'Llama3-8B': 'llama3-8b',
         'Llama3.1-405B': 'llama3-405b', 'Mixtral-8x22B': 'mixtral-8x22b', 'Mixtral-8x7B': 'mixtral-8x7b',
         'Moonlight-16B-A3B': 'moonlight-16b-a3b', 'Nemotron-3-Nano-30B-A3B': 'nemotron-3-nano-30b-a3b',
         'Nemotron-3-Super-120B-A12B': 'nemotron-3-super-120b-a12b',
         'Nemotron-3-Ultra-550B-A55B': 'nemotron-3-ultra-550b-a55b',
         'Nemotron-3.5-Lightning-30B-A3B': 'nemotron-3.5-lightning-30b-a3b', 'Nemotron-8B': 'nemotron-8b',
         'Nemotron4-340B': 'nemotron4-340b', 'Qwen2.5-32B': 'qwen2.5-32b', 'Qwen3-235B-A22B': 'qwen3-235b-a22b',
         'Qwen3-30B-A3B': 'qwen3-30b-a3b', 'Qwen3-8B': 'qwen3-8b', 'Qwen3-Next-80B-A3B': 'qwen3-next-80b-a3b'}
# Their source counts Mamba-2 layers twice as wide as the hidden size (84 heads of 64), the models have 64 heads.
COUNTED = {'nemotron-3-nano-30b-a3b': ['model.mamba_heads=84'],
           'nemotron-3.5-lightning-30b-a3b': ['model.mamba_heads=84']}
# Its source counts all pairs of tokens, also those that do not see each other.
ALL_PAIRS = {'qwen3-next-80b-a3b'}
TOLERANCE = 0.006
SEQUENCES = 128


def published(folder):
    """FLOPs of a token by (model, layers, sequence, depth of prediction), where the source prints the same."""
    cases = {}
    for name in ('modern_nemo.csv', 'modern_other.csv'):
        with open(os.path.join(folder, name), encoding='utf-8') as file:
            for row in csv.DictReader(file):
                ratio = float(row['published_flops_ratio'] or 1)
                model = NAMES.get(row['model'], row['model'])
                far = abs(ratio - 1) > 0.02 and model not in ALL_PAIRS
                if row['task'] == 'lora' or not row['flops_per_token_G'] or far:
                    continue
                key = (model, int(row['layers']), int(row['seq']), int(row['mtp'] or 0))
                cases[key] = float(row['flops_per_token_G']) * (ratio if model in ALL_PAIRS else 1)
    return cases


def flops_of(program, model, layers, sequence, mtp):
    """GFLOP of a token, or what the program says instead."""
    sets = [f'model={model}', f'model.layers={layers}', f'batch.sequence={sequence}', f'model.mtp={mtp}',
            f'batch.global={SEQUENCES}']
    sets += COUNTED.get(model, [])
    done = subprocess.run([program, 'estimate', 'llama3-8b-8xh100', '--all', '--csv',
                           *[part for text in sets for part in ('--set', text)]],
                          capture_output=True, text=True, check=False)
    cells = {row[1]: float(row[2]) for row in csv.reader(done.stdout.splitlines())
             if len(row) > 2 and row[1] in ('flop_token', 'flop_model', 'W_routers')}
    if cells and model in ALL_PAIRS:
        return cells['flop_model'] * 1e6 / (SEQUENCES * sequence) - 6e-9 * cells['W_routers']
    if cells:
        return cells['flop_token']
    return ' '.join(line for line in done.stderr.splitlines() if 'error' in line)


def main():
    folder = os.path.join(os.environ.get('STEPTIME_DATA', ''), 'step_times')
    if not os.path.exists(os.path.join(folder, 'modern_nemo.csv')):
        print(f'1..0 # SKIP there is no modern_nemo.csv in {folder}: set STEPTIME_DATA')
        return 77
    bad = 0
    cases = published(folder)
    for number, (key, wanted) in enumerate(sorted(cases.items()), 1):
        found = flops_of(sys.argv[1], *key)
        fine = isinstance(found, float) and abs(found / wanted - 1) <= TOLERANCE
        bad += not fine
        print(f"{'ok' if fine else 'not ok'} {number} - {key}: {found} GFLOP, published {wanted:.2f}"
              + (f' ({100 * (found / wanted - 1):+.2f} %)' if isinstance(found, float) else ''))
    print(f'1..{len(cases)}')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
