#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the recorder knows the functions that Phantora gives to frameworks, and those that CUDA 11.8 alone has: names.py ROOT.

Of versions of a function (NAME_v2) one is enough, since programs name the newest.
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
# The others of libcudart.so.11.8.89, libcublas.so.11.11.3.6 and libcublasLt.so.11.11.3.6 (nm -D) are in CUDA 12, too.
OLD = {'cudaBindTextureToMipmappedArray', 'cudaCreateTextureObject_v2', 'cudaGetTextureObjectTextureDesc_v2', 'cudaProfilerInitialize'}
known, listed = set(), set()
for line in (root / 'estimator/tools/record/library/calls.txt').read_text(encoding='utf-8').splitlines():
    words = line.split('#')[0].split()
    listed.update(words[1:2])
    if len(words) > 2:
        known.add(re.sub(r'_v\d+$', '', words[1]))
wanted = [line.split()[1] for line in (root / 'tests/record/phantora.txt').read_text(encoding='utf-8').splitlines()
          if line and not line.startswith('#')]
missing = [name for name in wanted if re.sub(r'_v\d+$', '', name) not in known]
print(f'{len(wanted) - len(missing)} of {len(wanted)} functions', *missing)
sentence = f'{len(wanted) - len(missing)} of its {len(wanted)} functions'
page = ' '.join((root / 'docs/record.md').read_text(encoding='utf-8').split())
if sentence not in page:
    print(f'docs/record.md does not say "{sentence}"')
print(*(f'{name} of CUDA 11.8 is not listed' for name in sorted(OLD - listed)))
sys.exit(sentence not in page or len(wanted) != 115 or not OLD <= listed)
