#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often a search asks an isolated plugin and starts processes, which is what isolation costs:

    questions.py STEPTIME QUESTIONS.SO PLUGINS

Blocks of rows, questions of several functions in one message and answers that are kept leave a question for
120 plans. One process describes the plugin and serves it, however many plans are replayed.
Prints TAP.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SEARCH = ['search', 'llama3-8b-8xh100', '--gpus', '128', '--top', '1', '--threads', '1', '--refine', 'nccl-whitebox']
PLANS_OF_A_QUESTION = 90


def main():
    program, library, plugins = map(os.path.abspath, sys.argv[1:4])
    with tempfile.TemporaryDirectory() as folder:
        count = pathlib.Path(folder) / 'count'
        search = [program, *SEARCH, '--path', plugins]
        here = subprocess.run(search, capture_output=True, text=True, check=False)
        apart = subprocess.run([*search, '--isolate'], capture_output=True, text=True, check=False,
                               env={**os.environ, 'LD_PRELOAD': library, 'QUESTIONS': str(count)})
        questions, processes = map(int, count.read_text(encoding='ascii').split()) if count.exists() else (0, 0)
    plans = int(re.search(r'^plans +(\d+)', here.stdout, re.MULTILINE)[1]) if here.returncode == 0 else 0
    same = plans > 0 and apart.stdout == here.stdout
    few = 0 < questions * PLANS_OF_A_QUESTION <= plans
    print(f'1..3\n{"ok" if same else "not ok"} 1 - a search with an isolated plugin prints what it prints with one in the process')
    print(f'{"ok" if few else "not ok"} 2 - {questions} questions for {plans} plans, at most one for {PLANS_OF_A_QUESTION}')
    print(f'{"ok" if processes == 1 else "not ok"} 3 - {processes} process is started, which describes the plugin and serves it')
    if not same:
        print('# ' + apart.stderr.replace('\n', '\n# '))
    return 0 if same and few and processes == 1 else 1


sys.exit(main())
