#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No source of estimator/ names a cell or an input of a shipped sheet: names.py ROOT.

What C asks a sheet for are roles (estimator/core/sheet/roles.c). A string in C that is the name of a cell or
an input under formulas/ is an error where the name is one that nothing else would have: one with '_', or
of four letters and more that is no word of roles or of keys of jobs. What else happens to be
called so stands in EXCEPTIONS, which may only shrink. Prints what is wrong, a line each.
"""
import pathlib
import re
import sys

# The words of another language that some source reads or writes, by source, and which language.
EXCEPTIONS = {
    'tools/fit/steps/accuracy_report.c': ('results', 'site_factor'),
    'tools/fit/steps/row_fields.c': ('columns of tables', 'gpus_per_node'),
    'tools/fit/steps/measured.c': ('columns of tables', 'gpus_per_node'),
    'tools/fit/steps/source.c': ('keys of table.yaml', 'site_factor'),
    'core/estimate/traffic.c': ('results', 'gpus_per_node'),
    'tools/launch/frameworks/plan.c': ('options of Megatron-LM', 'sequence_parallel'),
    'tools/launch/import/megatron_plan.c': ('options of Megatron-LM', 'sequence_parallel'),
    'plan/search/scale.c': ('results', 'step_time'),
}
# English that sheets and C both use, for different things.
WORDS = set('alpha buffers dropout entries flop framework gpus load message ring scaling start stride width GPUs'.split())
STRING = re.compile(r'/\*.*?\*/|"((?:[^"\\\n]|\\.)*)"', re.S)


def names_of(sheets):
    """Names of inputs and cells: keys of two blanks below these two sections, without their index."""
    for sheet in sheets:
        section = None
        for line in sheet.read_text(encoding='utf-8').split('\n'):
            section = line.split(':')[0] if re.match(r'[a-z]+:', line) else section
            match = re.match(r'  ([A-Za-z_]\w*)', line)
            if match and section in ('inputs', 'cells'):
                yield match.group(1)


def strings_of(text):
    for match in STRING.finditer(text):
        if match.group(1) is not None:
            yield text.count('\n', 0, match.start()) + 1, match.group(1)


def main():
    root = pathlib.Path(sys.argv[1])
    folder = root / 'estimator'
    roles = folder / 'core/sheet/roles.c'
    keys = folder / 'core/job/keys.c'
    known = {word for file in (roles, keys) for _, text in strings_of(file.read_text(encoding='utf-8'))
             for word in re.split(r'[. ]', text)}
    names = {name for name in names_of(sorted(root.glob('formulas/*.yaml')))
             if '_' in name or (len(name) >= 4 and name not in known | WORDS)}
    used = set()
    for file in sorted(folder.rglob('*.[ch]')):
        source = str(file.relative_to(folder))
        excused = EXCEPTIONS.get(source, ('', ''))[1].split()
        for line, text in strings_of(file.read_text(encoding='utf-8')):
            name = text.split('[')[0]
            if name not in names or file == roles:
                continue
            used.add((source, name))
            if name not in excused:
                print(f'estimator/{source}:{line}: "{text}" is a cell or an input of a sheet; ask for a role')
    for source, (_, excused) in EXCEPTIONS.items():
        for name in excused.split():
            if (source, name) not in used:
                print(f'tests/names.py: {source} no longer has "{name}"')


main()
