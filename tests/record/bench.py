#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a recorded call costs the program, and the memory of its import: bench.py STEPTIME CALLS WORKS

CALLS makes 800,000 calls and says their times, half of them launches with two pointers; WORKS makes a few.
"""
import json
import os
import subprocess
import sys
import tempfile

STEPTIME, CALLS, WORKS = sys.argv[1:4]


def recorded(run, *program):
    done = subprocess.run([STEPTIME, 'record', '--quiet', '--json', '-o', run, '--', *program], stdout=subprocess.PIPE,
                          check=True)
    return json.loads(done.stdout)['calls']


def import_peak(run):
    """Bytes of the largest process that reads a run."""
    reader = os.posix_spawnp(STEPTIME, [STEPTIME, 'trace', 'import', run, '--gap', '5us'], os.environ,
                             file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
    _, status, usage = os.wait4(reader, 0)
    if status != 0:
        sys.exit(f'trace import ended with {status}')
    return 1024 * usage.ru_maxrss


with tempfile.TemporaryDirectory() as folder:
    many, few = os.path.join(folder, 'many'), os.path.join(folder, 'few')
    calls = recorded(many, CALLS) - recorded(few, WORKS, 'works')
    peaks = import_peak(many), import_peak(few)
    print(f'{"trace import, memory of a call":<30} {(peaks[0] - peaks[1]) / calls:6.1f} B')
