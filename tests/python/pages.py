#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the Python of a page, block after block, and compares what it prints with the text below: pages.py ROOT [--update]"""
import contextlib
import io
import os
import pathlib
import re
import sys
import warnings

PAGES = ['docs/python.md', 'docs/library.md']
BLOCK = re.compile(r'^```(python|text)\n(.*?)^```$', re.M | re.S)


def run(path, update=False):
    """The first difference as (shown, printed), None where there is none; with `update` the page gets what was printed."""
    page = path.read_text(encoding='utf-8')
    names, printed, parts, at, difference = {}, '', [], 0, None
    for block in BLOCK.finditer(page):
        if block[1] == 'python':
            output = io.StringIO()
            with contextlib.redirect_stdout(output), warnings.catch_warnings():
                warnings.simplefilter('ignore')
                exec(compile(block[2], str(path), 'exec'), names)
            printed = '\n'.join(line.rstrip() for line in output.getvalue().splitlines()) + '\n'
        elif names:
            if block[2] != printed and difference is None:
                difference = block[2], printed
            parts += [page[at:block.start(2)], printed]
            at = block.end(2)
    if not names:
        return 'a block of Python', ''
    if update and difference is not None:
        path.write_text(''.join(parts) + page[at:], encoding='utf-8')
    return difference


if __name__ == '__main__':
    root = pathlib.Path(sys.argv[1]).resolve()
    os.chdir(root)
    for name in PAGES:
        if run(root / name, '--update' in sys.argv) is not None:
            print(f'{name}: {"written anew" if "--update" in sys.argv else "differs"}')
