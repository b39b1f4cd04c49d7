#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The database of profiles and folders that are written whole, with the program killed before each call that opens, writes, syncs
or names a file:

    powercuts.py STEPTIME FAULTS.SO

Behind each cut the database is what it was before the command or what it is behind it, nothing between, and the
command can be given again; a folder is absent or whole. Prints TAP, a case for each command with the number of cuts.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

KINDS = ['open', 'write', 'sync', 'name']


def entry(name, ranks, text):
    return {'name': name, 'kind': 'options', 'plugin': 'alpha-beta', 'collective': 'all_reduce', 'ranks': ranks,
            'nodes': 1, 'payload': json.dumps({'latency': text}), 'provenance': '{}'}


def exported(entries):
    return json.dumps({'format': 'steptime profiles', 'schema': 1, 'profiles': entries})


OLD = [entry('site', ranks, '2.385 us') for ranks in range(2, 40)]
NEW = [entry('other', ranks, '7.25 us') for ranks in range(2, 90)]
CHANGED = [entry('site', ranks, '9.5 us') for ranks in range(2, 40)]
# name: words, and whether there is a database before
COMMANDS = {
    'the first import': (['import', '{in}/new.json'], False),
    'import': (['import', '{in}/new.json'], True),
    'import --replace': (['import', '{in}/changed.json', '--replace'], True),
    'remove': (['remove', 'site'], True),
}
FOLDERS = {
    'plugin new': ['plugin', 'new', 'made', '--dir', '{}/made'],
    'export chakra': ['export', 'chakra', 'gpt-3b-32x3090', '-o', '{}/made'],
}


class Bench:
    def __init__(self, program, library, folder):
        self.program = os.path.abspath(program)
        self.library = os.path.abspath(library)
        self.folder = pathlib.Path(folder)
        for name, entries in (('old', OLD), ('new', NEW), ('changed', CHANGED)):
            (self.folder / f'{name}.json').write_text(exported(entries), encoding='utf-8')
        self.run(['import', str(self.folder / 'old.json')], self.folder / 'before.db')

    def run(self, words, database, **fault):
        words = [word.replace('{in}', str(self.folder)) for word in words]
        return self.call(['profile', *words, '--db', str(database)], **fault)

    def call(self, words, **fault):
        environment = {**os.environ, **{key: str(value) for key, value in fault.items()}}
        if fault:
            environment['LD_PRELOAD'] = self.library
        ran = subprocess.run([self.program, *words], env=environment, timeout=60,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return ran.returncode, ran.stdout, ran.stderr.decode(errors='replace')

    def shown(self, database):
        """Every entry with its payload; None for a database that is not there, a text for a damaged one."""
        if not database.exists():
            return None
        status, out, said = self.run(['list', '--json'], database)
        if status != 0:
            return f'status {status}: {said}'
        names = sorted({one['name'] for one in json.loads(out)['profiles']})
        status, out, said = self.run(['export', *names], database) if names else (0, b'', '')
        return out if status == 0 else f'status {status}: {said}'

    def lay_out(self, has_before):
        work = self.folder / 'work'
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        if has_before:
            shutil.copy(self.folder / 'before.db', work / 'p.db')
        return work / 'p.db'

    def cut(self, words, has_before, ends, **fault):
        """What is wrong behind a cut; None for nothing."""
        database = self.lay_out(has_before)
        status, _, said = self.run(words, database, FAULT_KILL=1, **fault)
        if status != -9:
            return f'status {status}, not killed: {said}'
        found = self.shown(database)
        if found not in ends and not (found == b'' and None in ends):
            return f'neither before nor behind: {str(found)[:300]}'
        status, _, said = self.run(words, database)
        again = self.shown(database)
        if again != ends[1] and not (status != 0 and found == ends[1]):
            return f'given again, status {status}: {said} {str(again)[:200]}'
        return None

    def try_command(self, name):
        words, has_before = COMMANDS[name]
        counts = self.folder / 'counts'
        database = self.lay_out(has_before)
        before = self.shown(database)
        status, _, said = self.run(words, database, FAULT_COUNTS=counts)
        if status != 0:
            return 0, [f'undisturbed: {said}']
        ends = (before, self.shown(database))
        if ends[0] == ends[1] or isinstance(ends[1], str):
            return 0, [f'the command changes nothing: {ends[1]}']
        return self.cut_everywhere(counts, lambda **fault: self.cut(words, has_before, ends, **fault))

    def cut_everywhere(self, counts, cut):
        """Cuts at each of the counted calls: their number, and what was found."""
        pairs = [line.split() for line in counts.read_text(encoding='utf-8').splitlines()]
        places = [(kind, at) for kind, most in pairs if kind in KINDS for at in range(1, int(most) + 1)]
        found = [(kind, at, cut(FAULT_KIND=kind, FAULT_AT=at)) for kind, at in places]
        return len(places), [f'{kind} {at}: {fault}' for kind, at, fault in found if fault]

    def try_folder(self, name):
        work = self.folder / 'work'
        words = [word.replace('{}', str(work)) for word in FOLDERS[name]]

        def made(**fault):
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            status, _, said = self.call(words, **fault)
            files = (work / 'made').rglob('*')
            return status, {str(path.relative_to(work)): path.stat().st_size for path in files if path.is_file()}, said

        status, whole, said = made(FAULT_COUNTS=self.folder / 'counts')
        if status != 0 or not whole:
            return 0, [f'undisturbed: {said}']

        def cut(**fault):
            status, found, said = made(FAULT_KILL=1, **fault)
            if status != -9:
                return f'status {status}, not killed: {said}'
            return None if found in ({}, whole) else f'{len(found)} of {len(whole)} files'
        return self.cut_everywhere(self.folder / 'counts', cut)


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(sys.argv[1], sys.argv[2], folder)
        for number, name in enumerate([*COMMANDS, *FOLDERS], 1):
            cuts, faults = bench.try_command(name) if name in COMMANDS else bench.try_folder(name)
            good = not faults and cuts > 0
            failed += not good
            print(f'{"ok" if good else "not ok"} {number} - {name}: {cuts} cuts')
            for fault in faults[:10]:
                print('# ' + fault.replace('\n', ' '))
    print(f'1..{len(COMMANDS) + len(FOLDERS)}')
    return 1 if failed else 0


sys.exit(main())
