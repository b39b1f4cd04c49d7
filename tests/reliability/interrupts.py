#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Interrupts at random instants of every writer: interrupts.py STEPTIME ROOT [--count N] [--seed S]

A file that was there is afterwards what it was, or whole and new; a partial result has its own name and
says so; and nothing else lies in the folders of results and of temporary files. The signals are
SIGINT, SIGTERM, SIGHUP and, by a limit on the size of files, SIGXFSZ. Prints TAP, a case for each
writer; a failure names the seed.
"""
import argparse
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

OLD = b'what was there before, 2.385\n' * 40
JOB = 'gpt3-175b-64xa100'
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
SWEEP = ['sweep', JOB, '--over', 'batch.micro=1,2,4', '--over', 'cluster.nic_bandwidth=100..900+1 Gbit/s',
         '--threads', '2']

# name: words, and the files that it writes ("{}" is the folder); a folder ends with '/'
WRITERS = {
    'estimate': (['estimate', 'gpt-3b-32x3090', '-o', '{}/a'], ['a']),
    'estimate --xlsx': (['estimate', 'gpt-3b-32x3090', '-o', '{}/a', '--xlsx', '{}/b.xlsx'], ['a', 'b.xlsx']),
    'estimate --svg': (['estimate', JOB, '--svg', '{}/b.svg'], ['b.svg']),
    'explain': (['explain', JOB, 'step_time', '--json', '-o', '{}/a'], ['a']),
    'traffic': (['traffic', JOB, '-o', '{}/a', '--svg', '{}/b.svg'], ['a', 'b.svg']),
    'timeline': (['timeline', JOB, '--perfetto', '{}/a', '--svg', '{}/b.svg'], ['a', 'b.svg']),
    'export': (['export', 'megatron', 'llama3-8b-8xh100', '-o', '{}/a'], ['a']),
    'sheet export': (['sheet', 'export', 'megatron', '-o', '{}/a'], ['a']),
    'sweep': (SWEEP + ['--csv', '-o', '{}/a'], ['a']),
    'sweep --xlsx': (SWEEP + ['-o', '{}/a', '--xlsx', '{}/b.xlsx'], ['a', 'b.xlsx']),
    'sweep --plot': (SWEEP + ['--plot', 'x=cluster.nic_bandwidth,y=step_time', '-o', '{}/a'], ['a']),
    'search': (['search', JOB, '--gpus', '512', '--json', '-o', '{}/a', '--write', '{}/b', '--svg', '{}/c'],
               ['a', 'b', 'c']),
    'scale': (['scale', JOB, '--gpus', '64..4096*2', '--json', '-o', '{}/a'], ['a']),
    'compare': (['compare', 'gpt-3b-32x3090', JOB, '-o', '{}/a'], ['a']),
    'export chakra': (['export', 'chakra', 'llama3-8b-8xh100', '-o', '{}/made'], ['made/']),
    'plugin new': (['plugin', 'new', 'made', '--dir', '{}/made'], ['made/']),
    'profile import': (['profile', 'import', '{}/../profiles.json', '--replace', '--db', '{}/p.db'], ['p.db']),
}
PROFILES = {'format': 'steptime profiles', 'schema': 1, 'profiles': [
    {'name': f'site-{i}', 'kind': 'options', 'plugin': 'nccl-whitebox', 'collective': 'all_reduce', 'ranks': 8,
     'nodes': 1, 'payload': json.dumps({'alpha': f'{i}.385 us'}), 'provenance': '{}'} for i in range(20)]}


class Trial:
    def __init__(self, program, work, words, files):
        self.program = program
        self.words = words
        self.files = files
        self.results = work / 'results'
        self.scratch = work / 'scratch'
        for folder in (self.results, self.scratch):
            folder.mkdir()
        self.environment = {**os.environ, 'TMPDIR': str(self.scratch)}
        self.words = [word.replace('{}', str(self.results)) for word in words]
        self.whole = {}

    def put_old(self):
        for folder in (self.results, self.scratch):
            shutil.rmtree(folder)
            folder.mkdir()
        for name in self.files:
            if not name.endswith(('/', '.db')):
                (self.results / name).write_bytes(OLD)

    def run(self, number=None, after_s=0.0, limit_bytes=None):
        """Its exit status, negative for a signal; None where it had ended before."""
        def limit():
            if limit_bytes is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))
        child = subprocess.Popen([self.program, *self.words], env=self.environment, preexec_fn=limit,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if number is not None:
            time.sleep(after_s)
            child.send_signal(number)
        try:
            self.said = child.communicate(timeout=60)[1].decode(errors='replace')
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            return 'it hangs'
        return child.returncode

    def begin(self):
        """Undisturbed: how long it takes, and what it writes."""
        self.put_old()
        begun = time.monotonic()
        status = self.run()
        spent_s = time.monotonic() - begun
        self.made = self.folder()
        for name in self.files:
            if not name.endswith(('/', '.db')):
                self.whole[name] = (self.results / name).read_bytes()
        return status, spent_s

    def folder(self):
        """The files of the folder that is written, with their sizes; empty where there is none."""
        made = self.results / 'made'
        return {str(path.relative_to(made)): path.stat().st_size for path in made.rglob('*') if path.is_file()}

    def names(self):
        return {name.rstrip('/') for name in self.files}

    def fault(self, status, disturbed):
        """What is wrong afterwards; None for nothing."""
        left = sorted(path.name for path in self.scratch.iterdir())
        if left:
            return f'left in the folder of temporary files: {left}'
        for path in sorted(self.results.iterdir()):
            if path.name in self.names():
                continue
            if path.suffix == '.partial' and path.stem in self.names():
                if b'interrupted' not in path.read_bytes():
                    return f'{path.name} does not say that it is partial'
            else:
                return f'left beside the results: {path.name}'
        for name, whole in self.whole.items():
            found = (self.results / name).read_bytes()
            if found not in (OLD, whole):
                return f'{name} is neither old nor new ({len(found)} bytes)'
            if found == OLD and OLD != whole and status == 0:
                return f'success without {name}'
        if (self.results / 'made').exists() and self.folder() != self.made:
            return f'a part of a folder: {len(self.folder())} of {len(self.made)} files'
        if status not in (0, 1, -disturbed) or (status == 1 and 'error: ' not in self.said):
            return f'status {status}: {self.said[:200]}'
        return None


def once(trial, spent_s, draw):
    """One disturbance; what is wrong, or None."""
    trial.put_old()
    if draw.random() < 0.15:
        limit = draw.randrange(0, 40000)
        return trial.fault(trial.run(limit_bytes=limit), signal.SIGXFSZ)
    number = draw.choice(SIGNALS)
    after_s = draw.uniform(0, 1.2 * spent_s)
    status = trial.run(number, after_s)
    fault = trial.fault(status, number)
    return fault and f'{signal.Signals(number).name} after {after_s * 1e3:.2f} ms: {fault}'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('program')
    parser.add_argument('root')
    parser.add_argument('--count', type=int, default=160)
    parser.add_argument('--seed', type=int, default=int(os.environ.get('STEPTIME_SEED', '2385')))
    given = parser.parse_args()
    os.chdir(given.root)
    draw = random.Random(given.seed)
    each = max(1, given.count // len(WRITERS))
    failed = 0
    for at, (name, (words, files)) in enumerate(WRITERS.items(), 1):
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            (work / 'profiles.json').write_text(json.dumps(PROFILES), encoding='utf-8')
            trial = Trial(os.path.abspath(given.program), work, words, files)
            status, spent_s = trial.begin()
            fault = None if status == 0 else f'undisturbed, status {status}: {trial.said[:300]}'
            turns = 0
            while fault is None and turns < each:
                fault = once(trial, spent_s, draw)
                turns += 1
        failed += fault is not None
        print(f'{"not ok" if fault else "ok"} {at} - {name}: {turns} disturbed')
        if fault:
            print(f'# seed {given.seed}: {fault}')
        sys.stdout.flush()
    print(f'1..{len(WRITERS)}')
    return 1 if failed else 0


sys.exit(main())
