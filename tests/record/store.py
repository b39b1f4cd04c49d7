#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks that meet in PyTorch's TCPStore: store.py STEPTIME PROGRAM."""
import json
import os
import subprocess
import sys
import tempfile
import time

STEPTIME, PROGRAM = sys.argv[1:3]
failures = []


def record(options, words, code=0, message='', **environment):
    with tempfile.TemporaryDirectory() as folder:
        own = {key: value for key, value in os.environ.items() if key != 'MASTER_PORT'}
        run = os.path.join(folder, 'run')
        done = subprocess.run([STEPTIME, 'record', '--json', '--device', 'h100-sxm', '--limit', '60s', '-o', run,
                               '--store', *options, '--', PROGRAM, *words],
                              capture_output=True, text=True, check=False, env={**own, **environment})
        said = json.loads(done.stdout) if done.stdout else {}
        if done.returncode != code or message not in done.stderr:
            failures.append(f'{options} {words}: exit code {done.returncode}, expected {code}\n{done.stderr}')
            return said, {}
        priced = subprocess.run([STEPTIME, 'trace', 'import', run, '--json', '--gap', '5us', '--cluster', 'dgx-h100'],
                                capture_output=True, text=True, check=False)
        return said, json.loads(priced.stdout) if priced.stdout else {}


def expect(what, found, expected):
    if found != expected:
        failures.append(f'{what}: {found!r}, expected {expected!r}')


# All ranks run, and the store is what PyTorch's is.
for options in (['--ranks', '5'], ['--ranks', '24', '--together'], ['--ranks', '24', '--each']):
    ranks = int(options[1])
    said, priced = record(options, ['world'])
    expect(options, (said.get('ranks_run'), said.get('keys_stood_in'), said.get('unique_processes'),
                     said.get('collectives'), priced.get('unmatched')), (ranks, 0, 1, ranks, 0))

# Some ranks run; keys that the others would set get placeholders.
for options in (['--rank', '17', '--world', '64'], ['--ranks', '64', '--selective', '0,17'], ['--ranks', '64'],
                ['--ranks', '4096']):
    said, priced = record(options, ['tensor'])
    expect(options, (said.get('verdict'), said.get('unique_processes'), said.get('keys_stood_in', 0) > 0,
                     priced.get('world'), priced.get('unmatched')),
           ('recorded', 1, True, int(options[1] if options[0] == '--ranks' else options[3]), 0))

# A rank that dies, and keys that nobody sets: the others end when they can only wait, long before --limit.
for options, words, message in ((['--ranks', '5'], ['dies'], 'rank 1 was killed by signal 6'),
                                (['--ranks', '5'], ['dies'], "rank 4 waited for the key 'store_based_barrier_key:world:last_worker'"),
                                (['--ranks', '5'], ['never'], "rank 3 waited for the key 'weights' of the store"),
                                (['--ranks', '24', '--each'], ['never'], "rank 23 waited for the key 'weights'")):
    began = time.monotonic()
    said, _ = record(options, words, 1, message)
    expect([*options, *words], (said.get('verdict'), time.monotonic() - began < 40), ('failed', True))

# A PyTorch without libuv has no client of torchrun's store: ranks are clients of any, also the first, which serves one at the same port.
BOTH = """
import ctypes, os, socket
ctypes.CDLL("libcudart.so.12").cudaGetDeviceCount(ctypes.byref(ctypes.c_int()))
if "TORCHELASTIC_USE_AGENT_STORE" not in os.environ:
    own = socket.create_server(("", int(os.environ["MASTER_PORT"])), family=socket.AF_INET6, dualstack_ipv6=True)
    own.settimeout(0.1)
    others = [socket.create_connection(("127.0.0.1", int(os.environ["MASTER_PORT"]))) for _ in range(8)]
    try:
        own.accept()
    except TimeoutError:
        raise SystemExit(17)
raise SystemExit(23)
"""
for libuv, rank in ('0', 1), ('0', 0), ('1', 0), ('1', 1):
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run([STEPTIME, 'record', '--rank', str(rank), '--world', '4', '--store', '-o', scratch + '/run', '--',
                               sys.executable, '-c', BOTH], capture_output=True, text=True, check=False,
                              env={**os.environ, 'USE_LIBUV': libuv})
        expect(f'libuv {libuv}, rank {rank}', f"exit code {17 if libuv == '0' else 23}" in done.stderr, True)

# MASTER_PORT of the environment is the store's, where it can be.
record(['--ranks', '4'], ['world'], 1, 'invalid port', MASTER_PORT='65536')
record(['--ranks', '4'], ['world'], 1, 'MASTER_PORT', MASTER_PORT='x')
record([], ['world'], 2, '--store requires ranks')

print('\n'.join(failures) if failures else 'all as expected')
sys.exit(len(failures) > 0)
