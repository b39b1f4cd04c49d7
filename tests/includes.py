#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which files of estimator/ may include which: includes.py ROOT.

A module is a folder that estimator/meson.build names, in its order there; `cli` is the last. A file
includes headers of its own module and of those before it, whether it writes "module/...",
<steptime/...> or a path with "..", and a public header counts as one of the module that defines it.
Inside a module no two pairs of .c and .h need each other, unless the header says why. Every header
has a name of its own. Prints what is wrong, a line each.
"""
import collections
import os
import re
import sys

# The module that defines what a public header declares; steptime.h is all of them.
PUBLIC = {
    'arena': 'base',
    'quantity': 'base',
    'status': 'base',
    'provider': 'sheet',
    'sheet': 'sheet',
    'program': 'program',
    'job': 'job',
    'paths': 'job',
    'graph': 'schedule',
    'schedule': 'schedule',
    'profile': 'calibrate/store',
    'plugin': 'plugin',
    'plugins': 'plugin',
    'placement': 'estimate',
    'trace': 'trace',
    'search': 'search',
    'import': 'import',
    'steptime': 'cli',
}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
# A header that is part of a circle says so: "Circle: with base/b.h, because ..."
REASON = re.compile(r'Circle: with ([\w/]+)\.h')


def modules_of(root):
    text = open(os.path.join(root, 'estimator/meson.build'), encoding='utf-8').read()
    return re.findall(r"^subdir\('([\w/]+)'\)", text, re.M)


def sources_of(folder):
    for at, _, names in os.walk(folder):
        for name in names:
            if name.endswith(('.c', '.h')):
                yield os.path.relpath(os.path.join(at, name), folder)


def target_of(file, written, files):
    """The file of estimator/ that an include means, or None."""
    beside = os.path.normpath(os.path.join(os.path.dirname(file), written))
    for candidate in ('include/' + written, written, beside):
        if candidate in files:
            return candidate
    return None


def module_of(file, modules):
    if file.startswith('include/'):
        return PUBLIC.get(os.path.basename(file)[:-2])
    folder = os.path.dirname(file)
    return folder if folder in modules else None


def circles_of(needs):
    """Sets of names that need one another."""
    def reach(start):
        seen, open_names = set(), [start]
        while open_names:
            for name in needs[open_names.pop()]:
                if name not in seen:
                    seen.add(name)
                    open_names.append(name)
        return seen

    reached = {name: reach(name) for name in list(needs)}
    found = {frozenset(b for b in reached[a] if a in reached.get(b, ())) for a in reached}
    return sorted(sorted(circle) for circle in found if len(circle) > 1)


def main():
    root = sys.argv[1]
    folder = os.path.join(root, 'estimator')
    modules = modules_of(root)
    files = set(sources_of(folder))
    faults = []
    needs = collections.defaultdict(set)
    reasons = collections.defaultdict(set)
    for file in sorted(files):
        text = open(os.path.join(folder, file), encoding='utf-8').read()
        unit = os.path.splitext(file)[0]
        reasons[unit] |= set(REASON.findall(text))
        own = module_of(file, modules)
        if own is None:
            faults.append(f'estimator/{file}: belongs to no module')
            continue
        for match in INCLUDE.finditer(text):
            line = text.count('\n', 0, match.start()) + 1
            place = f'estimator/{file}:{line}'
            written = match.group(2)
            if '..' in written.split('/'):
                faults.append(f'{place}: an include that leaves its folder: {written}')
            target = target_of(file, written, files)
            if target is None:
                continue
            other = module_of(target, modules)
            if other is None:
                faults.append(f'{place}: {written} belongs to no module')
            elif modules.index(other) > modules.index(own) and file != 'include/steptime/steptime.h':
                faults.append(f'{place}: {own} includes {written}, of {other} above it')
            elif other == own and not target.startswith('include/'):
                if os.path.splitext(target)[0] != unit:
                    needs[unit].add(os.path.splitext(target)[0])
    for circle in circles_of(needs):
        if not any(set(circle) <= reasons[unit] | {unit} for unit in circle):
            faults.append('a circle of files without a reason: ' + ', '.join(circle))
    headers = collections.defaultdict(list)
    for file in sorted(files):
        if file.endswith('.h'):
            headers[os.path.basename(file)].append(file)
    faults += [f'headers of one name: {", ".join(same)}' for same in headers.values()
               if len(same) > 1]
    print('\n'.join(faults), end='\n' if faults else '')


main()
