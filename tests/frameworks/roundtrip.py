#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every shipped job through every framework: roundtrip.py PROGRAM ROOT.

An export is either refused, with the reason that expected.txt names, or gives a file that is imported as a
job whose estimate has the same numbers to the last digit. Prints TAP.
"""
import json
import os
import subprocess
import sys
import tempfile

FRAMEWORKS = {'megatron': 'sh', 'megatron-bridge': 'yaml', 'torchtitan': 'toml', 'deepspeed': 'json'}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def numbers(value):
    """All numbers of a result in their order, beside the names of what they belong to."""
    if isinstance(value, dict):
        return [(key, part) for key in sorted(value) for part in numbers(value[key])
                if key not in ('assumed', 'assumptions', 'warnings', 'effects')]
    if isinstance(value, list):
        return [part for item in value for part in numbers(item)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


def estimate(program, plan):
    """Its numbers; of an estimate without any, what it says."""
    done = run(program, 'estimate', *plan, '--all', '--json')
    if done.stdout:
        return numbers(json.loads(done.stdout))
    return [line.split(': ', 1)[-1] for line in done.stderr.splitlines() if 'error' in line]


def rows_of(root):
    """The reasons of refusals by job and framework, and the plans that have to come back."""
    with open(os.path.join(root, 'tests/frameworks/expected.txt'), encoding='utf-8') as file:
        lines = [line.strip() for line in file if line.strip() and line[0] != '#']
    rows = [line.split(' ', 2) for line in lines if line[0] != '+']
    plans = [line[2:].split(' ') for line in lines if line[0] == '+']
    return {(job, framework): reason for job, framework, reason in rows}, plans


def check_script(program, plan, framework, folder):
    """The script for sbatch has the same job."""
    path, jobs = os.path.join(folder, 'run.sh'), []
    for words in ([], ['--slurm']):
        done = run(program, 'export', framework, *plan, *words, '-o', path)
        done = run(program, 'import', framework, path) if done.returncode == 0 else done
        jobs.append([line.split(' #')[0].rstrip() for line in done.stdout.splitlines() if line[:1] != '#'])
    return '' if jobs[0] == jobs[1] and jobs[0] else f'the script is another job: {set(jobs[0]) ^ set(jobs[1])}'


def check(program, plan, framework, reason, folder):
    """What is wrong with the export of a job with its --set options, '' where nothing is."""
    path = os.path.join(folder, f'exported.{FRAMEWORKS[framework]}')
    back = os.path.join(folder, 'back.yaml')
    done = run(program, 'export', framework, *plan, '-o', path)
    if done.returncode != 0:
        if reason is None or done.returncode != 1 or reason not in done.stderr:
            return f'exit {done.returncode}: {done.stderr.strip()}'
        return ''
    if reason is not None:
        return f'not refused: {reason}'
    if 'left out' not in done.stderr:
        return 'nothing is said of what the file leaves out'
    done = run(program, 'import', framework, path, '-o', back)
    if done.returncode != 0:
        return done.stderr.strip()
    first, second = estimate(program, plan), estimate(program, [back])
    if not first:
        return 'no numbers'
    if first != second:
        return f'other numbers: {[p for p in zip(first, second) if p[0] != p[1]][:3]}'
    return check_script(program, plan, framework, folder)


def main():
    program, root = os.path.abspath(sys.argv[1]), sys.argv[2]
    expected, plans = rows_of(root)
    jobs = sorted(name[:-5] for name in os.listdir(os.path.join(root, 'configs/jobs')))
    cases = [([job], framework, expected.pop((job, framework), None))
             for job in jobs for framework in FRAMEWORKS]
    cases += [([plan[0], *plan[2:]], plan[1], None) for plan in plans]
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for index, (plan, framework, reason) in enumerate(cases):
            fault = check(program, plan, framework, reason, folder)
            bad += fault != ''
            print(f"{'not ok' if fault else 'ok'} {index + 1} - {' '.join(plan)} {framework}")
            if fault:
                print('# ' + fault.replace('\n', '\n# '))
    if expected:
        print(f'not ok {len(cases) + 1} - rows of no job: {expected}')
    print(f'1..{len(cases) + bool(expected)}')
    return 1 if bad or expected else 0


sys.exit(main())
