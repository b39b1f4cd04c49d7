#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gcc's -fanalyzer over all that is shipped: analyze.py BUILD ROOT [--only TEXT]

BUILD was made with gcc. What it warns of and tests/analyze-exceptions.txt does not excuse is printed, and what
that excuses without need; then the exit status is 1.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

LIMIT_S = 600
FUNCTION = re.compile(r"In function '([^']*)'")
WARNING = re.compile(r'^(\S+?):(\d+):\d+: warning: (.*?) (?:\[CWE-\d+\] )?\[-Wanalyzer-([a-z-]+)\]')


def commands(build, root, only):
    """One command for each shipped source, as words, by its path from the root."""
    found = {}
    for entry in json.loads((build / 'compile_commands.json').read_text(encoding='utf-8')):
        source = os.path.relpath(os.path.join(entry['directory'], entry['file']), root)
        if source.startswith(('estimator/', 'plugins/')) and '/tests/' not in source and only in source:
            found.setdefault(source, (entry['directory'], shlex.split(entry['command'])))
    return sorted(found.items())


def words_for(words):
    """The flags that say what the source means, without those of the build's output and its optimization."""
    kept = []
    skip = False
    for word in words:
        if skip or word in ('-o', '-MQ', '-MF'):
            skip = not skip
        elif word not in ('-c', '-MD', '-g', '-Werror') and not word.startswith(('-O', '-D_FORTIFY_SOURCE')):
            kept.append(word)
    return [*kept, '-O1', '-fno-lto', '-fanalyzer', '-fanalyzer-verbosity=0', '-fdiagnostics-plain-output', '-c', '-o',
            os.devnull]


def analyze(item):
    source, (folder, words) = item
    try:
        ran = subprocess.run(words_for(words), cwd=folder, env={**os.environ, 'LC_ALL': 'C'}, timeout=LIMIT_S,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired:
        return {(source, '-', 'timeout'): [f'{source}: not analysed within {LIMIT_S} s']}
    found, function = {}, '-'
    for line in ran.stdout.decode(errors='replace').splitlines():
        function = FUNCTION.search(line).group(1) if FUNCTION.search(line) else function
        warning = WARNING.match(line)
        if warning:
            place = f'{source}:{warning.group(2)}: {function}: {warning.group(3)}'
            found.setdefault((source, function, warning.group(4)), []).append(place)
    if ran.returncode != 0:
        found[(source, '-', 'status')] = [f'{source}: status {ran.returncode}']
    return found


def excused(root):
    """(source, function, warning) of each line; a reason stands behind them."""
    lines = (root / 'tests/analyze-exceptions.txt').read_text(encoding='utf-8').splitlines()
    return {tuple(line.split()[:3]) for line in lines if line.strip() and not line.startswith('#')
            and len(line.split()) > 4}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build', type=pathlib.Path)
    parser.add_argument('root', type=pathlib.Path)
    parser.add_argument('--only', default='')
    given = parser.parse_args()
    root = given.root.resolve()
    items = commands(given.build.resolve(), root, given.only)
    found = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for one in pool.map(analyze, items):
            found.update(one)
    allowed = excused(root)
    wrong = [text for key, texts in sorted(found.items()) if key not in allowed for text in texts]
    wrong += [f'no longer needed: {" ".join(key)}' for key in sorted(allowed - set(found)) if given.only in key[0]]
    print('\n'.join([*wrong, f'{len(items)} sources, {len(found)} warnings, {len(found) - len(set(found) - allowed)} '
                     f'of them excused']))
    return 1 if wrong else 0


sys.exit(main())
