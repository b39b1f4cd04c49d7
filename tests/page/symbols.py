#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the engine of the page would link: symbols.py MODULE functions.txt

MODULE has the files of the engine, linked for this machine: a verb of the page that needs a file which the page lacks has already
failed. What it takes from other libraries must be what Emscripten's build has: the functions of the C library and of GSL in
functions.txt, which ./dev page has linked. Where Emscripten is installed, functions.txt is compared with its C library, too.
"""
import glob
import pathlib
import re
import shutil
import subprocess
import sys

# Whole libraries that estimator/page/libraries.sh builds, and those that emscripten.ini leaves out.
WHOLE = re.compile(r'(yaml|yajl|inflate|deflate|crc32|gz|sqlite3|XML|GOMP|omp|gsl)_?')
# What compilers add.
COMPILER = re.compile(r'_ITM_|__(gmon_start__|cxa_|stack_chk_fail|tls_get_addr|x86_|libc_start_main|assert_fail|gcov|llvm)|_GLOBAL_')
# Functions that Emscripten has outside of the archive of its C library, in JavaScript or in the engine itself.
ELSEWHERE = {'_setjmp', 'abort', 'arc4random_buf', 'at_quick_exit', 'calloc', 'clock_gettime', 'fork', 'free', 'getentropy',
             'gettimeofday', 'longjmp', 'malloc', 'mount', 'prctl', 'pthread_kill', 'realloc', 'recvmsg', 'sendmsg', 'sigaltstack',
             'socketpair', 'strftime', 'syscall', 'time', 'unshare'}
LIBC = '/usr/share/emscripten/cache/sysroot/lib/wasm32-emscripten/libc.a'


def plain(name):
    """The function behind a name of glibc: fortified, of 64 bits, of a standard."""
    name = re.sub(r'@.*', '', name)
    name = re.sub(r'^__(\w+)_chk$', r'\1', name)
    return re.sub(r'^__(isoc\d+_)?(?=(open|sscanf)\b)', '', re.sub(r'64(_2)?$', '', name))


def used_of_gsl(root):
    """Functions of GSL in the sources of the engine; guided searches, which need more of it, stay outside."""
    folders = [root / 'estimator' / name for name in ('base', 'core', 'plan', 'command', 'cli', 'page', 'tools/launch')]
    texts = [path.read_text() for folder in folders for path in folder.rglob('*.c') if 'guided' not in path.parts]
    return {name for text in texts for name in re.findall(r'\bgsl_[a-z]\w+(?=\()|\bgsl_rng_\w+\b', text)}


def main(module, list_file):
    known = {word for line in pathlib.Path(list_file).read_text().splitlines() if not line.startswith('#') for word in line.split()}
    listed = subprocess.run(['nm', '-D', '-u', module], check=True, capture_output=True, text=True).stdout
    used = {plain(line.split()[-1]) for line in listed.splitlines()}
    if not used & known:
        sys.exit(f'{module} has no undefined symbols')
    foreign = {name for name in used if not WHOLE.match(name) and not COMPILER.match(name)}
    foreign |= used_of_gsl(pathlib.Path(__file__).resolve().parents[2])
    faults = [f'{name}: not known to be in what the engine of the page links; if ./dev page links it, add it to {list_file}'
              for name in sorted(foreign - known)]
    nm = shutil.which('llvm-nm') or next(iter(sorted(glob.glob('/usr/bin/llvm-nm-*'))), None)
    if nm and pathlib.Path(LIBC).exists():
        found = subprocess.run([nm, '--defined-only', LIBC], capture_output=True, text=True).stdout
        defined = {line.split()[-1] for line in found.splitlines() if len(line.split()) == 3}
        faults += [f'{list_file}: {name} is not in {LIBC}' for name in sorted(known - defined - ELSEWHERE) if not name.startswith('gsl_')]
    print('\n'.join(faults) or f'{len(used)} symbols, all known to the page')
    return bool(faults)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
