#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Verbs of tools called in one process answer what the program prints: called.py STEPTIME CALLED ROOT"""
import os
import subprocess
import sys

CASES = [
    'trace summary tests/fuzz/corpus/trace/ranks.json',
    'trace kernels tests/fuzz/corpus/trace/ranks.json --json',
    'trace kernels tests/fuzz/corpus/trace/ranks.json --cvs',
    'trace summary absent.json',
    'trace',
    'import hf absent.json',
    'export megatron llama3-8b-8xh100',
    'export torchtitan llama3-8b-8xh200',
    'validate li2024 --json',
    'validate li2025',
    'fit --help',
]


def main():
    program, called = map(os.path.abspath, sys.argv[1:3])
    os.chdir(sys.argv[3])
    failed = 0
    for number, case in enumerate(CASES, 1):
        found = [subprocess.run([one, *case.split()], capture_output=True, text=True, check=False)
                 for one in (program, called)]
        program_said, call_said = [(done.returncode, done.stdout, done.stderr) for done in found]
        good = program_said == call_said
        failed += not good
        print(f'{"ok" if good else "not ok"} {number} - {case}')
        if not good:
            print(f'# program {program_said}\n# call {call_said}'.replace('\\n', '\n#   '))
    print(f'1..{len(CASES)}')
    return 1 if failed else 0


sys.exit(main())
