#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lines of code of each module against its budget: size.py ROOT [--update]

A module is a folder below estimator/ or plugins/ that holds C or TypeScript; blanks and comments do not count.
tests/size.csv has a row for each module: its name, the lines it may have, and why it may have more than before. A change that needs
more raises the row and says why. Prints what is over its budget; --update lowers rows to today's lines.
"""
import collections
import csv
import pathlib
import re
import sys

COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
ROOM = 30  # lines that a module may have below its row before --update is due


def blank(match):
    text = match.group(0)
    return '\n' * text.count('\n') if text.startswith('/') else text


def module_of(path):
    """estimator/core/sheet, estimator/tools/fit, plugins/kernel-times: two folders, or three in core, plan and tools."""
    parts = path.parts
    deep = parts[0] == 'estimator' and parts[1] in ('core', 'plan', 'tools')
    return '/'.join(parts[:min(3 if deep else 2, len(parts) - 1)])


def lines_of(root):
    lines = collections.Counter()
    for folder in ('estimator', 'plugins'):
        for file in (root / folder).rglob('*'):
            path = file.relative_to(root)
            if file.suffix in ('.c', '.h', '.ts', '.tsx', '.css', '.mjs') and 'tests' not in path.parts:
                code = COMMENT.sub(blank, file.read_text(encoding='utf-8'))
                lines[module_of(path)] += sum(1 for line in code.split('\n') if line.strip())
    return lines


def main():
    root = pathlib.Path(sys.argv[1])
    table = root / 'tests/size.csv'
    lines = lines_of(root)
    with table.open(encoding='utf-8', newline='') as file:
        rows = list(csv.reader(file))
    budget = {row[0]: int(row[1]) for row in rows[1:]}
    if '--update' in sys.argv:
        reasons = {row[0]: row[2] for row in rows[1:]}
        with table.open('w', encoding='utf-8', newline='') as file:
            writer = csv.writer(file, lineterminator='\n')
            writer.writerow(rows[0])
            for name in sorted(lines):
                least = min(budget.get(name, lines[name]), lines[name])
                writer.writerow([name, least, reasons.get(name, '')])
        return
    for name, count in sorted(lines.items()):
        if name not in budget:
            print(f'{name}: {count} lines and no row in tests/size.csv')
        elif count > budget[name]:
            print(f'{name}: {count} lines, at most {budget[name]}: remove what the change replaces, or raise the row '
                  'of tests/size.csv and say why')
        elif count < budget[name] - ROOM:
            print(f'{name}: {count} lines of {budget[name]}: lower the row of tests/size.csv (tests/size.py . --update)')
    for name in sorted(set(budget) - set(lines)):
        print(f'tests/size.csv: {name} is not a module')


main()
