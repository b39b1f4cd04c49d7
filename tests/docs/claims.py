#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every protection that docs/SECURITY.md claims, and every fault in tests/README.md, names a test that exists and runs:
claims.py SOURCE_ROOT

A row of its tables ends with tests, `FILE` or `FILE:WORDS`: the words occur in the file, as the name of a case, and
a build definition or ./dev runs the file. Prose claims nothing: outside of tables no test is named. Prints TAP.
"""
import re
import sys
from pathlib import Path

TEST = re.compile(r'`(tests/[\w./-]+)(?::([^`]+))?`')


def runs(root, file, definitions):
    """Whether something names the file: whole, by its stem ('yaml' for test_yaml.c), or, of cases, its reader."""
    if file.parent.name == 'cases':
        return any(f'cases/{file.name}' in path.read_text(encoding='utf-8') for path in root.glob('tests/unit/*.c'))
    stem = file.stem.removeprefix('test_').removeprefix('fuzz_')
    names = {file.name, f"'{stem}'"} if file.suffix == '.c' else {file.name}
    if file.name == 'cases.txt':
        names.add('run.py')
    return any(name in text for name in names for text in definitions)


def fault_of(root, name, words, definitions):
    file = root / name
    if not file.is_file():
        return f'no file {name}'
    if words is not None and words not in file.read_text(encoding='utf-8'):
        return f"no '{words}' in {name}"
    if file.name != 'meson.build' and not runs(root, file, definitions):
        return f'nothing runs {name}'
    return None


def rows(text):
    """(section, claim, tests) of the tables."""
    section = ''
    for line in text.splitlines():
        if line.startswith('## '):
            section = line[3:]
        elif line.startswith('| ') and not re.match(r'\| (---|protection|what|\| fault)', line):
            claim, _, tests = line.strip('| ').rpartition(' | ')
            yield section, claim, tests


def main():
    root = Path(sys.argv[1]).resolve()
    definitions = [path.read_text(encoding='utf-8') for path in [*root.glob('tests/**/meson.build'), root / 'dev']]
    text = (root / 'docs/SECURITY.md').read_text(encoding='utf-8')
    faults = [row for row in rows((root / 'tests/README.md').read_text(encoding='utf-8')) if row[0].startswith('Faults')]
    number = failed = 0
    for section, claim, tests in [*rows(text), *faults]:
        named = TEST.findall(tests)
        faults = [fault_of(root, name, words or None, definitions) for name, words in named] if named else ['no test']
        faults = [fault for fault in faults if fault]
        number += 1
        failed += bool(faults)
        print(f'{"not ok" if faults else "ok"} {number} - {section}: {claim[:60]}')
        for fault in faults:
            print(f'# {fault}')
    prose = [line for line in text.splitlines() if not line.startswith('|') and TEST.search(line)]
    print(f'{"not ok" if prose else "ok"} {number + 1} - prose names no test')
    for line in prose:
        print(f'# {line}')
    print(f'1..{number + 1}')
    return 1 if failed or prose or number < 40 else 0


if __name__ == '__main__':
    sys.exit(main())
