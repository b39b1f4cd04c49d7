#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Work per byte: a piece of a corpus file, repeated four times as often, takes about four times the instructions.

    work.py BUILD CORPUS [--target NAME]... [--most N] [--seed N]

For each fuzz target pieces of its corpus are drawn (lines, elements of JSON, words, fields of protobuf, rows of
databases) and repeated, alike or numbered, to files of a quarter of a megabyte and of one. Where the larger one seems
to take more than five times the time of the smaller, valgrind counts both: more than six times the instructions are a
finding. Prints TAP with the seed, a case for each target.
"""
import argparse
import os
import pathlib
import random
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile

LARGE, SMALL = 1 << 20, 1 << 18
SUSPECT_S, SUSPECT_RATIO, MOST_RATIO, LIMIT_S = 0.1, 5, 6, 20


def numbered(piece, index):
    """The piece with a name and a number of its own."""
    text = piece.decode('latin-1')
    return re.sub(r'[A-Za-z_]\w*', lambda word: f'{word.group(0)}{index}', text, count=1).encode('latin-1')


def elements(text):
    """Places of the elements of lists and objects of JSON."""
    starts, found = [], []
    for place, byte in enumerate(text):
        if byte in b'[{':
            starts.append(place + 1)
        elif byte in b']}' and starts:
            found.append((starts.pop(), place))
        elif byte == ord(',') and starts:
            found.append((starts[-1], place))
            starts[-1] = place + 1
    return [place for place in found if place[1] > place[0]]


def varint(data, at):
    value = shift = 0
    while at < len(data) and shift < 64:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at
    return None, at


def fields(data):
    """Places of the fields of a protobuf message, without those inside of others."""
    at, found = 0, []
    while at < len(data):
        start = at
        tag, at = varint(data, at)
        kind = None if tag is None else tag & 7
        if kind == 0:
            _, at = varint(data, at)
        elif kind == 2:
            length, at = varint(data, at)
            if length is None:
                return []
            at += length
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            return []
        if at > len(data):
            return []
        found.append((start, at))
    return found


def pieces(data, draw):
    """(before, piece, after, separator): what is repeated, alike or numbered."""
    found = []
    lines = [(match.start(), match.end()) for match in re.finditer(rb'[^\n]*\n', data)]
    words = [(match.start(), match.end()) for match in re.finditer(rb'[^\s,;]+[\s,;]?', data)]
    bytes_ = [(place, place + 1) for place in draw.sample(range(len(data)), min(4, len(data)))]
    for places, separator in ((lines, b''), (elements(data), b','), (words, b' '), (fields(data), b''), (bytes_, b'')):
        for start, end in draw.sample(places, min(4, len(places))):
            found.append((data[:start], data[start:end], data[end:], separator))
    return found


def grown(piece, size, distinct):
    before, middle, after, separator = piece
    parts, length, index = [], 0, 0
    while length < size:
        part = (numbered(middle, index) if distinct else middle) + separator
        parts.append(part)
        length += len(part)
        index += 1
    return before + b''.join(parts) + middle + after


def grown_database(data, size, draw, folder):
    """Rows of one table of a database, repeated; an empty answer where it is none."""
    path = folder / 'grown.sqlite'
    path.write_bytes(data)
    try:
        connection = sqlite3.connect(path)
        tables = sorted(row[0] for row in connection.execute('SELECT name FROM sqlite_master WHERE type = "table"'))
        table = draw.choice(tables)
        while path.stat().st_size < size:
            columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")') if not row[5]]
            names = ','.join(f'"{name}"' for name in columns)
            if connection.execute(f'INSERT INTO "{table}" ({names}) SELECT {names} FROM "{table}"').rowcount < 1:
                return b''
            connection.commit()
        connection.close()
    except (sqlite3.Error, IndexError, MemoryError):
        return b''
    return path.read_bytes()


def run(program, folder, data, before=()):
    """Processor time of a replay, and what it said."""
    case = folder / 'case'
    case.mkdir(exist_ok=True)
    (case / 'input').write_bytes(data)
    then = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*before, program, str(case)], capture_output=True, check=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S * (50 if before else 1),) * 2))
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return now.ru_utime + now.ru_stime - then.ru_utime - then.ru_stime, done


def instructions(program, folder, data):
    _, done = run(program, folder, data, ['valgrind', '--tool=cachegrind', '--cache-sim=no', '--cachegrind-out-file=/dev/null'])
    counted = re.search(rb'I +refs: +([\d,]+)', done.stderr)
    return int(counted.group(1).replace(b',', b'')) if counted else None


def growth(program, folder, make):
    """Instructions of the larger file over those of the smaller one, without those of an empty one."""
    none, small, large = (instructions(program, folder, data) for data in (b'', make(SMALL), make(LARGE)))
    return None if None in (none, small, large) else (large - none) / max(small - none, 1)


def examine(program, corpus, folder, draw, most):
    faults, tried = [], 0
    files = sorted(path for path in corpus.iterdir() if 0 < path.stat().st_size < 32 << 10)
    while tried < most:
        path = draw.choice(files)
        data = path.read_bytes()
        if data.startswith(b'SQLite format 3'):
            state = draw.getrandbits(32)
            makes = [('rows', lambda size, d=data, s=state: grown_database(d, size, random.Random(s), folder) or d)]
        else:
            makes = [(f'{piece[1][:40]!r}{" numbered" if distinct else ""}',
                      lambda size, p=piece, n=distinct: grown(p, size, n))
                     for piece in pieces(data, draw) for distinct in (False, True)]
        if not makes:
            tried += 1
        for title, make in draw.sample(makes, min(len(makes), 4, most - tried)):
            tried += 1
            time_s, done = run(program, folder, make(LARGE))
            if done.returncode < 0 and done.returncode != -24:  # SIGXCPU
                faults.append(f'{path.name}, {title}: ended by signal {-done.returncode}: {done.stderr[-300:]!r}')
            elif done.returncode == -24:
                faults.append(f'{path.name}, {title}: more than {LIMIT_S} s')
            elif time_s > SUSPECT_S and time_s > SUSPECT_RATIO * run(program, folder, make(SMALL))[0]:
                ratio = growth(program, folder, make)
                if ratio is None or ratio > MOST_RATIO:
                    faults.append(f'{path.name}, {title}: {time_s:.2f} s, {ratio} times the instructions')
    return tried, faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('corpus')
    parser.add_argument('--target', action='append')
    parser.add_argument('--most', type=int, default=40, help='pieces of each target')
    parser.add_argument('--seed', type=int, default=2385)
    options = parser.parse_args()
    if shutil.which('valgrind') is None:
        print('1..0 # SKIP needs valgrind')
        return 0
    corpus = pathlib.Path(options.corpus)
    names = options.target or sorted(path.name for path in corpus.iterdir() if path.is_dir())
    names = [name for name in names if os.access(pathlib.Path(options.build) / f'fuzz_{name}', os.X_OK)]
    print(f'1..{len(names)}\n# seed {options.seed}')
    failed = 0
    for number, name in enumerate(names, 1):
        program = str((pathlib.Path(options.build) / f'fuzz_{name}').resolve())
        with tempfile.TemporaryDirectory() as folder:
            tried, faults = examine(program, corpus / name, pathlib.Path(folder),
                                    random.Random(f'{name} {options.seed}'), options.most)
        failed += bool(faults)
        print(f'{"not ok" if faults else "ok"} {number} - {name}: {tried} pieces')
        for fault in faults:
            print(f'# {fault}')
        sys.stdout.flush()
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
