#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks that meet, and ranks that do the same: meet.py STEPTIME PROGRAM.

What is found is compared with runs of every rank.
"""
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

STEPTIME, PROGRAM = sys.argv[1:3]
failures = []


def port():
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        return str(listener.getsockname()[1])


def record(folder, options, words):
    environment = {**os.environ, 'MASTER_PORT': port()}
    done = subprocess.run([STEPTIME, 'record', '--json', '--device', 'h100-sxm', '-o', os.path.join(folder, 'run'),
                           *options, '--', PROGRAM, *words],
                          capture_output=True, text=True, check=False, env=environment)
    return done, json.loads(done.stdout) if done.stdout else {}


def price(folder, *options):
    done = subprocess.run([STEPTIME, 'trace', 'import', os.path.join(folder, 'run'), '--json', '--gap', '5us',
                           '--cluster', 'dgx-h100', *options], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        failures.append(done.stderr)
    return json.loads(done.stdout) if done.stdout else {}


def case(options, words, priced=True, **expected):
    """Returns what `trace import` says of it."""
    with tempfile.TemporaryDirectory() as folder:
        words = [word if word != 'FOLDER' else folder for word in words]
        begin = time.monotonic()
        done, said = record(folder, options, words)
        wrong = [f'{key} {said.get(key)!r}, expected {value!r}'
                 for key, value in {'verdict': 'recorded', **expected}.items()
                 if not (value(said.get(key)) if callable(value) else said.get(key) == value)]
        logs = sum(name.endswith('.steplog') for name in os.listdir(os.path.join(folder, 'run')))
        print(words, options, f'{time.monotonic() - begin:.2f} s', said.get('ranks_run'), said.get('unique_processes'))
        if said.get('ranks_run') != logs:
            wrong.append(f'{said.get("ranks_run")} ranks run, and {logs} logs')
        if wrong or any(name.startswith('split-') for name in os.listdir(os.path.join(folder, 'run'))):
            failures.append(f'{words} {options}: {wrong}\n{done.stderr}')
            return {}
        return price(folder) if priced else {}


# Each rank needs the others, whatever the order in which they are run.
for how in ('file', 'connection', 'environment'):
    for options in (['--ranks', '5'], ['--ranks', '5', '--together']):
        ranks = int(options[1])
        told = case(options, [how, 'FOLDER'], collectives=lambda count, most=ranks: 0 < count <= most, unique_processes=1)
        if told.get('unmatched') != 0:
            failures.append(f'{how} {options}: {told.get("unmatched")} collectives meet nobody')
case(['--ranks', '64'], ['connection'], False, ranks_waited=True, ranks_run=64)

# A split has the ranks that it has, whether all of them run or few, or one alone.
for options in (['--ranks', '16'], ['--ranks', '64', '--each'], ['--ranks', '64', '--together'], ['--ranks', '64'],
                ['--ranks', '4096'], ['--rank', '43', '--world', '64'], ['--ranks', '64', '--selective', '43,63']):
    case(options, ['split'], False, unique_processes=1)
case(['--ranks', '15'], ['odd-split'], False)
case(['--ranks', '60', '--each'], ['odd-split'], False)

# Ranks that get wrong splits until others of their part run are run again; each has one log and counts once.
case(['--ranks', '96'], ['unsure-split'], False, ranks_run_again=lambda again: again > 0,
     ranks_run=lambda run: run < 96, ranks_proven=lambda proven: proven <= 8)

# Few are run, and all that differ are found.
for ranks in (64, 16384):
    told = case(['--ranks', str(ranks)], ['stages'], unique_processes=8, ranks_run=lambda run: run < 300)
    if sorted(worker['ranks'] for worker in told.get('workers', [])) != [ranks // 8] * 8:
        failures.append(f'{ranks} ranks in 8 stages: {[worker["ranks"] for worker in told.get("workers", [])]}')
told = case(['--ranks', '1024'], ['stages', 'read'], unique_processes=17, ranks_run=lambda run: run < 200)
if sorted(worker['ranks'] for worker in told.get('workers', [])) != [1] + 8 * [16] + [111] + 7 * [112]:
    failures.append(f'1024 ranks, 8 of which read: {[worker["ranks"] for worker in told.get("workers", [])]}')
case(['--ranks', '128'], ['different'], False, unique_processes=128, ranks_run=128)

# The plan of a job gives the ranks that differ: one of each of 4 stages of 8 ranks.
told = case(['--plan', 'gpt-3b-32x3090'], ['stages'], ranks_run=4, world=32, unique_processes=4)
if [(worker['rank'], worker['ranks']) for worker in told.get('workers', [])] != [(3, 8), (11, 8), (19, 8), (27, 8)]:
    failures.append(f'--plan: {told.get("workers")}')

# One after the other, or those that are needed: the same.
each = case(['--ranks', '64', '--each'], ['stages', 'read'], ranks_run=64)
few = case(['--ranks', '64'], ['stages', 'read'])
for key in ('busy_ns', 'tasks', 'world'):
    if each.get(key) != few.get(key):
        failures.append(f'{key}: {each.get(key)} of all ranks, {few.get(key)} of those that differ')

print('\n'.join(failures) if failures else 'all as expected')
sys.exit(len(failures) > 0)
