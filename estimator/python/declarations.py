#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the module of declarations that cffi loads without parsing C: declarations.py OUTPUT HEADER...

The public headers are the only source: structures, enumerations and functions are what C programs see. Functions that take
FILE or va_list have no use in Python and are left out.
"""
import pathlib
import re
import sys

import cffi

DROPPED = re.compile(r'\b(va_list|FILE)\b')


def clean(text):
    """What is left of a header for cffi: declarations, without comments, directives, attributes and bodies."""
    text = re.sub(r'/\*.*?\*/', '', text, flags=re.S)
    text = re.sub(r'#\s*ifdef __cplusplus.*?#\s*endif', '', text, flags=re.S)
    text = re.sub(r'^[ \t]*#(?:.*\\\n)*.*$', '', text, flags=re.M)
    text = re.sub(r'\bST_PRINTF\([^)]*\)|\bST_API\b|\bST_NODISCARD\b|\bST_PLUGIN_EXPORT\b', '', text)
    text = re.sub(r'(?:static inline|ST_INLINE)[^;{]*\{.*?\n\}', '', text, flags=re.S)
    statements = re.split(r'(?<=;)[ \t]*\n', text)
    return '\n'.join(one for one in statements if not DROPPED.search(one))


def main():
    output = pathlib.Path(sys.argv[1])
    builder = cffi.FFI()
    for header in sys.argv[2:]:
        builder.cdef(clean(pathlib.Path(header).read_text(encoding='utf-8')))
    builder.cdef('void free(void *memory);')
    builder.set_source('steptime._declarations', None)
    output.parent.mkdir(parents=True, exist_ok=True)
    builder.emit_python_code(str(output))


main()
