#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of TOML with slips are read or refused as Python reads or refuses them: toml_files.py STEPTIME [COUNT]

Each has one to three random changes of a file with every form of a value: of letters, of dates and times, of lines
that open tables again. STEPTIME_SEED=N repeats a run. Prints TAP.
"""
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

FILE = r'''# a comment
title = "a\tb \u00e9 \U0001F600"
path = 'C:\texts'
[training]
seq_len = 8_192
local_batch_size = 1
lr = 3e-4 # x
half = -0.5
hexadecimal = 0xFF
flag = true
day = 1979-05-27T07:32:00Z
list = [1, 2, [3, "x"],
  4, # c
]
inline = {a = 1, b.c = "q", e = []}
several = """
two \
   lines"""
[parallelism]
a.b.c = 2
"quoted key" = 3
[[job]]
n = 1
[job.sub]
z = 1
[[job]]
n = 2
[job.sub]
z = inf
'''
LETTERS = '"\'[]{}=.,#\n\t \\_-+0123456789eETZ:abtrufinx\r'
# Headers and keys that reopen what the file has, or something new.
LINES = ['[a]', '[b]', '[b.c]', '[[b]]', '[b.c.d]', 'b.c.e = 1', 'c.f = 2', 'b.g = {h.i = 1, h.j = 2}', 'k = [{l = 1, l = 2}]',
         'm = [{n.o = 1, n.p = [{q = 1}]}]', '[parallelism.a]', '[parallelism.a.b]', '[parallelism.a.d]', '[training.x]', '[job.sub]',
         '[training.inline]', 'inline.z = 1', 'a.b.d = 3', 'job.sub.y = 1']
REFUSALS = re.compile('not TOML|is given twice|does not end')


def moment(draw):
    day = f'{draw.choice([0, 1900, 2000, 2023, 2024])}'.zfill(4) + f'-{draw.randrange(14):02}-{draw.randrange(33):02}'
    clock = f'{draw.randrange(26):02}:{draw.choice([0, 59, 60]):02}:{draw.choice([0, 59, 60]):02}'
    zone = draw.choice(['', 'Z', '+23:59', '-24:00', '+01:60'])
    return draw.choice([day, clock, day + 'T' + clock + zone, day + ' ' + clock + zone])


def changed(draw):
    if draw.random() < 0.3:
        lines = FILE.split('\n')
        lines[10] = f'day = {moment(draw)}'
        return '\n'.join(lines)
    if draw.random() < 0.5:
        lines = FILE.split('\n')
        for _ in range(draw.randrange(1, 4)):
            at = draw.randrange(14, len(lines))
            lines.insert(at if at not in (16, 17) else 14, draw.choice(LINES))
        return '\n'.join(lines)
    letters = list(FILE)
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        at = draw.randrange(len(letters))
        kind = draw.random()
        if kind < 0.35:
            letters[at] = draw.choice(LETTERS)
        elif kind < 0.65:
            letters.insert(at, draw.choice(LETTERS))
        elif kind < 0.9:
            del letters[at]
        else:
            letters[at:at] = letters[at:at + draw.randrange(12)]
    return ''.join(letters)


def main():
    try:
        import tomllib
    except ImportError:
        print('1..0 # SKIP this Python has no tomllib')
        return 0
    program = os.path.abspath(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 250
    seed = int(os.environ.get('STEPTIME_SEED', time.time_ns() % 10**9))
    draw = random.Random(seed)
    faults = []
    accepted = 0
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / 'launch.toml'
        for _ in range(count):
            text = changed(draw)
            try:
                tomllib.loads(text)
                wanted = True
            except tomllib.TOMLDecodeError:
                wanted = False
            except ValueError:  # a date that no calendar has
                wanted = False
            file.write_bytes(text.encode())
            done = subprocess.run([program, 'import', 'torchtitan', file, '-o', '/dev/null'], capture_output=True,
                                  text=True, errors='replace', check=False)
            accepted += wanted
            if (REFUSALS.search(done.stderr) is None) != wanted or done.returncode < 0:
                faults.append(f'Python {"reads" if wanted else "refuses"} it, steptime says {done.stderr[:200]!r}: '
                              f'{text!r}')
    print(f'# STEPTIME_SEED={seed}\n1..2')
    print(f'{"not ok" if faults else "ok"} 1 - {count} files are read or refused as Python does')
    for fault in faults[:5]:
        print('# ' + fault)
    mixed = count / 10 < accepted < count * 9 / 10
    print(f'{"ok" if mixed else "not ok"} 2 - {accepted} of them are TOML')
    return bool(faults) or not mixed


if __name__ == '__main__':
    sys.exit(main())
