#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel by pip and meson-python, packs it, and tries it out where nothing else is: wheel.py ROOT FOLDER

meson-python before 0.13 stores files as they are; here they are compressed. Prints the wheel's path and size.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

MOST_BYTES = 8_000_000
TRY = """
import steptime as st, steptime._library as library
assert library.__file__.startswith({folder!r}), library.__file__
print(st.Job("gpt-3b-32x3090", {{"batch.micro": 4}}).step_time, len(st.sweep("gpt-3b-32x3090", {{"batch.micro": [1, 2]}})),
      st.validate("li2024").data["sources"][0]["failed"], len(st.export_job("llama3-8b-8xh100", "megatron")) > 500)
print(st.Job("gpt-3b-32x3090", refine="nccl-whitebox").step_time > 0)
"""


def pack(source, target):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, 'w', zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for entry in old.infolist():
            new.writestr(entry, old.read(entry), zipfile.ZIP_DEFLATED, 9)


def main():
    root, folder = (pathlib.Path(one).resolve() for one in sys.argv[1:3])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        command = [sys.executable, '-m', 'pip', 'wheel', str(root), '--no-build-isolation', '--no-deps', '-w', work]
        subprocess.run(command, check=True, stdout=sys.stderr)
        built = next(pathlib.Path(work).glob('*.whl'))
        wheel = folder / built.name
        pack(built, wheel)
        size = wheel.stat().st_size
        print(f'{wheel}: {size / 2**20:.2f} MiB')
        if size > MOST_BYTES:
            sys.exit(f'the wheel is larger than {MOST_BYTES} bytes')
        place = pathlib.Path(work) / 'place'
        subprocess.run([sys.executable, '-m', 'pip', 'install', '--no-deps', '--no-index', '--target', str(place), str(wheel)],
                       check=True, stdout=sys.stderr)
        environment = {**os.environ, 'PYTHONPATH': str(place), 'STEPTIME_PATH': ''}
        environment.pop('STEPTIME_LIBRARY', None)
        done = subprocess.run([sys.executable, '-B', '-W', 'ignore', '-c', TRY.format(folder=str(place))], cwd='/',
                              env=environment, capture_output=True, text=True)
        if (done.returncode, done.stdout) != (0, '62.59 s 2 0 True\nTrue\n'):
            sys.exit(f'the installed wheel fails:\n{done.stdout}{done.stderr}')


main()
