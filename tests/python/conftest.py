# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def root():
    return ROOT


@pytest.fixture
def data():
    """Real recordings, where they are at hand."""
    folder = os.environ.get('STEPTIME_DATA')
    if not folder:
        pytest.skip('STEPTIME_DATA is not set')
    return pathlib.Path(folder)


@pytest.fixture
def steptime():
    """Runs the program with words; its output."""
    def run(*words):
        program = os.environ.get('STEPTIME_PROGRAM') or pytest.skip('STEPTIME_PROGRAM is not set')
        return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout
    return run


@pytest.fixture
def isolated():
    """Runs Python code in a process of its own, with other variables of the environment; (status, output, errors)."""
    def run(code, **variables):
        environment = {**os.environ, **variables}
        done = subprocess.run([sys.executable, '-B', '-c', code], capture_output=True, text=True, env=environment, timeout=120)
        return done.returncode, done.stdout, done.stderr
    return run
