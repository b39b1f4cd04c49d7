#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""C names a key of jobs by its identifier of steptime/keys.h: keys.py ROOT.

A string that is a key of the table (estimator/core/job/keys.c), alone or as KEY=VALUE, is an error, and
so is any string that a function takes as a key: the compiler finds a misspelt identifier, but no misspelt
string. Messages may name keys: strings next to another one are parts of a message. Prints what is wrong,
a line each.
"""
import pathlib
import re
import sys

# Words of others that happen to be called as a key, by source.
EXCEPTIONS = {('estimator/tools/launch/frameworks/torchtitan.c', 'model.name'),
              ('estimator/tools/launch/frameworks/renames.c', 'model.rope_scaling')}
TABLE = 'estimator/core/job/keys.c'
ROW = re.compile(r'\b(?:TEXT|FLAG|CHOICE|COUNT|NUMBER|QUANTITY|[A-Z]+_KEY)\(\s*"([a-z0-9_.]+)"')
TAKES_KEY = re.compile(r'\b(?:st_job_(?:value_of|number|text)|st_key_find|st_draft_(?:put|count)\w*'
                       r'|megatron_put\w*|fw_(?:is|has))\((?:[\w>.-]*, )?$')
TOKEN = re.compile(r"/\*.*?\*/|'(?:[^'\\]|\\.)*'|\"((?:[^\"\\\n]|\\.)*)\"|\w+|[^\s\\]", re.S)
WORD = re.compile(r'([a-z0-9_.]+)(?:=\S*(?: \S+)?)?')
MESSAGE = re.compile(r'"|ST_(?:FOUND|EXPECTED|HINT)$|PRI\w+$')


def main():
    root = pathlib.Path(sys.argv[1])
    keys = set(ROW.findall((root / TABLE).read_text(encoding='utf-8')))
    stems = tuple(key for key in keys if key.endswith('_')) # macros of the table add the rest
    if len(keys) < 200:
        print(f'tests/keys.py: finds {len(keys)} keys in {TABLE}')
    for file in sorted([*root.glob('estimator/**/*.[ch]'), *root.glob('plugins/*/fit/*.[ch]')]):
        source = str(file.relative_to(root))
        text = file.read_text(encoding='utf-8')
        tokens = [match for match in TOKEN.finditer(text) if not match.group().startswith('/*')]
        for before, match, after in zip(tokens, tokens[1:], tokens[2:]):
            word = WORD.fullmatch(match.group(1) or '')
            key = word.group(1) if word else ''
            # Keys of one word are words of other things too.
            known = '.' in key and (key in keys or key.startswith(stems)) and key not in stems
            taken = TAKES_KEY.search(text, match.start() - 80, match.start()) if key else None
            message = MESSAGE.match(before.group()) or MESSAGE.match(after.group())
            if source == TABLE or (source, key) in EXCEPTIONS or message or not (known or taken):
                continue
            line = text.count('\n', 0, match.start()) + 1
            print(f'{source}:{line}: "{key}" is a key of jobs; write its identifier of steptime/keys.h')


main()
