#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a loader and a CPU are told to forbid stands in the built files: hardened.py OPTIMISED FILE...

Reads each ELF with readelf: addresses are drawn anew for every run (PIE or a shared object), no page is
both written and run, relocations are read-only once the loader is done (full RELRO), functions guard
their stack, and, OPTIMISED being 'yes', calls of the C library know the sizes of their buffers. On
x86-64 what others may jump to begins with endbr64. Prints TAP.
"""
import os
import subprocess
import sys
import tempfile

ENDBR64 = b'\xf3\x0f\x1e\xfa'
ENTRIES = ('main', 'st_plugin_describe', 'st_estimate_open')


def readelf(file, *options):
    return subprocess.run(['readelf', '-W', *options, file], check=True, text=True,
                          stdout=subprocess.PIPE, env={**os.environ, 'LC_ALL': 'C'}).stdout


def entry_bytes(file):
    """The first bytes of a function that others call; None where the file names none of these."""
    address = None
    for line in readelf(file, '--syms', '--dyn-syms').split('\n'):
        words = line.split()
        if len(words) == 8 and words[3] == 'FUNC' and words[6] != 'UND' and words[7] in ENTRIES:
            address = int(words[1], 16)
    for line in readelf(file, '--segments').split('\n'):
        words = line.split()
        if address is None or not words or words[0] != 'LOAD':
            continue
        offset, start, size = int(words[1], 16), int(words[2], 16), int(words[4], 16)
        if start <= address < start + size:
            with open(file, 'rb') as data:
                data.seek(offset + address - start)
                return data.read(len(ENDBR64))
    return None


def enforces_marks(file):
    """Whether the file carries the note of CET."""
    return 'x86 feature:' in readelf(file, '--notes')


def linker_enforces_marks():
    """Whether an empty program would: docs/SECURITY.md says that the start files of the C library decide."""
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, 'made')
        subprocess.run(['cc', '-fcf-protection', '-x', 'c', '-', '-o', made], input=b'int main(void) { return 0; }', check=True)
        return enforces_marks(made)


def flags_of(segments, kind):
    return [line for line in segments.split('\n') if line.split()[:1] == [kind]]


def checks(file, optimised):
    header = readelf(file, '--file-header')
    segments = readelf(file, '--segments')
    dynamic = readelf(file, '--dynamic')
    symbols = readelf(file, '--dyn-syms')
    plugin = 'st_plugin_describe' in symbols
    yield 'position-independent', 'Type:' in header and 'DYN (' in header
    yield 'no stack that can be run', all('RWE' not in line for line in flags_of(segments, 'GNU_STACK'))
    yield 'no page written and run', all('RWE' not in line for line in flags_of(segments, 'LOAD'))
    yield 'read-only relocations', bool(flags_of(segments, 'GNU_RELRO'))
    yield 'bound before it runs', 'BIND_NOW' in dynamic or 'NOW' in dynamic.split('FLAGS_1')[-1]
    if not plugin:  # one may be too small to need any of these
        yield 'guarded stacks', '__stack_chk_fail' in symbols
        if optimised:
            yield 'fortified calls', '_chk@' in symbols.replace('__stack_chk_fail', '')
    if 'X86-64' in header and entry_bytes(file) is not None:
        yield 'entries that jumps may reach', entry_bytes(file) == ENDBR64
        yield 'the note of CET that an empty program has', plugin or enforces_marks(file) == linker_enforces_marks()


def main():
    optimised = sys.argv[1] == 'yes'
    number = failed = 0
    for file in sys.argv[2:]:
        if file.endswith('.manifest'):  # beside each plugin, and no code
            continue
        for what, good in checks(file, optimised):
            number += 1
            failed += not good
            print(f'{"ok" if good else "not ok"} {number} - {os.path.basename(file)}: {what}')
    print(f'1..{number}')
    return 1 if failed else 0


sys.exit(main())
