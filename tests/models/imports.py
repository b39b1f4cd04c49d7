#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Parameters of imported models against published ones, and shipped models against imports: imports.py PROGRAM.

configs.jsonl beside this file has a line for each model: a config.json with the fields that its publisher gives,
and how many parameters the model card (or the list of the stored tensors) says the language model has, without
layers of multi-token prediction where `set` takes them away; or the words with which the file is refused. `shipped`
names the file under configs/models that the import has to give, here and in ../frameworks/providers.json. Prints TAP.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

TOLERANCE = 0.004  # counts are printed with three digits
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
NEEDED = ['batch.sequence=2385', 'batch.global=512', 'batch.micro=1', 'recompute=full']


def options(sets):
    return [part for text in sets for part in ('--set', text)]


def count_of(program, job):
    """Parameters of a job's model, or what the program says instead."""
    done = subprocess.run([program, 'explain', job, 'parameters', '--depth', '0', '--json',
                           *options(['sheet=megatron-model'])], capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)['explanation']['value'], ''
    except (KeyError, ValueError):
        return None, done.stdout + done.stderr


def value_of(text):
    """As a number, if it is one."""
    try:
        return float(text)
    except ValueError:
        return text.strip('"')


def keys_of(lines):
    """{key: value} of lines "key: value # source", of a model's file or of a job; no names and sources."""
    found = (re.match(r' *(\w+): (?:\{value: )?("[^"]*"|[^ ,#\n]+)', line) for line in lines)
    return {key: value_of(text) for key, text in (row.groups() for row in found if row)
            if key not in ('name', 'doc', 'source')}


def shipped_fault(config, name, program):
    """How a shipped model differs from the import of its config.json; None: nowhere."""
    with open(os.path.join(ROOT, 'configs/models', name + '.yaml'), encoding='utf-8') as file:
        has = keys_of(line for line in file if line[0] not in ' #')
    done = subprocess.run([program, 'import', 'hf', config], capture_output=True, text=True, check=False)
    gives = keys_of(re.split(r'\n(?=\w)', done.stdout.split('\nmodel:\n')[-1])[0].splitlines())
    wrong = {key: (has.get(key), gives.get(key)) for key in has.keys() | gives.keys() if has.get(key) != gives.get(key)}
    return f'configs/models/{name}.yaml and the import differ: {wrong}' if wrong else None


def fault_of(program, case, folder):
    """What is wrong with a model; None: nothing."""
    config, job = os.path.join(folder, 'config.json'), os.path.join(folder, 'job.yaml')
    with open(config, 'w', encoding='utf-8') as file:
        json.dump(case['config'], file)
    sets = NEEDED + ([case['set']] if 'set' in case else [])
    done = subprocess.run([program, 'import', 'hf', config, '--cluster', 'dgx-h100', '-o', job,
                           *options(sets)], capture_output=True, text=True, check=False)
    if 'refused' in case:
        refused = done.returncode == 1 and case['refused'] in done.stderr
        return None if refused else f'not refused with these words: {done.stderr}'
    if done.returncode != 0:
        return done.stderr
    fault = shipped_fault(config, case['shipped'], program) if 'shipped' in case else None
    if fault is not None or 'billions' not in case:
        return fault
    count, said = count_of(program, job)
    if count is None:
        return said
    error = count / case['billions'] / 1e9 - 1
    return None if abs(error) <= TOLERANCE else f'{count / 1e9:.3f} billion, {100 * error:+.2f} %'


def main():
    program = sys.argv[1]
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'configs.jsonl'), encoding='utf-8') as file:
        cases = [json.loads(line) for line in file]
    with open(os.path.join(ROOT, 'tests/frameworks/providers.json'), encoding='utf-8') as file:
        cases += [{'name': name, **case} for name, case in json.load(file).items() if 'shipped' in case]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(cases, 1):
            fault = fault_of(program, case, folder)
            failed += fault is not None
            print(f'{"not ok" if fault else "ok"} {number} - {case["name"]}' + (f': {fault}' if fault else ''))
    print(f'1..{len(cases)}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
